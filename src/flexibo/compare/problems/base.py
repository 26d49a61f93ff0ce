"""Problem: an optimisation problem whose true values are known, and families of problems with parameters."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from flexibo._internal.arrays import FloatArray
from flexibo.errors import InvalidValueError, unknown_name
from flexibo.objectives import Objective, check_objectives
from flexibo.pareto import hypervolume, non_dominated
from flexibo.space import Design, Designs, Space

Table: TypeAlias = Callable[[Designs], FloatArray]
"""Designs (m) to numbers (m, n), a column per objective."""

GROUPS: dict[str, str] = {
    "recorded": "recorded tables",
    "stack": "DNN stacks",
    "synthetic": "synthetic, price on a hard objective",
    "equal": "equal prices",
    "curves": "learning curves",
    "proxy": "a cheaper data set as a proxy",
    "misleading": "misleading on purpose",
}
"""The groups of problems, which are reported apart, and their titles; the first is the headline.

With equal prices, every evaluation of every design costs the same. The last three are those with steps and proxies.
"""

N_TYPICAL = 4_096
"""The number of random designs that represent a space that is not a pool, for means and quartiles."""

WORST_OF_INTEREST = 0.75
"""The quantile of typical losses that is the worst value of interest.

The worst value of a front is a poor reference point if the front has extreme ends, as with many objectives and in
recorded tables: the cheapest cell of NAS-Bench-201 has 90 % error.
"""


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """How an objective comes to its value step by step, as the error of a training does in epochs.

    Attributes:
        steps: The number of steps; the value after the last one is the objective's value.
        values: The values (m, steps) after each step, in the users' direction.
        costs: What all steps up to each one cost together (m, steps); after the last one, what the objective costs.
    """

    steps: int
    values: Table = field(repr=False)
    costs: Table = field(repr=False)


@dataclass(frozen=True, slots=True, eq=False)
class Proxy:
    """Something cheaper to measure that may tell about an objective; it does not count itself.

    Attributes:
        name: Its name; no objective has it.
        of: The objective that it stands in for.
        values: Its values (m, 1), in the direction of that objective.
        costs: What they cost (m, 1).
    """

    name: str
    of: str
    values: Table = field(repr=False)
    costs: Table = field(repr=False)


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """Designs, objectives, their true values, and the costs of measuring them.

    Attributes:
        values: The true values (m, n) of designs, in the users' directions.
        costs: The cost of measuring each objective of designs (m, n); 0 for one that is measured with another.
        reference: The reference point (n,), in losses.
        front: The true front (k, n), in losses; a dense sample of it where it is a curve.
        best: The hypervolume of the true front, or of the best front known.
        exact: Whether `front` is the true front, not only the best known.
        noise: The standard deviation (n,) of a reading.
        unit: The unit of the costs.
        source: Where the values come from.
        group: One of `GROUPS`.
        curves: The steps of an objective, by its name; methods without steps pay all of them at once.
        proxies: What else can be measured; methods without steps do not see them.
        data: Identifies the files that decide values and costs, if these are computed in single precision, which
            differs between machines in digits that a fingerprint would see.
    """

    name: str
    summary: str
    space: Space
    objectives: tuple[Objective, ...]
    values: Table = field(repr=False)
    costs: Table = field(repr=False)
    reference: FloatArray = field(repr=False)
    front: FloatArray = field(repr=False)
    best: float
    exact: bool = True
    noise: FloatArray | None = field(default=None, repr=False)
    unit: str = "s"
    source: str = ""
    group: str = "synthetic"
    curves: Mapping[str, Curve] = field(default_factory=dict)
    proxies: tuple[Proxy, ...] = ()
    data: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "objectives", check_objectives(self.objectives, self.space.names))
        n = len(self.objectives)
        if self.group not in GROUPS:
            raise unknown_name("group", self.group, GROUPS)
        if not all(objective.optimise for objective in self.objectives):
            raise InvalidValueError(
                f"Problem {self.name!r} has a constraint; only problems without constraints can be compared."
            )
        if self.reference.shape != (n,) or self.front.ndim != 2 or self.front.shape[1] != n:
            raise InvalidValueError(f"Problem {self.name!r} needs a reference (n,) and a front (k, n) with n = {n}.")
        if not self.best > 0:
            raise InvalidValueError(f"Problem {self.name!r} has a front worth {self.best!r}; it must be above zero.")
        for name in (*self.curves, *(proxy.of for proxy in self.proxies)):
            if name not in self.names:
                raise unknown_name("objective", name, self.names)
        taken = {objective.measured_with for objective in self.objectives}
        if any(objective.name in self.curves and objective.noisy for objective in self.objectives) or any(
            name in taken for name in self.curves
        ):
            raise InvalidValueError(f"Problem {self.name!r} has a curve that is noisy or measured with others.")

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the objectives."""
        return tuple(objective.name for objective in self.objectives)

    @property
    def signs(self) -> FloatArray:
        """What turns values (m, n) into losses, and losses into values: 1 or -1 for each objective (n,)."""
        return np.array([objective.loss(1.0) for objective in self.objectives])

    def losses(self, designs: Designs) -> FloatArray:
        """The true losses (m, n) of designs: lower is better."""
        return np.asarray(self.values(designs) * self.signs)

    def error(self, designs: Sequence[Design]) -> float:
        """The hypervolume error of a front: the share of the best hypervolume that these designs miss, by true values.

        It is 1 without designs and 0 for the true front.
        """
        if not len(designs):
            return 1.0
        found = hypervolume(self.losses(self.space.designs(designs)), self.reference)
        return max(0.0, 1.0 - found / self.best)

    def typical_designs(self) -> Designs:
        """See `typical_designs`."""
        return typical_designs(self.space)

    def initial_designs(self, n: int, seed: int) -> Designs:
        """The initial designs of every method with this seed."""
        return self.space.sample(n, np.random.default_rng((seed, 11)))

    def mean_costs(self) -> FloatArray:
        """The mean cost of measuring each objective (n,)."""
        return np.asarray(self.costs(self.typical_designs()).mean(axis=0))

    def fingerprint(self) -> str:
        """A short text that changes with the problem: its designs, values, costs, noise, reference or front."""
        designs = self.typical_designs()
        noise = np.zeros(len(self.objectives)) if self.noise is None else self.noise
        few = designs[:256]
        told = self.data + repr([(o.name, o.options, o.measured_with, o.noisy) for o in self.objectives])
        if self.data:
            parts = [few.codes, noise]
        else:
            asides: list[Curve | Proxy] = [*self.curves.values(), *self.proxies]
            parts = [few.codes, self.losses(few), self.costs(few), self.reference, noise, np.array([self.best])]
            parts += [table(few) for aside in asides for table in (aside.values, aside.costs)]
        # Rounded, because arithmetic differs in its last bits between machines.
        text = told + "".join(np.array2string(np.ravel(part), precision=5, threshold=10**9) for part in parts)
        digest = hashlib.sha256(text.encode())
        if self.space.pool is not None:  # recorded numbers are identical on all machines
            for table in (designs.codes, self.values(designs), self.costs(designs)):
                digest.update(np.ascontiguousarray(table).tobytes())
        return digest.hexdigest()[:12]


