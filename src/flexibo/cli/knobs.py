"""``flexibo knobs``: lists machine settings, sets them while a command runs, and restores them."""

from __future__ import annotations

import os
import re
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flexibo.cli._child import run_child
from flexibo.cli._help import HelpfulCommand, HelpfulGroup
from flexibo.cli._options import JSONFlag
from flexibo.cli._text import print_json
from flexibo.errors import InvalidValueError

if TYPE_CHECKING:
    from flexibo.hardware.knobs import Journal, Knob, Level, LinuxMachine, Write

knobs = typer.Typer(
    name="knobs",
    cls=HelpfulGroup,
    help="List machine settings, set them while a command runs, and restore what a killed session left.",
    no_args_is_help=True,
    add_completion=False,
)

JournalOption = Annotated[
    Path | None, typer.Option("--journal", help="The file that records changes; by default one per user.")
]
AllowGpu = Annotated[bool, typer.Option("--allow-gpu", help="Allow setting clocks and power limits of NVIDIA GPUs.")]
SysOption = Annotated[Path, typer.Option("--sys", help="Where /sys is.", envvar="FLEXIBO_SYS", hidden=True)]
ProcOption = Annotated[Path, typer.Option("--proc", help="Where /proc is.", envvar="FLEXIBO_PROC", hidden=True)]
SYS, PROC = Path("/sys"), Path("/proc")
_SETTING = re.compile(r"(\w+)=(.*)")


@knobs.command(cls=HelpfulCommand, name="list")
def list_knobs(
    allow_gpu: AllowGpu = False, json: JSONFlag = False, sys: SysOption = SYS, proc: ProcOption = PROC
) -> None:
    """Show each knob: its value, the possible values, and whether you may set it."""
    from flexibo.hardware.knobs import state

    machine, found = _machine(sys, proc, allow_gpu)
    states = [state(knob, machine) for knob in found]
    if json:
        print_json([asdict(one) for one in states])
        return
    for one in states:
        present = "" if one.present is None else f"  now {_shown(one.present)}"
        offered = f"  of {', '.join(map(_shown, one.offered))}" if one.offered else ""
        typer.echo(f"{one.name}{present}{offered}")
        if one.refusal:
            typer.echo(f"    {one.refusal}")


@knobs.command(cls=HelpfulCommand, name="set")
def set_knobs(
    words: Annotated[
        list[str], typer.Argument(metavar="NAME=VALUE... -- COMMAND...", help="Settings, then the command to run.")
    ],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the changes; make none.")] = False,
    journal: JournalOption = None,
    allow_gpu: AllowGpu = False,
    sys: SysOption = SYS,
    proc: ProcOption = PROC,
) -> None:
    """Run a command with these settings, then restore them; the exit status is the command's."""
    from flexibo.hardware.knobs import settings

    values, command = _parted(words)
    if not values:
        raise InvalidValueError("No setting is given; give some as NAME=VALUE, such as swappiness=10.")
    if not command and not dry_run:
        raise InvalidValueError("No command is given; give one after --, because settings are restored when it ends.")
    machine, found = _machine(sys, proc, allow_gpu)
    with settings(found, values, machine=machine, journal=_journal(journal, machine), dry_run=dry_run) as writes:
        if dry_run:
            typer.echo("\n".join(map(_described, writes)) or "Nothing would be written: all is as wanted.")
            return
        status = run_child(command)
    raise typer.Exit(status)


@knobs.command(cls=HelpfulCommand, name="restore")
def restore_knobs(
    journal: JournalOption = None,
    force: Annotated[
        bool, typer.Option("--force", help="Even if the journal is from another boot, or its process is alive.")
    ] = False,
    sys: SysOption = SYS,
    proc: ProcOption = PROC,
) -> None:
    """Restore the settings that a killed session left."""
    from flexibo.hardware.knobs import restore

    machine, _ = _machine(sys, proc, allow_gpu=True)
    kept = _journal(journal, machine)
    undone = restore(kept, machine=machine, force=force)
    for write in undone:
        typer.echo(f"{write.undo_path}: {write.before}")
    typer.echo(
        f"Put back {len(undone)} setting{'' if len(undone) == 1 else 's'}."
        if undone
        else f"Nothing to put back: there is no setting in {kept.path}."
    )


def _machine(sys: Path, proc: Path, allow_gpu: bool) -> tuple[LinuxMachine, tuple[Knob, ...]]:
    from flexibo.hardware.knobs import LinuxMachine, NvidiaGpus, NvpModel, Roots, all_knobs

    gpus = NvidiaGpus(allow=allow_gpu)
    roots = Roots(sys, proc)
    machine = LinuxMachine(roots, gpus, NvpModel(roots))
    return machine, all_knobs(machine, gpus)


def _journal(path: Path | None, machine: LinuxMachine) -> Journal:
    from flexibo.hardware.knobs import Journal, default_path

    return Journal(path or default_path(os.environ, Path.home()), machine.roots)


def _parted(words: list[str]) -> tuple[dict[str, Level], list[str]]:
    """The settings and the command after them.

    >>> _parted(["swappiness=10", "scheduler=NOOP", "dd", "if=/dev/zero"])
    ({'swappiness': 10, 'scheduler': 'NOOP'}, ['dd', 'if=/dev/zero'])
    """
    values: dict[str, Level] = {}
    for position, word in enumerate(words):
        found = _SETTING.fullmatch(word)
        if found is None:
            return values, words[position:]
        name, text = found.groups()
        if name in values:
            raise InvalidValueError(f"Knob {name!r} is given twice; give it once.")
        values[name] = _value(text)
    return values, []


def _value(text: str) -> Level:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def _described(write: Write) -> str:
    elsewhere = f" in {write.before_path}" if write.before_path else ""
    return f"{write.path}: {write.value} (put back: {write.before}{elsewhere})"


def _shown(value: Level) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
