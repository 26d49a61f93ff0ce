"""Views as plain values for strict JSON."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

from flexibo.views._json import finite_or_none, json_fields


@dataclass(frozen=True)
class Part:
    name: str

    def to_dict(self) -> dict[str, Any]:
        return {"part": self.name}


@dataclass(frozen=True)
class Whole:
    parts: tuple[Part, ...]
    by_name: Any
    rows: Any
    value: float | None = None


def test_parts_are_written_wherever_they_stand() -> None:
    whole = Whole((Part("a"),), MappingProxyType({"b": [Part("b"), None]}), [(1, "x"), (2.5, True)])
    assert json.loads(json.dumps(json_fields(whole))) == {
        "parts": [{"part": "a"}],
        "by_name": {"b": [{"part": "b"}, None]},
        "rows": [[1, "x"], [2.5, True]],
        "value": None,
    }


def test_what_was_written_does_not_change_with_the_view() -> None:
    rows = [[1, 2]]
    written = json_fields(Whole((), {}, rows))
    rows[0].append(3)
    assert written["rows"] == [[1, 2]]


@pytest.mark.parametrize("value", [None, math.nan, math.inf, -math.inf, np.float64("nan")])
def test_what_is_no_finite_number_is_none(value: float | None) -> None:
    assert finite_or_none(value) is None


@pytest.mark.parametrize("value", [0.0, -1.5, np.float64(2.5), 7])
def test_a_finite_number_is_a_plain_float(value: float) -> None:
    found = finite_or_none(value)
    assert found == value
    assert type(found) is float
