"""How many evaluations run at a time: counts and resources of this machine, or of the workers of a cluster."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import TypeAlias

from flexibo._internal.checks import whole_number
from flexibo.errors import InvalidTypeError, InvalidValueError, MachineError
from flexibo.objectives import Objective, checked_resources

Amounts: TypeAlias = Mapping[str, float]  # amounts by resource. ``CPU`` is always among them: evaluations at a time.

SLACK = 1e-9  # tolerance for rounding: three thirds of a device are a whole one


class LocalCapacity:
    """Counts running evaluations and their resources on this machine: at most `n`, and `limits` of an objective.

    Without `resources`, which are the total amounts, those of the objectives are ignored.

    >>> slots = LocalCapacity(2, {"energy": 1}, {"GPU": 1})
    >>> energy, error = Objective("energy"), Objective("error", resources={"GPU": 0.5})
    >>> slots.reserve(energy)
    >>> slots.fits(energy), slots.fits(error)
    (False, True)
    """

    def __init__(
        self, n: int, limits: Mapping[str, int] | None = None, resources: Mapping[str, float] | None = None
    ) -> None:
        self.n = whole_number("The number of workers", n, least=1)
        self._limits = _checked_limits({} if limits is None else limits)
        self._offered = None if resources is None else checked_resources(resources, "The executor")
        self._running: Counter[str] = Counter()
        self._held: defaultdict[str, float] = defaultdict(float)

    def check(self, objective: Objective) -> None:
        """Raise a `MachineError` if the objective needs more than there will ever be."""
        if self._offered is None:
            return
        for name, amount in objective.resources.items():
            offered = self._offered.get(name, 0)
            if amount > offered + SLACK:
                raise MachineError(
                    f"Objective {objective.name!r} needs {amount:g} of {name!r}, and this executor was given "
                    f"{offered:g}; give it resources={{{name!r}: {amount:g}}}, or measure it where there is more."
                )

    def fits(self, objective: Objective) -> bool:
        """Whether an evaluation of the objective can run beside what runs now."""
        if self._running.total() >= self.n:
            return False
        if self._running[objective.name] >= self._limits.get(objective.name, self.n):
            return False
        offered = self._offered or {}
        needs = objective.resources.items() if self._offered is not None else ()
        return all(self._held[name] + amount <= offered.get(name, 0) + SLACK for name, amount in needs)

    def reserve(self, objective: Objective) -> None:
        self._running[objective.name] += 1
        for name, amount in objective.resources.items():
            self._held[name] += amount

    def release(self, objective: Objective) -> None:
        self._running[objective.name] -= 1
        for name, amount in objective.resources.items():
            self._held[name] -= amount


def _checked_limits(limits: object) -> dict[str, int]:
    if not isinstance(limits, Mapping) or not all(isinstance(name, str) for name in limits):
        raise InvalidTypeError(f"slots is {limits!r}; give a mapping such as {{'energy': 1}}.")
    return {name: whole_number(f"The limit in slots of {name!r}", limit, least=1) for name, limit in limits.items()}


def checked_seconds(name: str, seconds: object) -> float:
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not seconds >= 0:
        raise InvalidValueError(f"{name} is {seconds!r}; it must be a number of seconds, zero or more.")
    return seconds


def needed(objective: Objective) -> dict[str, float]:
    """The resources of one evaluation of the objective: one CPU unless it specifies otherwise.

    >>> needed(Objective("error", resources={"GPU": 1}))
    {'CPU': 1.0, 'GPU': 1}
    """
    return {"CPU": 1.0, **objective.resources}


def in_words(amounts: Amounts) -> str:
    """Amounts as text.

    >>> in_words({"CPU": 4.0, "GPU": 0.5})
    'CPU=4, GPU=0.5'
    """
    return ", ".join(f"{name}={amount:g}" for name, amount in sorted(amounts.items()))


class ClusterCapacity:
    """Counts running attempts and their resources on the workers of a cluster, at most `limit` at a time.

    The workers share the amounts in `total`; each worker has its own amount of every other resource.

    >>> offers = ClusterCapacity()
    >>> offers.update({"a": {"CPU": 1}, "b": {"CPU": 1, "GPU": 1}})
    >>> offers.reserve("first", offers.place({"CPU": 1}), {"CPU": 1})
    >>> offers.place({"CPU": 1}), offers.place({"CPU": 1, "GPU": 2}), offers.could_fit({"CPU": 1, "GPU": 1})
    ('b', None, True)
    """

    def __init__(self, limit: int | None = None, total: Amounts | None = None) -> None:
        self._limit = limit
        self._total = dict(total or {})
        self._offered: dict[str, Amounts] = {}
        self._taken: dict[str, tuple[str | None, Amounts]] = {}

    def update(self, offered: Mapping[str, Amounts]) -> None:
        self._offered = dict(offered)

    def is_there(self, place: str) -> bool:
        return place in self._offered

    @property
    def is_full(self) -> bool:
        return self._limit is not None and len(self._taken) >= self._limit

    def could_fit(self, needs: Amounts) -> bool:
        """Whether some worker offers these amounts in total, ignoring what runs."""
        in_all = all(amount <= self._total.get(name, math.inf) + SLACK for name, amount in needs.items())
        return in_all and any(_within(needs, offer) for offer in self._offered.values())

    def place(self, needs: Amounts) -> str | None:
        """The worker for an evaluation: of the fewest resources, then the least busy; None if there is no room."""
        if self.is_full:
            return None
        held = self._held()
        used = _sum(held.values())
        if any(used.get(name, 0.0) + needs.get(name, 0.0) > have + SLACK for name, have in self._total.items()):
            return None
        free = {place: _less(offer, held.get(place, {})) for place, offer in self._offered.items()}
        fitting = [place for place, left in free.items() if _within(needs, left)]
        return min(fitting, key=lambda place: (len(self._offered[place]), -free[place]["CPU"]), default=None)

    def reserve(self, attempt: str, place: str | None, needs: Amounts) -> None:
        """Count an attempt as running on a worker, None if unknown; a second call for an attempt moves it."""
        self._taken[attempt] = (place, needs)

    def release(self, attempt: str) -> None:
        self._taken.pop(attempt, None)

    def in_words(self) -> str:
        if not self._offered:
            return "it has no worker"
        kinds = Counter(map(in_words, self._offered.values()))
        shown = "; ".join(f"{count} with {words}" for words, count in sorted(kinds.items()))
        return f"its workers: {shown}"

    def _held(self) -> dict[str | None, dict[str, float]]:
        """The resources that our attempts hold, by worker."""
        by_place: dict[str | None, list[Amounts]] = {}
        for place, needs in self._taken.values():
            by_place.setdefault(place, []).append(needs)
        return {place: _sum(all_needs) for place, all_needs in by_place.items()}


def _sum(many: Iterable[Amounts]) -> dict[str, float]:
    total: dict[str, float] = {}
    for amounts in many:
        for name, amount in amounts.items():
            total[name] = total.get(name, 0.0) + amount
    return total


def _less(have: Amounts, used: Amounts) -> dict[str, float]:
    return {name: amount - used.get(name, 0.0) for name, amount in have.items()}


def _within(needs: Amounts, have: Amounts) -> bool:
    return all(amount <= have.get(name, 0.0) + SLACK for name, amount in needs.items())
