"""The expected hypervolume improvement against BoTorch's, which maximises: all signs are flipped."""

import numpy as np
import pytest

from flexibo.methods.ehvi import expected_improvements

pytestmark = pytest.mark.botorch


def believing(mu, sigma):
    """A BoTorch model whose posterior is what it was told: candidate i has means -mu[i] and deviations sigma[i]."""
    torch = pytest.importorskip("torch")
    model = pytest.importorskip("botorch.models.model").Model
    posterior = pytest.importorskip("botorch.posteriors.posterior").Posterior

    class Told(posterior):
        def __init__(self, mean, variance):
            self.mean, self.variance = mean, variance

        device = property(lambda self: self.mean.device)
        dtype = property(lambda self: self.mean.dtype)

        def rsample(self, sample_shape=None):
            raise NotImplementedError

    class Teller(model):
        num_outputs = mu.shape[1]
        batch_shape = torch.Size([])

        def posterior(self, X, output_indices=None, observation_noise=False, posterior_transform=None):
            i = X[..., 0].long()
            return Told(-torch.tensor(mu)[i], torch.tensor(sigma)[i] ** 2)

    return Teller()


def botorch_improvements(mu, sigma, front, reference, *, partitioning):
    torch = pytest.importorskip("torch")
    analytic = pytest.importorskip("botorch.acquisition.multi_objective.analytic")
    boxes = pytest.importorskip("botorch.utils.multi_objective.box_decompositions.non_dominated")
    cells = getattr(boxes, partitioning)(ref_point=-torch.tensor(reference), Y=-torch.tensor(front))
    acquisition = analytic.ExpectedHypervolumeImprovement(believing(mu, sigma), (-reference).tolist(), cells)
    with torch.no_grad():
        return acquisition(torch.arange(len(mu), dtype=torch.double)[:, None, None]).numpy()


@pytest.mark.parametrize(
    ("k", "f", "partitioning"),
    [(k, f, "FastNondominatedPartitioning") for k in (2, 3, 4) for f in (1, 5, 30)]
    + [(k, f, "NondominatedPartitioning") for k in (2, 3, 4) for f in (1, 5)],
)
def test_botorch_expects_the_same(k, f, partitioning):
    rng = np.random.default_rng(100 * k + f)
    front = np.abs(rng.normal(size=(f, k)))
    front /= np.linalg.norm(front, axis=1, keepdims=True)
    reference = np.full(k, 1.1)
    mu, sigma = rng.uniform(-0.2, 1.3, (300, k)), rng.uniform(0.02, 0.4, (300, k))
    ours = expected_improvements(mu, sigma, front, reference)
    theirs = botorch_improvements(mu, sigma, front, reference, partitioning=partitioning)
    # BoTorch subtracts numbers of order 1, so below 1e-9 its own rounding shows.
    clear = theirs > 1e-9
    assert clear.sum() > 200
    assert ours[clear] == pytest.approx(theirs[clear], rel=1e-6)
    assert ours == pytest.approx(theirs, abs=1e-14)
