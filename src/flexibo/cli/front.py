"""``flexibo front``: confirmed and promising designs of a stored study, as tables, JSON, CSV or picture."""

from __future__ import annotations

import csv
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from flexibo._internal.numbers import format_exact, format_number
from flexibo.cli._advice import StudyPlace, granted_budget
from flexibo.cli._completion import PICTURES, picture_names
from flexibo.cli._exit_status import ExitStatus
from flexibo.cli._options import JSONFlag, StorageURL, StudyName
from flexibo.cli._storage import storage_url
from flexibo.cli._text import print_json, printable_console, squeezed
from flexibo.errors import InvalidValueError, unknown_name

if TYPE_CHECKING:
    from flexibo.history import History
    from flexibo.objectives import Objective
    from flexibo.results.handover import HandOver
    from flexibo.results.rows import DesignRow
    from flexibo.study import Study
    from flexibo.transfer import StudyCopy

FORMATS = (".png", ".pdf", ".svg", ".html")
QUANTITY_COLUMNS = ("value", "measured", "readings", "spread", "estimate", "deviation")
WHOLE_COLUMNS = (
    *("probability", "feasibility", "standing", "best", "knee"),
    *("gain", "relative_gain", "confirm_cost", "chance"),
)


def front(
    storage: StorageURL = "",
    name: StudyName = "",
    measured: Annotated[
        bool, typer.Option("--measured", help="Only confirmed designs, without the promising ones.")
    ] = False,
    possible: Annotated[
        bool, typer.Option("--possible", help="Also designs that may be on the front, but are not by the best guess.")
    ] = False,
    number: Annotated[
        int | None, typer.Option(help="Show the design with this number in full.", show_default=False)
    ] = None,
    certificate: Annotated[
        bool, typer.Option("--certificate", help="Print what is missed at most, and under which conditions.")
    ] = False,
    json: JSONFlag = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV instead.")] = False,
    out: Annotated[
        Path | None, typer.Option(help="Save a picture: .png, .pdf, .svg or .html.", show_default=False)
    ] = None,
    table: Annotated[bool, typer.Option("--table", help="Print the table too when --out saves a picture.")] = False,
    picture: Annotated[
        str,
        typer.Option(
            help="The picture, as in hypervolume, region, evaluations or importance. By default the front, and "
            "in an .html page all pictures.",
            show_default=False,
            autocompletion=picture_names,
        ),
    ] = "",
) -> None:
    """Show the confirmed designs of a stored study, and those that are worth confirming.

    A confirmed design was measured in every quantity, and no other one dominates it; its values are its readings. A
    promising design lacks some: what was not measured is predicted (~). Its gain is what it is expected to add to the
    hypervolume of the confirmed front; "to confirm" is what measuring the rest is expected to cost, "chance" the
    probability that it can be measured. If the models are right, a design whose standing is confident is on the front
    of the candidates, and one that is ruled out is not. Exit status 1 means that no design is confirmed yet. Nothing is
    changed.
    """
    from flexibo.transfer import study_copy

    if json and as_csv:
        raise InvalidValueError("Both --json and --csv are given; give one of them.")
    if picture and out is None:
        raise InvalidValueError("--picture says what --out draws; give --out FILE with it.")
    if out is not None:
        _check_picture(out, picture)
    copy = study_copy(storage_url(storage), name or None)
    history = copy.study.history
    found = _found(copy.study, measured=measured, possible=possible or number is not None)
    row = None if number is None else _numbered(found, number)
    proof = copy.study.certificate() if certificate and (found.front or found.promising) else None
    if json:
        facts = _facts(copy, found, row)
        print_json(facts if proof is None else {**facts, "certificate": proof.to_dict()})
    elif as_csv:
        _write_table(found, row, history)
    elif (found.front or found.promising) and (out is None or table or row is not None):
        flags = {"--measured": measured, "--possible": possible}
        place = StudyPlace.typed(storage, name, history.origin)
        with printable_console() as console:
            _print(found, row, copy, console, flags=flags, place=place)
    if proof is not None and not json:
        typer.echo(str(proof), err=as_csv)
    if out is not None and (found.front or found.promising):
        from flexibo import plots

        plots.save(copy.study, out, picture or None)
        what = f"The picture {picture!r}" if picture else "The front"
        typer.echo(squeezed(f"{what} is drawn in {out}."), err=json or as_csv)
    if not found.front:
        from flexibo.study.progress import no_front

        if json or as_csv or out is not None or not found.promising:
            typer.echo(no_front(history), err=True)
        raise typer.Exit(ExitStatus.NOTHING)


