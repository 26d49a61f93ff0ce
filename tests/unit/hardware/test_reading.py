"""Reading a meter while work is done, on counters whose true energy is known; and meters that are sums over time."""

from __future__ import annotations

import gc
import math
from collections.abc import Callable
from dataclasses import replace
from itertools import chain, cycle, repeat
from pathlib import Path
from typing import Any

import pytest
from tests.unit.hardware.played_time import World

from flexibo.errors import InvalidValueError
from flexibo.hardware import (
    EnergyReading,
    EstimatedMeter,
    MeterError,
    MeterStoppedError,
    NvmlMeter,
    RaplMeter,
    idle_power,
    measure,
)


def read(world: World, **arguments: Any) -> EnergyReading:
    return measure(world.work, world, count=32, clock=world.clock, **arguments)


class PlayedNvml:
    """NVML's counter of one GPU, in whole millijoules, as a world's staircase shows it."""

    class NVMLError(Exception):
        value = 0

    def __init__(self, world: World) -> None:
        self._world = world

    def __getattr__(self, function: str) -> Callable[..., Any]:
        answers = {"nvmlDeviceGetCount": 1, "nvmlDeviceGetName": "NVIDIA H200"}
        return lambda *_: answers.get(function)

    def nvmlDeviceGetTotalEnergyConsumption(self, _: object) -> int:  # noqa: N802
        return int(1000 * self._world.read_joules())


def test_ten_windows_of_a_counter_that_moves_ten_times_a_second_give_the_true_energy() -> None:
    world = World()
    meter = NvmlMeter(library=PlayedNvml(world), environment={})
    start = world.now
    reading = measure(world.work, meter, count=32, window_seconds=2.0, repeats=10, clock=world.clock)
    assert reading.joules == pytest.approx(480 * 0.007 / 32, rel=0.01)
    assert reading.watts == pytest.approx(480, rel=0.01)
    assert reading.seconds == pytest.approx(0.007 / 32)
    assert reading.call_seconds == pytest.approx(0.007)
    assert reading.repeats == 10
    assert reading.n_inferences == pytest.approx(10 * 2.1 / 0.007 * 32, rel=0.05)
    assert reading.seconds_total == pytest.approx(world.now - start)
    assert 20.5 < reading.seconds_total < 23
    assert (reading.meter, reading.is_estimate) == ("NVML, NVIDIA H200", False)
    assert reading.spread is not None
    assert 0 <= reading.spread < 0.02


@pytest.mark.parametrize("phase", [0.0, 0.013, 0.037, 0.052, 0.089])
@pytest.mark.parametrize("call_seconds", [0.0001, 0.0031, 0.007, 0.043, 0.27])
def test_a_single_window_of_two_seconds_is_accurate_wherever_the_steps_fall(phase: float, call_seconds: float) -> None:
    world = World(phase=phase, call_seconds=call_seconds)
    reading = read(world, repeats=1, window_seconds=2.0)
    assert reading.joules == pytest.approx(480 * call_seconds / 32, rel=0.05)
    assert reading.spread is None


@pytest.mark.parametrize("phase", [0.0, 0.013, 0.037, 0.052, 0.089])
def test_a_short_window_begins_and_ends_with_a_step_of_the_counter(phase: float) -> None:
    # Begun or ended anywhere, half a second would be wrong by up to a fifth.
    reading = read(World(phase=phase), repeats=1, window_seconds=0.56)
    assert reading.joules == pytest.approx(480 * 0.007 / 32, rel=0.015)


def test_work_that_takes_longer_than_a_step_gets_a_window_of_twenty_steps() -> None:
    reading = read(World(call_seconds=0.3), repeats=1, window_seconds=0.5)
    assert reading.n_inferences >= 7 * 32
    assert reading.joules == pytest.approx(480 * 0.3 / 32, rel=0.05)


@pytest.mark.parametrize(("step", "expected"), [(0.1, 0.5), (0.001, 0.2), (0.04, 0.2)])
def test_a_window_lasts_five_steps_by_default_and_a_fifth_of_a_second_at_least(step: float, expected: float) -> None:
    reading = read(World(step=step), repeats=3)
    lasted = reading.n_inferences / 32 * 0.007 / 3
    assert expected <= lasted < expected + 1.2 * step + 0.015
    assert reading.joules == pytest.approx(480 * 0.007 / 32, rel=0.05)


