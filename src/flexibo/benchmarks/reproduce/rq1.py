"""RQ1: which cost function should FlexiBO divide by? Logarithmic, ratio or constant."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from flexibo.benchmarks.problem import Problem
from flexibo.benchmarks.reproduce import drawing
from flexibo.benchmarks.reproduce.base import Repeat, methods_of, problems_of
from flexibo.benchmarks.reproduce.experiment import Experiment, Figures
from flexibo.benchmarks.reproduce.findings import Claim, Findings, Judgement, Table
from flexibo.benchmarks.reproduce.measures import (
    LOG_COST,
    claim_best,
    limits,
    mean,
    shown,
    targets_at,
    values_of,
)
from flexibo.benchmarks.reproduce.standings import DEFINITIONS, error_claims, standings_table

LOG, RATIO, CONSTANT = "flexibo-gp-log", "flexibo-gp-ratio", "flexibo-gp-constant"
VOLUME = (
    "The change of volume is the paper's: what an evaluation was expected to remove from the Pareto region, as a share "
    "of the region at the first iteration, which is the same for all three."
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


def region_left(repeat: Repeat) -> float:
    """What is left of the first region at the last question; in percent."""
    volumes = [i.volume for i in repeat.iterations if i.volume is not None]
    return 100.0 * volumes[-1] / volumes[0] if volumes and volumes[0] else math.nan


def cheap_share(repeat: Repeat) -> float:
    """The share of all evaluations that went to the cheapest objective; not a number where there is but one."""
    total = sum(repeat.count(lead) for lead in repeat.leads)
    return repeat.count(repeat.cheap) / total if total and len(repeat.leads) > 1 else math.nan


def findings(repeats: Sequence[Repeat], problems: Mapping[str, Problem]) -> Findings:
    """What three cost functions do."""
    others = (RATIO, CONSTANT)
    log_limits = limits(repeats, LOG_COST)
    claims = (
        *error_claims(
            repeats, "FlexiBO with log costs has a lower hypervolume error than with ratio and constant costs"
        ),
        claim_best(
            "Log costs find more designs in the target region than ratio and constant costs (at equal log cost).",
            repeats,
            ours=LOG,
            others=others,
            measure=lambda problem: targets_at(LOG_COST, log_limits[problem]),
            best=max,
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
        _constant_wastes(repeats),
    )
    tables = (standings_table(repeats), _behaviour(repeats))
    title = "RQ1: log, ratio and constant costs in FlexiBO"
    return Findings("rq1", title, tables, claims, (DEFINITIONS, VOLUME))


def _constant_wastes(repeats: Sequence[Repeat]) -> Claim:
    judgements = []
    for problem in problems_of(repeats):
        log, constant = (mean(values_of(repeats, problem, method, removed_per_cost)) for method in (LOG, CONSTANT))
        if not math.isnan(log) and not math.isnan(constant):
            judgements.append(Judgement(problem, constant < log, f"{constant:.3g} against {log:.3g} of {LOG}"))
    return Claim(
        "Constant costs change the volume less than log costs do for what they spend (percent per log cost).",
        tuple(judgements),
    )


def _behaviour(repeats: Sequence[Repeat]) -> Table:
    """Evaluations per objective, and the change of volume."""
    rows = []
    for problem in problems_of(repeats):
        for method in methods_of(repeats):
            counts = [_counts(repeats, problem, method, lead) for lead in _leads(repeats, problem)]
            measures = (removed_per_evaluation, removed_per_cost, region_left)
            numbers = [shown(values_of(repeats, problem, method, measure)) for measure in measures]
            rows.append((problem, method, ", ".join(counts), *numbers))
    headings = (
        "problem",
        "method",
        "evaluations per objective",
        "change of volume per evaluation (%)",
        "per log cost (%)",
        "region left (%)",
    )
    return Table("What they measured, and what it did to the Pareto region", headings, tuple(rows), labels=2)


def _leads(repeats: Sequence[Repeat], problem: str) -> tuple[str, ...]:
    return next(repeat.leads for repeat in repeats if repeat.problem == problem)


def _counts(repeats: Sequence[Repeat], problem: str, method: str, lead: str) -> str:
    return f"{lead} {mean(values_of(repeats, problem, method, lambda repeat: repeat.count(lead))):.4g}"


def figures(repeats: Sequence[Repeat], problems: Mapping[str, Problem]) -> Figures:
    """Errors, fronts, and what was measured."""
    return {
        "rq1-error": drawing.errors(repeats),
        "rq1-fronts": drawing.fronts(repeats, problems),
        "rq1-behaviour": drawing.behaviour(repeats),
    }


def _first_volume(repeat: Repeat) -> float:
    return next((i.volume for i in repeat.iterations if i.volume is not None), 0.0)


RQ1 = Experiment(
    "rq1", "Log, ratio and constant costs: which should FlexiBO divide by?", (LOG, RATIO, CONSTANT), findings, figures
)
