"""The paper's figures and sentences, by the records that its authors published of their own runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from flexibo.experiments import drawing
from flexibo.experiments.authors_records import COUPLED, LEADS, ORIGIN, TARGET_ERROR, read_records
from flexibo.experiments.claims import Claim, ExperimentResult, Judgement, ResultTable, claim_best, doubt
from flexibo.experiments.experiment import Figures, written
from flexibo.experiments.measures import (
    ITERATIONS,
    REAL_COST,
    Measure,
    error_at,
    limits,
    mean,
    number,
    percent,
    shown,
    targets_at,
    values_of,
)
from flexibo.experiments.repeats import Repeat, methods_of, of_problem, problems_of, recharged
from flexibo.experiments.rq2 import cheap_first, cost_per_iteration
from flexibo.experiments.standard_tables import OURS
from flexibo.pareto import hypervolume

COST_FUNCTIONS = ("flexibo-gp-ratio", "flexibo-gp-constant")
FOREST = "flexibo-rf-log"
PRICES = (0.0, 0.01, 0.05, 0.1, 0.2, 0.5)
"""What a reading might have cost, as shares of a training."""
NAMED = ("ResNet", "BERT-SQuAD", "DeepSpeech", "Xception", "MobileNet", "BERT-IMDB")
"""The systems on which, by the paper, FlexiBO finds most designs in the target region."""
LOWER_BY = (4.8, 12.4)
"""By how many percent FlexiBO's error is lower than the best other method's, by the paper."""
PAL_BY = 3.6
COLUMNS = 4

NOTES = (
    f"The records are {ORIGIN}: 8 systems, 5 repetitions, 200 iterations of ten methods, with error, energy (both "
    "scaled), cost and hypervolume error after each iteration, and without designs. CA-MOBO and PESMO-DEC are not in "
    "them.",
    "The records charge a reading of energy 0.0 and an evaluation of the error a constant of each system, 6.8 to 25.7, "
    "whose unit is not stated. Every iteration of a coupled method, and every one of FlexiBO without costs, is charged "
    "that constant. Their hypervolume error is 1 minus the volume between the values so far and the point (1, 1), for "
    "FlexiBO also by values of an objective that the iteration was not charged for. Equal cost: the final cost of the "
    "cheapest repetition of the compared methods. Target region: an error below 25 % and an energy below the first "
    "quartile of all recorded energies of the system.",
    "Numbers are means over the repetitions ± their standard error. The repetitions have the same final front (see "
    "the table), so the standard error shows how early its designs were found, not how much the outcome varies.",
)


def run(folder: Path, out: Path | str = "results") -> ExperimentResult:
    """Read the records from the folder of third-party data, judge the paper's sentences, write figures and a report."""
    repeats = read_records(folder)
    return written(evaluate(repeats), {}, lambda: figures(repeats), Path(out))


def of_methods(repeats: Sequence[Repeat], methods: Sequence[str]) -> list[Repeat]:
    """The repeats of some methods."""
    return [repeat for repeat in repeats if repeat.method in methods]


def evaluate(repeats: Sequence[Repeat]) -> ExperimentResult:
    """The paper's sentences, judged by the records."""
    others = of_methods(repeats, (OURS, *COUPLED))
    costs = of_methods(repeats, (OURS, *COST_FUNCTIONS))
    models = of_methods(repeats, (OURS, FOREST))
    claims = (
        _lowest(others, "FlexiBO has the lowest hypervolume error (RQ2)."),
        _lower_by(others),
        _pal_on_lenet(others),
        _most(of_systems(others, NAMED), "FlexiBO finds most designs in the target region on six systems (RQ2)."),
        Claim("FlexiBO's error is 22 % lower than CA-MOBO's (DeepSpeech, BERT-IMDB).", ()),
        _lowest(costs, "The log cost has a lower error than ratio and constant costs (RQ1)."),
        _most(costs, "The log cost finds more designs in the target region than the other two (RQ1)."),
        _more_expensive(costs, "The ratio cost measures the cheap objective more often than the log cost.", -1),
        _more_expensive(costs, "With constant costs more expensive evaluations are made than with log costs.", 1),
        _lowest(models, "Gaussian processes have a lower error than random forests (RQ3)."),
        _most(models, "Gaussian processes find more designs in the target region than forests (RQ3)."),
        claim_best(
            "FlexiBO spends least per iteration.",
            others,
            ours=OURS,
            others=COUPLED,
            measure=lambda _: cost_per_iteration,
        ),
        cheap_first(repeats),
    )
    tables = (
        _summary(claims),
        _errors(repeats),
        _shares(repeats),
        _prices(others),
        _repetitions(repeats),
    )
    return ExperimentResult("authors", "The authors' own records", tables, claims, NOTES)


