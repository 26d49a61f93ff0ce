"""Runs that were never made, for the tests of the files that keep them."""

from __future__ import annotations

from flexibo.compare.runs import SHARES, Moment, Run


def made(problem: str = "p", method: str = "m", seed: int = 0, *, error: float = 0.5) -> Run:
    moments = tuple(
        Moment(share, round(100 * share, 3), round(error * (1 - share), 4), round(2 * share, 2), (3, 40))
        for share in SHARES
    )
    return Run(problem, method, seed, moments, ((1.5, 2.0), (1.0, 3.25)) if seed == 0 else ())
