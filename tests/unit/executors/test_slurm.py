"""Attempts as jobs: what each end of a job means, with a queue that does what a test says, and with real local jobs."""

from __future__ import annotations

import os
import pickle
import signal
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.unit.executors.questions import ENERGY, ERROR, one, question

from flexibo import Design, Objective, Space, Study
from flexibo.errors import FlexiBOError, MachineError, UnknownNameError
from flexibo.executors import Outcome, SlurmExecutor, find_executor
from flexibo.executors._cluster import ClusterExecutor
from flexibo.executors._messages import Fault, WorkerAnswer
from flexibo.executors._slurm_job import BEGAN, STOPPED, StartedAgain
from flexibo.executors._slurm_queue import JobRefusedError, JobState, QueueSilentError
from flexibo.executors._slurm_runs import JobFolder
from flexibo.executors.slurm import PLACE, SlurmEngine
from flexibo.history.events import Failed, FailureKind

pytest.importorskip("submitit", reason="needs the extra slurm")

LIMIT = 60.0


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


class Queue:
    """A queue whose jobs are in the states that a test gives them."""

    about = "SLURM cluster"

    def __init__(self, folder: Path, lag: float = 0.0) -> None:
        self.folder, self.lag = folder, lag
        self.state: dict[str, JobState] = {}
        self.options: list[Any] = []
        self.cancelled: list[str] = []
        self.refusal: Exception | None = None

    def submit(self, function: Callable[..., Any], *arguments: Any, options: Any) -> str:
        if self.refusal is not None:
            raise self.refusal
        number = str(len(self.options) + 1)
        self.options.append(options)
        self.state[number] = JobState("PENDING", "Priority")
        self.folder_of(number).mkdir()
        return number

    def folder_of(self, job: str) -> Path:
        return self.folder / job

    def adopt(self, name: str) -> None:
        pass

    def states(self, jobs: Iterable[str]) -> dict[str, JobState]:
        if isinstance(self.refusal, QueueSilentError):
            raise self.refusal
        return dict(self.state)

    def cancel(self, jobs: Iterable[str]) -> None:
        self.cancelled += jobs

    def close(self) -> None:
        pass

    def began(self, job: str) -> None:
        self.state[job] = JobState("RUNNING", "", 1.0)
        (self.folder_of(job) / BEGAN).touch()

    def answer(self, job: str, reply: object, kind: str = "success") -> None:
        (self.folder_of(job) / f"{job}_0_result.pkl").write_bytes(pickle.dumps((kind, reply)))


class Bench:
    """An executor on a queue, one step at a time."""

    def __init__(self, folder: Path, *, lag: float = 0.0, **settings: float) -> None:
        self.clock = Clock()
        self.jobs = JobFolder(folder / "jobs", self.clock)
        self.queue = Queue(self.jobs.path, lag)
        options = lambda objective: {"time": 60.0, "memory": 500}  # noqa: E731
        self.engine = SlurmEngine(self.queue, self.jobs, options, n=2, poll=1.0, clock=self.clock, **settings)
        self.executor = ClusterExecutor(self.engine, n=2, needs=lambda objective: {"CPU": 1.0}, clock=self.clock)

    def submit(self, number: int = 0, objective: Objective = ERROR) -> None:
        self.executor.submit(question(number, objective.name), objective, one)
        self.after(0.0)

    def after(self, seconds: float) -> list[Outcome]:
        self.clock.now += seconds
        self.engine.step()
        return self.executor.finished(0.0)

    def close(self) -> None:
        self.executor.close()


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(tmp_path)
    yield bench
    bench.close()


def answered(value: float = 1.0) -> WorkerAnswer:
    return WorkerAnswer({"error": value}, 0.5, "", True, False)


