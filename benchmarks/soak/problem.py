"""What the soak measures: a made-up board whose designs sometimes fail, and sometimes cannot be built."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from flexibo import Objective
from flexibo.history.events import Evaluation

SPACE = {"x": (0.0, 1.0), "k": [1, 2, 3, 4], "n": (1, 512)}
DEPENDS_ON = {"error": ("k", "n"), "energy": ("x", "k", "n")}
"""The options that decide each objective: designs that agree in them must not be measured twice."""
LATER = {"noise": ("x", "k", "n")}
"""The same of objectives that a study may get while it runs: workers that use `Study.run` have no function for them."""
CHEAPEST, DEAREST = 0.5, 1.5


def question_key(objective: str, design: Mapping[str, Any]) -> tuple[object, ...]:
    """The objective and the options that decide it: the same for designs that need not be measured twice."""
    return (objective, *(design[option] for option in (DEPENDS_ON | LATER)[objective]))


def objectives() -> list[Objective]:
    """A decoupled pair, one of them decided by fewer options than there are."""
    return [Objective("error", options=DEPENDS_ON["error"]), Objective("energy", unit="J")]


@dataclass(frozen=True, slots=True)
class Pace:
    """How long an evaluation lasts, in seconds: from `at_least` to `most`, and `slow` in one of twenty."""

    most: float = 0.05
    slow: float = 0.8
    at_least: float = 0.0

    def seconds(self, rng: random.Random) -> float:
        """How long the next one lasts."""
        return self.slow if rng.random() < 0.05 else rng.uniform(self.at_least, self.most)


QUICK = Pace()
INSTANT = Pace(0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Answer:
    """What a measurement gave: values, or a reason."""

    values: Mapping[str, float] | None
    cost: float
    reason: str = ""
    impossible: bool = False


def measured(evaluation: Evaluation, pace: Pace, rng: random.Random, *, fails: bool = True) -> Answer:
    """The answer to an evaluation.

    Its cost is drawn again each time, so that it identifies every attempt.

    Args:
        evaluation: The question.
        pace: How long it lasts.
        rng: Source of the duration and the cost.
        fails: Whether some designs fail, or cannot be built.
    """
    time.sleep(pace.seconds(rng))
    cost = rng.uniform(CHEAPEST, DEAREST)
    if not fails:
        return Answer({evaluation.objective: value(evaluation)}, cost)
    n = int(evaluation.design["n"])
    if n % 50 == 13:
        return Answer(None, cost, "No such board can be built.", impossible=True)
    if n % 10 == 7 and evaluation.attempt == 1:
        return Answer(None, cost, "The first attempt never works.")
    return Answer({evaluation.objective: value(evaluation)}, cost)


def value(evaluation: Evaluation) -> float:
    """The value of the objective that is asked for."""
    design = evaluation.design
    x, k, n = float(design["x"]), int(design["k"]), int(design["n"])
    return k / 4 + 1 / n if evaluation.objective == "error" else n / 512 + (x - 0.3) ** 2 + (4 - k) / 8
