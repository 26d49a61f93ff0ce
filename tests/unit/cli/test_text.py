"""Lines that fit a terminal."""

from __future__ import annotations

import pytest
from tests.command_line import good

from flexibo.cli._text import UNBROKEN, printable_console, wrapped

COMPARED = ["compare", "--problems=branin-currin:finite", "--methods=random", "--seeds=1", "--budget=1", "--initial=2"]


@pytest.mark.parametrize(("columns", "lines"), [("", 1), ("40", 3)])
def test_lines_for_a_file_or_a_pipe_are_not_broken_unless_a_width_is_given(
    columns: str, lines: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    with printable_console() as console:
        console.print("word " * 20)
    assert len(capsys.readouterr().out.splitlines()) == lines


@pytest.mark.parametrize(
    "command",
    [["methods"], pytest.param(["problems"], marks=pytest.mark.variant), ["systems"], ["data"], COMPARED],
    ids=lambda command: command[0],
)
def test_no_command_breaks_its_lines_for_a_file_or_a_pipe(command: list[str]) -> None:
    whole = good(*command, env={"COLUMNS": ""})
    assert whole == good(*command, env={"COLUMNS": str(UNBROKEN)})
    assert max(map(len, whole.splitlines())) < UNBROKEN
    assert len(whole.splitlines()) < len(good(*command, env={"COLUMNS": "30"}).splitlines())


@pytest.mark.parametrize("width", range(20, 60))
def test_a_number_is_never_parted_from_its_unit_of_time(width: int) -> None:
    lines = wrapped("Begun 2026-11-15 18:29:59, 2.5 h ago; 63 events, the last 13 s ago.", width)
    assert max(map(len, lines)) <= width
    text = "\n".join(lines)
    assert all(whole in text for whole in ("2026-11-15 18:29:59", "2.5 h ago", "13 s ago"))
