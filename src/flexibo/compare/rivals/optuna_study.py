"""A study of Optuna, by ask and tell: what its samplers share.

An `Ordinal` is an integer, the rank of its value: Optuna has no ordered type for values that are not evenly spaced, and
as categories they would lose their order.

The initial designs are enqueued, which is how Optuna takes designs of the user's own. When another design was measured
than the one suggested, the question is told as failed, which samplers ignore, and the measured design is added to the
study. It inherits the question's notes, because NSGA-II knows its generations by them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from flexibo.compare.rivals.base import Setting
from flexibo.space import Categorical, Design, Option, Ordinal, Real
from flexibo.space.encoding import code_of


class OptunaStudy:
    """Optuna's answer to a setting.

    Args:
        setting: The problem.
        sampler: One of Optuna's samplers.
    """

    def __init__(self, setting: Setting, sampler: Any) -> None:
        import optuna

        self._study = optuna.create_study(directions=["minimize"] * len(setting.names), sampler=sampler)
        self._options = setting.space.options
        self._distributions = {name: distribution(option) for name, option in self._options.items()}
        self._begun = False
        self._asked: Any = None

    def suggest(self) -> Mapping[str, object]:
        """The design that the sampler suggests."""
        self._begun, self._asked = True, None
        self._asked = self._study.ask(self._distributions)
        given = self._asked.params
        return {
            name: option.values[given[name]] if isinstance(option, Ordinal) else given[name]
            for name, option in self._options.items()
        }

    def learn(self, design: Design, losses: Sequence[float]) -> None:
        """Tell the study of a design; one that was not asked for is added to it."""
        params = {name: parameter(option, design[name]) for name, option in self._options.items()}
        if not self._begun:
            self._study.enqueue_trial(params)
            self._asked = self._study.ask(self._distributions)
            # Optuna samples only when it must; NSGA-II counts designs to a generation when it samples.
            _ = self._asked.relative_params
        if self._asked is not None and self._asked.params == params:
            self._study.tell(self._asked, losses)
        else:
            self._add(params, losses)
        self._asked = None

    def _add(self, params: dict[str, Any], losses: Sequence[float]) -> None:
        """Add a design in the place of the question, or of one that the sampler failed to finish."""
        from optuna.trial import TrialState, create_trial

        notes: dict[str, Any] = {}
        for open_question in self._study.get_trials(deepcopy=False, states=(TrialState.RUNNING,)):
            notes = dict(open_question.system_attrs)
            self._study.tell(open_question.number, state=TrialState.FAIL)
        self._study.add_trial(
            create_trial(params=params, distributions=self._distributions, values=list(losses), system_attrs=notes)
        )


def distribution(option: Option) -> Any:
    """The values of an option as Optuna knows them."""
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    if isinstance(option, Categorical):
        return CategoricalDistribution(option.values)
    if isinstance(option, Ordinal):
        return IntDistribution(0, option.size - 1)
    kind = FloatDistribution if isinstance(option, Real) else IntDistribution
    return kind(option.low, option.high, log=option.log)


def parameter(option: Option, value: Any) -> Any:
    """A value of an option as Optuna knows it."""
    code = code_of(option, value)
    return int(code or 0) if isinstance(option, Ordinal) else value
