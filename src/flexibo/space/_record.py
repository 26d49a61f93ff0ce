"""A space as JSON-able values, and back."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from flexibo._internal.arrays import FloatArray
from flexibo.errors import InvalidValueError, unknown_name
from flexibo.space._legal_designs import LegalDesigns
from flexibo.space.options import OPTIONS, Option, named, option_to_dict


def space_to_dict(legal: LegalDesigns) -> dict[str, Any]:
    """The options in their order, the conditions, the pool as columns of codes, and whether there is a rule.

    A space that was changed also has the values that earlier designs have of options that came later.
    """
    return {
        "options": [{"name": name, **option_to_dict(option)} for name, option in legal.table.options.items()],
        "conditions": {
            child: {parent: list(values) for parent, values in parents.items()}
            for child, parents in legal.table.conditions.items()
        },
        "pool": None if legal.pool is None else _columns(legal.pool.codes),
        "has_rule": legal.rule is not None,
        **({} if legal.table.defaults is None else {"defaults": legal.table.defaults}),
    }


def _columns(codes: FloatArray) -> list[list[float | None]]:
    """The columns of codes (m, k), whole numbers as such; None where an option is inactive."""
    return [[_code(code) for code in column] for column in codes.T.tolist()]


def _code(code: float) -> float | None:
    if np.isnan(code):
        return None
    return int(code) if code.is_integer() else code


def options_of_dict(data: Mapping[str, Any]) -> dict[str, Option]:
    """The options that `space_to_dict` wrote."""
    if not isinstance(data, Mapping) or "options" not in data:
        raise InvalidValueError(f"A space cannot be read from {data!r}; give what Space.to_dict returned.")
    options = {}
    for entry in data["options"]:
        fields = dict(entry)
        name, kind = fields.pop("name"), fields.pop("kind")
        if kind not in OPTIONS:
            raise unknown_name("kind of option", kind, OPTIONS)
        options[name] = named(name, partial(OPTIONS[kind], **fields))
    return options


def pool_of_dict(data: Mapping[str, Any]) -> FloatArray | None:
    """The codes (m, k) of the pool that `space_to_dict` wrote, None if there was none."""
    columns = data.get("pool")
    return None if columns is None else np.array(columns, dtype=np.float64).T
