"""Memory knobs, the I/O scheduler and the files that may be written, on a machine in a folder."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.hardware.fake_linux import FakeKernel, jetson, linux, put

from flexibo.errors import InvalidValueError
from flexibo.hardware.knobs import Knob, KnobUnavailableError, LinuxMachine, Roots, Scheduler, os_knobs, state
from flexibo.hardware.knobs.files import is_knob_place


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
    with pytest.raises(InvalidValueError, match=rf"Option '{name}' is .*; it must be a whole number between"):
        knob_of(kernel, name).writes(value)  # type: ignore[arg-type]


def test_the_papers_schedulers_are_what_each_disk_has_of_them(kernel: FakeKernel) -> None:
    knob = Scheduler(kernel)
    assert knob.values() == ("CFP", "NOOP")
    assert knob.read() == "mixed"
    assert [(Path(write.path).parts[-3], write.value, write.before) for write in knob.writes("CFP")] == [
        ("nvme0n1", "bfq", "none")
    ]
    (write,) = knob.writes("NOOP")
    kernel.write(write.path, write.value)
    assert (kernel.roots.sys / "block/sda/queue/scheduler").read_text() == "mq-deadline [none]\n"
    assert knob.read() == "NOOP"


def test_a_kernel_with_the_papers_own_schedulers_gets_them(kernel: FakeKernel) -> None:
    for disk in ("sda", "nvme0n1"):
        put(kernel.roots.sys / "block" / disk / "queue/scheduler", "noop [deadline] cfq")
    assert {write.value for write in Scheduler(kernel).writes("CFP")} == {"cfq"}
    assert {write.value for write in Scheduler(kernel).writes("NOOP")} == {"noop"}
    assert Scheduler(kernel).read() == "CFP"


def test_a_scheduler_that_the_paper_has_not_is_called_by_its_own_name(kernel: FakeKernel) -> None:
    (kernel.roots.sys / "block/sda/queue/scheduler").unlink()
    put(kernel.roots.sys / "block/nvme0n1/queue/scheduler", "none mq-deadline [kyber] bfq")
    assert Scheduler(kernel).read() == "kyber"
    with pytest.raises(InvalidValueError, match=r"Option 'scheduler' is 'kyber'; it must be CFP or NOOP\."):
        Scheduler(kernel).writes("kyber")


def test_a_machine_without_a_choice_of_schedulers_says_so(tmp_path: Path) -> None:
    put(tmp_path / "sys/block/loop0/queue/scheduler", "[none]")
    for folder in (tmp_path / "sys", tmp_path / "nowhere"):
        with pytest.raises(KnobUnavailableError, match=r"No block device under .* offers a choice"):
            Scheduler(LinuxMachine(Roots(folder, tmp_path))).values()


def test_a_knob_that_is_not_there_or_says_no_number_says_why(kernel: FakeKernel) -> None:
    path = kernel.roots.proc / "sys/vm/swappiness"
    put(path, "often")
    found = state(knob_of(kernel, "swappiness"), kernel)
    assert found.refusal == f"{path} says 'often'; a whole number was expected."
    path.unlink()
    found = state(knob_of(kernel, "swappiness"), kernel)
    assert (found.present, found.offered) == (None, ())
    assert found.refusal == f"{path} cannot be read: No such file or directory."


def test_a_file_that_may_not_be_read_says_so(kernel: FakeKernel, monkeypatch: pytest.MonkeyPatch) -> None:
    def deny(path: str) -> str:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(kernel, "read", deny)
    assert state(knob_of(kernel, "swappiness"), kernel).refusal.endswith("may not be read by this user; run as root.")


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
    with pytest.raises(PermissionError, match="not the file of a knob"):
        LinuxMachine(roots).write(path, "none")
    assert (tmp_path / "elsewhere/queue/scheduler").read_text() == "secret\n"


def test_a_file_that_is_not_there_is_never_made(tmp_path: Path) -> None:
    machine = LinuxMachine(linux(tmp_path))
    path = tmp_path / "sys/devices/system/cpu/cpu9/online"
    path.parent.mkdir()
    with pytest.raises(FileNotFoundError):
        machine.write(str(path), "1")
    assert machine.refusal(str(path)) == f"{path} is not there."
    assert machine.refusal(str(tmp_path / "x")) == f"{tmp_path / 'x'} is not the file of a knob."
    assert not path.exists()


def test_gpus_are_left_alone_by_a_machine_that_was_given_none(tmp_path: Path) -> None:
    machine = LinuxMachine(linux(tmp_path))
    for use in (lambda: machine.read("nvml:0/power_limit_mw"), lambda: machine.write("nvml:0/power_limit_mw", "1")):
        with pytest.raises(PermissionError, match="GPUs are left alone"):
            use()
    assert "left alone" in machine.refusal("nvml:0/power_limit_mw")


def test_a_knob_that_this_user_may_not_set_says_why(kernel: FakeKernel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "refusal", lambda path: f"{Path(path).name} is closed.")
    found = state(knob_of(kernel, "swappiness"), kernel)
    assert (found.present, found.offered, found.refusal) == (60, (10, 30, 60, 100), "swappiness is closed.")
