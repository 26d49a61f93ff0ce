"""The table of methods: every name that `Study(method=...)` takes, and what it stands for."""

from __future__ import annotations

from dataclasses import dataclass

from flexibo.acquisition import Acquisition, random_score, region_gain
from flexibo.errors import InvalidTypeError, unknown_name
from flexibo.surrogates import PAPER_GP, PAPER_RF, GaussianProcess, Surrogate, Warped

FLEXIBO = "Iqbal et al. 2023 (JAIR 77)"


@dataclass(frozen=True, slots=True)
class Method:
    """A named way to choose the next evaluation.

    Attributes:
        name: What users type.
        summary: One line.
        paper: Where it comes from.
        acquisition: Scores what could be measured.
        surrogate: A name in `SURROGATES`.
        cost: A name in `flexibo.costs.TRANSFORMS`.
        coupled: Whether all objectives of a design are measured together.
        models: Whether it looks at predictions at all.
        neighbours: Whether neighbours of the front are among its candidates.
        limits: What it cannot do.
    """

    name: str
    summary: str
    paper: str
    acquisition: Acquisition
    surrogate: str = "gp"
    cost: str = "constant"
    coupled: bool = False
    models: bool = True
    neighbours: bool = False
    limits: str = "2 to 6 objectives"

    @property
    def cost_aware(self) -> bool:
        """Whether scores are divided by costs."""
        return self.cost != "constant"


@dataclass(frozen=True, slots=True)
class SurrogateChoice:
    """A surrogate by name, and by which factor its data grows between two refits."""

    settings: Surrogate
    growth: float = 1.1


SURROGATES: dict[str, SurrogateChoice] = {
    "gp": SurrogateChoice(Warped(GaussianProcess())),
    "gp-paper": SurrogateChoice(PAPER_GP),
    "rf": SurrogateChoice(PAPER_RF, growth=1.0),
}


def _paper(kind: str, cost: str, transform: str) -> Method:
    surrogate, long = {"gp": ("gp-paper", "Gaussian processes"), "rf": ("rf", "random forests")}[kind]
    summary = f"The paper's FlexiBO with {long} and its {cost} cost function."
    return Method(f"flexibo-{kind}-{cost}", summary, FLEXIBO, region_gain, surrogate=surrogate, cost=transform)


METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Method(
            "flexibo",
            "The volume removed from the Pareto region per cost, with our models and candidates.",
            FLEXIBO,
            region_gain,
            cost="log",
            neighbours=True,
        ),
        _paper("gp", "log", "paper-log"),
        _paper("gp", "ratio", "ratio"),
        _paper("gp", "constant", "constant"),
        _paper("rf", "log", "paper-log"),
        _paper("rf", "ratio", "ratio"),
        _paper("rf", "constant", "constant"),
        Method("random", "One objective of one design at a time, at random.", "", random_score, models=False),
        Method("random-coupled", "All objectives of a random design.", "", random_score, models=False, coupled=True),
    )
}


def find_method(method: str) -> Method:
    """The method of this name."""
    if not isinstance(method, str):
        raise InvalidTypeError(f"method is {method!r}; give one of the names that flexibo.methods() lists.")
    if method not in METHODS:
        raise unknown_name("method", method, METHODS)
    return METHODS[method]


def find_surrogate(surrogate: str | Surrogate) -> SurrogateChoice:
    """The surrogate of this name, or the given one."""
    if not isinstance(surrogate, str):
        if not callable(getattr(surrogate, "fit", None)):
            raise InvalidTypeError(
                f"surrogate is {surrogate!r}; give one of {', '.join(SURROGATES)} or an object with fit()."
            )
        return SurrogateChoice(surrogate)
    if surrogate not in SURROGATES:
        raise unknown_name("surrogate", surrogate, SURROGATES)
    return SURROGATES[surrogate]


def methods() -> tuple[Method, ...]:
    """Every method, in the order of the documentation.

    >>> methods()[0].name
    'flexibo'
    """
    return tuple(METHODS.values())
