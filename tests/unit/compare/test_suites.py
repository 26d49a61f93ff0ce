"""The suites: their groups of problems, their seeds, and what the judge and the development suite do not share."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import pytest

from flexibo.compare.comparison import compare
from flexibo.compare.contestants import checked_method, checked_rival
from flexibo.compare.problems.recorded_tables import RECIPES
from flexibo.compare.problems.table import FAMILIES, find_problem, full_name
from flexibo.compare.runs import Allowance
from flexibo.compare.stored_results import stored_runs
from flexibo.compare.suites import SUITES, Limit, Suite

JUDGE, DEVELOPMENT = SUITES["standard"], SUITES["development"]
BY_NAME = {recipe.name: recipe for recipe in RECIPES}
HARD = {"zdt1": 2, "zdt2": 2, "zdt3": 2, "dtlz7": -1}
"""Functions whose other objectives are single options, and the number of the hard one; -1 is the last."""


def group(name: str) -> str:
    """The group of a problem, also without its table."""
    family = FAMILIES[name.partition(":")[0]]
    return find_problem(name).group if family.group == "synthetic" else family.group


def sources(name: str) -> set[object]:
    """What a problem is made of: pairs of columns of a table, a recorded system, a surface, or a function."""
    base, _, parameters = name.partition(":")
    given = FAMILIES[base].parsed(parameters)
    if base in BY_NAME:
        columns = sorted(one.column for one in BY_NAME[base].recorded)
        return {(BY_NAME[base].dataset, *pair) for pair in combinations(columns, 2)}
    return {(base, given.get("surface", 0))} if base == "dnn-stack" else {base}


def sources_of(suite: Suite) -> set[object]:
    return set().union(*map(sources, suite.problems))


def test_the_standard_suite_has_four_groups() -> None:
    assert Counter(map(group, JUDGE.problems)) == {"recorded": 14, "stack": 5, "synthetic": 7, "equal": 5}


def test_the_development_suite_has_four_groups() -> None:
    assert Counter(map(group, DEVELOPMENT.problems)) == {"recorded": 9, "stack": 5, "synthetic": 6, "equal": 5}


def test_nothing_is_tuned_on_problems_of_the_judge() -> None:
    assert not set(JUDGE.problems) & set(DEVELOPMENT.problems)
    assert not sources_of(JUDGE) & sources_of(DEVELOPMENT)


def test_the_suites_share_no_seed() -> None:
    seeds = [{seed for *_, seed in suite.tasks()} for suite in (JUDGE, DEVELOPMENT)]
    assert seeds == [set(range(10)), set(range(1000, 1020))]


@pytest.mark.parametrize("name", [*JUDGE.problems, *DEVELOPMENT.problems])
def test_the_price_is_on_a_hard_objective(name: str) -> None:
    base = name.partition(":")[0]
    if base not in HARD or group(name) == "equal":
        return
    costs = find_problem(name).mean_costs()
    hard = HARD[base] - 1 if HARD[base] > 0 else len(costs) - 1
    assert costs.argmax() == hard


def test_at_least_two_recorded_problems_of_the_judge_have_options_that_do_not_affect_the_error() -> None:
    packaged = [find_problem(name) for name in JUDGE.problems if name.endswith("-h200")]
    assert len(packaged) >= 2
    for problem in packaged:
        assert problem.group == "recorded"
        assert set(problem.objectives[0].depends_on or ()) < set(problem.space.names)


def test_a_limit_counts_seeds_from_the_first() -> None:
    suite = replace(DEVELOPMENT, problems=("zdt2:finite",), methods=("flexibo",), seeds=3)
    limited = replace(suite, limits={"flexibo": Limit({"zdt2:finite": 2})})
    assert [seed for *_, seed in suite.tasks()] == [1000, 1001, 1002]
    assert [seed for *_, seed in limited.tasks()] == [1000, 1001]


def test_the_first_seed_of_a_suite_keeps_its_front(tmp_path: Path) -> None:
    suite = replace(DEVELOPMENT, problems=("dtlz7:finite",), methods=("random-coupled",), seeds=2)
    runs = compare(replace(suite, allowance=Allowance(n_initial=2, budget=1)), tmp_path, jobs=1)
    assert [(run.seed, bool(run.fronts)) for run in runs] == [(1000, True), (1001, False)]


def test_a_limited_contestant_takes_part_where_and_as_often_as_it_may() -> None:
    limited = Suite("", ("a", "b"), ("m",), ("slow",), 4, limits={"slow": Limit({"b": 2})})
    assert [task for task in limited.tasks() if task[1] == "slow"] == [("b", "slow", 0), ("b", "slow", 1)]
    assert sum(task[1] == "m" for task in limited.tasks()) == 8


@pytest.mark.parametrize(("elsewhere", "seeds"), [(None, [0, 1, 2]), (1, [0]), (0, [])])
def test_a_limit_says_how_many_seeds_the_other_problems_get(elsewhere: int | None, seeds: list[int]) -> None:
    limit = Limit({"b": 2, "c": 0}, elsewhere=elsewhere)
    limited = Suite("", ("a", "b", "c"), (), ("slow",), 3, limits={"slow": limit})
    assert [task[::2] for task in limited.tasks()] == [*(("a", seed) for seed in seeds), ("b", 0), ("b", 1)]


def test_a_limit_is_described() -> None:
    assert re.search(r"\b3 seeds .*a, b only", Limit({"a": 3, "b": 3}).description(10))
    assert re.search(r"\b1 seed .*a, b only", Limit({"a": 3, "b": 3}).description(1))
    both = Limit({"a": 0, "b": 4, "c": 0}, elsewhere=None)
    assert re.search(r"\b4 seeds .*\bb; .*not .*a, c$", both.description(10))
    assert re.search(r"not .*a; .*\b4 seeds .*other", Limit({"a": 0}, elsewhere=4).description(10))
    assert Limit(elsewhere=5).description(10).endswith(" 5 seeds")


def test_the_standard_suite_has_problems_of_two_to_five_objectives() -> None:
    def objectives(name: str) -> int:
        said = re.search(r"-(\d)$|:n=(\d)", name)
        return 2 if said is None else int(said[1] or said[2])

    assert Counter(map(objectives, SUITES["standard"].problems)) == {2: 24, 3: 4, 4: 2, 5: 1}
    assert len(find_problem("dtlz2:n=3:ratio=100").objectives) == 3


def test_the_suites_name_problems_and_methods_that_exist() -> None:
    for one in SUITES.values():
        assert tuple(map(full_name, one.problems)) == one.problems
        assert tuple(map(checked_method, one.methods)) == one.methods
        assert tuple(map(checked_rival, one.rivals)) == one.rivals
        assert set(one.limits) <= {*one.methods, *one.rivals}
        assert all(set(limit.seeds) <= set(one.problems) for limit in one.limits.values())


def test_the_quick_suite_needs_no_other_library() -> None:
    quick = SUITES["quick"]
    marks = {name: find_problem(name).fingerprint() for name in quick.problems}
    tasks = [task for task in quick.tasks() if task[1] in quick.rivals]
    assert {run.key for run in stored_runs(tasks, quick.allowance, marks)} == set(tasks)


class TestSteps:
    judge, development = SUITES["steps"], SUITES["steps-development"]

    def test_they_have_learning_curves_a_proxy_and_what_misleads(self) -> None:
        assert Counter(FAMILIES[name.partition(":")[0]].group for name in self.judge.problems) == {
            "curves": 14,
            "proxy": 1,
            "misleading": 4,
        }
        assert Counter(FAMILIES[name.partition(":")[0]].group for name in self.development.problems) == {
            "curves": 16,
            "proxy": 1,
            "misleading": 2,
        }

    def test_nothing_is_tuned_on_problems_or_functions_of_the_judge(self) -> None:
        synthetic = [
            [
                FAMILIES[base].parsed(given)
                for base, _, given in (name.partition(":") for name in suite.problems)
                if "function" in FAMILIES[base].parameters
            ]
            for suite in (self.judge, self.development)
        ]
        functions = [{given.get("function", 1) for given in suite} for suite in synthetic]
        assert functions == [{1, 3}, {2}]
        assert not set(self.judge.problems) & set(self.development.problems)

    def test_everything_is_paid_and_the_first_method_is_judged_against_itself_without_steps(self) -> None:
        for suite in (self.judge, self.development):
            assert suite.allowance == Allowance(n_initial=10, budget=30.0, from_scratch=True)
            assert suite.methods == ("flexibo/steps", "flexibo")
            assert suite.money is not None
            assert (suite.money.baseline, suite.money.must, suite.money.aim) == ("flexibo", 0.6, 0.33)

    def test_the_worst_of_three_shares_counts(self) -> None:
        assert [goal.shares for goal in self.judge.goals] == [(0.25, 0.5, 1.0)] * 2
