"""BoTorch's qLogNParEGO, coupled, as BoTorch's documentation recommends it.

Every question draws new weights from the simplex and maximises the noisy expected improvement, in its logarithmic form,
of the augmented Chebyshev scalarisation of the objectives. Daulton, Balandat, Bakshy: Differentiable Expected
Hypervolume Improvement, NeurIPS 2020 (qNParEGO); Ament and others: Unexpected Improvements to Expected Improvement,
NeurIPS 2023 (the logarithmic form). The tutorial is "Multi-objective optimization with qEHVI, qNEHVI, and qNParEGO";
`_botorch_coupled` has its settings. Objectives are scaled by the range of the posterior means of the measured designs,
as BoTorch does it; the reference point is not used.
"""

from __future__ import annotations

from typing import Any

from flexibo.compare.rivals._botorch_coupled import CAVEAT, TOLD_EXACT, CoupledRival, Known, SearchEffort
from flexibo.compare.rivals.base import RivalEntry, Setting


def qlognparego(setting: Setting, *, effort: SearchEffort | None = None, exact: bool = TOLD_EXACT) -> CoupledRival:
    """Asks for the design with the highest expected improvement of a random scalarisation."""
    return CoupledRival(setting, improvement, effort=effort, exact=exact)


def improvement(known: Known) -> tuple[Any, int]:
    """The expected improvement with weights from torch's generator, and the numbers of a design: draws, covariances."""
    from botorch.acquisition.multi_objective.parego import qLogNParEGO

    acquisition = qLogNParEGO(
        model=known.fit.model, X_baseline=known.baseline, sampler=known.sampler, prune_baseline=True
    )
    rows = len(known.baseline) + 1
    return acquisition, len(known.setting.names) * rows * (rows + known.sampler.sample_shape.numel())


ENTRY = RivalEntry(
    name="botorch-qlognparego",
    summary="BoTorch's ParEGO (qLogNParEGO); measures all objectives",
    packages=("botorch", "gpytorch", "torch"),
    modules=("torch", "botorch"),
    make=qlognparego,
    documentation="https://botorch.org/docs/tutorials/multi_objective_bo",
    caveat=CAVEAT,
)
