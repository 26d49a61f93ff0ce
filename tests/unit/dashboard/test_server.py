"""Where the dashboard listens, its token, and its command line."""

from __future__ import annotations

import errno
import os
import re
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from flexibo import Study
from flexibo.cli.dashboard import dashboard
from flexibo.dashboard.connections import MOST, LoopErrors, most_connections
from flexibo.dashboard.server import SHORTEST_TOKEN, bound_address, chosen_token
from flexibo.errors import FlexiBOError, InvalidValueError, MissingExtraError


def test_any_free_port_can_be_taken() -> None:
    place = bound_address("127.0.0.1", 0)
    with place.listening:
        assert place.port > 0
        assert place.is_loopback
        assert place.url(None) == f"http://127.0.0.1:{place.port}/"
        assert place.url("secret") == f"http://127.0.0.1:{place.port}/?token=secret"


def test_a_port_in_use_is_one_sentence_that_names_a_free_one() -> None:
    with bound_address("127.0.0.1", 0).listening as taken:
        port = taken.getsockname()[1]
        with pytest.raises(InvalidValueError) as refused:
            bound_address("127.0.0.1", port)
    message = str(refused.value)
    assert f"Port {port} of 127.0.0.1" in message
    assert "--port 0" in message
    named = re.search(r"--port \((\d+) ", message)
    assert named is None or int(named[1]) > port


@pytest.mark.parametrize(
    ("host", "port"), [("127.0.0.1", -1), ("127.0.0.1", 70000), ("a..b", 0), ("", -5), ("203.0.113.9", 0)]
)
def test_a_place_that_cannot_be_had_is_one_sentence(host: str, port: int) -> None:
    with pytest.raises(InvalidValueError) as refused:
        bound_address(host, port)
    assert str(refused.value).endswith(".")


def test_only_loopback_needs_no_token() -> None:
    for host, loopback in (("127.0.0.1", True), ("localhost", True), ("0.0.0.0", False)):
        with (place := bound_address(host, 0)).listening:
            assert place.is_loopback is loopback
    with (place := bound_address("0.0.0.0", 0)).listening:
        assert socket.gethostname() in place.url("t")
    assert chosen_token("", needed=False) is None
    made = {chosen_token("", needed=True) for _ in range(3)}
    assert len(made) == 3
    assert all(len(token or "") >= SHORTEST_TOKEN for token in made)


@pytest.mark.parametrize(
    "token", ["short", "with a-space-in-the-middle", "ümlaut-ümlaut-ümlaut", "a" * 15, "semi;colon;semi;colon"]
)
def test_a_token_that_could_be_guessed_or_misread_is_refused(token: str) -> None:
    with pytest.raises(InvalidValueError) as refused:
        chosen_token(token, needed=False)
    assert token not in str(refused.value)
    assert chosen_token("x" * SHORTEST_TOKEN, needed=False) == "x" * SHORTEST_TOKEN


def test_connections_leave_half_of_the_files_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    import resource

    for soft, most in ((150, 75), (100_000, MOST), (resource.RLIM_INFINITY, MOST)):
        monkeypatch.setattr("resource.getrlimit", lambda _, soft=soft: (soft, soft))
        assert most_connections.__wrapped__() == most