def _check_picture(out: Path, picture: str) -> None:
    """Refuse a picture that cannot be drawn, before anything is computed."""
    if picture and picture not in PICTURES:
        raise unknown_name("picture", picture, PICTURES)
    if out.suffix.lower() not in FORMATS:
        raise InvalidValueError(f"{out} is no picture; give a name that ends in {', '.join(FORMATS)}.")
    if out.is_dir() or not out.absolute().parent.is_dir():
        raise InvalidValueError(f"{out} cannot be written; give a file in a folder that exists.")


def _found(study: Study, *, measured: bool, possible: bool) -> HandOver:
    from flexibo.results.promising import Promising

    found = study.hand_over(include="possible" if possible else "probable")
    return replace(found, promising=Promising()) if measured else found


def _numbered(found: HandOver, number: int) -> DesignRow | None:
    """The design with a number; None if there are none at all."""
    rows: dict[int, DesignRow] = {row.number: row for row in (*found.front, *found.promising)}
    if rows and number not in rows:
        raise InvalidValueError(f"--number is {number}; the designs have the numbers {_ranges(sorted(rows))}.")
    return rows.get(number)


def _ranges(numbers: list[int]) -> str:
    """Numbers in words.

    >>> _ranges([1, 2, 3, 7]), _ranges([4])
    ('1 to 3 and 7', '4')
    """
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return " and ".join(f"{run[0]} to {run[-1]}" if run[1:] else f"{run[0]}" for run in runs)


def _facts(copy: StudyCopy, found: HandOver, row: DesignRow | None) -> dict[str, Any]:
    """The designs, ready for JSON; only one row if it is given."""
    from flexibo.views.axes import axis_of

    history = copy.study.history
    rows = (*found.front, *found.promising)
    axes = [axis_of(own, (one.values[own.name] for one in rows)).to_dict() for own in history.quantities]
    return {
        "study": copy.name,
        "objectives": axes,
        "designs": [_json_row(one, found) for one in found.front if row in (None, one)],
        "promising": [_json_row(one, found) for one in found.promising if row in (None, one)],
        **found.to_dict(),
    }


def _json_row(row: DesignRow, found: HandOver) -> dict[str, Any]:
    from flexibo.results.rows import json_row

    return {"kind": _kind(row, found), **json_row(row)}


def _kind(row: DesignRow, found: HandOver) -> str:
    """What a design is: "confirmed", "promising", or "possible" if it is on the front by no best guess."""
    from flexibo.results.front import FrontRow

    if row.number > found.last_likely:
        return "possible"
    return "confirmed" if isinstance(row, FrontRow) else "promising"


def _write_table(found: HandOver, row: DesignRow | None, history: History) -> None:
    """Print CSV; texts that a spreadsheet would run as formulas are escaped."""
    from flexibo.transfer.evaluations import without_formula

    kinds = [_kind(one, found) for one in (*found.front, *found.promising)]
    rows = (*found.front.records(), *found.promising.records())
    records = [{"kind": kind, **record} for kind, record in zip(kinds, rows, strict=True)]
    heading = ["kind", "number"]
    heading += [f"{what}:{name}" for what in QUANTITY_COLUMNS for name in history.counted] + list(WHOLE_COLUMNS)
    options = [f"option:{name}" for name in history.space.names]
    writer = csv.DictWriter(sys.stdout, [*heading, *options], restval="", lineterminator="\n")
    writer.writeheader()
    for record in records:
        if row is None or record["number"] == row.number:
            writer.writerow(record | {name: without_formula(record[name]) for name in options})


