"""Command: an objective measured by a program in any language.

The program is run by ``/bin/sh`` in the folder of the study file. It finds the design in its environment, and in its
arguments where the command has placeholders. The last line that it prints is the value. That of an objective with steps
also finds from which step to which it goes and the folder of its checkpoint, and prints lines such as ``step 3 0.25``.

With a meter, the energy, power or time of the program are values too, and it need not print any.

Exit status 0 is success. 125 means that the design is impossible and is not tried again; 126 and 127 (the shell could
not run the program) that the machine is at fault, which stops the study. Any other is a failed evaluation.
"""

from __future__ import annotations

import io
import json
import logging
import os
import re
import sys
import time
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from flexibo._internal.shell import ScriptResult, ScriptTimeout, run_script
from flexibo._internal.text import printable_line, shortened
from flexibo.errors import DesignError, FlexiBOError, MachineError
from flexibo.executors.measure import (
    MOST_PRINTED,
    TookTooLongError,
    WrongValueError,
    current_evaluation,
    exit_description,
    note_printed,
    too_long,
)
from flexibo.executors.steps import Steps
from flexibo.hardware import MeteredRun
from flexibo.hardware.boards import Board, BoardTimeoutError
from flexibo.history.events import Evaluation
from flexibo.objectives import Reading
from flexibo.space import Design
from flexibo.studyfile._board import run_on_board
from flexibo.studyfile._inherited import inherited
from flexibo.studyfile._yaml_nodes import NUMBER
from flexibo.studyfile.machine_settings import NO_SETTINGS, MachineSettings
from flexibo.studyfile.metering import PRINTED, QUANTITIES, MeterChoice
from flexibo.studyfile.template import PREFIX, STEP_WORDS, Template, in_words, variable

IMPOSSIBLE = 125
NOT_RUN = (126, 127)
SHOWN_LINES = 4
SHOWN_CHARACTERS = 400
HEARD_BYTES = 4 * MOST_PRINTED  # a character has at most four bytes
MOST_LOGGED = 16 * 1024 * 1024  # bytes: a program that never stops printing must not fill the disk

BAR = ("value", "deviation", "repeats")  # a value with its error bar
LONGEST_LINE = 4096  # bytes: a longer one is none of ours
STEP = re.compile(
    rf"step\s+(?P<step>\d{{1,10}})\s+(?P<value>{NUMBER.pattern}|[-+]?(?:nan|inf|infinity))", re.IGNORECASE
)

logger = logging.getLogger(__name__)


class CommandError(FlexiBOError):
    """A command gave no value."""


class PrintedNoValueError(CommandError, WrongValueError):
    """The last line that a command printed is no value."""


