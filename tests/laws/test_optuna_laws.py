"""Laws of the exchange with Optuna: what goes there and back is what it was."""

from __future__ import annotations

from typing import Any

import numpy as np
import optuna
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.samplers import RandomSampler
from optuna.trial import TrialState, create_trial
from tests.laws.effort import examples

from flexibo import Categorical, Integer, Ordinal, Real, Space, Study
from flexibo.integrations.optuna import from_optuna, to_optuna
from flexibo.integrations.optuna._parameters import Parameter, distribution_of

optuna.logging.set_verbosity(optuna.logging.ERROR)
WHOLE = st.integers(-1000, 1000)
TEXTS = st.text("aB9 é='", max_size=3)
CHOICES = st.lists(st.one_of(st.none(), st.booleans(), WHOLE, TEXTS), min_size=1, max_size=5)


@st.composite
def distributions(draw: st.DrawFn) -> BaseDistribution:
    low, steps = draw(WHOLE), draw(st.integers(0, 50))
    kind = draw(st.sampled_from(["float", "log float", "stepped float", "int", "log int", "stepped int", "choice"]))
    if kind == "choice":
        return CategoricalDistribution(draw(CHOICES))
    if kind == "float":
        return FloatDistribution(low, low + steps)
    if kind == "log float":
        return FloatDistribution(0.001, 0.001 * (1 + steps), log=True)
    if kind == "stepped float":
        step = draw(st.sampled_from([0.1, 0.25, 0.3, 1e-3]))
        return FloatDistribution(low, float(np.round(low + steps * step, 6)), step=step)
    if kind == "int":
        return IntDistribution(low, low + steps)
    if kind == "log int":
        return IntDistribution(1, 1 + steps, log=True)
    step = draw(st.integers(2, 7))
    return IntDistribution(low, low + steps * step, step=step)


@st.composite
def options(draw: st.DrawFn) -> Any:
    low, more = draw(WHOLE), draw(st.integers(1, 50))
    numbers = st.lists(st.one_of(WHOLE, st.floats(-100, 100).map(lambda x: round(x, 3))), min_size=1, unique=True)
    return draw(
        st.one_of(
            st.just(Real(low, low + more)),
            st.just(Integer(low, low + more)),
            st.just(Real(0.5, 0.5 + more, log=True)),
            st.lists(TEXTS, min_size=1, max_size=5, unique=True).map(Categorical),
            numbers.map(Ordinal),
        )
    )


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(distributions(), st.integers(0, 2**31))
def test_every_value_of_a_parameter_returns(distribution: BaseDistribution, seed: int) -> None:
    parameter = Parameter.of("x", distribution)
    study = optuna.create_study()
    param = RandomSampler(seed=seed).sample_independent(study, study.ask(), "x", distribution)
    value = parameter.value(param)
    assert value is not None
    back = parameter.param(value)
    internal = distribution.to_internal_repr
    assert abs(internal(back) - internal(param)) <= 1e-9 * max(1.0, abs(internal(param)))
    assert parameter.value(back) == value


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(options(), st.integers(0, 2**31))
def test_every_value_of_an_option_returns(option: Any, seed: int) -> None:
    distribution = distribution_of(option)
    (design,) = Space({"x": option}).sample(1, np.random.default_rng(seed))
    parameter = Parameter(distribution, option)
    param = parameter.param(design["x"])
    assert distribution._contains(distribution.to_internal_repr(param))
    assert parameter.value(param) == design["x"]


@settings(max_examples=examples(30), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.dictionaries(TEXTS.filter(bool), options(), min_size=1, max_size=4), st.integers(0, 2**31), st.integers(1, 8))
def test_confirmed_designs_return_with_their_values(some: dict[str, Any], seed: int, count: int) -> None:
    study = Study(Space(some), ["a", "b"])
    rng = np.random.default_rng(seed)
    for design in study.space.sample(count, rng):
        study.add(design, {"a": float(rng.random()), "b": float(rng.random())})
    known = from_optuna(to_optuna(study))
    expected = [(dict(m.design), dict(m.values)) for m in study.history.measurements]
    assert [(dict(result.design), dict(result.values)) for result in known.results] == expected


@settings(max_examples=examples(30), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.dictionaries(TEXTS.filter(bool), distributions(), min_size=1, max_size=4), st.integers(0, 2**31))
def test_complete_trials_return_and_none_is_added_twice(some: dict[str, Any], seed: int) -> None:
    study = optuna.create_study(directions=["minimize", "maximize"], sampler=RandomSampler(seed=seed))
    for place in range(5):
        trial = study.ask(some)
        if place == 3:
            study.tell(trial, state=TrialState.FAIL)
        else:
            study.tell(trial, [float(place), 1.0])
    study.add_trial(create_trial(values=[0.0, 0.0]))
    known = from_optuna(study)
    own = Study(known.space, known.objectives)
    known.add_to(own)
    before = {repr(sorted(trial.params.items(), key=str)) for trial in study.trials}
    to_optuna(own, into=study)
    assert {repr(sorted(trial.params.items(), key=str)) for trial in study.trials} == before
