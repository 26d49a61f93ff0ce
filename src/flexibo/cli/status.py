"""``flexibo status``: one stored study, as it is now."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flexibo.cli.screen import duration, harmless_console, in_words, moment, options, print_json
from flexibo.cli.storage_options import JSONFlag, StorageURL, StudyName, storage_url
from flexibo.cli.words import size

if TYPE_CHECKING:
    from rich.console import Console

    from flexibo.transfer import StudyCopy

SHOWN = 5
"""So many failures and notes are shown; JSON has them all."""


def status(
    storage: StorageURL = "",
    name: StudyName = "",
    front: Annotated[bool, typer.Option(help="Calculate the front; takes a while in a large study.")] = True,
    json: JSONFlag = False,
) -> None:
    """Show a stored study: what was spent and measured, what is in flight, what failed, and the front so far.

    Nothing is changed, also while others write.
    """
    from flexibo.storage import shown_url
    from flexibo.transfer import study_copy

    url = storage_url(storage)
    copy, now = study_copy(url, name or None), time.time()
    facts = {"storage": shown_url(url), **_facts(copy, now)}
    if json:
        shown = {"front": copy.study.front().records()} if front else {}
        print_json({**facts, **shown})
        return
    with harmless_console() as console:
        _print(facts, copy, console, now)
        if front:
            _print_front(copy, console)


def _facts(copy: StudyCopy, now: float) -> dict[str, Any]:
    from flexibo.transfer import records
    from flexibo.views import standing

    found = records(copy.study.history, copy.times)
    return {
        **standing.overview(copy, found),
        "reserved": standing.reserved(copy),
        "settings": standing.settings(copy),
        "in_flight": standing.in_flight(copy, found, now),
        "failures": standing.failures(found),
        "notes": standing.notes(copy),
    }


def _print(facts: Mapping[str, Any], copy: StudyCopy, console: Console, now: float) -> None:
    from rich.text import Text

    for line in _heading(facts, copy, now):
        console.print(Text(line))
    console.print()
    console.print(_objectives(facts["objectives"]))
    hidden = len(facts["failures"]) - SHOWN
    more = [f"... and {hidden} before; --json has them all."] if hidden > 0 else []
    for title, lines in (
        ("In flight:", list(map(_flight, facts["in_flight"]))),
        ("Failures, the last first:", [*map(_failure, facts["failures"][:SHOWN]), *more]),
        ("Notes:", [note["text"] for note in facts["notes"][-SHOWN:]]),
    ):
        if lines:
            console.print(Text(f"\n{title}"))
        for line in lines:
            console.print(Text("\n".join(_wrapped(line, console.width))))


def _wrapped(text: str, width: int) -> list[str]:
    margin = "  "
    return wrap(in_words(text), width, initial_indent=margin, subsequent_indent=2 * margin, break_on_hyphens=False)


def _heading(facts: Mapping[str, Any], copy: StudyCopy, now: float) -> list[str]:
    chosen, times = facts["settings"], copy.times
    designs = "infinitely many" if chosen["designs"] is None else size(chosen["designs"])
    lines = [
        f"{facts['name']}, in {facts['storage']}",
        f"Method {facts['method']}, seed {chosen['seed']}; {len(chosen['options'])} options, {designs} designs, "
        f"{chosen['initial_designs']} of them measured first.",
    ]
    if facts["settings"]["origin"]:
        said = {key: value for key, value in chosen["origin"].items() if _is_said(value) and key != "sha256"}
        made = ", ".join(f"{key.replace('_', ' ')} {_said(value)}" for key, value in said.items())
        lines.append(f"Made by flexibo run: {made}.")
    if chosen["stop"]:
        lines.append(f"Stops at {', '.join(f'{rule} {limit:g}' for rule, limit in chosen['stop'].items())}.")
    lines.append(f"Begun {moment(times[0], now)}; {facts['events']} events, the last {moment(times[-1], now)}.")
    return [*map(in_words, lines), _money(facts)]


def _is_said(value: object) -> bool:
    return value not in (None, "", [], {}, False)


def _said(value: object) -> str:
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


def _money(facts: Mapping[str, Any]) -> str:
    spent, budget, held = facts["spent"], facts["budget"], facts["reserved"]
    flight = f"; {held:.4g} more expected for what is in flight" if facts["in_flight"] else ""
    if budget is None:
        return f"Spent {spent:.4g}, without a limit{flight}."
    share = f" ({spent / budget:.0%})" if budget else ""
    return f"Spent {spent:.4g} of {budget:.5g}{share}{flight}; {max(0.0, budget - spent - held):.4g} left."


def _objectives(rows: Sequence[Mapping[str, Any]]) -> Any:
    from rich.table import Table
    from rich.text import Text

    states = ["measured", "pending", "failed"]
    states += [state for state in ("impossible", "released", "added") if any(row[state] for row in rows)]
    lost = ["lost_cost"] if any(row["lost_cost"] for row in rows) else []
    table = Table(box=None, pad_edge=False)
    for heading in ("objective", *states, "cost", *(name.replace("_", " ") for name in lost), "mean cost"):
        name = heading == "objective"
        table.add_column(heading, justify="left" if name else "right", overflow="fold", no_wrap=not name)
    for row in rows:
        title = row["name"] + (f" ({row['unit']})" if row["unit"] else "")
        if row["measured_with"]:
            cells = [str(row["values"]), *("" for _ in states[1:]), "", *("" for _ in lost), ""]
        else:
            mean = "-" if row["mean_cost"] is None else f"{row['mean_cost']:.3g}"
            costs = [f"{row[name]:.4g}" for name in ("cost", *lost)]
            cells = [*(str(row[state]) for state in states), *costs, mean]
        table.add_row(*map(Text, (in_words(title), *cells)))
    return table


def _flight(row: Mapping[str, Any]) -> str:
    since = "" if row["seconds"] is None else f", for {duration(row['seconds'])}"
    return f"{row['number']} {row['objective']} of {options(row['design'])}: {_by(row['worker'])}{since}"


def _by(worker: Mapping[str, Any]) -> str:
    """Who measures, and whether it is there."""
    from flexibo.storage.presence import is_hand

    if worker["state"] == "gone":
        return "its worker is gone"
    if is_hand(worker["id"]):
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
    return f"{row['number']} {row['objective']} of {options(row['design'])}: {impossible}{reason}"


def _print_front(copy: StudyCopy, console: Console) -> None:
    from flexibo.progress import print_front

    console.print()
    print_front(copy.study, console)
    if "surrogate" in copy.missing:
        console.print("Predicted with the method's own surrogate: the study's own is not stored.")
