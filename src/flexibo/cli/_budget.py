"""The budget and the stop rules that are typed for a stored study: they count, also a smaller budget."""

from __future__ import annotations

from collections.abc import Mapping

import typer

from flexibo._internal.numbers import cost_unit, format_number, format_spent
from flexibo._internal.text import printable_line
from flexibo.cli._storage import is_stored
from flexibo.study import Study
from flexibo.transfer import study_copy


def opening_budget(url: str, name: str, typed: float) -> float:
    """The budget to open a study with: the typed one, or a larger stored one, which is lowered afterwards."""
    stored = study_copy(url, name).study.budget if is_stored(url, name) else None
    return typed if stored is None else max(typed, stored)


def set_budget(study: Study, typed: float, *, quiet: bool) -> None:
    """Set the budget of a study to what was typed, and say so if that lowers it or it is spent already."""
    before, unit = study.budget, cost_unit(study.history.origin)
    if before != typed:
        study.budget = typed
    lines = []
    if before is None or typed < before:
        stored = "There was no budget" if before is None else f"The budget was {_amount(before, unit)}"
        lines.append(f"{stored}; it is {_amount(typed, unit)} now.")
    if study.spent >= typed:
        lines.append(f"It is spent already ({format_spent(study.spent, typed, unit)}), so nothing is measured.")
    if lines and not quiet:
        typer.echo(printable_line(" ".join(lines)))


def set_stop_rules(study: Study, typed: Mapping[str, float]) -> None:
    """Add the stop rules that were typed, if any, to those of a study."""
    if typed:
        study.stop = {**study.stop, **typed}


def _amount(value: float, unit: str) -> str:
    return f"{format_number(value, 5)} {unit}".rstrip()
