"""A first study: the error and the energy of a network, where measuring the error costs 60 times as much.

Two formulas stand in for a training and for a reading on a board; each returns its value and the cost of the real
measurement in seconds. Run it with ``python examples/first_study.py``; it takes a few seconds.
"""

from __future__ import annotations

from flexibo import Design, Objective, Space, Study

BUDGET = 900
SPACE = Space(
    {
        "layers": (1, 6),
        "filters": [16, 24, 32, 48, 64, 96, 128, 192, 256],
        "kernel": ["1x1", "3x3", "5x5"],
        "cpu_ghz": (0.3, 2.3),
        "cores": (1, 6),
    }
)
OBJECTIVES = [
    Objective("error", unit="%", options=["layers", "filters", "kernel"]),  # independent of clock and cores
    Objective("energy", unit="J"),
]


def error(design: Design) -> tuple[float, float]:
    """The error in percent after a training, and the cost of the training."""
    penalty = {"1x1": 5.0, "3x3": 0.0, "5x5": 1.0}[design["kernel"]]
    return 2.0 + 400.0 / (design["filters"] * design["layers"]) + 0.4 * design["layers"] + penalty, 60.0


def energy(design: Design) -> tuple[float, float]:
    """The joules that a board needs for a thousand images, and the cost of the reading."""
    area = {"1x1": 1.0, "3x3": 2.5, "5x5": 6.0}[design["kernel"]]
    watts = 1.5 + design["cores"] * (0.4 + design["cpu_ghz"] ** 3 / 2)
    work = design["filters"] * design["layers"] * area / 300.0
    return watts * work / (design["cpu_ghz"] * (0.4 + 0.6 * design["cores"] ** 0.7)), 1.0


def main() -> None:
    """Run the study, then print the first questions, the front and a summary."""
    study = Study(SPACE, OBJECTIVES, budget=BUDGET, seed=0, n_initial=5)
    study.run({"error": error, "energy": energy}, progress=False)

    print("The first questions after the initial designs:")
    for evaluation in [e for e in study.history.asked if not e.initial][:4]:
        print(f"  {evaluation.objective:6} of {dict(evaluation.design)}")
        print(f"         {evaluation.why}")
    print("\nThe front:")
    print(study.front())
    print("\nSummary:")
    print(study.summary())
    pairs = BUDGET // 61
    readings = study.summary().evaluations["energy"]
    print(
        f"\nThe same budget pays for {pairs} designs measured in both objectives; this study made {readings} readings."
    )


if __name__ == "__main__":
    main()
