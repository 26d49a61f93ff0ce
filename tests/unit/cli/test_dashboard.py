"""``flexibo dashboard``."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer
from benchmarks.growth import write_study
from tests.command_line import good, mentions
from typer.testing import CliRunner

from flexibo import Study
from flexibo.cli.dashboard import dashboard
from flexibo.dashboard.background_views import VIEWS
from flexibo.dashboard.follower import Follower
from flexibo.errors import FlexiBOError, MissingExtraError


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
    run("a.db", "--storage", "sqlite:///b.db", "--port", "0")
    assert served[1][0] == ["sqlite:///a.db", "sqlite:///b.db"]


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


def test_the_command_line_and_the_dashboard_count_the_same_designs() -> None:
    write_study("sqlite:///study.db", 300)
    follower = Follower("sqlite:///study.db", "study", "key")
    follower.look(1, lambda: None)
    assert follower.copy is not None
    shown = VIEWS["front"](follower.copy.study).to_dict()
    for command, designs in (("front", "designs"), ("status", "front")):
        found = json.loads(good(command, "--json"))
        assert (shown["confirmed"], shown["promising"]) == (len(found[designs]), len(found["promising"])), command
        assert shown["missed_at_most"] == found["missed_at_most"]
        assert shown["confirm_all_cost"] == pytest.approx(found["confirm_all_cost"])
    text = good("front")
    assert mentions(text, f"{shown['confirmed']} designs")
