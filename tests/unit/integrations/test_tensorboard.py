"""Studies as event files, read back by TensorBoard."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest
from tests.unit.integrations.tracked_studies import HOSTILE, OBJECTIVES, tracked_run

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(autouse=True)
def _tensorboard() -> None:
    pytest.importorskip("tensorboard")


def read(folder: Path) -> Any:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    found = EventAccumulator(str(folder), size_guidance={"scalars": 0, "tensors": 0})
    found.Reload()
    return found


def text(found: Any, tag: str) -> str:
    [event] = found.Tensors(tag)
    return b"".join(event.tensor_proto.string_val).decode()


def test_every_evaluation_is_a_run_that_tensorboard_reads_and_a_resumed_study_has_none_twice(tmp_path: Path) -> None:
    from tensorboard.plugins.hparams import metadata

    from flexibo.integrations.tensorboard import TensorBoardTracker

    url = f"sqlite:///{tmp_path / 's.db'}"
    tracked_run(TensorBoardTracker(tmp_path / "runs", patience=60), url, budget=8)
    study = tracked_run(TensorBoardTracker(tmp_path / "runs", patience=60), url, budget=16)
    [folder] = (tmp_path / "runs").iterdir()
    numbers = sorted(int(path.name) for path in (folder / "evaluations").iterdir())
    assert numbers == list(range(len(study.history.asked)))
    states = set()
    for row in study.trace():
        found = read(folder / "evaluations" / f"{row.number:05d}")
        start = found.summary_metadata[metadata.SESSION_START_INFO_TAG].plugin_data.content
        parameters = metadata.parse_session_start_info_plugin_data(start).hparams
        assert parameters["x"].number_value == row.design["x"]
        assert parameters[HOSTILE].string_value == row.design[HOSTILE]
        assert study.history.asked[row.number].why in text(found, "why")
        scalars = found.Tags()["scalars"]
        assert (row.objective in scalars) == (row.value is not None)
        end = found.summary_metadata[metadata.SESSION_END_INFO_TAG].plugin_data.content
        states.add((row.value is None, metadata.parse_session_end_info_plugin_data(end).status))
    assert len(states) == 2
    course = read(folder)
    steps = [event.step for event in course.Scalars("spent")]
    assert sorted(steps) == numbers
    values = {event.step: event.value for event in course.Scalars(OBJECTIVES[0])}
    for row in study.trace():
        if row.objective == OBJECTIVES[0] and row.value is not None:
            assert values[row.number] == pytest.approx(row.value, rel=1e-6)
    assert {"front.csv", "front.json", "front.svg"} <= {path.name for path in folder.iterdir()}
    assert not [path for path in folder.iterdir() if path.name.startswith(".")]


def test_a_folder_that_cannot_be_written_is_one_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    from flexibo.integrations.tensorboard import TensorBoardTracker

    (tmp_path / "file").write_text("no folder")
    study = tracked_run(TensorBoardTracker(tmp_path / "file", patience=0.1), budget=5)
    assert study.stopped
    warned = [record for record in caplog.records if record.name.startswith("flexibo.integrations")]
    assert len([record for record in warned if record.levelno >= logging.WARNING]) == 1
