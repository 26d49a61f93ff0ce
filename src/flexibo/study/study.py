"""Study: ask, tell, run, front. Here the mind meets the world.

What it has found and can be read is `flexibo.study._findings`, how answers are kept `flexibo.study._notebook`.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import closing
from functools import partial
from typing import Any, overload

from flexibo._internal.checks import whole_number
from flexibo.belief.costs import CostCallable
from flexibo.errors import InvalidValueError
from flexibo.executors import Executor, Measure, find_executor
from flexibo.history.events import Evaluation, Event, Forgiven, StopSet
from flexibo.methods.table import find_method
from flexibo.objectives import Objective, check_objectives
from flexibo.optimizer import Stop
from flexibo.optimizer.choice import hopeless
from flexibo.optimizer.predictor import Predictor
from flexibo.space import Design, Space
from flexibo.storage import Storage
from flexibo.storage.presence import LEASE
from flexibo.study._ask import Asker
from flexibo.study._callbacks import weakly
from flexibo.study._create import fixed_reference, founded, optimizer_of, raised_budget
from flexibo.study._notebook import Notebook
from flexibo.study._run import Loop
from flexibo.study.progress import progress_bar
from flexibo.study.settings import (
    check_executor,
    check_functions,
    check_names,
    checked_budget,
    checked_reference,
    checked_settings,
    listed,
)
from flexibo.study.stop_rules import limit_reason, named_limits, stop_reason, stop_rules
from flexibo.study.stored import stored_study
from flexibo.surrogates import Surrogate

logger = logging.getLogger(__name__)


class Study(Notebook):
    """A search for the Pareto front of a space under a budget.

    Args:
        space: The designs; a mapping is turned into a `Space`.
        objectives: At least two, or one and a constraint; a string is an objective to minimise.
        method: One of the names that `flexibo.list_methods()` lists.
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
        space = space if isinstance(space, Space) else Space(space)
        quantities, chosen = check_objectives(objectives, space.names), find_method(method)
        chosen.check(quantities)
        self._stop_rules = stop_rules(stop)
        self._runs = threading.Lock()
        budget = checked_budget(budget)
        super().__init__(
            space, quantities, chosen, storage=storage, name=name, lease=lease, hand=hand, callbacks=callbacks
        )
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
            self._log, self._optimizer, self._presence, weakly(self._stop_reason), weakly(self._limit_reached)
        )
        if raised := raised_budget(self.history, budget, name=name):
            self._commit(lambda: raised)
        self._agree_when_to_stop()
        if reference is not None:
            fixed = checked_reference(reference, [self.objectives[j] for j in self.history.optimised])
            self._commit(lambda: fixed_reference(self.history, fixed, name=name))

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
    def predictor(self) -> Predictor:
        """What thinks of designs for the method: models, prices and the Pareto region, given the history."""
        return self._optimizer.predictor

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
                [o for o in self.objectives if o.name in leads and o.name in objectives],
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

    def __repr__(self) -> str:
        return f"<Study {self.name!r}: {self.method.name}, {len(self.history.measurements)} measurements>"

    def _stop_reason(self, evaluation: Evaluation) -> str:
        return stop_reason(self._stop_rules, self, self.history, evaluation)

    def _limit_reached(self, evaluation: Evaluation) -> str:
        return limit_reason(self._stop_rules, self.history, evaluation)

    def _agree_when_to_stop(self) -> None:
        """Store the named rules that were given, or take those that are stored."""
        limits = named_limits(self._stop_rules)
        if limits and limits != self.history.stop:
            self._commit(lambda: [StopSet(limits)])
        elif self.history.stop and not self._stop_rules:
            self._stop_rules = stop_rules(self.history.stop)

    def _checked_names(self, only: Collection[str] | None) -> Collection[str] | None:
        """The objectives to ask for, each as the one whose evaluation yields it."""
        if only is None:
            return None
        check_names(only, self.history.names)
        return {self.history.purchases[self.history.purchase_of(name)].objective for name in only}
