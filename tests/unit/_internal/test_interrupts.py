from __future__ import annotations

import signal
import threading

import pytest

from flexibo._internal.interrupts import Terminated, allowed_interrupts, deferred_interrupts


def press(times: int = 1) -> None:
    for _ in range(times):
        signal.raise_signal(signal.SIGINT)


def test_ctrl_c_waits_for_the_end_of_the_block() -> None:
    steps = []

    def work() -> None:
        with deferred_interrupts():
            press()
            steps.append("inside")
        steps.append("after")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert steps == ["inside"]


def test_without_ctrl_c_the_handler_of_before_is_back() -> None:
    before = signal.getsignal(signal.SIGINT)
    with deferred_interrupts():
        assert signal.getsignal(signal.SIGINT) is not before
    assert signal.getsignal(signal.SIGINT) is before


def test_pressed_twice_it_interrupts_once() -> None:
    with pytest.raises(KeyboardInterrupt), deferred_interrupts():
        press(times=2)
    with deferred_interrupts():
        pass


def test_in_nested_blocks_it_waits_for_the_outermost() -> None:
    steps = []

    def work() -> None:
        with deferred_interrupts():
            with deferred_interrupts():
                press()
            steps.append("between")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert steps == ["between"]


def test_a_delayed_ctrl_c_is_raised_with_the_error_of_the_block_as_its_context() -> None:
    def work() -> None:
        press()
        raise ValueError("broken")

    with pytest.raises(KeyboardInterrupt) as caught, deferred_interrupts():
        work()
    assert isinstance(caught.value.__context__, ValueError)
    with pytest.raises(KeyboardInterrupt):
        press()


def test_an_error_of_the_block_is_raised_if_ctrl_c_was_not_pressed_or_is_ignored() -> None:
    def work() -> None:
        press()
        raise ValueError("broken")

    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        with pytest.raises(ValueError, match="broken"), deferred_interrupts():
            work()
    finally:
        signal.signal(signal.SIGINT, before)
    with pytest.raises(ValueError, match="broken"), deferred_interrupts():
        raise ValueError("broken")


def test_in_an_allowed_part_ctrl_c_works_at_once() -> None:
    steps = []

    def work() -> None:
        press()
        steps.append("not reached")

    with deferred_interrupts():
        with pytest.raises(KeyboardInterrupt), allowed_interrupts():
            work()
        steps.append("end")
    assert steps == ["end"]


def test_a_delayed_ctrl_c_comes_before_an_allowed_part_begins_and_only_once() -> None:
    steps = []
    with deferred_interrupts():
        press()
        with pytest.raises(KeyboardInterrupt), allowed_interrupts():
            steps.append("not reached")
        steps.append("end")
    assert steps == ["end"]


def test_after_an_allowed_part_ctrl_c_waits_again() -> None:
    steps = []

    def work() -> None:
        with deferred_interrupts():
            with allowed_interrupts():
                pass
            press()
            steps.append("end")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert steps == ["end"]


def test_an_allowed_part_leaves_only_the_innermost_block() -> None:
    steps = []

    def work() -> None:
        with deferred_interrupts():
            with deferred_interrupts(), allowed_interrupts():
                press()
                steps.append("inside")
            steps.append("end")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert steps == ["inside", "end"]


def test_outside_a_block_there_is_nothing_to_allow() -> None:
    with pytest.raises(KeyboardInterrupt), allowed_interrupts():
        press()


def test_other_threads_leave_the_handler_alone() -> None:
    seen = []

    def work() -> None:
        with deferred_interrupts(), allowed_interrupts():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    before = signal.getsignal(signal.SIGINT)
    thread.start()
    thread.join()
    assert seen == [before]


def test_what_handles_ctrl_c_handles_sigterm_too() -> None:
    with pytest.raises(KeyboardInterrupt):
        raise Terminated


def test_an_allowed_part_that_ends_after_its_block_changes_nothing() -> None:
    # Ctrl-C at the very end of the part: it ends when its generator is removed, which may be much later.
    block, part = deferred_interrupts(), allowed_interrupts()
    block.__enter__()
    part.__enter__()
    block.__exit__(None, None, None)
    part.__exit__(None, None, None)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
