"""What a method is: three kinds, and the contract of each with the loop.

- A scoring method fills the score table: a row for each candidate, a column for each bundle of objectives.
- A proposing method names designs in the order in which they should be measured.
- A random method draws.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Protocol, TypeAlias

import numpy as np

from flexibo._internal.arrays import FloatArray
from flexibo.belief.belief import Belief
from flexibo.history import History
from flexibo.space import Design

ANY_NUMBER = 1000  # the greatest number of objectives of a method that takes any number


class Acquisition(Protocol):
    """Scores every candidate and bundle of a belief; higher is better, before any division by cost."""

    def __call__(self, belief: Belief, rng: np.random.Generator) -> FloatArray:
        """Scores (m, b), at least 0; nothing is worth measuring where all are 0."""


class Proposal(Protocol):
    """Names designs in the order in which they should be measured, all objectives together.

    A pure function: the same history, initial designs and seed give the same designs. What an implementation caches
    for speed must be derivable from these. `finished` is why the study ends when nothing is left to propose.
    """

    finished: str

    def __call__(self, history: History, initial: Sequence[Design], seed: int) -> Iterator[Design]:
        """Designs in order; the loop asks for the first that is neither measured nor being measured.

        The iterator is lazy. It ends when nothing can be proposed before a pending evaluation is told, or when every
        legal design was proposed.
        """


Step: TypeAlias = Callable[[Any, Belief], object]
"""From what a method remembered before (None at first) and the present belief to what it remembers now."""


class Candidates(Enum):
    """Where the candidates of a question come from, besides the designs asked about before."""

    UNIFORM = "a uniform draw"
    NEAR_FRONT = "a uniform draw and neighbours of the front"
    AROUND_BEST = "a uniform draw and designs around the front, then designs around those of these that score best"
    FIXED = "one uniform draw for the whole study"


class Constraints(Enum):
    """How a method treats constraints."""

    OWN_RULE = "by a rule of its own"
    WEIGHTED = "scores are multiplied by the probability of feasibility"
    IGNORED = "not at all"


@dataclass(frozen=True, slots=True)
class Ending:
    """What a method does at its end: the reason when nothing scores, and whether it first confirms what it reports."""

    reason: str = "Nothing that is left can be measured and is expected to improve the front."
    confirms: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """A named way to choose the next evaluation: what all kinds share.

    Attributes:
        name: What users type.
        summary: One line.
        paper: Where it comes from.
        coupled: Whether all objectives of a design are measured together.
        surrogate: A name in `SURROGATES`; reports use it where the method itself does not.
        cost: A name in `flexibo.belief.costs.TRANSFORMS`.
        constraints: How it treats them.
        most_objectives: The greatest number of objectives.
        extra: The package that it needs, and the extra that installs it.
    """

    name: str
    summary: str
    paper: str = ""
    coupled: bool = True
    surrogate: str = "gp"
    cost: str = "constant"
    constraints: Constraints = Constraints.OWN_RULE
    most_objectives: int = ANY_NUMBER
    extra: tuple[str, str] | None = None

    @property
    def cost_aware(self) -> bool:
        """Whether costs decide what it measures."""
        return self.cost != "constant"

    @property
    def measures(self) -> str:
        """Whether it is coupled or decoupled, for people."""
        return "all objectives at once" if self.coupled else "one objective at a time"

    @property
    def limits(self) -> str:
        """What it cannot do, in a few words."""
        most = self.most_objectives
        objectives = "any number of objectives" if most >= ANY_NUMBER else f"at most {most} objectives"
        constraints = ", ignores constraints" if self.constraints is Constraints.IGNORED else ""
        return objectives + constraints + (f", needs the extra {self.extra[1]!r}" if self.extra else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoringMethod(Method):
    """A method that scores candidates by what models predict for them.

    Attributes:
        acquisition: Scores what could be measured.
        score: What its score is, for people, with ``{}`` in place of its amount; with a region, a share of it.
        region: Whether it is about the Pareto region, and ends when none is left.
        candidates: Where its candidates come from.
        step: Updates what it remembers from question to question; its candidates must be fixed.
        ending: What it does when nothing scores.
        joint_draws: Whether it needs a surrogate that draws jointly.
        how_far: Tells the step to which a candidate is measured in a bundle, by their places; None for the last step.
    """

    surrogate: str = "gp-plain"
    constraints: Constraints = Constraints.WEIGHTED
    acquisition: Acquisition = field(repr=False)
    score: str
    region: bool = False
    candidates: Candidates = Candidates.NEAR_FRONT
    step: Step | None = field(default=None, repr=False)
    ending: Ending = Ending()
    joint_draws: bool = False
    how_far: Callable[[Belief, int, int], int | None] | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposingMethod(Method):
    """A method that names designs instead of scoring them; `proposal` makes the proposal of a study."""

    proposal: Callable[[], Proposal] = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomMethod(Method):
    """A method that draws what to measure next from all that is open."""

    constraints: Constraints = Constraints.IGNORED
