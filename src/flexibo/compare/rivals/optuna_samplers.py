"""Optuna's samplers: TPE, Gaussian processes and NSGA-II, each with Optuna's defaults unless noted.

- TPE: Ozaki, Tanigaki, Watanabe, Nomura, Onishi: Multiobjective Tree-Structured Parzen Estimator. JAIR 73, 2022. For
  several objectives Optuna's default is one density per option, not a joint one.
- GP: Gaussian processes with the logarithm of the expected hypervolume improvement. Exact objectives are declared as
  such (`deterministic_objective`), as the documentation recommends.
- NSGA-II: the population is half the number of initial designs, and at least `LEAST`, so that the first question is
  bred from the better half of the initial designs, and 20 evaluations make four further generations. Optuna's default
  of 50 is meant for hundreds of evaluations: it would draw at random throughout.

The initial designs replace the sampler's random ones. They are enqueued, which is Optuna's way for designs of the user.
If another design was measured than the suggested one, the question is reported as failed, which samplers ignore, and
the measured design is added to the study. It inherits the question's attributes, because NSGA-II finds its generations
by them. An `Ordinal` becomes an integer, the rank of its value: Optuna has no ordered type for values that are not
evenly spaced, and categories have no order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from flexibo.compare.rivals.base import RivalEntry, Setting
from flexibo.compare.rivals.library_rival import LibraryRival
from flexibo.space import Categorical, Design, Option, Ordinal, Real
from flexibo.space.encoding import code_of

LEAST = 4
"""A smaller population soon has nothing to cross."""
DOCUMENTATION = "https://optuna.readthedocs.io/en/stable/reference/samplers/generated/optuna.samplers"


class OptunaStudy:
    """A study of Optuna with one of its samplers."""

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
        """Tell the study about a design; one that it did not ask for is added."""
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
        """Add a design in place of the question, or of one that the sampler failed to finish."""
        from optuna.trial import TrialState, create_trial

        notes: dict[str, Any] = {}
        for open_question in self._study.get_trials(deepcopy=False, states=(TrialState.RUNNING,)):
            notes = dict(open_question.system_attrs)
            self._study.tell(open_question.number, state=TrialState.FAIL)
        self._study.add_trial(
            create_trial(params=params, distributions=self._distributions, values=list(losses), system_attrs=notes)
        )


def distribution(option: Option) -> Any:
    """The values of an option for Optuna."""
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    if isinstance(option, Categorical):
        return CategoricalDistribution(option.values)
    if isinstance(option, Ordinal):
        return IntDistribution(0, option.size - 1)
    kind = FloatDistribution if isinstance(option, Real) else IntDistribution
    return kind(option.low, option.high, log=option.log)


def parameter(option: Option, value: Any) -> Any:
    """A value of an option for Optuna."""
    code = code_of(option, value)
    return int(code or 0) if isinstance(option, Ordinal) else value


def _entry(
    name: str, summary: str, sampler: str, choices: Callable[[Setting], dict[str, Any]], **more: Any
) -> RivalEntry:
    """The row of a sampler, named by its class, with what differs from Optuna's defaults."""

    def start(setting: Setting) -> OptunaStudy:
        from optuna import samplers

        return OptunaStudy(setting, getattr(samplers, sampler)(seed=setting.seed, **choices(setting)))

    needed = {"packages": ("optuna",), "modules": ("optuna",)} | more
    return RivalEntry(
        name=name,
        summary=summary,
        make=lambda setting: LibraryRival(setting, start),
        documentation=f"{DOCUMENTATION}.{sampler}.html",
        **needed,
    )


TPE = _entry(
    "optuna-tpe",
    "Optuna's TPE for several objectives",
    "TPESampler",
    lambda setting: {"n_startup_trials": setting.n_initial},
)
GP = _entry(
    "optuna-gp",
    "Optuna's Gaussian processes, expected hypervolume improvement",
    "GPSampler",
    lambda setting: {"n_startup_trials": setting.n_initial, "deterministic_objective": not setting.noisy},
    packages=("optuna", "torch"),
    modules=("optuna", "torch"),
)
NSGA2 = _entry(
    "optuna-nsga2",
    "Optuna's NSGA-II",
    "NSGAIISampler",
    lambda setting: {"population_size": max(LEAST, setting.n_initial // 2)},
    caveat="Its population is half the number of initial designs, not 50 as by default.",
)
