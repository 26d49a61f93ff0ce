from __future__ import annotations

import numpy as np
import pytest
from tests.unit.compare.problems.synthetic.made_families import made, missed

from flexibo.compare.problems.synthetic import branin_currin
from flexibo.pareto import non_dominated


def test_designs_polished_towards_the_front_of_branin_currin_never_pass_it() -> None:
    problem = made("branin-currin")
    assert not problem.exact
    assert problem.best >= 59.36011874867746  # BoTorch's figure, the best front that an NSGA-II found
    rng = np.random.default_rng(0)
    X = np.stack(np.meshgrid(np.linspace(0.0, 0.2, 400), np.linspace(0.7, 1.0, 400)), axis=-1).reshape(-1, 2)
    for deviation in (None, 1e-3, 3e-4, 1e-4):
        if deviation is not None:
            X = X[np.linspace(0, len(X) - 1, 1_500).astype(int)]
            X = np.clip(np.concatenate([X, *(X + deviation * rng.standard_normal(X.shape) for _ in range(20))]), 0, 1)
        losses = problem.losses(problem.space.from_codes(X))
        best = np.flatnonzero(non_dominated(losses))
        best = best[np.argsort(losses[best, 0])]
        X, losses = X[best], losses[best]
    assert -1e-6 <= missed(problem, losses) < 2e-4


def test_a_finer_search_finds_the_same_volume_of_branin_currin(monkeypatch: pytest.MonkeyPatch) -> None:
    best = made("branin-currin").best
    for name, finer in (("N_LEVELS", 6_001), ("N_STEPS", 151), ("N_ZOOMS", 8)):
        monkeypatch.setattr(branin_currin, name, finer)
    _, volume = branin_currin.front_and_volume.__wrapped__()
    assert best == pytest.approx(volume, rel=1e-7)
