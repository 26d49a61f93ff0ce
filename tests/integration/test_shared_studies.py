"""Studies that real processes share: killed, frozen, crowded, their server restarted, their clocks wrong.

``make soak`` runs the same at full size.
"""

from __future__ import annotations

import sqlite3
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.command_line import mentions
from tests.postgres import pool, server

from flexibo import Evaluation, Study
from flexibo.optimizer import Stop
from flexibo.storage import MemoryStorage, processes
from flexibo.storage.base import Decide

pytest.importorskip("benchmarks.soak", reason="the benchmarks lie beside the tests in the repository only")

from benchmarks.soak import databases
from benchmarks.soak.attacks import failed_over, files_removed, hidden, overwritten, pooled
from benchmarks.soak.crew import CONTEXT, Crew, SoakError
from benchmarks.soak.databases import Database, postgresql, sqlite_file
from benchmarks.soak.disk import MODES, disk_failed, has_compiler
from benchmarks.soak.editors import edited
from benchmarks.soak.faults import Faults, survived
from benchmarks.soak.hiding import can_hide
from benchmarks.soak.history import Loss, answers_wrong
from benchmarks.soak.journal import Journal, account, is_asked
from benchmarks.soak.ledger import replayed
from benchmarks.soak.load import LONGEST_WAIT_SECONDS, loaded
from benchmarks.soak.problem import Pace
from benchmarks.soak.worker import Plan, Post


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Database:
    return sqlite_file(tmp_path) if request.param == "sqlite" else postgresql(server())


@pytest.mark.slow
@pytest.mark.parametrize(("method", "kills"), [("random", 5), ("flexibo", 2)])
def test_what_was_told_survives_workers_killed_at_any_moment(
    database: Database, tmp_path: Path, method: str, kills: int
) -> None:
    plan = Plan(database.url, method, method=method, evaluations=10 * kills, seed=kills)
    result = survived(database, plan, Faults(kills=kills), tmp_path, expected=10 * kills)
    assert result.findings.evaluations == 10 * kills
    assert result.findings.safe + result.findings.unknown >= 10 * kills


@pytest.mark.slow
def test_leases_alone_tell_who_is_gone_whatever_the_time_of_day(database: Database, tmp_path: Path) -> None:
    plan = Plan(database.url, "leases", budget=70.0, seed=5, elsewhere=True, pace=Pace(0.3, 1.0), lease=1.5)
    result = survived(database, plan, Faults(kills=3, freezes=1), tmp_path, expected=40, odd_clocks=True)
    assert result.findings.counts["reissued"] + result.findings.counts["released"] > 0


@pytest.mark.slow
def test_workers_go_on_when_their_server_was_away_for_longer_than_their_lease(tmp_path: Path) -> None:
    database = postgresql(server())
    plan = Plan(database.url, "restarts", evaluations=40, seed=1, elsewhere=True, lease=3.0)
    result = survived(database, plan, Faults(restarts=1), tmp_path, expected=40)
    assert result.findings.safe == 40


@pytest.mark.slow
def test_processes_that_answer_at_once_lose_and_double_nothing(database: Database, tmp_path: Path) -> None:
    load = loaded(database, "crowd", tmp_path, processes=3, each=20)
    assert load.findings.counts["told"] == 60
    assert load.findings.counts["reissued"] == 0


@pytest.mark.slow
def test_a_store_that_loses_its_last_commits_stores_nothing_under_another_design(
    database: Database, tmp_path: Path
) -> None:
    result = failed_over(database, tmp_path, 2)
    assert result.findings.evaluations == 40
    assert result.findings.kept > 0


@pytest.mark.slow
def test_what_was_acknowledged_is_in_the_file_when_a_file_beside_it_is_removed(tmp_path: Path) -> None:
    result = files_removed(sqlite_file(tmp_path), tmp_path, 2)
    assert result.findings.safe + result.findings.unknown >= result.findings.evaluations


@pytest.mark.slow
def test_workers_notice_a_file_that_is_overwritten_in_place_and_keep_what_it_lacks(tmp_path: Path) -> None:
    result = overwritten(sqlite_file(tmp_path), tmp_path, 2)
    assert result.findings.evaluations == 40
    assert result.findings.kept > 0


@pytest.mark.slow
def test_workers_that_cannot_see_each_other_take_over_from_the_dead_alone() -> None:
    if not can_hide(CONTEXT):
        pytest.skip("only root can hide processes")
    with tempfile.TemporaryDirectory() as name:  # unlike the folders of tests, other users may look into it
        folder = Path(name) / "study"
        folder.mkdir()
        assert hidden(sqlite_file(folder), folder, 3).findings.evaluations == 24


