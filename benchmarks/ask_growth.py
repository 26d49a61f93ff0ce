"""Sections 3 to 5: how the time of an ask grows with candidates, evaluations and objectives."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from benchmarks.problem import conflict, lenet
from benchmarks.results import Row
from benchmarks.timing import asked, asked_again, asked_and_told, growth_exponent
from flexibo.surrogates.refits import refit_count

LINEAR = 1.05
"""An exponent up to this counts as linear: the rest is noise."""
MEMORY_MIB = 2_048.0


@dataclass(frozen=True, slots=True)
class Sizes:
    """What sections 3 to 5 vary."""

    candidates: tuple[int, ...]
    gp_evaluations: tuple[int, ...]
    rf_evaluations: tuple[int, ...]
    objectives: tuple[int, ...]
    memory: tuple[int, int]
    asks: int


FULL = Sizes(
    candidates=(1_000, 3_000, 10_000, 30_000, 100_000),
    gp_evaluations=(100, 500, 1_000, 2_000),
    rf_evaluations=(100, 500, 1_000),
    objectives=(3, 4, 5),
    memory=(100_000, 1_000),
    asks=20,
)
QUICK = Sizes(
    candidates=(1_000, 3_000, 10_000),
    gp_evaluations=(100, 200, 400),
    rf_evaluations=(50, 100, 200),
    objectives=(3, 4),
    memory=(10_000, 200),
    asks=8,
)


def with_candidates(sizes: Sizes) -> list[Row]:
    """Section 3."""
    problem = lenet()
    seconds = [asked_again(problem.study((100, 100), m=m), 3).mean for m in sizes.candidates]
    rows = [
        Row(section=3, what=f"  m = {m:,}", measured=1e3 * s, unit="ms", note="100 evaluations of each objective")
        for m, s in zip(sizes.candidates, seconds, strict=True)
    ]
    last = growth_exponent(list(sizes.candidates[-2:]), seconds[-2:])
    first = Row(
        section=3,
        what=f"Growth with m, {sizes.candidates[0]:,} to {sizes.candidates[-1]:,}: exponent",
        measured=growth_exponent(list(sizes.candidates), seconds),
        must=LINEAR,
        at_most=True,
        note=f"asks without refit; between the last two sizes {last:.2f}",
    )
    return [first, *rows, _memory(*sizes.memory)]


def _memory(m: int, evaluations: int) -> Row:
    """The memory that a process needs to ask once, itself included."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.memory", str(m), str(evaluations)],
        env=one_thread(),
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        check=True,
    )
    return Row(
        section=3,
        what=f"Memory with m = {m:,} and {evaluations:,} evaluations of each objective",
        measured=float(done.stdout),
        unit="MiB",
        must=MEMORY_MIB,
        at_most=True,
        note="largest resident size of a process that makes such a study and asks once",
    )


def one_thread() -> dict[str, str]:
    """The environment of a child process that uses one thread."""
    return os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


def with_evaluations(sizes: Sizes) -> list[Row]:
    """Section 4."""
    most = sizes.gp_evaluations[-1]
    strict = asked_again(lenet().study((most, most)), 2).mean
    return [
        *_growth("GP", "flexibo", sizes.gp_evaluations, "the paper's appendix: 3; ours learns from 400 rows at most"),
        Row(section=4, what=f"  GP, {most:,} of each objective, without refit", measured=strict, unit="s"),
        *_growth("RF", "flexibo-rf-log", sizes.rf_evaluations, "the paper's appendix: s^2 log s"),
    ]


def _growth(kind: str, method: str, evaluations: tuple[int, ...], paper: str) -> list[Row]:
    """The times of asks with and without a refit, and their exponents; half of the evaluations of each objective."""
    rows, sizes, plain, refitted = [], [], [], []
    for total in evaluations:
        count = _due(total // 2) if kind == "GP" else total // 2
        without, with_refit = _ask_seconds(method, count)
        sizes.append(count)
        plain.append(without)
        refitted.append(with_refit)
        rows += [
            Row(
                section=4,
                what=f"{kind}, {total:,} evaluations: an ask without refit",
                measured=without,
                unit="s",
                must=1.0,
                at_most=True,
                note=f"{count:,} of each objective; m = 1,000",
            ),
            Row(section=4, what="  with a refit of one objective", measured=with_refit, unit="s"),
        ]
    return [
        *rows,
        _exponent(f"  {kind}: exponent with refit", sizes, refitted, paper),
        _exponent(f"  {kind}: exponent without refit", sizes, plain, "candidates include all that was measured"),
    ]


def _exponent(what: str, sizes: list[int], seconds: list[float], note: str) -> Row:
    last = growth_exponent(sizes[-2:], seconds[-2:])
    measured = growth_exponent(sizes, seconds)
    return Row(section=4, what=what, measured=measured, note=f"between the last two sizes {last:.2f}; {note}")


def _due(count: int) -> int:
    """The first number of evaluations, from this one, at which the library's schedule refits a Gaussian process."""
    return next(size for size in range(count, 2 * count) if refit_count(size, 1.1) == size)


def _ask_seconds(method: str, count: int) -> tuple[float, float]:
    """Seconds of an ask without and with a refit of one objective, given its number of evaluations."""
    problem = lenet()
    study = problem.study((count - 1, count - 1), method=method)
    problem.answer(study, asked(study))
    refitted = asked_and_told(problem, study, 1).refitted()
    return asked_again(study, 3).plain(), refitted


def with_objectives(sizes: Sizes) -> list[Row]:
    """Section 5."""
    limits = {3: 3.0, 4: 10.0, 5: 40.0}
    plain, mean = _objective_seconds(2, sizes.asks)
    rows = [Row(section=5, what="n = 2, ask without refit", measured=1e3 * plain, unit="ms", note="DTLZ2, m = 1,000")]
    for n in sizes.objectives:
        plain_n, mean_n = _objective_seconds(n, sizes.asks)
        rows += [
            Row(
                section=5,
                what=f"n = {n} against n = 2, without refit",
                measured=plain_n / plain,
                unit="x",
                must=limits[n],
                at_most=True,
                note=f"{1e3 * plain_n:.0f} ms; 100 evaluations of each objective",
            ),
            Row(
                section=5,
                what="  refits included",
                measured=mean_n / mean,
                unit="x",
                must=limits[n],
                at_most=True,
                note=f"{1e3 * mean_n:.0f} ms; mean of {sizes.asks} asks",
            ),
        ]
    return rows


def _objective_seconds(n: int, asks: int) -> tuple[float, float]:
    """Mean seconds of an ask without refit, and with the refits that fall due."""
    problem = conflict(n)
    study = problem.study((100,) * n)
    problem.answer(study, asked(study))
    times = asked_and_told(problem, study, asks)
    return times.plain(), times.mean
