"""Processes that share a study of Optuna's through its SQLite storage, one of them killed."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import optuna
import pytest
from optuna.trial import TrialState

WORKER = Path(__file__).with_name("optuna_worker.py")
LIMIT = 600

pytestmark = pytest.mark.slow


def begin(url: str, *arguments: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, str(WORKER), url, *map(str, arguments)])


def shared(url: str) -> optuna.Study:
    return optuna.load_study(study_name="shared", storage=url)


def url_in(folder: Path) -> str:
    return f"sqlite:///{folder}/optuna.db"


def test_a_study_whose_process_was_killed_is_continued_with_what_was_proposed(tmp_path: Path) -> None:
    url = url_in(tmp_path)
    assert begin(url, 20, 6).wait(LIMIT) == -signal.SIGKILL
    *_, lost = shared(url).trials
    assert (lost.number, lost.state, list(lost.params)) == (6, TrialState.RUNNING, ["x"])
    pending = lost.system_attrs["flexibo:proposed:0"]
    assert set(json.loads(pending)) == {"x", "n", "k"}
    assert begin(url, 4).wait(LIMIT) == 0
    trials = shared(url).trials
    assert [trial.state for trial in trials[7:]] == [TrialState.COMPLETE] * 4
    assert pending not in [trial.system_attrs["flexibo:proposed:0"] for trial in trials[7:]]


def test_a_killed_and_a_copied_study_are_proposed_the_same(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    whole, parts = url_in(tmp_path / "a"), url_in(tmp_path / "b")
    assert begin(whole, 8).wait(LIMIT) == 0
    assert begin(parts, 3).wait(LIMIT) == 0
    assert begin(parts, 5).wait(LIMIT) == 0
    assert [trial.params for trial in shared(parts).trials] == [trial.params for trial in shared(whole).trials]


def test_two_processes_work_on_one_study(tmp_path: Path) -> None:
    url = url_in(tmp_path)
    assert begin(url, 1).wait(LIMIT) == 0
    workers = [begin(url, 6), begin(url, 6)]
    assert [worker.wait(LIMIT) for worker in workers] == [0, 0]
    trials = shared(url).trials
    assert [trial.state for trial in trials] == [TrialState.COMPLETE] * 13
    assert len({tuple(sorted(trial.params.items())) for trial in trials}) == 13
