"""The process that uses Ray, with a Ray that does what a test says; real clusters are in tests/integration."""

from __future__ import annotations

import socket
import sys
from collections.abc import Callable, Generator, Iterable, Iterator
from queue import SimpleQueue
from types import SimpleNamespace
from typing import Any

import pytest
from tests.unit.executors.questions import ERROR, one, question

from flexibo import Design
from flexibo.executors import _ray_gateway
from flexibo.executors._messages import (
    AttemptBegan,
    AttemptEnded,
    AttemptHeard,
    AttemptLost,
    ClusterLost,
    ClusterTask,
    Fault,
    Report,
    WorkerAnswer,
    WorkersSeen,
    packed,
    task_of,
)
from flexibo.executors._ray_gateway import Gateway, Place, StartAttempt, offered, run_on_worker, watch, with_heartbeats
from flexibo.executors._sessions import ProcessIdentity

ANSWER = WorkerAnswer({"error": 1.0}, 0.5, "", True, False)
PROCESS = ProcessIdentity("boot", 7, "100")
ARRIVED, BEGUN = Place("node-1", PROCESS, has_begun=False), Place("node-1", PROCESS, has_begun=True)
OPTIONS = {"num_cpus": 1.0, "num_gpus": 0, "resources": {}}


class RayTaskError(Exception):
    def __init__(self, cause: BaseException) -> None:
        super().__init__("Traceback of the worker")
        self.cause = cause


class WorkerCrashedError(Exception):
    pass


class FakeRay:
    """Takes tasks and lets each say what a test wants, or raise it."""

    exceptions = SimpleNamespace(RayTaskError=RayTaskError)

    def __init__(self) -> None:
        self.says: Iterable[Any] = ()
        self.refuses: Exception | None = None
        self.put_away: list[bytes] = []
        self.tasks: list[tuple[ClusterTask, Any, dict[str, Any]]] = []
        self.settings: dict[str, Any] = {}
        self.cancelled: list[Any] = []
        self.killed: list[tuple[dict[str, Any], ProcessIdentity]] = []
        self.alive: dict[str, bool] = {}

    def remote(self, **settings: Any) -> Callable[[Any], Any]:
        self.settings = self.settings or settings  # those of what measures
        return lambda function: SimpleNamespace(options=self.options)

    def options(self, **options: Any) -> Any:
        if "scheduling_strategy" in options:
            return SimpleNamespace(remote=lambda process: self.killed.append((options, process)))
        return SimpleNamespace(remote=lambda task, function, beat: self.started(task, function, options))

    def started(self, task: ClusterTask, function: Any, options: dict[str, Any]) -> Iterator[Any]:
        if self.refuses is not None:
            raise self.refuses
        self.tasks.append((task, function, options))
        return iter(self.says)

    def put(self, function: bytes) -> str:
        self.put_away.append(function)
        return f"reference {len(self.put_away)}"

    def get(self, said: Any) -> Any:
        if isinstance(said, BaseException):
            raise said
        return said

    def nodes(self) -> list[dict[str, Any]]:
        return [{"NodeID": name, "Alive": is_alive} for name, is_alive in self.alive.items()]

    def cancel(self, generator: Any, *, force: bool) -> None:
        self.cancelled.append((generator, force))


class Reports(SimpleQueue[Report]):
    def next(self) -> Report:
        return self.get(timeout=20)


@pytest.fixture
def ray() -> FakeRay:
    return FakeRay()


@pytest.fixture
def reports() -> Reports:
    return Reports()


@pytest.fixture
def gateway(ray: FakeRay, reports: Reports) -> Gateway:
    return Gateway(ray, reports.put)


def start(attempt: str, measure: Callable[[Design], float] = one, **options: Any) -> StartAttempt:
    job = packed(question(), ERROR, measure)
    return StartAttempt(task_of(attempt, job, with_function=True), OPTIONS | options, 15.0)


def test_ray_is_told_to_run_nothing_twice(gateway: Gateway, ray: FakeRay) -> None:
    assert (ray.settings["max_retries"], ray.settings["retry_exceptions"]) == (0, False)


def test_the_beginning_and_the_answer_of_an_attempt_are_reported(
    gateway: Gateway, ray: FakeRay, reports: Reports
) -> None:
    ray.says = [ARRIVED, BEGUN, BEGUN, ANSWER, "nothing more is asked for"]
    gateway.start(start("0-a", num_gpus=2))
    assert isinstance(reports.next(), AttemptHeard)
    began = reports.next()
    assert isinstance(began, AttemptBegan)
    assert (began.attempt, began.place, began.process) == ("0-a", "node-1", PROCESS)
    assert all(isinstance(reports.next(), AttemptHeard) for _ in range(2))
    assert reports.next() == AttemptEnded("0-a", ANSWER)
    assert ray.tasks[0][2] == OPTIONS | {"num_gpus": 2}
    assert ray.tasks[0][0].function is None  # it travels by itself, once


