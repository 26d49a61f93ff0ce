"""A small problem that notices who looks at its values, and rivals that remember what they are told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from flexibo import Design, Space
from flexibo.compare.metered_problem import MeteredProblem
from flexibo.compare.problems.base import Problem
from flexibo.compare.rivals.base import Setting, Suggestion
from flexibo.history.measurements import Measurement
from flexibo.space import Designs

SPACE = Space.from_designs([{"width": w, "cores": c} for w in range(1, 13) for c in range(1, 9) if (w + c) % 5])
THEIRS = ("fake-coupled", "fake-decoupled")


class Spy:
    """A problem's values and costs, and a clock that tells when a contestant is thinking."""

    def __init__(self) -> None:
        self.thinking = False
        self.ticks = 0.0

    def values(self, designs: Designs) -> np.ndarray:
        assert not self.thinking, "a contestant looked at values that it did not buy"
        width, cores = designs.codes[:, 0], designs.codes[:, 1]
        return np.stack([100.0 / (width + 2.0) + 0.1 * cores, (width + 1.0) * (1.0 + 0.3 * (cores - 3.0) ** 2)], axis=1)

    def costs(self, designs: Designs) -> np.ndarray:
        return np.stack([10.0 + 5.0 * designs.codes[:, 0], np.ones(len(designs))], axis=1)

    def clock(self) -> float:
        self.thinking = not self.thinking
        self.ticks += 1.0
        return self.ticks


class Recorder(MeteredProblem):
    """A metered problem that keeps every purchase."""

    def __init__(self, problem: Problem, seed: int) -> None:
        super().__init__(problem, seed=seed)
        self.bought: list[tuple[Design, str, Measurement]] = []

    def measure(self, design: Design, objective: str, stop: int | None = None) -> Measurement:
        measurement = super().measure(design, objective, stop)
        self.bought.append((design, objective, measurement))
        return measurement


class FakeRival:
    """Suggests random designs, legal or not, and remembers what it is told."""

    def __init__(self, setting: Setting, *, decoupled: bool) -> None:
        self.rng = np.random.default_rng(setting.seed)
        self.setting = setting
        self.decoupled = decoupled
        self.told: list[tuple[Design, Mapping[str, float]]] = []

    def tell(self, design: Design, losses: Mapping[str, float]) -> None:
        self.told.append((design, losses))

    def ask(self) -> Suggestion:
        wanted = {"width": int(self.rng.integers(1, 13)), "cores": int(self.rng.integers(1, 9))}
        objectives = (self.setting.leads[int(self.rng.integers(2))],) if self.decoupled else ()
        return Suggestion(wanted, objectives)

    def front(self) -> Sequence[Design] | None:
        return None

    def predict(self, designs: Designs) -> np.ndarray | None:
        return None
