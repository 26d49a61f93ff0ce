"""How much of a machine is in use: places in all, places per objective, and resources."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping

from flexibo.errors import InvalidTypeError, InvalidValueError, MachineError
from flexibo.objectives import Objective, checked_resources

SLACK = 1e-9
"""Thirds and tenths of a device add up to a whole one, whatever the rounding."""


class Slots:
    """Counts what runs against what may run at a time.

    Args:
        n: How many evaluations may run at a time.
        limits: How many of an objective, by its name; the others are limited by `n` alone.
        resources: What there is in all; None: resources are not looked at.

    >>> slots = Slots(2, {"energy": 1}, {"GPU": 1})
    >>> energy, error = Objective("energy"), Objective("error", resources={"GPU": 0.5})
    >>> slots.take(energy)
    >>> slots.fits(energy), slots.fits(error)
    (False, True)
    """

    def __init__(
        self, n: int, limits: Mapping[str, int] | None = None, resources: Mapping[str, float] | None = None
    ) -> None:
        if isinstance(n, bool) or not isinstance(n, int) or n < 1:
            raise InvalidValueError(f"The number of workers is {n!r}; it must be a whole number, 1 or more.")
        self.n = n
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

    def take(self, objective: Objective) -> None:
        """Count an evaluation that begins."""
        self._running[objective.name] += 1
        for name, amount in objective.resources.items():
            self._held[name] += amount

    def give_back(self, objective: Objective) -> None:
        """Count an evaluation that ended."""
        self._running[objective.name] -= 1
        for name, amount in objective.resources.items():
            self._held[name] -= amount


def _checked_limits(limits: object) -> dict[str, int]:
    """Whole numbers above zero by the name of an objective."""
    if not isinstance(limits, Mapping) or not all(isinstance(name, str) for name in limits):
        raise InvalidTypeError(f"slots is {limits!r}; give a mapping such as {{'energy': 1}}.")
    for name, limit in limits.items():
        if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
            raise InvalidValueError(f"The slots of {name!r} are {limit!r}; it must be a whole number, 1 or more.")
    return dict(limits)
