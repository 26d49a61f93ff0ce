"""The cells of tables of designs."""

from __future__ import annotations

from dataclasses import replace

from flexibo import Design
from flexibo.results.cells import (
    ONE_READING_LEGEND,
    constants_line,
    is_model_wider,
    is_noisy,
    plain_table,
    shared_notes,
    value_columns,
    varying_options,
)
from flexibo.results.rows import DesignRow


def row(
    value: float, count: int = 1, *, spread: float | None = None, deviation: float = 0.0, **options: object
) -> DesignRow:
    return DesignRow(
        number=1,
        design=Design(options or {"x": 1}),  # type: ignore[arg-type]
        values={"a": value},
        readings={"a": count},
        spreads={"a": spread},
        estimates={"a": value + 0.5},
        deviations={"a": deviation},
    )


def test_an_exact_value_stands_alone_and_a_prediction_is_marked() -> None:
    rows = [row(1.0), row(2.0, 0, deviation=0.25)]
    assert not is_noisy(rows, "a")
    (column,) = value_columns(rows, "a", ["a"], best=[True, False], model=True)
    assert column.cells == ["*1", "~2 ±0.25"]


def test_noisy_readings_have_their_number_and_spread_and_the_model_beside_them() -> None:
    rows = [row(1.0, 3, spread=0.2, deviation=0.1), row(2.0, 1, deviation=0.3)]
    values, model = value_columns(rows, "a", ["a", "[J]"], model=True)
    assert values.cells == ["1 ±0.2 (3)", "2 (1)"]
    assert (model.heading, model.cells) == (("a", "model"), ["1.5 ±0.1", "2.5 ±0.3"])
    assert len(value_columns(rows, "a", ["a"])) == 1


def test_a_single_reading_shows_its_error_bar_also_if_the_model_takes_it_as_known() -> None:
    rows = [row(1.0, spread=0.2), row(2.0)]
    assert is_noisy(rows, "a")
    assert value_columns(rows, "a", ["a"])[0].cells == ["1 ±0.2 (1)", "2 (1)"]
    assert not is_noisy([row(1.0, spread=0.0)], "a")


def test_the_error_bar_of_a_single_reading_and_standings_are_explained_where_they_are_shown() -> None:
    single, several = row(1.0, spread=0.2), row(1.0, 3, spread=0.2)
    assert shared_notes([row(1.0), several, row(2.0, 0, deviation=0.25)]) == []
    assert shared_notes([several, single]) == [ONE_READING_LEGEND]
    (note,) = shared_notes([row(1.0), replace(row(2.0), standing="possible")])
    assert note == (
        "standing: whether it is on the front: probable (by the best guess), possible (perhaps, not by the best guess)"
    )
    assert "confident (for all likely values), ruled out (for no likely values)" in " ".join(
        shared_notes([replace(single, standing="ruled out"), replace(single, standing="confident")])
    )


def test_the_legend_of_a_single_reading_says_how_many_repeats_it_sums_up() -> None:
    def legend(*repeats: int) -> str:
        (note,) = shared_notes([replace(row(1.0, spread=0.2), repeats={"a": count}) for count in repeats])
        return note

    assert legend(10, 10) == f"{ONE_READING_LEGEND}, which sums up 10 repeats"
    assert legend(2, 5) == f"{ONE_READING_LEGEND}, which sums up 2 to 5 repeats"
    assert legend(1) == ONE_READING_LEGEND
    both = replace(row(1.0, spread=0.2), repeats={"a": 10, "b": 50})
    assert shared_notes([both]) == [f"{ONE_READING_LEGEND}, which sums up repeats: a 10, b 50"]


def test_an_estimate_that_is_much_less_certain_than_its_reading_is_noticed() -> None:
    assert is_model_wider([row(283.0, spread=1.1, deviation=19.0)])
    assert not is_model_wider([row(283.0, spread=1.1, deviation=2.0)])
    assert not is_model_wider([row(7.19, spread=0.0016, deviation=0.0041)])
    assert not is_model_wider([row(283.0, 2, spread=1.1, deviation=19.0), row(283.0, 0, deviation=19.0)])


def test_options_that_do_not_vary_are_said_once() -> None:
    rows = [row(1.0, x=1, mode="fast"), row(2.0, x=2, mode="fast")]
    assert varying_options(rows) == ["x"]
    assert constants_line(rows)[0].endswith("mode=fast")
    assert constants_line(rows[:1]) == []
    assert plain_table(rows, value_columns(rows, "a", ["a"]), ["note"]).splitlines()[-1] == "note"


def test_measured_values_that_differ_look_different_however_their_readings_spread() -> None:
    rows = [row(0.912_341, 5, spread=0.03), row(0.912_344, 5, spread=0.03)]
    (column,) = value_columns(rows, "a", ["a"])
    assert [cell.split()[0] for cell in column.cells] == ["0.912341", "0.912344"]
    predicted = [row(0.912_341, 0, deviation=0.03), row(0.912_344, 0, deviation=0.03)]
    (column,) = value_columns(predicted, "a", ["a"])
    assert [cell.split()[0] for cell in column.cells] == ["~0.9123", "~0.9123"]
