"""``flexibo compare``."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from flexibo.cli import app
from flexibo.errors import FlexiBOError, unknown_name


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
    for words in ("Confirmed error", "random-coupled", "sobol", "report.html"):
        assert words in result.output
    again = invoke("compare", *names, "--seeds", "2", "--budget", "2", "--measure", "model", "--out", str(out))
    assert "Model error in %" in again.output
    with open(out / "results.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 2 * 2 * 21
    assert {row["problem"] for row in rows} == {"zdt1:finite"}
    assert "<script" in (out / "report.html").read_text()


def test_a_long_list_of_names_does_not_hide_what_is_meant() -> None:
    names = [f"zdt{n}" for n in range(1, 4)] + [f"recorded-{n}" for n in range(60)]
    near = str(unknown_name("problem", "zdt9", names))
    assert near == "Unknown problem 'zdt9'; did you mean 'zdt3'? Known: zdt1, zdt2, zdt3 and 60 others."
    assert str(unknown_name("problem", "?", names)).count(",") == 62


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["compare"], "No problem is named"),
        (["compare", "--problems", ""], "No problem is named"),
        (["compare", "--suite", "standart"], "did you mean 'standard'"),
        (["compare", "--problems", "zdt9"], "did you mean 'zdt"),
        (["compare", "--problems", "zdt1:ratio=nan"], "Parameter 'ratio' of 'zdt1' is 'nan'"),
        (["compare", "--problems", "zdt1:ratio=1e400"], "Parameter 'ratio'"),
        (["compare", "--problems", "zdt1:ratio=2:ratio=3"], "given twice"),
        (["compare", "--problems", f"zdt1:{'x' * 5000}"], "Unknown parameter"),
        (["compare", "--problems", "dtlz2:n=99"], "between 2 and 5"),
        (["compare", "--problems", "zdt1", "--methods", "flexbo"], "did you mean 'flexibo'"),
        (["compare", "--problems", "zdt1", "--methods", "optuna-tpe"], "name it with --rivals"),
        (["compare", "--problems", "zdt1", "--rivals", "optuna"], "Unknown rival"),
        (["compare", "--problems", "zdt1", "--methods", ""], "No method is named"),
        (["compare", "--problems", "zdt1", "--budget", "-1"], "budget is -1.0"),
        (["compare", "--problems", "zdt1", "--initial", "1"], "initial designs"),
        (["reproduce", "rq4"], "did you mean 'rq"),
    ],
)
def test_a_mistake_is_one_sentence(arguments: list[str], words: str, tmp_path: Path) -> None:
    extra = [] if arguments[0] == "reproduce" else ["--out", str(tmp_path)]
    assert words in sentence(*arguments, *extra)


def test_a_problem_without_its_table_says_where_to_get_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("FLEXIBO_DATA", raising=False)
    assert "flexibo data" in sentence("compare", "--problems", "nb201-tx2", "--out", str(tmp_path))
