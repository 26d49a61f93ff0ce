"""Results of rivals that come with the package. Rivals are slow, and change only with their library."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from flexibo.compare.rivals import RIVALS
from flexibo.compare.runs import Allowance, Run, Task, is_current_table, read_runs, write_runs
from flexibo.errors import InvalidValueError

FOLDER = Path(__file__).parent / "results"

INCOMPLETE = ("botorch-hvkg",)
"""Slow rivals of which runs of the standard suite are missing: the suite makes them."""


@dataclass(frozen=True, slots=True)
class StoredResults:
    """How the stored results of a rival were made; the machine tells about the overhead, problems have fingerprints."""

    rival: str
    versions: str
    command: str
    machine: str
    allowance: Allowance
    problems: Mapping[str, str]


def describe(rival: str, folder: Path = FOLDER) -> StoredResults | None:
    """How the stored results of a rival were made; None if there are none that can be used."""
    path = folder / f"{rival}.json"
    if not path.exists() or is_outdated(rival, folder):
        return None
    content = json.loads(path.read_text(encoding="utf-8"))
    allowance = Allowance(**content.pop("terms"))
    return StoredResults(**content, allowance=allowance)


def is_outdated(rival: str, folder: Path = FOLDER) -> bool:
    """Whether the stored results of a rival are of an earlier version, without all errors; they are not used then."""
    table = folder / f"{rival}.csv"
    return table.exists() and not is_current_table(table)


def stored_runs(
    tasks: Sequence[Task], allowance: Allowance, problems: Mapping[str, str], folder: Path = FOLDER
) -> list[Run]:
    """The runs of these tasks (problem, rival, seed) that come with the package.

    Results with another allowance, on a problem that has another fingerprint, or of an earlier version are ignored.
    """
    found: list[Run] = []
    for rival in dict.fromkeys(task[1] for task in tasks):
        made = describe(rival, folder)
        if made is None or made.allowance != allowance or not _is_current(rival, made.versions):
            continue
        same = {name for name, mark in problems.items() if made.problems.get(name) == mark}
        wanted = {task for task in tasks if task[1] == rival and task[0] in same}
        runs = read_runs(folder / f"{rival}.csv", folder / f"{rival}-fronts.csv") if wanted else []
        found += [run for run in runs if run.key in wanted]
    return found


def _is_current(rival: str, versions: str) -> bool:
    """Whether results were made with the installed version of the rival's own package, or none is installed."""
    entry = RIVALS.get(rival)
    return entry is None or not entry.is_installed() or package(entry.versions()) == package(versions)


def package(versions: str) -> str:
    """The version of a rival's own package, which is named first; other packages differ between machines and builds.

    >>> package("botorch 0.18.1, gpytorch 1.15.2, torch 2.13.0+cpu")
    'botorch 0.18.1'
    """
    return versions.split(", ")[0]


def store(runs: Iterable[Run], made: StoredResults, folder: Path = FOLDER) -> None:
    """Write the results of a rival: a table, its fronts, and how they were made."""
    folder.mkdir(parents=True, exist_ok=True)
    kept = [run for run in runs if run.method == made.rival]
    write_runs(folder / f"{made.rival}.csv", folder / f"{made.rival}-fronts.csv", kept)
    content = {"terms" if name == "allowance" else name: value for name, value in asdict(made).items()}
    (folder / f"{made.rival}.json").write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def add(runs: Iterable[Run], made: StoredResults, folder: Path = FOLDER) -> None:
    """Add results of a rival to the stored ones: new runs and texts replace stored ones, problems are added."""
    before = describe(made.rival, folder)
    if before is None:
        store(runs, made, folder)
        return
    if before.allowance != made.allowance:
        raise InvalidValueError(
            f"The stored runs of {made.rival} were made with {before.allowance}, the new ones with {made.allowance}; "
            "all runs of a rival need the same allowance."
        )
    kept = {run.key: run for run in read_runs(folder / f"{made.rival}.csv", folder / f"{made.rival}-fronts.csv")}
    changed = {name for name, mark in made.problems.items() if before.problems.get(name, mark) != mark}
    kept = {key: run for key, run in kept.items() if run.problem not in changed} | {run.key: run for run in runs}
    store(kept.values(), replace(made, problems={**before.problems, **made.problems}), folder)
