from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from flexibo.compare.runs import SHARES, Moment, Run
from flexibo.compare.statistics.errors import errors, mean_errors
from flexibo.errors import InvalidValueError


def run(problem: str, method: str, seed: int, error: float) -> Run:
    """A run whose error is the same at every moment."""
    return Run(problem, method, seed, tuple(Moment(share, share * 100, error, 0.0, (1, 1)) for share in SHARES))


def table(found: Mapping[str, Mapping[str, Sequence[float]]]) -> list[Run]:
    """Runs by problem and method, a seed per error."""
    return [
        run(problem, method, seed, error)
        for problem, by_method in found.items()
        for method, values in by_method.items()
        for seed, error in enumerate(values)
    ]


SLOW = Run(
    "p",
    "slow",
    0,
    (
        Moment(0.0, 0.0, 0.9, 30.0, (0,)),
        Moment(0.5, 40.0, 0.5, 40.0, (4,)),
        Moment(1.0, 90.0, 0.1, 60.0, (9,)),
    ),
)


def test_errors_are_those_of_the_last_moment_within_the_share() -> None:
    assert [errors([SLOW], share)["p"]["slow"][0] for share in (0.0, 0.49, 0.5, 0.99, 1.0)] == [
        0.9,
        0.9,
        0.5,
        0.5,
        0.1,
    ]


@pytest.mark.parametrize(
    ("price", "share", "expected"),
    [
        (0.0, 1.0, 0.1),
        (1.0, 1.0, 0.5),  # 90 + 60 is more than 100; 40 + 40 is not
        (1.5, 1.0, 0.5),  # 40 + 60 is just enough
        (1.51, 1.0, 0.9),
        (0.2, 0.5, 0.5),  # 40 + 8
        (0.3, 0.5, 0.9),  # 40 + 12
        (50.0, 1.0, 0.9),  # even the first question is too expensive: the initial designs are free
        (1.0, 0.0, 0.9),
    ],
)
def test_overhead_counts_as_cost(price: float, share: float, expected: float) -> None:
    assert errors([SLOW], share, prices={"p": (100.0, price)})["p"]["slow"][0] == expected


def test_free_overhead_changes_nothing_though_nothing_more_is_bought() -> None:
    moments = (Moment(0.0, 0.0, 0.9, 1.0, (0,)), Moment(0.5, 20.0, 0.5, 2.0, (2,)), Moment(1.0, 20.0, 0.4, 3.0, (2,)))
    runs = [Run("p", "m", 0, moments)]
    assert errors(runs, 0.5, prices={"p": (100.0, 0.0)}) == errors(runs, 0.5)


def test_a_problem_without_a_price_of_overhead_is_refused() -> None:
    with pytest.raises(InvalidValueError, match="'p'"):
        errors([SLOW], 1.0, prices={"q": (1.0, 1.0)})


@pytest.mark.parametrize("share", [-0.1, 1.1, float("nan")])
def test_a_share_outside_the_budget_is_refused(share: float) -> None:
    with pytest.raises(InvalidValueError, match="between 0 and 1"):
        errors([SLOW], share)


def test_runs_that_cannot_be_judged_are_refused() -> None:
    with pytest.raises(InvalidValueError, match="twice"):
        errors([SLOW, SLOW], 1.0)
    with pytest.raises(InvalidValueError, match="finite"):
        errors([run("p", "m", 0, float("nan"))], 1.0)
    with pytest.raises(InvalidValueError, match="no moments"):
        errors([Run("p", "m", 0, ())], 1.0)


def test_means_are_geometric_and_of_floored_errors() -> None:
    found = mean_errors(errors(table({"p": {"a": [0.0, 0.004], "b": [0.5]}}), 1.0))["p"]
    assert found["a"].mean == pytest.approx(0.002)
    assert (found["a"].seeds, found["b"].seeds) == (2, 1)
    assert found["b"].mean == pytest.approx(0.5)


def test_each_measure_has_its_own_errors_and_what_was_not_judged_by_it_is_left_out() -> None:
    moments = (
        Moment(0.0, 0.0, 0.9, 0.0, (0,), model=0.8, reported=0.7),
        Moment(0.5, 40.0, 0.5, 1.0, (4,), reported=0.4),
        Moment(1.0, 90.0, 0.1, 2.0, (9,), model=0.05, reported=0.04),
    )
    runs = [Run("p", "m", 0, moments), SLOW]
    assert [errors(runs, share, measure="model")["p"]["m"][0] for share in (0.0, 0.5, 1.0)] == [0.8, 0.8, 0.05]
    assert errors(runs, 0.5, measure="reported") == {"p": {"m": {0: 0.4}}}
    assert errors(runs, 1.0)["p"] == {"m": {0: 0.1}, "slow": {0: 0.1}}
    assert errors([SLOW], 1.0, measure="model") == {}
