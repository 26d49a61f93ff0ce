"""Runs that were never made, for the tests of the files that keep them."""

from __future__ import annotations

from flexibo.compare.runs import SHARES, Moment, Run


def made(problem: str = "p", method: str = "m", seed: int = 0, *, error: float = 0.5) -> Run:
    moments = tuple(
        Moment(
            share,
            round(100 * share, 3),
            round(error * (1 - share), 4),
            round(2 * share, 2),
            (3, 40),
            model=0.25 if share in (0.0, 0.5, 1.0) else None,
            reported=round(error * (1 - share) / 2, 4),
        )
        for share in SHARES
    )
    front = ((1.5, 2.0), (1.0, 3.25))
    return Run(problem, method, seed, moments, {"confirmed": front, "model": front[:1]} if seed == 0 else {})