def nadir_reference(front: FloatArray) -> FloatArray:
    """The reference point (n,): the worst values on a front (k, n) plus a tenth of the front's range.

    >>> nadir_reference(np.array([[0.0, 10.0], [1.0, 0.0]]))
    array([ 1.1, 11. ])
    """
    worst, best = front.max(axis=0), front.min(axis=0)
    span = np.where(worst > best, worst - best, np.maximum(np.abs(worst), 1.0))
    return np.asarray(worst + 0.1 * span)


def worst_of_interest(losses: FloatArray, front: FloatArray) -> FloatArray:
    """The third quartiles (n,) of typical losses (m, n), or `nadir_reference` if they exclude the front (k, n)."""
    reference = np.asarray(np.quantile(losses, WORST_OF_INTEREST, axis=0))
    return reference if hypervolume(front, reference) > 0 else nadir_reference(front)


def typical_designs(space: Space) -> Designs:
    """All designs of a pool; otherwise a fixed random sample of the space."""
    return space.pool or space.sample(N_TYPICAL, np.random.default_rng(0))


def true_front(losses: FloatArray) -> FloatArray:
    """The rows (k, n) of all losses (m, n) that no other dominates, ordered by the first objective."""
    front = losses[non_dominated(losses)]
    return np.asarray(front[np.argsort(front[:, 0], kind="stable")])


