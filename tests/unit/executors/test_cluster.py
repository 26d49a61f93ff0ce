"""The bookkeeping of executors on clusters, with a cluster that does what a test says."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable, Mapping
from queue import SimpleQueue

import pytest

from flexibo import Design, Evaluation, Objective
from flexibo.errors import InvalidTypeError, InvalidValueError, MachineError, MissingExtraError
from flexibo.executors._capacity import Amounts, ClusterCapacity, needed
from flexibo.executors._cluster import STARTS, ClusterExecutor, checked_resources_to_offer
from flexibo.executors._messages import (
    HERE,
    AttemptBegan,
    AttemptEnded,
    AttemptLost,
    ClusterLost,
    ClusterTask,
    Fault,
    Job,
    Loaded,
    Report,
    WorkerAnswer,
    WorkersSeen,
    loaded,
    packed,
    task_of,
)
from flexibo.executors.dask import DaskExecutor
from flexibo.executors.ray import RayExecutor

ERROR = Objective("error")
TRAINED = Objective("error", resources={"GPU": 1})
ENERGY = Objective("energy", resources={"jetson": 1})


class FakeCluster:
    """Takes attempts, and reports what a test lets it report."""

    about = "fake cluster at home"
    grace = 1.0

    def __init__(self, *, pins: bool = True) -> None:
        self.reports: SimpleQueue[Report] = SimpleQueue()
        self.pins = pins
        self.now = 0.0
        self.started: list[tuple[str, str | None]] = []
        self.stopped: list[str] = []
        self.marks: set[str] = set()
        self.closed = 0

    def start(self, attempt: str, job: Job, needs: Amounts, place: str | None) -> None:
        self.started.append((attempt, place))

    def stop(self, attempt: str) -> None:
        self.stopped.append(attempt)

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


def question(number: int = 0, objective: str = "error") -> Evaluation:
    return Evaluation(Design({"x": number}), objective, None, 0.0, "", number, (objective,))


def one(design: Design) -> float:
    return 1.0


@pytest.fixture
def cluster() -> FakeCluster:
    return FakeCluster()


@pytest.fixture
def make(cluster: FakeCluster) -> Callable[..., ClusterExecutor]:
    def make(offers: Mapping[str, Amounts], **settings: object) -> ClusterExecutor:
        cluster.offer(offers)
        return ClusterExecutor(cluster, clock=lambda: cluster.now, **settings)  # type: ignore[arg-type]

    return make


def test_a_worker_with_little_else_to_offer_is_taken_first_and_the_least_busy_of_these() -> None:
    offers = ClusterCapacity()
    offers.update({"gpu": {"CPU": 8, "GPU": 1}, "small": {"CPU": 1}, "large": {"CPU": 2}})
    places = []
    for name in "abcd":
        places.append(offers.place(needed(ERROR)))
        offers.reserve(name, places[-1], needed(ERROR))
    assert places[0] == "large"
    assert sorted(map(str, places[1:3])) == ["large", "small"]
    assert places[3] == "gpu"


def test_what_is_given_back_can_be_taken_again_and_fractions_add_up() -> None:
    offers = ClusterCapacity()
    offers.update({"a": {"CPU": 9, "GPU": 1}})
    third = {"CPU": 1.0, "GPU": 1 / 3}
    for name in "abc":
        assert offers.place(third) == "a"
        offers.reserve(name, "a", third)
    assert offers.place(third) is None
    offers.release("b")
    assert offers.place(third) == "a"


def test_workers_that_share_a_resource_take_no_more_of_it_than_there_is() -> None:
    offers = ClusterCapacity(total={"GPU": 1})
    offers.update({"a": {"CPU": 1, "GPU": 1}, "b": {"CPU": 1, "GPU": 1}})
    offers.reserve("first", offers.place(needed(TRAINED)), needed(TRAINED))
    assert offers.place(needed(TRAINED)) is None
    assert offers.place(needed(ERROR)) is not None
    assert not offers.could_fit({"CPU": 1, "GPU": 2})


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
    assert outcome.reason == f"Its worker ({place}) died."
    assert cluster.stopped == [lost]
    assert len(cluster.started) == 2  # whether to try again is the study's to decide
    cluster.answer(1)
    assert [o.values for o in executor.finished(0)] == [{"error": 1.0}]


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
        cluster.reports.put(AttemptLost(cluster.started[0][0], "Its worker process died.", False))
        executor.has_room(ERROR)
    with pytest.raises(MachineError, match=r"^3 workers of the fake cluster at home ended before they began"):
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
    with pytest.raises(MachineError, match=r"\(it has no worker\); start a worker that does: fake worker\.$"):
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
    assert outcome.reason == "It took longer than its timeout of 5 s."
    assert outcome.cost == pytest.approx(6.1)
    assert cluster.stopped == [attempt]
    assert executor.has_room(ERROR)


def test_what_was_measured_is_told_before_a_fault_is_raised(
    cluster: FakeCluster, make: Callable[..., ClusterExecutor]
) -> None:
    executor = make({"a": {"CPU": 3}})
    for number in range(3):
        executor.submit(question(number), ERROR, one)
    cluster.reports.put(AttemptEnded(cluster.started[0][0], Fault("The meter is unplugged.")))
    cluster.answer(1)
    assert not executor.has_room(ERROR)
    assert executor.is_busy()
    assert [outcome.evaluation.number for outcome in executor.finished()] == [1]
    assert executor.is_busy()
    with pytest.raises(MachineError, match=r"^The meter is unplugged\.$"):
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
    with pytest.raises(MachineError, match=r" is lost \(no answer\); .* resume the study\.$"):
        executor.finished()
    for call in (lambda: executor.has_room(ERROR), lambda: executor.submit(question(), ERROR, one)):
        with pytest.raises(MachineError, match=r"is lost \(no answer\)"):
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
    with pytest.raises(InvalidValueError, match=r"^This executor is closed; make a new one\.$"):
        executor.submit(question(), ERROR, one)


def test_a_function_that_cannot_be_sent_is_named(cluster: FakeCluster, make: Callable[..., ClusterExecutor]) -> None:
    executor, sink = make({"a": {"CPU": 1}}), SimpleQueue[int]()
    with pytest.raises(InvalidTypeError, match=r"^The function of 'error' cannot be sent"):
        executor.submit(question(), ERROR, lambda design: sink.put(1))
    assert not executor.is_busy()
    assert cluster.started == []


def test_a_task_brings_its_function_once() -> None:
    calls: list[int] = []

    def measure(design: Design) -> float:
        calls.append(1)
        return float(len(calls))

    job = packed(question(3), TRAINED, measure)
    assert loaded(task_of("3-a", job, with_function=False)) is None
    first = loaded(pickle.loads(pickle.dumps(task_of("3-a", job, with_function=True))))
    again = loaded(task_of("3-b", job, with_function=False))
    assert isinstance(first, Loaded)
    assert isinstance(again, Loaded)
    assert (first.evaluation, first.objective) == (job.evaluation, TRAINED)
    assert [first.measure(Design({})), again.measure(Design({}))] == [1.0, 2.0]  # the same function, with its memory


def test_another_python_and_what_cannot_be_loaded_are_told_in_a_sentence() -> None:
    other = ClusterTask("0-a", "error", (HERE[0], HERE[1] + 1), "other", b"junk", b"junk")
    reply = loaded(other)
    assert isinstance(reply, Fault)
    assert f"runs Python {HERE[0]}.{HERE[1]}, and this study {HERE[0]}.{HERE[1] + 1};" in reply.reason
    reply = loaded(ClusterTask("0-a", "error", HERE, "junk", b"cnowhere\nf\n.", b""))
    assert isinstance(reply, Fault)
    assert reply.reason.startswith("The function of 'error' cannot be loaded by a worker on ")
    assert "No module named 'nowhere'" in reply.reason


@pytest.mark.parametrize(("library", "executor"), [("distributed", DaskExecutor), ("ray", RayExecutor)])
def test_a_missing_library_names_the_extra_to_install(
    library: str, executor: type[ClusterExecutor], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    extra = {"distributed": "dask"}.get(library, library)
    with pytest.raises(MissingExtraError, match=rf"pip install 'flexibo\[{extra}\]'\.$"):
        executor()  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"address": ""}, "address is ''; give its address as text, or leave it out to start one here."),
        ({"n": 0}, "n is 0; it must be a whole number, 1 or more."),
        ({"patience": -1}, "patience is -1; it must be a number of seconds, zero or more."),
        ({"resources": {"CPU": 2}}, "resources names CPU"),
        ({"resources": {"GPU": 2}}, "start --resources"),
    ],
)
def test_wrong_settings_are_told(settings: dict[str, object], sentence: str) -> None:
    given: dict[str, object] = {"address": None, "n": None, "resources": None, "patience": 1.0}
    with pytest.raises(InvalidValueError) as caught:
        checked_resources_to_offer(**(given | settings), whose="its address", starts_one=False, command="start")  # type: ignore[arg-type]
    assert sentence in str(caught.value)
