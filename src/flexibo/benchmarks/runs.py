"""Run: what one contestant did with its money on one problem; runs as tidy CSV."""

from __future__ import annotations

from dataclasses import dataclass

SHARES = tuple(i / 20 for i in range(21))
"""The shares of the budget at which a run is judged."""

MOST_OBJECTIVES = 6


@dataclass(frozen=True, slots=True)
class Moment:
    """Where a run stands when a share of its budget may be spent.

    Attributes:
        share: The share of the budget, from 0 (the initial designs alone) to 1.
        spent: What was really spent after the initial designs, in the problem's unit.
        error: The hypervolume error of the front that it reports, judged by true values.
        thinking_s: Seconds of processor time that it has thought for.
        evaluations: How many evaluations of each objective it has paid for after the initial designs, in the order of
            the problem's objectives.
    """

    share: float
    spent: float
    error: float
    thinking_s: float
    evaluations: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Run:
    """One contestant on one problem with one seed.

    Attributes:
        problem: The full name of the problem.
        method: The contestant: a method of ours or a rival, by name.
        seed: Decides the initial designs and every draw.
        moments: One for each of `SHARES`, in order.
        front: The true values of the designs that it reports at the end, a tuple per design, in the users' directions;
            empty where they were not kept.
    """

    problem: str
    method: str
    seed: int
    moments: tuple[Moment, ...]
    front: tuple[tuple[float, ...], ...] = ()

    @property
    def key(self) -> tuple[str, str, int]:
        """What tells runs apart."""
        return self.problem, self.method, self.seed
