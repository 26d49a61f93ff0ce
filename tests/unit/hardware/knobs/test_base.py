"""What all knobs share: their state, and how texts and writes are compared."""

from __future__ import annotations

import errno
import os
import re
from pathlib import Path

import pytest
from tests.unit.hardware.fake_linux import FakeKernel, linux, put

from flexibo.errors import InvalidValueError, MachineError
from flexibo.hardware.knobs import Knob, KnobUnavailableError, RestoreError, Write, os_knobs, state
from flexibo.hardware.knobs.base import agrees, changes, chosen, whole


@pytest.fixture
def kernel(tmp_path: Path) -> FakeKernel:
    return FakeKernel(linux(tmp_path))


def knob_of(kernel: FakeKernel, name: str) -> Knob:
    return next(knob for knob in os_knobs(kernel) if knob.name == name)


def test_a_state_is_read_without_a_write(kernel: FakeKernel) -> None:
    found = state(knob_of(kernel, "swappiness"), kernel)
    assert (found.name, found.present, found.offered, found.refusal) == ("swappiness", 60, (10, 30, 60, 100), "")
    assert kernel.written == []


def test_a_knob_that_this_user_may_not_set_says_why(kernel: FakeKernel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "refusal", lambda path: f"{Path(path).name} is closed.")
    found = state(knob_of(kernel, "swappiness"), kernel)
    assert (found.present, found.offered, found.refusal) == (60, (10, 30, 60, 100), "swappiness is closed.")


def test_a_knob_that_is_not_there_or_says_no_number_says_why(kernel: FakeKernel) -> None:
    path = kernel.roots.proc / "sys/vm/swappiness"
    put(path, "often")
    found = state(knob_of(kernel, "swappiness"), kernel)
    assert f"{path} contains 'often'" in found.refusal
    path.unlink()
    found = state(knob_of(kernel, "swappiness"), kernel)
    assert (found.present, found.offered) == (None, ())
    assert re.search(f"{path} .*: {os.strerror(errno.ENOENT)}", found.refusal)


def test_a_file_that_may_not_be_read_says_so(kernel: FakeKernel, monkeypatch: pytest.MonkeyPatch) -> None:
    def deny(path: str) -> str:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(kernel, "read", deny)
    refusal = state(knob_of(kernel, "swappiness"), kernel).refusal
    assert re.search(f"{kernel.roots.proc}/sys/vm/swappiness .*root", refusal)


def test_a_knob_with_a_value_but_nothing_to_offer_keeps_its_value(kernel: FakeKernel) -> None:
    class Fixed:
        name = "fixed"

        def read(self) -> int:
            return 7

        def values(self) -> tuple[int, ...]:
            raise KnobUnavailableError("It is fixed.")

    found = state(Fixed(), kernel)  # type: ignore[arg-type]
    assert (found.present, found.offered, found.refusal) == (7, (), "It is fixed.")


def test_the_choice_is_the_word_in_brackets_or_all() -> None:
    assert chosen("none [kyber] bfq") == "kyber"
    assert chosen("[none]") == "none"
    assert chosen("12 [ ]") == "12 [ ]"


@pytest.mark.parametrize(
    ("shown", "wanted", "tolerance", "expected"),
    [
        ("schedutil", "schedutil", 0.0, True),
        ("schedutil", "userspace", 1.0, False),
        ("105", "100", 0.05, True),
        ("106", "100", 0.05, False),
        ("95", "100", 0.05, True),
        ("60", "60.0", 0.0, True),
        ("nan", "60", 1.0, False),
        ("", "60", 1.0, False),
    ],
)
def test_texts_agree_if_they_are_equal_or_numbers_within_the_tolerance(
    shown: str, wanted: str, tolerance: float, expected: bool
) -> None:
    assert agrees(shown, wanted, tolerance) is expected


def test_only_writes_that_change_something_are_kept() -> None:
    same, other, elsewhere = Write("a", "1", "1"), Write("b", "1", "2"), Write("c", "1", "1", before_path="d")
    assert changes([same, other, elsewhere]) == (other, elsewhere)
    assert [write.undo_path for write in (same, elsewhere)] == ["a", "d"]


def test_a_whole_number_may_be_written_as_a_float_and_the_bounds_belong_to_the_range() -> None:
    assert [whole("swappiness", value, 0, 200) for value in (0, 200, 60.0)] == [0, 200, 60]
    assert type(whole("swappiness", 60.0, 0, 200)) is int


@pytest.mark.parametrize("value", [-1, 201, 1.5, "60", True, float("nan"), float("inf")])
def test_a_number_that_is_not_whole_or_out_of_range_is_refused(value: object) -> None:
    with pytest.raises(InvalidValueError, match=rf"'swappiness'.*{value!r};.*\b0 and 200\b"):
        whole("swappiness", value, 0, 200)  # type: ignore[arg-type]


def test_errors_of_knobs_stop_a_study_rather_than_fail_a_design() -> None:
    for error in (KnobUnavailableError, RestoreError):
        assert issubclass(error, MachineError)
        assert issubclass(error, OSError)
