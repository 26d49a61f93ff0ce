"""Optuna's NSGA-II.

The population is half the number of initial designs, and at least `LEAST`, so that the first question is bred already,
from the better half of the initial designs, and 10 initial designs and 20 evaluations make four further generations.
Optuna's default of 50 is meant for hundreds of evaluations: it would draw at random throughout. All else is Optuna's
own default.
"""

from __future__ import annotations

from flexibo.compare.rivals.base import RivalEntry, Setting
from flexibo.compare.rivals.library_rival import LibraryRival
from flexibo.compare.rivals.optuna_study import OptunaStudy

LEAST = 4
"""A smaller population soon has nothing to cross."""


def _study(setting: Setting) -> OptunaStudy:
    from optuna.samplers import NSGAIISampler

    size = max(LEAST, setting.n_initial // 2)
    return OptunaStudy(setting, NSGAIISampler(seed=setting.seed, population_size=size))


ENTRY = RivalEntry(
    name="optuna-nsga2",
    summary="Optuna's NSGA-II",
    packages=("optuna",),
    modules=("optuna",),
    make=lambda setting: LibraryRival(setting, _study),
    documentation="https://optuna.readthedocs.io/en/stable/reference/samplers/generated/optuna.samplers.NSGAIISampler.html",
    caveat="Its population is half the number of initial designs, not 50 as by default.",
)
