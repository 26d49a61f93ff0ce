"""The I/O scheduler: the paper's two names for what each disk offers."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.hardware.fake_linux import FakeKernel, linux, put

from flexibo.errors import InvalidValueError
from flexibo.hardware.knobs import KnobUnavailableError, LinuxMachine, Roots, Scheduler


@pytest.fixture
def kernel(tmp_path: Path) -> FakeKernel:
    return FakeKernel(linux(tmp_path))


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
    with pytest.raises(InvalidValueError, match=r"'scheduler'.*'kyber'.*CFP or NOOP"):
        Scheduler(kernel).writes("kyber")


def test_a_machine_without_a_choice_of_schedulers_says_so(tmp_path: Path) -> None:
    put(tmp_path / "sys/block/loop0/queue/scheduler", "[none]")
    for folder in (tmp_path / "sys", tmp_path / "nowhere"):
        with pytest.raises(KnobUnavailableError, match=rf"No block device.*{folder}/block\b.*schedulers"):
            Scheduler(LinuxMachine(Roots(folder, tmp_path))).values()
