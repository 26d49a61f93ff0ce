"""The expected improvement against numerical integration."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import quad

from flexibo.methods._scalarise import expected_improvement


@pytest.mark.parametrize("standard", [-35.0, -12.0, -5.0, -1.001, -1.0, -0.5, 0.0, 0.7, 3.0, 9.0])
@pytest.mark.parametrize("deviation", [1e-9, 1.0, 1e12])
def test_the_improvement_is_the_integral_of_what_lies_below_the_best(standard: float, deviation: float) -> None:
    # With u the improvement in deviations, the density of u is phi(standard) exp(-u^2 / 2 + u standard).
    begin, end = max(0.0, standard - 12.0), max(standard, 0.0) + 12.0
    shift = 0.5 * max(standard, 0.0) ** 2
    integral, _ = quad(
        lambda u: u * math.exp(-0.5 * u * u + u * standard - shift), begin, end, epsabs=0.0, epsrel=1e-12, limit=200
    )
    expected = deviation * integral * math.exp(shift - 0.5 * standard**2) / math.sqrt(2.0 * math.pi)
    best = 3.0 * deviation
    improvement = expected_improvement(np.array([best - standard * deviation]), np.array([deviation]), best)
    # best - mean is rounded, and a tail magnifies that by its distance squared.
    np.testing.assert_allclose(improvement, expected, rtol=1e-11)
