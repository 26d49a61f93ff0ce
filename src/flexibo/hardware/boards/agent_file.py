"""The file of the agent: its text, what identifies it, and how it gets to a board."""

from __future__ import annotations

import hashlib
import shlex
import subprocess
from importlib.resources import files
from pathlib import PurePosixPath

from flexibo._internal.text import printable_line
from flexibo.hardware.boards.links import AGENT_PATH, BoardError, SshPlace, ssh_command

INSTALL_SECONDS = 120.0


def agent_text() -> bytes:
    """The agent as it is written to a board."""
    return (files("flexibo.hardware.boards") / "agent.py").read_bytes()


def agent_digest() -> str:
    """The SHA-256 of the agent: one of another version may understand other requests."""
    return hashlib.sha256(agent_text()).hexdigest()


def install(place: SshPlace) -> None:
    """Copy the agent to a board, in place of an older one.

    Raises:
        BoardError: The board cannot be reached, or the file cannot be written there.
    """
    target = place.agent
    folder, draft = shlex.quote(str(PurePosixPath(target).parent)), shlex.quote(f"{target}.new")
    script = f"umask 077 && mkdir -p {folder} && cat > {draft} && mv {draft} {shlex.quote(target)}"
    try:
        done = subprocess.run(
            ssh_command(place.host, script), input=agent_text(), capture_output=True, timeout=INSTALL_SECONDS
        )
    except OSError as error:
        raise BoardError(f"ssh cannot be started ({error.strerror}); boards are reached with it.") from None
    except subprocess.TimeoutExpired:
        raise BoardError(f"Copying the agent to {place} took longer than {INSTALL_SECONDS:g} s.") from None
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        last = printable_line(said[-1]).rstrip(".") if said else f"exit status {done.returncode}"
        raise BoardError(f"The agent cannot be copied to {place}: {last}. Try: ssh {place}")


__all__ = ["AGENT_PATH", "agent_digest", "agent_text", "install"]
