"""Views as plain values for strict JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields
from typing import Any


def json_fields(view: Any) -> dict[str, Any]:
    """The fields of a dataclass by name, as values that JSON can express."""
    return {field.name: _plain(getattr(view, field.name)) for field in fields(view)}


def finite_or_none(value: float | None) -> float | None:
    """The value as a float, or None if it is not a finite number: strict JSON has no NaN and no infinity."""
    return float(value) if value is not None and math.isfinite(value) else None


def _plain(value: Any) -> Any:
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if isinstance(value, Mapping):
        return {name: _plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    return value
