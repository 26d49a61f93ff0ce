"""``flexibo front``: the front of a stored study, as a table, JSON, CSV or picture."""

from __future__ import annotations

import csv
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.text import Text

from flexibo._internal.numbers import cost_unit, format_exact, format_number
from flexibo.cli._completion import PICTURES, picture_names
from flexibo.cli._exit_status import ExitStatus
from flexibo.cli._options import JSONFlag, StorageURL, StudyName
from flexibo.cli._storage import storage_url
from flexibo.cli._text import print_json, printable_console, squeezed
from flexibo.errors import InvalidValueError, unknown_name

if TYPE_CHECKING:
    from flexibo.results.front_layout import FrontLayout
    from flexibo.study import Study
    from flexibo.transfer import StudyCopy
    from flexibo.views.axes import Axis
    from flexibo.views.front import FrontPoint

FORMATS = (".png", ".pdf", ".svg", ".html")


@dataclass(frozen=True, slots=True)
class FrontSelection:
    """The designs of a front that are shown, with their numbers from 1 in the order of the first objective."""

    axes: Sequence[Axis]
    designs: Sequence[tuple[int, FrontPoint]]
    total: int


def front(
    storage: StorageURL = "",
    name: StudyName = "",
    measured: Annotated[
        bool, typer.Option("--measured", help="Only designs that were measured in every objective.")
    ] = False,
    possible: Annotated[
        bool, typer.Option("--possible", help="Also designs that may be on the front, but are not by the best guess.")
    ] = False,
    number: Annotated[
        int | None, typer.Option(min=1, help="Show this design of the front in full.", show_default=False)
    ] = None,
    certificate: Annotated[
        bool, typer.Option("--certificate", help="Print how much the front misses at most, and under which conditions.")
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
    """Show the designs of a stored study that no other dominates.

    What was not measured is predicted (~) with its standard deviation (±); "to confirm" is what it is expected to cost
    to measure the rest of a design. If the models are right, a design whose standing is confident is on the front of
    the candidates, and one that is ruled out is not; others are probable by the best guess, or possible. Exit status 1
    means that there is no front yet. Nothing is changed.
    """
    from flexibo.transfer import study_copy

    if json and as_csv:
        raise InvalidValueError("Both --json and --csv are given; give one of them.")
    if picture and out is None:
        raise InvalidValueError("--picture says what --out draws; give --out FILE with it.")
    if out is not None:
        _check_picture(out, picture)
    copy = study_copy(storage_url(storage), name or None)
    shown = _shown(copy.study, measured=measured, possible=possible, number=number)
    found = copy.study.certificate() if certificate and shown.total else None
    if json:
        designs = [{"number": n, **point.to_dict()} for n, point in shown.designs]
        facts = {"study": copy.name, "objectives": [axis.to_dict() for axis in shown.axes], "designs": designs}
        print_json(facts if found is None else {**facts, "certificate": found.to_dict()})
    elif as_csv:
        _write_table(shown, copy.study)
    elif shown.designs and (out is None or table or number is not None):
        flags = "--measured " * measured + "--possible " * possible
        with printable_console() as console:
            _print(shown, copy, console, whole=number is not None, flags=flags)
    if found is not None and not json:
        typer.echo(str(found), err=as_csv)
    if not shown.total:
        typer.echo(_nothing(copy.study, measured=measured), err=True)
        raise typer.Exit(ExitStatus.NOTHING)
    if out is not None:
        from flexibo import plots

        plots.save(copy.study, out, picture or None)
        what = f"The picture {picture!r}" if picture else "The front"
        typer.echo(squeezed(f"{what} is drawn in {out}."), err=json or as_csv)


def _check_picture(out: Path, picture: str) -> None:
    """Refuse a picture that cannot be drawn, before anything is computed."""
    if picture and picture not in PICTURES:
        raise unknown_name("picture", picture, PICTURES)
    if out.suffix.lower() not in FORMATS:
        raise InvalidValueError(f"{out} is no picture; give a name that ends in {', '.join(FORMATS)}.")
    if out.is_dir() or not out.absolute().parent.is_dir():
        raise InvalidValueError(f"{out} cannot be written; give a file in a folder that exists.")


def _shown(study: Study, *, measured: bool, possible: bool, number: int | None) -> FrontSelection:
    from flexibo.views.front import front_view

    view = front_view(study, limit=max(1, len(study.history.designs)))
    found = [point for point in view.points if point.kind.startswith("front")]
    if measured or possible:
        points = {point.design: point for point in view.points}
        rows = study.front(measured=measured, include="possible" if possible else "probable")
        found = [points[row.design] for row in rows]
    if number is not None and found and number > len(found):
        raise InvalidValueError(f"--number is {number}; the front has the designs 1 to {len(found)}.")
    numbered = [(n, point) for n, point in enumerate(found, 1) if number in (None, n)]
    return FrontSelection(view.axes, numbered, len(found))


def _write_table(shown: FrontSelection, study: Study) -> None:
    """Print CSV; texts that a spreadsheet would run as formulas are escaped."""
    from flexibo.transfer.evaluations import without_formula

    objectives, options = study.history.names, study.space.names
    heading = ["number", *(f"{what}:{one}" for what in ("value", "measured", "deviation") for one in objectives)]
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(
        [*heading, "probability", "feasibility", "confirm_cost", "standing", *(f"option:{one}" for one in options)]
    )
    for n, point in shown.designs:
        cells = [found[one] for found in (point.values, point.measured, point.deviations) for one in objectives]
        rest = [point.probability, point.feasibility, point.confirm_cost, point.standing]
        writer.writerow([n, *cells, *rest, *(without_formula(point.design[one]) for one in options)])


def _print(shown: FrontSelection, copy: StudyCopy, console: Console, *, whole: bool, flags: str) -> None:
    if whole:
        ((n, point),) = shown.designs
        for line in _whole(n, point, shown, cost_unit(copy.study.history.origin)):
            console.print(Text(line))
    else:
        console.print(_layout(shown, copy.study, flags))
    if "surrogate" in copy.missing:
        console.print("Predicted with the method's own surrogate: the study's own is not stored.")


def _layout(shown: FrontSelection, study: Study, flags: str) -> FrontLayout:
    from flexibo.results.front_layout import CONFIRM_LEGEND, confirm_cell, front_layout, legend

    points = [point for _, point in shown.designs]
    lacking = any(not all(point.measured.values()) for point in points)
    unit = cost_unit(study.history.origin)
    heading = f"to confirm{f' [{unit}]' if unit else ''}"
    more = [(heading, list(map(confirm_cell, points)))] if lacking else []
    if any(point.standing not in (None, "probable") for point in points):
        more.append(("standing", [point.standing or "" for point in points]))
    legends = "; ".join(filter(None, [legend(points), CONFIRM_LEGEND if lacking else ""]))
    notes = [*filter(None, [legends]), f"A design in full: flexibo front {flags}--number N"]
    return front_layout(study.history, points, numbers=[n for n, _ in shown.designs], more=more, notes=notes)


def _whole(n: int, point: FrontPoint, shown: FrontSelection, unit: str) -> list[str]:
    """Everything about one design, with exact values."""
    from flexibo.results.front_layout import confirm_cell, feasibility_cell

    lines = [f"Design {n} of {shown.total}, in full"]
    width = max(len(squeezed(name)) for name in (*(axis.name for axis in shown.axes), *point.design))
    for axis in shown.axes:
        own = f" {squeezed(axis.unit)}" if axis.unit else ""
        state = "measured" if point.measured[axis.name] else "predicted"
        bound = "" if axis.bound is None else f", {axis.bound_side} {format_exact(axis.bound)}{own}"
        lines.append(f"  {squeezed(axis.name).ljust(width)}  {_exact_value(point, axis.name)}{own} ({state}{bound})")
    if any(axis.bound is not None for axis in shown.axes):
        lines.append(f"  {'feasible'.ljust(width)}  {feasibility_cell(point)}")
    if not all(point.measured.values()):
        price = "not possible" if point.confirm_cost is None else f"{confirm_cell(point) or '0'} {unit}".rstrip()
        lines.append(f"  Measuring the rest: {price}")
    if point.standing is not None:
        lines.append(f"  {'standing'.ljust(width)}  {point.standing}")
    lines.append("Options:")
    for name, value in point.design.items():
        text = "-" if value is None else repr(value) if isinstance(value, float) else squeezed(str(value))
        lines.append(f"  {squeezed(name).ljust(width)}  {text}")
    return lines


def _exact_value(point: FrontPoint, name: str) -> str:
    value, deviation = point.values[name], point.deviations[name]
    if value is None:
        return "-"
    spread = f" ±{format_number(deviation)}" if deviation > 0 else ""
    return f"{'' if point.measured[name] else '~'}{format_exact(value)}{spread}"


def _nothing(study: Study, *, measured: bool) -> str:
    history = study.history
    lacking = [name for j, name in enumerate(history.names) if not history.count(j)]
    if lacking:
        return squeezed(f"No front yet: {', '.join(lacking)} {'have' if lacking[1:] else 'has'} not been measured.")
    return "No front yet: no design was measured in every objective." if measured else "No front yet."
