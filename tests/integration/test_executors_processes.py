"""Worker processes for real: they crash, hang, are killed, lose their parent, and leave nothing behind."""

from __future__ import annotations

import ctypes
import gc
import os
import random
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import cloudpickle
import pytest

from flexibo import Design, Evaluation, Objective
from flexibo.errors import MachineError
from flexibo.executors import Outcome, _worker_process, processes
from flexibo.executors.processes import ProcessExecutor

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name != "posix", reason="worker processes need Linux or macOS"),
]
cloudpickle.register_pickle_by_value(sys.modules[__name__])  # worker processes cannot import this module

ERROR = Objective("error")
PATIENCE = 60.0


@pytest.fixture(scope="module")
def workers() -> Iterator[ProcessExecutor]:
    with ProcessExecutor(2, grace=0.2) as executor:
        yield executor


@pytest.fixture
def shared(workers: ProcessExecutor) -> Iterator[ProcessExecutor]:
    """Two workers, one of them there already: to start new ones for each test would take long."""
    yield workers
    assert not workers.is_busy()


@pytest.fixture
def own() -> Iterator[ProcessExecutor]:
    """One worker, not started yet."""
    with ProcessExecutor(1) as executor:
        yield executor


def question(number: int = 0, objective: str = "error") -> Evaluation:
    return Evaluation(Design({"x": number}), objective, None, 0.0, "", number, (objective,))


def outcome(executor: ProcessExecutor, measure: Callable[[Design], Any], objective: Objective = ERROR) -> Outcome:
    executor.submit(question(0, objective.name), objective, measure)
    [only] = executor.finished(PATIENCE)
    return only


def where(executor: ProcessExecutor) -> int:
    """The process number of an idle worker."""
    found = outcome(executor, lambda design: float(os.getpid()))
    assert found.values is not None
    return int(found.values["error"])


def is_gone(pid: int, within: float = 10.0) -> bool:
    """Whether a process has ended, reaped or not."""
    end = time.monotonic() + within
    while time.monotonic() < end:
        try:
            os.kill(pid, 0)
            if " Z " in Path(f"/proc/{pid}/stat").read_text():
                return True
        except (ProcessLookupError, FileNotFoundError):
            return True
        time.sleep(0.01)
    return False


