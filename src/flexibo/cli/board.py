"""``flexibo board``: the agent for boards that cannot run flexibo: write it, copy it there, see what it finds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flexibo._internal.text import printable_line
from flexibo.cli._files import write_whole
from flexibo.cli._help import HelpfulCommand, HelpfulGroup
from flexibo.cli._options import JSONFlag
from flexibo.cli._text import print_json
from flexibo.errors import InvalidValueError

if TYPE_CHECKING:
    from flexibo.hardware.boards import SocketPlace, SshPlace

board = typer.Typer(
    name="board",
    cls=HelpfulGroup,
    help="Prepare boards that cannot run flexibo: an agent of one file measures there for studies here.",
    no_args_is_help=True,
    add_completion=False,
)

Python = Annotated[str, typer.Option(help="The program that runs the agent on the board: Python 3.6 or later.")]
Agent = Annotated[str, typer.Option(help="Where the agent is on the board.")]
Sudo = Annotated[bool, typer.Option("--sudo", help="Run the agent as root, to change settings; commands stay yours.")]
AGENT = ".flexibo/agent.py"


@board.command(cls=HelpfulCommand)
def export(
    file: Annotated[Path, typer.Argument(help="The file to write.")] = Path("agent.py"),
    force: Annotated[bool, typer.Option("--force", help="Replace the file.")] = False,
) -> None:
    """Write the agent to a file, to copy it to a board by hand."""
    from flexibo.hardware.boards import agent_text

    write_whole(file, [agent_text().decode()], force=force)
    typer.echo(f"Wrote {printable_line(file)}. On the board, 'python3 {file.name} check' says what it finds.")


@board.command(cls=HelpfulCommand)
def install(
    host: Annotated[str, typer.Argument(help="The board as for ssh, such as nano@192.168.0.7.")],
    python: Python = "python3",
    agent: Agent = AGENT,
    sudo: Sudo = False,
) -> None:
    """Copy the agent to a board over ssh, and show what it finds there."""
    from flexibo.hardware.boards import SshPlace
    from flexibo.hardware.boards import install as copy

    place = SshPlace(host, python, agent, sudo)
    copy(place)
    typer.echo(f"Copied the agent to {printable_line(host)}:{printable_line(agent)}.")
    _show(place, json=False)


@board.command(cls=HelpfulCommand)
def check(
    host: Annotated[str | None, typer.Argument(help="The board as for ssh.", show_default=False)] = None,
    socket: Annotated[int | None, typer.Option(help="Instead of a host: the port on which its agent serves.")] = None,
    token_file: Annotated[Path | None, typer.Option(help="With --socket: the file of the agent's token.")] = None,
    python: Python = "python3",
    agent: Agent = AGENT,
    sudo: Sudo = False,
    json: JSONFlag = False,
) -> None:
    """Show what the agent finds on a board: its Python, meters and settings, and what is in the way."""
    from flexibo.hardware.boards import SocketPlace, SshPlace

    if (host is None) == (socket is None):
        raise InvalidValueError("Give either a host, as in nano@192.168.0.7, or --socket PORT --token-file FILE.")
    if host is not None:
        _show(SshPlace(host, python, agent, sudo), json=json)
        return
    if token_file is None:
        raise InvalidValueError("--socket needs --token-file FILE, a copy of the file token beside the agent.")
    _show(SocketPlace(socket or 0, str(token_file)), json=json)


def _show(place: SshPlace | SocketPlace, *, json: bool) -> None:
    from flexibo.hardware.boards import Board
    from flexibo.hardware.boards.agent import finding_lines

    found = Board(place).check()
    if json:
        print_json({key: value for key, value in found.items() if key not in ("ok", "agent", "opened")})
        return
    for line in finding_lines(found):
        typer.echo(printable_line(line))
