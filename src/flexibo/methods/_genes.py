"""Designs as pymoo's NSGA-II breeds them. The only module that imports pymoo (extra `evolution`).

A gene is the code of a category, or the position in [0, 1] of an ordered value on its own scale (the rank, or where it
lies between the bounds, on the logarithmic scale if the option has one), so every ordered option is searched on the
scale on which it is drawn. After crossover and mutation a genome is moved to the nearest legal design. The gene of an
option that is inactive in a design sleeps: it is inherited and mutates, and counts again where the option is active.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from pymoo.algorithms.moo.nsga2 import NSGA2, binary_tournament
from pymoo.config import Config
from pymoo.core.duplicate import ElementwiseDuplicateElimination
from pymoo.core.mixed import MixedVariableMating
from pymoo.core.population import Population
from pymoo.core.problem import Problem
from pymoo.core.termination import NoTermination
from pymoo.core.variable import Choice, Real
from pymoo.functions import FunctionLoader
from pymoo.operators.crossover.sbx import SBX
from pymoo.operators.crossover.ux import UX
from pymoo.operators.mutation.pm import PM
from pymoo.operators.mutation.rm import ChoiceRandomMutation
from pymoo.operators.selection.tournament import TournamentSelection

from flexibo._internal.arrays import FloatArray
from flexibo.methods.legal_designs import nearest_legal
from flexibo.space import Categorical, Designs, Option, Space
from flexibo.space.encoding import levels, width

CROSSOVER = 0.9  # The probability that two parents are crossed at all, as Deb et al. (2002) set it.
INDEX = 20  # distribution index of crossover and mutation (Deb et al. 2002): children stay close to parents
COARSE_INDEX = 3  # the index for options with few values, as pymoo's manual sets it for integers
COARSE = 20  # an ordered option with at most this many values has few; with more, index 20 mostly changes the value

MATINGS = 10  # how often parents are mated to fill a generation with children that are not in the population already

Genome = dict[str, Any]

# pymoo prints, once, if its compiled parts are missing; a library is silent.
_loud, Config.warnings["not_compiled"] = Config.warnings["not_compiled"], False
FunctionLoader.get_instance()
Config.warnings["not_compiled"] = _loud


class Coarse(Real):  # type: ignore[misc]  # pymoo has no types
    """The variable of an ordered option with few values; pymoo chooses operators by the class of a variable."""


class Breed:
    """pymoo's NSGA-II over the designs of a space; `rng` draws the sleeping genes of the first generation."""

    def __init__(
        self,
        space: Space,
        first: Designs,
        *,
        k: int,
        limits: int,
        size: int,
        seed: tuple[int, ...],
        rng: np.random.Generator,
    ) -> None:
        self._space = space
        self._genes = Genes(space)
        self._variables = variables(space)
        self._algorithm = NSGA2(
            pop_size=size,
            sampling=self._population(first, self._asleep(len(first), rng)),
            mating=mating(self._variables, self._repaired),
            eliminate_duplicates=_no_twins(),
            output=None,
        )
        problem = Problem(vars=self._variables, n_obj=k, n_ieq_constr=limits)
        self._algorithm.setup(problem, termination=NoTermination(), seed=seed)
        self._generation: Any = None

    def ask(self) -> Designs:
        """The next generation; empty if parents only have children that are in the population already."""
        self._generation = self._algorithm.ask()
        if self._generation is None:
            self._algorithm.termination.force_termination = False
            self._generation = Population.empty()
        codes = [member.get("codes") for member in self._generation]
        return self._space.from_codes(np.array(codes).reshape(len(codes), len(self._space.names)))

    def immigrate(self, designs: Designs, rng: np.random.Generator) -> None:
        """Put these designs in the place of the generation that was asked for."""
        self._generation = self._population(designs, self._asleep(len(designs), rng))

    def tell(self, F: FloatArray, G: FloatArray) -> None:
        """The losses (m, k) of the generation and its violations (m, limits), above 0 where a limit is exceeded."""
        self._generation.set("F", F)
        self._generation.set("G", G)
        self._algorithm.tell(infills=self._generation)

    def _population(self, designs: Designs, genomes: list[Genome]) -> Any:
        """The designs as pymoo's individuals; the genomes say what the inactive options would be."""
        population = Population.empty(len(designs))
        self._genes.imprint(population, designs, genomes)
        return population

    def _asleep(self, m: int, rng: np.random.Generator) -> list[Genome]:
        if not self._space.conditions:
            return [{} for _ in range(m)]
        columns = {name: variable.sample(m, random_state=rng) for name, variable in self._variables.items()}
        return [{name: column[i] for name, column in columns.items()} for i in range(m)]

    def _repaired(self, problem: Any, offspring: Any, random_state: Any = None, **_: Any) -> Any:
        """The offspring as legal designs, as pymoo's mating asks for it."""
        genomes = [member.X for member in offspring]
        designs, kept = nearest_legal(self._space, self._genes.expressed(genomes), random_state)
        offspring = offspring[kept]
        self._genes.imprint(offspring, designs, [genomes[i] for i in kept])
        return offspring


