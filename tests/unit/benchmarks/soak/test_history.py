"""Histories that break one law each: the checker must find every one of them, and nothing else."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

pytest.importorskip("benchmarks.soak", reason="the benchmarks lie beside the tests in the repository only")

from benchmarks.soak.history import Loss, answers_wrong, holders_wrong, kept_wrong
from benchmarks.soak.journal import Answered, Claim

DESIGN = {"x": 0.5, "k": 1, "n": 9}
OTHER = {"x": 0.6, "k": 1, "n": 9}
CLAIM = Claim("ada", 0, "a1", "energy", DESIGN, since=1.0, until=2.0)
SAFE = Answered(CLAIM, "told", {"energy": 2.0}, 1.25, "safe")
FAILURE = Answered(CLAIM, "failed", None, 1.25, "safe")
UNKNOWN, REFUSED, KEPT = (replace(SAFE, outcome=outcome) for outcome in ("unknown", "refused", "kept"))


def asked(number: int = 0, token: str = "a1", design: dict[str, Any] = DESIGN, **fields: Any) -> dict[str, Any]:
    return {"event": "asked", "number": number, "objective": "energy", "design": design, "token": token} | fields


def told(number: int = 0, token: str = "a1", cost: float = 1.25, energy: float = 2.0) -> dict[str, Any]:
    return {"event": "told", "number": number, "values": {"energy": energy}, "cost": cost, "token": token}


def failed(**fields: Any) -> dict[str, Any]:
    return {"event": "failed", "number": 0, "reason": "", "cost": 1.25, "token": "a1"} | fields


def spent(cost: float = 1.25, token: str = "a1") -> dict[str, Any]:
    return {"event": "spent", "number": 0, "cost": cost, "token": token}


def rows(*events: dict[str, Any]) -> list[tuple[int, dict[str, Any]]]:
    return list(enumerate(events))


@pytest.mark.parametrize(
    ("events", "answer"),
    [
        ([asked(), told()], SAFE),
        ([asked(), failed()], FAILURE),
        ([asked(), spent()], SAFE),  # another attempt had answered
        ([asked(), told()], UNKNOWN),
        ([asked()], UNKNOWN),
        ([asked()], KEPT),
        ([asked()], REFUSED),
    ],
)
def test_a_history_that_keeps_the_laws_is_right(events: list[dict[str, Any]], answer: Answered) -> None:
    assert answers_wrong(rows(*events), [answer]) == []


@pytest.mark.parametrize(
    ("events", "answers", "facts"),
    [
        pytest.param([asked()], [SAFE], ["0 times"], id="lost"),
        pytest.param([asked(), told(), told()], [SAFE], ["2 times"], id="doubled"),
        pytest.param([asked(), told(), spent()], [SAFE], ["2 times"], id="charged twice"),
        pytest.param([asked(), told(), told()], [UNKNOWN], ["2 times"], id="doubled by a retry"),
        pytest.param([asked(), told(energy=3.0)], [SAFE], ["stored as"], id="another value"),
        pytest.param([asked(), told(cost=1.5)], [SAFE], ["stored as"], id="another cost"),
        pytest.param([asked(), spent(cost=1.5)], [SAFE], ["stored as"], id="another cost of a late answer"),
        pytest.param([asked(), failed()], [SAFE], ["stored as"], id="a value stored as a failure"),
        pytest.param([asked(), told()], [FAILURE], ["stored as"], id="a failure stored as a value"),
        pytest.param([asked(design=OTHER), told()], [SAFE], ["stored for"], id="another design"),
        pytest.param([asked(objective="error"), told()], [SAFE], ["stored for"], id="another objective"),
        pytest.param([asked(), asked(1, "b1", OTHER), told(1)], [SAFE], ["stored for"], id="another question"),
        pytest.param([told()], [SAFE], ["stored for"], id="a question that was not asked"),
        pytest.param([asked(), told()], [REFUSED], ["1 times"], id="refused and stored"),
        pytest.param([asked(), told()], [KEPT], ["1 times"], id="kept aside and stored"),
        pytest.param([asked(), told(token="c1")], [UNKNOWN], ["Nobody"], id="invented"),
        pytest.param(
            [asked(), told(token="c1"), spent(token="c1")], [], ["Nobody", "Nobody", "2 times"], id="stranger"
        ),
    ],
)
def test_an_answer_that_breaks_a_law_is_found(
    events: list[dict[str, Any]], answers: list[Answered], facts: list[str]
) -> None:
    wrong = answers_wrong(rows(*events), answers)
    assert len(wrong) == len(facts)
    assert all(fact in sentence for fact, sentence in zip(facts, wrong, strict=True))


def test_only_what_the_store_lost_itself_may_be_missing() -> None:
    lost = Loss([(1, told())], at=3.0)
    assert answers_wrong(rows(asked()), [SAFE], [lost]) == []
    assert len(answers_wrong(rows(asked()), [SAFE], [Loss([(1, told(token="b1"))], at=3.0)])) == 1
    (misplaced,) = answers_wrong(rows(asked(design=OTHER), told()), [SAFE], [lost])
    assert "stored for" in misplaced


BOB = replace(CLAIM, holder="bob", token="b1", since=1.5, until=2.5)


@pytest.mark.parametrize(
    "second",
    [
        pytest.param(BOB, id="taken over"),
        pytest.param(replace(BOB, number=7), id="asked again under another number"),
        pytest.param(replace(BOB, since=0.5), id="before"),
        pytest.param(replace(BOB, since=1.1, until=1.2), id="within"),
        pytest.param(replace(BOB, until=math.inf), id="never answered"),
        pytest.param(replace(BOB, token="a1"), id="the same attempt"),
    ],
)
def test_a_question_in_the_hands_of_two_living_workers_is_found(second: Claim) -> None:
    assert len(holders_wrong([CLAIM, second])) == len(holders_wrong([second, CLAIM])) == 1


def test_an_overlap_with_a_claim_before_the_last_one_is_found() -> None:
    claims = [replace(CLAIM, until=9.0), replace(BOB, since=0.1, until=0.2), replace(BOB, holder="cid", since=5.0)]
    (wrong,) = holders_wrong(claims)
    assert "ada" in wrong
    assert "cid" in wrong


@pytest.mark.parametrize(
    "second",
    [
        pytest.param(replace(BOB, since=2.0), id="one after the other"),
        pytest.param(replace(BOB, design=OTHER), id="another design"),
        pytest.param(replace(BOB, objective="error"), id="another objective"),
        pytest.param(replace(BOB, holder="ada"), id="the same worker"),
    ],
)
def test_questions_that_one_living_worker_has_at_a_time_are_right(second: Claim) -> None:
    assert holders_wrong([CLAIM, second]) == []


def test_designs_that_differ_in_no_option_that_decides_are_one_question() -> None:
    one, other = (replace(claim, objective="error") for claim in (CLAIM, replace(BOB, design=OTHER)))
    assert len(holders_wrong([one, other])) == 1


def test_a_worker_that_is_gone_holds_nothing() -> None:
    forever = replace(CLAIM, until=math.inf)
    assert holders_wrong([forever, BOB], {"ada": [1.4]}) == []
    assert len(holders_wrong([forever, BOB], {"ada": [1.6]})) == 1
    assert len(holders_wrong([forever, BOB], {"ada": [0.9]})) == 1  # before it was asked


def test_a_claim_that_the_store_lost_binds_nobody() -> None:
    assert holders_wrong([CLAIM, BOB], losses=[Loss([(0, asked())], at=1.4)]) == []
    assert len(holders_wrong([CLAIM, BOB], losses=[Loss([(0, asked())], at=1.6)])) == 1
    assert len(holders_wrong([CLAIM, BOB], losses=[Loss([(0, asked(token="z1"))], at=1.4)])) == 1


LINE = {"design": DESIGN, "objective": "energy", "answer": told()}
ADDED = {"event": "added", "design": DESIGN, "values": {"energy": 2.0}, "costs": {}}


@pytest.mark.parametrize(
    ("events", "lines", "facts"),
    [
        ([ADDED], [LINE], []),
        ([asked(token="b1"), told(token="b1")], [LINE], []),  # another worker measured it as well
        ([ADDED], [], ["not in the file"]),
        ([ADDED], [LINE | {"design": OTHER}], ["not in the file"]),
        ([ADDED], [LINE | {"answer": told(energy=3.0)}], ["not in the file"]),
        ([], [LINE], ["brought back"]),
        ([ADDED | {"values": {"energy": 3.0}}], [LINE], ["brought back"]),
        ([ADDED | {"design": OTHER}], [LINE], ["brought back"]),
    ],
)
def test_what_was_kept_aside_must_be_in_its_file_and_in_the_study_after_the_import(
    events: list[dict[str, Any]], lines: list[dict[str, Any]], facts: list[str]
) -> None:
    wrong = kept_wrong(rows(*events), [KEPT, SAFE], lines)
    assert len(wrong) == len(facts)
    assert all(fact in sentence for fact, sentence in zip(facts, wrong, strict=True))


def test_an_acknowledged_answer_that_the_store_lost_must_be_kept_too() -> None:
    lost = [Loss([(1, told())], at=2.0)]
    assert kept_wrong(rows(ADDED), [SAFE], [LINE], lost) == []
    assert len(kept_wrong(rows(ADDED), [SAFE], [], lost)) == 1
    assert kept_wrong(rows(asked(), told()), [SAFE], []) == []
