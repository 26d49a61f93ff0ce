"""Processes that share a study of Optuna's through its SQLite storage, one of them killed."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from multiprocessing.context import ForkServerProcess
from pathlib import Path

import optuna
import pytest
from optuna.trial import TrialState
from tests.forked import forked, imported
from tests.integration import optuna_worker

LIMIT = 600

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", autouse=True)
def ready() -> Iterator[None]:
    with imported("flexibo.integrations.optuna", "optuna.storages", "sqlalchemy.dialects.sqlite"):
        yield


def begin(url: str, *arguments: int) -> ForkServerProcess:
    return forked(optuna_worker.main, url, *arguments)


def status(process: ForkServerProcess) -> int | None:
    """The status of a process, once it has ended."""
    process.join(LIMIT)
    return process.exitcode


def shared(url: str) -> optuna.Study:
    return optuna.load_study(study_name="shared", storage=url)


def url_in(folder: Path) -> str:
    return f"sqlite:///{folder}/optuna.db"


def test_a_study_whose_process_was_killed_is_continued_with_what_was_proposed(tmp_path: Path) -> None:
    url = url_in(tmp_path)
    assert status(begin(url, 20, 4)) == -signal.SIGKILL
    *_, lost = shared(url).trials
    assert (lost.number, lost.state, list(lost.params)) == (4, TrialState.RUNNING, ["x"])
    pending = lost.system_attrs["flexibo:proposed:0"]
    assert set(json.loads(pending)) == {"x", "n", "k"}
    assert status(begin(url, 2)) == 0
    trials = shared(url).trials
    assert [trial.state for trial in trials[5:]] == [TrialState.COMPLETE] * 2
    assert pending not in [trial.system_attrs["flexibo:proposed:0"] for trial in trials[5:]]


def test_a_killed_and_a_copied_study_are_proposed_the_same(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    whole, parts = url_in(tmp_path / "a"), url_in(tmp_path / "b")
    assert status(begin(whole, 6)) == 0
    assert status(begin(parts, 3)) == 0
    assert status(begin(parts, 3)) == 0
    assert [trial.params for trial in shared(parts).trials] == [trial.params for trial in shared(whole).trials]


def test_two_processes_work_on_one_study(tmp_path: Path) -> None:
    url = url_in(tmp_path)
    assert status(begin(url, 1)) == 0
    workers = [begin(url, 4), begin(url, 4)]
    assert [status(worker) for worker in workers] == [0, 0]
    trials = shared(url).trials
    assert [trial.state for trial in trials] == [TrialState.COMPLETE] * 9
    assert len({tuple(sorted(trial.params.items())) for trial in trials}) == 9
