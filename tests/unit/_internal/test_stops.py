from __future__ import annotations

import numpy as np
import pytest

from flexibo._internal.stops import FARTHEST, MOST_STOPS, checked_steps, share, stops_of


@pytest.mark.parametrize(
    "steps", [True, 1.5, "27", b"27", [], [0, 3], [3, 3], [1, 2.5], range(1, MOST_STOPS + 2), None]
)
def test_what_can_be_no_steps_is_none(steps: object) -> None:
    assert checked_steps(steps) is None


def test_steps_are_plain_numbers() -> None:
    assert checked_steps(np.int64(27)) == 27
    assert checked_steps(np.array([1, 9])) == (1, 9)
    assert checked_steps(FARTHEST) == FARTHEST
    assert checked_steps(FARTHEST + 1) is None


@pytest.mark.parametrize("last", [1, 2, 3, 100, FARTHEST])
def test_stops_ascend_to_the_last_step(last: int) -> None:
    stops = stops_of(last)
    assert stops == tuple(sorted(set(stops)))
    assert stops[-1] == last
    assert len(stops) <= MOST_STOPS


def test_the_shares_of_all_parts_of_the_way_add_up_to_one() -> None:
    stops = stops_of(52)
    ways = zip((0, *stops[:-1]), stops, strict=True)
    assert sum(share(start, stop, stops) for start, stop in ways) == pytest.approx(1.0)
