from __future__ import annotations

import bz2
import errno
import os
import pickle
import re
import struct
import subprocess
import sys
import tracemalloc
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from flexibo._internal.safe_pickle import HARMLESS, read_pickle
from flexibo.compare.problems._original_files import HARDWARE
from flexibo.errors import InvalidValueError

FLOAT = np.dtype("f8")
RECONSTRUCT = np.empty(0).__reduce__()[0]
FROMBUFFER = np.empty(0).__reduce_ex__(5)[0]
SCALAR = np.float64(0.0).__reduce__()[0]


class Made:
    """Is pickled as a call, with a state where one is given."""

    def __init__(self, *call: Any) -> None:
        self.call = call

    def __reduce__(self) -> tuple[Any, ...]:
        return self.call


def array(shape: Any, kind: Any, content: Any, fortran: Any = False) -> Made:
    return Made(RECONSTRUCT, (np.ndarray, (0,), b"b"), (1, shape, kind, fortran, content))


def kind(name: str, *state: Any) -> Made:
    return Made(np.dtype, (name, False, True), state)


# A record of one object at an address of the attacker's choice, said to hold no objects.
POINTERS = kind("V8", 3, "|", None, ("a",), {"a": (np.dtype(object), 0)}, 8, 1, 0)
ADDRESS = struct.pack("<Q", 0x4141414141414141)


def write(path: Path, content: Any, protocol: int = 4) -> Path:
    path.write_bytes(content if isinstance(content, bytes) else pickle.dumps(content, protocol=protocol))
    return path


def refusal(path: Path) -> str:
    with pytest.raises(InvalidValueError) as raised:
        read_pickle(path)
    text = str(raised.value)
    assert text.startswith(f"{path} ")
    assert "pickle" in text
    assert "\n" not in text
    assert len(text) < len(str(path)) + 200
    return text


