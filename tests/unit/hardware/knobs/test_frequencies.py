"""The steps that are offered, the step that a value means, and limits that move together."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.hardware.fake_linux import put

from flexibo.errors import InvalidValueError
from flexibo.hardware.knobs import LinuxMachine, Roots
from flexibo.hardware.knobs._frequencies import pinned, spread, step_of

STEPS = (0.3456, 0.96, 1.1904)


def test_bounds_outside_the_steps_mean_the_nearest_ones() -> None:
    assert spread([1.0, 2.0, 3.0], 2, (0.3, 9.0)) == (1.0, 3.0)
    assert spread([1.0, 2.0, 3.0], 2, (5.0, 9.0)) == (3.0,)
    assert spread([1.0, 2.0, 3.0], 2, (1.4, 1.6)) == (1.0, 2.0)
    with pytest.raises(InvalidValueError, match=r"steps.*\b0\b"):
        spread([1.0], 0)


def test_few_steps_are_all_offered_in_order_and_once() -> None:
    assert spread([3.0, 1.0, 1.0, 2.0], 3) == (1.0, 2.0, 3.0)
    assert spread([3.0, 1.0, 2.0], 1) == (3.0,)
    assert spread([1.0, 1.1, 1.2, 9.0], 3) == (1.0, 1.2, 9.0)  # the nearest to 5 is 1.2


def test_a_value_within_a_hundredth_means_the_step_next_to_it() -> None:
    assert step_of("cpu_frequency", 1.2, STEPS) == 1.1904
    assert step_of("cpu_frequency", 0.96, STEPS) == 0.96


@pytest.mark.parametrize("value", [1.21, 0.33, "0.96", True, float("nan")])
def test_another_value_is_refused_with_the_steps(value: object) -> None:
    with pytest.raises(InvalidValueError, match=rf"'cpu_frequency'.*{value!r};.*0\.3456, 0\.96, 1\.1904"):
        step_of("cpu_frequency", value, STEPS)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("present", "target", "order"),
    [
        ((2, 4), 9, ["high", "low"]),  # the upper one first: the lower may not pass it
        ((2, 4), 1, ["low", "high"]),
        ((2, 4), 4, ["low"]),
        ((2, 4), 2, ["high"]),
        ((3, 3), 3, []),
    ],
)
def test_limits_move_in_an_order_that_is_legal_and_only_if_they_change(
    tmp_path: Path, present: tuple[int, int], target: int, order: list[str]
) -> None:
    low, high = (put(tmp_path / name, number) for name, number in zip(("low", "high"), present, strict=True))
    writes = pinned(LinuxMachine(Roots(tmp_path, tmp_path)), low, high, target, tolerance=0.05)
    assert [Path(write.path).name for write in writes] == order
    before = dict(zip(("low", "high"), map(str, present), strict=True))
    assert all((write.value, write.before) == (str(target), before[Path(write.path).name]) for write in writes)
    assert all(write.tolerance == 0.05 for write in writes)
