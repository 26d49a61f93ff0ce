"""``flexibo run study.yaml --dry-run``: the study as it was understood, and its first questions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from json import dumps
from typing import Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from flexibo._internal.numbers import format_budget, format_spent
from flexibo._internal.text import printable, printable_line
from flexibo.cli._detail import Tries
from flexibo.cli._edited_file import check_new, open_as_edited
from flexibo.cli._proxy_hints import proxy_hints
from flexibo.cli._storage import short_url
from flexibo.cli._text import counted, design_line, printable_console, stop_text
from flexibo.errors import FlexiBOError
from flexibo.objectives import Objective
from flexibo.space.options import option_to_dict
from flexibo.storage import MemoryStorage, shown_url, stored_studies
from flexibo.study import Study
from flexibo.study.changes import Changes
from flexibo.study.first_calls import untried
from flexibo.studyfile import Command, ExecutorChoice, Function, StudyFile
from flexibo.studyfile.file import dependence_hints
from flexibo.transfer import study_copy

FIRST = 3  # the number of questions that are shown


def show_plan(
    file: StudyFile,
    url: str,
    settings: Mapping[str, Any],
    executor: ExecutorChoice,
    *,
    json: bool,
    tries: Tries = Tries.FIRST,
) -> None:
    """Print the study that a file describes; nothing is measured or stored."""
    study, is_begun, changes = _rehearsal(file, url, settings)
    has_seed = is_begun or "seed" in {**file.settings, **settings}
    first = _first(file, study, tries) if has_seed else None
    plan = _plan(file, url, study, executor, is_begun=is_begun, first=first)
    plan["changes"] = [{"what": row.what, "before": row.before, "after": row.after} for row in changes.rows]
    if json:
        typer.echo(dumps(plan, indent=2))
        return
    with printable_console() as console:
        _print(plan, study, console)
        if changes:
            name = printable_line(file.path.name)
            console.print(Text(f"{name} differs from the stored study, which a run would change:"), soft_wrap=True)
            console.print(Text(printable(str(changes))), soft_wrap=True)
        console.print("Nothing was measured or stored.")


def _rehearsal(file: StudyFile, url: str, settings: Mapping[str, Any]) -> tuple[Study, bool, Changes]:
    """The study in memory, a copy of the stored one if it exists; whether it does; and how the file changes it."""
    memory, changes = MemoryStorage(), [Changes()]
    name = settings.get("name", file.name)
    is_begun = _is_stored(url, name)
    if is_begun:
        contents = study_copy(url, name).contents
        memory.commit(0, lambda _: list(contents))
    rehearsed = {**settings, "storage": memory, "callbacks": ()}
    if not is_begun:
        check_new(file, settings)
        return file.study(**rehearsed), False, changes[-1]
    return open_as_edited(file, rehearsed, agree=changes.append), True, changes[-1]


def _is_stored(url: str, name: str) -> bool:
    try:
        return any(study.name == name for study in stored_studies(url))
    except FlexiBOError:  # there is no database yet
        return False


def _plan(
    file: StudyFile,
    url: str,
    study: Study,
    executor: ExecutorChoice,
    *,
    is_begun: bool,
    first: list[dict[str, Any]] | None,
) -> dict[str, Any]:
    """What is printed, ready for JSON; the first questions are known only if the seed is."""
    settings = study.settings
    return {
        "file": str(file.path),
        "name": study.name,
        "storage": shown_url(url),
        "begun": is_begun,
        "measurements": len(study.history.measurements),
        "method": study.method.name,
        "budget": study.budget,
        "spent": study.spent,
        "seed": None if first is None else settings.seed,
        "options": {name: option_to_dict(option) for name, option in study.space.options.items()},
        "conditions": {child: {p: list(v) for p, v in of.items()} for child, of in study.space.conditions.items()},
        "designs": None if study.space.size == float("inf") else study.space.size,
        "objectives": [{**objective.to_dict(), "measured_by": _how(file, objective)} for objective in study.objectives],
        "reference": study.reference,
        "initial_designs": len(settings.initial_designs),
        "full_start": settings.full_start,
        "stop": dict(study.history.stop or {}),
        "executor": {"name": executor.name, "workers": executor.workers, "address": executor.address or None},
        "first": first,
        "advice": [*dependence_hints(file), *proxy_hints(study)],
        "stopped": study.stopped,
        "stop_kind": study.stop_kind,
    }


def _how(file: StudyFile, objective: Objective) -> str:
    if objective.measured_with is not None:
        return f"with {objective.measured_with}"
    if objective.name in file.by_hand:
        return "hand: flexibo ask, flexibo tell"
    if file.system is not None:
        return file.system.shown
    measure = file.measures[objective.name]
    if isinstance(measure, Command):
        meter = "" if measure.meter is None else f"; metered: {measure.meter.name}"
        board = "" if measure.board is None else f"; on {measure.board}"
        return f"command: {measure.template.text.strip()}{meter}{board}"
    return f"function: {measure.place}" if isinstance(measure, Function) else repr(measure)


def _first(file: StudyFile, study: Study, tries: Tries) -> list[dict[str, Any]]:
    """The first questions; if the objectives are tried, those are the first of all."""
    names = untried(study.history, file.measures) if tries is not Tries.NO else []
    asked = [question for name in names[:FIRST] if (question := study.ask(only=[name])) is not None]
    found = []
    for evaluation in [*asked, *(study.ask(FIRST - len(asked)) if len(asked) < FIRST else ())]:
        measure = file.measures.get(evaluation.objective)
        command = measure.shown(evaluation) if isinstance(measure, Command) else None
        found.append(
            {
                "objective": evaluation.objective,
                "design": dict(evaluation.design),
                "why": evaluation.why,
                "command": command,
            }
        )
    return found


def _print(plan: Mapping[str, Any], study: Study, console: Console) -> None:
    executor = plan["executor"]
    facts = {
        "study": plan["name"],
        "file": plan["file"],
        "storage": short_url(plan["storage"])
        + (f" ({counted(plan['measurements'], 'measurement')})" if plan["begun"] else " (new)"),
        "method": plan["method"],
        "budget": _budget(plan, study.history.cost_unit),
        "seed": "drawn when the study starts" if plan["seed"] is None else str(plan["seed"]),
        "initial designs": f"{plan['initial_designs']}, measured completely"
        if plan["full_start"]
        else f"at most {plan['initial_designs']}, for at most a fifth of the budget",
        "stop": stop_text(plan["stop"]) or "at the end of the budget",
        "executor": executor["name"]
        + (f", {executor['workers']} at a time" if executor["workers"] else "")
        + (f", at {executor['address']}" if executor["address"] else ""),
    }
    for key, value in facts.items():
        console.print(Text(f"{key:<16} {value}"), soft_wrap=True)
    tables = (
        ("Options", ("option", "values", "matters when"), _option_rows(plan)),
        ("Objectives", ("objective", "goal", "depends on", "measured by"), _objective_rows(plan, study)),
    )
    for title, headings, rows in tables:
        table = Table(*headings, title=title, title_justify="left")
        for row in rows:
            table.add_row(*map(Text, row))
        console.print(table)
    for line in (*_first_lines(plan), *(f"Advice: {sentence}" for sentence in plan["advice"])):
        console.print(Text(line), soft_wrap=True)


def _budget(plan: Mapping[str, Any], unit: str) -> str:
    limit = "none" if plan["budget"] is None else format_budget(plan["budget"], unit)
    return f"{limit}, {format_spent(plan['spent'], None, unit)} spent" if plan["begun"] else limit


def _first_lines(plan: Mapping[str, Any]) -> Iterator[str]:
    if plan["first"] is None:
        yield "First questions: not known yet, because the seed is drawn when the study starts; try --seed 0."
        return
    yield f"First questions:{'' if plan['first'] else ' none. ' + plan['stopped']}"
    for n, question in enumerate(plan["first"], 1):
        yield f"{n}. {question['objective']} of {design_line(question['design'])}"
        if question["command"]:
            yield f"   $ {question['command']}"


def _option_rows(plan: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    rows = []
    for name, option in plan["options"].items():
        if "values" in option:
            values = ", ".join(map(str, option["values"])) + (" (unordered)" if option["kind"] == "categorical" else "")
        else:
            kind = "whole numbers " if option["kind"] == "integer" else ""
            values = f"{kind}{option['low']:g} to {option['high']:g}{', log scale' if option['log'] else ''}"
        parents = plan["conditions"].get(name, {})
        when = ", ".join(f"{parent} is {' or '.join(map(str, allowed))}" for parent, allowed in parents.items())
        rows.append((name, values, when or "always"))
    return rows


def _told_of(proxy: Objective, study: Study) -> list[str]:
    """The objectives that a proxy tells of."""
    return [objective.name for objective in study.objectives if proxy.name in objective.proxies]


def _objective_rows(plan: Mapping[str, Any], study: Study) -> list[tuple[str, str, str, str]]:
    rows = []
    for objective, found in zip(study.objectives, plan["objectives"], strict=True):
        goals = [str(objective.direction)] if objective.optimise else []
        unit = f" {objective.unit}" if objective.unit else ""
        goals += [f"at most {objective.at_most:g}{unit}"] if objective.at_most is not None else []
        goals += [f"at least {objective.at_least:g}{unit}"] if objective.at_least is not None else []
        goals += [objective.range_text] if objective.range_text else []
        goals += [f"stops at steps {', '.join(map(str, objective.looks))}"] if objective.looks else []
        goals += [f"proxy of {' and '.join(_told_of(objective, study))}"] if objective.is_proxy else []
        depends = "all options" if objective.options is None else ", ".join(objective.options)
        title = f"{objective.name} ({objective.unit})" if objective.unit else objective.name
        rows.append((title, ", ".join(goals), depends, found["measured_by"]))
    return rows
