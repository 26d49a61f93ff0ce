"""Spaces of the ConfigSpace package, in and out.

Hyperparameters become options, and back. A condition becomes a condition if it lists the values of its parents that
keep a child active. Forbidden clauses become the rule of the space. Priors, defaults and meta data have no counterpart:
a hyperparameter that is not uniform is an error, defaults and meta data are dropped. ConfigSpace orders its
hyperparameters itself, so the order of the options may change.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from flexibo._internal.arrays import plain
from flexibo.errors import InvalidTypeError, InvalidValueError, missing_extra
from flexibo.space._conditions import Conditions
from flexibo.space._legal_designs import LegalDesigns
from flexibo.space._sampling import sampled
from flexibo.space.design import Design
from flexibo.space.encoding import levels, value_of, values_of
from flexibo.space.options import Categorical, Integer, Level, Option, Ordinal, Real, Value, named

MOST_PARENT_VALUES = 10_000  # a condition is translated by evaluating it for every value of its parent


@dataclass(frozen=True, slots=True)
class NotForbidden:
    """The rule that no forbidden clause of a ConfigSpace holds; one about an inactive option does not."""

    clauses: tuple[Any, ...]

    def __call__(self, design: Design) -> bool:
        """Whether the design is legal."""
        active = {name: value for name, value in design.items() if value is not None}
        return not any(_is_forbidden(clause, active) for clause in self.clauses)

    def __hash__(self) -> int:
        return hash(tuple(map(str, self.clauses)))


def parts_of_configspace(configspace: Any) -> tuple[dict[str, Option], Conditions, NotForbidden | None]:
    """The options, conditions and rule of a `ConfigSpace.ConfigurationSpace`; an error if a part has no counterpart."""
    cs = _package()
    if not isinstance(configspace, cs.ConfigurationSpace):
        raise InvalidTypeError(
            f"A {type(configspace).__name__} was given; it must be a ConfigSpace.ConfigurationSpace."
        )
    options = {name: named(name, partial(_option, configspace[name])) for name in configspace}
    conditions = {condition.child.name: _kept_active(condition, options) for condition in configspace.conditions}
    clauses = tuple(configspace.forbidden_clauses)
    return options, conditions, NotForbidden(clauses) if clauses else None


def to_configspace(legal: LegalDesigns) -> Any:
    """A space as a `ConfigSpace.ConfigurationSpace`; an error if it has a pool or a rule of the user."""
    cs = _package()
    if legal.pool is not None:
        raise InvalidValueError("The space is a pool; ConfigSpace cannot express a list of designs.")
    if legal.rule is not None and not isinstance(legal.rule, NotForbidden):
        raise InvalidValueError("The space has a rule; ConfigSpace cannot express a Python function, so leave it out.")
    configspace = cs.ConfigurationSpace()
    # ConfigSpace requires the defaults to be a legal design.
    default = sampled(legal, 1, np.random.default_rng(0), None)[0]
    configspace.add([_hyperparameter(name, option, default[name]) for name, option in legal.table.options.items()])
    for child, parents in legal.table.conditions.items():
        parts = [
            cs.InCondition(configspace[child], configspace[parent], list(values)) for parent, values in parents.items()
        ]
        configspace.add(parts[0] if len(parts) == 1 else cs.AndConjunction(*parts))
    if isinstance(legal.rule, NotForbidden):
        configspace.add([_moved(clause, configspace) for clause in legal.rule.clauses])
    return configspace


def _package() -> Any:
    try:
        import ConfigSpace
    except ImportError as error:
        raise missing_extra("ConfigSpace", "configspace") from error
    return ConfigSpace


def _option(hyperparameter: Any) -> Option:
    cs = _package()
    name = hyperparameter.name
    if isinstance(hyperparameter, cs.Constant):
        return Categorical([plain(hyperparameter.value)])
    if isinstance(hyperparameter, cs.CategoricalHyperparameter):
        if not np.allclose(hyperparameter.probabilities, 1.0 / hyperparameter.size):
            raise InvalidValueError(
                f"Hyperparameter {name!r} has weights; flexibo cannot express them, so leave them out."
            )
        return Categorical([plain(value) for value in hyperparameter.choices])
    if isinstance(hyperparameter, cs.OrdinalHyperparameter):
        option = Ordinal([plain(value) for value in hyperparameter.sequence])
        if option.values != tuple(hyperparameter.sequence):
            raise InvalidValueError(
                f"Hyperparameter {name!r} orders its numbers neither ascending nor descending; sort them."
            )
        return option
    if isinstance(hyperparameter, cs.UniformIntegerHyperparameter):
        return Integer(hyperparameter.lower, hyperparameter.upper, log=hyperparameter.log)
    if isinstance(hyperparameter, cs.UniformFloatHyperparameter):
        return Real(hyperparameter.lower, hyperparameter.upper, log=hyperparameter.log)
    raise InvalidValueError(
        f"Hyperparameter {name!r} is a {type(hyperparameter).__name__}; "
        "it must be constant, categorical, ordinal, a uniform integer or a uniform float."
    )


def _hyperparameter(name: str, option: Option, default: Value) -> Any:
    cs = _package()
    default = value_of(option, float(levels(option, np.zeros(1))[0])) if default is None else default
    if option.size == 1:
        return cs.Constant(name, default)
    if isinstance(option, Categorical):
        return cs.CategoricalHyperparameter(name, list(option.values), default_value=default)
    if isinstance(option, Ordinal):
        return cs.OrdinalHyperparameter(name, list(option.values), default_value=default)
    kind = cs.UniformIntegerHyperparameter if isinstance(option, Integer) else cs.UniformFloatHyperparameter
    return kind(name, option.low, option.high, log=option.log, default_value=default)


def _kept_active(condition: Any, options: Mapping[str, Option]) -> dict[str, tuple[Level, ...]]:
    """For each parent, the values for which a condition holds; all parents must have one of them."""
    cs = _package()
    if isinstance(condition, cs.AndConjunction):
        kept: dict[str, tuple[Level, ...]] = {}
        for part in condition.components:
            for parent, values in _kept_active(part, options).items():
                kept[parent] = tuple(value for value in values if value in kept.get(parent, values))
        return kept
    names = {part.parent.name for part in getattr(condition, "dlcs", (condition,))}
    if len(names) > 1:
        raise InvalidValueError(
            f"The condition {condition} joins several parents by 'or'; join conditions by 'and' only."
        )
    parent = names.pop()
    if options[parent].size > MOST_PARENT_VALUES:
        raise InvalidValueError(
            f"The condition {condition} depends on {parent!r}, which has too many values to list; use fewer."
        )
    every = values_of(options[parent], levels(options[parent], np.arange(options[parent].size, dtype=np.float64)))
    return {parent: tuple(value for value in every if condition.satisfied_by_value({parent: value}))}


def _is_forbidden(clause: Any, active: dict[str, Any]) -> bool:
    cs = _package()
    if isinstance(clause, cs.ForbiddenAndConjunction):
        return all(_is_forbidden(part, active) for part in clause.components)
    if isinstance(clause, cs.ForbiddenOrConjunction):
        return any(_is_forbidden(part, active) for part in clause.components)
    # In ConfigSpace, >= and <= hold for an inactive ordinal; here, nothing inactive is forbidden.
    name = clause.hyperparameter.name if hasattr(clause, "hyperparameter") else clause.left.name
    return name in active and bool(clause.is_forbidden_value(active))


def _moved(clause: Any, configspace: Any) -> Any:
    """The same clause about the hyperparameters of another space."""
    if hasattr(clause, "components"):
        return type(clause)(*(_moved(part, configspace) for part in clause.components))
    if hasattr(clause, "left"):
        return type(clause)(configspace[clause.left.name], configspace[clause.right.name])
    hyperparameter = configspace[clause.hyperparameter.name]
    return type(clause)(hyperparameter, clause.values if hasattr(clause, "values") else clause.value)
