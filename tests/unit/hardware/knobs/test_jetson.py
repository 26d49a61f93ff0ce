"""The knobs of a Jetson board, on a TX2 in a folder."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
from tests.unit.hardware.fake_linux import GPU_STEPS, FakeKernel, contents, jetson, journal_in, linux, put

from flexibo.errors import InvalidValueError
from flexibo.hardware.knobs import (
    EmcFrequency,
    GpuFrequency,
    KnobUnavailableError,
    LinuxMachine,
    jetson_knobs,
    orin_knobs,
    os_knobs,
    settings,
)


@pytest.fixture
def kernel(tmp_path: Path) -> FakeKernel:
    return FakeKernel(jetson(tmp_path))


def test_the_papers_ranges_become_the_boards_own_steps(kernel: FakeKernel) -> None:
    offered = {knob.name: knob.values() for knob in jetson_knobs(kernel, steps=5)}
    assert offered["active_cores"] == (1, 2, 3, 4, 5, 6)
    assert offered["cpu_frequency"] == (0.3456, 0.8064, 1.1136, 1.5744, 2.0352)
    assert offered["gpu_frequency"] == (0.34425, 0.57375, 0.80325, 1.1475, 1.377)
    assert offered["emc_frequency"] == (0.408, 0.6656, 1.0624, 1.6, 1.866)
    assert all(len(values) <= 12 for values in (knob.values() for knob in jetson_knobs(kernel, steps=12)))


@pytest.mark.parametrize("name", ["57000000.gpu", "17000000.gv11b", "17000000.ga10b"])
def test_the_gpu_is_found_under_the_names_of_other_boards(kernel: FakeKernel, name: str) -> None:
    folder = kernel.roots.sys / "class/devfreq"
    (folder / "17000000.gp10b").rename(folder / name)
    assert GpuFrequency(kernel, steps=99).values() == tuple(step / 1e9 for step in GPU_STEPS)
    assert GpuFrequency(kernel).read() == GPU_STEPS[-1] / 1e9


def test_the_gpus_limits_move_in_a_legal_order(kernel: FakeKernel) -> None:
    folder = kernel.roots.sys / "class/devfreq/17000000.gp10b"
    put(folder / "min_freq", GPU_STEPS[2])
    put(folder / "max_freq", GPU_STEPS[5])
    for step, first in ((GPU_STEPS[0], "min_freq"), (GPU_STEPS[9], "max_freq")):
        writes = GpuFrequency(kernel).writes(step / 1e9)
        assert Path(writes[0].path).name == first
        for write in writes:
            kernel.write(write.path, write.value)
        for write in reversed(writes):
            kernel.write(write.undo_path, write.before)


def test_the_memory_clock_is_locked_first_and_freed_last(kernel: FakeKernel) -> None:
    writes = EmcFrequency(kernel).writes(0.8)
    assert [(Path(write.path).name, write.value, write.before) for write in writes] == [
        ("mrq_rate_locked", "1", "0"),
        ("rate", "800000000", "1600000000"),
    ]


def test_a_clock_that_is_off_is_turned_on_and_a_locked_one_must_come_back(kernel: FakeKernel) -> None:
    emc = kernel.roots.sys / "kernel/debug/bpmp/debug/clk/emc"
    put(emc / "state", 0)
    put(emc / "mrq_rate_locked", 1)
    writes = EmcFrequency(kernel).writes(0.8)
    assert [(Path(write.path).name, write.steady) for write in writes] == [("rate", True), ("state", True)]
    put(emc / "mrq_rate_locked", 0)
    assert [Path(write.path).name for write in EmcFrequency(kernel).writes(1.6)] == ["mrq_rate_locked", "rate", "state"]


def test_rates_that_the_firmware_lists_are_taken(kernel: FakeKernel) -> None:
    put(kernel.roots.sys / "kernel/debug/bpmp/debug/emc/possible_rates", "204000 665600 1866000 2133000 (kHz)")
    knob = EmcFrequency(kernel)
    assert knob.values() == (0.0408, 0.204, 0.6656, 1.866)
    with pytest.raises(InvalidValueError, match=r"'emc_frequency'.* 0\.8\b.*0\.0408, 0\.204, 0\.6656, 1\.866"):
        knob.writes(0.8)


def test_a_xavier_has_its_own_rates(kernel: FakeKernel) -> None:
    emc = kernel.roots.sys / "kernel/debug/bpmp/debug/clk/emc"
    put(emc / "min_rate", 204000000)
    put(emc / "max_rate", 2133000000)
    assert EmcFrequency(kernel, steps=99).values() == (0.204, 0.408, 0.6656, 0.8, 1.0656, 1.3312, 1.6, 1.866, 2.133)


def test_an_orin_has_its_own_rates_whatever_its_limit_is(kernel: FakeKernel) -> None:
    emc = kernel.roots.sys / "kernel/debug/bpmp/debug/clk/emc"
    put(emc / "min_rate", 204000000)
    put(emc / "max_rate", 3199000000)
    assert EmcFrequency(kernel, steps=99).values() == (0.204, 0.6656, 2.133, 3.199)
    put(emc / "max_rate", 2133000000)
    put(kernel.roots.proc / "device-tree/compatible", "nvidia,p3737-0000\0nvidia,tegra234\0")
    assert EmcFrequency(kernel, steps=99).values() == (0.204, 0.6656, 2.133)


def test_an_orin_offers_all_its_cores_and_steps_beyond_the_papers_ranges(kernel: FakeKernel) -> None:
    offered = {knob.name: knob.values() for knob in orin_knobs(kernel, steps=99)}
    assert offered["gpu_frequency"] == tuple(step / 1e9 for step in GPU_STEPS)
    assert offered["active_cores"] == (1, 2, 3, 4, 5, 6)
    assert [knob.name for knob in orin_knobs(kernel)] == [knob.name for knob in jetson_knobs(kernel)]


def test_the_papers_nine_options_are_set_and_put_back(kernel: FakeKernel, tmp_path: Path) -> None:
    knobs = (*jetson_knobs(kernel), *os_knobs(kernel))
    values = {knob.name: knob.values()[0] for knob in knobs}
    before = contents(kernel.roots)
    with settings(knobs, values, machine=kernel, journal=journal_in(tmp_path, kernel.roots)) as writes:
        assert len(writes) >= 9
        assert {knob.name: knob.read() for knob in knobs} == values
    after = contents(kernel.roots)
    changed = [path for path in before if before[path] != after[path]]
    assert changed == [str(kernel.roots.sys / "kernel/debug/bpmp/debug/clk/emc/rate")]  # free, it moves by itself
    assert (kernel.roots.sys / "kernel/debug/bpmp/debug/clk/emc/mrq_rate_locked").read_text() == "0\n"


def test_another_machine_has_neither(tmp_path: Path) -> None:
    machine = LinuxMachine(linux(tmp_path))
    with pytest.raises(KnobUnavailableError, match=rf"no GPU.*Jetson.*{machine.roots.sys}"):
        GpuFrequency(machine).values()
    with pytest.raises(KnobUnavailableError, match=f"emc/min_rate .*{os.strerror(errno.ENOENT)}"):
        EmcFrequency(machine).values()


def test_a_gpu_that_lists_no_frequency_says_so(kernel: FakeKernel) -> None:
    put(kernel.roots.sys / "class/devfreq/17000000.gp10b/available_frequencies", "")
    with pytest.raises(KnobUnavailableError, match="lists no frequency"):
        GpuFrequency(kernel).values()
