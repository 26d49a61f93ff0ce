"""``flexibo status``: one stored study."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from flexibo._internal.numbers import format_number, format_spent
from flexibo.cli._made import made_sentence
from flexibo.cli._options import JSONFlag, StorageURL, StudyName
from flexibo.cli._storage import storage_url
from flexibo.cli._text import (
    count_of_designs,
    counted,
    design_line,
    duration,
    moment,
    print_json,
    printable_console,
    squeezed,
    stop_text,
    wrapped,
)
from flexibo.storage import shown_url
from flexibo.storage.heartbeat import is_detached

if TYPE_CHECKING:
    from flexibo.transfer import StudyCopy

MARGIN = "  "
WORKER_DIGITS = 8  # of the name of a worker that vanished; JSON has all
SHOWN = 5  # how many failures and notes are shown; JSON has them all


def status(
    storage: StorageURL = "",
    name: StudyName = "",
    front: Annotated[bool, typer.Option(help="Compute the front; slow for a large study.")] = True,
    json: JSONFlag = False,
) -> None:
    """Show a stored study: its budget, measurements, pending and queued evaluations, failures and front.

    The hypervolume is how much the front measured so far dominates, up to the reference point: it grows as the front
    gets better. Nothing is changed, also while others write.
    """
    from flexibo.transfer import study_copy

    url = storage_url(storage)
    copy, now = study_copy(url, name or None), time.time()
    facts = {"storage": shown_url(url), **_facts(copy, now)}
    if json:
        if front:
            found = copy.study.hand_over()
            facts |= {"front": found.front.records(), "promising": found.promising.records(), **found.to_dict()}
            facts["hypervolume"] = copy.study.summary().hypervolume
        print_json(facts)
        return
    with printable_console() as console:
        _print(facts, copy, console, now)
        if front:
            _print_front(copy, console)


def _facts(copy: StudyCopy, now: float) -> dict[str, Any]:
    from flexibo.transfer import records
    from flexibo.views import status as views
    from flexibo.views.spending import reserved_cost

    history = copy.study.history
    found, held, queued = records(history, copy.times), reserved_cost(history), views.queued(copy)
    left = None if history.budget is None else max(0.0, history.budget - history.spent - held)
    wanted = sum(one["expected_cost"] or 0.0 for one in queued)
    return {
        **views.overview(copy, found),
        **views.stop(copy),
        "reserved": held,
        "left": left,
        "reserved_for_queue": wanted if left is None else min(wanted, left),
        "settings": views.settings(copy),
        "in_flight": views.in_flight(copy, found, now),
        "queued": queued,
        "failures": views.failures(found),
        "lost": views.lost(copy),
        "notes": views.notes(copy),
    }


def _print(facts: Mapping[str, Any], copy: StudyCopy, console: Console, now: float) -> None:
    unit = copy.study.history.cost_unit
    for line in _heading(facts, copy, now, unit):
        console.print(Text("\n".join(wrapped(line, console.width))))
    console.print()
    console.print(_objectives(facts["objectives"], unit))
    for title, lines in (
        ("In flight:", list(map(_flight, facts["in_flight"]))),
        ("Queued next:", [_queued(row, unit) for row in facts["queued"]]),
        ("Failures, the last first:", [*map(_failure, facts["failures"][:SHOWN]), *_more(facts["failures"])]),
        ("Workers that vanished, the last first:", [_lost(row, unit) for row in facts["lost"][:SHOWN]]),
        ("Notes, the last first:", [*map(_note, facts["notes"][: -SHOWN - 1 : -1]), *_more(facts["notes"])]),
    ):
        if lines:
            console.print(Text(f"\n{title}"))
        for line in lines:
            console.print(Text("\n".join(wrapped(line, console.width, margin=MARGIN, hanging=2 * MARGIN))))


def _heading(facts: Mapping[str, Any], copy: StudyCopy, now: float, unit: str) -> list[str]:
    chosen, times = facts["settings"], copy.times
    designs = "infinitely many" if chosen["designs"] is None else count_of_designs(chosen["designs"])
    lines = [
        f"{facts['name']}, in {facts['storage']}",
        f"Method {facts['method']}, seed {chosen['seed']}; {counted(len(chosen['options']), 'option')}, {designs} "
        "designs, "
        + (
            f"{chosen['initial_designs']} of them measured first."
            if chosen["full_start"]
            else f"at most {chosen['initial_designs']} of them in the start."
        ),
    ]
    lines += [made] if (made := made_sentence(chosen["origin"])) else []
    if chosen["stop"]:
        lines.append(f"Stops at {stop_text(chosen['stop'])}.")
    lines.append(
        f"Begun {moment(times[0], now)}; {counted(facts['events'], 'event')}, the last {moment(times[-1], now)}."
    )
    stopped = [f"Stopped: {facts['stopped']}"] if facts["stopped"] else []
    return [*lines, _money(facts, unit), *stopped]


def _money(facts: Mapping[str, Any], unit: str) -> str:
    spent, budget, held, left = facts["spent"], facts["budget"], facts["reserved"], facts["left"]
    flight = f"; {format_spent(held, None, unit)} more expected for what is in flight" if facts["in_flight"] else ""
    if budget is None:
        return f"Spent {format_spent(spent, None, unit)}, without a limit{flight}."
    share = f" ({spent / budget:.0%})" if budget else ""
    queued = facts["reserved_for_queue"]
    part = "all" if queued == left else format_spent(queued, None, unit)
    queue = f", {part} of it reserved for the queue" if queued else ""
    return f"Spent {format_spent(spent, budget, unit)}{share}{flight}; {format_spent(left, None, unit)} left{queue}."


def _objectives(rows: Sequence[Mapping[str, Any]], unit: str) -> Any:
    states = ["measured", "pending", "failed"]
    states += [state for state in ("reached", "impossible", "released", "added") if any(row.get(state) for row in rows)]
    lost = ["lost_cost"] if any(row["lost_cost"] for row in rows) else []
    table = Table(box=None, pad_edge=False)
    sums = [f"{name}{f' [{unit}]' if unit else ''}" for name in ("cost", *(["lost cost"] if lost else []), "mean cost")]
    for heading in ("objective", *states, *sums):
        name = heading == "objective"
        table.add_column(Text(heading), justify="left" if name else "right", overflow="fold", no_wrap=not name)
    for row in rows:
        title = row["name"] + (f" [{row['unit']}]" if row["unit"] else "")
        if not row["optimise"] and row["at_most"] is None and row["at_least"] is None:
            title += " (proxy)"
        if row["measured_with"]:
            own = {"measured": str(row["values"] - row["added"]), "added": str(row["added"])}
            cells = [*(own.get(state, "") for state in states), "", *("" for _ in lost), ""]
        else:
            mean = "-" if row["mean_cost"] is None else format_number(row["mean_cost"], 3)
            costs = [format_number(row[name]) for name in ("cost", *lost)]
            cells = [*(str(row.get(state, "")) for state in states), *costs, mean]
        table.add_row(*map(Text, (squeezed(title), *cells)))
    return table


def _flight(row: Mapping[str, Any]) -> str:
    since = "" if row["seconds"] is None else f", for {duration(row['seconds'])}"
    way = f" from step {row['from_step']} to {row['to_step']}" if "to_step" in row else ""
    what = f"{row['name'] or 'imported:'} {row['objective']}{way} of {design_line(row['design'])}"
    return f"{what}: {_by(row['worker'])}{since}"


def _queued(row: Mapping[str, Any], unit: str) -> str:
    flying, cost = row["in_flight"], row["expected_cost"]
    readings = f", {row['readings']} readings" if row["readings"] > 1 else ""
    flight = f"; in flight: {', '.join(flying)}" if flying else ""
    price = f"; expected cost {'of the rest ' * bool(flying)}{format_spent(cost, None, unit)}" if cost else ""
    what = f"{', '.join(row['objectives'])}{readings} of {design_line(row['design'])}"
    return f"{row['number']} {what}: {row['why']}{flight}{price}"


def _by(worker: Mapping[str, Any]) -> str:
    if worker["state"] == "gone":
        return "its worker is gone"
    if is_detached(worker["id"]):
        over = " (its lease is over)" if worker["state"] == "silent" else ""
        return f"asked by hand on {worker['host']}{over}"
    where = f"{worker['host']}, process {worker['pid']}"
    silent = "" if worker["silent_seconds"] is None else duration(worker["silent_seconds"])
    states = {
        "alive": f" (alive, last sign {silent} ago)" if silent else "",
        "silent": f" (silent for {silent}, longer than its lease)",
        "dead": " (dead: the process is gone)",
    }
    return where + states[worker["state"]]


def _failure(row: Mapping[str, Any]) -> str:
    reason = row["reason"] or "no reason was given"
    impossible = "impossible: " if row["state"] == "impossible" else ""
    number = "imported:" if row["number"] is None else row["number"]
    return f"{number} {row['objective']} of {design_line(row['design'])}: {impossible}{reason}"


def _note(note: Mapping[str, Any]) -> str:
    when = "" if note["time"] is None else datetime.fromisoformat(note["time"]).astimezone().strftime("%Y-%m-%d %H:%M ")
    return f"{when}{note['text']}"


def _more(rows: Sequence[object]) -> list[str]:
    """How many rows are not shown, if any."""
    return [f"... and {len(rows) - SHOWN} before; --json has them all."] if len(rows) > SHOWN else []


def _lost(row: Mapping[str, Any], unit: str) -> str:
    cost = "an unknown cost" if row["cost"] is None else f"about {format_spent(row['cost'], None, unit)}"
    worker = row["worker"][:WORKER_DIGITS]
    return f"{row['number']} {row['objective']} of {design_line(row['design'])}: worker {worker}, lost {cost}"


def _print_front(copy: StudyCopy, console: Console) -> None:
    from flexibo.study.progress import print_front

    console.print()
    print_front(copy.study, console)
    if volume := copy.study.summary().hypervolume:
        console.print(f"Hypervolume {format_number(volume, 6)}")
    if "surrogate" in copy.missing:
        console.print("Predicted with the method's own surrogate: the study's own is not stored.")