def test_a_window_that_cannot_await_a_step_lasts_twenty_of_them_by_default() -> None:
    reading = read(World(step=0.1, call_seconds=0.11), repeats=3)
    lasted = reading.n_inferences / 32 * 0.11 / 3
    assert 2.0 <= lasted < 2.3


def test_the_counter_is_looked_at_only_while_a_step_is_awaited() -> None:
    world = World(call_seconds=0.0005)
    read(world, repeats=10, window_seconds=2.0)
    # 20 looks in each step that is awaited, and none in the 19 or 20 steps before it.
    assert world.n_looks < 11 * 25


def test_work_is_given_to_the_device_in_stretches_and_waited_for_before_each_look() -> None:
    world = World(call_seconds=0.0005)
    n_waits = [0]

    def synchronise() -> None:
        n_waits[0] += 1
        world.synchronise()

    reading = measure(
        world.enqueue,
        world,
        count=8,
        repeats=2,
        window_seconds=2.0,
        warm_up_seconds=0.01,
        clock=world.clock,
        synchronise=synchronise,
    )
    assert reading.joules == pytest.approx(480 * 0.00051 / 8, rel=0.01)
    assert reading.seconds == pytest.approx(0.00051 / 8, rel=0.01)
    assert world.queued == 0
    assert n_waits[0] < world.n_calls / 5


def test_the_first_calls_are_warm_up_and_count_in_the_cost_only() -> None:
    world = World()
    slow = iter([5.0, 1.0])

    def work() -> None:
        world.pass_time(next(slow, 0.0), 900.0)
        world.work()

    reading = measure(work, world, count=32, repeats=1, warm_up_seconds=7.0, clock=world.clock)
    assert reading.joules == pytest.approx(480 * 0.007 / 32, rel=0.01)
    assert reading.call_seconds == pytest.approx(0.007)
    assert reading.seconds_total > 7.0 + 0.5


def test_the_time_of_a_call_is_that_of_a_warm_device() -> None:
    world = World()
    clocks_rise = iter([0.02] * 60)

    def work() -> None:
        world.pass_time(next(clocks_rise, 0.007), 480.0)

    reading = measure(work, world, count=1, repeats=1, warm_up_seconds=1.5, clock=world.clock)
    assert reading.call_seconds == pytest.approx(0.007)


def test_without_warm_up_the_first_call_is_still_not_measured() -> None:
    world = World()
    slow = iter([5.0])

    def work() -> None:
        world.pass_time(next(slow, 0.0), 900.0)
        world.work()

    reading = measure(work, world, count=32, repeats=1, warm_up_seconds=0.0, clock=world.clock)
    assert reading.call_seconds == pytest.approx(0.007)


def test_the_median_passes_over_a_disturbed_window_and_the_spread_shows_disturbance() -> None:
    world = World()

    def work(every: int) -> None:
        # Other work on the device in some of the windows.
        world.pass_time(0.007, 480.0 + (4000.0 if int((world.now - 100) / 0.6) % every == 1 else 0.0))
        world.n_calls += 1

    calm = measure(lambda: work(9), world, count=1, repeats=9, clock=world.clock)
    wild = measure(lambda: work(2), world, count=1, repeats=9, clock=world.clock)
    assert calm.joules == pytest.approx(480 * 0.007, rel=0.02)
    assert calm.spread is not None
    assert wild.spread is not None
    assert calm.spread < 0.1 < wild.spread


def test_the_spread_is_the_interquartile_range_over_the_median() -> None:
    world = World(step=0.001, call_seconds=0.2)
    watts = iter([1.0, 1.0, 1.0, 100.0, 110.0, 120.0, 130.0, 140.0])
    reading = measure(
        lambda: world.pass_time(0.2, next(watts)),
        world,
        count=1,
        repeats=5,
        warm_up_seconds=0.3,
        window_seconds=0.19,
        clock=world.clock,
    )
    # Three calls warm up; then each window holds one call, whose energy is right but for a step of the counter.
    assert reading.watts == pytest.approx(120.0, rel=0.01)
    assert reading.spread == pytest.approx(20 / 120, rel=0.02)
    assert reading.n_inferences == 5


