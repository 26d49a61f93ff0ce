"""Optuna's samplers: TPE, Gaussian processes and NSGA-II, each with Optuna's defaults unless noted.

- TPE: Ozaki, Tanigaki, Watanabe, Nomura, Onishi: Multiobjective Tree-Structured Parzen Estimator. JAIR 73, 2022. For
  several objectives Optuna's default is one density per option, not a joint one.
- GP: Gaussian processes with the logarithm of the expected hypervolume improvement. Exact objectives are declared as
  such (`deterministic_objective`), as the documentation recommends. In a pool its acquisition is scored for every
  design that was not measured, in place of its search of all combinations: Optuna has no pools, but names the method
  of the sampler that advanced users may replace.
- NSGA-II: the population is half the number of initial designs, and at least `LEAST`, so that the first question is
  bred from the better half of the initial designs, and 20 evaluations make four further generations. Optuna's default
  of 50 is meant for hundreds of evaluations: it would draw at random throughout.

The initial designs replace the sampler's random ones. They are enqueued, which is Optuna's way for designs of the user.
If another design was measured than the suggested one, the question is reported as failed, which samplers ignore, and
the measured design is added to the study. It inherits the question's attributes, because NSGA-II finds its generations
by them. An `Ordinal` becomes an integer, the rank of its value: Optuna has no ordered type for values that are not
evenly spaced, and categories have no order.

Predictions are those of the GP sampler's models: they are fitted to all designs told, as the sampler does before a
question. Optuna has no public way to them, so the functions that its sampler calls are called here; they are those of
Optuna 5. TPE has densities of good and of other designs, and NSGA-II has no model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from flexibo._internal.arrays import FloatArray
from flexibo.compare.rivals.base import UNTOLD, RivalEntry, Setting
from flexibo.compare.rivals.library_rival import LibraryRival
from flexibo.compare.rivals.nearest_design import key_filter
from flexibo.space import Categorical, Design, Designs, Option, Ordinal, Real
from flexibo.space.encoding import code_of

LEAST = 4
"""A smaller population soon has nothing to cross."""
EPSILON = 1e-10
"""The smallest standard deviation by which the GP sampler divides losses."""
BLOCK = 1_024
"""The number of designs that are predicted or scored together."""
DOCUMENTATION = "https://optuna.readthedocs.io/en/stable/reference/samplers/generated/optuna.samplers"


class OptunaStudy:
    """A study of Optuna with one of its samplers; the GP sampler may score the designs of a pool (`scores_pool`)."""

    def __init__(self, setting: Setting, sampler: Any, *, scores_pool: bool = True) -> None:
        import optuna

        self._study = optuna.create_study(directions=["minimize"] * len(setting.names), sampler=sampler)
        self._options = setting.space.options
        self._distributions = {name: distribution(option) for name, option in self._options.items()}
        self._space = setting.space
        self._told: set[int] = set()
        self._rows: FloatArray | None = None
        if scores_pool and setting.space.pool is not None and isinstance(sampler, optuna.samplers.GPSampler):
            sampler._optimize_acqf = self._best_of_pool
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
        (params,) = self._params([design])
        self._told.update(self._space.designs([design]).keys().tolist())
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

    def predict(self, designs: Designs) -> FloatArray | None:
        """The posterior mean losses (m, n) of the GP sampler's models; None for other samplers."""
        from optuna.samplers import GPSampler

        sampler = self._study.sampler
        return _gp_means(sampler, self._study, self._params(designs)) if isinstance(sampler, GPSampler) else None

    def _best_of_pool(self, acquisition: Any, best: object) -> FloatArray:
        """The row (d,) of the design of the pool with the highest acquisition, of those that were not measured."""
        pool = self._space.enumerate()
        if self._rows is None:
            params: Any = self._params(pool)
            self._rows = acquisition.search_space.get_normalized_params(params, params)
        left = ~key_filter(self._told)(pool)
        rows = self._rows[left if left.any() else slice(None)]
        blocks = np.split(rows, range(BLOCK, len(rows), BLOCK))
        scores = np.concatenate([acquisition.eval_acqf_no_grad(block) for block in blocks])
        return np.asarray(rows[int(scores.argmax())])

    def _params(self, designs: Iterable[Design]) -> list[dict[str, Any]]:
        """Designs for Optuna."""
        items = self._options.items()
        return [{name: parameter(option, design[name]) for name, option in items} for design in designs]

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


def _gp_means(sampler: Any, study: Any, params: list[dict[str, Any]]) -> FloatArray:
    """The posterior mean losses (m, n) of m designs by models as `GPSampler` fits them before a question."""
    import torch
    from optuna._gp import gp
    from optuna._gp.search_space import SearchSpace
    from optuna.trial import TrialState

    told = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
    space = SearchSpace(sampler.infer_relative_search_space(study, told[0]))
    X, rows = space.get_normalized_params(told), space.get_normalized_params(params, params)
    losses = gp.warn_and_convert_inf(np.array([trial.values for trial in told]))
    means, deviations = losses.mean(axis=0), np.maximum(EPSILON, losses.std(axis=0))
    caches = sampler._gprs_cache_list or [None] * losses.shape[1]
    found = []
    for j, cache in enumerate(caches):
        model = gp.fit_kernel_params(
            X=X,
            Y=(means[j] - losses[:, j]) / deviations[j],
            is_categorical=space.is_categorical,
            log_prior=sampler._log_prior,
            minimum_noise=sampler._minimum_noise,
            deterministic_objective=sampler._deterministic,
            gpr_cache=cache,
        )
        with torch.no_grad():
            gains = torch.cat([model.posterior(block)[0] for block in torch.from_numpy(rows).split(BLOCK)])
        found.append(means[j] - deviations[j] * gains.numpy())
    return np.stack(found, axis=1)


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


def gp(setting: Setting, *, scores_pool: bool = True) -> LibraryRival:
    """Optuna's GP sampler."""

    def start(setting: Setting) -> OptunaStudy:
        from optuna.samplers import GPSampler

        sampler = GPSampler(
            seed=setting.seed, n_startup_trials=setting.n_initial, deterministic_objective=not setting.noisy
        )
        return OptunaStudy(setting, sampler, scores_pool=scores_pool)

    return LibraryRival(setting, start)


def _entry(
    name: str, summary: str, sampler: str, choices: Callable[[Setting], dict[str, Any]], **more: Any
) -> RivalEntry:
    """The row of a sampler, named by its class, with what differs from Optuna's defaults."""

    def start(setting: Setting) -> OptunaStudy:
        from optuna import samplers

        return OptunaStudy(setting, getattr(samplers, sampler)(seed=setting.seed, **choices(setting)))

    needed = {"packages": ("optuna",), "modules": ("optuna",), "caveat": UNTOLD} | more
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
GP = RivalEntry(
    name="optuna-gp",
    summary="Optuna's Gaussian processes, expected hypervolume improvement",
    packages=("optuna", "torch"),
    modules=("optuna", "torch"),
    make=gp,
    documentation=f"{DOCUMENTATION}.GPSampler.html",
    caveat=f"Pools are scored completely. {UNTOLD}",
)
NSGA2 = _entry(
    "optuna-nsga2",
    "Optuna's NSGA-II",
    "NSGAIISampler",
    lambda setting: {"population_size": max(LEAST, setting.n_initial // 2)},
    caveat=f"Its population is half the number of initial designs, not 50 as by default. {UNTOLD}",
)
