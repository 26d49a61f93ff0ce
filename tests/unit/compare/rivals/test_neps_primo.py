from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.unit.compare.rivals.small_step_settings import LEVELS, SPACE, answered, started

from flexibo.compare.rivals.neps_primo import Primo

pytestmark = pytest.mark.rivals


@pytest.mark.slow
def test_it_halves_until_as_many_trainings_are_paid_as_there_are_options_and_then_trains_fully() -> None:
    asked = answered(started("neps-primo"), 24)
    full = [rung.token.startswith("full-") for rung in asked]
    begun = full.index(True)
    assert all(full[begun:])
    assert all(rung.level == LEVELS for rung in asked[begun:])
    assert sum(rung.level for rung in asked[: begun - 1]) < len(SPACE.names) * LEVELS


def failing() -> None:
    raise RuntimeError("no question")


def test_a_failure_of_the_library_is_counted_and_a_random_design_takes_its_place() -> None:
    rival = started("neps-primo")
    assert isinstance(rival, Primo)
    ask: Callable[[], object] = failing
    rival._neps.ask = ask
    rung = rival.ask()
    assert (rival.fallbacks, rung.level) == (1, LEVELS)
    assert dict(rung.design) in SPACE
    rival.tell(rung, {LEVELS: [0.5, 8.0]})
