"""Board: a machine that measures for us through its agent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from flexibo._internal.text import printable_line
from flexibo.errors import FlexiBOError, InvalidValueError
from flexibo.hardware.base import MeterError
from flexibo.hardware.boards.agent_file import agent_digest
from flexibo.hardware.boards.links import BoardError, SocketPlace, SshPlace
from flexibo.hardware.metered import IdlePower, MeteredRun, TooShortError

BOARD_KNOBS = (  # those that the agent knows by itself
    *("power_mode", "active_cores", "cpu_governor", "cpu_frequency", "swappiness", "dirty_ratio"),
    *("dirty_background_ratio", "cache_pressure", "scheduler", "gpu_frequency", "emc_frequency"),
)


class BoardTimeoutError(FlexiBOError):
    """A command on a board exceeded its timeout."""


class BoardMeterError(BoardError, MeterError):
    """A meter or a knob of a board cannot be used."""


FAILURES: Mapping[str, type[FlexiBOError]] = {  # what the kinds of an agent's failures are here
    "machine": BoardMeterError,
    "request": BoardError,
    "value": InvalidValueError,
    "short": TooShortError,
    "timeout": BoardTimeoutError,
}


@dataclass(frozen=True, slots=True)
class BoardRequest:
    """One command to run on a board.

    Attributes:
        command: A script of the shell.
        environment: Variables that it sees beside those of the board.
        timeout: Seconds after which it is ended; None: no limit.
        knobs: Settings of the board while it runs.
        meter: What is read while it runs, as in study files; None: nothing.
        idle_seconds: How long the idle power is measured first; None: it is not.
        idle_watts: The idle power, if it is known already.
        celsius: How warm the board may be at most when it begins; None: as warm as it is.
        cool_limit_seconds: How long to wait for that.
    """

    command: str
    environment: Mapping[str, str]
    timeout: float | None = None
    knobs: Mapping[str, Any] | None = None
    meter: str | None = None
    idle_seconds: float | None = None
    idle_watts: float | None = None
    celsius: float | None = None
    cool_limit_seconds: float = 600.0


@dataclass(frozen=True, slots=True)
class BoardReading:
    """What a command on a board printed and used.

    Attributes:
        status: The exit status, negative for a signal.
        output: The end of its output.
        errors: The end of its standard error.
        run: Its energy and time; None without a meter.
        meter: The name of the meter; empty without one.
        idle: The idle power; None if it was not asked for.
        celsius: The temperatures before and after it; None where they cannot be read.
        slowed_down: What slowed the board down in that time.
    """

    status: int
    output: str
    errors: str
    run: MeteredRun | None
    meter: str
    idle: IdlePower | None
    celsius: tuple[float, float] | None
    slowed_down: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Board:
    """A board, reached over ssh or through a port of this machine.

    Attributes:
        place: Where it is reached.
        folder: Where commands run on the board; empty for the home folder.
        described: Its own knobs beside the built-in ones: files, or commands that read and set them.
    """

    place: SshPlace | SocketPlace
    folder: str = ""
    described: tuple[tuple[str, tuple[tuple[str, Any], ...]], ...] = ()

    def __str__(self) -> str:
        return str(self.place)

    def check(self, *, meters: tuple[str, ...] = (), knobs: Mapping[str, list[Any]] | None = None) -> dict[str, Any]:
        """What the agent finds on the board; `problems` has a sentence for each meter and value that is not there.

        Raises:
            BoardError: The board cannot be reached, or its agent is of another version.
        """
        request = {"do": "check", "folder": self.folder, "meters": list(meters), "values": dict(knobs or {})}
        answer = self._asked({**request, "described": self._described()})
        try:
            return {**answer, **_findings(answer)}
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise self._strange(error) from None

    def run(self, request: BoardRequest) -> BoardReading:
        """Run a command on the board, with its knobs set and its meter read.

        Raises:
            BoardError: The board is at fault: it cannot be reached, or a meter or knob cannot be used.
            InvalidValueError: A knob has no such value.
            TooShortError: The meter has not moved.
            BoardTimeoutError: The command was ended.
        """
        answer = self._asked(
            {
                "do": "run",
                "command": request.command,
                "folder": self.folder,
                "environment": dict(request.environment),
                "timeout": request.timeout,
                "knobs": dict(request.knobs or {}),
                "described": self._described(),
                "meter": request.meter,
                "idle_seconds": request.idle_seconds,
                "idle_watts": request.idle_watts,
                "celsius": request.celsius,
                "cool_limit": request.cool_limit_seconds,
            }
        )
        try:
            return _reading(answer, request)
        except (KeyError, TypeError, ValueError) as error:
            raise self._strange(error) from None

    def _strange(self, error: Exception) -> BoardError:
        return BoardError(f"The agent on {self} gave an answer that is not understood: {printable_line(repr(error))}.")

    def _described(self) -> dict[str, dict[str, Any]]:
        return {name: dict(about) for name, about in self.described}

    def _asked(self, request: Mapping[str, Any]) -> dict[str, Any]:
        answer = self.place.ask(request)
        if answer.get("agent") not in (None, agent_digest()):
            advice = f"flexibo board install {self}" if isinstance(self.place, SshPlace) else "flexibo board export"
            raise BoardError(f"The agent on {self} is of another version of flexibo; run: {advice}")
        if answer.get("ok") is True:
            return answer
        sentence = printable_line(str(answer.get("error"))[:1000])
        raise FAILURES.get(str(answer.get("kind")), BoardError)(f"On {self}: {sentence}")


def _findings(answer: Mapping[str, Any]) -> dict[str, Any]:
    """What a study needs of a check, as text that can be shown; KeyError, TypeError and such if it is not there."""
    return {
        "problems": [printable_line(str(sentence)) for sentence in answer["problems"]],
        "opened": {str(name): printable_line(str(meter)) for name, meter in answer["opened"].items()},
        "hostname": printable_line(str(answer["hostname"])),
        "restored": int(answer["restored"]),
    }


def _reading(answer: Mapping[str, Any], request: BoardRequest) -> BoardReading:
    """The reading in an answer; KeyError, TypeError or ValueError if it is none."""
    run = idle = celsius = None
    if request.meter is not None:
        run = MeteredRun(float(answer["joules"]), float(answer["seconds"]))
    if request.meter is not None and answer["idle_watts"] is not None:
        idle = IdlePower(float(answer["idle_watts"]), float(answer["idle_spread"]), request.idle_seconds or 0.0)
    if answer["celsius_before"] is not None and answer["celsius_after"] is not None:
        celsius = (float(answer["celsius_before"]), float(answer["celsius_after"]))
    return BoardReading(
        status=int(answer["status"]),
        output=str(answer["output"]),
        errors=str(answer["errors"]),
        run=run,
        meter=str(answer["meter"] or ""),
        idle=idle,
        celsius=celsius,
        slowed_down=dict(answer["slowed_down"]),
    )
