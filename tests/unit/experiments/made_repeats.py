"""Repeats that were never made, and a problem whose front is known, for the tests of what experiments conclude."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from flexibo import Objective, Space
from flexibo.compare.problems.base import Problem, constant_costs
from flexibo.experiments import Claim, ExperimentResult, Iteration, Repeat


def made_up(
    method: str,
    errors: Sequence[float],
    *,
    seed: int = 0,
    problem: str = "p",
    bought: Sequence[Sequence[str]] = (),
    gain: float = 1.0,
    thinking: float = 1.0,
    in_target: int = 0,
    front: tuple[tuple[float, float], ...] = ((0.5, 0.5),),
    values: tuple[float, float] = (0.5, 0.5),
    stopped: str = "",
    confirmed: Sequence[float] = (),
) -> Repeat:
    """A repeat with these errors after its iterations, of which expensive ones cost 100 s and cheap ones 10 s."""
    prices = {"expensive": 100.0, "cheap": 10.0}
    iterations: list[Iteration] = []
    spent = log_spent = 0.0
    for number, error in enumerate(errors):
        names = tuple(bought[number - 1] if bought else ("expensive",)) if number else ()
        costs = tuple(prices[name] for name in names)
        spent, log_spent = spent + sum(costs), log_spent + sum(float(np.log(cost)) for cost in costs)
        volume, own = (10.0, gain) if number else (None, None)
        seconds = thinking if number else 0.0
        place = values if number else ()
        measured = confirmed[number] if confirmed else None
        iterations.append(
            Iteration(number, names, costs, spent, log_spent, seconds, volume, own, place, error, in_target, measured)
        )
    return Repeat(problem, method, seed, ("expensive", "cheap"), (100.0, 10.0), "s", tuple(iterations), front, stopped)


def twice(method: str, errors: Sequence[float], **fields: object) -> list[Repeat]:
    """Two repeats that did the same, so that what they show is no chance."""
    return [made_up(method, errors, seed=seed, **fields) for seed in (0, 1)]  # type: ignore[arg-type]


def line_about(result: ExperimentResult, *words: str) -> Claim:
    """The claim of the paper that has all these words."""
    [claim] = [claim for claim in result.claims if all(word in claim.paper for word in words)]
    return claim


def problem() -> Problem:
    """Losses are the two options themselves; the front is where they sum to 1."""
    space = Space({"cpu_ghz": (0.0, 1.0), "filters": (0.0, 1.0)})
    front = np.array([[x, 1 - x] for x in np.linspace(0, 1, 11)])
    objectives = (Objective("error", unit="%"), Objective("energy", unit="J"))
    return Problem(
        "p",
        "made up",
        space,
        objectives,
        lambda designs: np.asarray(designs.codes),
        constant_costs([100.0, 10.0]),
        np.array([1.1, 1.1]),
        front,
        0.6,
    )
