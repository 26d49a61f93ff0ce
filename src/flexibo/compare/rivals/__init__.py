"""Third-party optimisers to compare with, called rivals (extra ``bench``). `RIVALS` is the table of their names.

`STEP_RIVALS` is that of rivals which stop measurements early; they take part where a problem has steps or proxies.
"""

from __future__ import annotations

from flexibo.compare.rivals import (
    botorch_hvkg,
    botorch_qlognehvi,
    botorch_qlognparego,
    neps_primo,
    optuna_samplers,
    pymoo_nsga2,
    smac_parego,
    successive_halving,
    syne_tune_moasha,
)
from flexibo.compare.rivals.base import Rival, RivalEntry, Setting, Suggestion
from flexibo.compare.rivals.step_rival import StepRivalEntry

RIVALS: dict[str, RivalEntry] = {
    entry.name: entry
    for entry in (
        botorch_qlognehvi.ENTRY,
        botorch_qlognparego.ENTRY,
        botorch_hvkg.ENTRY,
        optuna_samplers.TPE,
        optuna_samplers.GP,
        optuna_samplers.NSGA2,
        smac_parego.ENTRY,
        pymoo_nsga2.ENTRY,
    )
}

STEP_RIVALS: dict[str, StepRivalEntry] = {
    entry.name: entry for entry in (neps_primo.ENTRY, syne_tune_moasha.ENTRY, successive_halving.ENTRY)
}

__all__ = ["RIVALS", "STEP_RIVALS", "Rival", "RivalEntry", "Setting", "StepRivalEntry", "Suggestion"]
