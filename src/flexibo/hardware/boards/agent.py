"""The board agent of flexibo: sets knobs, runs a command, reads a meter, and answers with one JSON line.

One file for boards that cannot run flexibo: Python 3.6 or later on Linux, the standard library, nothing else.

    python3 agent.py session        requests on standard input, answers on standard output, one JSON line each
    python3 agent.py serve          the same on a port of the loopback interface, for whoever knows the token
    python3 agent.py run --meter auto --set active_cores=2 -- ./infer.sh 16
    python3 agent.py check          what can be read and set here, in lines; with --json for programs
    python3 agent.py restore        undoes what a killed agent left, as every start does

A knob is set only after the journal beside this file says how to undo it, and a command begins only after a note there
says which process group it is. When the command ends, is ended, or the connection is lost, its group is ended and the
knobs are restored; after kill -9 of the agent a guard does that, and after kill -9 of both the next start.
One command runs at a time: it holds the lock that flexibo itself takes for the settings of a machine. A start leaves
alone what the holder of the lock runs and has set.
"""

import argparse
import errno
import fcntl
import glob
import hashlib
import hmac
import json
import os
import pwd
import re
import secrets
import select
import shlex
import shutil
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from contextlib import suppress
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Set, Tuple

MOST_LINE = 1 << 20  # bytes of a request or an answer
MOST_GREETING = 1 << 10  # bytes of a line of one who has not shown the token
KEPT_BYTES = 64 * 1024  # how much of the end of each output is kept
GREETING_SECONDS = 10.0
GRACE_SECONDS = 1.0  # how long a command may clean up after SIGTERM
KILL_SECONDS = 10.0  # how long the kernel may take to end one that used a GPU
ALIVE_SECONDS = 5.0  # how often a waiting client hears that the agent is alive
MOST_SESSIONS = 8
PORT = 7700
SAMPLE_SECONDS = 0.02
SMI_SECONDS = 0.1
PATIENT_STEPS = 20  # a counter that does not rise for this many of its steps has stopped
IDLE_PARTS = 5
TOOL_SECONDS = 30.0  # how long nvpmodel, or a command of a knob, may take
METER_SECONDS = 15.0  # how long one call of a command that is a meter may take (as flexibo.hardware.by_command)
METER_STEP_SECONDS = 1.0  # how often such a command is believed to have news
MOST_KIB = 64  # how much one call of a program may print
LOOK_SECONDS = 0.05
LOOKS_PER_STEP = 20
COOL_LIMIT_SECONDS = 600.0
ENDING = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
JOURNAL, NOTE, TOKEN = "journal.json", "command.json", "token"
GROUP, START = 2, 19  # where stat_of has the process group and the time of the start, fields 5 and 22 of proc(5)
MARK = "FLEXIBO_COMMAND"  # a variable by which the processes of a command are known once its first one has ended

# The INA3221 rails that make up a module's power: a total, or rails side by side (as flexibo.hardware.ina3221).
RAILS = (
    ("VDD_IN",),
    ("POM_5V_IN",),
    ("GPU", "CPU", "SOC", "CV", "VDDRQ", "SYS5V"),
    ("VDD_GPU_SOC", "VDD_CPU_CV", "VIN_SYS_5V0"),
)
# The rates of the memory where firmware lists none: TX2, Xavier and Orin (as flexibo.hardware.knobs.jetson).
TX2_EMC_MHZ = (40.8, 68, 102, 204, 408, 665.6, 800, 1062.4, 1331.2, 1600, 1866)
XAVIER_EMC_MHZ = (204, 408, 665.6, 800, 1065.6, 1331.2, 1600, 1866, 2133)
ORIN_EMC_MHZ = (204, 665.6, 2133, 3199)
SCHEDULERS = {"CFP": ("cfq", "bfq", "mq-deadline", "deadline"), "NOOP": ("noop", "none")}
# The memory knobs: the file under /proc/sys/vm, the paper's values, and the smallest and largest that a kernel accepts.
VM = {
    "swappiness": ("swappiness", (10, 30, 60, 100), (0, 200)),
    "dirty_background_ratio": ("dirty_background_ratio", (10, 50, 80), (1, 100)),
    "dirty_ratio": ("dirty_ratio", (5, 50), (1, 100)),
    "cache_pressure": ("vfs_cache_pressure", (100, 500), (0, 2**31 - 1)),
}
CHIPS = ("coretemp", "k10temp", "zenpower", "cpu_thermal", "amdgpu", "scpi_sensors", "apm_xgene")
JOULES = {"mJ": 1e-3, "J": 1.0, "kJ": 1e3, "Wh": 3600.0, "kWh": 3.6e6}
WATTS = {"mW": 1e-3, "W": 1.0, "kW": 1e3}
NUMBER_AND_UNIT = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*([A-Za-z]+)")
# A shell command, and beside it in its group a watcher that ends both when the agent dies, even by kill -9.
WATCHED = f"""exec 3<&0 </dev/null
(trap '' TERM; read -r line <&3; kill -TERM 0; sleep {GRACE_SECONDS:g}; kill -KILL 0) >/dev/null 2>&1 &
trap : TERM
/bin/sh -c "$1" flexibo 3<&-
"""
# A shell command that begins when it is told to: by then the guard knows it. It never begins if the agent dies before.
AWAITING = 'read -r line && exec /bin/sh -c "$1" </dev/null'


class Problem(Exception):  # noqa: N818  # a part of the protocol
    """What is answered instead of a reading: a kind for programs, a sentence for people."""

    def __init__(self, kind: str, sentence: str) -> None:
        super().__init__(sentence)
        self.kind = kind  # request, machine, value, short, timeout or busy


class Gone(Exception):  # noqa: N818  # what happened, rather than an error
    """The other side has closed the connection, or this process is to end."""


class Undone(NamedTuple):
    """What of a killed agent was undone: how many settings, and how many commands, 0 or 1."""

    settings: int = 0
    commands: int = 0

    def sentence(self) -> str:
        """What was done, for people."""
        ended = " and ended {}".format(counted(self.commands, "command")) if self.commands else ""
        return "Restored {}{}".format(counted(self.settings, "setting"), ended)


class Board:
    """The machine: the kernel's files under a root, and the folder of journal, note and token."""

    def __init__(self, root: str = "/", state: str = "") -> None:
        self.root = os.path.abspath(root)
        self.state = os.path.abspath(state or os.path.dirname(os.path.abspath(__file__)))
        self.undone = Undone()  # what no answer has told yet

    def path(self, *parts: str) -> str:
        """A path below the root."""
        return os.path.join(self.root, *parts)

    def found(self, *parts: str) -> List[str]:
        """The paths below the root that match a pattern, numbers in their order."""
        pattern = os.path.join(glob.escape(self.root), *parts)
        return sorted(glob.glob(pattern), key=lambda path: [(len(p), p) for p in re.split(r"(\d+)", path)])

    def check_setting(self, path: str) -> None:
        """Raise a problem for a path that is no setting of the kernel."""
        real = os.path.realpath(path)
        if not any(real.startswith(os.path.realpath(self.path(top)) + os.sep) for top in ("sys", "proc/sys")):
            raise Problem("value", f"{path} is no file below /sys or /proc/sys; only those are set.")

    @property
    def boot(self) -> str:
        """Identifies the boot; empty if the kernel does not say."""
        return text_of(self.path("proc/sys/kernel/random/boot_id"))


def text_of(path: str) -> str:
    """The text of a file, stripped; empty if it cannot be read."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read().strip("\0 \n\t")
    except OSError:
        return ""


def number_of(path: str) -> Optional[int]:
    """The whole number in a file; None if there is none."""
    try:
        return int(text_of(path))
    except ValueError:
        return None


def numbers_of(path: str) -> List[int]:
    """The whole numbers in a file."""
    return [int(word) for word in text_of(path).split() if word.isdigit()]


def chosen(text: str) -> str:
    """The word in brackets, or the text itself if there is none."""
    found = re.search(r"\[(\S+)\]", text)
    return found.group(1) if found else text


def visible(text: str) -> str:
    """The text on one line, with control characters escaped."""
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in text)


def counted(count: int, noun: str) -> str:
    """A count with its noun."""
    return "{} {}{}".format(count, noun, "" if count == 1 else "s")


def shortened(text: str, most: int) -> str:
    """The text, or its beginning and its end if it is longer."""
    if len(text) <= most:
        return text
    gap = f"...({len(text):,} characters)..."
    kept = max(most - len(gap), 2)
    begin = max(kept - kept // 4, 1)
    return f"{text[:begin]}{gap}{text[len(text) - (kept - begin) :]}"


def last_line(text: str) -> str:
    """The last line that says something."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return shortened(visible(lines[-1]), 200) if lines else ""


def output_of(command: Any) -> str:
    """What a program, or a command of the shell, prints; a problem if it fails."""
    name = command if isinstance(command, str) else command[0]
    status, output, errors = called(name, command, TOOL_SECONDS)
    if status:
        said = last_line(errors or output) or "it said nothing"
        raise Problem("machine", "{} failed: {}.".format(name, said.rstrip(".")))
    return output