@dataclass(frozen=True, slots=True)
class Command:
    """Measures a design by running a program."""

    objective: str
    template: Template
    folder: str  # where it runs
    timeout: float | None = None  # seconds after which the program is ended, with all processes that it started
    logs: str = ""  # the folder for its output; empty for none
    passed: tuple[str, ...] = ()  # variables that commands do not inherit, but this one does
    settings: MachineSettings = NO_SETTINGS  # of the machine, set while it runs
    meter: MeterChoice | None = None
    quantities: tuple[tuple[str, str], ...] = ()  # with a meter: objectives, and which quantity is the value of each
    board: Board | None = None  # where it runs, with its settings and its meter; None: here

    def __call__(self, given: Design | Steps) -> Any:
        """The value, or several by objective, alone or with their cost; None if it is at the last step reported."""
        if os.name != "posix":
            raise MachineError(f"The command of {self.objective!r} needs a shell ({os.name} has none); use a function.")
        steps = given if isinstance(given, Steps) else None
        design = given.design if isinstance(given, Steps) else given
        if self.board is not None:
            return self._on_board(design, self.board)
        with self.settings.held(design):
            if steps is not None:
                return self._stepwise(steps)
            if self.meter is None:
                return read_value(self._run(design).output, self.objective)
            return self._metered(design, self.meter)

    def _stepwise(self, steps: Steps) -> Any:
        output = self._run(steps.design, steps).output
        lines = [line for line in output.splitlines() if line.strip()]
        return None if lines and STEP.fullmatch(lines[-1].strip()) else read_value(output, self.objective)

    def _metered(self, design: Design, meter: MeterChoice) -> Any:
        ended: list[ScriptResult] = []
        settings = tuple(self.settings.values(design).items())
        environment = self.inherited(meter.name)
        run, line = meter.read(lambda: ended.append(self._run(design)), environment, settings)
        note_printed(f"{line}\n")
        return self._values(run, ended[0].output)

    def _on_board(self, design: Design, board: Board) -> Any:
        environment = self.environment(design)
        seen = {name: text for name, text in environment.items() if name != "FLEXIBO_PYTHON"}  # that is of this machine
        seen |= {name: os.environ[name] for name in self.passed if name in os.environ}
        with closing(CommandLog(self.logs, self.objective, environment, self.template.filled(design))) as log:
            try:
                reading, line = run_on_board(
                    board,
                    self.template.script,
                    seen,
                    timeout=self.timeout,
                    knobs=self.settings.values(design),
                    meter=self.meter,
                )
            except BoardTimeoutError:
                log.end("timeout")
                raise TookTooLongError(too_long(self.timeout or 0.0)) from None
            log.add(f"{reading.output}{reading.errors}".encode(errors="replace"))
            note_printed(f"{reading.output}{reading.errors}")
            log.end(exit_description(reading.status))
        self._check(ScriptResult(reading.status, reading.output, reading.errors))
        if reading.run is None:
            return read_value(reading.output, self.objective)
        note_printed(f"{line}\n")
        return self._values(reading.run, reading.output)

    def _values(self, run: MeteredRun, output: str) -> Any:
        """The values of a metered command: what the meter gave, and what the command printed."""
        values = {name: QUANTITIES[what](run) for name, what in self.quantities if what != PRINTED}
        if len(values) == len(self.quantities):
            return values
        printed = read_value(output, self.objective)
        said, *cost = printed if isinstance(printed, tuple) else (printed,)
        values = {**(said if isinstance(said, Mapping) else {self.objective: said}), **values}
        return (values, *cost) if cost else values

    def inherited(self, text: str) -> dict[str, str]:
        """What a command inherits; `text` is its program."""
        around = {name: value for name, value in os.environ.items() if not name.startswith(PREFIX)}
        return inherited(around, text, self.passed)

    def _run(self, design: Design, steps: Steps | None = None) -> ScriptResult:
        """Run the program once; an exit status other than 0 is an error."""
        values = {**design, **step_values(steps)}
        environment = self.environment(design, steps)
        heard = bytearray()
        reported = None if steps is None else ReportedLines(steps)

        def listen(chunk: bytes) -> None:
            log.add(chunk)
            heard.extend(chunk)
            del heard[:-HEARD_BYTES]

        with closing(CommandLog(self.logs, self.objective, environment, self.template.filled(values))) as log:
            try:
                ended = run_script(
                    self.template.script,
                    folder=self.folder,
                    environment={**self.inherited(self.template.text), **environment},
                    seconds=self.timeout,
                    listen=listen,
                    follow=(lambda chunk: None) if reported is None else reported.add,
                )
            except ScriptTimeout:
                log.end("timeout")
                raise TookTooLongError(too_long(self.timeout or 0.0)) from None
            finally:
                note_printed(heard.decode(errors="replace"))
            log.end(exit_description(ended.status))
        if reported is not None:
            reported.add(b"")
        self._check(ended)
        return ended

    def shown(self, evaluation: Evaluation) -> str:
        """The command of an evaluation, for people; its checkpoint is not known before it runs."""
        words = dict(zip(STEP_WORDS, (evaluation.start, evaluation.stop, "CHECKPOINT"), strict=True))
        return self.template.filled({**evaluation.design, **(words if evaluation.stop is not None else {})}).strip()

    def environment(self, design: Mapping[str, Any], steps: Steps | None = None) -> dict[str, str]:
        """The environment variables that specify what to measure."""
        evaluation = current_evaluation()
        words = step_values(steps)
        return {
            **{variable(name): in_words(value) for name, value in {**design, **words}.items()},
            **{f"FLEXIBO_{name.upper()}": in_words(value) for name, value in words.items()},
            "FLEXIBO_DESIGN": json.dumps(dict(design)),
            "FLEXIBO_OBJECTIVE": self.objective,
            "FLEXIBO_NUMBER": "" if evaluation is None else str(evaluation.number),
            "FLEXIBO_ATTEMPT": "" if evaluation is None else str(evaluation.attempt),
            "FLEXIBO_PYTHON": sys.executable,
        }

    def _check(self, ended: ScriptResult) -> None:
        """Raise the error that an exit status other than 0 stands for."""
        if ended.status == 0:
            return
        what = f"The command of {self.objective!r} {exit_description(ended.status)}{_last_words(ended)}"
        if ended.status == IMPOSSIBLE:
            raise DesignError(what)
        if ended.status in NOT_RUN:
            stop = "" if what.endswith((".", "!", "?")) else "."
            # It ends a program, so its text reaches a terminal as it is.
            raise MachineError(
                f"{printable_line(what)}{stop} The shell could not run it; fix the command, and resume the study."
            )
        raise CommandError(what)


