"""The questions of ``flexibo init``: each answer is checked at once, and nothing is written before the last one."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial
from pathlib import Path

import typer

from flexibo._internal.text import printable_line
from flexibo.studyfile.file import file_text_of, study_file_of
from flexibo.studyfile.mistakes import StudyFileError
from flexibo.studyfile.writing import (
    ObjectiveAnswer,
    dependence_problem,
    duration_problem,
    measure_problem,
    named_options,
    number_problem,
    option_problem,
    study_text,
    used_options,
)

Check = Callable[[str], str]  # what is wrong with an answer, or an empty text


def study_of_answers(path: Path) -> str | None:
    """The study file that the user's answers make; None if it is not to be written."""
    typer.echo("This writes a study file: what may vary, what is measured, and for how long. Ctrl-C writes nothing.")
    name = _asked("Name of the study", default=path.absolute().parent.name or "study")
    options = _options()
    objectives = _objectives(list(options))
    budget = _asked("Time for measuring, as in 90s, 30m, 2h or 1d", default="10m", check=duration_problem)
    text = study_text(path.name, name, options, objectives, budget)
    typer.echo(f"\n{text}")
    _check(text)
    return text if typer.confirm(f"Write this to {path}?", default=True) else None


def _options() -> dict[str, str]:
    typer.echo("\nOptions: what may vary. An empty name ends the list.")
    typer.echo("  Values are a list (16, 32, 64 or fast, small) or a range (1..9 or 0.1..2.5, or 0.001..1 log).")
    options: dict[str, str] = {}
    while name := _asked(
        "Option" if options else "First option", empty=bool(options), check=lambda name: _taken(name, "option", options)
    ):
        options[name] = _asked(f"Values of {printable_line(name)}", check=partial(option_problem, name))
    return options


def _objectives(options: Sequence[str]) -> list[ObjectiveAnswer]:
    typer.echo("\nObjectives: what is measured, at least two. An empty name ends the list.")
    typer.echo("  Each is measured by a command, where {option} stands for a value and the last line is the result,")
    typer.echo("  or by a Python function, as module:function, or by hand: you are asked and enter the values.")
    found: list[ObjectiveAnswer] = []
    while name := _asked(
        f"Objective {len(found) + 1}",
        empty=len(found) > 1,
        check=lambda name: _taken(name, "objective", [objective.name for objective in found]),
    ):
        found.append(_objective(name, options))
    return found


def _objective(name: str, options: Sequence[str]) -> ObjectiveAnswer:
    """What an objective is, how it is measured, what it depends on, and whether it is noisy."""
    shown = printable_line(name)
    direction = _asked(f"Direction of {shown}: min (less is better) or max", default="min", check=_no_direction)
    unit = _asked(f"Unit of {shown}, may be empty", empty=True)
    how = _asked(
        f"How {shown} is measured: a command, module:function, or hand",
        check=lambda answer: measure_problem(answer, options),
    )
    depends = _depends(shown, how, options)
    beyond, side = ("exceed", "at most") if direction == "min" else ("fall below", "at least")
    bound = _asked(f"Value that {shown} must not {beyond}, may be empty", empty=True, check=number_problem)
    optimise = bool(bound) and typer.confirm(f"Optimise {shown} too, rather than only keep it {side} {bound}?")
    noisy = typer.confirm(f"Does {shown} of one design differ when it is measured twice?")
    return ObjectiveAnswer(name, direction, unit, how, depends, bound, optimise, noisy)


def _depends(shown: str, how: str, options: Sequence[str]) -> tuple[str, ...] | None:
    """The options that an objective depends on, by default those that its command names; None for all."""
    if len(options) == 1 or any("," in option for option in options):
        return None
    used = used_options(how, options)
    answer = _asked(
        f"Options that {shown} depends on, or all",
        default=", ".join(used) if used and len(used) < len(options) else "all",
        check=lambda answer: dependence_problem(answer, used, options),
    )
    return named_options(answer, options)


def _asked(question: str, *, default: str = "", empty: bool = False, check: Check = lambda answer: "") -> str:
    """A valid answer; prints what is wrong with invalid ones."""
    while True:
        answer: str = typer.prompt(question, default=default, show_default=bool(default)).strip()
        if not answer and empty:
            return ""
        problem = check(answer) if answer else "Give an answer."
        if not problem:
            return answer
        typer.echo(f"  {printable_line(problem)}")


def _taken(name: str, what: str, names: Collection[str]) -> str:
    return f"There is an {what} {name!r} already; give another name." if name in names else ""


def _no_direction(answer: str) -> str:
    return "" if answer in ("min", "max") else f"The answer is {answer!r}; give min or max."


def _check(text: str) -> None:
    """Print what is wrong with the study as a whole, before it is written."""
    try:
        study_file_of(file_text_of(text.encode(), Path("study.yaml")), imports=False)
    except StudyFileError as error:
        for mistake in error.mistakes:
            typer.echo(f"  line {mistake.place.line}: {mistake.sentence}")
        typer.echo("You can fix these in the file.")
