"""Suites: named comparisons."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from flexibo.compare.rivals import RIVALS
from flexibo.compare.runs import Allowance
from flexibo.compare.statistics.goals import STANDARD_GOALS, Goal


@dataclass(frozen=True, slots=True)
class Limit:
    """With how many seeds a slow method runs on some problems, and whether it runs on all others with every seed."""

    seeds: Mapping[str, int]
    elsewhere: bool = False

    def allows(self, problem: str, seed: int) -> bool:
        """Whether the method runs on a problem with this seed."""
        return seed < self.seeds[problem] if problem in self.seeds else self.elsewhere

    def description(self, most: int) -> str:
        """The limit in words, given the number of seeds that the others have."""
        parts = []
        for n in sorted(set(self.seeds.values()), reverse=True):
            where = ", ".join(problem for problem, own in self.seeds.items() if own == n)
            seeds = "1 seed" if min(n, most) == 1 else f"{min(n, most)} seeds"
            parts.append(f"runs with {seeds} on {where}" if n else f"does not run on {where}")
        return "; ".join(parts) + ("" if self.elsewhere else " only")


@dataclass(frozen=True, slots=True)
class Suite:
    """A named comparison: methods of flexibo, the first one under test, and rivals on problems, with seeds 0, 1, ...

    The limits name slow methods that do not make all runs, the goals are those of the first method.
    """

    summary: str
    problems: tuple[str, ...]
    methods: tuple[str, ...]
    rivals: tuple[str, ...]
    seeds: int
    allowance: Allowance = field(default_factory=Allowance)
    limits: Mapping[str, Limit] = field(default_factory=dict)
    goals: tuple[Goal, ...] = ()

    def tasks(self) -> list[tuple[str, str, int]]:
        """Every (problem, method, seed) of the suite."""
        return [
            (problem, method, seed)
            for problem in self.problems
            for seed in range(self.seeds)
            for method in (*self.methods, *self.rivals)
            if self._takes_part(method, problem, seed)
        ]

    def _takes_part(self, method: str, problem: str, seed: int) -> bool:
        limit = self.limits.get(method)
        return limit is None or limit.allows(problem, seed)


LATER = ("dnn-stack:surface=4:n=3", "nb201-4", "dnn-stack:surface=2:n=4", "dtlz2:n=5:ratio=10:finite")
"""Problems of three to five objectives on which botorch-qlognehvi, the slowest rival, has no stored runs."""

STANDARD_PROBLEMS = (
    "nb201-tx2",
    "nb201-pi4",
    "accel-a100",
    "accel-zcu102",
    "accel-3",
    "tx2-inceptionv3-400",
    "tx2-xception-600",
    "dnn-stack",
    "dnn-stack:surface=1",
    "dnn-stack:surface=2",
    "branin-currin",
    "branin-currin:ratio=10",
    "branin-currin:ratio=100",
    "zdt1:ratio=10:finite",
    "zdt3:ratio=10:finite",
    "dtlz2:n=3:ratio=100",
    "branin-currin:ratio=10:noise=0.05",
    *LATER,
)

SUITES: dict[str, Suite] = {
    "standard": Suite(
        "21 problems of 2 to 5 objectives, 10 seeds; all rivals, the paper's methods except PESMO, which is slow.",
        STANDARD_PROBLEMS,
        (
            *("flexibo", "flexibo-gp-log", "ehvi", "ehvi+gp", "ehvi/cost", "ehvi/cost+gp"),
            *("parego", "smsego", "pal", "ca-mobo", "random-coupled"),
        ),
        tuple(RIVALS),
        10,
        limits={
            "flexibo-gp-log": Limit({"nb201-4": 0, "dnn-stack:surface=2:n=4": 0}, elsewhere=True),
            "botorch-qlognehvi": Limit(dict.fromkeys(LATER, 0), elsewhere=True),
            "botorch-hvkg": Limit(
                dict.fromkeys(("branin-currin", "branin-currin:ratio=10", "tx2-inceptionv3-400", "tx2-xception-600"), 3)
            ),
        },
        goals=STANDARD_GOALS,
    ),
    "quick": Suite(
        "Two small problems, three methods, two rivals, three seeds: less than two minutes.",
        ("branin-currin:ratio=10", "zdt1:ratio=10:finite"),
        ("flexibo", "ehvi", "random-coupled"),
        ("optuna-tpe", "pymoo-nsga2"),
        3,
    ),
}
