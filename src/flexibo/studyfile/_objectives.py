"""The objectives of a study file, and what measures each of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from flexibo._internal.shell import syntax_error
from flexibo.errors import FlexiBOError
from flexibo.executors import Measure
from flexibo.hardware.boards import Board
from flexibo.hardware.by_command import PERIOD_SECONDS
from flexibo.hardware.table import AUTO, check_meter_name
from flexibo.objectives import DIRECTIONS, Objective
from flexibo.space import Categorical, Ordinal, Space
from flexibo.studyfile._board import BoardChoice
from flexibo.studyfile._fields import Fields
from flexibo.studyfile._inherited import WITHHELD
from flexibo.studyfile._yaml_nodes import YamlList, YamlMapping, YamlScalar
from flexibo.studyfile.command import Command
from flexibo.studyfile.functions import Function, found
from flexibo.studyfile.machine_settings import NO_SETTINGS, MachineSettings
from flexibo.studyfile.metering import COOL_LIMIT_SECONDS, PRINTED, QUANTITIES, MeterChoice
from flexibo.studyfile.mistakes import nearest
from flexibo.studyfile.template import STEP_WORDS, Template, parsed, variable

MEASURED_BY = "measured_by"
MANUAL = "hand"  # the value of `MEASURED_BY` for an objective that a person, or another program, measures
MEASURED = {"function": "a function", "command": "a command", "measured_by": "measured_by"}
"""The keys for how an objective is measured, with their names in messages."""
READERS: Mapping[str, Callable[[Fields, str], Any]] = {  # keys of an objective that need nothing else of the file
    "noisy": Fields.flag,
    "repeats": lambda fields, key: fields.whole(key, 1),
    "remeasure": Fields.flag,
    "measured_with": Fields.text,
    "cost": Fields.number,
    "timeout": Fields.duration,
    "retries": lambda fields, key: fields.whole(key, 0),
    "fails_with": Fields.text,
    "at_most": Fields.number,
    "at_least": Fields.number,
    "lower": Fields.bound,
    "upper": Fields.bound,
    "optimise": Fields.flag,
    "tolerance": Fields.number,
    "resources": lambda fields, key: fields.amounts(key, None, "resource"),
    "steps": Fields.whole_numbers,
    "resumable": Fields.flag,
}
PASSED = "pass_environment"
METER, QUANTITY = "meter", "quantity"
DEFAULT_QUANTITY = "joules"
METER_KEYS = ("name", "idle", "cool", "cool_limit", "period")
OBJECTIVE_KEYS = ("direction", "unit", "options", "proxies", "reuse", *READERS, *MEASURED, PASSED, METER, QUANTITY)


@dataclass(frozen=True, slots=True)
class FileContext:
    """What the objectives of a file refer to."""

    folder: Path
    logs: str  # the folder of the logs of commands; empty for none
    space: Space | None  # None where the options have mistakes
    options: tuple[str, ...]
    imports: bool = True  # whether to import functions as a check
    settings: MachineSettings = NO_SETTINGS  # the options that are settings of the machine, or of the board
    board: BoardChoice | None = None

    def on_board(self, objective: str) -> Board | None:
        """The board on which the command of an objective runs; None: it runs here."""
        return self.board.board if self.board is not None and self.board.runs(objective) else None


def objectives_of(fields: Fields, around: FileContext) -> tuple[tuple[Objective, ...], dict[str, Measure]]:
    """The objectives, and the functions or commands that measure them; errors are noted."""
    inner = fields.inner("objectives", " of objectives", "a mapping of names to what is measured")
    if inner is None:
        if not fields.has("objectives"):
            fields.note("objectives", "There are no objectives; say what is measured under the key objectives.")
        return (), {}
    names = [entry.key for entry in inner.table.entries]
    nodes = {entry.key: entry.node for entry in inner.table.entries if isinstance(entry.node, YamlMapping)}
    objectives: list[Objective] = []
    measures: dict[str, Measure] = {}
    for entry in inner.table.entries:
        if not isinstance(entry.node, YamlMapping):
            is_bare = isinstance(entry.node, YamlScalar) and entry.node.value is None
            what = "has nothing below it" if is_bare else "is not a mapping"
            fields.mistakes.add(entry.place, f"Objective {entry.key!r} {what}; give it a function or a command.")
            continue
        mine = Fields(entry.node, fields.mistakes, f" of objective {entry.key!r}")
        mine.check_keys(OBJECTIVE_KEYS)
        _check_quantity(mine, nodes)
        if (objective := _objective(entry.key, mine, names, around)) is not None:
            objectives.append(objective)
        if (measure := _measure(entry.key, mine, around)) is not None:
            measures[entry.key] = measure
    tables = {e.key: Fields(e.node, fields.mistakes) for e in inner.table.entries if isinstance(e.node, YamlMapping)}
    return tuple(objectives), {name: _with_quantities(measure, tables) for name, measure in measures.items()}


def _with_quantities(measure: Measure, tables: Mapping[str, Fields]) -> Measure:
    """A command with a meter, with the quantity that each objective is which it gives; any other measure as it is."""
    if not isinstance(measure, Command) or measure.meter is None:
        return measure
    own = _text(tables[measure.objective], QUANTITY) or DEFAULT_QUANTITY
    others = {name: table for name, table in tables.items() if _text(table, "measured_with") == measure.objective}
    given = {measure.objective: own, **{name: _text(table, QUANTITY) or PRINTED for name, table in others.items()}}
    return replace(measure, quantities=tuple(given.items()))


def _text(fields: Fields, key: str) -> str | None:
    """The text of a key whose mistakes are noted elsewhere."""
    node = fields.table.get(key)
    return node.value if isinstance(node, YamlScalar) and isinstance(node.value, str) else None


def _check_quantity(fields: Fields, tables: Mapping[str, YamlMapping]) -> None:
    """Note a quantity that there is not, or that no meter gives."""
    what = fields.one_of(QUANTITY, (*QUANTITIES, PRINTED))
    other = _text(fields, "measured_with")
    lead = fields.table if other is None else tables.get(other)
    if what is not None and lead is not None and lead.get(METER) is None:
        of = "it has none" if other is None else f"objective {other!r}, which it is measured with, has none"
        fields.note(QUANTITY, f"{QUANTITY}{fields.of} is {what}, which a meter gives, and {of}; give a meter.")


def _objective(name: str, fields: Fields, names: Sequence[str], around: FileContext) -> Objective | None:
    before, unit = len(fields.mistakes.found), fields.table.get("unit")
    given: dict[str, Any] = {
        "direction": _direction(fields),
        "unit": "" if isinstance(unit, YamlScalar) and unit.value == "" else fields.text("unit"),
        "options": fields.names("options", around.options or None, "option"),
        "proxies": fields.names("proxies", names, "objective"),
        "reuse": fields.names("reuse", around.options or None, "option"),
        **{key: read(fields, key) for key, read in READERS.items()},
    }
    for key in ("measured_with", "fails_with"):
        other = given[key]
        if other is not None and other not in names:
            fields.note(key, f"Unknown objective {other!r} in {key}{fields.of}{nearest(other, names)}")
    if len(fields.mistakes.found) > before:
        return None
    try:
        return Objective(name, **{key: value for key, value in given.items() if value is not None})
    except FlexiBOError as error:
        fields.note(error.argument, str(error))
        return None


def _direction(fields: Fields) -> str | None:
    direction = fields.text("direction")
    found = direction and DIRECTIONS.get(direction.lower(), direction)
    if found not in (None, "min", "max"):
        fields.note("direction", f"direction{fields.of} is {direction!r}; it must be min or max.")
        return None
    return found


def _measure(name: str, fields: Fields, around: FileContext) -> Measure | None:
    """What measures an objective: a function or a command; None if another one's gives it, or it is manual."""
    given = [key for key in MEASURED if fields.has(key)]
    if fields.has(PASSED) and given != ["command"]:
        fields.note(PASSED, f"{PASSED}{fields.of} is for commands, and it has none; leave it out.")
    if fields.has(METER) and given != ["command"]:
        fields.note(METER, f"{METER}{fields.of} is read while a command runs, and it has none; give a command.")
    if fields.has(METER) and fields.has("steps"):
        fields.note(
            METER, f"{METER}{fields.of} reads a whole command, and its steps are values that it prints; leave one out."
        )
    if fields.has("measured_with"):
        if given:
            fields.note(
                given[0],
                f"Objective {name!r} is measured with another, whose function or command gives both; leave "
                f"{given[0]} out.",
            )
        return None
    if len(given) > 1:
        both = " and ".join(MEASURED[key] for key in given[:2])
        fields.note(given[1], f"Objective {name!r} has both {both}; leave one out.")
        return None
    if not given:
        fields.mistakes.add(
            fields.table.place,
            f"Objective {name!r} has neither a function nor a command; give one, or say measured_by: hand.",
        )
        return None
    if given == ["function"]:
        return _function(name, fields, around)
    if given == ["command"]:
        return _command(name, fields, around)
    by = fields.text(MEASURED_BY)
    if by is not None and by != MANUAL:
        fields.note(
            MEASURED_BY,
            f"{MEASURED_BY}{fields.of} is {by!r}; it must be {MANUAL} (asked with flexibo ask, answered with flexibo "
            "tell). A function or a command has a key of its own.",
        )
    return None


