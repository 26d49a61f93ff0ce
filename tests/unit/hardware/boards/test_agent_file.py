"""The file of the agent reaches a board."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from tests.unit.hardware.boards.fake_xavier import fake_ssh, program

from flexibo.hardware.boards import AGENT_PATH, BoardError, SshPlace, agent_digest, agent_text, install


def test_the_agent_imports_nothing_of_flexibo_and_its_digest_is_that_of_the_file() -> None:
    assert b"import flexibo" not in agent_text()
    assert b"from flexibo" not in agent_text()
    assert agent_digest() == hashlib.sha256(agent_text()).hexdigest()


def test_installing_copies_it_for_the_user_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(fake_ssh(tmp_path, tmp_path)), prepend=":")
    install(SshPlace("nano@board"))
    copied = tmp_path / "home" / AGENT_PATH
    assert copied.read_bytes() == agent_text()
    assert copied.stat().st_mode & 0o077 == 0
    install(SshPlace("nano@board", agent="it's/here.py"))
    assert (tmp_path / "home/it's/here.py").read_bytes() == agent_text()


def test_a_board_that_is_gone_or_full_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(fake_ssh(tmp_path, tmp_path)), prepend=":")
    with pytest.raises(BoardError, match=r"gone@board.*No route"):
        install(SshPlace("gone@board"))
    program(tmp_path / "bin/ssh", "#!/bin/sh\ncat > /dev/null; exit 1\n")
    with pytest.raises(BoardError, match="exit status 1"):
        install(SshPlace("nano@board"))
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    with pytest.raises(BoardError, match="ssh"):
        install(SshPlace("nano@board"))
