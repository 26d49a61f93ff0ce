"""The parameters of an estimator as the options of a space, and back.

A design has strings, numbers and booleans only. Parameters may have any values: None, tuples, estimators. A list with
such values becomes an unordered option whose values are their names.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from flexibo._internal.arrays import plain
from flexibo.errors import InvalidTypeError, InvalidValueError, unknown_name
from flexibo.space import Categorical, Design, Integer, Real, Space

LOGARITHMIC = ("loguniform", "reciprocal")


@dataclass(frozen=True, slots=True)
class Parameters:
    """The space of a search, and the values that the names in its designs stand for."""

    space: Space
    named: Mapping[str, Mapping[str, Any]]  # by parameter, the values by name

    def of(self, design: Design) -> dict[str, Any]:
        """The parameters of a design; inactive ones are left out, so the estimator keeps its own values of them."""
        active = {name: value for name, value in design.items() if value is not None}
        return {name: self.named[name][value] if name in self.named else value for name, value in active.items()}

    def applied(self, estimator: Any, design: Design) -> Any:
        """A new, unfitted estimator with the parameters of a design."""
        # Values may be estimators, which must not be fitted in place.
        return clone(estimator).set_params(**clone(self.of(design), safe=False))


def parameters_of(space: object, estimator: Any) -> Parameters:
    """The parameters to search; an error if the estimator has no such parameters.

    Args:
        space: A `Space`, or a mapping of parameter names to what an option of a `Space` can be, to a list of any
            values, or to a distribution of scipy: `uniform`, `loguniform` or `randint`.
        estimator: The estimator that is searched.

    >>> from sklearn.neural_network import MLPClassifier
    >>> found = parameters_of({"alpha": (1e-5, 1e-1), "hidden_layer_sizes": [(50,), (50, 20)]}, MLPClassifier())
    >>> found.space.options["hidden_layer_sizes"]
    Categorical(values=('(50,)', '(50, 20)'))
    >>> found.of(found.space.design({"alpha": 0.01, "hidden_layer_sizes": "(50,)"}))
    {'alpha': 0.01, 'hidden_layer_sizes': (50,)}
    """
    if isinstance(estimator, type) or not hasattr(estimator, "fit") or not hasattr(estimator, "get_params"):
        raise InvalidTypeError(
            f"estimator is {estimator!r}; give an estimator of scikit-learn, such as RandomForestClassifier().",
            argument="estimator",
        )
    if isinstance(space, Space):
        _check_names(space.options, estimator)
        return Parameters(space, {})
    if not isinstance(space, Mapping) or not space:
        raise InvalidTypeError(
            f"space is {space!r}; give a mapping of parameters to values, such as {{'max_depth': (2, 20)}}, or a Space."
        )
    _check_names(space, estimator)
    named = {str(name): values for name, given in space.items() if (values := _named_values(str(name), given))}
    options = {name: Categorical(list(named[name])) if name in named else _option(name, space[name]) for name in space}
    return Parameters(Space(options), named)


def _check_names(space: Mapping[str, object], estimator: Any) -> None:
    known = estimator.get_params(deep=True)
    for name in space:
        if not isinstance(name, str):
            raise InvalidTypeError(f"A parameter is named {name!r}; names are strings.")
        parts = name.split("__")
        # A step that is searched itself may be replaced by one with other parameters.
        is_replaced = any("__".join(parts[:count]) in space for count in range(1, len(parts)))
        if name not in known and not is_replaced:
            raise unknown_name(f"parameter of {type(estimator).__name__}:", name, known)


def _named_values(name: str, given: object) -> dict[str, Any]:
    """The values of a list by their names, if some are no strings, numbers or booleans; else nothing."""
    values = given.tolist() if isinstance(given, np.ndarray) else given
    if not isinstance(values, list) or all(_is_level(value) for value in values):
        return {}
    names = [_name(value) for value in values]
    for one in names:
        if names.count(one) > 1:
            raise InvalidValueError(
                f"Parameter {name!r} has two values that are shown as {one}; each value may be given once."
            )
    return dict(zip(names, values, strict=True))


def _is_level(value: object) -> bool:
    value = plain(value)
    return isinstance(value, str | bool | int) or (isinstance(value, float) and math.isfinite(value))


def _name(value: object) -> str:
    """The value in one line; the same in every process, so without addresses."""
    if isinstance(value, str):
        return value
    if callable(value) and hasattr(value, "__qualname__"):
        return f"{value.__module__}.{value.__qualname__}"
    return " ".join(repr(value).split())


def _option(name: str, given: object) -> object:
    """What a `Space` takes for it: a distribution of scipy becomes its bounds."""
    if not hasattr(given, "rvs"):
        return given
    kind = getattr(getattr(given, "dist", None), "name", type(given).__name__)
    if kind not in ("uniform", "randint", *LOGARITHMIC):
        raise InvalidTypeError(
            f"Parameter {name!r} has the distribution {kind!r}; give uniform, loguniform or randint, bounds such as "
            "(0.1, 10.0), or Real(0.1, 10.0, log=True)."
        )
    low, high = given.support()  # type: ignore[attr-defined]  # it is a distribution
    return Integer(int(low), int(high)) if kind == "randint" else Real(low, high, log=kind in LOGARITHMIC)
