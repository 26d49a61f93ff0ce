"""Measuring for a study on the command line: which objectives, with which functions, where."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from flexibo.cli._measure import Place
    from flexibo.executors import Executor, Measure
    from flexibo.history import History

ENERGY_SLOTS = {"energy_millijoules": 1, "estimated_energy_millijoules": 1}
"""Two readings of one machine's energy at a time would each count the other."""


@contextmanager
def opened_executor(place: Place, objectives: Collection[str]) -> Iterator[Executor]:
    """The executor of a place for these objectives, closed at the end."""
    from flexibo.errors import InvalidValueError
    from flexibo.executors import find_executor

    if place.executor == "inline" and (place.workers or place.address):
        what = "--workers" if place.workers else "--address"
        raise InvalidValueError(f"{what} is for another executor than inline; give --executor processes, dask or ray.")
    slots = {**ENERGY_SLOTS, **place.slots} if place.executor == "processes" else {}
    executor = find_executor(
        place.executor,
        n=place.workers,
        address=place.address or None,
        slots={one: n for one, n in slots.items() if one in objectives} if slots else None,
        resources=place.resources or None,
        patience=place.patience,
    )
    try:
        yield executor
    finally:
        executor.close()


def leads_of(history: History, only: Collection[str]) -> list[str]:
    """The objectives to ask for so that these are measured, or all if there are none; an unknown name is refused."""
    from flexibo.errors import unknown_name

    for name in only:
        if name not in history.names:
            raise unknown_name("objective", name, history.names)
    wanted = {history.purchase_of(name) for name in only or history.names}
    return [purchase.objective for p, purchase in enumerate(history.purchases) if p in wanted]


def offered(history: History, leads: Collection[str], resources: Mapping[str, float]) -> tuple[list[str], list[str]]:
    """Which of the objectives a worker with these resources can measure, and a sentence for each other one."""
    mine, sentences = [], []
    for name in leads:
        needs = history.objectives[history.names.index(name)].resources
        lacking = [f"{what}={amount:g}" for what, amount in needs.items() if resources.get(what, 0.0) < amount]
        if lacking:
            sentences.append(f"{name} is left to others: it needs --resources {','.join(lacking)}.")
        else:
            mine.append(name)
    return mine, sentences


def parsed_resources(given: list[str]) -> Mapping[str, float]:
    """The resources in options such as ``jetson=1,GPU=2``; a name alone is one of it.

    >>> dict(parsed_resources(["jetson,GPU=2"]))
    {'jetson': 1.0, 'GPU': 2.0}
    """
    from flexibo.cli._parse import names
    from flexibo.errors import InvalidValueError
    from flexibo.objectives import checked_resources

    found = {}
    for text in names(given):
        name, sign, amount = text.partition("=")
        try:
            found[name] = float(amount) if sign else 1.0
        except ValueError:
            raise InvalidValueError(f"--resources has {text!r}; give NAME=AMOUNT, such as jetson=1.") from None
    return checked_resources(found, "--resources")


def functions_of(place: str) -> Mapping[str, Measure]:
    """The functions that ``module:attribute`` names: a mapping by objective, or what returns one when it is called.

    The module is looked for in the working folder too. An object with `functions`, such as a system, will do.
    """
    from flexibo.errors import InvalidValueError

    found: Any = _imported(place)
    if callable(found) and not isinstance(found, Mapping):
        try:
            found = found()
        except TypeError as error:
            raise InvalidValueError(
                f"{place} cannot be called without arguments ({error}); give a mapping from objective to function, or "
                "a function that returns one."
            ) from None
    found = getattr(found, "functions", found)
    if not isinstance(found, Mapping) or not all(map(callable, found.values())):
        raise InvalidValueError(f"{place} is {found!r}; it must be a mapping from objective to function.")
    return found


def _imported(place: str) -> Callable[[], Any] | Mapping[str, Measure]:
    import os
    import sys
    from importlib import import_module

    from flexibo.errors import InvalidValueError

    module, sign, attribute = place.partition(":")
    if not (module and sign and attribute):
        raise InvalidValueError(f"--functions is {place!r}; give MODULE:NAME, such as board:functions.")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        found: Any = import_module(module)
    except ImportError as error:
        raise InvalidValueError(f"Module {module!r} of --functions cannot be imported: {error}.") from None
    for name in attribute.split("."):
        if not hasattr(found, name):
            raise InvalidValueError(f"Module {module!r} has no {attribute!r}; check --functions.")
        found = getattr(found, name)
    return found  # type: ignore[no-any-return]  # whatever it is, it is looked at next