def test_a_function_is_put_away_once_and_shared(gateway: Gateway, ray: FakeRay) -> None:
    for attempt in ("0-a", "1-b"):
        gateway.start(start(attempt))
    gateway.start(start("2-c", lambda design: 2.0))
    assert len(ray.put_away) == 2
    assert [function for _, function, _ in ray.tasks] == ["reference 1", "reference 1", "reference 2"]


@pytest.mark.parametrize(
    ("says", "has_begun", "fact"),
    [
        ([WorkerCrashedError("it died")], False, "process died"),
        ([ARRIVED, WorkerCrashedError("it died")], False, "process died"),
        ([BEGUN, WorkerCrashedError("it died")], True, "process died"),
        ([BEGUN, RuntimeError("strange\nand more")], True, "RuntimeError: strange)"),
        ([BEGUN, RuntimeError()], True, "RuntimeError"),
        ([BEGUN], True, "no answer"),
        ([], False, "no answer"),
    ],
)
def test_a_worker_that_dies_is_a_lost_attempt_which_may_have_begun(
    gateway: Gateway, ray: FakeRay, reports: Reports, says: list[Any], has_begun: bool, fact: str
) -> None:
    ray.says = says
    gateway.start(start("0-a"))
    lost = reports.next()
    while isinstance(lost, AttemptBegan | AttemptHeard):
        lost = reports.next()
    assert isinstance(lost, AttemptLost)
    assert (lost.attempt, lost.has_begun, lost.is_machine) == ("0-a", has_begun, False)
    assert fact in lost.reason


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (ModuleNotFoundError("Traceback\nNo module named 'flexibo'"), "(No module named 'flexibo')"),
        (AssertionError(), "(AssertionError)"),
    ],
)
def test_a_worker_that_cannot_run_flexibo_is_a_fault_of_the_machine(
    gateway: Gateway, ray: FakeRay, reports: Reports, error: Exception, reason: str
) -> None:
    ray.says = [RayTaskError(error)]
    gateway.start(start("0-a"))
    ended = reports.next()
    assert isinstance(ended, AttemptEnded)
    assert isinstance(ended.reply, Fault)
    assert reason in ended.reply.reason


@pytest.mark.parametrize("error", [ValueError("num_gpus is 1.5"), TypeError("num_gpus is 1.5")])
def test_resources_that_ray_does_not_take_are_a_fault_of_the_machine(
    gateway: Gateway, ray: FakeRay, reports: Reports, error: Exception
) -> None:
    ray.refuses = error
    gateway.start(start("0-a"))
    ended = reports.next()
    assert isinstance(ended, AttemptEnded)
    assert isinstance(ended.reply, Fault)
    assert "'error'" in ended.reply.reason
    assert "num_gpus is 1.5" in ended.reply.reason


def test_what_is_stopped_is_killed_once_and_what_is_unknown_is_ignored(gateway: Gateway, ray: FakeRay) -> None:
    gateway._running["0-a"] = "its generator"
    for attempt in ("0-a", "0-a", "unknown"):
        gateway.stop(attempt)
    assert ray.cancelled == [("its generator", True)]


@pytest.mark.parametrize(
    ("error", "alive", "is_machine"),
    [
        (type("NodeDiedError", (Exception,), {})(), {}, True),
        (WorkerCrashedError("it died"), {"node-1": False, "node-2": True}, True),
        (WorkerCrashedError("it died"), {"node-1": True, "node-2": False}, False),
    ],
)
def test_a_lost_machine_says_nothing_about_the_design(
    gateway: Gateway, ray: FakeRay, reports: Reports, error: Exception, alive: dict[str, bool], is_machine: bool
) -> None:
    ray.says, ray.alive = [BEGUN, error], alive
    gateway.start(start("0-a"))
    lost = [reports.next() for _ in range(3)][-1]
    assert isinstance(lost, AttemptLost)
    assert lost.is_machine == is_machine
    assert ("machine" in lost.reason) == is_machine


