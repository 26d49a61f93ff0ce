"""FlexiBOSampler and Optuna's own samplers on coupled problems: ``python -m benchmarks.optuna_samplers``.

Every trial measures all objectives, so nothing is gained from single objectives: only the choice of designs counts.
All samplers have their defaults, with two exceptions: Optuna's GP sampler and ours are told that values are exact, and
NSGA-II has a population of 20, because its default of 50 would draw 50 of 60 trials at random. "FlexiBOSampler (noisy)"
has its defaults: values may be noisy.

The table has the hypervolume error at the end, the share of the true front's hypervolume that the trials miss, as a
geometric mean over seeds, and the mean time of a proposal. With ``--known 200`` only the time of a
proposal is printed that knows 200 random trials of the first problem, on one core.
"""

from __future__ import annotations

import argparse
import csv
import os
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from flexibo import Design, Ordinal
from flexibo.compare.problems.base import Problem
from flexibo.compare.problems.table import find_problem
from flexibo.compare.rivals.optuna_samplers import distribution

PROBLEMS = ("branin-currin", "zdt1", "zdt3", "zdt2:finite=true", "dtlz2", "dtlz7:n=3")
TRIALS, SEEDS, FIRST_SEED = 60, 5, 500
LEAST = 1e-6  # an error is not below this: ratios need one


def _flexibo(seed: int) -> Any:
    from flexibo.integrations.optuna import FlexiBOSampler

    return FlexiBOSampler(seed=seed, deterministic_objective=True)


def _noisy(seed: int) -> Any:
    from flexibo.integrations.optuna import FlexiBOSampler

    return FlexiBOSampler(seed=seed)


def _optuna(name: str, **choices: Any) -> Callable[[int], Any]:
    def make(seed: int) -> Any:
        from optuna import samplers

        return getattr(samplers, name)(seed=seed, **choices)

    return make


SAMPLERS: dict[str, Callable[[int], Any]] = {
    "FlexiBOSampler": _flexibo,
    "FlexiBOSampler (noisy)": _noisy,
    "TPESampler": _optuna("TPESampler"),
    "NSGAIISampler": _optuna("NSGAIISampler", population_size=20),
    "GPSampler": _optuna("GPSampler", deterministic_objective=True),
    "RandomSampler": _optuna("RandomSampler"),
}


@dataclass(frozen=True, slots=True)
class Result:
    """One study: its hypervolume error, and the mean seconds of a proposal."""

    sampler: str
    problem: str
    seed: int
    error: float
    seconds: float


def run(task: tuple[str, str, int, int]) -> Result:
    """Search a problem with a sampler for some trials."""
    import optuna

    sampler, name, seed, trials = task
    problem = find_problem(name)
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    distributions = {option: distribution(kind) for option, kind in problem.space.options.items()}
    spent = 0.0
    designs: list[Design] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        study = optuna.create_study(directions=["minimize"] * len(problem.names), sampler=SAMPLERS[sampler](seed))
    for _ in range(trials):
        began = time.perf_counter()
        trial = study.ask(distributions)
        spent += time.perf_counter() - began
        designs.append(_design(problem, trial.params))
        study.tell(trial, problem.losses(problem.space.designs(designs[-1:]))[0].tolist())
    return Result(sampler, name, seed, problem.error(designs), spent / trials)


def seconds_knowing(sampler: str, name: str, count: int) -> float:
    """The CPU seconds of a proposal in a study with this many random trials: the least of three."""
    import optuna

    problem = find_problem(name)
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    distributions = {option: distribution(kind) for option, kind in problem.space.options.items()}
    directions = ["minimize"] * len(problem.names)
    known = optuna.create_study(directions=directions, sampler=optuna.samplers.RandomSampler(seed=FIRST_SEED))
    for _ in range(count):
        trial = known.ask(distributions)
        design = problem.space.designs([_design(problem, trial.params)])
        known.tell(trial, problem.losses(design)[0].tolist())
    spent = []
    for seed in range(3):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            study = optuna.create_study(directions=directions, sampler=SAMPLERS[sampler](seed))
        study.add_trials(known.trials)
        began = time.process_time()
        study.ask(distributions)
        spent.append(time.process_time() - began)
    return min(spent)


