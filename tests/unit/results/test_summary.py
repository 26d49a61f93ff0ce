from __future__ import annotations

from dataclasses import replace

import pytest

from flexibo import Design, Evaluation, Objective, Space, Study
from flexibo.errors import InvalidValueError, unknown_name
from flexibo.history import History
from flexibo.history.events import Asked, Reissued, Spent, Told
from flexibo.results.front import Front, FrontRow
from flexibo.results.summary import Summary
from flexibo.results.trace import trace

LIMITED = [Objective("a"), Objective("b"), Objective("ms", at_most=50.0)]
SPACE = Space({"x": (0.0, 1.0), "y": (0.0, 1.0)})
NOTE = "~ predicted, not measured; ± standard deviation"


def row(
    x: object, a: float, joules: float, *, deviation: float = 0.0, probability: float = 1.0, **options: object
) -> FrontRow:
    return FrontRow(
        Design({"x": x, **options}),  # type: ignore[dict-item]
        {"a": a, "joules": joules},
        {"a": True, "joules": deviation == 0},
        {"a": 0.0, "joules": deviation},
        probability,
    )


def test_a_front_prints_as_a_table_with_what_never_varies_below() -> None:
    rows = [row(0.12345, 1.0, 123456.0, kernel="3x3"), row(1.0, 20.5, 3.0, deviation=0.25, kernel="3x3")]
    assert str(Front(rows)).splitlines() == [
        "   a        joules",
        "   1  123456        x=0.123",
        "20.5      ~3 ±0.25  x=1",
        NOTE,
        "All of them: kernel=3x3",
    ]


def test_values_that_differ_little_are_told_apart_and_large_ones_have_no_exponent() -> None:
    lines = str(Front([row(1, 70792.4, 1.0), row(2, 70793.6, 2.0), row(3, 1234567.0, 3.0)])).splitlines()
    assert [line.split()[0] for line in lines[1:]] == ["70792", "70794", "1234567"]


def test_a_measured_front_needs_no_note_and_a_single_design_keeps_its_options() -> None:
    assert str(Front([row(3, 1.0, 2.0, kernel=None)])).splitlines() == ["a  joules", "1       2  x=3  kernel=-"]


def test_a_front_says_who_keeps_the_constraints_where_one_is_in_doubt() -> None:
    rows = [row(1, 1.0, 3.0), row(2, 2.0, 2.0, probability=0.73), row(3, 3.0, 1.0, probability=0.0)]
    lines = str(Front(rows)).splitlines()
    assert lines[0].split() == ["a", "joules", "feasible"]
    assert [line.split()[2:] for line in lines[1:4]] == [["yes", "x=1"], ["maybe,", "73%", "x=2"], ["no", "x=3"]]
    assert "feasible" not in str(Front(rows[:1]))


def test_an_empty_front_says_why() -> None:
    assert str(Study(SPACE, ["a", "b"]).front()) == (
        "No design yet: not every objective has been measured, or no design can be measured in all of them."
    )


def test_options_that_look_alike_are_not_taken_for_equal() -> None:
    assert "All of them" not in str(Front([row(0.12341, 1.0, 2.0), row(0.12342, 2.0, 1.0)]))


def test_text_with_line_breaks_does_not_break_the_table() -> None:
    rows = [row("one\ntwo\x1b[31m", 1.0, 2.0, **{"na\nme": 1}), row("plain", 2.0, 1.0, **{"na\nme": 2})]
    lines = str(Front(rows)).splitlines()
    assert len(lines) == 3
    assert r"x=one\ntwo\x1b[31m  na\nme=1" in lines[1]
    assert lines[1].index("na\\nme") == lines[2].index("na\\nme")


def test_the_repr_of_a_front_is_that_of_its_rows() -> None:
    rows = (row(1, 1.0, 2.0),)
    assert repr(Front(rows)) == repr(rows)


