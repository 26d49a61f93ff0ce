"""Optuna's distributions as options, and their values in both directions.

A distribution with steps becomes an `Ordinal` of its values. With `MOST_STEPS` or more it becomes an interval or a
range of whole numbers, whose values are moved to the nearest step; for the sampler, it is the number of the step. A
choice that is no value for flexibo (None, an infinite number, an object) is shown as text. Of choices that are equal,
as 1 and True, Optuna finds the first only, so the others are left out.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution

from flexibo import Categorical, FlexiBOError, Integer, Ordinal, Real, Space
from flexibo.errors import InvalidValueError
from flexibo.space import Level, Option

MOST_STEPS = 10_000
CLOSE = 1e-8  # Optuna's tolerance for a value between steps, in steps; here also for one beyond a bound


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of Optuna's: its distribution, and the option that it becomes."""

    distribution: Any
    option: Option
    counted: bool = False  # whether values of the option are numbers of steps

    @classmethod
    def of(cls, name: str, distribution: Any, *, counts: bool = False) -> Parameter:
        """The parameter with this distribution; an error if flexibo has no such option.

        If it `counts`, the option of one with very many steps is the number of the step, so that every value of the
        option is one of the parameter.
        """
        try:
            counted = counts and _has_many_steps(distribution)
            option = Integer(0, _steps(distribution)) if counted else _option(distribution)
            Space({name: option})  # an error if it cannot have this name
            return cls(distribution, option, counted)
        except FlexiBOError as error:
            raise InvalidValueError(
                f"Parameter {name!r} has the distribution {distribution}, which flexibo cannot search: {error}"
            ) from None

    def value(self, param: Any) -> Level | None:
        """The value of the option for a value of the parameter; None if the distribution does not contain it."""
        distribution, option = self.distribution, self.option
        try:
            internal = distribution.to_internal_repr(param)
        except (TypeError, ValueError):
            return None
        if not isinstance(distribution, CategoricalDistribution):
            internal = _without_rounding(distribution, internal)
        if not math.isfinite(internal) or not distribution._contains(internal):
            return None
        if isinstance(distribution, CategoricalDistribution):
            return _listed(option)[_told_apart(distribution.choices).index(int(internal))]
        if self.counted or isinstance(option, Ordinal):
            step: float = (internal - distribution.low) / distribution.step
            return option.values[round(step)] if isinstance(option, Ordinal) else round(step)
        return int(internal) if isinstance(option, Integer) else float(internal)

    def param(self, value: Any) -> Any:
        """The value of the parameter for a value of the option."""
        distribution, option = self.distribution, self.option
        if isinstance(distribution, CategoricalDistribution):
            return distribution.choices[_told_apart(distribution.choices)[_listed(option).index(value)]]
        if self.counted:
            return _stepped(distribution, value)
        if isinstance(option, Ordinal) or distribution.step in (None, 1):
            return value
        step: float = (value - distribution.low) / distribution.step
        return _stepped(distribution, min(round(step), _steps(distribution)))


def parameters(distributions: Mapping[str, BaseDistribution]) -> dict[str, Parameter]:
    """The parameters of these distributions that flexibo can search; the others are left out."""
    found = {}
    for name, distribution in distributions.items():
        try:
            found[name] = Parameter.of(name, distribution, counts=True)
        except InvalidValueError:
            continue
    return found


def distribution_of(option: Option) -> Any:
    """The distribution of an option: its counterpart, or a choice between its values where Optuna has none."""
    if isinstance(option, Categorical):
        return CategoricalDistribution(option.values)
    if isinstance(option, Integer):
        return IntDistribution(option.low, option.high, log=option.log)
    if isinstance(option, Real):
        return FloatDistribution(option.low, option.high, log=option.log)
    return _evenly_spaced(option.values) or CategoricalDistribution(option.values)


def present(distributions: Iterable[BaseDistribution]) -> Any:
    """The distribution of a parameter whose distributions, in the order of the trials, may differ.

    If the last one was used at least twice, and no other since, it has been changed for good and is the present one.
    Otherwise the range changes from trial to trial, and the whole range is searched.
    """
    every = list(distributions)
    last = every[-1]
    since = next(place for place, distribution in enumerate(every) if distribution == last)
    if len(every) == 1 or isinstance(last, CategoricalDistribution):
        return last
    if since < len(every) - 1 and all(distribution == last for distribution in every[since:]):
        return last
    return widest(every)


