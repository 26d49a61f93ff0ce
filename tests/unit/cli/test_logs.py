"""Log messages as JSON lines."""

from __future__ import annotations

import json
import logging
import sys
import warnings
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from flexibo.cli import app
from flexibo.cli._exit_status import exit_with_status
from flexibo.cli._logs import JSONLines, complain, log_as_json_lines, logs_json_lines, report, waiting_said

HARM = 'two\nlines \x1b[2J "quoted" é \ud800'


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    """What a test changed in the logging of this process is undone."""
    root, own = logging.getLogger(), logging.getLogger("flexibo")
    handlers, level, shown = list(root.handlers), own.level, warnings.showwarning
    yield
    root.handlers = handlers
    own.setLevel(level)
    logging.captureWarnings(False)
    warnings.showwarning = shown


def lines_of(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def record(**fields: Any) -> logging.LogRecord:
    given = {"name": "flexibo.study", "level": logging.WARNING, "pathname": "", "lineno": 1, "msg": "%s failed"}
    return logging.LogRecord(**(given | {"args": (7,), "exc_info": None} | fields))


def test_a_record_is_one_line_of_ascii() -> None:
    text = JSONLines().format(record(msg=HARM, args=()))
    assert text.isascii()
    assert text.isprintable()
    (line,) = lines_of(text)
    assert line["message"] == HARM
    assert (line["level"], line["logger"]) == ("warning", "flexibo.study")
    assert line["time"].endswith("+00:00")
    assert "exception" not in line


def test_an_exception_has_its_traceback() -> None:
    try:
        raise KeyError("x")
    except KeyError:
        (line,) = lines_of(JSONLines().format(record(exc_info=sys.exc_info())))
    assert "KeyError" in line["exception"]
    assert line["message"] == "7 failed"


def test_messages_from_info_on_and_warnings_are_logged(capsys: pytest.CaptureFixture[str]) -> None:
    assert not logs_json_lines()
    complain("flexibo: plain")
    assert capsys.readouterr().err == "flexibo: plain\n"
    log_as_json_lines()
    assert logs_json_lines()
    logging.getLogger("flexibo.study").info("stopped")
    logging.getLogger("flexibo.study").debug("hidden")
    logging.getLogger("another").warning("heard")
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        logging.captureWarnings(True)
        warnings.warn("old", DeprecationWarning, stacklevel=1)
    complain("flexibo: wrong")
    lines = lines_of(capsys.readouterr().err)
    assert [line["level"] for line in lines] == ["info", "warning", "warning", "error"]
    assert lines[0]["message"] == "stopped"
    assert lines[-1]["message"] == "wrong"


@pytest.mark.parametrize("by", ["option", "variable"])
def test_an_error_of_a_command_is_a_line(
    by: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["status", "--storage", f"sqlite:///{tmp_path}/missing.db"]
    if by == "variable":
        monkeypatch.setenv("FLEXIBO_LOG_JSON", "1")
    else:
        words = ["--log-json", *words]
    with pytest.raises(SystemExit) as ended:
        exit_with_status(lambda: app(words, standalone_mode=True))
    assert ended.value.code == 2
    (line,) = lines_of(capsys.readouterr().err)
    assert line["level"] == "error"
    assert "missing.db" in line["message"]


def test_the_help_names_option_and_variable() -> None:
    shown = CliRunner().invoke(app, ["--help"], env={"COLUMNS": "200"}).output
    assert "--log-json" in shown
    assert "FLEXIBO_LOG_JSON" in shown


def test_numbers_that_are_not_finite_are_null() -> None:
    made = record()
    made.facts = {"cost": float("nan"), "values": {"a": float("inf")}}
    found = json.loads(JSONLines().format(made), parse_constant=pytest.fail)
    assert (found["cost"], found["values"]) == (None, {"a": None})


def test_what_a_run_waits_for_is_said_inside_the_context_only() -> None:
    said: list[str] = []
    log = logging.getLogger("flexibo.study.waiting")
    with waiting_said(said.append):
        log.info("Waiting for %s", "others")
    log.info("Waiting again")
    assert said == ["Waiting for others"]


def test_progress_is_a_json_line_where_logs_are(capsys: pytest.CaptureFixture[str]) -> None:
    log_as_json_lines()
    text = "spent 3 of 5 two\nlines \x1b[2J é"  # no surrogate: what is logged must reach other processes of pytest
    report(text)
    (line,) = lines_of(capsys.readouterr().err)
    assert line["message"] == text


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this machine")
@pytest.mark.parametrize("as_json", [False, True])
def test_a_full_disk_under_standard_error_ends_nothing(as_json: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    reported = 0
    with suppress(OSError), open("/dev/full", "w", buffering=1) as full:  # closing it fails, too
        monkeypatch.setattr(sys, "stderr", full)
        if as_json:
            log_as_json_lines()
        report("spent 3 of 5")
        reported += 1
    assert reported == 1
