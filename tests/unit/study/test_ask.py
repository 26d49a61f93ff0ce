"""One study, several workers: what each is asked, what is claimed, taken over, charged and waited for."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.study.small_studies import FUNCTIONS, answered, asked, opened, robbed

from flexibo import Study
from flexibo.errors import DesignError, InvalidTypeError, InvalidValueError, UnknownNameError
from flexibo.executors import Outcome
from flexibo.history.events import Evaluation, Failed, Noted, Reissued, Released, Spent, Told
from flexibo.optimizer import Stop, StopKind
from flexibo.storage import MemoryStorage, Sign


@pytest.mark.parametrize("method", ["flexibo", "random", "sobol", "parego", "nsga2"])
def test_two_workers_are_never_asked_the_same(method: str) -> None:
    storage = MemoryStorage()
    studies = [opened(storage, method=method, budget=30), opened(storage, method=method, budget=30)]
    seen: list[tuple[Any, str]] = []
    for step in range(8):
        pair = [study.ask() for study in studies]
        seen += [(e.design, e.objective) for e in pair if e is not None]
        for study, evaluation in zip(studies, pair if step % 2 else pair[::-1], strict=True):
            if evaluation is not None:
                answered(study, evaluation)
    assert len(seen) > 8
    assert len(set(seen)) == len(seen)
    studies[0].refresh()
    studies[1].refresh()
    assert studies[0].events == studies[1].events


def test_a_thought_that_another_worker_had_first_is_thought_anew_with_other_candidates() -> None:
    storage = MemoryStorage()
    first, second = opened(storage), opened(storage)
    while (evaluation := asked(first)).initial:
        answered(first, evaluation)
    first.release(evaluation)
    second.refresh()
    thought = second._mind.optimizer.ask(second.history)
    assert isinstance(thought, Evaluation)
    claimed: list[Evaluation] = []
    think = second._mind.optimizer.ask

    def disturbed(history: Any, **how: Any) -> Any:
        answer = think(history, **how)
        if not claimed:
            claimed.append(asked(first))
        return answer

    second._mind.optimizer.ask = disturbed  # type: ignore[method-assign]
    mine = asked(second)
    assert claimed[0].design == thought.design
    assert (mine.design, mine.objective) != (claimed[0].design, claimed[0].objective)
    assert mine.number == claimed[0].number + 1


def test_a_thought_that_is_still_open_is_claimed_although_others_wrote_meanwhile() -> None:
    storage = MemoryStorage()
    first, second = opened(storage), opened(storage)
    waiting = asked(first)
    think, thoughts = second._mind.optimizer.ask, []

    def disturbed(history: Any, **how: Any) -> Any:
        thoughts.append(think(history, **how))
        answered(first, waiting)
        return thoughts[-1]

    second._mind.optimizer.ask = disturbed  # type: ignore[method-assign]
    assert asked(second).number == 1
    assert len(thoughts) == 1


def test_many_are_asked_at_once_and_differ() -> None:
    study = opened(None)
    evaluations = study.ask(5)
    assert [e.number for e in evaluations] == [0, 1, 2, 3, 4]
    assert len({(e.design, e.objective) for e in evaluations}) == 5
    assert len(study.ask(50)) == 1  # the sixth of the initial evaluations; the rest waits for values
    with pytest.raises(InvalidValueError, match="k is 0"):
        study.ask(0)


def test_only_what_a_worker_can_measure_is_asked_of_it() -> None:
    storage = MemoryStorage()
    trainer, board = opened(storage), opened(storage)
    for _ in range(6):
        error, energy = trainer.ask(only=["a"]), board.ask(only=["b"])
        assert error is None or error.objective == "a"
        assert energy is None or energy.objective == "b"
        for study, evaluation in ((trainer, error), (board, energy)):
            if evaluation is not None:
                answered(study, evaluation)
    board.refresh()
    assert board.history.count(0) == board.history.count(1) == 6
    with pytest.raises(UnknownNameError, match="did you mean"):
        trainer.ask(only=["aa"])
    with pytest.raises(InvalidTypeError, match="only is 'a'"):
        trainer.ask(only="a")


@pytest.mark.parametrize("method", ["parego", "ehvi", "sobol"])
def test_the_parts_of_a_bundle_go_to_the_workers_that_can_measure_them(method: str) -> None:
    storage = MemoryStorage()
    trainer, board = opened(storage, method=method), opened(storage, method=method)
    while (evaluation := asked(trainer)).initial:
        answered(trainer, evaluation)
    for part in (evaluation, asked(trainer)):
        answered(trainer, part)
    designs = [asked(trainer, only=["a"]).design for _ in range(3)]
    assert [asked(board, only=["b"]).design for _ in range(3)] == designs


def test_what_a_vanished_worker_left_is_measured_by_the_next_and_nothing_is_asked_differently() -> None:
    alone = opened(MemoryStorage(), budget=28)
    expected = []
    while (evaluation := alone.ask()) is not None:
        expected.append((evaluation.design, evaluation.objective))
        answered(alone, evaluation)
    storage = MemoryStorage()
    found = []
    for kill_at in (2, 5, 7, 10**9):
        study = opened(storage, budget=28)
        while (evaluation := study.ask()) is not None:
            if evaluation.number == kill_at and evaluation.number not in [n for n, *_ in found]:
                break
            found = [f for f in found if f[0] != evaluation.number]
            found.append((evaluation.number, evaluation.design, evaluation.objective))
            answered(study, evaluation)
        study.close()
    assert [(design, objective) for _, design, objective in found] == expected
    assert sum(isinstance(event, Reissued) for event in opened(storage).events) == 3


def test_the_time_a_vanished_worker_spent_is_charged_and_replaced_by_its_late_answer() -> None:
    storage = MemoryStorage()
    first, second = opened(storage), opened(storage)
    e = asked(first)
    first.tell_outcome(Outcome(e, {"a": 0.5}, 3.0))
    lost = asked(first, only=["a"])
    worker = first._heartbeat.worker
    storage.sign(worker, Sign(9, first._heartbeat.seconds + 100.0, -1.0, {"host": "far"}))
    second._heartbeat._is_gone = lambda worker, sign: True  # type: ignore[method-assign]
    again = asked(second)
    assert again == lost
    assert second.spent == pytest.approx(103.0, abs=1.0)
    first.tell_outcome(Outcome(lost, {"a": 0.4}, 120.0))
    second.refresh()
    assert second.spent == pytest.approx(123.0)
    second.tell_outcome(Outcome(again, {"a": 0.4}, 7.0))
    assert second.spent == pytest.approx(130.0), "the second answer counts by its cost alone"
    assert isinstance(second.events[-1], Spent)
    assert sum(isinstance(event, Told) and event.number == lost.number for event in second.events) == 1


def test_costs_in_units_of_their_own_are_charged_as_expected_when_a_worker_vanishes() -> None:
    storage = MemoryStorage()
    first, second = opened(storage), opened(storage)
    answered(first, asked(first, only=["a"]))
    lost = asked(first, only=["a"])
    assert lost.cost == 5.0
    storage.sign(first._heartbeat.worker, Sign(9, 3600.0, 60.0, {"host": "far"}))
    second._heartbeat._is_gone = lambda worker, sign: True  # type: ignore[method-assign]
    asked(second)
    assert second.spent == 10.0


def test_what_a_vanished_worker_left_is_given_back_by_one_that_cannot_measure_it() -> None:
    storage = MemoryStorage()
    first, second = opened(storage), opened(storage)
    lost = asked(first, only=["a"])
    first.close()
    asked(second, only=["b"])
    assert Released(lost.number, "Its worker vanished.") in second.events
    assert asked(second, only=["a"]).design == lost.design


def test_what_a_living_worker_holds_is_left_alone() -> None:
    storage = MemoryStorage()
    first, second = opened(storage), opened(storage)
    held = first.ask(6)
    assert second.ask() is None
    assert second.stop_kind is StopKind.WAITING
    assert isinstance(stop := second.ask_or_stop(), Stop)
    assert stop.waits
    assert second.pending == tuple(held)


def test_a_worker_of_some_objectives_waits_while_others_must_measure_first() -> None:
    storage = MemoryStorage()
    board = opened(storage)
    for _ in range(3):
        answered(board, asked(board, only=["b"]))
    stop = board.ask_or_stop(["b"])
    assert isinstance(stop, Stop)
    assert (stop.kind, stop.waits) == (StopKind.WAITING, True)


def test_the_budget_is_reserved_for_what_others_measure() -> None:
    storage = MemoryStorage()
    first, second = opened(storage, budget=40), opened(storage, budget=40)
    while (evaluation := asked(first)).initial:
        answered(first, evaluation)
    answered(first, evaluation)
    spent, held = first.spent, []
    while (evaluation := (first if len(held) % 2 else second).ask()) is not None:
        held.append(evaluation)
    assert spent + sum(e.cost for e in held) <= 40
    assert spent + sum(e.cost for e in held) > 34


def test_a_budget_is_not_overdrawn_by_two_that_thought_at_the_same_time() -> None:
    storage = MemoryStorage()
    first, second = opened(storage, budget=24), opened(storage, budget=24)
    while first.spent < 18:
        answered(first, asked(first))
    think = second._mind.optimizer.ask
    taken: list[Evaluation] = []

    def disturbed(history: Any, **how: Any) -> Any:
        answer = think(history, **how)
        if not taken:
            taken.append(asked(first, only=["a"]))
        return answer

    second._mind.optimizer.ask = disturbed  # type: ignore[method-assign]
    second.refresh()
    mine = second.ask(only=["a"])
    assert mine is None
    assert first.spent + taken[0].cost <= 24


def test_an_impossible_design_is_not_asked_again_and_keeps_its_other_values() -> None:
    tried: list[Any] = []

    def broken(design: Any) -> float:
        tried.append(design)
        raise DesignError("Out of memory.")

    study = opened(None, budget=30, method="random")
    study.run({"a": lambda d: broken(d) if d["k"] == 3 else FUNCTIONS["a"](d), "b": FUNCTIONS["b"]})
    assert tried
    assert len({tuple(design.items()) for design in tried}) == len(tried)
    failed = [event for event in study.events if isinstance(event, Failed)]
    assert all(event.impossible and event.reason == "Out of memory." for event in failed)
    assert any(row.design["k"] == 3 for row in study.front()) or study.history.count(1) > 0


def test_failing_by_hand_as_impossible_ends_the_attempts() -> None:
    study = opened(None)
    evaluation = asked(study)
    study.fail(evaluation, "no such layer", impossible=True)
    for other in study.ask(50):
        assert (other.design, other.objective) != (evaluation.design, evaluation.objective)


def test_notes_are_kept_and_decide_nothing() -> None:
    storage = MemoryStorage()
    study = opened(storage)
    plain = opened(None)
    study.note("New fan.")
    assert Noted("New fan.") in opened(storage).events
    assert asked(study) == asked(plain)
    with pytest.raises(InvalidTypeError, match=r"note.*'  '"):
        study.note("  ")


def test_what_six_dead_workers_left_is_not_paid_beyond_the_budget() -> None:
    storage = MemoryStorage()
    first, second = opened(storage, budget=40), opened(storage, budget=40)
    while first.spent < 20:
        answered(first, asked(first))
    held = []
    while (evaluation := first.ask()) is not None:
        held.append(evaluation)
    assert len(held) > 3
    second._heartbeat._is_gone = lambda worker, sign: True  # type: ignore[method-assign]
    while (evaluation := second.ask()) is not None:
        answered(second, evaluation)
    assert second.spent <= 40


def test_an_attempt_lost_before_its_first_sign_is_charged_where_functions_tell_costs() -> None:
    storage = MemoryStorage()
    first, second = opened(storage), opened(storage)
    answered(first, asked(first, only=["a"]))
    robbed(storage, first, second, only=["a"])
    assert second.spent == 10.0


def test_an_evaluation_that_ends_its_workers_counts_as_failed_after_three() -> None:
    storage = MemoryStorage()
    poison = None
    for _ in range(3):
        study = opened(storage)
        evaluation = asked(study)
        poison = poison or evaluation
        assert evaluation == poison
        study.close()
    study = opened(storage)
    assert asked(study) != poison
    (failed,) = [event for event in study.events if isinstance(event, Failed)]
    assert failed.number == poison.number
    assert "3 attempts" in failed.reason


def test_a_meter_that_was_broken_through_many_restarts_costs_no_design_its_chance() -> None:
    def broken(design: Any) -> float:
        raise RuntimeError("The meter is off.")

    study = opened(None, budget=100, method="random")
    for _ in range(6):
        study.run({"a": broken, "b": FUNCTIONS["b"]}, raise_first=False)
        assert study.stop_kind is StopKind.FAILING
    study.run(FUNCTIONS)
    assert study.history.count(0) >= 3
    assert study.spent > 80


@pytest.mark.parametrize("method", ["parego", "ehvi"])
def test_the_half_of_a_design_that_was_given_back_is_asked_again(method: str) -> None:
    study = opened(None, method=method)
    while (evaluation := asked(study)).initial:
        answered(study, evaluation)
    study.release(evaluation)
    again = asked(study)
    assert again.design == evaluation.design
    answered(study, again)
    rest = asked(study)
    assert rest.design == evaluation.design
    assert {again.objective, rest.objective} == {"a", "b"}
    study.release(rest)
    assert asked(study).design == evaluation.design


def test_a_worker_whose_objective_is_known_everywhere_does_not_speak_of_the_budget() -> None:
    space = {"k": [1, 2, 3, 4]}
    study = Study(space, ["a", "b"], seed=0, n_initial=2, budget=1000, reference={"a": 0.0, "b": 5.0})
    for _ in range(4):
        evaluation = asked(study, only=["b"])
        study.tell(evaluation, float(evaluation.design["k"]), cost=1.0)
        while (other := study.ask(only=["a"])) is not None and other.initial:
            study.tell(other, -float(other.design["k"]), cost=1.0)
    assert study.ask(only=["b"]) is None
    assert study.stop_kind is StopKind.FINISHED
    assert "measured in b," in study.stopped
