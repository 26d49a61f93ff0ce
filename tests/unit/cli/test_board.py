"""The command line of boards, over an ssh that leads to a Xavier in a folder."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from tests.command_line import mentions
from tests.unit.hardware.boards.fake_xavier import fake_ssh, xavier
from typer.testing import CliRunner, Result

from flexibo.cli.board import board
from flexibo.errors import FlexiBOError
from flexibo.hardware.boards import agent_text


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = xavier(tmp_path / "xavier")
    monkeypatch.setenv("PATH", str(fake_ssh(tmp_path / "there", root)), prepend=":")
    return root


def invoke(*words: object) -> Result:
    return CliRunner().invoke(board, list(map(str, words)))


def sentence(result: Result) -> str:
    assert isinstance(result.exception, FlexiBOError), result.output
    assert "\n" not in str(result.exception)
    return str(result.exception)


def test_the_agent_is_written_once(tmp_path: Path) -> None:
    file = tmp_path / "my agent.py"
    assert mentions(invoke("export", file).output, "my agent.py", "check")
    assert file.read_bytes() == agent_text()
    assert "my agent.py" in sentence(invoke("export", file))
    assert invoke("export", file, "--force").exit_code == 0


def test_a_board_is_installed_and_checked(root: Path) -> None:
    assert "flexibo board install nano@board" in sentence(invoke("check", "nano@board"))
    output = invoke("install", "nano@board").output
    assert mentions(output, "Copied", "Jetson-AGX", "Python", "42 °C", "INA3221, GPU + CPU", "RAPL")
    assert mentions(output, "nvpmodel", "active_cores: now 8", "swappiness: now 60", "10, 30, 60, 100")
    found = json.loads(invoke("check", "nano@board", "--json").output)
    assert found["knobs"]["cpu_governor"]["now"] == "schedutil"
    shutil.rmtree(root / "sys/bus")
    assert mentions(invoke("check", "nano@board").output, "No meter")


def test_what_is_missing_is_one_sentence(root: Path, tmp_path: Path) -> None:
    assert "--socket" in sentence(invoke("check"))
    assert "--socket" in sentence(invoke("check", "nano@board", "--socket", 7700))
    assert "--token-file" in sentence(invoke("check", "--socket", 7700))
    assert "nowhere" in sentence(invoke("check", "--socket", 7700, "--token-file", tmp_path / "nowhere"))
    assert "No route" in sentence(invoke("check", "gone@board"))
