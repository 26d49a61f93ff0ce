from __future__ import annotations

import pytest
from tests.unit.compare.rivals.small_step_settings import LEVELS, answered, started

pytestmark = pytest.mark.rivals


def test_a_design_goes_on_if_it_is_in_the_best_third_of_those_before() -> None:
    rival = started("syne-tune-moasha")
    answered(rival, 3)
    levels = []
    for loss in (9.0, 8.0, 7.0, 6.5, 8.5, 9.5, 0.1):
        fresh = rival.ask()
        assert fresh.level == 1
        rival.tell(fresh, {1: [loss, 100 * loss]})
        levels.append(rival.ask().level if rival.ask().token == fresh.token else 1)
        if levels[-1] > 1:
            rival.tell(rival.ask(), {2: [99.0, 99.0], 3: [99.0, 999.0]})
    assert levels[-1] == 3
    assert levels[0] == levels[-2] == 1


def test_the_first_that_gets_to_a_rung_goes_on_and_one_that_is_worse_stops() -> None:
    rival = started("syne-tune-moasha")
    assert [rung.level for rung in answered(rival, 3)] == [1, 3, LEVELS]
    fresh = rival.ask()
    rival.tell(fresh, {1: [9.0, 99.0]})
    assert rival.ask().token != fresh.token
