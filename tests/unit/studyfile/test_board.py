"""The board of a study file: how it is read, what is a mistake, and what is asked of the agent."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from flexibo.errors import InvalidValueError, MachineError
from flexibo.executors.measure import TookTooLongError
from flexibo.hardware.boards import Board, SocketPlace, SshPlace, agent_digest
from flexibo.space import Design
from flexibo.studyfile import Command, StudyFile
from flexibo.studyfile.command import CommandError

STUDY = """
options: {batch: [1, 4]}
knobs: {gpu_frequency: [0.6, 1.2], fan: [0, 255]}
board:
  BOARD
  own_knobs: {fan: {path: /sys/devices/pwm-fan/target_pwm}}
objectives:
  energy: {command: "./infer {batch}", meter: {name: ina3221, idle: 5s}, timeout: 9s}
  seconds: {measured_with: energy, quantity: seconds}
  error: {command: echo 1, options: [batch]}
"""
DESIGN = Design({"batch": 4, "gpu_frequency": 1.2, "fan": 255})
READING = {
    "ok": True,
    "agent": agent_digest(),
    "hostname": "xavier",
    "status": 0,
    "output": "7\n",
    "errors": "",
    "joules": 30.0,
    "seconds": 2.0,
    "meter": "INA3221, VDD_IN",
    "idle_watts": 5.0,
    "idle_spread": 0.5,
    "celsius_before": 40.0,
    "celsius_after": 50.0,
    "slowed_down": {},
}


def file_text(board: str) -> str:
    return STUDY.replace("  BOARD\n", "".join(f"  {line}\n" for line in board.split("; ")))


OVER_SSH = file_text("host: nano@board; folder: work; sudo: true; objectives: [energy]")


class FakeAgent:
    """Answers requests over ssh, and notes them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.requests: list[dict[str, Any]] = []
        self.answer: dict[str, Any] = READING
        monkeypatch.setattr(SshPlace, "ask", self._ask)

    def _ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
        self.requests.append(dict(request))
        return self.answer


@pytest.fixture
def agent(monkeypatch: pytest.MonkeyPatch) -> FakeAgent:
    return FakeAgent(monkeypatch)


def command_of(file: StudyFile, name: str) -> Command:
    command = file.measures[name]
    assert isinstance(command, Command)
    return command


def test_a_command_runs_on_the_board_with_its_knobs_and_meter(read: Any, agent: FakeAgent) -> None:
    file = read(OVER_SSH)
    board = command_of(file, "energy").board
    assert board is not None
    assert board.place == SshPlace("nano@board", sudo=True)
    assert command_of(file, "error").board is None
    assert command_of(file, "energy")(DESIGN) == {"energy": 20.0, "seconds": 2.0}
    asked = agent.requests[0]
    assert (asked["do"], asked["folder"], asked["timeout"], asked["meter"]) == ("run", "work", 9.0, "ina3221")
    assert asked["knobs"] == {"gpu_frequency": 1.2, "fan": 255}
    assert asked["described"] == {"fan": {"path": "/sys/devices/pwm-fan/target_pwm"}}
    assert asked["environment"]["FLEXIBO_OPTION_BATCH"] == "4"
    assert "FLEXIBO_PYTHON" not in asked["environment"]
    assert (asked["idle_seconds"], asked["idle_watts"]) == (5.0, None)
    command_of(file, "energy")(DESIGN)
    assert (agent.requests[1]["idle_seconds"], agent.requests[1]["idle_watts"]) == (None, 5.0)


@pytest.mark.parametrize(
    ("answer", "error", "words"),
    [
        ({"status": 3, "errors": "no GPU"}, CommandError, "no GPU"),
        ({"status": 127, "errors": "sh: infer: not found"}, MachineError, "not found"),
        ({"ok": False, "kind": "timeout", "error": "Long."}, TookTooLongError, "9"),
        ({"ok": False, "kind": "value", "error": "Knob 'fan' is 1."}, InvalidValueError, "fan"),
        ({"ok": False, "kind": "machine", "error": "Too hot."}, MachineError, "Too hot"),
    ],
)
def test_what_goes_wrong_there_is_an_error_here(
    read: Any, agent: FakeAgent, answer: dict[str, Any], error: type[Exception], words: str
) -> None:
    agent.answer = READING | answer
    with pytest.raises(error, match=words):
        command_of(read(OVER_SSH), "energy")(DESIGN)


