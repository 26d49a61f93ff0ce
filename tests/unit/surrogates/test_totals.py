from __future__ import annotations

import numpy as np
import numpy.testing as npt
import pytest

from flexibo import Categorical, Objective, Space
from flexibo.surrogates import Averaged, GaussianProcess, Warped
from flexibo.surrogates.table import find_surrogate
from flexibo.surrogates.totals import WEIGHT, Totals

OPERATIONS = Categorical(["conv", "pool", "skip"])
CELL = Space({"edge_1": OPERATIONS, "depth": [1, 2, 3], "edge_2": OPERATIONS})


def test_a_total_counts_how_often_each_value_of_a_family_occurs() -> None:
    designs = CELL.designs([{"edge_1": a, "depth": 2, "edge_2": b} for a, b in (("conv", "conv"), ("skip", "conv"))])
    totals = Totals(CELL.families()).appended(designs.encoded())[:, -3:]
    one = WEIGHT / np.sqrt(2.0) * np.sqrt(0.5)  # the code of a category is sqrt(0.5)
    npt.assert_allclose(totals, [[2.0 * one, 0.0, 0.0], [one, 0.0, one]])


def test_designs_with_the_same_total_in_another_order_differ_in_their_own_columns_only() -> None:
    designs = CELL.designs([{"edge_1": a, "depth": 1, "edge_2": b} for a, b in (("conv", "pool"), ("pool", "conv"))])
    here, there = Totals(CELL.families()).appended(designs.encoded())
    npt.assert_allclose(here[-3:], there[-3:])
    assert (here != there).any()


def test_a_total_is_a_group_of_its_own() -> None:
    totals = Totals(CELL.families())
    assert totals.groups(CELL.groups()).tolist() == [0, 0, 0, 1, 2, 2, 2, 3, 3, 3]
    assert totals.count == 3
    assert Totals().groups(CELL.groups()).tolist() == CELL.groups().tolist()


def test_tied_options_share_the_length_scale_of_each_category() -> None:
    tied = Totals(CELL.families(), tied=True)
    assert tied.groups(CELL.groups()).tolist() == [1, 2, 3, 0, 1, 2, 3, 4, 5, 6]
    assert Totals(tied=True).groups(CELL.groups()).tolist() == CELL.groups().tolist()


def test_a_process_with_totals_is_one_of_the_appended_columns() -> None:
    rng = np.random.default_rng(0)
    designs = CELL.enumerate()
    X, y, groups = designs.encoded(), rng.normal(size=len(designs)), CELL.groups()
    totals = Totals(CELL.families())
    plain = GaussianProcess(noise=0.01, scatter=1.0, restarts=0)
    own = GaussianProcess(noise=0.01, scatter=1.0, restarts=0, totals=totals).fit(
        X[:12], y[:12], groups=groups, rng=np.random.default_rng(1)
    )
    by_hand = plain.fit(totals.appended(X[:12]), y[:12], groups=totals.groups(groups), rng=np.random.default_rng(1))
    more, wide = slice(12, 15), totals.appended(X)
    own, by_hand = own.extend(X[more], y[more]), by_hand.extend(wide[more], y[more])
    npt.assert_array_equal(own.predict(X), by_hand.predict(wide))
    npt.assert_array_equal(own.covariance(X[:3], X[3:5]), by_hand.covariance(wide[:3], wide[3:5]))
    npt.assert_array_equal(
        own.draws(X[:3], 4, np.random.default_rng(2)), by_hand.draws(wide[:3], 4, np.random.default_rng(2))
    )
    assert own.log_evidence == by_hand.log_evidence


@pytest.mark.parametrize("count", [12, 60])
def test_the_average_learns_from_a_few_losses_that_a_count_decides(count: int) -> None:
    """What counts is the total of eight options: without it, every option must be learned alone."""
    space = Space({f"core_{i}": [0, 1, 2, 3] for i in range(8)})
    designs = space.sample(count + 200, np.random.default_rng(3))
    X, rng = designs.encoded(), np.random.default_rng(4)
    y = 5.0 + (X.sum(axis=1) - 4.0) ** 2
    objective = Objective("joules")
    errors = []
    for families in ((), space.families()):
        model = find_surrogate("gp").of(objective, families)
        fitted = model.fit(X[:count], y[:count], groups=space.groups(), rng=rng)
        errors.append(float(np.abs(fitted.predict(X[count:])[0] - y[count:]).mean()))
    assert errors[1] < 0.3 * errors[0]


def test_only_the_default_models_have_totals_and_keep_those_without() -> None:
    objective, families = Objective("error"), CELL.families()
    for name in ("gp-warped", "gp-plain", "gp-paper", "rf"):
        assert find_surrogate(name).of(objective, families) == find_surrogate(name).of(objective)
    default = find_surrogate("gp").of(objective, families)
    assert isinstance(default, Averaged)
    members = [member.model if isinstance(member, Warped) else member for member in default.models]
    totals = [member.totals for member in members if isinstance(member, GaussianProcess)]
    assert totals == 2 * [Totals(), Totals(), Totals(families), Totals(families, tied=True)]
    assert find_surrogate("gp").of(objective, ()) == find_surrogate("gp").of(objective)
