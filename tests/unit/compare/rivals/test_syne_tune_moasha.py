from __future__ import annotations

import pytest
from tests.unit.compare.rivals.small_step_settings import LEVELS, answered, started

pytestmark = pytest.mark.rivals


def test_a_design_stops_where_it_is_worse_than_two_in_three_of_those_before() -> None:
    rival = started("syne-tune-moasha")
    first, *_ = answered(rival, 1)
    assert first.level == 1
    assert [rung.level for rung in answered(rival, 2)] == [3, LEVELS], "the first one that gets to a rung goes on"
    fresh = rival.ask()
    rival.tell(fresh, {1: [9.0, 99.0]})
    assert rival.ask().token != fresh.token