def held_up(world: World, seconds: float, until: float) -> Callable[[], None]:
    """Work whose calls take longer, at idle power, until some time: the processor that feeds the device is held up."""

    def work() -> None:
        if 100.0 + 0.3 < world.now < until:
            world.pass_time(seconds, world.idle_watts)
        world.work()

    return work


def test_windows_that_disagree_are_followed_by_more() -> None:
    few, most = {"repeats": 3, "window_seconds": 0.15, "warm_up_seconds": 0.1}, {"most_repeats": 9}
    readings = []
    for more in ({}, most):
        world = World()
        work = held_up(world, 0.02, until=100.75)
        readings.append(measure(work, world, count=1, clock=world.clock, **few, **more))
    short, long = readings
    assert (short.repeats, long.repeats > 4) == (3, True)
    assert short.joules > 1.3 * 480 * 0.007
    assert long.joules == pytest.approx(480 * 0.007, rel=0.03)


def test_windows_that_agree_are_not_followed_by_more() -> None:
    world = World()
    assert read(world, repeats=3, most_repeats=9, window_seconds=0.15).repeats == 3


def test_long_calls_get_fewer_windows_and_not_a_longer_reading() -> None:
    def lasted(call_seconds: float, **more: int) -> tuple[int, float]:
        reading = read(World(call_seconds=call_seconds), repeats=3, window_seconds=0.15, warm_up_seconds=0.1, **more)
        return reading.repeats, reading.seconds_total

    assert lasted(0.04)[0] == lasted(0.001, most_repeats=9)[0] == 3
    repeats, seconds = lasted(0.04, most_repeats=9)
    assert repeats == 2  # one would not say how much windows differ
    assert seconds < 2.2
    assert read(World(call_seconds=0.04), repeats=1, most_repeats=3, window_seconds=0.15).repeats == 1


def test_a_first_call_that_takes_long_does_not_use_up_the_warm_up() -> None:
    world, seconds = World(step=0.001), chain([0.5, 0.4, 0.3], repeat(0.01))
    reading = measure(
        lambda: world.pass_time(next(seconds), 100.0), world, count=1, repeats=2, warm_up_seconds=1.0, clock=world.clock
    )
    assert reading.call_seconds == pytest.approx(0.01)
    assert reading.call_spread == pytest.approx(0.0, abs=1e-9)


def test_the_time_of_a_call_has_the_deviation_of_a_median() -> None:
    world, seconds = World(step=0.001), cycle([0.01, 0.02, 0.03])
    reading = measure(
        lambda: world.pass_time(next(seconds), 100.0), world, count=1, repeats=2, warm_up_seconds=3.0, clock=world.clock
    )
    assert reading.n_calls > 2
    assert reading.call_spread is not None
    expected = 1.2533 * reading.call_seconds * reading.call_spread / 1.349 / reading.n_calls**0.5
    assert reading.call_deviation == pytest.approx(expected, rel=1e-3)
    single = replace(reading, call_spread=None)
    assert single.call_deviation is None


def test_windows_that_never_agree_end_at_the_most_that_there_may_be() -> None:
    world, watts = World(step=0.001, call_seconds=0.2), iter([100.0, 900.0] * 50)
    reading = measure(
        lambda: world.pass_time(0.2, next(watts)),
        world,
        count=1,
        repeats=3,
        most_repeats=6,
        window_seconds=0.19,
        clock=world.clock,
    )
    assert reading.repeats == 6


@pytest.mark.parametrize("was_on", [True, False])
def test_garbage_is_not_collected_while_work_is_measured(was_on: bool) -> None:
    world, seen = World(), []

    def work() -> None:
        seen.append(gc.isenabled())
        world.work()

    before = gc.isenabled()
    try:
        (gc.enable if was_on else gc.disable)()
        measure(work, world, count=1, repeats=1, clock=world.clock)
        assert gc.isenabled() == was_on
    finally:
        (gc.enable if before else gc.disable)()
    assert not any(seen)