def of_systems(repeats: Sequence[Repeat], systems: Sequence[str]) -> list[Repeat]:
    """The repeats on some systems."""
    return [repeat for repeat in repeats if repeat.problem in systems]


def _lowest(repeats: Sequence[Repeat], paper: str) -> Claim:
    ends = limits(repeats, REAL_COST)
    others = [method for method in methods_of(repeats) if method != OURS]
    measure: Callable[[str], Measure] = lambda system: error_at(REAL_COST, ends[system])  # noqa: E731
    return claim_best(paper, repeats, ours=OURS, others=others, measure=measure)


def _most(repeats: Sequence[Repeat], paper: str) -> Claim:
    ends = limits(repeats, REAL_COST)
    others = [method for method in methods_of(repeats) if method != OURS]
    measure: Callable[[str], Measure] = lambda system: targets_at(REAL_COST, ends[system])  # noqa: E731
    return claim_best(paper, repeats, ours=OURS, others=others, measure=measure, best=max)


def equal_errors(repeats: Sequence[Repeat]) -> dict[str, dict[str, list[float]]]:
    """The errors of each method's repetitions at equal cost, by system and method."""
    ends = limits(repeats, REAL_COST)
    return {
        system: {m: values_of(repeats, system, m, error_at(REAL_COST, ends[system])) for m in methods_of(repeats)}
        for system in problems_of(repeats)
    }


def _lower_by(repeats: Sequence[Repeat]) -> Claim:
    judgements = []
    for system, errors in equal_errors(repeats).items():
        best = min(COUPLED, key=lambda method: mean(errors[method]))
        lower = 100.0 * (1.0 - mean(errors[OURS]) / mean(errors[best]))
        text = f"{number(abs(lower), 2)} % {'lower' if lower >= 0 else 'higher'} than {best}"
        judgements.append(Judgement(system, LOWER_BY[0] <= lower <= LOWER_BY[1], text))
    return Claim("FlexiBO's error is 4.8 % to 12.4 % lower than the best other method's.", tuple(judgements))


def _pal_on_lenet(repeats: Sequence[Repeat]) -> Claim:
    errors = equal_errors(of_systems(repeats, ("LeNet",))).get("LeNet")
    if errors is None:
        return Claim("On LeNet PAL's error is 3.6 % lower than FlexiBO's.", ())
    lower = 100.0 * (1.0 - mean(errors["pal"]) / mean(errors[OURS]))
    why = doubt(errors["pal"], errors[OURS])
    direction = Judgement("PAL is ahead", None if why else lower > 0, f"{shown(errors['pal'])}, {shown(errors[OURS])}")
    size = Judgement("by 3.6 %", round(lower, 1) == PAL_BY, f"{number(lower, 2)} %")
    return Claim("On LeNet PAL's error is 3.6 % lower than FlexiBO's.", (direction, size))


def expensive_share(repeat: Repeat) -> float:
    """The share of iterations that were charged for an evaluation of the error."""
    return repeat.count(LEADS[0]) / (len(repeat.iterations) - 1)


def _more_expensive(repeats: Sequence[Repeat], paper: str, sign: int) -> Claim:
    """The claim that a cost function makes more (sign 1) or fewer (-1) expensive evaluations than the log cost."""
    judgements = []
    for system in problems_of(repeats):
        log, other = (
            values_of(repeats, system, m, expensive_share) for m in (OURS, COST_FUNCTIONS[0 if sign < 0 else 1])
        )
        text = f"{percent(mean(other))} against {percent(mean(log))}"
        why = doubt(other, log)
        judgements.append(Judgement(system, None if why else sign * (mean(other) - mean(log)) > 0, text))
    return Claim(paper, tuple(judgements))


