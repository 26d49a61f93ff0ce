"""A space that takes the place of another: what designs of both mean, and what must not change."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Mapping
from graphlib import CycleError, TopologicalSorter
from typing import Any

from flexibo.errors import FlexiBOError, InvalidValueError
from flexibo.space._conditions import Conditions
from flexibo.space.encoding import code_of, value_of
from flexibo.space.options import (
    Categorical,
    Integer,
    Level,
    Option,
    Ordinal,
    Real,
    is_number,
    named,
    with_known_legal,
    without_known,
)
from flexibo.space.space import Space

KINDS = {"categorical": "unordered values", "ordinal": "ordered values", "integer": "whole numbers", "real": "numbers"}


def changed_space(old: Space, new: Space, defaults: Mapping[str, object] | None = None) -> Space:
    """The new space, which also knows the designs of the old one.

    Args:
        old: The legal designs so far.
        new: The legal designs from now on. It has the options of the old space, and it may have more.
        defaults: The values that the designs of the old space have of the options that are new.

    Raises:
        InvalidValueError: If designs of the old space would not be known any more, or mean something else.

    >>> old, new = Space({"cores": (1, 8)}), Space({"cores": (1, 4), "gpu": [False, True]})
    >>> space = changed_space(old, new, {"gpu": False})
    >>> space.known_design({"cores": 6}), {"cores": 6, "gpu": False} in space
    (Design(cores=6, gpu=False), False)
    """
    defaults = defaults or {}
    removed = [name for name in old.names if name not in new.names]
    if removed:
        raise InvalidValueError(
            f"Option {removed[0]!r} is missing, which the study has; add it, with one value if it shall not vary any "
            "more, because designs that were measured have it."
        )
    added = [name for name in new.names if name not in old.names]
    for name in defaults:
        if name not in added:
            what = "is not new" if name in old.names else "is not among the options"
            raise InvalidValueError(f"There is a default of option {name!r}, which {what}; leave it out.")
    for name in added:
        if name not in defaults:
            raise InvalidValueError(
                f"Option {name!r} is new and has no default; state under defaults which value of {name!r} all designs "
                "had that were measured so far."
            )
    options = {
        name: _merged(name, old.options[name], option) if name in old.names else _with(name, option, defaults[name])
        for name, option in new.options.items()
    }
    known = {name: with_known_legal(option) for name, option in options.items()}
    values = {name: _value(known[name], defaults[name]) for name in added}
    earlier = {**(_defaults(old) or {}), **values}
    made = Space(options, valid=new.valid, conditions=_conditions(old, new))._after_change(earlier)
    _check_activity(old, made, values)
    return made if new.pool is None else made._limited_to(made._table.codes_of_rows([dict(one) for one in new.pool]))


def present_space(space: Space) -> Space:
    """The legal designs of a space alone, without what was legal before a change."""
    if _defaults(space) is None:
        return space
    options = {name: without_known(option) for name, option in space.options.items()}
    conditions = {
        child: {
            parent: tuple(value for value in values if code_of(options[parent], value) is not None)
            for parent, values in parents.items()
        }
        for child, parents in space.conditions.items()
    }
    # A child that no legal value of a parent makes active has no condition that could be written down.
    kept = {child: parents for child, parents in conditions.items() if all(parents.values())}
    made = Space(options, valid=space.valid, conditions=kept)
    if space.pool is None:
        return made
    return made._limited_to(made._table.codes_of_rows([dict(one) for one in space.pool]))


def is_same_space(stored: Mapping[str, Any], given: Mapping[str, Any]) -> bool:
    """Whether two spaces, as `Space.to_dict` writes them, have the same designs; the order of options does not matter.

    >>> first, second = Space({"x": (1, 9), "y": [1, 2]}), Space({"y": [1, 2], "x": (1, 9)})
    >>> is_same_space(first.to_dict(), second.to_dict())
    True
    """
    return _in_order_of_names(stored) == _in_order_of_names(given)


def with_stored_scales(space: Space, stored: Mapping[str, Any]) -> Space:
    """The space, with the stored scale of each range of which the user says none.

    It may be another one than the range would have now: that of before a change, or of an earlier version.
    """
    scales = {option["name"]: option.get("log", False) for option in stored["options"]}
    options = {name: _on_scale(option, scales.get(name)) for name, option in space.options.items()}
    if options == space.options:
        return space
    made = Space(options, valid=space.valid, conditions=space.conditions)
    return made if space.pool is None else made.limited_to(space.pool)


def _on_scale(option: Option, log: bool | None) -> Option:
    """The option on the scale that it had, if it is a range that had one and the user says none."""
    if not isinstance(option, Integer | Real) or log is None:
        return option
    return dataclasses.replace(option, log=_scale(option, log))


def _scale(option: Integer | Real, log: bool) -> bool:
    """Whether a range is logarithmic that was so, or not, before: what the user says, or else as before."""
    return option.log if option.is_scale_given else log and option.low > 0


def _in_order_of_names(space: Mapping[str, Any]) -> dict[str, Any]:
    options, pool = space["options"], space.get("pool")
    order = sorted(range(len(options)), key=lambda column: str(options[column]["name"]))
    columns = None if pool is None else [pool[column] for column in order]
    return {**space, "options": [options[column] for column in order], "pool": columns}


def _defaults(space: Space) -> dict[str, Any] | None:
    return space._table.defaults


def _merged(name: str, old: Option, new: Option) -> Option:
    """The new option, which also knows the values of the old one."""
    new = without_known(new)
    if type(old) is not type(new):
        raise InvalidValueError(
            f"Option {name!r} has {KINDS[old.kind]} and cannot have {KINDS[new.kind]} from now on, because designs "
            "that were measured would mean something else; add an option of another name."
        )
    known = with_known_legal(old)
    if isinstance(known, Categorical) and isinstance(new, Categorical):
        return Categorical(new.values, known=[*new.values, *_others(known, new)])
    if isinstance(known, Ordinal) and isinstance(new, Ordinal):
        order = _in_order(name, known, new)
        return Ordinal([value for value in order if value in new.values], known=order)
    assert isinstance(known, Integer | Real)
    assert isinstance(new, Integer | Real)
    log = _scale(new, known.log)
    low, high = min(known.low, new.low), max(known.high, new.high)
    if log and low <= 0:
        raise InvalidValueError(
            f"Option {name!r} cannot have a log scale from now on, because designs down to {low:g} may have been "
            "measured; leave log out."
        )
    return named(name, lambda: type(new)(new.low, new.high, log=log, known=(low, high)))  # type: ignore[arg-type]


def _with(name: str, option: Option, default: object) -> Option:
    """A new option, which also knows the value that earlier designs have."""
    if code_of(option, default) is not None:
        return option
    try:
        if isinstance(option, Categorical | Ordinal):
            if all(map(is_number, option.values)) and not is_number(default):
                raise InvalidValueError("It must be a number.")
            return _merged(name, type(option)([default]), option)  # type: ignore[list-item]  # an error if it is none
        # Of a range without a given scale, the default decides: 0 has no place on a log scale.
        log = option.log and (option.is_scale_given or (is_number(default) and default > 0))  # type: ignore[operator]
        return _merged(name, type(option)(default, default, log=log), option)  # type: ignore[arg-type]
    except FlexiBOError:
        raise InvalidValueError(
            f"The default of option {name!r} is {default!r}; it must be a value of the same kind."
        ) from None


def _value(option: Option, value: object) -> Any:
    """A value as designs have it."""
    code = code_of(option, value)
    assert code is not None
    return value_of(option, code)


def _others(known: Categorical | Ordinal, new: Categorical | Ordinal) -> list[Level]:
    return [value for value in known.values if value not in new.values]


def _in_order(name: str, known: Ordinal, new: Ordinal) -> list[Level]:
    """The values of both in an order that agrees with both; for numbers that of the new ones."""
    values = [*new.values, *_others(known, new)]
    if all(map(is_number, values)):
        falls = len(new.values) > 1 and new.values[0] > new.values[-1]  # type: ignore[operator]  # numbers
        return sorted(values, reverse=falls)
    order: TopologicalSorter[Level] = TopologicalSorter({value: set() for value in known.values})
    for some in (known.values, new.values):
        for before, after in itertools.pairwise(some):
            order.add(after, before)
    try:
        return list(order.static_order())
    except CycleError:
        raise InvalidValueError(
            f"Option {name!r} has its values in another order than before; keep the order of those it had."
        ) from None


def _conditions(old: Space, new: Space) -> Conditions:
    """The conditions of the new space; values of parents that only the old space has keep their children active."""
    conditions = new.conditions
    for child, parents in old.conditions.items():
        for parent, values in parents.items():
            if parent in conditions.get(child, {}):
                kept = conditions[child][parent]
                gone = [v for v in values if v not in kept and code_of(without_known(new.options[parent]), v) is None]
                conditions[child][parent] = (*kept, *gone)
    return conditions


def _check_activity(old: Space, new: Space, defaults: Mapping[str, object]) -> None:
    """Refuse conditions with which an option of an earlier design would be active that was not, or the reverse."""
    for child in old.names:
        before, after = old.conditions.get(child, {}), new.conditions.get(child, {})
        for parent in dict.fromkeys([*before, *after]):
            if parent in old.names:
                known = with_known_legal(old.options[parent])
                had = set(before[parent]) if parent in before else None
                has = None
                if parent in after:
                    has = {value for value in after[parent] if code_of(known, value) is not None}
                is_same = had == has or (had is None and has is not None and len(has) == known.size)
            else:
                is_same = parent in after and defaults[parent] in after[parent]
            if not is_same:
                raise InvalidValueError(
                    f"The condition of option {child!r} on {parent!r} cannot change for values that designs had so "
                    "far, because it would change what was measured; conditions may name new values and new options."
                )
