from __future__ import annotations

import csv
import io
import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from flexibo import Objective, Space
from flexibo._internal.arrays import FloatArray
from flexibo.compare.metered_problem import MeteredProblem
from flexibo.compare.problems import table as table_of_problems
from flexibo.compare.problems.base import Family, Problem, nadir_reference, true_front
from flexibo.errors import InvalidValueError
from flexibo.experiments import EXPERIMENTS, Experiment, ExperimentResult, ExperimentSize, Repeat, making
from flexibo.experiments.drawing import errors
from flexibo.experiments.making import FILE, in_target, repeat, repeats_of, target_region
from flexibo.methods.table import find_method
from flexibo.pareto import hypervolume
from flexibo.space import Designs

TINY = ExperimentSize(repeats=2, n_initial=4, iterations=3)
SHORT = ExperimentSize(repeats=2, n_initial=4, iterations=1)
QUICK = "smsego"
COUPLED = ("pesmo", "pal", "parego", "smsego", "ca-mobo")
PLAIN = Experiment(
    "plain",
    "made up",
    (QUICK, "flexibo-gp-log"),
    lambda *_: ExperimentResult("plain", "Plain", (), ()),
    lambda *_: {},
)


def toy(*, name: str = "toy", expensive: float = 50.0) -> Problem:
    space = Space({"filters": [16, 32, 64, 128], "kernel": [1, 3, 5], "cpu_ghz": [0.3, 0.9, 1.5, 2.1]})

    def values(designs: Designs) -> FloatArray:
        filters, kernel, ghz = (designs.codes[:, k] for k in range(3))
        error = 40.0 / (1 + filters) + (kernel - 1) ** 2
        return np.column_stack([error, (2 + filters + kernel) * (1 + (ghz - 1) ** 2)])

    def costs(designs: Designs) -> FloatArray:
        return np.column_stack([expensive * (1 + designs.codes[:, 0]), np.full(len(designs), 2.0)])

    everything = values(space.enumerate())
    front = true_front(everything)
    reference = nadir_reference(front)
    objectives = (Objective("error", unit="%", options=["filters", "kernel"]), Objective("energy", unit="J"))
    best = hypervolume(front, reference)
    return Problem(name, "made up", space, objectives, values, costs, reference, front, best)


@pytest.fixture
def families(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Family]]:
    """The table of problems with a small one in it, on which all else is quick."""
    table = dict(table_of_problems.FAMILIES) | {"toy": Family("toy", "made up", toy)}
    monkeypatch.setattr(table_of_problems, "FAMILIES", table)
    table_of_problems.find_problem.cache_clear()
    yield table
    table_of_problems.find_problem.cache_clear()


def rows_of(path: Path) -> list[dict[str, str]]:
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def without_times(path: Path) -> list[dict[str, str]]:
    return [{name: value for name, value in row.items() if name != "thinking_s"} for row in rows_of(path)]


def test_an_iteration_of_a_coupled_method_is_a_design_with_all_its_objectives() -> None:
    made = repeat(toy(), "parego", 0, TINY)
    assert len(made.iterations) == 1 + TINY.iterations
    assert made.iterations[0].objectives == ()
    for iteration in made.iterations[1:]:
        # A network that was trained already is not trained again: then energy is all there is to measure.
        assert set(iteration.objectives) in ({"error", "energy"}, {"energy"})
    assert ("error", "energy") in [iteration.objectives for iteration in made.iterations]


def test_an_iteration_of_a_decoupled_method_is_one_objective() -> None:
    made = repeat(toy(), "flexibo-gp-log", 0, TINY)
    assert [len(iteration.objectives) for iteration in made.iterations] == [0, 1, 1, 1]


@pytest.mark.parametrize("method", ["flexibo-gp-log", "pal"])
def test_costs_are_the_ledgers_after_the_initial_designs(method: str) -> None:
    problem = toy()
    metered, opening = MeteredProblem(problem, seed=1), MeteredProblem(problem, seed=1)
    made = repeat(problem, method, 1, TINY, metered=metered)
    for design in problem.initial_designs(TINY.n_initial, 1):
        for name in problem.names:
            opening.measure(design, name)
    last = made.iterations[-1]
    assert opening.spent > 0
    assert last.spent == pytest.approx(metered.spent - opening.spent)
    assert last.spent == pytest.approx(sum(sum(i.costs) for i in made.iterations))
    assert last.log_spent == pytest.approx(sum(np.log(max(c, np.e)) for i in made.iterations for c in i.costs))
    for name in problem.names:
        assert made.count(name) == metered.counts[name] - opening.counts[name]
    assert made.cost("error") + made.cost("energy") == pytest.approx(last.spent)


def test_all_methods_with_one_seed_begin_with_the_same_front() -> None:
    begun = [repeat(toy(), method, 3, SHORT) for method in ("parego", "smsego", "flexibo-gp-log")]
    # What is measured is the same; what is not measured does not exist after the initial designs.
    assert len({made.iterations[0].error for made in begun}) == 1
    assert repeat(toy(), "parego", 4, SHORT).iterations[0].error != begun[0].iterations[0].error