class TestSlurmEngine:
    def test_a_job_waits_for_as_long_as_it_must_and_costs_only_its_own_time(self, bench: Bench) -> None:
        bench.submit()
        assert bench.after(86400) == []
        bench.queue.began("1")
        assert bench.after(1) == []
        bench.queue.answer("1", answered())
        [outcome] = bench.after(1)
        assert (outcome.values, outcome.cost) == ({"error": 1.0}, 0.5)
        assert not bench.queue.folder_of("1").exists()

    def test_that_a_job_waits_is_said_once(self, bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
        caplog.set_level("INFO", logger="flexibo.study.waiting")
        bench.submit()
        bench.after(59)
        assert caplog.messages == []
        bench.after(1)
        bench.after(100)
        [message] = caplog.messages
        assert "'error'" in message
        assert "Priority" in message

    def test_there_is_room_for_n_jobs_whatever_they_need(self, bench: Bench) -> None:
        for number in range(2):
            assert bench.executor.has_room(ENERGY)
            bench.submit(number, ENERGY)
        assert not bench.executor.has_room(ERROR)

    @pytest.mark.parametrize("state", ["CANCELLED", "PREEMPTED", "NODE_FAIL", "BOOT_FAIL", "LOST"])
    def test_a_job_that_others_ended_is_given_back_with_what_it_ran(self, bench: Bench, state: str) -> None:
        bench.submit()
        bench.queue.began("1")
        bench.after(1)
        bench.queue.state["1"] = JobState(state, "", 7.0)
        [outcome] = bench.after(1)
        assert outcome.released
        assert outcome.cost == 7

    def test_one_that_is_cancelled_while_it_waits_costs_nothing(self, bench: Bench) -> None:
        bench.submit()
        bench.after(1000)
        bench.queue.state["1"] = JobState("CANCELLED")
        [outcome] = bench.after(1)
        assert outcome.released
        assert outcome.cost == 0

    def test_one_that_was_asked_to_end_is_given_back_however_it_ended(self, bench: Bench) -> None:
        bench.submit()
        bench.queue.began("1")
        (bench.queue.folder_of("1") / STOPPED).touch()
        bench.after(1)
        bench.queue.state["1"] = JobState("FAILED", "", 3.0)
        [outcome] = bench.after(1)
        assert outcome.released

    @pytest.mark.parametrize(
        ("state", "kind", "named"),
        [
            ("TIMEOUT", FailureKind.TIMEOUT, "60 s"),
            ("OUT_OF_MEMORY", FailureKind.ERROR, "500 MB"),
            ("FAILED", FailureKind.LOST, "Segmentation fault"),
            ("COMPLETED", FailureKind.LOST, "COMPLETED"),
        ],
    )
    def test_other_ends_are_failures_that_say_why(
        self, bench: Bench, state: str, kind: FailureKind, named: str
    ) -> None:
        bench.submit()
        bench.queue.began("1")
        (bench.queue.folder_of("1") / "1_0_log.err").write_text("loading\nSegmentation fault\n\n")
        bench.after(1)
        bench.queue.state["1"] = JobState(state, "", 61.0)
        [outcome] = bench.after(1)
        assert (outcome.released, outcome.kind, outcome.cost) == (False, kind, 61.0)
        assert named in outcome.reason
        bench.after(1)
        assert [path.name for path in bench.queue.folder_of("1").glob("*.err")] == ["1_0_log.err"]

    def test_a_file_may_appear_after_the_end_of_its_job(self, tmp_path: Path) -> None:
        bench = Bench(tmp_path, lag=15.0)
        bench.submit()
        bench.queue.began("1")
        bench.queue.state["1"] = JobState("COMPLETED", "", 2.0)
        assert bench.after(1) == bench.after(14) == []
        bench.queue.answer("1", answered())
        [outcome] = bench.after(1)
        assert outcome.values == {"error": 1.0}
        bench.close()

    def test_a_job_that_ends_before_it_begins_is_submitted_again_and_then_the_machines_are_at_fault(
        self, bench: Bench
    ) -> None:
        bench.submit()
        for number in ("1", "2"):
            bench.queue.state[number] = JobState("FAILED", "", 1.0)
            assert bench.after(1) == []
            bench.after(0)
        (bench.queue.folder_of("3") / "3_0_log.err").write_text("python: not found")
        bench.queue.state["3"] = JobState("FAILED", "", 1.0)
        with pytest.raises(MachineError, match=r"3 .*'error'.*python: not found"):
            bench.after(1)

    def test_a_job_that_is_put_back_into_the_queue_is_cancelled_and_given_back(self, bench: Bench) -> None:
        bench.submit()
        bench.queue.began("1")
        bench.after(1)
        bench.queue.state["1"] = JobState("PENDING", "BeginTime")
        [outcome] = bench.after(1)
        bench.after(0)
        assert outcome.released
        assert bench.queue.cancelled == ["1"]

    @pytest.mark.parametrize(
        ("reply", "released"), [(StartedAgain(), True), (Exception, None)], ids=["again", "unreadable"]
    )
    def test_a_job_that_has_nothing_to_say_gives_no_value(
        self, bench: Bench, reply: Any, released: bool | None
    ) -> None:
        bench.submit()
        bench.queue.began("1")
        if released is None:
            (bench.queue.folder_of("1") / "1_0_result.pkl").write_bytes(b"half")
        else:
            bench.queue.answer("1", reply)
        [outcome] = bench.after(1)
        assert outcome.values is None
        assert outcome.released is bool(released)

    @pytest.mark.parametrize(
        ("reply", "kind", "named"),
        [
            (Fault("No meter."), "success", "No meter"),
            ("Traceback\n  line\nModuleNotFoundError: flexibo", "error", "ModuleNotFoundError"),
        ],
    )
    def test_a_fault_in_a_job_ends_the_run(self, bench: Bench, reply: Any, kind: str, named: str) -> None:
        bench.submit()
        bench.queue.answer("1", reply, kind)
        with pytest.raises(MachineError, match=named):
            bench.after(1)

    def test_a_refused_job_ends_the_run(self, bench: Bench) -> None:
        bench.queue.refusal = JobRefusedError("Invalid partition")
        with pytest.raises(MachineError, match=r"'error'.*Invalid partition"):
            bench.submit()
        assert not bench.executor.is_busy()

    @pytest.mark.parametrize(("reason", "seconds"), [("Resources", 1000.0), ("PartitionConfig", 300.0)])
    def test_a_job_that_does_not_start_in_time_is_cancelled_and_ends_the_run(
        self, tmp_path: Path, reason: str, seconds: float
    ) -> None:
        bench = Bench(tmp_path, start_timeout=1000, patience=300)
        bench.submit()
        bench.queue.state["1"] = JobState("PENDING", reason)
        assert bench.after(seconds - 1) == []
        with pytest.raises(MachineError, match=rf"'error'.*{seconds:g} s.*{reason}"):
            bench.after(1)
        assert bench.queue.cancelled == ["1"]
        bench.close()

    def test_silence_is_borne_for_a_while_and_what_was_not_submitted_is_submitted_later(self, bench: Bench) -> None:
        bench.queue.refusal = QueueSilentError("no controller")
        bench.submit()
        assert bench.after(300) == []
        bench.queue.refusal = None
        bench.queue.state["9"] = JobState("PENDING")  # it was submitted, but nobody said so
        bench.after(1)
        assert list(bench.queue.folder.glob("1")) != []
        assert bench.queue.cancelled == ["9"]

    def test_silence_for_long_ends_the_run(self, tmp_path: Path) -> None:
        bench = Bench(tmp_path, patience=300)
        bench.submit()
        bench.queue.refusal = QueueSilentError("no controller")
        assert bench.after(1) == bench.after(299) == []
        with pytest.raises(MachineError, match=r"300 s.*no controller"):
            bench.after(1)
        bench.close()

    def test_a_job_that_outruns_its_timeout_is_cancelled(self, bench: Bench) -> None:
        bench.submit(objective=Objective("error", timeout=10))
        bench.queue.began("1")
        bench.after(1)
        assert bench.after(60) == []
        [outcome] = bench.after(11)
        assert outcome.kind is FailureKind.TIMEOUT
        bench.after(0)
        assert bench.queue.cancelled == ["1"]

    def test_closing_cancels_all_jobs(self, bench: Bench, tmp_path: Path) -> None:
        bench.submit(0)
        bench.submit(1)
        bench.close()
        assert bench.queue.cancelled == ["1", "2"]
        assert not (tmp_path / "jobs").exists()
        assert PLACE in bench.executor._capacity._offered


class TestSlurmExecutor:
    @pytest.mark.parametrize(
        ("settings", "named"),
        [
            ({"n": 0}, "n is 0"),
            ({"job": {"partion": "gpu"}}, "'partition'"),
            ({"objectives": {"error": "gpu"}}, "'error'"),
            ({"start_timeout": "soon"}, "start_timeout"),
            ({"patience": -1}, "patience"),
            ({"poll": 0}, "poll"),
            ({"cluster": "lsf"}, "'lsf'"),
        ],
    )
    def test_wrong_arguments_are_refused(self, tmp_path: Path, settings: dict[str, Any], named: str) -> None:
        with pytest.raises(FlexiBOError, match=named):
            SlurmExecutor(folder=tmp_path / "jobs", **{"cluster": "local", **settings})
        assert not (tmp_path / "jobs").exists()

    def test_a_study_is_measured_in_jobs(self, tmp_path: Path) -> None:
        def error(design: Design) -> dict[str, float]:
            if design["x"] == 2:
                os.kill(os.getpid(), signal.SIGKILL)
            return {"error": 1.0, "energy": 1.0}

        error.__module__ = "__main__"
        objectives = [Objective("error", retries=0), Objective("energy", measured_with="error")]
        study = Study(Space({"x": [1, 2]}), objectives, seed=0, n_initial=2)
        with SlurmExecutor(2, cluster="local", folder=tmp_path / "jobs", poll=0.1) as jobs:
            study.run({"error": error}, executor=jobs, progress=False)
        assert [measurement.design["x"] for measurement in study.history.measurements] == [1]
        [failed] = [event for event in study.events if isinstance(event, Failed)]
        assert failed.kind is FailureKind.LOST

    def test_it_is_found_by_its_name_and_its_objectives_are_those_of_the_study(self, tmp_path: Path) -> None:
        jobs = find_executor("slurm", cluster="local", folder=str(tmp_path / "jobs"), objectives={"eror": {"cpus": 2}})
        study = Study(Space({"x": [1, 2]}), ["error", "energy"], seed=0)
        with pytest.raises(UnknownNameError, match="'eror'"):
            study.run({"error": one, "energy": one}, executor=jobs, progress=False)
        jobs.close()
