from __future__ import annotations

import numpy as np
import pytest
from benchmarks import families
from benchmarks.families import COLUMNS, HARD, ROWS, SMOOTH, Member, drawn_member, recorded_member

from flexibo.pareto import non_dominated

M = COLUMNS * ROWS
SEEDS = range(12)


def drawn(monkeypatch: pytest.MonkeyPatch, family: str, seed: int) -> tuple[Member, np.ndarray]:
    """A function of a hard family, and the smooth losses (m, 2) that it was made from."""
    smooth = []

    def kept(*arguments: object) -> np.ndarray:
        smooth.append(SMOOTH_LOSSES(*arguments))
        return smooth[-1].copy()

    monkeypatch.setattr(families, "_smooth_losses", kept)
    return drawn_member(family, seed), smooth[0]


SMOOTH_LOSSES = families._smooth_losses


@pytest.mark.parametrize("family", [*SMOOTH, *HARD])
def test_a_seed_has_one_function_and_another_seed_another(family: str) -> None:
    first, again, other = (drawn_member(family, seed) for seed in (3, 3, 4))
    assert first.losses.shape == (M, 2)
    np.testing.assert_array_equal(first.losses, again.losses)
    assert (first.losses != other.losses).any()


@pytest.mark.parametrize("family", SMOOTH)
def test_smooth_losses_have_standard_deviation_1_and_are_close_at_neighbours(family: str) -> None:
    for seed in SEEDS:
        member = drawn_member(family, seed)
        np.testing.assert_allclose(member.losses.std(axis=0), 1.0)
        beside = np.diff(member.losses.reshape(COLUMNS, ROWS, 2), axis=1)
        assert np.square(beside).mean() < 1.0  # 2 without any correlation
        assert member.changed == 0


@pytest.mark.parametrize("family", ["aligned", "narrow valley", "step"])
def test_a_feature_lowers_one_loss_of_one_to_half_of_the_designs_by_the_same(
    family: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed in SEEDS:
        member, smooth = drawn(monkeypatch, family, seed)
        lowered = smooth - member.losses
        (loss,) = np.flatnonzero((lowered > 1e-9).any(axis=0))
        designs = lowered[:, loss] > 1e-9
        assert designs.sum() == member.changed
        assert 1 <= member.changed <= M / 2
        assert not lowered[:, 1 - loss].any()
        height = lowered[designs, loss]
        np.testing.assert_allclose(height, height[0])
        assert 0.25 <= height[0] <= 4.0


def test_aligned_values_of_an_option_are_equally_far_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in SEEDS:
        member, smooth = drawn(monkeypatch, "aligned", seed)
        fits = (smooth - member.losses > 1e-9).any(axis=1)
        rows = [design for design, fit in zip(member.pool, fits, strict=True) if fit]
        values = [sorted({row[option] for row in rows}) for option in ("width", "cores")]
        assert len(rows) == len(values[0]) * len(values[1])
        assert all(len(set(np.diff(one))) <= 1 for one in values)


def test_only_the_best_designs_are_below_a_plateau(monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in SEEDS:
        member, smooth = drawn(monkeypatch, "plateau", seed)
        first = member.losses[:, 0]
        below = first < 0.0
        assert below.sum() == member.changed
        assert 1 <= member.changed <= M / 2
        assert (first[~below] == 0.0).all()
        assert smooth[below, 0].max() < smooth[~below, 0].min()
        assert 0.25 <= -first.min() <= 4.0
        np.testing.assert_array_equal(member.losses[:, 1], smooth[:, 1])


def test_a_single_better_design_is_on_the_front(monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in SEEDS:
        member, smooth = drawn(monkeypatch, "single better design", seed)
        (lucky,) = np.flatnonzero((member.losses != smooth).any(axis=1))
        assert non_dominated(member.losses)[lucky]
        assert (member.losses[lucky] < smooth[non_dominated(smooth)]).all(axis=1).any()


def test_features_are_rare_and_frequent() -> None:
    for family in ("aligned", "narrow valley", "step", "plateau"):
        changed = [drawn_member(family, seed).changed for seed in range(30)]
        assert min(changed) <= 3
        assert max(changed) >= M / 4


def test_a_part_of_a_recorded_table_has_the_losses_of_its_problem() -> None:
    member, other = recorded_member("lenet-h200", 0), recorded_member("lenet-h200", 1)
    assert len(member.losses) == families.RECORDED_DESIGNS == len(member.pool)
    assert sorted(map(tuple, member.losses)) != sorted(map(tuple, other.losses))
    problem = families.find_problem("lenet-h200")
    whole = set(map(tuple, problem.losses(problem.space.enumerate()).tolist()))
    assert set(map(tuple, member.losses.tolist())) <= whole


def test_losses_are_those_of_the_designs_that_are_named() -> None:
    member = drawn_member("step", 0)
    np.testing.assert_array_equal(member.of(member.pool[[5, 2, 7]]), member.losses[[5, 2, 7]])
