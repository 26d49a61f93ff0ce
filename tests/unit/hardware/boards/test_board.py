"""A board: requests and answers, over a real agent and with answers that no agent gives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.unit.hardware.boards.fake_xavier import WATTS, fake_ssh, xavier

from flexibo.errors import FlexiBOError, InvalidValueError, MachineError
from flexibo.hardware import MeterError
from flexibo.hardware.boards import (
    Board,
    BoardError,
    BoardRequest,
    BoardTimeoutError,
    SshPlace,
    agent_digest,
    install,
    links,
)
from flexibo.hardware.metered import TooShortError

PLACE = SshPlace("nano@board")


@pytest.fixture
def board(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Board:
    monkeypatch.setenv("PATH", str(fake_ssh(tmp_path, xavier(tmp_path / "xavier"))), prepend=":")
    install(PLACE)
    return Board(PLACE)


def answering(monkeypatch: pytest.MonkeyPatch, answer: dict[str, Any]) -> None:
    monkeypatch.setattr(SshPlace, "ask", lambda self, request: answer)


def test_a_command_runs_there_with_its_knobs_and_its_meter(board: Board) -> None:
    request = BoardRequest("pwd; sleep 0.1; echo $A", {"A": "5"}, knobs={"active_cores": 2}, meter="auto")
    reading = board.run(request)
    assert reading.output.split()[0].endswith("/home")
    assert reading.output.split()[1:] == ["5"]
    assert reading.run is not None
    assert reading.run.watts == pytest.approx(WATTS, rel=0.2)
    assert reading.celsius == (41.5, 41.5)
    assert (reading.status, reading.idle) == (0, None)


def test_a_check_says_what_is_missing(board: Board) -> None:
    found = board.check(meters=("rapl",), knobs={"active_cores": [1, 9]})
    assert ["RAPL" in found["problems"][0], "9" in found["problems"][1]] == [True, True]


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        ("machine", MeterError),
        ("machine", MachineError),
        ("value", InvalidValueError),
        ("short", TooShortError),
        ("timeout", BoardTimeoutError),
        ("request", BoardError),
        ("unheard of", BoardError),
        (None, BoardError),
    ],
)
def test_failures_of_an_agent_are_errors_here(
    monkeypatch: pytest.MonkeyPatch, kind: str | None, error: type[FlexiBOError]
) -> None:
    answering(monkeypatch, {"ok": False, "kind": kind, "error": "Too hot.", "agent": agent_digest()})
    with pytest.raises(error, match=r"nano@board: Too hot"):
        Board(PLACE).run(BoardRequest("true", {}))


def test_a_short_work_is_no_fault_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    answering(monkeypatch, {"ok": False, "kind": "short", "error": "Too short.", "agent": agent_digest()})
    with pytest.raises(TooShortError) as error:
        Board(PLACE).run(BoardRequest("true", {}))
    assert not isinstance(error.value, MachineError)


def test_an_agent_of_another_version_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    answering(monkeypatch, {"ok": True, "agent": "another"})
    with pytest.raises(BoardError, match="board install nano@board"):
        Board(PLACE).check()


@pytest.mark.parametrize(
    "answer",
    [{}, {"status": "x"}, {"status": 0, "output": "", "errors": "", "celsius_before": [1], "celsius_after": 1}],
)
def test_an_answer_that_is_none_is_refused(monkeypatch: pytest.MonkeyPatch, answer: dict[str, Any]) -> None:
    answering(monkeypatch, {"ok": True, "agent": agent_digest(), **answer})
    with pytest.raises(BoardError, match="understood"):
        Board(PLACE).run(BoardRequest("true", {}))


def test_what_a_board_says_is_shown_without_its_escapes(monkeypatch: pytest.MonkeyPatch) -> None:
    answering(monkeypatch, {"ok": False, "kind": "machine", "error": "red\x1b[31m\nline", "agent": agent_digest()})
    with pytest.raises(BoardError) as error:
        Board(PLACE).check()
    assert str(error.value).isprintable()
    found = {"problems": ["a\x1b[31m"], "opened": {}, "hostname": "x\ny", "restored": 0}
    answering(monkeypatch, {"ok": True, "agent": agent_digest(), **found})
    checked = Board(PLACE).check()
    assert "".join((*checked["problems"], checked["hostname"])).isprintable()
    answering(monkeypatch, {"ok": True, "agent": agent_digest(), "problems": 5})
    with pytest.raises(BoardError, match="understood"):
        Board(PLACE).check()


def test_links_are_closed_after_an_error(board: Board, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(links, "SILENCE_SECONDS", 0.5)
    with pytest.raises(BoardError, match="nothing"):
        board.run(BoardRequest("sleep 60", {}, knobs={"swappiness": 10}))
    monkeypatch.setattr(links, "SILENCE_SECONDS", 20)
    assert board.check()["knobs"]["swappiness"]["now"] == 60
