"""A rival from a library that is asked with care: in silence, on one thread, and never without an answer."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Protocol

import numpy as np

from flexibo._internal.threads import single_thread
from flexibo.compare.rivals.base import Setting, Suggestion
from flexibo.errors import InvalidValueError
from flexibo.methods.legal_designs import fresh
from flexibo.space import Design

STREAM = 17
"""Tells the draws made in place of a library from its own, which have the same seed."""


class Library(Protocol):
    """What differs between the libraries."""

    def learn(self, design: Design, losses: Sequence[float]) -> None:
        """Take in the losses (n,) of a design, whether it was suggested or not."""

    def suggest(self) -> Mapping[str, object]:
        """The design to measure next, legal or not."""


class LibraryRival:
    """A rival that measures all objectives of the designs that a library suggests.

    Args:
        setting: The problem.
        start: Starts the library.

    Attributes:
        library: The library, started.
        fallbacks: How often it had no answer, and a random design that it had not been told was taken instead.
    """

    def __init__(self, setting: Setting, start: Callable[[Setting], Library]) -> None:
        if setting.space.conditions:
            raise InvalidValueError("The space has conditions; this rival is compared on spaces without.")
        self._setting = setting
        self._rng = np.random.default_rng((setting.seed, STREAM))
        self._told: set[int] = set()
        self.fallbacks = 0
        with _alone():
            self.library = start(setting)

    def tell(self, design: Design, losses: Mapping[str, float]) -> None:
        """Learn the losses of a design."""
        self._told.update(self._setting.space.designs([design]).keys().tolist())
        with _alone():
            self.library.learn(design, [losses[name] for name in self._setting.names])

    def ask(self) -> Suggestion:
        """The design that the library suggests."""
        try:
            with _alone():
                return Suggestion(self.library.suggest())
        except Exception:  # Whatever went wrong in there, the comparison goes on, and counts it.
            self.fallbacks += 1
            space = self._setting.space
            left = fresh(space, self._told, 1, self._rng)
            return Suggestion((left if len(left) else space.sample(1, self._rng))[0])

    def front(self) -> None:
        """None: the best of the designs that were measured."""


@contextmanager
def _alone() -> Iterator[None]:
    """A context without logging, warnings and further threads; all are as before after it."""
    disabled = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with warnings.catch_warnings(), single_thread():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(disabled)