@pytest.mark.slow
def test_workers_behind_a_pool_of_connections_are_killed_and_nothing_is_lost(tmp_path: Path) -> None:
    assert pooled(databases.pooled(pool(), server()), tmp_path, 2).findings.evaluations == 16


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sqlite", "postgresql", "pool"])
def test_a_study_is_changed_added_to_and_queued_for_while_everybody_is_killed(kind: str, tmp_path: Path) -> None:
    made: dict[str, Callable[[], Database]] = {
        "sqlite": lambda: sqlite_file(tmp_path),
        "postgresql": lambda: postgresql(server()),
        "pool": lambda: databases.pooled(pool(), server()),
    }
    result = edited(made[kind](), tmp_path, 4)
    assert result.findings.counts["changed"] > 0
    assert result.findings.counts["added"] > 0


@pytest.mark.slow
def test_a_disk_that_fails_and_a_power_loss_take_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    if not has_compiler():
        pytest.skip("there is no C compiler")
    found = disk_failed(tmp_path, step=25)
    assert len(found) == len(MODES) + 1
    assert all(each.trials and each.acknowledged for each in found)


@pytest.mark.slow
def test_readers_that_never_let_go_do_not_stop_a_writer(database: Database, tmp_path: Path) -> None:
    load = loaded(database, "watched", tmp_path, processes=2, each=20, readers=True)
    assert load.read is not None
    assert load.read > 0
    # What a machine does that is busy with other tests is not the readers' fault.
    assert max(load.findings.slowest.values()) < 3 * LONGEST_WAIT_SECONDS


@pytest.mark.slow
def test_clocks_that_are_wrong_or_jump_back_an_hour_change_no_lease(database: Database, tmp_path: Path) -> None:
    plan = Plan(database.url, "clocks", evaluations=1, elsewhere=True, lease=1.0, pace=Pace(60.0, 60.0), fails=False)
    posts = [Post(plan, tmp_path, slot, clock=clock) for slot, clock in enumerate(("back", "jumping"))]
    with Crew(posts) as crew:
        wait_for(lambda: any(account(post.journal).names for post in posts))
        time.sleep(3 * plan.lease)
        assert kinds(database, plan.name) == ["asked"]
        held = next(life for life in crew.lives if account(life.post.journal).names)
        killed = time.monotonic()
        held.process.kill()
        wait_for(lambda: "reissued" in kinds(database, plan.name))
        # The last sign came at most a quarter of the lease before the kill.
        assert 0.7 * plan.lease < time.monotonic() - killed < 10 * plan.lease
    hours = [abs(event["time"] - time.time()) / 3600 for _, event in database.events(plan.name)]
    assert max(hours) > 0.9


def test_nobody_is_taken_for_gone_while_the_database_takes_no_signs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "about_this_process", lambda proc: {"host": "another machine"})
    url = f"sqlite:///{tmp_path / 'study.db'}"
    measuring, waiting = (small_study(url, lease=0.4, stop={"max_evaluations": 1}) for _ in range(2))
    with measuring, waiting, closing(sqlite3.connect(tmp_path / "study.db", isolation_level=None)) as other:
        assert measuring.ask() is not None
        assert waits(waiting)
        other.execute("BEGIN IMMEDIATE")
        look_for(1.2, waiting)
        other.execute("ROLLBACK")
        look_for(0.6, waiting)


def test_workers_that_think_at_once_are_not_asked_more_than_is_allowed() -> None:
    storage = Racing()
    one, other = (small_study(storage, n_initial=1, stop={"max_evaluations": 5}) for _ in range(2))
    for evaluation in one.ask(2):
        one.tell(evaluation, 1.0, cost=1.0)
    answers: list[Evaluation | None] = []
    for _ in range(2):
        storage.first = lambda: answers.append(one.ask())  # while the other one has thought, and not yet claimed
        answers.append(other.ask())
    # The first time they had the same thought, and since then they think different ones: 2 and 3, then 4 and no more.
    assert [None if answer is None else answer.number for answer in answers] == [2, 3, 4, None]
    assert sum(event["event"] == "asked" for event in storage.read()) == 5


def test_what_a_vanished_worker_left_may_be_taken_by_several_at_once() -> None:
    storage = Racing()
    gone, one, other = (small_study(storage) for _ in range(3))
    assert [evaluation.number for evaluation in gone.ask(2)] == [0, 1]
    gone.close()

    def take_both() -> None:
        for evaluation in other.ask(2):
            other.tell(evaluation, 1.0, cost=1.0)

    storage.first = take_both  # while the one has seen that there is something to take over, and not yet taken it
    answer = one.ask()
    assert answer is not None
    assert answer.number == 2
    assert [event["number"] for event in storage.read() if event["event"] == "reissued"] == [0, 1]


def test_a_worker_that_may_ask_no_more_waits_for_what_others_measure() -> None:
    storage = MemoryStorage()
    measuring, waiting = (small_study(storage, stop={"max_evaluations": 1}) for _ in range(2))
    assert measuring.ask() is not None
    assert waits(waiting)
    measuring.close()
    assert waiting.ask() is not None


class Racing(MemoryStorage):
    """Lets somebody write just before the next commit."""

    first: Callable[[], None] | None = None

    def commit(self, after: int, decide: Decide) -> None:
        first, self.first = self.first, None
        if first is not None:
            first()
        super().commit(after, decide)


