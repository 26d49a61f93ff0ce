"""Real Ray clusters on this machine: machines of several kinds, killed workers, a killed head node."""

from __future__ import annotations

import os
import re
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest
from tests.queued_studies import check_queue

from flexibo import Design, Evaluation, Objective, Space, Study
from flexibo.errors import InvalidValueError, MachineError
from flexibo.executors import Outcome
from flexibo.executors._cluster import LEASE_SECONDS
from flexibo.executors._sessions import end_session
from flexibo.executors.ray import RayExecutor
from flexibo.history.events import Asked, Failed, Released, Told

pytestmark = [pytest.mark.slow, pytest.mark.skipif(find_spec("ray") is None, reason="needs the extra ray")]

LIMIT = 90.0
ERROR = Objective("error")
TRAINED = Objective("error", resources={"GPU": 1})
ENERGY = Objective("energy", resources={"jetson": 1})
SPACE = Space({"x": (0.0, 1.0)})

CLUSTER = """
import sys
from ray.cluster_utils import Cluster
cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "num_gpus": 1, "object_store_memory": 10**8,
                  "include_dashboard": False})
board = cluster.add_node(num_cpus=1, resources={"jetson": 1}, object_store_memory=10**8)
print(cluster.address, flush=True)
sys.stdin.read()
"""
"""A GPU machine, which is the head node, and a board, as in the paper."""


@contextmanager
def started_cluster() -> Iterator[str]:
    """The address of a cluster that others started, on the loopback address and with a token."""
    own = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0", "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        for name, value in {**own, "RAY_USAGE_STATS_ENABLED": "0"}.items():
            patch.setenv(name, value)
        process = subprocess.Popen(
            [sys.executable, "-c", CLUSTER],
            env={**os.environ, "RAY_TMPDIR": folder},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )
        assert process.stdout is not None
        line = "start"
        while line and not line.startswith("127.0.0.1:"):
            line = process.stdout.readline()
        yield line.strip()
        end_session(process.pid)
        process.communicate()


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with started_cluster() as address:
        yield address


@pytest.fixture(scope="module")
def shared(address: str) -> Iterator[RayExecutor]:
    with RayExecutor(address, patience=3.0) as executor:
        yield executor


@pytest.fixture
def executor(shared: RayExecutor) -> Iterator[RayExecutor]:
    assert not shared.is_busy()
    yield shared
    assert not shared.is_busy()


@pytest.fixture
def folder() -> Iterator[str]:
    """An empty folder with a short path, as Ray's sockets need it."""
    with tempfile.TemporaryDirectory(prefix="fr-", dir="/tmp") as folder:
        yield folder


def wait_until(is_so: Callable[[], bool]) -> None:
    end = time.monotonic() + LIMIT
    while not is_so():
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.05)


def question(number: int, objective: str = "error") -> Evaluation:
    return Evaluation(Design({"x": number}), objective, None, 0.0, "", number, (objective,))


def outcomes(executor: RayExecutor, n: int) -> list[Outcome]:
    found: list[Outcome] = []
    end = time.monotonic() + LIMIT
    while len(found) < n and time.monotonic() < end:
        found += executor.finished(1.0)
    return found


def test_each_evaluation_runs_on_a_machine_that_offers_what_it_needs(executor: RayExecutor, tmp_path: Path) -> None:
    def node(design: Design) -> float:
        import ray

        while not (tmp_path / f"go-{design['x']}").exists():
            time.sleep(0.01)
        return float(int(ray.get_runtime_context().get_node_id()[:12], 16))

    found: list[Outcome] = []
    for number in range(0, 4, 2):
        for objective in (TRAINED, ENERGY):
            assert executor.has_room(objective)
            executor.submit(question(number, objective.name), objective, node)
        assert not executor.has_room(TRAINED)
        assert not executor.has_room(ENERGY)
        (tmp_path / f"go-{number}").touch()
        found += outcomes(executor, 2)
    trained = {outcome.values["error"] for outcome in found if "error" in (outcome.values or {})}  # type: ignore[index]
    measured = {outcome.values["energy"] for outcome in found if "energy" in (outcome.values or {})}  # type: ignore[index]
    assert len(found) == 4
    assert len(trained) == len(measured) == 1
    assert trained != measured