def check_manual(fields: Fields) -> None:
    """Note functions of the file that ``flexibo ask`` would need: it has only the database."""
    node = fields.table.get("objectives")
    entries = node.entries if isinstance(node, YamlMapping) else ()
    manual = [e.key for e in entries if isinstance(e.node, YamlMapping) and e.node.get(MEASURED_BY) is not None]
    if not manual:
        return
    for key, instead in (("valid", "list the legal designs under designs"), ("cost", "give one of the known costs")):
        text = fields.text(key) if fields.has(key) else None
        if text is not None and ":" in text:
            fields.note(
                key,
                f"{key} is a function, which flexibo ask does not have, and objective {manual[0]!r} is measured "
                f"manually; {instead}.",
            )


def _function(name: str, fields: Fields, around: FileContext) -> Measure | None:
    place = fields.text("function")
    if place is None:
        return None
    if around.imports:
        try:
            found(place, str(around.folder))
        except FlexiBOError as error:
            fields.note("function", str(error))
            return None
    return Function(place, str(around.folder), _settings(fields, around, f"Objective {name!r}", is_here=True))


def _settings(fields: Fields, around: FileContext, who: str, *, is_here: bool) -> MachineSettings:
    """The settings of the machine, or of the board, that an objective depends on."""
    node = fields.table.get("options")
    named = (
        tuple(str(item.value) for item in node.items if isinstance(item, YamlScalar))
        if isinstance(node, YamlList)
        else None
    )
    found = around.settings.among(named)
    if not is_here or around.board is None:
        return found
    if found.names:
        fields.note(
            "options",
            f"{who} is measured here and depends on {', '.join(found.names)}, settings of the board; name its options "
            "without them, or give it a command that runs on the board.",
        )
    return NO_SETTINGS


