"""Where the checkpoints of a study are, and what was reported there by evaluations that gave no value."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from dataclasses import replace
from pathlib import Path

from flexibo.errors import InvalidTypeError, InvalidValueError
from flexibo.executors import Outcome
from flexibo.executors.checkpoints import Checkpoints, folder_name
from flexibo.executors.steps import new_reports
from flexibo.history import History
from flexibo.history.events import Evaluation
from flexibo.history.reports import Reports
from flexibo.objectives import Objective
from flexibo.storage import Storage


class StudyCheckpoints:
    """The checkpoints of a study: in the folder that was given, or beside its storage, or in a temporary folder."""

    def __init__(self, history: History, storage: Storage, name: str, folder: object) -> None:
        if folder is not None and (not isinstance(folder, str | Path) or not str(folder).strip()):
            raise InvalidTypeError(f"checkpoints is {folder!r}; give a folder.", argument="checkpoints")
        self._history, self._storage, self._name = history, storage, name
        self._folder = None if folder is None else Path(folder).expanduser().absolute()
        self._temporary: Path | None = None

    @property
    def found(self) -> Checkpoints:
        """The checkpoints of this study; another one of the same name, as an earlier one in this file, has its own."""
        if not self._history.asked:
            raise InvalidValueError("Nothing was asked yet, so there are no checkpoints; ask first.")
        # The token of the first question is random, and stays with the study wherever it is copied to.
        return Checkpoints(self._root() / folder_name(self._name, f"{self._name} {self._history.asked[0].token}"))

    def completed(self, outcome: Outcome) -> Outcome:
        """An outcome with what its evaluation had reported, if its process could not say that itself."""
        has_more = outcome.values is None and not outcome.reports
        return replace(outcome, reports=self.reported(outcome.evaluation)) if has_more else outcome

    def reported(self, evaluation: Evaluation) -> Reports:
        """What an evaluation reported that the study does not know, as far as its checkpoint is seen from here."""
        objective = self._objective(evaluation.objective)
        if evaluation.stop is None or objective is None:
            return ()
        return new_reports(objective, evaluation, self.found.of(objective, evaluation.design).reports())

    def take_back(self, evaluation: Evaluation) -> Path | None:
        """Forget the answer that a function that is broken reported, so that the evaluation is measured again.

        What it reported on the way stays, and the next attempt resumes there; returns where, if there is anything.
        """
        objective = self._objective(evaluation.objective)
        if evaluation.stop is None or objective is None:
            return None
        checkpoint = self.found.of(objective, evaluation.design)
        checkpoint.forget(after=evaluation.stop - 1)
        return checkpoint.folder if checkpoint.reports() else None

    def _objective(self, name: str) -> Objective | None:
        return next((objective for objective in self._history.objectives if objective.name == name), None)

    def _root(self) -> Path:
        if self._folder is not None:
            return self._folder
        beside = getattr(self._storage, "checkpoints", None)
        if isinstance(beside, Path):
            return beside
        if self._temporary is None:
            self._temporary = Path(tempfile.mkdtemp(prefix="flexibo-checkpoints-"))
            weakref.finalize(self, shutil.rmtree, self._temporary, ignore_errors=True)
        return self._temporary
