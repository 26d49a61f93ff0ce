from __future__ import annotations

import csv
import io
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from rich.console import Console
from tests.unit.experiments.toy_problem import QUICK, SHORT, toy

from flexibo.compare.problems.base import Problem
from flexibo.compare.problems.table import find_problem
from flexibo.experiments import EXPERIMENTS, Experiment, ExperimentResult, ExperimentSize, Repeat, making
from flexibo.experiments.drawing import errors
from flexibo.experiments.experiment import usual_size
from flexibo.experiments.making import FILE, repeat
from flexibo.methods.table import find_method

COUPLED = ("pesmo", "pal", "parego", "smsego", "ca-mobo")
PLAIN = Experiment(
    "plain",
    "made up",
    (QUICK, "flexibo-gp-log"),
    lambda *_: ExperimentResult("plain", "Plain", (), ()),
    lambda *_: {},
)


def rows_of(path: Path) -> list[dict[str, str]]:
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def without_times(path: Path) -> list[dict[str, str]]:
    return [{name: value for name, value in row.items() if name != "thinking_s"} for row in rows_of(path)]


@pytest.mark.usefixtures("families")
def test_a_killed_run_goes_on_where_it_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    PLAIN.run(SHORT, ["toy"], whole)
    lines = (whole / FILE).read_bytes().splitlines(keepends=True)
    assert len(lines) == 2 * SHORT.repeats
    killed.mkdir()
    (killed / FILE).write_bytes(lines[0] + lines[1][: len(lines[1]) // 2])
    made: list[str] = []

    def spy(problem: Problem, method: str, seed: int, size: ExperimentSize) -> Repeat:
        made.append(f"{method} {seed}")
        return repeat(problem, method, seed, size)

    monkeypatch.setattr(making, "repeat", spy)
    PLAIN.run(SHORT, ["toy"], killed)
    assert made == [f"{QUICK} 1", "flexibo-gp-log 0", "flexibo-gp-log 1"]
    for name in ("plain.csv", "plain-evaluations.csv"):
        assert without_times(killed / name) == without_times(whole / name)
    made.clear()
    PLAIN.run(SHORT, ["toy"], killed)
    assert made == []


@pytest.mark.usefixtures("families")
def test_experiments_share_their_repeats(tmp_path: Path) -> None:
    seen: list[tuple[int, int, str]] = []
    PLAIN.run(SHORT, ["toy"], tmp_path)
    other = replace(PLAIN, name="other", methods=("parego", QUICK))
    other.run(SHORT, ["toy"], tmp_path, progress=lambda *told: seen.append(told))
    assert seen[0] == (2, 4, "")
    assert seen[-1] == (4, 4, "toy, parego, seed 1")


@cache
def quick_repeat(*, coupled: bool) -> Repeat:
    return repeat(toy(), QUICK if coupled else "flexibo-gp-log", 0, ExperimentSize(1, 4, 2))


@pytest.fixture(scope="module")
def shared_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder for all experiments, so that nothing is made twice."""
    return tmp_path_factory.mktemp("reproduced")


@pytest.mark.slow
@pytest.mark.usefixtures("families")
@pytest.mark.parametrize("experiment", EXPERIMENTS.values(), ids=lambda experiment: experiment.name)
def test_every_experiment_writes_its_tables_figures_and_verdicts(
    experiment: Experiment, shared_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The methods have tests of their own: here quick ones stand in for all of their kind.
    monkeypatch.setattr(
        making,
        "repeat",
        lambda _, method, *__: replace(quick_repeat(coupled=find_method(method).coupled), method=method),
    )
    size = ExperimentSize(repeats=1, n_initial=4, iterations=2)
    result = experiment.run(size, ["toy"], shared_folder)
    rows = rows_of(shared_folder / f"{experiment.name}.csv")
    assert [(row["method"], int(row["iteration"])) for row in rows] == [
        (method, number) for method in experiment.methods for number in range(3)
    ]
    bought = rows_of(shared_folder / f"{experiment.name}-evaluations.csv")
    assert [(row["method"], row["objective"]) for row in bought] == [
        (method, name) for method in experiment.methods for name in ("error", "energy")
    ]
    report = (shared_folder / f"{experiment.name}.md").read_text(encoding="utf-8")
    assert "iterations" in report
    assert result.claims
    for claim in result.claims:
        assert f"- **{claim.verdict}.** The paper: " in report
        assert claim.judgements
    figures = [path for path in result.files if path.suffix == ".png"]
    assert figures
    for path in figures:
        assert path.read_bytes().startswith(b"\x89PNG")
        assert f"]({path.name})" in report
    console = Console(file=io.StringIO(), width=200)
    console.print(result)
    assert result.claims[0].verdict in console.file.getvalue()  # type: ignore[attr-defined]


@pytest.mark.usefixtures("families")
def test_without_matplotlib_the_report_says_so_and_has_no_figures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    result = replace(PLAIN, figures=lambda repeats, _: {"error": errors(repeats)}).run(SHORT, ["toy"], tmp_path)
    assert [path.suffix for path in result.files] == [".md", ".csv", ".csv"]
    assert "matplotlib" in result.files[0].read_text(encoding="utf-8")


def test_the_defaults_are_the_papers() -> None:
    assert ExperimentSize() == ExperimentSize(repeats=5, n_initial=20, iterations=200)
    assert EXPERIMENTS["rq2"].methods == ("flexibo-gp-log", "pesmo", "pesmo-dec", *COUPLED[1:], "flexibo")
    assert all(
        e.problems == ("dnn-stack", "nb201-tx2", "accel-a100") for e in EXPERIMENTS.values() if e.name[0] in "rt"
    )
    assert EXPERIMENTS["motivation"].problems == ("dnn-stack",)


@pytest.mark.parametrize(
    ("names", "size"),
    [
        (["dnn-stack"], ExperimentSize(5, 20, 200)),
        (["resnet-h200"], ExperimentSize(5, 6, 56)),
        (["dnn-stack", "squeezenet-h200"], ExperimentSize(5, 6, 64)),
    ],
)
def test_a_small_table_has_few_initial_designs_and_iterations(names: list[str], size: ExperimentSize) -> None:
    assert usual_size(map(find_problem, names)) == size
