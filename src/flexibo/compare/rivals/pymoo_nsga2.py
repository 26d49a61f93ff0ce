"""pymoo's NSGA-II, by ask and tell.

Deb, Pratap, Agarwal, Meyarivan: A fast and elitist multiobjective genetic algorithm: NSGA-II. IEEE Transactions on
Evolutionary Computation 6(2), 2002.

The operators are those of pymoo's manual: NSGA-II's defaults for reals, the index 3 of the chapter on integers for
ordered values, and uniform crossover with random mutation of the chapter on mixed variables for categories. An
`Ordinal` becomes an integer, the rank of its value; an option with a logarithmic scale becomes a real, the logarithm.
Two defaults of the mixed mating are replaced by NSGA-II's: parents are selected by tournaments, and each of the d
options that vary mutates with probability 1/d, where the default would redraw every second category.

The initial designs are the first generation. The population is half their number after that, and at least `LEAST`, so
that 20 evaluations are four generations; with pymoo's default of 100, most budgets would end in the random phase. A
generation is reported when all of it is measured, with the designs that were really measured.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from flexibo.compare.rivals.base import UNTOLD, RivalEntry, Setting
from flexibo.compare.rivals.library_rival import LibraryRival
from flexibo.space import Categorical, Design, Designs, Integer, Option, Ordinal, Real, Space
from flexibo.space.encoding import code_of, value_of

LEAST = 4
"""A smaller population soon has nothing to cross."""
ORDERED_INDEX = 3.0
"""The distribution index of ordered values, as pymoo's manual sets it."""

Genome = dict[str, Any]


class PymooNsga2:
    """NSGA-II of pymoo, asked design by design."""

    def __init__(self, setting: Setting) -> None:
        self._options = setting.space.options
        self._variables = variables(setting.space)
        size = max(LEAST, setting.n_initial // 2)
        self._algorithm = _algorithm(self._variables, len(setting.names), size, setting.seed)
        # The initial designs replace the first members of the generation that pymoo draws.
        self._left = [dict(member.X) for member in self._algorithm.ask()][setting.n_initial :]
        self._genomes: list[Genome] = []
        self._losses: list[list[float]] = []

    def suggest(self) -> Mapping[str, object]:
        """The next member of the generation; a new generation is bred when all are measured."""
        if not self._left:
            self._left = self._bred()
        genome = self._left.pop(0)
        return {name: value_of(option, _code(option, genome.get(name))) for name, option in self._options.items()}

    def learn(self, design: Design, losses: Sequence[float]) -> None:
        """Add a design to the generation, whether it was bred or not."""
        self._genomes.append({name: _gene(self._options[name], design[name]) for name in self._variables})
        self._losses.append(list(losses))

    def predict(self, designs: Designs) -> None:
        """None: a genetic algorithm has no model."""

    def _bred(self) -> list[Genome]:
        """Report the measured generation to pymoo, and ask for the next."""
        from pymoo.core.population import Population

        if self._genomes:
            measured = Population.new("X", np.array(self._genomes, dtype=object), "F", np.array(self._losses))
            self._algorithm.tell(infills=measured)
            self._genomes, self._losses = [], []
        offspring = self._algorithm.ask()
        if offspring is None:
            self._algorithm.termination.force_termination = False
            raise RuntimeError("All children are in the population already.")
        return [dict(member.X) for member in offspring]


def variables(space: Space) -> dict[str, Any]:
    """The options that vary, as pymoo's variables."""
    from pymoo.core import variable

    result: dict[str, Any] = {}
    for name, option in space.options.items():
        if option.size == 1:
            continue
        if isinstance(option, Categorical):
            result[name] = variable.Choice(options=list(range(option.size)))
        elif isinstance(option, Ordinal):
            result[name] = variable.Integer(bounds=(0, option.size - 1))
        elif option.log:
            result[name] = variable.Real(bounds=(math.log(option.low), math.log(option.high)))
        else:
            kind = variable.Real if isinstance(option, Real) else variable.Integer
            result[name] = kind(bounds=(option.low, option.high))
    return result


def _algorithm(chosen: dict[str, Any], n: int, size: int, seed: int) -> Any:
    """NSGA-II, ready to be asked."""
    from pymoo.algorithms.moo.nsga2 import NSGA2
    from pymoo.core.mixed import MixedVariableDuplicateElimination, MixedVariableSampling
    from pymoo.core.problem import Problem
    from pymoo.core.termination import NoTermination

    algorithm = NSGA2(
        pop_size=size,
        sampling=MixedVariableSampling(),
        mating=_mating(len(chosen)),
        eliminate_duplicates=MixedVariableDuplicateElimination(),
        output=None,
    )
    return algorithm.setup(Problem(vars=chosen, n_obj=n), termination=NoTermination(), seed=seed)


def _mating(d: int) -> Any:
    """Tournaments, crossover and mutation for d variables."""
    from pymoo.algorithms.moo.nsga2 import binary_tournament
    from pymoo.core.mixed import MixedVariableDuplicateElimination, MixedVariableMating
    from pymoo.core.variable import Choice, Integer, Real
    from pymoo.operators.crossover.sbx import SBX
    from pymoo.operators.crossover.ux import UX
    from pymoo.operators.mutation.pm import PM
    from pymoo.operators.mutation.rm import ChoiceRandomMutation
    from pymoo.operators.repair.rounding import RoundingRepair
    from pymoo.operators.selection.tournament import TournamentSelection

    whole = {"eta": ORDERED_INDEX, "vtype": float, "repair": RoundingRepair()}
    share = 1.0 / max(1, d)
    return MixedVariableMating(
        selection=TournamentSelection(func_comp=binary_tournament),
        crossover={Real: SBX(prob=0.9, eta=15), Integer: SBX(prob=0.9, **whole), Choice: UX(prob=0.9)},
        mutation={
            Real: PM(prob_var=share, eta=20),
            Integer: PM(prob_var=share, **whole),
            Choice: ChoiceRandomMutation(prob_var=share),
        },
        eliminate_duplicates=MixedVariableDuplicateElimination(),
    )


def _gene(option: Option, value: Any) -> int | float:
    """The gene of a value: its code, or the logarithm of that."""
    code = float(code_of(option, value) or 0.0)
    if isinstance(option, (Integer, Real)) and option.log:
        return math.log(code)
    return code if isinstance(option, Real) else int(code)


def _code(option: Option, gene: int | float | None) -> float:
    """The code of the value of a gene; None is the only value of an option that does not vary."""
    if isinstance(option, (Integer, Real)):
        number = option.low if gene is None else math.exp(gene) if option.log else gene
        number = min(max(number, option.low), option.high)
        return float(number if isinstance(option, Real) else round(number))
    return float(gene or 0)


ENTRY = RivalEntry(
    name="pymoo-nsga2",
    summary="pymoo's NSGA-II",
    packages=("pymoo",),
    modules=("pymoo",),
    make=lambda setting: LibraryRival(setting, PymooNsga2),
    documentation="https://pymoo.org/customization/mixed.html",
    caveat=f"Its population is half the number of initial designs, not 100 as by default. {UNTOLD}",
)
