"""flexibo front: for people, programs and pictures."""

from __future__ import annotations

import csv
import io
import json
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from tests import command_line
from tests.command_line import HOSTILE, begun, copied, mentions, worked

from flexibo import Objective, Study
from flexibo.views.front import front_view


def call(*arguments: object, **how: Any) -> Any:
    return command_line.call("front", *arguments, **how)


def good(*arguments: object, **how: Any) -> str:
    return command_line.good("front", *arguments, **how)


def refusal(*arguments: object) -> str:
    return command_line.refusal("front", *arguments)


@pytest.fixture(scope="module")
def measured_study(tmp_path_factory: pytest.TempPathFactory) -> tuple[Study, Path]:
    """A study with predicted, measured and possible designs, and its database."""
    path = tmp_path_factory.mktemp("front") / "study.db"
    objectives = [Objective("error"), Objective("energy", unit="J")]
    space = {"x": (0.0, 1.0), "k": [1, 2, 3], "mode": ["fast"]}
    with begun(url=f"sqlite:///{path}", objectives=objectives, space=space) as study:
        worked(study, 14)
    return study, path


@pytest.fixture
def study(measured_study: tuple[Study, Path]) -> Study:
    """The study; a copy of its database lies in the working folder."""
    study, path = measured_study
    copied(path)
    return study


