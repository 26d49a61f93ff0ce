"""The knobs of an NVIDIA GPU, on a driver that we wrote."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.unit.hardware.fake_linux import journal_in, linux

from flexibo.errors import InvalidValueError
from flexibo.hardware.knobs import (
    KnobError,
    KnobUnavailableError,
    LinuxMachine,
    NvidiaGpus,
    RestoreError,
    nvidia_knobs,
    restore,
    settings,
    state,
)


class FakeNvml:
    """A driver with one GPU of 100 to 700 W and clocks from 345 to 1980 MHz."""

    NVML_ERROR_NO_PERMISSION = 4

    class NVMLError(Exception):
        def __init__(self, text: str, value: int = 2) -> None:
            super().__init__(text)
            self.value = value

    def __init__(self) -> None:
        self.limit_mw = 700000
        self.locked: tuple[int, int] | None = None
        self.locked_memory: tuple[int, int] | None = None
        self.refuses = ""
        self.opened = 0

    def nvmlInit(self) -> None:  # noqa: N802
        self.opened += 1

    def nvmlDeviceGetHandleByIndex(self, index: int) -> str:  # noqa: N802
        if index:
            raise self.NVMLError("Invalid Argument")
        return "handle"

    def nvmlDeviceGetPowerManagementLimit(self, handle: str) -> int:  # noqa: N802
        return self.limit_mw

    def nvmlDeviceGetPowerManagementLimitConstraints(self, handle: str) -> tuple[int, int]:  # noqa: N802
        return 100000, 700000

    def nvmlDeviceSetPowerManagementLimit(self, handle: str, limit: int) -> None:  # noqa: N802
        self._check()
        self.limit_mw = limit

    def nvmlDeviceGetClockInfo(self, handle: str, kind: int) -> int:  # noqa: N802
        return {0: 1245, 2: 2619}[kind]

    def nvmlDeviceGetSupportedMemoryClocks(self, handle: str) -> list[int]:  # noqa: N802
        return [810, 2619]

    def nvmlDeviceGetSupportedGraphicsClocks(self, handle: str, memory: int) -> list[int]:  # noqa: N802
        return {810: [345], 2619: list(range(1980, 330, -15))}[memory]

    def nvmlDeviceSetGpuLockedClocks(self, handle: str, low: int, high: int) -> None:  # noqa: N802
        self._check()
        self.locked = (low, high)

    def nvmlDeviceResetGpuLockedClocks(self, handle: str) -> None:  # noqa: N802
        self._check()
        self.locked = None

    def nvmlDeviceSetMemoryLockedClocks(self, handle: str, low: int, high: int) -> None:  # noqa: N802
        self._check()
        self.locked_memory = (low, high)

    def nvmlDeviceResetMemoryLockedClocks(self, handle: str) -> None:  # noqa: N802
        self._check()
        self.locked_memory = None

    def _check(self) -> None:
        if self.refuses:
            raise self.NVMLError(self.refuses, 4 if "Permissions" in self.refuses else 15)


def make(tmp_path: Path, library: FakeNvml, *, allow: bool = True) -> tuple[LinuxMachine, NvidiaGpus]:
    gpus = NvidiaGpus(allow=allow, library=library)
    return LinuxMachine(linux(tmp_path), gpus), gpus


def test_clock_and_limit_hold_in_a_session_and_are_put_back(tmp_path: Path) -> None:
    library = FakeNvml()
    machine, gpus = make(tmp_path, library)
    knobs = nvidia_knobs(gpus, steps=4)
    assert {knob.name: knob.values() for knob in knobs} == {
        "power_limit": (100, 300, 500, 700),
        "gpu_memory_clock": (0.81, 2.619),
        "gpu_clock": (0.345, 0.885, 1.44, 1.98),
    }
    assert {knob.name: knob.read() for knob in knobs} == {
        "power_limit": 700,
        "gpu_memory_clock": 2.619,
        "gpu_clock": 1.245,
    }
    journal = journal_in(tmp_path, machine.roots)
    wanted = {"gpu_clock": 1.44, "power_limit": 300, "gpu_memory_clock": 0.81}
    with settings(knobs, wanted, machine=machine, journal=journal):
        assert (library.limit_mw, library.locked, library.locked_memory) == (300000, (1440, 1440), (810, 810))
    assert (library.limit_mw, library.locked, library.locked_memory) == (700000, None, None)
    assert library.opened == 1
    assert not journal.path.exists()


def test_nothing_is_touched_unless_it_is_allowed(tmp_path: Path) -> None:
    library = FakeNvml()
    machine, gpus = make(tmp_path, library, allow=False)
    for knob in nvidia_knobs(gpus):
        found = state(knob, machine)
        assert found.offered == ()
        assert re.search("allow=True.*--allow-gpu", found.refusal)
    for text in ("unlocked", "345"):
        with pytest.raises(PermissionError, match=r"allow=True.*--allow-gpu"):
            gpus.write("nvml:0/locked_clock_mhz", text)
    assert "allow=True" in gpus.refusal("nvml:0/locked_clock_mhz")
    assert library.opened == 0


def test_a_driver_that_refuses_is_one_sentence_and_nothing_stays_changed(tmp_path: Path) -> None:
    library = FakeNvml()
    machine, gpus = make(tmp_path, library)
    library.refuses = "Insufficient Permissions"
    journal = journal_in(tmp_path, machine.roots)
    with (
        pytest.raises(KnobError, match=r"'power_limit'.*nvml:0/power_limit_mw.*Insufficient Permissions.*root"),
        settings(nvidia_knobs(gpus), {"power_limit": 300}, machine=machine, journal=journal),
    ):
        pytest.fail("the body must not run")
    assert not journal.path.exists()


def test_clocks_that_could_not_be_unlocked_are_unlocked_by_restore(tmp_path: Path) -> None:
    library = FakeNvml()
    machine, gpus = make(tmp_path, library)
    journal = journal_in(tmp_path, machine.roots)
    with (
        pytest.raises(RestoreError, match=r"nvml:0/locked_clock_mhz \(unlocked\): GPU is lost"),
        settings(nvidia_knobs(gpus), {"gpu_clock": 0.345}, machine=machine, journal=journal),
    ):
        library.refuses = "GPU is lost"
    assert library.locked == (345, 345)
    library.refuses = ""
    restore(journal, machine=machine)
    assert library.locked is None


def test_values_that_the_gpu_has_not_are_refused(tmp_path: Path) -> None:
    _, gpus = make(tmp_path, FakeNvml())
    limit, memory, clock = nvidia_knobs(gpus)
    with pytest.raises(InvalidValueError, match=r"'power_limit'.*\b50\b.*\b100 and 700\b"):
        limit.writes(50)
    with pytest.raises(InvalidValueError, match=r"'gpu_clock'.* 3\.0\b.*\d, \d"):
        clock.writes(3.0)
    with pytest.raises(InvalidValueError, match=r"'gpu_memory_clock'.* 3\.0\b.*0\.81"):
        memory.writes(3.0)
    assert limit.writes(700) == ()


def test_a_gpu_that_is_not_there_or_a_driver_that_is_missing_says_so(tmp_path: Path) -> None:
    library = FakeNvml()
    _, gpus = make(tmp_path, library)
    with pytest.raises(KnobUnavailableError, match=r"GPU 3\b.*: Invalid Argument"):
        nvidia_knobs(gpus, index=3)[0].values()

    class NoDriver(FakeNvml):
        def nvmlInit(self) -> None:  # noqa: N802
            raise self.NVMLError("Driver Not Loaded")

    with pytest.raises(KnobUnavailableError, match=r"NVIDIA.*: Driver Not Loaded"):
        nvidia_knobs(NvidiaGpus(allow=True, library=NoDriver()))[0].read()


def test_a_missing_binding_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pynvml", None)
    with pytest.raises(KnobUnavailableError, match=r"pip install 'flexibo\[nvml\]'"):
        nvidia_knobs(NvidiaGpus(allow=True))[1].values()


def test_the_driver_does_not_say_which_clocks_are_locked() -> None:
    with pytest.raises(OSError, match="locked clocks"):
        NvidiaGpus(library=FakeNvml()).read("nvml:0/locked_clock_mhz")
