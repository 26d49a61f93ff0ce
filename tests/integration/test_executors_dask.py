"""Real Dask clusters on this machine: workers of several kinds, killed workers, a killed scheduler."""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.queued_studies import check_queue

from flexibo import Design, Evaluation, Objective, Space, Study
from flexibo.errors import InvalidTypeError, InvalidValueError, MachineError
from flexibo.executors import Outcome
from flexibo.executors._dask_cluster import WORKER
from flexibo.executors.dask import DaskExecutor
from flexibo.history.events import Asked, Failed, Released, Told

distributed = pytest.importorskip("distributed", reason="needs the extra dask")
pytestmark = pytest.mark.slow

LIMIT = 60.0
ERROR = Objective("error")
TRAINED = Objective("error", resources={"GPU": 1})
ENERGY = Objective("energy", resources={"jetson": 1})

SCHEDULER = """
import asyncio, os
from distributed import Scheduler
async def main():
    async with Scheduler(host="127.0.0.1", port=0, dashboard=False, dashboard_address="127.0.0.1:0") as scheduler:
        print(scheduler.address, flush=True)
        await asyncio.sleep(600)
asyncio.run(main())
"""


class Cluster:
    """A scheduler and workers, started as a user would start them, one by one."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory()
        self._processes: list[subprocess.Popen[str]] = []
        self.scheduler = self._start(SCHEDULER, stdout=subprocess.PIPE)
        assert self.scheduler.stdout is not None
        self.address = self.scheduler.stdout.readline().strip()

    def worker(self, **resources: float) -> subprocess.Popen[str]:
        return self._start(WORKER, self.address, json.dumps(resources), self._folder.name)

    def _start(self, *arguments: str, stdout: int | None = None) -> subprocess.Popen[str]:
        command, quiet = [sys.executable, "-c", *arguments], subprocess.DEVNULL
        self._processes.append(subprocess.Popen(command, stdin=quiet, stdout=stdout, stderr=quiet, text=True))
        return self._processes[-1]

    def close(self) -> None:
        for process in self._processes:
            process.kill()
            process.wait()
            if process.stdout is not None:
                process.stdout.close()
        self._folder.cleanup()


@pytest.fixture(scope="module")
def shared() -> Iterator[Cluster]:
    """A GPU machine and a board, as in the paper."""
    cluster = Cluster()
    cluster.worker(GPU=1)
    cluster.worker(jetson=1)
    yield cluster
    cluster.close()


@pytest.fixture
def own() -> Iterator[Cluster]:
    cluster = Cluster()
    yield cluster
    cluster.close()


@pytest.fixture
def executor(shared: Cluster) -> Iterator[DaskExecutor]:
    with DaskExecutor(shared.address, patience=LIMIT) as executor:
        wait_until(
            lambda: executor._capacity.could_fit({"GPU": 1}) and executor._capacity.could_fit({"jetson": 1}), executor
        )
        yield executor


def wait_until(is_so: Callable[[], bool], executor: DaskExecutor | None = None) -> None:
    end = time.monotonic() + LIMIT
    while not is_so():
        assert time.monotonic() < end, "it never happened"
        if executor is not None:
            executor.has_room(ERROR)
        time.sleep(0.05)


def question(number: int, objective: str = "error") -> Evaluation:
    return Evaluation(Design({"x": number}), objective, None, 0.0, "", number, (objective,))


def outcomes(executor: DaskExecutor, n: int) -> list[Outcome]:
    found: list[Outcome] = []
    end = time.monotonic() + LIMIT
    while len(found) < n and time.monotonic() < end:
        found += executor.finished(1.0)
    return found


def in_notebook(function: Callable[..., object]) -> Callable[..., object]:
    """The function as one of a script or a notebook: workers cannot import it, so it travels as a whole."""
    function.__module__ = "__main__"
    return function


def test_each_evaluation_runs_on_a_worker_that_offers_what_it_needs(executor: DaskExecutor, tmp_path: Path) -> None:
    @in_notebook
    def process(design: Design) -> float:
        while not (tmp_path / f"go-{design['x']}").exists():
            time.sleep(0.01)
        return float(os.getpid())

    found: list[Outcome] = []
    for number in range(0, 4, 2):
        for objective in (TRAINED, ENERGY):
            wait_until(lambda: executor.has_room(objective))  # noqa: B023
            executor.submit(question(number, objective.name), objective, process)
        assert not executor.has_room(TRAINED)
        assert not executor.has_room(ENERGY)
        (tmp_path / f"go-{number}").touch()
        found += outcomes(executor, 2)
    trained = {outcome.values["error"] for outcome in found if "error" in (outcome.values or {})}  # type: ignore[index]
    measured = {outcome.values["energy"] for outcome in found if "energy" in (outcome.values or {})}  # type: ignore[index]
    assert len(found) == 4
    assert len(trained) == len(measured) == 1
    assert trained != measured


def test_many_quick_evaluations_come_back_exactly_once(executor: DaskExecutor) -> None:
    found: list[Outcome] = []
    number = 0
    while number < 60 or executor.is_busy():
        while number < 60 and executor.has_room(ERROR):
            executor.submit(question(number), ERROR, lambda design: design["x"])
            number += 1
        found += executor.finished(LIMIT)
    assert sorted((o.evaluation.number, o.values["error"]) for o in found) == [(i, i) for i in range(60)]  # type: ignore[index]


def test_no_mark_of_an_attempt_stays_on_the_scheduler(shared: Cluster) -> None:
    with DaskExecutor(shared.address) as executor:
        for number in range(3):
            executor.submit(question(number), ERROR, lambda design: 1.0)
        outcomes(executor, 3)
        names = [name for _, name in executor._engine._old_marks]  # type: ignore[attr-defined]
    assert len(names) == 3
    with distributed.Client(shared.address, set_as_default=False) as client:
        assert not any(distributed.Event(name, client=client).is_set() for name in names)


def test_a_hung_evaluation_is_killed_after_its_timeout_and_its_worker_goes_on(executor: DaskExecutor) -> None:
    def hang(design: Design) -> float:
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])  # as C code that never returns
        time.sleep(10 * LIMIT)
        return 1.0

    start = time.monotonic()
    executor.submit(question(1), Objective("error", timeout=0.5, resources={"GPU": 1}), hang)
    [found] = outcomes(executor, 1)
    assert "timeout of 0.5 s" in found.reason
    assert 0.5 <= found.cost < 10
    assert time.monotonic() - start < 20
    executor.submit(question(2), Objective("error", timeout=30, resources={"GPU": 1}), lambda design: 2.0)
    assert [outcome.values for outcome in outcomes(executor, 1)] == [{"error": 2.0}]


def test_what_no_longer_is_wanted_is_killed_on_its_worker(shared: Cluster, tmp_path: Path) -> None:
    def hang(design: Design) -> float:
        Path(file).write_text(str(os.getpid()))
        time.sleep(10 * LIMIT)
        return 1.0

    file = str(tmp_path / "pid")
    with DaskExecutor(shared.address) as executor:
        executor.submit(question(1), Objective("error", timeout=5 * LIMIT), hang)
        wait_until(lambda: Path(file).exists() and Path(file).read_text() != "")
    pid = int(Path(file).read_text())
    wait_until(lambda: not Path(f"/proc/{pid}").exists() or "Z" in Path(f"/proc/{pid}/stat").read_text().split()[2])


def test_a_fault_of_the_machine_is_raised_and_a_client_of_the_users_stays_open(shared: Cluster) -> None:
    def unplugged(design: Design) -> float:
        raise MachineError("No meter.")

    with distributed.Client(shared.address, set_as_default=False) as client:
        with DaskExecutor(client=client) as executor:
            executor.submit(question(1), ERROR, unplugged)
            with pytest.raises(MachineError, match=r"^No meter\.$"):
                executor.finished()
        assert client.status == "running"


def test_a_killed_worker_fails_its_evaluation_only_and_nothing_is_measured_twice(own: Cluster, tmp_path: Path) -> None:
    """Both workers can measure both, so Dask would run the lost one again on the other."""

    def logged(design: Design) -> float:
        with open(folder / str(design["x"]), "a") as log:
            log.write(f"{os.getpid()}\n")
        time.sleep(4)
        return 1.0

    folder = tmp_path
    workers = {process.pid: process for process in (own.worker(), own.worker())}
    with DaskExecutor(own.address) as executor:
        wait_until(lambda: len(executor._capacity._offered) == 2, executor)
        for number in range(2):
            executor.submit(question(number), ERROR, logged)
        wait_until(lambda: len(list(folder.iterdir())) == 2)
        time.sleep(1)
        start = time.monotonic()
        workers[int((folder / "0").read_text())].kill()
        [lost] = outcomes(executor, 1)
        assert time.monotonic() - start < 10
        assert (lost.evaluation.number, lost.values) == (0, None)
        assert lost.reason.startswith("Its worker (tcp://127.0.0.1:")
        assert lost.reason.endswith(") died.")
        assert 0.5 < lost.cost < 10
        [other] = outcomes(executor, 1)
        assert (other.evaluation.number, other.values) == (1, {"error": 1.0})
        assert executor.has_room(ERROR)  # the other worker is free for a new attempt
        time.sleep(1)
    assert [len(path.read_text().splitlines()) for path in sorted(folder.iterdir())] == [1, 1]


def test_an_attempt_that_began_refuses_to_begin_again(shared: Cluster) -> None:
    """What Dask does when a worker comes back under its old address."""
    with DaskExecutor(shared.address) as executor:
        executor.submit(question(0), ERROR, lambda design: time.sleep(1) or 1.0)
        [attempt] = executor._attempts
        wait_until(lambda: executor._engine.has_begun(attempt))
        again = executor._attempts[attempt]
        executor._engine.start(attempt, again.job, again.needs, None)
        [found] = outcomes(executor, 1)
    assert found.values is None
    assert found.reason.startswith("Its worker")


def test_a_killed_scheduler_is_told_in_one_sentence_and_nothing_is_printed(
    own: Cluster, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    own.worker()
    with DaskExecutor(own.address) as executor, caplog.at_level(logging.WARNING):
        executor.submit(question(0), ERROR, lambda design: time.sleep(LIMIT))
        wait_until(lambda: any(a.began for a in executor._attempts.values()), executor)
        start = time.monotonic()
        own.scheduler.kill()
        with pytest.raises(MachineError) as caught:
            executor.finished()
        assert time.monotonic() - start < 20
        time.sleep(2)
    assert time.monotonic() - start < 40
    assert f"Dask cluster at {own.address} is lost" in str(caught.value)
    assert capfd.readouterr() == ("", "")
    assert caplog.records == []


def test_a_resource_nobody_offers_and_an_address_without_a_scheduler_are_told(shared: Cluster) -> None:
    with DaskExecutor(shared.address, patience=1.0) as executor:
        meter = Objective("watts", resources={"meter": 2})
        executor.submit(question(0, "watts"), meter, lambda design: 1.0)
        with pytest.raises(MachineError) as caught:
            executor.finished()
    facts = ("'watts'", "CPU=1, meter=2", " 1 s ", "CPU=1, GPU=1", "CPU=1, jetson=1")
    assert all(fact in str(caught.value) for fact in facts)
    assert str(caught.value).endswith(f'dask worker {shared.address} --nthreads 1 --resources "meter=2".')
    start = time.monotonic()
    with pytest.raises(MachineError, match=r"No Dask .*'tcp://127\.0\.0\.1:9' .*\b10 s .*dask scheduler"):
        DaskExecutor("tcp://127.0.0.1:9")
    assert time.monotonic() - start < 15
    with pytest.raises(InvalidTypeError, match=r"^client is 3;.*distributed\.Client"):
        DaskExecutor(client=3)
    with pytest.raises(InvalidValueError, match=r"^resources .*dask worker --resources"):
        DaskExecutor(shared.address, resources={"GPU": 1})


def test_a_worker_that_joins_late_is_given_what_waits_for_it(own: Cluster) -> None:
    with DaskExecutor(own.address, patience=LIMIT) as executor:
        assert executor.has_room(ENERGY)
        executor.submit(question(0, "energy"), ENERGY, lambda design: 1.0)
        assert executor.finished(1.0) == []
        own.worker(jetson=1)
        assert [outcome.values for outcome in outcomes(executor, 1)] == [{"energy": 1.0}]


def test_a_study_outlives_a_killed_worker_on_a_cluster_started_for_it_which_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
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
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    threads = threading.active_count()
    with DaskExecutor(n=2, resources={"GPU": 1}) as executor:
        pid = executor._engine._local._process.pid  # type: ignore[attr-defined]
        executor.submit(question(0), TRAINED, lambda design: time.sleep(0.5) or 0.1)
        assert not executor.has_room(TRAINED)  # both workers offer the one GPU there is
        assert executor.has_room(ERROR)
        assert outcomes(executor, 1)[0].values == {"error": 0.1}
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
        executor.submit(question(1), ERROR, lambda design: time.sleep(LIMIT))
        executor.finished(0.5)
    assert not [entry for entry in Path("/proc").iterdir() if entry.name.isdigit() and session(entry) == pid]
    assert list(tmp_path.iterdir()) == []
    assert capfd.readouterr().err == ""
    assert threading.active_count() <= threads + 3  # Dask keeps its loop


def test_a_frozen_worker_is_noticed_by_its_lease_and_gets_nothing_until_it_is_back(own: Cluster) -> None:
    workers = {process.pid: process for process in (own.worker(), own.worker())}
    with DaskExecutor(own.address, lease=4.0) as executor:
        wait_until(lambda: len(executor._capacity._offered) == 2, executor)
        executor.submit(question(0), ERROR, lambda design: time.sleep(LIMIT))
        [attempt] = executor._attempts.values()
        wait_until(lambda: attempt.began is not None, executor)
        assert attempt.process is not None
        start, frozen = time.monotonic(), workers[attempt.process.pid]
        frozen.send_signal(signal.SIGSTOP)
        [lost] = outcomes(executor, 1)
        assert time.monotonic() - start < 15
        assert (lost.evaluation.number, lost.values, lost.released) == (0, None, True)
        assert str(attempt.place) in lost.reason
        assert " 4 s" in lost.reason
        for number in (1, 2):  # one after the other, on the worker that is left
            executor.submit(question(number), ERROR, lambda design: float(os.getpid()))
        others = {outcome.values["error"] for outcome in outcomes(executor, 2) if outcome.values}
        assert len(others) == 1
        assert float(frozen.pid) not in others
        frozen.send_signal(signal.SIGCONT)
        wait_until(lambda: sum(bool(offer) for offer in executor._capacity._offered.values()) == 2, executor)


def test_a_function_that_holds_the_interpreter_is_not_taken_for_frozen_on_this_machine(own: Cluster) -> None:
    def busy(design: Design) -> float:
        import ctypes

        ctypes.PyDLL(None).sleep(6)  # unlike CDLL, it does not release the interpreter
        return 3.0

    own.worker()
    with DaskExecutor(own.address, lease=2.0) as executor:
        wait_until(lambda: executor._capacity.could_fit({"CPU": 1}), executor)
        executor.submit(question(0), ERROR, busy)
        assert [outcome.values for outcome in outcomes(executor, 1)] == [{"error": 3.0}]


def test_a_study_outlives_a_frozen_worker_on_a_cluster_started_for_it_which_replaces_it(tmp_path: Path) -> None:
    def frozen_once(design: Design) -> tuple[object, float]:
        if not flag.exists():
            flag.touch()
            os.kill(os.getpid(), signal.SIGSTOP)
        return design["x"], 1.0

    flag = tmp_path / "frozen"
    with DaskExecutor(n=1, lease=2.0) as executor:
        study = Study(
            Space({"x": (0.0, 1.0)}), [ERROR, Objective("joules")], method="random", budget=6, seed=1, n_initial=2
        )
        functions = {"error": frozen_once, "joules": lambda design: (1 - design["x"], 1.0)}
        study.run(functions, executor=executor, progress=False)
    [released] = [event for event in study.events if isinstance(event, Released)]
    assert " 2 s" in released.reason
    assert not any(isinstance(event, Failed) for event in study.events)
    assert len([event for event in study.events if isinstance(event, Told)]) > 2


@pytest.mark.parametrize("attack", [signal.SIGSTOP, signal.SIGKILL])
def test_a_scheduler_that_dies_or_freezes_gives_back_what_ran_and_closing_does_not_wait(
    own: Cluster, attack: signal.Signals
) -> None:
    def attacking(design: Design) -> float:
        os.kill(scheduler, attack)
        time.sleep(LIMIT)
        return 1.0

    scheduler = own.scheduler.pid
    own.worker()
    study = Study(Space({"x": (0.0, 1.0)}), [ERROR, Objective("joules")], method="random", budget=6, seed=1)
    with DaskExecutor(own.address) as executor:
        wait_until(lambda: executor._capacity.could_fit({"CPU": 1}), executor)
        start = time.monotonic()
        with pytest.raises(MachineError, match=f"{own.address} is lost") as caught:
            study.run({"error": attacking, "joules": attacking}, executor=executor, progress=False)
        assert time.monotonic() - start < 20
    assert time.monotonic() - start < 40
    [released] = [event for event in study.events if isinstance(event, Released)]
    assert released.reason == str(caught.value)
    assert not any(isinstance(event, Failed) for event in study.events)


def test_a_resource_nobody_offers_gives_the_evaluation_back_with_the_reason(shared: Cluster) -> None:
    study = Study(Space({"x": (0.0, 1.0)}), [ERROR, Objective("watts", resources={"meter": 1})], budget=6, seed=1)
    functions = {"error": lambda design: (1.0, 1.0), "watts": lambda design: (1.0, 1.0)}
    with DaskExecutor(shared.address, patience=1.0) as executor:
        wait_until(lambda: executor._capacity.could_fit({"CPU": 1}), executor)
        with pytest.raises(MachineError, match="meter=1") as caught:
            study.run(functions, executor=executor, progress=False)
    assert [event.reason for event in study.events if isinstance(event, Released)] == [str(caught.value)]
    assert not any(isinstance(event, Failed) for event in study.events)


def test_the_queue_is_measured_on_a_cluster(executor: DaskExecutor) -> None:
    check_queue(executor)


def session(process: Path) -> int | None:
    """The session of a process that is no zombie."""
    try:
        state, _, _, number = (process / "stat").read_text().rpartition(")")[2].split()[:4]
    except OSError:
        return None
    return None if state == "Z" else int(number)


def test_a_cluster_started_here_ends_when_the_program_is_killed(tmp_path: Path) -> None:
    program = (
        "import os, signal\n"
        "from flexibo.executors.dask import DaskExecutor\n"
        "executor = DaskExecutor(n=1)\n"  # no guard of the main module: nothing is imported twice
        "print(executor._engine._local._process.pid, flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment)
    assert (run.returncode, run.stderr) == (-signal.SIGKILL, "")
    pid = int(run.stdout)
    wait_until(lambda: not any(session(p) == pid for p in Path("/proc").iterdir() if p.name.isdigit()))
    wait_until(lambda: list(tmp_path.iterdir()) == [])
