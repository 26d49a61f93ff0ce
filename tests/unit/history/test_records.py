"""What a history records of its designs, purchases and objectives."""

from __future__ import annotations

import numpy as np
import pytest

from flexibo import Objective, Space
from flexibo.history._records import MAX_ATTEMPTS, DesignSeries, ObjectiveRecord, Payments, PurchaseRecord, SeenDesigns
from flexibo.history.events import FailureKind
from flexibo.objectives import purchases

SPACE = Space({"x": (0.0, 1.0), "cores": (1, 6)})


def row(x: float, cores: int = 1) -> np.ndarray:
    return SPACE.designs([{"x": x, "cores": cores}]).codes[0]


def purchase_record(retries: int | None = None) -> PurchaseRecord:
    return PurchaseRecord(*(DesignSeries(SPACE) for _ in range(3)), retries)


def test_numbers_are_given_with_their_designs_and_cannot_be_changed() -> None:
    series = DesignSeries(SPACE)
    designs, numbers = series.arrays()
    assert (len(designs), numbers.shape) == (0, (0,))
    series.append(row(0.25, 3), 7.0)
    series.append(row(0.5), 8.0)
    designs, numbers = series.arrays()
    assert [dict(design) for design in designs] == [{"x": 0.25, "cores": 3}, {"x": 0.5, "cores": 1}]
    assert series.arrays()[1] is numbers, "computed once"
    with pytest.raises(ValueError, match="read-only"):
        numbers[0] = 1.0
    series.append(row(0.75), 9.0)
    assert series.arrays()[1].tolist() == [7.0, 8.0, 9.0]


def test_payments_are_known_by_evaluation_in_order_and_again_from_their_pairs() -> None:
    payments = Payments()
    for number, event in ((3, 7), (0, 9), (3, 11), (3, 12)):
        payments.add(number, event)
    again = Payments()
    again.begin_with(np.array(payments.pairs()))
    again.add(5, 20)
    assert [again.of(number) for number in (-1, 0, 1, 3, 5, 6)] == [[], [9], [], [7, 11, 12], [20], []]
    empty = Payments()
    empty.begin_with(np.array(empty.pairs(), dtype=np.int64).reshape(-1, 2))
    assert empty.of(0) == []


def test_a_purchase_is_closed_while_it_is_pending_and_once_it_is_measured_or_hopeless() -> None:
    record = purchase_record()
    record.pending.update([1, 1, 2])
    record.measured.add(3)
    record.impossible.add(4)
    for attempt in range(MAX_ATTEMPTS):
        record.fail(5, FailureKind.ERROR, f"error {attempt}", impossible=False)
        if attempt:
            record.fail(6, FailureKind.ERROR, f"error {attempt}", impossible=False)
    assert record.closed(remeasured=False) == {1, 2, 3, 4, 5}
    assert record.closed(remeasured=True) == {1, 2, 4, 5}
    assert record.hopeless() == {4, 5}
    assert [record.is_hopeless(key) for key in (4, 5, 6, 7)] == [True, True, False, False]


@pytest.mark.parametrize(
    ("kind", "reasons", "attempts"),
    [
        (FailureKind.TIMEOUT, ["late"], 1),
        (FailureKind.VALUE, ["nan"], 1),
        (FailureKind.ERROR, ["no memory", "no memory"], 2),
        (FailureKind.ERROR, ["no memory", "no disk", "no network"], 3),
        (FailureKind.LOST, ["killed", "killed", "killed"], 3),
    ],
)
def test_the_kind_of_a_failure_says_how_often_it_is_tried(kind: FailureKind, reasons: list[str], attempts: int) -> None:
    record = purchase_record()
    for count, reason in enumerate(reasons, start=1):
        assert not record.is_hopeless(1)
        record.fail(1, kind, reason, impossible=False)
        assert record.is_hopeless(1) == (count == attempts)


@pytest.mark.parametrize("kind", list(FailureKind))
def test_given_retries_count_for_every_kind_of_failure(kind: FailureKind) -> None:
    record = purchase_record(retries=1)
    record.fail(1, kind, "same", impossible=False)
    assert not record.is_hopeless(1)
    record.fail(1, kind, "same", impossible=False)
    assert record.is_hopeless(1)
    never = purchase_record(retries=0)
    never.fail(1, kind, "same", impossible=False)
    assert never.is_hopeless(1)
    assert purchase_record(retries=5).hopeless() == set()


def test_a_lost_worker_is_no_failure_of_the_design_until_it_is_given_up() -> None:
    record = purchase_record()
    record.fail(1, FailureKind.ERROR, "no memory", impossible=False)
    for count in range(MAX_ATTEMPTS):
        assert record.failed() == {1}, count
        record.fail(2, FailureKind.LOST, "killed", impossible=False)
    assert record.failed() == {1, 2}
    record.measured.add(1)
    assert record.failed() == {2}
    record.impossible.add(3)
    record.forgive()
    assert record.failed() == record.hopeless() == {3}


def test_a_key_is_pending_until_all_its_evaluations_have_ended() -> None:
    record = purchase_record()
    record.pending.update([1, 1])
    record.end(1)
    assert record.closed(remeasured=True) == {1}
    record.end(1)
    assert record.closed(remeasured=True) == set()
    assert len(record.pending) == 0, "what has ended is not kept"


def test_an_objective_remembers_its_first_and_its_latest_loss() -> None:
    record = ObjectiveRecord(DesignSeries(SPACE))
    record.add(1, row(0.5), 3.0, events=4)
    record.add(1, row(0.5), 2.0, events=9)
    record.add(2, row(0.25), 1.0, events=10)
    assert record.first == {1: (4, 3.0), 2: (10, 1.0)}
    assert record.latest == {1: 2.0, 2: 1.0}
    assert record.losses.arrays()[1].tolist() == [3.0, 2.0, 1.0]


def test_designs_are_kept_once_in_the_order_of_their_first_occurrence() -> None:
    seen = SeenDesigns(SPACE, purchases([Objective("a")]))
    assert len(seen.designs()) == 0
    given = [SPACE.design({"x": x, "cores": 1}) for x in (0.75, 0.25, 0.75, 0.5)]
    for design in given:
        seen.row(design)
    assert list(seen.designs()) == [given[0], given[1], given[3]]
    seen.row(SPACE.design({"x": 0.0, "cores": 1}))
    assert len(seen.designs()) == 4


def test_designs_that_differ_in_what_an_objective_ignores_have_one_key_for_it() -> None:
    objectives = (Objective("error", options=["x"]), Objective("joules"))
    seen = SeenDesigns(SPACE, purchases(objectives))
    one, other = SPACE.design({"x": 0.5, "cores": 1}), SPACE.design({"x": 0.5, "cores": 6})
    assert seen.key(0, one) == seen.key(0, other) == seen.objective_key(objectives[0], other)
    assert seen.key(1, one) != seen.key(1, other)
    assert seen.objective_key(objectives[1], one) != seen.objective_key(objectives[1], other)
