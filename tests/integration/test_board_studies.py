"""Studies that measure on a board: a Xavier in a folder, reached over a program ssh of this test."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from tests.command_line import call, good, mentions, refusal
from tests.forked import COMMAND_LINE, Command, imported
from tests.unit.hardware.boards.fake_xavier import WATTS, begun, eventually, fake_ssh, program, xavier
from tests.unit.hardware.fake_linux import contents

from flexibo import Study
from flexibo.hardware.boards import SshPlace, install
from flexibo.hardware.knobs import Roots

STUDY = """
name: boards
seed: 0
method: random
lease: 2s
board:
  host: nano@board
  folder: work
  objectives: [energy]
options:
  batch: [1, 2, 4]
knobs:
  active_cores: [2, 8]
objectives:
  energy:
    unit: J
    command: ./infer.sh {batch}
    meter: auto
  seconds: {measured_with: energy, quantity: seconds, unit: s, at_most: 1000}
  printed: {measured_with: energy}
  error: {options: [batch], command: "echo $(expr 10 - {batch}) 1"}
n_initial: 2
stop: {max_evaluations: 6}
"""
# The value printed shows that the design and the setting of the board have arrived.
INFER = """#!/bin/sh
sum=1; for file in {root}/sys/devices/system/cpu/cpu*/online; do sum=$((sum + $(cat $file))); done
[ -e wait ] && {{ touch running; sleep 60; }}
sleep 0.05
echo "{{\\"printed\\": $((100 * $1 + sum))}}"
"""


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = xavier(tmp_path / "xavier")
    monkeypatch.setenv("PATH", str(fake_ssh(tmp_path / "there", root)), prepend=":")
    install(SshPlace("nano@board"))
    program(tmp_path / "there/home/work/infer.sh", INFER.format(root=root))
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    Path("study.yaml").write_text(STUDY)
    return root


def files(root: Path) -> dict[str, str]:
    return {path: text.strip() for path, text in contents(Roots(root / "sys", root / "proc")).items()}


def test_a_study_measures_on_the_board_and_leaves_it_as_it_was(root: Path) -> None:
    before = files(root)
    assert mentions(good("run", "study.yaml", "--dry-run"), "on nano@board")
    output = good("run", "study.yaml", "--try")
    assert mentions(output, "INA3221", "nano@board")
    good("run", "study.yaml")
    assert files(root) == before
    study = Study.load("sqlite:///boards.db", "boards")
    readings = [one for one in study.history.measurements if "energy" in one.values]
    assert len(readings) >= 2
    for one in readings:
        assert one.values["printed"] == 100 * one.design["batch"] + one.design["active_cores"]
        assert one.values["energy"] == pytest.approx(WATTS * one.values["seconds"], rel=0.3)
    assert "INA3221" in study.history.origin["meters"]["energy"]


def test_what_the_board_lacks_is_said_before_anything_runs(root: Path) -> None:
    Path("study.yaml").write_text(STUDY.replace("[2, 8]", "[2, 12]").replace("meter: auto", "meter: rapl"))
    assert mentions(refusal("run", "study.yaml"), "nano@board", "RAPL", "12")
    assert not Path("boards.db").exists()
    Path("study.yaml").write_text(STUDY.replace("nano@", "gone@"))
    assert mentions(refusal("run", "study.yaml"), "gone@board", "No route")


@pytest.mark.slow
def test_a_study_measures_through_a_port_with_a_token(root: Path, tmp_path: Path) -> None:
    agent = begun(tmp_path / "served", root, "serve", "--port", "0")
    assert agent.stdout is not None
    port = agent.stdout.readline().decode().split("127.0.0.1:")[1].split(",")[0]
    place = f"port: {port}\n  token_file: {tmp_path / 'served/token'}"
    work = tmp_path / "there/home/work"
    Path("study.yaml").write_text(STUDY.replace("host: nano@board", place).replace("folder: work", f"folder: {work}"))
    assert mentions(good("run", "study.yaml"), "6")
    agent.terminate()
    agent.communicate()


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL], ids=["Ctrl-C", "kill -9"])
def test_a_study_that_ends_in_the_middle_leaves_the_board_as_it_was(
    root: Path, tmp_path: Path, number: signal.Signals
) -> None:
    before, work = files(root), tmp_path / "there/home/work"
    (work / "wait").touch()
    with imported(*COMMAND_LINE):
        running = Command(Path.cwd(), "run", "study.yaml")
    eventually(lambda: (work / "running").exists(), 60)
    running.send_signal(number)
    running.communicate(timeout=60)
    eventually(lambda: files(root) == before)
    (work / "wait").unlink()
    assert call("run", "study.yaml").exit_code == 0
    assert files(root) == before