def _summary(claims: Sequence[Claim]) -> ResultTable:
    rows = []
    for claim in claims:
        counts = {answer: sum(j.agrees is answer for j in claim.judgements) for answer in (True, False, None)}
        words = {True: "agree", False: "do not", None: "undecided"}
        say = ", ".join(f"{count} {words[answer]}" for answer, count in counts.items() if count)
        rows.append((claim.paper, say or "not in the records", claim.verdict))
    return ResultTable("The paper's sentences", ("the paper", "the records, by systems", "verdict"), tuple(rows), 3)


def _errors(repeats: Sequence[Repeat]) -> ResultTable:
    own = of_methods(repeats, (OURS, *COUPLED))
    rows = []
    last = limits(own, ITERATIONS)
    for system, errors in equal_errors(own).items():
        best = min(errors, key=lambda method: mean(errors[method]))
        ends = {m: mean(values_of(own, system, m, error_at(ITERATIONS, last[system]))) for m in errors}
        rows.append((system, *(shown(errors[m]) for m in errors), best, min(ends, key=ends.__getitem__)))
    headings = ("system", *methods_of(own), "lowest", "lowest after 200 iterations each")
    return ResultTable("Hypervolume error at equal cost", headings, tuple(rows))


def _shares(repeats: Sequence[Repeat]) -> ResultTable:
    methods = [method for method in methods_of(repeats) if method not in COUPLED]
    rows = [
        (system, *(shown([100.0 * share for share in values_of(repeats, system, m, expensive_share)]) for m in methods))
        for system in problems_of(repeats)
    ]
    return ResultTable("Evaluations that are expensive (%)", ("system", *methods), tuple(rows))


def _prices(repeats: Sequence[Repeat]) -> ResultTable:
    """Who would have had the lowest error if readings had cost something."""
    rows = []
    for price in PRICES:
        errors = equal_errors([at_price(repeat, price) for repeat in repeats])
        ahead = [s for s, own in errors.items() if min(own, key=lambda m: mean(own[m])) == OURS]
        behind = [system for system in errors if system not in ahead]
        rows.append((percent(price), f"{len(ahead)} of {len(errors)}", ", ".join(behind) or "-"))
    headings = ("a reading costs, of a training", f"{OURS} has the lowest mean error", "another method has it")
    return ResultTable("The same runs, if readings had been charged", headings, tuple(rows), 3)


def at_price(repeat: Repeat, price: float) -> Repeat:
    """The same run, if a reading of energy had cost this share of a training."""
    return recharged(repeat, lambda name, cost: price * repeat.lead_costs[0] if name == LEADS[1] else cost)


def _repetitions(repeats: Sequence[Repeat]) -> ResultTable:
    rows = []
    for system in problems_of(repeats):
        runs = [of_problem(repeats, system, method) for method in methods_of(repeats)]
        equal = sum(len({frozenset(repeat.front) for repeat in own}) == 1 for own in runs)
        sizes = [len(repeat.front) for own in runs for repeat in own]
        shared = [_shared(a, b) for own in runs for a, b in combinations(own, 2)]
        beyond = [_shared(a, b) - len(set(a.front) & set(b.front)) for own in runs for a, b in combinations(own, 2)]
        off = max(float(np.abs(_recomputed(own[0]) - _volumes(own[0])).max()) for own in runs)
        rows.append(
            (
                system,
                f"{equal} of {len(runs)}",
                f"{min(sizes)} to {max(sizes)}",
                f"{min(shared)} to {max(shared)}",
                f"{max(beyond)}",
                f"{off:.1e}",
            )
        )
    headings = (
        "system",
        "methods whose final fronts are equal in all repetitions",
        "designs of a front",
        "iterations with the same values in two repetitions",
        "of these, not on the front (at most)",
        "recorded minus recomputed hypervolume error (at most)",
    )
    return ResultTable("The five repetitions of a method", headings, tuple(rows))


def _shared(first: Repeat, second: Repeat) -> int:
    return len(set(_values(first)) & set(_values(second)))


def _values(repeat: Repeat) -> list[tuple[float, ...]]:
    return [iteration.values for iteration in repeat.iterations[1:]]


