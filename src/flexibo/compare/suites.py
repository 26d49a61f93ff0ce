"""Suites: named comparisons."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from flexibo.compare.problems import lcbench
from flexibo.compare.rivals import RIVALS, STEP_RIVALS
from flexibo.compare.runs import Allowance, Task
from flexibo.compare.statistics.goals import STANDARD_GOALS, STEPS_GOALS, Goal
from flexibo.compare.statistics.money import MoneyGoal


@dataclass(frozen=True, slots=True)
class Limit:
    """With how many seeds a slow method runs on some problems, and on all others; None is every seed."""

    seeds: Mapping[str, int] = field(default_factory=dict)
    elsewhere: int | None = 0

    def allows(self, problem: str, seed: int) -> bool:
        """Whether the method runs on a problem with the seed at this position."""
        most = self.seeds.get(problem, self.elsewhere)
        return most is None or seed < most

    def description(self, most: int) -> str:
        """The limit in words, given the number of seeds that the others have."""
        parts = []
        for n in sorted(set(self.seeds.values()), reverse=True):
            where = ", ".join(problem for problem, own in self.seeds.items() if own == n)
            parts.append(f"runs with {_seeds(min(n, most))} on {where}" if n else f"does not run on {where}")
        if self.elsewhere:
            parts.append(f"runs with {_seeds(min(self.elsewhere, most))}{' on the other problems' if parts else ''}")
        return "; ".join(parts) + (" only" if self.elsewhere == 0 else "")


def _seeds(n: int) -> str:
    return "1 seed" if n == 1 else f"{n} seeds"


@dataclass(frozen=True, slots=True)
class Suite:
    """A named comparison: methods of flexibo, the first one under test, and rivals on problems, with consecutive seeds.

    The limits name slow methods that do not make all runs, the goals are those of the first method; `money` says what
    it may cost to reach what another method reaches.
    """

    summary: str
    problems: tuple[str, ...]
    methods: tuple[str, ...]
    rivals: tuple[str, ...]
    seeds: int
    allowance: Allowance = field(default_factory=Allowance)
    limits: Mapping[str, Limit] = field(default_factory=dict)
    goals: tuple[Goal, ...] = ()
    first_seed: int = 0
    money: MoneyGoal | None = None

    def tasks(self) -> list[Task]:
        """Every (problem, method, seed) of the suite."""
        return [
            (problem, method, seed)
            for problem in self.problems
            for seed in range(self.first_seed, self.first_seed + self.seeds)
            for method in (*self.methods, *self.rivals)
            if self._takes_part(method, problem, seed)
        ]

    def _takes_part(self, method: str, problem: str, seed: int) -> bool:
        limit = self.limits.get(method)
        return limit is None or limit.allows(problem, seed - self.first_seed)


LATER = ("dnn-stack:surface=4:n=3", "nb201-4", "dnn-stack:surface=2:n=4", "dtlz2:n=5:ratio=10:finite")
"""Problems of three to five objectives that are too slow for botorch-qlognehvi."""

HVKG_PROBLEMS = (
    *("branin-currin", "tx2-inceptionv3-400", "tx2-xception-600", "zdt1:finite"),
    *("branin-currin:ratio=10", "dtlz2:n=3:finite", "mlp-kc1"),
)
"""The problems of botorch-hvkg, the slowest rival."""

STANDARD_PROBLEMS = (
    # Recorded tables. The error of an h200 table does not depend on the options of the deployment.
    "nb201-tx2",
    "nb201-pi4",
    "nb201-cifar100-pi4",
    "nb201-imagenet-gpu",
    "accel-a100",
    "accel-zcu102",
    "accel-3",
    "resnet-h200",
    "squeezenet-h200",
    "mlp-credit-g",
    "mlp-kc1",
    "mlp-phoneme",
    "mlp-segment",
    # DNN stacks.
    "dnn-stack",
    "dnn-stack:surface=1",
    "dnn-stack:surface=2",
    # Synthetic, with the price on a hard objective.
    "branin-currin:ratio=10",
    "branin-currin:ratio=100",
    "branin-currin:ratio=10:noise=0.05",
    "zdt1:ratio=10:expensive=2:finite",
    "zdt3:ratio=10:expensive=2:finite",
    "dtlz2:n=3:ratio=100",
    # Equal prices.
    "tx2-inceptionv3-400",
    "tx2-xception-600",
    "branin-currin",
    "zdt1:finite",
    "dtlz2:n=3:finite",
    *LATER,
)
"""The judge: nothing is tuned on these problems."""

DEVELOPMENT_PROBLEMS = (
    # Recorded tables.
    "nb201-pixel3",
    "accel-3090",
    "accel-tpuv3",
    "accel-vck190",
    "lenet-h200",
    "mlp-australian",
    "mlp-blood-transfusion",
    "mlp-car",
    "mlp-vehicle",
    # DNN stacks.
    "dnn-stack:surface=5",
    "dnn-stack:surface=6",
    "dnn-stack:surface=7",
    "dnn-stack:surface=8",
    "dnn-stack:surface=9:n=3",
    # Synthetic, with the price on a hard objective.
    "zdt2:ratio=10:expensive=2:finite",
    "zdt2:ratio=100:expensive=2",
    "dtlz1:ratio=10",
    "dtlz7:ratio=10:expensive=2:finite",
    "dtlz7:ratio=10:expensive=2:noise=0.05",
    "dtlz7:n=3:ratio=100:expensive=3:finite",
    # Equal prices.
    "tx2-inceptionv3-200",
    "tx2-xception-800",
    "tx2-objectives",
    "zdt2:finite",
    "dtlz7:finite",
)
"""Problems for tuning: other surfaces, other functions, and other tables or columns than those of the judge."""

STEPS_PROBLEMS = (
    *(lcbench.FAMILY.full_name({"task": task.number}) for task in lcbench.JUDGE),
    *("resnet-h200-curves", "mobilenet-h200-curves", "xception-h200-curves", "bert-squad-h200-curves"),
    "nb201-imagenet-proxy",
    *("crossing-curves", "crossing-curves:function=3", "noise-proxy", "noise-proxy:function=3"),
)
"""The judge of steps and proxies: nothing is tuned on these problems."""

STEPS_DEVELOPMENT_PROBLEMS = (
    *(lcbench.FAMILY.full_name({"task": task.number}) for task in lcbench.DEVELOPMENT),
    *("lenet-h200-curves", "squeezenet-h200-curves", "bert-imdb-h200-curves"),
    "nb201-cifar100-proxy",
    *("clear-curves:function=2", "crossing-curves:function=2", "noise-proxy:function=2"),
)
"""Problems with steps and proxies for tuning: other tasks, tables and functions than those of the judge."""

STEPS_ALLOWANCE = Allowance(n_initial=10, budget=30.0, from_scratch=True)
"""From scratch, because a design that is measured to the last step is what early stops save."""

SUITES: dict[str, Suite] = {
    "standard": Suite(
        "31 problems of 2 to 5 objectives, 10 seeds; all rivals, the paper's methods except PESMO, which is slow.",
        STANDARD_PROBLEMS,
        (
            *("flexibo", "flexibo-gp-log", "ehvi", "ehvi+gp", "ehvi/cost", "ehvi/cost+gp"),
            *("parego", "smsego", "pal", "ca-mobo", "random-coupled"),
        ),
        tuple(RIVALS),
        10,
        limits={
            "flexibo-gp-log": Limit({"nb201-4": 0, "dnn-stack:surface=2:n=4": 0}, elsewhere=None),
            "optuna-gp": Limit(elsewhere=5),
            "smac-parego": Limit(elsewhere=5),
            "botorch-qlognehvi": Limit(dict.fromkeys(LATER, 0), elsewhere=3),
            "botorch-qlognparego": Limit(elsewhere=3),
            "botorch-hvkg": Limit(dict.fromkeys(HVKG_PROBLEMS, 3)),
        },
        goals=STANDARD_GOALS,
    ),
    "development": Suite(
        "25 problems that the standard suite does not have, for tuning; 20 seeds from 1000.",
        DEVELOPMENT_PROBLEMS,
        ("flexibo", "ehvi/cost", "random-coupled"),
        (),
        20,
        first_seed=1000,
    ),
    "steps": Suite(
        "19 problems whose expensive objective has steps or a proxy, 10 seeds; rivals that stop early.",
        STEPS_PROBLEMS,
        ("flexibo/steps", "flexibo"),
        ("optuna-tpe", "optuna-gp", *STEP_RIVALS),
        10,
        allowance=STEPS_ALLOWANCE,
        limits={"optuna-gp": Limit(elsewhere=5), "neps-primo": Limit(elsewhere=5)},
        goals=STEPS_GOALS,
        money=MoneyGoal("flexibo", must=0.6, aim=0.33),
    ),
    "steps-development": Suite(
        "19 problems with steps or a proxy that the suite steps does not have, for tuning; 10 seeds from 1000.",
        STEPS_DEVELOPMENT_PROBLEMS,
        ("flexibo/steps", "flexibo"),
        (),
        10,
        allowance=STEPS_ALLOWANCE,
        first_seed=1000,
        money=MoneyGoal("flexibo", must=0.6, aim=0.33),
    ),
    "quick": Suite(
        "Two small problems, three methods, two rivals, three seeds: less than two minutes.",
        ("branin-currin:ratio=10", "zdt1:ratio=10:expensive=2:finite"),
        ("flexibo", "ehvi", "random-coupled"),
        ("optuna-tpe", "pymoo-nsga2"),
        3,
    ),
}
