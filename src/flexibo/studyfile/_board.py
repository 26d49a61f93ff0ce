"""The board of a study file: where it is, which commands run there, and how one of them is run."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from flexibo.errors import FlexiBOError
from flexibo.hardware import IdlePower, MeteredRun, Temperature
from flexibo.hardware.boards import AGENT_PATH, BOARD_KNOBS, Board, BoardReading, BoardRequest, SocketPlace, SshPlace
from flexibo.studyfile._fields import Fields
from flexibo.studyfile._yaml_nodes import YamlMapping
from flexibo.studyfile.metering import MeterChoice, reading_line

KEY, OWN_KNOBS = "board", "own_knobs"
OVER_SSH, OVER_SOCKET = ("host", "python", "agent", "sudo"), ("port", "token_file")
KEYS = (*OVER_SSH, *OVER_SOCKET, "folder", "objectives", OWN_KNOBS)
KNOB_KEYS = ("path", "read", "set")
PYTHON = "python3"


@dataclass(frozen=True, slots=True)
class BoardChoice:
    """What a study file says about a board."""

    board: Board
    objectives: tuple[str, ...] | None = None  # whose commands run there; None: all

    def runs(self, objective: str) -> bool:
        """Whether the command of an objective runs on the board."""
        return self.objectives is None or objective in self.objectives


def board_of(fields: Fields, folder: Path) -> BoardChoice | None:
    """The board that the key `board` describes; None if there is none, or it has mistakes, which are noted."""
    inner = fields.inner(KEY, " of board", "a mapping such as {host: nano@192.168.0.7}")
    if inner is None:
        return None
    before = len(fields.mistakes.found)
    inner.check_keys(KEYS)
    place = _place(inner, folder)
    described = _described(inner)
    named = _objective_names(fields)
    objectives = inner.names("objectives", named or None, "objective")
    there = inner.text("folder") or ""
    if place is None or len(fields.mistakes.found) > before:
        return None
    return BoardChoice(Board(place, there, described), objectives)


def board_knobs(fields: Fields) -> tuple[str, ...]:
    """The settings that a board of this file may have."""
    node = fields.table.get(KEY)
    own = node.get(OWN_KNOBS) if isinstance(node, YamlMapping) else None
    return (*BOARD_KNOBS, *(entry.key for entry in own.entries)) if isinstance(own, YamlMapping) else BOARD_KNOBS


def _objective_names(fields: Fields) -> tuple[str, ...]:
    node = fields.table.get("objectives")
    return tuple(entry.key for entry in node.entries) if isinstance(node, YamlMapping) else ()


def _place(fields: Fields, folder: Path) -> SshPlace | SocketPlace | None:
    given = [key for key in ("host", "port") if fields.has(key)]
    if len(given) != 1:
        what = "both a host and a port" if given else "neither a host nor a port"
        fields.note("host", f"board has {what}; give host: USER@HOST (ssh), or port: and token_file:.")
        return None
    foreign = OVER_SOCKET if given == ["host"] else OVER_SSH
    for key in foreign:
        if fields.has(key):
            fields.note(key, f"{key} of board does not go with {given[0]}; leave it out.")
    try:
        if given == ["host"]:
            python, agent = fields.text("python") or PYTHON, fields.text("agent") or AGENT_PATH
            host, sudo = fields.text("host"), fields.flag("sudo") or False
            return None if host is None else SshPlace(host, python, agent, sudo)
        port, token = fields.whole("port", 1, 65535), fields.text("token_file")
        if not fields.has("token_file"):
            fields.note("port", "board has a port and no token_file; copy the file token from beside the agent.")
        return None if port is None or token is None else SocketPlace(port, str(folder / Path(token).expanduser()))
    except FlexiBOError as error:
        fields.note(given[0], str(error))
        return None


def _described(fields: Fields) -> tuple[tuple[str, tuple[tuple[str, Any], ...]], ...]:
    """The board's own knobs: a file, or commands that read and set it."""
    inner = fields.inner(
        OWN_KNOBS, f" of {OWN_KNOBS}", "a mapping such as {fan: {path: /sys/devices/pwm-fan/target_pwm}}"
    )
    found = []
    for entry in () if inner is None else inner.table.entries:
        if not isinstance(entry.node, YamlMapping):
            fields.mistakes.add(entry.place, f"Knob {entry.key!r} has nothing below it; give a path, or read and set.")
            continue
        one = Fields(entry.node, fields.mistakes, f" of knob {entry.key!r}")
        one.check_keys(KNOB_KEYS)
        about = {key: one.text(key) for key in KNOB_KEYS if one.has(key)}
        if entry.key in BOARD_KNOBS:
            fields.mistakes.add(
                entry.place, f"{entry.key!r} is a knob that boards have already; give yours another name."
            )
        if set(about) not in ({"path"}, {"read", "set"}):
            fields.mistakes.add(
                entry.place,
                f"Knob {entry.key!r} must have either a path below /sys or /proc/sys, or two commands: read, which "
                "prints its value, and set, with {value} for the value.",
            )
        found.append((entry.key, tuple(about.items())))
    return tuple(found)


def run_on_board(
    board: Board,
    script: str,
    environment: Mapping[str, str],
    *,
    timeout: float | None,
    knobs: Mapping[str, Any],
    meter: MeterChoice | None,
) -> tuple[BoardReading, str]:
    """Run a script on a board: what it printed and used (above idle, if that is subtracted), and a line for people."""
    request = BoardRequest(script, environment, timeout, knobs)
    if meter is None:
        return board.run(request), ""
    key = (board, meter, tuple(knobs.items()))
    known = _known_idle.get(key)
    request = replace(
        request,
        meter=meter.name,
        idle_seconds=None if known else meter.idle_seconds,
        idle_watts=None if known is None else known.watts,
        celsius=meter.celsius,
        cool_limit_seconds=meter.cool_limit_seconds,
    )
    reading = board.run(request)
    run, idle = reading.run, known or reading.idle
    assert run is not None  # there is a meter
    if idle is not None:
        _known_idle[key] = idle
        run = MeteredRun(run.above(idle), run.seconds)
    before, after = (Temperature(celsius, "") for celsius in reading.celsius) if reading.celsius else (None, None)
    line = reading_line(run, f"{reading.meter} on {board}", idle, before, after, reading.slowed_down)
    return replace(reading, run=run), line


_known_idle: dict[tuple[Board, MeterChoice, tuple[tuple[str, Any], ...]], IdlePower] = {}


def check_used(fields: Fields, choice: BoardChoice | None, commands: Collection[str]) -> None:
    """Note a board on which nothing runs, and objectives that are to run there and have no command."""
    if choice is None or fields.mistakes.found:
        return
    for name in choice.objectives or ():
        if name not in commands:
            fields.note(KEY, f"Objective {name!r} is to run on the board and has no command; give it one.")
    if not commands:
        fields.note(KEY, "No objective has a command that could run on the board; leave board out, or give one.")
