"""The bookkeeping of executors on clusters, with a cluster that does what a test says."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from queue import SimpleQueue

import pytest
from tests.unit.executors.questions import ENERGY, ERROR, TRAINED, one, question

from flexibo import Objective
from flexibo.errors import InvalidTypeError, InvalidValueError, MachineError
from flexibo.executors._capacity import Amounts
from flexibo.executors._cluster import MOST_RELEASES, STARTS, ClusterExecutor, checked_resources_to_offer
from flexibo.executors._messages import (
    AttemptBegan,
    AttemptEnded,
    AttemptHeard,
    AttemptLost,
    ClusterLost,
    Fault,
    Job,
    Report,
    WorkerAnswer,
    WorkersSeen,
)
from flexibo.executors._sessions import ProcessIdentity
from flexibo.executors.base import Outcome
from flexibo.history.events import FailureKind


class FakeCluster:
    """Takes attempts, and reports what a test lets it report."""

    about = "fake cluster at home"
    grace = 1.0
    places_are_machines = False

    def __init__(self, *, pins: bool = True) -> None:
        self.reports: SimpleQueue[Report] = SimpleQueue()
        self.pins = pins
        self.now = 0.0
        self.started: list[tuple[str, str | None]] = []
        self.stopped: list[str] = []
        self.silenced: list[str] = []
        self.marks: set[str] = set()
        self.closed = 0

    def start(self, attempt: str, job: Job, needs: Amounts, place: str | None) -> None:
        self.started.append((attempt, place))

    def stop(self, attempt: str, *, is_silent: bool = False) -> None:
        self.stopped.append(attempt)
        self.silenced += [attempt] if is_silent else []

    def has_begun(self, attempt: str) -> bool:
        return attempt in self.marks

    def remedy(self, needs: Amounts) -> str:
        return "start a worker that does: fake worker"

    def close(self) -> None:
        self.closed += 1

    def offer(self, offers: Mapping[str, Amounts]) -> None:
        self.reports.put(WorkersSeen(offers, self.now))

    def begin(self, i: int = -1, place: str | None = None) -> str:
        attempt, where = self.started[i]
        self.reports.put(AttemptBegan(attempt, place or where or "", self.now))
        return attempt

    def answer(self, i: int = -1, value: float = 1.0) -> None:
        self.reports.put(AttemptEnded(self.started[i][0], WorkerAnswer({"error": value}, 0.5, "", True, False)))


@pytest.fixture
def cluster() -> FakeCluster:
    return FakeCluster()


@pytest.fixture
def make(cluster: FakeCluster) -> Callable[..., ClusterExecutor]:
    def make(offers: Mapping[str, Amounts], **settings: object) -> ClusterExecutor:
        cluster.offer(offers)
        return ClusterExecutor(cluster, clock=lambda: cluster.now, **settings)  # type: ignore[arg-type]

    return make


def test_there_is_room_while_a_worker_that_offers_what_is_needed_is_free(
    cluster: FakeCluster, make: Callable[..., ClusterExecutor]
) -> None:
    executor = make({"train": {"CPU": 1, "GPU": 1}, "board": {"CPU": 1, "jetson": 1}})
    assert executor.has_room(TRAINED)
    assert executor.has_room(ENERGY)
    executor.submit(question(), TRAINED, one)
    executor.submit(question(1, "energy"), ENERGY, one)
    assert [place for _, place in cluster.started] == ["train", "board"]
    assert not executor.has_room(TRAINED)
    assert not executor.has_room(ERROR)
    cluster.offer({"train": {"CPU": 1, "GPU": 1}, "board": {"CPU": 1, "jetson": 1}, "new": {"CPU": 1}})
    assert executor.has_room(ERROR)  # a worker that joined
    assert not executor.has_room(TRAINED)
    cluster.begin(0)
    cluster.answer(0)
    assert executor.has_room(TRAINED)


def test_no_more_than_n_run_at_a_time_and_the_others_wait_here(
    cluster: FakeCluster, make: Callable[..., ClusterExecutor]
) -> None:
    executor = make({"a": {"CPU": 8}}, n=1)
    for number in range(2):
        executor.submit(question(number), ERROR, one)
    assert len(cluster.started) == 1
    assert not executor.has_room(ERROR)
    cluster.answer(0)
    assert [outcome.evaluation.number for outcome in executor.finished(0)] == [0]
    assert executor.finished(0) == []
    assert len(cluster.started) == 2
    cluster.answer(1)
    assert [outcome.evaluation.number for outcome in executor.finished(0)] == [1]
    assert not executor.is_busy()


def test_a_worker_that_dies_fails_what_it_measured_with_the_time_it_took(
    cluster: FakeCluster, make: Callable[..., ClusterExecutor]
) -> None:
    executor = make({"a": {"CPU": 1}, "b": {"CPU": 1}})
    for number in range(2):
        executor.submit(question(number), ERROR, one)
    cluster.now = 10.0
    lost, place = cluster.begin(0), str(cluster.started[0][1])
    cluster.begin(1)
    executor.finished(0)
    cluster.now = 14.0
    cluster.offer({name: {"CPU": 1} for name in "ab" if name != place})
    [outcome] = executor.finished(0)
    assert (outcome.values, outcome.cost, outcome.timed) == (None, 4.0, True)
    assert f"({place}) died" in outcome.reason
    assert cluster.stopped == [lost]
    assert len(cluster.started) == 2  # whether to try again is the study's to decide
    cluster.answer(1)
    assert [o.values for o in executor.finished(0)] == [{"error": 1.0}]


def test_what_a_machine_measured_that_left_the_cluster_is_given_back(
    cluster: FakeCluster, make: Callable[..., ClusterExecutor]
) -> None:
    cluster.places_are_machines = True
    executor = make({"a": {"CPU": 1}})
    executor.submit(question(), ERROR, one)
    lost = cluster.begin()
    executor.finished(0)
    cluster.now = 65.0
    cluster.offer({})
    [outcome] = executor.finished(0)
    assert (outcome.values, outcome.cost, outcome.released) == (None, 65.0, True)
    assert "machine (a)" in outcome.reason
    assert cluster.stopped == [lost]


def test_a_list_from_before_an_attempt_began_does_not_say_that_its_worker_is_gone(
    cluster: FakeCluster, make: Callable[..., ClusterExecutor]
) -> None:
    executor = make({"a": {"CPU": 1}})
    executor.submit(question(), ENERGY, one)
    cluster.now = 5.0
    cluster.begin(place="new board")
    cluster.reports.put(WorkersSeen({"a": {"CPU": 1}}, 4.0))
    assert executor.finished(0) == []
    assert executor.is_busy()


def test_what_a_worker_had_not_begun_when_it_died_is_begun_elsewhere_at_no_cost(
    cluster: FakeCluster, make: Callable[..., ClusterExecutor]
) -> None:
    executor = make({"a": {"CPU": 1}})
    executor.submit(question(), ERROR, one)
    cluster.now = 3.0
    cluster.offer({"b": {"CPU": 1}})
    assert executor.finished(0) == []
    (first, _), (second, place) = cluster.started
    assert (first, place) == (second, "b")
    cluster.answer()
    assert [outcome.cost for outcome in executor.finished(0)] == [0.5]


def test_a_mark_on_the_cluster_says_that_an_attempt_began_even_if_that_was_not_heard(
    cluster: FakeCluster, make: Callable[..., ClusterExecutor]
) -> None:
    executor = make({"a": {"CPU": 1}})
    executor.submit(question(), ERROR, one)
    cluster.marks.add(cluster.started[0][0])
    cluster.now = 3.0
    cluster.offer({"b": {"CPU": 1}})
    [outcome] = executor.finished(0)
    assert (outcome.values, outcome.cost) == (None, 3.0)
    assert len(cluster.started) == 1


def test_workers_that_end_before_they_begin_are_a_fault_of_the_machines_after_a_few(
    cluster: FakeCluster, make: Callable[..., ClusterExecutor]
) -> None:
    executor = make({"a": {"CPU": 1}})
    executor.submit(question(), ERROR, one)
    for i in range(STARTS):
        assert len(cluster.started) == i + 1
        cluster.reports.put(AttemptLost(cluster.started[0][0], "Its process died.", False))
        executor.has_room(ERROR)
    with pytest.raises(MachineError, match=r"^3 workers .*cluster at home .*'error'.*process died"):
        executor.finished(0)
    assert not executor.is_busy()


def test_a_resource_that_nobody_offers_is_reported_when_patience_ends(
    cluster: FakeCluster, make: Callable[..., ClusterExecutor]
) -> None:
    executor = make({"a": {"CPU": 4, "GPU": 1}, "b": {"CPU": 4, "GPU": 1}}, patience=20.0)
    assert executor.has_room(ENERGY)  # one may wait for a worker that joins late
    executor.submit(question(1, "energy"), ENERGY, one)
    assert cluster.started[0][1] is None
    assert not executor.has_room(ENERGY)
    assert executor.has_room(TRAINED)
    assert executor.finished(0) == []
    cluster.now = 19.0
    assert executor.finished(0) == []
    cluster.now = 20.5
    with pytest.raises(MachineError) as caught:
        executor.finished(0)
    facts = ("'energy'", "CPU=1, jetson=1", "20 s", "fake cluster at home", "2 with CPU=4, GPU=1", "fake worker")
    assert all(fact in str(caught.value) for fact in facts)
    assert not executor.is_busy()
    assert cluster.stopped == [cluster.started[0][0]]


def test_a_worker_that_joins_late_is_waited_for(cluster: FakeCluster, make: Callable[..., ClusterExecutor]) -> None:
    executor = make({}, patience=20.0)
    executor.submit(question(1, "energy"), ENERGY, one)
    executor.finished(0)
    cluster.now = 19.0
    cluster.offer({"board": {"CPU": 1, "jetson": 1}})
    executor.finished(0)
    cluster.now = 100.0
    cluster.begin(place="board")
    assert executor.finished(0) == []
    assert not executor.has_room(ENERGY)


def test_a_cluster_without_workers_is_reported(cluster: FakeCluster, make: Callable[..., ClusterExecutor]) -> None:
    executor = make({}, patience=0.0)
    executor.submit(question(), ERROR, one)
    with pytest.raises(MachineError, match=r"'error'.*CPU=1 .*no worker\); .*fake worker\.$"):
        executor.finished(1)


def test_an_attempt_that_outruns_its_timeout_and_grace_is_stopped(
    cluster: FakeCluster, make: Callable[..., ClusterExecutor]
) -> None:
    executor = make({"a": {"CPU": 1}})
    executor.submit(question(), Objective("error", timeout=5.0), one)
    cluster.now = 100.0  # it may wait as long as it must
    attempt = cluster.begin()
    assert executor.finished(0) == []
    cluster.now = 105.9
    assert executor.finished(0) == []
    cluster.now = 106.1
    [outcome] = executor.finished(0)
    assert "timeout of 5 s" in outcome.reason
    assert outcome.cost == pytest.approx(6.1)
    assert cluster.stopped == [attempt]
    assert executor.has_room(ERROR)


def passed(cluster: FakeCluster, executor: ClusterExecutor, seconds: float) -> list[Outcome]:
    """Let time pass as while waiting, with looks in between, until there is an outcome."""
    end = cluster.now + seconds
    while cluster.now < end:
        cluster.now += 1.0
        if found := executor.finished(0):
            return found
    return []


def test_an_attempt_without_a_heartbeat_is_given_back_after_its_lease(
    cluster: FakeCluster, make: Callable[..., ClusterExecutor]
) -> None:
    executor = make({"a": {"CPU": 1}}, lease=10.0)
    executor.submit(question(), ERROR, one)
    attempt = cluster.begin()
    for _ in range(3):
        cluster.reports.put(AttemptHeard(attempt, cluster.now))
        assert passed(cluster, executor, 9.0) == []
    [outcome] = passed(cluster, executor, 5.0)
    assert (outcome.values, outcome.released, outcome.cost) == (None, True, 29.0)
    assert "10 s" in outcome.reason
    assert cluster.silenced == [attempt]
    assert executor.has_room(ERROR)


def test_an_attempt_whose_process_can_be_seen_to_run_is_not_given_back(
    cluster: FakeCluster, make: Callable[..., ClusterExecutor]
) -> None:
    executor = make({"a": {"CPU": 1}}, lease=10.0)
    executor.submit(question(), ERROR, one)
    cluster.reports.put(AttemptHeard(cluster.begin(), 0.0, ProcessIdentity.of_this_process()))
    assert passed(cluster, executor, 100.0) == []


def test_the_lease_begins_again_after_this_process_was_stopped_itself(
    cluster: FakeCluster, make: Callable[..., ClusterExecutor]
) -> None:
    executor = make({"a": {"CPU": 1}}, lease=10.0)
    executor.submit(question(), ERROR, one)
    cluster.reports.put(AttemptHeard(cluster.begin(), 0.0))
    cluster.now = 1000.0
    assert executor.finished(0) == []
    assert passed(cluster, executor, 10.0) == []
    assert passed(cluster, executor, 2.0)[0].released


def test_a_function_with_a_timeout_needs_no_heartbeats_while_it_runs(
    cluster: FakeCluster, make: Callable[..., ClusterExecutor]
) -> None:
    executor = make({"a": {"CPU": 1}}, lease=10.0)
    executor.submit(question(), Objective("error", timeout=50.0), one)
    cluster.reports.put(AttemptHeard(cluster.begin(), 0.0))
    [outcome] = passed(cluster, executor, 100.0)
    assert outcome.kind is FailureKind.TIMEOUT
    assert not outcome.released


def test_a_worker_that_the_cluster_does_not_hear_is_given_nothing_and_what_it_measured_is_given_back(
    cluster: FakeCluster, make: Callable[..., ClusterExecutor]
) -> None:
    executor = make({"a": {"CPU": 1}, "b": {"CPU": 1}})
    for number in range(2):
        executor.submit(question(number), ERROR, one)
    first = cluster.begin(0)
    cluster.now = 70.0
    cluster.reports.put(WorkersSeen({"a": {}, "b": {}, "c": {"CPU": 1}}, 70.0, frozenset("ab")))
    [outcome] = executor.finished(0)
    assert (outcome.evaluation.number, outcome.released) == (0, True)
    assert cluster.silenced == [first, cluster.started[1][0]]
    assert cluster.started[2] == (cluster.started[1][0], "c")  # it had not begun


def test_an_evaluation_that_is_given_back_again_and_again_fails(
    cluster: FakeCluster, make: Callable[..., ClusterExecutor]
) -> None:
    executor = make({"a": {"CPU": 1}})
    found = []
    for number in range(MOST_RELEASES + 1):
        executor.submit(question(0), ERROR, one)
        cluster.reports.put(AttemptLost(cluster.begin(), "Its machine was lost.", True, is_machine=True))
        found += executor.finished(0)
        assert len(found) == number + 1
    assert [outcome.released for outcome in found] == [True] * MOST_RELEASES + [False]
    assert found[-1].kind is FailureKind.LOST


def test_what_was_measured_is_told_before_a_fault_is_raised(
    cluster: FakeCluster, make: Callable[..., ClusterExecutor]
) -> None:
    executor = make({"a": {"CPU": 3}})
    for number in range(3):
        executor.submit(question(number), ERROR, one)
    cluster.reports.put(AttemptEnded(cluster.started[0][0], Fault("No meter.")))
    cluster.answer(1)
    assert not executor.has_room(ERROR)
    assert executor.is_busy()
    assert [outcome.evaluation.number for outcome in executor.finished()] == [1]
    assert executor.is_busy()
    with pytest.raises(MachineError, match=r"^No meter\.$"):
        executor.finished()
    assert not executor.is_busy()
    assert cluster.stopped == [cluster.started[2][0]]
    assert executor.has_room(ERROR)


def test_a_lost_cluster_is_raised_by_whatever_is_called(
    cluster: FakeCluster, make: Callable[..., ClusterExecutor]
) -> None:
    executor = make({"a": {"CPU": 1}})
    executor.submit(question(), ERROR, one)
    cluster.reports.put(ClusterLost("no answer"))
    with pytest.raises(MachineError, match=r"cluster at home .*lost \(no answer\);"):
        executor.finished()
    for call in (lambda: executor.has_room(ERROR), lambda: executor.submit(question(), ERROR, one)):
        with pytest.raises(MachineError, match=r"lost \(no answer\)"):
            call()
    assert not executor.is_busy()
    assert cluster.stopped == []  # there is nobody to tell


def test_reports_of_attempts_that_were_given_up_are_ignored(
    cluster: FakeCluster, make: Callable[..., ClusterExecutor]
) -> None:
    executor = make({"a": {"CPU": 1}})
    cluster.reports.put(AttemptBegan("nobody's", "a", 0.0))
    cluster.reports.put(AttemptLost("nobody's", "", True))
    assert executor.finished(0) == []
    assert not executor.is_busy()


def test_attempts_at_one_evaluation_have_different_names(
    cluster: FakeCluster, make: Callable[..., ClusterExecutor]
) -> None:
    executor = make({"a": {"CPU": 2}})
    for _ in range(2):
        executor.submit(question(7), ERROR, one)
    names = [attempt for attempt, _ in cluster.started]
    assert len(set(names)) == 2
    assert all(name.startswith("7-") for name in names)


def test_closing_ends_everything_once(cluster: FakeCluster, make: Callable[..., ClusterExecutor]) -> None:
    with make({"a": {"CPU": 1}}) as executor:
        executor.submit(question(), ERROR, one)
    executor.close()
    assert cluster.closed == 1
    assert not executor.is_busy()
    assert executor.finished() == []
    with pytest.raises(InvalidValueError, match="executor is closed"):
        executor.submit(question(), ERROR, one)


def test_a_function_that_cannot_be_sent_is_named(cluster: FakeCluster, make: Callable[..., ClusterExecutor]) -> None:
    executor, sink = make({"a": {"CPU": 1}}), SimpleQueue[int]()
    with pytest.raises(InvalidTypeError, match="function of 'error'"):
        executor.submit(question(), ERROR, lambda design: sink.put(1))
    assert not executor.is_busy()
    assert cluster.started == []


@pytest.mark.parametrize(
    ("settings", "facts"),
    [
        ({"address": ""}, r"^address is '';.*its address"),
        ({"n": 0}, "^n is 0;"),
        ({"patience": -1}, "^patience is -1;"),
        ({"resources": {"CPU": 2}}, "^resources names CPU"),
        ({"resources": {"GPU": 2}}, "^resources .*start --resources"),
    ],
)
def test_wrong_settings_are_told(settings: dict[str, object], facts: str) -> None:
    given: dict[str, object] = {"address": None, "n": None, "resources": None, "patience": 1.0, "lease": 60.0}
    with pytest.raises(InvalidValueError, match=facts):
        checked_resources_to_offer(**(given | settings), whose="its address", starts_one=False, command="start")  # type: ignore[arg-type]
