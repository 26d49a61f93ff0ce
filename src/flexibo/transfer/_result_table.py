"""Results from a CSV table: every row is checked before any is added to a study."""

from __future__ import annotations

import csv
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from flexibo.errors import FlexiBOError, InvalidValueError, unknown_name
from flexibo.history import History
from flexibo.history.events import Added
from flexibo.objectives import Reading
from flexibo.space import Categorical, Ordinal
from flexibo.space.options import Option
from flexibo.storage import Storage
from flexibo.study.answers import added_event, new_results
from flexibo.study.event_log import EventLog
from flexibo.transfer.evaluations import BARS_OF, BEFORE, COST_OF, columns_after, headings, without_formula
from flexibo.transfer.study_copies import StudyCopy, copy_of

Value = TypeVar("Value")
FAILURES = ("failed", "impossible")  # the states of rows whose objective could not be measured


@dataclass(frozen=True, slots=True)
class Results:
    """The results of a table."""

    results: Sequence[Added]  # the results, in the order of the rows
    empty: int  # how many rows have no value of any objective
    known: int  # how many rows the study has already, with equal values: they were exported from it


def read_results(lines: Iterable[str], copy: StudyCopy, source: str) -> Results:
    """The results in a CSV table: a column per option, a column per objective, and what they cost, if that is known.

    Columns ``deviation of NAME`` and ``repeats of NAME`` are error bars of values. Other columns of an exported table
    are ignored; an empty cell is not measured.
    """
    if "rule" in copy.missing:
        raise InvalidValueError(
            f"The space of study {copy.name!r} has a rule, which only your program has; "
            "add results there, with study.add."
        )
    rows = _rows(lines, source)
    try:
        columns = _Columns(next(rows)[1], copy.study.history, source)
    except StopIteration:
        raise InvalidValueError(f"{source} is empty; give a table with a heading.") from None
    # A second copy, so that rows are checked against those before them.
    history = copy_of(copy.contents, copy.name).study.history
    before = known_values(history)
    found: list[Added] = []
    empty = known = 0
    for number, cells in rows:
        try:
            result = columns.result(cells, history)
            if result is None:
                empty += 1
                continue
            if is_known(result, history, before):
                known += 1
                continue
            history.check_agrees(result.design, result.values)
        except FlexiBOError as error:
            raise InvalidValueError(f"Line {number} of {source}: {error} Nothing was added.") from None
        history.append(result)
        found.append(result)
    lasting = [result for result in found if not _was_measured_after_all(result, history)]
    return Results(lasting, empty, known + len(found) - len(lasting))


def _was_measured_after_all(result: Added, history: History) -> bool:
    """Whether a result is a failure of what another attempt has measured."""
    tried = [history.purchase_of(name) for name in result.failed]
    return bool(tried) and all(history.is_measured(p, result.design) for p in tried)


def import_results(results: Results, storage: Storage, copy: StudyCopy) -> None:
    """Add results to a stored study, all of them or none; what others have added since it was read is left out."""
    history, seen = copy.study.history, len(copy.contents)
    EventLog(storage, history).commit(lambda: new_results(history, results.results, seen))


def known_values(history: History) -> set[tuple[Any, ...]]:
    """The values that a study has, each with its design and objective."""
    return {(m.design, *pair) for m in history.measurements for pair in m.values.items()}


def is_known(result: Added, history: History, values: Container[tuple[Any, ...]]) -> bool:
    """Whether a study has these values, and these failures, already."""
    tried = [(history.purchase_of(name), result.design) for name in result.failed]
    is_gone = all(history.attempts(*one) or history.is_measured(*one) for one in tried)
    return is_gone and all((result.design, *pair) in values for pair in result.values.items())


