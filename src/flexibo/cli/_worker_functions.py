"""The functions that ``flexibo worker --functions MODULE:NAME`` names."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from flexibo.errors import InvalidValueError

if TYPE_CHECKING:
    from flexibo.executors import Measure


def imported_functions(place: str) -> Mapping[str, Measure]:
    """The functions by objective that ``module:attribute`` names: a mapping, or a function that returns one.

    The module is looked for in the working folder too. An object with `functions`, such as a system, is also accepted.
    """
    found: Any = _import(place)
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


def _import(place: str) -> Callable[[], Any] | Mapping[str, Measure]:
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
    return found  # type: ignore[no-any-return]  # its type is checked next