def step_values(steps: Steps | None) -> dict[str, Any]:
    """What the placeholders of steps stand for; empty without steps."""
    if steps is None:
        return {}
    return dict(zip(STEP_WORDS, (steps.start, steps.stop, str(steps.checkpoint)), strict=True))


class ReportedLines:
    """Reports the values in the output of a program as it arrives: lines such as ``step 3 0.25``."""

    def __init__(self, steps: Steps) -> None:
        self._steps = steps
        self._rest = b""

    def add(self, chunk: bytes) -> None:
        """Take in output, an empty piece at its end; a value that cannot be reported is an error."""
        *lines, self._rest = (self._rest + (chunk or b"\n")).split(b"\n")
        self._rest = self._rest[-LONGEST_LINE:]
        for line in lines:
            if match := STEP.fullmatch(line.decode(errors="replace").strip()):
                self._steps.report(int(match["step"]), float(match["value"]))


def read_value(output: str, objective: str) -> Any:
    r"""The result in the last non-empty line: a value, a value and its cost, or a JSON object.

    >>> read_value("epoch 1\n0.25\n", "error"), read_value("0.25 60\n", "error")
    (0.25, (0.25, 60.0))
    >>> read_value('{"joules": 3.5, "ms": 20, "cost": 2}', "joules")
    ({'joules': 3.5, 'ms': 20}, 2)
    >>> read_value('{"joules": {"value": 3.5, "deviation": 0.2}, "ms": 20}', "joules")
    {'joules': Reading(3.5, deviation=0.2, repeats=1), 'ms': 20}
    """
    lines = output.split("\n")
    line = next((line.strip() for line in reversed(lines) if line.strip()), "")
    if not line:
        raise PrintedNoValueError(f"The command of {objective!r} printed nothing; its last line must be the value.")
    if line.startswith("{"):
        return _of_object(line, objective)
    numbers = line.split()
    if len(numbers) > 2 or not all(NUMBER.fullmatch(number) for number in numbers):
        raise PrintedNoValueError(
            f"The command of {objective!r} printed {_cut(line)!r} last; its last line must be the value, or the value "
            "and its cost, or a JSON object."
        )
    return float(numbers[0]) if len(numbers) == 1 else (float(numbers[0]), float(numbers[1]))


