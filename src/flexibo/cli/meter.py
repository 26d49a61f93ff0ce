"""``flexibo meter``: the energy, power and time of any command."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flexibo._internal.numbers import format_number
from flexibo._internal.text import printable_line
from flexibo.cli._child import child
from flexibo.cli._exit_status import ExitStatus
from flexibo.cli._options import JSONFlag, parsed_seconds, typed_option
from flexibo.cli._signals import terminable
from flexibo.cli._text import counted, print_json
from flexibo.errors import FlexiBOError, InvalidValueError

if TYPE_CHECKING:
    from flexibo.hardware import EnergyMeter, MeteredRun, MeteredRuns, Temperature


def meter(
    command: Annotated[
        list[str] | None, typer.Argument(metavar="-- COMMAND...", help="The command to run.", show_default=False)
    ] = None,
    meter: Annotated[
        str,
        typer.Option(
            help="What to read: auto (processor and GPUs, or the board), a name or sum of names from 'flexibo doctor', "
            "as in rapl+nvml, or a command that prints joules or watts, as in 'read-my-plug'."
        ),
    ] = "auto",
    repeats: Annotated[int, typer.Option(min=1, help="Run the command this often; mean and spread are shown.")] = 1,
    idle: Annotated[str, typed_option("Measure the idle power for this long first, as in 10s, and subtract it.")] = "",
    cool: Annotated[
        float | None, typer.Option(help="Wait before each run until the machine is at most this warm, in Celsius.")
    ] = None,
    cool_limit: Annotated[str, typer.Option(help="Wait at most this long for that.")] = "10m",
    json: JSONFlag = False,
) -> None:
    """Run a command and show its energy, mean power and time, and which meter was read.

    The meter counts everything that its devices do in that time, also for other programs. The report goes to standard
    error, with --json to standard output (what the command prints then goes to standard error). The exit status is
    the command's.
    """
    idle_seconds = parsed_seconds(idle, "--idle") if idle else None
    limit = parsed_seconds(cool_limit, "--cool-limit")
    if not command:
        raise InvalidValueError("No command is given; give one after --, as in: flexibo meter -- ./infer.sh")
    session = _Session(command, output_to_errors=json)
    ended: list[int] = []
    try:
        with terminable(ended):  # SIGTERM ends the command too, and a meter that is a program
            failure = session.run(meter, repeats, idle_seconds, cool, limit)
    except KeyboardInterrupt:
        if not ended:
            raise
        raise typer.Exit(ExitStatus.TERMINATED) from None
    if session.runs is not None:
        if json:
            print_json(session.facts())
        else:
            for line in session.lines():
                typer.echo(printable_line(line), err=True)
    if failure is not None:
        if not session.status:
            raise failure
        typer.echo(f"flexibo: {printable_line(failure)}", err=True)
    raise typer.Exit(session.status)


@dataclass
class _Session:
    """The runs of a command, and what was noted beside them."""

    command: list[str]
    output_to_errors: bool = False
    status: int = 0
    runs: MeteredRuns | None = None
    before: Temperature | None = None
    after: Temperature | None = None
    slowed: dict[str, float] = field(default_factory=dict)

    def run(
        self, meter: str, repeats: int, idle_seconds: float | None, celsius: float | None, limit: float
    ) -> FlexiBOError | None:
        """Run and read; the error of a reading that failed after the command ran, if one did."""
        from flexibo.hardware import (
            MeteredRuns,
            MeterPlaces,
            Thermals,
            chosen_meter,
            close_meter,
            cool_down,
            measured_idle,
        )
        from flexibo.hardware.thermals import risen

        places = MeterPlaces.of_environment(os.environ)
        with ExitStack() as stack:
            opened = chosen_meter(meter, places)
            stack.callback(close_meter, opened)
            thermals = stack.enter_context(Thermals(places.sys))

            def cooled() -> None:
                if celsius is not None:
                    cool_down(thermals.hottest, celsius, limit_seconds=limit)

            cooled()
            idle = None if idle_seconds is None else measured_idle(opened, idle_seconds)
            self.before, slow = thermals.hottest(), thermals.slowdowns()
            found: list[MeteredRun] = []
            failure: FlexiBOError | None = None
            while len(found) < repeats and not self.status and failure is None:
                cooled()
                try:
                    found.append(self._metered(opened))
                except InvalidValueError:
                    raise  # it cannot be run
                except FlexiBOError as error:
                    failure = error
            self.after, self.slowed = thermals.hottest(), risen(slow, thermals.slowdowns())
        if found:
            self.runs = MeteredRuns(tuple(found), opened.name, opened.update_seconds, opened.is_estimate, idle)
        return failure

    def _metered(self, opened: EnergyMeter) -> MeteredRun:
        """One run of the command, without the time in which what it left behind is ended."""
        from flexibo.hardware import metered

        def work() -> None:
            self.status = call()

        with child(self.command, output_to_errors=self.output_to_errors) as call:
            return metered(work, opened)

    def lines(self) -> Iterator[str]:
        runs = self._found
        many = len(runs.runs)
        each = (
            f" ± {_short(runs.spread)} J (mean and standard deviation of {many} runs)"
            if runs.spread is not None
            else ""
        )
        estimate = ", an estimate" if runs.is_estimate else ""
        yield f"meter        {runs.meter}{estimate}"
        yield f"energy       {_short(runs.joules)} J{each}"
        if runs.idle is not None and runs.joules_above_idle is not None:
            yield f"above idle   {_short(runs.joules_above_idle)} J"
        yield f"mean power   {_short(runs.watts)} W"
        yield f"time         {_short(runs.seconds)} s"
        if runs.idle is not None:
            spread, seconds = _short(runs.idle.spread), _short(runs.idle.seconds)
            yield f"idle power   {_short(runs.idle.watts)} W ± {spread} W, over {seconds} s"
        if self.before is not None and self.after is not None:
            warmth = f"{self.before.celsius:.0f} °C before, {self.after.celsius:.0f} °C after"
            yield f"temperature  {warmth} ({self.after.where})"
        for note in self._notes():
            yield f"note         {note}"

    def facts(self) -> dict[str, Any]:
        runs = self._found
        return {
            "command": self.command,
            "status": self.status,
            "meter": runs.meter,
            "is_estimate": runs.is_estimate,
            "update_seconds": runs.update_seconds,
            "repeats": len(runs.runs),
            "joules": runs.joules,
            "joules_spread": runs.spread,
            "joules_above_idle": runs.joules_above_idle,
            "watts": runs.watts,
            "seconds": runs.seconds,
            "idle_watts": None if runs.idle is None else runs.idle.watts,
            "idle_watts_spread": None if runs.idle is None else runs.idle.spread,
            "runs": [{"joules": run.joules, "seconds": run.seconds, "watts": run.watts} for run in runs.runs],
            "celsius_before": None if self.before is None else self.before.celsius,
            "celsius_after": None if self.after is None else self.after.celsius,
            "slowed_down": self.slowed,
            "notes": list(self._notes()),
        }

    @property
    def _found(self) -> MeteredRuns:
        assert self.runs is not None
        return self.runs

    def _notes(self) -> Iterator[str]:
        runs = self._found
        if runs.is_coarse:
            shortest = min(run.seconds for run in runs.runs)
            yield (
                f"The meter is updated every {runs.update_seconds:g} s and a run took {shortest:.3g} s, so the energy "
                f"may be wrong by {min(runs.update_seconds / shortest, 1):.0%}; let a run do more."
            )
        for what, amount in self.slowed.items():
            yield f"Slowed down: {amount:g} {what}."
        if self.status:
            yield f"The command ended with exit status {self.status} after {counted(len(runs.runs), 'run')}."


def _short(number: float) -> str:
    return format_number(number, 4)
