"""Executors on Dask, with a client that does what a test says; real clusters are in tests/integration."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import asdict
from types import SimpleNamespace
from typing import Any

import pytest
from tests.unit.executors.questions import ERROR, one, question

from flexibo.errors import InvalidTypeError, InvalidValueError, MachineError, MissingExtraError
from flexibo.executors import dask as dask_executor
from flexibo.executors._dask_cluster import AGAIN, MISSING
from flexibo.executors._messages import (
    AttemptBegan,
    AttemptEnded,
    AttemptLost,
    ClusterLost,
    Fault,
    Job,
    Report,
    WorkerAnswer,
    WorkersSeen,
    packed,
)
from flexibo.executors._sessions import ProcessIdentity
from flexibo.executors.dask import DaskEngine, DaskExecutor

ANSWER = WorkerAnswer({"error": 1.0}, 0.5, "", True, False)
WORKERS = {
    "tcp://a": {"status": "running", "nthreads": 2, "resources": {"GPU": 1}, "last_seen": 5.0},
    "tcp://b": {"status": "paused", "nthreads": 2, "resources": {}, "last_seen": 5.0},
    "tcp://c": {"nthreads": 1, "resources": {"CPU": 64}, "last_seen": 5.0},
}


class FakeFuture:
    def __init__(self) -> None:
        self.status = "pending"
        self.answer: Any = None
        self.callbacks: list[Callable[[Any], None]] = []

    def add_done_callback(self, call: Callable[[Any], None]) -> None:
        self.callbacks.append(call)

    def result(self, timeout: float) -> Any:
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer

    def end(self, answer: Any = None, status: str = "finished") -> None:
        self.status, self.answer = status, answer
        for call in self.callbacks:
            call(self)


class FakeClient:
    """A client of a cluster that takes tasks and answers nothing by itself."""

    id, status, asynchronous = "Client-1", "running", False

    def __init__(self) -> None:
        self.scheduler = SimpleNamespace(
            address="tcp://10.0.0.1:8786",
            identity=lambda: {"workers": WORKERS},
            event_is_set=lambda name: name in self.marks,
            event_clear=lambda name: self.cleared.append(name),
        )
        self.marks: set[str] = set()
        self.cleared: list[str] = []
        self.sent: list[tuple[FakeFuture, Any, Mapping[str, Any]]] = []
        self.cancelled: list[Any] = []
        self.is_closed = False

    def sync(self, ask: Callable[..., Any], *, callback_timeout: float, **arguments: Any) -> Any:
        return ask(**arguments)

    def submit(self, function: Any, task: Any, topic: str, **settings: Any) -> FakeFuture:
        self.sent.append((FakeFuture(), task, settings))
        return self.sent[-1][0]

    def cancel(self, futures: list[Any], *, force: bool) -> None:
        self.cancelled += futures

    def subscribe_topic(self, topic: str, call: Callable[..., None]) -> None:
        self.say = lambda **message: call((0.0, message))

    def unsubscribe_topic(self, topic: str) -> None:
        del self.say

    def close(self, timeout: float) -> None:
        self.is_closed = True


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> FakeClient:
    """A client for engines that ask for workers only at the beginning, without the seconds that Dask's import takes."""
    quiet = SimpleNamespace(set=lambda settings: nullcontext())
    monkeypatch.setitem(sys.modules, "dask", SimpleNamespace(config=quiet))
    monkeypatch.setattr(dask_executor, "POLL_SECONDS", 3600.0)
    return FakeClient()


@pytest.fixture
def engine(client: FakeClient) -> Iterator[DaskEngine]:
    made = DaskEngine(client, None)
    assert isinstance(made.reports.get(), WorkersSeen)
    yield made
    made.close()


@pytest.fixture
def job() -> Job:
    return packed(question(), ERROR, one)


def told(engine: DaskEngine) -> list[Report]:
    return [engine.reports.get() for _ in range(engine.reports.qsize())]


