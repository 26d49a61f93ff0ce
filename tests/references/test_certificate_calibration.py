"""Certificates hold as often as they say, on functions drawn from the model."""

from __future__ import annotations

import pytest
from benchmarks.calibration import Drawing, drawn_looks
from scipy.stats import binom

DELTA = 0.05
DRAWS = 60
KNOWN = Drawing(designs=40, length_scale=1.0, n_initial=3, evaluations=20)
SMOOTH = Drawing(designs=40, length_scale=2.0, n_initial=3, evaluations=20)
NOISY = Drawing(designs=40, length_scale=1.0, noise=0.04, n_initial=3, evaluations=20)


def most_failures(draws: int) -> int:
    """If a run fails with probability delta, more of the runs than this fail once in a thousand times."""
    return int(binom.isf(1e-3, draws, DELTA))


@pytest.mark.parametrize(
    ("drawing", "draws"),
    [
        pytest.param(KNOWN, DRAWS, id="exact", marks=pytest.mark.long),
        pytest.param(SMOOTH, 15, id="smooth", marks=pytest.mark.slow),
        pytest.param(SMOOTH, DRAWS, id="smooth-often", marks=pytest.mark.long),
        pytest.param(NOISY, DRAWS, id="noisy", marks=pytest.mark.long),
    ],
)
def test_a_certificate_holds_at_every_moment_in_at_least_1_minus_delta_of_the_runs(
    drawing: Drawing, draws: int
) -> None:
    runs = [drawn_looks(drawing, seed, delta=DELTA) for seed in range(draws)]
    assert sum(not all(look.holds for look in run) for run in runs) <= most_failures(draws)
    assert sum(not all(look.boxes_hold for look in run) for run in runs) <= most_failures(draws)
    assert sum(any(look.wrongly_confident for look in run) for run in runs) <= most_failures(draws)
    # It is no empty promise: some designs are confident, and some fronts are certified to miss little.
    if drawing is SMOOTH:
        assert sum(look.confident for run in runs for look in run) > draws
        assert sum(run[-1].bound < 0.2 for run in runs) >= draws // 10


@pytest.mark.long
def test_boxes_with_the_papers_factor_do_not_all_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flexibo.optimizer.predictor.SIMULTANEOUS", 2.0 / 9.0)
    runs = [drawn_looks(KNOWN, seed, delta=DELTA) for seed in range(DRAWS)]
    assert sum(not all(look.boxes_hold for look in run) for run in runs) > most_failures(DRAWS)
