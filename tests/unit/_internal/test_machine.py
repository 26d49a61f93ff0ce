"""What this process may use of its machine."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from flexibo._internal.machine import cores, memory_bytes


def test_cores_are_those_of_the_process_or_all_where_the_system_does_not_say(monkeypatch: pytest.MonkeyPatch) -> None:
    assert 1 <= cores() <= (os.cpu_count() or 1)
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 6)
    assert cores() == 6
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert cores() == 1


def test_memory_is_that_of_the_container_if_it_is_less(tmp_path: Path) -> None:
    whole = memory_bytes(tmp_path)
    assert whole > 2**20
    for text, expected in (("max\n", whole), ("1048576\n", 2**20), (str(2**60), whole)):
        (tmp_path / "memory.max").write_text(text)
        assert memory_bytes(tmp_path) == expected