def test_the_last_iteration_is_judged_by_the_reported_front() -> None:
    problem = toy()
    made = repeat(problem, "flexibo-gp-log", 0, TINY)
    found = hypervolume(np.array(made.front), problem.reference)
    assert made.iterations[-1].error == pytest.approx(1 - found / problem.best)


def test_only_what_a_method_does_is_timed() -> None:
    moments = iter(range(10**6))
    made = repeat(toy(), "parego", 0, TINY, clock=lambda: float(next(moments)))
    # Asking is a tick and telling is a tick, for each objective; the first question was asked before the iteration.
    assert [i.overhead_s for i in made.iterations] == [2.0 * len(i.objectives) for i in made.iterations]


def test_a_method_that_runs_out_of_questions_says_why() -> None:
    made = repeat(toy(), "random-coupled", 0, ExperimentSize(1, 40, 100))
    assert made.stopped
    assert len(made.iterations) == 1 + 48 - 40


def test_the_target_region_is_the_first_quartile_except_for_the_error_of_dnn_stack() -> None:
    problem = toy()
    quartiles = np.quantile(problem.losses(problem.typical_designs()), 0.25, axis=0)
    assert target_region(problem) == pytest.approx(quartiles)
    assert target_region(toy(name="dnn-stack:surface=1")) == pytest.approx([25.0, quartiles[1]])


def test_designs_in_the_target_region_are_counted_once_and_only_if_nothing_reported_beats_them() -> None:
    problem = toy()
    designs = list(
        problem.space.designs([{"filters": f, "kernel": 3, "cpu_ghz": g} for f, g in ((16, 0.9), (16, 2.1))])
    )
    designs.append(problem.space.design({"filters": 128, "kernel": 3, "cpu_ghz": 0.9}))
    everywhere = np.array([np.inf, np.inf])
    assert in_target(problem, designs + designs[:1], everywhere) == 2
    assert in_target(problem, designs, np.array([np.inf, 4.0])) == 1
    assert in_target(problem, [], everywhere) == 0


def test_a_repeat_survives_being_written() -> None:
    made = repeat(toy(), "flexibo-gp-log", 0, TINY)
    read = Repeat.from_dict(made.to_dict())
    assert read.iterations[-1].spent == pytest.approx(made.iterations[-1].spent, rel=1e-8)
    assert read.iterations[1].objectives == made.iterations[1].objectives
    assert Repeat.from_dict(read.to_dict()) == read


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


@pytest.mark.parametrize("change", ["iterations", "n_initial", "problem", "version", "code"])
def test_what_was_made_with_another_size_is_not_used(
    families: dict[str, Family], change: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repeats_of(SHORT, [toy()], [QUICK], tmp_path)
    seen: list[int] = []
    size = replace(SHORT, **{change: 5}) if change in ("iterations", "n_initial") else SHORT
    if change == "version":
        monkeypatch.setattr("flexibo.__version__", "0.0.0")
    if change == "code":
        monkeypatch.setattr("flexibo.experiments.making.method_fingerprint", lambda method: "changed")
    families["toy"] = Family("toy", "made up", lambda: toy(expensive=60.0 if change == "problem" else 50.0))
    table_of_problems.find_problem.cache_clear()
    problem = table_of_problems.find_problem("toy")
    made = repeats_of(size, [problem], [QUICK], tmp_path, progress=lambda done, total, what: seen.append(done))
    assert seen == [0, 1, 2]
    assert len(made[0].iterations) == 1 + size.iterations


@pytest.mark.usefixtures("families")
def test_more_repeats_keep_those_that_are_made(tmp_path: Path) -> None:
    repeats_of(SHORT, [toy()], [QUICK], tmp_path)
    seen: list[int] = []
    size = replace(SHORT, repeats=3)
    made = repeats_of(size, [toy()], [QUICK], tmp_path, progress=lambda done, total, what: seen.append(done))
    assert seen == [2, 3]
    assert [repeat.seed for repeat in made] == [0, 1, 2]


@pytest.mark.slow
def test_processes_make_what_one_makes(tmp_path: Path) -> None:
    problem = table_of_problems.find_problem("branin-currin:finite:ratio=10")
    before = os.environ.get("OMP_NUM_THREADS")
    alone = repeats_of(TINY, [problem], ["flexibo-gp-log"], tmp_path / "one")
    together = repeats_of(TINY, [problem], ["flexibo-gp-log"], tmp_path / "two", jobs=2)
    assert os.environ.get("OMP_NUM_THREADS") == before
    untimed = [
        [replace(made, iterations=tuple(replace(i, overhead_s=0.0) for i in made.iterations)) for made in side]
        for side in (alone, together)
    ]
    assert untimed[0] == untimed[1]


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


@pytest.mark.parametrize("wrong", [{"repeats": 0}, {"n_initial": 1}, {"iterations": 0}])
def test_terms_that_make_no_sense_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(InvalidValueError, match=next(iter(wrong))):
        ExperimentSize(**wrong)


def test_no_jobs_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidValueError, match="jobs is 0"):
        repeats_of(TINY, [toy()], [QUICK], tmp_path, jobs=0)
