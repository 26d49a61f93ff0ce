"""The paper's experiments: what `flexibo reproduce` runs.

Iqbal et al. 2023, "FlexiBO" (JAIR 77): its three research questions, its table of times and its motivation, on problems
whose true values are known. Every experiment makes its repeats (finished ones are kept in the output folder and shared
between experiments), writes CSVs, figures and a report, and judges the paper's claims by them. `authors` judges them by
the records that the paper's authors published.
"""

from __future__ import annotations

from flexibo.experiments.claims import Claim, ExperimentResult, Judgement, ResultTable
from flexibo.experiments.experiment import Experiment
from flexibo.experiments.motivation import MOTIVATION
from flexibo.experiments.repeats import ExperimentSize, Iteration, Progress, Repeat
from flexibo.experiments.rq1 import RQ1
from flexibo.experiments.rq2 import RQ2
from flexibo.experiments.rq3 import RQ3
from flexibo.experiments.times import TIMES

EXPERIMENTS: dict[str, Experiment] = {experiment.name: experiment for experiment in (RQ1, RQ2, RQ3, TIMES, MOTIVATION)}
AUTHORS = "authors"
"""The name of what is judged by the authors' records instead of runs (`flexibo.experiments.authors`)."""

__all__ = [
    "AUTHORS",
    "EXPERIMENTS",
    "Claim",
    "Experiment",
    "ExperimentResult",
    "ExperimentSize",
    "Iteration",
    "Judgement",
    "Progress",
    "Repeat",
    "ResultTable",
]
