"""Problem: something to optimise whose true values are all known, so that a front can be judged."""

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

N_TYPICAL = 4_096
"""How many designs of a space that is not listed stand for all of them, where a mean or a quartile is taken."""

WORST_OF_INTEREST = 0.75
"""Where nobody looks any more: nobody wants a value that three of four designs beat.

The worst of a front is a poor reference point where the front ends in oddities, as it does with many objectives, and on
recorded tables: NAS-Bench-201's cheapest cell has 90 % error.
"""


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """Designs, objectives, their true values, and what measuring them costs.

    Attributes:
        name: What users type.
        summary: One line.
        space: The designs.
        objectives: What is measured.
        values: The true values (m, n) of designs, in the users' directions.
        costs: What measuring each objective of designs costs (m, n); nothing for one that is measured with another.
        reference: The reference point (n,), in losses.
        front: The true front (k, n), in losses; a dense sample of it where it is a curve.
        best: The hypervolume of the true front, or of the best front known.
        exact: Whether that is the true front, and not only the best known.
        noise: The standard deviation (n,) of a reading about its true value.
        unit: The unit of the costs.
        source: Where the values come from.
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

    def __post_init__(self) -> None:
        object.__setattr__(self, "objectives", check_objectives(self.objectives, self.space.names))
        n = len(self.objectives)
        if not all(objective.optimise for objective in self.objectives):
            raise InvalidValueError(f"Problem {self.name!r} has a constraint; fronts are judged without.")
        if self.reference.shape != (n,) or self.front.ndim != 2 or self.front.shape[1] != n:
            raise InvalidValueError(f"Problem {self.name!r} needs a reference (n,) and a front (k, n) with n = {n}.")
        if not self.best > 0:
            raise InvalidValueError(f"Problem {self.name!r} has a front worth {self.best!r}; it must be above zero.")

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the objectives."""
        return tuple(objective.name for objective in self.objectives)

    def losses(self, designs: Designs) -> FloatArray:
        """The true losses (m, n) of designs: lower is better."""
        signs = np.array([objective.loss(1.0) for objective in self.objectives])
        return np.asarray(self.values(designs) * signs)

    def error(self, designs: Sequence[Design]) -> float:
        """The hypervolume error of a front: the share of the best hypervolume that these designs miss.

        They are judged by their true values. No designs miss everything; the true front misses nothing.
        """
        if not len(designs):
            return 1.0
        found = hypervolume(self.losses(self.space.designs(designs)), self.reference)
        return max(0.0, 1.0 - found / self.best)

    def typical_designs(self) -> Designs:
        """All designs of a pool; many random ones, always the same, of a space that is not listed."""
        return typical_designs(self.space)

    def initial_designs(self, n: int, seed: int) -> Designs:
        """The designs that every contestant with this seed begins with."""
        return self.space.sample(n, np.random.default_rng((seed, 11)))

    def mean_costs(self) -> FloatArray:
        """What measuring each objective costs on average (n,)."""
        return np.asarray(self.costs(self.typical_designs()).mean(axis=0))

    def fingerprint(self) -> str:
        """A short text that changes when the problem does: its designs, values, costs, noise, reference or front."""
        designs = self.typical_designs()
        noise = np.zeros(len(self.objectives)) if self.noise is None else self.noise
        few = designs[:256]
        parts = [few.codes, self.losses(few), self.costs(few), self.reference, noise, np.array([self.best])]
        told = repr([(o.name, o.options, o.measured_with, o.noisy) for o in self.objectives])
        # Rounded, because arithmetic differs in its last bits between machines.
        text = told + "".join(np.array2string(np.ravel(part), precision=5, threshold=10**9) for part in parts)
        digest = hashlib.sha256(text.encode())
        if self.space.pool is not None:  # recorded numbers are the same everywhere, to the last bit
            for table in (designs.codes, self.values(designs), self.costs(designs)):
                digest.update(np.ascontiguousarray(table).tobytes())
        return digest.hexdigest()[:12]


def nadir_reference(front: FloatArray) -> FloatArray:
    """The worst values on a front (k, n), and a tenth of the front's range beyond: the reference point (n,).

    >>> nadir_reference(np.array([[0.0, 10.0], [1.0, 0.0]]))
    array([ 1.1, 11. ])
    """
    worst, best = front.max(axis=0), front.min(axis=0)
    span = np.where(worst > best, worst - best, np.maximum(np.abs(worst), 1.0))
    return np.asarray(worst + 0.1 * span)


def worst_of_interest(losses: FloatArray, front: FloatArray) -> FloatArray:
    """The worst values of interest (n,): the third quartiles of typical losses (m, n), given the front (k, n) too."""
    reference = np.asarray(np.quantile(losses, WORST_OF_INTEREST, axis=0))
    return reference if hypervolume(front, reference) > 0 else nadir_reference(front)


def typical_designs(space: Space) -> Designs:
    """All designs of a pool; many random ones, always the same, of a space that is not listed."""
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
    """What can be varied in a family of problems.

    Attributes:
        default: Its value when it is not named; its type decides what is legal.
        summary: What it does.
        least: The smallest legal number.
        most: The greatest legal number.
    """

    default: bool | int | float
    summary: str
    least: float = 0.0
    most: float = float("inf")


@dataclass(frozen=True, slots=True)
class Family:
    """A problem that users can name, with what can be varied in it.

    Attributes:
        name: What users type before the first colon.
        summary: One line.
        make: Builds the problem from the parameters, given by keyword.
        parameters: What can be varied, by name.
    """

    name: str
    summary: str
    make: Callable[..., Problem] = field(repr=False)
    parameters: Mapping[str, ProblemParameter] = field(default_factory=dict)

    def parsed(self, text: str) -> dict[str, bool | int | float]:
        """The parameters that a text such as ``ratio=10:finite`` gives."""
        given: dict[str, bool | int | float] = {}
        for part in filter(None, text.split(":")):
            name, _, value = part.partition("=")
            if name not in self.parameters:
                raise unknown_name(f"parameter of {self.name!r}:", name[:40], self.parameters)
            if name in given:
                raise InvalidValueError(f"ProblemParameter {name!r} of {self.name!r} is given twice; give it once.")
            given[name] = _parsed(self.name, name, value, self.parameters[name])
        return given

    def full_name(self, given: Mapping[str, bool | int | float]) -> str:
        """The one name of a problem: parameters in the family's order, defaults left out."""
        parts = [self.name]
        for name, parameter in self.parameters.items():
            value = given.get(name, parameter.default)
            if value != parameter.default:
                parts.append(name if value is True else f"{name}={_written(value)}")
        return ":".join(parts)


def _written(value: bool | int | float) -> str:
    """A parameter as users type it.

    >>> _written(1234567), _written(10.0), _written(123456.78), _written(False)
    ('1234567', '10', '123456.78', 'no')
    """
    if isinstance(value, bool):
        return "no"
    return repr(value).removesuffix(".0")


def _parsed(family: str, name: str, text: str, parameter: ProblemParameter) -> bool | int | float:
    what = f"ProblemParameter {name!r} of {family!r} is {text[:40]!r}; it must be"
    if isinstance(parameter.default, bool):
        if text.lower() not in ("", "yes", "true", "no", "false"):
            raise InvalidValueError(f"{what} left without a value, or be yes or no.")
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
