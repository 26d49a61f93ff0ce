"""RQ2: FlexiBO against PESMO, PESMO-DEC, PAL, ParEGO, SMSego and CA-MOBO."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import product

from flexibo.compare.problems.base import Problem
from flexibo.experiments import drawing
from flexibo.experiments.claims import Claim, ExperimentResult, Judgement, ResultTable, claim_best, doubt, lower
from flexibo.experiments.experiment import Experiment, Figures
from flexibo.experiments.measures import (
    FREE_COST,
    LOG_COST,
    REAL_COST,
    compared_methods,
    error_at,
    iterations_at,
    limits,
    mean,
    measures_of,
    percent,
    shown,
    values_of,
)
from flexibo.experiments.repeats import Repeat, methods_of, of_problem, problems_of
from flexibo.experiments.standard_tables import (
    DEFINITIONS,
    IDLE,
    IDLE_NOTE,
    OURS,
    error_claims,
    extra_note,
    marked,
    standings_tables,
    target_claim,
)

BASELINES = ("pesmo", "pesmo-dec", "pal", "parego", "smsego", "ca-mobo")
EXTRA = ("flexibo",)
"""The default method of flexibo: shown for comparison, not part of the paper's claims."""

KINDS, WAYS = ("", "confirmed, "), ("charged", "free")
"""Which designs count, and whether readings cost anything, in the headings of a table."""

NOTES = (
    "With readings free, only evaluations of the most expensive objective are charged, as in the authors' records, "
    "although the methods were told the real costs and asked accordingly.",
    "flexibo, the default method, has its own models and candidates and is not one of the paper's methods; it is shown "
    "for comparison, is not part of the claims and does not affect the equal cost.",
    "The paper reports an error 4.8 % to 12.4 % lower than the best other method's, and an exception: PAL's error is "
    "3.6 % lower on LeNet, its smallest network. By their own records it is 7.8 % lower (reproduce authors). "
    "lenet-h200 and dnn-stack:surface=3 are problems with that network; the default ones have none that small.",
)


def cost_per_iteration(repeat: Repeat) -> float:
    """The mean cost of an iteration."""
    n = len(repeat.iterations) - 1
    return repeat.iterations[-1].spent / n if n else math.nan


def expensive_shares(repeat: Repeat) -> tuple[float, float]:
    """The share of evaluations of the most expensive objective in both halves of a repeat."""
    if len(repeat.leads) < 2:
        return math.nan, math.nan
    half = (len(repeat.iterations) + 1) // 2
    shares = []
    for first, last in ((1, half), (half, None)):
        total = sum(repeat.count(lead, first=first, last=last) for lead in repeat.leads)
        shares.append(repeat.count(repeat.expensive, first=first, last=last) / total if total else math.nan)
    return shares[0], shares[1]


def evaluate(repeats: Sequence[Repeat], problems: Mapping[str, Problem]) -> ExperimentResult:
    """FlexiBO against the methods of other authors."""
    others = compared_methods(repeats, ours=OURS, extra=EXTRA)
    claims = (
        *error_claims(
            repeats,
            "FlexiBO has the lowest hypervolume error of all seven methods",
            extra=EXTRA,
            axes=(LOG_COST, REAL_COST, FREE_COST),
        ),
        *error_claims(repeats, "FlexiBO's hypervolume error is lower than CA-MOBO's", others=("ca-mobo",), extra=EXTRA),
        target_claim(
            repeats,
            "FlexiBO finds more designs in the target region than the other methods",
            others=others,
            extra=EXTRA,
        ),
        claim_best(
            "FlexiBO spends least per iteration, so its budget lasts for more of them (real cost).",
            repeats,
            ours=OURS,
            others=others,
            measure=lambda _: cost_per_iteration,
        ),
        cheap_first(repeats),
    )
    title = "RQ2: FlexiBO against the methods of other authors"
    resources = (_resources(of_problem(repeats, problem)) for problem in problems_of(repeats))
    tables = (*standings_tables(repeats, extra=EXTRA), *resources, *_free_readings(repeats))
    return ExperimentResult("rq2", title, tables, claims, (DEFINITIONS, *NOTES))


