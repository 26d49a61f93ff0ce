"""Runs: what a method gets, what it reaches on one problem with one seed, and CSV files of runs."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, field, fields
from pathlib import Path
from typing import Literal, TypeAlias, get_args

from flexibo._internal.files import write_atomically
from flexibo.compare.problems.base import Problem
from flexibo.errors import InvalidValueError

SHARES = tuple(i / 20 for i in range(21))
"""The shares of the budget at which a run is judged."""

Measure: TypeAlias = Literal["confirmed", "model", "reported"]
"""Which designs a contestant is judged by, always by their true values.

- confirmed: the best of the designs of which it has measured every objective.
- model: those that are best by the means of its own model, measured or not, among the same candidates for all.
- reported: those that it reports itself.
"""
MEASURES: tuple[Measure, ...] = get_args(Measure)

Task: TypeAlias = tuple[str, str, int]
"""What one run is about: a problem, a method and a seed."""

PAID_SHARE, FEWEST_PAID = 0.25, 3
"""From scratch, others have initial designs for at most this share of the budget (as in SMAC), at least this many."""

MOST_INITIAL, MOST_BUDGET = 1_000, 1e6
"""Models of more initial designs take hours, and nobody waits for more evaluations."""

MOST_OBJECTIVES = 6
EARLIER_COLUMNS = (
    "problem",
    "method",
    "seed",
    "share",
    "spent",
    *MEASURES,
    "thinking_s",
    *(f"evaluations_{j + 1}" for j in range(MOST_OBJECTIVES)),
)
"""The columns of tables of earlier versions, which did not count suggestions."""
COLUMNS = (*EARLIER_COLUMNS, "suggested", "replaced", "changed_options", "failed")
FRONT_COLUMNS = ("problem", "method", "seed", "measure", *(f"value_{j + 1}" for j in range(MOST_OBJECTIVES)))


@dataclass(frozen=True, slots=True)
class Allowance:
    """What every method gets in a comparison.

    Attributes:
        n_initial: The number of initial designs. They are measured in every objective, free of charge.
        budget: What may be spent after them, in mean full evaluations (all objectives of one design).
        from_scratch: Whether initial designs are paid from the budget. Methods of flexibo that know the budget then
            have the start of their own; the others have at most `n_initial` designs (`paid_designs`).
    """

    n_initial: int = 10
    budget: float = 20.0
    from_scratch: bool = False

    def __post_init__(self) -> None:
        if not 2 <= self.n_initial <= MOST_INITIAL:
            raise InvalidValueError(
                f"The number of initial designs is {self.n_initial}; it must be between 2 and {MOST_INITIAL:,}."
            )
        if not 0 < self.budget <= MOST_BUDGET:
            raise InvalidValueError(
                f"budget is {self.budget}; it must be a number of full evaluations above 0, at most {MOST_BUDGET:,.0f}."
            )

    @property
    def paid_designs(self) -> int:
        """The initial designs of a contestant without a start of its own, if they are paid: a quarter of the budget.

        At most `n_initial`, and at least `FEWEST_PAID`.

        >>> [Allowance(budget=budget, from_scratch=True).paid_designs for budget in (8, 30, 100)]
        [3, 7, 10]
        """
        return min(self.n_initial, max(FEWEST_PAID, int(PAID_SHARE * self.budget)))

    def amount(self, problem: Problem) -> float:
        """The budget on a problem, in the unit of its costs."""
        mean = float(problem.mean_costs().sum())
        if not 0 < mean < float("inf"):
            raise InvalidValueError(
                f"A full evaluation of problem {problem.name!r} costs {mean} on average; it must be above zero."
            )
        return self.budget * mean


@dataclass(frozen=True, slots=True)
class Suggestions:
    """What became of the suggestions of a third-party optimiser.

    Attributes:
        suggested: Their number.
        replaced: How many were replaced by the nearest design that could be measured.
        changed_options: In how many options those differ from the suggestions, in all.
        failed: How often the library failed, and a random design was measured.
    """

    suggested: int = 0
    replaced: int = 0
    changed_options: int = 0
    failed: int = 0


@dataclass(frozen=True, slots=True)
class Moment:
    """The state of a run when a share of its budget may be spent; share 0 is after initial designs that are free.

    `spent` and `evaluations` (of each objective) count from there on, and the overhead is the processor time of the
    optimiser so far. The errors by each `Measure` are None where they are not known: the model's is not computed at
    every share, and some contestants have no model. Suggestions are counted for third-party optimisers only.
    """

    share: float
    spent: float
    confirmed: float
    overhead_s: float
    evaluations: tuple[int, ...]
    model: float | None = None
    reported: float | None = None
    suggestions: Suggestions | None = None

    def error(self, measure: Measure) -> float | None:
        """The error by a measure, if it is known."""
        return {"confirmed": self.confirmed, "model": self.model, "reported": self.reported}[measure]


@dataclass(frozen=True, slots=True)
class Run:
    """One method (or rival) on one problem with one seed, which decides the initial designs and every draw.

    It has a moment for each of `SHARES`. The fronts hold, by measure, the true values of the designs that it is judged
    by at the end, in the users' directions; they are missing if they were not kept.
    """

    problem: str
    method: str
    seed: int
    moments: tuple[Moment, ...]
    fronts: Mapping[Measure, tuple[tuple[float, ...], ...]] = field(default_factory=dict)

    @property
    def key(self) -> Task:
        """Identifies the run."""
        return self.problem, self.method, self.seed


def rows_of(run: Run) -> str:
    """The lines of a run in a CSV file, one per moment."""
    return _lines(
        [
            *run.key,
            f"{moment.share:g}",
            f"{moment.spent:.8g}",
            *("" if (error := moment.error(measure)) is None else f"{error:.6g}" for measure in MEASURES),
            f"{moment.overhead_s:.4g}",
            *_padded(moment.evaluations),
            *(astuple(moment.suggestions) if moment.suggestions is not None else [""] * len(fields(Suggestions))),
        ]
        for moment in run.moments
    )


def front_rows_of(run: Run) -> str:
    """The lines of the fronts of a run in a CSV file, one per design."""
    return _lines(
        [*run.key, measure, *_padded([f"{value:.8g}" for value in values])]
        for measure, front in run.fronts.items()
        for values in front
    )


def write_runs(path: Path, fronts: Path, runs: Iterable[Run]) -> None:
    """Write runs and their fronts as two tidy CSVs, ordered by names and seeds; each file all or nothing."""
    ordered = sorted(runs, key=lambda run: run.key)
    for file, columns, lines_of in ((fronts, FRONT_COLUMNS, front_rows_of), (path, COLUMNS, rows_of)):
        write_atomically(file, (_lines([columns]) + "".join(map(lines_of, ordered))).encode())


def read_runs(path: Path, fronts: Path | None = None) -> list[Run]:
    """The complete runs in a CSV file, with their fronts from another; the last line may be cut off."""
    moments: dict[Task, dict[float, Moment]] = {}
    for number, row in _read(path, COLUMNS):
        try:
            moment = _moment(row)
            moments.setdefault((row[0], row[1], int(row[2])), {})[moment.share] = moment
        except ValueError:
            raise _broken(path, number, ",".join(row)) from None
    found: dict[Task, dict[Measure, list[tuple[float, ...]]]] = {}
    for number, row in _read(fronts, FRONT_COLUMNS) if fronts is not None and fronts.exists() else ():
        try:
            measure = MEASURES[MEASURES.index(row[3])]
            by_measure = found.setdefault((row[0], row[1], int(row[2])), {})
            by_measure.setdefault(measure, []).append(tuple(float(cell) for cell in row[4:] if cell))
        except ValueError:
            raise _broken(fronts, number, ",".join(row)) from None
    return [
        Run(
            *key,
            tuple(own[share] for share in SHARES),
            {measure: tuple(front) for measure, front in found.get(key, {}).items()},
        )
        for key, own in moments.items()
        if all(share in own for share in SHARES)
    ]


def is_current_table(path: Path) -> bool:
    """Whether a table of runs has all errors; earlier versions had one alone."""
    with open(path, encoding="utf-8", newline="") as file:
        return tuple(next(csv.reader(file), ())) in (COLUMNS, EARLIER_COLUMNS)


def _moment(row: Sequence[str]) -> Moment:
    """The moment in a row; a ValueError if it is none."""
    share, spent, confirmed = map(float, row[3:6])
    model, reported = (float(cell) if cell else None for cell in row[6:8])
    overhead = float(row[8])
    errors = [error for error in (confirmed, model, reported) if error is not None]
    if not (all(0.0 <= error <= 1.0 for error in errors) and 0.0 <= spent < float("inf")):
        raise ValueError
    if not 0.0 <= overhead < float("inf"):
        raise ValueError
    evaluations, counts = row[9 : len(EARLIER_COLUMNS)], row[len(EARLIER_COLUMNS) :]
    suggestions = Suggestions(*map(int, counts)) if any(counts) else None
    counted = tuple(int(cell) for cell in evaluations if cell)
    return Moment(share, spent, confirmed, overhead, counted, model, reported, suggestions)


def _broken(path: Path | None, number: int, text: str) -> InvalidValueError:
    return InvalidValueError(
        f"Line {number} of {path} is {text[:80]!r}; it is not a row of a comparison. Remove the line, and its run is "
        "made again, or choose another folder."
    )


def _read(path: Path, columns: Sequence[str]) -> Iterable[tuple[int, list[str]]]:
    """The rows of a CSV file with their line numbers, without a last line that is cut off."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidValueError(f"{path} cannot be read ({error}); restore it, or choose another folder.") from None
    whole = text[: text.rfind("\n") + 1]
    rows = _numbered(path, whole)
    _, first = next(rows, (0, None))
    if first is not None and tuple(first) == EARLIER_COLUMNS and tuple(columns) == COLUMNS:
        columns = EARLIER_COLUMNS
    elif first is not None and tuple(first) != tuple(columns):
        raise InvalidValueError(
            f"{path} begins with {','.join(first)[:80]!r}; it is not a table of a comparison, or one of an earlier "
            f"version without the errors {', '.join(MEASURES)}. Choose another folder."
        )
    for number, row in rows:
        if len(row) != len(
            columns
        ):  # only the last line can be cut off by a kill: anything else would be lost silently
            raise _broken(path, number, ",".join(row))
        yield number, row


def _numbered(path: Path, text: str) -> Iterator[tuple[int, list[str]]]:
    """The rows of a CSV text, each with the number of its first line."""
    lines = csv.reader(io.StringIO(text, newline=""), strict=True)
    while True:
        number = lines.line_num + 1
        try:
            row = next(lines, None)
        except csv.Error:
            raise _broken(path, number, text.splitlines()[number - 1]) from None
        if row is None:
            return
        yield number, row


def _lines(rows: Iterable[Sequence[object]]) -> str:
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def _padded(cells: Sequence[object]) -> list[object]:
    return [*cells, *[""] * (MOST_OBJECTIVES - len(cells))]
