"""RQ3: Gaussian processes or random forests as FlexiBO's models?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from flexibo.compare.problems.base import Problem
from flexibo.experiments import drawing
from flexibo.experiments.claim_tests import claim_best
from flexibo.experiments.claims import ExperimentResult
from flexibo.experiments.experiment import Experiment, Figures
from flexibo.experiments.measures import LOG_COST, iterations_at, limits, targets_at
from flexibo.experiments.repeats import Repeat
from flexibo.experiments.standard_tables import DEFINITIONS, OURS, error_claims, standings_tables

FOREST = "flexibo-rf-log"


def evaluate(repeats: Sequence[Repeat], problems: Mapping[str, Problem]) -> ExperimentResult:
    """The effects of two kinds of model."""
    log_limits = limits(repeats, LOG_COST)
    claims = (
        *error_claims(repeats, "Gaussian processes give a lower hypervolume error than random forests"),
        claim_best(
            "Gaussian processes find more designs in the target region than random forests (at equal log cost).",
            repeats,
            ours=OURS,
            others=(FOREST,),
            measure=lambda problem: targets_at(LOG_COST, log_limits[problem]),
            made=lambda problem: iterations_at(LOG_COST, log_limits[problem]),
            best=max,
        ),
    )
    title = "RQ3: Gaussian processes and random forests in FlexiBO"
    return ExperimentResult("rq3", title, standings_tables(repeats), claims, (DEFINITIONS,))


def figures(repeats: Sequence[Repeat], problems: Mapping[str, Problem]) -> Figures:
    """Errors and fronts."""
    return {"rq3-error": drawing.errors(repeats), "rq3-fronts": drawing.fronts(repeats, problems)}


RQ3 = Experiment("rq3", "Gaussian processes or random forests as FlexiBO's models?", (OURS, FOREST), evaluate, figures)