def written(path: Path) -> list[int]:
    """The numbers in a file that another process is about to write."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if path.exists() and (text := path.read_text()).endswith("\n"):
            return [int(number) for number in text.split()]
        time.sleep(0.01)
    raise AssertionError(f"{path} was never written")


def with_grandchild(path: Path, then: Callable[[], object]) -> Callable[[Design], float]:
    """Starts a process that would run for long, notes both numbers in a file, and goes on."""

    def measure(design: Design) -> float:
        grandchild = subprocess.Popen(["sleep", "300"])
        path.write_text(f"{os.getpid()} {grandchild.pid}\n")
        then()
        return 1.0

    return measure


def hold_the_interpreter() -> None:
    """C code that never returns, and lets no other thread and no signal handler of Python run."""
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])
    ctypes.PyDLL(None).sleep(300)


def script(folder: Path, text: str, *arguments: object, **options: Any) -> subprocess.Popen[str]:
    """A running script that knows how to ask."""
    start = """
        import os, sys, time
        from flexibo import Design, Evaluation, Objective
        from flexibo.executors.processes import ProcessExecutor

        def question(number):
            return Evaluation(Design({"x": number}), "error", None, 0.0, "", number, ("error",))
    """
    path = folder / "script.py"
    path.write_text(textwrap.dedent(start) + textwrap.dedent(text))
    command = [sys.executable, str(path), *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)


# What travels


def test_functions_of_a_script_without_a_main_guard_work_and_the_script_runs_once(tmp_path: Path) -> None:
    (tmp_path / "beside.py").write_text("factor = 2.5\n")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "pickle.py").write_text("raise ValueError('this is not where a script imports from')\n")
    text = """
        import beside
        print("the script runs", flush=True)
        offset = 1.0

        def error(design):
            print("measuring", flush=True)
            return beside.factor * design["x"] + offset

        executor = ProcessExecutor(1)
        executor.submit(question(4), Objective("error"), error)
        print(executor.finished()[0].values, flush=True)
    """
    output, _ = script(tmp_path, text, cwd=tmp_path / "elsewhere").communicate(timeout=PATIENCE)
    assert output.splitlines() == ["the script runs", "measuring", "{'error': 11.0}"]


def test_the_path_and_the_working_directory_carry_over_also_when_they_change(
    shared: ProcessExecutor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    where(shared)
    (tmp_path / "lately_written_module.py").write_text("value = 6.0\n")
    (tmp_path / "value.txt").write_text("7.0")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    import lately_written_module  # type: ignore[import-not-found]

    def measure(design: Design) -> dict[str, float]:
        return {"error": lately_written_module.value, "text": float(Path("value.txt").read_text())}

    assert outcome(shared, measure).values == {"error": 6.0, "text": 7.0}


def test_what_a_function_refers_to_travels_as_it_is_at_each_submit(shared: ProcessExecutor) -> None:
    box = {"value": 1.0}

    def measure(design: Design) -> float:
        return box["value"]

    assert outcome(shared, measure).values == {"error": 1.0}
    box["value"] = 2.0
    assert outcome(shared, measure).values == {"error": 2.0}


def test_large_functions_and_many_values_travel(shared: ProcessExecutor) -> None:
    data = os.urandom(8_000_000)
    found = outcome(
        shared, lambda design: {"error": len(data)} | {f"value_of_a_long_name_number_{i}": i for i in range(8_000)}
    )
    assert found.values is not None
    assert found.values["error"] == 8_000_000.0
    assert found.values["value_of_a_long_name_number_7999"] == 7_999.0
    assert len(found.values) == 8_001


def test_what_a_function_prints_appears_unharmed(capfd: pytest.CaptureFixture[str]) -> None:
    def measure(design: Design) -> float:
        for _ in range(3):
            print("x" * 1_000_000)
        print("a short line")
        print("to the other", file=sys.stderr)
        return 1.0

    with ProcessExecutor(1, environment={"PYTHONUNBUFFERED": ""}) as executor:
        assert outcome(executor, measure).values == {"error": 1.0}
        shown, complaints = capfd.readouterr()  # before the process ends: it was flushed
    assert shown == ("x" * 1_000_000 + "\n") * 3 + "a short line\n"
    assert complaints == "to the other\n"


def test_each_worker_finds_its_slot_and_the_variables_that_were_given() -> None:
    def measure(design: Design) -> dict[str, float]:
        return {"error": float(os.environ["FLEXIBO_WORKER_SLOT"]), "device": float(os.environ["CUDA_VISIBLE_DEVICES"])}

    with ProcessExecutor(2, environment={"CUDA_VISIBLE_DEVICES": "7"}) as executor:
        executor.submit(question(0), ERROR, measure)
        executor.submit(question(1), ERROR, measure)
        found = executor.finished(PATIENCE)
        found += executor.finished(PATIENCE) if len(found) < 2 else []
    assert sorted(o.values["error"] for o in found if o.values) == [0.0, 1.0]
    assert all(o.values and o.values["device"] == 7.0 for o in found)


# Crashes


CRASHES: list[tuple[Callable[[], None], str]] = [
    (lambda: os._exit(3), "exit status 3"),
    (lambda: os.kill(os.getpid(), signal.SIGSEGV), "SIGSEGV"),
    (lambda: os.kill(os.getpid(), signal.SIGKILL), "SIGKILL"),
]


def test_a_crash_fails_its_evaluation_only(shared: ProcessExecutor, tmp_path: Path) -> None:
    def crashing(crash: Callable[[], None]) -> Callable[[Design], float]:
        def measure(design: Design) -> float:
            time.sleep(0.1)
            crash()
            return 1.0

        return measure

    def steady(design: Design) -> float:
        while not (tmp_path / "enough").exists():
            time.sleep(0.01)
        return 5.0

    shared.submit(question(1), ERROR, steady)
    for crash, fact in CRASHES:
        found = outcome(shared, crashing(crash))
        assert found.values is None
        assert fact in found.reason
        assert 0.1 <= found.cost < PATIENCE
        assert found.timed
    assert outcome(shared, lambda design: 6.0).values == {"error": 6.0}
    (tmp_path / "enough").touch()
    [found] = shared.finished(PATIENCE)
    assert (found.evaluation.number, found.values) == (1, {"error": 5.0})


def test_interrupts_and_exits_fail_their_evaluation_and_the_worker_goes_on(shared: ProcessExecutor) -> None:
    def interrupted(design: Design) -> float:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.raise_signal(signal.SIGINT)
        return 1.0

    before = where(shared)
    assert "KeyboardInterrupt" in outcome(shared, interrupted).reason
    assert "sys.exit(4)" in outcome(shared, lambda design: sys.exit(4)).reason
    assert where(shared) == before


def test_a_worker_that_was_killed_while_idle_is_replaced(own: ProcessExecutor) -> None:
    first = where(own)
    os.kill(first, signal.SIGKILL)
    assert is_gone(first)
    assert where(own) != first


def test_a_copy_that_a_function_forks_does_not_answer(shared: ProcessExecutor) -> None:
    def forking(design: Design) -> float:
        return float(os.fork() > 0)  # both go on from here

    before = where(shared)
    assert outcome(shared, forking).values == {"error": 1.0}
    assert where(shared) == before


def test_a_crash_is_seen_while_a_forked_copy_keeps_the_connection_open(
    own: ProcessExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    def measure(design: Design) -> float:
        if os.fork() == 0:
            time.sleep(300)
        os._exit(3)

    assert outcome(own, measure).reason.endswith("exit status 3.")
    monkeypatch.setattr(_worker_process, "_exit_descriptor", lambda pid: None)  # a system that does not tell
    monkeypatch.setattr(processes, "LOOK_SECONDS", 0.05)
    assert outcome(own, measure).reason.endswith("exit status 3.")


def test_a_worker_that_closed_its_connection_is_given_up(shared: ProcessExecutor) -> None:
    def measure(design: Design) -> float:
        os.closerange(3, 256)
        return time.sleep(300) or 1.0

    # It closed its parent's sign of life too, by which it ends itself: whichever is seen first.
    reason = outcome(shared, measure).reason
    assert "connection" in reason or "SIGKILL" in reason


class EndsItsProcess:
    """A function that cannot be loaded without ending the process."""

    def __reduce__(self) -> tuple[Any, ...]:
        return os._exit, (5,)

    def __call__(self, design: Design) -> float:
        return 1.0


def test_workers_that_end_before_they_begin_are_a_fault_of_the_machine(shared: ProcessExecutor) -> None:
    shared.submit(question(), ERROR, EndsItsProcess())
    with pytest.raises(MachineError, match=r"^3 worker processes .*'error'.* exit status 5;"):
        shared.finished(PATIENCE)
    assert not shared.is_busy()


def test_a_worker_that_is_killed_before_it_begins_costs_no_attempt(own: ProcessExecutor) -> None:
    own.submit(question(), ERROR, lambda design: 8.0)
    [starting] = own._workers
    os.kill(starting.pid, signal.SIGKILL)
    [found] = own.finished(PATIENCE)
    assert found.values == {"error": 8.0}


def test_idle_workers_that_die_as_they_are_handed_an_evaluation_are_no_fault() -> None:
    def measure(design: Design) -> float:
        time.sleep(0.2)
        return 1.0

    with ProcessExecutor(3) as executor:
        for number in range(3):
            executor.submit(question(number), ERROR, measure)
        found = []
        while executor.is_busy():
            found += executor.finished(PATIENCE)
        idle = list(executor._workers)
        assert len(idle) == len(found) == 3
        for worker in idle:
            os.kill(worker.pid, signal.SIGSTOP)  # alive, but they take nothing in any more
        executor.submit(question(3), ERROR, measure)
        for _ in idle:
            [unlucky] = [worker for worker, job in executor._workers.items() if job is not None]
            os.kill(unlucky.pid, signal.SIGKILL)
            assert unlucky.await_end(PATIENCE)
            assert executor.finished(0) == []
        [last] = executor.finished(PATIENCE)
    assert last.values == {"error": 1.0}


def loaded_slowly() -> Callable[[Design], float]:
    time.sleep(2.0)
    return lambda design: os._exit(1)


class SlowToLoad:
    """A function that takes its time to be imported."""

    def __reduce__(self) -> tuple[Any, ...]:
        return loaded_slowly, ()

    def __call__(self, design: Design) -> float:
        return 1.0


def test_what_it_takes_to_start_and_to_load_is_not_part_of_the_cost(own: ProcessExecutor) -> None:
    found = outcome(own, SlowToLoad())
    assert found.reason.endswith("exit status 1.")
    assert found.cost < 2.0


def test_fifty_evaluations_survive_kills_at_random_moments() -> None:
    before = descriptors()
    rng, killed, found, number = random.Random(1), 0, [], 0

    def measure(design: Design) -> float:
        time.sleep(0.02)
        return float(str(design["x"]))

    with ProcessExecutor(2) as executor:
        while number < 50 or executor.is_busy():
            while number < 50 and executor.has_room(ERROR):
                executor.submit(question(number), ERROR, measure)
                number += 1
            victims = [worker for worker, job in executor._workers.items() if job is None or job.starts < 2]
            if victims and killed < 20 and rng.random() < 0.6:
                time.sleep(rng.random() * 0.5)  # while it starts, measures, or waits to be read
                os.kill(rng.choice(victims).pid, signal.SIGKILL)
                killed += 1
            found += executor.finished(PATIENCE)
    assert killed == 20
    assert sorted(o.evaluation.number for o in found) == list(range(50))
    good = [o for o in found if o.values is not None]
    assert all(o.values == {"error": float(o.evaluation.number)} for o in good)
    assert all("SIGKILL" in o.reason for o in found if o.values is None)
    assert len(good) >= 30
    assert descriptors() <= before


# Time limits


def test_a_function_that_outruns_its_timeout_may_tidy_up_and_its_worker_lives_on(
    shared: ProcessExecutor, tmp_path: Path
) -> None:
    def measure(design: Design) -> float:
        try:
            time.sleep(300)
        finally:
            (tmp_path / "tidied").touch()
        return 1.0

    before = where(shared)
    assert "timeout of 0.1 s" in outcome(shared, measure, Objective("error", timeout=0.1)).reason
    assert (tmp_path / "tidied").exists()
    assert where(shared) == before


def wait_without_signals() -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])
    time.sleep(300)


@pytest.mark.parametrize("hang", [wait_without_signals, hold_the_interpreter])
def test_a_hung_evaluation_is_killed_with_all_that_it_started(
    shared: ProcessExecutor, tmp_path: Path, hang: Callable[[], None]
) -> None:
    found = outcome(shared, with_grandchild(tmp_path / "pids", hang), Objective("error", timeout=0.2))
    assert "timeout of 0.2 s" in found.reason
    assert 0.4 <= found.cost < PATIENCE
    worker, grandchild = written(tmp_path / "pids")
    assert is_gone(worker)
    assert is_gone(grandchild)


def test_time_is_told_by_the_clock_that_was_given(tmp_path: Path) -> None:
    ahead = [0.0]
    with ProcessExecutor(1, clock=lambda: time.monotonic() + ahead[0]) as executor:
        executor.submit(question(), Objective("error", timeout=900), with_grandchild(tmp_path / "pids", signal.pause))
        written(tmp_path / "pids")
        assert executor.finished(0) == []
        ahead[0] = 1000.0
        [found] = executor.finished(0)
    assert "timeout of 900 s" in found.reason
    assert 1000 <= found.cost < 1000 + PATIENCE


def test_finished_waits_no_longer_than_it_is_told(own: ProcessExecutor) -> None:
    own.submit(question(), ERROR, lambda design: time.sleep(300))
    for wait in (0, 0.2):
        start = time.monotonic()
        assert own.finished(wait) == []
        assert wait <= time.monotonic() - start < wait + 5
    assert own.is_busy()


# LocalCapacity


def test_slots_and_resources_hold_while_evaluations_really_overlap(tmp_path: Path) -> None:
    def measure(design: Design) -> dict[str, float]:
        start = time.monotonic()
        (tmp_path / f"{start}").touch()
        while len(list(tmp_path.iterdir())) < 3 and time.monotonic() < start + PATIENCE:
            time.sleep(0.005)  # until the others are there as well
        time.sleep(0.05)
        return {"error": 0.0, "energy": 0.0, "start": start, "end": time.monotonic()}

    energy = Objective("energy", resources={"meter": 1})
    spans: dict[str, list[tuple[float, float]]] = {"error": [], "energy": []}
    with ProcessExecutor(4, slots={"error": 2}, resources={"meter": 1}) as executor:
        executor.submit(question(0), ERROR, measure)
        assert executor.has_room(ERROR)
        executor.submit(question(1), ERROR, measure)
        assert not executor.has_room(ERROR)
        assert executor.has_room(energy)
        executor.submit(question(2, "energy"), energy, measure)
        assert not executor.has_room(energy)
        assert executor.has_room(Objective("speed"))
        for number in (3, 4):  # there is no room: they start when there is
            executor.submit(question(number), ERROR, measure)
        executor.submit(question(5, "energy"), energy, measure)
        while executor.is_busy():
            for found in executor.finished(PATIENCE):
                assert found.values is not None
                spans[found.evaluation.objective].append((found.values["start"], found.values["end"]))
        assert executor.has_room(ERROR)
        assert executor.has_room(energy)
    assert (len(spans["error"]), most_at_a_time(spans["error"])) == (4, 2)
    assert (len(spans["energy"]), most_at_a_time(spans["energy"])) == (2, 1)
    assert most_at_a_time(spans["error"] + spans["energy"]) == 3


def most_at_a_time(spans: list[tuple[float, float]]) -> int:
    return max(sum(start <= moment < end for start, end in spans) for moment, _ in spans)


# Faults of the machine


def test_a_fault_is_raised_after_what_was_found_and_the_rest_is_given_up(tmp_path: Path) -> None:
    def faulty(design: Design) -> float:
        raise MachineError("No meter.")

    with ProcessExecutor(3) as executor:
        executor.submit(question(0), ERROR, with_grandchild(tmp_path / "pids", signal.pause))
        executor.submit(question(1), ERROR, lambda design: 5.0)
        executor.submit(question(2), ERROR, faulty)
        running = written(tmp_path / "pids")
        while sum(has_answered(worker) for worker in executor._workers) < 2:
            time.sleep(0.01)
        [found] = executor.finished(PATIENCE)
        assert found.values == {"error": 5.0}
        assert executor.is_busy()
        assert not executor.has_room(ERROR)
        with pytest.raises(MachineError, match=r"^No meter\.$"):
            executor.finished(PATIENCE)
        assert not executor.is_busy()
        assert all(is_gone(pid) for pid in running)
        assert executor.has_room(ERROR)
        assert outcome(executor, lambda design: 6.0).values == {"error": 6.0}


def has_answered(worker: _worker_process.WorkerProcess) -> bool:
    """Whether the answer of a worker is there, unread."""
    with suppress(BlockingIOError):
        said = worker._channel.recv(4096, socket.MSG_PEEK)
        return b"WorkerAnswer" in said or b"Fault" in said
    return False


# Ends


def descriptors() -> set[str]:
    """The pipes and sockets that are open; others than ours may be closed at any time, when they are forgotten."""
    found: set[str] = set()
    for link in Path("/proc/self/fd").glob("*"):
        with suppress(OSError):
            found.add(os.readlink(link))
    return {target for target in found if not target.startswith("/")}


def children() -> set[int]:
    """The processes that this one started, the dead ones that nobody reaped included."""
    found: set[int] = set()
    for name in filter(str.isdigit, os.listdir("/proc") if Path("/proc").exists() else []):
        with suppress(FileNotFoundError, ProcessLookupError):
            parent = Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()[1]
            found |= {int(name)} if int(parent) == os.getpid() else set()
    return found


def test_nothing_is_left_behind_after_crashes_kills_and_close(tmp_path: Path) -> None:
    gc.collect()
    before, family, threads = descriptors(), children(), threading.active_count()
    for end in ("close", "forget"):
        executor = ProcessExecutor(2, grace=0.0)
        outcome(executor, lambda design: os._exit(1))
        outcome(executor, wait_a_while, Objective("error", timeout=0.05))
        idle = where(executor)
        path = tmp_path / end
        executor.submit(question(), ERROR, with_grandchild(path, signal.pause))
        running = written(path)
        start = time.monotonic()
        if end == "close":
            executor.close()
        del executor
        gc.collect()
        assert time.monotonic() - start < 5
        assert all(is_gone(pid) for pid in [idle, *running])
        assert descriptors() <= before
        assert children() <= family
        assert threading.active_count() <= threads


def wait_a_while(design: Design) -> float:
    wait_without_signals()
    return 1.0


def test_an_idle_worker_may_say_farewell(tmp_path: Path) -> None:
    def measure(design: Design) -> float:
        import atexit

        atexit.register((tmp_path / "farewell").touch)
        return 1.0

    with ProcessExecutor(1) as executor:
        outcome(executor, measure)
    assert (tmp_path / "farewell").exists()


MEASURING = """
    import ctypes, subprocess

    def note(*pids):
        with open(path + ".new", "w") as file:
            print(*pids, file=file)
        os.replace(path + ".new", path)

    def hang(design):
        grandchild = subprocess.Popen(["sleep", "300"])
        note(idle, os.getpid(), grandchild.pid)
        ctypes.PyDLL(None).sleep(300)  # holds the interpreter

    path = sys.argv[1]
    executor = ProcessExecutor(2)
    for number in range(2):
        executor.submit(question(number), Objective("error"), lambda design: time.sleep(0.2) or float(os.getpid()))
    idle = int(executor.finished()[0].values["error"])
    executor.submit(question(2), Objective("error"), hang)
    while not os.path.exists(path):
        time.sleep(0.01)
