"""Syne Tune's MOASHA: asynchronous successive halving of random designs by non-dominated sorting.

Schmucker, Donini, Zafar, Salinas and Archambeau 2021, "Multi-objective asynchronous successive halving". With Syne
Tune's defaults: one bracket, one in three goes on, the first rung after one step. One worker trains one design after
the other and reports after every step, as Syne Tune's training scripts do; the scheduler says whether it continues.

The default priority of Syne Tune 0.16 returns the designs in their order where the scheduler expects the rank of each:
whether a design goes on is then nearly arbitrary. Here it is the rank in the same order, given by the argument that is
there for other priorities.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import numpy as np

from flexibo._internal.arrays import FloatArray
from flexibo.compare.rivals._global_randomness import GlobalRandomness
from flexibo.compare.rivals.step_rival import SPACING, Rung, StepRivalEntry, StepSetting
from flexibo.compare.rivals.successive_halving import rungs
from flexibo.space import Categorical, Option, Ordinal, Real

TIME = "epoch"


class Moasha:
    """MOASHA with one worker."""

    def __init__(self, setting: StepSetting) -> None:
        from syne_tune.optimizer.schedulers.multiobjective.moasha import MOASHA

        self._setting = setting
        self._random = GlobalRandomness(setting.seed)
        with self._random.drawing():
            self._scheduler: Any = MOASHA(
                config_space={name: _domain(option) for name, option in setting.space.options.items()},
                metrics=list(setting.names),
                time_attr=TIME,
                multiobjective_priority=_ranks(),
                max_t=setting.levels,
                random_seed=setting.seed % 2**31,
            )
        self._trial: Any = None
        self._count = 0
        self._reached = 0

    def ask(self) -> Rung:
        """The design that trains, up to the next rung, where the scheduler decides; or a new one."""
        if self._trial is None:
            from syne_tune.backend.trial_status import Trial

            with self._random.drawing():
                config = self._scheduler.suggest().config
                self._trial = Trial(self._count, config, datetime.now())
                self._scheduler.on_trial_add(self._trial)
            self._count, self._reached = self._count + 1, 0
        return Rung(f"{self._trial.trial_id}", self._trial.config, self._next(self._reached))

    def tell(self, rung: Rung, losses: Mapping[int, Sequence[float]]) -> None:
        """Report every step; the design goes on unless the scheduler stops it."""
        stopped = False
        for level, own in sorted(losses.items()):
            result = dict(zip(self._setting.names, own, strict=True)) | {TIME: level}
            with self._random.drawing():
                stopped = self._scheduler.on_trial_result(self._trial, result) == "STOP"
            self._reached = level
            if stopped:
                break
        if stopped or rung.level >= self._setting.levels:
            self._trial = None

    def _next(self, level: int) -> int:
        """The next level at which the scheduler decides: powers of three, and the last."""
        powers: list[int] = [SPACING**k for k in range(len(rungs(self._setting.levels)))]
        return min([*(power for power in powers if power > level), self._setting.levels])


def _ranks() -> Any:
    """Syne Tune's non-dominated sorting as a priority: the rank of each design."""
    from syne_tune.optimizer.schedulers.multiobjective.multiobjective_priority import NonDominatedPriority

    class Ranks(NonDominatedPriority):  # type: ignore[misc]  # syne-tune has no types
        def priority_unsafe(self, objectives: FloatArray) -> Any:
            return np.argsort(super().priority_unsafe(objectives))

    return Ranks()


def _domain(option: Option) -> Any:
    """The values of an option for Syne Tune."""
    from syne_tune import config_space

    if isinstance(option, (Categorical, Ordinal)):
        return config_space.choice(list(option.values))
    if isinstance(option, Real):
        return (config_space.loguniform if option.log else config_space.uniform)(option.low, option.high)
    return (config_space.lograndint if option.log else config_space.randint)(option.low, option.high)


ENTRY = StepRivalEntry(
    name="syne-tune-moasha",
    summary="Syne Tune's multi-objective asynchronous successive halving",
    packages=("syne-tune",),
    modules=("syne_tune",),
    make=Moasha,
    documentation="https://github.com/syne-tune/syne-tune/blob/main/examples/launch_height_moasha.py",
    caveat="It has no model: designs are drawn at random. Designs are ranked, which its default priority does not do.",
    extra="",
)
