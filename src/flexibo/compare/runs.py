"""Runs: what a method gets, what it reaches on one problem with one seed, and CSV files of runs."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from flexibo._internal.files import write_atomically
from flexibo.compare.problems.base import Problem
from flexibo.errors import InvalidValueError

SHARES = tuple(i / 20 for i in range(21))
"""The shares of the budget at which a run is judged."""

MOST_OBJECTIVES = 6
COLUMNS = (
    "problem",
    "method",
    "seed",
    "share",
    "spent",
    "error",
    "thinking_s",
    *(f"evaluations_{j + 1}" for j in range(MOST_OBJECTIVES)),
)
FRONT_COLUMNS = ("problem", "method", "seed", *(f"value_{j + 1}" for j in range(MOST_OBJECTIVES)))


@dataclass(frozen=True, slots=True)
class Allowance:
    """What every method gets in a comparison.

    Attributes:
        n_initial: The number of initial designs. They are measured in every objective, free of charge.
        budget: What may be spent after them, in mean full evaluations (all objectives of one design).
    """

    n_initial: int = 10
    budget: float = 20.0

    def __post_init__(self) -> None:
        if self.n_initial < 2:
            raise InvalidValueError(f"The number of initial designs is {self.n_initial}; it must be at least 2.")
        if not 0 < self.budget < float("inf"):
            raise InvalidValueError(f"budget is {self.budget}; it must be a number of full evaluations above zero.")

    def amount(self, problem: Problem) -> float:
        """The budget on a problem, in the unit of its costs."""
        return self.budget * float(problem.mean_costs().sum())


@dataclass(frozen=True, slots=True)
class Moment:
    """The state of a run when a share of its budget may be spent; share 0 is after the initial designs.

    `spent` and `evaluations` (of each objective) count from there on, the error is that of the reported front by true
    values, and the overhead is the processor time of the optimiser so far.
    """

    share: float
    spent: float
    error: float
    overhead_s: float
    evaluations: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Run:
    """One method (or rival) on one problem with one seed, which decides the initial designs and every draw.

    It has a moment for each of `SHARES`. The front holds the true values of the designs reported at the end, in the
    users' directions; it is empty if they were not kept.
    """

    problem: str
    method: str
    seed: int
    moments: tuple[Moment, ...]
    front: tuple[tuple[float, ...], ...] = ()

    @property
    def key(self) -> tuple[str, str, int]:
        """Identifies the run."""
        return self.problem, self.method, self.seed


def rows_of(run: Run) -> str:
    """The lines of a run in a CSV file, one per moment."""
    return _lines(
        [
            *run.key,
            f"{moment.share:g}",
            f"{moment.spent:.8g}",
            f"{moment.error:.6g}",
            f"{moment.overhead_s:.4g}",
            *_padded(moment.evaluations),
        ]
        for moment in run.moments
    )


def front_rows_of(run: Run) -> str:
    """The lines of the front of a run in a CSV file, one per design."""
    return _lines([*run.key, *_padded([f"{value:.8g}" for value in values])] for values in run.front)


def write_runs(path: Path, fronts: Path, runs: Iterable[Run]) -> None:
    """Write runs and their fronts as two tidy CSVs, ordered by names and seeds; each file all or nothing."""
    ordered = sorted(runs, key=lambda run: run.key)
    for file, columns, lines_of in ((fronts, FRONT_COLUMNS, front_rows_of), (path, COLUMNS, rows_of)):
        write_atomically(file, (_lines([columns]) + "".join(map(lines_of, ordered))).encode())


def read_runs(path: Path, fronts: Path | None = None) -> list[Run]:
    """The complete runs in a CSV file, with their fronts from another; the last line may be cut off."""
    moments: dict[tuple[str, str, int], dict[float, Moment]] = {}
    for number, row in _read(path, COLUMNS):
        try:
            key = (row[0], row[1], int(row[2]))
            share, spent, error, overhead = map(float, row[3:7])
            moment = Moment(share, spent, error, overhead, tuple(int(cell) for cell in row[7:] if cell))
            if not (0.0 <= error <= 1.0 and 0.0 <= spent < float("inf") and 0.0 <= overhead < float("inf")):
                raise ValueError
        except ValueError:
            raise _broken(path, number, row) from None
        moments.setdefault(key, {})[share] = moment
    found: dict[tuple[str, str, int], list[tuple[float, ...]]] = {}
    for number, row in _read(fronts, FRONT_COLUMNS) if fronts is not None and fronts.exists() else ():
        try:
            found.setdefault((row[0], row[1], int(row[2])), []).append(tuple(float(cell) for cell in row[3:] if cell))
        except ValueError:
            raise _broken(fronts, number, row) from None
    return [
        Run(*key, tuple(own[share] for share in SHARES), tuple(found.get(key, ())))
        for key, own in moments.items()
        if all(share in own for share in SHARES)
    ]


def _broken(path: Path | None, number: int, row: Sequence[str]) -> InvalidValueError:
    return InvalidValueError(
        f"Line {number} of {path} is {','.join(row)[:80]!r}; it is not a row of a comparison. Remove the file, or "
        "choose another folder."
    )


def _read(path: Path, columns: Sequence[str]) -> Iterable[tuple[int, list[str]]]:
    """The rows of a CSV file with their line numbers, without a last line that is cut off."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidValueError(f"{path} cannot be read ({error}); remove it, or choose another folder.") from None
    whole = text[: text.rfind("\n") + 1]
    lines = csv.reader(io.StringIO(whole, newline=""))
    first = next(lines, None)
    if first is not None and tuple(first) != tuple(columns):
        raise InvalidValueError(
            f"{path} begins with {','.join(first)[:80]!r}; it is not a table of a comparison. Choose another folder."
        )
    for row in lines:
        if len(row) == len(columns):
            yield lines.line_num, row


def _lines(rows: Iterable[Sequence[object]]) -> str:
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def _padded(cells: Sequence[object]) -> list[object]:
    return [*cells, *[""] * (MOST_OBJECTIVES - len(cells))]
