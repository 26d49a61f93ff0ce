"""Objectives, and evaluations of them that tests hand to executors."""

from __future__ import annotations

from flexibo import Design, Evaluation, Objective

ERROR = Objective("error")
TRAINED = Objective("error", resources={"GPU": 1})
ENERGY = Objective("energy", resources={"jetson": 1})


def question(number: int = 0, objective: str = "error") -> Evaluation:
    """The evaluation of that number; its design has the number as option x."""
    return Evaluation(Design({"x": number}), objective, None, 0.0, "", number, (objective,))


def one(design: Design) -> float:
    """A measurement that always gives 1."""
    return 1.0
