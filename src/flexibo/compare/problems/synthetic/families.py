"""The synthetic families of problems: test functions on domains, with their true fronts.

Every objective is declared to depend on all options, although ZDT's first objective, and all but the last of DTLZ7,
are single options; ``expensive=2`` (n for DTLZ7) puts the price on the one that is hard to learn.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np

from flexibo._internal.arrays import FloatArray
from flexibo.compare.problems.base import Family, Problem, ProblemParameter, constant_costs, true_front
from flexibo.compare.problems.synthetic import functions, volumes
from flexibo.compare.problems.synthetic.branin_currin import branin_currin, front_and_volume
from flexibo.compare.problems.synthetic.domains import N_DISTANCE, Domain, branin_currin_grid, mixed_grid, unit_cube
from flexibo.errors import InvalidValueError
from flexibo.objectives import Objective
from flexibo.pareto import hypervolume

ZDT_SOURCE = "Zitzler, Deb and Thiele 2000, with 6 options"
DTLZ_SOURCE = "Deb, Thiele, Laumanns and Zitzler 2002, with n + 4 options"
N_SHOWN = {2: 2_001, 3: 45, 4: 13, 5: 7}
"""By n, the number of steps of each of the n - 1 position options at which a true front is sampled."""


@dataclass(frozen=True, slots=True)
class Definition:
    """A test function with its reference point and front, by the number of objectives n.

    Attributes:
        function: Positions (m, d) and n to losses (m, n).
        volume: The hypervolume of the true front, given the reference; None if there is no closed form.
        optimum: The value of the distance options on the front.
        varies: Whether n can be chosen.
    """

    name: str
    summary: str
    function: functions.Function
    reference: Callable[[int], FloatArray]
    source: str
    volume: Callable[[FloatArray], float] | None = None
    optimum: float = 0.0
    varies: bool = False

    @property
    def family(self) -> Family:
        """The family with its parameters."""
        most = 5 if self.varies else 2
        count = {"n": ProblemParameter(2, "number of objectives", 2, most)} if self.varies else {}
        parameters = {
            "ratio": ProblemParameter(1.0, "cost of the most expensive objective over that of the cheapest", 1, 1e6),
            "expensive": ProblemParameter(
                1, "the number of the most expensive objective; the others get cheaper in order", 1, most
            ),
            "noise": ProblemParameter(0.0, "standard deviation of a reading, as a share of the front's range", 0, 1),
            "finite": ProblemParameter(False, "a finite space of ordered, whole and unordered options"),
        }
        return Family(self.name, self.summary, partial(_problem, self), count | parameters)


def _problem(
    definition: Definition,
    *,
    n: int = 2,
    ratio: float = 1.0,
    expensive: int = 1,
    noise: float = 0.0,
    finite: bool = False,
) -> Problem:
    """The problem of a definition and its parameters; the costs decrease from the expensive objective to the last."""
    if expensive > n:
        raise InvalidValueError(
            f"Parameter 'expensive' of {definition.name!r} is {expensive}; with {n} objectives it must be at most {n}."
        )
    domain = _domain(definition, n, finite)
    reference = definition.reference(n)
    front, best = _front(definition, n, finite)
    names = ("branin", "currin") if definition.volume is None else [f"f{j}" for j in range(1, n + 1)]
    given = {"n": n, "ratio": ratio, "expensive": expensive, "noise": noise, "finite": finite}
    return Problem(
        definition.family.full_name(given),
        definition.summary,
        domain.space,
        tuple(Objective(name, noisy=noise > 0) for name in names),
        lambda designs: definition.function(domain.positions(designs), n),
        constant_costs(_costs(n, ratio, expensive)),
        reference,
        front,
        best,
        exact=finite or definition.volume is not None,
        noise=noise * (front.max(axis=0) - front.min(axis=0)) if noise > 0 else None,
        source=definition.source,
        group="synthetic" if ratio > 1 else "equal",
    )


def _costs(n: int, ratio: float, expensive: int) -> list[float]:
    """The cost of each objective, evenly spread in their logarithm.

    >>> _costs(3, 100.0, 3)
    [10.0, 1.0, 100.0]
    """
    costs = [ratio ** (1.0 - j / (n - 1)) for j in range(n)]
    return [*costs[1:expensive], costs[0], *costs[expensive:]]


@lru_cache(maxsize=8)
def _domain(definition: Definition, n: int, finite: bool) -> Domain:
    if definition.volume is None:
        return branin_currin_grid() if finite else unit_cube(2)
    return mixed_grid(n, definition.optimum) if finite else unit_cube(n - 1 + N_DISTANCE)


@lru_cache(maxsize=8)
def _front(definition: Definition, n: int, finite: bool) -> tuple[FloatArray, float]:
    """The true front (k, n), or a sample of it where the space is not finite, and its hypervolume."""
    reference = definition.reference(n)
    if finite:
        domain = _domain(definition, n, finite)
        losses = definition.function(domain.positions(domain.space.enumerate()), n)
        front = np.unique(true_front(losses), axis=0)
        return front, hypervolume(front, reference)
    if definition.volume is None:
        return front_and_volume((float(reference[0]), float(reference[1])))
    steps = np.meshgrid(*[np.linspace(0.0, 1.0, N_SHOWN[n])] * (n - 1), indexing="ij")
    places = np.column_stack([step.ravel() for step in steps])
    X = np.column_stack([places, np.full((len(places), N_DISTANCE), definition.optimum)])
    return np.unique(true_front(definition.function(X, n)), axis=0), definition.volume(reference)


def _pair(first: float, second: float) -> Callable[[int], FloatArray]:
    return lambda n: np.array([first, second])


def _alike(bound: float) -> Callable[[int], FloatArray]:
    return lambda n: np.full(n, bound)


def _dtlz7_reference(n: int) -> FloatArray:
    """1.1 times the maximum of the first losses, and of the last loss on the front."""
    return np.array([1.1] * (n - 1) + [2.2 * n])


DEFINITIONS = (
    Definition(
        "branin-currin",
        "Branin's and Currin's functions on the unit square; reference (18, 6)",
        branin_currin,
        _pair(18.0, 6.0),
        "Belakaria et al. 2019, with 2 options",
    ),
    Definition(
        "zdt1", "a convex front; reference (1.1, 1.1)", functions.zdt1, _alike(1.1), ZDT_SOURCE, volumes.zdt1_volume
    ),
    Definition(
        "zdt2", "a concave front; reference (1.1, 1.1)", functions.zdt2, _alike(1.1), ZDT_SOURCE, volumes.zdt2_volume
    ),
    Definition(
        "zdt3", "a front in pieces; reference (1.1, 1.1)", functions.zdt3, _alike(1.1), ZDT_SOURCE, volumes.zdt3_volume
    ),
    # With a reference close to the front, such as 0.55, no method would make visible progress; 400 is BoTorch's.
    Definition(
        "dtlz1",
        "a flat front behind many local ones; reference 400 for all",
        functions.dtlz1,
        _alike(400.0),
        DTLZ_SOURCE,
        volumes.dtlz1_volume,
        optimum=0.5,
        varies=True,
    ),
    Definition(
        "dtlz2",
        "a round front; reference 1.1 for all",
        functions.dtlz2,
        _alike(1.1),
        DTLZ_SOURCE,
        volumes.dtlz2_volume,
        optimum=0.5,
        varies=True,
    ),
    Definition(
        "dtlz7",
        "a front in pieces; reference 1.1 for all but the last objective, 2.2 n for that",
        functions.dtlz7,
        _dtlz7_reference,
        DTLZ_SOURCE,
        volumes.dtlz7_volume,
        varies=True,
    ),
)
FAMILIES: tuple[Family, ...] = tuple(definition.family for definition in DEFINITIONS)
