"""Calling back: those that watch a study, without harm to it, and the study itself from its parts."""

from __future__ import annotations

import logging
import weakref
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias, TypeVar

from flexibo.errors import InvalidTypeError
from flexibo.history.events import Event

logger = logging.getLogger(__name__)
Watcher = TypeVar("Watcher")
Callbacks: TypeAlias = tuple[Callable[[Watcher, Event], object], ...]


def checked_callbacks(
    callbacks: Callable[[Watcher, Event], object] | Iterable[Callable[[Watcher, Event], object]],
) -> Callbacks[Watcher]:
    """The callbacks that were given, one or several."""
    found = (callbacks,) if callable(callbacks) else tuple(callbacks or ())
    for callback in found:
        if not callable(callback):
            raise InvalidTypeError(f"A callback is {callback!r}; it must be callable with the study and an event.")
    return found


def call(callbacks: Callbacks[Watcher], study: Watcher, event: Event) -> None:
    """Show an event to the callbacks; one that fails is logged."""
    for callback in callbacks:
        try:
            callback(study, event)
        except Exception:
            logger.exception("A callback failed on %s; the study goes on.", type(event).__name__)


def weakly(method: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A study's own method, for its parts: they do not keep it alive, so that a forgotten study ends at once."""
    weak = weakref.WeakMethod(method)

    def called(argument: Any) -> Any:
        found = weak()
        return "" if found is None else found(argument)

    return called
