"""Third-party optimisers to compare with, called rivals (extra ``bench``). `RIVALS` is the table of their names."""

from __future__ import annotations

from flexibo.compare.rivals import (
    botorch_hvkg,
    botorch_qlognehvi,
    botorch_qlognparego,
    optuna_samplers,
    pymoo_nsga2,
    smac_parego,
)
from flexibo.compare.rivals.base import Rival, RivalEntry, Setting, Suggestion

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

__all__ = ["RIVALS", "Rival", "RivalEntry", "Setting", "Suggestion"]
