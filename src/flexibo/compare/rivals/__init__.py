"""Optimisers of other libraries, one file each (extra ``bench``)."""

from __future__ import annotations

from flexibo.compare.rivals import (
    botorch_hvkg,
    botorch_qlognehvi,
    optuna_gp,
    optuna_nsga2,
    optuna_tpe,
    pymoo_nsga2,
    smac_parego,
)
from flexibo.compare.rivals.base import Rival, RivalEntry, Setting, Suggestion

RIVALS: dict[str, RivalEntry] = {
    entry.name: entry
    for entry in (
        botorch_qlognehvi.ENTRY,
        botorch_hvkg.ENTRY,
        optuna_tpe.ENTRY,
        optuna_gp.ENTRY,
        optuna_nsga2.ENTRY,
        smac_parego.ENTRY,
        pymoo_nsga2.ENTRY,
    )
}

__all__ = ["RIVALS", "Rival", "RivalEntry", "Setting", "Suggestion"]
