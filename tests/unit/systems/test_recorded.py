"""The recorded tables that come with the package, and their cards."""

from __future__ import annotations

import shlex
from pathlib import Path

import numpy as np
import pytest
from benchmarks.card import Card, card_of, text_of
from benchmarks.record_recipes import RECIPES

from flexibo.compare.problems.table import FAMILIES, find_problem
from flexibo.systems.catalogue import SYSTEMS
from flexibo.systems.recorded import FOLDER, newest_recording, recorded_table, recordings
from flexibo.systems.recording.plan import largest_values, wanted_values

DOCS = Path(__file__).parents[3] / "docs"
LEAST_FRONT = 6
"""A table with fewer non-dominated designs shows no trade-off."""
CURVES = "-curves"


@pytest.fixture(params=recordings(), scope="module")
def card(request: pytest.FixtureRequest) -> Card:
    return card_of(request.param, recorded_table(request.param))


def test_the_tables_are_there() -> None:
    with_curves = [f"{name}-h200{CURVES}" for name in SYSTEMS]
    assert recordings() == sorted([*with_curves, "lenet-h200", "resnet-h200", "squeezenet-h200"])
    assert [newest_recording(name.removesuffix(f"-h200{CURVES}")) for name in with_curves] == with_curves


def test_a_table_is_of_the_system_that_its_name_says(card: Card) -> None:
    system = SYSTEMS[card.heading["system"]]
    assert card.name in recordings(system.name)
    assert card.heading["settings"]["dataset"] in system.datasets
    assert card.heading["network_options"] == list(system.options)


def test_a_table_is_a_full_grid_of_values_that_its_system_has(card: Card) -> None:
    table = recorded_table(card.name)
    options = SYSTEMS[card.heading["system"]].options
    designs = {tuple(row[name] for name in (*table.network_options, *table.deployment_options)) for row in table.rows}
    assert len(designs) == len(table.rows) == card.networks * card.deployments
    assert all(row[name] in options[name] for row in table.rows for name in table.network_options)


def test_no_measurement_of_a_table_failed(card: Card) -> None:
    assert card.failed == 0
    columns = ("training_seconds", "energy_joules", "latency_ms", "power_watts", "reading_seconds")
    rows = recorded_table(card.name).rows
    assert all(row[column] is not None and row[column] > 0 for row in rows for column in columns)
    assert all(row["error_percent"] is not None and row["error_percent"] >= 0 for row in rows)
    assert len(card.noise) >= LEAST_FRONT or len(card.spreads) > len(rows) / 2


def test_a_table_with_curves_has_the_error_after_each_epoch_of_every_network(card: Card) -> None:
    table = recorded_table(card.name)
    assert len(table.curves) == (card.networks if card.name.endswith(CURVES) else 0)
    for curve, row in zip(table.curves, table.rows[:: card.deployments], strict=bool(table.curves)):
        assert len(curve) == (card.heading["settings"]["epochs"] or row["epochs"])
        assert curve[-1][0] == pytest.approx(row["training_seconds"])
        assert curve[-1][1] == pytest.approx(row["error_percent"], abs=5.01e-5)  # curves have four decimals


def test_energy_is_about_power_times_the_time_of_an_inference(card: Card) -> None:
    least, middle, most = card.pace
    if card.name.endswith(CURVES):  # shorter readings, some without CUDA graphs, which wait for the processor
        assert 0.4 < least < 1 < middle < 1.4
        assert most < 2.5
        return
    assert least > 0.75
    assert 0.85 < middle < 1.15
    assert most < 1.25


def test_energy_was_measured_by_a_counter_and_not_estimated(card: Card) -> None:
    assert card.heading["meter"].startswith("NVML")
    assert card.heading["machine"]["source"] == "energy counter"


def test_a_network_has_one_error_in_all_its_deployments(card: Card) -> None:
    table = recorded_table(card.name)
    errors: dict[tuple[object, ...], set[tuple[float, float]]] = {}
    for row in table.rows:
        network = tuple(row[name] for name in table.network_options)
        errors.setdefault(network, set()).add((row["error_percent"], row["training_seconds"]))
    assert {len(found) for found in errors.values()} == {1}


def test_networks_that_run_alike_share_their_readings(card: Card) -> None:
    table = recorded_table(card.name)
    silent = card.heading.get("training_only", ())
    readings: dict[tuple[object, ...], set[tuple[float, float]]] = {}
    for row in table.rows:
        running = tuple(value for name, value in row.items() if name in card.heading["values"] and name not in silent)
        readings.setdefault(running, set()).add((row["energy_joules"], row["latency_ms"]))
    assert len(readings) == card.read
    assert {len(found) for found in readings.values()} == {1}


