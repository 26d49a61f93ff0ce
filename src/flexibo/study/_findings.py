"""What a study has found: the half of it that is read. Reading changes nothing."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from flexibo._internal.arrays import FloatArray
from flexibo.errors import InvalidValueError
from flexibo.history import History
from flexibo.history.events import Evaluation, Event
from flexibo.methods.table import Method
from flexibo.objectives import Objective
from flexibo.optimizer.optimizer import NO_REGION_LEFT
from flexibo.optimizer.predictor import Predictor
from flexibo.results.certificate import Certificate, certificate
from flexibo.results.confidence import front_of
from flexibo.results.front import Front
from flexibo.results.summary import ParetoRegion, Summary, Trace, summarise, trace
from flexibo.space import Space


class Findings(ABC):
    """A history, and what a method makes of it.

    Args:
        space: The designs.
        objectives: The objectives.
        method: The method.
    """

    def __init__(self, space: Space, objectives: tuple[Objective, ...], method: Method) -> None:
        self.space = space
        self.objectives = objectives
        self.method = method
        self.history = History(space, objectives)
        self.stopped = ""

    @property
    @abstractmethod
    def predictor(self) -> Predictor:
        """What thinks of designs for the method: models, prices and the Pareto region, given the history."""

    @abstractmethod
    def refresh(self) -> None:
        """Learn what other processes wrote to a shared study; `ask`, `tell` and `front` do so by themselves."""

    @property
    def spent(self) -> float:
        """What was spent, failed attempts included."""
        return self.history.spent

    @property
    def pending(self) -> tuple[Evaluation, ...]:
        """What was asked and not answered."""
        return tuple(self.history.pending.values())

    @property
    def events(self) -> tuple[Event, ...]:
        """All that happened, in order."""
        return tuple(self.history.events)

    @property
    def reference(self) -> dict[str, float] | None:
        """The reference point by objective, in the users' values; None until it is fixed after the initial designs."""
        return self.history.reference_values()

    def front(self, *, measured: bool = False, include: str = "probable") -> Front:
        """The designs that no other dominates, among those measured in at least one objective.

        What was not measured is predicted; `measured` and `deviations` of each row say which and how surely,
        `standing` how surely the design is on the front, `confirm_cost` what it costs to measure the rest.

        Args:
            measured: Look only at designs that were measured in every objective.
            include: "certain" lists only what is on the front whatever the values within the boxes, "possible" also
                what may be on the front but is not by the best guess. See `flexibo.results.confidence`.
        """
        self.refresh()
        return front_of(self.predictor, self.history, complete=measured, include=include)

    def certificate(self, delta: float | None = None, *, candidates: int | None = None) -> Certificate:
        """What the designs of the front miss at most of the best hypervolume; print it. It changes nothing.

        It holds with probability 1 - delta over the candidates, if the models are right; see
        `flexibo.results.certificate`.

        Args:
            delta: The probability that it fails; the study's own `delta` unless given.
            candidates: Over how many designs; as many as the study draws for a question unless given. A space of at
                most so many is covered whole.
        """
        self.refresh()
        return certificate(self.predictor, self.history, delta=delta, candidates=candidates)

    def region(self) -> ParetoRegion:
        """The region between the optimistic and the pessimistic front, as the next question would see it."""
        reference = self._reference_losses()
        if reference is None:
            raise InvalidValueError("There is no Pareto region yet; every objective needs at least one measurement.")
        signs = np.array([self.objectives[j].value(1.0) for j in self.history.optimised])
        optimistic, pessimistic = self.predictor.corners(self.history)
        return ParetoRegion(optimistic * signs, pessimistic * signs, reference * signs)

    def trace(self) -> Trace:
        """The finished evaluations, with cost, hypervolume and volume of the Pareto region."""
        return trace(self.history, self._reference_losses())

    def summary(self) -> Summary:
        """The study in a few numbers; print it."""
        return summarise(
            self.history,
            self.front(),
            self._reference_losses(),
            method=self.method.name,
            stopped=self.stopped,
            region_left=self.stopped != NO_REGION_LEFT,
        )

    def _reference_losses(self) -> FloatArray | None:
        """The reference point (k,) that volumes are measured against; None while an objective has no value."""
        if not all(self.history.count(j) for j in range(len(self.objectives))):
            return None
        return self.predictor.reference(self.history)
