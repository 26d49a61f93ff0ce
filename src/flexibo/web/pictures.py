"""The pictures that can be drawn in a browser: of which view each is, and what it is called."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Picture:
    """One picture: the kind of view it draws, its title, and what a reader sees in it."""

    kind: str
    title: str
    caption: str


PICTURES = {
    "front": Picture(
        "front",
        "Pareto front",
        "The designs that no other beats in every objective.",
    ),
    "pairs": Picture(
        "front",
        "Pareto front, pair by pair",
        "The same designs for every two objectives; what seems dominated in one panel is better in another.",
    ),
    "front3d": Picture(
        "front",
        "Pareto front in space",
        "The designs over three objectives. Drag, or press Shift and an arrow key, to turn it.",
    ),
    "hypervolume": Picture(
        "trace", "Hypervolume", "How much the measured designs dominate, as the cost grew: more is better."
    ),
    "region": Picture(
        "trace",
        "Pareto region",
        "How much is still unsure: the volume between the optimistic and the pessimistic front.",
    ),
    "evaluations": Picture(
        "trace",
        "Evaluations of each objective",
        "How often each objective was measured, as the cost grew: what is cheap or tells much is measured more often.",
    ),
    "spend": Picture("trace", "Cost of each objective", "What was spent on each objective, as the cost grew."),
    "gains": Picture(
        "trace", "Gain per cost", "What each choice was expected to bring for what it costs, by objective."
    ),
    "spending": Picture("spending", "Spending", "What was spent on each objective, and what will have been."),
    "importance": Picture(
        "importance",
        "Importance of the options",
        "How much of each objective's variation an option explains alone, and together with others.",
    ),
    "parallel": Picture(
        "parallel",
        "Designs and objectives",
        "A line for each design, across all its options and objectives.",
    ),
    "slice": Picture(
        "slice",
        "What the surrogate believes",
        "An objective over one option or two; the other options keep one value each.",
    ),
    "choices": Picture("choices", "Why these evaluations", "What each was expected to bring, and what came second."),
}
"""By the name that `flexiboCharts.draw` knows as well."""
