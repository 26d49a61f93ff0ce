"""Links to a board: lines of JSON over ssh, or over a loopback socket whose two ends show each other a token.

The agent ends what it runs and restores the board as soon as a link is closed, so closing one is all that an
interruption here needs.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import select
import shlex
import socket
import stat
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from flexibo._internal.text import printable_line
from flexibo.errors import InvalidValueError, MachineError

AGENT_PATH = ".flexibo/agent.py"  # in the home folder of the board's user
MOST_LINE = 4 * 1024 * 1024  # bytes: an answer holds at most 128 KiB of output, escaped
MOST_NOISE = 100  # lines that a login shell may print before the agent answers
SILENCE_SECONDS = 60.0  # an agent at work says that it is alive every five seconds
CONNECT_SECONDS = 15.0
END_SECONDS = 5.0
_LOOPBACK = "127.0.0.1"


class BoardError(MachineError):
    """A board cannot be reached, or its agent cannot be used; the message says what to do."""


class BoardPlace(Protocol):
    """Where a board is reached."""

    def ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """The agent's answer to one request."""


@dataclass(frozen=True, slots=True)
class SshPlace:
    """A board reached over ssh, as in ``nano@192.168.0.7``; everything else about it belongs to ``~/.ssh/config``."""

    host: str
    python: str = "python3"  # the program on the board
    agent: str = AGENT_PATH
    sudo: bool = False  # whether the agent runs as root; commands still run as the user

    def __post_init__(self) -> None:
        if not self.host or self.host.startswith("-") or not self.host.isprintable() or " " in self.host:
            raise InvalidValueError(f"The host is {self.host!r}; give one as for ssh, such as nano@192.168.0.7.")

    def __str__(self) -> str:
        return self.host

    def ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """The agent's answer to one request, over a connection of its own."""
        words = [*(["sudo", "-n"] if self.sudo else []), self.python, self.agent, "session"]
        with _program(ssh_command(self.host, " ".join(map(shlex.quote, words)))) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            with suppress(BrokenPipeError):
                process.stdin.write(_line(request))
                process.stdin.flush()
            answer = _answer(_lines(process.stdout.fileno()), str(self))
            if answer is None:
                raise self._failure(process)
            return answer

    def _failure(self, process: subprocess.Popen[bytes]) -> BoardError:
        with suppress(subprocess.TimeoutExpired):
            process.wait(END_SECONDS)
        assert process.stderr is not None
        os.set_blocking(process.stderr.fileno(), False)
        said = (process.stderr.read() or b"").decode(errors="replace").strip().splitlines()
        last = printable_line(said[-1]).rstrip(".") if said else "it said nothing"
        if process.returncode == 255 and not said:
            return BoardError(f"The agent on {self} was killed, or the connection to it was lost; run it again.")
        if process.returncode == 255:
            return BoardError(f"The board {self} cannot be reached: {last}. Try: ssh {self}")
        if any("No such file" in line or "can't open file" in line for line in said):
            return BoardError(f"There is no agent on {self} ({last}); run: flexibo board install {self}")
        if self.sudo and any("sudo" in line for line in said):
            return BoardError(
                f"sudo on {self} does not run the agent without a password ({last}); allow that, or say sudo: false."
            )
        return BoardError(f"The agent on {self} ended without an answer: {last}. Try: flexibo board check {self}")


