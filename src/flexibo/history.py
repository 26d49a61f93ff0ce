"""Evaluations, events and the History they add up to: append-only memory.

A study is the replay of its events. Every state that decides the next question is derived from them here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, TypeAlias

import numpy as np

from flexibo.arrays import FloatArray, KeyArray
from flexibo.errors import InvalidValueError
from flexibo.objectives import Objective, purchases
from flexibo.space import Design, Designs, Space

MAX_ATTEMPTS = 3
"""An evaluation that failed is asked again at most twice."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A question: measure this objective of this design.

    Attributes:
        design: The option values to use.
        objective: The objective to measure.
        gain: The volume that this is expected to remove from the Pareto region; None for an initial design.
        cost: What it is expected to cost; 0 while nothing is known.
        why: One line for people.
        number: The how-manieth question of the study this is, from 0.
        yields: All objectives that this one measurement gives, the asked one first.
        attempt: 1, or more when earlier attempts failed.
        volume: The volume of the Pareto region when this was asked; None for an initial design.
        then: Objectives of the same design that are asked next, because the method measures them together.
        initial: Whether it belongs to the initial designs.
    """

    design: Design
    objective: str
    gain: float | None
    cost: float
    why: str
    number: int
    yields: tuple[str, ...]
    attempt: int = 1
    volume: float | None = None
    then: tuple[str, ...] = ()
    initial: bool = False


@dataclass(frozen=True, slots=True)
class Measurement:
    """An answer: the values and the cost of one evaluation, or of a result that was known before (number None)."""

    design: Design
    values: Mapping[str, float]
    cost: float | None
    number: int | None


@dataclass(frozen=True, slots=True)
class Created:
    """A study began, with these settings."""

    settings: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Asked:
    """An evaluation was handed out."""

    evaluation: Evaluation


@dataclass(frozen=True, slots=True)
class Told:
    """An evaluation was answered."""

    number: int
    values: Mapping[str, float]
    cost: float


@dataclass(frozen=True, slots=True)
class Failed:
    """An attempt at an evaluation gave no value."""

    number: int
    reason: str
    cost: float


@dataclass(frozen=True, slots=True)
class Released:
    """An evaluation was given back without an attempt."""

    number: int


@dataclass(frozen=True, slots=True)
class Added:
    """A result from before the study was brought in; it costs this study nothing."""

    design: Design
    values: Mapping[str, float]
    costs: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class ReferenceFixed:
    """The reference point was fixed, in the users' values."""

    values: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class BudgetSet:
    """The budget was set or raised; None is without limit."""

    budget: float | None


Event: TypeAlias = Created | Asked | Told | Failed | Released | Added | ReferenceFixed | BudgetSet
EVENTS: dict[str, type[Event]] = {
    "created": Created,
    "asked": Asked,
    "told": Told,
    "failed": Failed,
    "released": Released,
    "added": Added,
    "reference": ReferenceFixed,
    "budget": BudgetSet,
}


def event_to_dict(event: Event) -> dict[str, Any]:
    """The event as a dictionary ready for JSON."""
    kind = next(name for name, cls in EVENTS.items() if isinstance(event, cls))
    if isinstance(event, Asked):
        content = {name: getattr(event.evaluation, name) for name in Evaluation.__dataclass_fields__}
        content |= {"design": dict(event.evaluation.design)}
        content |= {"yields": list(event.evaluation.yields), "then": list(event.evaluation.then)}
    elif isinstance(event, Added):
        content = {"design": dict(event.design), "values": dict(event.values), "costs": dict(event.costs)}
    else:
        content = asdict(event)
    return {"event": kind, **content}


def event_from_dict(content: Mapping[str, Any], space: Space) -> Event:
    """The event that `event_to_dict` wrote down."""
    fields = dict(content)
    kind = fields.pop("event", None)
    if kind not in EVENTS:
        raise InvalidValueError(f"The event {kind!r} is unknown; it may come from a newer version of flexibo.")
    if "design" in fields:
        fields["design"] = space.design(fields["design"])
    if kind == "asked":
        fields |= {"yields": tuple(fields["yields"]), "then": tuple(fields["then"])}
        return Asked(Evaluation(**fields))
    return EVENTS[kind](**fields)


