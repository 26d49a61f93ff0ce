"""NSGA-II: breed a population, keep what few others dominate and what lies apart.

Deb, Pratap, Agarwal, Meyarivan: A fast and elitist multiobjective genetic algorithm: NSGA-II. IEEE Transactions on
Evolutionary Computation 6(2), 2002. The algorithm is pymoo's (Blank and Deb 2020); here is what connects it to a study.
NEMO searches with it for networks that are accurate and fast (Kim, Reddy, Yun, Seo: NEMO: Neuro-Evolution with
Multiobjective Optimization of Deep Neural Network for Speed and Accuracy. ICML AutoML workshop 2017).

Crossover probability 0.9, mutation probability 1/d for d options that vary, distribution indices of 20, binary
tournaments and constrained domination are the paper's.

Differences from the paper:
- The first generation is the study's initial designs, filled up by a draw. The population is as large as their number,
  at least 8, and even; the paper's 100 would use up most budgets in two generations.
- Categories are crossed uniformly and mutate to a random category. Ordered options with at most 20 values use indices
  of 3, with which a step from value to value is not a rare event. Offspring that are not legal become the nearest legal
  design (`genes`).
- Losses that are known need no measurement, so offspring that were measured in an earlier generation cost nothing. When
  `PATIENCE` generations in a row bring nothing else, the next is drawn at random.
- The violations of several constraints are added as fractions of the limits. A design that failed for good counts as
  a violation greater than any other.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

from flexibo._internal.arrays import BoolArray, FloatArray
from flexibo._internal.random_streams import Stream, entropy, generator
from flexibo.errors import missing_extra
from flexibo.history import History
from flexibo.methods.base import ProposingMethod
from flexibo.methods.legal_designs import askable, keys_by_options
from flexibo.space import Design, Designs
from flexibo.space.unseen import fresh, is_new

if TYPE_CHECKING:
    from flexibo.methods._genes import Breed

LEAST = 8  # a smaller population soon has nothing to cross
COUNTABLE = 10_000  # in a space of at most this many combinations the last designs are drawn, not bred
PATIENCE = 3  # after this many generations without a new design, designs are drawn at random


class Nsga2:
    """NSGA-II as a proposal; one object serves any number of studies.

    The generations are replayed from the losses in the history. What was replayed is kept, and used as long as those
    losses have not changed.
    """

    finished = "No further design can be bred."

    def __init__(self) -> None:
        self._runs: WeakKeyDictionary[History, _Generations] = WeakKeyDictionary()

    def __call__(self, history: History, initial: Sequence[Design], seed: int) -> Iterator[Design]:
        """The members of the first incomplete generation that are left to measure."""
        # Kept only when complete: an interrupt may leave half a generation behind.
        run = self._runs.pop(history, None)
        if run is None or not run.fits(history, tuple(initial), seed):
            run = _Generations(history, tuple(initial), seed)
        run.advance(history)
        self._runs[history] = run
        generation = run.generation
        awaited = np.isinf(losses(history, generation)).any(axis=1)
        yield from generation[awaited & askable(history, generation)]


class _Generations:
    """The generations that follow from a seed and the known losses; `generation` is the first incomplete one."""

    generation: Designs  # empty if every legal design was in one

    def __init__(self, history: History, initial: tuple[Design, ...], seed: int) -> None:
        self._space = history.space
        self._initial, self._seed = initial, seed
        self._rng = generator(seed, Stream.EVOLUTION, 1)
        self._stale = 0
        # Larger spaces are not counted, because a rule may have to be asked about every design.
        few = self._space.pool is not None or math.prod(o.size for o in self._space.options.values()) <= COUNTABLE
        self._total = self._space.size if few else math.inf
        given = self._space.designs(initial).unique()
        self._complete, self._told = given[:0], losses(history, given[:0])
        self._size = max(LEAST, len(given) + len(given) % 2)
        self._seen = set(given.keys().tolist())
        drawn = fresh(self._space, self._seen, self._size - len(given), self._rng)
        self._seen.update(drawn.keys().tolist())
        self.generation = given + drawn
        self._breed = self._first_breed(history)

    def fits(self, history: History, initial: tuple[Design, ...], seed: int) -> bool:
        """Whether the losses of the complete generations are still those that were used."""
        return (initial, seed) == (self._initial, self._seed) and np.array_equal(
            self._told, losses(history, self._complete), equal_nan=True
        )

    def advance(self, history: History) -> None:
        """Complete generations and breed the next, until one has to be measured or nothing is left."""
        while len(self.generation):
            told = losses(history, self.generation)
            if np.isinf(told).any():
                return
            self._complete += self.generation
            self._told = np.concatenate([self._told, told])
            self._breed.tell(*values(history, told))
            self._next()

    def _first_breed(self, history: History) -> Breed:
        """The breed whose first generation this is."""
        try:
            from flexibo.methods._genes import Breed
        except ImportError:
            raise missing_extra("pymoo", "evolution") from None
        breed = Breed(
            self._space,
            self.generation,
            k=len(history.optimised),
            limits=int(np.isfinite(history.limits).sum()) + 1,
            size=self._size,
            seed=entropy(self._seed, Stream.EVOLUTION),
            rng=self._rng,
        )
        self.generation = breed.ask()
        return breed

    def _next(self) -> None:
        """Breed a generation; if that brings nothing new for long, or no more than one is left, draw it."""
        if self._total - len(self._seen) > self._size:
            self.generation = self._breed.ask()
            self._stale = 0 if is_new(self.generation, self._seen).any() else self._stale + 1
            if len(self.generation) and self._stale <= PATIENCE:
                self._seen.update(self.generation.keys().tolist())
                return
        self._stale = 0
        self.generation = fresh(self._space, self._seen, self._size, self._rng)
        self._breed.immigrate(self.generation, self._rng)
        self._seen.update(self.generation.keys().tolist())


def losses(history: History, designs: Designs) -> FloatArray:
    """The latest losses (m, n) of designs, infinite where they are awaited; rows of NaN where one failed for good."""
    keys = keys_by_options(history, designs)
    table = np.empty((len(designs), len(history.quantities)))
    for j, objective in enumerate(history.quantities):
        known = history.known(j)
        table[:, j] = [known.get(key, np.inf) for key in keys[objective.depends_on].tolist()]
    for p, purchase in history.counting:
        hopeless = history.hopeless(p)
        if not len(hopeless):
            continue
        lacking = np.isinf(table[:, list(purchase.members)]).any(axis=1) & np.isin(keys[purchase.options], hopeless)
        for i in np.flatnonzero(lacking).tolist():
            if not history.is_pending(p, designs[i]):
                table[i] = np.nan
    return table


def values(history: History, table: FloatArray) -> tuple[FloatArray, FloatArray]:
    """What NSGA-II sees of losses (m, n): those to minimise (m, k), and violations (m, limits + 1), at most 0 if legal.

    A violation is a fraction of its limit. The last column is infinite for designs that failed, which is worse than
    every design that did not.
    """
    failed: BoolArray = np.asarray(np.isnan(table).any(axis=1))
    limited = np.flatnonzero(np.isfinite(history.limits))
    limits = history.limits[limited]
    with np.errstate(over="ignore"):
        excess = (table[:, limited] - limits) / np.where(limits == 0, 1.0, np.abs(limits))
    G = np.column_stack([excess, np.where(failed, np.inf, 0.0)])
    F = table[:, list(history.optimised)]
    return np.where(failed[:, None], 0.0, F), np.where(np.isnan(G), 0.0, G)


NSGA2 = ProposingMethod(
    name="nsga2",
    summary="Evolutionary search through pymoo, as NEMO uses it.",
    paper="Deb et al. 2002; Kim et al. 2017",
    proposal=Nsga2,
    extra=("pymoo", "evolution"),
)