class _Columns:
    """The meaning of the columns."""

    def __init__(self, names: Sequence[str], history: History, source: str) -> None:
        options, values = headings(history)
        self._options = dict(zip(options, history.space.names, strict=True))
        self._values = dict(zip(values, history.names, strict=True))
        self._costs = {f"{COST_OF}{name}": name for name in history.names}
        bars = [f"{prefix}{name}" for prefix in BARS_OF for name in history.names]
        known = [*self._options, *self._values, *BEFORE, *columns_after(history), *self._costs, *bars]
        self._names: list[str] = []
        for name in names:
            column = _meant(name, known, f"The column {name!r} of {source}")
            if column is None:
                shown = [*self._options, *self._values, "cost", *self._costs, *bars]
                raise unknown_name(f"column of {source}:", name.strip(), shown)
            if column in self._names:
                raise InvalidValueError(f"{source} has two columns {column!r}; leave one out.")
            self._names.append(column)
        if not set(self._values) & set(self._names):
            raise InvalidValueError(
                f"{source} has no column of an objective; name at least one of {', '.join(self._values)}."
            )

    def result(self, cells: Sequence[str], history: History) -> Added | None:
        """The result in a row; None if no objective is measured."""
        if len(cells) != len(self._names):
            raise InvalidValueError(f"It has {len(cells)} cells; the heading has {len(self._names)}.")
        row = {name: cell if cell.strip() else "" for name, cell in zip(self._names, cells, strict=True)}
        values, failed = self._read(row), self._failed(row, history)
        if both := values.keys() & failed.keys():
            raise InvalidValueError(f"It says that {min(both)} failed, and what it is; leave one of them out.")
        if not values and not failed:
            return None
        # An option may have a value of blanks.
        written = dict(zip(self._names, cells, strict=True))
        design = {
            name: option_value(written[column], name, history.space.options[name])
            for column, name in self._options.items()
            if column in written
        }
        return added_event(history, design, values, self._cost(row, values or failed, history), failed)

    def _read(self, row: Mapping[str, str]) -> dict[str, float]:
        """The values in a row, with their error bars where they have one."""
        values = {name: _number(row[column], column) for column, name in self._values.items() if row.get(column)}
        for column, name in self._values.items() if values else ():
            deviation, repeats = (f"{prefix}{name}" for prefix in BARS_OF)
            given = next((one for one in (deviation, repeats) if row.get(one)), None)
            if given is None:
                continue
            for needed in (column, deviation):
                if not row.get(needed):
                    raise InvalidValueError(f"{given!r} is {row[given]!r} and {needed!r} is empty; give both or none.")
            number = _number(row[repeats], repeats) if row.get(repeats) else 1.0
            values[name] = Reading(
                values[name],
                deviation=_number(row[deviation], deviation),
                repeats=int(number) if number.is_integer() else number,  # type: ignore[arg-type]  # it is refused
            )
        return values

    def _failed(self, row: Mapping[str, str], history: History) -> dict[str, str]:
        """The objective that a row says cannot be measured, with the reason; empty if it says no such thing."""
        if row.get("state", "").strip() not in FAILURES or not (cell := row.get("objective")):
            return {}
        return {_meant(cell, history.names, f"The objective {cell!r}") or cell.strip(): row.get("reason", "").strip()}

    def _cost(self, row: Mapping[str, str], values: Mapping[str, object], history: History) -> dict[str, float]:
        costs = {name: _number(row[column], column) for column, name in self._costs.items() if row.get(column)}
        if not row.get("cost"):
            return costs
        leads = {history.purchases[history.purchase_of(name)].objective for name in values if name in history.names}
        asked = leads.pop() if len(leads) == 1 else ""
        if cell := row.get("objective"):
            asked = _meant(cell, history.names, f"The objective {cell!r}") or cell.strip()
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
        raise InvalidValueError(f"Line {reader.line_num + 1} of {source} is not CSV: {error}.") from None


def _number(cell: str, column: str) -> float:
    try:
        return float(cell)
    except ValueError:
        raise InvalidValueError(f"{column!r} is {cell!r}; it must be a number.") from None


def option_value(cell: str, name: str, option: Option) -> Any:
    """The option value that a text stands for; the space refuses an unknown one."""
    if isinstance(option, Categorical | Ordinal):
        meant = _meant(cell, option.values, f"Option {name!r} is {cell!r}, which")
        if meant is not None:
            return meant
    cell = cell.strip()
    try:
        number = float(cell)
    except ValueError:
        return cell or None
    return int(number) if number.is_integer() and abs(number) < 2**53 else number


def _meant(cell: str, values: Iterable[Value], what: str) -> Value | None:
    """The value that a cell stands for, compared as exported, then unchanged, then stripped; None if there is none."""
    values = list(values)
    exported = [str(without_formula(value)) for value in values]
    forms = [(exported, cell), (list(map(str, values)), cell)]
    if cell:  # an empty cell does not stand for a value of blanks
        forms += [([text.strip() for text in texts], cell.strip()) for texts, _ in forms]
    for texts, wanted in forms:
        found = [value for value, text in zip(values, texts, strict=True) if text == wanted]
        if len(found) > 1:
            raise InvalidValueError(
                f"{what} may mean {' or '.join(map(repr, found))}; add such results with study.add."
            )
        if found:
            return found[0]
    return None
