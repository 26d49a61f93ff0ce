"""A ZIP file with made-up records of the paper's runs: three iterations each."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from flexibo.experiments.authors_records import FILE, METHODS, REPETITIONS, SYSTEMS

POINTS = ((0.4, 0.3), (0.2, 0.5), (0.5, 0.6))
MADE = dict.fromkeys(METHODS, (0.58, 0.48, 0.48))
"""The hypervolume errors of each method after its iterations."""
SHARED = ("FlexiBO+GP-Log", "FlexiBO+GP-No Cost", "FlexiBO+RF-Log", "FlexiBO+RF-No Cost")


def members() -> list[str]:
    """The names of all tables, in the order in which they are read."""
    return [
        f"data/{stem}{seed}{ending}.csv"
        for stem in SYSTEMS.values()
        for seed in range(REPETITIONS)
        for ending in ("_cost_hypervolume", "_hypervolume")
    ]


def write_records(
    folder: Path,
    *,
    points: Sequence[tuple[float, float]] = POINTS,
    errors: Mapping[str, Sequence[float]] = MADE,
    leave_out: str = "",
    replace: Mapping[str, str | bytes] | None = None,
    without: str = "",
) -> Path:
    """Write the file and return the folder of data; every decoupled method pays for its first and last iteration."""
    (folder / "recorded").mkdir()
    with zipfile.ZipFile(folder / "recorded" / FILE, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in members():
            own = SHARED if "_cost_" not in name else [method for method in METHODS if "FlexiBO" in method]
            methods = {*own, *(method for method in METHODS if "FlexiBO" not in method and "_cost_" not in name)}
            lines = [",Error,Energy,Iteration,Cost,Method,Architecture,Volume,SD"]
            for method in METHODS:
                for k, (error, energy) in enumerate(points if method in methods - {without} else ()):
                    paid = 0.0 if k == 1 and "FlexiBO" in method and "No Cost" not in method else 8.0
                    lines.append(f"{k},{error},{energy},{k},{paid},{method},any,{errors[method][k]},0.1")
            if name != leave_out:
                archive.writestr(name, (replace or {}).get(name, "\n".join(lines)))
    return folder
