"""NePS's PriMO: successive halving first, then Bayesian optimisation of a weighted sum, without expert priors.

Basu, Hutter and Stoll 2025, "Multi-objective hyperparameter optimization in the age of deep learning". With NePS's
defaults and without priors, which nobody has here: until as many full trainings are paid as the space has
options, asynchronous successive halving with an epsilon net; then qLogNEI on one random weighted sum of the objectives
at the last level. The objectives are divided by the reference point's, so that the sum is not that of one of them. It
does not know that a training resumes; it pays for the new steps only, as all do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from flexibo.compare.rivals._global_randomness import GlobalRandomness
from flexibo.compare.rivals.library_rival import quiet_single_thread
from flexibo.compare.rivals.step_rival import Rung, StepRivalEntry, StepSetting
from flexibo.space import Categorical, Option, Ordinal, Real

LEVEL = "fidelity_level"
STREAM = 23


class Primo:
    """PriMO through NePS's ask and tell; `fallbacks` counts how often it failed, and a random design took its place."""

    def __init__(self, setting: StepSetting) -> None:
        self._setting = setting
        self._random = GlobalRandomness(setting.seed)
        self._rng = np.random.default_rng((setting.seed, STREAM))
        self.fallbacks = 0
        self._trial: Any = None
        with self._quiet():
            import neps

            options = {name: _parameter(option) for name, option in setting.space.options.items()}
            level = neps.HPOInteger(1, setting.levels, is_fidelity=True)
            space = neps.SearchSpace({**options, LEVEL: level})
            self._neps: Any = neps.AskAndTell(neps.algorithms.primo(space, prior_centers={}))

    def ask(self) -> Rung:
        """What PriMO asks for."""
        try:
            with self._quiet():
                self._trial = self._neps.ask()
        except Exception:  # Any failure of a library must not stop a comparison of hours; it is counted.
            self.fallbacks, self._trial = self.fallbacks + 1, None
            drawn = self._setting.space.sample(1, self._rng)[0]
            return Rung(f"random-{self.fallbacks}", drawn, self._setting.levels)
        config, name = dict(self._trial.config), str(self._trial.id)
        level = int(config.pop(LEVEL))
        options = self._setting.space.options
        # Ignored: mypy does not narrow the type of an item by its key.
        design = {
            key: options[key].values[int(value)] if isinstance(options[key], Ordinal) else value  # type: ignore[union-attr]
            for key, value in config.items()
        }
        # NePS names what successive halving continues by a number and a rung, what Bayesian optimisation asks by one.
        return Rung(name.rpartition("_")[0] if "_" in name else f"full-{name}", design, level)

    def tell(self, rung: Rung, losses: Mapping[int, Sequence[float]]) -> None:
        """Learn the losses at the level that was asked for; those of a random design are not told."""
        if self._trial is not None:
            with self._quiet():
                self._neps.tell(self._trial, {"objective_to_minimize": self._setting.scaled(losses[rung.level])})

    @contextmanager
    def _quiet(self) -> Iterator[None]:
        with quiet_single_thread(), self._random.drawing():
            yield


def _parameter(option: Option) -> Any:
    """The values of an option for NePS; an `Ordinal` becomes an integer, the rank of its value."""
    import neps

    if isinstance(option, Categorical):
        return neps.HPOCategorical(list(option.values))
    if isinstance(option, Ordinal):
        return neps.HPOInteger(0, option.size - 1)
    kind = neps.HPOFloat if isinstance(option, Real) else neps.HPOInteger
    return kind(option.low, option.high, log=option.log)


ENTRY = StepRivalEntry(
    name="neps-primo",
    summary="NePS's PriMO without priors: successive halving, then Bayesian optimisation of a weighted sum",
    packages=("neural-pipeline-search", "botorch", "torch"),
    modules=("neps",),
    make=Primo,
    documentation="https://arxiv.org/abs/2511.08371",
    caveat="It has no priors, and learns the losses over the reference point's.",
    extra="",
)