def test_the_best_network_of_a_table_learned_something(card: Card) -> None:
    chance = 90.0 if card.chance is None else card.chance[0]
    assert card.ranges["error_percent"][0] < chance - 20
    assert card.at_chance < card.networks / 4


def test_a_table_shows_a_trade_off(card: Card) -> None:
    assert len(card.front) >= LEAST_FRONT
    assert card.front[-1]["error_percent"] > 1.15 * card.front[0]["error_percent"]
    assert card.front[0]["energy_joules"] > 1.5 * card.front[-1]["energy_joules"]


def test_the_problem_of_a_table_has_the_front_of_its_card(card: Card) -> None:
    problem = find_problem(card.name)
    expected = np.array([(row["error_percent"], 1000 * row["energy_joules"]) for row in card.front])
    assert np.array(sorted(map(tuple, problem.front))) == pytest.approx(expected)
    assert card.heading["system"] in FAMILIES[card.name].summary
    assert "H200" in problem.source


def test_the_figures_of_a_card_are_those_of_its_table_and_a_person_wrote_the_rest(card: Card) -> None:
    text = (FOLDER / f"{card.name}.md").read_text(encoding="utf-8")
    figures = text_of(card)
    assert text.startswith(figures)
    written = text.removeprefix(figures)
    for heading in ("## What it is", "## How it was recorded", "## What it is not good for", "## Data"):
        assert f"\n{heading}\n" in written


def command_of(card: Card) -> tuple[list[str], dict[str, list[str]]]:
    """The three words of the command in a card, and its options."""
    text = (FOLDER / f"{card.name}.md").read_text(encoding="utf-8")
    words = shlex.split(text.split("```sh\n")[1].split("```")[0].replace("\\\n", " "))
    given: dict[str, list[str]] = {}
    for flag, value in zip(words[3::2], words[4::2], strict=True):
        given.setdefault(flag, []).append(value)
    return words[:3], given


def test_the_command_of_a_card_is_the_one_that_made_its_table(card: Card) -> None:
    words, given = command_of(card)
    settings, heading = card.heading["settings"], card.heading
    if card.name.endswith(CURVES):
        recipe = RECIPES[heading["system"]]
        drawn = {**recipe.networks, **recipe.deployments}
        assert words == ["python", "-m", "benchmarks.record_all"]
        assert [f"{given['--systems'][0]}-{given['--suffix'][0]}"] == [card.name]
        assert float(given["--jobs"][0]) == heading["trained_at_once"]
        assert (settings["dataset"], settings["epochs"]) == (recipe.dataset, recipe.epochs)
        assert recipe.limit in (None, settings["training_examples"])
        assert settings["only"] == {name: [str(value) for value in values] for name, values in drawn.items()}
        return
    assert words[1:] == ["record", heading["system"]]
    assert largest_values(given["--at-most"]) == settings["at_most"]
    assert wanted_values(given["--only"]) == {name: tuple(values) for name, values in settings["only"].items()}
    numbers = ("--networks", "--jobs", "--limit", "--window", "--deployments", "--again")
    assert [float(given[flag][0]) for flag in numbers] == [
        heading["networks_planned"],
        heading["trained_at_once"],
        settings["training_examples"],
        settings["window_seconds"],
        card.deployments,
        len(card.noise),
    ]
    assert given["--dataset"] + given["--platform"] == [settings["dataset"], settings["platform"]]


def test_every_card_has_a_table_and_is_a_page_of_the_documentation() -> None:
    assert sorted(path.stem for path in FOLDER.glob("*.md")) == recordings()
    page = (DOCS / "recorded.md").read_text(encoding="utf-8")
    for name in recordings():
        assert f"```{{include}} ../src/flexibo/systems/recorded/{name}.md" in page


def test_the_overview_of_the_documentation_has_the_figures_of_the_cards(card: Card) -> None:
    page = (DOCS / "recorded.md").read_text(encoding="utf-8")
    low, _, high = card.ranges["error_percent"]
    least, _, most = (1000 * value for value in card.ranges["energy_joules"])
    cells = (
        f"`{card.name}`",
        str(card.heading["settings"]["dataset"]),
        f"{card.networks} x {card.deployments}",
        f"{low:.3g} to {high:.3g}",
        f"{least:.2g} to {most:.{2 if most < 100 else 3}g}",
        f"{card.cost_ratio:.3g}",
        str(len(card.front)),
    )
    assert f"| {' | '.join(cells)} |" in page


def test_the_tables_are_small() -> None:
    assert sum(path.stat().st_size for path in FOLDER.iterdir() if path.is_file()) < 2_000_000