def test_a_summary_counts_who_keeps_the_constraints() -> None:
    study = Study(SPACE, LIMITED, n_initial=1)
    study.add({"x": 0.9, "y": 0.0}, {"a": 0.81, "b": 0.01, "ms": 90.0})
    assert study.summary().feasible == {"feasible": 0, "unsure": 0, "violating": 1}
    study.add({"x": 0.1, "y": 1.0}, {"a": 5.0, "b": 5.0, "ms": 10.0})
    summary = study.summary()
    assert summary.feasible == {"feasible": 1, "unsure": 0, "violating": 0}
    shown = str(replace(summary, feasible={"feasible": 3, "unsure": 2, "violating": 1}))
    assert "constraints  kept by 3 of the front, unsure for 2, violated by 1" in shown.splitlines()


def test_a_summary_without_constraints_does_not_speak_of_them() -> None:
    summary = Study(SPACE, ["a", "b"]).summary()
    assert summary.feasible is None
    assert "constraints" not in str(summary)


@pytest.mark.parametrize(
    ("front", "confirmed", "words"),
    [
        (0, 0, "no design yet"),
        (1, 1, "1 design, measured in every objective"),
        (1, 0, "1 design, not measured in every objective"),
        (3, 1, "3 designs, 1 of them measured in every objective"),
    ],
)
def test_a_summary_counts_the_front_in_words(front: int, confirmed: int, words: str) -> None:
    summary: Summary = replace(Study(SPACE, ["a", "b"]).summary(), front=front, confirmed=confirmed)
    assert f"front        {words}" in str(summary).splitlines()


def test_a_suggestion_ignores_case() -> None:
    assert "did you mean 'ehvi'?" in str(unknown_name("method", "EHVI", ["ehvi", "random"]))
    assert "did you mean 'CPU'?" in str(unknown_name("option", "cpu", ["CPU", "gpu"]))
    assert "did you mean" not in str(unknown_name("method", "XYZ", ["ehvi", "random"]))


def test_a_stored_study_with_the_methods_own_choices_says_so(tmp_path: object) -> None:
    url = f"sqlite:///{tmp_path}/study.db"
    Study(SPACE, ["a", "b"], storage=url, seed=0)
    with pytest.raises(InvalidValueError, match="created with the method's own cost; 'sqrt' given"):
        Study(SPACE, ["a", "b"], storage=url, seed=0, cost="sqrt")
    with pytest.raises(InvalidValueError, match="created with the method's own surrogate; 'rf' given"):
        Study(SPACE, ["a", "b"], storage=url, seed=0, surrogate="rf")


def test_what_is_measured_together_is_not_paid_again_if_it_came_in_pieces() -> None:
    objectives = [Objective("a"), Objective("b", measured_with="a"), Objective("c")]
    study = Study(SPACE, objectives, n_initial=1)
    design = SPACE.design({"x": 0.5, "y": 0.5})
    study.add(design, {"b": 2.0})
    assert not study.history.is_measured(0, design)
    study.add(design, {"a": 1.0})
    assert study.history.is_measured(0, design)
    assert study.history.is_closed(0, design)
    assert not study.history.is_measured(1, design)


def test_a_trace_counts_what_vanished_workers_cost() -> None:
    space = Space({"x": [0, 1, 2]})
    history = History(space, [Objective("f"), Objective("g")])

    def asked(number: int, objective: str) -> Asked:
        return Asked(Evaluation(space.design({"x": number}), objective, None, 1.0, "", number, (objective,)), "first")

    for event in (
        asked(0, "f"),
        Reissued(0, "second", 0.0, 4.0),  # the first is thought to have spent 4
        Told(0, {"f": 1.0}, 2.0, "second"),
        asked(1, "g"),
        Spent(0, 1.5, "first"),  # and has really spent 1.5
        Told(1, {"g": 1.0}, 3.0, "first"),
    ):
        history.append(event)
    rows = trace(history, None)
    assert [row.cost for row in rows] == [2.0, 3.0]
    assert [row.cumulative_cost for row in rows] == [6.0, 6.5]
    assert rows[-1].cumulative_cost == history.spent
    assert rows[-1].costs == {"f": 3.5, "g": 3.0}
    assert "costs" not in rows.records()[0]
