"""History: the append-only memory of a study.

A study is the replay of its events. All state that decides the next question is derived from them here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from flexibo._internal.arrays import FloatArray, IntArray, KeyArray
from flexibo._internal.numbers import cost_unit
from flexibo._internal.stops import share
from flexibo.errors import InvalidTypeError, InvalidValueError
from flexibo.history._records import (
    REMEMBERED,
    Curves,
    DesignSeries,
    ObjectiveRecord,
    Payments,
    PurchaseRecord,
    SeenDesigns,
    told_variances,
)
from flexibo.history._sequences import AskedEvaluations, Charges, Events, Measurements
from flexibo.history.event_dicts import event_to_dict, events_from_dicts
from flexibo.history.events import (
    Added,
    Asked,
    BudgetSet,
    Changed,
    Created,
    Dequeued,
    Enqueued,
    Evaluation,
    Event,
    Failed,
    FailureKind,
    Forgiven,
    Noted,
    ReferenceFixed,
    Reissued,
    Released,
    Spent,
    Stopped,
    StopSet,
    Told,
)
from flexibo.history.measurements import Assignment, FollowUp, QueuedDesign
from flexibo.objectives import LARGEST, Objective, check_objectives, purchases, with_own
from flexibo.space import Design, Designs, Rule, Space


class History:
    """The events of a study and the state that follows from them.

    A study whose settings were changed is the replay of all its events with the latest settings: what was measured
    before is kept, and read as a reading of the study as it is now.

    Attributes:
        quantities: The objectives that count: all but proxies, which come last among `objectives`.
        counted: Their names.
        bundles: The quantities that each purchase yields; none for a proxy.
        counting: The purchases that yield any, with their places.
        settings: The latest settings as they are stored; empty if there are none yet.
        changes: How often they were changed.
        rules: How often the rule of the space was.
        changes_to_come: How many changes are still to be replayed until the settings hold.
        rule: The rule of the space after the next change, if only this process knows it.
    """

    def __init__(self, space: Space, objectives: Sequence[Objective]) -> None:
        self.settings: Mapping[str, Any] = {}
        self.changes = 0
        self.rules = 0
        self.rule: Rule | None = space.valid
        self.changes_to_come = 0
        self._own: Mapping[str, Objective] = {}
        self._last: Mapping[str, Any] = {}  # the settings that held at the last event
        self.space = space
        self.objectives = tuple(objectives)
        self.purchases = purchases(self.objectives)
        self.names = tuple(objective.name for objective in self.objectives)
        self.optimised = tuple(j for j, objective in enumerate(self.objectives) if objective.optimise)
        # Proxies are measured like objectives but count for nothing: they come last, and tables leave them out.
        self.quantities = tuple(objective for objective in self.objectives if not objective.is_proxy)
        self.counted = tuple(objective.name for objective in self.quantities)
        self.bundles = tuple(tuple(j for j in p.members if j < len(self.quantities)) for p in self.purchases)
        self.counting = tuple((p, purchase) for p, purchase in enumerate(self.purchases) if self.bundles[p])
        self.limits: FloatArray = np.array([objective.limit for objective in self.quantities])
        self.events = Events()
        self.pending: dict[int, Evaluation] = {}
        self.assignments: dict[int, Assignment] = {}
        self.asked = AskedEvaluations(self.events)
        self.measurements = Measurements(self.events, self.asked)
        self.spent = 0.0
        self.charges = Charges(self.names)
        self.budget: float | None = None
        self.reference: tuple[float, ...] | None = None
        self.is_reference_found = False
        self.answered: dict[int, str] = {}
        self.reissues: Counter[int] = Counter()
        self.failed_attempts: Counter[str] = Counter()
        self.failed_in_a_row: Counter[str] = Counter()
        self.told: Counter[str] = Counter()
        self.free_in_a_row = 0
        self.last_reason: dict[str, str] = {}
        self.follow_ups: list[FollowUp] = []
        self.queue: list[QueuedDesign] = []
        self.enqueued = 0
        self.timed: dict[str, bool] = {}
        self.stop: Mapping[str, float] | None = None
        self.stopped: Stopped | None = None
        self.origin: Mapping[str, Any] = {}
        self.chosen = 0
        self.scored: list[int] = []
        self.initial: dict[Design, None] = {}
        self._lost: dict[tuple[int, str], float] = {}
        self._payments = Payments()
        self._later_tokens: dict[int, list[str]] = {}
        self._purchase_records = tuple(
            PurchaseRecord(
                DesignSeries(space),
                DesignSeries(space),
                DesignSeries(space),
                self.objectives[purchase.members[0]].retries,
            )
            for purchase in self.purchases
        )
        self._objective_records = tuple(ObjectiveRecord(DesignSeries(space)) for _ in self.objectives)
        self._curves = tuple(Curves(space) for _ in self.objectives)
        self._seen = SeenDesigns(space, self.purchases)
        self._purchase_of = {self.names[j]: p for p, purchase in enumerate(self.purchases) for j in purchase.members}

    def begin_as(self, settings: Mapping[str, Any], *, own: bool = True) -> None:
        """Make this history, which is empty, that of a study with these stored settings.

        What affects no question, such as timeouts, is that of the objectives it had, if they are the user's `own`.
        """
        self._own = {objective.name: objective for objective in self.objectives} if own else {}
        self.become(self.emptied(settings))

    def emptied(self, settings: Mapping[str, Any]) -> History:
        """A history without events of a study with these stored settings."""
        if not settings:
            return type(self)(self.space, self.objectives)
        rule = (self.rule or _every_design) if settings["space"].get("has_rule") else None
        is_same = rule is self.space.valid and settings["space"] == self.space.to_dict()
        space = self.space if is_same else Space.from_dict(settings["space"], valid=rule)
        stored = [Objective.from_dict(objective) for objective in settings["objectives"]]
        made = type(self)(space, check_objectives([with_own(o, self._own.get(o.name)) for o in stored], space.names))
        made.settings, made._own, made.rule = settings, self._own, self.rule
        return made

    def changed_to(self, settings: Mapping[str, Any], *, changes: int = 1) -> History:
        """The replay of the events so far with the settings that one of the next `changes` has, the last of them.

        An error if one of the events does not fit.
        """
        made = self.emptied(settings)
        made.changes_to_come = self.changes + changes
        made.follow(self)
        return made

    def follow(self, other: History) -> None:
        """Replay the events with which another history is ahead of this one."""
        new = other.events[len(self.events) :]
        self.extend(events_from_dicts([event_to_dict(event) for event in new], self.space))

    def become(self, other: History) -> None:
        """Take the place of another history, whose state this one then has."""
        self.__dict__.update(other.__dict__)

    def forget_own(self) -> None:
        """From now on all properties of objectives are the stored ones, where the study is changed."""
        self._own = {}

    @property
    def cost_unit(self) -> str:
        """The unit of costs: seconds, or empty if only the user knows it."""
        return cost_unit(self.origin, self.timed)

    def extend(self, events: Sequence[Event]) -> None:
        """Add events; many at once take far less time than one by one."""
        for start in range(0, len(events), REMEMBERED):
            some = events[start : start + REMEMBERED]
            asked_or_added = [event for event in some if isinstance(event, Asked | Added)]
            self._seen.add([e.evaluation.design if isinstance(e, Asked) else e.design for e in asked_or_added])
            for event in some:
                self.append(event)

    def append(self, event: Event) -> None:
        """Add one event; all before it are replayed if it changes the settings."""
        if isinstance(event, Changed) and not self.changes_to_come:
            self.become(self.changed_to(event.settings))
        match event:
            case Asked():
                self._ask(event)
            case Reissued():
                self._lose(event.number, event.cost)
                self.reissues[event.number] += 1
                self.assignments[event.number] = Assignment(event.worker, event.seconds, event.token)
                self.pending[event.number] = replace(self.pending[event.number], token=event.token)
                self._later_tokens.setdefault(event.number, []).append(event.token)
            case Told():
                self._tell(event)
            case Failed():
                self._fail(event)
            case Released():
                self._lose(event.number, event.cost)
                self._close(event.number)
                self._ask_again(self.asked[event.number])
            case Spent():
                if self.settled(event) is None:
                    self._pay(event)
            case Added():
                self._add(event)
            case Enqueued():
                self._enqueue(event)
            case Dequeued():
                self.queue = [queued for queued in self.queue if queued.number != event.number]
            case ReferenceFixed():
                optimised = [self.objectives[j] for j in self.optimised]
                is_whole = all(o.name in event.values for o in optimised)  # not so before an objective was added
                self.reference = tuple(o.loss(event.values[o.name]) for o in optimised) if is_whole else None
                self.is_reference_found = event.found and is_whole
            case BudgetSet():
                self.budget = event.budget
            case StopSet():
                self.stop = event.rules
            case Forgiven():
                self._forgive()
            case Created():
                self.origin = event.origin
                self._last, self.settings = event.settings, self.settings or event.settings
            case Changed():
                self._change(event)
            case Noted() | Stopped():
                pass
        if self.queue and isinstance(event, Told | Failed | Added):
            self._shorten_queue()
        if isinstance(event, Stopped):
            self.stopped = event
        elif not isinstance(event, Noted):
            self.stopped = None  # something happened since
        self.events.append(event)

    @property
    def designs(self) -> Designs:
        """Every design that was asked about or added, once, in that order, as far as the space still allows it."""
        return self._seen.legal() if self.changes else self._seen.designs()

    @property
    def known_designs(self) -> Designs:
        """Every design that was asked about or added, once, in that order, also where the study was narrowed since."""
        return self._seen.designs()

    def is_legal(self, design: Design) -> bool:
        """Whether the space still allows a design that is known."""
        return not self.changes or bool(self.space.legal(self.space.known_designs([design]))[0])

    def data(self, j: int) -> tuple[Designs, FloatArray]:
        """The designs (s) and losses (s,) that objective j was measured on, in order."""
        return self._objective_records[j].losses.arrays()

    def variances(self, j: int) -> FloatArray | None:
        """The variances (s,) of the own noise of the losses in `data`, as they were told; None if there are none."""
        record = self._objective_records[j]
        return told_variances(record.bars, len(record.losses))

    def bars(self, j: int) -> FloatArray:
        """The standard deviations (s,) that were told of the losses in `data` themselves; NaN where none was."""
        record = self._objective_records[j]
        found = np.full(len(record.losses), np.nan)
        found[list(record.bars)] = list(record.bars.values())
        return found

    def count(self, j: int) -> int:
        """The number of measurements of objective j."""
        return len(self._objective_records[j].losses)

    def known(self, j: int) -> dict[int, float]:
        """The latest loss of objective j by key."""
        return self._objective_records[j].latest

    def points(self, j: int) -> tuple[Designs, IntArray, FloatArray]:
        """The designs (s), steps (s,) and losses (s,) that are known of objective j, if it has steps, in order."""
        curves = self._curves[j]
        return curves.losses.arrays()[0], np.array(curves.steps, dtype=np.int64), curves.losses.arrays()[1]

    def point_variances(self, j: int) -> FloatArray | None:
        """The variances (s,) of the own noise of the losses in `points`; None if there are none."""
        return told_variances(self._curves[j].bars, len(self._curves[j].losses))

    def curve(self, design: Design, objective: str) -> tuple[tuple[int, float], ...]:
        """The known values of an objective with steps, each with its step, ascending."""
        j = self.names.index(objective)
        own = self.objectives[j]
        if not own.stops:
            return ()
        losses = self._curves[j].of(self._seen.objective_key(own, design))
        return tuple((step, own.value(losses[step])) for step in sorted(losses))

    def reached(self, design: Design, objective: str) -> int:
        """The highest step at which a value of this objective is known; 0 without steps, or if there is none."""
        return max((step for step, _ in self.curve(design, objective)), default=0)

    def all_reached(self, j: int, designs: Designs) -> IntArray:
        """The highest step (m,) at which a value of objective j is known for each design; 0 where there is none."""
        objective = self.objectives[j]
        if not objective.stops:
            return np.zeros(len(designs), dtype=np.int64)
        steps = self._curves[j].reached()
        return np.array([steps.get(key, 0) for key in designs.keys(objective.depends_on).tolist()], dtype=np.int64)

    def first(self, j: int) -> dict[int, tuple[int, float]]:
        """By key: the number of events until the first measurement of objective j, and its loss."""
        return self._objective_records[j].first

    def reference_values(self) -> dict[str, float] | None:
        """The reference point by objective, in the users' values; None until it is fixed."""
        if self.reference is None:
            return None
        return self.values_of(self.reference)

    def values_of(self, losses: Iterable[float]) -> dict[str, float]:
        """Losses (k,) of the optimised objectives by name, in the users' values."""
        optimised = [self.objectives[j] for j in self.optimised]
        return {o.name: o.value(float(loss)) for o, loss in zip(optimised, losses, strict=True)}

    def has_feasible(self) -> bool:
        """Whether a design that is measured in every objective keeps every constraint; True without constraints."""
        if not np.isfinite(self.limits).any():
            return True
        designs = self.designs
        kept = np.ones(len(designs), dtype=bool)
        for j, objective in enumerate(self.quantities):
            losses = self._objective_records[j].latest
            keys = designs.keys(objective.depends_on).tolist()
            kept &= np.array([losses.get(key, np.inf) <= min(objective.limit, LARGEST) for key in keys], dtype=bool)
        return bool(kept.any())

    def costs(self, p: int) -> tuple[Designs, FloatArray]:
        """The designs and raw costs of all paid evaluations of purchase p, in order; see `spans`."""
        return self._purchase_records[p].costs.arrays()

    def spans(self, p: int) -> IntArray:
        """The steps (s, 2) from which and to which each of the `costs` of purchase p was paid; it has steps."""
        return np.array(self._purchase_records[p].spans, dtype=np.int64).reshape(-1, 2)

    def failure_costs(self, p: int) -> FloatArray:
        """What each failed attempt at purchase p cost, in order."""
        return self._purchase_records[p].failure_costs.arrays()[1]

    def least_costs(self, p: int) -> tuple[Designs, FloatArray]:
        """The designs for which purchase p took too long, and what each had cost when it was ended, in order."""
        return self._purchase_records[p].least_costs.arrays()

    def closed(self, p: int) -> KeyArray:
        """Keys of designs for which purchase p must not be asked: measured, pending or failed too often."""
        return _keys(self._purchase_records[p].closed(remeasured=self._is_remeasured(p)))

    def hopeless(self, p: int) -> KeyArray:
        """Keys of designs for which purchase p failed too often, or cannot be measured at all."""
        return _keys(self._purchase_records[p].hopeless())

    def failed(self, p: int) -> KeyArray:
        """Keys of designs for which purchase p was never measured and failed; a lost worker is no such failure."""
        return _keys(self._purchase_records[p].failed())

    def measured(self, p: int) -> KeyArray:
        """Keys of designs for which purchase p was measured."""
        return _keys(self._purchase_records[p].measured)

    def is_closed(self, p: int, design: Design) -> bool:
        """Whether purchase p of this design must not be asked."""
        if self.is_pending(p, design) or self.is_hopeless(p, design):
            return True
        return self.is_measured(p, design) and not self._is_remeasured(p)

    def _is_remeasured(self, p: int) -> bool:
        return any(self.objectives[j].remeasure for j in self.purchases[p].members)

    def is_measured(self, p: int, design: Design) -> bool:
        """Whether purchase p was measured for this design or an equivalent one."""
        return self.key(p, design) in self._purchase_records[p].measured

    def attempts(self, p: int, design: Design) -> int:
        """The number of failed attempts at purchase p of this design."""
        return self._purchase_records[p].failures[self.key(p, design)]

    def is_hopeless(self, p: int, design: Design) -> bool:
        """Whether purchase p of this design failed too often, or cannot be measured at all."""
        return self._purchase_records[p].is_hopeless(self.key(p, design))

    def is_failed(self, p: int, design: Design) -> bool:
        """Whether purchase p of this design is in `failed`."""
        return self.key(p, design) in self._purchase_records[p].failed()

    def is_pending(self, p: int, design: Design) -> bool:
        """Whether purchase p of this design or an equivalent one is being measured."""
        return self._purchase_records[p].pending[self.key(p, design)] > 0

    def readings_missing(self, p: int, design: Design, readings: int = 1) -> int:
        """How many more evaluations of purchase p this design needs for these readings.

        An exact value needs one, and so does one with steps: its curve is not measured again.
        """
        members = [(self.objectives[j], self._objective_records[j].counts) for j in self.purchases[p].members]
        return max(
            max(
                0,
                (readings if objective.noisy and not objective.stops else 1)
                - counts[self._seen.objective_key(objective, design)],
            )
            for objective, counts in members
        )

    def is_queued(self, p: int, design: Design) -> bool:
        """Whether purchase p of this design or an equivalent one is in the queue."""
        key = self.key(p, design)
        return any(
            self.purchase_of(name) == p and self.key(p, queued.design) == key
            for queued in self.queue
            for name in queued.objectives
        )

    def is_wanted(self, evaluation: Evaluation) -> bool:
        """Whether the queued design that an evaluation belongs to still lacks it."""
        return any(q.number == evaluation.queued and evaluation.objective in q.objectives for q in self.queue)

    def purchase_of(self, objective: str) -> int:
        """The purchase that yields an objective."""
        return self._purchase_of[objective]

    def key(self, p: int, design: Design) -> int:
        """The key of a design for purchase p: equal where the design's outcome must be equal."""
        return self._seen.key(p, design)

    def _record(self, objective: str) -> PurchaseRecord:
        return self._purchase_records[self._purchase_of[objective]]

    def _key(self, evaluation: Evaluation) -> int:
        return self.key(self._purchase_of[evaluation.objective], evaluation.design)

    def _ask(self, event: Asked) -> None:
        evaluation = event.evaluation
        self._seen.row(evaluation.design)
        if self.is_scored(evaluation):
            self.scored.append(evaluation.number)
        self.pending[evaluation.number] = evaluation
        self.assignments[evaluation.number] = Assignment(event.worker, event.seconds, evaluation.token)
        self.asked.at.append(len(self.events))
        if evaluation.initial:
            self.initial[evaluation.design] = None
        self._record(evaluation.objective).pending[self._key(evaluation)] += 1
        # A question ends the follow-ups of its design, and those with nothing left to ask.
        is_own = evaluation.queued is not None
        self.follow_ups = [p for p in self.follow_ups if (is_own or p.design != evaluation.design) and self._is_open(p)]
        if evaluation.then:
            self.follow_ups.append(FollowUp(evaluation.design, evaluation.then, evaluation.initial))
        self.chosen += not evaluation.initial and not is_own

    def _ask_again(self, evaluation: Evaluation) -> None:
        """Ask the part of a bundle that was released again, with the rest of the bundle."""
        is_part = evaluation.then or (not evaluation.initial and evaluation.number not in self.scored)
        if not self.is_legal(evaluation.design):
            return
        if not is_part or evaluation.number in self.answered or evaluation.queued is not None:
            return
        kept = next((p for p in self.follow_ups if p.design == evaluation.design), None)
        others = () if kept is None else tuple(n for n in kept.objectives if n != evaluation.objective)
        self.follow_ups = [p for p in self.follow_ups if p is not kept]
        self.follow_ups.append(FollowUp(evaluation.design, (evaluation.objective, *others), evaluation.initial))

    def _enqueue(self, event: Enqueued) -> None:
        self.queue.append(QueuedDesign(self.enqueued, event.design, event.objectives, event.readings, event.why))
        self.enqueued += 1

    def _shorten_queue(self) -> None:
        """Remove from the queue what has its readings, and what failed for good."""
        queue = []
        for queued in self.queue:
            purchases = {name: self.purchase_of(name) for name in queued.objectives}
            lacking = tuple(
                name
                for name, p in purchases.items()
                if self.readings_missing(p, queued.design, queued.readings) and not self.is_hopeless(p, queued.design)
            )
            if lacking:
                queue.append(replace(queued, objectives=lacking))
        self.queue = queue

    def _forgive(self) -> None:
        """Restart the counts of failures; if an objective never gave a value, no design is to blame."""
        self.failed_in_a_row.clear()
        for purchase, record in zip(self.purchases, self._purchase_records, strict=True):
            if not self.told[purchase.objective]:
                record.forgive()

    def _is_open(self, follow_up: FollowUp) -> bool:
        return not all(self.is_closed(self.purchase_of(name), follow_up.design) for name in follow_up.objectives)

    def is_scored(self, evaluation: Evaluation) -> bool:
        """Whether this next question was chosen by its score: not initial, not queued, not the rest of a bundle."""
        if evaluation.initial or evaluation.queued is not None:
            return False
        return all(follow_up.design != evaluation.design for follow_up in self.follow_ups)

    def tokens(self, number: int) -> tuple[str, ...]:
        """The tokens of the attempts at an evaluation, in order; empty ones in older studies."""
        return (self.asked[number].token, *self._later_tokens.get(number, ()))

    def is_known(self, evaluation: Evaluation) -> bool:
        """Whether exactly this was asked here: the evaluation, in this attempt, maybe before the study was changed."""
        if not 0 <= evaluation.number < len(self.asked):
            return False
        if self.asked[evaluation.number] != (self._as_now(evaluation) if self.changes else evaluation):
            return False
        return evaluation.token in self.tokens(evaluation.number)

    def _as_now(self, evaluation: Evaluation) -> Evaluation:
        """An evaluation that was asked before the study was changed, with its designs as they are known now."""
        second, design = evaluation.runner_up, self.space.known_design
        try:
            runner_up = None if second is None else replace(second, design=design(second.design))
            return replace(evaluation, design=design(evaluation.design), runner_up=runner_up)
        except (InvalidValueError, InvalidTypeError):
            return evaluation  # it is of another study

    def _change(self, event: Changed) -> None:
        """Begin anew what depends on the questions before a change; what was measured stays."""
        before = [Objective.from_dict(objective) for objective in self._last.get("objectives", ())]
        after = [Objective.from_dict(objective) for objective in event.settings["objectives"]]
        if {o.name for o in before if o.optimise} != {o.name for o in after if o.optimise}:
            self.reference, self.is_reference_found = None, False
        if {o.name for o in after} - {o.name for o in before}:
            self.chosen = 0  # the start measures the initial designs in what is new
        self.scored = []
        self.follow_ups = [one for one in self.follow_ups if self.is_legal(one.design)]
        self.origin = event.origin or self.origin
        self._last = event.settings
        self.changes_to_come = max(0, self.changes_to_come - 1)
        self.changes += 1
        self.rules += event.rule

    def settled(self, answer: Told | Failed | Spent) -> Told | Failed | Spent | None:
        """The stored answer of the same attempt, which was charged; None if there is none."""
        paid = (self.events[at] for at in self._payments.of(answer.number))
        answers = (event for event in paid if isinstance(event, Told | Failed | Spent))
        return next((event for event in answers if _attempt(event) == _attempt(answer)), None)

    def check_agrees(self, design: Design, values: Mapping[str, float]) -> None:
        """Refuse a second, different value of an exact objective."""
        for j, objective in enumerate(self.objectives):
            known = self.known(j).get(self._seen.objective_key(objective, design))
            if objective.noisy or known is None or objective.name not in values:
                continue
            if objective.value(known) != values[objective.name]:
                raise InvalidValueError(
                    f"Objective {objective.name!r} of this design is {objective.value(known):g} already; "
                    f"{values[objective.name]:g} given. Make the objective noisy if readings differ."
                )

    def _close(self, number: int) -> None:
        """The evaluation is no longer pending."""
        evaluation = self.pending.pop(number, None)
        if evaluation is not None:
            self._record(evaluation.objective).end(self._key(evaluation))
            self.assignments.pop(number, None)

    def lost_cost(self, number: int) -> float:
        """What lost attempts at an evaluation are estimated to have cost, as far as none of them has answered since."""
        return sum(cost for (lost, _), cost in self._lost.items() if lost == number)

    def _lose(self, number: int, cost: float) -> None:
        """Charge what a lost worker is estimated to have spent."""
        assignment = self.assignments.get(number)
        if assignment is not None and cost > 0:
            self._charge(number, cost)
            self._lost[number, assignment.token or assignment.worker] = cost

    def _pay(self, answer: Told | Failed | Spent) -> None:
        """Charge the cost of an attempt in place of the estimate made while its worker was lost."""
        self._charge(answer.number, answer.cost - self._lost.pop(_attempt(answer), 0.0))
        self._payments.add(answer.number, len(self.events))
        self.free_in_a_row = 0 if answer.cost > 0 else self.free_in_a_row + 1

    def _charge(self, number: int, cost: float) -> None:
        self.spent += cost
        self.charges.append(len(self.events), self.names.index(self.asked[number].objective), cost)

    def _answer(self, event: Told | Failed) -> Evaluation | None:
        """The evaluation that is answered, with its cost paid; None if it was answered before."""
        if event.number in self.answered:
            return None
        self._close(event.number)
        self.answered[event.number] = event.worker
        self._pay(event)
        evaluation = self.asked[event.number]
        if not (isinstance(event, Told) and event.begun is not None and event.begun == evaluation.stop):
            self.timed[evaluation.objective] = event.timed  # else it was all there, and nothing was measured
        return evaluation

    def _tell(self, event: Told) -> None:
        evaluation = self._answer(event)
        if evaluation is None:
            return
        row = self._seen.row(evaluation.design)
        begun = evaluation.start if event.begun is None else event.begun
        if begun != evaluation.stop:  # otherwise all of it was there
            self._paid(self.purchase_of(evaluation.objective), row, event.cost, begun, evaluation.stop)
        self.told[evaluation.objective] += 1
        self.failed_in_a_row[evaluation.objective] = 0
        self._learn_reports(evaluation, row, event.reports)
        if self.is_partial(evaluation):
            assert evaluation.stop is not None
            point = evaluation.stop, event.values[evaluation.objective]
            self._learn_reports(evaluation, row, [point], event.noise.get(evaluation.objective))
            return
        self._learn(evaluation.design, row, event.values, event.noise)
        self.measurements.at.append(len(self.events))

    def _paid(self, p: int, row: FloatArray, cost: float, start: int = 0, stop: int | None = None) -> None:
        """Add what was paid for steps of purchase p; by default for all of them."""
        record, stops = self._purchase_records[p], self.objectives[self.purchases[p].members[0]].stops
        record.costs.append(row, cost)
        if stops:
            record.spans.extend((start, stops[-1] if stop is None else stop))

    def is_partial(self, evaluation: Evaluation) -> bool:
        """Whether an evaluation stops before the last step, so that its value is no measurement."""
        stops = self.objectives[self.names.index(evaluation.objective)].stops
        return bool(stops) and evaluation.stop is not None and evaluation.stop < stops[-1]

    def _share(self, evaluation: Evaluation) -> float:
        """The share of all steps of its objective that an evaluation goes; costs are learned for all of them."""
        stops = self.objectives[self.names.index(evaluation.objective)].stops
        return share(evaluation.start, evaluation.stop, stops)

    def _learn_reports(
        self,
        evaluation: Evaluation,
        row: FloatArray,
        reports: Iterable[tuple[int, float]],
        noise: tuple[float, int] | None = None,
    ) -> None:
        """Add values at steps before the last one, with their error bar if there is one."""
        j = self.names.index(evaluation.objective)
        objective = self.objectives[j]
        key = self._seen.objective_key(objective, evaluation.design)
        for step, value in reports:
            if objective.stops and step < objective.stops[-1]:
                self._curves[j].add(key, row, step, objective.loss(value), None if noise is None else noise[0])

    def _fail(self, event: Failed) -> None:
        evaluation = self._answer(event)
        if evaluation is None:
            return
        record, row = self._record(evaluation.objective), self._seen.row(evaluation.design)
        record.fail(self._key(evaluation), event.kind, event.reason, impossible=event.impossible)
        record.failure_costs.append(row, event.cost)
        self._learn_reports(evaluation, row, event.reports)
        if event.kind is FailureKind.TIMEOUT:
            record.least_costs.append(row, event.cost / self._share(evaluation))
        self.failed_attempts[evaluation.objective] += 1
        self.failed_in_a_row[evaluation.objective] += 1
        self.last_reason[evaluation.objective] = event.reason

    def _add(self, event: Added) -> None:
        row = self._seen.row(event.design)
        self._learn(event.design, row, event.values, event.noise)
        for p, purchase in enumerate(self.purchases):
            record, cost = self._purchase_records[p], event.costs.get(purchase.objective)
            if purchase.objective in event.failed:
                # It failed before this study: who says so does not want it tried again.
                reason = event.failed[purchase.objective]
                record.fail(self.key(p, event.design), FailureKind.ERROR, reason, impossible=True)
            elif self.is_measured(p, event.design):
                record.impossible.discard(self.key(p, event.design))  # a later attempt had succeeded
            if cost is not None and purchase.objective in event.failed:
                record.failure_costs.append(row, cost)
            elif cost is not None:
                self._paid(p, row, cost)
        if event.values:
            self.measurements.at.append(len(self.events))

    def _learn(
        self, design: Design, row: FloatArray, values: Mapping[str, float], noise: Mapping[str, tuple[float, int]]
    ) -> None:
        """Add values to the data of their objectives; an exact objective keeps its first value of a key."""
        keys = [self._seen.objective_key(objective, design) for objective in self.objectives]
        for j, (objective, key) in enumerate(zip(self.objectives, keys, strict=True)):
            if objective.name not in values:
                continue
            if key in self._objective_records[j].latest and not objective.noisy:
                continue
            loss = objective.loss(values[objective.name])
            bar = noise[objective.name][0] if objective.name in noise else None
            self._objective_records[j].add(key, row, loss, len(self.events) + 1, bar)
            if objective.stops:
                self._curves[j].add(key, row, objective.stops[-1], loss, bar)
        # The objectives of a purchase may become known one by one, as when known results are added.
        for p, purchase in enumerate(self.purchases):
            if all(keys[j] in self._objective_records[j].latest for j in purchase.members):
                self._purchase_records[p].measured.add(self.key(p, design))


def _every_design(design: Design) -> bool:
    """The rule in place of one that only the process has that changed the study."""
    return True


def _attempt(answer: Told | Failed | Spent) -> tuple[int, str]:
    """What identifies the attempt of an answer: its token, or its worker in older studies."""
    return answer.number, answer.token or answer.worker


def _keys(keys: Collection[int]) -> KeyArray:
    return np.fromiter(keys, dtype=np.uint64, count=len(keys))