def widest(distributions: Sequence[Any]) -> Any:
    """The distribution with the values of all of these; the last one if there is no such."""
    last = distributions[-1]
    if isinstance(last, CategoricalDistribution):
        return last
    alike = [one for one in distributions if type(one) is type(last) and (one.log, one.step) == (last.log, last.step)]
    low, high = min(one.low for one in alike), max(one.high for one in alike)
    if last.step and any(abs(x - round(x)) > CLOSE for x in ((one.low - low) / last.step for one in alike)):
        return last
    return type(last)(low, high, log=last.log, step=last.step)


def _option(distribution: Any) -> Option:
    if isinstance(distribution, CategoricalDistribution):
        return Categorical(_levels(distribution.choices))
    if isinstance(distribution, IntDistribution):
        if distribution.step == 1 or _has_many_steps(distribution):
            return Integer(distribution.low, distribution.high, log=distribution.log)
    elif distribution.step is None or _has_many_steps(distribution):
        return Real(distribution.low, distribution.high, log=distribution.log)
    return Ordinal([_stepped(distribution, step) for step in range(_steps(distribution) + 1)])


def _has_many_steps(distribution: Any) -> bool:
    """Whether a distribution has more steps than are listed."""
    is_choice = isinstance(distribution, CategoricalDistribution)
    is_whole = isinstance(distribution, IntDistribution) and distribution.step == 1
    return not (is_choice or is_whole) and distribution.step is not None and _steps(distribution) >= MOST_STEPS


def _without_rounding(distribution: Any, number: float) -> float:
    """The number, or the bound that it is beyond by no more than a rounding error: logarithms leave such."""
    nearest = min(max(number, distribution.low), distribution.high)
    return float(nearest) if math.isclose(number, nearest, rel_tol=CLOSE) else number


def _steps(distribution: Any) -> int:
    """The number of steps from the least to the greatest value."""
    steps: float = (distribution.high - distribution.low) / distribution.step
    return round(steps)


def _stepped(distribution: Any, step: int) -> int | float:
    """The value after some steps, without the digits that adding floats would leave behind."""
    if isinstance(distribution, IntDistribution):
        return int(distribution.low + step * distribution.step)
    return float(Decimal(str(distribution.low)) + step * Decimal(str(distribution.step)))


def _told_apart(choices: Sequence[Any]) -> list[int]:
    """The places of the choices that Optuna tells apart: of equal ones, as 1 and True, it finds the first."""
    first: dict[Any, int] = {}
    try:
        for place, choice in enumerate(choices):
            first.setdefault(choice, place)
    except TypeError:  # such as lists, of which there are few
        return [place for place, choice in enumerate(choices) if choice not in choices[:place]]
    return list(first.values())


def _levels(choices: Sequence[Any]) -> list[Level]:
    """A value for each choice that Optuna tells apart; what is no value becomes text."""
    levels: dict[Level, None] = {}
    for place in _told_apart(choices):
        level = choices[place]
        if not isinstance(level, str | bool | int):
            try:
                Categorical([level])
            except FlexiBOError:
                level = str(level)
        levels[f"{level} ({place})" if level in levels else level] = None
    return list(levels)


def _listed(option: Option) -> Sequence[Level]:
    """The values of an option that lists them."""
    return option.values if isinstance(option, (Categorical, Ordinal)) else ()


def _evenly_spaced(values: Sequence[Any]) -> Any:
    """The range of numbers that rise by equal steps; None for others."""
    if len(values) < 2 or any(isinstance(one, (bool, str)) for one in values) or values[1] <= values[0]:
        return None
    low, step = values[0], values[1] - values[0]
    if all(isinstance(one, int) for one in values):
        is_even = list(values) == list(range(low, values[-1] + 1, step))
        return IntDistribution(low, values[-1], step=step) if is_even else None
    first, second = Decimal(str(float(low))), Decimal(str(float(values[1])))
    if [float(first + place * (second - first)) for place in range(len(values))] != [float(one) for one in values]:
        return None
    return FloatDistribution(low, values[-1], step=float(second - first))
