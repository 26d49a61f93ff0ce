"""The agent, alone as on a board: on a Xavier in a folder, killed for real, and with hostile callers."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from threading import Thread
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from tests.unit.hardware.boards.fake_xavier import (
    WATTS,
    asked,
    begun,
    ended,
    eventually,
    installed,
    loaded,
    program,
    xavier,
)
from tests.unit.hardware.fake_linux import BOOT, GPU_STEPS, contents, put
from tests.unit.hardware.fake_sensors import make_acpi_meter, make_chip

from flexibo.hardware import CommandMeter, MeterError, TooShortError, by_command, metered
from flexibo.hardware.boards import BOARD_KNOBS, BoardError, SocketPlace, agent_text
from flexibo.hardware.ina3221 import SIDE_BY_SIDE, TOTALS
from flexibo.hardware.knobs import EmcFrequency, LinuxMachine, Roots
from flexibo.hardware.knobs.jetson import TX2_EMC_MHZ, XAVIER_EMC_MHZ
from flexibo.hardware.knobs.memory import memory_knobs
from flexibo.hardware.knobs.storage import SCHEDULERS

OLD_NAMES = {  # what the agent uses of the standard library; each is in Python 3.6
    "argparse": "ArgumentParser",
    "errno": "EACCES EAGAIN",
    "fcntl": "LOCK_EX LOCK_NB flock",
    "glob": "escape glob",
    "hashlib": "sha256",
    "hmac": "compare_digest new",
    "json": "dump dumps load loads",
    "os": "O_CREAT O_EXCL O_NOFOLLOW O_RDONLY O_RDWR O_WRONLY W_OK WNOHANG _exit access chmod close closerange "
    "defpath devnull dup2 environ fchmod fork fsync geteuid getcwd initgroups killpg listdir makedirs open path pipe "
    "pread read replace sep set_blocking setgid setsid setuid stat unlink waitpid write",
    "pwd": "getpwuid",
    "re": "IGNORECASE compile findall match search split",
    "secrets": "token_hex",
    "select": "select",
    "shlex": "quote",
    "shutil": "which",
    "signal": "SIGHUP SIGINT SIGKILL SIGPIPE SIGTERM SIG_DFL SIG_IGN set_wakeup_fd signal",
    "socket": "AF_INET SOCK_STREAM SOL_SOCKET SO_REUSEADDR gethostname socket",
    "stat": "S_IWOTH",
    "subprocess": "DEVNULL PIPE Popen TimeoutExpired",
    "sys": "argv exit stderr stdout version_info",
    "threading": "Event Lock Thread",
    "time": "monotonic perf_counter sleep",
}
FROM = {"contextlib": "suppress", "typing": "Any Callable Dict Iterator List NamedTuple Optional Sequence Set Tuple"}
NEW_METHODS = {"removeprefix", "removesuffix", "isascii", "bit_count", "is_relative_to", "readlink", "hardlink_to"}
NEW_KEYWORDS = {"capture_output", "text", "missing_ok", "dirs_exist_ok", "strict", "process_group", "force"}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return xavier(tmp_path / "board")


@pytest.fixture
def agent(tmp_path: Path) -> ModuleType:
    return loaded(tmp_path / "state")


@pytest.fixture
def board(agent: ModuleType, root: Path, tmp_path: Path) -> Any:
    return agent.Board(str(root), str(tmp_path / "state"))


@pytest.fixture
def session(tmp_path: Path, root: Path) -> Iterator[subprocess.Popen[bytes]]:
    running = begun(tmp_path / "state", root, "session")
    yield running
    if running.returncode is None:
        assert ended(running) == ""


def files(root: Path) -> dict[str, str]:
    return contents(Roots(root / "sys", root / "proc"))


def in_force(root: Path) -> str:
    return (root / "sys/devices/system/cpu/cpufreq/policy0/scaling_governor").read_text().strip()


def test_it_is_python_3_6() -> None:
    ast.parse(agent_text().decode(), feature_version=(3, 6))


def test_it_uses_old_names_of_the_standard_library_only() -> None:
    tree = ast.parse(agent_text().decode())
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    assert imported == set(OLD_NAMES)
    taken = {n.module: {a.name for a in n.names} for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)}
    assert {module: names - set(FROM[str(module)].split()) for module, names in taken.items()} == {
        module: set() for module in FROM
    }
    attributes = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
    used = {(n.value.id, n.attr) for n in attributes if isinstance(n.value, ast.Name) and n.value.id in OLD_NAMES}
    assert {(module, name) for module, name in used if name not in OLD_NAMES[module].split()} == set()
    assert {node.attr for node in attributes} & NEW_METHODS == set()
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    assert {keyword.arg for call in calls for keyword in call.keywords} & NEW_KEYWORDS == set()


@pytest.mark.parametrize("version", ["3.6", "3.8"])
def test_it_runs_with_the_pythons_of_the_papers_boards(tmp_path: Path, root: Path, version: str) -> None:
    kept = sorted(Path(sys.base_prefix).parent.glob(f"{version}*/bin/python"))
    python = str(kept[0]) if kept else shutil.which(f"python{version}")
    if python is None or subprocess.run([python, "-c", ""], stderr=subprocess.DEVNULL).returncode:
        pytest.skip(f"there is no Python {version} here")
    running = begun(tmp_path / "state", root, "session", python=python)
    answer = asked(running, {"do": "run", "command": "echo 5", "meter": "ina3221", "knobs": {"active_cores": 2}})
    assert (answer["ok"], answer["value"]) == (True, 5)
    assert ended(running) == ""


def test_a_reading_has_energy_time_power_meter_and_temperatures(session: subprocess.Popen[bytes]) -> None:
    answer = asked(session, {"do": "run", "command": "sleep 0.2; echo epoch 1; echo 0.25", "meter": "auto"})
    assert answer["ok"] is True
    assert answer["value"] == 0.25
    assert answer["meter"] == "INA3221, GPU + CPU + SOC + CV + VDDRQ + SYS5V"
    assert answer["joules"] == pytest.approx(WATTS * answer["seconds"], rel=0.2)
    assert answer["watts"] == pytest.approx(WATTS, rel=0.2)
    assert answer["seconds"] == pytest.approx(0.2, abs=0.15)
    assert (answer["celsius_before"], answer["celsius_after"], answer["where"]) == (41.5, 41.5, "CPU-therm")
    assert answer["slowed_down"] == {}


def test_throttling_is_noted_and_a_fan_is_none(session: subprocess.Popen[bytes], root: Path) -> None:
    state = root / "sys/class/thermal/cooling_device1/cur_state"
    events = put(root / "sys/class/hwmon/hwmon7/oc2_event_cnt", 3)
    answer = asked(session, {"do": "run", "command": f"echo 2 > {state}; echo 5 > {events}"})
    assert list(answer["slowed_down"].values()) == [1, 2]
    assert ["gpu-balanced" in what or "oc2" in what for what in answer["slowed_down"]] == [True, True]


def test_every_knob_is_set_while_the_command_runs_and_restored(session: subprocess.Popen[bytes], root: Path) -> None:
    before = files(root)
    knobs = {
        "active_cores": 6,
        "cpu_governor": "performance",
        "cpu_frequency": 1.1136,
        "gpu_frequency": GPU_STEPS[4] / 1e9,
        "emc_frequency": 1.0656,
        "swappiness": 10,
        "dirty_ratio": 50,
        "scheduler": "NOOP",
    }
    cpu, emc = root / "sys/devices/system/cpu", root / "sys/kernel/debug/bpmp/debug/clk/emc"
    seen = (
        *(cpu / "cpu7/online", cpu / "cpu5/online", cpu / "cpufreq/policy4/scaling_max_freq"),
        *(root / "sys/class/devfreq/17000000.gv11b/min_freq", emc / "rate", emc / "mrq_rate_locked"),
        *(root / "proc/sys/vm/dirty_ratio", root / "sys/block/sda/queue/scheduler"),
    )
    answer = asked(session, {"do": "run", "command": "".join(f"cat {path}; echo; " for path in seen), "knobs": knobs})
    assert answer["output"].split() == ["0", "1", "1113600", str(GPU_STEPS[4]), "1065600000", "1", "50", "none"]
    after = files(root)
    changed = {Path(path).name for path in before if chosen(before[path]) != chosen(after[path])}
    assert changed == set()
    assert not (root.parent / "state/journal.json").exists()


def chosen(text: str) -> str:
    """What a file says: a plain file keeps the word that was written, where a kernel shows it among others."""
    return text.split("[")[1].split("]")[0] if "[" in text else text.strip()


def test_a_limit_in_bytes_is_what_is_restored(session: subprocess.Popen[bytes], root: Path) -> None:
    in_bytes = put(root / "proc/sys/vm/dirty_bytes", 8192)
    command = f"echo 0 > {in_bytes}"  # as the kernel does when the other is written
    assert asked(session, {"do": "run", "command": command, "knobs": {"dirty_ratio": 50}})["ok"] is True
    assert in_bytes.read_text() == "8192"


WRONG: list[tuple[dict[str, Any], list[str]]] = [
    ({"active_cores": 9}, ["active_cores", "9", "8"]),
    ({"active_cores": True}, ["active_cores"]),
    ({"cpu_frequency": 1.2}, ["1.1136", "1.2672"]),
    ({"gpu_frequency": "fast"}, ["fast"]),
    ({"swappiness": 10.5}, ["swappiness", "0 to 200"]),
    ({"cpu_governor": "turbo"}, ["performance"]),
    ({"scheduler": "BFQ"}, ["CFP, NOOP"]),
    ({"turbo": 1}, ["turbo", "active_cores"]),
    ({"fan": 1}, ["fan"]),
]


def test_what_a_board_does_not_offer_changes_nothing(session: subprocess.Popen[bytes], root: Path) -> None:
    before = files(root)
    for knobs, words in WRONG:
        answer = asked(session, {"do": "run", "command": "echo 1", "knobs": knobs})
        assert (answer["ok"], answer["kind"]) == (False, "value")
        assert [word for word in words if word not in answer["error"]] == []
        assert files(root) == before


def test_an_own_knob_is_a_file_or_two_commands(session: subprocess.Popen[bytes], root: Path) -> None:
    fan = put(root / "sys/devices/pwm-fan/target_pwm", 80)
    clocks = put(root / "clocks", "auto")
    described = {
        "fan": {"path": "/sys/devices/pwm-fan/target_pwm"},
        "clocks": {"read": f"cat {clocks}", "set": f"echo {{value}} > {clocks}"},
    }
    request = {"do": "run", "command": f"cat {fan} {clocks}", "knobs": {"fan": 255, "clocks": "max"}}
    answer = asked(session, {**request, "described": described})
    assert answer["output"].split() == ["255max"]
    assert (fan.read_text(), clocks.read_text().strip()) == ("80", "auto")
    outside = {"fan": {"path": "/clocks"}}
    answer = asked(session, {"do": "run", "command": "echo 1", "knobs": {"fan": 1}, "described": outside})
    assert (answer["ok"], "/sys" in answer["error"]) == (False, True)
    harm = {"do": "run", "command": "echo 1", "knobs": {"clocks": "$(reboot)"}, "described": described}
    assert asked(session, harm)["kind"] == "value"
    assert clocks.read_text().strip() == "auto"


def test_a_power_mode_is_set_by_nvpmodel_and_comes_back_even_after_a_restart(
    tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mode = put(tmp_path / "mode", 0)
    script = f'#!/bin/sh\ncase "$1" in -q) echo "NV Power Mode: $(sed s/0/MAXN/\\;s/2/MODE_15W/ {mode})" ;; '
    program(tmp_path / "bin/nvpmodel", script + f"-m) echo $2 > {mode} ;; esac\n")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    running = begun(tmp_path / "state", root, "session")
    answer = asked(running, {"do": "run", "command": f"cat {mode}", "knobs": {"power_mode": "MODE_15W"}})
    assert (answer["value"], mode.read_text().strip()) == (2, "0")
    left = [{"nvpmodel": "MODE_15W", "before": "MAXN"}, {"path": "gone", "value": "1", "before": "2"}]
    put(tmp_path / "state/journal.json", json.dumps({"boot": "another", "writes": left}))
    mode.write_text("2\n")
    assert asked(running, {"do": "check"})["restored"] == 1
    assert mode.read_text().strip() == "0"
    ended(running)


REQUEST = {"do": "run", "command": "echo $$ > ../pid; sleep 60", "knobs": {"cpu_governor": "performance"}}


@pytest.fixture
def measuring(tmp_path: Path, root: Path) -> tuple[subprocess.Popen[bytes], int]:
    """An agent in the middle of a command, and the process of the command."""
    running = begun(tmp_path / "state", root, "session")
    pid = tmp_path / "pid"
    assert running.stdin is not None
    running.stdin.write(json.dumps({**REQUEST, "folder": str(tmp_path / "state")}).encode() + b"\n")
    running.stdin.flush()
    eventually(lambda: pid.exists() and pid.read_text().strip())
    assert in_force(root) == "performance"
    assert (tmp_path / "state/journal.json").exists()
    return running, int(pid.read_text())


def is_gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def test_after_kill_9_of_the_agent_the_guard_ends_the_command_and_restores(
    measuring: tuple[subprocess.Popen[bytes], int], root: Path, tmp_path: Path
) -> None:
    running, command = measuring
    running.kill()
    running.communicate()
    eventually(lambda: in_force(root) == "schedutil" and is_gone(command))
    eventually(lambda: not (tmp_path / "state/journal.json").exists())


def test_a_command_begins_once_it_is_noted_and_the_meter_is_read(agent: ModuleType, tmp_path: Path) -> None:
    has_begun: list[bool] = []

    class Watch:
        def watch(self, group: int, mark: str) -> None:
            time.sleep(0.1)  # in which a command that does not wait would begin
            has_begun.append((tmp_path / "begun").exists())

        def forget(self) -> None:
            pass

    reader, writer = os.pipe()
    link = agent.Link(None, writer, SimpleNamespace(reader=reader))
    request = agent.checked({"do": "run", "command": "touch begun; cat", "folder": str(tmp_path)})

    def ready() -> None:
        has_begun.append((tmp_path / "begun").exists())

    assert agent.run_command(request, link, Watch(), lambda: None, ready).status == 0
    assert (has_begun, (tmp_path / "begun").exists()) == ([False, False], True)
    os.close(reader)
    os.close(writer)


@pytest.mark.parametrize("how", ["connection", "SIGTERM"])
def test_a_lost_connection_or_a_signal_ends_the_command_and_restores(
    measuring: tuple[subprocess.Popen[bytes], int], root: Path, how: str
) -> None:
    running, command = measuring
    if how == "SIGTERM":
        running.terminate()
    assert ended(running) == ""
    assert in_force(root) == "schedutil"
    eventually(lambda: is_gone(command))


def children(pid: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def kill_all_but_the_command(running: subprocess.Popen[bytes], command: int) -> None:
    """Kill -9 of an agent, its sessions and guards; all are stopped first, so that none can do the work of another."""
    found = [running.pid]
    for pid in found:
        os.kill(pid, signal.SIGSTOP)
        found += [child for child in children(pid) if child != command]
    for pid in found:
        os.kill(pid, signal.SIGKILL)
    running.communicate()
    assert not is_gone(command)


def test_after_kill_9_of_both_a_restore_ends_the_command_and_restores(
    measuring: tuple[subprocess.Popen[bytes], int], root: Path, tmp_path: Path
) -> None:
    running, command = measuring
    kill_all_but_the_command(running, command)
    assert in_force(root) == "performance"
    output, errors = begun(tmp_path / "state", root, "restore").communicate()
    assert (in_force(root), is_gone(command)) == ("schedutil", True)
    assert (output, errors) == (b"Restored 4 settings and ended 1 command.\n", b"")
    output, _ = begun(tmp_path / "state", root, "restore").communicate()
    assert output == b"Restored 0 settings.\n"


def test_after_kill_9_of_both_the_start_of_a_session_does_it_and_its_first_answer_tells_it(
    measuring: tuple[subprocess.Popen[bytes], int], root: Path, tmp_path: Path
) -> None:
    kill_all_but_the_command(*measuring)
    following = begun(tmp_path / "state", root, "session")
    eventually(lambda: in_force(root) == "schedutil" and is_gone(measuring[1]))
    answers = [asked(following, {"do": "check"}) for _ in range(2)]
    assert [(answer["restored"], answer["ended"]) for answer in answers] == [(4, 1), (0, 0)]
    assert ended(following) == ""


def test_one_setting_and_several_are_counted_in_english(agent: ModuleType) -> None:
    assert [agent.counted(count, "setting") for count in (0, 1, 2)] == ["0 settings", "1 setting", "2 settings"]


SERVED = {
    "do": "run",
    "command": "trap '' TERM; echo $$ > pid; sleep 25; sleep 25",  # as stubborn as a command can be
    "knobs": {"swappiness": 10, "cpu_governor": "performance"},
}


def serving(folder: Path, root: Path) -> tuple[subprocess.Popen[bytes], SocketPlace]:
    """An agent that serves a port, and the way to it."""
    running = begun(folder, root, "serve", "--port", "0")
    assert running.stdout is not None
    port = int(running.stdout.readline().decode().split("127.0.0.1:")[1].split(",")[0])
    return running, SocketPlace(port, str(folder / "token"))


@pytest.fixture
def served(tmp_path: Path, root: Path) -> Iterator[tuple[subprocess.Popen[bytes], int, Thread]]:
    """An agent that serves a port, the process of a command that it runs, and the thread that asked for it."""
    running, place = serving(tmp_path / "state", root)

    def ask() -> None:
        with suppress(BoardError):
            place.ask({**SERVED, "folder": str(tmp_path)})

    asking, pid = Thread(target=ask), tmp_path / "pid"
    asking.start()
    eventually(lambda: pid.exists() and pid.read_text().strip())
    yield running, int(pid.read_text()), asking
    if running.returncode is None:
        for child in children(running.pid):
            os.kill(child, signal.SIGTERM)
        running.terminate()
        ended(running)
    asking.join(20)


def swappiness(root: Path) -> str:
    return (root / "proc/sys/vm/swappiness").read_text().strip()


def test_after_kill_9_of_all_the_next_serve_ends_the_command_and_restores_before_it_answers(
    served: tuple[subprocess.Popen[bytes], int, Thread], root: Path, tmp_path: Path
) -> None:
    running, command, asking = served
    kill_all_but_the_command(running, command)
    asking.join(20)
    assert (swappiness(root), in_force(root)) == ("10", "performance")
    following, place = serving(tmp_path / "state", root)
    assert (swappiness(root), in_force(root), is_gone(command)) == ("60", "schedutil", True)
    assert following.stdout is not None
    assert following.stdout.readline() == b"Restored 5 settings and ended 1 command that a killed agent had left.\n"
    assert not list((tmp_path / "state").glob("*.json*"))
    found = place.ask({"do": "check"})
    assert (found["restored"], found["ended"], found["problems"]) == (0, 0, [])
    following.terminate()
    assert ended(following) == ""


def test_no_start_touches_the_command_and_the_settings_of_a_live_session(
    served: tuple[subprocess.Popen[bytes], int, Thread], root: Path, tmp_path: Path
) -> None:
    _, command, _ = served
    following, place = serving(tmp_path / "state", root)
    session = begun(tmp_path / "state", root, "session")
    assert [place.ask({"do": "check"})["is_busy"], asked(session, {"do": "check"})["is_busy"]] == [True, True]
    refused = begun(tmp_path / "state", root, "restore")
    assert "Another measurement" in ended(refused)
    assert not is_gone(command)
    assert (swappiness(root), in_force(root)) == ("10", "performance")
    assert (tmp_path / "state/journal.json").exists()
    following.terminate()
    assert [ended(following), ended(session)] == ["", ""]
    assert not is_gone(command)


@pytest.fixture
def stranger(agent: ModuleType, board: Any) -> Iterator[tuple[subprocess.Popen[str], Callable[..., None]]]:
    """A process group, and how to note it as that of a command, with changes."""
    script = "sleep 60 & echo; wait"
    environment = {**os.environ, agent.MARK: "mine"}
    running = subprocess.Popen(
        ["sh", "-c", script], stdout=subprocess.PIPE, start_new_session=True, env=environment, text=True
    )
    assert running.stdout is not None
    running.stdout.readline()
    path = Path(board.state, agent.NOTE)

    def note(**changes: object) -> None:
        agent.write_note(board, running.pid, "mine")
        path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))

    yield running, note
    with suppress(ProcessLookupError):
        os.killpg(running.pid, signal.SIGKILL)
    running.communicate()


@pytest.mark.parametrize(
    "changes",
    [{"started": ["1"]}, {"started": []}, {"boot": "another"}, {"group": "1"}, {"group": 1}, {"group": 0}, {"mark": 5}],
    ids=str,
)
def test_a_group_that_is_not_that_of_the_command_is_not_touched(
    agent: ModuleType, board: Any, stranger: tuple[subprocess.Popen[str], Callable[..., None]], changes: dict[str, Any]
) -> None:
    running, note = stranger
    note(**changes)
    if "mark" in changes:  # without its leader, a group is known by its mark alone
        os.kill(running.pid, signal.SIGKILL)
        running.wait()
    before = agent.members(running.pid)
    assert before
    assert agent.restore(board) == (0, 0)
    assert agent.members(running.pid) == before
    assert not Path(board.state, agent.NOTE).exists()


@pytest.mark.parametrize("has_leader", [True, False])
def test_what_a_command_left_in_its_group_is_ended_even_after_its_first_process(
    agent: ModuleType, board: Any, stranger: tuple[subprocess.Popen[str], Callable[..., None]], has_leader: bool
) -> None:
    running, note = stranger
    note()
    if not has_leader:
        os.kill(running.pid, signal.SIGKILL)
        running.wait()
    assert agent.members(running.pid)
    assert agent.restore(board) == (0, 1)
    assert agent.members(running.pid) == []


def test_a_damaged_note_is_none_and_a_command_that_cannot_be_ended_is_a_sentence_in_each_answer(
    agent: ModuleType,
    board: Any,
    stranger: tuple[subprocess.Popen[str], Callable[..., None]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    running, note = stranger
    for damage in ("", "{", "[]", "[" * 100_000, '{"group": 5}'):
        put(Path(board.state, agent.NOTE), damage)
        assert agent.restore(board) == (0, 0)
    note()
    monkeypatch.setattr(agent, "signal_group", lambda group, number: False)
    monkeypatch.setattr(agent, "GRACE_SECONDS", 0.01)
    monkeypatch.setattr(agent, "KILL_SECONDS", 0.01)
    assert str(running.pid) in agent.restore_at_start(board, None)
    with pytest.raises(agent.Problem, match=f"cannot be ended.*{running.pid}"):
        agent.restore(board)
    assert Path(board.state, agent.NOTE).exists()


def test_a_command_whose_note_cannot_be_written_does_not_begin(
    session: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    folder = tmp_path / "state/command.json.new"
    folder.mkdir()
    request = {"do": "run", "command": "touch begun", "folder": str(tmp_path)}
    answer = asked(session, request)
    assert (answer["ok"], answer["kind"], "--state" in answer["error"]) == (False, "machine", True)
    assert not (tmp_path / "begun").exists()
    folder.rmdir()
    assert asked(session, request)["ok"] is True
    assert (tmp_path / "begun").exists()


def test_after_a_restart_the_kernel_has_its_own_values_again(agent: ModuleType, board: Any, root: Path) -> None:
    path = root / "sys/devices/system/cpu/cpufreq/policy0/scaling_governor"
    agent.write_journal(board, [agent.write_to(str(path), "performance", "powersave")])
    put(root / "proc/sys/kernel/random/boot_id", "another")
    assert agent.restore(board) == (0, 0)
    assert in_force(root) == "schedutil"
    assert not Path(board.state, "journal.json").exists()
    put(root / "proc/sys/kernel/random/boot_id", BOOT)


def test_a_damaged_journal_is_a_sentence_and_one_that_names_other_files_is_refused(
    agent: ModuleType, board: Any, tmp_path: Path
) -> None:
    one = '{"boot": "", "writes": [{"nvpmodel": 1, "before": %s}]}'
    for damage in ("{", "[]", "3", "[" * 100_000, '{"boot": ' * 100_000, one % ("[" * 100_000)):
        journal = put(Path(board.state, "journal.json"), damage)
        before = journal.read_bytes()
        with pytest.raises(agent.Problem, match="journal") as caught:
            agent.restore(board)
        assert "\n" not in str(caught.value)
        assert journal.read_bytes() == before
    for path in (5, ["x"], "\0", {}):
        agent.write_journal(board, [{"path": path, "before": "x", "steady": True, "tolerance": 0.0}])
        with pytest.raises(agent.Problem, match="restored"):
            agent.restore(board)
    mine = put(tmp_path / "mine", "precious")
    agent.write_journal(board, [agent.write_to(str(mine), "x", "y")])
    with pytest.raises(agent.Problem, match="mine"):
        agent.restore(board)
    assert mine.read_text() == "precious\n"
    assert journal.exists()


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000])
def test_deep_nesting_is_no_value_of_a_command(agent: ModuleType, text: str) -> None:
    assert agent.value_of(text) is None


def test_a_timeout_ends_the_command(session: subprocess.Popen[bytes], root: Path) -> None:
    begin = time.monotonic()
    request = {"do": "run", "command": "sleep 60 & sleep 60", "timeout": 0.2, "knobs": {"cpu_governor": "performance"}}
    answer = asked(session, request)
    assert (answer["ok"], answer["kind"]) == (False, "timeout")
    assert time.monotonic() - begin < 10
    assert in_force(root) == "schedutil"


def test_output_has_a_limit_and_statuses_and_signals_are_told(session: subprocess.Popen[bytes]) -> None:
    noise = f"{sys.executable} -c \"print('x' * 300000); print(7)\""
    answer = asked(session, {"do": "run", "command": noise})
    assert (len(answer["output"]), answer["value"]) == (64 * 1024, 7)
    assert asked(session, {"do": "run", "command": "echo no >&2; exit 3"})["status"] == 3
    assert asked(session, {"do": "run", "command": "kill -9 $$"})["status"] == -9
    assert asked(session, {"do": "run", "command": "echo $A", "environment": {"A": "$(x)"}})["output"] == "$(x)\n"
    assert asked(session, {"do": "run", "command": "echo 1", "folder": "/nowhere"})["kind"] == "machine"


def test_what_is_left_in_the_background_is_ended_and_not_waited_for(session: subprocess.Popen[bytes]) -> None:
    answer = asked(session, {"do": "run", "command": "sleep 60 & echo $!"})
    assert answer["seconds"] < 10
    eventually(lambda: is_gone(answer["value"]))


def test_idle_power_is_measured_or_given_and_heat_is_waited_for(session: subprocess.Popen[bytes], root: Path) -> None:
    run = {"do": "run", "command": "sleep 0.1", "meter": "ina3221"}
    answer = asked(session, {**run, "idle_seconds": 0.2})
    assert answer["idle_watts"] == pytest.approx(WATTS, rel=0.2)
    assert asked(session, {**run, "idle_watts": 3.5})["idle_watts"] == 3.5
    answer = asked(session, {**run, "celsius": 40, "cool_limit": 0.05})
    assert (answer["kind"], "41.5" in answer["error"]) == ("machine", True)
    assert asked(session, {**run, "celsius": 50})["ok"] is True
    shutil.rmtree(root / "sys/class/thermal")
    assert asked(session, {**run, "celsius": 50})["kind"] == "machine"


def test_a_meter_that_does_not_move_is_no_reading(session: subprocess.Popen[bytes], agent: ModuleType) -> None:
    answer = asked(session, {"do": "run", "command": "true", "meter": "echo 5 J"})
    assert answer["kind"] in ("short", "machine")
    meter = agent.Counter("still", [(lambda: 5.0, 0.0)], 0.1)
    with pytest.raises(agent.Problem) as short:
        agent.check_moved(meter, 0.0, 0.5)
    with pytest.raises(agent.Problem) as stopped:
        agent.check_moved(meter, 0.0, 5.0)
    assert (short.value.kind, stopped.value.kind) == ("short", "machine")


def test_the_tables_are_those_of_flexibo_itself(board: Any, agent: ModuleType, root: Path) -> None:
    emc = root / "sys/kernel/debug/bpmp/debug/clk/emc"
    roots = Roots(root / "sys", root / "proc")
    for highest in (1866000000, 2133000000, 3199000000):
        put(emc / "max_rate", highest)
        theirs = EmcFrequency(LinuxMachine(roots), steps=99).values()
        assert tuple(agent.EmcFrequency(board, "emc_frequency").offered()) == theirs
    assert (agent.TX2_EMC_MHZ, agent.XAVIER_EMC_MHZ) == (TX2_EMC_MHZ, XAVIER_EMC_MHZ)
    assert (*((total,) for total in TOTALS), *SIDE_BY_SIDE) == agent.RAILS
    assert agent.SCHEDULERS == SCHEDULERS
    for knob in memory_knobs(LinuxMachine(roots)):
        assert tuple(agent.knobs_of(board, {})[knob.name].offered()) == knob.values()


def test_rails_of_either_layout_add_up_and_unknown_ones_are_named(agent: ModuleType, board: Any, root: Path) -> None:
    chips = root / "sys/bus/i2c/drivers"
    shutil.rmtree(chips / "ina3221x")
    with pytest.raises(agent.Problem, match="INA3221"):
        agent.open_meter(board, "ina3221")
    chip = chips / "ina3221/1-0040/hwmon/hwmon3"
    for at, (name, volts) in enumerate((("VDD_IN", 5000), ("VDD_CPU_GPU_CV", 5000), ("NC", 0)), start=1):
        put(chip / f"in{at}_label", name)
        put(chip / f"in{at}_input", volts)
        put(chip / f"curr{at}_input", 1200)
    meter = agent.open_meter(board, "ina3221")
    assert (meter.name, meter._watts()) == ("INA3221, VDD_IN", 6.0)
    meter.close()
    put(chip / "in1_label", "VDD_X")
    with pytest.raises(agent.Problem, match="VDD_X"):
        agent.open_meter(board, "ina3221")
    meter = agent.open_meter(board, "ina3221:VDD_X,VDD_CPU_GPU_CV")
    assert meter._watts() == 12.0
    meter.close()


def test_rapl_wraps_around_and_adds_packages_only(agent: ModuleType, board: Any, root: Path) -> None:
    powercap = root / "sys/class/powercap"
    for at in (0, 1):
        put(powercap / f"intel-rapl:{at}/name", f"package-{at}")
        put(powercap / f"intel-rapl:{at}/energy_uj", 9_000_000)
        put(powercap / f"intel-rapl:{at}/max_energy_range_uj", 10_000_000)
    put(powercap / "intel-rapl:0:0/name", "core")
    put(powercap / "intel-rapl:0:0/energy_uj", 5)
    meter = agent.open_meter(board, "rapl")
    assert (meter.name, meter.joules()) == ("RAPL, 2 packages", 0.0)
    put(powercap / "intel-rapl:0/energy_uj", 1_000_000)
    put(powercap / "intel-rapl:1/energy_uj", 9_500_000)
    assert meter.joules() == pytest.approx(2.5)


def test_a_sensor_of_hwmon_is_the_only_one_or_named(agent: ModuleType, board: Any, root: Path) -> None:
    with pytest.raises(agent.Problem, match="hwmon"):
        agent.open_meter(board, "hwmon")
    make_chip(root / "sys", 3, "ina226", power1_input=2_000_000, power1_label="CPU")
    meter = agent.open_meter(board, "hwmon")
    assert (meter.name, meter._watts()) == ("hwmon, ina226/CPU", 2.0)
    meter.close()
    make_chip(root / "sys", 4, "arc", energy1_input=1_000_000)
    with pytest.raises(agent.Problem, match=r"arc/energy1"):
        agent.open_meter(board, "hwmon")
    assert agent.open_meter(board, "hwmon:arc").joules() == 0.0
    make_acpi_meter(root / "sys", 5, "machine", 9_000_000)
    whole = agent.open_meter(board, "hwmon")
    assert whole.name.startswith("hwmon, power_meter/")
    whole.close()


def test_gpus_are_read_by_a_running_nvidia_smi(
    agent: ModuleType, board: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = '#!/bin/sh\necho 100; echo 50\ncase "$*" in *lms*) while sleep 0.05; do echo 100; echo 50; done ;; esac\n'
    program(tmp_path / "bin/nvidia-smi", script)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    meter = agent.open_meter(board, "nvml:all")
    before, begin = meter.joules(), time.perf_counter()
    time.sleep(0.2)
    joules, seconds = meter.joules() - before, time.perf_counter() - begin
    assert joules == pytest.approx(150 * seconds, rel=0.1)
    meter.close()
    total = agent.open_meter(board, "ina3221+nvml")
    assert total.name.endswith("SYS5V + nvidia-smi, GPU 0")
    total.close()
    program(tmp_path / "bin/nvidia-smi", "#!/bin/sh\necho '[N/A]'\n")
    with pytest.raises(agent.Problem, match="N/A"):
        agent.open_meter(board, "nvml")


@pytest.mark.parametrize("text", ["echo 5", "echo five J", "exit 3", "rapll", "true"])
def test_what_is_no_meter_is_one_sentence(agent: ModuleType, board: Any, text: str) -> None:
    with pytest.raises(agent.Problem, match=text.split()[0]):
        agent.open_meter(board, text)


def sentence_here(command: str) -> str:
    """What flexibo itself says about a meter that is a command."""

    def read() -> None:
        with CommandMeter(command) as meter:
            for _ in range(3):
                meter.read_joules()

    with pytest.raises(MeterError) as caught:
        read()
    return str(caught.value)


SAYING = "n=$(cat n 2>/dev/null || echo 0); echo $((n + 1)) > n; set -- {}; shift $n; echo $1"


@pytest.mark.parametrize(
    "command",
    [
        *(f"echo '{line}'" for line in ("-3 W", "1e999 W", "nan W", "--3 J", "5 w", "12.5", "", "\\033[2J 5 J")),
        "echo 'no plug' >&2; exit 7",
        "kill -9 $$",
        "yes",
        f"echo {'x' * 100}",
        *(SAYING.format(answers) for answers in ("5J 6J 7W", "5J 9J 3J", "5W 5W 3J", "5W 5W -3W", "5W 5W 1e999kW")),
    ],
)
def test_a_command_is_judged_as_by_flexibo_itself_in_the_same_words(
    agent: ModuleType, board: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    def read() -> None:
        with closing(agent.open_meter(board, command)) as meter:
            for _ in range(3):
                meter.joules()

    monkeypatch.chdir(tmp_path)
    here = sentence_here(command)
    Path("n").unlink(missing_ok=True)
    with pytest.raises(agent.Problem) as caught:
        read()
    assert (str(caught.value), caught.value.kind) == (here, "machine")


def test_a_command_that_hangs_is_ended_with_all_that_it_started(
    agent: ModuleType, board: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    command = "sleep 1000 & echo $! > pid; wait"
    for module, name in ((agent, "METER_SECONDS"), (by_command, "LIMIT_SECONDS")):
        monkeypatch.setattr(module, name, 0.3)
    with pytest.raises(agent.Problem) as caught:
        agent.open_meter(board, command)
    eventually(lambda: is_gone(int(Path("pid").read_text())))
    assert str(caught.value) == sentence_here(command)


def test_a_command_has_news_once_a_second_as_in_flexibo_itself(
    agent: ModuleType, board: Any, session: subprocess.Popen[bytes]
) -> None:
    assert agent.open_meter(board, "echo 5 J").step == CommandMeter("echo 5 J").update_seconds == 1.0
    answer = asked(session, {"do": "run", "command": "true", "meter": "echo 5 J"})
    with pytest.raises(TooShortError) as caught:
        metered(lambda: None, CommandMeter("echo 5 J"), clock=iter((0.0, 0.25)).__next__)
    assert answer["kind"] == "short"
    assert re.sub(r"the \S+ s", "T", answer["error"]) == re.sub(r"the \S+ s", "T", str(caught.value))


class Stepping:
    """A meter of 100 W that is updated once a second, and the time that passes while one waits."""

    name, step = "stepping", 1.0

    def __init__(self) -> None:
        self.now = 0.55

    def joules(self) -> float:
        return 100.0 * int(self.now)

    def pause(self, seconds: float) -> None:
        self.now += seconds

    def perf_counter(self) -> float:
        return self.now


def test_idle_power_is_measured_between_two_updates_of_the_meter(
    agent: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    meter = Stepping()
    monkeypatch.setattr(agent, "time", meter)
    idle = agent.idle_power(meter, {"idle_watts": None, "idle_seconds": 3.0}, meter)
    assert idle == pytest.approx((100.0, 0.0), abs=5.0)
    monkeypatch.setattr(meter, "joules", lambda: 7.0)
    with pytest.raises(agent.Problem, match="stepping"):
        agent.idle_power(meter, {"idle_watts": None, "idle_seconds": 3.0}, meter)


HANGING = "[ -e begun ] && {{ sleep 1000 & echo $! > pid; wait; }}; {}; echo 5 {}"


@pytest.mark.parametrize(("name", "status"), [("SIGTERM", 143), ("SIGINT", 130), ("SIGKILL", -9)])
@pytest.mark.parametrize(
    "meter",
    [HANGING.format("touch begun", "J"), HANGING.format("[ -e worked ] && touch begun", "W")],
    ids=["while it is opened", "while the command runs"],
)
def test_the_end_of_the_agent_is_that_of_a_meter_that_hangs(
    tmp_path: Path, root: Path, meter: str, name: str, status: int
) -> None:
    state, pid = tmp_path / "state", tmp_path / "state/pid"
    file = installed(state)
    file.write_text(file.read_text().replace("METER_STEP_SECONDS = 1.0", "METER_STEP_SECONDS = 0.05"))
    words = [sys.executable, str(file), "run", "--root", str(root), "--meter", meter]
    running = subprocess.Popen([*words, "--", "sh", "-c", "touch worked; sleep 1000"], cwd=state)
    eventually(lambda: pid.exists() and pid.read_text().strip(), seconds=30.0)
    running.send_signal(getattr(signal, name))
    assert running.wait(10.0) == status
    eventually(lambda: is_gone(int(pid.read_text())))


def test_without_any_meter_all_that_was_looked_for_is_named(agent: ModuleType, board: Any, root: Path) -> None:
    shutil.rmtree(root / "sys/bus")
    with pytest.raises(agent.Problem, match=r"ina3221, rapl, nvml:all, hwmon"):
        agent.open_meter(board, "auto")


def test_a_check_lists_python_meters_knobs_and_unmet_needs(session: subprocess.Popen[bytes]) -> None:
    needs = {"meters": ["ina3221", "rapl"], "values": {"active_cores": [2, 9], "cpu_frequency": [1.1136], "turbo": [1]}}
    found = asked(session, {"do": "check", "folder": "/nowhere", **needs})
    assert (found["python"].split(".")[0], found["model"], found["celsius"]) == ("3", "Jetson-AGX", 41.5)
    assert set(found["knobs"]) == set(BOARD_KNOBS)
    assert found["knobs"]["active_cores"]["offered"] == [1, 2, 3, 4, 5, 6, 7, 8]
    assert found["knobs"]["power_mode"]["problem"]
    assert found["opened"]["ina3221"].startswith("INA3221")
    assert [word in " ".join(found["problems"]) for word in ("RAPL", "9", "turbo", "/nowhere")] == [True] * 4
    assert len(found["problems"]) == 4


HOSTILE = [
    "not JSON",
    "[1]",
    "{}",
    '{"do": "reboot"}',
    '{"do": "run"}',
    '{"do": "run", "command": 5}',
    '{"do": "run", "command": "true", "knobs": [1]}',
    '{"do": "run", "command": "true", "timeout": NaN}',
    '{"do": "run", "command": "true", "environment": {"A": 1}}',
    '{"do": "run", "command": "true", "described": {"a": 1}}',
    '{"do": "run", "command": "true", "root": "/"}',
    '{"do": "run", "command": "true", "meter": "\\u0000 \\ud800"}',
    '{"do": "run", "command": "true", "knobs": {"swappiness": null}}',
    '{"do": "run", "command": "true", "knobs": {"swappiness": 1e999}}',
    '{"do": "run", "command": "true", "knobs": {"scheduler": [1]}}',
    '{"do": "run", "command": "true", "knobs": {"x": 1}, "described": {"x": {"path": "a\\u0000"}}}',
    '{"do": "run", "command": "true", "knobs": {"x": 1}, "described": {"x": {"path": "/sys", "values": 5}}}',
    "[" * 5000,
    "\0",
    '{"do": ' + "\x7f",
]


def test_hostile_requests_get_a_sentence_and_the_session_goes_on(session: subprocess.Popen[bytes], root: Path) -> None:
    before = files(root)
    for line in HOSTILE:
        answer = asked(session, line)
        assert files(root) == before
        assert (answer["ok"], "\n" in answer["error"]) == (False, False)
        assert answer["kind"] in ("request", "value", "machine")
    assert asked(session, {"do": "run", "command": "echo 1"})["value"] == 1
    answer = asked(session, "x" * (1 << 20) + "xx")
    assert answer["kind"] == "request"


@contextmanager
def greeted(port: int) -> Iterator[tuple[socket.socket, Callable[[], Any]]]:
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection, connection.makefile("rb") as reader:
        yield connection, lambda: json.loads(line) if (line := reader.readline()) else None


def test_the_socket_is_of_the_loopback_and_answers_those_only_who_know_the_token(tmp_path: Path, root: Path) -> None:
    running = begun(tmp_path / "state", root, "serve", "--port", "0")
    assert running.stdout is not None
    place = running.stdout.readline().decode()
    port = int(place.split("127.0.0.1:")[1].split(",")[0])
    token = tmp_path / "state/token"
    assert token.stat().st_mode & 0o777 == 0o600
    for greeting in (
        b'{"nonce": "a", "proof": "b"}\n',
        b"not JSON\n",
        b'{"nonce": "a"}\n',
        b"x" * 5000,
        b'{"do": "run", "command": "touch harm"}\n',
        '{"nonce": "ä", "proof": "ä"}\n'.encode(),
    ):
        with greeted(port) as (connection, answer):
            assert set(answer()) == {"flexibo", "nonce"}
            connection.sendall(greeting)
            assert answer()["ok"] is False
            assert answer() is None
    assert not list(tmp_path.rglob("harm"))
    assert SocketPlace(port, str(token)).ask({"do": "run", "command": "echo 1"})["value"] == 1
    running.terminate()
    assert ended(running) == ""


def test_a_token_that_others_may_read_or_that_is_short_is_refused(agent: ModuleType, tmp_path: Path) -> None:
    token = put(tmp_path / "token", "0123456789abcdef0123")
    token.chmod(0o644)
    with pytest.raises(agent.Problem, match="chmod"):
        agent.token_of(str(token))
    token.write_text("short\n")
    token.chmod(0o600)
    with pytest.raises(agent.Problem, match="16"):
        agent.token_of(str(token))


def test_two_commands_never_run_at_the_same_time(tmp_path: Path, root: Path) -> None:
    note = tmp_path / "note"
    command = f"echo in >> {note}; sleep 0.2; echo out >> {note}"
    both = []
    for name in ("one", "two"):
        words = [sys.executable, str(installed(tmp_path / name)), "run", "--root", str(root)]
        both.append(subprocess.Popen([*words, "--", "sh", "-c", command], stdout=subprocess.PIPE))
    assert [json.loads(running.communicate()[0])["ok"] for running in both] == [True, True]
    assert note.read_text().split() == ["in", "out", "in", "out"]


def test_a_check_does_not_wait_for_a_measurement(
    measuring: tuple[subprocess.Popen[bytes], int], root: Path, tmp_path: Path
) -> None:
    checking = begun(tmp_path / "state", root, "session")
    found = asked(checking, {"do": "check"})
    assert (found["is_busy"], found["restored"], found["problems"]) == (True, 0, [])
    assert found["knobs"]["cpu_governor"]["now"] == "performance"
    ended(checking)
    ended(measuring[0])


def test_the_command_line_runs_one_command(tmp_path: Path, root: Path) -> None:
    words = [sys.executable, str(installed(tmp_path / "state")), "run", "--root", str(root)]
    knobs = ["--set", "active_cores=4", "--meter", "auto"]
    done = subprocess.run([*words, *knobs, "--", "echo", "it's", "8"], capture_output=True, check=True)
    assert json.loads(done.stdout)["output"] == "it's 8\n"
    none = subprocess.run(words, capture_output=True, text=True)
    assert (none.returncode, none.stdout, len(none.stderr.splitlines())) == (1, "", 1)


def test_a_check_on_the_board_is_for_people_and_on_request_for_programs(tmp_path: Path, root: Path) -> None:
    words = [sys.executable, str(installed(tmp_path / "state")), "check", "--root", str(root)]
    plain = {**os.environ, "LC_ALL": "C", "PYTHONIOENCODING": "ascii"}
    lines = subprocess.run(words, capture_output=True, check=True, text=True, env=plain).stdout.splitlines()
    assert [line.split()[0] for line in lines[:3]] == ["board", "Python", "temperature"]
    assert "knob         swappiness: now 60  of 10, 30, 60, 100" in lines
    reader, writer = os.pipe()
    os.close(reader)
    assert subprocess.run(words, stdout=writer, stderr=subprocess.PIPE).stderr == b""
    os.close(writer)
    found = json.loads(subprocess.run([*words, "--json"], capture_output=True, check=True).stdout)
    assert found["knobs"]["swappiness"]["offered"] == [10, 30, 60, 100]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_with_sudo_the_command_is_still_the_users(agent: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SUDO_UID", "65534")
    become, variables = agent.demoted()
    assert variables["USER"] == "nobody"
    done = subprocess.run(["id", "-u"], preexec_fn=become, capture_output=True, text=True)
    assert done.stdout.strip() == "65534"
    monkeypatch.setenv("SUDO_UID", "0")
    assert agent.demoted() == (None, {})
