"""Pictures against cost."""

from __future__ import annotations

from tests.pictures import labels_of

from flexibo import Study, plots
from flexibo.views import trace_view


def test_a_legend_names_an_objective_that_begins_with_an_underscore() -> None:
    study = Study({"x": (0.0, 1.0)}, ["_a", "_b"], n_initial=2, seed=0, budget=8)
    study.run({"_a": lambda d: (d["x"], 1.0), "_b": lambda d: (1 - d["x"], 1.0)})
    assert [label.strip()[:2] for label in labels_of(plots.evaluations(study))[:2]] == ["_a", "_b"]


def test_courses_are_drawn_against_cost(study: Study) -> None:
    rows = trace_view(study).rows
    ax = plots.hypervolume(study)
    assert ax.get_lines()[0].get_xydata().tolist() == [
        [0.0, 0.0],
        *map(list, zip(rows["spent"], rows["hypervolume"], strict=True)),
    ]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("cost", "hypervolume [J]")
    assert plots.region(study).get_ylabel().endswith("Pareto region [J]")
    assert plots.gains(study).get_ylabel() == "gain per cost [J / unit of cost]"
    counts = plots.evaluations(study)
    ends = {line.get_label(): line.get_ydata()[-1] for line in counts.get_lines()}
    for name, number in study.summary().evaluations.items():
        assert ends[f"{name}: {number}"] == number
    looks = [(line.get_color(), line.get_linestyle()) for line in counts.get_lines() if ":" in str(line.get_label())]
    assert len({colour for colour, _ in looks}) == len({style for _, style in looks}) == 2


def test_gains_are_those_of_the_choices(study: Study) -> None:
    rows = trace_view(study).rows
    for name, line in zip(("error", "joules"), plots.gains(study).get_lines(), strict=False):
        chosen = [
            [spent, gain]
            for spent, gain, objective in zip(rows["spent"], rows["gain_per_cost"], rows["objective"], strict=True)
            if objective == name and gain is not None
        ]
        assert line.get_xydata().tolist() == chosen


def test_attempts_that_failed_are_marked_where_they_were_paid() -> None:
    study = Study({"x": [0, 1, 2, 3]}, ["a", "b"], n_initial=2, seed=0)
    for number in range(4):
        evaluation = study.ask()
        assert evaluation is not None
        if number == 1:
            study.fail(evaluation, "no", cost=3.0)
        else:
            study.tell(evaluation, 1.0, cost=2.0)
    (marks,) = [line for line in plots.evaluations(study).get_lines() if line.get_label() == "failed attempt"]
    assert marks.get_xdata().tolist() == [5.0]


def test_the_hypervolume_begins_with_what_known_results_reach() -> None:
    study = Study({"x": (0.0, 1.0)}, ["a", "b"], seed=0, reference={"a": 1, "b": 1})
    study.add({"x": 0.5}, {"a": 0.5, "b": 0.5})
    ax = plots.hypervolume(study)
    assert [line.get_xydata().tolist() for line in ax.get_lines()] == [[[0.0, 0.25]]]
    assert labels_of(ax) == ["1 known result"]
