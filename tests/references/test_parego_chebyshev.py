"""The augmented Chebyshev scalarisation against BoTorch's."""

from __future__ import annotations

import numpy as np
import pytest

from flexibo.methods._scalarise import augmented_chebyshev, lattice, normalised

pytestmark = pytest.mark.botorch


@pytest.mark.parametrize(("k", "divisions"), [(1, 1), (2, 10), (3, 4), (4, 3)])
def test_the_scalarisation_is_that_of_botorch(k: int, divisions: int) -> None:
    pytest.importorskip("botorch")
    import torch
    from botorch.utils.multi_objective.scalarization import get_chebyshev_scalarization

    rng = np.random.default_rng(0)
    scales = 10.0 ** rng.integers(-6, 7, size=k)
    measured, others = rng.normal(size=(30, k)) * scales, rng.normal(size=(10, k)) * scales
    for weights in lattice(k, divisions):
        # BoTorch maximises: it is given the losses with the other sign, and gives the scalarised loss so.
        transform = get_chebyshev_scalarization(torch.tensor(weights), torch.tensor(-measured), alpha=0.05)
        for Y in (measured, others):
            ours = augmented_chebyshev(normalised(Y, measured), weights)
            np.testing.assert_allclose(ours, -transform(torch.tensor(-Y)).numpy(), rtol=1e-10, atol=1e-12)