def test_a_worker_that_the_scheduler_has_not_heard_for_a_lease_is_silent_and_offers_nothing(
    client: FakeClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    monkeypatch.setattr(dask_executor.time, "monotonic", lambda: now[0])
    engine = DaskEngine(client, None, lease=60.0)
    now[0] = 61.0
    client.scheduler.identity = lambda: {"workers": {**WORKERS, "tcp://a": {**WORKERS["tcp://a"], "last_seen": 65.0}}}
    engine._ask_for_workers()
    before, seen = told(engine)
    assert isinstance(before, WorkersSeen)
    assert isinstance(seen, WorkersSeen)
    assert (before.silent, seen.silent) == (frozenset(), {"tcp://b", "tcp://c"})
    assert seen.offers["tcp://c"] == {}
    assert seen.offers["tcp://a"]
    engine.close()


def test_a_scheduler_that_does_not_answer_is_lost_and_no_failure_of_what_it_had(
    engine: DaskEngine, client: FakeClient, job: Job
) -> None:
    def silence(name: str) -> bool:
        raise TimeoutError("no answer")

    engine.start("0-a", job, {"CPU": 1.0}, "tcp://a")
    client.scheduler.event_is_set = silence
    client.sent[0][0].end(status="cancelled")
    [lost] = told(engine)
    assert isinstance(lost, ClusterLost)
    assert "no answer" in lost.reason


def test_threads_count_as_cpu_and_workers_that_do_not_run_offer_nothing(client: FakeClient) -> None:
    engine = DaskEngine(client, None)
    [seen] = told(engine)
    assert isinstance(seen, WorkersSeen)
    assert seen.offers == {"tcp://a": {"GPU": 1.0, "CPU": 2.0}, "tcp://b": {}, "tcp://c": {"CPU": 1.0}}
    engine.close()


def test_a_task_is_pinned_to_its_worker_and_brings_its_function_once(
    engine: DaskEngine, client: FakeClient, job: Job
) -> None:
    engine.start("0-a", job, {"CPU": 1, "GPU": 2}, "tcp://a")
    engine.start("1-b", job, {"CPU": 1}, "tcp://a")
    engine.start("2-c", job, {"CPU": 1}, None)  # whoever takes it may not have the function
    assert [task.function is not None for _, task, _ in client.sent] == [True, False, True]
    assert [settings["workers"] for *_, settings in client.sent] == [["tcp://a"], ["tcp://a"], None]
    assert [settings["resources"] for *_, settings in client.sent] == [{"GPU": 2}, None, None]
    assert all(settings["retries"] == 0 and settings["pure"] is False for *_, settings in client.sent)
    assert len({settings["key"] for *_, settings in client.sent}) == 3


def test_a_worker_that_lost_the_function_gets_it_again(engine: DaskEngine, client: FakeClient, job: Job) -> None:
    for attempt in ("0-a", "1-b"):
        engine.start(attempt, job, {"CPU": 1}, "tcp://a")
    client.sent[1][0].end(MISSING)
    assert len(client.sent) == 3
    assert (client.sent[2][1].attempt, client.sent[2][1].function) == ("1-b", job.function)
    assert told(engine) == []


def test_an_answer_is_reported_once_whether_its_event_or_its_task_comes_first(
    engine: DaskEngine, client: FakeClient, job: Job
) -> None:
    for attempt in ("0-a", "1-b"):
        engine.start(attempt, job, {"CPU": 1}, "tcp://a")
    client.say(attempt="0-a", place="tcp://a", process={"boot": "b", "pid": 7, "started": "100"})
    client.say(attempt="0-a", reply=asdict(ANSWER))
    client.sent[0][0].end(asdict(ANSWER))
    client.sent[1][0].end(asdict(Fault("No meter.")))
    client.say(attempt="1-b", reply=asdict(Fault("No meter.")))
    began, first, second = told(engine)
    assert isinstance(began, AttemptBegan)
    assert (began.attempt, began.place) == ("0-a", "tcp://a")
    assert began.process == ProcessIdentity("b", 7, "100")
    assert (first, second) == (AttemptEnded("0-a", ANSWER), AttemptEnded("1-b", Fault("No meter.")))


@pytest.mark.parametrize("is_marked", [True, False])
def test_a_task_that_dask_gave_up_is_lost_and_its_mark_says_whether_it_began(
    engine: DaskEngine, client: FakeClient, job: Job, is_marked: bool
) -> None:
    engine.start("0-a", job, {"CPU": 1}, "tcp://a")
    client.marks |= {"0-a"} if is_marked else set()
    client.sent[0][0].end(OSError("it is gone\nand more"))
    [lost] = told(engine)
    assert isinstance(lost, AttemptLost)
    assert (lost.attempt, lost.has_begun) == ("0-a", is_marked)
    assert "OSError: it is gone)" in lost.reason


def test_a_task_that_dask_ran_again_is_lost_and_has_begun(engine: DaskEngine, client: FakeClient, job: Job) -> None:
    engine.start("0-a", job, {"CPU": 1}, "tcp://a")
    client.sent[0][0].end(AGAIN)
    [lost] = told(engine)
    assert isinstance(lost, AttemptLost)
    assert lost.has_begun
    assert "tcp://a" in lost.reason


def test_a_worker_without_flexibo_is_a_fault_of_the_machine(engine: DaskEngine, client: FakeClient, job: Job) -> None:
    engine.start("0-a", job, {"CPU": 1}, "tcp://a")
    client.sent[0][0].end(ModuleNotFoundError("No module named 'flexibo'"))
    [ended] = told(engine)
    assert isinstance(ended, AttemptEnded)
    assert isinstance(ended.reply, Fault)
    assert "'flexibo'" in ended.reply.reason
    assert client.scheduler.address in ended.reply.reason


def test_what_is_stopped_is_cancelled_and_its_answer_is_not_reported(
    engine: DaskEngine, client: FakeClient, job: Job
) -> None:
    engine.start("0-a", job, {"CPU": 1}, "tcp://a")
    engine.stop("0-a")
    engine.stop("0-a")
    future = client.sent[0][0]
    assert client.cancelled == [future]
    future.end(asdict(ANSWER))
    client.say(attempt="0-a", reply=asdict(ANSWER))
    assert told(engine) == []


def test_a_scheduler_that_does_not_answer_counts_as_one_that_knows_of_the_beginning(
    engine: DaskEngine, client: FakeClient
) -> None:
    assert not engine.has_begun("0-a")
    client.marks.add("0-a")
    assert engine.has_begun("0-a")
    client.marks.clear()
    client.scheduler.event_is_set = lambda name: 1 / 0
    assert engine.has_begun("0-a")


def test_a_connection_that_breaks_is_a_lost_cluster(client: FakeClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dask_executor, "POLL_SECONDS", 0.001)
    client.status = "closed"
    engine = DaskEngine(client, None)
    engine._watcher.join(20)
    assert isinstance(told(engine)[-1], ClusterLost)
    engine.close()


def test_closing_cancels_what_runs_clears_marks_and_leaves_the_users_client_open(client: FakeClient, job: Job) -> None:
    logger = logging.getLogger("distributed.core")
    before = list(logger.filters)
    engine = DaskEngine(client, None)
    assert len(logger.filters) == len(before) + 1
    engine.start("0-a", job, {"CPU": 1}, "tcp://a")
    engine.close()
    assert client.cancelled == [client.sent[0][0]]
    assert client.cleared == ["0-a"]
    assert not client.is_closed
    assert logger.filters == before


def test_the_remedy_is_a_command_that_starts_such_a_worker(engine: DaskEngine) -> None:
    needs = {"CPU": 2.0, "GPU": 1.0, "jetson": 0.5}
    command = 'dask worker tcp://10.0.0.1:8786 --nthreads 2 --resources "GPU=1 jetson=0.5"'
    assert engine.remedy(needs).endswith(command)
    assert engine.remedy({"CPU": 1.0}).endswith("dask worker tcp://10.0.0.1:8786 --nthreads 1")
    engine._local = SimpleNamespace(close=lambda: None)  # type: ignore[assignment]  # a cluster started here
    assert engine.remedy({"CPU": 1.0, "GPU": 2.0}).endswith("resources={'GPU': 2.0}")


# Arguments


def test_a_missing_library_names_the_extra_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingExtraError, match=r"'flexibo\[dask\]'\.$"):
        DaskExecutor()