def _command(name: str, fields: Fields, around: FileContext) -> Measure | None:
    if isinstance(fields.table.get("command"), YamlMapping):
        fields.note(
            "command",
            f"command{fields.of} begins with a brace, which YAML takes for a mapping; put the command in quotes.",
        )
        return None
    text = fields.text("command")
    if text is None or not around.options:
        return None
    words = STEP_WORDS if fields.has("steps") else ()
    template, wrong = parsed(text, [*around.options, *words])
    taken = [
        f"option {name!r} has the name of a placeholder for steps, {{{name}}}; rename it."
        for name in words
        if variable(name) in map(variable, around.options)
    ]
    for sentence in [*wrong, *taken, *_unfit(around), *_left_out(template, fields, around)]:
        fields.note("command", f"In the command{fields.of}: {sentence}")
    if not wrong and (problem := syntax_error(template.script)):
        fields.note("command", f"The shell cannot read the command{fields.of}: {problem}.")
    board = around.on_board(name)
    if board is not None and fields.has("steps"):
        fields.note(
            "steps",
            f"steps{fields.of} need a checkpoint folder, which is here, and its command runs on the board; name the "
            "objectives of the board without it.",
        )
    passed = fields.names(PASSED, WITHHELD, "withheld variable") or ()
    return Command(
        name,
        template,
        str(around.folder),
        fields.duration("timeout"),
        around.logs,
        passed,
        _settings(fields, around, f"Objective {name!r}", is_here=board is None),
        _meter(fields, around, is_here=board is None),
        board=board,
    )


