"""Successive halving with several objectives: many random designs are begun, and the best third goes on each time.

The plain method, as a user would write it: Jamieson and Talwalkar 2016, "Non-stochastic best arm identification and
hyperparameter optimization", with the ranking of Schmucker et al. 2021, "Multi-objective asynchronous successive
halving": designs in the order of their non-dominated fronts, within a front so that those come first that are far from
those before them. As soon as one round has brought a design to the last step, the next round begins.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from flexibo._internal.arrays import FloatArray
from flexibo.compare.rivals.step_rival import SPACING, Rung, StepRivalEntry, StepSetting
from flexibo.pareto import non_dominated

STREAM = 19
"""Separates its draws from those of other contestants with the same seed."""


class SuccessiveHalving:
    """Rounds of successive halving, each from the first rung to the last."""

    def __init__(self, setting: StepSetting) -> None:
        self._setting = setting
        self._rng = np.random.default_rng((setting.seed, STREAM))
        self._rungs = rungs(setting.levels)
        self._begun = 0
        self._rung = 0
        self._left: list[Rung] = []
        self._done: dict[str, tuple[Rung, Sequence[float]]] = {}

    def ask(self) -> Rung:
        """The next design of this rung; the best of the rung before it if the rung is finished."""
        while not self._left:
            self._promote()
        return self._left[0]

    def tell(self, rung: Rung, losses: Mapping[int, Sequence[float]]) -> None:
        """Learn the losses at the rung."""
        self._left.pop(0)
        self._done[rung.token] = rung, losses[rung.level]

    def _promote(self) -> None:
        """Begin the next rung with the best third of this one, or the next round with random designs."""
        ranked = [rung for rung, _ in self._done.values()]
        if ranked:
            order = ranking(np.array([losses for _, losses in self._done.values()]))
            ranked = [ranked[i] for i in order[: len(ranked) // SPACING]]
        self._done, self._rung = {}, self._rung + 1
        if ranked and self._rung < len(self._rungs):
            self._left = [Rung(one.token, one.design, self._rungs[self._rung]) for one in ranked]
            return
        self._rung = 0
        fresh = self._setting.space.sample(SPACING ** (len(self._rungs) - 1), self._rng)
        self._left = [Rung(f"{self._begun + i}", design, self._rungs[0]) for i, design in enumerate(fresh)]
        self._begun += len(fresh)


def rungs(levels: int) -> list[int]:
    """The levels at which designs are compared: the last, a third of it, a ninth and so on.

    >>> rungs(27), rungs(52), rungs(2)
    ([1, 3, 9, 27], [1, 2, 6, 18, 52], [1, 2])
    """
    found = [levels]
    while found[-1] > 1:
        found.append(-(-levels // SPACING ** len(found)))
    return found[::-1]


def ranking(losses: FloatArray) -> list[int]:
    """The order of designs by their losses (m, n): front after front, within a front the farthest from those before.

    >>> ranking(np.array([[3.0, 3.0], [0.0, 1.0], [1.0, 0.0], [0.9, 0.2]]))
    [1, 2, 3, 0]
    """
    spans = np.ptp(losses, axis=0)
    scaled = (losses - losses.min(axis=0)) / np.where(spans > 0, spans, 1.0)
    left, order = np.arange(len(losses)), []
    while len(left):
        is_best = non_dominated(losses[left])
        front, left = left[is_best].tolist(), left[~is_best]
        chosen = [front.pop(0)]
        while front:
            away = [min(float(np.linalg.norm(scaled[i] - scaled[k])) for k in chosen) for i in front]
            chosen.append(front.pop(int(np.argmax(away))))
        order += chosen
    return order


ENTRY = StepRivalEntry(
    name="successive-halving",
    summary="Successive halving of random designs by non-dominated fronts",
    packages=("flexibo",),
    modules=("flexibo",),
    make=SuccessiveHalving,
    documentation="https://arxiv.org/abs/2106.12639",
    caveat="It has no model: designs are drawn at random.",
)