def test_many_quick_evaluations_come_back_exactly_once(executor: RayExecutor) -> None:
    found: list[Outcome] = []
    number = 0
    while number < 60 or executor.is_busy():
        while number < 60 and executor.has_room(ERROR):
            executor.submit(question(number), ERROR, lambda design: design["x"])
            number += 1
        found += executor.finished(LIMIT)
    assert sorted((o.evaluation.number, o.values["error"]) for o in found) == [(i, i) for i in range(60)]  # type: ignore[index]


def test_a_killed_worker_fails_its_evaluation_only_and_nothing_is_measured_twice(
    executor: RayExecutor, tmp_path: Path
) -> None:
    def logged(design: Design) -> float:
        with open(folder / str(design["x"]), "a") as log:
            log.write(f"{os.getpid()}\n")
        until = time.monotonic() + LIMIT
        while not enough.exists() and time.monotonic() < until:
            time.sleep(0.05)
        return 1.0

    folder, enough = tmp_path / "logs", tmp_path / "enough"
    folder.mkdir()
    for number in range(2):
        executor.submit(question(number), ERROR, logged)
    wait_until(lambda: len(list(folder.iterdir())) == 2)
    time.sleep(1)
    start = time.monotonic()
    os.kill(int((folder / "0").read_text()), signal.SIGKILL)
    [lost] = outcomes(executor, 1)
    assert time.monotonic() - start < 10
    assert (lost.evaluation.number, lost.values) == (0, None)
    assert "worker process died" in lost.reason
    assert 0.5 < lost.cost < LIMIT
    enough.touch()
    [other] = outcomes(executor, 1)
    assert (other.evaluation.number, other.values) == (1, {"error": 1.0})
    assert executor.has_room(ERROR)
    time.sleep(1)
    assert [len(path.read_text().splitlines()) for path in sorted(folder.iterdir())] == [1, 1]


def test_a_hung_evaluation_is_killed_after_its_timeout_and_its_machine_goes_on(executor: RayExecutor) -> None:
    def hang(design: Design) -> float:
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])  # as C code that never returns
        time.sleep(10 * LIMIT)
        return 1.0

    executor.submit(question(1), Objective("error", timeout=0.5, resources={"GPU": 1}), hang)
    [found] = outcomes(executor, 1)
    assert "timeout of 0.5 s" in found.reason
    assert 1.5 <= found.cost < 10
    executor.submit(question(2), Objective("error", timeout=LIMIT, resources={"GPU": 1}), lambda design: 2.0)
    assert [outcome.values for outcome in outcomes(executor, 1)] == [{"error": 2.0}]


def test_a_fault_of_the_machine_is_raised_and_what_ran_beside_it_is_stopped(
    executor: RayExecutor, tmp_path: Path
) -> None:
    def unplugged(design: Design) -> float:
        wait_for_other = time.monotonic() + 30
        while not (folder / "pid").exists() and time.monotonic() < wait_for_other:
            time.sleep(0.05)
        raise MachineError("No meter.")

    def long(design: Design) -> float:
        (folder / "draft").write_text(str(os.getpid()))
        (folder / "draft").rename(folder / "pid")
        time.sleep(10 * LIMIT)
        return 1.0

    folder = tmp_path
    executor.submit(question(0), ERROR, long)
    executor.submit(question(1), ERROR, unplugged)
    with pytest.raises(MachineError, match=r"^No meter\.$"):
        executor.finished()
    pid = int((folder / "pid").read_text())
    wait_until(lambda: session(Path(f"/proc/{pid}")) is None)


