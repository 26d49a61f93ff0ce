"""Study files written from answers: each answer is checked by what reads the file."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from flexibo.durations import seconds
from flexibo.studyfile.mistakes import Mistakes, Place
from flexibo.studyfile.nodes import AMBIGUOUS, NUMBER, Table, nodes_of
from flexibo.studyfile.options import option_of_node
from flexibo.studyfile.shell import syntax_error
from flexibo.studyfile.template import parsed

FUNCTION = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")
RANGE = re.compile(r"\s*(?P<low>\S+?)\s*\.\.\s*(?P<high>\S+?)(?P<log>\s+log)?\s*")
SIMPLE = re.compile(r"[^\W\d][\w-]*")
RESERVED = ("true", "false", "null")


@dataclass(frozen=True, slots=True)
class ObjectiveAnswer:
    """An objective as a user describes it.

    Attributes:
        name: Its name.
        direction: "min" or "max".
        unit: Its unit; may be empty.
        measured_by: A command, or ``module:function``.
    """

    name: str
    direction: str
    unit: str
    measured_by: str


def option_text(answer: str) -> str:
    """The YAML of an option's values as people type them.

    >>> option_text("1..9"), option_text("0.001..1 log"), option_text("16, 32"), option_text("3x3, no")
    ('{from: 1, to: 9}', '{from: 0.001, to: 1, log: true}', '[16, 32]', '[3x3, "no"]')
    """
    if match := RANGE.fullmatch(answer):
        return f"{{from: {match['low']}, to: {match['high']}{', log: true' if match['log'] else ''}}}"
    return f"[{', '.join(scalar(part.strip()) for part in answer.split(',') if part.strip())}]"


def scalar(text: str) -> str:
    """A word as YAML: a number as it is, anything that could be misread in quotes."""
    is_plain = NUMBER.fullmatch(text) or SIMPLE.fullmatch(text) or re.fullmatch(r"\d+x\d+", text)
    if is_plain and not AMBIGUOUS.fullmatch(text) and text.lower() not in RESERVED:
        return text
    return json.dumps(text, ensure_ascii=False)


def option_problem(name: str, answer: str) -> str:
    """What is wrong with the values of an option, or an empty text."""
    mistakes = Mistakes("")
    node = nodes_of(f"values: {option_text(answer)}", mistakes)
    if isinstance(node, Table) and (values := node.get("values")) is not None:
        option_of_node(name, values, Place(1, 1), mistakes)
    return mistakes.found[0].sentence if mistakes.found else ""


def measure_problem(answer: str, options: Sequence[str]) -> str:
    """What is wrong with a command or the name of a function, or an empty text."""
    if FUNCTION.fullmatch(answer):
        return ""
    template, wrong = parsed(answer, options)
    problem = "" if wrong else syntax_error(template.script)
    return wrong[0] if wrong else f"The shell cannot read it: {problem}." if problem else ""


def duration_problem(answer: str) -> str:
    """What is wrong with a duration, or an empty text."""
    if seconds(answer) is not None:
        return ""
    return f"The duration is {answer!r}; give a positive number such as 90, 30m, 2h or 1d."


def study_text(
    file: str, name: str, options: Mapping[str, str], objectives: Sequence[ObjectiveAnswer], budget: str
) -> str:
    """A study file of these answers, with remarks on what else could be said.

    Args:
        file: What the file will be called.
        name: The name of the study.
        options: For each option its values as they were typed.
        objectives: What is measured.
        budget: Time for measuring.
    """
    lines = [
        f"# flexibo run {file} --dry-run shows how this file is understood; flexibo run {file} runs it.",
        f"name: {scalar(name)}",
        f"budget: {budget}   # for measuring; thinking comes on top",
        "seed: 0",
        "",
        "options:",
        *(f"  {scalar(option)}: {option_text(values)}" for option, values in options.items()),
        "",
        "objectives:",
    ]
    for objective in objectives:
        lines += _objective_lines(objective)
    lines += [
        "",
        "# Within an objective: options: [...] (what it depends on), noisy: true, repeats: 3, timeout: 60s, at_most: 5",
        "# Beside these: n_initial: 10, stop: {max_evaluations: 100}, executor: processes, logs: logs.",
        "",
    ]
    return "\n".join(lines)


def _objective_lines(objective: ObjectiveAnswer) -> list[str]:
    is_function = FUNCTION.fullmatch(objective.measured_by) is not None
    measured_by = objective.measured_by if is_function else json.dumps(objective.measured_by, ensure_ascii=False)
    unit = [f"    unit: {scalar(objective.unit)}"] if objective.unit else []
    return [
        f"  {scalar(objective.name)}:",
        f"    direction: {objective.direction}",
        *unit,
        f"    {'function' if is_function else 'command'}: {measured_by}",
    ]
