"""Section 8: one ask of every method, as a multiple of one ask of the default method.

Seconds per iteration without evaluation are also what the paper reports of its own implementations.
"""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.problem import Problem, lenet
from benchmarks.results import Row
from benchmarks.timing import Asks, asked
from flexibo import list_methods

M = 1_000
PAPER_SECONDS = {
    "flexibo": 79.9,
    "pal": 178.2,
    "pesmo": 64.8,
    "pesmo-dec": 66.9,
    "ca-mobo": 71.2,
    "parego": 56.2,
    "smsego": 48.4,
}
"""The paper's seconds per iteration without evaluation, on a Jetson."""
MOST = {
    **dict.fromkeys(("pal", "epsilon-pal", "parego", "smsego", "ehvi", "ca-mobo"), 2.0),
    **dict.fromkeys(("mesmo", "mesmo-dec", "mesmoc"), 5.0),
    **dict.fromkeys(("pesmo", "pesmo-dec"), 20.0),
}
"""How many asks of the default method one ask may last."""


@dataclass(frozen=True, slots=True)
class Size:
    """How many evaluations of each objective are known, and how many decisions are timed."""

    known: int
    decisions: int


FULL = Size(200, 24)
QUICK = Size(60, 6)


def of_each_method(size: Size) -> list[Row]:
    """Section 8."""
    problem = lenet()
    means = {method.name: _mean(problem, method.name, size) for method in list_methods()}
    rows: list[Row] = []
    for name, seconds in means.items():
        theirs = f"; the paper's implementation: {PAPER_SECONDS[name]:g} s" if name in PAPER_SECONDS else ""
        rows.append(
            Row(
                section=8,
                what="One ask of each method, against flexibo" if not rows else f"  {name}",
                measured=seconds / means["flexibo"],
                unit="x",
                must=MOST.get(name),
                at_most=True,
                note=f"{1e3 * seconds:.1f} ms{theirs}",
            )
        )
    rows[0] = Row(section=8, what="One ask of flexibo", measured=1e3 * means["flexibo"], unit="ms", note=_how(size))
    return rows


def _how(size: Size) -> str:
    return (
        f"n = 2, 17 options, m = {M:,}, from {size.known} evaluations of each objective on, mean of {size.decisions} "
        f"decisions, refits included; the paper's implementation: {PAPER_SECONDS['flexibo']:g} s"
    )


def _mean(problem: Problem, method: str, size: Size) -> float:
    """Seconds per decision: the rest of a bundle is returned without computation, and not counted."""
    study = problem.study([size.known] * len(problem.objectives), method=method, m=M)
    problem.answer(study, asked(study))  # what is made once: imports, models, the pool of PAL
    asks = Asks()
    while len(asks.seconds) < size.decisions:
        is_decision = not study.history.follow_ups
        problem.answer(study, asked(study, asks if is_decision else None))
    return asks.mean