def _design(problem: Problem, params: Mapping[str, Any]) -> Design:
    """The design of a trial, whose ordered options are the ranks of their values."""
    options = problem.space.options
    values = {
        name: kind.values[params[name]] if isinstance(kind, Ordinal) else params[name] for name, kind in options.items()
    }
    return problem.space.design(values)


def table(results: Sequence[Result]) -> Table:
    """The hypervolume errors at the end, by problem and sampler, and over all problems in relation to the first one."""
    samplers = list(dict.fromkeys(result.sampler for result in results))
    problems = list(dict.fromkeys(result.problem for result in results))
    shown = Table(title="Hypervolume error at the end, geometric mean over seeds")
    for column in ("sampler", *problems, "all, over the first", "s per trial"):
        shown.add_column(column, justify="left" if column == "sampler" else "right")
    logs = {
        (sampler, problem): np.array([np.log(max(r.error, LEAST)) for r in results if (r.sampler, r.problem) == key])
        for sampler in samplers
        for problem in problems
        for key in [(sampler, problem)]
    }
    for sampler in samplers:
        ratios = np.concatenate([logs[sampler, problem] - logs[samplers[0], problem] for problem in problems])
        spread = np.exp(ratios.std(ddof=1) / np.sqrt(len(ratios))) if len(ratios) > 1 else 1.0
        cells = [f"{np.exp(logs[sampler, problem].mean()):.4f}" for problem in problems]
        seconds = np.mean([result.seconds for result in results if result.sampler == sampler])
        over = "1" if sampler == samplers[0] else f"{np.exp(ratios.mean()):.2f} (x/ {spread:.2f})"
        shown.add_row(sampler, *cells, over, f"{seconds:.3f}")
    return shown


def stored(path: Path | None) -> dict[tuple[str, str, int], Result]:
    """The results in a file of earlier runs, which are not run again."""
    if path is None or not path.exists():
        return {}
    with path.open(newline="", encoding="utf-8") as file:
        rows = [
            Result(row["sampler"], row["problem"], int(row["seed"]), float(row["error"]), float(row["seconds"]))
            for row in csv.DictReader(file)
        ]
    return {(row.sampler, row.problem, row.seed): row for row in rows}


def store(path: Path, result: Result) -> None:
    """Append a result to a file."""
    is_new = not path.exists()
    with path.open("a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(asdict(result)))
        if is_new:
            writer.writeheader()
        writer.writerow(asdict(result))


def main(arguments: Sequence[str] | None = None) -> None:
    """Run all studies and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.optuna_samplers", description=__doc__.split("\n")[0])
    parser.add_argument("--problems", default=",".join(PROBLEMS), help="Names, separated by commas.")
    parser.add_argument("--samplers", default=",".join(SAMPLERS), help="Names, separated by commas.")
    parser.add_argument("--seeds", type=int, default=SEEDS, help="The number of seeds.")
    parser.add_argument("--trials", type=int, default=TRIALS, help="The number of trials of each study.")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="Parallel processes.")
    parser.add_argument("--csv", type=Path, help="Results are appended to this file; those in it are not run again.")
    parser.add_argument("--known", type=int, help="Only time a proposal that knows this many random trials.")
    given = parser.parse_args(arguments)
    if given.known:
        for sampler in given.samplers.split(","):
            seconds = seconds_knowing(sampler, given.problems.split(",")[0], given.known)
            print(f"{sampler}: {seconds:.2f} CPU seconds with {given.known} trials")
        return
    tasks = [
        (sampler, problem, seed, given.trials)
        for seed in range(FIRST_SEED, FIRST_SEED + given.seeds)
        for problem in given.problems.split(",")
        for sampler in given.samplers.split(",")
    ]
    found = stored(given.csv)
    with ProcessPoolExecutor(given.jobs) as pool:
        for result in pool.map(run, [task for task in tasks if task[:3] not in found]):
            found[result.sampler, result.problem, result.seed] = result
            if given.csv is not None:
                store(given.csv, result)
    Console(width=150).print(table([found[task[:3]] for task in tasks]))


if __name__ == "__main__":
    main()