@pytest.mark.parametrize(
    ("attack", "reason"),
    [
        (array((1,), POINTERS, ADDRESS), "kind 'V8'"),
        (Made(SCALAR, (POINTERS, ADDRESS)), "kind 'V8'"),
        (Made(FROMBUFFER, (ADDRESS, POINTERS, (1,), "C")), "kind 'V8'"),
        (array((1,), kind("O8", 3, "|", None, None, None, -1, -1, 0), ADDRESS), "kind 'O8'"),
        (b"\x80\x02}X\x0b\x00\x00\x00nasbench201N" + b"\x85" * 1_000_000 + b"K\x01s.", "tuples"),
    ],
    ids=["records", "scalar", "buffer", "objects", "deep tuples"],
)
def test_an_attack_on_memory_ends_with_a_sentence(tmp_path: Path, attack: Any, reason: str) -> None:
    path = write(tmp_path / HARDWARE, {"nasbench201": attack} if isinstance(attack, Made) else attack)
    (tmp_path / "NATS-tss-v1_0-3ffb9-simple").mkdir()
    program = (
        "import sys; from pathlib import Path; from flexibo.compare.problems._original_files import nb201_rows\n"
        "from flexibo.errors import FlexiBOError\n"
        "try: print(nb201_rows(Path(sys.argv[1])))\n"
        "except FlexiBOError as error: sys.exit(str(error))"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, timeout=60, check=False
    )
    assert ended.returncode == 1, ended.stderr
    assert ended.stderr.startswith(f"{path} ")
    assert re.search(reason, ended.stderr)
    assert ended.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (np.array([1, None], dtype=object), "kind 'O8'"),
        (np.zeros(2, dtype=[("a", "f8")]), "kind 'V8'"),
        (np.zeros(2, dtype="M8[s]"), "kind 'M8'"),
        (np.zeros(2, dtype="c16"), "kind 'c16'"),
        (array((1,), kind("f8", 3, "<", (FLOAT, (4,)), None, None, -1, -1, 0), bytes(8)), "records"),
        (array((1,), kind("f8", 3, "<", None, ("a",), {"a": (FLOAT, 0)}, -1, -1, 0), bytes(8)), "records"),
        (array((1,), kind("f8", 3, "<", None, None, None, 1_000, -1, 0), bytes(8)), "records"),
        (array((1,), kind("f8", 3, "x", None, None, None, -1, -1, 0), bytes(8)), "unknown kind"),
        (array((1,), kind("f8", 4, "<", None, None, None, -1, -1, 0, {}), bytes(8)), "unknown kind"),
        (array((1,), kind("f8", 2, "<", None, None, None, -1, -1, 0), bytes(8)), "unknown kind"),
        (array((1,), kind("f16", 3, "<", None, None, None, -1, -1, 0), bytes(16)), "kind 'f16'"),
        (array((1,), kind("S0", 3, "|", None, None, None, 0, 1, 0), b""), "kind 'S0'"),
        (array((10**6, 10**6), FLOAT, bytes(8)), r"shape \(1000000, 1000000\) with 8 bytes"),
        (array((2**62,), FLOAT, bytes(8)), "of shape"),
        (array((2**61, 8), FLOAT, b""), "of shape"),
        (array((-1,), FLOAT, bytes(8)), r"of shape \(-1,\)"),
        (array((-1, -1), FLOAT, bytes(8)), r"of shape \(-1, -1\)"),
        (array((2,), FLOAT, bytes(15)), r"shape \(2,\) with 15 bytes"),
        (array((2,), FLOAT, bytes(24)), r"shape \(2,\) with 24 bytes"),
        (array((1.0,), FLOAT, bytes(8)), r"of shape \(1.0,\)"),
        (array((1,) * 70, FLOAT, bytes(8)), "without a shape"),
        (array([1], FLOAT, bytes(8)), "without a shape"),
        (array((1,), FLOAT, [1.0]), "not plain numbers"),
        (array((1,), "f8", bytes(8)), "not plain numbers"),
        (array((1,), np.dtype("?"), b"\x07"), "neither 0 nor 1"),
        (array((1,), np.dtype("U1"), b"\xff\xff\xff\x7f"), "letters"),
        (Made(RECONSTRUCT, (set, (0,), b"b")), "unknown class"),
        (Made(SCALAR, (FLOAT, bytes(9))), r"shape \(\) with 9 bytes"),
        (Made(FROMBUFFER, (bytes(8), FLOAT, (1,), "K")), "not plain numbers"),
    ],
)
def test_arrays_that_do_not_add_up_are_refused(tmp_path: Path, content: Any, reason: str) -> None:
    assert re.search(reason, refusal(write(tmp_path / "bad.pickle", {"a": content})))


@pytest.mark.parametrize(
    "data",
    [
        b"\x80\x04\x8e" + struct.pack("<Q", 2**40) + b"abc.",
        b"\x80\x04\x8e" + struct.pack("<Q", 2**63) + b"abc.",
        b"\x80\x05\x96" + struct.pack("<Q", 2**38) + b"abc.",
        b"\x80\x05\x96" + struct.pack("<Q", 2**64 - 1) + b"abc.",
        b"\x80\x04\x95" + struct.pack("<Q", 2**40) + b"N",
        b"\x80\x04\x95" + struct.pack("<Q", 2**64 - 1) + b"N.",
        b"\x80\x04\x8b" + struct.pack("<i", -1) + b".",
        b"I" + b"9" * 5000 + b"\n.",
        b"\x80\x04\xff.",
        b"\x80\x04b.",
        b"\x80\x04R.",
        b"\x80\x09N.",
        b"\x80\x04\x82\x01.",
        b"\x80\x02G\x00.",
        b"\x80\x02}]K\x01s.",
        b"\x80\x02cnumpy\n" + b"x" * 100_000 + b"\n.",
        b"\x80\x02cnumpy\nload\tall\n.",
        b"\x80\x02Pname\n.",
    ],
)
def test_a_hostile_pickle_is_refused_in_one_sentence(tmp_path: Path, data: bytes) -> None:
    refusal(write(tmp_path / "bad.pickle", data))


def test_a_memo_far_away_takes_no_memory(tmp_path: Path) -> None:
    path = write(tmp_path / "far.pickle", b"\x80\x02K\x05r" + struct.pack("<I", 2**32 - 1) + b".")
    assert read_pickle(path) == 5