def _print(
    found: HandOver,
    row: DesignRow | None,
    copy: StudyCopy,
    console: Console,
    *,
    flags: Mapping[str, object],
    place: StudyPlace,
) -> None:
    from flexibo.study.progress import print_hand_over

    history = copy.study.history
    if row is not None:
        open_end = ", not measured yet" if row.missing else ""
        for line in _whole(row, history, f"{_kind(row, found)}{open_end}"):
            console.print(Text(line))
    else:
        print_hand_over(history, found, console)
        for line in _advice(found, place, flags, history):
            console.print(Text(line), soft_wrap=True)
    if "surrogate" in copy.missing and (found.front or found.promising):
        console.print("Predicted with the method's own surrogate: the study's own is not stored.")


def _advice(found: HandOver, place: StudyPlace, flags: Mapping[str, object], history: History) -> list[str]:
    """What to type next, with the number of a row as an example."""
    rows = (*found.front, *found.promising)
    lines = [f"A design in full: {place.command('front', options={**flags, '--number': rows[0].number})}"]
    if found.promising:
        one, granted = str(found.promising[0].number), granted_budget(found.promising[0].confirm_cost, history)
        if place.origin:
            lines.append(f"Measure what a promising design lacks: {place.measuring('confirm', one, options=granted)}")
        else:  # its functions are in a program
            queue = place.command("confirm", one, options={**granted, "--later": True})
            lines.append(f"Queue what a promising design lacks: {queue}")
    return lines


def _whole(row: DesignRow, history: History, kind: str) -> list[str]:
    """Everything about one design, with exact values."""
    from flexibo.results.cells import feasibility_cell

    lines = [f"Design {row.number}, {kind}"]
    width = max(len(squeezed(name)) for name in (*history.counted, *row.design, "to confirm"))
    lines += [f"  {squeezed(own.name).ljust(width)}  {_quantity(row, own)}" for own in history.quantities]
    if any(objective.is_constraint for objective in history.quantities):
        lines.append(f"  {'feasible'.ljust(width)}  {feasibility_cell(row)}")
    lines += [f"  {name.ljust(width)}  {text}" for name, text in _more(row, history.cost_unit)]
    lines.append("Options:")
    for name, value in row.design.items():
        text = "-" if value is None else repr(value) if isinstance(value, float) else squeezed(str(value))
        lines.append(f"  {squeezed(name).ljust(width)}  {text}")
    return lines


def _more(row: DesignRow, unit: str) -> list[tuple[str, str]]:
    """What is known of a design as a whole, named."""
    from flexibo.results.front import FrontRow
    from flexibo.results.promising import PromisingRow, chance_cell, gain_cell, price_cell

    found: list[tuple[str, str]] = [("standing", row.standing)]
    if isinstance(row, PromisingRow):
        found.append(("gain", f"{gain_cell(row)} of the confirmed front's hypervolume, expected"))
        found.append(("to confirm", f"{price_cell(row)} {unit}".rstrip()))
        found.append(("chance", chance_cell(row)))
    if isinstance(row, FrontRow) and (row.best or row.knee):
        found.append(("best", ", ".join([*map(squeezed, row.best), *["knee"] * row.knee])))
    return found


def _quantity(row: DesignRow, objective: Objective) -> str:
    """The value of a quantity with its unit, where it comes from, and its bound."""
    name, unit = objective.name, f" {squeezed(objective.unit)}" if objective.unit else ""
    count, spread, deviation = row.readings[name], row.spreads[name], row.deviations[name]
    estimate = f"{format_exact(row.estimates[name])} ±{format_number(deviation)}"
    bounds = {"at most": objective.at_most, "at least": objective.at_least}
    bound = "".join(f", {side} {format_exact(limit)}{unit}" for side, limit in bounds.items() if limit is not None)
    if not count:
        reached = f"; step {row.reached[name]} of {objective.stops[-1]} was reached" if name in row.reached else ""
        return f"~{estimate}{unit} (predicted{reached}{bound})"
    if not (deviation or spread) and count == 1:
        return f"{format_exact(row.values[name])}{unit} (measured{bound})"
    times = "1 reading" if count == 1 else f"mean of {count} readings"
    blur = f" ±{format_number(spread)}" if spread else ""
    return f"{format_exact(row.values[name])}{blur}{unit} ({times}; by the model {estimate}{bound})"
