"""The arguments of a study's methods, checked: each function returns the value to use, or raises an error."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from flexibo._internal.arrays import plain
from flexibo._internal.durations import seconds_or_same
from flexibo.errors import InvalidTypeError, InvalidValueError, unknown_name
from flexibo.executors import Executor, Measure
from flexibo.history import History
from flexibo.history.events import Event
from flexibo.objectives import LARGEST, Objective

Observed = TypeVar("Observed")


def checked_budget(budget: object) -> float | None:
    """The budget as a positive float, or None for no limit; a duration such as "2h" in seconds."""
    if budget is None:
        return None
    budget = seconds_or_same(plain(budget))
    if isinstance(budget, bool) or not isinstance(budget, int | float):
        raise InvalidTypeError(
            f"budget is {budget!r}; it must be a number, a duration such as '2h', or None for no limit.",
            argument="budget",
        )
    if not 0 < budget <= LARGEST:
        raise InvalidValueError(
            f"budget is {budget!r}; it must be above zero and finite, or None for no limit.", argument="budget"
        )
    return float(budget)


def checked_cost(cost: object) -> float:
    """The cost of an evaluation as a finite float, zero or more."""
    try:
        number = float(cost)  # type: ignore[arg-type]  # anything float() takes is a number here
    except (TypeError, ValueError, OverflowError):
        raise InvalidTypeError(f"cost is {cost!r}; it must be a number, zero or more.", argument="cost") from None
    if isinstance(cost, str | bytes) or not 0 <= number <= LARGEST:
        raise InvalidValueError(f"cost is {cost!r}; it must be a number, zero or more.", argument="cost")
    return number


def checked_lease(lease: object) -> float:
    lease = seconds_or_same(plain(lease))
    if isinstance(lease, bool) or not isinstance(lease, int | float) or not 0 < lease <= LARGEST:
        raise InvalidValueError(
            f"lease is {lease!r}; it must be a number of seconds above zero, or a duration such as '5m'.",
            argument="lease",
        )
    return float(lease)


def checked_reference(
    reference: Mapping[str, float] | Sequence[float], objectives: Sequence[Objective]
) -> dict[str, float]:
    """The reference point by objective, in the users' values."""
    names = [objective.name for objective in objectives]
    if not isinstance(reference, Mapping):
        try:
            values = list(reference)
        except TypeError:
            raise InvalidTypeError(
                f"reference is {reference!r}; give a value for each of {', '.join(names)}."
            ) from None
        if len(values) != len(names):
            raise InvalidValueError(f"reference has {len(values)} values; {len(names)} objectives need one each.")
        reference = dict(zip(names, values, strict=True))
    if set(reference) != set(names):
        raise InvalidValueError(f"reference names {', '.join(map(str, reference))}; it must name {', '.join(names)}.")
    point = {}
    for objective in objectives:
        try:
            point[objective.name] = objective.checked_number(reference[objective.name])
        except (InvalidTypeError, InvalidValueError):
            raise InvalidValueError(
                f"reference has {reference[objective.name]!r} for {objective.name!r}; it must be a finite number."
            ) from None
    return point


def checked_text(what: str, text: object) -> str:
    if not isinstance(text, str) or not text.strip():
        raise InvalidTypeError(f"{what} is {text!r}; it must be a text that is not empty.")
    return text


def checked_designs(designs: object) -> list[Mapping[str, Any]] | None:
    """The initial designs as a list, or None if none are given."""
    if designs is None:
        return None
    if isinstance(designs, str | Mapping) or not isinstance(designs, Iterable):
        raise InvalidTypeError(f"initial_designs is {designs!r}; give a list of mappings.")
    return list(designs)


def checked_only(only: object, history: History) -> frozenset[str] | None:
    """The objectives to ask for, each replaced by the one whose evaluation yields it; None is all."""
    if only is None:
        return None
    if isinstance(only, str) or not isinstance(only, Collection) or not only:
        raise InvalidTypeError(f"only is {only!r}; give a list of objectives.")
    for name in only:
        if name not in history.names:
            raise unknown_name("objective", name, history.names)
    return frozenset(history.purchases[history.purchase_of(name)].objective for name in only)


def checked_callbacks(
    callbacks: Callable[[Observed, Event], object] | Iterable[Callable[[Observed, Event], object]],
) -> tuple[Callable[[Observed, Event], object], ...]:
    if not callable(callbacks) and not isinstance(callbacks, Iterable):
        raise InvalidTypeError(f"callbacks is {callbacks!r}; give a callable, or a list of them.")
    found = (callbacks,) if callable(callbacks) else tuple(callbacks)
    for callback in found:
        if not callable(callback):
            raise InvalidTypeError(f"A callback is {callback!r}; it must be callable with the study and an event.")
    return found


def checked_executor(executor: Executor, leads: Sequence[str]) -> Executor:
    """The executor, if it is one and its settings are for objectives that are asked for."""
    able = all(hasattr(executor, name) for name in ("has_room", "submit", "is_busy", "finished"))
    if not able or isinstance(executor, type):
        raise InvalidTypeError(f"executor is {executor!r}; it must be an executor of flexibo.executors.")
    for setting in ("slots", "objectives"):
        for name in getattr(executor, setting, ()):
            if name not in leads:
                raise unknown_name(f"objective in the executor's {setting}:", name, leads)
    return executor


def checked_functions(
    functions: object, names: Sequence[str], leads: Sequence[str], *, some: bool
) -> Mapping[str, Measure]:
    """The functions of a run: a callable for each objective that is asked for, and no others."""
    if not isinstance(functions, Mapping):
        raise InvalidTypeError(f"run() was given {functions!r}; give a mapping from objective to function.")
    for name, function in functions.items():
        if name not in names:
            raise unknown_name("objective", name, names)
        if name not in leads:
            raise InvalidValueError(
                f"Objective {name!r} is measured with another, whose function returns both; "
                f"give functions for {', '.join(leads)} only."
            )
        if not callable(function):
            raise InvalidTypeError(f"The function of {name!r} is {function!r}; it must be callable.")
    if some and not functions:
        raise InvalidTypeError(f"run() was given no function; give those of some of {', '.join(leads)}.")
    missing = [name for name in leads if name not in functions]
    if missing and not some:
        raise InvalidTypeError(
            f"Objective {missing[0]!r} has no function; run() needs one for each of {', '.join(leads)}."
        )
    return functions
