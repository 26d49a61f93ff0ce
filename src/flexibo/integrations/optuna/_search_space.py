"""The parameters that a sampler searches together: a space whose options are those of the complete trials."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from optuna.trial import FrozenTrial

from flexibo import Design, Space
from flexibo.errors import InvalidValueError
from flexibo.integrations.optuna._conditions import conditions
from flexibo.integrations.optuna._parameters import Parameter, parameters, present, widest
from flexibo.space import Level


@dataclass(frozen=True, slots=True)
class SearchSpace:
    """The parameters that are searched together, and the space of their options."""

    parameters: Mapping[str, Parameter]
    space: Space

    @classmethod
    def of(cls, distributions: Mapping[str, Any], trials: Iterable[FrozenTrial]) -> SearchSpace:
        """The space of these distributions; which parameters depend on others is learned from complete trials.

        A parameter that no other one explains belongs to every design.
        """
        found = parameters(distributions)
        options = {name: parameter.option for name, parameter in found.items()}
        explained = conditions(_rows(trials, found), options)
        kept = {child: condition for child, condition in explained.items() if condition}
        return cls(found, Space(options, conditions=kept))

    @classmethod
    def whole(cls, trials: Sequence[FrozenTrial]) -> SearchSpace:
        """The space of all parameters of complete trials, as wide as any trial's; an error if it cannot be told."""
        found = {
            name: Parameter.of(name, widest([trial.distributions[name] for trial in trials if name in trial.params]))
            for name in _in_order(trials)
        }
        options = {name: parameter.option for name, parameter in found.items()}
        kept = conditions(_rows(trials, found), options)
        if unexplained := [name for name, condition in kept.items() if condition is None]:
            raise InvalidValueError(
                f"Only some trials have the parameter {unexplained[0]!r}, and no list of values of another parameter "
                "says which ones; give space=Space(...) with its conditions."
            )
        return cls(found, Space(options, conditions={child: kept[child] or {} for child in kept}))

    @classmethod
    def within(cls, space: Space, trials: Sequence[FrozenTrial]) -> SearchSpace:
        """A given space with the parameters of complete trials that it has options for."""
        found = {
            name: Parameter.of(name, widest([trial.distributions[name] for trial in trials if name in trial.params]))
            for name in _in_order(trials)
            if name in space.names
        }
        return cls(found, space)

    def design(self, params: Mapping[str, Any]) -> Design | None:
        """The design with these parameters; None if some are missing or outside of the present space."""
        values = _values(params, self.parameters)
        if values is None:
            return None
        for child, parents in self.space.conditions.items():
            if not all(values.get(name) in kept for name, kept in parents.items()):
                values.pop(child, None)
        try:
            return self.space.design(values)
        except InvalidValueError:
            return None

    def params(self, design: Mapping[str, Any]) -> dict[str, Any]:
        """The parameters of a design, as far as they are active."""
        return {name: self.parameters[name].param(value) for name, value in design.items() if value is not None}


def searched(trials: Sequence[FrozenTrial]) -> dict[str, Any]:
    """The distributions of the parameters that can be searched together, given the complete trials.

    Without those of a single value, those that flexibo has no option for, and those that only some trials have without
    a parameter that explains it.
    """
    seen: dict[str, list[Any]] = {}
    for trial in sorted(trials, key=lambda trial: trial.number):
        for name, distribution in trial.distributions.items():
            seen.setdefault(name, []).append(distribution)
    now = {name: present(seen[name]) for name in _in_order(trials)}
    found = parameters({name: distribution for name, distribution in now.items() if not distribution.single()})
    options = {name: parameter.option for name, parameter in found.items()}
    explained = conditions(_rows(trials, found), options)
    return {name: one.distribution for name, one in found.items() if explained.get(name, {}) is not None}


def _rows(trials: Iterable[FrozenTrial], found: Mapping[str, Parameter]) -> list[dict[str, Level]]:
    """The values of trials, as far as they are in the present ranges."""
    return [values for trial in trials if (values := _values(trial.params, found))]


def _values(params: Mapping[str, Any], found: Mapping[str, Parameter]) -> dict[str, Level] | None:
    """The values of those parameters that a trial has; None if one of them is outside of its distribution."""
    values: dict[str, Level] = {}
    for name, parameter in found.items():
        if name in params:
            value = parameter.value(params[name])
            if value is None:
                return None
            values[name] = value
    return values


def _in_order(trials: Iterable[FrozenTrial]) -> list[str]:
    """The parameters in an order in which scripts ask for them: each after those that came before it in some trial."""
    order: list[str] = []
    for trial in trials:
        place = 0
        for name in trial.params:
            if name in order:
                place = max(place, order.index(name) + 1)
            else:
                order.insert(place, name)
                place += 1
    return order