@dataclass(slots=True)
class _Ledger:
    """What is known of one purchase: keys of designs, in the order of events."""

    costs: list[float] = field(default_factory=list)
    cost_rows: list[FloatArray] = field(default_factory=list)
    pending: Counter[int] = field(default_factory=Counter)
    failures: Counter[int] = field(default_factory=Counter)
    measured: set[int] = field(default_factory=set)


@dataclass(slots=True)
class _Data:
    """The measurements of one objective: code rows, losses and keys, in the order of events."""

    rows: list[FloatArray] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)
    moments: dict[int, int] = field(default_factory=dict)
    latest: dict[int, float] = field(default_factory=dict)


class History:
    """All that happened in a study, and what follows from it.

    Args:
        space: The design space.
        objectives: The objectives, in the study's order.
    """

    def __init__(self, space: Space, objectives: Sequence[Objective]) -> None:
        self.space = space
        self.objectives = tuple(objectives)
        self.purchases = purchases(self.objectives)
        self.names = tuple(objective.name for objective in self.objectives)
        self.events: list[Event] = []
        self.measurements: list[Measurement] = []
        self.pending: dict[int, Evaluation] = {}
        self.asked: list[Evaluation] = []
        self.spent = 0.0
        self.budget: float | None = None
        self.reference: tuple[float, ...] | None = None
        self.failed_attempts: Counter[str] = Counter()
        self.last_reason: dict[str, str] = {}
        self.promised: tuple[Design, tuple[str, ...], bool] | None = None
        self.chosen = 0
        self._ledgers = tuple(_Ledger() for _ in self.purchases)
        self._data = tuple(_Data() for _ in self.objectives)
        self._rows: dict[int, FloatArray] = {}
        self._keys: dict[tuple[int, Design], int] = {}
        self._purchase_of = {p.objective: index for index, p in enumerate(self.purchases)}

    def append(self, event: Event) -> None:
        """Remember one event."""
        if isinstance(event, Asked):
            self._ask(event.evaluation)
        elif isinstance(event, Told):
            self._tell(event)
        elif isinstance(event, Failed):
            self._fail(event)
        elif isinstance(event, Released):
            evaluation = self.pending.pop(event.number)
            self._ledger(evaluation.objective).pending[self._key(evaluation)] -= 1
        elif isinstance(event, Added):
            self._add(event)
        elif isinstance(event, ReferenceFixed):
            self.reference = tuple(o.loss(event.values[o.name]) for o in self.objectives)
        elif isinstance(event, BudgetSet):
            self.budget = event.budget
        self.events.append(event)

    @property
    def reserved(self) -> float:
        """The expected cost of what is pending."""
        return sum(evaluation.cost for evaluation in self.pending.values())

    @property
    def remaining(self) -> float:
        """What is left of the budget after what was spent and what is in flight."""
        return float("inf") if self.budget is None else self.budget - self.spent - self.reserved

    @property
    def designs(self) -> Designs:
        """Every design that was asked about or brought in, once, in that order."""
        rows = list(self._rows.values())
        return Designs(self.space, np.array(rows).reshape(len(rows), len(self.space.names)))

    def data(self, j: int) -> tuple[Designs, FloatArray]:
        """The designs (s) and losses (s,) that objective j was measured on, in order."""
        data = self._data[j]
        codes = np.array(data.rows).reshape(len(data.rows), len(self.space.names))
        return Designs(self.space, codes), np.array(data.losses, dtype=float)

    def count(self, j: int) -> int:
        """How many measurements of objective j there are."""
        return len(self._data[j].losses)

    def known(self, j: int) -> dict[int, float]:
        """The latest loss of objective j by key."""
        return self._data[j].latest

    def moments(self) -> tuple[dict[int, int], ...]:
        """For each objective: after how many events each key was first measured."""
        return tuple(data.moments for data in self._data)

    def costs(self, p: int) -> tuple[Designs, FloatArray]:
        """The designs and raw costs of what was paid for purchase p, in order."""
        ledger = self._ledgers[p]
        codes = np.array(ledger.cost_rows).reshape(len(ledger.cost_rows), len(self.space.names))
        return Designs(self.space, codes), np.array(ledger.costs, dtype=float)

    def closed(self, p: int) -> KeyArray:
        """Keys of designs for which purchase p must not be asked: measured, pending or failed too often."""
        return np.array(sorted(self._closed(p)), dtype=np.uint64)

    def is_closed(self, p: int, design: Design) -> bool:
        """Whether purchase p of this design must not be asked."""
        return self.key(p, design) in self._closed(p)

    def _closed(self, p: int) -> set[int]:
        ledger = self._ledgers[p]
        keys = {key for key, number in ledger.pending.items() if number > 0}
        keys |= {key for key, attempts in ledger.failures.items() if attempts >= MAX_ATTEMPTS}
        if not any(self.objectives[j].remeasure for j in self.purchases[p].members):
            keys |= ledger.measured
        return keys

    def is_measured(self, p: int, design: Design) -> bool:
        """Whether purchase p was measured for this design or an equivalent one."""
        return self.key(p, design) in self._ledgers[p].measured

    def attempts(self, p: int, design: Design) -> int:
        """How many attempts at purchase p of this design failed."""
        return self._ledgers[p].failures[self.key(p, design)]

    def is_pending(self, p: int, design: Design) -> bool:
        """Whether purchase p of this design or an equivalent one is being measured."""
        return self._ledgers[p].pending[self.key(p, design)] > 0

    def key(self, p: int, design: Design) -> int:
        """The key of a design for purchase p: equal where the design's outcome must be equal."""
        # Remembered, because making one asks the space's rule.
        if (p, design) not in self._keys:
            self._keys[p, design] = int(self.space.designs([design]).keys(self.purchases[p].options)[0])
        return self._keys[p, design]

    def _ledger(self, objective: str) -> _Ledger:
        return self._ledgers[self._purchase_of[objective]]

    def _key(self, evaluation: Evaluation) -> int:
        return self.key(self._purchase_of[evaluation.objective], evaluation.design)

    def _row(self, design: Design) -> FloatArray:
        """The code row of a design, remembered."""
        single = self.space.designs([design])
        key = int(single.keys()[0])
        return self._rows.setdefault(key, single.codes[0])

    def _ask(self, evaluation: Evaluation) -> None:
        self._row(evaluation.design)
        self.pending[evaluation.number] = evaluation
        self.asked.append(evaluation)
        self._ledger(evaluation.objective).pending[self._key(evaluation)] += 1
        self.promised = (evaluation.design, evaluation.then, evaluation.initial) if evaluation.then else None
        self.chosen += not evaluation.initial

    def _tell(self, event: Told) -> None:
        evaluation = self.pending.pop(event.number)
        ledger = self._ledger(evaluation.objective)
        key = self._key(evaluation)
        row = self._row(evaluation.design)
        ledger.pending[key] -= 1
        ledger.costs.append(event.cost)
        ledger.cost_rows.append(row)
        ledger.measured.add(key)
        self.spent += event.cost
        self._learn(evaluation.design, row, event.values)
        self.measurements.append(Measurement(evaluation.design, event.values, event.cost, event.number))

    def _fail(self, event: Failed) -> None:
        evaluation = self.pending.pop(event.number)
        ledger = self._ledger(evaluation.objective)
        key = self._key(evaluation)
        ledger.pending[key] -= 1
        ledger.failures[key] += 1
        self.spent += event.cost
        self.failed_attempts[evaluation.objective] += 1
        self.last_reason[evaluation.objective] = event.reason

    def _add(self, event: Added) -> None:
        row = self._row(event.design)
        self._learn(event.design, row, event.values)
        for p, purchase in enumerate(self.purchases):
            if all(self.names[j] in event.values for j in purchase.members):
                self._ledgers[p].measured.add(self.key(p, event.design))
            if purchase.objective in event.costs:
                self._ledgers[p].costs.append(event.costs[purchase.objective])
                self._ledgers[p].cost_rows.append(row)
        self.measurements.append(Measurement(event.design, event.values, None, None))

    def _learn(self, design: Design, row: FloatArray, values: Mapping[str, float]) -> None:
        """Add values to the data of their objectives; an exact objective keeps its first value of a key."""
        single = self.space.designs([design])
        for j, objective in enumerate(self.objectives):
            if objective.name not in values:
                continue
            data = self._data[j]
            key = int(single.keys(objective.options)[0])
            if key in data.latest and not objective.noisy:
                continue
            loss = objective.loss(values[objective.name])
            data.rows.append(row)
            data.losses.append(loss)
            data.moments.setdefault(key, len(self.events) + 1)
            data.latest[key] = loss