def _meter(fields: Fields, around: FileContext, *, is_here: bool) -> MeterChoice | None:
    """The meter of a command: its name, or a mapping with how it is read; names of a board's are checked there."""
    node = fields.table.get(METER)
    if node is None:
        return None
    if not isinstance(node, YamlMapping):
        name = _meter_name(fields, METER, fields, around if is_here else None)
        return None if name is None else MeterChoice(name, str(around.folder))
    inner = Fields(node, fields.mistakes, f" of meter{fields.of}")
    inner.check_keys(METER_KEYS)
    if (celsius := inner.number("cool")) is not None and not -50 <= celsius <= 150:
        inner.note("cool", f"cool{inner.of} is {celsius:g} degrees Celsius; it must be from -50 to 150.")
    if inner.has("cool_limit") and not inner.has("cool"):
        inner.note("cool_limit", f"cool_limit{inner.of} limits the wait until the machine is cool; give cool too.")
    limit, period = inner.duration("cool_limit"), inner.duration("period")
    return MeterChoice(
        _meter_name(inner, "name", fields, around if is_here else None) or AUTO,
        str(around.folder),
        inner.duration("idle"),
        celsius,
        COOL_LIMIT_SECONDS if limit is None else limit,
        PERIOD_SECONDS if period is None else period,
    )


def _meter_name(fields: Fields, key: str, objective: Fields, around: FileContext | None) -> str | None:
    name = fields.text(key)
    if name is None:
        return None
    try:
        if around is not None:
            check_meter_name(name.strip(), folder=around.folder)
    except FlexiBOError as error:
        fields.note(key, f"{METER}{objective.of}: {error}")
    return name.strip()


def _left_out(template: Template, fields: Fields, around: FileContext) -> list[str]:
    """Errors for options that the command uses although the objective's options do not list them."""
    node = fields.table.get("options")
    if not isinstance(node, YamlList):
        return []
    named = {item.value for item in node.items if isinstance(item, YamlScalar)}
    return [
        f"{{{name}}} is used, but options{fields.of} leaves {name!r} out; add it there, or take it out of the command."
        for name in around.options
        if name in template.options and name not in named
    ]


def _unfit(around: FileContext) -> list[str]:
    sentences = []
    by_variable: dict[str, str] = {}
    for name in around.options:
        other = by_variable.setdefault(variable(name), name)
        if other != name:
            sentences.append(f"options {other!r} and {name!r} are both {variable(name)}; rename one of them.")
    options = {} if around.space is None else around.space.options
    for name, option in options.items():
        values = option.values if isinstance(option, Categorical | Ordinal) else ()
        untellable = [value for value in values if isinstance(value, str) and not _is_tellable(value)]
        sentences += [
            f"option {name!r} has the value {value!r}, which cannot be passed to a program; change it."
            for value in untellable
        ]
    return sentences


def _is_tellable(value: str) -> bool:
    try:
        return b"\0" not in value.encode()
    except UnicodeEncodeError:
        return False