def _of_object(line: str, objective: str) -> Any:
    """The values in a JSON object, by objective or as "value", and the "cost" if it is there.

    A value is a number, or an object with the "value", its "deviation" and maybe the "repeats" that it sums up.
    """
    try:
        given = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise PrintedNoValueError(
            f"The command of {objective!r} printed {_cut(line)!r} last; it is not JSON: {error}."
        ) from None
    is_named = "value" in given and objective not in given
    has_cost = "cost" in given and objective != "cost"
    cost = given.pop("cost") if has_cost else None
    if is_named:
        bar = {name: given[name] for name in BAR if name in given}
        given = bar if "deviation" in given else given["value"]
    is_one = is_named and not (isinstance(given, dict) and "deviation" not in given)
    values = (
        _read_one(given, objective, objective)
        if is_one
        else {name: _read_one(value, name, objective) for name, value in given.items()}
    )
    return (values, cost) if has_cost else values


def _read_one(printed: Any, name: str, objective: str) -> Any:
    """A value as it was printed, with its error bar if it has one."""
    fields = printed if isinstance(printed, dict) else {"value": printed}
    is_bar = {"value", "deviation"} <= fields.keys() <= {*BAR}
    numbers = all(isinstance(one, int | float) and not isinstance(one, bool) for one in fields.values())
    if not numbers or not (is_bar or fields is not printed):
        raise PrintedNoValueError(
            f"The command of {objective!r} printed {json.dumps(printed)[:60]} as the value of {name!r}; it must be a "
            'number, or an object such as {"value": 3.5, "deviation": 0.2, "repeats": 10}.'
        )
    if fields is not printed:
        return printed
    try:
        return Reading(fields["value"], deviation=fields["deviation"], repeats=fields.get("repeats", 1))
    except FlexiBOError as error:
        raise PrintedNoValueError(f"The command of {objective!r} printed a wrong error bar: {error}") from None


def _last_words(ended: ScriptResult) -> str:
    """The last lines of the standard error, or of the output where there are none."""
    lines = [line.strip() for line in (ended.errors.strip() or ended.output.strip()).splitlines() if line.strip()]
    return f": {_cut(' / '.join(lines[-SHOWN_LINES:]))}" if lines else "."


def _cut(text: str) -> str:
    return text if len(text) <= SHOWN_CHARACTERS else f"...{text[-SHOWN_CHARACTERS:]}"


class CommandLog:
    """The log file of an evaluation, none without a folder; if it cannot be written, there is only a warning."""

    def __init__(self, folder: str, objective: str, environment: Mapping[str, str], command: str) -> None:
        self._file: IO[bytes] | None = None
        self._left = MOST_LOGGED
        self._start = time.monotonic()
        if not folder:
            return
        number = environment["FLEXIBO_NUMBER"]
        name = re.sub(r"[^\w.-]", "_", objective)[:60]
        path = Path(folder) / f"{number.zfill(5) if number else 'no-number'}-{name}.log"
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = open(path, "ab", buffering=0)  # noqa: SIM115  # the context is this object's
            self._left -= self._file.seek(0, io.SEEK_END)
        except OSError as error:
            logger.warning("The log %s cannot be written: %s.", shortened(str(path)), error.strerror or error)
            return
        if self._left <= 0:  # the last reading has noted that more is omitted
            self.close()
            return
        heading = f"# attempt {environment['FLEXIBO_ATTEMPT'] or '?'}, design {environment['FLEXIBO_DESIGN']}\n"
        self.add(f"{heading}$ {command}\n".encode(errors="replace"))

    def add(self, chunk: bytes) -> None:
        """Write output, up to a limit."""
        if self._left <= 0:
            return
        self._write(chunk[: self._left])
        self._left -= len(chunk)
        if self._left <= 0:
            self._write(b"\n# the rest is omitted\n")

    def end(self, what: str) -> None:
        """Write how it ended."""
        self._write(f"\n# {what} after {time.monotonic() - self._start:.3f} s\n".encode(errors="replace"))

    def _write(self, text: bytes) -> None:
        if self._file is None:
            return
        try:
            self._file.write(text)
        except OSError as error:
            logger.warning("A log cannot be written: %s.", error.strerror or error)
            self.close()

    def close(self) -> None:
        """Close the file, if it is open."""
        if self._file is not None:
            self._file.close()
            self._file = None
