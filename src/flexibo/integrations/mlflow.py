"""Studies in MLflow: a run for the study, and in it a nested run for each evaluation. Needs the extra `mlflow`."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from flexibo.errors import missing_extra
from flexibo.history.events import cut
from flexibo.integrations._outbox import THREAD_PREFIX, check_answers, is_misuse
from flexibo.integrations._tracking import (
    PATIENCE_SECONDS,
    TrackedEvaluation,
    TrackedFront,
    TrackedStudy,
    Tracker,
)
from flexibo.optimizer.stop import StopKind
from flexibo.storage import sqlite_file

try:
    from mlflow import MlflowClient
    from mlflow.entities import Metric, Param, Run, RunStatus
    from mlflow.exceptions import MlflowException
except ImportError as error:
    raise missing_extra("mlflow", "mlflow") from error

STUDY, NUMBER, PARENT, NOTE = "flexibo.study", "flexibo.number", "mlflow.parentRunId", "mlflow.note.content"
REFUSALS = ("INVALID_PARAMETER_VALUE", "BAD_REQUEST", "RESOURCE_ALREADY_EXISTS", "MALFORMED_REQUEST")
LONGEST_KEY, LONGEST_TEXT = 250, 5_000
PER_PAGE = 1_000
PER_BATCH = 500  # metrics; a server takes at most 1,000


class MLflowTracker(Tracker):
    """A callback that records a study in MLflow.

    The study is a run, and every evaluation is a run nested in it: the options are its parameters; values, cost and
    expected gain its metrics; the reason for which it was asked its description. One that gave no value has failed. The
    front is an artifact of the study's run. A study that is resumed goes on in its run, and nothing is recorded twice.

    Everything is sent in the background. If MLflow does not answer, there is one warning, and what is missing is added
    later, at the latest when the study is resumed.

    Args:
        uri: The tracking URI, such as ``http://host:5000`` or ``sqlite:///mlflow.db``; by default MLflow's own, which
            ``MLFLOW_TRACKING_URI`` sets.
        experiment: The name of the experiment, created if there is none; by default the name of the study.
        tags: Tags of the study's run.
        patience: At the end of a run, wait at most this many seconds until everything was sent.
    """

    def __init__(
        self,
        uri: str | None = None,
        *,
        experiment: str | None = None,
        tags: Mapping[str, str] | None = None,
        patience: float = PATIENCE_SECONDS,
    ) -> None:
        self._given = (uri, experiment, dict(tags or {}), patience)
        super().__init__(self._session, "MLflow", is_refusal=_is_refusal, patience=patience)

    def __reduce__(self) -> tuple[Any, ...]:
        return _tracker, self._given

    def _session(self, study: TrackedStudy) -> _MLflowSession:
        uri, experiment, tags, _ = self._given
        return _MLflowSession(MlflowClient(uri), study, experiment or study.name, tags)


def _tracker(uri: str | None, experiment: str | None, tags: Mapping[str, str], patience: float) -> MLflowTracker:
    return MLflowTracker(uri, experiment=experiment, tags=tags, patience=patience)


class _MLflowSession:
    """The run of a study, and the runs nested in it."""

    def __init__(self, client: MlflowClient, study: TrackedStudy, experiment: str, tags: Mapping[str, str]) -> None:
        self._client = client
        check_answers(client.tracking_uri)
        self._experiment = _experiment(client, experiment)
        self._run = self._found(study) or self._created(study, tags)

    def recorded(self) -> set[int]:
        """The numbers of the evaluations that have a run; of several runs with one number the first stays."""
        numbers: set[int] = set()
        for run in self._search(PARENT, self._run):
            number = run.data.tags.get(NUMBER, "")
            if number.isdecimal() and int(number) in numbers:
                self._client.delete_run(run.info.run_id)
            elif number.isdecimal() and RunStatus.is_terminated(RunStatus.from_string(run.info.status)):
                numbers.add(int(number))
            elif number:
                self._client.delete_run(run.info.run_id)  # it was being written when its process ended
        return numbers

    def record(self, evaluation: TrackedEvaluation) -> None:
        """Record an evaluation as a nested run."""
        check_answers(self._client.tracking_uri)
        failed = f"\n\nFailed: {evaluation.reason}" if evaluation.is_failed else ""
        own = {f"flexibo.{name}": text for name, text in evaluation.texts.items()}
        tags = {PARENT: self._run, NOTE: f"{evaluation.why}{failed}", **own}
        began, ended = round(1000 * evaluation.began), round(1000 * evaluation.ended)
        run = self._client.create_run(
            self._experiment, start_time=began, run_name=evaluation.name, tags={k: _text(v) for k, v in tags.items()}
        )
        self._client.log_batch(
            run.info.run_id,
            metrics=_metrics(evaluation.metrics, ended, 0),
            params=[Param(name, _text(value)) for name, value in _named(evaluation.design).items()],
        )
        curve = [
            one for step, value in evaluation.curve for one in _metrics({evaluation.curve_name: value}, ended, step)
        ]
        for first in range(0, len(curve), PER_BATCH):
            self._client.log_batch(run.info.run_id, metrics=curve[first : first + PER_BATCH])
        self._client.set_terminated(run.info.run_id, "FAILED" if evaluation.is_failed else "FINISHED", end_time=ended)
        course = {**evaluation.values, "spent": evaluation.spent}
        self._client.log_batch(self._run, metrics=_metrics(course, ended, evaluation.number))

    def show(self, front: TrackedFront) -> None:
        """Replace the front among the artifacts."""
        check_answers(self._client.tracking_uri)
        for name, text in front.files.items():
            self._client.log_text(self._run, text, name)
        self._client.log_batch(self._run, metrics=_metrics(front.metrics, round(1000 * front.time), front.step))

    def end(self, stop: StopKind | None, reason: str) -> None:
        """Say how the run of the study ended."""
        is_interrupted = stop in (StopKind.INTERRUPTED, StopKind.TERMINATED)
        self._client.set_tag(self._run, "flexibo.stopped", _text(reason))
        self._client.set_terminated(self._run, "KILLED" if is_interrupted else "FINISHED")

    def _found(self, study: TrackedStudy) -> str | None:
        """The run of the study, which runs again; if several processes made one at once, the first."""
        runs = self._search(STUDY, study.key)
        if not runs:
            return None
        first, *others = (str(run.info.run_id) for run in runs)
        for other in others:
            for run in self._search(PARENT, other):
                self._client.set_tag(run.info.run_id, PARENT, first)
            self._client.delete_run(other)
        self._client.update_run(first, status="RUNNING")
        return first

    def _created(self, study: TrackedStudy, tags: Mapping[str, str]) -> str:
        about = {STUDY: study.key, "flexibo.storage": study.place, **tags}
        run = self._client.create_run(
            self._experiment, run_name=study.name, tags={k: _text(v) for k, v in about.items() if v}
        )
        params = [Param(name, _text(value)) for name, value in _named(study.settings).items()]
        self._client.log_batch(run.info.run_id, params=params)
        runs = self._search(STUDY, study.key)
        first = runs[0].info.run_id if runs else run.info.run_id
        if first != run.info.run_id:
            self._client.delete_run(run.info.run_id)  # another process was first
        return str(first)

    def _search(self, tag: str, value: str) -> list[Run]:
        """All runs with this tag, the oldest first."""
        found: list[Run] = []
        page = None
        while page is None or page:
            runs = self._client.search_runs(
                [self._experiment],
                filter_string=f"tags.`{tag}` = '{value}'",
                max_results=PER_PAGE,
                order_by=["attributes.start_time ASC", "attributes.run_id ASC"],
                page_token=page,
            )
            found += runs
            page = runs.token or ""
        return found


def _experiment(client: MlflowClient, name: str) -> str:
    """The identifier of an experiment, created if there is none; artifacts of a SQLite file lie beside it."""
    found = client.get_experiment_by_name(name)
    if found is not None:
        return str(found.experiment_id)
    file = sqlite_file(client.tracking_uri)
    place = None if file is None else Path(file).absolute().with_name("mlartifacts").as_uri()
    try:
        return str(client.create_experiment(name, artifact_location=place))
    except MlflowException:
        found = client.get_experiment_by_name(name)  # another process may have been first
        if found is None:
            raise
        return str(found.experiment_id)


def _metrics(numbers: Mapping[str, float], milliseconds: int, step: int) -> list[Metric]:
    return [Metric(name, float(value), milliseconds, step) for name, value in _named(numbers).items()]


def _named(items: Mapping[str, Any]) -> dict[str, Any]:
    """Items with names that MLflow takes; names that become equal get a number."""
    found: dict[str, Any] = {}
    for name, value in items.items():
        key = _key(name, found)
        found[key] = value
    return found


def _key(name: str, taken: Iterable[str]) -> str:
    plain = re.sub(r"[^\w\-. /]", "_", name)[:LONGEST_KEY].strip().strip("/") or "_"
    key, n = plain, 2
    while key in taken:
        key, n = f"{plain[: LONGEST_KEY - 5]}_{n}", n + 1
    return key


def _text(value: object) -> str:
    return cut(str(value), LONGEST_TEXT)


def _is_refusal(error: Exception) -> bool:
    return is_misuse(error) or (isinstance(error, MlflowException) and error.error_code in REFUSALS)


def _is_of_others(record: logging.LogRecord) -> bool:
    """Whether a message of urllib3 is not about an attempt of a tracker, which says itself that nobody answers."""
    return not str(record.threadName).startswith(THREAD_PREFIX)


logging.getLogger("urllib3.connectionpool").addFilter(_is_of_others)
