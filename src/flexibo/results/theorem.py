"""The expression of the paper's Theorem 1, which is not a guarantee; `Study.certificate` is one, under its conditions.

The proof bounds the error by a multiple of V_1 - sum of Delta V_t, what is left of the Pareto region, and then replaces
the sum by an upper bound of it. Subtracting more makes the result smaller, so the last inequality points the wrong way:
with more information gain or more budget the expression falls below the error, and below zero. Moreover gamma_T, the
greatest information gain of any T evaluations, cannot be computed; the gain of the evaluations that were made, which
`information_gain` returns, is a lower bound of it. And beta_t with the paper's factor 2/9 makes boxes too narrow to
hold all at once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from flexibo.errors import InvalidValueError
from flexibo.surrogates import GaussianProcess, Surrogate, Warped
from flexibo.surrogates.local import LocalPosterior


def theorem_1_bound(
    *, a: float, beta: float, gamma: float, noise: float, total_cost: float, costs: Sequence[float]
) -> float:
    """The right-hand side of Theorem 1, as printed. It does not bound the error, and may be negative.

    Args:
        a: The greatest standard deviation of any candidate in any objective, times sqrt(beta_1).
        beta: beta_T at the end.
        gamma: gamma_T, or a substitute.
        noise: The standard deviation sigma of the measurement noise, in the same units as the deviations.
        total_cost: theta_T, the total cost.
        costs: theta_1 to theta_n, the cost of one evaluation of each objective.

    >>> round(theorem_1_bound(a=2.0, beta=1.0, gamma=1.0, noise=1.0, total_cost=10.0, costs=[1.0, 1.0]), 2)
    -78.09
    >>> round(theorem_1_bound(a=2.0, beta=1.0, gamma=0.0, noise=1.0, total_cost=10.0, costs=[1.0, 1.0]), 2)
    11.31
    """
    n = len(costs)
    if n < 1 or not min(costs) > 0:
        raise InvalidValueError(
            f"costs is {list(costs)}; give the cost of an evaluation of each objective, above zero."
        )
    given = {"a": a, "beta": beta, "gamma": gamma, "total_cost": total_cost}
    for name, value in given.items():
        if not 0.0 <= value < math.inf:
            raise InvalidValueError(f"{name} is {value!r}; it must be zero or more and finite.")
    if not 0.0 < noise < math.inf:
        raise InvalidValueError(f"noise is {noise!r}; it must be above zero and finite.")
    mean_cost = sum(costs) / n  # theta_x
    c_1 = 8.0 / math.log1p(noise**-2)
    evaluations = total_cost / mean_cost
    removed: float = (
        2.0 * math.pow(c_1 * beta * gamma / 2.0, n / 2.0) * math.sqrt(evaluations * (n + 1)) / math.factorial(n)
    )
    simplex = math.sqrt(n) * math.pow(a, n - 1) / math.factorial(n - 1)
    return simplex * (math.pow(a, n) - removed)


def information_gain(model: Surrogate) -> float:
    """The information gain of a fitted Gaussian process: half the log determinant of I + K / noise.

    It is the mutual information between the measurements and the function, a lower bound of gamma_T for as many
    evaluations: others might have a greater gain.

    Args:
        model: A fitted `GaussianProcess`, or a `Warped` one; of a local process only the anchors count.
    """
    process = model.model if isinstance(model, Warped) else model
    if not isinstance(process, GaussianProcess) or process.posterior is None:
        raise InvalidValueError(
            f"{type(process).__name__} is not a fitted Gaussian process; its gain cannot be computed."
        )
    posterior = process.posterior
    if isinstance(posterior, LocalPosterior):
        posterior = posterior.anchored
    pivots = 2.0 * float(np.log(posterior.factor.diagonal()).sum())
    noise = posterior.hyperparameters.noise
    return 0.5 * (pivots - len(posterior.z) * math.log(noise) - float(np.log1p(posterior.own / noise).sum()))
