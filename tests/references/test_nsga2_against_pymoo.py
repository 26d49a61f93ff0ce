"""The proposal `Nsga2` and pymoo's own loop, given the same first generation, operators and seed."""

from __future__ import annotations

import math

import numpy as np
import pytest

from flexibo import Design, Objective, Space
from flexibo.belief.candidates import initial_designs
from flexibo.history import History
from flexibo.history.events import Asked, Evaluation, Told
from flexibo.methods.nsga2 import Nsga2
from flexibo.methods.sobol import SobolSequence
from flexibo.pareto import hypervolume
from flexibo.space import Integer, Real

pytest.importorskip("pymoo")

SEED = 7
WIDTHS = [8, 16, 32, 64, 128]
KINDS = ["a", "b", "c"]
SPACE = Space(
    {
        "x": (0.0, 1.0),
        "rate": Real(1e-4, 1e-1, log=True),
        "width": WIDTHS,
        "cores": (1, 6),
        "units": Integer(1, 400, log=True),
        "kind": KINDS,
        "constant": [3],
    }
)


def losses(design: Design) -> dict[str, float]:
    """Mixed and like ZDT1: the first loss is x, the second falls with it and is least where the others are."""
    others = [
        abs(math.log10(design["rate"]) + 3.0) / 2.0,
        WIDTHS.index(design["width"]) / 4.0,
        (design["cores"] - 1) / 5.0,
        abs(math.log(design["units"]) - 3.0) / 3.0,
        KINDS.index(design["kind"]) / 2.0,
    ]
    g = 1.0 + 9.0 * sum(others) / len(others)
    return {"x": design["x"], "g": g * (1.0 - math.sqrt(design["x"] / g)), "heat": 10.0 * design["x"] + design["cores"]}


def measure(history: History, design: Design) -> None:
    values = losses(design)
    for objective in history.names:
        number = len(history.asked)
        history.append(Asked(Evaluation(design, objective, None, 0.0, "", number, (objective,))))
        history.append(Told(number, {objective: values[objective]}, 1.0))


def proposed(objectives: list[Objective], count: int, seed: int = SEED, n: int = 12) -> History:
    """A study of `count` designs, those of the proposal after n initial ones."""
    history = History(SPACE, objectives)
    initial = initial_designs(SPACE, n, seed)
    proposal = Nsga2()
    for design in initial:
        measure(history, design)
    while len(history.designs) < count:
        measure(history, next(proposal(history, initial, seed)))
    return history


