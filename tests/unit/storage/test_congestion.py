"""Pauses of those who wait for a lock: simulated on a clock of our own, with a hundred of them."""

from __future__ import annotations

import heapq
import random
import statistics

import pytest

from flexibo.storage._congestion import LONGEST, SHORTEST, Congestion

HOLD_SECONDS = 0.01


def simulated(
    processes: int, seconds: float, *, known: bool = True, seed: int = 1
) -> tuple[list[int], list[float], int]:
    """Processes that want a lock all the time: how often each got it, all waits, and the number of attempts."""
    rng = random.Random(seed)
    crowds = [Congestion(rng.uniform) for _ in range(processes)]
    for crowd in crowds:
        crowd.crowd = processes if known else 1
        for _ in range(50):
            crowd.held(HOLD_SECONDS)
    since = [0.0] * processes
    agenda = [(rng.uniform(0.0, HOLD_SECONDS), n) for n in range(processes)]
    heapq.heapify(agenda)
    free, tries = 0.0, 0
    got, waits = [0] * processes, []
    while agenda[0][0] < seconds:
        now, n = heapq.heappop(agenda)
        tries += 1
        if now < free:
            heapq.heappush(agenda, (now + crowds[n].pause(now - since[n]), n))
            continue
        got[n] += 1
        waits.append(now - since[n])
        free = since[n] = now + HOLD_SECONDS
        heapq.heappush(agenda, (free + rng.uniform(0.0, HOLD_SECONDS), n))
    return got, waits, tries


@pytest.mark.parametrize("processes", [2, 8, 32, 100])
def test_the_lock_is_rarely_free_and_rarely_asked_for_however_many_wait(processes: int) -> None:
    seconds = 4.0
    got, _, tries = simulated(processes, seconds)
    assert sum(got) * HOLD_SECONDS > 0.8 * seconds
    assert tries < 40 * sum(got)  # pauses of a millisecond would be a thousand attempts of a hundred processes


@pytest.mark.parametrize("processes", [8, 50])
def test_everybody_gets_its_turn(processes: int) -> None:
    got, waits, _ = simulated(processes, 0.2 * processes)
    turn = processes * HOLD_SECONDS
    assert min(got) > 0.4 * statistics.mean(got)
    assert max(waits) < 10 * turn


def test_without_a_known_number_of_workers_pauses_grow_with_the_wait() -> None:
    got, _, tries = simulated(30, 4.0, known=False)
    assert sum(got) * HOLD_SECONDS > 0.6 * 4.0
    assert tries < 60 * sum(got)
    alone = Congestion(lambda low, high: 1.0)
    assert alone.pause(0.0) == SHORTEST
    assert alone.pause(0.8) == pytest.approx(0.05)
    assert alone.pause(60.0) == LONGEST


def test_pauses_shrink_for_one_that_waits_longer_than_a_turn_of_all() -> None:
    crowd = Congestion(lambda low, high: 1.0)
    crowd.crowd = 100
    for _ in range(50):
        crowd.held(HOLD_SECONDS)
    pauses = [crowd.pause(waited) for waited in (0.0, 1.0, 3.0, 60.0)]
    assert pauses == sorted(pauses, reverse=True)
    assert pauses[0] / pauses[2] == pytest.approx(4.0, rel=0.01)
    assert pauses[3] * 1000 > 10.0  # a hundred that wait for one that is stopped leave the processor alone
