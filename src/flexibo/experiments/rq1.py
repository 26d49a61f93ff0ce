"""RQ1: by which cost function should FlexiBO divide? Logarithmic, ratio or constant."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from flexibo.compare.problems.base import Problem
from flexibo.experiments import drawing
from flexibo.experiments.claims import ExperimentResult, ResultTable, claim_best
from flexibo.experiments.experiment import Experiment, Figures
from flexibo.experiments.measures import Measure
from flexibo.experiments.repeats import Repeat, of_problem, problems_of
from flexibo.experiments.standard_tables import (
    DEFINITIONS,
    error_claims,
    measured_table,
    standings_tables,
    target_claim,
)

LOG, RATIO, CONSTANT = "flexibo-gp-log", "flexibo-gp-ratio", "flexibo-gp-constant"
VOLUME = (
    "The change of volume is the paper's: the volume that an evaluation was expected to remove from the Pareto region, "
    "as a share of the region at the first iteration, which is the same for all three. The Pareto region lies between "
    "the pessimistic and the optimistic front of the models. The last region is its volume at the last question, in "
    "percent of the first one: the smaller, the more certain the models are; above 100 after unexpected measurements."
)


def removed_per_evaluation(repeat: Repeat) -> float:
    """The mean volume that an evaluation was expected to remove, as a share of the first region; in percent."""
    gains = [i.gain for i in repeat.iterations if i.volume is not None and i.gain is not None]
    first = _first_volume(repeat)
    return 100.0 * sum(gains) / len(gains) / first if gains and first else math.nan


def removed_per_cost(repeat: Repeat) -> float:
    """The same for each unit of the paper's log cost; in percent."""
    spent = repeat.iterations[-1].log_spent
    return removed_per_evaluation(repeat) * (len(repeat.iterations) - 1) / spent if spent else math.nan


def last_region(repeat: Repeat) -> float:
    """The volume of the region at the last question, as a share of the first region; in percent."""
    volumes = [i.volume for i in repeat.iterations if i.volume is not None]
    return 100.0 * volumes[-1] / volumes[0] if volumes and volumes[0] else math.nan


def cheap_share(repeat: Repeat) -> float:
    """The share of all evaluations that measured the cheapest objective; NaN if there is only one."""
    total = sum(repeat.count(lead) for lead in repeat.leads)
    return repeat.count(repeat.cheap) / total if total and len(repeat.leads) > 1 else math.nan


def evaluate(repeats: Sequence[Repeat], problems: Mapping[str, Problem]) -> ExperimentResult:
    """The effects of three cost functions."""
    others = (RATIO, CONSTANT)
    claims = (
        *error_claims(
            repeats, "FlexiBO with log costs has a lower hypervolume error than with ratio and constant costs"
        ),
        target_claim(
            repeats, "Log costs find more designs in the target region than ratio and constant costs", others=others
        ),
        claim_best(
            "Ratio costs favour the cheap objective: the greatest share of evaluations goes to it.",
            repeats,
            ours=RATIO,
            others=(LOG, CONSTANT),
            measure=lambda _: cheap_share,
            best=max,
        ),
        claim_best(
            "Log costs change the volume of the Pareto region most per evaluation (percent of the first region).",
            repeats,
            ours=LOG,
            others=others,
            measure=lambda _: removed_per_evaluation,
            best=max,
        ),
        claim_best(
            "Constant costs change the volume less than log costs do for what they spend (percent per log cost).",
            repeats,
            ours=CONSTANT,
            others=(LOG,),
            measure=lambda _: removed_per_cost,
        ),
    )
    behaviour = (table for name in problems_of(repeats) for table in _behaviour(of_problem(repeats, name)))
    tables = (*standings_tables(repeats), *behaviour)
    title = "RQ1: log, ratio and constant costs in FlexiBO"
    return ExperimentResult("rq1", title, tables, claims, (DEFINITIONS, VOLUME))


def _behaviour(repeats: Sequence[Repeat]) -> list[ResultTable]:
    """Evaluations per objective on one problem, and the change of volume."""
    problem, leads = repeats[0].problem, repeats[0].leads
    # Ignored: mypy cannot infer a lambda whose default binds the value of a loop.
    counts: dict[str, Measure] = {lead: lambda r, lead=lead: float(r.count(lead)) for lead in leads}  # type: ignore[misc]
    changes: dict[str, Measure] = {
        "per evaluation (%)": removed_per_evaluation,
        "per log cost (%)": removed_per_cost,
        "last region (% of first)": last_region,
    }
    return [
        measured_table(repeats, f"{problem}: evaluations per objective", counts),
        measured_table(repeats, f"{problem}: change of the Pareto region's volume", changes),
    ]


def figures(repeats: Sequence[Repeat], problems: Mapping[str, Problem]) -> Figures:
    """Errors, fronts and behaviour."""
    return {
        **drawing.error_figures("rq1", repeats),
        "rq1-fronts": drawing.fronts(repeats, problems),
        "rq1-behaviour": drawing.behaviour(repeats),
    }


def _first_volume(repeat: Repeat) -> float:
    return next((i.volume for i in repeat.iterations if i.volume is not None), 0.0)


RQ1 = Experiment(
    "rq1", "Log, ratio and constant costs: by which should FlexiBO divide?", (LOG, RATIO, CONSTANT), evaluate, figures
)