def test_a_resource_nobody_offers_and_an_address_without_a_head_node_are_told(
    executor: RayExecutor, address: str
) -> None:
    meter = Objective("watts", resources={"meter": 2, "GPU": 1})
    executor.submit(question(0, "watts"), meter, lambda design: 1.0)
    with pytest.raises(MachineError) as caught:
        executor.finished()
    facts = ("'watts'", "meter=2", f"Ray cluster at {address}", " 3 s ", "CPU=1, GPU=1", "CPU=1, jetson=1")
    assert all(fact in str(caught.value) for fact in facts)
    command = f"ray start --address={address} --num-cpus=1 --num-gpus=1 --resources='{{\"meter\": 2}}'."
    assert str(caught.value).endswith(command)
    with pytest.raises(MachineError, match=r"No Ray .*'127\.0\.0\.1:9' .*ray start --head"):
        RayExecutor("127.0.0.1:9")
    with pytest.raises(InvalidValueError, match=r"^resources .*ray start --resources"):
        RayExecutor(address, resources={"GPU": 1})
    with pytest.raises(InvalidValueError, match=r"'ray://127\.0\.0\.1:10001'.*host:port"):
        RayExecutor("ray://127.0.0.1:10001")


def test_a_study_outlives_a_killed_worker_and_a_killed_head_node_is_told_and_leaves_nothing_behind(
    folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def killed_once(design: Design) -> tuple[object, float]:
        if not flag.exists():
            flag.touch()
            time.sleep(1)
            os.kill(os.getpid(), signal.SIGKILL)
        return design["x"], 1.0

    flag = tmp_path / "killed"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setenv("TMPDIR", folder)
    with RayExecutor(n=2, resources={"GPU": 1}) as executor:
        pid = executor._engine._process.pid  # type: ignore[attr-defined]
        study = Study(
            Space({"x": (0.0, 1.0)}), [TRAINED, Objective("joules")], method="random", budget=20, seed=1, n_initial=2
        )
        study.run(
            {"error": killed_once, "joules": lambda design: (1 - design["x"], 1.0)},
            executor=executor,
            progress=False,
        )
        [lost] = [event for event in study.events if isinstance(event, Failed)]
        told = [event for event in study.events if isinstance(event, Told)]
        assert lost.reason.startswith("Its worker")
        assert lost.number not in {event.number for event in told}
        assert 0.5 < lost.cost < LIMIT
        assert study.spent == pytest.approx(lost.cost + len(told))
        again = next(e.evaluation for e in study.events if isinstance(e, Asked) and e.evaluation.attempt == 2)
        assert again.number in {event.number for event in told}
        flag.unlink()
        [head] = [int(p.name) for p in processes(pid) if (p / "comm").read_text().strip() == "gcs_server"]

        def attacking(design: Design) -> float:
            os.kill(head, signal.SIGKILL)
            time.sleep(LIMIT)
            return 1.0

        other = Study(SPACE, [ERROR, Objective("joules")], method="random", budget=20, seed=1, n_initial=2)
        start = time.monotonic()
        with pytest.raises(MachineError) as caught:
            other.run({"error": attacking, "joules": attacking}, executor=executor, progress=False)
        given_back = [event for event in other.events if isinstance(event, Released)]
        assert {event.reason for event in given_back} == {str(caught.value)}
        assert not any(isinstance(event, Failed) for event in other.events)
        assert time.monotonic() - start < 20
        assert re.search(r"Ray cluster .*is lost", str(caught.value))  # with its address, if it can still be asked for
    assert time.monotonic() - start < 40
    assert processes(pid) == []
    assert list(tmp_path.iterdir()) == os.listdir(folder) == []
    assert capfd.readouterr() == ("", "")


def test_a_cluster_started_here_ends_when_the_program_is_killed() -> None:
    program = (
        "import os, signal\n"
        "from flexibo.executors.ray import RayExecutor\n"
        "executor = RayExecutor(n=1)\n"
        "print(executor._engine._process.pid, executor._engine._folder, flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (run.returncode, run.stderr) == (-signal.SIGKILL, "")
    pid, folder = run.stdout.split()
    wait_until(lambda: processes(int(pid)) == [])
    wait_until(lambda: not Path(folder).exists())


def test_a_frozen_worker_is_noticed_by_its_lease_and_killed_and_its_evaluation_is_given_back() -> None:
    with RayExecutor(n=1, lease=4.0) as executor:
        executor.submit(question(0), ERROR, lambda design: time.sleep(LIMIT))
        [attempt] = executor._attempts.values()
        wait_until(lambda: executor.finished(0) == [] and attempt.began is not None)
        assert attempt.process is not None
        pid, start = attempt.process.pid, time.monotonic()
        os.kill(pid, signal.SIGSTOP)
        [lost] = outcomes(executor, 1)
        assert time.monotonic() - start < 15
        assert (lost.evaluation.number, lost.values, lost.released) == (0, None, True)
        assert " 4 s" in lost.reason
        wait_until(lambda: session(Path(f"/proc/{pid}")) is None)
        executor.submit(question(1), ERROR, lambda design: 2.0)  # there is one CPU, which is free again
        assert [outcome.values for outcome in outcomes(executor, 1)] == [{"error": 2.0}]


def test_a_function_that_holds_the_interpreter_is_not_taken_for_frozen_on_this_machine(executor: RayExecutor) -> None:
    def busy(design: Design) -> float:
        import ctypes

        ctypes.PyDLL(None).sleep(6)  # unlike CDLL, it does not release the interpreter
        return 3.0

    executor._lease, executor._engine._beat = 2.0, 0.5  # type: ignore[attr-defined]
    try:
        executor.submit(question(0), ERROR, busy)
        assert [outcome.values for outcome in outcomes(executor, 1)] == [{"error": 3.0}]
    finally:
        executor._lease, executor._engine._beat = LEASE_SECONDS, LEASE_SECONDS / 4  # type: ignore[attr-defined]


@pytest.mark.long  # a head node that is killed is told above
@pytest.mark.parametrize(("name", "attack"), [("raylet", signal.SIGKILL), ("gcs_server", signal.SIGSTOP)])
def test_a_cluster_that_dies_or_freezes_is_told_in_one_sentence_and_what_ran_is_given_back(
    name: str, attack: signal.Signals, tmp_path: Path
) -> None:
    def attacking(design: Design) -> float:
        os.kill(int(file.read_text()), attack)
        time.sleep(LIMIT)
        return 1.0

    file = tmp_path / "pid"
    with RayExecutor(n=1) as executor:
        study = Study(SPACE, [ERROR, Objective("joules")], method="random", budget=20, seed=1, n_initial=2)
        ours = processes(executor._engine._process.pid)  # type: ignore[attr-defined]
        [victim] = [path.name for path in ours if (path / "comm").read_text().strip() == name]
        file.write_text(victim)
        start = time.monotonic()
        with pytest.raises(MachineError, match=r"Ray cluster .*lost") as caught:
            study.run({"error": attacking, "joules": attacking}, executor=executor, progress=False)
        assert time.monotonic() - start < 60
    [released] = [event for event in study.events if isinstance(event, Released)]
    assert released.reason == str(caught.value)
    assert not any(isinstance(event, Failed) for event in study.events)
    assert time.monotonic() - start < 70


@pytest.mark.long
def test_what_a_machine_measured_whose_raylet_froze_is_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"initial_delay_ms": 0, "period_ms": 500, "timeout_ms": 500, "failure_threshold": 3}.items():
        monkeypatch.setenv(f"RAY_health_check_{name}", str(value))  # Ray notices it after a minute by default
    with RayExecutor(n=1) as executor:
        executor.submit(question(0), ERROR, lambda design: time.sleep(LIMIT))
        [attempt] = executor._attempts.values()
        wait_until(lambda: executor.finished(0) == [] and attempt.began is not None)
        ours = processes(executor._engine._process.pid)  # type: ignore[attr-defined]
        [raylet] = [int(path.name) for path in ours if (path / "comm").read_text().strip() == "raylet"]
        os.kill(raylet, signal.SIGSTOP)
        [lost] = outcomes(executor, 1)
    assert (lost.evaluation.number, lost.values, lost.released) == (0, None, True)
    assert "machine" in lost.reason


def test_the_queue_is_measured_on_a_cluster(executor: RayExecutor) -> None:
    check_queue(executor)


def processes(leader: int) -> list[Path]:
    """The processes of a session."""
    return [path for path in Path("/proc").iterdir() if path.name.isdigit() and session(path) == leader]


def session(process: Path) -> int | None:
    """The session of a process that is no zombie."""
    try:
        state, _, _, number = (process / "stat").read_text().rpartition(")")[2].split()[:4]
    except OSError:
        return None
    return None if state == "Z" else int(number)
