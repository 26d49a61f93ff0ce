"""Callbacks: functions that are called with a study and each of its events. One that fails does the study no harm."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import TypeAlias, TypeVar

from flexibo.errors import InvalidTypeError
from flexibo.history.events import Event

logger = logging.getLogger(__name__)
Observed = TypeVar("Observed")
Callbacks: TypeAlias = tuple[Callable[[Observed, Event], object], ...]


def checked_callbacks(
    callbacks: Callable[[Observed, Event], object] | Iterable[Callable[[Observed, Event], object]],
) -> Callbacks[Observed]:
    """The given callbacks, one or several."""
    if not callable(callbacks) and not isinstance(callbacks, Iterable):
        raise InvalidTypeError(f"callbacks is {callbacks!r}; give a callable, or a list of them.")
    found = (callbacks,) if callable(callbacks) else tuple(callbacks)
    for callback in found:
        if not callable(callback):
            raise InvalidTypeError(f"A callback is {callback!r}; it must be callable with the study and an event.")
    return found


def call(callbacks: Callbacks[Observed], study: Observed, event: Event) -> None:
    """Call the callbacks with an event; an error in one of them is logged."""
    for callback in callbacks:
        try:
            callback(study, event)
        except Exception:
            logger.exception("A callback failed on %s; the study continues.", type(event).__name__)
