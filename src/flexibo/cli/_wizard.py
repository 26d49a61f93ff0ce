"""The questions of ``flexibo init``: each answer is checked and repeated, and nothing is written before the last."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from flexibo._internal.durations import parse_seconds
from flexibo._internal.text import printable_line
from flexibo.cli._dialogue import BACK, Check, Dialogue
from flexibo.studyfile.file import file_text_of, study_file_of
from flexibo.studyfile.mistakes import StudyFileError, nearest
from flexibo.studyfile.writing import (
    ObjectiveAnswer,
    dependence_problem,
    duration_problem,
    intended_range,
    measure_problem,
    module_of,
    named_options,
    number_problem,
    option_meaning,
    option_problem,
    steps_problem,
    study_text,
    used_options,
    uses_steps,
)


def study_of_answers(path: Path) -> str | None:
    """The study file that the user's answers make; None if it is not to be written."""
    dialogue = Dialogue()
    return dialogue.held(lambda: _study(dialogue, path))


def _study(dialogue: Dialogue, path: Path) -> str | None:
    dialogue.say(
        "This writes a study file: what may vary, what is measured, and for how long. The answer "
        f"'{BACK}' returns to the question before. Ctrl-C writes nothing."
    )
    name = dialogue.ask("Name of the study", default=path.absolute().parent.name or "study")
    options = _options(dialogue)
    objectives = _with_proxies(dialogue, _objectives(dialogue, list(options), path), list(options), path)
    budget = dialogue.ask("Time for measuring, as in 90s, 30m, 2h or 1d", default="10m", check=duration_problem)
    dialogue.say(f"  It measures for {parse_seconds(budget):g} seconds in all.")
    text = study_text(path.name, name, options, objectives, budget)
    dialogue.show(f"\n{text}")
    _check(dialogue, text)
    return text if dialogue.confirm(f"Write this to {path}?", default=True) else None


def _options(dialogue: Dialogue) -> dict[str, str]:
    dialogue.show("\nOptions: what may vary. An empty name ends the list.")
    dialogue.say("  Values are a list (16, 32, 64 or fast, small) or a range (1..9 or 0.1..2.5, or 0.001..1 log).")
    options: dict[str, str] = {}
    while name := dialogue.ask(
        "Option" if options else "First option", empty=bool(options), check=lambda name: _taken(name, "option", options)
    ):
        options[name] = _values(dialogue, name)
    return options


def _values(dialogue: Dialogue, name: str) -> str:
    """The values of an option as they are typed; a range in other words is offered as one."""
    shown = printable_line(name)

    def problem(answer: str) -> str:
        return "" if intended_range(answer) else option_problem(name, answer)

    while True:
        answer = dialogue.ask(f"Values of {shown}", check=problem)
        if meant := intended_range(answer):
            read = printable_line(f"one text {answer!r}; did you mean {option_meaning(name, meant)}?")
            if not dialogue.confirm(f"  {shown}: {read}", default=True):
                dialogue.say("  Give a list with commas, as in 16, 32, or a range, as in 1..9.")
                continue
            answer = meant
        dialogue.say(f"  {name}: {option_meaning(name, answer)}")
        return answer


def _objectives(dialogue: Dialogue, options: Sequence[str], path: Path) -> list[ObjectiveAnswer]:
    dialogue.show("\nObjectives: what is measured, at least two. An empty name ends the list.")
    dialogue.say("  Each is measured by a command, where {option} stands for a value and the last line is the result,")
    dialogue.say("  or by a Python function, as module:function, or by hand: you are asked and enter the values.")
    dialogue.say(
        "  A training that may stop early and resume has {from_step}, {to_step} and {checkpoint} in its command."
    )
    found: list[ObjectiveAnswer] = []
    while name := dialogue.ask(
        f"Objective {len(found) + 1}",
        empty=len(found) > 1,
        check=lambda name: _taken(name, "objective", [objective.name for objective in found]),
    ):
        found.append(_objective(dialogue, name, options))
        _repeat(dialogue, found[-1], path)
    return found


def _with_proxies(
    dialogue: Dialogue, objectives: Sequence[ObjectiveAnswer], options: Sequence[str], path: Path
) -> list[ObjectiveAnswer]:
    """The objectives, and what is cheaper and may tell of one of them."""
    found = {objective.name: objective for objective in objectives}
    names = list(found)
    dialogue.show("\nProxies: what is cheaper than an objective and may tell of it, such as its value on less data.")
    while name := dialogue.ask(
        "Expensive objective that has a proxy, may be empty", empty=True, check=lambda name: _unknown(name, names)
    ):
        proxy = dialogue.ask(
            f"Name of the proxy of {printable_line(name)}",
            default="" if f"{name}_small" in found else f"{name}_small",
            check=lambda name: _taken(name, "objective", found),
        )
        found[proxy] = _proxy(dialogue, proxy, found[name], options)
        found[name] = replace(found[name], proxies=(*found[name].proxies, proxy))
        _repeat(dialogue, found[proxy], path)
    return list(found.values())


