"""Three objectives and a constraint, with pictures of the result.

A network on a camera should have a low error, use little energy and little memory, and must answer within 40 ms. One
run on the board yields energy and latency together; the memory is calculated and nearly free. Formulas stand in for the
training and the board. Needs the extra plot; the pictures are written to the folder given as argument, by default the
current one.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from flexibo import Design, Objective, Space, Study, plots

NETWORK = ["layers", "filters", "kernel"]
SPACE = Space(
    {
        "layers": (1, 6),
        "filters": [16, 32, 48, 64, 96, 128, 192, 256],
        "kernel": ["3x3", "5x5"],
        "bits": [8, 16, 32],
        "cpu_ghz": (0.3, 2.3),
        "cores": (1, 6),
    }
)
OBJECTIVES = [
    Objective("error", unit="%", options=[*NETWORK, "bits"]),
    Objective("energy", unit="J"),
    Objective("memory", unit="MB", options=[*NETWORK, "bits"]),
    Objective("latency", unit="ms", at_most=40, measured_with="energy"),
]
PICTURES = ("front3d", "pairs", "hypervolume", "evaluations", "importance", "parallel")


def error(design: Design) -> tuple[float, float]:
    """The error after a training, and the seconds the training takes."""
    rounding = {8: 2.5, 16: 0.2, 32: 0.0}[design["bits"]]
    kernel = 0.0 if design["kernel"] == "5x5" else 0.8
    return 2.0 + 300.0 / (design["filters"] * design["layers"]) + 0.3 * design["layers"] + rounding + kernel, 60.0


def run_on_board(design: Design) -> tuple[Mapping[str, float], float]:
    """The energy and the latency of one run on the board, and the seconds the run takes."""
    work = design["filters"] * design["layers"] * (25 if design["kernel"] == "5x5" else 9) * design["bits"] / 32
    speed = 60.0 * design["cpu_ghz"] * (0.4 + 0.6 * design["cores"] ** 0.7)
    watts = 1.5 + design["cores"] * (0.4 + design["cpu_ghz"] ** 3 / 2)
    return {"energy": watts * work / speed / 50, "latency": work / speed}, 2.0


def memory(design: Design) -> tuple[float, float]:
    """The megabytes of the weights: a calculation that costs almost nothing."""
    area = 25 if design["kernel"] == "5x5" else 9
    return design["layers"] * design["filters"] ** 2 * area * design["bits"] / 8e6, 0.01


def main(folder: Path) -> None:
    """Run the study, print the feasible designs of the front, and draw."""
    study = Study(SPACE, OBJECTIVES, budget=600, seed=0, n_initial=6, stop={"max_evaluations": 50})
    study.run({"error": error, "energy": run_on_board, "memory": memory}, progress=False)
    print(study.summary())
    rows = [row for row in study.front() if row.feasibility == "feasible"]
    print(f"\n{len(rows)} feasible designs on the front (at most 40 ms); every third of them:")
    for row in rows[::3]:
        values = ", ".join(f"{o.name} {row.values[o.name]:.3g} {o.unit}" for o in OBJECTIVES)
        print(f"  {values}: {dict(row.design)}")
    for name in PICTURES:
        plots.save(study, folder / f"{name}.png", name)
    plots.save(study, folder / "study.html")
    print(f"\nPictures: {', '.join(f'{name}.png' for name in PICTURES)}; all of them in one offline page: study.html")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path.cwd())