def variables(space: Space) -> dict[str, Any]:
    """The options that vary, as pymoo's variables."""
    result: dict[str, Any] = {}
    for name, option in space.options.items():
        if isinstance(option, Categorical) and option.size > 1:
            result[name] = Choice(options=levels(option, np.arange(option.size, dtype=np.float64)).astype(int).tolist())
        elif option.size > 1:
            result[name] = (Coarse if option.size <= COARSE else Real)(bounds=(0.0, 1.0))
    return result


def mating(variables: dict[str, Any], repair: Any) -> MixedVariableMating:
    """Tournaments, crossover and mutation: pymoo's operators, set as Deb et al. (2002) set them.

    Left to itself, pymoo's mixed mating draws parents at random, and mutates a variable with the reciprocal of the
    number of variables of its own class (at most one half): every category of every child with probability one half.
    """
    share = 1.0 / max(1, len(variables))
    return MixedVariableMating(
        selection=TournamentSelection(func_comp=binary_tournament),
        crossover={
            Real: SBX(prob=CROSSOVER, eta=INDEX),
            Coarse: SBX(prob=CROSSOVER, eta=COARSE_INDEX),
            Choice: UX(prob=CROSSOVER),
        },
        mutation={
            Real: PM(prob=1.0, prob_var=share, eta=INDEX),
            Coarse: PM(prob=1.0, prob_var=share, eta=COARSE_INDEX),
            Choice: ChoiceRandomMutation(prob=1.0, prob_var=share),
        },
        repair=repair,
        eliminate_duplicates=_no_twins(),
        n_max_iterations=MATINGS,
    )


class Genes:
    """Genomes of the designs of a space.

    A position on a scale and back costs a last digit, with which a copied gene would make a new design of an old one.
    So the code from which the gene of a `Real` was made is remembered.
    """

    def __init__(self, space: Space) -> None:
        self._space = space
        self._real = np.array([option.size == math.inf for option in space.options.values()])
        self._exact: dict[tuple[str, float], float] = {}

    def expressed(self, genomes: list[Genome]) -> Designs:
        """The designs nearest to genomes, legal or not; conditions are settled."""
        X = np.zeros((len(genomes), len(self._space.groups())))
        for name, option, start in self._columns():
            genes = np.array([genome[name] for genome in genomes], dtype=np.float64)
            if isinstance(option, Categorical):
                X[np.arange(len(genomes)), start + genes.astype(np.int64)] = 1.0
            else:
                X[:, start] = genes
        codes = self._space.decode(X).codes.copy()
        for i, position in np.argwhere(~np.isnan(codes) & self._real).tolist():
            name = self._space.names[position]
            codes[i, position] = self._exact.get((name, genomes[i][name]), codes[i, position])
        return self._space.from_codes(codes)

    def imprint(self, population: Any, designs: Designs, genomes: list[Genome]) -> None:
        """Write designs into pymoo's individuals; the genomes say what inactive options would be."""
        X = designs.encoded()
        merged = [dict(genome) for genome in genomes]
        for name, option, start in self._columns():
            position = self._space.names.index(name)
            codes = designs.codes[:, position]
            genes = codes if isinstance(option, Categorical) else X[:, start]
            for i in np.flatnonzero(~np.isnan(codes)).tolist():
                merged[i][name] = int(genes[i]) if isinstance(option, Categorical) else float(genes[i])
                if self._real[position]:
                    self._exact[name, float(genes[i])] = float(codes[i])
        population.set("X", merged)
        population.set("codes", designs.codes)
        population.set("key", designs.keys().tolist())

    def _columns(self) -> Iterator[tuple[str, Option, int]]:
        """The options that vary, each with its first column in the encoding."""
        start = 0
        for name, option in self._space.options.items():
            if option.size > 1:
                yield name, option, start
            start += width(option)


def _no_twins() -> ElementwiseDuplicateElimination:
    return ElementwiseDuplicateElimination(cmp_func=lambda one, other: one.get("key") == other.get("key"))
