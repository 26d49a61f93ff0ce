"""Optuna's Gaussian processes with the logarithm of the expected hypervolume improvement.

Exact objectives are declared so (`deterministic_objective`), as the documentation provides for. All else is Optuna's
own default. The initial designs take the place of its random ones.
"""

from __future__ import annotations

from flexibo.compare.rivals.base import RivalEntry, Setting
from flexibo.compare.rivals.library_rival import LibraryRival
from flexibo.compare.rivals.optuna_study import OptunaStudy


def _study(setting: Setting) -> OptunaStudy:
    from optuna.samplers import GPSampler

    sampler = GPSampler(
        seed=setting.seed, n_startup_trials=setting.n_initial, deterministic_objective=not setting.noisy
    )
    return OptunaStudy(setting, sampler)


ENTRY = RivalEntry(
    name="optuna-gp",
    summary="Optuna's Gaussian processes, expected hypervolume improvement",
    packages=("optuna", "torch"),
    modules=("optuna", "torch"),
    make=lambda setting: LibraryRival(setting, _study),
    documentation="https://optuna.readthedocs.io/en/stable/reference/samplers/generated/optuna.samplers.GPSampler.html",
)
