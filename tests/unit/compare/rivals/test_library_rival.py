from __future__ import annotations

import logging
import warnings
from collections.abc import Sequence

import numpy as np
import pytest
from tests.unit.compare.rivals.small_settings import POOL, losses, setting

from flexibo import Design, Space
from flexibo._internal.arrays import FloatArray
from flexibo.compare.rivals.base import Setting, Suggestion
from flexibo.compare.rivals.library_rival import LibraryRival
from flexibo.errors import InvalidValueError
from flexibo.space import Designs


class Loud:
    """A library that logs and warns, and then gives up."""

    def __init__(self, given: Setting) -> None:
        logging.getLogger("loud").critical("starting")

    def learn(self, design: Design, losses: object) -> None:
        logging.getLogger("loud").critical("learning")

    def suggest(self) -> dict[str, object]:
        logging.getLogger("loud").critical("suggesting")
        warnings.warn("nothing left", stacklevel=1)
        raise StopIteration

    def predict(self, designs: Designs) -> None:
        logging.getLogger("loud").critical("predicting")


def test_a_library_is_silent_only_while_it_works(caplog: pytest.LogCaptureFixture) -> None:
    rival = LibraryRival(setting(POOL), Loud)
    rival.tell(POOL.enumerate()[0], losses(POOL.enumerate()[0]))
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        rival.ask()
        assert rival.predict(POOL.enumerate()) is None
    assert caplog.messages == []
    assert heard == []
    logging.getLogger("loud").critical("afterwards")
    assert caplog.messages == ["afterwards"]


def test_what_stands_in_for_a_library_is_what_is_left() -> None:
    space = Space({"a": [1, 2, 3, 4, 5, 6]})
    rival = LibraryRival(setting(space), Loud)
    for value in (2, 5, 1, 6):
        rival.tell(space.design({"a": value}), {"error": 0.0, "joules": 0.0})
    found = rival.ask().design
    assert found["a"] in (3, 4)
    rival.tell(space.design(found), {"error": 0.0, "joules": 0.0})
    assert rival.ask().design == {"a": 7 - found["a"]}  # type: ignore[operator]
    assert rival.fallbacks == 2


class Listening:
    """A library that remembers what it is told, and suggests the same design for ever."""

    def __init__(self, given: Setting) -> None:
        self.told: list[tuple[Design, list[float]]] = []

    def learn(self, design: Design, losses: Sequence[float]) -> None:
        self.told.append((design, list(losses)))

    def suggest(self) -> dict[str, object]:
        return {"a": 99, "b": 0, "kind": "x"}

    def predict(self, designs: Designs) -> FloatArray | None:
        return None


def test_losses_are_told_in_the_order_of_the_objectives() -> None:
    rival = LibraryRival(setting(POOL, n=3), Listening)
    design = POOL.enumerate()[4]
    rival.tell(design, {"ms": 3.0, "error": 1.0, "joules": 2.0})
    assert isinstance(rival.library, Listening)
    assert rival.library.told == [(design, [1.0, 2.0, 3.0])]


def test_what_a_library_suggests_is_passed_on_as_it_is_for_all_objectives() -> None:
    rival = LibraryRival(setting(POOL), Listening)
    assert rival.ask() == Suggestion({"a": 99, "b": 0, "kind": "x"})
    assert (rival.fallbacks, rival.front()) == (0, None)


def test_a_space_with_conditions_is_refused_before_the_library_starts() -> None:
    conditional = Space({"a": ["x", "y"], "b": (0.0, 1.0)}, conditions={"b": {"a": ["x"]}})

    def start(given: Setting) -> Listening:
        raise AssertionError("the library was started")

    with pytest.raises(InvalidValueError, match="conditions"):
        LibraryRival(setting(conditional), start)


def test_a_library_that_fails_when_every_design_is_known_asks_for_one_again() -> None:
    space = Space({"a": [1, 2]})
    rival = LibraryRival(setting(space), Loud)
    for value in (1, 2):
        rival.tell(space.design({"a": value}), {"error": 0.0, "joules": 0.0})
    assert rival.ask().design in space
    assert rival.fallbacks == 1


class Foreseeing(Listening):
    """A library that predicts, but not in one space."""

    def predict(self, designs: Designs) -> FloatArray:
        if len(designs) == 1:
            raise ValueError("too few designs")
        return np.zeros((len(designs), 2))


def test_predictions_are_those_of_the_library_and_none_if_it_fails() -> None:
    rival = LibraryRival(setting(POOL), Foreseeing)
    predicted = rival.predict(POOL.enumerate())
    assert predicted is not None
    assert predicted.shape == (len(POOL.enumerate()), 2)
    assert rival.predict(POOL.enumerate()[:1]) is None
