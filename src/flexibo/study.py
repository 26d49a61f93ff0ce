"""Study: ask, tell, run, front. Here the mind meets the world."""

from __future__ import annotations

import logging
import threading
import weakref
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import closing
from functools import partial
from typing import Any, overload

import numpy as np

from flexibo.answers import added, answer, check_evaluation, counted, released, told
from flexibo.arrays import FloatArray
from flexibo.asking import Asker
from flexibo.believer import Believer
from flexibo.catalogue import find_method
from flexibo.certainty import front_of
from flexibo.certificate import Certificate, certificate
from flexibo.choice import hopeless
from flexibo.costs import CostCallable
from flexibo.errors import InvalidTypeError, InvalidValueError
from flexibo.events import (
    BudgetSet,
    Evaluation,
    Event,
    Failed,
    Forgiven,
    Noted,
    ReferenceFixed,
    Released,
    StopSet,
)
from flexibo.executors import Executor, Measure, Outcome, find_executor
from flexibo.founding import founded, optimizer_of
from flexibo.front import Front
from flexibo.history import History
from flexibo.loading import stored_study
from flexibo.log import EventLog
from flexibo.objectives import Objective, check_objectives
from flexibo.optimizer import NO_REGION_LEFT, Stop
from flexibo.progress import progress_bar
from flexibo.report import ParetoRegion, Summary, Trace, summarise, trace
from flexibo.running import Loop
from flexibo.settings import (
    check_executor,
    check_functions,
    check_names,
    checked_budget,
    checked_cost,
    checked_lease,
    checked_reference,
    checked_settings,
    listed,
    whole_number,
)
from flexibo.space import Design, Space
from flexibo.stopping import limit_reason, named_limits, stop_reason, stop_rules
from flexibo.storage import MemoryStorage, Storage, StorageError, open_storage
from flexibo.storage.presence import LEASE, Presence
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
        surrogate: "gp", "gp-warped", "gp-plain", "gp-paper", "rf", or an object with `fit`.
        seed: The same seed and the same answers give the same questions.
        storage: A database URL such as ``sqlite:///study.db``; a study that is there already goes on.
        name: The name of the study in its storage.
        lease: In a shared study, another process may measure what this one was asked when it has given no sign of life
            for so many seconds (60). It gives signs by itself as long as it lives.
        hand: Ask and answer under a name of `flexibo.storage.presence.new_hand` rather than as this process: what was
            asked stays out when the process ends, until it is answered in another one or the lease is over.
        stop: ``{"max_evaluations": 100, "gain_per_cost": 1e-6}``, or a callable that takes the study and returns True
            or a reason to stop, or a list of these.
        origin: What is kept with a new study to say where its functions come from, ready for JSON.
        callbacks: A callable, or several, called with the study and each event, also of other processes.

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
        lease: float = LEASE,
        hand: str = "",
        stop: object = None,
        origin: Mapping[str, Any] | None = None,
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
        self._by_name = {objective.name: objective for objective in self.objectives}
        self._optimised = [self.objectives[j] for j in self.history.optimised]
        self._stop_rules = stop_rules(stop)
        self._callbacks = (callbacks,) if callable(callbacks) else tuple(callbacks or ())
        for callback in self._callbacks:
            if not callable(callback):
                raise InvalidTypeError(f"A callback is {callback!r}; it must be callable with the study and an event.")
        budget = checked_budget(budget)
        opened = open_storage(storage, name)
        self.shared = not isinstance(opened, MemoryStorage)
        self._lock = threading.RLock()
        self._runs = threading.Lock()
        self._presence = Presence(opened, lease=checked_lease(lease), hand=hand)
        self._log = EventLog(opened, self.history, _weakly(self._notify), name=name)
        settle = partial(
            checked_settings,
            self.space,
            self.objectives,
            method=method,
            seed=seed,
            n_initial=n_initial,
            initial_designs=None if initial_designs is None else listed(initial_designs),
            candidates=candidates,
            delta=delta,
            cost=cost,
            surrogate=surrogate,
        )
        choose = partial(optimizer_of, self.method, surrogate=surrogate, cost=cost)
        self.settings, self._optimizer = founded(
            self._log, settle, choose, name=name, budget=budget, origin=origin or {}
        )
        self._asker = Asker(
            self._log, self._optimizer, self._presence, _weakly(self._stop_reason), _weakly(self._limit_reached)
        )
        self._raise_budget(budget)
        self._agree_when_to_stop()
        if reference is not None:
            self._fix_reference(checked_reference(reference, self._optimised))

    @classmethod
    def load(
        cls,
        storage: str | Storage,
        name: str | None = None,
        *,
        valid: Callable[[Design], object] | None = None,
        surrogate: str | Surrogate | None = None,
        cost: str | CostCallable | None = None,
        lease: float = LEASE,
        hand: str = "",
        stop: object = None,
        callbacks: Callable[[Study, Event], object] | Iterable[Callable[[Study, Event], object]] = (),
    ) -> Study:
        """The study that is stored, with its space, objectives and settings.

        Args:
            storage: A database URL such as ``sqlite:///study.db``.
            name: Its name; may be left out where there is only one.
            valid: The rule of its space, if it has one: functions are not stored.
            surrogate: The surrogate, if it is one of your own.
            cost: The cost function, if it is one of your own.
            lease: As in `Study`.
            hand: As in `Study`.
            stop: Replaces the stored rules.
            callbacks: As in `Study`.
        """
        found, study_name, settings = stored_study(storage, name)
        return cls(
            Space.from_dict(settings["space"], valid=valid),
            [Objective.from_dict(objective) for objective in settings["objectives"]],
            method=settings["method"],
            surrogate=surrogate,
            cost=cost,
            storage=found,
            name=study_name,
            lease=lease,
            hand=hand,
            stop=stop,
            callbacks=callbacks,
        )

    @property
    def budget(self) -> float | None:
        """What may be spent in all; set it to raise it."""
        return self.history.budget

    @budget.setter
    def budget(self, budget: float | None) -> None:
        checked = checked_budget(budget)
        self._commit(lambda: [BudgetSet(checked)])

    @property
    def stop(self) -> dict[str, float]:
        """The stop rules by name, with their limits; set it, to all that ``Study(stop=...)`` takes, to replace them."""
        return named_limits(self._stop_rules)

    @stop.setter
    def stop(self, stop: object) -> None:
        self._stop_rules = stop_rules(stop)
        limits = named_limits(self._stop_rules)
        if limits != (self.history.stop or {}):
            self._commit(lambda: [StopSet(limits)])

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
    def believer(self) -> Believer:
        """What thinks of designs for the method: models, prices and the Pareto region, given the history."""
        return self._optimizer.believer

    @property
    def reference(self) -> dict[str, float] | None:
        """The reference point by objective, in the users' values; None until it is fixed after the initial designs."""
        if self.history.reference is None:
            return None
        return {o.name: o.value(loss) for o, loss in zip(self._optimised, self.history.reference, strict=True)}

    @overload
    def ask(self) -> Evaluation | None: ...

    @overload
    def ask(self, k: int, *, only: Collection[str] | None = None) -> list[Evaluation]: ...

    @overload
    def ask(self, k: None = None, *, only: Collection[str] | None = None) -> Evaluation | None: ...

    def ask(self, k: int | None = None, *, only: Collection[str] | None = None) -> Evaluation | list[Evaluation] | None:
        """The next evaluation, or None when there is nothing to ask; `stopped` then says why.

        In a study that others share, nobody else is asked the same, and what a vanished worker left is asked first.

        Args:
            k: Ask for so many at once, and get a list, shorter if there is less to ask. Each takes those before it
                as pending, so they differ.
            only: The objectives that can be measured here; by default all.
        """
        if k is not None:
            found = []
            for _ in range(whole_number("k", k, least=1)):
                if (evaluation := self.ask(only=only)) is None:
                    break
                found.append(evaluation)
            return found
        answer = self.claim(self._checked_names(only))
        return None if isinstance(answer, Stop) else answer

    def claim(self, only: Collection[str] | None = None) -> Evaluation | Stop:
        """The next evaluation as `ask` gives it, or why there is none and whether to wait."""
        with self._lock:
            answer = self._asker.ask(only)
            self.stopped = answer.reason if isinstance(answer, Stop) else ""
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
        check_evaluation(evaluation)
        given = told(self.history, evaluation, value, cost, worker=self._presence.worker)
        self._commit(lambda: counted(self.history, evaluation, given))

    def fail(self, evaluation: Evaluation, reason: object = "", *, cost: float = 0.0, impossible: bool = False) -> None:
        """Say that an attempt gave no value. The evaluation may be asked again, at most twice.

        Args:
            evaluation: What `ask` returned.
            reason: What went wrong.
            cost: What the attempt cost.
            impossible: Whether the design cannot be measured at all; it is then not asked again.
        """
        check_evaluation(evaluation)
        failed = Failed(
            evaluation.number, str(reason), checked_cost(cost), self._presence.worker, impossible=bool(impossible)
        )
        self._commit(lambda: counted(self.history, evaluation, failed))

    def release(self, evaluation: Evaluation) -> None:
        """Give an evaluation back that was not attempted; it may be asked again."""
        check_evaluation(evaluation)

        self._commit(lambda: released(self.history, evaluation))

    def take(self, outcome: Outcome) -> None:
        """Store what an executor made of an evaluation: a value that cannot be told is a failure.

        An answer that comes after another worker's counts by its cost alone.
        """
        number, worker = outcome.evaluation.number, self._presence.worker
        given = answer(self.history, outcome, worker=worker)
        # A storage that was lost while it wrote may have kept the answer, and is asked to keep it again.
        self._commit(
            lambda: (
                [] if self.history.answered.get(number) == worker else counted(self.history, outcome.evaluation, given)
            )
        )

    def note(self, text: str) -> None:
        """Write something down that people should know; it is kept with the study and decides nothing."""
        if not isinstance(text, str) or not text.strip():
            raise InvalidTypeError(f"The note is {text!r}; it must be a text that is not empty.")
        self._commit(lambda: [Noted(text)])

    def refresh(self) -> None:
        """Learn what other processes wrote to a shared study; `ask`, `tell` and `front` do so by themselves."""
        with self._lock:
            self._log.refresh()

    def close(self) -> None:
        """Take leave: what this process still holds may be given to others at once. The study can be used again."""
        self._presence.leave(holds=bool(self._held()))

    def __enter__(self) -> Study:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

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
        result = added(self.history, design, values, cost)

        def decide() -> list[Event]:
            self.history.check_agrees(result.design, result.values)
            return [result]

        self._commit(decide)

    def run(
        self,
        objectives: Mapping[str, Measure],
        *,
        executor: Executor | str = "inline",
        progress: bool | None = None,
        idle: float | None = None,
    ) -> None:
        """Ask, measure and tell until there is nothing more to ask.

        A function that raises, or returns what is not a finite number, fails that evaluation and the study goes on. If
        it raises `flexibo.errors.MachineError`, nothing is counted as failed, and the error is raised; if it raises
        `flexibo.errors.DesignError`, the evaluation is not tried again.
        Ctrl-C keeps what was measured, prints the front so far and returns. What a process left pending that died is
        measured first. While other processes measure evaluations of a shared study, it waits for them.

        Args:
            objectives: For each objective a function of a design. It returns the value (a mapping where objectives
                are measured together), alone or with its cost; without one the wall-clock time in seconds is the cost.
                In a stored study, functions of some objectives are enough if other processes measure the others.
            executor: Where to measure: "inline" (here, one at a time), "processes", "dask", "ray", or an executor of
                `flexibo.executors`, which you close yourself.
            progress: Whether to show a progress bar; by default in a terminal only.
            idle: Return after so many seconds without anything to do, rather than wait for other processes.
        """
        leads = [purchase.objective for purchase in self.history.purchases]
        check_functions(objectives, self.history.names, leads, some=self.shared)
        if isinstance(executor, str):
            with closing(find_executor(executor)) as made:
                return self.run(objectives, executor=made, progress=progress, idle=idle)
        check_executor(executor, leads)
        if not self._runs.acquire(blocking=False):
            raise InvalidValueError(
                "This study is being run already; to run it in two threads, open it in each of them from one storage."
            )
        try:
            self._run(objectives, executor, progress=progress, idle=idle)
        finally:
            self._runs.release()
        logger.info("Study %r stopped: %s", self.name, self.stopped)
        return None

    def _run(
        self, objectives: Mapping[str, Measure], executor: Executor, *, progress: bool | None, idle: float | None
    ) -> None:
        leads = [purchase.objective for purchase in self.history.purchases]
        if hopeless(self.history):
            self._commit(lambda: [Forgiven()])
        with progress_bar(self, progress) as bar:
            loop = Loop(
                self,
                [self._by_name[name] for name in leads if name in objectives],
                objectives,
                executor,
                lambda: bar.update(self),
                alone=not self.shared,
                serves_all=set(leads) == set(objectives),
                idle=idle,
            )
            before, interrupted = self._held(), False
            try:
                self.stopped = loop.run()
            except KeyboardInterrupt:
                interrupted = True
            finally:
                for number in self._held() - before:
                    self._give_back(number)
            if interrupted:
                self.stopped = "Interrupted; what was measured is kept."
                bar.interrupted(self)

    def front(self, *, measured: bool = False, include: str = "probable") -> Front:
        """The designs that no other dominates, among those measured in at least one objective.

        What was not measured is predicted; `measured` and `deviations` of each row say which and how surely,
        `standing` how surely the design is on the front, `confirm_cost` what it costs to measure the rest.

        Args:
            measured: Look only at designs that were measured in every objective.
            include: "certain" lists only what is on the front whatever the values within the boxes, "possible" also
                what may be on the front but is not by the best guess. See `flexibo.certainty`.
        """
        self.refresh()
        return front_of(self.believer, self.history, complete=measured, include=include)

    def certificate(self, delta: float | None = None, *, candidates: int | None = None) -> Certificate:
        """What the designs of the front miss at most of the best hypervolume; print it. It changes nothing.

        It holds with probability 1 - delta over the candidates, if the models are right: see `flexibo.certificate`.

        Args:
            delta: The probability that it fails; the study's own `delta` unless given.
            candidates: Over how many designs; as many as the study draws for a question unless given. A space of at
                most so many is covered whole.
        """
        self.refresh()
        return certificate(self.believer, self.history, delta=delta, candidates=candidates)

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

    def _stop_reason(self, evaluation: Evaluation) -> str:
        return stop_reason(self._stop_rules, self, self.history, evaluation)

    def _limit_reached(self, evaluation: Evaluation) -> str:
        return limit_reason(self._stop_rules, self.history, evaluation)

    def _raise_budget(self, budget: float | None) -> None:
        """Take the budget that was given when the study was opened, unless a larger one is stored."""
        stored = self.history.budget
        if budget is None or budget == stored:
            return
        if stored is None or budget > stored:
            self.budget = budget
        else:
            logger.warning(
                "Study %r has the larger budget of %g, which stays; set its budget to lower it.", self.name, stored
            )

    def _agree_when_to_stop(self) -> None:
        """Store the named rules that were given, or take those that are stored."""
        limits = named_limits(self._stop_rules)
        if limits and limits != self.history.stop:
            self._commit(lambda: [StopSet(limits)])
        elif self.history.stop and not self._stop_rules:
            self._stop_rules = stop_rules(self.history.stop)

    def _held(self) -> set[int]:
        """The pending evaluations that this process was asked."""
        return {n for n, holder in self.history.holders.items() if holder.worker == self._presence.worker}

    def _give_back(self, number: int) -> None:
        """Give an evaluation back, unless it was taken over meanwhile."""
        try:
            self._commit(lambda: [Released(number)] if number in self._held() else [])
        except StorageError as error:  # the lease frees it later, and what went wrong before matters more
            logger.warning("Evaluation %d could not be given back: %s", number, error)

    def _commit(self, decide: Callable[[], Sequence[Event]]) -> None:
        with self._lock:
            self._log.commit(decide)

    def _notify(self, event: Event) -> None:
        """Show an event to the callbacks."""
        for callback in self._callbacks:
            try:
                callback(self, event)
            except Exception:
                logger.exception("A callback failed on %s; the study goes on.", type(event).__name__)

    def _fix_reference(self, reference: dict[str, float]) -> None:
        def decide() -> list[Event]:
            if self.reference is None:
                return [ReferenceFixed(reference)]
            if self.reference != reference:
                raise InvalidValueError(
                    f"The stored study {self.name!r} has the reference {self.reference}; {reference} given. "
                    "A reference point is fixed once."
                )
            return []

        self._commit(decide)

    def _reference_losses(self) -> FloatArray | None:
        if not all(self.history.count(j) for j in range(len(self.objectives))):
            return None
        return self._optimizer.believer.reference(self.history)

    def _checked_names(self, only: Collection[str] | None) -> Collection[str] | None:
        """The objectives to ask for, each as the one whose evaluation yields it."""
        if only is None:
            return None
        check_names(only, self._by_name)
        return {self.history.purchases[self.history.purchase_of(name)].objective for name in only}


def _weakly(method: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A study's own method, for its parts: they do not keep it alive, so that a forgotten study ends at once."""
    weak = weakref.WeakMethod(method)

    def called(argument: Any) -> Any:
        found = weak()
        return "" if found is None else found(argument)

    return called