def reference(generations: int, limit: float | None, n: int = 12) -> list[Design]:
    """The designs that pymoo's own loop evaluates, in order; written without flexibo's genes."""
    from pymoo.algorithms.moo.nsga2 import NSGA2, binary_tournament
    from pymoo.core.mixed import MixedVariableDuplicateElimination, MixedVariableMating
    from pymoo.core.population import Population
    from pymoo.core.problem import ElementwiseProblem
    from pymoo.core.repair import Repair
    from pymoo.core.variable import Choice
    from pymoo.core.variable import Real as Interval
    from pymoo.operators.crossover.sbx import SBX
    from pymoo.operators.crossover.ux import UX
    from pymoo.operators.mutation.pm import PM
    from pymoo.operators.mutation.rm import ChoiceRandomMutation
    from pymoo.operators.selection.tournament import TournamentSelection
    from pymoo.optimize import minimize

    class Steps(Interval):
        pass

    def to_design(genes: dict[str, float]) -> Design:
        return SPACE.design(
            {
                "x": float(genes["x"]),
                "rate": min(max(1e-4 * 1e3 ** float(genes["rate"]), 1e-4), 1e-1),
                "width": WIDTHS[round(4 * genes["width"])],
                "cores": 1 + round(5 * genes["cores"]),
                "units": round(400.0 ** float(genes["units"])),
                "kind": KINDS[int(genes["kind"])],
                "constant": 3,
            }
        )

    def to_genes(design: Design) -> dict[str, float]:
        return {
            "x": design["x"],
            "rate": math.log(design["rate"] / 1e-4) / math.log(1e3),
            "width": WIDTHS.index(design["width"]) / 4,
            "cores": (design["cores"] - 1) / 5,
            "units": math.log(design["units"]) / math.log(400),
            "kind": KINDS.index(design["kind"]),
        }

    class Snap(Repair):
        def _do(self, problem, X, **_):  # type: ignore[no-untyped-def]
            return [{**to_genes(to_design(genes)), "rate": genes["rate"]} for genes in X]

    class Mixed(ElementwiseProblem):
        def __init__(self) -> None:
            intervals = {"x": Interval, "rate": Interval, "width": Steps, "cores": Steps, "units": Interval}
            genes = {name: kind(bounds=(0.0, 1.0)) for name, kind in intervals.items()}
            genes["kind"] = Choice(options=[0, 1, 2])
            super().__init__(vars=genes, n_obj=2, n_ieq_constr=0 if limit is None else 1)

        def _evaluate(self, genes, out, *_, **__):  # type: ignore[no-untyped-def]
            design = to_design(genes)
            evaluated.append(design)
            values = losses(design)
            out["F"] = [values["x"], values["g"]]
            if limit is not None:
                out["G"] = [values["heat"] - limit]

    evaluated: list[Design] = []
    share = 1 / 6
    mating = MixedVariableMating(
        selection=TournamentSelection(func_comp=binary_tournament),
        crossover={Interval: SBX(prob=0.9, eta=20), Steps: SBX(prob=0.9, eta=3), Choice: UX(prob=0.9)},
        mutation={
            Interval: PM(prob=1.0, prob_var=share, eta=20),
            Steps: PM(prob=1.0, prob_var=share, eta=3),
            Choice: ChoiceRandomMutation(prob=1.0, prob_var=share),
        },
        repair=Snap(),
        eliminate_duplicates=MixedVariableDuplicateElimination(),
    )
    first = Population.new(X=[to_genes(design) for design in initial_designs(SPACE, n, SEED)])
    algorithm = NSGA2(
        pop_size=n, sampling=first, mating=mating, eliminate_duplicates=MixedVariableDuplicateElimination()
    )
    minimize(Mixed(), algorithm, ("n_gen", generations), seed=(SEED, 3), verbose=False)
    return evaluated


@pytest.mark.parametrize("limit", [None, 6.0])
def test_the_designs_are_those_of_pymoo_s_own_loop_in_the_same_order(limit: float | None) -> None:
    objectives = [Objective("x"), Objective("g")] + ([] if limit is None else [Objective("heat", at_most=limit)])
    expected = list(dict.fromkeys(reference(8, limit)))
    assert len(expected) > 80
    found = proposed(objectives, len(expected)).designs
    for here, there in zip(found, expected, strict=True):
        # The logarithm and back costs a last digit.
        assert here["rate"] == pytest.approx(there["rate"], rel=1e-9)
        assert {**here, "rate": None} == {**there, "rate": None}


def volume(history: History) -> float:
    Y = np.stack([history.data(j)[1] for j in range(2)], axis=1)
    return hypervolume(Y, np.array([1.1, 11.0]))


def drawn(count: int, seed: int) -> History:
    history = History(SPACE, [Objective("x"), Objective("g")])
    for design in SPACE.sample(count, np.random.default_rng((seed, 99))):
        measure(history, design)
    return history


def swept(count: int, seed: int) -> History:
    history = History(SPACE, [Objective("x"), Objective("g")])
    for design, _ in zip(SobolSequence()(history, (), seed), range(count), strict=False):
        measure(history, design)
    return history


def test_it_finds_a_better_front_than_a_draw_and_than_an_even_spread() -> None:
    for seed in range(2):
        bred = volume(proposed([Objective("x"), Objective("g")], 84, seed))
        assert bred > volume(drawn(84, seed))
        assert bred > volume(swept(84, seed))
