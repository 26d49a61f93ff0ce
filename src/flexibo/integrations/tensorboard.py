"""Studies in TensorBoard: an entry of its table of parameters for each evaluation. Needs the extra `tensorboard`."""

from __future__ import annotations

import math
import os
import re
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from flexibo.errors import missing_extra
from flexibo.history.events import cut
from flexibo.integrations._tracking import (
    PATIENCE_SECONDS,
    TrackedEvaluation,
    TrackedFront,
    TrackedStudy,
    Tracker,
)
from flexibo.optimizer.stop import StopKind

try:
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.summary_pb2 import Summary
    from tensorboard.plugins.hparams import api_pb2, metadata, plugin_data_pb2
    from tensorboard.plugins.hparams.summary_v2 import hparams_pb
    from tensorboard.plugins.text.metadata import create_summary_metadata
    from tensorboard.summary.writer.event_file_writer import EventFileWriter
    from tensorboard.util.tensor_util import make_tensor_proto
except ImportError as error:
    raise missing_extra("tensorboard", "tensorboard") from error

EVALUATIONS = "evaluations"


class TensorBoardTracker(Tracker):
    """A callback that records a study as event files for TensorBoard.

    Every evaluation is a run with its options and values in the table of parameters (HParams); its cost and the reason
    for which it was asked are with it, and one that gave no value has failed. The run of the study has the course of
    values and costs and the front as text; the front is also in files beside it. A study that is resumed goes on in its
    folder, and nothing is recorded twice.

    Args:
        folder: Where each study gets a folder, for ``tensorboard --logdir``.
        patience: At the end of a run, wait at most this many seconds until everything was written.
    """

    def __init__(self, folder: str | Path = "runs", *, patience: float = PATIENCE_SECONDS) -> None:
        self._given = (str(folder), patience)
        super().__init__(self._session, "TensorBoard", patience=patience)

    def __reduce__(self) -> tuple[Any, ...]:
        return _tracker, self._given

    def _session(self, study: TrackedStudy) -> _TensorBoardSession:
        return _TensorBoardSession(Path(self._given[0]), study)


def _tracker(folder: str, patience: float) -> TensorBoardTracker:
    return TensorBoardTracker(folder, patience=patience)


class _TensorBoardSession:
    """The folder of a study, with a folder for each evaluation."""

    def __init__(self, folder: Path, study: TrackedStudy) -> None:
        stem = re.sub(r"[^\w.-]+", "-", study.name).strip("-.")[:60] or "study"
        self._folder = folder.absolute() / f"{stem}-{study.key[:8]}"
        (self._folder / EVALUATIONS).mkdir(parents=True, exist_ok=True)
        self._course: Any = None

    def recorded(self) -> set[int]:
        """The numbers of the evaluations that have a folder."""
        return {int(path.name) for path in (self._folder / EVALUATIONS).iterdir() if path.name.isdecimal()}

    def record(self, evaluation: TrackedEvaluation) -> None:
        """Write the event files of an evaluation, as a whole or not at all."""
        done = self._folder / EVALUATIONS / f"{evaluation.number:05d}"
        begun = self._folder / f".{done.name}-{os.getpid()}"
        shutil.rmtree(begun, ignore_errors=True)
        status = api_pb2.STATUS_FAILURE if evaluation.is_failed else api_pb2.STATUS_SUCCESS
        with _writer(begun) as add:
            parameters = {name: _parameter(value) for name, value in evaluation.design.items()}
            add(hparams_pb(parameters, trial_id=done.name, start_time_secs=evaluation.began), evaluation.began)
            for name, value in evaluation.metrics.items():
                add(_scalar(name, value), evaluation.ended)
            for step, value in evaluation.curve:
                add(_scalar(evaluation.curve_name, value), evaluation.ended, step)
            for name, text in evaluation.texts.items():
                add(_text(name, text), evaluation.ended)
            add(_session_end(status, evaluation.ended), evaluation.ended)
        if not done.exists():
            begun.rename(done)
        shutil.rmtree(begun, ignore_errors=True)
        course = {**evaluation.values, "cost": evaluation.cost, "spent": evaluation.spent}
        summaries = [_scalar(name, value) for name, value in course.items()]
        why = _text("why", f"{evaluation.name}: {evaluation.why}")
        self._add([*summaries, why], evaluation.ended, evaluation.number)

    def show(self, front: TrackedFront) -> None:
        """Write the front as files, and as text for TensorBoard."""
        for name, text in front.files.items():
            begun = self._folder / f".{name}-{os.getpid()}"
            begun.write_text(text, encoding="utf-8")
            begun.replace(self._folder / name)
        summaries = [_scalar(name, value) for name, value in front.metrics.items() if name != "spent"]
        self._add([*summaries, _text("summary", front.files["summary.txt"])], front.time, front.step)

    def end(self, stop: StopKind | None, reason: str) -> None:
        """Close the event file of the study; a study that is resumed has another one."""
        if self._course is not None:
            self._course.close()
        self._course = None

    def _add(self, summaries: Iterable[Any], seconds: float, step: int) -> None:
        """Add to the course of the study, of which this process has one file."""
        if self._course is None:
            self._course = EventFileWriter(str(self._folder))
        for summary in summaries:
            self._course.add_event(Event(wall_time=seconds, step=step, summary=summary))
        self._course.flush()


@contextmanager
def _writer(folder: Path) -> Iterator[Any]:
    """What adds summaries to a new event file; it is complete at the end."""
    writer = EventFileWriter(str(folder))
    try:
        yield lambda summary, seconds, step=0: writer.add_event(Event(wall_time=seconds, step=step, summary=summary))
    finally:
        writer.close()


def _scalar(name: str, value: float) -> Any:
    return Summary(value=[Summary.Value(tag=name, simple_value=value if math.isfinite(value) else math.nan)])


def _text(name: str, text: str) -> Any:
    about = create_summary_metadata(display_name=name, description="")
    return Summary(
        value=[Summary.Value(tag=name, metadata=about, tensor=make_tensor_proto([_indented(cut(text)).encode()]))]
    )


def _indented(text: str) -> str:
    """A text as Markdown that shows just this text."""
    return "\n".join(f"    {line}" for line in text.splitlines())


def _session_end(status: Any, seconds: float) -> Any:
    info = plugin_data_pb2.SessionEndInfo(status=status, end_time_secs=seconds)
    about = metadata.create_summary_metadata(plugin_data_pb2.HParamsPluginData(session_end_info=info))
    tag = metadata.SESSION_END_INFO_TAG
    return Summary(value=[Summary.Value(tag=tag, metadata=about, tensor=metadata.NULL_TENSOR)])


def _parameter(value: object) -> bool | float | str:
    return value if isinstance(value, bool | int | float) else str(value)
