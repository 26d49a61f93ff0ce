from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests import comparisons
from tests.unit.compare.spied_problem import SPACE

from flexibo import Objective, Space
from flexibo.compare.problems.base import (
    GROUPS,
    N_TYPICAL,
    Family,
    Problem,
    ProblemParameter,
    constant_costs,
    nadir_reference,
    true_front,
    typical_designs,
    worst_of_interest,
)
from flexibo.compare.problems.table import FAMILIES, find_problem
from flexibo.errors import InvalidValueError, UnknownNameError

TWO = (Objective("error"), Objective("ms"))


def test_the_error_of_the_true_front_is_zero_and_no_front_has_less(problem: Problem) -> None:
    designs = SPACE.enumerate()
    losses = problem.losses(designs)
    on_front = [design for design, row in zip(designs, losses, strict=True) if (row == problem.front).all(axis=1).any()]
    assert problem.error(on_front) == pytest.approx(0.0, abs=1e-12)
    assert problem.error(list(designs)) == pytest.approx(0.0, abs=1e-12)
    assert problem.error(on_front[1:]) > 1e-6
    assert problem.error([]) == 1.0


def test_values_that_are_maximised_become_losses() -> None:
    problem = replace(comparisons.problem(), values=lambda designs: np.tile([3.0, 5.0], (len(designs), 1)))
    designs = problem.space.enumerate()
    assert problem.signs.tolist() == [1.0, -1.0]
    assert problem.losses(designs).tolist() == [[3.0, -5.0]] * 3


@pytest.mark.parametrize(
    ("change", "facts"),
    [
        ({"objectives": (*TWO, Objective("joules", at_most=3.0))}, "'p'.*constraint"),
        ({"reference": np.array([9.0])}, r"'p'.*n = 2"),
        ({"front": np.zeros((4, 3))}, r"'p'.*n = 2"),
        ({"front": np.zeros(2)}, r"'p'.*n = 2"),
        ({"best": 0.0}, r"'p'.*0\.0"),
        ({"best": float("nan")}, "'p'.*nan"),
    ],
)
def test_a_problem_that_does_not_fit_together_is_refused(change: dict[str, Any], facts: str) -> None:
    with pytest.raises(InvalidValueError, match=facts):
        replace(comparisons.problem(), **change)


def test_the_fingerprint_changes_with_what_decides_a_run_and_with_nothing_else() -> None:
    problem = comparisons.problem()
    changes: dict[str, dict[str, Any]] = {
        "values": {"values": lambda designs: np.ones((len(designs), 2))},
        "costs": {"costs": constant_costs([10.0, 2.0])},
        "reference": {"reference": np.array([9.0, 1.0])},
        "noise": {"noise": np.array([0.0, 0.5])},
        "best": {"best": 2.0},
        "space": {"space": Space({"x": [0, 1, 2, 3]})},
        "objectives": {"objectives": (Objective("error", noisy=True), problem.objectives[1])},
    }
    marks = {name: replace(problem, **change).fingerprint() for name, change in changes.items()}
    assert len({problem.fingerprint(), *marks.values()}) == len(changes) + 1
    words = replace(problem, name="q", summary="Other words.", source="elsewhere", unit="J")
    assert words.fingerprint() == problem.fingerprint()


def test_the_fingerprint_of_a_pool_sees_the_last_bit_and_that_of_a_function_does_not() -> None:
    def shifted(problem: Problem) -> Problem:
        return replace(problem, values=lambda designs: problem.values(designs) + 1e-9)

    function = replace(comparisons.problem(), values=lambda designs: np.ones((len(designs), 2)))
    pool = replace(function, space=Space.from_designs([{"x": 0}, {"x": 1}, {"x": 2}]))
    assert shifted(function).fingerprint() == function.fingerprint()
    assert shifted(pool).fingerprint() != pool.fingerprint()


def test_the_fingerprint_of_a_problem_with_data_sees_the_data_and_no_digits_of_values() -> None:
    problem = replace(comparisons.problem(), data="task 1 of a file")
    shifted = replace(
        problem, values=lambda designs: problem.values(designs) + 1e-3, reference=problem.reference + 1e-3
    )
    assert shifted.fingerprint() == problem.fingerprint()
    assert replace(problem, data="task 2 of a file").fingerprint() != problem.fingerprint()


def test_initial_designs_are_those_of_the_seed(problem: Problem) -> None:
    first, again, other = (problem.initial_designs(6, seed).keys().tolist() for seed in (1, 1, 2))
    assert first == again != other
    assert len(set(first)) == 6


def test_typical_designs_are_a_whole_pool_or_a_fixed_draw() -> None:
    assert len(typical_designs(SPACE)) == SPACE.size
    line = Space({"x": (0.0, 1.0)})
    assert len(typical_designs(line)) == N_TYPICAL
    assert typical_designs(line).keys().tolist() == typical_designs(line).keys().tolist()


