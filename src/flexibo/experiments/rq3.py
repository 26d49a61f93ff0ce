"""RQ3: Gaussian processes or random forests as FlexiBO's models?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from flexibo.compare.problems.base import Problem
from flexibo.experiments import drawing
from flexibo.experiments.claims import ExperimentResult
from flexibo.experiments.experiment import Experiment, Figures
from flexibo.experiments.repeats import Repeat
from flexibo.experiments.standard_tables import DEFINITIONS, OURS, error_claims, standings_tables, target_claim

FOREST = "flexibo-rf-log"


def evaluate(repeats: Sequence[Repeat], problems: Mapping[str, Problem]) -> ExperimentResult:
    """The effects of two kinds of model."""
    claims = (
        *error_claims(repeats, "Gaussian processes give a lower hypervolume error than random forests"),
        target_claim(
            repeats, "Gaussian processes find more designs in the target region than random forests", others=(FOREST,)
        ),
    )
    title = "RQ3: Gaussian processes and random forests in FlexiBO"
    return ExperimentResult("rq3", title, standings_tables(repeats), claims, (DEFINITIONS,))


def figures(repeats: Sequence[Repeat], problems: Mapping[str, Problem]) -> Figures:
    """Errors and fronts."""
    return {**drawing.error_figures("rq3", repeats), "rq3-fronts": drawing.fronts(repeats, problems)}


RQ3 = Experiment("rq3", "Gaussian processes or random forests as FlexiBO's models?", (OURS, FOREST), evaluate, figures)
