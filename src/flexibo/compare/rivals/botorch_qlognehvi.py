"""BoTorch's qLogNoisyExpectedHypervolumeImprovement, coupled, as BoTorch's documentation recommends it.

The tutorial is "Multi-objective optimization with qEHVI, qNEHVI, and qNParEGO"; `_botorch_coupled` has its settings.
"""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from flexibo.compare.rivals._botorch import quietly
from flexibo.compare.rivals._botorch_coupled import CAVEAT, TOLD_EXACT, CoupledRival, Known, SearchEffort
from flexibo.compare.rivals.base import RivalEntry, Setting

LONGEST_COMPILATION_S = 600.0


def qlognehvi(setting: Setting, *, effort: SearchEffort | None = None, exact: bool = TOLD_EXACT) -> CoupledRival:
    """Asks for the design with the highest expected hypervolume improvement."""
    rival = CoupledRival(setting, improvement, effort=effort, exact=exact)
    prepare(compiled=rival.effort.compiled)
    return rival


def improvement(known: Known) -> tuple[Any, int]:
    """The expected hypervolume improvement over the baseline, and the number of its cells over all draws."""
    from botorch.acquisition.multi_objective.logei import qLogNoisyExpectedHypervolumeImprovement

    acquisition = qLogNoisyExpectedHypervolumeImprovement(
        model=known.fit.model,
        ref_point=known.fit.reference(known.setting),
        X_baseline=known.baseline,
        sampler=known.sampler,
        prune_baseline=True,
    )
    return acquisition, int(acquisition.cell_lower_bounds.numel())


def prepare(*, compiled: bool) -> None:
    """Let BoTorch compile its kernel before the overhead is measured.

    BoTorch compiles the kernel at its first use on a CPU, which takes a minute; on a GPU it is not needed.
    """
    import torch
    from botorch.acquisition.multi_objective import logei

    if compiled and not torch.cuda.is_available():
        from torch.utils.cpp_extension import _get_build_directory

        remove_stale_lock(Path(_get_build_directory("logei_fused_ext", verbose=False)) / "lock")
        with quietly(0):
            logei._try_load_fused_kernel()
    else:
        logei._load_attempted = True


def remove_stale_lock(lock: Path) -> None:
    """Remove the lock of a compiler that was killed: PyTorch would wait for it for ever."""
    with suppress(FileNotFoundError):
        if time.time() - lock.stat().st_mtime > LONGEST_COMPILATION_S:
            lock.unlink()


ENTRY = RivalEntry(
    name="botorch-qlognehvi",
    summary="BoTorch's noisy expected hypervolume improvement (qLogNEHVI); measures all objectives",
    packages=("botorch", "gpytorch", "torch"),
    modules=("torch", "botorch"),
    make=qlognehvi,
    documentation="https://botorch.org/docs/tutorials/multi_objective_bo",
    caveat=CAVEAT,
)