class TestFront:
    def test_a_table_tells_measured_from_predicted_and_what_it_costs_to_confirm(self, study: Study) -> None:
        shown = good(env={"COLUMNS": "120"})
        rows = study.front()
        half = [row for row in rows if not all(row.measured.values())]
        assert half, "the example must have a design that is measured in part"
        assert f"Pareto front: {len(rows)} designs" in shown
        assert "energy [J]" in shown
        assert shown.count("~") == sum(not known for row in rows for known in row.measured.values()) + 1
        assert shown.count("mode=fast") == 1
        lines = [line for line in shown.splitlines() if line.lstrip("│ ")[:1].isdigit()]
        assert len(lines) == len(rows)
        cells = {int(parts[1]): parts[4].strip() for line in lines if (parts := line.split("│"))}
        points = [point for point in front_view(study).points if point.kind.startswith("front")]
        for n, point in enumerate(points, 1):
            assert cells[n] == (f"{point.confirm_cost:.3g}" if point.confirm_cost else "")

    def test_a_program_gets_everything(self, study: Study) -> None:
        found = json.loads(good("--json"))
        rows = study.front()
        assert [one["number"] for one in found["designs"]] == list(range(1, len(rows) + 1))
        for one, row in zip(found["designs"], rows, strict=True):
            assert one["design"] == dict(row.design)
            assert one["values"] == pytest.approx(dict(row.values))
            assert one["measured"] == dict(row.measured)
            assert (one["confirm_cost"] > 0) == (not all(row.measured.values()))
        assert [axis["label"] for axis in found["objectives"]] == ["error", "energy [J]"]

    def test_a_table_for_programs_has_the_same(self, study: Study) -> None:
        rows = list(csv.DictReader(io.StringIO(good("--csv"))))
        front = study.front()
        assert [float(row["option:x"]) for row in rows] == [row.design["x"] for row in front]
        assert [row["measured:error"] == "True" for row in rows] == [row.measured["error"] for row in front]
        assert [row["option:mode"] for row in rows] == ["fast"] * len(front)

    def test_measured_designs_alone(self, study: Study) -> None:
        found = json.loads(good("--json", "--measured"))
        expected = study.front(measured=True)
        assert [one["design"] for one in found["designs"]] == [dict(row.design) for row in expected]
        assert all(all(one["measured"].values()) and one["confirm_cost"] == 0 for one in found["designs"])

    def test_one_design_in_full_can_be_used(self, study: Study) -> None:
        row = study.front()[1]
        shown = good("--number", 2)
        assert mentions(shown.splitlines()[0], "2", len(study.front()))
        assert repr(row.design["x"]) in shown
        assert "mode    fast" in shown
        (one,) = json.loads(good("--number", 2, "--json"))["designs"]
        assert (one["number"], one["design"]) == (2, dict(row.design))

    def test_one_design_in_full_has_every_digit(self) -> None:
        with Study({"x": [1, 2]}, ["a", "b"], n_initial=2, seed=0, storage="sqlite:///study.db") as study:
            study.add({"x": 1}, {"a": 70792.123456789, "b": 2.0})
            study.add({"x": 2}, {"a": 70793.123456789, "b": 1.0})
        assert "  a  70792.123456789 (measured)\n" in good("--number", 1)
        table = good()
        assert "70792" in table
        assert "70793" in table
        assert "e+" not in table

    def test_the_hint_leads_to_the_same_row(self, study: Study) -> None:
        assert good().endswith(" flexibo front --number N\n")
        assert good("--measured").endswith(" flexibo front --measured --number N\n")

    def test_no_number_is_cut_and_no_option_broken_at_any_width(self) -> None:
        objectives = [Objective("compressed_size", unit="B"), Objective("milliseconds", unit="ms")]
        objectives += [Objective("energy", unit="mJ"), Objective("memory", unit="KiB", at_most=60000)]
        space = {"method": ["gzip", "bz2"], "level": (1, 9), "chunk_kib": [64, 128], "rate": (0.0, 1.0)}
        with Study(space, objectives, n_initial=3, seed=1, candidates=40, storage="sqlite:///study.db") as study:
            for evaluation in study.ask(12):
                study.tell(evaluation, 70000 + 1000 * float(evaluation.design["rate"]), cost=1.0)
            rows = study.front()
        for width, command in product((60, 80, 140), ("front", "status")):
            shown = command_line.good(command, env={"COLUMNS": str(width)})
            assert max(map(len, shown.splitlines())) <= width
            words = " ".join(shown.replace("│", " ").split())
            for row in rows:
                assert f"rate={row.design['rate']:.3g}" in words
                for value in (row.values[one.name] for one in objectives):
                    assert f"{value:.0f}" in words

    def test_what_may_be_on_the_front_is_listed_when_asked_for(self, study: Study) -> None:
        rows = study.front(include="possible")
        assert {row.standing for row in rows} > {"probable"}, "the example must have a design that is only possible"
        found = json.loads(good("--json", "--possible"))["designs"]
        assert [(one["design"], one["standing"]) for one in found] == [(dict(row.design), row.standing) for row in rows]
        table = list(csv.DictReader(io.StringIO(good("--csv", "--possible"))))
        assert [row["standing"] for row in table] == [row.standing for row in rows]
        shown = good("--possible", env={"COLUMNS": "140"})
        assert "standing" in shown
        assert shown.count("possible") == sum(row.standing == "possible" for row in rows) + 1  # and the hint
        assert "flexibo front --possible --number N" in shown

    def test_the_certificate_is_said_when_asked_for(self, study: Study) -> None:
        expected = study.certificate()
        assert str(expected) in good("--certificate")
        assert json.loads(good("--certificate", "--json"))["certificate"] == json.loads(json.dumps(expected.to_dict()))
        assert "certificate" not in json.loads(good("--json"))
        outcome = call("--certificate", "--csv")
        assert str(expected) in outcome.stderr
        assert str(expected) not in outcome.stdout

    def test_one_design_in_full_says_how_surely_it_belongs(self, study: Study) -> None:
        assert f"standing  {study.front()[0].standing}\n" in good("--number", 1)

    def test_a_number_that_the_front_does_not_have_is_refused(self, study: Study) -> None:
        told = refusal("--number", 99)
        assert mentions(told, "99", f"1 to {len(study.front())}")

    def test_looking_changes_nothing(self, study: Study) -> None:
        before = Path("study.db").read_bytes()
        for form in ((), ("--json",), ("--csv",), ("--number", 1)):
            good(*form)
        assert Path("study.db").read_bytes() == before

    def test_no_front_yet_is_status_1_and_says_what_is_missing(self) -> None:
        study = Study({"x": [1, 2, 3]}, ["a", "b"], n_initial=2, storage="sqlite:///study.db")
        for form, empty in (((), ""), (("--csv",), None), (("--json",), None)):
            outcome = call(*form)
            assert outcome.exit_code == 1
            assert mentions(outcome.stderr, "a, b")
            assert empty is None or outcome.stdout == empty
        assert json.loads(call("--json").stdout)["designs"] == []
        study.close()

    def test_hostile_names_are_only_names(self) -> None:
        objectives = [Objective(f"error {HOSTILE}"), Objective("energy", unit=f"[bold]{HOSTILE}", at_most=0.9)]
        space = {HOSTILE: [f"=b{HOSTILE}", "=1+1"], "[red]": (0.0, 1.0)}
        with Study(space, objectives, n_initial=4, seed=0, storage="sqlite:///study.db") as study:
            for evaluation in study.ask(8):
                study.tell(evaluation, float(evaluation.design["[red]"]), cost=1.0)
        shown = [good(), good("--number", 1), good("--json")]
        assert all("\x1b" not in text for text in shown)
        assert "red\\x1b[31m" in shown[0]
        assert "[red]" in shown[0]
        assert "feasible" in shown[0]
        table = good("--csv")
        assert "'=" in table
        assert not any(cell.startswith("=") for row in csv.reader(io.StringIO(table)) for cell in row)

    @pytest.mark.parametrize("out", ["front.txt", "front", "nowhere/front.png"])
    def test_a_picture_that_cannot_be_is_refused_first(self, out: str, study: Study) -> None:
        assert out in refusal("--out", out)

    @pytest.mark.slow
    @pytest.mark.parametrize("out", ["front.png", "front.svg", "front.html"])
    def test_a_picture_is_drawn(self, out: str, study: Study) -> None:
        pytest.importorskip("matplotlib")
        told = good("--out", out)
        assert (told.count("\n"), mentions(told, out)) == (1, True)
        assert "Pareto front: " in good("--out", out, "--table")
        assert Path(out).stat().st_size > 1000
        outcome = call("--out", out, "--json")
        assert json.loads(outcome.stdout)["designs"]
        assert mentions(outcome.stderr, out)

    def test_pictures_have_names(self, study: Study) -> None:
        assert mentions(refusal("--out", "a.png", "--picture", "hypervolum"), "'hypervolum'", "'hypervolume'")
        assert mentions(refusal("--picture", "region"), "--picture", "--out FILE")

    def test_json_and_csv_at_once_are_refused(self, study: Study) -> None:
        assert mentions(refusal("--json", "--csv"), "--json", "--csv")
