"""``flexibo front``: the front of a stored study, for people, programs and pictures."""

from __future__ import annotations

import csv
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flexibo.cli.completing import PICTURES, picture_names
from flexibo.cli.exits import ExitStatus
from flexibo.cli.screen import harmless_console, in_words, print_json
from flexibo.cli.storage_options import JSONFlag, StorageURL, StudyName, storage_url

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from flexibo.study import Study
    from flexibo.transfer import StudyCopy
    from flexibo.views.axes import Axis
    from flexibo.views.front import FrontPoint

FORMATS = (".png", ".pdf", ".svg", ".html")


@dataclass(frozen=True, slots=True)
class Shown:
    """The designs of a front that are shown.

    Attributes:
        axes: The objectives.
        designs: The designs with their numbers, from 1, in the order of the first objective.
        total: How many the front has.
    """

    axes: Sequence[Axis]
    designs: Sequence[tuple[int, FrontPoint]]
    total: int


def front(
    storage: StorageURL = "",
    name: StudyName = "",
    measured: Annotated[
        bool, typer.Option("--measured", help="Only among designs that were measured in every objective.")
    ] = False,
    number: Annotated[
        int | None, typer.Option(min=1, help="Show this design of the front in full.", show_default=False)
    ] = None,
    json: JSONFlag = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print a table for programs instead.")] = False,
    out: Annotated[
        Path | None, typer.Option(help="Draw a picture into a file: .png, .pdf, .svg or .html.", show_default=False)
    ] = None,
    picture: Annotated[
        str,
        typer.Option(
            help="What --out draws, as in hypervolume, region, evaluations or importance; by default the front, and "
            "in a page all pictures.",
            show_default=False,
            autocompletion=picture_names,
        ),
    ] = "",
) -> None:
    """Show the designs of a stored study that no other dominates.

    What was not measured is predicted (~) with its standard deviation (±); the last number says what it is expected to
    cost to measure the rest of a design. Exit status 1 means that there is no front yet. Nothing is changed.
    """
    from flexibo.errors import InvalidValueError
    from flexibo.transfer import study_copy

    if json and as_csv:
        raise InvalidValueError("Both --json and --csv are given; give one of them.")
    if picture and out is None:
        raise InvalidValueError("--picture says what --out draws; give --out FILE with it.")
    if out is not None:
        _check_picture(out, picture)
    copy = study_copy(storage_url(storage), name or None)
    shown = _shown(copy.study, measured=measured, number=number)
    if json:
        print_json({"study": copy.name, **_facts(shown)})
    elif as_csv:
        _write_table(shown, copy.study)
    elif shown.designs:
        with harmless_console() as console:
            _print(shown, copy, console, whole=number is not None)
    if not shown.total:
        typer.echo(_nothing(copy.study, measured=measured), err=True)
        raise typer.Exit(ExitStatus.NOTHING)
    if out is not None:
        from flexibo import plots

        plots.save(copy.study, out, picture or None)
        what = f"The picture {picture!r}" if picture else "The front"
        typer.echo(in_words(f"{what} is drawn in {out}."), err=json or as_csv)


def _check_picture(out: Path, picture: str) -> None:
    """Refuse a picture that cannot be drawn before anything is calculated."""
    from flexibo.errors import InvalidValueError, unknown_name

    if picture and picture not in PICTURES:
        raise unknown_name("picture", picture, PICTURES)

    if out.suffix.lower() not in FORMATS:
        raise InvalidValueError(f"{out} is no picture; give a name that ends in {', '.join(FORMATS)}.")
    if out.is_dir() or not out.absolute().parent.is_dir():
        raise InvalidValueError(f"{out} cannot be written; give a file in a folder that exists.")


def _shown(study: Study, *, measured: bool, number: int | None) -> Shown:
    from flexibo.errors import InvalidValueError
    from flexibo.views.front import front_view

    view = front_view(study, limit=max(1, len(study.history.designs)))
    found = [point for point in view.points if point.kind.startswith("front")]
    if measured:
        points = {point.design: point for point in view.points}
        found = [points[row.design] for row in study.front(measured=True)]
    if number is not None and found and number > len(found):
        raise InvalidValueError(f"The front has {len(found)} designs; --number {number} is none of them.")
    numbered = [(n, point) for n, point in enumerate(found, 1) if number in (None, n)]
    return Shown(view.axes, numbered, len(found))


def _facts(shown: Shown) -> dict[str, Any]:
    return {
        "objectives": [axis.to_dict() for axis in shown.axes],
        "designs": [{"number": n, **point.to_dict()} for n, point in shown.designs],
    }


def _write_table(shown: Shown, study: Study) -> None:
    """Print CSV: no text in it is a formula for a spreadsheet."""
    from flexibo.transfer.table import tamed

    objectives, options = study.history.names, study.space.names
    heading = ["number", *(f"{what}:{one}" for what in ("value", "measured", "deviation") for one in objectives)]
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow([*heading, "probability", "feasibility", "confirm_cost", *(f"option:{one}" for one in options)])
    for n, point in shown.designs:
        cells = [found[one] for found in (point.values, point.measured, point.deviations) for one in objectives]
        rest = [point.probability, point.feasibility, point.confirm_cost]
        writer.writerow([n, *cells, *rest, *(tamed(point.design[one]) for one in options)])


