"""Tests of what is said about changes."""

from __future__ import annotations

from typing import Any

import pytest

from flexibo.errors import FlexiBOError
from flexibo.space import Space
from flexibo.study.changes import Change, ChangeRequest, Changes


def test_a_table_of_changes_has_a_line_for_each() -> None:
    text = str(Changes((Change("x", "0 to 1", "0 to 2"), Change("c", "", "a new objective")), 3, 8))
    assert len(text.splitlines()) == 4
    assert "0 to 2" in text
    assert "3 of 8" in text
    assert not Changes()
    assert str(Changes())


def test_what_is_printed_cannot_rewrite_the_screen() -> None:
    assert "\x1b" not in str(Changes((Change("x\x1b[2J", "\r", "a\nb"),)))


@pytest.mark.parametrize(
    "given",
    [
        {"space": 3},
        {"space": Space({"x": (0.0, 1.0)}), "options": {"x": (0.0, 1.0)}},
        {"objectives": "a"},
        {"objectives": 3},
        {"limits": 3},
        {"options": [1]},
    ],
)
def test_a_wish_of_a_wrong_type_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(FlexiBOError):
        ChangeRequest(**given)