def test_bytes_that_are_not_there_take_no_memory(tmp_path: Path) -> None:
    path = write(tmp_path / "huge.pickle", b"\x80\x05\x96" + struct.pack("<Q", 2**28) + b"abc.")
    tracemalloc.start()
    try:
        refusal(path)
        assert tracemalloc.get_traced_memory()[1] < 2**24
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("error", [MemoryError, OverflowError, RecursionError])
def test_no_failure_of_a_step_escapes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: type[Exception]) -> None:
    def fail() -> None:
        raise error

    monkeypatch.setitem(HARMLESS, "builtins.set", fail)
    refusal(write(tmp_path / "bad.pickle", b"\x80\x02cbuiltins\nset\n)R."))


@pytest.mark.parametrize("name", sorted(HARMLESS))
def test_what_a_pickle_may_name_cannot_be_changed_by_it(tmp_path: Path, name: str) -> None:
    module, _, short = name.rpartition(".")
    state = pickle.dumps((None, {"__defaults__": (1,), "build": None, "__init__": None}), protocol=2)[2:-1]
    text = refusal(write(tmp_path / "bad.pickle", f"c{module}\n{short}\n".encode() + state + b"b."))
    assert re.search(rf"state.* {type(HARMLESS[name]).__name__}\b", text)


@pytest.mark.parametrize("protocol", range(2, 6))
@pytest.mark.parametrize(
    "content",
    [
        np.asfortranarray(np.arange(24.0).reshape(2, 3, 4)),
        np.arange(6.0).reshape(2, 3).T,
        np.arange(6, dtype=">i2"),
        np.arange(3, dtype="u1"),
        np.array([0.5, np.nan, np.inf], dtype="f2"),
        np.array([True, False]),
        np.array(["a", "größer"]),
        np.array([b"ab", b"c"]),
        np.array(2.5),
        np.zeros((3, 0)),
        np.zeros(0),
    ],
    ids=str,
)
def test_plain_arrays_are_read_as_they_were(tmp_path: Path, protocol: int, content: np.ndarray[Any, Any]) -> None:
    found = read_pickle(write(tmp_path / "good.pickle", content, protocol))
    assert found.values.dtype == content.dtype
    assert found.values.shape == content.shape
    np.testing.assert_array_equal(found, content)


@pytest.mark.parametrize("protocol", range(2, 6))
def test_single_numbers_are_pythons_own(tmp_path: Path, protocol: int) -> None:
    content = [np.float64(0.1), np.float32(0.5), np.int16(-3), np.bool_(True), np.str_("text"), np.bytes_(b"raw")]
    found = read_pickle(write(tmp_path / "good.pickle", content, protocol))
    assert found == content
    assert [type(one) for one in found] == [float, float, int, bool, str, bytes]


def test_nested_records_with_shared_parts_are_read(tmp_path: Path) -> None:
    column = np.arange(3.0)
    content = {
        "nasbench201": {"cifar10": {"a": column, "b": column, "c": [{"x": ("t", (1, 2))}]}, "fbnet": OrderedDict()}
    }
    path = tmp_path / "good.pbz2"
    path.write_bytes(bz2.compress(pickle.dumps(content, protocol=3)))
    found = read_pickle(path)["nasbench201"]["cifar10"]
    assert found["a"] is found["b"]
    assert found["a"][2] == 2.0
    assert len(found["a"]) == 3
    assert found["c"] == [{"x": ("t", (1, 2))}]


def test_a_folder_and_a_file_that_is_not_there_are_no_pickles(tmp_path: Path) -> None:
    (tmp_path / "folder.pickle").mkdir()
    assert os.strerror(errno.EISDIR) in refusal(tmp_path / "folder.pickle")
    assert os.strerror(errno.ENOENT) in refusal(tmp_path / "nowhere.pbz2")


def test_a_pickle_that_ends_too_early_is_refused(tmp_path: Path) -> None:
    assert "early" in refusal(write(tmp_path / "empty.pickle", b""))
    assert "ValueError" in refusal(write(tmp_path / "cut.pbz2", bz2.compress(b"N." * 999)[:-9]))
