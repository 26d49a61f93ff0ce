"""Study files written from a user's answers; each answer is checked by the code that reads the file."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from flexibo._internal.durations import parse_seconds
from flexibo._internal.shell import syntax_error
from flexibo._internal.stops import MOST_STOPS, checked_steps
from flexibo.space.options import Categorical, Integer, Option, Ordinal, option_to_dict
from flexibo.studyfile._objectives import MANUAL, MEASURED_BY
from flexibo.studyfile._options import option_of_node
from flexibo.studyfile._yaml_nodes import AMBIGUOUS, NUMBER, YamlMapping, nodes_of
from flexibo.studyfile.mistakes import Mistakes, Position, nearest
from flexibo.studyfile.template import STEP_WORDS, parsed

FUNCTION = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")
RANGE = re.compile(r"\s*(?P<low>\S+?)\s*\.\.\s*(?P<high>\S+?)(?:\s+(?P<scale>log|linear))?\s*")
_LOW, _HIGH = f"(?P<low>{NUMBER.pattern})", f"(?P<high>{NUMBER.pattern})"
_BETWEEN = r"(?:to|until|till|and|through|-|:|\.\.\.|\u2013|\u2014|\u2026)"  # dashes and the sign of omission
WORDED_RANGES = tuple(
    re.compile(rf"{form}(?P<log>,?\s+log\b.*)?", re.IGNORECASE)
    for form in (
        rf"(?:from|between)?\s*{_LOW}\s*{_BETWEEN}\s*{_HIGH}",
        rf"[\[({{]\s*{_LOW}\s*(?:,|;|{_BETWEEN})\s*{_HIGH}\s*[\])}}]",
    )
)
SIMPLE = re.compile(r"[^\W\d][\w-]*")
RESERVED = ("true", "false", "null")


@dataclass(frozen=True, slots=True)
class ObjectiveAnswer:
    """An objective as a user describes it."""

    name: str
    direction: str  # "min" or "max"
    unit: str  # may be empty
    measured_by: str  # a command, or ``module:function``, or "hand"
    options: tuple[str, ...] | None = None  # that it depends on; None for all
    bound: str = ""  # to be kept, at most or at least as the direction says; empty for none
    optimise: bool = False  # beyond its bound too
    noisy: bool = False  # whether two readings of one design differ
    steps: str = ""  # of a training: their number, or where it may stop, as in "1, 3, 9"; empty for none
    proxies: tuple[str, ...] = ()  # the names of cheaper ones that may tell of it
    proxy_of: str = ""  # the objective that it may tell of, if it is such a one


def option_text(answer: str) -> str:
    """The YAML of an option's values as people type them.

    >>> option_text("1..9"), option_text("0.1..1 log"), option_text("16, 32"), option_text("3x3, no")
    ('{from: 1, to: 9}', '{from: 0.1, to: 1, log: true}', '[16, 32]', '[3x3, "no"]')
    """
    if match := RANGE.fullmatch(answer):
        log = {"log": ", log: true", "linear": ", log: false"}.get(match["scale"], "")
        return f"{{from: {match['low']}, to: {match['high']}{log}}}"
    return f"[{', '.join(scalar(part.strip()) for part in answer.split(',') if part.strip())}]"


def scalar(text: str) -> str:
    """A word as YAML: a number unchanged, anything that could be misread in quotes."""
    is_plain = NUMBER.fullmatch(text) or SIMPLE.fullmatch(text) or re.fullmatch(r"\d+x\d+", text)
    if is_plain and not AMBIGUOUS.fullmatch(text) and text.lower() not in RESERVED:
        return text
    return json.dumps(text, ensure_ascii=False)


def option_problem(name: str, answer: str) -> str:
    """The error in the values of an option, or an empty text; one value alone is an error too."""
    option, problem = _option(name, answer)
    if problem or option is None:
        return problem
    values = option_to_dict(option).get("values", ())
    if len(values) == 1:
        what = "one text" if isinstance(values[0], str) else "one value"
        return f"{name} would be {what}, {values[0]!r}; give at least two, as in 16, 32, or a range, as in 1..9."
    return ""


def option_meaning(name: str, answer: str) -> str:
    """What the values of an option are understood as.

    >>> option_meaning("rate", "0.1..1 log"), option_meaning("size", "16, 32"), option_meaning("kind", "a, b")
    ('any number from 0.1 to 1, on a log scale', '2 numbers in order: 16, 32', '2 values without an order: a, b')
    >>> option_meaning("rate", "0.001..1")
    'any number from 0.001 to 1, on a log scale because it is wide (for a linear one type 0.001..1 linear)'
    """
    option, _ = _option(name, answer)
    if option is None:
        return ""
    if isinstance(option, Categorical | Ordinal):
        are_numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in option.values)
        kind = (
            "values without an order" if isinstance(option, Categorical) else "numbers in order" if are_numbers else ""
        )
        return f"{len(option.values)} {kind or 'values in order'}: {', '.join(map(str, option.values))}"
    what = "every whole number" if isinstance(option, Integer) else "any number"
    scale = ", on a log scale" if option.log else ""
    if option.log and not option.is_scale_given:
        scale += f" because it is wide (for a linear one type {answer.strip()} linear)"
    return f"{what} from {option.low:g} to {option.high:g}{scale}"


def intended_range(answer: str) -> str:
    """The range that an answer in other words probably means, as it should be typed; empty if it is none.

    >>> intended_range("1e-4 to 1"), intended_range("from 1 to 9"), intended_range("[0.1, 2.5]"), intended_range("a-b")
    ('0.0001..1', '1..9', '0.1..2.5', '')
    """
    match = next((found for form in WORDED_RANGES if (found := form.fullmatch(answer.strip()))), None)
    if match is None:
        return ""
    low, high = (_number(match[end]) for end in ("low", "high"))
    return f"{low}..{high}{' log' if match['log'] else ''}" if float(low) < float(high) else ""


def _number(text: str) -> str:
    """A number without an exponent, as far as that is short; a whole one stays whole."""
    return text if re.fullmatch(r"[-+]?\d+", text) else f"{float(text):.12g}" if abs(float(text)) >= 1e-4 else text


def _option(name: str, answer: str) -> tuple[Option | None, str]:
    """The option that an answer describes, and the error in it or an empty text."""
    mistakes = Mistakes("")
    node = nodes_of(f"values: {option_text(answer)}", mistakes)
    option = None
    if isinstance(node, YamlMapping) and (values := node.get("values")) is not None:
        option = option_of_node(name, values, Position(1, 1), mistakes)
    return option, mistakes.found[0].sentence if mistakes.found else ""


def module_of(measured_by: str) -> str:
    """The module of a function that is named as ``module:function``; empty for a command.

    >>> module_of("train:error"), module_of("sh bench.sh")
    ('train', '')
    """
    return measured_by.partition(":")[0] if _kind(measured_by) == "function" else ""


def measure_problem(answer: str, options: Sequence[str]) -> str:
    """The error in a command or the name of a function, or an empty text."""
    if _kind(answer) != "command":
        return ""
    template, wrong = parsed(answer, [*options, *STEP_WORDS])
    problem = "" if wrong else syntax_error(template.script)
    return wrong[0] if wrong else f"The shell cannot read it: {problem}." if problem else ""


def used_options(answer: str, options: Sequence[str]) -> tuple[str, ...]:
    """The options that a command has placeholders for, in their order.

    >>> used_options("pack {level} {tool}", ["tool", "level", "threads"])
    ('tool', 'level')
    """
    used = parsed(answer, [*options, *STEP_WORDS])[0].options if _kind(answer) == "command" else ()
    return tuple(name for name in options if name in used)


def uses_steps(answer: str, options: Sequence[str]) -> bool:
    """Whether a command is a training that goes from one step to another.

    >>> uses_steps("train {rate} --until {to_step}", ["rate"]), uses_steps("train {rate}", ["rate"])
    (True, False)
    """
    return bool(used_options(answer, [word for word in STEP_WORDS if word not in options]))


def steps_problem(answer: str) -> str:
    """The error in the steps of a training, or an empty text."""
    if checked_steps(_steps(answer)) is not None:
        return ""
    return f"The steps are {answer!r}; give their number, as in 27, or at most {MOST_STOPS} stops, as in 1, 3, 9, 27."


def _steps(answer: str) -> int | list[int] | None:
    words = [word.strip() for word in answer.split(",")]
    if not all(word.isascii() and word.isdigit() for word in words):
        return None
    return int(words[0]) if len(words) == 1 else [int(word) for word in words]


def named_options(answer: str, options: Sequence[str]) -> tuple[str, ...] | None:
    """The options that an answer lists, in their order; None for all."""
    words = [word.strip() for word in answer.split(",")]
    return None if words == ["all"] else tuple(name for name in options if name in words)


def dependence_problem(answer: str, used: Sequence[str], options: Sequence[str]) -> str:
    """The error in a list of options, which must contain the used ones, or an empty text."""
    words = [word.strip() for word in answer.split(",") if word.strip()]
    if words == ["all"]:
        return ""
    if unknown := next((word for word in words if word not in options), ""):
        return f"There is no option {unknown!r}{nearest(unknown, options)}"
    missing = [name for name in used if name not in words]
    return f"The command uses {{{missing[0]}}}; name {missing[0]} too." if missing else ""


def number_problem(answer: str) -> str:
    """The error in a number, or an empty text."""
    return "" if NUMBER.fullmatch(answer) else f"The answer is {answer!r}; give a number."


def duration_problem(answer: str) -> str:
    """The error in a duration, or an empty text."""
    if parse_seconds(answer) is not None:
        return ""
    return f"The duration is {answer!r}; give a positive number such as 90, 30m, 2h or 1d."


def study_text(
    file: str, name: str, options: Mapping[str, str], objectives: Sequence[ObjectiveAnswer], budget: str
) -> str:
    """The study file of these answers, with comments on other keys; the values of options are as they were typed."""
    lines = [
        f"# flexibo run {file} --dry-run shows how this file is understood; flexibo run {file} runs it.",
        f"name: {scalar(name)}",
        f"budget: {budget}   # for measuring; the overhead of the optimizer is not counted",
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
        "# Within an objective: repeats: 3 (the median counts), timeout: 60s, at_most: 5, measured_with: another one,",
        "# steps: 27 (a training that may stop early and resume), proxies: [another one] that is cheaper.",
        "# Beside these: n_initial: 10, stop: {max_evaluations: 100}, executor: processes, logs: logs.",
        "# flexibo init --reference explains every key.",
        "",
    ]
    return "\n".join(lines)


def _objective_lines(objective: ObjectiveAnswer) -> list[str]:
    kind = _kind(objective.measured_by)
    is_command = kind == "command"
    measured_by = json.dumps(objective.measured_by, ensure_ascii=False) if is_command else objective.measured_by
    found = {
        "direction": objective.direction,
        "unit": scalar(objective.unit) if objective.unit else "",
        "options": f"[{', '.join(map(scalar, objective.options))}]" if objective.options is not None else "",
        "at_most" if objective.direction == "min" else "at_least": objective.bound,
        "optimise": "false" if objective.proxy_of else "true" if objective.optimise else "",
        "proxies": f"[{', '.join(map(scalar, objective.proxies))}]" if objective.proxies else "",
        kind: measured_by,
        "steps": json.dumps(_steps(objective.steps)) if objective.steps else "",
        "noisy": "true" if objective.noisy else "",
    }
    lines = [f"    {key}: {value}" for key, value in found.items() if value]
    return [f"  {scalar(objective.name)}:", *lines]


def _kind(measured_by: str) -> str:
    if measured_by == MANUAL:
        return MEASURED_BY
    return "function" if FUNCTION.fullmatch(measured_by) else "command"
