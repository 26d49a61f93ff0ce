"""Evaluations that are sent to a worker, with their pickled functions."""

from __future__ import annotations

import hashlib
import pickle
from dataclasses import dataclass

import cloudpickle  # type: ignore[import-untyped]  # it has no annotations

from flexibo.errors import InvalidTypeError
from flexibo.executors.base import Measure
from flexibo.executors.measure import too_long
from flexibo.history.events import Evaluation
from flexibo.objectives import Objective

LOAD_SECONDS = 300.0  # how long a worker process may take to start and to import what a function with a timeout needs


@dataclass(slots=True, eq=False)
class Job:
    """An evaluation that is sent to a worker."""

    evaluation: Evaluation  # the question
    objective: Objective  # what is measured
    function: bytes  # the function, pickled
    digest: str  # names the function
    question: bytes  # the evaluation and the objective, pickled
    since: float = 0.0  # when it was handed to its worker process or, once that is known, when the measuring began
    has_begun: bool = False  # whether the measuring began
    starts: int = 0  # how many new worker processes it was handed to

    def ends_at(self, grace: float) -> float | None:
        """When it is killed; None: never."""
        if self.objective.timeout is None:
            return None
        return self.since + (0.0 if self.has_begun else LOAD_SECONDS) + self.objective.timeout + grace


def packed(evaluation: Evaluation, objective: Objective, measure: Measure) -> Job:
    """The evaluation with its pickled function.

    The function is pickled again every time, because what it refers to may have changed.
    """
    try:
        function: bytes = cloudpickle.dumps(measure)
        question = pickle.dumps((evaluation, objective.to_dict()), protocol=pickle.HIGHEST_PROTOCOL)
    except Exception as error:
        raise InvalidTypeError(
            f"The function of {objective.name!r} cannot be sent to a worker process ({error}); let it make or open "
            "what it needs itself, or measure with the inline executor."
        ) from None
    return Job(evaluation, objective, function, hashlib.sha256(function).hexdigest(), question)


def overdue(job: Job) -> str:
    if job.has_begun and job.objective.timeout is not None:
        return too_long(job.objective.timeout)
    return f"Its worker process did not begin to measure within {LOAD_SECONDS:g} s."