def called(
    name: str, command: Any, seconds: float, wanted: str = "", is_over: Callable[[], bool] = lambda: False
) -> Tuple[int, str, str]:
    """The status, the output and the errors of a program or a shell command; then nothing of its group runs any more.

    A problem if it cannot be started, takes too long or prints too much; Gone once `is_over` says so.
    """
    is_script = isinstance(command, str)
    words = ["/bin/sh", "-c", WATCHED, "flexibo", command] if is_script else command
    life, held = os.pipe()
    try:
        process = subprocess.Popen(
            words,
            stdin=life if is_script else subprocess.DEVNULL,  # nvpmodel may ask
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        os.close(held)
        raise Problem("machine", f"{name} cannot be started: {getattr(error, 'strerror', None) or error}.") from None
    finally:
        os.close(life)
    assert process.stdout is not None
    assert process.stderr is not None
    said = {process.stdout.fileno(): b"", process.stderr.fileno(): b""}
    try:
        for printed in chunks(process, list(said), time.monotonic() + seconds):
            if printed is None:
                raise Problem("machine", f"{name} did not end within {seconds:g} s.")
            if is_over():
                raise Gone
            said[printed[0]] += printed[1]
            if sum(map(len, said.values())) > MOST_KIB * 1024:
                raise Problem("machine", f"{name} printed more than {MOST_KIB} KiB{wanted}.")
    finally:
        if process.poll() is None:
            signal_group(process.pid, signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                process.wait(GRACE_SECONDS)
        signal_group(process.pid, signal.SIGKILL)  # with its watcher and what it left behind
        process.wait()
        for stream in (process.stdout, process.stderr):
            stream.close()
        os.close(held)
    output, errors = (text.decode(errors="replace") for text in said.values())
    return process.returncode, output, errors


def chunks(
    process: "subprocess.Popen[bytes]", outputs: List[int], until: float
) -> Iterator[Optional[Tuple[int, bytes]]]:
    """What a process prints and where, nothing from time to time; None if it has not ended in time."""
    anyone = outputs[0]
    has_ended = False
    while not has_ended:
        has_ended = process.poll() is not None  # then once more, for what is already there
        wait = 0.0 if has_ended else LOOK_SECONDS if outputs else LOOK_SECONDS / 20
        for output in select.select(outputs, [], [], wait)[0]:
            chunk = os.read(output, 65536)
            if not chunk:
                outputs.remove(output)
            yield output, chunk
        yield anyone, b""
        if not has_ended and time.monotonic() >= until:
            yield None


# Knobs. Each lists the writes for a value; a write says how it is undone.


def write_to(path: str, value: object, before: object, tolerance: float = 0.0, steady: bool = True) -> Dict[str, Any]:
    """A write to a file; one that is not steady may change by itself, as the rate of a clock that is not locked."""
    return {"path": path, "value": str(value), "before": str(before), "tolerance": tolerance, "steady": steady}


def pinned(low: str, high: str, target: int, tolerance: float = 0.01) -> List[Dict[str, Any]]:
    """Both limits set to one number, the lower never above the upper."""
    lower, upper = number_of(low), number_of(high)
    if lower is None or upper is None:
        raise Problem("machine", f"{low if lower is None else high} cannot be read; run the agent as root.")
    bottom, top = write_to(low, target, lower, tolerance), write_to(high, target, upper, tolerance)
    return [top, bottom] if target > upper else [bottom, top]


class Knob:
    """A setting: what it is now, what is offered, and the writes for a value."""

    def __init__(self, board: Board, name: str) -> None:
        self.board = board
        self.name = name

    def now(self) -> Any:
        """The present value."""
        raise NotImplementedError

    def offered(self) -> List[Any]:
        """The values that there are; a problem if there are none."""
        raise NotImplementedError

    def writes(self, value: Any) -> List[Dict[str, Any]]:
        """The writes for a value; a problem if it is not offered."""
        raise NotImplementedError

    def missing(self, what: str) -> Problem:
        """The problem that the board has no such setting."""
        return Problem("machine", f"Knob {self.name!r} is not here: {what}.")

    def wrong(self, value: Any, offered: Sequence[Any]) -> Problem:
        """The problem that a value is not offered."""
        listed = ", ".join(f"{one:g}" if isinstance(one, float) else str(one) for one in offered)
        return Problem("value", f"Knob {self.name!r} is {value!r}; this board has {listed}.")

    def near(self, value: Any, steps: Sequence[float]) -> float:
        """The step within 1 % of a value."""
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            nearest = min(steps, key=lambda step: abs(step - value))
            if abs(nearest - value) <= 0.01 * nearest:
                return nearest
        raise self.wrong(value, steps)


class Cores(Knob):
    """How many cores are online; those with the lowest numbers are, and the first always is."""

    def _switches(self) -> Tuple[List[str], int]:
        cores = self.board.found("sys/devices/system/cpu/cpu[0-9]*")
        switches = [os.path.join(core, "online") for core in cores if not core.endswith("/cpu0")]
        switches = [switch for switch in switches if os.path.exists(switch)]
        if not switches:
            raise self.missing("no core can go offline")
        return switches, len(cores) - len(switches)

    def now(self) -> Any:
        switches, fixed = self._switches()
        return fixed + sum(number_of(switch) or 0 for switch in switches)

    def offered(self) -> List[Any]:
        switches, fixed = self._switches()
        return list(range(max(fixed, 1), fixed + len(switches) + 1))

    def writes(self, value: Any) -> List[Dict[str, Any]]:
        if isinstance(value, bool) or value not in self.offered():
            raise self.wrong(value, self.offered())
        switches, fixed = self._switches()
        moves = [write_to(s, int(at < int(value) - fixed), text_of(s)) for at, s in enumerate(switches)]
        return [m for m in moves if m["value"] == "1"] + [m for m in reversed(moves) if m["value"] == "0"]


class CpuKnob(Knob):
    """A setting of the groups of cores with a common clock."""

    def policies(self) -> List[str]:
        """Those that have a core online."""
        folders = self.board.found("sys/devices/system/cpu/cpufreq/policy[0-9]*")
        found = [folder for folder in folders if text_of(os.path.join(folder, "affected_cpus"))]
        if not found:
            raise self.missing("the kernel does not control the frequency of the cores")
        return found


class Governor(CpuKnob):
    """The governor of all online cores."""

    def now(self) -> Any:
        present = {text_of(os.path.join(policy, "scaling_governor")) for policy in self.policies()}
        return present.pop() if len(present) == 1 else "mixed"

    def offered(self) -> List[Any]:
        lists = [text_of(os.path.join(policy, "scaling_available_governors")).split() for policy in self.policies()]
        return [word for word in lists[0] if word != "userspace" and all(word in others for others in lists)]

    def writes(self, value: Any) -> List[Dict[str, Any]]:
        if value not in self.offered():
            raise self.wrong(value, self.offered())
        files = [os.path.join(policy, "scaling_governor") for policy in self.policies()]
        return [write_to(file, value, text_of(file)) for file in files]


class CpuFrequency(CpuKnob):
    """The frequency of all online cores in GHz: both limits of each group are set to it."""

    def _range(self, policy: str) -> Tuple[int, int]:
        low, high = (number_of(os.path.join(policy, f"cpuinfo_{end}_freq")) for end in ("min", "max"))
        if low is None or high is None:
            raise self.missing(f"{policy} has no range")
        return low, high

    def _steps(self, policy: str) -> List[int]:
        listed = sorted(numbers_of(os.path.join(policy, "scaling_available_frequencies")))
        low, high = self._range(policy)
        return listed or [low + (high - low) * part // 20 for part in range(21)]

    def _fastest(self) -> str:
        return max(self.policies(), key=lambda policy: self._range(policy)[1])

    def now(self) -> Any:
        return (number_of(os.path.join(self._fastest(), "scaling_max_freq")) or 0) / 1e6

    def offered(self) -> List[Any]:
        return [step / 1e6 for step in self._steps(self._fastest())]

    def writes(self, value: Any) -> List[Dict[str, Any]]:
        wanted = self.near(value, self.offered()) * 1e6
        found = []
        for policy in self.policies():
            target = min(self._steps(policy), key=lambda step: abs(step - wanted))
            low, high = (os.path.join(policy, f"scaling_{end}_freq") for end in ("min", "max"))
            found += pinned(low, high, target, 0.05)
        return found


class GpuFrequency(Knob):
    """The frequency of a board's GPU in GHz: both limits of its devfreq device are set to it."""

    def _folder(self) -> str:
        for folder in self.board.found("sys/class/devfreq/*"):
            if re.match(r".*\.(gpu|g[a-z]\d+b)$", folder):
                return folder
        raise self.missing("there is no GPU of a Jetson board under /sys/class/devfreq")

    def now(self) -> Any:
        return (number_of(os.path.join(self._folder(), "max_freq")) or 0) / 1e9

    def offered(self) -> List[Any]:
        steps = sorted(numbers_of(os.path.join(self._folder(), "available_frequencies")))
        if not steps:
            raise self.missing("its GPU lists no frequency")
        return [step / 1e9 for step in steps]

    def writes(self, value: Any) -> List[Dict[str, Any]]:
        target = round(self.near(value, self.offered()) * 1e9)
        return pinned(os.path.join(self._folder(), "min_freq"), os.path.join(self._folder(), "max_freq"), target)


class EmcFrequency(Knob):
    """The frequency of a board's memory in GHz: the clock is locked, then set."""

    def _clock(self, name: str) -> str:
        return self.board.path("sys/kernel/debug/bpmp/debug/clk/emc", name)

    def _number(self, name: str) -> int:
        number = number_of(self._clock(name))
        if number is None:
            raise self.missing(f"{self._clock(name)} is missing, or only root may read it")
        return number

    def now(self) -> Any:
        return self._number("rate") / 1e9

    def offered(self) -> List[Any]:
        low, high = self._number("min_rate"), self._number("max_rate")
        listed = [khz * 1000 for khz in numbers_of(self.board.path("sys/kernel/debug/bpmp/debug/emc/possible_rates"))]
        usual: Sequence[float] = TX2_EMC_MHZ if high <= TX2_EMC_MHZ[-1] * 1e6 else XAVIER_EMC_MHZ
        if "tegra234" in text_of(self.board.path("proc/device-tree/compatible")) or high > XAVIER_EMC_MHZ[-1] * 1e6:
            usual = ORIN_EMC_MHZ
        rates = listed or [round(mhz * 1e6) for mhz in usual]
        return [rate / 1e9 for rate in sorted({rate for rate in rates if low <= rate <= high} | {low, high})]

    def writes(self, value: Any) -> List[Dict[str, Any]]:
        target, locked = round(self.near(value, self.offered()) * 1e9), self._number("mrq_rate_locked")
        return [
            write_to(self._clock("mrq_rate_locked"), 1, locked),
            write_to(self._clock("rate"), target, self._number("rate"), 0.01, bool(locked)),
            write_to(self._clock("state"), 1, self._number("state")),
        ]


class VmNumber(Knob):
    """A number of /proc/sys/vm."""

    def _file(self) -> str:
        path = self.board.path("proc/sys/vm", VM[self.name][0])
        if number_of(path) is None:
            raise self.missing(f"{path} cannot be read")
        return path

    def now(self) -> Any:
        return number_of(self._file())

    def offered(self) -> List[Any]:
        self._file()
        return list(VM[self.name][1])

    def writes(self, value: Any) -> List[Dict[str, Any]]:
        low, high = VM[self.name][2]
        if isinstance(value, (bool, str)) or value != int(value) or not low <= value <= high:
            raise Problem("value", f"Knob {self.name!r} is {value!r}; it is from {low} to {high}.")
        write = write_to(self._file(), int(value), text_of(self._file()))
        in_bytes = self._file().replace("_ratio", "_bytes")
        if in_bytes != self._file() and number_of(in_bytes):  # the limit in force; writing the other sets it to 0
            write.update(before=text_of(in_bytes), before_path=in_bytes)
        return [write]


class Scheduler(Knob):
    """The I/O scheduler of all disks that offer both of the paper's kinds."""

    def _files(self) -> Dict[str, str]:
        said = {path: text_of(path) for path in self.board.found("sys/block/*/queue/scheduler")}
        found = {path: words for path, words in said.items() if all(self._best(kind, words) for kind in SCHEDULERS)}
        if not found:
            raise self.missing("no disk offers a choice of schedulers")
        return found

    @staticmethod
    def _best(kind: str, words: str) -> str:
        names = words.replace("[", "").replace("]", "").split()
        return next((name for name in SCHEDULERS[kind] if name in names), "")

    def now(self) -> Any:
        present = {chosen(words) for words in self._files().values()}
        kinds = {next((kind for kind, names in SCHEDULERS.items() if one in names), one) for one in present}
        return kinds.pop() if len(kinds) == 1 else "mixed"

    def offered(self) -> List[Any]:
        self._files()
        return list(SCHEDULERS)

    def writes(self, value: Any) -> List[Dict[str, Any]]:
        if value not in SCHEDULERS:
            raise self.wrong(value, list(SCHEDULERS))
        return [write_to(path, self._best(value, words), chosen(words)) for path, words in self._files().items()]


class PowerMode(Knob):
    """The power mode of a Jetson board by its name, set by nvpmodel; it survives a restart."""

    def modes(self) -> Dict[str, str]:
        """The names of the modes and their numbers."""
        if shutil.which("nvpmodel") is None:
            raise self.missing("there is no program nvpmodel")
        text = text_of(self.board.path("etc/nvpmodel.conf"))
        found = re.findall(r"<\s*POWER_MODEL\s+ID=(\d+)\s+NAME=([\w.-]+)\s*>", text)
        if not found:
            raise self.missing("/etc/nvpmodel.conf names no power mode")
        return {name: number for number, name in found}

    def now(self) -> Any:
        self.modes()
        found = re.search(r"NV Power Mode:\s*([\w.-]+)", output_of(["nvpmodel", "-q"]))
        return found.group(1) if found else ""

    def offered(self) -> List[Any]:
        return list(self.modes())

    def writes(self, value: Any) -> List[Dict[str, Any]]:
        if value not in self.modes():
            raise self.wrong(value, self.offered())
        return [{"nvpmodel": str(value), "before": self.now()}]


class OwnKnob(Knob):
    """A knob that the user describes: a file of /sys or /proc/sys, or two commands of the shell."""

    def __init__(self, board: Board, name: str, described: Dict[str, Any]) -> None:
        super().__init__(board, name)
        self._values = described.get("values")
        self._file = os.path.join(board.root, str(described.get("path", "")).lstrip("/")) if "path" in described else ""
        self._read, self._set = described.get("read"), described.get("set")
        if not self._file and not (isinstance(self._read, str) and isinstance(self._set, str)):
            raise Problem(
                "value",
                f"Knob {name!r} has neither a path nor two commands, read and set; in set, {{value}} is the value.",
            )

    def now(self) -> Any:
        if self._file:
            if not os.path.exists(self._file):
                raise self.missing(f"there is no {self._file}")
            return chosen(text_of(self._file))
        lines = output_of(str(self._read)).strip().splitlines()
        if not lines:
            raise self.missing(f"its command prints nothing: {self._read}")
        return lines[-1].strip()

    def offered(self) -> List[Any]:
        self.now()
        return list(self._values or [])

    def writes(self, value: Any) -> List[Dict[str, Any]]:
        if self._values and value not in self._values:
            raise self.wrong(value, self._values)
        before = str(self.now())
        words = str(value)
        if not all(re.match(r"^[\w.+:/-]{1,64}$", word) for word in (words, before)):
            raise Problem("value", f"Knob {self.name!r} cannot change {before!r} to {words!r}: no words.")
        if self._file:
            self.board.check_setting(self._file)
            return [write_to(self._file, words, before)]
        return [
            {
                "set": str(self._set).replace("{value}", words),
                "undo": str(self._set).replace("{value}", before),
                "read": str(self._read),
                "value": words,
                "before": before,
            }
        ]


def knobs_of(board: Board, described: Dict[str, Any]) -> Dict[str, Knob]:
    """All knobs in the order in which they are set; a power mode comes first, because it sets others."""
    found = [PowerMode(board, "power_mode"), Cores(board, "active_cores"), Governor(board, "cpu_governor")]
    found += [CpuFrequency(board, "cpu_frequency")] + [VmNumber(board, name) for name in VM]
    found += [Scheduler(board, "scheduler"), GpuFrequency(board, "gpu_frequency"), EmcFrequency(board, "emc_frequency")]
    found += [OwnKnob(board, name, one) for name, one in described.items()]
    return {knob.name: knob for knob in found}


def refusal(board: Board, writes: Sequence[Dict[str, Any]]) -> str:
    """Why writes are not permitted, as far as that is known before; empty if nothing forbids them."""
    for one in writes:
        if "nvpmodel" in one and os.geteuid() != 0:
            return "nvpmodel needs root"
        if "path" in one and not os.access(one["path"], os.W_OK):
            return "{} may not be written by this user".format(one["path"])
    return ""


# The journal: on disk before a change, gone when everything is restored.


def read_journal(board: Board) -> List[Dict[str, Any]]:
    """The writes that are to be undone; after a restart only those that survive one."""
    path = os.path.join(board.state, JOURNAL)
    try:
        with open(path, encoding="utf-8") as file:
            kept = json.load(file)
        writes = [one for one in kept["writes"] if isinstance(one, dict)]
        is_same_boot = kept["boot"] == board.boot
    except FileNotFoundError:
        return []
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise Problem(
            "machine",
            f"The journal {path} cannot be read ({error}); restart the board, then remove it.",
        ) from None
    return [one for one in writes if is_same_boot or "path" not in one]


def write_journal(board: Board, writes: Sequence[Dict[str, Any]]) -> None:
    """Replace the journal, on disk when this returns; without writes it is removed."""
    path = os.path.join(board.state, JOURNAL)
    try:
        if not writes:
            if os.path.exists(path):
                os.unlink(path)
            return
        os.makedirs(board.state, exist_ok=True)
        with open(path + ".new", "w", encoding="utf-8") as file:
            json.dump({"boot": board.boot, "writes": list(writes)}, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(path + ".new", path)
        folder = os.open(board.state, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except OSError as error:
        raise Problem("machine", f"The journal {path} cannot be written: {error.strerror}.") from None


def restore(board: Board) -> Undone:
    """End the command of the note and undo what the journal lists, the last write first; a problem names what is left.

    Only for the holder of the lock: the command and the settings of anyone else are those of a killed agent.
    """
    commands, running = end_command(board)
    left = read_journal(board)
    count = len(left)
    faults: Dict[str, str] = {}
    for _ in range(2):  # a limit may be accepted once another one is restored
        again: List[Dict[str, Any]] = []
        faults = {}
        for one in reversed(left):
            fault = undone(board, one)
            if fault:
                again.insert(0, one)
                faults[str(one.get("path") or one.get("undo") or "nvpmodel")] = fault
        left = again
    write_journal(board, left)
    said = [running] if running else []
    if faults:
        listed = "; ".join(f"{place}: {fault}" for place, fault in faults.items())
        said.append(f"Not everything could be restored: {listed}. The journal keeps it.")
    if said:
        raise Problem("machine", " ".join(said))
    return Undone(count, commands)


def restore_left(board: Board) -> None:
    """Undo what a killed agent left; the next answer tells it."""
    now = restore(board)
    board.undone = Undone(board.undone.settings + now.settings, board.undone.commands + now.commands)


def restore_at_start(board: Board, link: "Link") -> str:
    """As `restore_left`, unless a live holder of the lock will do it; returns what is wrong, or an empty text."""
    if not any(os.path.exists(os.path.join(board.state, name)) for name in (JOURNAL, NOTE)):
        return ""  # without the lock, so that nobody finds it taken
    try:
        lock = Lock(board, link, wait=False)
        try:
            restore_left(board)
        finally:
            lock.free()
    except Problem as problem:
        return "" if problem.kind == "busy" else str(problem)
    return ""


def undone(board: Board, one: Dict[str, Any]) -> str:
    """Undo one write; returns why that failed, or an empty text."""
    try:
        if "nvpmodel" in one:
            mode = PowerMode(board, "power_mode")
            if mode.now() != one["before"]:
                output_of(["nvpmodel", "-m", mode.modes()[one["before"]]])
            return "" if mode.now() == one["before"] else f"the mode is {mode.now()}"
        if "undo" in one:
            if output_of(one["read"]).strip().splitlines()[-1:] != [one["before"]]:
                output_of(one["undo"])
            return ""
        path = one.get("before_path", one["path"])
        board.check_setting(path)
        if one["steady"] and chosen(text_of(path)) == one["before"]:
            return ""
        put(path, one["before"])
        return "" if not one["steady"] or agrees(path, one["before"], one["tolerance"]) else "it did not take it"
    except (Problem, KeyError, TypeError, ValueError, AttributeError) as error:  # the journal may be damaged
        return str(error)
    except OSError as error:
        return error.strerror or str(error)


# The note of the command that runs. It needs not be on disk: no command outlives the machine.


def write_note(board: Board, group: int, mark: str) -> None:
    """Note the process group of a command that is about to begin, with what tells it from a later one of that number.

    The number of a process is given again; then another one has it, with another time of its start.
    """
    path = os.path.join(board.state, NOTE)
    started = stat_of(group)[START:][:1]
    try:
        os.makedirs(board.state, exist_ok=True)
        with open(path + ".new", "w", encoding="utf-8") as file:
            json.dump({"boot": board.boot, "group": group, "started": started, "mark": mark}, file)
        os.replace(path + ".new", path)
    except OSError as error:
        raise Problem(
            "machine",
            f"The note {path} cannot be written: {error.strerror}; choose another folder with --state.",
        ) from None


def remove_note(board: Board) -> None:
    """Remove the note of a command that was ended."""
    with suppress(OSError):  # a note of what does not run is harmless
        os.unlink(os.path.join(board.state, NOTE))


def end_command(board: Board) -> Tuple[int, str]:
    """End the command of the note with its group: how many were ended, 0 or 1, and why one was not."""
    group = noted_group(board)
    if group:
        end_group(group)
        left = ", ".join(map(str, members(group)))
        if left:
            return 0, f"A killed agent's command still runs and cannot be ended; end its processes as root: {left}."
    remove_note(board)
    return int(bool(group)), ""


def noted_group(board: Board) -> int:
    """The process group of the note, if processes of the command are still in it; else 0."""
    path = os.path.join(board.state, NOTE)
    try:
        with open(path, encoding="utf-8") as file:
            note = json.load(file)
        group, started, mark = note["group"], note["started"], note["mark"]
        if note["boot"] != board.boot or not isinstance(group, int) or group <= 1:
            return 0
    except (OSError, ValueError, KeyError, TypeError, RecursionError):  # none, or the board was switched off meanwhile
        return 0
    found = members(group)
    if group in found:
        return group if stat_of(group)[START:][:1] == started else 0
    return group if any(is_marked(pid, mark) for pid in found) else 0


def stat_of(pid: int) -> List[str]:
    """The fields of a process in proc(5) from the third one on; none if it has ended. The second may be any text."""
    fields = text_of(f"/proc/{pid}/stat").rpartition(")")[2].split()
    return fields if fields and fields[0] not in "ZX" else []


def members(group: int) -> List[int]:
    """The processes of a process group that have not ended."""
    pids = sorted(int(name) for name in os.listdir("/proc") if name.isdigit())
    return [pid for pid in pids if stat_of(pid)[GROUP:][:1] == [str(group)]]


def is_marked(pid: int, mark: object) -> bool:
    """Whether a process was started by the command with this mark."""
    return f"{MARK}={mark}" in text_of(f"/proc/{pid}/environ").split("\0")


def end_group(group: int) -> None:
    """End a process group that is nobody's child here."""
    for number, seconds in ((signal.SIGTERM, GRACE_SECONDS), (signal.SIGKILL, KILL_SECONDS)):
        until = time.monotonic() + seconds
        signal_group(group, number)
        while members(group) and time.monotonic() < until:
            time.sleep(LOOK_SECONDS)


def put(path: str, text: str) -> None:
    """Write a setting."""
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def agrees(path: str, wanted: str, tolerance: float) -> bool:
    """Whether a file shows what was written, except for rounding."""
    shown = chosen(text_of(path))
    if shown == wanted:
        return True
    try:
        return abs(float(shown) - float(wanted)) <= tolerance * abs(float(wanted))
    except ValueError:
        return False


def set_knobs(board: Board, wanted: Dict[str, Any], described: Dict[str, Any]) -> None:
    """Set knobs in their order; each is in the journal before it is changed."""
    known = knobs_of(board, described)
    for name in wanted:
        if name not in known:
            raise Problem("value", "There is no knob {!r}; known: {}.".format(name, ", ".join(sorted(known))))
    noted: List[Dict[str, Any]] = []
    for name, knob in known.items():
        if name not in wanted:
            continue
        writes = [one for one in knob.writes(wanted[name]) if is_change(one)]
        reason = refusal(board, writes)
        if reason:
            raise Problem("machine", f"Knob {name!r} cannot be set: {reason}.")
        noted += writes
        write_journal(board, noted)
        for one in writes:
            perform(board, name, one)
        for one in writes:
            if "path" in one and not agrees(one["path"], one["value"], one["tolerance"]):
                shown = text_of(one["path"])
                raise Problem(
                    "machine",
                    "Knob {!r} did not take its value: {} shows {!r} after {!r} was written.".format(
                        name, one["path"], shown, one["value"]
                    ),
                )


def is_change(one: Dict[str, Any]) -> bool:
    """Whether a write changes something, now or later."""
    is_same = one.get("value", one.get("nvpmodel")) == one["before"]
    return not is_same or "before_path" in one or not one.get("steady", True)


def perform(board: Board, name: str, one: Dict[str, Any]) -> None:
    """Make one write."""
    if "nvpmodel" in one:
        mode = PowerMode(board, name)
        output_of(["nvpmodel", "-m", mode.modes()[one["nvpmodel"]]])
        if mode.now() != one["nvpmodel"]:
            raise Problem("machine", "nvpmodel did not enter {}; that may need a restart.".format(one["nvpmodel"]))
    elif "set" in one:
        output_of(one["set"])
    else:
        board.check_setting(one["path"])
        try:
            put(one["path"], one["value"])
        except OSError as error:
            raise Problem(
                "machine",
                "Knob {!r} could not be set: {} refused {!r} ({}).".format(
                    name, one["path"], one["value"], error.strerror
                ),
            ) from None


# Meters: `joules` since they were opened, `step` seconds between two updates, a `name`.


class Meter:
    """A meter: joules since it was opened."""

    name = ""
    step = SAMPLE_SECONDS

    def joules(self) -> float:
        """The energy since the meter was opened."""
        raise NotImplementedError

    def close(self) -> None:
        """Release what it holds."""


class Counter(Meter):
    """Counters of energy, each with the range after which it begins again."""

    def __init__(self, name: str, read: Sequence[Tuple[Callable[[], float], float]], step: float) -> None:
        self.name, self.step = name, step
        self._read = read
        self._last = [one() for one, _ in read]
        self._total = 0.0

    def joules(self) -> float:
        for at, (read, whole) in enumerate(self._read):
            now = read()
            if now < self._last[at] and not whole:
                raise Problem(
                    "machine",
                    f"{self.name} fell from {self._last[at]:g} J to {now:g} J, and energy only grows; measure again.",
                )
            self._total += now - self._last[at] + (whole if now < self._last[at] else 0.0)
            self._last[at] = now
        return self._total


class Sampled(Meter):
    """Power, sampled by a thread and integrated."""

    def __init__(self, name: str, watts: Callable[[], float], step: float = SAMPLE_SECONDS) -> None:
        self.name, self.step = name, step
        self._watts = watts
        self._lock = threading.Lock()
        self._end = threading.Event()
        self._fault = ""
        self._total, self._shown = 0.0, 0.0
        self._at, self._last = time.perf_counter(), self._power()
        self._thread = threading.Thread(target=self._run)
        self._thread.daemon = True
        self._thread.start()

    def _run(self) -> None:
        while not self._end.wait(self.step):
            try:
                self._sample()
            except (Problem, OSError, ValueError, Gone) as error:
                self._fault = self._fault or str(error)
                return

    def _power(self) -> float:
        try:
            watts = self._watts()
            if not 0 <= watts < float("inf"):
                raise ValueError(f"it returned {watts!r} W")
        except (Problem, OSError, ValueError) as error:
            self._fault = str(error)
            raise self._unread() from None
        return watts

    def _unread(self) -> Problem:
        return Problem("machine", "{}: the power cannot be read: {}.".format(self.name, self._fault.rstrip(".")))

    def _sample(self) -> float:
        with self._lock:
            if self._fault:
                raise self._unread()
            watts, now = self._power(), time.perf_counter()
            self._total += (now - self._at) * (watts + self._last) / 2
            self._at, self._last = now, watts
            return self._total

    def joules(self) -> float:
        """The energy so far, without the time that the last sample took."""
        asked = time.perf_counter()
        total = self._sample()
        self._shown = max(total - self._last * (time.perf_counter() - asked), self._shown)
        return self._shown

    def close(self) -> None:
        self._end.set()
        self._thread.join()


class Sum(Meter):
    """Several meters together."""

    def __init__(self, meters: Sequence[Meter]) -> None:
        self._meters = meters
        self.name = " + ".join(meter.name for meter in meters)
        self.step = max(meter.step for meter in meters)

    def joules(self) -> float:
        return sum(meter.joules() for meter in self._meters)

    def close(self) -> None:
        for meter in self._meters:
            meter.close()


class Smi(Meter):
    """The power of NVIDIA GPUs, which a running nvidia-smi prints ten times a second."""

    step = SMI_SECONDS

    def __init__(self, which: str) -> None:
        command = ["nvidia-smi", "--query-gpu=power.draw", "--format=csv,noheader,nounits"]
        chosen_gpus = [] if which == "all" else ["-i", which or "0"]
        lines = output_of(command + chosen_gpus).split()
        try:
            self._latest = [float(line) for line in lines]
        except ValueError:
            raise Problem("machine", f"nvidia-smi does not show the power of this GPU: {lines[0]}.") from None
        if not self._latest:
            raise Problem("machine", "nvidia-smi shows no GPU.")
        self.name = "nvidia-smi, GPU {}".format(which or "0")
        self._lock = threading.Lock()
        self._total, self._at, self._turn = 0.0, time.perf_counter(), 0
        self._process = subprocess.Popen(
            command + chosen_gpus + ["-lms", str(int(1000 * SMI_SECONDS))],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            universal_newlines=True,
        )
        self._thread = threading.Thread(target=self._listen)
        self._thread.daemon = True
        self._thread.start()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            try:
                watts = float(line)
            except ValueError:
                continue
            with self._lock:
                self._advance()
                self._latest[self._turn % len(self._latest)] = watts
                self._turn += 1

    def _advance(self) -> None:
        now = time.perf_counter()
        self._total += (now - self._at) * sum(self._latest)
        self._at = now

    def joules(self) -> float:
        if self._process.poll() is not None:
            raise Problem("machine", "nvidia-smi ended while it was to report the power.")
        with self._lock:
            self._advance()
            return self._total

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        self._thread.join()
        assert self._process.stdout is not None
        self._process.stdout.close()


def ina3221(board: Board, detail: str) -> Meter:
    """The rails of a Jetson module."""
    rails: Dict[str, Callable[[], float]] = {}
    for chip in board.found("sys/bus/i2c/drivers/ina3221x/*/iio[:_]device*"):
        for at in "012":
            label = text_of(os.path.join(chip, "rail_name_" + at))
            rails[label] = product([os.path.join(chip, f"in_power{at}_input")], 1e3)
    for chip in board.found("sys/bus/i2c/drivers/ina3221/*/hwmon/hwmon*"):
        for at in "123":  # in4 to in6 are the voltages over the shunts, in7 is their sum
            label = text_of(os.path.join(chip, f"in{at}_label"))
            files = [os.path.join(chip, f"{kind}{at}_input") for kind in ("in", "curr")]
            rails[label] = product(files, 1e6)
    found = {name: read for name, read in rails.items() if name not in ("", "NC")}
    if not found:
        raise Problem("machine", "There is no INA3221 power sensor under {}.".format(board.path("sys/bus/i2c/drivers")))
    known = [list(names) for names in RAILS if all(name in found for name in names)]
    names = detail.split(",") if detail else (known or [[]])[0]
    if not names or any(name not in found for name in names):
        listed = ", ".join(sorted(found))
        raise Problem("machine", f"Which of the rails {listed} add up is not known; write ina3221:RAIL,RAIL.")
    read = [found[name] for name in names]
    return Sampled("INA3221, {}".format(" + ".join(names)), lambda: sum(one() for one in read))


def product(files: Sequence[str], per_watt: float) -> Callable[[], float]:
    """Reads watts as the product of files."""

    def watts() -> float:
        value = 1
        for file in files:
            number = number_of(file)
            if number is None:
                raise Problem("machine", f"{file} cannot be read.")
            value *= number
        return max(value, 0) / per_watt  # a rail without load sometimes reads slightly below zero

    return watts


def rapl(board: Board, detail: str) -> Meter:
    """The packages of Intel and AMD processors."""
    zones = [zone for zone in board.found("sys/class/powercap/intel-rapl:*") if re.match(r".*:\d+$", zone)]
    zones = [zone for zone in zones if text_of(os.path.join(zone, "name")).startswith("package-")]
    zones = [zone for zone in zones if os.path.basename(zone).count(":") == 1]
    if not zones:
        raise Problem("machine", "There is no RAPL processor package under /sys/class/powercap.")
    files = [os.path.join(zone, "energy_uj") for zone in zones]
    for file in files:
        if number_of(file) is None:
            raise Problem("machine", f"{file} cannot be read; run the agent as root (sudo: true).")
    ranges = [(number_of(os.path.join(zone, "max_energy_range_uj")) or 0) / 1e6 for zone in zones]
    read = [(micro(file), whole) for file, whole in zip(files, ranges)]
    return Counter("RAPL, {} package{}".format(len(zones), "s" if len(zones) > 1 else ""), read, 0.001)


def micro(file: str) -> Callable[[], float]:
    """Reads a file in millionths."""

    def read() -> float:
        number = number_of(file)
        if number is None:
            raise Problem("machine", f"{file} cannot be read.")
        return number / 1e6

    return read


def hwmon(board: Board, detail: str) -> Meter:
    """A sensor of a driver, named as chip or chip/label; without a name the only one, or the ACPI power meter."""
    sensors: Dict[str, Tuple[str, bool]] = {}
    for folder in board.found("sys/class/hwmon/hwmon*"):
        for place in (folder, os.path.join(folder, "device")):
            chip = text_of(os.path.join(folder, "name")) or text_of(os.path.join(place, "name"))
            for file in sorted(glob.glob(os.path.join(glob.escape(place), "*[0-9]_*"))):
                match = re.match(r"(energy\d+)_input$|(power\d+)_(?:input|average)$", os.path.basename(file))
                if match:
                    channel = match.group(1) or match.group(2)
                    label = text_of(os.path.join(place, channel + "_label")) or channel
                    sensors.setdefault(f"{chip}/{label}", (file, bool(match.group(1))))
    if detail:
        names = [name for name in sensors if detail in (name, name.split("/")[0])]
    else:
        names = [name for name in sensors if name.startswith("power_meter/")] or list(sensors)
    if len(names) != 1:
        what = "not known which to use" if sensors else "no sensor there"
        listed = ", ".join(sensors) or "none"
        raise Problem(
            "machine", "hwmon{}: {} ({}); write hwmon:CHIP/LABEL.".format(detail and ":" + detail, what, listed)
        )
    file, is_counter = sensors[names[0]]
    name, read = f"hwmon, {names[0]}", micro(file)
    return Counter(name, [(read, 0.0)], 0.1) if is_counter else Sampled(name, lambda: max(read(), 0.0))


class ByCommand(Meter):
    """A command that prints the joules counted so far, or the power now; as flexibo.hardware.by_command."""

    def __init__(self, command: str, link: Optional["Link"] = None) -> None:
        self.name = f"command {shortened(visible(command), 60)}"
        self._command, self._link = command, link
        self._is_closed = threading.Event()
        begin = time.perf_counter()
        self._unit = self._ask()[1]
        # A reading is as old as the command takes to print it.
        self.step = max(METER_STEP_SECONDS, time.perf_counter() - begin)
        self._meter: Meter
        if self._unit in JOULES:
            self._meter = Counter(self.name, [(self._number, 0.0)], self.step)
        else:
            self._meter = Sampled(self.name, self._number, self.step)

    def joules(self) -> float:
        return self._meter.joules()

    def close(self) -> None:
        self._is_closed.set()
        self._meter.close()

    def _number(self) -> float:
        number, unit = self._ask()
        if (unit in JOULES) != (self._unit in JOULES):
            raise Problem("machine", f"The meter's {self.name} printed {self._unit} first and {unit} now.")
        return number

    def _ask(self) -> Tuple[float, str]:
        name = f"The meter's {self.name}"
        wanted = "; it must print a number and its unit, J or W"
        status, output, errors = called(name, self._command, METER_SECONDS, wanted + ", and end", self._is_over)
        if status:
            said = last_line(errors) or last_line(output)
            status = status if status > 0 else 128 - status
            more = f" ({said})" if said else ""
            raise Problem("machine", f"{name} ended with exit status {status}{more}{wanted}.")
        return parsed_line(last_line(output), self.name)

    def _is_over(self) -> bool:
        return self._is_closed.is_set() or (self._link is not None and self._link.is_over())


def parsed_line(line: str, name: str) -> Tuple[float, str]:
    """The joules or watts that a line says, and its unit."""
    found = NUMBER_AND_UNIT.fullmatch(line)
    units = dict(JOULES, **WATTS)
    if found is None or found.group(2) not in units:
        said = f"{line!r} last" if line else "nothing"
        raise Problem(
            "machine",
            f"The meter's {name} printed {said}; its last line must be a number and its unit: the energy so far in "
            "{}, or the power now in {}, as in 12.5 W.".format(", ".join(JOULES), ", ".join(WATTS)),
        )
    number = float(found.group(1)) * units[found.group(2)]
    if not 0 <= number < float("inf"):
        raise Problem("machine", f"The meter's {name} printed {line!r}; energy and power are zero or more.")
    return number, found.group(2)


METERS = {"ina3221": ina3221, "rapl": rapl, "nvml": lambda board, detail: Smi(detail), "hwmon": hwmon}


def open_meter(board: Board, text: str, link: Optional["Link"] = None) -> Meter:
    """The meter of a name, of a sum of names, of a command, or with "auto" whatever there is."""
    parts = [part.strip() for part in text.split("+")]
    if text == "auto":
        return any_meter(board)
    if all(part.split(":")[0] in METERS for part in parts):
        opened: List[Meter] = []
        try:
            for part in parts:
                kind, _, detail = part.partition(":")
                opened.append(METERS[kind](board, detail))
        except Problem:
            Sum(opened).close() if opened else None
            raise
        return opened[0] if len(opened) == 1 else Sum(opened)
    if re.match(r"^[\w.+:-]+$", text) and shutil.which(text) is None:
        known = ", ".join(["auto", *sorted(METERS)])
        raise Problem("value", f"Unknown meter {text!r}; this agent has {known}, or a command that prints J or W.")
    return ByCommand(text, link)


def any_meter(board: Board) -> Meter:
    """The board's own meter, or else processor and GPUs together, or else a sensor."""
    tried: Dict[str, str] = {}

    def opened(kinds: Sequence[str]) -> Iterator[Meter]:
        for kind in kinds:
            try:
                yield open_meter(board, kind)
            except Problem as problem:
                tried[kind] = str(problem)

    for kinds in (["ina3221"], ["rapl", "nvml:all"], ["hwmon"]):
        found = list(opened(kinds))
        if found:
            return found[0] if len(found) == 1 else Sum(found)
    refused = [sentence for sentence in tried.values() if "root" in sentence]
    more = refused[0] if refused else "name a command that prints joules or watts as the meter."
    raise Problem("machine", "No energy meter can be read here (looked for {}); {}".format(", ".join(tried), more))


# Temperature and throttling.


def hottest(board: Board) -> Optional[Tuple[float, str]]:
    """The highest temperature of processors and GPUs in degrees Celsius, and where it was read."""
    found: List[Tuple[float, str]] = []
    for folder in board.found("sys/class/hwmon/hwmon*"):
        chip = text_of(os.path.join(folder, "name"))
        for file in glob.glob(os.path.join(glob.escape(folder), "temp*_input")) if chip in CHIPS else ():
            number = number_of(file)
            found += [(number / 1000.0, chip)] if number is not None else []
    for zone in [] if found else board.found("sys/class/thermal/thermal_zone*"):
        kind, number = text_of(os.path.join(zone, "type")), number_of(os.path.join(zone, "temp"))
        if number is not None and re.search(r"cpu|gpu|soc|pkg|core|tj", kind, re.IGNORECASE):
            found.append((number / 1000.0, kind))
    return max(found) if found else None


def slowdowns(board: Board) -> Dict[str, int]:
    """Counters that rise when something is slowed down; only differences are meaningful."""
    cores = board.found("sys/devices/system/cpu/cpu[0-9]*/thermal_throttle/core_throttle_count")
    found = {"times processor cores were too hot": sum(number_of(core) or 0 for core in cores)} if cores else {}
    for file in board.found("sys/class/hwmon/hwmon*/oc*_event_cnt"):  # Jetson boards since Orin: over-current events
        found["events of {}".format(os.path.basename(file).split("_")[0])] = number_of(file) or 0
    return found


def held_back(board: Board) -> List[str]:
    """The cooling devices of processors and GPUs that slow them down now; fans do not."""
    found = []
    for device in board.found("sys/class/thermal/cooling_device*"):
        kind = text_of(os.path.join(device, "type"))
        is_brake = re.search(r"cpu|gpu|throttle|emc", kind, re.IGNORECASE) and "fan" not in kind.lower()
        if is_brake and number_of(os.path.join(device, "cur_state")):
            found.append(kind)
    return found


# The connection, the lock, the guard, the command.


class Bell:
    """A descriptor that can be read once this process is to end; a signal interrupts nothing else."""

    def __init__(self) -> None:
        self.number = 0  # of the signal
        self.reader, writer = os.pipe()
        os.set_blocking(writer, False)
        signal.set_wakeup_fd(writer)
        for number in ENDING:
            signal.signal(number, self._ring)

    def _ring(self, number: int, frame: Any) -> None:
        self.number = number


class Link:
    """Lines of JSON over two descriptors, with limits; the end of this process is the end of a link."""

    def __init__(self, reader: Optional[int], writer: int, bell: Bell) -> None:
        self._reader, self._writer = reader, writer
        self._bell = bell.reader
        self._rest = b""
        self._alive = time.monotonic()

    @property
    def watched(self) -> List[int]:
        """The descriptors on which the other side, if there is one, and the bell are heard."""
        return [self._bell] if self._reader is None else [self._bell, self._reader]

    def is_over(self) -> bool:
        """Whether this process is to end."""
        return bool(select.select([self._bell], [], [], 0)[0])

    def line(self, most: int = MOST_LINE, until: Optional[float] = None) -> Optional[bytes]:
        """The next line; None at the end. A problem if it is too long, Gone if it does not come in time."""
        while b"\n" not in self._rest:
            if len(self._rest) > most:
                raise Problem("request", f"A line is longer than {most} bytes.")
            wait = None if until is None else max(0.0, until - time.monotonic())
            ready = select.select(self.watched, [], [], wait)[0]
            if not ready or self._bell in ready:
                raise Gone
            if not self._more():
                return None
        line, _, self._rest = self._rest.partition(b"\n")
        if len(line) > most:
            raise Problem("request", f"A line is longer than {most} bytes.")
        return line

    def _more(self) -> bool:
        assert self._reader is not None
        try:
            chunk = os.read(self._reader, 65536)
        except OSError:
            chunk = b""
        self._rest += chunk
        return bool(chunk)

    def heard(self, ready: Sequence[int]) -> None:
        """What arrived while a command runs is kept for later; at the end of the connection, or of us, Gone."""
        if self._bell in ready or (self._reader in ready and (len(self._rest) > MOST_LINE or not self._more())):
            raise Gone

    def alive(self) -> None:
        """Tell the other side from time to time that this one lives; Gone if it does not listen."""
        if self._reader is not None and time.monotonic() - self._alive >= ALIVE_SECONDS:
            self._alive = time.monotonic()
            self.send({"alive": True})

    def pause(self, seconds: float) -> None:
        """Wait, unless the other side goes."""
        until = time.monotonic() + seconds
        while True:
            left = until - time.monotonic()
            if left <= 0:
                return
            self.heard(select.select(self.watched, [], [], min(left, ALIVE_SECONDS))[0])
            self.alive()

    def send(self, answer: Dict[str, Any]) -> None:
        """Send one line."""
        data = json.dumps(answer).encode() + b"\n"
        try:
            while data:
                data = data[os.write(self._writer, data) :]
        except OSError:
            raise Gone from None


class Lock:
    """The lock of the settings of this machine, which flexibo takes too."""

    def __init__(self, board: Board, link: Link, wait: bool = True) -> None:
        folders = [board.path(folder) for folder in ("run/lock", "tmp")]
        shared = [one for one in folders if os.path.isdir(one) and os.stat(one).st_mode & stat.S_IWOTH]
        path = os.path.join((shared or folders)[0], "flexibo-knobs.lock")
        try:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            try:
                self.file = os.open(path, os.O_RDWR | os.O_NOFOLLOW)
            except FileNotFoundError:
                self.file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
                os.fchmod(self.file, 0o666)
        except OSError as error:
            raise Problem("machine", f"The lock {path} cannot be opened: {error.strerror}.") from None
        try:
            self._take(board, link, path, wait)
        except BaseException:
            os.close(self.file)
            raise

    def _take(self, board: Board, link: Link, path: str, wait: bool) -> None:
        while True:
            try:
                fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError as error:
                if error.errno not in (errno.EAGAIN, errno.EACCES):
                    raise Problem("machine", f"The lock {path} cannot be taken: {error.strerror}.") from None
            if not wait:
                raise Problem("busy", f"Another measurement runs on this board (lock {path}).")
            link.pause(0.1)
        try:
            entry = json.loads(os.pread(self.file, 1 << 16, 0).decode() or "{}")
            left = entry.get("boot_id") == board.boot and os.path.exists(str(entry.get("journal", "")))
        except (ValueError, AttributeError, RecursionError):
            left = False
        if left:
            raise Problem("machine", "flexibo left settings on this board; run there: flexibo knobs restore.")

    def free(self) -> None:
        """Release it."""
        os.close(self.file)


class Guard:
    """A process that ends the command and restores the board if this process dies, even by kill -9."""

    def __init__(self, board: Board, lock: Lock) -> None:
        self._board = board
        reader, self._writer = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            try:
                guard(board, reader, lock.file)
            finally:
                os._exit(0)
        os.close(reader)

    def watch(self, group: int, mark: str) -> None:
        """Note the command, for the guard and, if it is killed too, for the next start."""
        write_note(self._board, group, mark)

    def forget(self) -> None:
        """The command was ended with all that it left in its group."""
        remove_note(self._board)

    def end(self) -> None:
        """Let it go, because everything is restored."""
        with suppress(BrokenPipeError):  # it was killed; the next start restores then
            os.write(self._writer, b"done")
        os.close(self._writer)
        os.waitpid(self._pid, 0)


def guard(board: Board, reader: int, lock: int) -> None:
    """Wait for the end of the agent; if it does not say that it is done, do its work. It holds the lock as well."""
    os.setsid()
    for number in ENDING:
        signal.signal(number, signal.SIG_IGN)
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)
    kept = sorted((reader, lock))
    os.closerange(3, kept[0])
    os.closerange(kept[0] + 1, kept[1])
    os.closerange(kept[1] + 1, 4096)
    said = b""
    while True:
        chunk = os.read(reader, 4096)
        if not chunk:
            break
        said += chunk
    if said == b"done":
        return
    with suppress(Problem):  # note and journal keep it for the next start
        restore(board)


def signal_group(group: int, number: int) -> bool:
    """Send a signal to a process group; returns whether there was one."""
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


class Ended:
    """How a command ended."""

    def __init__(self, status: int, output: bytes, errors: bytes, begin: float, end: float) -> None:
        self.status = 128 - status if 128 < status <= 128 + 64 else status  # how a shell reports a signal
        self.output = output.decode(errors="replace")
        self.errors = errors.decode(errors="replace")
        self.seconds = end - begin


def demoted() -> Tuple[Optional[Callable[[], None]], Dict[str, str]]:
    """With sudo, a command still runs as the user who called it: what to do before it starts, and its variables."""
    user = os.environ.get("SUDO_UID", "")
    if os.geteuid() != 0 or not user.isdigit() or user == "0":
        return None, {}
    try:
        entry = pwd.getpwuid(int(user))
    except KeyError:
        raise Problem("machine", f"There is no user with the number {user} of sudo.") from None

    def become() -> None:
        os.initgroups(entry.pw_name, entry.pw_gid)
        os.setgid(entry.pw_gid)
        os.setuid(entry.pw_uid)

    return become, {"HOME": entry.pw_dir, "USER": entry.pw_name, "LOGNAME": entry.pw_name}


def folder_of(request: Dict[str, Any], variables: Dict[str, str]) -> str:
    """Where a command runs: the folder of a request, or else the home folder of the user."""
    return os.path.expanduser(request["folder"]) or variables.get("HOME", "") or os.path.expanduser("~")


def run_command(
    request: Dict[str, Any], link: Link, watch: Guard, look: Callable[[], None], ready: Callable[[], None]
) -> Ended:
    """Run a command of the shell to its end; on its timeout, or when the other side goes, its group is ended.

    `ready` is called right before it begins, and `look` once a second.
    """
    become, variables = demoted()
    folder = folder_of(request, variables)
    environment = dict(os.environ, **variables)
    mark = secrets.token_hex(8)
    environment.update(request["environment"], **{MARK: mark})
    wake, waker = os.pipe()
    waiting, starter = os.pipe()
    try:
        process = subprocess.Popen(
            ["/bin/sh", "-c", AWAITING, "flexibo", request["command"]],
            stdin=waiting,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=folder,
            env=environment,
            start_new_session=True,
            preexec_fn=become,
        )
    except (OSError, ValueError) as error:
        for descriptor in (wake, waker, starter):
            os.close(descriptor)
        raise Problem("machine", f"The command cannot be started in {folder}: {error}.") from None
    finally:
        os.close(waiting)
    ends: List[float] = []

    def wait() -> None:
        process.wait()
        ends.append(time.perf_counter())
        os.write(waker, b"!")

    waiter = threading.Thread(target=wait)
    waiter.start()
    assert process.stdout is not None
    assert process.stderr is not None
    tails = {process.stdout.fileno(): b"", process.stderr.fileno(): b""}
    try:
        watch.watch(process.pid, mark)
        ready()
        begin = time.perf_counter()
        with suppress(BrokenPipeError):  # it was killed
            os.write(starter, b"\n")
        listen(tails, wake, link, begin, request["timeout"], look)
    finally:
        os.close(starter)
        if not ends:
            signal_group(process.pid, signal.SIGTERM)
            waiter.join(GRACE_SECONDS)
        signal_group(process.pid, signal.SIGKILL)  # with what it left behind
        waiter.join()
        watch.forget()
        for stream in (process.stdout, process.stderr):
            stream.close()
        os.close(wake)
        os.close(waker)
    output, errors = tails.values()
    return Ended(process.returncode, output, errors, begin, ends[0])


def listen(
    tails: Dict[int, bytes],
    wake: int,
    link: Link,
    begin: float,
    timeout: Optional[float],
    look: Callable[[], None],
) -> None:
    """Read both outputs until the command ends, and then what is already there."""
    open_ones = list(tails)
    looked = begin
    while True:
        left = ALIVE_SECONDS if timeout is None else begin + timeout - time.perf_counter()
        if left <= 0:
            raise Problem("timeout", f"It took longer than {timeout or 0.0:g} s.")
        ready = select.select([*open_ones, wake, *link.watched], [], [], min(left, 1.0))[0]
        has_ended = wake in ready
        for descriptor in [one for one in ready if one in tails]:
            chunk = os.read(descriptor, 65536)
            tails[descriptor] = (tails[descriptor] + chunk)[-KEPT_BYTES:]
            if not chunk:
                open_ones.remove(descriptor)
        if has_ended:
            break
        link.heard(ready)
        link.alive()
        if time.perf_counter() - looked >= 1.0:
            looked = time.perf_counter()
            look()
    for descriptor in open_ones:
        while select.select([descriptor], [], [], 0)[0]:
            chunk = os.read(descriptor, 65536)
            if not chunk:
                break
            tails[descriptor] = (tails[descriptor] + chunk)[-KEPT_BYTES:]


# Requests.

NUMBER = (int, float)
FIELDS: Dict[str, Tuple[Tuple[type, ...], Any]] = {  # of a request to run: types and default
    "command": ((str,), None),
    "folder": ((str,), ""),
    "environment": ((dict,), {}),
    "timeout": ((*NUMBER, type(None)), None),
    "knobs": ((dict,), {}),
    "described": ((dict,), {}),
    "meter": ((str, type(None)), None),
    "idle_seconds": ((*NUMBER, type(None)), None),
    "idle_watts": ((*NUMBER, type(None)), None),
    "celsius": ((*NUMBER, type(None)), None),
    "cool_limit": (NUMBER, COOL_LIMIT_SECONDS),
    "meters": ((list,), []),
    "values": ((dict,), {}),
    "do": ((str,), None),
}


def checked(request: Any) -> Dict[str, Any]:
    """A request with all its fields; a problem if one is missing, unknown or of the wrong type."""
    if not isinstance(request, dict):
        raise Problem("request", "A request is a JSON object with the key do.")
    for name in request:
        if name not in FIELDS:
            raise Problem("request", f"A request has no field {name!r}; is the agent of another version?")
    whole = {name: request.get(name, default) for name, (_, default) in FIELDS.items()}
    for name, (kinds, _default) in FIELDS.items():
        value = whole[name]
        is_needed = name == "do" or (name == "command" and whole["do"] == "run")
        if name not in request and not is_needed:
            continue
        if not isinstance(value, kinds) or isinstance(value, bool) or (isinstance(value, NUMBER) and value != value):
            raise Problem("request", f"The field {name!r} of a request is {value!r}."[:200])
    for name in ("environment", "described"):
        kind = str if name == "environment" else dict
        if not all(isinstance(value, kind) for value in whole[name].values()):
            raise Problem("request", f"The field {name!r} of a request has a value of the wrong type.")
    return whole


def measure(board: Board, request: Dict[str, Any], link: Link) -> Dict[str, Any]:
    """Set the knobs, run the command, read the meter, restore the knobs: the answer."""
    lock = Lock(board, link)
    try:
        restore_left(board)
        watch = Guard(board, lock)
        try:
            set_knobs(board, request["knobs"], request["described"])
            answer = reading(board, request, link, watch)
        finally:
            try:
                restore(board)
            finally:
                watch.end()
    finally:
        lock.free()
    answer.update(told(board))
    return answer


def told(board: Board) -> Dict[str, int]:
    """What was undone of a killed agent, told once."""
    now, board.undone = board.undone, Undone()
    return {"restored": now.settings, "ended": now.commands}


def reading(board: Board, request: Dict[str, Any], link: Link, watch: Guard) -> Dict[str, Any]:
    """Run the command once, with the meter read before and after it."""
    if request["celsius"] is not None:
        cool_down(board, request["celsius"], request["cool_limit"], link)
    meter = open_meter(board, request["meter"], link) if request["meter"] else None
    slowed: Dict[str, int] = {}

    def look() -> None:
        for kind in held_back(board):
            what = f"looks, one a second, found it slowed down by {kind}"
            slowed[what] = slowed.get(what, 0) + 1

    before: List[float] = []

    def ready() -> None:
        before.append(0.0 if meter is None else meter.joules())

    try:
        idle = None if meter is None else idle_power(meter, request, link)
        warmth, slow = hottest(board), slowdowns(board)
        ended = run_command(request, link, watch, look, ready)
        joules = None if meter is None else meter.joules() - before[0]
        look()
        after = hottest(board)
        slowed.update(
            {what: now - slow.get(what, 0) for what, now in slowdowns(board).items() if now > slow.get(what, 0)}
        )
        if meter is not None and joules is not None and ended.status == 0:
            check_moved(meter, joules, ended.seconds)
    finally:
        if meter is not None:
            meter.close()
    lines = [line for line in ended.output.splitlines() if line.strip()]
    return {
        "ok": True,
        "status": ended.status,
        "value": value_of(lines[-1]) if lines else None,
        "output": ended.output,
        "errors": ended.errors,
        "seconds": ended.seconds,
        "joules": joules,
        "watts": None if joules is None else joules / max(ended.seconds, 1e-9),
        "meter": None if meter is None else meter.name,
        "update_seconds": None if meter is None else meter.step,
        "idle_watts": idle and idle[0],
        "idle_spread": idle and idle[1],
        "celsius_before": warmth and warmth[0],
        "celsius_after": after and after[0],
        "where": after and after[1],
        "slowed_down": slowed,
    }


def value_of(line: str) -> Any:
    """The value in the last line that a command printed: a number or a JSON object; None if it is neither."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, (*NUMBER, dict)) and not isinstance(value, bool) else None


def check_moved(meter: Meter, joules: float, seconds: float) -> None:
    """Raise a problem if the meter has not moved, or not as energy does."""
    if not 0 <= joules < float("inf"):
        raise Problem("machine", f"{meter.name} changed by {joules!r} J, and energy only grows; measure again.")
    if joules > 0:
        return
    if seconds >= PATIENT_STEPS * meter.step:
        raise stopped(meter, f"in {seconds:.1f} s of work")
    raise Problem(
        "short",
        f"{meter.name} has not moved in the {seconds:.3g} s that this took; it is updated every {meter.step:g} s, so "
        "let it do more work, such as the same thing many times.",
    )


def stopped(meter: Meter, when: str) -> Problem:
    """The problem that a meter no longer rises."""
    return Problem(
        "machine",
        f"{meter.name} has not risen {when}; it has stopped updating, so choose another meter or restart its driver.",
    )


def idle_power(meter: Meter, request: Dict[str, Any], link: Link) -> Optional[Tuple[float, float]]:
    """The idle power and its spread in watts, given or measured; None if neither is asked for."""
    if request["idle_watts"] is not None:
        return float(request["idle_watts"]), 0.0
    seconds = request["idle_seconds"]
    if seconds is None:
        return None
    if not 0 < seconds <= 3600:
        raise Problem("value", f"The time to measure idle power is {seconds!r} s; it must be up to an hour.")
    watts = []
    before, begin = risen(meter, link)
    for _ in range(IDLE_PARTS):
        link.pause(max(seconds / IDLE_PARTS, meter.step))
        after, end = risen(meter, link)
        watts.append((after - before) / (end - begin))
        before, begin = after, end
    mean = sum(watts) / IDLE_PARTS
    return mean, (sum((one - mean) ** 2 for one in watts) / (IDLE_PARTS - 1)) ** 0.5


def risen(meter: Meter, link: Link) -> Tuple[float, float]:
    """The energy and the time right after the next update of a meter: before one, the energy is up to a step old."""
    before, begin = meter.joules(), time.perf_counter()
    while True:
        link.pause(max(meter.step / LOOKS_PER_STEP, 0.001))
        joules, now = meter.joules(), time.perf_counter()
        if joules > before:
            return joules, now
        if now - begin > PATIENT_STEPS * meter.step:
            raise stopped(meter, f"for {now - begin:.1f} s of work")


def cool_down(board: Board, celsius: float, limit: float, link: Link) -> None:
    """Wait until the board is cool enough."""
    until = time.monotonic() + limit
    while True:
        now = hottest(board)
        if now is None:
            raise Problem("machine", "No temperature can be read on this board; do not wait for one.")
        if now[0] <= celsius:
            return
        if time.monotonic() >= until:
            raise Problem(
                "machine",
                f"{now[1]} has {now[0]:g} degrees Celsius after {limit:g} s and was to cool down to {celsius:g}.",
            )
        link.pause(min(1.0, max(until - time.monotonic(), 0.01)))


def findings(board: Board, request: Dict[str, Any], link: Link) -> Dict[str, Any]:
    """What is here: Python, meters, knobs; and a sentence for each of the needs of a study that is not met."""
    is_busy = False
    problems: List[str] = []
    try:
        lock = Lock(board, link, wait=False)
        try:
            restore_left(board)
        finally:
            lock.free()
    except Problem as problem:
        is_busy = problem.kind == "busy"  # then a measurement changes the knobs now
        problems += [] if is_busy else [str(problem)]
    meters = {name: meter_found(board, name, link) for name in METERS}
    opened: Dict[str, str] = {}
    for name in request["meters"]:
        found = meter_found(board, str(name), link)
        opened[str(name)] = found["name"]
        problems += [found["problem"]] if found["problem"] else []
    knobs = {name: knob_found(board, knob) for name, knob in knobs_of(board, request["described"]).items()}
    for name, values in request["values"].items():
        problems += unmet(board, request["described"], name, values)
    folder = os.path.abspath(folder_of(request, demoted()[1]))
    if not os.path.isdir(folder):
        problems.append(f"There is no folder {folder} on this board.")
    warmth = hottest(board)
    return {
        "ok": True,
        "python": "{}.{}.{}".format(*sys.version_info[:3]),
        "hostname": socket.gethostname(),
        "model": text_of(board.path("proc/device-tree/model")) or text_of(board.path("sys/class/dmi/id/product_name")),
        "user": pwd.getpwuid(os.geteuid()).pw_name,
        "is_root": os.geteuid() == 0,
        "folder": folder,
        "is_busy": is_busy,
        "meters": meters,
        "opened": opened,
        "knobs": knobs,
        "celsius": warmth and warmth[0],
        "where": warmth and warmth[1],
        "problems": problems,
        **told(board),
    }


def meter_found(board: Board, name: str, link: Link) -> Dict[str, str]:
    """What a meter is called here, or why it cannot be read."""
    try:
        meter = open_meter(board, name, link)
    except Problem as problem:
        return {"name": "", "problem": str(problem)}
    meter.close()
    return {"name": meter.name, "problem": ""}


def knob_found(board: Board, knob: Knob) -> Dict[str, Any]:
    """The value of a knob, those offered, and why it cannot be set."""
    try:
        now, offered = knob.now(), knob.offered()
        writes = [one for value in offered[-1:] for one in knob.writes(value)]
        reason = refusal(board, writes)
        problem = reason and f"Knob {knob.name!r} cannot be set: {reason}; say sudo: true."
    except Problem as error:
        return {"now": None, "offered": [], "problem": str(error)}
    return {"now": now, "offered": offered, "problem": problem}


def unmet(board: Board, described: Dict[str, Any], name: str, values: Any) -> List[str]:
    """Why a knob cannot take some of these values, at most one sentence."""
    knobs = knobs_of(board, described)
    if name not in knobs:
        return ["There is no knob {!r}; known: {}.".format(name, ", ".join(sorted(knobs)))]
    found = knob_found(board, knobs[name])
    if found["problem"]:
        return [found["problem"]]
    for value in values if isinstance(values, list) else [values]:
        try:
            knobs[name].writes(value)
        except Problem as problem:
            return [str(problem)]
    return []


def finding_lines(found: Dict[str, Any]) -> Iterator[str]:
    """What a check found, for people."""
    who = "{}{}".format(found["user"], " (root)" if found["is_root"] and found["user"] != "root" else "")
    yield "board        {}{}{}".format(found["hostname"], ", " if found["model"] else "", found["model"])
    yield "Python       {}, as {}; commands run in {}".format(found["python"], who, found["folder"])
    if found["celsius"] is not None:
        yield "temperature  {:.0f} °C ({})".format(found["celsius"], found["where"])
    if found["is_busy"]:
        yield "busy         a measurement runs on the board now; its settings are shown"
    if found["restored"]:
        yield "restored     {} that a killed agent had left".format(counted(found["restored"], "setting"))
    if found["ended"]:
        yield "ended        {} that a killed agent had left".format(counted(found["ended"], "command"))
    for name, meter in found["meters"].items():
        yield "meter        {}: {}".format(name, meter["name"] or "-- " + meter["problem"])
    for name, knob in found["knobs"].items():
        now = ""
        if knob["now"] is not None:
            offered = "  of {}".format(", ".join(map(shown, knob["offered"]))) if knob["offered"] else ""
            now = " now {}{}".format(shown(knob["now"]), offered)
        yield "knob         {}:{}{}".format(name, now, " -- " + knob["problem"] if knob["problem"] else "")
    for problem in found["problems"]:
        yield f"problem      {problem}"
    if not any(meter["name"] for meter in found["meters"].values()):
        yield "No meter can be read on the board; name a command that prints joules or watts as the meter of a study."


def shown(value: object) -> str:
    """A value of a knob, for people."""
    return f"{value:g}" if isinstance(value, float) else str(value)


def digest() -> str:
    """Identifies this file."""
    with open(os.path.abspath(__file__), "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def answered(board: Board, line: bytes, link: Link) -> Dict[str, Any]:
    """The answer to a request."""
    try:
        try:
            request = checked(json.loads(line.decode()))
        except (ValueError, RecursionError):
            raise Problem("request", "A request is one line of JSON.") from None
        known = {"run": measure, "check": findings}
        if request["do"] not in known:
            raise Problem("request", "The agent can run and check, not {!r}.".format(request["do"][:40]))
        answer = known[request["do"]](board, request, link)
    except Problem as problem:
        answer = {"ok": False, "kind": problem.kind, "error": str(problem)}
    except OSError as error:
        answer = {"ok": False, "kind": "machine", "error": f"{error}."}
    except (TypeError, ValueError, OverflowError, KeyError, AttributeError, RecursionError) as error:
        # What was set is restored by now; a request may have any value anywhere.
        answer = {"ok": False, "kind": "request", "error": f"The request cannot be understood: {error!r}."[:500]}
    answer.update(agent=digest(), hostname=socket.gethostname())
    return answer


def session(board: Board, link: Link) -> None:
    """Answer requests until the other side goes."""
    restore_at_start(board, link)  # what is wrong with that, each answer says
    try:
        while True:
            try:
                line = link.line()
            except Problem as problem:
                link.send({"ok": False, "kind": problem.kind, "error": str(problem)})
                return
            if line is None:
                return
            if line.strip():
                link.send(answered(board, line, link))
    except Gone:
        return


# The loopback socket.


def token_of(path: str) -> bytes:
    """The token in a file, which nobody else may read; a new one if there is no file."""
    try:
        if not os.path.exists(path):
            os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            os.write(descriptor, secrets.token_hex(32).encode() + b"\n")
            os.close(descriptor)
        if os.stat(path).st_mode & 0o077:
            raise Problem("machine", f"Others may read the token {path}; run: chmod 600 {path}")
        with open(path, "rb") as file:
            token = file.read(4096).strip()
    except OSError as error:
        raise Problem("machine", f"The token {path} cannot be read: {error.strerror}.") from None
    if len(token) < 16:
        raise Problem("machine", f"The token {path} is shorter than 16 characters; remove it.")
    return token


def proof(token: bytes, who: str, nonces: str) -> str:
    """Shows that one knows the token, without telling it."""
    return hmac.new(token, f"{who} {nonces}".encode(), hashlib.sha256).hexdigest()


def is_known(link: Link, token: bytes) -> bool:
    """Whether the other side shows that it knows the token; it is shown the same."""
    nonce = secrets.token_hex(16)
    link.send({"flexibo": 1, "nonce": nonce})
    try:
        line = link.line(MOST_GREETING, time.monotonic() + GREETING_SECONDS)
        said = json.loads((line or b"").decode())
        theirs, shown = str(said["nonce"]), str(said["proof"])
    except (Problem, ValueError, KeyError, TypeError, RecursionError):
        theirs, shown = "", ""
    both = f"{nonce} {theirs}"
    if not hmac.compare_digest(shown.encode(), proof(token, "client", both).encode()):
        link.send({"ok": False, "kind": "machine", "error": "The token is not that of this agent."})
        return False
    link.send({"ok": True, "proof": proof(token, "agent", both)})
    return True


def serve(board: Board, bell: Bell, port: int, token_file: str) -> None:
    """Answer on the loopback interface; every connection has a process of its own."""
    token = token_of(token_file)
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("127.0.0.1", port))
        except (OSError, OverflowError) as error:
            raise Problem("machine", f"Port {port} cannot be used: {error}.") from None
        listener.listen(MOST_SESSIONS)
        fault = restore_at_start(board, Link(None, 1, bell))
        if fault:
            print(f"agent: {fault}", file=sys.stderr, flush=True)
        here = "{}:{}".format(*listener.getsockname())
        print(f"flexibo agent on {here}, token in {os.path.abspath(token_file)}", flush=True)
        if any(board.undone):
            print(f"{board.undone.sentence()} that a killed agent had left.", flush=True)
            told(board)
        children: Set[int] = set()
        while True:
            ready = select.select([listener.fileno(), bell.reader], [], [], 1.0)[0]
            if bell.reader in ready:
                raise Gone
            children = {pid for pid in children if os.waitpid(pid, os.WNOHANG)[0] == 0}
            if ready:
                with listener.accept()[0] as connection:
                    if len(children) < MOST_SESSIONS:
                        children.add(served(board, listener, connection, token))


def served(board: Board, listener: socket.socket, connection: socket.socket, token: bytes) -> int:
    """The process that answers on a connection."""
    pid = os.fork()
    if pid:
        return pid
    try:
        listener.close()
        link = Link(connection.fileno(), connection.fileno(), Bell())  # one of its own
        if is_known(link, token):
            session(board, link)
    except Gone:
        pass
    finally:
        os._exit(0)


# The command line.


def typed(text: str) -> Any:
    """A value as it is meant: a number where it is one."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def arguments() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(description="The board agent of flexibo; run takes a command after --.")
    parser.add_argument("do", choices=["session", "serve", "run", "check", "restore"])
    parser.add_argument("--root", default="/", help="where the kernel's files are, as in a container")
    parser.add_argument("--state", default="", help="the folder of journal and token (that of this file)")
    parser.add_argument("--port", type=int, default=PORT, help="serve: the port of 127.0.0.1 (0: any)")
    parser.add_argument("--token-file", default="", help="serve: the file of the token; made if it is missing")
    parser.add_argument("--meter", default=None, help="run: auto, {}, or a command".format(", ".join(METERS)))
    parser.add_argument("--set", action="append", default=[], metavar="KNOB=VALUE", help="run: a knob to set")
    parser.add_argument("--timeout", type=float, default=None, help="run: seconds")
    parser.add_argument("--json", action="store_true", help="check: one JSON line, as run prints it")
    return parser


def print_lines(lines: Iterator[str]) -> None:
    """Print lines for people; the locale of a board may know ASCII only."""
    code = sys.stdout.encoding or "ascii"
    for line in lines:
        print(visible(line).encode(code, "replace").decode(code))


def main() -> int:
    """Do what the command line says; returns the exit status."""
    words = sys.argv[1:]
    at = words.index("--") if "--" in words else len(words)
    given, command = arguments().parse_args(words[:at]), words[at + 1 :]
    os.environ["PATH"] = os.environ.get("PATH", os.defpath) + ":/usr/sbin:/sbin"  # nvpmodel is there
    board, bell = Board(given.root, given.state), Bell()
    link = Link(None, 1, bell)
    try:
        if given.do == "session":
            session(board, Link(0, 1, bell))
        elif given.do == "serve":
            serve(board, bell, given.port, given.token_file or os.path.join(board.state, TOKEN))
        elif given.do == "restore":
            lock = Lock(board, link, wait=False)
            print(f"{restore(board).sentence()}.")
            lock.free()
        else:
            knobs = {name: typed(value) for name, _, value in (word.partition("=") for word in given.set)}
            script = " ".join(map(shlex.quote, command))
            if given.do == "run" and not command:
                raise Problem("request", "No command is given; give one after --.")
            request = {
                "do": given.do,
                "command": script,
                "meter": given.meter,
                "knobs": knobs,
                "timeout": given.timeout,
            }
            if given.do == "run":
                request["folder"] = os.getcwd()
            answer = answered(board, json.dumps(request).encode(), link)
            signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # as with head; nothing is left to do
            if given.do == "run" or given.json:
                print(json.dumps(answer))
            elif not answer["ok"]:
                raise Problem(answer["kind"], answer["error"])
            else:
                print_lines(finding_lines(answer))
            return 0 if answer["ok"] else 1
    except Gone:
        pass  # its status says why
    except Problem as problem:
        print(f"agent: {problem}", file=sys.stderr)
        return 1
    return 128 + bell.number if bell.number else 0


if __name__ == "__main__":
    sys.exit(main())