"""


def test_workers_end_with_a_parent_that_is_killed(tmp_path: Path) -> None:
    parent = script(tmp_path, MEASURING + "    time.sleep(300)\n", tmp_path / "pids")
    pids = written(tmp_path / "pids")
    parent.kill()
    parent.communicate(timeout=PATIENCE)  # reads to the end: nobody else holds the other side any more
    assert all(is_gone(pid, within=5.0) for pid in pids)


def test_workers_end_with_a_parent_whose_forked_copy_lives_on(tmp_path: Path) -> None:
    fork = """
    if os.fork() == 0:
        time.sleep(300)
    """
    text = MEASURING.replace("ctypes.PyDLL(None).sleep", "time.sleep") + fork + "os.kill(os.getpid(), 9)\n"
    parent = script(tmp_path, text, tmp_path / "pids", start_new_session=True)
    pids = written(tmp_path / "pids")
    assert parent.wait(PATIENCE) == -signal.SIGKILL
    try:
        assert all(is_gone(pid) for pid in pids)
    finally:
        os.killpg(parent.pid, signal.SIGKILL)
        parent.communicate(timeout=PATIENCE)


@pytest.mark.parametrize("ending", ["", "raise ValueError('a mistake')"])
def test_workers_end_with_a_parent_that_exits_without_closing(tmp_path: Path, ending: str) -> None:
    parent = script(tmp_path, MEASURING + f"    {ending}\n", tmp_path / "pids")
    output, _ = parent.communicate(timeout=PATIENCE)
    assert ("a mistake" in output) == ("mistake" in ending)
    assert "Warning" not in output
    assert all(is_gone(pid, within=1.0) for pid in written(tmp_path / "pids"))


def test_ctrl_c_reaches_the_parent_alone(tmp_path: Path) -> None:
    text = """
        executor = ProcessExecutor(1)

        def measure(design):
            open(path, "w").write("0\\n")
            time.sleep(0.5)
            return 5.0

        path = sys.argv[1]
        executor.submit(question(0), Objective("error"), measure)
        try:
            executor.finished()
        except KeyboardInterrupt:
            print("interrupted", flush=True)
        print(executor.finished()[0].values, flush=True)
    """
    parent = script(tmp_path, text, tmp_path / "begun", start_new_session=True)
    written(tmp_path / "begun")
    os.killpg(parent.pid, signal.SIGINT)
    output, _ = parent.communicate(timeout=PATIENCE)
    assert output.splitlines() == ["interrupted", "{'error': 5.0}"]