def test_too_few_files_are_one_line_a_minute_and_other_errors_are_not_hidden(caplog: pytest.LogCaptureFixture) -> None:
    passed_on: list[dict[str, Any]] = []
    loop: Any = SimpleNamespace(default_exception_handler=passed_on.append)
    seconds = [0.0]
    complaints = LoopErrors(lambda: seconds[0])
    for now in (0.0, 0.1, 59.0, 60.0, 60.1):
        seconds[0] = now
        complaints(loop, {"exception": OSError(errno.EMFILE, os.strerror(errno.EMFILE))})
    assert [record.exc_info for record in caplog.records] == [None, None]
    assert os.strerror(errno.EMFILE) in caplog.text
    assert passed_on == []
    other = {"exception": ValueError("odd")}
    complaints(loop, other)
    assert passed_on == [other]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., tuple[Any, list[Any]]]:
    """Runs the command with a server that only remembers what it should serve."""
    served: list[Any] = []

    def serve(urls: list[str], place: Any, token: str | None, *, ready: Callable[[], None]) -> None:
        served.append((urls, place.host, token))
        place.listening.close()
        ready()

    monkeypatch.setattr("flexibo.dashboard.server.serve", serve)
    monkeypatch.setattr("os.nice", lambda by: 0)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FLEXIBO_STORAGE", raising=False)
    monkeypatch.delenv("FLEXIBO_DASHBOARD_TOKEN", raising=False)
    app = typer.Typer()
    app.command()(dashboard)
    return lambda *words: (CliRunner().invoke(app, list(words)), served)


def test_the_only_database_of_the_folder_is_shown_by_default(
    run: Callable[..., Any], make_study: Callable[..., Study]
) -> None:
    make_study(storage="sqlite:///study.db")
    result, served = run("--port", "0")
    assert result.exit_code == 0, result.output
    ((urls, host, token),) = served
    assert (urls, host, token) == (["sqlite:///study.db"], "127.0.0.1", None)
    assert "http://127.0.0.1:" in result.output
    assert "1 study" in result.output


def test_several_storages_and_plain_files_are_shown(run: Callable[..., Any], make_study: Callable[..., Study]) -> None:
    make_study(storage="sqlite:///a.db")
    make_study(storage="sqlite:///b.db")
    _, served = run("a.db", "sqlite:///b.db", "sqlite:///a.db", "--port", "0")
    assert served[0][0] == ["sqlite:///a.db", "sqlite:///b.db"]


def test_another_address_makes_a_token_and_prints_it_once(
    run: Callable[..., Any], make_study: Callable[..., Study]
) -> None:
    make_study(storage="sqlite:///study.db")
    result, served = run("--host", "0.0.0.0", "--port", "0")
    token = served[0][2]
    assert result.output.count(token) == 1


def test_a_given_token_counts_on_loopback_too(
    run: Callable[..., Any], make_study: Callable[..., Study], monkeypatch: pytest.MonkeyPatch
) -> None:
    make_study(storage="sqlite:///study.db")
    monkeypatch.setenv("FLEXIBO_DASHBOARD_TOKEN", "a-token-of-the-environment")
    assert run("--port", "0")[1][0][2] == "a-token-of-the-environment"


def test_a_storage_that_is_not_there_yet_is_said_and_waited_for(run: Callable[..., Any]) -> None:
    result, served = run("sqlite:///later.db", "--port", "0")
    assert result.exit_code == 0
    assert "later.db" in result.output
    assert served
    assert not Path("later.db").exists()


@pytest.mark.parametrize("words", [[], ["mysql://root:hunter2@host/db"], ["nonsense:hunter2@"]])
def test_what_is_no_storage_is_refused_before_anything_listens(run: Callable[..., Any], words: list[str]) -> None:
    result, served = run(*words, "--port", "0")
    assert isinstance(result.exception, FlexiBOError)
    assert "hunter2" not in str(result.exception)
    assert not served


def test_a_missing_extra_is_named(run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("flexibo.dashboard.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    result, _ = run("sqlite:///study.db")
    assert isinstance(result.exception, MissingExtraError)
    assert "flexibo[dashboard]" in str(result.exception)


def test_a_browser_is_opened_where_that_is_wanted(
    run: Callable[..., Any], make_study: Callable[..., Study], monkeypatch: pytest.MonkeyPatch
) -> None:
    make_study(storage="sqlite:///study.db")
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    run("--port", "0", "--no-open")
    assert opened == []
    run("--port", "0", "--open")
    assert [address.startswith("http://127.0.0.1:") for address in opened] == [True]
