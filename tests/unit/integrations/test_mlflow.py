"""Studies in MLflow, in a real local store and on a real tracking server."""

from __future__ import annotations

import json
import logging
import os
import socket
import subprocess
import sys
import time
import urllib.request
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from tests.unit.integrations.tracked_studies import OBJECTIVES, tracked_run

from flexibo.history.events import Failed, Told

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


SERVER_NEEDS = ("flask", "flask_cors", "graphene", "aiohttp", "huey")
"""What the tracking server imports besides mlflow-skinny."""
PATIENCE = 180
"""Seconds until a tracking server answers on a crowded machine."""


@pytest.fixture(scope="module", params=["sqlite", pytest.param("server", marks=pytest.mark.long)])
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A SQLite store, whose tables take seconds to make, or a tracking server."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pytest.importorskip("mlflow")
    folder = tmp_path_factory.mktemp("mlflow")
    if request.param == "sqlite":
        yield f"sqlite:///{folder / 'mlflow.db'}"
        return
    if lacking := [name for name in SERVER_NEEDS if find_spec(name) is None]:
        pytest.skip(f"the tracking server needs {', '.join(lacking)}")
    with served(folder) as url:
        yield url


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The URL of a tracking server on this machine, which keeps everything in a folder."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    words = ["--host", "127.0.0.1", "--port", str(port), "--workers", "1"]
    words += ["--backend-store-uri", f"sqlite:///{folder / 'mlflow.db'}", "--artifacts-destination", str(folder)]
    environment = {**os.environ, "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"}
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "mlflow", "server", *words], env=environment, stdout=log, stderr=log
        )
    try:
        url, deadline = f"http://127.0.0.1:{port}", time.monotonic() + PATIENCE
        while process.poll() is None and time.monotonic() < deadline:
            try:
                urllib.request.urlopen(f"{url}/health", timeout=5).close()
                break
            except OSError:
                time.sleep(0.5)
        else:
            pytest.fail((folder / "log").read_text(errors="replace")[-3000:])
        yield url
    finally:
        process.terminate()
        process.wait(60)


def runs(store: str, experiment: str) -> tuple[list[Any], list[Any]]:
    """The runs of studies, and the nested ones."""
    from mlflow import MlflowClient

    client = MlflowClient(store)
    found = client.get_experiment_by_name(experiment)
    all_of_them = client.search_runs([found.experiment_id], max_results=1000)
    nested = [run for run in all_of_them if "mlflow.parentRunId" in run.data.tags]
    return [run for run in all_of_them if run not in nested], nested


def test_every_evaluation_is_a_nested_run_and_a_resumed_study_goes_on_in_its_run(store: str, tmp_path: Path) -> None:
    from mlflow import MlflowClient

    from flexibo.integrations.mlflow import MLflowTracker

    url = f"sqlite:///{tmp_path / 's.db'}"
    tracked_run(MLflowTracker(store, experiment="nets", tags={"team": "a"}, patience=60), url, budget=8)
    study = tracked_run(MLflowTracker(store, experiment="nets", patience=60), url, budget=16)
    [parent], nested = runs(store, "nets")
    answers = {event.number: event for event in study.events if isinstance(event, Told | Failed)}
    assert sorted(int(run.data.tags["flexibo.number"]) for run in nested) == sorted(answers)
    for run in nested:
        answer = answers[int(run.data.tags["flexibo.number"])]
        asked = study.history.asked[answer.number]
        assert run.data.tags["mlflow.parentRunId"] == parent.info.run_id
        assert run.data.params["x"] == str(asked.design["x"])
        assert run.data.tags["flexibo.why"] == asked.why
        assert run.data.metrics["cost"] == answer.cost
        assert run.info.status == ("FINISHED" if isinstance(answer, Told) else "FAILED")
        if isinstance(answer, Told):
            name = "a_0_" if asked.objective == OBJECTIVES[0] else "b_"
            assert run.data.metrics[name] == answer.values[asked.objective]
    assert {run.info.status for run in nested} == {"FINISHED", "FAILED"}
    assert parent.info.status == "FINISHED"
    assert parent.data.tags["team"] == "a"
    assert parent.data.metrics["spent"] == pytest.approx(study.spent)
    client = MlflowClient(store)
    names = {file.path for file in client.list_artifacts(parent.info.run_id)}
    assert {"front.csv", "front.json", "front.svg"} <= names
    front = Path(client.download_artifacts(parent.info.run_id, "front.json", str(tmp_path)))
    assert len(json.loads(front.read_text())) == len(study.front())


def test_runs_that_are_there_twice_or_half_written_are_mended(store: str, tmp_path: Path) -> None:
    from mlflow import MlflowClient

    from flexibo.integrations.mlflow import STUDY, MLflowTracker

    url = f"sqlite:///{tmp_path / 's.db'}"
    tracked_run(MLflowTracker(store, experiment="twice", patience=60), url, budget=8)
    client = MlflowClient(store)
    [parent], nested = runs(store, "twice")
    count = len(nested)
    experiment = parent.info.experiment_id
    key = parent.data.tags[STUDY]
    second = client.create_run(experiment, tags={STUDY: key})
    doubled = client.create_run(experiment, tags={"mlflow.parentRunId": second.info.run_id, "flexibo.number": "0"})
    client.set_terminated(doubled.info.run_id)
    client.create_run(experiment, tags={"mlflow.parentRunId": parent.info.run_id, "flexibo.number": "1"})
    tracked_run(MLflowTracker(store, experiment="twice", patience=60), url, budget=8)
    [again], nested = runs(store, "twice")
    assert again.info.run_id == parent.info.run_id
    assert sorted(int(run.data.tags["flexibo.number"]) for run in nested) == list(range(count))


def test_a_server_that_does_not_answer_is_one_warning_and_the_study_is_complete(
    caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("mlflow")
    from flexibo.integrations.mlflow import MLflowTracker

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # nobody listens
        study = tracked_run(MLflowTracker(f"http://127.0.0.1:{taken.getsockname()[1]}", patience=0.2))
    assert study.stopped
    said = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert len([record for record in said if not record.name.startswith("flexibo.study")]) == 1
    assert "Retrying" not in capfd.readouterr().err


def test_an_experiment_that_was_deleted_is_one_warning(store: str, caplog: pytest.LogCaptureFixture) -> None:
    from mlflow import MlflowClient

    from flexibo.integrations.mlflow import MLflowTracker

    client = MlflowClient(store)
    client.delete_experiment(client.create_experiment("gone"))
    study = tracked_run(MLflowTracker(store, experiment="gone", patience=60), budget=5)
    assert study.stopped
    warned = [record for record in caplog.records if record.name.startswith("flexibo.integrations")]
    assert len([record for record in warned if record.levelno >= logging.WARNING]) == 1