def test_idle_power_is_reported_beside_and_taken_off() -> None:
    reading = read(World(), idle_watts=80.0)
    assert reading.joules == pytest.approx(480 * 0.007 / 32, rel=0.01)
    assert reading.joules_above_idle == pytest.approx((480 - 80) * 0.007 / 32, rel=0.01)
    assert reading.idle_watts == 80.0


def test_an_unknown_idle_power_is_not_made_up_and_a_larger_one_never_makes_energy_negative() -> None:
    unknown = read(World(), repeats=1)
    assert (unknown.joules_above_idle, unknown.idle_watts) == (None, None)
    assert read(World(), repeats=1, idle_watts=0.0).joules_above_idle == pytest.approx(480 * 0.007 / 32, rel=0.02)
    assert read(World(), repeats=1, idle_watts=5000.0).joules_above_idle == 0.0


@pytest.mark.parametrize("step", [0.1, 0.001])
@pytest.mark.parametrize(
    ("call_seconds", "repeats", "total"),
    [
        (300.0, 1, 300.0),  # longer than the limit: one call is the reading
        (35.0, 1, 35.0),  # a second one would not fit
        (25.0, 1, 50.0),  # a third one would not fit: the second, warm one is the reading
        (18.0, 1, 54.0),
        (9.0, 4, 54.0),
        (5.5, 8, 55.0),
    ],
)
def test_a_limit_leaves_as_many_repeats_as_fit_and_always_one(
    step: float, call_seconds: float, repeats: int, total: float
) -> None:
    world = World(call_seconds=call_seconds, step=step)
    reading = read(world, limit_seconds=60.0)
    assert reading.repeats == repeats
    assert reading.seconds_total == pytest.approx(total)
    assert world.n_calls == round(total / call_seconds)
    assert reading.joules == pytest.approx(480 * call_seconds / 32, rel=0.06)
    assert reading.call_seconds == pytest.approx(call_seconds)
    assert (reading.spread is None) == (repeats == 1)


@pytest.mark.parametrize("call_seconds", [0.0001, 0.007, 0.3])
def test_a_limit_that_is_wide_enough_changes_nothing(call_seconds: float) -> None:
    assert read(World(call_seconds=call_seconds), limit_seconds=60.0) == read(World(call_seconds=call_seconds))


def test_a_short_limit_takes_windows_away_and_not_their_length() -> None:
    reading = read(World(), limit_seconds=2.6)
    assert reading.repeats == 3
    assert 2.0 < reading.seconds_total <= 2.6
    assert reading.joules == pytest.approx(480 * 0.007 / 32, rel=0.01)
    least = read(World(), limit_seconds=0.001)
    assert (least.repeats, least.joules) == (1, pytest.approx(480 * 0.007 / 32, rel=0.02))


def test_a_first_call_that_loads_and_compiles_is_not_taken_for_a_long_one() -> None:
    world = World()
    slow = iter([20.0])

    def work() -> None:
        world.pass_time(next(slow, 0.0), 900.0)
        world.work()

    reading = measure(work, world, count=32, limit_seconds=60.0, clock=world.clock)
    assert reading.call_seconds == pytest.approx(0.007)
    assert reading.joules == pytest.approx(480 * 0.007 / 32, rel=0.01)
    assert reading.repeats == 10


@pytest.mark.parametrize("call_seconds", [25.0, 300.0])
def test_a_counter_that_rests_during_a_long_call_has_stopped(call_seconds: float) -> None:
    world = World(call_seconds=call_seconds)
    world.read_joules = lambda: 7000.0  # type: ignore[method-assign]
    with pytest.raises(MeterStoppedError, match=rf"a staircase .*\b{call_seconds:.1f} s\b"):
        read(world, limit_seconds=60.0)


def test_an_estimate_of_a_long_call_is_one_call() -> None:
    world = World(call_seconds=40.0)
    reading = measure(world.work, EstimatedMeter(15, world.clock), count=4, limit_seconds=60.0, clock=world.clock)
    assert (reading.joules, reading.repeats, world.n_calls) == (15 * 40.0 / 4, 1, 1)


@pytest.mark.parametrize("step", [0.1, 0.001])
@pytest.mark.parametrize("phase", [0.0, 0.0437])
def test_idle_power_is_read_while_nothing_is_done(step: float, phase: float) -> None:
    world = World(step=step, phase=phase)
    assert idle_power(world, 1.0, world.clock, world.sleep) == pytest.approx(80.0, rel=0.02)
    assert world.n_calls == 0
    assert 101.0 <= world.now < 101.5


