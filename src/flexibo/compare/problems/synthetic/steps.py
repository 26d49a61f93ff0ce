"""Synthetic problems with steps or a proxy: ZDT functions on a finite space, whose second objective is expensive.

After the last of `STEPS` steps the second objective has ZDT's value. On the way it is mixed with something else:

- clear-curves: with a smooth function of the design, less with every step: early values tell much, later ones more.
- crossing-curves: with a function in which ZDT's value counts with the opposite sign: the curves cross, and designs
  that look good early are bad in the end.
- noise-proxy: no steps, but a proxy at a sixth of the price that has nothing to do with the objective.

The last two are hard on purpose: who trusts early values or proxies pays for it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from flexibo._internal.arrays import FloatArray
from flexibo.compare.problems.base import Curve, Family, Problem, ProblemParameter, Proxy
from flexibo.compare.problems.synthetic.families import DEFINITIONS
from flexibo.space import Designs

STEPS = 27
RATIO = 10.0
"""What all steps of the second objective cost, over the first objective."""
PROXY_SHARE = 1 / 6
"""What a proxy costs, over its objective."""
RIPPLE = 0.12
"""The amplitude of the smooth function, over the range of the objective."""

Mixture = Callable[[FloatArray, FloatArray], FloatArray]
"""Values (m,) of the objective, scaled to 0 to 1, and a ripple (m,) to the values (m,) before the first step."""


def _clear(y: FloatArray, ripple: FloatArray) -> FloatArray:
    return np.asarray(0.7 + 0.5 * y + RIPPLE * ripple)


def _reversed(y: FloatArray, ripple: FloatArray) -> FloatArray:
    return np.asarray(1.0 - 0.6 * y + RIPPLE * ripple)


def _problem(name: str, summary: str, group: str, mixture: Mixture | None, *, function: int = 1) -> Problem:
    families = {definition.name: definition.family for definition in DEFINITIONS}
    base = families[f"zdt{function}"].make(ratio=RATIO, expensive=2, finite=True)
    everything = base.values(base.space.enumerate())[:, 1]
    low, high = float(everything.min()), float(everything.max())
    objective = base.names[1]

    def curve(designs: Designs) -> FloatArray:
        assert mixture is not None
        last = base.values(designs)[:, 1]
        before = low + (high - low) * mixture((last - low) / (high - low), _ripple(designs))
        done = np.arange(1, STEPS + 1) / STEPS
        return np.asarray(before[:, None] * (1.0 - done) + last[:, None] * done)

    def curve_costs(designs: Designs) -> FloatArray:
        return np.outer(base.costs(designs)[:, 1], np.arange(1, STEPS + 1) / STEPS)

    curves = {objective: Curve(STEPS, curve, curve_costs)} if mixture is not None else {}
    noise = Proxy(
        f"{objective}_proxy",
        objective,
        lambda designs: low + (high - low) * _noise(designs)[:, None],
        lambda designs: PROXY_SHARE * base.costs(designs)[:, [1]],
    )
    return replace(
        base,
        name=_family(name, summary, group, mixture).full_name({"function": function}),
        summary=summary,
        group=group,
        curves=curves,
        proxies=() if curves else (noise,),
    )


def _ripple(designs: Designs) -> FloatArray:
    """A smooth function (m,) of designs between -1 and 1."""
    X = designs.encoded()
    return np.asarray(np.sin(2.0 * np.pi * X @ np.sqrt(np.arange(2.0, 2.0 + X.shape[1])) / 2.0))


def _noise(designs: Designs) -> FloatArray:
    """A number (m,) between 0 and 1 for each design that no other design tells anything about."""
    bits = designs.keys().astype(np.uint64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):  # SplitMix64
        bits = (bits ^ (bits >> np.uint64(shift))) * np.uint64(factor)
    return np.asarray((bits ^ (bits >> np.uint64(31))) / 2.0**64)


def _family(name: str, summary: str, group: str, mixture: Mixture | None) -> Family:
    parameters = {"function": ProblemParameter(1, "the number of the ZDT function", 1, 3)}
    return Family(name, summary, partial(_problem, name, summary, group, mixture), parameters, group)


FAMILIES: tuple[Family, ...] = (
    _family("clear-curves", f"ZDT with {STEPS} steps whose early values tell much", "curves", _clear),
    _family("crossing-curves", f"ZDT with {STEPS} steps whose early values mislead", "misleading", _reversed),
    _family("noise-proxy", "ZDT with a proxy that is noise", "misleading", None),
)
