"""A rival that asks a library for designs: silently, on one thread, and with a random design if the library fails."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Protocol

import numpy as np

from flexibo._internal.arrays import FloatArray
from flexibo._internal.threads import single_thread
from flexibo.compare.rivals.base import Setting, Suggestion
from flexibo.errors import InvalidValueError
from flexibo.space import Design, Designs
from flexibo.space.unseen import fresh

STREAM = 17
"""Separates the random designs from the library's own draws, which have the same seed."""


class Library(Protocol):
    """The part that differs between libraries."""

    def learn(self, design: Design, losses: Sequence[float]) -> None:
        """Learn the losses (n,) of a design, whether it was suggested or not."""

    def suggest(self) -> Mapping[str, object]:
        """The design to measure next, legal or not."""

    def predict(self, designs: Designs) -> FloatArray | None:
        """The losses (m, n) of designs (m) by the means of its model; None if it has none of the objectives."""


class LibraryRival:
    """Measures all objectives of the designs that a library suggests; `fallbacks` counts how often it failed."""

    def __init__(self, setting: Setting, start: Callable[[Setting], Library]) -> None:
        if setting.space.conditions:
            raise InvalidValueError("The space has conditions; this rival supports only spaces without conditions.")
        self._setting = setting
        self._rng = np.random.default_rng((setting.seed, STREAM))
        self._told: set[int] = set()
        self.fallbacks = 0
        with quiet_single_thread():
            self.library = start(setting)

    def tell(self, design: Design, losses: Mapping[str, float]) -> None:
        """Learn the losses of a design."""
        self._told.update(self._setting.space.designs([design]).keys().tolist())
        with quiet_single_thread():
            self.library.learn(design, [losses[name] for name in self._setting.names])

    def ask(self) -> Suggestion:
        """The design that the library suggests."""
        try:
            with quiet_single_thread():
                return Suggestion(self.library.suggest())
        except Exception:  # Any failure of a library must not stop a comparison of hours; it is counted.
            self.fallbacks += 1
            space = self._setting.space
            left = fresh(space, self._told, 1, self._rng)
            return Suggestion((left if len(left) else space.sample(1, self._rng))[0])

    def front(self) -> None:
        """None: the best of the measured designs."""

    def predict(self, designs: Designs) -> FloatArray | None:
        """What the library predicts; None if it has no model of the objectives, or fails to fit it."""
        try:
            with quiet_single_thread():
                return self.library.predict(designs)
        except Exception:
            return None


@contextmanager
def quiet_single_thread() -> Iterator[None]:
    """A context without logging, warnings and additional threads."""
    disabled = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with warnings.catch_warnings(), single_thread():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(disabled)
