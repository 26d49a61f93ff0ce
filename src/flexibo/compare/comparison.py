"""Compare every method on every problem, in parallel processes; an interrupted comparison can be resumed."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Container, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

import flexibo
from flexibo.compare.contestants import check_contestant, is_rival, rival_entry
from flexibo.compare.problems.table import find_problem
from flexibo.compare.results_folder import COPY, FRONTS, RESULTS, ResultsFolder, locked
from flexibo.compare.rivals import RIVALS
from flexibo.compare.runs import MEASURES, Allowance, Run, Task, read_runs
from flexibo.compare.single_run import run
from flexibo.compare.step_contestants import has_steps
from flexibo.compare.stored_results import INCOMPLETE, is_outdated, stored_runs
from flexibo.compare.suites import Suite
from flexibo.compare.workers import finished as finished_tasks
from flexibo.errors import FlexiBOError, InvalidValueError

NOT_DECIDING = (
    *("cli", "compare", "dashboard", "executors", "experiments", "hardware"),
    *("plots", "storage", "systems", "views", "web"),
)
"""Parts of the package that do not decide what a method asks."""


def compare(
    suite: Suite,
    folder: Path,
    *,
    jobs: int,
    stored: bool = True,
    make: bool = True,
    finished: Callable[[int, int, Run | None], None] = lambda done, total, run: None,
    warned: Callable[[str], None] = lambda text: None,
) -> list[Run]:
    """The runs of a comparison. Runs that the folder or the package contains are reused, the others are made.

    Every finished run is kept in the folder: after an interruption or a failed run, the next call resumes.

    Args:
        suite: What to compare.
        folder: Where the runs are kept.
        jobs: The number of parallel processes, each with one thread.
        stored: Whether to use the matching results of rivals that come with the package.
        make: Whether to make the runs that are missing; otherwise those that there are are returned.
        finished: Called with the number of finished runs, the number of all runs, and the latest run.
        warned: Called with a sentence that the user should read.
    """
    with locked(folder):
        tasks = suite.tasks()
        problems = {name: find_problem(name).fingerprint() for name in dict.fromkeys(task[0] for task in tasks)}
        names = dict.fromkeys(task[1] for task in tasks)
        methods = {name: mark for name in names if (mark := method_fingerprint(name))}
        results = ResultsFolder(folder, suite.allowance, problems=problems, methods=methods)
        if results.forgotten:
            warned(
                f"{results.forgotten} runs in {folder} are made again: their problem or their method has changed. "
                f"{RESULTS}{COPY} has the former ones."
            )
        if outdated := [name for name in names if stored and name in RIVALS and is_outdated(name)]:
            warned(
                f"Stored runs of {', '.join(outdated)} are not used: an earlier version made them, without the errors "
                f"{', '.join(MEASURES)}."
            )
        ready = {run.key: run for run in stored_runs(tasks, suite.allowance, problems)}
        if stored:
            known = ready | results.runs
        else:  # runs in the folder may have come with the package at an earlier call
            known = {key: run for key, run in results.runs.items() if ready.get(key) != run}
        if not make:
            tasks = _finished(tasks, known, folder, warned)
        missing = [task for task in tasks if task not in known]
        running = dict.fromkeys(task[1] for task in missing)
        for method in running:
            check_contestant(method)
        if slow := [name for name in running if name in INCOMPLETE]:
            warned(f"Not all runs of {', '.join(slow)} are stored: the others run now, many minutes each.")
        finished(len(tasks) - len(missing), len(tasks), None)
        for _, made in finished_tasks(partial(_run, suite=suite), missing, jobs):
            results.add(made)
            known[made.key] = made
            finished(sum(task in known for task in tasks), len(tasks), made)
        results.runs = {task: known[task] for task in tasks} | results.runs
        results.tidy()
        written = {run.key: run for run in read_runs(folder / RESULTS, folder / FRONTS)}
        return [written[task] for task in tasks]


def _finished(tasks: Sequence[Task], known: Container[Task], folder: Path, warned: Callable[[str], None]) -> list[Task]:
    """The tasks of which there are runs; an error if there is none of the first method, which is judged."""
    done = [task for task in tasks if task in known]
    all_of, done_of = (Counter(method for _, method, _ in some) for some in (tasks, done))
    judged = tasks[0][1]
    if not done_of[judged]:
        raise InvalidValueError(f"No run of {judged} is finished in {folder}; leave --finished out to make them.")
    if short := [
        f"{done_of[name]} of {total} runs of {name}" for name, total in all_of.items() if done_of[name] < total
    ]:
        warned(f"Not all is finished, and only what is finished is judged: {', '.join(short)}.")
    return done


def method_fingerprint(name: str) -> str:
    """What decides the questions of a method besides the problem: versions of libraries, or the code of flexibo.

    Empty for a rival that is not installed: its existing runs are then accepted as they are.
    """
    if is_rival(name):
        return rival_entry(name).versions() if rival_entry(name).is_installed() else ""
    return f"flexibo {flexibo.__version__} {_code_digest()}"


@cache
def _code_digest() -> str:
    """Changes with the code that decides what a method asks."""
    root = Path(flexibo.__file__).parent
    files = sorted(
        path for path in root.rglob("*.py") if path.relative_to(root).parts[0].removesuffix(".py") not in NOT_DECIDING
    )
    digest = hashlib.sha256()
    for path in files:
        digest.update(path.relative_to(root).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()[:12]


def _run(task: Task, suite: Suite) -> Run:
    """Make the run of a (problem, method, seed); only the first seed keeps its fronts."""
    problem, method, seed = task
    try:
        _warm_up(method)
        made = run(find_problem(problem), method, seed, suite.allowance)
    except FlexiBOError as error:
        raise FlexiBOError(f"{method} on {problem} with seed {seed}: {error}") from None
    return replace(made, fronts=made.fronts if seed == suite.first_seed else {})


@cache
def _warm_up(method: str) -> None:
    """Let a method ask once before its overhead is measured: the first question of a process imports libraries."""
    if has_steps(method):
        run(find_problem("clear-curves"), method, 0, Allowance(budget=0.1, from_scratch=True))
    else:
        run(find_problem("branin-currin"), method, 0, Allowance(n_initial=4, budget=0.5))