@dataclass(frozen=True, slots=True)
class SocketPlace:
    """A board whose agent serves a port of this machine's loopback interface: itself, or through a tunnel."""

    port: int
    token_file: str

    def __post_init__(self) -> None:
        if not 1 <= self.port <= 65535:
            raise InvalidValueError(f"The port is {self.port}; it must be from 1 to 65535.")

    def __str__(self) -> str:
        return f"port {self.port}"

    def ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """The agent's answer to one request, over a connection of its own."""
        token = read_token(self.token_file)
        try:
            connection = socket.create_connection((_LOOPBACK, self.port), timeout=CONNECT_SECONDS)
        except OSError as error:
            raise BoardError(
                f"No agent answers on {_LOOPBACK}:{self.port} ({error.strerror or error}); start it with: "
                "python3 agent.py serve"
            ) from None
        with connection:
            connection.settimeout(None)
            lines = _lines(connection.fileno())
            self._greet(connection, lines, token)
            with suppress(OSError):
                connection.sendall(_line(request))
            answer = _answer(lines, str(self))
        if answer is None:
            raise BoardError(f"The agent on {self} closed the connection; see what it printed there.")
        return answer

    def _greet(self, connection: socket.socket, lines: Iterator[bytes], token: bytes) -> None:
        """Show that we know the token, and see that the other side does: any program may listen on a port."""
        mine = secrets.token_hex(16)
        hello = _answer(lines, str(self)) or {}
        nonces = f"{hello.get('nonce')} {mine}"
        with suppress(OSError):
            connection.sendall(_line({"nonce": mine, "proof": _proof(token, "client", nonces)}))
        said = _answer(lines, str(self)) or {}
        if not hmac.compare_digest(str(said.get("proof")).encode(), _proof(token, "agent", nonces).encode()):
            raise BoardError(
                f"The agent on {self} has another token than {self.token_file}; copy the board's to this machine."
            )


def ssh_command(host: str, command: str) -> list[str]:
    """The words that run a command on a host; it asks for no password, and notices a host that is gone."""
    options = {"BatchMode": "yes", "ConnectTimeout": f"{CONNECT_SECONDS:.0f}", "ServerAliveInterval": "15"}
    return [
        "ssh",
        *(word for name, value in options.items() for word in ("-o", f"{name}={value}")),
        "--",
        host,
        command,
    ]


def read_token(path: str) -> bytes:
    """The token in a file that nobody else may read."""
    file = Path(path).expanduser()
    try:
        if file.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise BoardError(f"Others may read the token {file}; run: chmod 600 {file}")
        return file.read_bytes()[:4096].strip()
    except OSError as error:
        raise BoardError(f"The token {file} cannot be read: {error.strerror}; copy that of the board.") from None


def _proof(token: bytes, who: str, nonces: str) -> str:
    return hmac.new(token, f"{who} {nonces}".encode(), hashlib.sha256).hexdigest()


@contextmanager
def _program(words: list[str]) -> Iterator[subprocess.Popen[bytes]]:
    """A program in a session of its own, so that Ctrl-C reaches us first; at the end it is ended."""
    try:
        process = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
        )
    except OSError as error:
        raise BoardError(f"{words[0]} cannot be started ({error.strerror}); boards are reached with it.") from None
    try:
        yield process
    finally:
        for stream in (process.stdin, process.stdout):  # at that, the agent ends its command and restores the board
            with suppress(OSError):
                stream.close()  # type: ignore[union-attr]  # a pipe
        try:
            process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stderr.close()  # type: ignore[union-attr]  # a pipe


def _line(request: Mapping[str, Any]) -> bytes:
    return json.dumps(request).encode() + b"\n"


def _lines(descriptor: int) -> Iterator[bytes]:
    """The lines that arrive; silence for a minute, or a line without end, is an error."""
    rest = b""
    while True:
        if not select.select([descriptor], [], [], SILENCE_SECONDS)[0]:
            raise BoardError(f"The board has said nothing for {SILENCE_SECONDS:g} s; see whether it is up.")
        try:
            chunk = os.read(descriptor, 1 << 16)
        except OSError:
            chunk = b""
        if not chunk:
            return
        *whole, rest = (rest + chunk).split(b"\n")
        yield from whole
        if len(rest) > MOST_LINE:
            raise BoardError(f"The board answered with more than {MOST_LINE} bytes in a line; install its agent again.")


def _answer(lines: Iterator[bytes], who: str) -> dict[str, Any] | None:
    """The next answer; None if there is none. What a login shell prints first, and signs of life, are left out."""
    noise = 0
    for line in lines:
        try:
            said = json.loads(line)
        except (ValueError, RecursionError):
            said = None
        if isinstance(said, dict):
            if "alive" not in said:
                return said
        elif (noise := noise + 1) > MOST_NOISE:
            raise BoardError(f"{who} prints other things than answers; keep its login shell quiet.")
    return None
