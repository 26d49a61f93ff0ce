"""The cells of a table of designs as text, shared by every table of a front."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from flexibo._internal.numbers import format_number, significant_digits
from flexibo._internal.text import printable_line

CONFIRM_LEGEND = "to confirm: the cost of measuring the rest"


class ShownDesign(Protocol):
    """A design in a table; see `flexibo.results.front.FrontRow`, whose values may here be unknown (None)."""

    @property
    def design(self) -> Mapping[str, object]: ...  # noqa: D102
    @property
    def values(self) -> Mapping[str, float | None]: ...  # noqa: D102
    @property
    def measured(self) -> Mapping[str, bool]: ...  # noqa: D102
    @property
    def deviations(self) -> Mapping[str, float]: ...  # noqa: D102
    @property
    def probability(self) -> float: ...  # noqa: D102
    @property
    def feasibility(self) -> str: ...  # noqa: D102
    @property
    def confirm_cost(self) -> float | None: ...  # noqa: D102


def value_cells(rows: Sequence[ShownDesign], name: str, *, deviation_digits: int = 2) -> list[tuple[str, str]]:
    """Values of an objective, with a mark if predicted and enough digits to distinguish them, and their deviations."""
    known = [(value, row.deviations[name]) for row in rows if (value := row.values[name]) is not None]
    digits = significant_digits(known)
    return [_value_cell(row, name, digits, deviation_digits) for row in rows]


def _value_cell(row: ShownDesign, name: str, digits: int, deviation_digits: int) -> tuple[str, str]:
    value, deviation = row.values[name], row.deviations[name]
    if value is None:
        return "-", ""
    shown = f"{'' if row.measured[name] else '~'}{format_number(value, digits)}"
    return shown, f" ±{format_number(deviation, deviation_digits)}" if deviation > 0 else ""


def feasibility_cell(row: ShownDesign) -> str:
    """Whether the constraints are kept, or the probability that they are."""
    return {"feasible": "yes", "violating": "no"}.get(row.feasibility, f"maybe, {row.probability:.0%}")


def confirm_cell(row: ShownDesign) -> str:
    """The cost of measuring the rest of a design; "-" if it is unknown, empty if nothing is left or it is free."""
    return "-" if row.confirm_cost is None else format_number(row.confirm_cost, 3) if row.confirm_cost else ""


def option_cells(row: ShownDesign, names: Sequence[str]) -> list[str]:
    """The named options of a design, as in ``x=3``."""
    return [printable_line(f"{name}={_option(row.design[name])}") for name in names]


def _option(value: object) -> str:
    return format_number(value, 3) if isinstance(value, float) else "-" if value is None else str(value)


def constant_options(rows: Sequence[ShownDesign], names: Sequence[str]) -> list[str]:
    """The names of the options that have one value in all rows, if there are several rows."""
    return [name for name in names if len(rows) > 1 and len({row.design[name] for row in rows}) == 1]


def legend(rows: Sequence[ShownDesign]) -> str:
    """What the marks in a table of these rows mean; empty if there are none."""
    marks = {
        "~ predicted, not measured": any(not all(row.measured.values()) for row in rows),
        "± standard deviation": any(deviation > 0 for row in rows for deviation in row.deviations.values()),
    }
    return "; ".join(mark for mark, is_used in marks.items() if is_used)