@pytest.mark.parametrize("step", [0.1, 0.001])
def test_a_counter_that_is_stuck_from_the_start_is_one_sentence(step: float) -> None:
    world = World(step=step)
    world.read_joules = lambda: 7000.0  # type: ignore[method-assign]
    with pytest.raises(MeterStoppedError, match=r"a staircase .*\b\d+\.\d s\b"):
        read(world, window_seconds=2.0)
    assert 106.0 < world.now < 109.5
    with pytest.raises(MeterStoppedError, match="has not risen"):
        idle_power(world, 1.0, world.clock, world.sleep)


@pytest.mark.parametrize("step", [0.1, 0.001])
def test_a_counter_that_stops_in_the_middle_is_one_sentence(step: float) -> None:
    world = World(step=step)
    world.read_joules = lambda: 480 * math.floor(min(world.now, 106) / step) * step  # type: ignore[method-assign]
    with pytest.raises(MeterStoppedError, match="has not risen"):
        read(world, window_seconds=2.0)


@pytest.mark.parametrize("later", [0.5, 6000.0, math.nan, math.inf])
def test_a_meter_that_falls_or_says_no_number_is_one_sentence(later: float) -> None:
    world = World()
    world.read_joules = lambda: 7000.0 + world.now if world.now < 103 else later  # type: ignore[method-assign]
    with pytest.raises(MeterError, match=rf"a staircase .*\b{later} J after 7.* J"):
        read(world)


def test_a_counter_that_vanishes_in_the_middle_is_one_sentence(tmp_path: Path) -> None:
    zone = tmp_path / "intel-rapl:0"
    zone.mkdir()
    for file, text in (("name", "package-0"), ("energy_uj", "7"), ("max_energy_range_uj", "1000000000")):
        (zone / file).write_text(f"{text}\n")
    meter, world = RaplMeter(tmp_path), World()

    def work() -> None:
        world.work()
        if world.now > 101:
            (zone / "energy_uj").unlink(missing_ok=True)

    with pytest.raises(MeterError, match=r"RAPL, 1 package .*: .*energy_uj"):
        measure(work, meter, count=1, clock=world.clock)
    assert (meter.update_seconds, meter.is_estimate) == (0.001, False)


def test_an_error_of_the_work_is_passed_on() -> None:
    def work() -> None:
        raise KeyError("out of memory")

    with pytest.raises(KeyError, match="out of memory"):
        measure(work, World(), count=1)


@pytest.mark.parametrize(
    ("arguments", "facts"),
    [
        ({"count": 0}, r"count .*\b0;"),
        ({"count": 1.5}, r"count .*\b1\.5;"),
        ({"repeats": 0}, r"repeats .*\b0;"),
        ({"repeats": True}, r"repeats .*True;"),
        ({"window_seconds": 0.0}, r"window .*\b0\.0 s;.*positive"),
        ({"window_seconds": math.nan}, r"window .*\bnan s;.*positive"),
        ({"limit_seconds": 0.0}, r"limit .*\b0\.0 s;.*positive"),
        ({"limit_seconds": math.inf}, r"limit .*\binf s;.*positive"),
        ({"warm_up_seconds": -1.0}, r"warm_up_seconds .*-1\.0;"),
        ({"warm_up_seconds": math.inf}, r"warm_up_seconds .*\binf;"),
        ({"idle_watts": -3.0}, r"idle_watts .*-3\.0;"),
        ({"idle_watts": math.nan}, r"idle_watts .*\bnan;"),
    ],
)
def test_arguments_out_of_range_are_refused_before_any_work(arguments: dict[str, Any], facts: str) -> None:
    world = World()
    with pytest.raises(InvalidValueError, match=facts):
        measure(world.work, world, **{"count": 1, "clock": world.clock, **arguments})
    assert world.n_calls == 0


def test_idle_power_needs_time_to_look() -> None:
    with pytest.raises(InvalidValueError, match=r"window .*\b0 s;"):
        idle_power(World(), 0)
