"""What is thought of designs, for pictures: exactly what the method thinks, or nearly so in a long study.

A Gaussian process learns from s evaluations in O(s^3). A picture must not take minutes, so beyond `MOST` evaluations of
an objective the models of its pictures learn from `MOST` of them, drawn once and for all. What was measured is still
shown as it was measured; only predictions differ. The method itself is not affected.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from weakref import WeakKeyDictionary

from flexibo.belief.costs import Costs
from flexibo.history import History
from flexibo.optimizer.predictor import Predictor
from flexibo.space import Designs
from flexibo.space.designs import decoded
from flexibo.study import Study
from flexibo.surrogates import GaussianProcess, Surrogate
from flexibo.surrogates.table import SurrogateChoice
from flexibo.views._subsets import Thinned

MOST = 600
"""From so many evaluations of an objective its model learns at most, where it is made for a picture."""


@dataclass(frozen=True, slots=True)
class Outlook:
    """What is thought of designs.

    Attributes:
        predictor: Thinks.
        approximate: Whether its models know only some of the evaluations.
    """

    predictor: Predictor
    approximate: bool

    def model(self, history: History, j: int) -> Surrogate:
        """The fitted surrogate of objective j, which must have been measured."""
        objective, (designs, losses) = history.objectives[j], history.data(j)
        X, groups = designs.encoded(objective.depends_on), history.space.groups(objective.depends_on)
        return self.predictor.models(history)[j].model(X, losses, groups=groups)


_THINNED: WeakKeyDictionary[Study, Predictor] = WeakKeyDictionary()
"""One for each long study, so that several pictures of it fit its models once."""


def outlook(study: Study) -> Outlook:
    """What is thought of a study's designs, within a few seconds."""
    if not _is_long(study.history):
        return Outlook(study.predictor, approximate=False)
    if study not in _THINNED:
        _THINNED[study] = thinned_believer(study, MOST)
    return Outlook(_THINNED[study], approximate=True)


def thinned_believer(study: Study, most: int) -> Predictor:
    """A predictor as that of a study, whose models learn from at most so many evaluations."""
    full, choice = study.predictor, study.predictor.surrogate
    thinned = SurrogateChoice(
        Thinned(choice.settings, most), growth=1.0, exact=None if choice.exact is None else Thinned(choice.exact, most)
    )
    predictor = Predictor(
        replace(full.method, draws=False),  # no picture draws jointly
        full.initial,
        seed=full.seed,
        m=full.m,
        delta=full.delta,
        surrogate=thinned,
        cost=full.costs.cost,
    )
    predictor.costs = Costs(full.costs.cost, seed=full.seed, model=Thinned(GaussianProcess(), most), growth=1.0)
    return predictor


def settled(designs: Designs) -> Designs:
    """Designs, legal or not, without what conditions make inactive; what they make active is in the middle."""
    # Through the encoding and back, which settles conditions.
    return decoded(designs.table, designs.encoded()) if designs.table.conditions else designs


def every_objective_measured(history: History) -> bool:
    """Whether every objective has a value, so that the others can be predicted."""
    return all(history.count(j) for j in range(len(history.objectives)))


def _is_long(history: History) -> bool:
    counts = [history.count(j) for j in range(len(history.objectives))]
    counts += [len(history.costs(p)[1]) for p in range(len(history.purchases))]
    return max(counts) > MOST
