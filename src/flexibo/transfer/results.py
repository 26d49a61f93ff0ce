"""Results from a table: every row is checked before any is brought into a study."""

from __future__ import annotations

import csv
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flexibo.answers import added
from flexibo.errors import FlexiBOError, InvalidValueError, unknown_name
from flexibo.events import Added, Event
from flexibo.history import History
from flexibo.log import EventLog
from flexibo.space import Categorical, Ordinal
from flexibo.space.options import Option
from flexibo.storage import Storage
from flexibo.transfer.copies import StudyCopy, copy_of
from flexibo.transfer.table import AFTER, BEFORE, headings

COST_OF = "cost of "
"""Before the name of an objective: the column of its cost, where rows have several objectives."""


@dataclass(frozen=True, slots=True)
class Results:
    """What a table holds.

    Attributes:
        results: The results, in the order of the rows.
        empty: How many rows have no value of any objective.
    """

    results: Sequence[Added]
    empty: int


def read_results(lines: Iterable[str], copy: StudyCopy, source: str) -> Results:
    """The results in a CSV table: a column per option, a column per objective, and what they cost, if that is known.

    Columns of an exported table that say nothing about a result are passed over; an empty cell is not measured.

    Args:
        lines: The lines of the table.
        copy: The study that they are for.
        source: What to call the table in messages.
    """
    if "rule" in copy.missing:
        raise InvalidValueError(
            f"The space of study {copy.name!r} has a rule, which only your program knows; "
            "bring results in there, with study.add."
        )
    rows = _rows(lines, source)
    try:
        columns = _Columns(next(rows)[1], copy.study.history, source)
    except StopIteration:
        raise InvalidValueError(f"{source} is empty; give a table with a heading.") from None
    # A second copy, so that rows are checked against those before them.
    history = copy_of(copy.contents, copy.name).study.history
    found: list[Added] = []
    empty = 0
    for number, cells in rows:
        try:
            result = columns.result(cells, history)
            if result is None:
                empty += 1
                continue
            history.check_agrees(result.design, result.values)
        except FlexiBOError as error:
            raise InvalidValueError(f"Line {number} of {source}: {error} Nothing was added.") from None
        history.append(result)
        found.append(result)
    return Results(found, empty)


def import_results(results: Results, storage: Storage, copy: StudyCopy) -> None:
    """Bring results into a stored study, all of them or none.

    Args:
        results: What `read_results` returned.
        storage: Where the study is.
        copy: A copy of it, which learns what was written since.
    """
    history = copy.study.history

    def decide() -> Sequence[Event]:
        for result in results.results:
            history.check_agrees(result.design, result.values)
        return list(results.results)

    EventLog(storage, history, lambda event: None, clock=time.time).commit(decide)


class _Columns:
    """Which column means what.

    Args:
        names: The heading.
        history: The history of the study.
        source: The table in messages.
    """

    def __init__(self, names: Sequence[str], history: History, source: str) -> None:
        options, values = headings(history)
        self._options = dict(zip(options, history.space.names, strict=True))
        self._values = dict(zip(values, history.names, strict=True))
        self._costs = {f"{COST_OF}{name}": name for name in history.names}
        self._names = [name.strip() for name in names]
        known = {**self._options, **self._values, **self._costs, **dict.fromkeys((*BEFORE, *AFTER))}
        for name in self._names:
            if self._names.count(name) > 1:
                raise InvalidValueError(f"{source} has two columns {name!r}; leave one out.")
            if name not in known:
                raise unknown_name(f"column of {source}:", name, [*self._options, *self._values, "cost", *self._costs])
        if not set(self._values) & set(self._names):
            raise InvalidValueError(
                f"{source} has no column of an objective; name at least one of {', '.join(self._values)}."
            )

    def result(self, cells: Sequence[str], history: History) -> Added | None:
        """The result in a row; None if no objective is measured."""
        if len(cells) != len(self._names):
            raise InvalidValueError(f"It has {len(cells)} cells; the heading has {len(self._names)}.")
        row = {name: cell.strip() for name, cell in zip(self._names, cells, strict=True)}
        values = {name: _number(row[column], column) for column, name in self._values.items() if row.get(column)}
        if not values:
            return None
        design = {
            name: _level(row[column], history.space.options[name])
            for column, name in self._options.items()
            if column in row
        }
        return added(history, design, values, self._cost(row, values, history))

    def _cost(self, row: Mapping[str, str], values: Mapping[str, float], history: History) -> dict[str, float]:
        costs = {name: _number(row[column], column) for column, name in self._costs.items() if row.get(column)}
        if not row.get("cost"):
            return costs
        leads = {history.purchases[history.purchase_of(name)].objective for name in values}
        asked = row.get("objective") or (leads.pop() if len(leads) == 1 else "")
        if not asked:
            raise InvalidValueError(
                f"It has one cost for {', '.join(values)}; give a column '{COST_OF}{next(iter(values))}' for each."
            )
        return {asked: _number(row["cost"], "cost")} | costs


def _rows(lines: Iterable[str], source: str) -> Iterator[tuple[int, list[str]]]:
    """The rows that are not empty, each with the number of its last line."""
    reader = csv.reader(lines, strict=True)
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                yield reader.line_num, cells
    except (csv.Error, UnicodeDecodeError) as error:
        raise InvalidValueError(f"Line {reader.line_num + 1} of {source} is no CSV: {error}.") from None


def _number(cell: str, column: str) -> float:
    try:
        return float(cell)
    except ValueError:
        raise InvalidValueError(f"{column!r} is {cell!r}; it must be a number.") from None


def _level(cell: str, option: Option) -> Any:
    """The value that a cell means; a cell that means none is left for the space to refuse."""
    if isinstance(option, Categorical | Ordinal):
        for value in option.values:
            if str(value) == cell:
                return value
    elif not cell:
        return None
    try:
        number = float(cell)
    except ValueError:
        return cell or None
    return int(number) if number.is_integer() and abs(number) < 2**53 else number
