"""How the benchmarks measure: the processor's time of this process, and which asks learned hyperparameters."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from benchmarks.problem import Problem
from flexibo import Evaluation, GaussianProcess, RandomForest, Study
from flexibo._internal.arrays import FloatArray

Result = TypeVar("Result")


def timed(work: Callable[[], Result]) -> tuple[float, Result]:
    """Seconds of processor time, all threads together, and the result.

    Every side of a ratio runs in one thread and waits for nothing, so on an idle machine this is the time on the clock;
    on a busy one it leaves out the time that others used.
    """
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


@dataclass(slots=True)
class Asks:
    """Seconds of several asks, and how many surrogates each of them refitted."""

    seconds: list[float] = field(default_factory=list)
    refits: list[int] = field(default_factory=list)

    @property
    def mean(self) -> float:
        """The mean over all asks."""
        return float(np.mean(self.seconds))

    def plain(self) -> float:
        """The mean over asks without a refit."""
        return float(np.mean([s for s, refits in zip(self.seconds, self.refits, strict=True) if refits == 0]))

    def refitted(self) -> float:
        """The mean over asks with a refit of one surrogate or more."""
        return float(np.mean([s for s, refits in zip(self.seconds, self.refits, strict=True) if refits > 0]))


def asked(study: Study, asks: Asks | None = None) -> Evaluation:
    """The study's next evaluation; the time it took goes to `asks`."""
    with _fits() as fits:
        seconds, evaluation = timed(study.ask)
    if evaluation is None:
        raise RuntimeError(f"The study stopped before the benchmark was over: {study.stopped}")
    if asks is not None:
        asks.seconds.append(seconds)
        asks.refits.append(len(fits))
    return evaluation


def asked_and_told(problem: Problem, study: Study, count: int) -> Asks:
    """Ask, answer and ask again: the times of all asks."""
    asks = Asks()
    for _ in range(count):
        problem.answer(study, asked(study, asks))
    return asks


def asked_again(study: Study, count: int) -> Asks:
    """Ask about the same data, with new candidates each time: the times of all asks, none with a refit."""
    study.release(asked(study))
    asks = Asks()
    for _ in range(count):
        study.release(asked(study, asks))
    return asks


def growth_exponent(sizes: list[int], seconds: list[float]) -> float:
    """The slope of log seconds over log size.

    >>> round(growth_exponent([1, 10, 100], [2.0, 200.0, 20_000.0]), 6)
    2.0
    """
    slope: FloatArray = np.polyfit(np.log(sizes), np.log(seconds), 1)
    return float(slope[0])


@contextmanager
def _fits() -> Iterator[list[str]]:
    """The names of the surrogates that learn hyperparameters in this context."""
    seen: list[str] = []
    originals = {kind: kind.fit for kind in (GaussianProcess, RandomForest)}

    def counting(kind: type, fit: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*args: Any, **kwargs: Any) -> Any:
            seen.append(kind.__name__)
            return fit(*args, **kwargs)

        return counted

    for kind, fit in originals.items():
        kind.fit = counting(kind, fit)  # type: ignore[method-assign]
    try:
        yield seen
    finally:
        for kind, fit in originals.items():
            kind.fit = fit  # type: ignore[method-assign]
