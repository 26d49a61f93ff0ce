from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.unit.experiments.toy_problem import QUICK, SHORT, TINY, toy

from flexibo.compare.metered_problem import MeteredProblem
from flexibo.compare.problems import table as table_of_problems
from flexibo.compare.problems.base import Family
from flexibo.errors import InvalidValueError
from flexibo.experiments import ExperimentSize
from flexibo.experiments.making import in_target, repeat, repeats_of, target_region
from flexibo.pareto import hypervolume


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


def test_iterations_are_judged_by_what_was_measured_completely_too() -> None:
    problem = toy()
    metered = MeteredProblem(problem, seed=0)
    coupled, decoupled = repeat(problem, "parego", 0, TINY, metered=metered), repeat(problem, "flexibo-gp-log", 0, TINY)
    assert coupled.iterations[-1].confirmed == pytest.approx(problem.error(metered.confirmed()))
    assert all(one.confirmed == pytest.approx(one.error) for one in coupled.iterations)
    assert all(one.confirmed is not None for one in decoupled.iterations)


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


def test_no_jobs_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidValueError, match="jobs is 0"):
        repeats_of(TINY, [toy()], [QUICK], tmp_path, jobs=0)
