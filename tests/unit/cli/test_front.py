"""flexibo front: for people, programs and pictures."""

from __future__ import annotations

import csv
import io
import json
import re
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from tests import command_line
from tests.command_line import HOSTILE, begun, copied, mentions, offered, worked

from flexibo import Objective, Study
from flexibo.objectives import Reading


def _rows(shown: str) -> list[list[str]]:
    """The words of each numbered line of a table."""
    lines = (line.replace("│", " ").split() for line in shown.splitlines())
    return [words for words in lines if words and words[0].isdigit()]


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
    def test_confirmed_designs_come_first_and_promising_ones_apart_with_gain_price_and_chance(
        self, study: Study
    ) -> None:
        shown = good(env={"COLUMNS": "120"})
        found = study.hand_over()
        assert found.front, "the example must have a design that is measured completely"
        assert found.promising, "the example must have a design that is measured in part"
        first, second = shown.split("Promising, not measured yet")
        assert f"{len(found.front)} designs" in first
        assert "~" not in first
        assert "energy [J]" in first
        numbers = [[int(words[0]) for words in _rows(part)] for part in (first, second)]
        assert numbers == [[row.number for row in found.front], [row.number for row in found.promising]]
        prices = [words[words.index("%") + 1] for words in _rows(second)]  # after the gain
        assert prices == [f"{row.confirm_cost:.3g}" for row in found.promising]
        assert second.count("~") == sum(len(row.missing) for row in found.promising) + 1
        assert good(*offered(shown, "front")[1:]).startswith("Design 1,")
        assert offered(shown, "confirm")[1:] == [str(found.promising[0].number), "--later"]
        assert found.sentence() in " ".join(shown.split())

    def test_a_program_gets_everything(self, study: Study) -> None:
        found, expected = json.loads(good("--json")), study.hand_over()
        for kind, rows in (("designs", expected.front), ("promising", expected.promising)):
            assert [one["number"] for one in found[kind]] == [row.number for row in rows]
            assert [one["design"] for one in found[kind]] == [dict(row.design) for row in rows]
            assert [one["readings"] for one in found[kind]] == [dict(row.readings) for row in rows]
            assert [one["values"] for one in found[kind]] == [pytest.approx(dict(row.values)) for row in rows]
        assert [one["confirm_cost"] for one in found["promising"]] == [row.confirm_cost for row in expected.promising]
        assert [one["chance"] for one in found["promising"]] == [row.chance for row in expected.promising]
        assert found["confirm_all_cost"] == pytest.approx(expected.confirm_cost)
        assert sum(one["knee"] for one in found["designs"]) <= 1
        assert [axis["label"] for axis in found["objectives"]] == ["error", "energy [J]"]

    def test_a_table_for_programs_has_the_same(self, study: Study) -> None:
        table, found = list(csv.DictReader(io.StringIO(good("--csv")))), study.hand_over()
        rows = [*found.front, *found.promising]
        assert [float(line["option:x"]) for line in table] == [row.design["x"] for row in rows]
        assert [line["kind"] for line in table] == ["confirmed"] * len(found.front) + ["promising"] * len(
            found.promising
        )
        assert [line["measured:error"] == "True" for line in table] == [row.measured["error"] for row in rows]
        assert [line["option:mode"] for line in table] == ["fast"] * len(rows)
        assert [line["confirm_cost"] == "" for line in table] == [row in found.front for row in rows]

    def test_confirmed_designs_alone(self, study: Study) -> None:
        found = json.loads(good("--json", "--measured"))
        assert [one["design"] for one in found["designs"]] == [dict(row.design) for row in study.front()]
        assert found["promising"] == []
        assert "Promising" not in good("--measured")

    def test_one_design_in_full_can_be_used(self, study: Study) -> None:
        row = study.front()[0]
        shown = good("--number", 1)
        assert mentions(shown.splitlines()[0], "1")
        assert repr(row.design["x"]) in shown
        assert re.search(r"mode +fast", shown)
        (one,) = json.loads(good("--number", 1, "--json"))["designs"]
        assert (one["number"], one["design"]) == (1, dict(row.design))

    def test_one_promising_design_in_full(self, study: Study) -> None:
        row = study.promising()[0]
        shown = good("--number", row.number)
        assert repr(row.design["x"]) in shown
        assert re.search(rf"to confirm +{row.confirm_cost:.3g}\n", shown)
        assert "predicted" in shown
        (one,) = json.loads(good("--number", row.number, "--json"))["promising"]
        assert one["missing"] == list(row.missing)

    def test_a_noisy_quantity_shows_its_readings_and_the_estimate_of_the_model(self) -> None:
        objectives = [Objective("a", noisy=True, remeasure=True), Objective("b")]
        with Study({"x": [1, 2, 3]}, objectives, n_initial=2, seed=0, storage="sqlite:///study.db") as study:
            for x, a, b in ((1, 4.0, 1.0), (1, 6.0, 1.0), (2, 9.0, 0.5), (3, 12.0, 0.1)):
                study.add({"x": x}, {"a": a, "b": b})
            row = study.front()[0]
        assert (row.values["a"], row.readings["a"]) == (5.0, 2)
        shown = good(env={"COLUMNS": "120"})
        assert "*5 ±1.4 (2)" in shown
        assert "9 (1)" in shown
        assert "a model" in shown
        assert mentions(good("--number", 1), "5 ±1.414", "2 readings", f"{row.estimates['a']!r}")

    def test_while_nothing_is_confirmed_the_promising_designs_are_shown(self) -> None:
        with Study({"x": [1, 2, 3]}, ["a", "b"], n_initial=2, seed=0, storage="sqlite:///study.db") as study:
            study.add({"x": 1}, {"a": 1.0})
            study.add({"x": 3}, {"b": 1.0})
            rows = study.promising()
        outcome = call()
        assert outcome.exit_code == 1
        first, second = outcome.stdout.split("Promising, not measured yet")
        assert "No confirmed design yet" in first
        assert len(_rows(second)) == len(rows) == 2
        assert json.loads(call("--json").stdout)["designs"] == []

    def test_one_design_in_full_has_every_digit(self) -> None:
        with Study({"x": [1, 2]}, ["a", "b"], n_initial=2, seed=0, storage="sqlite:///study.db") as study:
            study.add({"x": 1}, {"a": 70792.123456789, "b": 2.0})
            study.add({"x": 2}, {"a": 70793.123456789, "b": Reading(1.0, deviation=0.25)})
        assert re.search(r"  a +70792.123456789 \(measured\)\n", good("--number", 1))
        assert re.search(r"  b +1 ±0.25 \(1 reading; by the model ", good("--number", 2))
        table = good()
        assert "70792" in table
        assert "70793" in table
        assert "e+" not in table

    def test_the_hint_leads_to_the_same_row(self, study: Study) -> None:
        assert offered(good(), "front") == ["front", "--number", "1"]
        assert offered(good("--measured"), "front") == ["front", "--measured", "--number", "1"]

    def test_the_hints_name_the_study_as_it_was_named(self, study: Study) -> None:
        study.close()
        Path("study.db").rename("o d.db")
        Path("z.db").touch()
        named = ["--storage", "sqlite:///o d.db", "--name", "net"]
        shown = good(*named)
        assert offered(shown, "front") == ["front", *named, "--number", "1"]
        command_line.good(*offered(shown, "front"))
        command_line.good(*offered(shown, "confirm"))

    def test_no_number_is_cut_and_no_option_broken_at_any_width(self) -> None:
        objectives = [Objective("compressed_size", unit="B"), Objective("milliseconds", unit="ms")]
        objectives += [Objective("energy", unit="mJ"), Objective("memory", unit="KiB", at_most=60000)]
        space = {"method": ["gzip", "bz2"], "level": (1, 9), "chunk_kib": [64, 128], "rate": (0.0, 1.0)}
        with Study(space, objectives, n_initial=3, seed=1, candidates=40, storage="sqlite:///study.db") as study:
            for evaluation in study.ask(12):
                study.tell(evaluation, 70000 + 1000 * float(evaluation.design["rate"]), cost=1.0)
            rows = [*study.front(), *study.promising()]
        assert rows
        for width, command in product((60, 80, 140), ("front", "status")):
            shown = command_line.good(command, env={"COLUMNS": str(width)})
            assert max(map(len, shown.splitlines())) <= width
            words = " ".join(shown.replace("│", " ").split())
            for row in rows:
                assert f"rate={row.design['rate']:.3g}" in words
                for value in (row.values[one.name] for one in objectives):
                    assert f"{value:.0f}" in words

    def test_what_may_be_on_the_front_is_listed_when_asked_for(self, study: Study) -> None:
        expected = study.hand_over(include="possible")
        rows = [*expected.front, *expected.promising]
        assert {row.standing for row in rows} > {"probable"}, "the example must have a design that is only possible"
        found = json.loads(good("--json", "--possible"))
        assert [one["standing"] for one in (*found["designs"], *found["promising"])] == [row.standing for row in rows]
        table = list(csv.DictReader(io.StringIO(good("--csv", "--possible"))))
        assert [row["standing"] for row in table] == [row.standing for row in rows]
        shown = good("--possible", env={"COLUMNS": "140"})
        assert "standing" in shown
        cells = shown.count("possible") - shown.count("possible (")  # without what it means
        assert cells == sum(row.standing == "possible" for row in rows) + 1  # and the hint
        assert offered(shown, "front") == ["front", "--possible", "--number", "1"]

    def test_numbers_are_the_same_everywhere(self, study: Study) -> None:
        every = study.hand_over(include="possible")
        assert [row.number for row in every.front if row.number <= every.last_likely] == [
            row.number for row in study.front()
        ]
        last = max([*every.front, *every.promising], key=lambda row: row.number)
        shown = json.loads(good("--json", "--number", last.number))
        (found,) = [*shown["designs"], *shown["promising"]]
        assert (found["number"], found["design"]) == (last.number, dict(last.design))
        row = next(row for row in every.promising if row.missing)
        queued = json.loads(command_line.good("confirm", row.number, "--later", "--json"))["queued"]
        assert [one["design"] for one in queued] == [dict(row.design)]

    def test_what_is_only_possible_is_no_part_of_the_front_and_numbers_grow_down_the_page(self, study: Study) -> None:
        likely, every = study.hand_over(), study.hand_over(include="possible")
        shown = good("--possible")
        assert mentions(shown, f"Confirmed front: {len(likely.front)}")
        numbers = [int(one) for one in re.findall(r"(?m)^[ │]*([0-9]+) [ │]", shown)]
        assert numbers == list(range(1, len(every.front) + len(every.promising) + 1))
        kinds = [row["kind"] for row in csv.DictReader(io.StringIO(good("--csv", "--possible")))]
        assert (kinds.count("confirmed"), kinds.count("promising")) == (len(likely.front), len(likely.promising))
        assert len(kinds) == len(numbers)
        for flags in ((), ("--possible",), ("--measured",)):  # the price is always that of the same designs
            price = "measured in part" if not likely.promising else f"{likely.confirm_cost:.3g}"
            assert mentions(good(*flags), price)

    @pytest.mark.parametrize("number", [0, -3, 99])
    def test_a_number_that_no_design_has_is_answered_with_those_there_are(self, study: Study, number: int) -> None:
        last = len(study.front()) + len(study.promising())
        assert mentions(refusal("--number", number), "--number", number, f"1 to {last}")

    def test_the_certificate_is_said_when_asked_for(self, study: Study) -> None:
        expected = study.certificate()
        assert str(expected) in good("--certificate")
        assert json.loads(good("--certificate", "--json"))["certificate"] == json.loads(json.dumps(expected.to_dict()))
        assert "certificate" not in json.loads(good("--json"))
        outcome = call("--certificate", "--csv")
        assert str(expected) in outcome.stderr
        assert str(expected) not in outcome.stdout

    def test_one_design_in_full_says_how_surely_it_belongs(self, study: Study) -> None:
        assert re.search(rf"standing +{study.front()[0].standing}\n", good("--number", 1))

    def test_a_number_that_the_front_does_not_have_is_refused(self, study: Study) -> None:
        told = refusal("--number", 99)
        assert mentions(told, "99", f"1 to {len(study.front()) + len(study.promising())}")

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
        assert "Confirmed front: " in good("--out", out, "--table")
        assert Path(out).stat().st_size > 1000
        outcome = call("--out", out, "--json")
        assert json.loads(outcome.stdout)["designs"]
        assert mentions(outcome.stderr, out)

    def test_pictures_have_names(self, study: Study) -> None:
        assert mentions(refusal("--out", "a.png", "--picture", "hypervolum"), "'hypervolum'", "'hypervolume'")
        assert mentions(refusal("--picture", "region"), "--picture", "--out FILE")

    def test_json_and_csv_at_once_are_refused(self, study: Study) -> None:
        assert mentions(refusal("--json", "--csv"), "--json", "--csv")
