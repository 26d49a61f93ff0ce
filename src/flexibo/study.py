"""Study: ask, tell, run, front. Here the mind meets the world."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from flexibo.arrays import FloatArray
from flexibo.believer import Believer
from flexibo.catalogue import SURROGATES, find_method
from flexibo.costs import TRANSFORMS, CostCallable
from flexibo.errors import InvalidTypeError, InvalidValueError, unknown_name
from flexibo.events import (
    Added,
    Asked,
    BudgetSet,
    Created,
    Evaluation,
    Event,
    Failed,
    ReferenceFixed,
    Released,
    Told,
    event_from_dict,
    event_to_dict,
)
from flexibo.executors import Executor, InlineExecutor, Measure, Outcome
from flexibo.front import Front, front_rows
from flexibo.history import History
from flexibo.interrupts import deferred_interrupts
from flexibo.objectives import Objective, check_objectives
from flexibo.optimizer import NO_REGION_LEFT, Optimizer, Stop
from flexibo.progress import progress_bar
from flexibo.report import ParetoRegion, Summary, Trace, summarise, trace
from flexibo.settings import (
    check_budget_covers_initial,
    check_functions,
    checked_budget,
    checked_cost,
    checked_reference,
    checked_settings,
    stored_choice,
)
from flexibo.space import Space
from flexibo.stopping import stop_reason, stop_rules
from flexibo.storage import Storage, open_storage
from flexibo.surrogates import Surrogate

logger = logging.getLogger(__name__)


class Study:
    """A search for the Pareto front of a space under a budget.

    Args:
        space: The designs; a mapping is turned into a `Space`.
        objectives: At least two, or one and a constraint; a string is an objective to minimise.
        method: One of the names that `flexibo.methods()` lists.
        budget: What may be spent, in the units of the costs (seconds unless you say otherwise); None is without limit.
        cost: What scores are divided by: "log", "ratio", "sqrt", "constant", "learned", or a callable
            ``(design, objective) -> expected cost``. The default is the method's own.
        reference: The worst value of interest of each optimised objective, by name or in order.
        n_initial: How many designs are measured in all objectives before the method chooses (10).
        initial_designs: These designs are measured first.
        candidates: How many designs are drawn for each question (1,000).
        delta: The paper's confidence parameter (0.05).
        surrogate: "gp", "gp-paper", "rf", or an object with `fit`.
        seed: The same seed and the same answers give the same questions.
        storage: A database URL such as ``sqlite:///study.db``; a study that is there already goes on.
        name: The name of the study in its storage.
        stop: ``{"max_evaluations": 100, "gain_per_cost": 1e-6}``, or a callable that takes the study and returns True
            or a reason to stop, or a list of these.
        callbacks: A callable, or several, called with the study and each event.

    >>> study = Study({"x": (0.0, 1.0)}, ["a", "b"], budget=30, seed=0, n_initial=4)
    >>> study.run({"a": lambda design: (design["x"], 1.0), "b": lambda design: (1 - design["x"], 1.0)})
    >>> study.spent
    30.0
    """

    def __init__(
        self,
        space: Space | Mapping[str, Any],
        objectives: Iterable[Objective | str],
        *,
        method: str = "flexibo",
        budget: float | None = None,
        cost: str | CostCallable | None = None,
        reference: Mapping[str, float] | Sequence[float] | None = None,
        n_initial: int | None = None,
        initial_designs: Iterable[Mapping[str, Any]] | None = None,
        candidates: int | None = None,
        delta: float | None = None,
        surrogate: str | Surrogate | None = None,
        seed: int | None = None,
        storage: str | Storage | None = None,
        name: str = "study",
        stop: object = None,
        callbacks: Callable[[Study, Event], object] | Iterable[Callable[[Study, Event], object]] = (),
    ) -> None:
        self.space = space if isinstance(space, Space) else Space(space)
        self.objectives = check_objectives(objectives, self.space.names)
        self.method = find_method(method)
        self.method.check(self.objectives)
        if not isinstance(name, str) or not name:
            raise InvalidTypeError(f"name is {name!r}; it must be a string that is not empty.")
        self.name = name
        self.stopped = ""
        self.history = History(self.space, self.objectives)
        self._inherited: list[Evaluation] = []
        self._by_name = {objective.name: objective for objective in self.objectives}
        self._optimised = [self.objectives[j] for j in self.history.optimised]
        self._stop_rules = stop_rules(stop)
        self._callbacks = (callbacks,) if callable(callbacks) else tuple(callbacks or ())
        for callback in self._callbacks:
            if not callable(callback):
                raise InvalidTypeError(f"A callback is {callback!r}; it must be callable with the study and an event.")
        budget = checked_budget(budget)
        self._storage = open_storage(storage, name)
        stored = self._storage.read()
        self.settings = checked_settings(
            self.space,
            self.objectives,
            stored[0]["settings"] if stored else {},
            method=method,
            seed=seed,
            n_initial=n_initial,
            initial_designs=initial_designs,
            candidates=candidates,
            delta=delta,
            cost=cost,
            surrogate=surrogate,
        )
        believer = Believer(
            self.method,
            self.settings.initial_designs,
            seed=self.settings.seed,
            m=self.settings.candidates,
            delta=self.settings.delta,
            surrogate=stored_choice("surrogate", surrogate, self.settings.surrogate, SURROGATES),
            cost=stored_choice("cost", cost, self.settings.cost, TRANSFORMS),
        )
        self._optimizer = Optimizer(believer, n_given=self.settings.n_given)
        self._open(stored, budget)
        if reference is not None:
            self._fix_reference(checked_reference(reference, self._optimised))

    @property
    def budget(self) -> float | None:
        """What may be spent in all; set it to raise it."""
        return self.history.budget

    @budget.setter
    def budget(self, budget: float | None) -> None:
        self._record(BudgetSet(checked_budget(budget)))

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
        if self.history.reference is None:
            return None
        return {o.name: o.value(loss) for o, loss in zip(self._optimised, self.history.reference, strict=True)}

    def ask(self) -> Evaluation | None:
        """The next evaluation, or None when there is nothing to ask; `stopped` then says why."""
        answer = self._optimizer.ask(self.history)
        self.stopped = answer.reason if isinstance(answer, Stop) else self._stop_reason(answer)
        if isinstance(answer, Stop) or self.stopped:
            return None
        # Under constraints the worst values of interest are not known before a feasible design is.
        if not answer.initial and self.history.reference is None and self.history.has_feasible():
            losses = self._optimizer.believer.reference(self.history)
            fixed = {o.name: o.value(float(loss)) for o, loss in zip(self._optimised, losses, strict=True)}
            self._record(ReferenceFixed(fixed), Asked(answer))
        else:
            self._record(Asked(answer))
        return answer

    def tell(self, evaluation: Evaluation, value: object, *, cost: float = 0.0) -> None:
        """Answer an evaluation.

        Args:
            evaluation: What `ask` returned.
            value: The value, or a mapping of values where several objectives are measured together. Values of other
                objectives that came with them are learned too.
            cost: What it cost, in the budget's units.

        An evaluation that was released may still be answered, once.
        """
        self._check_pending(evaluation)
        given = value if isinstance(value, Mapping) else {evaluation.objective: value}
        for name in given:
            if name not in self._by_name:
                raise unknown_name("objective", name, self._by_name)
        for name in evaluation.yields:
            if name not in given:
                raise InvalidValueError(
                    f"The answer has no value of {name!r}; tell a mapping with {_list(evaluation.yields)}."
                )
        values = {name: self._by_name[name].checked_value(given[name]) for name in given}
        self._record(Told(evaluation.number, values, checked_cost(cost)))

    def fail(self, evaluation: Evaluation, reason: object = "", *, cost: float = 0.0) -> None:
        """Say that an attempt gave no value. The evaluation may be asked again, at most twice."""
        self._check_pending(evaluation)
        self._record(Failed(evaluation.number, str(reason), checked_cost(cost)))

    def release(self, evaluation: Evaluation) -> None:
        """Give an evaluation back that was not attempted; it may be asked again."""
        self._check_pending(evaluation)
        if evaluation.number in self.history.pending:
            self._record(Released(evaluation.number))

    def add(
        self, design: Mapping[str, Any], values: Mapping[str, float], *, cost: float | Mapping[str, float] | None = None
    ) -> None:
        """Bring in a result that was known before. It is not charged to the budget.

        Args:
            design: The option values.
            values: Some or all objectives, by name.
            cost: What it cost, by objective, or as a number where one objective is given: it teaches what evaluations
                cost.
        """
        legal = self.space.design(design)
        if not isinstance(values, Mapping) or not values:
            raise InvalidTypeError(f"values is {values!r}; give a mapping such as {{'error': 0.2}}.")
        if cost is not None and not isinstance(cost, Mapping):
            if len(values) > 1:
                raise InvalidTypeError(f"cost is {cost!r} for {_list(values)}; give a mapping of costs by objective.")
            cost = {next(iter(values)): cost}
        for name in (*values, *(cost or ())):
            if name not in self._by_name:
                raise unknown_name("objective", name, self._by_name)
        checked = {name: self._by_name[name].checked_value(value) for name, value in values.items()}
        self.history.check_agrees(legal, checked)
        leads = {n: self.history.purchases[self.history.purchase_of(n)].objective for n in self._by_name}
        self._record(Added(legal, checked, {leads[name]: checked_cost(c) for name, c in (cost or {}).items()}))

    def run(
        self, objectives: Mapping[str, Measure], *, executor: Executor | None = None, progress: bool | None = None
    ) -> None:
        """Ask, measure and tell until there is nothing more to ask.

        A function that raises, or returns what is not a finite number, fails that evaluation and the study goes on. If
        it raises `flexibo.errors.MachineError`, nothing is counted as failed, and the error is raised.
        Ctrl-C keeps what was measured, prints the front so far and returns. What was pending when a stored study was
        opened, because the process that asked it died, is measured first.

        Args:
            objectives: For each objective a function of a design. It returns the value (a mapping where objectives
                are measured together), alone or with its cost; without one the wall-clock time in seconds is the cost.
            executor: Where to measure; here by default.
            progress: Whether to show a progress bar; by default in a terminal only.
        """
        check_functions(objectives, self.history.names, [purchase.objective for purchase in self.history.purchases])
        executor = InlineExecutor() if executor is None else executor
        if not all(hasattr(executor, name) for name in ("has_room", "submit", "is_busy", "finished")):
            raise InvalidTypeError(f"executor is {executor!r}; it must be an executor of flexibo.executors.")
        begin, inherited = len(self.history.asked), set(self.history.pending) & {e.number for e in self._inherited}
        with progress_bar(self, progress) as bar:
            try:
                self._loop(objectives, executor, bar.update)
            except KeyboardInterrupt:
                self.stopped = "Interrupted; what was measured is kept."
                bar.interrupted(self)
            finally:
                for evaluation in self.pending:  # what this run asked or took over, and nobody else's
                    if evaluation.number >= begin or evaluation.number in inherited:
                        self.release(evaluation)
        logger.info("Study %r stopped: %s", self.name, self.stopped)

    def front(self, *, measured: bool = False) -> Front:
        """The designs that no other dominates, among those measured in at least one objective.

        What was not measured is predicted; `measured` and `deviations` of each row say which and how surely.

        Args:
            measured: Look only at designs that were measured in every objective.
        """
        if not all(self.history.count(j) for j in range(len(self.objectives))):
            return Front()
        return front_rows(self.history, self._optimizer.believer.estimates(self.history), complete=measured)

    def region(self) -> ParetoRegion:
        """The region between the optimistic and the pessimistic front, as the next question would see it."""
        if not all(self.history.count(j) for j in range(len(self.objectives))):
            raise InvalidValueError("There is no Pareto region yet; every objective needs at least one measurement.")
        signs = np.array([objective.value(1.0) for objective in self._optimised])
        optimistic, pessimistic = self._optimizer.believer.corners(self.history)
        return ParetoRegion(
            optimistic * signs, pessimistic * signs, self._optimizer.believer.reference(self.history) * signs
        )

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

    def __repr__(self) -> str:
        return f"<Study {self.name!r}: {self.method.name}, {len(self.history.measurements)} measurements>"

    def _loop(self, measures: Mapping[str, Measure], executor: Executor, update: Callable[[Study], None]) -> None:
        while True:
            while executor.has_room() and (evaluation := self._inherited_or_asked()):
                executor.submit(evaluation, self._by_name[evaluation.objective], measures[evaluation.objective])
            if not executor.is_busy():
                return
            for outcome in executor.finished():
                self._take(outcome)
                update(self)

    def _inherited_or_asked(self) -> Evaluation | None:
        """What a dead process left pending, as far as it is still wanted, then what is asked."""
        while self._inherited:
            evaluation = self._inherited.pop(0)
            if evaluation.number not in self.history.pending:
                continue
            if self._optimizer.still_wants(self.history, evaluation) and not self._stop_reason(evaluation):
                return evaluation
            self.release(evaluation)
        return self.ask()

    def _take(self, outcome: Outcome) -> None:
        """Tell what was measured; a value that cannot be told is a failure."""
        reason = outcome.reason
        if outcome.values is not None:
            try:
                self.tell(outcome.evaluation, outcome.values, cost=outcome.cost)
            except (InvalidValueError, InvalidTypeError) as error:
                reason = str(error)
            else:
                return
        logger.warning("Evaluation %d (%s) failed: %s", outcome.evaluation.number, outcome.evaluation.objective, reason)
        self.fail(outcome.evaluation, reason, cost=outcome.cost)

    def _stop_reason(self, evaluation: Evaluation) -> str:
        return stop_reason(self._stop_rules, self, self.history, evaluation)

    def _open(self, stored: list[dict[str, Any]], budget: float | None) -> None:
        """Begin the study, or replay the one that is stored."""
        if not stored:
            leads = [purchase.objective for purchase in self.history.purchases]
            check_budget_covers_initial(budget, self.settings, leads)
            self._record(Created(self.settings.to_dict()), BudgetSet(budget))
            return
        self.settings.check_against(stored[0]["settings"], self.name)
        for content in stored:
            self.history.append(event_from_dict(content, self.space))
        self._inherited = list(self.pending)
        if budget is not None and budget != self.history.budget:
            self.budget = budget

    def _record(self, *events: Event) -> None:
        """Store events, remember them, and show them to the callbacks."""
        with deferred_interrupts():  # what is stored and what is remembered must not part
            self._storage.append([event_to_dict(event) for event in events])
            for event in events:
                self.history.append(event)
        for event in events:
            for callback in self._callbacks:
                self._notify(callback, event)

    def _notify(self, callback: Callable[[Study, Event], object], event: Event) -> None:
        try:
            callback(self, event)
        except Exception:
            logger.exception("A callback failed on %s; the study goes on.", type(event).__name__)

    def _fix_reference(self, reference: dict[str, float]) -> None:
        if self.reference is None:
            self._record(ReferenceFixed(reference))
        elif self.reference != reference:
            raise InvalidValueError(
                f"The stored study {self.name!r} has the reference {self.reference}; {reference} given. A reference "
                "point is fixed once."
            )

    def _reference_losses(self) -> FloatArray | None:
        if not all(self.history.count(j) for j in range(len(self.objectives))):
            return None
        return self._optimizer.believer.reference(self.history)

    def _check_pending(self, evaluation: Evaluation) -> None:
        if not isinstance(evaluation, Evaluation):
            raise InvalidTypeError(f"{evaluation!r} is no evaluation; give what ask() returned.")
        if self.history.is_answerable(evaluation):
            return
        what = "was answered already" if evaluation in self.history.asked else "was never asked by this study"
        raise InvalidValueError(
            f"Evaluation {evaluation.number} ({evaluation.objective!r}) {what}; tell each evaluation of ask() once."
        )


def _list(names: Iterable[str]) -> str:
    return ", ".join(names)
