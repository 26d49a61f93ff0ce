"""Links: what can go wrong on the way to a board is one sentence that says what to do."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.unit.hardware.boards.fake_xavier import fake_ssh, program
from tests.unit.hardware.fake_linux import put

from flexibo.errors import InvalidValueError
from flexibo.hardware.boards import BoardError, SocketPlace, SshPlace, links

TOKEN = "0123456789abcdef"


@pytest.fixture
def ssh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The program ssh of a board without an agent."""
    folder = fake_ssh(tmp_path, tmp_path)
    monkeypatch.setenv("PATH", str(folder), prepend=":")
    return folder / "ssh"


def token_in(folder: Path, text: str = TOKEN) -> str:
    file = put(folder / "token", text)
    file.chmod(0o600)
    return str(file)


@pytest.mark.parametrize("host", ["", "-oProxyCommand=reboot", "a b", "a\nb"])
def test_a_host_that_ssh_would_misread_is_refused(host: str) -> None:
    with pytest.raises(InvalidValueError, match="host"):
        SshPlace(host)


def test_a_port_is_a_port() -> None:
    for port in (0, 65536):
        with pytest.raises(InvalidValueError, match=str(port)):
            SocketPlace(port, "token")


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("echo 'Permission denied (publickey).' >&2; exit 255", r"publickey.*ssh nano@board"),
        ("exit 255", "killed"),
        ("exit 0", r"said nothing.*board check"),
        ("echo 'sh: 1: python3: not found' >&2; exit 127", r"python3"),
        ("echo 'sudo: a password is required' >&2; exit 1", r"sudo: false"),
        ("yes", "login shell"),
    ],
)
def test_an_ssh_that_does_not_lead_to_an_agent_says_why(ssh: Path, script: str, words: str) -> None:
    program(ssh, f"#!/bin/sh\n{script}\n")
    with pytest.raises(BoardError, match=words):
        SshPlace("nano@board", sudo=True).ask({"do": "check"})


def test_without_an_agent_the_error_says_how_to_install_it(ssh: Path) -> None:
    with pytest.raises(BoardError, match="board install nano@board"):
        SshPlace("nano@board").ask({"do": "check"})


def test_what_a_login_shell_prints_first_and_signs_of_life_are_left_out(ssh: Path) -> None:
    program(ssh, """#!/bin/sh\necho Welcome; echo '{"alive": true}'; echo '{"ok": true}'; cat > /dev/null\n""")
    assert SshPlace("nano@board").ask({"do": "check"}) == {"ok": True}


def test_a_board_that_falls_silent_or_never_stops_is_an_error(ssh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(ssh, "#!/bin/sh\ncat > /dev/null\n")
    monkeypatch.setattr(links, "SILENCE_SECONDS", 0.05)
    with pytest.raises(BoardError, match=r"0\.05 s"):
        SshPlace("nano@board").ask({"do": "check"})
    monkeypatch.setattr(links, "SILENCE_SECONDS", 20)
    monkeypatch.setattr(links, "MOST_LINE", 1000)
    program(ssh, "#!/bin/sh\nhead -c 100000 /dev/zero\n")
    with pytest.raises(BoardError, match="1000"):
        SshPlace("nano@board").ask({"do": "check"})


def test_ssh_asks_for_no_password_and_takes_no_option_from_a_host() -> None:
    words = links.ssh_command("nano@board", "run it")
    assert words[-3:] == ["--", "nano@board", "run it"]
    assert "BatchMode=yes" in words


@pytest.fixture
def impostor() -> Iterator[tuple[int, list[Any]]]:
    """A program that listens on a port and does not know the token; its port, and what it was told."""
    heard: list[Any] = []

    def answer() -> None:
        connection, _ = listener.accept()
        with connection, connection.makefile("rwb") as stream:
            stream.write(b'{"flexibo": 1, "nonce": "abc"}\n')
            stream.flush()
            heard.append(json.loads(stream.readline()))
            stream.write(b'{"ok": true, "proof": "I know it, believe me"}\n')
            stream.flush()
            heard.append(stream.readline())

    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        thread = threading.Thread(target=answer)
        thread.start()
        yield listener.getsockname()[1], heard
        thread.join()


def test_an_impostor_on_the_port_learns_neither_token_nor_request(
    impostor: tuple[int, list[Any]], tmp_path: Path
) -> None:
    port, heard = impostor
    with pytest.raises(BoardError, match="token"):
        SocketPlace(port, token_in(tmp_path)).ask({"do": "run", "command": "secret"})
    assert set(heard[0]) == {"nonce", "proof"}
    assert TOKEN not in str(heard)
    assert heard[1:] in ([], [b""])


def test_a_port_on_which_nobody_listens_says_how_to_start_an_agent(tmp_path: Path) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        with pytest.raises(BoardError, match="serve"):
            SocketPlace(unused.getsockname()[1], token_in(tmp_path)).ask({"do": "check"})


def test_a_token_that_others_can_read_or_that_is_missing_is_refused(tmp_path: Path) -> None:
    file = Path(token_in(tmp_path))
    assert links.read_token(str(file)) == TOKEN.encode()
    file.chmod(0o640)
    with pytest.raises(BoardError, match="chmod 600"):
        links.read_token(str(file))
    with pytest.raises(BoardError, match="nowhere"):
        links.read_token(str(tmp_path / "nowhere"))
