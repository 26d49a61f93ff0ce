"""The table of methods: every name that `Study(method=...)` takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from importlib.util import find_spec

from flexibo.errors import InvalidTypeError, InvalidValueError, missing_extra, unknown_name
from flexibo.methods.base import Method, ScoringMethod
from flexibo.methods.camobo import CA_MOBO
from flexibo.methods.completion_gain import COMPLETION_GAIN
from flexibo.methods.ehvi import EHVI
from flexibo.methods.epsilon_pal import EPSILON_PAL
from flexibo.methods.flexibo import FLEXIBO_OF_THE_PAPER
from flexibo.methods.mesmo import MESMO, MESMO_DECOUPLED
from flexibo.methods.mesmoc import MESMOC
from flexibo.methods.nsga2 import NSGA2
from flexibo.methods.pal import PAL
from flexibo.methods.parego import PAREGO
from flexibo.methods.pesmo import PESMO, PESMO_DECOUPLED
from flexibo.methods.random import RANDOM, RANDOM_COUPLED
from flexibo.methods.smsego import SMSEGO
from flexibo.methods.sobol import SOBOL
from flexibo.objectives import Objective

COST_SUFFIX = "/cost"  # with it, a scoring method divides its scores by what each evaluation is expected to cost

METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        COMPLETION_GAIN,
        *FLEXIBO_OF_THE_PAPER,
        PAL,
        EPSILON_PAL,
        PAREGO,
        SMSEGO,
        PESMO,
        PESMO_DECOUPLED,
        MESMO,
        MESMO_DECOUPLED,
        MESMOC,
        CA_MOBO,
        EHVI,
        NSGA2,
        SOBOL,
        RANDOM,
        RANDOM_COUPLED,
    )
}


def find_method(method: str) -> Method:
    """The method of this name; with the suffix ``/cost``, the same with its scores divided by costs.

    >>> find_method("ehvi/cost").cost_aware
    True
    """
    if not isinstance(method, str):
        raise InvalidTypeError(f"method is {method!r}; give one of the names that flexibo.list_methods() lists.")
    base = method.removesuffix(COST_SUFFIX)
    if base not in METHODS:
        raise unknown_name("method", method, METHODS)
    found = METHODS[base]
    if base == method:
        return found
    if not isinstance(found, ScoringMethod):
        raise InvalidValueError(
            f"The method {base!r} has no scores to divide by costs; use it without {COST_SUFFIX!r}."
        )
    summary = f"{found.summary.rstrip('.')}; divided by the expected cost of each design."
    # Where single objectives compete, plain division would buy the cheapest alone.
    return replace(found, name=method, summary=summary, cost="learned-ratio" if found.coupled else "learned")


def list_methods() -> tuple[Method, ...]:
    """Every method, in the order of the documentation.

    >>> list_methods()[0].name
    'flexibo'
    """
    return tuple(METHODS.values())


def check_method(method: Method, objectives: Sequence[Objective]) -> None:
    """Refuse objectives that the method cannot handle, or a method whose packages are not installed."""
    k = sum(bool(objective.optimise) for objective in objectives)
    if k > method.most_objectives:
        able = [other.name for other in METHODS.values() if other.most_objectives >= k]
        raise InvalidValueError(
            f"The method {method.name!r} takes at most {method.most_objectives} objectives; {k} given. "
            f"Use one of {', '.join(able)}, or make some of them constraints."
        )
    if method.extra is not None and find_spec(method.extra[0]) is None:
        raise missing_extra(*method.extra)
