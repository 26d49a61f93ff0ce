"""Study files that are edited and run again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.command_line import STUDY_FILE, call, mentions, printed, refusal

from flexibo import Study
from flexibo.cli import _edited_file
from flexibo.history.events import Added, Changed
from flexibo.space.changes import present_space

pytestmark = pytest.mark.usefixtures("folder")


def edited(folder: Path, *pairs: tuple[str, str]) -> None:
    text = (folder / "study.yaml").read_text()
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new)
    (folder / "study.yaml").write_text(text)


def stored() -> Study:
    return Study.load("sqlite:///toy.db", "toy")


def test_a_script_changes_a_study_with_yes_and_not_without(folder: Path) -> None:
    printed("run", "study.yaml")
    events = len(stored().events)
    edited(folder, ("to: 1000}", "to: 400}"), ("budget: 60", "budget: 90"))
    said = refusal("run", "study.yaml")
    assert mentions(said, "study.yaml", "1000", "400", "--yes")
    assert len(stored().events) == events
    shown = printed("run", "study.yaml", "--yes")
    assert mentions(shown, "0 to 1000", "0 to 400", "outside")
    study = stored()
    assert study.budget == 90
    assert present_space(study.space).options["x"].high == 400  # type: ignore[union-attr]  # whole numbers
    assert all(row.design["x"] <= 400 for row in study.front())
    assert mentions(printed("status", "--no-front"), "Changed", "400")
    assert "differs" not in printed("run", "study.yaml")
    printed("resume")


def test_a_lower_budget_is_asked_for_and_nothing_says_that_the_larger_one_stays(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    edited(folder, ("budget: 60", "budget: 12"))
    printed("run", "study.yaml")
    printed("run", "study.yaml", "--budget", "20s")
    printed("run", "study.yaml")  # the same file: what was raised by hand stays
    assert stored().budget == 20
    edited(folder, ("budget: 12", "budget: 11"))
    assert mentions(refusal("run", "study.yaml"), "20", "11", "--yes")
    assert stored().budget == 20
    assert mentions(printed("run", "study.yaml", "--yes"), "budget", "20", "11", "budget 11")
    assert stored().budget == 11
    assert not caplog.messages


def test_a_larger_budget_is_not_asked_for_and_a_refused_change_leaves_it(folder: Path) -> None:
    edited(folder, ("budget: 60", "budget: 12"))
    printed("run", "study.yaml")
    edited(folder, ("budget: 12", "budget: 13"))
    assert "differs" not in printed("run", "study.yaml")
    assert stored().budget == 13
    edited(folder, ("budget: 13", "budget: 14"), ("candidates: 40", "candidates: 30"))
    refusal("run", "study.yaml")
    assert stored().budget == 13


def test_a_dry_run_shows_how_the_file_would_change_the_study_and_changes_nothing(folder: Path) -> None:
    printed("run", "study.yaml")
    events = stored().events
    edited(folder, ("to: 1000}", "to: 400}"), ("budget: 60", "budget: 90"))
    assert mentions(printed("run", "study.yaml", "--dry-run"), "study.yaml", "0 to 1000", "0 to 400", "outside")
    plan = json.loads(call("run", "study.yaml", "--dry-run", "--json").stdout)
    assert {"what": "x", "before": "0 to 1000", "after": "0 to 400"} in plan["changes"]
    assert all(question["design"]["x"] <= 400 for question in plan["first"])
    assert stored().events == events


def test_a_terminal_is_asked_and_no_changes_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    printed("run", "study.yaml")
    edited(folder, ("method: random", "method: sobol"))
    monkeypatch.setattr(_edited_file, "is_terminal", lambda: True)
    assert call("run", "study.yaml", input="n\n").exit_code != 0
    assert stored().method.name == "random"
    assert call("run", "study.yaml", input="y\n").exit_code == 0
    assert stored().method.name == "sobol"


def test_a_new_option_and_a_new_objective_are_measured(folder: Path) -> None:
    printed("run", "study.yaml")
    edited(
        folder,
        ("  kind:", "  cores: [1, 2]\n  kind:"),
        ("objectives:\n", "defaults: {cores: 2}\nobjectives:\n  speed: {command: 'echo {cores} 1', direction: max}\n"),
        ("budget: 60", "budget: 100"),
    )
    printed("run", "study.yaml", "--yes")
    study = stored()
    assert study.history.count(study.history.names.index("speed")) > 0
    assert study.history.asked[0].design["cores"] == 2


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ("unit: J", "unit: kJ", "unit"),
        ("  joules:", "  watts:", "joules"),
        ("  error: {", "  error: {direction: max, ", "direction"),
        ('  kind: [plain, "$(touch pwned)"]', "  other: [1, 2]", "kind"),
        ("x: {from: 0, to: 1000}", "x: [1, 2, 3]", "x"),
        ("seed: 1", "seed: 2", "seed"),
        ("  kind:", "  cores: [1, 2]\n  kind:", "cores"),
    ],
)
def test_what_would_make_readings_wrong_is_refused(folder: Path, old: str, new: str, named: str) -> None:
    edited(folder, ("budget: 60", "budget: 12"))
    printed("run", "study.yaml")
    events = len(stored().events)
    edited(folder, (old, new))
    if "watts" in new:
        edited(folder, ("board:joules", "board:joules"))
    assert mentions(refusal("run", "study.yaml", "--yes"), named)
    assert len(stored().events) == events


def test_a_file_from_before_a_change_in_python_is_told_what_it_lacks_and_how_to_name_it(folder: Path) -> None:
    edited(folder, ("budget: 60", "budget: 12"))
    printed("run", "study.yaml")
    with stored() as study:
        study.change(options={"gpu": [False, True]}, defaults={"gpu": False})
    said = refusal("run", "study.yaml", "--yes")
    assert mentions(said, "'gpu'", "add it")
    assert "removed" not in said
    assert mentions(refusal("resume", "--file", "study.yaml"), "gpu", "study.yaml")
    edited(folder, ("  kind:", "  gpu: [false, true]\n  kind:"))
    assert "differs" not in printed("run", "study.yaml")


def test_other_timeouts_are_stored_without_a_question(folder: Path) -> None:
    edited(folder, ("budget: 60", "budget: 12"))
    printed("run", "study.yaml")
    edited(folder, ("unit: J}", "unit: J, retries: 4}"))
    printed("run", "study.yaml")
    assert stored().objectives[1].retries == 4
    assert len([event for event in stored().events if isinstance(event, Changed)]) == 1


def test_known_results_come_before_the_first_question_and_once(folder: Path) -> None:
    (folder / "old.csv").write_text("x,kind,error,joules\n3,plain,3,998\n5,plain,5,\n")
    (folder / "study.yaml").write_text(STUDY_FILE + "known: old.csv\n")
    shown = printed("run", "study.yaml")
    assert mentions(shown, "2 known results", "old.csv", "2 known results", "nothing was measured")
    assert "Resuming" not in shown
    study = stored()
    added = [place for place, event in enumerate(study.events) if isinstance(event, Added)]
    assert len(added) == 2
    assert max(added) < study.history.asked.at[0]
    assert study.spent <= 65
    shown = printed("run", "study.yaml", "--budget", "70s")
    assert "old.csv" not in shown
    assert mentions(shown, "Resuming", f"{len(study.history.measurements) - 2} measurements", "2 known results")
    assert sum(isinstance(event, Added) for event in stored().events) == 2


def test_another_study_is_known_too(folder: Path) -> None:
    printed("run", "study.yaml")
    (folder / "next.yaml").write_text(
        STUDY_FILE.replace("name: toy", "name: next") + "known: {storage: toy.db, study: toy}\n"
    )
    call("run", "next.yaml")
    following = Study.load("sqlite:///next.db", "next")
    known = sum(isinstance(event, Added) for event in following.events)
    assert known >= stored().history.count(0)
    assert following.spent <= 65


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("known: none.csv", "none.csv"),
        ("known: wrong.csv", "wrong.csv"),
        ("known: {storage: none.db, study: a}", "none.db"),
        ("delta: -1", "delta"),
        ("initial_designs: [{x: 5}]", "kind"),
        ("known: {storge: a.db}", "storge"),
        ("known: 3", "known"),
        ("defaults: {z: 1}", "z"),
        ("defaults: 3", "defaults"),
        ("defaults: {x: [1]}", "x"),
    ],
)
def test_mistakes_are_one_sentence(folder: Path, line: str, named: str) -> None:
    (folder / "study.yaml").write_text(STUDY_FILE + line + "\n")
    (folder / "wrong.csv").write_text("x,kind,error\n3,strange,0.5\n")
    assert mentions(refusal("run", "study.yaml", "--dry-run"), named)
    assert mentions(refusal("run", "study.yaml"), named)
    assert not (folder / "toy.db").exists(), "nothing is stored of a study that cannot begin"


def test_json_asks_nothing(folder: Path) -> None:
    printed("run", "study.yaml")
    edited(folder, ("candidates: 40", "candidates: 30"))
    assert mentions(refusal("run", "study.yaml", "--json"), "--yes")
    assert json.loads(printed("run", "study.yaml", "--json", "--yes"))
