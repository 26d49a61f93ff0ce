"""The charts that a browser can draw: which view each one shows, its title and its caption."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Chart:
    """One chart: the kind of view it draws, its title, and a caption that says what it shows."""

    kind: str
    title: str
    caption: str


CHARTS = {
    "front": Chart(
        "front",
        "Pareto front",
        "The designs that are not dominated by any other design.",
    ),
    "pairs": Chart(
        "front",
        "Pareto front in pairs",
        "The same designs in every pair of objectives. What seems dominated in one is better in another.",
    ),
    "front3d": Chart(
        "front",
        "Pareto front in three dimensions",
        "The designs in three objectives. Drag, or press Shift and an arrow key, to rotate.",
    ),
    "hypervolume": Chart(
        "trace", "Hypervolume", "The hypervolume dominated by the measured designs, against cost; higher is better."
    ),
    "region": Chart(
        "trace",
        "Pareto region",
        "The remaining uncertainty: the volume between the optimistic and the pessimistic front.",
    ),
    "evaluations": Chart(
        "trace",
        "Evaluations of each objective",
        "How often each objective was measured, against cost. Cheap and informative ones are measured more often.",
    ),
    "spend": Chart("trace", "Cost of each objective", "The cost spent on each objective, against total cost."),
    "gains": Chart("trace", "Gain per cost", "The expected gain of each evaluation per expected cost."),
    "spending": Chart("spending", "Spending", "The cost of each objective, so far and at the end of the budget."),
    "importance": Chart(
        "importance",
        "Importance of the options",
        "The share of each objective's variance that an option explains alone, and with interactions.",
    ),
    "parallel": Chart(
        "parallel",
        "Designs and objectives",
        "A line for each design, across all its options and objectives.",
    ),
    "slice": Chart(
        "slice",
        "Prediction of the surrogate",
        "An objective over one or two options; the other options are fixed.",
    ),
    "choices": Chart("choices", "Why these evaluations", "The expected gain of each evaluation, and the runner-up."),
}
"""Charts by name; `flexiboCharts.draw` in the scripts uses the same names."""