def constant_costs(costs: Sequence[float]) -> Table:
    """Costs that are the same for every design."""
    row = np.asarray(costs, dtype=np.float64)
    return lambda designs: np.tile(row, (len(designs), 1))


@dataclass(frozen=True, slots=True)
class ProblemParameter:
    """A parameter of a family of problems; the type of its default decides which values are legal."""

    default: bool | int | float
    summary: str
    least: float = 0.0
    most: float = float("inf")


@dataclass(frozen=True, slots=True)
class Family:
    """A named problem with parameters. Users type its name before the first colon; `make` takes them by keyword.

    The group is that of its problems; a synthetic problem whose objectives cost the same is in the group "equal".
    """

    name: str
    summary: str
    make: Callable[..., Problem] = field(repr=False)
    parameters: Mapping[str, ProblemParameter] = field(default_factory=dict)
    group: str = "synthetic"

    def parsed(self, text: str) -> dict[str, bool | int | float]:
        """The parameters in a text such as ``ratio=10:finite``."""
        given: dict[str, bool | int | float] = {}
        for part in filter(None, text.split(":")):
            name, _, value = part.partition("=")
            if name not in self.parameters:
                raise unknown_name(f"parameter of {self.name!r}:", name[:40], self.parameters)
            if name in given:
                raise InvalidValueError(f"Parameter {name!r} of {self.name!r} is given twice; give it once.")
            given[name] = _parsed(self.name, name, value, self.parameters[name])
        return given

    def full_name(self, given: Mapping[str, bool | int | float]) -> str:
        """The canonical name of a problem: parameters in the family's order, without defaults."""
        parts = [self.name]
        for name, parameter in self.parameters.items():
            value = given.get(name, parameter.default)
            if value != parameter.default:
                parts.append(name if value is True else f"{name}={_written(value)}")
        return ":".join(parts)


def _written(value: bool | int | float) -> str:
    """The value of a parameter as users type it.

    >>> _written(1234567), _written(10.0), _written(123456.78), _written(False)
    ('1234567', '10', '123456.78', 'no')
    """
    if isinstance(value, bool):
        return "no"
    return repr(value).removesuffix(".0")


def _parsed(family: str, name: str, text: str, parameter: ProblemParameter) -> bool | int | float:
    what = f"Parameter {name!r} of {family!r} is {text[:40]!r}; it must be"
    if isinstance(parameter.default, bool):
        if text.lower() not in ("", "yes", "true", "no", "false"):
            raise InvalidValueError(f"{what} empty, yes or no.")
        return text.lower() in ("", "yes", "true")
    kind = type(parameter.default)
    try:
        value = kind(text)
    except ValueError:
        word = "a whole number" if kind is int else "a number"
        raise InvalidValueError(f"{what} {word}, as in {family}:{name}={parameter.default}.") from None
    if not parameter.least <= value <= parameter.most or value in (float("inf"), float("-inf")):
        raise InvalidValueError(f"{what} between {parameter.least:g} and {parameter.most:g}.")
    return value
