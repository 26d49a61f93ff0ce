"""Optuna's tree-structured Parzen estimator for several objectives.

Ozaki, Tanigaki, Watanabe, Nomura, Onishi: Multiobjective Tree-Structured Parzen Estimator. JAIR 73, 2022. Every setting
is Optuna's own default; for several objectives that is one density per option, not a joint one. The initial designs
take the place of its random ones.
"""

from __future__ import annotations

from flexibo.compare.rivals.base import RivalEntry, Setting
from flexibo.compare.rivals.library_rival import LibraryRival
from flexibo.compare.rivals.optuna_study import OptunaStudy


def _study(setting: Setting) -> OptunaStudy:
    from optuna.samplers import TPESampler

    return OptunaStudy(setting, TPESampler(seed=setting.seed, n_startup_trials=setting.n_initial))


ENTRY = RivalEntry(
    name="optuna-tpe",
    summary="Optuna's TPE for several objectives",
    packages=("optuna",),
    modules=("optuna",),
    make=lambda setting: LibraryRival(setting, _study),
    documentation="https://optuna.readthedocs.io/en/stable/reference/samplers/generated/optuna.samplers.TPESampler.html",
)
