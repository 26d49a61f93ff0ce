"""The paper's experiments: what `flexibo reproduce` runs.

Iqbal et al. 2023, "FlexiBO" (JAIR 77): its three research questions, its table of times and its motivation, on problems
whose true values are known. Every experiment makes its repeats (each kept in the output folder as soon as it is
finished, and shared between experiments), writes CSVs, figures and a report, and judges the paper's claims by them.
"""

from __future__ import annotations

from flexibo.benchmarks.reproduce.base import Iteration, Progress, Repeat, Terms
from flexibo.benchmarks.reproduce.experiment import Experiment
from flexibo.benchmarks.reproduce.findings import Claim, Findings, Judgement, Table
from flexibo.benchmarks.reproduce.motivation import MOTIVATION
from flexibo.benchmarks.reproduce.rq1 import RQ1
from flexibo.benchmarks.reproduce.rq2 import RQ2
from flexibo.benchmarks.reproduce.rq3 import RQ3
from flexibo.benchmarks.reproduce.times import TIMES

EXPERIMENTS: dict[str, Experiment] = {experiment.name: experiment for experiment in (RQ1, RQ2, RQ3, TIMES, MOTIVATION)}
__all__ = [
    "EXPERIMENTS",
    "Claim",
    "Experiment",
    "Findings",
    "Iteration",
    "Judgement",
    "Progress",
    "Repeat",
    "Table",
    "Terms",
]