def small_study(storage: Any, **settings: Any) -> Study:
    return Study(
        {"x": (0.0, 1.0)}, ["a", "b"], method="random", storage=storage, seed=0, **({"n_initial": 2} | settings)
    )


def waits(study: Study) -> bool:
    answer = study.ask_or_stop()
    return isinstance(answer, Stop) and answer.waits


def look_for(seconds: float, waiting: Study) -> None:
    """Look again and again whether there is something to do, which there must not be."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        assert waits(waiting)
        time.sleep(0.02)


def wait_for(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def kinds(database: Database, study: str) -> list[str]:
    """The kinds of the events of a study, without those of its beginning."""
    return [event["event"] for _, event in database.events(study) if event["event"] in ("asked", "reissued", "told")]


# The checks themselves: each must see what it is there for.

DESIGN = {"x": 0.5, "k": 1, "n": 9}


def asked(number: int, worker: str = "ada", **design: object) -> dict[str, Any]:
    return {"event": "asked", "number": number, "objective": "energy", "design": DESIGN | design, "worker": worker}


def told(number: int, cost: float = 1.25, worker: str = "ada", energy: float = 2.0) -> dict[str, Any]:
    return {"event": "told", "number": number, "values": {"energy": energy}, "cost": cost, "worker": worker}


def numbered(*events: dict[str, Any]) -> list[tuple[int, dict[str, Any]]]:
    return list(enumerate(events))


RELEASED = {"event": "released", "number": 0, "reason": "", "cost": 0.0}
FAILED = {"event": "failed", "number": 0, "reason": "", "cost": 1.0, "worker": "ada", "impossible": False}


@pytest.mark.parametrize(
    ("events", "facts"),
    [
        ([asked(0), told(0), asked(1, x=0.6)], None),
        ([asked(0), told(0), asked(1)], ("Evaluation 1", "('energy', 0.5, 1, 9)", "again")),
        ([asked(0), asked(1)], ("Evaluation 1", "('energy', 0.5, 1, 9)", "again")),
        ([asked(0), RELEASED, asked(1)], None),
        ([asked(0), FAILED, asked(1)], None),
        ([asked(0), FAILED | {"impossible": True}, asked(1)], ("Evaluation 1", "again")),
        ([asked(0), RELEASED, told(0), asked(1)], ("Evaluation 1", "again")),
        ([asked(0), told(0), told(0)], ("Evaluation 0", "twice")),
        ([asked(0), asked(2, x=0.6)], ("Evaluation 2", "1th")),
        ([asked(0), RELEASED, RELEASED], ("Evaluation 0", "released", "nobody")),
    ],
)
def test_what_must_not_be_in_a_log_is_found(events: list[dict[str, Any]], facts: tuple[str, ...] | None) -> None:
    wrong = replayed(numbered(*events)).wrong
    assert len(wrong) == (facts is not None)
    assert facts is None or mentions(wrong[0], *facts)


def test_a_gap_in_the_rows_is_found() -> None:
    (wrong,) = replayed([(0, asked(0)), (2, told(0))]).wrong
    assert "gaps" in wrong


def test_the_charge_for_a_lost_attempt_is_replaced_by_what_a_late_answer_cost() -> None:
    reissued = {"event": "reissued", "number": 0, "worker": "bob", "seconds": 1.0, "cost": 0.9}
    ledger = replayed(numbered(asked(0), reissued, told(0, 1.5, "bob")))
    assert ledger.spent == pytest.approx(2.4)
    assert ledger.taken == ["ada"]
    ledger.add({"event": "spent", "number": 0, "cost": 1.1, "worker": "ada"})
    assert ledger.spent == pytest.approx(2.6)
    assert ledger.counts["late"] == 1


def test_an_evaluation_that_the_study_gave_up_is_nobodys_answer_and_is_charged_once() -> None:
    given_up = FAILED | {"worker": "", "kind": "lost", "cost": 0.7}
    rows = numbered(asked(0), given_up)
    assert answers_wrong(rows, [], [Loss(rows, 1.0)]) == []
    ledger = replayed(rows)
    assert (ledger.taken, ledger.spent) == (["ada"], 0.7)
    assert (ledger.counts["charged"], ledger.counts["late"]) == (1, 0)


def test_a_worker_has_a_question_in_its_hands_until_it_begins_to_answer(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "ada.jsonl")
    found = [is_asked(tmp_path / "ada.jsonl")]
    for what in ("asked", "means", "safe"):
        journal.write(what, 0)
        found.append(is_asked(tmp_path / "ada.jsonl"))
    assert found == [False, True, False, False]


@pytest.mark.slow
def test_a_worker_that_ends_with_an_error_is_reported(tmp_path: Path) -> None:
    plan = Plan(f"sqlite:///{tmp_path / 'nowhere' / 'study.db'}", "broken", evaluations=1)
    with Crew([Post(plan, tmp_path, 0)]) as crew, pytest.raises(SoakError, match=r"'broken'(.|\n)*nowhere"):
        crew.join(time.monotonic() + 60)