def _repeat(dialogue: Dialogue, objective: ObjectiveAnswer, path: Path) -> None:
    """Print an objective as it was understood, and whether its function has yet to be written."""
    dialogue.say(f"  {_meaning(objective)}")
    module = module_of(objective.measured_by).split(".")[0]
    beside = path.absolute().parent
    if module and not (beside / f"{module}.py").exists() and not (beside / module).is_dir():
        dialogue.say(f"  There is no {module}.py beside the study file yet; write it before you run the study.")


def _objective(dialogue: Dialogue, name: str, options: Sequence[str]) -> ObjectiveAnswer:
    """What an objective is, how it is measured, what it depends on, and whether it is noisy."""
    shown = printable_line(name)
    direction = _direction(dialogue, shown)
    unit = dialogue.ask(f"Unit of {shown}, may be empty", empty=True)
    how = _how(dialogue, shown, lambda answer: measure_problem(answer, options))
    steps = ""
    if uses_steps(how, options):
        steps = dialogue.ask(
            f"Number of steps of {shown}, or its stops, as in 1, 3, 9", default="27", check=steps_problem
        )
    depends = _depends(dialogue, shown, how, options)
    beyond, side = ("exceed", "at most") if direction == "min" else ("fall below", "at least")
    bound = dialogue.ask(f"Value that {shown} must not {beyond}, may be empty", empty=True, check=number_problem)
    optimise = bool(bound) and dialogue.confirm(f"Optimise {shown} too, rather than only keep it {side} {bound}?")
    return ObjectiveAnswer(name, direction, unit, how, depends, bound, optimise, _is_noisy(dialogue, shown), steps)


def _proxy(dialogue: Dialogue, name: str, of: ObjectiveAnswer, options: Sequence[str]) -> ObjectiveAnswer:
    """A proxy: how it is measured, what it depends on, and whether it is noisy."""
    shown = printable_line(name)
    direction = _direction(dialogue, shown, default=of.direction)
    how = _how(dialogue, shown, lambda answer: measure_problem(answer, options) or _steps_of_proxy(answer, options))
    depends = _depends(dialogue, shown, how, options)
    return ObjectiveAnswer(name, direction, "", how, depends, noisy=_is_noisy(dialogue, shown), proxy_of=of.name)


def _direction(dialogue: Dialogue, shown: str, *, default: str = "min") -> str:
    return dialogue.ask(f"Direction of {shown}: min (less is better) or max", default=default, check=_no_direction)


def _how(dialogue: Dialogue, shown: str, check: Check) -> str:
    return dialogue.ask(f"How {shown} is measured: a command, module:function, or hand", check=check)


def _is_noisy(dialogue: Dialogue, shown: str) -> bool:
    return dialogue.confirm(f"Does {shown} of one design differ when it is measured twice?")


def _steps_of_proxy(answer: str, options: Sequence[str]) -> str:
    is_used = uses_steps(answer, options)
    return "A proxy is measured at once; leave out {from_step}, {to_step} and {checkpoint}." if is_used else ""


def _meaning(objective: ObjectiveAnswer) -> str:
    """An objective as it was understood."""
    least = objective.direction == "min"
    goal = f"{'less' if least else 'more'} is better" if objective.optimise or not objective.bound else ""
    goal += f"; a proxy of {objective.proxy_of}" if objective.proxy_of else ""
    unit = f" {objective.unit}" if objective.unit else ""
    kept = f"kept {'at most' if least else 'at least'} {objective.bound}{unit}" if objective.bound else ""
    on = "depends on all options" if objective.options is None else f"depends on {', '.join(objective.options)}"
    how = f"measured by {objective.measured_by}{f' in steps ({objective.steps})' if objective.steps else ''}"
    named = f"{objective.name} in{unit}" if unit else objective.name
    return f"{named}: {'; '.join(part for part in (goal, kept, how, on, 'noisy' * objective.noisy) if part)}"


def _depends(dialogue: Dialogue, shown: str, how: str, options: Sequence[str]) -> tuple[str, ...] | None:
    """The options that an objective depends on, by default those that its command names; None for all."""
    if len(options) == 1 or any("," in option for option in options):
        return None
    used = used_options(how, options)
    answer = dialogue.ask(
        f"Options that {shown} depends on, or all",
        default=", ".join(used) if used and len(used) < len(options) else "all",
        check=partial(dependence_problem, used=used, options=options),
    )
    return named_options(answer, options)


def _taken(name: str, what: str, names: Collection[str]) -> str:
    return f"There is an {what} {name!r} already; give another name." if name in names else ""


def _unknown(name: str, names: Collection[str]) -> str:
    return "" if name in names else f"There is no objective {name!r}{nearest(name, names)}"


def _no_direction(answer: str) -> str:
    return "" if answer in ("min", "max") else f"The answer is {answer!r}; give min or max."


def _check(dialogue: Dialogue, text: str) -> None:
    """Print what is wrong with the study as a whole, before it is written."""
    try:
        study_file_of(file_text_of(text.encode(), Path("study.yaml")), imports=False)
    except StudyFileError as error:
        for mistake in error.mistakes:
            dialogue.say(f"  line {mistake.place.line}: {mistake.sentence}")
        dialogue.say(f"Answer '{BACK}' to change an answer, or fix these in the file.")
