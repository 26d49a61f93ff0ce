"""What is typed for a study that is stored already: its budget counts, also where it is smaller, and its stop rules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import typer

from flexibo._internal.numbers import cost_unit, format_number, format_spent
from flexibo._internal.text import printable_line

if TYPE_CHECKING:
    from flexibo.study import Study


def opening_budget(url: str, name: str, typed: float) -> float:
    """What a study is opened with: the typed budget, or the stored one where that is larger and is lowered later."""
    from flexibo.cli.worker import is_there
    from flexibo.transfer import study_copy

    stored = study_copy(url, name).study.budget if is_there(url, name) else None
    return typed if stored is None else max(typed, stored)


def settle_budget(study: Study, typed: float, *, quiet: bool) -> None:
    """Set the budget of a study to what was typed, and say where that lowers it or was spent before."""
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


def settle_stop(study: Study, typed: Mapping[str, float]) -> None:
    """Add the stop rules that were typed, which may be none, to those of a study."""
    if typed:
        study.stop = {**study.stop, **typed}


def _amount(value: float, unit: str) -> str:
    return f"{format_number(value, 5)} {unit}".rstrip()
