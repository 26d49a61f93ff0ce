"""``flexibo compare``: methods and other libraries on the same problems at equal cost."""

from __future__ import annotations

import os
import shlex
import sys
from dataclasses import replace
from enum import Enum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flexibo.cli._completion import method_names, suite_names
from flexibo.cli._options import Jobs, Problems, parsed_names
from flexibo.cli._signals import interruptible_bar
from flexibo.cli._text import output_console
from flexibo.errors import InvalidValueError, unknown_name

if TYPE_CHECKING:
    from rich.console import Console

    from flexibo.compare.runs import Run
    from flexibo.compare.suites import Suite

THINKING = (
    "Add the overhead of the optimizer to the cost: one second costs as much as the cheapest evaluation of a problem."
)


class MeasureChoice(str, Enum):
    """The errors of `flexibo.compare.runs.Measure`, without importing it."""

    confirmed = "confirmed"
    model = "model"
    reported = "reported"


def compare(
    problems: Problems = None,
    methods: Annotated[
        list[str] | None,
        typer.Option(
            help="Names from 'flexibo methods', also with another surrogate, as in ehvi/cost+gp; the first one is "
            "judged. Default without a suite: flexibo.",
            autocompletion=method_names,
        ),
    ] = None,
    rivals: Annotated[
        list[str] | None,
        typer.Option(
            help="Optimisers of other libraries (extra bench): botorch-qlognehvi, botorch-qlognparego, botorch-hvkg, "
            "optuna-tpe, optuna-gp, optuna-nsga2, smac-parego, pymoo-nsga2; on problems with steps also neps-primo, "
            "syne-tune-moasha, successive-halving."
        ),
    ] = None,
    suite: Annotated[
        str | None,
        typer.Option(
            help="A predefined comparison: standard, development, steps, steps-development or quick.",
            autocompletion=suite_names,
        ),
    ] = None,
    seeds: Annotated[
        int | None, typer.Option(min=1, max=10_000, help="The number of seeds; 10 unless the suite has its own.")
    ] = None,
    budget: Annotated[
        float | None,
        typer.Option(
            help="Mean full evaluations after the initial designs, 20 by default; with --from-scratch in all, 30 by "
            "default."
        ),
    ] = None,
    initial: Annotated[int | None, typer.Option(help="Initial designs, the same for all; 10 by default.")] = None,
    from_scratch: Annotated[
        bool,
        typer.Option(
            "--from-scratch",
            help="Pay initial designs from the budget: methods of flexibo that know it have a start of their own, the "
            "others at most --initial designs, for at most a quarter of it.",
        ),
    ] = False,
    out: Annotated[Path, typer.Option(help="The folder of results; a second call resumes.")] = Path("results"),
    jobs: Jobs = None,
    measure: Annotated[
        MeasureChoice,
        typer.Option(help="The error that the printed tables show; results.csv and report.html have all of them."),
    ] = MeasureChoice.confirmed,
    count_thinking: Annotated[bool, typer.Option("--count-thinking", help=THINKING)] = False,
    fewest_seeds: Annotated[
        int,
        typer.Option(
            min=1, help="A contestant with fewer seeds on a problem is not its best other; with 1, everybody may be."
        ),
    ] = 3,
    other_seeds: Annotated[
        bool,
        typer.Option(
            "--other-seeds", help="Choose the best other of each problem and seed on the other seeds, not afterwards."
        ),
    ] = False,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Run other libraries even if their results are included in flexibo.")
    ] = False,
    finished: Annotated[
        bool, typer.Option("--finished", help="Judge the runs that are finished or included; make no others.")
    ] = False,
) -> None:
    """Compare methods at equal cost; prints tables and writes results.csv and report.html."""
    from flexibo.compare.verdict import verdict

    chosen = _chosen(suite, problems, methods, rivals, seeds, budget, initial, from_scratch=from_scratch)
    console = output_console()
    runs = _runs(chosen, out, jobs or os.cpu_count() or 1, console, stored=not fresh, make=not finished)
    found = verdict(chosen, runs, count_overhead=count_thinking, fewest=fewest_seeds, other_seeds=other_seeds)
    for table in found.tables(measure.value):
        console.print(table)
        console.print()
    for note in found.notes():
        console.print(note, highlight=False, markup=False)
    found.write(out / "report.html", shlex.join(["flexibo", *sys.argv[1:]]))
    console.print(f"Results: {out / 'results.csv'}. Page: {out / 'report.html'}.", highlight=False, markup=False)


def _chosen(
    name: str | None,
    problems: list[str] | None,
    methods: list[str] | None,
    rivals: list[str] | None,
    seeds: int | None,
    budget: float | None,
    initial: int | None,
    *,
    from_scratch: bool,
) -> Suite:
    """The comparison that was typed: a suite, possibly changed, or one made of names."""
    from flexibo.compare.contestants import checked_method, checked_rival
    from flexibo.compare.problems.table import full_name
    from flexibo.compare.runs import Allowance
    from flexibo.compare.suites import SUITES, Suite

    if name is not None and name not in SUITES:
        raise unknown_name("suite", name, SUITES)
    base = SUITES[name] if name is not None else Suite("", (), ("flexibo",), (), 10)
    n_initial = base.allowance.n_initial if initial is None else initial
    added = n_initial if from_scratch and not base.allowance.from_scratch else 0
    usual = base.allowance.budget + added  # the same money in all
    changed = replace(
        base,
        problems=base.problems if problems is None else tuple(dict.fromkeys(map(full_name, parsed_names(problems)))),
        methods=base.methods if methods is None else tuple(map(checked_method, parsed_names(methods))),
        rivals=base.rivals if rivals is None else tuple(map(checked_rival, parsed_names(rivals))),
        seeds=base.seeds if seeds is None else seeds,
        allowance=Allowance(
            n_initial, usual if budget is None else budget, from_scratch or base.allowance.from_scratch
        ),
    )
    if problems is not None:  # a method that is too slow for a whole suite may still be wanted here
        changed = replace(changed, limits={})
    if not changed.problems:
        raise InvalidValueError("No problem is named; give --problems, such as branin-currin:ratio=10, or --suite.")
    if not (*changed.methods, *changed.rivals):
        raise InvalidValueError("No method is named; give --methods or --rivals.")
    return changed


def _runs(suite: Suite, out: Path, jobs: int, console: Console, *, stored: bool, make: bool) -> list[Run]:
    from flexibo.compare.comparison import compare

    with interruptible_bar(console, "runs", f"finished runs are kept in {out}") as update:

        def seen(done: int, total: int, run: Run | None) -> None:
            update(done, total, "" if run is None else f"{run.method} on {run.problem}")

        warned = partial(console.print, highlight=False, markup=False)
        return compare(suite, out, jobs=jobs, stored=stored, make=make, finished=seen, warned=warned)