def cheap_first(repeats: Sequence[Repeat]) -> Claim:
    """The claim that FlexiBO measures the expensive objective more often in the second half of its iterations."""
    judgements = []
    for problem in problems_of(repeats):
        early, late = zip(*(expensive_shares(repeat) for repeat in of_problem(repeats, problem, OURS)), strict=True)
        if not math.isnan(mean(early)) and not math.isnan(mean(late)):
            why = doubt(early, late)
            shares = [percent(mean(share)) for share in (early, late)]
            numbers = f"{shares[0]} of the evaluations are expensive in the first half, {shares[1]} in the second"
            numbers += f", {why.value}" if why else ""
            judgements.append(Judgement(problem, None if why else lower(mean(early), mean(late)), numbers))
    return Claim("FlexiBO measures the cheap objective early and the expensive one later.", tuple(judgements))


def _resources(repeats: Sequence[Repeat]) -> ResultTable:
    """The cost of an iteration on one problem, and the share of expensive evaluations."""
    problem, unit, rows = repeats[0].problem, repeats[0].unit, []
    for method in methods_of(repeats):
        share = [expensive_shares(repeat) for repeat in of_problem(repeats, problem, method)]
        halves = [shown([100.0 * pair[k] for pair in share]) for k in (0, 1)]
        cost = shown(values_of(repeats, problem, method, cost_per_iteration))
        rows.append((marked(method, EXTRA), cost, *halves))
    headings = ("method", f"cost per iteration ({unit})", "expensive, first half (%)", "expensive, second half (%)")
    title = f"{problem}: cost, and share of the most expensive objective, {repeats[0].expensive}"
    return ResultTable(title, headings, tuple(rows), note=extra_note(repeats, EXTRA))


def _free_readings(repeats: Sequence[Repeat]) -> list[ResultTable]:
    """The errors of each problem at equal cost, with readings charged and free, and the confirmed ones where known."""
    ends = {axis: limits(repeats, axis, extra=EXTRA) for axis in (REAL_COST, FREE_COST)}
    known = measures_of(repeats)
    tables = []
    for problem in problems_of(repeats):
        rows, idle = [], ""
        for method in methods_of(repeats):
            cells = []
            for confirmed, (axis, places) in product(known, ends.items()):
                counts = values_of(repeats, problem, method, iterations_at(axis, places[problem]))
                mark = IDLE if min(counts) == 0 else ""
                idle = IDLE_NOTE if mark else idle
                measure = error_at(axis, places[problem], confirmed=confirmed)
                cells.append(shown(values_of(repeats, problem, method, measure)) + mark)
            rows.append((marked(method, EXTRA), *cells))
        note = " ".join(filter(None, (extra_note(repeats, EXTRA), idle)))
        headings = ("method", *(f"{kind}readings {way}" for kind, way in product(KINDS[: len(known)], WAYS)))
        tables.append(ResultTable(f"{problem}: hypervolume error at equal cost", headings, tuple(rows), note=note))
    return tables


def figures(repeats: Sequence[Repeat], problems: Mapping[str, Problem]) -> Figures:
    """Errors, fronts, and the use of resources."""
    return {
        **drawing.error_figures("rq2", repeats, extra=EXTRA),
        "rq2-fronts": drawing.fronts(repeats, problems),
        "rq2-resources": drawing.resources(repeats, limits(repeats, REAL_COST, extra=EXTRA)),
    }


RQ2 = Experiment(
    "rq2",
    "FlexiBO against PESMO, PESMO-DEC, PAL, ParEGO, SMSego and CA-MOBO.",
    (OURS, *BASELINES, *EXTRA),
    evaluate,
    figures,
)
