"""Studies in Weights & Biases, offline."""

from __future__ import annotations

import logging
import re
import socket
import warnings
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.dashboards import wait_until
from tests.unit.integrations.tracked_studies import HOSTILE, tracked_run

from flexibo.errors import InvalidValueError

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(autouse=True)
def _wandb(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No account of the user is found, and nothing is written to the user's folders."""
    for name, value in {"WANDB_API_KEY": "", "HOME": str(tmp_path), "NETRC": str(tmp_path / "netrc")}.items():
        monkeypatch.setenv(name, value)
    for name in ("WANDB_CONFIG_DIR", "WANDB_CACHE_DIR", "WANDB_DATA_DIR"):
        monkeypatch.setenv(name, str(tmp_path / name))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pytest.importorskip("wandb")


def contents(folder: Path) -> dict[str, dict[str, Any]]:
    """What the files of W&B hold: for each run its config, summary, exit code, job type and artifacts."""
    from wandb.proto.wandb_internal_pb2 import Record
    from wandb.sdk.internal.datastore import DataStore

    def records(path: Path) -> Iterator[bytes]:
        store = DataStore()
        store.open_for_scan(str(path))
        with closing(store):
            while data := store.scan_data():
                yield data

    found: dict[str, dict[str, Any]] = {}
    for path in sorted(folder.glob("wandb/offline-run-*/*.wandb")):
        wait_until(lambda path=path: any(records(path)), "the process of W&B has written its file")
        about: dict[str, Any] = {"summary": {}, "artifacts": [], "exit": None}
        for data in records(path):
            record = Record()
            record.ParseFromString(data)
            kind = record.WhichOneof("record_type")
            if kind == "run":
                about["config"] = {item.key: item.value_json for item in record.run.config.update}
                about |= {"id": record.run.run_id, "kind": record.run.job_type, "group": record.run.run_group}
            elif kind == "summary":
                about["summary"] |= {item.key or item.nested_key[0]: item.value_json for item in record.summary.update}
            elif kind == "exit":
                about["exit"] = record.exit.exit_code
            elif kind in ("artifact", "request"):
                text = str(record)
                about["artifacts"] += re.findall(r"front\.\w+", text)
        found[f"{about['id']} {path.parent.name}"] = about
    return found


def test_every_evaluation_is_a_run_and_a_resumed_study_has_none_twice(tmp_path: Path) -> None:
    from flexibo.integrations.wandb import WandbTracker

    url, folder = f"sqlite:///{tmp_path / 's.db'}", tmp_path / "runs"
    tracked_run(WandbTracker("nets", mode="offline", folder=folder, patience=120), url, budget=6)
    study = tracked_run(WandbTracker("nets", mode="offline", folder=folder, patience=120), url, budget=10)
    found = list(contents(folder).values())
    evaluations = [one for one in found if one["kind"] == "evaluation"]
    numbers = sorted(int(one["id"].rpartition("-")[2]) for one in evaluations)
    assert numbers == list(range(len(study.history.asked)))
    assert len({one["group"] for one in found}) == 1
    for one in evaluations:
        asked = study.history.asked[int(one["id"].rpartition("-")[2])]
        assert float(one["config"]["x"]) == asked.design["x"]
        assert HOSTILE in one["config"]
        assert asked.why in one["summary"]["why"]
        assert float(one["summary"]["cost"]) >= 0
        assert one["exit"] == (1 if "failed" in one["summary"] else 0)
    studies = [one for one in found if one["kind"] == "study"]
    assert len({one["id"] for one in studies}) == 1
    assert "front.csv" in studies[-1]["artifacts"]


def test_without_a_key_runs_are_kept_here_with_one_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    from flexibo.integrations.wandb import WandbTracker

    study = tracked_run(WandbTracker("nets", folder=tmp_path / "runs", patience=120), budget=4)
    assert study.stopped
    assert len(contents(tmp_path / "runs")) == len(study.history.asked) + 1
    warned = [record for record in caplog.records if record.name.startswith("flexibo.integrations")]
    assert len([record for record in warned if record.levelno >= logging.WARNING]) == 1


def test_a_server_that_does_not_answer_is_one_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    from flexibo.integrations.wandb import WandbTracker

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # nobody listens
        where = SimpleNamespace(settings=SimpleNamespace(base_url=f"http://127.0.0.1:{taken.getsockname()[1]}"))
        monkeypatch.setattr("wandb.setup", lambda: where)
        study = tracked_run(WandbTracker("nets", mode="online", folder=tmp_path / "runs", patience=120), budget=4)
    assert len(contents(tmp_path / "runs")) == len(study.history.asked) + 1
    warned = [record for record in caplog.records if record.name.startswith("flexibo.integrations")]
    assert len([record for record in warned if record.levelno >= logging.WARNING]) == 1


def test_a_mode_must_be_known() -> None:
    from flexibo.integrations.wandb import WandbTracker

    with pytest.raises(InvalidValueError, match="ofline"):
        WandbTracker(mode="ofline")