def test_mean_costs_are_those_of_a_typical_design(problem: Problem) -> None:
    expected = problem.costs(SPACE.enumerate()).mean(axis=0)
    assert problem.mean_costs().tolist() == pytest.approx(expected.tolist())


def test_a_true_front_is_what_nothing_dominates_by_its_first_objective() -> None:
    losses = np.array([[3.0, 1.0], [1.0, 3.0], [3.0, 3.0], [2.0, 2.0], [2.0, 2.5]])
    assert true_front(losses).tolist() == [[1.0, 3.0], [2.0, 2.0], [3.0, 1.0]]


def test_the_reference_of_a_front_without_range_is_still_behind_it() -> None:
    assert nadir_reference(np.array([[-4.0, 0.5]])).tolist() == pytest.approx([-3.6, 0.6])


def test_the_worst_of_interest_is_a_quartile_unless_that_excludes_the_front() -> None:
    front = np.array([[0.0, 1.0], [1.0, 0.0]])
    usual = np.column_stack([np.arange(5.0), np.arange(5.0) * 2])
    assert worst_of_interest(usual, front).tolist() == [3.0, 6.0]
    assert worst_of_interest(usual - 9.0, front).tolist() == pytest.approx([1.1, 1.1])


FAMILY = Family(
    "one",
    "",
    lambda **given: comparisons.problem(),
    {
        "n": ProblemParameter(2, "", 2, 5),
        "ratio": ProblemParameter(1.0, "", 1, 1e6),
        "finite": ProblemParameter(False, ""),
        "scale": ProblemParameter(1.0, ""),
    },
)


@pytest.mark.parametrize(
    ("text", "given"),
    [
        ("", {}),
        ("ratio=10:finite", {"ratio": 10.0, "finite": True}),
        ("finite=NO:n=3", {"finite": False, "n": 3}),
        ("finite=true", {"finite": True}),
        ("::n=5:", {"n": 5}),
        ("ratio=1e3", {"ratio": 1000.0}),
    ],
)
def test_parameters_are_read_by_the_type_of_their_default(text: str, given: dict[str, object]) -> None:
    found = FAMILY.parsed(text)
    assert found == given
    assert {name: type(value) for name, value in found.items()} == {name: type(value) for name, value in given.items()}


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("n=6", "'n'.*'one'.*'6'.* 2 .* 5"),
        ("n=2.5", "'n'.*'one'.*'2.5'.*one:n=2"),
        ("n", "'n'.*'one'.*''.*one:n=2"),
        ("ratio=0.5", r"'ratio'.*'0\.5'.* 1 .* 1e\+06"),
        ("ratio=nan", "'ratio'.*'nan'"),
        ("ratio=inf", "'ratio'.*'inf'"),
        ("scale=inf", "'scale'.*'inf'"),
        ("scale=-1", "'scale'.*'-1'.* 0 "),
        ("finite=maybe", "'finite'.*'maybe'.*yes"),
        ("n=3:n=3", "'n'.*'one'.*twice"),
        (f"n={'9' * 99}", "'9{40}'"),
    ],
)
def test_a_parameter_that_cannot_be_is_refused(text: str, facts: str) -> None:
    with pytest.raises(InvalidValueError, match=facts):
        FAMILY.parsed(text)


def test_an_unknown_parameter_is_refused_with_a_similar_one() -> None:
    with pytest.raises(UnknownNameError, match=r"'one'.*'ration'.*'ratio'"):
        FAMILY.parsed("ration=3")


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ({}, "one"),
        ({"finite": True, "n": 3}, "one:n=3:finite"),
        ({"ratio": 1.0, "n": 2, "finite": False}, "one"),
        ({"ratio": 123456.75}, "one:ratio=123456.75"),
    ],
)
def test_the_name_of_a_problem_leaves_defaults_out_and_is_read_back(given: dict[str, Any], name: str) -> None:
    assert FAMILY.full_name(given) == name
    assert FAMILY.full_name(FAMILY.parsed(name.partition(":")[2])) == name


def test_every_family_has_a_group() -> None:
    assert {family.group for family in FAMILIES.values()} == set(GROUPS)


def test_an_unknown_group_is_refused() -> None:
    with pytest.raises(UnknownNameError):
        replace(find_problem("branin-currin"), group="recordd")


@pytest.mark.parametrize(
    ("name", "group"),
    [
        ("zdt1:finite", "equal"),
        ("zdt1:ratio=10:finite", "synthetic"),
        ("branin-currin:noise=0.05", "equal"),
        ("dnn-stack", "stack"),
        ("lenet-h200", "recorded"),
        ("lenet-h200-curves:n=3", "curves"),
    ],
)
def test_a_problem_is_in_its_group(name: str, group: str) -> None:
    assert find_problem(name).group == group


def test_the_group_does_not_change_the_fingerprint() -> None:
    problem = find_problem("branin-currin")
    assert replace(problem, group="synthetic").fingerprint() == problem.fingerprint()