def test_without_a_meter_the_command_prints_its_value_and_all_commands_run_there(read: Any, agent: FakeAgent) -> None:
    file = read(
        file_text("host: nano@board")
        .replace("meter: {name: ina3221, idle: 5s}, ", "")
        .replace("{measured_with: energy, quantity: seconds}", "{command: echo 2}")
    )
    assert command_of(file, "energy")(DESIGN) == 7.0
    assert command_of(file, "error").board == command_of(file, "seconds").board
    assert agent.requests[0]["meter"] is None


def test_its_meters_and_knobs_are_checked_there_before_the_run(read: Any, agent: FakeAgent) -> None:
    agent.answer = {"ok": True, "agent": agent_digest(), "hostname": "xavier", "problems": [], "restored": 3}
    agent.answer["opened"] = {"ina3221": "INA3221, VDD_IN"}
    file, restored = read(OVER_SSH).on_this_machine({"energy", "error"})
    assert (file.meters, restored) == ({"energy": "INA3221, VDD_IN on xavier"}, 3)
    assert agent.requests[0]["values"] == {"gpu_frequency": [0.6, 1.2], "fan": [0, 255]}
    assert agent.requests[0]["meters"] == ["ina3221"]
    assert read(OVER_SSH).on_this_machine({"error"})[1] == 0
    assert len(agent.requests) == 1
    agent.answer["problems"] = ["There is no GPU."]
    with pytest.raises(MachineError, match=r"nano@board.*no GPU"):
        read(OVER_SSH).on_this_machine({"energy"})


def test_a_port_has_a_token_beside_the_file(read: Any, tmp_path: Path) -> None:
    text = file_text("port: 7700; token_file: token; objectives: [energy]")
    board = command_of(read(text), "energy").board
    assert board == Board(SocketPlace(7700, str(tmp_path / "token")), "", board.described if board else ())


def test_readings_on_a_board_do_not_overlap_and_its_knobs_leave_this_machine_free(read: Any) -> None:
    file = read(OVER_SSH + "executor: {name: processes, workers: 2}\n")
    assert file.executor.slots == {"energy": 1}


@pytest.mark.parametrize(
    ("board", "line", "words"),
    [
        ("folder: x", 5, ["host", "port"]),
        ("host: a; port: 5", 5, ["both"]),
        ("host: -oProxyCommand=x", 5, ["ssh"]),
        ("host: a; token_file: x", 6, ["token_file"]),
        ("port: 5; sudo: true; token_file: x", 6, ["sudo"]),
        ("port: 5", 5, ["token_file"]),
        ("port: 0; token_file: x", 5, ["port"]),
        ("host: a; user: b", 6, ["user"]),
        ("host: a; objectives: [enrgy]", 6, ["energy"]),
    ],
)
def test_mistakes_of_a_board_have_their_places(mistakes: Any, board: str, line: int, words: list[str]) -> None:
    found = mistakes(file_text(board))
    assert [one[0] for one in found] == [line]
    assert all(word in found[0][2] for word in words)


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ("fan: [0, 255]", "fann: [0, 255]", ["fann", "fan", "board check"]),
        ("gpu_frequency:", "gpu_clock:", ["gpu_clock"]),
        ("{path: /sys/devices/pwm-fan/target_pwm}", "{read: x}", ["fan", "read", "set"]),
        ("{path: /sys/devices/pwm-fan/target_pwm}", "5", ["fan", "path"]),
        ("own_knobs: {fan:", "own_knobs: {swappiness: {path: /sys/x}, fan:", ["swappiness"]),
        (", options: [batch]}", "}", ["error", "gpu_frequency, fan", "board"]),
    ],
)
def test_mistakes_of_its_knobs_are_named(mistakes: Any, before: str, after: str, words: list[str]) -> None:
    found = mistakes(OVER_SSH.replace(before, after))
    assert len(found) == 1
    assert all(word in found[0][2] for word in words)


def test_a_board_needs_a_command(mistakes: Any) -> None:
    found = mistakes(file_text("host: a; objectives: [energy, seconds]"))
    assert [(line, "seconds" in sentence) for line, _, sentence in found] == [(4, True)]
    text = "options: {a: [1, 2]}\nboard: {host: x}\nobjectives: {u: {measured_by: hand}, v: {measured_by: hand}}\n"
    assert [(line, "board" in sentence) for line, _, sentence in mistakes(text)] == [(2, True)]
