from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.experiments.made_records import MADE, write_records
from tests.unit.experiments.made_repeats import line_about
from typer.testing import CliRunner

from flexibo.cli import app
from flexibo.experiments import ExperimentResult, Repeat, ResultTable
from flexibo.experiments.authors import at_price, evaluate, expensive_share, figures
from flexibo.experiments.authors_records import SYSTEMS, read_records

AHEAD = MADE | {"FlexiBO+GP-Log": (0.58, 0.3, 0.18)}
"""At equal cost, that of two trainings, FlexiBO has 0.18; the others have 0.48."""


@pytest.fixture
def ahead(tmp_path: Path) -> list[Repeat]:
    return read_records(write_records(tmp_path, errors=AHEAD))


def table(result: ExperimentResult, words: str) -> ResultTable:
    [found] = [table for table in result.tables if words in table.title]
    return found


def test_a_method_that_is_ahead_everywhere_agrees_with_the_paper(ahead: list[Repeat]) -> None:
    result = evaluate(ahead)
    assert line_about(result, "RQ2", "lowest").verdict == "Agrees"
    assert line_about(result, "RQ1", "lower error").verdict == "Agrees"
    assert line_about(result, "RQ3", "lower error").verdict == "Agrees"
    assert line_about(result, "CA-MOBO").verdict == "Cannot be judged"
    # 62 % lower is not between 4.8 and 12.4 %, and PAL is not ahead on LeNet.
    assert line_about(result, "12.4 %").verdict == "Does not agree"
    assert line_about(result, "PAL").verdict == "Does not agree"


def test_equal_errors_decide_nothing(tmp_path: Path) -> None:
    result = evaluate(read_records(write_records(tmp_path)))
    assert line_about(result, "RQ2", "lowest").verdict == "Undecided"


def test_pal_is_judged_by_direction_and_by_size(tmp_path: Path) -> None:
    errors = MADE | {"PAL": (0.5, 0.482, 0.4), "FlexiBO+GP-Log": (0.6, 0.5, 0.5)}
    claim = line_about(evaluate(read_records(write_records(tmp_path, errors=errors))), "LeNet")
    assert [judgement.agrees for judgement in claim.judgements] == [True, True]
    assert claim.verdict == "Agrees"


def test_the_share_of_expensive_evaluations_is_that_of_paid_iterations(ahead: list[Repeat]) -> None:
    shares = {repeat.method: expensive_share(repeat) for repeat in ahead}
    assert shares["flexibo-gp-log"] == pytest.approx(2 / 3)
    assert shares["flexibo-gp-constant"] == 1.0
    assert line_about(evaluate(ahead), "constant costs more").verdict == "Agrees"


def test_a_price_of_readings_counts_for_coupled_methods_too(ahead: list[Repeat]) -> None:
    ours, pal = (next(at_price(r, 0.5) for r in ahead if r.method == method) for method in ("flexibo-gp-log", "pal"))
    assert [iteration.spent for iteration in ours.iterations] == [0.0, 8.0, 12.0, 20.0]
    assert [iteration.spent for iteration in pal.iterations] == [0.0, 12.0, 24.0, 36.0]


def test_repetitions_with_the_same_values_are_counted(ahead: list[Repeat]) -> None:
    repetitions = table(evaluate(ahead), "repetitions")
    assert [row[0] for row in repetitions.rows] == list(SYSTEMS)
    # All three iterations have the same values, one of them off the front of two.
    assert {row[1:5] for row in repetitions.rows} == {("10 of 10", "2 to 2", "3 to 3", "1")}


def test_every_sentence_has_a_row_in_the_summary(ahead: list[Repeat]) -> None:
    result = evaluate(ahead)
    assert [(row[0], row[2]) for row in result.tables[0].rows] == [(c.paper, c.verdict) for c in result.claims]


@pytest.mark.parametrize("option", [["--repeats", "2"], ["--problems", "zdt1"], ["--initial", "6"]])
def test_the_command_refuses_options_of_runs(option: list[str], tmp_path: Path) -> None:
    outcome = CliRunner().invoke(app, ["reproduce", "authors", *option], env={"FLEXIBO_DATA": str(tmp_path)})
    assert outcome.exit_code == 2 or outcome.exception is not None
    assert not (tmp_path / "results").exists()


def test_the_command_reads_the_folder_of_data_and_writes_a_report_and_four_figures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("matplotlib")
    drawn = list(SYSTEMS)[:2]  # all eight take long
    monkeypatch.setattr(
        "flexibo.experiments.authors.figures",
        lambda repeats: figures([repeat for repeat in repeats if repeat.problem in drawn]),
    )
    write_records(tmp_path, errors=AHEAD)
    out = tmp_path / "out"
    arguments = ["reproduce", "authors", "--out", str(out)]
    outcome = CliRunner().invoke(app, arguments, env={"FLEXIBO_DATA": str(tmp_path)})
    assert outcome.exit_code == 0, (outcome.output, outcome.exception)
    pictures = [path.name for path in out.iterdir() if path.suffix == ".png"]
    assert (len(pictures), len(list(out.iterdir()))) == (4, 5)
    report = (out / "authors.md").read_text(encoding="utf-8")
    assert all(name in report for name in pictures)
