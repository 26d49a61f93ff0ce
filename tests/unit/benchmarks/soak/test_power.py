from __future__ import annotations

import pytest

pytest.importorskip("benchmarks.soak", reason="the benchmarks lie beside the tests in the repository only")

from benchmarks.soak.power import SECTOR, Operation, after_power_loss, operations, written


def write(data: bytes, offset: int = 0, path: str = "a") -> Operation:
    return Operation("write", path, offset, data)


FLUSH, REMOVE, FOLDER = Operation("flush", "a"), Operation("remove", "a"), Operation("flush", "")


def none(operation: Operation) -> float:
    return 0.0


def all_of(operation: Operation) -> float:
    return 1.0


def test_a_record_is_read_back() -> None:
    record = b"W /a 3 2\nxy" + b"S /a 0 0\n" + b"T /a 1 0\n" + b"U /a 0 0\n" + b"S  0 0\n" + b"W /b 0 9\ncut"
    assert operations(record) == [write(b"xy", 3), FLUSH, Operation("truncate", "a", 1), REMOVE, FOLDER]


def test_what_was_flushed_is_there_and_the_rest_may_be() -> None:
    done = [write(b"old"), FLUSH, write(b"N", 1), write(b"other", path="b")]
    assert after_power_loss(done, none) == {"a": b"old"}
    assert after_power_loss(done, all_of) == {"a": b"oNd", "b": b"other"}
    assert after_power_loss(done, lambda operation: float(operation.path == "b")) == {"a": b"old", "b": b"other"}


def test_a_write_may_end_after_any_sector() -> None:
    done = [write(b"x" * 4 * SECTOR), FLUSH, write(b"y" * 4 * SECTOR)]
    assert after_power_loss(done, lambda _: 0.5)["a"] == b"y" * 2 * SECTOR + b"x" * 2 * SECTOR


def test_a_file_that_was_removed_may_be_back_until_its_folder_is_flushed() -> None:
    done = [write(b"x"), FLUSH, REMOVE]
    assert after_power_loss(done, none) == {"a": b"x"}
    assert after_power_loss(done, all_of) == {}
    assert after_power_loss([*done, FOLDER], none) == {}
    assert after_power_loss([*done, Operation("flush", "another")], none) == {"a": b"x"}
    assert after_power_loss([*done, write(b"new")], none) == {"a": b"x"}
    assert after_power_loss([*done, write(b"new"), FLUSH], none) == {"a": b"new"}


def test_truncating_cuts_and_fills() -> None:
    assert after_power_loss([write(b"xyz"), Operation("truncate", "a", 1), FLUSH], none) == {"a": b"x"}
    assert after_power_loss([write(b"x"), Operation("truncate", "a", 3), FLUSH], none) == {"a": b"x\0\0"}


def test_what_a_client_wrote_down_it_has_seen() -> None:
    assert written([write(b"ab"), write(b"c", 2), write(b"z", path="b")], "a") == b"abc"
