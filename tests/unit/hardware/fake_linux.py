"""A Linux machine in a folder: the kernel's files, and a kernel that answers writes as the true one does."""

from __future__ import annotations

import errno
import os
import re
import warnings
from collections.abc import Callable
from pathlib import Path

from flexibo.hardware.knobs import Journal, LinuxMachine, Roots

BOOT = "8259e016-aaaf-4d3a-b0b1-da15852f0567"
TX2_STEPS = (345600, 499200, 652800, 806400, 960000, 1113600, 1267200, 1420800, 1574400, 1728000, 1881600, 2035200)
GPU_STEPS = tuple(114750000 * multiple for multiple in range(1, 13))
VM = {
    "swappiness": 60,
    "dirty_ratio": 20,
    "dirty_bytes": 0,
    "dirty_background_ratio": 10,
    "dirty_background_bytes": 0,
    "vfs_cache_pressure": 100,
}


def put(path: Path, text: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{text}\n")
    return path


def contents(roots: Roots) -> dict[str, str]:
    """Every file of the machine with its text."""
    return {
        str(path): path.read_text() for root in (roots.sys, roots.proc) for path in root.rglob("*") if path.is_file()
    }


def linux(folder: Path, *, cores: int = 4, groups: tuple[tuple[int, ...], ...] = ((0, 1), (2, 3))) -> Roots:
    """A machine whose cores share clocks in groups, with two disks and a loop device."""
    roots = Roots(folder / "sys", folder / "proc")
    put(roots.proc / "sys/kernel/random/boot_id", BOOT)
    put(roots.proc / "sys/kernel/hostname", "board")
    for name, number in VM.items():
        put(roots.proc / "sys/vm" / name, number)
    cpu = roots.sys / "devices/system/cpu"
    for core in range(cores):
        (cpu / f"cpu{core}").mkdir(parents=True)
        if core:
            put(cpu / f"cpu{core}/online", 1)
    for group in groups:
        make_policy(cpu / f"cpufreq/policy{group[0]}", group)
    put(roots.sys / "block/nvme0n1/queue/scheduler", "[none] mq-deadline kyber bfq")
    put(roots.sys / "block/sda/queue/scheduler", "[mq-deadline] none")
    put(roots.sys / "block/loop0/queue/scheduler", "[none]")
    (roots.sys / "block/ram0").mkdir()
    return roots


def make_policy(folder: Path, group: tuple[int, ...], steps: tuple[int, ...] = TX2_STEPS) -> None:
    cores = " ".join(map(str, group))
    for name, text in {
        "affected_cpus": cores,
        "related_cpus": cores,
        "cpuinfo_min_freq": steps[0],
        "cpuinfo_max_freq": steps[-1],
        "scaling_available_frequencies": " ".join(map(str, steps)) + " ",
        "scaling_available_governors": "conservative userspace powersave performance schedutil",
        "scaling_governor": "schedutil",
        "scaling_min_freq": steps[0],
        "scaling_max_freq": steps[-1],
        "scaling_setspeed": "<unsupported>",
    }.items():
        put(folder / name, text)


def jetson(folder: Path) -> Roots:
    """A TX2: six cores of two kinds, a GPU under devfreq, and the memory clock in debugfs."""
    roots = linux(folder, cores=6, groups=((0, 3, 4, 5), (1, 2)))
    put(roots.sys / "devices/system/cpu/cpu0/online", 1)  # shown on boards
    gpu = roots.sys / "devices/gpu.0/devfreq/17000000.gp10b"
    for name, text in {
        "available_frequencies": " ".join(map(str, GPU_STEPS)),
        "min_freq": GPU_STEPS[0],
        "max_freq": GPU_STEPS[-1],
        "cur_freq": GPU_STEPS[0],
    }.items():
        put(gpu / name, text)
    (roots.sys / "class/devfreq").mkdir(parents=True)
    (roots.sys / "class/devfreq/17000000.gp10b").symlink_to(gpu)
    (roots.sys / "class/devfreq/15340000.vic").mkdir()
    emc = roots.sys / "kernel/debug/bpmp/debug/clk/emc"
    for name, number in {"rate": 1600000000, "mrq_rate_locked": 0, "state": 1}.items():
        put(emc / name, number)
    put(emc / "min_rate", 40800000)
    put(emc / "max_rate", 1866000000)
    return roots


class FakeKernel:
    """Answers as a kernel does: refuses what is illegal, moves what belongs together, and notes every write.

    `refuse`, `ignore` and `alter` make it worse: for paths that end so, an error, a write without effect, or
    another value than the one written.
    """

    def __init__(self, roots: Roots) -> None:
        self.roots = roots
        self.files = LinuxMachine(roots)
        self.written: list[tuple[str, str]] = []
        self.refuse: dict[str, OSError] = {}
        self.ignore: set[str] = set()
        self.alter: dict[str, Callable[[str], str]] = {}
        self.watch: Callable[[], None] = lambda: None

    def refusal(self, path: str) -> str:
        return self.files.refusal(path)

    def read(self, path: str) -> str:
        if "/scaling_" in path and not self._read(path, "affected_cpus") and "available" not in path:
            raise OSError(errno.EBUSY, os.strerror(errno.EBUSY), path)
        if path.endswith("/scaling_setspeed") and self._read(path, "scaling_governor") == "userspace":
            low, high = int(self._read(path, "scaling_min_freq")), int(self._read(path, "scaling_max_freq"))
            return str(min(max(int(self.files.read(path)), low), high))
        return self.files.read(path)

    def write(self, path: str, text: str) -> None:
        self.written.append((path, text))
        for ending, error in self.refuse.items():
            if path.endswith(ending):
                raise error
        if any(path.endswith(ending) for ending in self.ignore):
            return
        for ending, change in self.alter.items():
            if path.endswith(ending):
                text = change(text)
        for pattern, answer in (
            (r".*/(scaling_)?(min|max)_freq", self._limit),
            (r".*/scaling_setspeed", self._speed),
            (r".*/cpu\d+/online", self._online),
            (r".*/vm/dirty_.*", self._dirty),
            (r".*/queue/scheduler", self._scheduler),
            (r".*/emc/mrq_rate_locked", self._unlock),
        ):
            if re.fullmatch(pattern, path):
                answer(path, text)
                break
        else:
            self.files.write(path, text)
        self.watch()

    def _read(self, path: str, name: str) -> str:
        return (Path(path).parent / name).read_text().strip()

    def _limit(self, path: str, text: str) -> None:
        self.read(path)
        name = Path(path).name
        low, high = name.replace("max", "min"), name.replace("min", "max")
        limits = {low: int(self._read(path, low)), high: int(self._read(path, high)), name: int(text)}
        if limits[low] > limits[high]:
            raise invalid(path)
        self.files.write(path, text)

    def _speed(self, path: str, text: str) -> None:
        if self._read(path, "scaling_governor") != "userspace":
            raise invalid(path)
        self.files.write(path, text)

    def _online(self, path: str, text: str) -> None:
        self.files.write(path, text)
        cpu = self.roots.sys / "devices/system/cpu"
        switches = {core.name[3:]: core / "online" for core in cpu.glob("cpu[0-9]*")}
        on = {core for core, switch in switches.items() if not switch.exists() or switch.read_text() == "1\n"}
        for policy in cpu.glob("cpufreq/policy*"):
            related = (policy / "related_cpus").read_text().split()
            put(policy / "affected_cpus", " ".join(core for core in related if core in on))

    def _dirty(self, path: str, text: str) -> None:
        kind, other = ("bytes", "ratio") if path.endswith("bytes") else ("ratio", "bytes")
        if kind == "bytes" and int(text) < 8192:
            raise invalid(path)
        self.files.write(path, text)
        put(Path(path.removesuffix(kind) + other), 0)

    def _scheduler(self, path: str, text: str) -> None:
        names = self.files.read(path).replace("[", "").replace("]", "").split()
        if text not in names:
            raise invalid(path)
        self.files.write(path, " ".join(f"[{name}]" if name == text else name for name in names))

    def _unlock(self, path: str, text: str) -> None:
        self.files.write(path, text)
        if text == "0":  # free again, the clock follows the load
            put(Path(path).parent / "rate", 204000000)


def fork() -> int:
    """Fork, though Python warns of it where there are threads."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()


def invalid(path: str) -> OSError:
    return OSError(errno.EINVAL, os.strerror(errno.EINVAL), path)


def denied(path: str = "") -> OSError:
    return PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)


def journal_in(folder: Path, roots: Roots) -> Journal:
    return Journal(folder / "state" / "knobs.json", roots)
