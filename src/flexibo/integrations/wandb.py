"""Studies in Weights & Biases: a group of runs, one for each evaluation, one for the study. Needs the extra `wandb`."""

from __future__ import annotations

import logging
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from flexibo._internal.text import printable_line, shortened
from flexibo.errors import InvalidValueError, missing_extra
from flexibo.history.events import cut
from flexibo.integrations._outbox import check_answers
from flexibo.integrations._tracking import (
    PATIENCE_SECONDS,
    TrackedEvaluation,
    TrackedFront,
    TrackedStudy,
    Tracker,
)
from flexibo.optimizer.stop import StopKind

try:
    import wandb
except ImportError as error:
    raise missing_extra("wandb", "wandb") from error

MODES = ("online", "offline")
LONGEST_NAME = 100  # of a run or a group
INIT_SECONDS = 30.0
OFFLINE = "-offline"  # the end of the identifier of a run that the server did not take

logger = logging.getLogger(__name__)


class WandbTracker(Tracker):
    """A callback that records a study in Weights & Biases.

    Every evaluation is a run: the options are its config; values, cost and the reason for which it was asked its
    summary. One that gave no value has failed. A run of the study has their course and the front as an artifact;
    together they are a group. A study that is resumed goes on in the same runs, and nothing is recorded twice.

    Everything is sent in the background. Without an API key, or if the server does not answer, runs are kept in the
    folder ``wandb`` with one warning; ``wandb sync`` sends them later.

    Args:
        project: The name of the project.
        entity: The team or user; by default your own.
        mode: "online" or "offline"; by default online, if an API key is known.
        folder: Where the folder ``wandb`` is; by default W&B's own, ``WANDB_DIR`` or the working folder.
        tags: Tags of all runs.
        patience: At the end of a run, wait at most this many seconds until everything was sent.
    """

    def __init__(
        self,
        project: str = "flexibo",
        *,
        entity: str | None = None,
        mode: str | None = None,
        folder: str | Path | None = None,
        tags: Sequence[str] = (),
        patience: float = PATIENCE_SECONDS,
    ) -> None:
        if mode is not None and mode not in MODES:
            raise InvalidValueError(f"mode is {mode!r}; give one of {', '.join(MODES)}.")
        self._given = (project, entity, mode, None if folder is None else str(folder), tuple(tags), patience)
        super().__init__(self._session, "W&B", patience=patience)

    def __reduce__(self) -> tuple[Any, ...]:
        return _tracker, self._given

    def _session(self, study: TrackedStudy) -> _WandbSession:
        project, entity, mode, folder, tags, _ = self._given
        settings = {"project": project, "entity": entity, "dir": folder, "tags": tags or None}
        return _WandbSession(study, mode, settings)


def _tracker(
    project: str, entity: str | None, mode: str | None, folder: str | None, tags: tuple[str, ...], patience: float
) -> WandbTracker:
    return WandbTracker(project, entity=entity, mode=mode, folder=folder, tags=tags, patience=patience)


class _WandbSession:
    """The runs of a study, which have fixed identifiers."""

    def __init__(self, study: TrackedStudy, mode: str | None, settings: dict[str, Any]) -> None:
        self._study = study
        self._mode = mode
        if settings["dir"] is not None:
            Path(settings["dir"]).mkdir(parents=True, exist_ok=True)
        self._settings = settings | {"group": f"{study.name[:LONGEST_NAME]}-{study.key[:6]}"}
        if mode is None and not wandb.api.api_key:
            self._go_offline("there is no API key")
        self._run: Any = self._study_run()

    def recorded(self) -> set[int]:
        """The numbers of the evaluations whose runs are in the folder."""
        pattern = re.compile(rf"run-.*-{self._study.key}-(\d+)(?:{OFFLINE})?$")
        names = (path.name for path in Path(self._run.settings.wandb_dir).iterdir() if path.is_dir())
        return {int(found.group(1)) for found in map(pattern.search, names) if found}

    def record(self, evaluation: TrackedEvaluation) -> None:
        """Record an evaluation as a run."""
        run = self._init(
            f"{self._study.key}-{evaluation.number}", evaluation.name, "evaluation", dict(evaluation.design)
        )
        texts = {name: cut(text) for name, text in evaluation.texts.items()}
        run.define_metric(_pattern(evaluation.curve_name), step_metric="step")
        for step, value in evaluation.curve:
            run.log({evaluation.curve_name: value, "step": step})
        run.log({**evaluation.metrics})
        run.summary.update({**texts, "number": evaluation.number, "attempt": evaluation.attempt})
        run.finish(exit_code=int(evaluation.is_failed))
        course = {**evaluation.values, "spent": evaluation.spent, "number": evaluation.number}
        self._opened().log(course)

    def show(self, front: TrackedFront) -> None:
        """Add the front as a new version of an artifact, and its numbers."""
        run = self._opened()
        artifact = wandb.Artifact(f"front-{self._study.key}", type="front")
        with tempfile.TemporaryDirectory() as folder:
            for name, text in front.files.items():
                (Path(folder) / name).write_text(text, encoding="utf-8")
                artifact.add_file(str(Path(folder) / name), name=name)
            run.log_artifact(artifact)
            if svg := front.files.get("front.svg"):
                run.log({"front picture": wandb.Html(svg, inject=False)}, commit=False)
            run.log({"front designs" if name == "front" else name: value for name, value in front.metrics.items()})

    def end(self, stop: StopKind | None, reason: str) -> None:
        """Finish the run of the study; it is opened again if the study is resumed."""
        run = self._opened()
        run.summary.update({"stopped": cut(reason), "stop kind": "" if stop is None else stop.value})
        run.finish()
        self._run = None

    def _opened(self) -> Any:
        if self._run is None:
            self._run = self._study_run()
        return self._run

    def _study_run(self) -> Any:
        run = self._init(self._study.key, self._study.name, "study", dict(self._study.settings))
        run.define_metric("number")
        for name in (*self._study.objectives, "spent"):
            run.define_metric(_pattern(name), step_metric="number")
        return run

    def _init(self, identifier: str, name: str, kind: str, config: dict[str, Any]) -> Any:
        settings = wandb.Settings(
            silent=True,
            console="off",
            init_timeout=INIT_SECONDS,
            x_disable_stats=True,
            disable_git=True,
            save_code=False,
        )
        about: dict[str, Any] = {
            "id": identifier,
            "name": name[:LONGEST_NAME],
            "job_type": kind,
            "config": config,
            **self._settings,
        }
        about |= {"settings": settings, "reinit": "create_new"}
        if self._mode != "offline":
            self._check_server()
        how: dict[str, Any] = (
            {"mode": self._mode} if self._mode == "offline" else {"mode": self._mode, "resume": "allow"}
        )
        try:
            return wandb.init(**about, **how)
        except wandb.Error as error:
            if self._mode == "offline":
                raise
            self._go_offline(printable_line(shortened(str(error))))
            return wandb.init(**about | {"id": f"{identifier}{OFFLINE}"}, mode="offline")  # the other one is in use

    def _check_server(self) -> None:
        """Go offline if the server does not answer, before W&B tries for minutes."""
        try:
            check_answers(str(wandb.setup().settings.base_url))
        except OSError as error:
            self._go_offline(f"the server does not answer ({printable_line(error)})")

    def _go_offline(self, why: str) -> None:
        self._mode = "offline"
        logger.warning("W&B runs are kept in the folder wandb and not sent, as %s; send them with wandb sync.", why)


def _pattern(name: str) -> str:
    """A name of a metric, of which W&B would read a star as any text."""
    return name.replace("*", "_")
