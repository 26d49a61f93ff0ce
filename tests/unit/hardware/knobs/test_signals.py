"""Signals that wait."""

from __future__ import annotations

import os
import signal
import threading

import pytest

from flexibo.hardware.knobs._signals import held_signals


def interrupt(number: int = signal.SIGINT) -> None:
    os.kill(os.getpid(), number)


def test_a_signal_waits_until_it_is_let_in() -> None:
    steps = []
    with held_signals() as hold:
        interrupt()
        steps.append("held")
        with pytest.raises(KeyboardInterrupt):
            hold.end()
        with pytest.raises(KeyboardInterrupt):
            interrupt()
        hold.begin()
        interrupt(signal.SIGTERM)
        hold.begin()  # forgets nothing
        steps.append("held again")
        with pytest.raises(SystemExit, match="143"):
            hold.end()
    assert steps == ["held", "held again"]


def test_a_signal_that_still_waits_at_the_end_arrives_with_the_old_handler() -> None:
    seen: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, frame: seen.append(number))
    try:
        with held_signals():
            interrupt(signal.SIGTERM)
            assert seen == []
        assert seen == [signal.SIGTERM]
    finally:
        signal.signal(signal.SIGTERM, before)


def test_another_thread_changes_no_handler() -> None:
    same: list[bool] = []
    before = signal.getsignal(signal.SIGTERM)

    def work() -> None:
        with held_signals():
            same.append(signal.getsignal(signal.SIGTERM) == before)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert same == [True]


def test_the_timeout_of_a_measurement_waits_too() -> None:
    seen: list[int] = []
    before = signal.signal(signal.SIGALRM, lambda number, frame: seen.append(number))
    try:
        with held_signals():
            interrupt(signal.SIGALRM)
            assert seen == []
        assert seen == [signal.SIGALRM]
    finally:
        signal.signal(signal.SIGALRM, before)
