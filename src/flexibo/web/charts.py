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
        "The designs that no other beats in every objective.",
    ),
    "pairs": Chart(
        "front",
        "Pareto front, pair by pair",
        "The same designs for every two objectives; what seems dominated in one panel is better in another.",
    ),
    "front3d": Chart(
        "front",
        "Pareto front in space",
        "The designs over three objectives. Drag, or press Shift and an arrow key, to turn it.",
    ),
    "hypervolume": Chart(
        "trace", "Hypervolume", "How much the measured designs dominate, as the cost grew: more is better."
    ),
    "region": Chart(
        "trace",
        "Pareto region",
        "How much is still unsure: the volume between the optimistic and the pessimistic front.",
    ),
    "evaluations": Chart(
        "trace",
        "Evaluations of each objective",
        "How often each objective was measured, as the cost grew: what is cheap or tells much is measured more often.",
    ),
    "spend": Chart("trace", "Cost of each objective", "What was spent on each objective, as the cost grew."),
    "gains": Chart("trace", "Gain per cost", "What each choice was expected to bring for what it costs, by objective."),
    "spending": Chart("spending", "Spending", "What was spent on each objective, and what will have been."),
    "importance": Chart(
        "importance",
        "Importance of the options",
        "How much of each objective's variation an option explains alone, and together with others.",
    ),
    "parallel": Chart(
        "parallel",
        "Designs and objectives",
        "A line for each design, across all its options and objectives.",
    ),
    "slice": Chart(
        "slice",
        "What the surrogate believes",
        "An objective over one option or two; the other options keep one value each.",
    ),
    "choices": Chart("choices", "Why these evaluations", "What each was expected to bring, and what came second."),
}
"""Charts by name; `flexiboCharts.draw` in the scripts uses the same names."""
