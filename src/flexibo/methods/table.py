"""The table of methods: every name that `Study(method=...)` takes, and what it stands for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from typing import Any, Literal

from flexibo.errors import InvalidTypeError, InvalidValueError, missing_extra, unknown_name
from flexibo.methods.acquisition import Acquisition
from flexibo.methods.camobo import cost_ordered_improvement
from flexibo.methods.ehvi import expected_hypervolume_improvement
from flexibo.methods.epsilon_pal import epsilon_pal_step
from flexibo.methods.flexibo import region_gain
from flexibo.methods.front_gain import front_gain
from flexibo.methods.mesmo import mesmo
from flexibo.methods.mesmoc import mesmoc
from flexibo.methods.nsga2 import Nsga2
from flexibo.methods.pal import pal_step, widest_region
from flexibo.methods.parego import expected_scalarised_improvement
from flexibo.methods.pesmo import pesmo
from flexibo.methods.proposal import Proposal
from flexibo.methods.random import no_score, random_score
from flexibo.methods.smsego import optimistic_hypervolume_gain
from flexibo.methods.sobol import SobolSequence
from flexibo.objectives import Objective
from flexibo.optimizer._memory import Step

FLEXIBO = "Iqbal et al. 2023 (JAIR 77)"
ANY_NUMBER = 1000
COST_SUFFIX = "/cost"
"""A scoring method with this suffix divides its scores by what each evaluation is expected to cost."""


@dataclass(frozen=True, slots=True)
class Method:
    """A named way to choose the next evaluation.

    Attributes:
        name: What users type.
        summary: One line.
        paper: Where it comes from.
        acquisition: Scores what could be measured.
        proposal: Names designs instead of scoring them; None for most.
        step: What it carries from question to question; its candidates then stay the same throughout a study.
        surrogate: A name in `SURROGATES`.
        cost: A name in `flexibo.belief.costs.TRANSFORMS`.
        looks_at_prices: Whether its own rule depends on what designs cost.
        coupled: Whether all objectives of a design are measured together.
        models: Whether it looks at predictions at all.
        region: Whether it is about the Pareto region, and ends when none is left.
        neighbours: Whether neighbours of the front are among its candidates.
        steps: Whether random steps away from the front are as well.
        confirms: Whether it measures what reported designs lack before it ends because no region is left.
        confidence: The factor of the logarithm in beta_t.
        feasibility: How it treats constraints: by a rule of its own, by the probability of feasibility, or not at all.
        measure: What its score is, for people; where it is about the region, what is to become of a share of that.
        most: The greatest number of objectives.
        draws: Whether it needs a surrogate that draws jointly.
        extra: The package that it needs, and the extra that installs it.
        finished: Why the study ends when nothing scores.
    """

    name: str
    summary: str
    paper: str
    acquisition: Acquisition = field(default=no_score, repr=False)
    proposal: Callable[[], Proposal] | None = field(default=None, repr=False)
    step: Step | None = field(default=None, repr=False)
    surrogate: str = "gp"
    cost: str = "constant"
    looks_at_prices: bool = False
    coupled: bool = False
    models: bool = True
    region: bool = False
    neighbours: bool = False
    steps: bool = False
    confirms: bool = False
    confidence: float = 2.0 / 9.0
    feasibility: Literal["own", "probability", "none"] = "own"
    measure: str = "scored"
    most: int = 6
    draws: bool = False
    extra: tuple[str, str] | None = None
    finished: str = "Nothing that is left can be measured."

    @property
    def cost_aware(self) -> bool:
        """Whether costs decide what it measures."""
        return self.cost not in ("constant", "learned-constant") or self.looks_at_prices

    @property
    def measures(self) -> str:
        """Whether it is coupled or decoupled, for people."""
        return "all objectives at once" if self.coupled else "one objective at a time"

    @property
    def limits(self) -> str:
        """What it cannot do, in a few words."""
        objectives = "any number of objectives" if self.most >= ANY_NUMBER else f"at most {self.most} objectives"
        constraints = {"own": "", "probability": "", "none": ", blind to constraints"}[self.feasibility]
        return objectives + constraints + (f", needs the extra {self.extra[1]!r}" if self.extra else "")

    def check(self, objectives: Sequence[Objective]) -> None:
        """Refuse a study that the method cannot do."""
        k = sum(bool(objective.optimise) for objective in objectives)
        if k > self.most:
            able = [method.name for method in METHODS.values() if method.most >= k]
            raise InvalidValueError(
                f"The method {self.name!r} takes at most {self.most} objectives; {k} given. "
                f"Use one of {', '.join(able)}, or make some of them constraints."
            )
        if self.extra is not None and find_spec(self.extra[0]) is None:
            raise missing_extra(*self.extra)


def _paper(kind: str, cost: str, transform: str) -> Method:
    surrogate, long = {"gp": ("gp-paper", "Gaussian processes"), "rf": ("rf", "random forests")}[kind]
    summary = f"The paper's FlexiBO with {long} and its {cost} cost function."
    return Method(
        f"flexibo-{kind}-{cost}",
        summary,
        FLEXIBO,
        region_gain,
        surrogate=surrogate,
        cost=transform,
        region=True,
        measure="expected to remove",
    )


def _rival(name: str, paper: str, acquisition: Acquisition, measure: str, summary: str, **fields: Any) -> Method:
    """A method of others: Gaussian processes of the losses as they are, all objectives of a design at once."""
    settings: dict[str, Any] = {
        "surrogate": "gp-plain",
        "coupled": True,
        "neighbours": True,
        "feasibility": "probability",
        "most": ANY_NUMBER,
    }
    return Method(name, summary, paper, acquisition, measure=measure, **(settings | fields))


PAL = {
    "neighbours": False,
    "finished": "Every design of the pool is classified or measured: nothing is left to learn about which are best.",
}
_RIVALS = (
    _rival(
        "pal",
        "Zuluaga et al. 2013",
        widest_region,
        "width of its region",
        "Classifies the designs of a fixed pool by confidence boxes, and measures the widest.",
        step=pal_step,
        **PAL,
    ),
    _rival(
        "epsilon-pal",
        "Zuluaga et al. 2016",
        widest_region,
        "width of its region",
        "PAL with a tolerance for each objective.",
        step=epsilon_pal_step,
        **PAL,
    ),
    _rival(
        "parego",
        "Knowles 2006",
        expected_scalarised_improvement,
        "expected improvement",
        "Expected improvement of a random augmented Chebyshev scalarisation.",
        most=20,
    ),
    _rival(
        "smsego",
        "Ponweiser et al. 2008",
        optimistic_hypervolume_gain,
        "optimistic hypervolume gain",
        "Hypervolume gained by the optimistic estimate, with a penalty for what is nearly dominated.",
        feasibility="own",
        most=6,
    ),
    _rival(
        "pesmo",
        "Hernandez-Lobato et al. 2016",
        pesmo,
        "information about the Pareto set",
        "Predictive entropy search for the Pareto set, by expectation propagation.",
        draws=True,
    ),
    _rival(
        "pesmo-dec",
        "Hernandez-Lobato et al. 2016",
        pesmo,
        "information about the Pareto set",
        "PESMO, one objective at a time.",
        coupled=False,
        draws=True,
    ),
    _rival(
        "mesmo",
        "Belakaria et al. 2019",
        mesmo,
        "information about the front",
        "Max-value entropy search: how much is learned about the best values in the front.",
        draws=True,
    ),
    _rival(
        "mesmo-dec",
        "Belakaria et al. 2019",
        mesmo,
        "information about the front",
        "MESMO, one objective at a time.",
        coupled=False,
        draws=True,
    ),
    _rival(
        "mesmoc",
        "Belakaria et al. 2020",
        mesmoc,
        "information about the front",
        "MESMO under constraints that are measured and learned too.",
        feasibility="own",
        draws=True,
    ),
    _rival(
        "ca-mobo",
        "Abdolshah et al. 2019",
        cost_ordered_improvement,
        "cost-ordered improvement",
        "Chebyshev scalarisation that explores cheap options before dear ones.",
        cost="learned-constant",
        looks_at_prices=True,
    ),
    _rival(
        "ehvi",
        "Emmerich et al. 2006, 2011",
        expected_hypervolume_improvement,
        "expected hypervolume improvement",
        "Exact expected hypervolume improvement.",
        feasibility="own",
        most=6,
    ),
    Method(
        "nsga2",
        "Evolutionary search through pymoo, as NEMO uses it.",
        "Deb et al. 2002; Kim et al. 2017",
        proposal=Nsga2,
        coupled=True,
        models=False,
        most=ANY_NUMBER,
        extra=("pymoo", "evolution"),
        finished="No further design can be bred.",
    ),
    Method(
        "sobol",
        "A quasi-random sequence that fills the space evenly: a second floor.",
        "Sobol 1967",
        proposal=SobolSequence,
        coupled=True,
        models=False,
        feasibility="none",
        most=ANY_NUMBER,
        finished="Every design of the space has been measured or is being measured.",
    ),
)

METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Method(
            "flexibo",
            "What an evaluation is expected to add to the reported front per cost, with our models and candidates.",
            f"after {FLEXIBO} and Daulton et al. 2023 (ICML)",
            front_gain,
            cost="log",
            region=True,
            neighbours=True,
            steps=True,
            confirms=True,
            measure="expected to add to the front",
        ),
        _paper("gp", "log", "paper-log"),
        _paper("gp", "ratio", "ratio"),
        _paper("gp", "constant", "constant"),
        _paper("rf", "log", "paper-log"),
        _paper("rf", "ratio", "ratio"),
        _paper("rf", "constant", "constant"),
        *_RIVALS,
        Method(
            "random",
            "One objective of one design at a time, at random.",
            "",
            random_score,
            models=False,
            feasibility="none",
            most=ANY_NUMBER,
        ),
        Method(
            "random-coupled",
            "All objectives of a random design.",
            "",
            random_score,
            models=False,
            coupled=True,
            feasibility="none",
            most=ANY_NUMBER,
        ),
    )
}


def find_method(method: str) -> Method:
    """The method of this name; with the suffix ``/cost``, the same with its scores divided by costs.

    >>> find_method("ehvi/cost").cost_aware
    True
    """
    if not isinstance(method, str):
        raise InvalidTypeError(f"method is {method!r}; give one of the names that flexibo.list_methods() lists.")
    base = method.removesuffix(COST_SUFFIX)
    if base not in METHODS:
        raise unknown_name("method", method, METHODS)
    if base == method:
        return METHODS[base]
    found = METHODS[base]
    if not found.models:
        raise InvalidValueError(
            f"The method {base!r} has no scores to divide by costs; use it without {COST_SUFFIX!r}."
        )
    summary = f"{found.summary.rstrip('.')}; divided by the expected cost of each design."
    # Where single objectives compete, plain division would buy the cheapest alone.
    return replace(found, name=method, summary=summary, cost="learned-ratio" if found.coupled else "learned")


def list_methods() -> tuple[Method, ...]:
    """Every method, in the order of the documentation.

    >>> list_methods()[0].name
    'flexibo'
    """
    return tuple(METHODS.values())