def test_a_silent_process_is_killed_on_its_machine_and_what_it_says_later_is_ignored(
    gateway: Gateway, ray: FakeRay, reports: Reports, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = SimpleNamespace(NodeAffinitySchedulingStrategy=lambda node, soft: (node, soft))
    for name in ("ray", "ray.util", "ray.util.scheduling_strategies"):
        monkeypatch.setitem(sys.modules, name, there)
    gateway._running["0-a"], gateway._places["0-a"] = "its generator", BEGUN
    gateway.stop("0-a", is_silent=True)
    [(options, process)] = ray.killed
    assert process == PROCESS
    assert options["scheduling_strategy"] == ("node-1", False)
    assert ray.cancelled == [("its generator", True)]
    gateway._follow("0-a", iter([BEGUN, ANSWER]))
    assert reports.empty()


def test_heartbeats_are_sent_until_the_work_is_done() -> None:
    done = SimpleQueue[int]()
    beats = with_heartbeats(lambda: done.get(timeout=20), BEGUN, 0.001)
    assert [next(beats), next(beats)] == [BEGUN, BEGUN]
    done.put(5)
    found = []

    def collect() -> Generator[object, None, None]:
        found.append((yield from beats))

    assert all(beat == BEGUN for beat in collect())
    assert found == [5]


def test_a_machine_offers_what_ray_does_not_count_for_itself() -> None:
    listed = {"CPU": 4, "GPU": 1, "memory": 1e9, "object_store_memory": 1e9, "node:10.0.0.1": 1, "jetson": 0.5}
    assert offered(listed) == {"CPU": 4.0, "GPU": 1.0, "jetson": 0.5}
    assert offered({"node:10.0.0.1": 1}) == {"CPU": 0.0}


def test_machines_are_reported_until_the_head_node_is_gone(reports: Reports, monkeypatch: pytest.MonkeyPatch) -> None:
    head = socket.create_server(("127.0.0.1", 0))
    address = f"127.0.0.1:{head.getsockname()[1]}"
    monkeypatch.setattr(_ray_gateway.time, "sleep", lambda seconds: head.close())
    nodes = [
        {"NodeID": "a", "Resources": {"CPU": 1}, "Alive": True},
        {"NodeID": "b", "Resources": {"CPU": 1}, "Alive": False},
    ]
    watch(SimpleNamespace(nodes=lambda: nodes), address, reports.put)
    seen, lost = reports.next(), reports.next()
    assert isinstance(seen, WorkersSeen)
    assert seen.offers == {"a": {"CPU": 1.0}}
    assert isinstance(lost, ClusterLost)
    assert address in lost.reason
    assert reports.empty()


def test_a_worker_tells_its_node_before_it_measures_and_then_its_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    context = SimpleNamespace(get_node_id=lambda: "node-1")
    monkeypatch.setitem(sys.modules, "ray", SimpleNamespace(get_runtime_context=lambda: context))
    job = packed(question(3), ERROR, lambda design: (design["x"] + 0.5, 4.0))
    said = run_on_worker(task_of("3-a", job, with_function=False), job.function, 60.0)
    arrived, begun, *rest = said
    assert isinstance(arrived, Place)
    assert isinstance(begun, Place)
    assert (arrived.node, arrived.has_begun, begun.has_begun) == ("node-1", False, True)
    assert arrived.process == ProcessIdentity.of_this_process()
    assert rest == [WorkerAnswer({"error": 3.5}, 4.0, "", False, False)]


def test_a_worker_that_cannot_load_the_function_answers_so_and_does_not_begin(monkeypatch: pytest.MonkeyPatch) -> None:
    context = SimpleNamespace(get_node_id=lambda: "node-1")
    monkeypatch.setitem(sys.modules, "ray", SimpleNamespace(get_runtime_context=lambda: context))
    job = packed(question(3), ERROR, one)
    task = ClusterTask("3-a", "error", (3, 0), job.digest, None, job.question)
    [arrived, fault] = run_on_worker(task, job.function, 60.0)
    assert isinstance(arrived, Place)
    assert isinstance(fault, Fault)
    assert "3.0" in fault.reason


def test_a_cluster_that_wants_a_token_says_how_to_give_it() -> None:
    class AuthenticationError(Exception):
        pass

    refusal = ConnectionError("no")
    refusal.__cause__ = AuthenticationError("no token")
    assert "RAY_AUTH_TOKEN" in _ray_gateway._reason_of_refusal(refusal)
    assert _ray_gateway._reason_of_refusal(ConnectionError("It is full.\nand more")) == "It is full"
    assert _ray_gateway._reason_of_refusal(ConnectionError()) == "ConnectionError"