@pytest.mark.parametrize(
    ("settings", "facts"),
    [
        ({"address": " "}, "address is ' ';"),
        ({"address": 8786}, "address is 8786;"),
        ({"n": 0}, "n is 0;"),
        ({"patience": -1}, "patience is -1;"),
        ({"resources": {"CPU": 2}}, "resources .*CPU; .*n "),
        ({"address": "tcp://x:1", "resources": {"GPU": 1}}, "resources .*dask worker --resources"),
        ({"client": object(), "resources": {"GPU": 1}}, "resources .*dask worker --resources"),
        ({"address": "tcp://x:1", "client": object()}, "address and client"),
    ],
)
def test_a_wrong_argument_is_told_before_dask_is_imported(
    settings: dict[str, Any], facts: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(InvalidValueError, match=facts):
        DaskExecutor(**settings)


def test_a_client_must_be_one_that_waits(client: FakeClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", SimpleNamespace(Client=FakeClient))
    client.asynchronous = True
    for wrong in (3, client):
        with pytest.raises(InvalidTypeError, match=rf"^client is {wrong!r};.*distributed\.Client"):
            DaskExecutor(client=wrong)


def test_an_address_that_does_not_answer_is_a_fault_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    class Client:
        def __new__(cls, address: str, **settings: object) -> None:  # type: ignore[misc]
            raise OSError("Timed out\nand more")

    monkeypatch.setitem(sys.modules, "distributed", SimpleNamespace(Client=Client))
    with pytest.raises(MachineError, match=r"'tcp://10\.0\.0\.1:9' .*\(Timed out\);.*dask scheduler"):
        DaskExecutor("tcp://10.0.0.1:9")
