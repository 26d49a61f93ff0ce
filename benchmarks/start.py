"""Sections 6 and 7: how fast the library is imported, and how fast designs are drawn."""

from __future__ import annotations

import subprocess
import sys

import numpy as np

from benchmarks.ask_growth import one_thread
from benchmarks.problem import lenet_space
from benchmarks.results import Row
from benchmarks.timing import timed

M = 100_000


def imports(tries: int) -> list[Row]:
    """Section 6."""
    statements = ("import sklearn", "import flexibo", "from flexibo import Study")
    best = dict.fromkeys(statements, float("inf"))
    for _ in range(tries):
        for statement in statements:
            best[statement] = min(best[statement], _import_seconds(statement))
    note = f"fresh processes, best of {tries}; the start of Python is not counted"
    sklearn, flexibo, study = best.values()
    return [
        Row(
            section=6,
            what="import flexibo / import sklearn",
            measured=flexibo / sklearn,
            unit="x",
            must=0.5,
            at_most=True,
            note=note,
        ),
        Row(section=6, what="  from flexibo import Study / import sklearn", measured=study / sklearn, unit="x"),
        Row(section=6, what="  import sklearn", measured=1e3 * sklearn, unit="ms"),
        Row(section=6, what="  import flexibo", measured=1e3 * flexibo, unit="ms"),
        Row(section=6, what="  from flexibo import Study", measured=1e3 * study, unit="ms"),
    ]


def _import_seconds(statement: str) -> float:
    program = f"from time import perf_counter as now; start = now(); {statement}; print(now() - start)"
    done = subprocess.run([sys.executable, "-c", program], env=one_thread(), capture_output=True, text=True, check=True)
    return float(done.stdout)


def sampling(tries: int) -> list[Row]:
    """Section 7."""
    space = lenet_space()
    seconds = min(timed(lambda: space.sample(M, np.random.default_rng(seed)))[0] for seed in range(tries))  # noqa: B023
    what = f"Space.sample({M:,}) of the 17 options"
    return [
        Row(
            section=7,
            what=what,
            measured=seconds,
            unit="s",
            must=0.3,
            at_most=True,
            note=f"best of {tries}; all distinct",
        )
    ]
