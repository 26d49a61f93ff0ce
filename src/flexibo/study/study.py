"""Study: ask, measure, tell, and read the front. Here the mind meets the world."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, overload

from flexibo._internal.checks import checked_flag, whole_number
from flexibo._internal.text import printable_line
from flexibo.belief.costs import CostCallable
from flexibo.errors import InvalidTypeError, InvalidValueError, unknown_name
from flexibo.executors import Executor, Measure, Outcome
from flexibo.executors.steps import StepMeasure
from flexibo.history import History
from flexibo.history.events import Added, BudgetSet, Evaluation, Event, Forgiven, Noted, StopSet
from flexibo.history.measurements import QueuedDesign
from flexibo.methods.base import Method
from flexibo.methods.table import check_method, find_method
from flexibo.objectives import Objective, check_objectives
from flexibo.optimizer.predictor import Predictor
from flexibo.optimizer.stop import PASSING, Stop, StopKind, failing
from flexibo.results.certificate import Certificate, certificate
from flexibo.results.front import Front
from flexibo.results.handover import HandOver, hand_over
from flexibo.results.promising import Promising
from flexibo.results.summary import ParetoRegion, Summary, known_reference, region, summarise
from flexibo.results.trace import Trace, trace
from flexibo.space import Design, Space
from flexibo.storage import MemoryStorage, Storage, StorageError, open_storage
from flexibo.storage.heartbeat import LEASE, Heartbeat
from flexibo.study import _arguments, _queue, answers
from flexibo.study._ask import Asking, AskMemory
from flexibo.study._change import Replay, plan
from flexibo.study._checkpoints import StudyCheckpoints
from flexibo.study._claims import Claims
from flexibo.study._confirm import Wish, chosen_rows, confirming_events, unpaid_events
from flexibo.study._create import fixed_reference, open_or_create, open_stored, raised_budget
from flexibo.study._guarded_log import GuardedLog
from flexibo.study._last_stop import LastStop, stopped_events
from flexibo.study._mind import Mind
from flexibo.study._notebook import study_html
from flexibo.study._queue_only import QueueOnly
from flexibo.study._run import FirstCallError, RunnableStudy
from flexibo.study._runs import Means, Runs, explained, run_until_stopped
from flexibo.study.changes import UNSET, ChangeRequest, Changes, Unset
from flexibo.study.event_log import EventLog
from flexibo.study.first_calls import RaisingFirst, TryOnly, untried
from flexibo.study.settings import Settings, check_choice, check_same_objectives, checked_settings, choice_name
from flexibo.study.stop_rules import StopCheck, named_limits, stop_rules
from flexibo.study.stored import stored_study
from flexibo.surrogates import Surrogate

logger = logging.getLogger(__name__)


class Study:
    """A search for the Pareto front of a space under a budget.

    Args:
        space: The designs; a mapping is turned into a `Space`.
        objectives: At least two, or one and a constraint; a string is an objective to minimise.
        method: One of the names that `flexibo.list_methods()` lists.
        budget: What may be spent, in the units of the costs (seconds by default), or a duration such as ``"2h"``; None
            is without limit.
        cost: The cost that scores are divided by: "log", "ratio", "sqrt", "constant", "learned", or a callable
            ``(design, objective) -> expected cost``. The default is the method's own.
        reference: The worst value of interest of each optimised objective, by name or in order. By default it is found
            after the start, and widened where the measured front needs it.
        n_initial: How many designs are measured in all objectives before the method chooses. By default the start
            costs at most a fifth of the budget: cheap objectives are measured of more designs than expensive ones.
        initial_designs: These designs are measured first, in all objectives.
        candidates: How many designs are drawn for each question (1,000).
        delta: The paper's confidence parameter (0.05).
        surrogate: "gp", "gp-warped", "gp-plain", "gp-paper", "rf", or an object with `fit`.
        seed: The same seed and the same answers give the same questions.
        storage: A database URL such as ``sqlite:///study.db``; a study that is stored there is resumed.
        name: The name of the study in its storage.
        lease: In a shared study, another process may measure what this one was asked once it has had no heartbeat for
            this many seconds (60). A process has a heartbeat as long as it lives.
        detached_worker: Ask and answer as this worker, named by `flexibo.storage.heartbeat.new_detached_worker`, rather
            than as this process: an evaluation then stays pending when the process ends, until another process answers
            it or the lease is over.
        stop: ``{"max_evaluations": 100, "gain_per_cost": 1e-6}``, or a callable that takes the study and returns True
            or a reason to stop, or a list of these. What users queued is measured all the same.
        origin: Where the functions of a new study come from, ready for JSON; it is stored with the study.
        callbacks: A callable, or several, called with the study and each event, including those of other processes.
            One that has a method `flush` has it called with the study when a run ends and when the study is closed.
        checkpoints: The folder for checkpoints of objectives with steps; give one that all machines share if there are
            several. By default it is beside a SQLite file, in the working folder for a database on a server, and
            temporary for a study in memory.

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
        budget: float | str | None = None,
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
        detached_worker: str = "",
        stop: object = None,
        origin: Mapping[str, Any] | None = None,
        callbacks: Callable[[Study, Event], object] | Iterable[Callable[[Study, Event], object]] = (),
        checkpoints: str | Path | None = None,
    ) -> None:
        found = space if isinstance(space, Space) else Space(space)
        checked = check_objectives(objectives, found.names)
        check_method(find_method(method), checked)
        allowed = _arguments.checked_budget(budget)
        designs = _arguments.checked_designs(initial_designs)
        self._connect(
            History(found, checked),
            surrogate=surrogate,
            cost=cost,
            storage=storage,
            name=name,
            lease=lease,
            detached_worker=detached_worker,
            stop=stop,
            callbacks=callbacks,
            checkpoints=checkpoints,
        )

        def settings_from(history: History, stored: Mapping[str, Any]) -> Settings:
            return checked_settings(
                history.space,
                history.objectives,
                stored,
                method=method,
                seed=seed,
                n_initial=n_initial,
                initial_designs=designs,
                candidates=candidates,
                delta=delta,
                cost=cost,
                surrogate=surrogate,
            )

        open_or_create(
            self._log.log,
            self._mind,
            settings_from,
            name=name,
            budget=allowed,
            origin=origin or {},
            notify=self._notify,
        )
        self._mind.begin_with(self._log.log.stored_fits)
        if raised := raised_budget(self.history, allowed, name=name):
            self._commit(lambda: raised)
        self._agree_on_stop_rules()
        if reference is not None:
            fixed = _arguments.checked_reference(reference, [self.objectives[j] for j in self.history.optimised])
            self._commit(lambda: fixed_reference(self.history, fixed, name=name))

    def _connect(
        self,
        history: History,
        *,
        surrogate: str | Surrogate | None,
        cost: str | CostCallable | None,
        storage: str | Storage | None,
        name: str,
        lease: float,
        detached_worker: str,
        stop: object,
        callbacks: Callable[[Study, Event], object] | Iterable[Callable[[Study, Event], object]],
        checkpoints: str | Path | None,
    ) -> None:
        """Make the parts of the study, whose history is read, or begun, afterwards."""
        self._stop_rules = stop_rules(stop)
        self.name = _arguments.checked_text("name", name)
        self._callbacks = _arguments.checked_callbacks(callbacks)
        opened = open_storage(storage, name)
        self.shared = not isinstance(opened, MemoryStorage)
        self.history = history
        self._runs = Runs()
        self._heartbeat = Heartbeat(opened, lease=_arguments.checked_lease(lease), detached_worker=detached_worker)
        self._log = GuardedLog(EventLog(opened, self.history, name=name), name=name)
        self._ask_memory = AskMemory()
        self._last_stop = LastStop(self.history)
        self._handed_over: tuple[Predictor, int, str, HandOver] | None = None
        self._mind = Mind(self.history, surrogate=surrogate, cost=cost)
        self._checkpoints = StudyCheckpoints(history, opened, name, checkpoints)
        self._given: dict[str, Any] = {
            "storage": opened,
            "name": name,
            "lease": lease,
            "detached_worker": detached_worker,
            "stop": stop,
            "callbacks": callbacks,
            "checkpoints": checkpoints,
        }

    @classmethod
    def load(
        cls,
        storage: str | Storage,
        name: str | None = None,
        *,
        valid: Callable[[Design], object] | None = None,
        objectives: Sequence[Objective] | None = None,
        surrogate: str | Surrogate | None = None,
        cost: str | CostCallable | None = None,
        lease: float = LEASE,
        detached_worker: str = "",
        stop: object = None,
        callbacks: Callable[[Study, Event], object] | Iterable[Callable[[Study, Event], object]] = (),
        checkpoints: str | Path | None = None,
    ) -> Study:
        """The study that is stored, with its space, objectives and settings; `stop` replaces the stored rules.

        Functions are not stored: give the rule of its space (`valid`) and a surrogate or cost of your own again.
        If `objectives` are given, they must be those of the study; their timeouts, retries and resources hold here.
        The name may be left out where there is only one study; the other arguments are those of `Study`.
        """
        found, study_name, created = stored_study(storage, name)
        space = Space.from_dict(created["space"], valid=valid)
        study = cls.__new__(cls)
        study._connect(
            History(space, objectives or [Objective.from_dict(objective) for objective in created["objectives"]]),
            surrogate=surrogate,
            cost=cost,
            storage=found,
            name=study_name,
            lease=lease,
            detached_worker=detached_worker,
            stop=stop,
            callbacks=callbacks,
            checkpoints=checkpoints,
        )
        open_stored(study._log.log, study_name, own=objectives is not None)
        if valid is None and study.history.settings["space"].get("has_rule"):
            raise InvalidValueError(
                "The space of the stored study has a rule, which is not stored; give it as valid=..., or give "
                "valid=lambda design: True to do without."
            )
        if objectives is not None:
            check_same_objectives(check_objectives(objectives, study.space.names), study.history.settings, study_name)
        check_choice("surrogate", surrogate, study.history.settings, study_name)
        check_choice("cost", cost, study.history.settings, study_name)
        study._mind.begin_with(study._log.log.stored_fits)
        study._agree_on_stop_rules()
        return study

    @property
    def space(self) -> Space:
        """The legal designs; `change` changes them."""
        return self.history.space

    @property
    def objectives(self) -> tuple[Objective, ...]:
        """What is measured."""
        return self.history.objectives

    @property
    def method(self) -> Method:
        """The method that chooses."""
        return self._mind.method

    @property
    def settings(self) -> Settings:
        """The settings, which are stored with the study."""
        return self._mind.settings

    @property
    def budget(self) -> float | None:
        """What may be spent in all; assign to change it."""
        return self.history.budget

    @budget.setter
    def budget(self, budget: float | None) -> None:
        checked = _arguments.checked_budget(budget)
        self._commit(lambda: [BudgetSet(checked)])

    @property
    def stop(self) -> dict[str, float]:
        """The limits of the stop rules by name; assign what ``Study(stop=...)`` takes to replace the rules."""
        return named_limits(self._stop_rules)

    @stop.setter
    def stop(self, stop: object) -> None:
        self._stop_rules = stop_rules(stop)
        self._given["stop"] = stop
        limits = named_limits(self._stop_rules)
        if limits != (self.history.stop or {}):
            self._commit(lambda: [StopSet(limits)])

    @property
    def stopped(self) -> str:
        """Why there was nothing more to ask, or why the last run ended; empty if there may be more to ask."""
        stop = self._last_stop.known()
        return "" if stop is None else stop.reason

    @property
    def stop_kind(self) -> StopKind | None:
        """The kind of stop that `stopped` describes; None where that is empty."""
        stop = self._last_stop.known()
        return None if stop is None else stop.kind

    @property
    def needed_budget(self) -> float | None:
        """The budget that the initial designs are expected to need, if the study stopped because it cannot pay them."""
        stop = self._last_stop.known()
        return None if stop is None else stop.needs

    @property
    def predictor(self) -> Predictor:
        """The models, costs and Pareto region of the method, given the history."""
        return self._mind.optimizer.predictor

    @property
    def spent(self) -> float:
        """What was spent, failed attempts included."""
        return self.history.spent

    @property
    def worker(self) -> str:
        """The name of this process as a worker of the study; answers are stored with it."""
        return self._heartbeat.worker

    @property
    def place(self) -> str:
        """Where the study is stored: a file, or a URL without its secrets; empty if it is in memory."""
        return self._log.log.place

    @property
    def pending(self) -> tuple[Evaluation, ...]:
        """The evaluations that were asked and not answered."""
        return tuple(self.history.pending.values())

    @property
    def queue(self) -> tuple[QueuedDesign, ...]:
        """The designs that were queued, with the objectives that they still lack, in the order in which they are asked.

        An objective stays listed while it is being measured.
        """
        return tuple(self.history.queue)

    @property
    def events(self) -> tuple[Event, ...]:
        """All events, in order."""
        return tuple(self.history.events)

    @property
    def reference(self) -> dict[str, float] | None:
        """The reference point by objective, in the users' values; None until it is fixed after the initial designs.

        One that was not given is widened when a design of the confirmed front lies beyond it.
        """
        history = self.history
        return None if history.reference is None else history.values_of(self.predictor.reference(history))

    @overload
    def ask(self, k: int, *, only: Collection[str] | None = None) -> list[Evaluation]: ...

    @overload
    def ask(self, k: None = None, *, only: Collection[str] | None = None) -> Evaluation | None: ...

    def ask(self, k: int | None = None, *, only: Collection[str] | None = None) -> Evaluation | list[Evaluation] | None:
        """The next evaluation, or None when there is nothing to ask; `stopped` then says why.

        In a shared study no other process is asked the same, and what a lost worker held is asked first. If this call
        is interrupted or fails, nothing stays claimed: the evaluation is given back, or the next call returns it.

        Args:
            k: Ask for this many at once and return a list, shorter if there is less to ask. Each takes those before it
                as pending, so they differ.
            only: The objectives that can be measured here; by default all.
        """
        wanted = _arguments.checked_only(only, self.history)
        count = None if k is None else whole_number("k", k, least=1)
        return self._claims().ask(wanted, count)

    def ask_or_stop(self, only: Collection[str] | None = None) -> Evaluation | Stop:
        """The next evaluation as `ask` returns it, or why there is none and whether to wait.

        Of objectives that are measured together, `only` names the first.
        """
        return self._claims().ask_or_stop(only)

    def ask_queued_or_stop(self, only: Collection[str] | None = None, *, limit: float = math.inf) -> Evaluation | Stop:
        """The next queued evaluation that is expected to cost at most `limit`, or why there is none."""
        return self._claims().ask_queued_or_stop(only, limit=limit)

    def tell(
        self,
        evaluation: Evaluation,
        value: object,
        *,
        cost: float = 0.0,
        reports: Iterable[tuple[int, float]] | Mapping[int, float] = (),
    ) -> None:
        """Answer an evaluation.

        Args:
            evaluation: What `ask` returned.
            value: The value, or a mapping of values where several objectives are measured together. Values of other
                objectives that came with them are learned too.
            cost: What it cost, in the budget's units.
            reports: Of an objective with steps: values at steps before the one at which the evaluation stops.

        An evaluation that was released may still be answered, once.
        """
        answers.check_evaluation(evaluation)
        worker = self._heartbeat.worker
        told = answers.told_event(self.history, evaluation, value, cost, worker=worker, reports=reports)
        self._log.answer(evaluation, told, self._notify)

    def fail(
        self,
        evaluation: Evaluation,
        reason: object = "",
        *,
        cost: float = 0.0,
        impossible: bool = False,
        timeout: bool = False,
        reports: Iterable[tuple[int, float]] | Mapping[int, float] = (),
    ) -> None:
        """Tell that an attempt gave no value. The evaluation may be asked again: see ``Objective(retries=...)``.

        Args:
            evaluation: What `ask` returned.
            reason: What went wrong.
            cost: What the attempt cost.
            impossible: Whether the design cannot be measured at all; it is then not asked again.
            timeout: Whether it was ended because it took too long: its whole cost is not known, only that it is more.
            reports: Of an objective with steps: values at the steps that it reached.
        """
        answers.check_evaluation(evaluation)
        failed = answers.failed_event(
            self.history,
            evaluation,
            reason,
            cost,
            worker=self._heartbeat.worker,
            impossible=checked_flag("impossible", impossible),
            timeout=checked_flag("timeout", timeout),
            reports=reports,
        )
        self._log.answer(evaluation, failed, self._notify)

    def curve(self, design: Mapping[str, Any], objective: str) -> tuple[tuple[int, float], ...]:
        """The known values of an objective with steps, each with its step, ascending; empty without steps or values."""
        if objective not in self.history.names:
            raise unknown_name("objective", objective, self.history.names)
        return self.history.curve(self.space.design(design), objective)

    def checkpoint(self, design: Mapping[str, Any], objective: str) -> Path:
        """The folder in which the function of an objective with steps keeps what it needs to go on with a design."""
        if objective not in self.history.names:
            raise unknown_name("objective", objective, self.history.names)
        found = self.objectives[self.history.names.index(objective)]
        return self._checkpoints.found.of(found, self.space.design(design)).folder

    def with_steps(self, objective: Objective, measure: Measure) -> Measure:
        """A function as an executor calls it: that of an objective with steps receives `flexibo.Steps`."""
        return StepMeasure(measure, objective, self._checkpoints.found) if objective.stops else measure

    def release(self, evaluation: Evaluation, *, reason: str = "") -> None:
        """Give an evaluation back that was not attempted; it may be asked again.

        Args:
            evaluation: What `ask` returned.
            reason: Why, in one line, for people.
        """
        answers.check_evaluation(evaluation)
        checked = _arguments.checked_text("The reason", reason) if reason else ""
        self._commit(lambda: answers.release_events(self.history, evaluation, checked))

    def tell_outcome(self, outcome: Outcome) -> None:
        """Store what an executor returned; a value that cannot be told counts as a failure.

        If another worker answered first, only the cost counts.
        """
        worker = self._heartbeat.worker
        outcome = self._checkpoints.completed(outcome)
        if outcome.released:
            self._commit(lambda: answers.given_back_events(self.history, outcome, worker=worker))
            return
        event = answers.outcome_event(self.history, outcome, worker=worker)
        self._log.answer(outcome.evaluation, event, self._notify)

    def keep_outcome(self, outcome: Outcome, why: str) -> str:
        """Keep what an executor returned in a file beside the study, as it could not be stored; says where."""
        if outcome.released:
            return ""  # nothing was measured
        event = answers.outcome_event(self.history, outcome, worker=self._heartbeat.worker)
        return self._log.keep(outcome.evaluation, event, why)

    def add(
        self,
        design: Mapping[str, Any],
        values: Mapping[str, float] | None = None,
        *,
        cost: float | Mapping[str, float] | None = None,
        failed: str | Mapping[str, str] | None = None,
    ) -> None:
        """Add a result that was known before: values, or that they cannot be measured. It is not charged to the budget.

        Args:
            design: The option values.
            values: Some or all objectives, by name.
            cost: What it cost, by objective, or as a number where one objective is given: costs are learned from it.
            failed: An objective that cannot be measured for this design, or several, each with the reason.
        """

        def decide() -> Sequence[Event]:  # another process may have changed the study
            result = answers.added_event(self.history, design, values or {}, cost, failed)
            return answers.agreeing_events(self.history, result)

        self._commit(decide)

    def learn(self, results: Sequence[Added], *, seen: int | None = None) -> None:
        """Add results that were known before, all of them or none; see `add`, and `flexibo.transfer.learn_from`.

        They were read when the study had `seen` events, by default now: what others have added since is left out.
        """
        since = len(self.history.events) if seen is None else seen
        if results:
            self._commit(lambda: answers.new_results(self.history, results, since))

    def enqueue(
        self,
        design: Mapping[str, Any],
        objectives: Collection[str] | None = None,
        *,
        readings: int = 1,
        budget: float | None = None,
        why: str = "",
    ) -> QueuedDesign:
        """Put a design next in line: it is asked before anything that the method would choose.

        The queue is stored with the study. What is asked of it counts against the budget as any evaluation; rules for
        stopping early do not hold for it, except `max_seconds`. Nothing is queued if the design is illegal, if what is
        asked for is measured, being measured, queued or failed for good, or if the budget does not pay for it.

        Args:
            design: The option values.
            objectives: What to measure, in this order; by default all that is missing.
            readings: How many readings a noisy objective shall have in all.
            budget: What may be spent on it. If less is left of the study's budget, that is raised, so a design can be
                queued in a study that has spent its budget; the search spends what remains of it. By default what is
                left.
            why: The reason in one line, for people.

        Returns:
            The queued design; its number withdraws it (`dequeue`).
        """
        numbers: list[int] = []

        def decide() -> Sequence[Event]:  # another process may have changed the study
            order = _queue.Order.of(self.history, design, objectives, readings=readings, why=why, budget=budget)
            numbers[:] = [self.history.enqueued]
            return _queue.ordering_events(self.history, self._mind.optimizer.costs, order)

        with self._log.lock:
            self._commit(decide)
            return next(queued for queued in self.history.queue if queued.number == numbers[0])

    def dequeue(self, number: int | None = None) -> None:
        """Withdraw a queued design by its number, or all of them; what is being measured of it may be answered."""
        self._commit(lambda: _queue.dequeued_events(self.history, number))

    def change(
        self,
        *,
        options: Mapping[str, object] | None = None,
        defaults: Mapping[str, object] | None = None,
        conditions: Mapping[str, Mapping[str, object]] | None = None,
        valid: Callable[[Design], object] | Unset | None = UNSET,
        space: Space | None = None,
        objectives: Iterable[Objective | str] = (),
        limits: Mapping[str, float | None] | None = None,
        reference: Mapping[str, float] | Sequence[float] | None = None,
        method: str | None = None,
        budget: float | str | Unset | None = UNSET,
        cost: str | CostCallable | Unset | None = UNSET,
        surrogate: str | Surrogate | Unset | None = UNSET,
        candidates: int | None = None,
        delta: float | None = None,
        dry_run: bool = False,
    ) -> Changes:
        """Change the study; what was measured stays. Returns what changed, as a table to print.

        Readings of designs that are not legal any more still teach the models; these designs are neither asked for nor
        reported. If readings would become wrong, as by another direction of an objective, an error says so and nothing
        changes. Other processes go on with the changed study; where there is a new option or another rule, which their
        functions may not know, they stop after what they are measuring.

        Args:
            options: Options with other values or another range, and new ones; the other options stay.
            defaults: For each new option the value that all earlier designs have.
            conditions: All conditions of options, as for `Space`.
            valid: The rule of the space, as for `Space`; None removes it.
            space: Instead of these four: the space from now on, as a whole.
            objectives: Objectives that take the place of those of the same name, and new ones.
            limits: Limits of objectives by name: the greatest feasible value, or the least where it is maximised; None
                removes the limit. An objective that is optimised stays so.
            reference: As for `Study`.
            method: As for `Study`.
            budget: As for `Study`; it may also become smaller.
            cost: As for `Study`; None is the method's own.
            surrogate: As for `Study`; None is the method's own.
            candidates: As for `Study`.
            delta: As for `Study`.
            dry_run: Return what would change, and change nothing.

        >>> study = Study({"x": (0.0, 1.0)}, ["a", "b"], budget=30, seed=0)
        >>> print(study.change(options={"x": (0.0, 2.0)}, limits={"a": 0.5}))
                      before  after
        x             0 to 1  0 to 2
        at_most of a  none    0.5
        """
        if isinstance(space, Space) and valid is UNSET and space.valid is not self.space.valid:
            valid = space.valid
        request = ChangeRequest(
            options=options or {},
            defaults=defaults or {},
            conditions=conditions,
            valid=valid,
            space=space,
            objectives=objectives,
            limits=limits or {},
            reference=reference,
            method=method,
            budget=budget,
            cost=cost,
            surrogate=surrogate,
            candidates=candidates,
            delta=delta,
        )
        return self.grant(request, dry_run=dry_run)

    def grant(self, request: ChangeRequest, *, dry_run: bool = False, expected: Changes | None = None) -> Changes:
        """Change what is requested for, as `change` does; with `expected`, only if exactly that changes."""
        self.refresh()
        if dry_run:
            return plan(self.history, self.settings, request).changes
        found, replay = [Changes()], Replay()

        def decide() -> Sequence[Event]:
            planned = plan(self.history, self.settings, request, replay)
            if expected is not None and planned.changes.rows != expected.rows:
                raise InvalidValueError("The study was changed by another process meanwhile; look at it again.")
            found[0] = planned.changes
            return planned.events

        with self._log.lock, self._mind.changing(request):
            decide()  # what takes long is done before other processes must wait
            self._commit(decide)
        return found[0]

    def note(self, text: str) -> None:
        """Store a note for people with the study; it affects nothing."""
        checked = _arguments.checked_text("The note", text)
        self._commit(lambda: [Noted(checked)])

    def run(
        self,
        objectives: Mapping[str, Measure],
        *,
        executor: Executor | str = "inline",
        progress: bool | None = None,
        idle: float | None = None,
        raise_first: bool = True,
    ) -> None:
        """Ask, measure and tell until there is nothing more to ask.

        A function that raises, or returns what is not a finite number, fails that evaluation and the study continues.
        Only the error of its very first call is raised here, because it is most often a mistake in the function.
        If it raises `flexibo.errors.MachineError`, nothing counts as failed, and the error is raised; if it raises
        `flexibo.errors.DesignError`, the evaluation is not tried again.
        Ctrl-C, or an interrupt of a notebook's kernel, keeps what was measured, shows the front so far and returns.
        What a process left pending that died is measured first. While other processes measure evaluations of a shared
        study, it waits for them.

        Args:
            objectives: For each objective a function of a design. It returns the value (a mapping where objectives
                are measured together), alone or with its cost; without one the wall-clock time in seconds is the cost.
                That of an objective with steps receives a `flexibo.Steps` instead of a design.
                In a stored study, functions of some objectives are enough if other processes measure the others.
            executor: Where to measure: "inline" (here, one at a time), "processes", "dask", "ray", "slurm", or an
                executor of `flexibo.executors`, which you close yourself.
            progress: Whether to show a progress bar, in a notebook a cell that is updated in place; by default in a
                terminal and in a notebook only.
            idle: Return after this many seconds without anything to do, rather than wait for other processes.
            raise_first: Whether an error of the first call of a function is raised, if its objective was never tried
                before; otherwise it fails its evaluation as later ones do. An error in another process is raised as a
                `flexibo.errors.FunctionError` with the traceback in a note.
        """
        with self._runs.begun(self.history, objectives, executor, some=self.shared) as means:
            source: RunnableStudy = self
            if checked_flag("raise_first", raise_first):
                new = [n for n in means.functions if not (self.history.told[n] or self.history.failed_attempts[n])]
                source = RaisingFirst(self, new)
            try:
                self._run(source, means, progress=progress, idle=idle)
            except FirstCallError as broken:
                kept = self._checkpoints.take_back(broken.outcome.evaluation)
                raise explained(broken.outcome, kept) from None
        logger.info("Study %r stopped: %s", self.name, printable_line(self.stopped))

    def try_out(self, objectives: Mapping[str, Measure], *, executor: Executor | str = "inline") -> tuple[Outcome, ...]:
        """Measure each objective once that was never measured: a mistake in a function is found before much is spent.

        The objective with the lowest declared cost comes first, those without one follow in their order; each waits for
        the one before. The designs are those that the study begins with, and what is measured counts as any evaluation,
        so nothing is measured twice. It ends at the first objective that is broken: its function raised an error or
        returned no number. That is not counted, and the same evaluation is asked again. A design that is impossible or
        exceeds the timeout is a failed evaluation; then another design is tried, three in all.

        Args:
            objectives: For each objective a function of a design, as for `run`.
            executor: As for `run`.

        Returns:
            The outcomes, in order; `values` of the last one is None if its objective is broken, and `reason` says why.
        """
        with self._runs.begun(self.history, objectives, executor, some=self.shared) as means:
            source = TryOnly(self, untried(self.history, means.functions))
            try:
                self._run(source, means, progress=False, idle=None)
            except FirstCallError as broken:
                if not broken.is_counted:
                    self._checkpoints.take_back(broken.outcome.evaluation)
            return tuple(source.outcomes)

    def confirm(
        self,
        objectives: Mapping[str, Measure] | None = None,
        *,
        rows: Collection[int] | None = None,
        budget: float | None = None,
        readings: int = 1,
        executor: Executor | str = "inline",
        progress: bool | None = None,
        idle: float | None = None,
    ) -> tuple[QueuedDesign, ...]:
        """Measure what is missing of promising designs, and nothing else.

        The designs are queued, those that are expected to add most per cost first, and measured with the queue that
        there is, or only queued if no functions are given: then `run`, `ask` or the workers of the study measure them.
        If a row is unknown or cannot be confirmed, or the budget does not pay for it, nothing changes.

        Args:
            objectives: For each objective a function of a design, as for `run`.
            rows: Numbers of rows of `promising()`, or of `front()` with `readings`; by default all, as far as the
                budget pays for them.
            budget: Spend at most this on confirming. If less is left of the study's budget, that is raised, so a study
                that has spent its budget can be confirmed too. By default what is left of the study's budget.
            readings: How many readings of each noisy objective a design shall have, confirmed designs included. What
                joins the front by these readings is read again, too, as far as the budget pays for it.
            executor: As for `run`.
            progress: As for `run`.
            idle: As for `run`.

        Returns:
            The designs that were queued; what could not be paid after all is not in the queue any more.
        """
        if objectives is None:
            return self._enqueue_rows(Wish.of(rows, budget, readings, runs=False))
        with self._runs.begun(self.history, objectives, executor, some=self.shared) as means:
            wish: Wish | None = Wish.of(rows, budget, readings, runs=True)
            source = QueueOnly(self, math.inf if budget is None else budget)
            found: tuple[QueuedDesign, ...] = ()
            while wish is not None:
                found += self._enqueue_rows(wish)
                if not self.history.queue:
                    break
                self._run(source, means, progress=progress, idle=idle)
                if source.is_spent:
                    self._commit(partial(unpaid_events, self.history, found))
                wish = None if self.history.queue else wish.further(source.left)
            return found

    def check_confirm(
        self, *, rows: Collection[int] | None = None, budget: float | None = None, readings: int = 1, runs: bool = True
    ) -> None:
        """Raise the error that `confirm` would raise about these arguments, before anything is queued or measured.

        `runs` says whether `confirm` will be given functions.
        """
        wish = Wish.of(rows, budget, readings, runs=runs)
        self._claims().give_back_lost()
        confirming_events(self.history, self._mind.optimizer.costs, self._wished_rows(wish), wish)

    def record_stop(self, kind: StopKind, reason: str, *, needs: float | None = None) -> None:
        """Store why the study stopped, for a program that knows more about it than `run`, which stores it itself.

        `needs` is what `needed_budget` says until something happens; it is not stored.
        """
        stop = Stop(StopKind(kind), reason, needs=needs)
        try:
            if kind not in PASSING:
                self._commit(lambda: stopped_events(self.history, stop))
        except StorageError as error:  # the results are stored, and the reason is only information
            logger.warning("Why the study stopped could not be stored: %s", error)
        self._last_stop.remember(stop)

    def front(self, *, include: str = "probable") -> Front:
        """The confirmed designs: measured in every quantity, and dominated by no other confirmed design.

        The values of a row are its readings, or the mean of them where a quantity is noisy, with their number and
        spread; `estimates` is what the model says. What is not completely measured yet is in `promising`.

        Args:
            include: "confident" lists only what is on the front whatever the values within the boxes, "possible" also
                what may be on the front but is not by the best guess. See `flexibo.results.confidence`.
        """
        return self.hand_over(include=include).front

    def promising(self, *, include: str = "probable") -> Promising:
        """The designs that are worth confirming: measured in some quantity and promising, but not completely measured.

        Each row has its number in the tables, what was measured and predicted, the expected gain, what confirming it
        costs, and the chance that it can be measured. A design of which something failed is not listed.

        Args:
            include: As for `front`.
        """
        return self.hand_over(include=include).promising

    def hand_over(self, *, include: str = "probable") -> HandOver:
        """The confirmed and the promising designs, what is missed at most, and what confirming everything costs."""
        self.refresh()
        predictor, count = self.predictor, len(self.history.events)
        if self._handed_over is None or self._handed_over[:3] != (predictor, count, include):  # several ask for it
            self._handed_over = predictor, count, include, hand_over(predictor, self.history, include=include)
        return self._handed_over[3]

    def certificate(self, delta: float | None = None, *, candidates: int | None = None) -> Certificate:
        """An upper bound on what confirmed and promising designs miss of the best hypervolume; print it.

        It holds with probability 1 - delta over the candidates, if the models are right; see
        `flexibo.results.certificate`.

        Args:
            delta: The probability that it fails; the study's own `delta` unless given.
            candidates: Over how many designs; as many as the study draws for a question unless given. A space of at
                most this many designs is covered completely.
        """
        self.refresh()
        return certificate(self.predictor, self.history, delta=delta, candidates=candidates)

    def region(self) -> ParetoRegion:
        """The region between the optimistic and the pessimistic front, as the next question would see it."""
        return region(self.predictor, self.history)

    def trace(self) -> Trace:
        """The finished evaluations, with cost, hypervolume and volume of the Pareto region."""
        return trace(self.history, known_reference(self.predictor, self.history))

    def summary(self) -> Summary:
        """The study in a few numbers; print it."""
        found, reference = self.hand_over(), known_reference(self.predictor, self.history)
        return summarise(self.history, found, reference, method=self.method.name, stop=self._last_stop.known())

    def live_workers(self) -> frozenset[str]:
        """The names of the other workers of the study that are not known to be gone."""
        return self._heartbeat.others()

    def refresh(self) -> None:
        """Learn what other processes wrote to a shared study; `ask`, `tell` and `front` do so themselves."""
        self._log.refresh(self._notify)

    def close(self) -> None:
        """Sign off as a worker, and close the storage: what this process still holds may be given to others at once.

        The study can be used again.
        """
        self._flush_callbacks()
        self._heartbeat.leave(holds=bool(self._claims().held()))
        self._log.log.close()

    def __enter__(self) -> Study:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        # A pickled study is its storage, which is opened again, and the functions that are not stored.
        if not self.shared:
            raise InvalidTypeError(
                "A study in memory cannot be pickled; create it with storage='sqlite:///study.db', or pickle its "
                "study.front()."
            )
        own = {"surrogate": self._mind.surrogate, "cost": self._mind.cost}
        kept = {what: one for what, one in own.items() if choice_name(one) == getattr(self.settings, what)}
        given = {**self._given, **kept, "method": self.settings.method}
        return partial(type(self), **given), (self.space, self.objectives)

    def __repr__(self) -> str:
        count = len(self.history.measurements)
        return f"<Study {self.name!r}: {self.method.name}, {count} measurement{'s' * (count != 1)}>"

    def _repr_html_(self) -> str:
        """What is searched, how far it is, and the front, for notebooks."""
        return study_html(self, method=self.method.name, place=self.place, stopped=self.stopped)

    def _claims(self) -> Claims:
        """What one call claims."""
        stops = StopCheck(self._stop_rules, self)
        asking = Asking(
            self._log.log,
            self._mind,
            self._heartbeat,
            stops,
            self._notify,
            self._ask_memory,
            self._checkpoints.reported,
        )
        return Claims(asking, self._log, self._last_stop)

    def _enqueue_rows(self, wish: Wish) -> tuple[QueuedDesign, ...]:
        """Queue what is missing of rows, or of all."""
        self._claims().give_back_lost()
        while True:
            rows, settings = self._wished_rows(wish), self.history.settings
            before = self.history.enqueued

            def decide(settings: object = settings, rows: Mapping[int, Design] = rows) -> Sequence[Event]:
                is_same = self.history.settings is settings
                return confirming_events(self.history, self._mind.optimizer.costs, rows, wish) if is_same else []

            self._commit(decide)
            if self.history.settings is settings:  # or else another process changed the study, and has other rows
                return tuple(queued for queued in self.history.queue if queued.number >= before)

    def _wished_rows(self, wish: Wish) -> dict[int, Design]:
        """The designs that are wished for by their numbers."""
        known = self.hand_over(include=wish.include)
        return chosen_rows(known, self.objectives, known_reference(self.predictor, self.history), wish)

    def _run(self, source: RunnableStudy, means: Means, *, progress: bool | None, idle: float | None) -> None:
        """Measure what `source`, this study or its queue, asks; failures that stopped the study are forgiven."""
        if failing(self.history):
            self._commit(lambda: [Forgiven()])
        try:
            run_until_stopped(self, source, means, self._claims(), progress=progress, idle=idle, place=self.place)
        finally:
            self._flush_callbacks()

    def _agree_on_stop_rules(self) -> None:
        """Store the named rules that were given, or use those that are stored."""
        limits = named_limits(self._stop_rules)
        if limits and limits != self.history.stop:
            self._commit(lambda: [StopSet(limits)])
        elif self.history.stop and not self._stop_rules:
            self._stop_rules = stop_rules(self.history.stop)

    def _commit(self, decide: Callable[[], Sequence[Event]]) -> None:
        self._log.commit(decide, self._notify)

    def _notify(self, event: Event) -> None:
        """Call the callbacks; an error in one of them does the study no harm."""
        for callback in self._callbacks:
            try:
                callback(self, event)
            except Exception:
                logger.exception("A callback failed on %s; the study continues.", type(event).__name__)

    def _flush_callbacks(self) -> None:
        """A run is over: callbacks that have a method `flush` finish what they are doing."""
        for callback in self._callbacks:
            try:
                if (flush := getattr(callback, "flush", None)) is not None:
                    flush(self)
            except Exception:
                logger.exception("A callback failed at the end of a run; the study is not affected.")
