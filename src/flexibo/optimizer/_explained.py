"""The question that a cell of the score table stands for, with its reason and its runner-up."""

from __future__ import annotations

from dataclasses import replace

from flexibo._internal.arrays import BoolArray, FloatArray
from flexibo.belief.belief import Belief
from flexibo.history.events import Evaluation, RunnerUp
from flexibo.optimizer._choice import second_best
from flexibo.optimizer._request import Request


def explained(
    request: Request, belief: Belief, allowed: BoolArray, scores: FloatArray, cell: tuple[int, int], measure: str
) -> Evaluation:
    """The question of the chosen cell of a score table (m, b) before its division by theta.

    `measure` is what a score is, for people.
    """
    region, gain, price = belief.region, float(scores[cell]), float(belief.prices[cell])
    amount = f"{gain:.3g}" if region is None else f"{gain / region.volume:.1%} of the Pareto region"
    share = f" for {price / request.history.budget:.1%} of the budget" if request.history.budget else ""
    question = request.question(
        belief.designs[cell[0]],
        request.wanted_first(belief.price_list.missing(*cell)),
        why=f"{measure} {amount}{share}",
        gain=gain,
        volume=None if region is None else region.volume,
    )
    second = second_best(scores / belief.thetas, belief, allowed, cell)
    if second is None:
        return question
    objective = request.wanted_first(belief.price_list.missing(*second))[0]
    rival = RunnerUp(belief.designs[second[0]], objective, float(scores[second]), float(belief.prices[second]))
    return replace(question, runner_up=rival)
