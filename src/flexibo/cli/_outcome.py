"""The end of a run: the front and its picture, what was measured, how to resume, and the exit status."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from flexibo import plots
from flexibo._internal.numbers import format_budget, format_number, format_spent
from flexibo._internal.text import printable_line
from flexibo.cli._advice import StudyPlace, granted_budget
from flexibo.cli._detail import Detail, Tries
from flexibo.cli._exit_status import ExitStatus
from flexibo.cli._logs import complain
from flexibo.cli._measure import Confirming, is_interrupted
from flexibo.cli._storage import short_path, short_url
from flexibo.cli._text import counted, print_json, printable_console, row_ranges
from flexibo.errors import InvalidValueError, MissingExtraError
from flexibo.history.events import Failed, Told
from flexibo.history.measurements import QueuedDesign
from flexibo.optimizer import StopKind
from flexibo.optimizer.stop import failing
from flexibo.plots.saving import is_drawn_by_flexibo
from flexibo.results.promising import PromisingRow
from flexibo.results.rows import json_row
from flexibo.results.summary import Summary
from flexibo.space import Design
from flexibo.storage import shown_url
from flexibo.study import Study
from flexibo.study.progress import print_front

ROUNDING = 1e-9  # a smaller share of the spent budget is a rounding error
MEASURING = ("--data", "--only")  # options that every command which measures takes


@dataclass(frozen=True, slots=True)
class PictureFile:
    """Where the front is drawn; an existing file is replaced if the user typed its name."""

    path: Path
    is_typed: bool = False


@dataclass(frozen=True, slots=True)
class Report:
    """What is needed to report on a study after it ran, such as the commands that resume it."""

    url: str
    command: str
    more: Callable[[Mapping[str, object]], str]  # the same command with these options too
    picture: PictureFile
    attempts: int  # how many evaluations were answered or failed before
    manual: Sequence[str] = ()  # what people measure
    json: bool = False
    detail: Detail = Detail.USUAL
    tries: Tries = Tries.NO  # whether each objective is tried once before anything else
    again: Mapping[str, object] = field(default_factory=dict)  # options of measuring that are typed again
    confirming: Confirming | None = None  # what was to be confirmed, if only promising designs were measured
    promising: frozenset[Design] = frozenset()  # before; of a wish to confirm all of them
    budget: float | None = None  # before

    @property
    def is_confirming(self) -> bool:
        """Whether only promising designs were measured."""
        return self.confirming is not None

    @property
    def is_quiet(self) -> bool:
        """Whether nothing is printed while it runs."""
        return self.json or self.detail is Detail.QUIET

    @classmethod
    def before(
        cls,
        study: Study,
        url: str,
        command: Callable[[Mapping[str, object]], str],
        again: Mapping[str, object],
        picture: PictureFile,
        *,
        confirming: Confirming | None = None,
        **known: Any,
    ) -> Report:
        """What is known before a run, with the command that resumes it when these options are typed again."""

        def more(options: Mapping[str, object]) -> str:
            return command({**again, **options})

        wants_all = confirming is not None and confirming.rows is None
        return cls(
            url,
            command(again),
            more,
            picture,
            count_attempts(study),
            again={name: value for name, value in again.items() if name in MEASURING},
            confirming=confirming,
            promising=frozenset(row.design for row in study.promising()) if wants_all else frozenset(),
            budget=study.budget,
            **known,
        )


def resume_command(url: str, name: str, options: Mapping[str, object]) -> str:
    """The command that resumes a stored study; a URL with a password is left to the environment."""
    return StudyPlace(url, name).command("resume", options=options)


def larger_budget(budget: float | None, spent: float = 0.0, needed: float | None = None) -> str:
    """Twice a budget, or what was spent or the start is expected to need if that is more, as it can be typed.

    >>> larger_budget(45.0), larger_budget(1800.0), larger_budget(10.0, 39.98), larger_budget(10.0, 39.98, 79.5)
    ('90s', '60m', '80s', '160s')
    """
    least = max(spent, needed or 0.0)
    seconds = 2.0 * max(budget or 30.0, 0.0 if budget is None or least <= budget else math.ceil(least))
    for unit, length in (("d", 86400.0), ("h", 3600.0), ("m", 60.0)):
        if seconds >= 2 * length and seconds % length == 0:
            return f"{seconds / length:g}{unit}"
    return f"{seconds:g}s"


def count_attempts(study: Study) -> int:
    return sum(isinstance(event, Told | Failed) for event in study.events)


def report(
    study: Study,
    about: Report,
    *,
    ran: bool,
    queued: Sequence[QueuedDesign] = (),
    tried: Sequence[Mapping[str, Any]] = (),
) -> None:
    """Print what came of a run and exit with its status; if nothing `ran` here, people measure every objective.

    `queued` is what was queued to be confirmed, `tried` what was measured before anything else.
    """
    place = StudyPlace(about.url, study.name)
    if about.json:
        confirming = {"confirming": confirming_facts(study, queued, about.promising)} if about.is_confirming else {}
        trial = {"tried": list(tried)} if about.tries is not Tries.NO else {}
        known = {**facts(study, about.url, about.command, ran=ran), "by_hand": list(about.manual)}
        print_json({**known, **confirming, **trial})
    elif about.detail is Detail.QUIET:
        with printable_console() as console:
            print_front(study, console)
        if is_interrupted(study):
            typer.echo(printable_line(f"Stopped: {study.stopped} Resume with: {about.command}"), err=True)
    else:
        with printable_console() as console:
            if ran:
                _print_end(study, console)
            draw_front(study, about.picture, console, place)
        waits = about.manual and (not ran or study.stop_kind in (None, StopKind.MANUAL))
        lines = _manual_lines(study, about, ran=ran) if waits else _lines(study, about, ran=ran)
        if about.is_confirming:
            lines = [*confirming_lines(study, queued, about), *raised_line(study, about.budget), *lines]
        for line in lines:
            typer.echo(printable_line(line))
    exit_after(study, place, ran=ran)


def show(study: Study, console: Console) -> None:
    """Print the front, what was measured at which cost, and why the study stopped."""
    print_front(study, console)
    summary = study.summary()
    console.print(_spending(summary, study.history.cost_unit))
    console.print(f"Stopped: {summary.stopped}", highlight=False, markup=False)


def facts(study: Study, url: str, command: str, *, ran: bool) -> dict[str, Any]:
    """A study after a run, ready for JSON; `ran` says whether anything was measured here."""
    summary, found = study.summary(), study.hand_over()
    return {
        "study": study.name,
        "storage": shown_url(url),
        "method": summary.method,
        "stopped": summary.stopped,
        "stop_kind": summary.stop_kind,
        "interrupted": ran and is_interrupted(study),
        "spent": summary.spent,
        "budget": summary.budget,
        "evaluations": dict(summary.evaluations),
        "costs": dict(summary.costs),
        "failures": dict(summary.failures),
        "hypervolume": summary.hypervolume,
        "region_volume": summary.region_volume,
        "reference": None if summary.reference is None else dict(summary.reference),
        "front": [json_row(row) for row in found.front],
        "promising": [json_row(row) for row in found.promising],
        **found.to_dict(),
        "go_on": command,
    }


def exit_after(study: Study, place: StudyPlace, *, ran: bool) -> None:
    """Exit with the status of an interrupted run, unless it was an earlier one, or if an objective gave no value."""
    if ran and study.stop_kind is StopKind.TERMINATED:
        raise typer.Exit(ExitStatus.TERMINATED)
    if ran and is_interrupted(study):
        raise typer.Exit(ExitStatus.INTERRUPTED)
    if complaint := failure(study, place):
        complain(f"flexibo: {complaint}")
        raise typer.Exit(ExitStatus.NOTHING)


def failure(study: Study, place: StudyPlace) -> str:
    """Which objectives failed so often that the study stopped or has no front, and what to do; empty if none did."""
    history = study.history
    tried = {
        purchase.objective: history.failed_attempts[purchase.objective]
        for _, purchase in history.counting
        if not all(history.count(j) for j in purchase.members)
    }
    found = [
        f"Objective {name!r} gave no value: {'its only attempt' if n == 1 else f'all {n} attempts'} failed."
        for name, n in tried.items()
        if n
    ]
    if not found and not failing(history):
        return ""
    found.append(
        f"Fix the cause and run the same command again. The failures and their reasons: {place.command('status')}"
    )
    return printable_line(" ".join(found))


def _print_end(study: Study, console: Console) -> None:
    """Print the outcome; after an interruption without the front, which stays on the screen from the progress."""
    if not is_interrupted(study):
        show(study, console)
        return
    spent = format_spent(study.spent, study.budget, study.history.cost_unit)
    counts = ", ".join(f"{study.history.count(j)} of {name}" for j, name in enumerate(study.history.names))
    for line in (f"Stopped: {study.stopped}", f"Spent {spent}; measured {counts}."):
        console.print(Text(line), soft_wrap=True)


def _lines(study: Study, about: Report, *, ran: bool) -> list[str]:
    found = [f"The study {study.name!r} is stored in {short_url(about.url)}."]
    if is_interrupted(study):
        found.append(f"Resume with: {about.command}")
    elif count_attempts(study) == about.attempts and not about.is_confirming:
        found.insert(0, f"Nothing was measured: the study had ended before.{'' if ran else f' {study.stopped}'}")
    if study.budget is not None and study.stop_kind is StopKind.BUDGET:
        larger = larger_budget(study.budget, study.spent, study.needed_budget)
        found.append(f"Resume with a larger budget: {about.more({'--budget': larger})}")
    if study.stop_kind is StopKind.RULE:
        found += _rule_lines(study, about)
    return found


def _rule_lines(study: Study, about: Report) -> list[str]:
    """How to resume a study that its stop rules ended: none of them depends on the budget."""
    most = study.stop.get("max_evaluations", math.inf)
    asked = len(study.history.asked)
    if asked >= most:
        return [f"Resume with more evaluations: {about.more({'--max-evaluations': f'{2 * asked:g}'})}"]
    if share := study.stop.get("certified_error"):
        return [f"Resume with a smaller error: {about.more({'--certified-error': f'{50.0 * share:g}%'})}"]
    return []


def confirming_facts(study: Study, queued: Sequence[QueuedDesign], wanted: Collection[Design]) -> dict[str, Any]:
    """What became of the designs that were queued, or `wanted` to be confirmed, ready for JSON."""
    waiting = {one.number for one in study.queue}
    lacking = [one for one in queued if any(_readings_missing(study, one))]
    unpaid = _unpaid_rows(study, {*wanted, *(one.design for one in lacking)})
    return {
        "designs": len(queued),
        "confirmed": len(queued) - len(lacking),
        "still_queued": sum(one.number in waiting for one in lacking),
        "queue": [{"number": one.number, "design": dict(one.design), "lacks": list(one.objectives)} for one in lacking],
        "unpaid_rows": [row.number for row in unpaid],
    }


def confirming_lines(study: Study, queued: Sequence[QueuedDesign], about: Report) -> list[str]:
    """What became of the designs that were queued, and which rows the budget did not pay for."""
    found, place = confirming_facts(study, queued, about.promising), StudyPlace(about.url, study.name)
    if not queued:
        return ["Nothing was queued: every promising design is measured, being measured or queued already."]
    unpaid = {row.design for row in study.promising() if row.number in found["unpaid_rows"]}
    waiting = found["still_queued"]
    failed = sum(one["design"] not in map(dict, unpaid) for one in found["queue"]) - waiting
    said = [f"Confirmed {found['confirmed']} of {counted(found['designs'], 'design')}."]
    if waiting:
        said.append(f"{waiting} {'is' if waiting == 1 else 'are'} still queued.")
    if failed > 0:
        said.append(f"{failed} failed.")
    if waiting:
        said.append(f"The queue: {place.command('status')}")
    return [" ".join(said), *_unpaid_lines(study, found["unpaid_rows"], about)]


def _unpaid_rows(study: Study, wanted: Collection[Design]) -> list[PromisingRow]:
    """The promising rows of designs that were wanted and are not in the queue: the budget did not pay for them."""
    waiting = {one.design for one in study.queue}
    return [row for row in study.promising() if row.design in wanted and row.design not in waiting]


def _unpaid_lines(study: Study, unpaid: Sequence[int], about: Report) -> list[str]:
    """Which rows are not confirmed because the budget did not pay for all, what they cost, and how to confirm them."""
    if not unpaid:
        return []
    found, unit = study.hand_over(), study.history.cost_unit
    rows, cost = [row.number for row in found.promising], found.confirm_cost
    price = "" if cost is None else f"{format_number(cost, 3)} {unit}".rstrip()
    place = StudyPlace(about.url, study.name, study.history.origin)
    command = place.measuring("confirm", options={**about.again, **granted_budget(cost, study.history)})
    is_one = len(rows) == 1
    which = f"Row {rows[0]} is" if is_one else f"Rows {row_ranges(rows)} are"
    said = f"{which} not confirmed: the budget did not pay for {'it' if is_one else 'them'}."
    more = f" {'It' if is_one else 'They'} would cost about {price}." if price else ""
    return [f"{said}{more}", f"Confirm {'it' if is_one else 'them'} with: {command}"]


def raised_line(study: Study, before: float | None) -> list[str]:
    """That the budget of a study is larger than before; nothing if it is not."""
    if before is None or study.budget is None or study.budget <= before:
        return []
    unit = study.history.cost_unit
    old, new = format_budget(before, unit), format_budget(study.budget, unit)
    return [f"The budget of the study was {old}; it is {new} now."]


def _readings_missing(study: Study, queued: QueuedDesign) -> list[int]:
    history = study.history
    places = [history.purchase_of(name) for name in queued.objectives]
    return [history.readings_missing(p, queued.design, queued.readings) for p in places]


def _manual_lines(study: Study, about: Report, *, ran: bool) -> list[str]:
    place = StudyPlace(about.url, study.name)
    ask = place.command("ask", options={"--only": list(about.manual) if ran else []})
    tell = place.command("tell", "NAME", "VALUE", "--cost", "COST")
    return [
        f"The study {study.name!r} is stored in {short_url(about.url)}; measured by hand: {', '.join(about.manual)}.",
        f"Ask what to measure:  {ask}",
        f"Answer:               {tell}",
        *([f"Then resume with:     {about.command}"] if ran else []),
    ]


def _spending(summary: Summary, unit: str) -> Table:
    """What was measured and what it cost, in this unit; with a row for attempts without a value, if there are any."""
    rows = [(name, number, summary.costs[name]) for name, number in summary.evaluations.items()]
    failed, lost = sum(summary.failures.values()), summary.spent - sum(summary.costs.values())
    if failed or lost > ROUNDING * summary.spent:
        rows.append(("failed or lost", failed, max(lost, 0.0)))
    table = Table(title="What was measured")
    costs = [f"{title} [{unit}]" if unit else title for title in ("cost", "mean cost")]
    for title in ("objective", "measured", *costs, "share of cost"):
        table.add_column(Text(title), justify="left" if title == "objective" else "right")
    for (name, number, cost), share in zip(rows, shares([cost for *_, cost in rows]), strict=True):
        mean = format_number(cost / number, 3) if number else "-"
        table.add_row(Text(printable_line(name)), str(number) if number else "-", format_number(cost), mean, share)
    return table


def shares(costs: Sequence[float]) -> list[str]:
    """The shares of costs in whole per cent, which add up to 100; those with the largest remainders are rounded up.

    >>> shares([1.0, 1.0, 1.0]), shares([0.0])
    (['34%', '33%', '33%'], ['-'])
    """
    total = sum(costs)
    if total <= 0:
        return ["-" for _ in costs]
    exact = [100.0 * cost / total for cost in costs]
    whole = [math.floor(share) for share in exact]
    by_loss = sorted(range(len(costs)), key=lambda i: whole[i] - exact[i])
    for i in by_loss[: 100 - sum(whole)]:
        whole[i] += 1
    return [f"{share}%" for share in whole]


def typed_picture(out: Path | None) -> PictureFile | None:
    """The picture that was typed, which must be one that can be saved; None if none was."""
    if out is None:
        return None
    if out.suffix not in (".png", ".pdf", ".svg") or out.is_dir() or not out.absolute().parent.is_dir():
        raise InvalidValueError(f"--out is {out}; give a .png, .pdf or .svg file in a folder that exists.")
    return PictureFile(out, is_typed=True)


def picture_beside(usual: Path, copy: Path | None) -> PictureFile:
    """The usual picture; of a study in a copy of its database one beside that, relative to the working folder."""
    path = usual
    if copy is not None:
        path = copy.with_name(usual.name if copy.stem == usual.stem else f"{copy.stem}-{usual.name}")
    return PictureFile(short_path(path))


def draw_front(study: Study, picture: PictureFile, console: Console, place: StudyPlace) -> None:
    """Draw the front, if there is one; a file that flexibo did not draw is replaced only if it was typed."""
    found = study.hand_over()
    if not found.front and not found.promising:
        return
    if not picture.is_typed and os.path.lexists(picture.path) and not is_drawn_by_flexibo(picture.path):
        other = picture.path.with_name(f"{picture.path.stem}-front.png")
        command = place.command("front", options={"--out": other})
        _print(console, f"No picture: {picture.path} exists and was not drawn by flexibo. Draw it with: {command}")
        return
    try:
        save_picture(study, picture.path, console)
    except InvalidValueError as error:
        if picture.is_typed:
            raise
        _print(console, f"No picture: {error}")


def save_picture(study: Study, out: Path, console: Console) -> None:
    """Draw the front into a file; a missing matplotlib is a message, not an error."""
    try:
        plots.save(study, out)
    except MissingExtraError as error:
        _print(console, f"No picture: {error}")
        return
    _print(console, f"The Pareto front and region are drawn in {out}.")


def _print(console: Console, text: str) -> None:
    console.print(text, markup=False, highlight=False, soft_wrap=True)