def _volumes(repeat: Repeat) -> Any:
    return np.array([iteration.error for iteration in repeat.iterations[1:]])


def _recomputed(repeat: Repeat) -> Any:
    """The hypervolume error (k,) after each iteration, by the recorded values."""
    values = np.array(_values(repeat))
    return np.array([1.0 - hypervolume(values[: k + 1], np.ones(2)) for k in range(len(values))])


def figures(repeats: Sequence[Repeat]) -> Figures:
    """Errors per iteration and cost, for methods, cost functions and models; fronts; expensive evaluations."""
    return {
        "authors-error": _error_figure(of_methods(repeats, (OURS, *COUPLED))),
        "authors-costs": _error_figure(of_methods(repeats, (OURS, *COST_FUNCTIONS, FOREST))),
        "authors-fronts": _front_figure(of_methods(repeats, (OURS, *COUPLED))),
        "authors-shares": _share_figure(of_methods(repeats, (OURS, COST_FUNCTIONS[0], FOREST))),
    }


def _error_figure(repeats: Sequence[Repeat]) -> Any:
    systems = problems_of(repeats)
    height = -(-len(systems) // COLUMNS)
    figure, grid = drawing.panels(2 * height, COLUMNS)
    for row, axis in enumerate((ITERATIONS, REAL_COST)):
        for k, system in enumerate(systems):
            ax = grid[row * height + k // COLUMNS][k % COLUMNS]
            for method in methods_of(repeats):
                drawing.error_line(ax, of_problem(repeats, system, method), axis, dashed=False, banded=False)
            ax.set_title(system, fontsize="medium")
            ax.set_xlabel("iterations" if axis is ITERATIONS else "cost (unit not stated)", fontsize="small")
            ax.set_ylabel("hypervolume error", fontsize="small")
            ax.set_ylim(0.1, 0.8)
    drawing.caption(figure, "Means of the authors' 5 repetitions, per iteration (above) and per cost (below)")
    drawing.legend_below(figure, grid[0][0])
    return figure


def _front_figure(repeats: Sequence[Repeat]) -> Any:
    systems = problems_of(repeats)
    figure, grid = drawing.panels(-(-len(systems) // COLUMNS), COLUMNS)
    for k, system in enumerate(systems):
        ax = grid[k // COLUMNS][k % COLUMNS]
        for method in methods_of(repeats):
            colour, marker = drawing.STYLES[method]
            front = np.array(sorted(of_problem(repeats, system, method)[0].front))
            ax.step(front[:, 0], front[:, 1], where="post", color=colour, lw=0.8)
            ax.plot(front[:, 0], front[:, 1], marker, color=colour, markersize=4, label=method)
        ax.axvline(TARGET_ERROR, color=drawing.FAINT, lw=0.6)
        ax.set_title(system, fontsize="medium")
        ax.set_xlabel("error (share)", fontsize="small")
        ax.set_ylabel("energy (scaled)", fontsize="small")
    drawing.caption(figure, "Final fronts of the first repetition; the line is the error of the target region")
    drawing.legend_below(figure, grid[0][0])
    return figure


def _share_figure(repeats: Sequence[Repeat], window: int = 20) -> Any:
    systems = problems_of(repeats)
    figure, grid = drawing.panels(-(-len(systems) // COLUMNS), COLUMNS)
    for k, system in enumerate(systems):
        ax = grid[k // COLUMNS][k % COLUMNS]
        for method in methods_of(repeats):
            paid = np.array(
                [[LEADS[0] in i.objectives for i in r.iterations[1:]] for r in of_problem(repeats, system, method)]
            )
            share = np.convolve(paid.mean(axis=0), np.ones(window) / window, mode="valid")
            colour, _ = drawing.STYLES[method]
            style = "--" if method == FOREST else "-"
            ax.plot(np.arange(len(share)) + window / 2, 100.0 * share, style, color=colour, label=method)
        ax.set_ylim(0, 60)
        ax.set_title(system, fontsize="medium")
        ax.set_xlabel("iterations", fontsize="small")
        ax.set_ylabel("expensive (%)", fontsize="small")
    drawing.caption(figure, f"Share of expensive evaluations in {window} iterations; means of 5 repetitions")
    drawing.legend_below(figure, grid[0][0])
    return figure
