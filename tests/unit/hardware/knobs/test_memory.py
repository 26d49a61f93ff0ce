"""The memory knobs: the paper's values, and what is restored."""

from __future__ import annotations

import errno
import os
import re
from pathlib import Path

import pytest
from tests.unit.hardware.fake_linux import FakeKernel, linux, put

from flexibo.errors import InvalidValueError
from flexibo.hardware.knobs import Knob, os_knobs, state


@pytest.fixture
def kernel(tmp_path: Path) -> FakeKernel:
    return FakeKernel(linux(tmp_path))


def knob_of(kernel: FakeKernel, name: str) -> Knob:
    return next(knob for knob in os_knobs(kernel) if knob.name == name)


def vm(kernel: FakeKernel, name: str) -> str:
    return (kernel.roots.proc / "sys/vm" / name).read_text().strip()


@pytest.mark.parametrize(
    ("name", "file", "offered"),
    [
        ("swappiness", "swappiness", (10, 30, 60, 100)),
        ("dirty_background_ratio", "dirty_background_ratio", (10, 50, 80)),
        ("dirty_ratio", "dirty_ratio", (5, 50)),
        ("cache_pressure", "vfs_cache_pressure", (100, 500)),
    ],
)
def test_the_papers_memory_knobs_have_its_values(
    kernel: FakeKernel, name: str, file: str, offered: tuple[int, ...]
) -> None:
    knob = knob_of(kernel, name)
    assert knob.values() == offered
    assert str(knob.read()) == vm(kernel, file)
    (write,) = knob.writes(offered[-1] - 1)
    assert write.path == str(kernel.roots.proc / "sys/vm" / file)
    assert (write.value, write.before) == (str(offered[-1] - 1), vm(kernel, file))
    assert knob.writes(knob.read()) == ()


@pytest.mark.parametrize("name", ["dirty_ratio", "dirty_background_ratio"])
def test_a_limit_in_bytes_is_what_is_put_back(kernel: FakeKernel, name: str) -> None:
    size = name.replace("ratio", "bytes")
    put(kernel.roots.proc / "sys/vm" / name, 0)
    put(kernel.roots.proc / "sys/vm" / size, 268435456)
    (write,) = knob_of(kernel, name).writes(50)
    kernel.write(write.path, write.value)
    assert (vm(kernel, name), vm(kernel, size)) == ("50", "0")
    kernel.write(write.undo_path, write.before)
    assert (vm(kernel, name), vm(kernel, size)) == ("0", "268435456")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *[("swappiness", value) for value in (201, -1, 1.5, "x", float("nan"), True)],
        *[("dirty_ratio", value) for value in (0, 101, float("inf"))],
    ],
)
def test_a_number_out_of_range_is_refused(kernel: FakeKernel, name: str, value: object) -> None:
    with pytest.raises(InvalidValueError, match=rf"'{name}'.*{value!r}.*\d and \d+"):
        knob_of(kernel, name).writes(value)  # type: ignore[arg-type]


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
