"""``flexibo compare``."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from tests.command_line import mentions
from typer.testing import CliRunner, Result

from flexibo.cli import app
from flexibo.compare.rivals import RIVALS, STEP_RIVALS
from flexibo.errors import FlexiBOError, InvalidValueError, unknown_name


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments), env={"COLUMNS": "120"})


def sentence(*arguments: str) -> str:
    result = invoke(*arguments)
    assert isinstance(result.exception, FlexiBOError), result.output
    text = str(result.exception)
    assert len(text) < 400
    assert "\n" not in text
    return text


def test_a_comparison_prints_tables_and_leaves_a_table_and_a_page(tmp_path: Path) -> None:
    out = tmp_path / "results"
    names = ["--problems", "zdt1:finite,zdt1:ratio=1:finite", "--methods", "random-coupled", "--methods", "sobol"]
    result = invoke("compare", *names, "--seeds", "2", "--budget", "2", "--jobs", "1", "--out", str(out))
    assert result.exit_code == 0, result.output
    assert mentions(result.output, "Confirmed error", "random-coupled", "sobol", "100%", "report.html")
    again = invoke("compare", *names, "--seeds", "2", "--budget", "2", "--measure", "model", "--out", str(out))
    assert mentions(again.output, "Model error")
    with open(out / "results.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 2 * 2 * 21
    assert {row["problem"] for row in rows} == {"zdt1:finite"}
    assert "<script" in (out / "report.html").read_text()


def test_the_help_names_every_rival() -> None:
    assert mentions(invoke("compare", "--help").output, *RIVALS, *STEP_RIVALS)


@pytest.mark.variant
def test_the_suite_of_steps_is_paid_from_scratch_and_has_rivals_that_stop_early(tmp_path: Path) -> None:
    few = ["--problems", "crossing-curves", "--methods", "random-coupled", "--rivals", "successive-halving"]
    result = invoke("compare", "--suite", "steps", *few, "--seeds", "1", "--jobs", "1", "--out", str(tmp_path))
    assert result.exit_code == 0, result.output
    assert mentions(result.output, "successive-halving", "paid from the budget")
    settings = json.loads((tmp_path / "settings.json").read_text())
    assert (settings["from_scratch"], settings["budget"], settings["n_initial"]) == (True, 30.0, 10)


@pytest.mark.parametrize("number", ["0", "-3", "99999999999999999999"])
def test_seeds_out_of_range_are_refused(number: str, tmp_path: Path) -> None:
    result = invoke("compare", "--problems", "zdt1", "--seeds", number, "--out", str(tmp_path / "out"))
    assert isinstance(result.exception, InvalidValueError)
    assert mentions(result.exception, "--seeds", number)
    assert not (tmp_path / "out").exists()


def test_a_long_list_of_names_does_not_hide_what_is_meant() -> None:
    names = [f"zdt{n}" for n in range(1, 4)] + [f"recorded-{n}" for n in range(60)]
    near = str(unknown_name("problem", "zdt9", names))
    assert mentions(near, "problem 'zdt9'", "'zdt3'?", "zdt1, zdt2, zdt3", "60 others")
    assert "recorded-" not in near
    assert str(unknown_name("problem", "?", names)).count(",") == 62


@pytest.mark.parametrize(
    ("arguments", "facts"),
    [
        ([], ["--problems", "--suite"]),
        (["--problems", ""], ["--problems", "--suite"]),
        (["--suite", "standart"], ["suite 'standart'", "'standard'"]),
        (["--problems", "zdt9"], ["problem 'zdt9'", "'zdt3'"]),
        (["--problems", "zdt1:ratio=nan"], ["'ratio'", "'zdt1'", "'nan'"]),
        (["--problems", "zdt1:ratio=1e400"], ["'ratio'", "'zdt1'", "'1e400'"]),
        (["--problems", "zdt1:ratio=2:ratio=3"], ["'ratio'", "'zdt1'", "twice"]),
        (["--problems", f"zdt1:{'x' * 5000}"], ["'zdt1'", "'" + "x" * 40 + "'", "ratio"]),
        (["--problems", "dtlz2:n=99"], ["'n'", "'99'", "2 and 5"]),
        (["--problems", "zdt1", "--methods", "flexbo"], ["method 'flexbo'", "'flexibo'"]),
        (["--problems", "zdt1", "--methods", "optuna-tpe"], ["'optuna-tpe'", "--rivals"]),
        (["--problems", "zdt1", "--rivals", "optuna"], ["rival 'optuna'", "'optuna-"]),
        (["--problems", "zdt1", "--methods", ""], ["method", "--methods"]),
        (["--problems", "zdt1", "--budget", "-1"], ["budget", "-1.0"]),
        (["--problems", "zdt1", "--initial", "1"], ["initial designs", "1"]),
    ],
)
def test_a_mistake_is_one_sentence(arguments: list[str], facts: list[str], tmp_path: Path) -> None:
    assert mentions(sentence("compare", *arguments, "--out", str(tmp_path)), *facts)


def test_a_problem_without_its_table_says_where_to_get_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("FLEXIBO_DATA", raising=False)
    assert "flexibo data" in sentence("compare", "--problems", "nb201-tx2", "--out", str(tmp_path))


def test_a_comparison_from_scratch_says_so_and_keeps_to_its_folder(tmp_path: Path) -> None:
    names = ["--problems", "zdt1:finite", "--methods", "random", "--seeds", "1", "--budget", "4", "--jobs", "1"]
    result = invoke("compare", *names, "--from-scratch", "--out", str(tmp_path))
    assert result.exit_code == 0, result.output
    assert mentions(result.output, "Initial designs", "3 designs")
    assert json.loads((tmp_path / "settings.json").read_text())["from_scratch"] is True
    assert "initial designs included" in (tmp_path / "report.html").read_text()
    assert "from_scratch True" in sentence("compare", *names, "--out", str(tmp_path))
