"""Only files of knobs are written, and never created."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.unit.hardware.fake_linux import FakeKernel, jetson, linux, put

from flexibo.hardware.knobs import Knob, LinuxMachine, os_knobs, state
from flexibo.hardware.knobs.files import is_knob_place


@pytest.fixture
def kernel(tmp_path: Path) -> FakeKernel:
    return FakeKernel(linux(tmp_path))


def knob_of(kernel: FakeKernel, name: str) -> Knob:
    return next(knob for knob in os_knobs(kernel) if knob.name == name)


def test_only_files_of_knobs_are_places(tmp_path: Path) -> None:
    roots = jetson(tmp_path)
    good = [
        "sys/devices/system/cpu/cpu3/online",
        "sys/devices/system/cpu/cpufreq/policy0/scaling_max_freq",
        "sys/block/sda/queue/scheduler",
        "sys/class/devfreq/17000000.gp10b/min_freq",
        "sys/kernel/debug/bpmp/debug/clk/emc/rate",
        "proc/sys/vm/dirty_background_bytes",
    ]
    bad = [
        "proc/sys/kernel/core_pattern",
        "proc/sysrq-trigger",
        "sys/power/state",
        "sys/block/../../etc/passwd/queue/scheduler",
        "sys/block/../queue/scheduler",
        "sys/block/a/b/queue/scheduler",
        "proc/sys/vm/swappiness/x",
        "proc/sys/vm/drop_caches",
        "sys/proc/sys/vm/swappiness",
        "etc/passwd",
    ]
    assert [path for path in good if not is_knob_place(str(tmp_path / path), roots)] == []
    assert [path for path in bad if is_knob_place(str(tmp_path / path), roots)] == []
    assert not is_knob_place("/proc/sys/vm/swappiness", roots)
    assert is_knob_place("nvml:0/power_limit_mw", roots)
    assert not is_knob_place("nvml:0/other", roots)


def test_a_link_that_leads_out_of_the_kernels_files_is_no_place(tmp_path: Path) -> None:
    roots = linux(tmp_path)
    put(tmp_path / "elsewhere/queue/scheduler", "secret")
    (roots.sys / "block/sdz").symlink_to(tmp_path / "elsewhere")
    path = str(roots.sys / "block/sdz/queue/scheduler")
    assert not is_knob_place(path, roots)
    with pytest.raises(PermissionError, match=r"knob.*sdz/queue/scheduler"):
        LinuxMachine(roots).write(path, "none")
    assert (tmp_path / "elsewhere/queue/scheduler").read_text() == "secret\n"


def test_a_file_that_is_not_there_is_never_made(tmp_path: Path) -> None:
    machine = LinuxMachine(linux(tmp_path))
    path = tmp_path / "sys/devices/system/cpu/cpu9/online"
    path.parent.mkdir()
    with pytest.raises(FileNotFoundError):
        machine.write(str(path), "1")
    assert str(path) in machine.refusal(str(path))
    assert "knob" not in machine.refusal(str(path))  # it would be one's file if it were there
    assert re.search(f"{tmp_path / 'x'} .*knob", machine.refusal(str(tmp_path / "x")))
    assert not path.exists()


def test_gpus_are_left_alone_by_a_machine_that_was_given_none(tmp_path: Path) -> None:
    machine = LinuxMachine(linux(tmp_path))
    for use in (lambda: machine.read("nvml:0/power_limit_mw"), lambda: machine.write("nvml:0/power_limit_mw", "1")):
        with pytest.raises(PermissionError, match="GPUs"):
            use()
    assert "GPUs" in machine.refusal("nvml:0/power_limit_mw")


def test_a_knob_that_this_user_may_not_set_says_why(kernel: FakeKernel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "refusal", lambda path: f"{Path(path).name} is closed.")
    found = state(knob_of(kernel, "swappiness"), kernel)
    assert (found.present, found.offered, found.refusal) == (60, (10, 30, 60, 100), "swappiness is closed.")