def _print(shown: Shown, copy: StudyCopy, console: Console, *, whole: bool) -> None:
    from rich.text import Text

    if whole:
        ((n, point),) = shown.designs
        for line in _in_full(n, point, shown):
            console.print(Text(line))
    else:
        console.print(_table(shown, copy.study))
    if "surrogate" in copy.missing:
        console.print("Predicted with the method's own surrogate: the study's own is not stored.")


def _table(shown: Shown, study: Study) -> Table:
    from rich.table import Table
    from rich.text import Text

    points = [point for _, point in shown.designs]
    varied = [name for name in study.space.names if len(points) == 1 or len({p.design[name] for p in points}) > 1]
    bounded = any(axis.bound is not None for axis in shown.axes)
    many = "1 design" if shown.total == 1 else f"{shown.total} designs"
    table = Table(title=f"Pareto front: {many}", caption_justify="left")
    table.add_column("", justify="right", no_wrap=True)
    for axis in shown.axes:
        table.add_column(Text(in_words(_heading(axis))), justify="right")
    lacking = any(not all(point.measured.values()) for point in points)
    for heading in ("feasible",) * bounded + ("to confirm",) * lacking:
        table.add_column(heading, justify="right")
    table.add_column("design", overflow="fold")
    for n, point in shown.designs:
        values = [_value(point, axis.name) for axis in shown.axes]
        more = (_feasible(point),) * bounded + (_price(point),) * lacking
        table.add_row(*map(Text, (str(n), *values, *more, _options(point, varied))))
    table.caption = Text("\n".join(_notes(points, [name for name in study.space.names if name not in varied])))
    return table


def _notes(points: Sequence[FrontPoint], same: Sequence[str]) -> list[str]:
    notes = [f"All of them: {_options(points[0], same)}"] if same else []
    if not all(all(point.measured.values()) for point in points):
        notes.append("~ predicted, not measured; ± its standard deviation; to confirm: the cost of measuring the rest")
    elif any(deviation > 0 for point in points for deviation in point.deviations.values()):
        notes.append("± its standard deviation")
    return [*notes, "A design in full: flexibo front --number N"]


def _in_full(n: int, point: FrontPoint, shown: Shown) -> list[str]:
    """Everything about one design, its options as exactly as they are kept."""
    lines = [f"Design {n} of {shown.total}, in full"]
    width = max(len(in_words(name)) for name in (*(axis.name for axis in shown.axes), *point.design))
    for axis in shown.axes:
        unit = f" {in_words(axis.unit)}" if axis.unit else ""
        state = "measured" if point.measured[axis.name] else "predicted"
        lines.append(f"  {in_words(axis.name).ljust(width)}  {_value(point, axis.name)}{unit} ({state})")
    if any(axis.bound is not None for axis in shown.axes):
        lines.append(f"  {'feasible'.ljust(width)}  {_feasible(point)}")
    if not all(point.measured.values()):
        lines.append(f"  Measuring the rest: {_price(point) if point.confirm_cost is not None else 'not possible'}")
    lines.append("Options:")
    for name, value in point.design.items():
        text = "-" if value is None else repr(value) if isinstance(value, float) else in_words(str(value))
        lines.append(f"  {in_words(name).ljust(width)}  {text}")
    return lines


def _heading(axis: Axis) -> str:
    sign = {"at most": "<=", "at least": ">="}.get(axis.bound_side or "")
    return axis.label if axis.bound is None else f"{axis.label} {sign} {axis.bound:g}"


def _value(point: FrontPoint, name: str) -> str:
    """A value, marked if it is predicted, with its deviation if it is not exact."""
    value = point.values[name]
    if value is None:
        return "-"
    deviation = f" ±{point.deviations[name]:.2g}" if point.deviations[name] > 0 else ""
    return f"{'' if point.measured[name] else '~'}{value:.4g}{deviation}"


def _price(point: FrontPoint) -> str:
    return "-" if point.confirm_cost is None else f"{point.confirm_cost:.3g}" if point.confirm_cost else ""


def _feasible(point: FrontPoint) -> str:
    return {"feasible": "yes", "violating": "no"}.get(point.feasibility, f"maybe, {point.probability:.0%}")


def _options(point: FrontPoint, names: Sequence[str]) -> str:
    found = ((name, point.design[name]) for name in names)
    return ", ".join(
        in_words(f"{name}={f'{value:.3g}' if isinstance(value, float) else '-' if value is None else value}")
        for name, value in found
    )


def _nothing(study: Study, *, measured: bool) -> str:
    history = study.history
    lacking = [name for j, name in enumerate(history.names) if not history.count(j)]
    if lacking:
        return in_words(f"No front yet: {', '.join(lacking)} has not been measured.")
    return "No front yet: no design was measured in every objective." if measured else "No front yet."
