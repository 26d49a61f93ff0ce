from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from benchmarks.card import card_of, main, text_of

from flexibo.systems.recording.table import RecordedTable, write_table

HEADING = {
    "system": "lenet",
    "date": "2026-01-02",
    "meter": "NVML, a GPU",
    "machine": {"gpus": "a GPU", "driver": "1.2"},
    "versions": {"torch": "2.11"},
    "trained_at_once": 6,
    "networks_planned": 5,
    "settings": {
        "dataset": "mnist",
        "training_examples": 12000,
        "test_examples": 2000,
        "seed": 3,
        "window_seconds": 0.6,
        "at_most": {"filters": 64.0},
        "only": {"batch": ["1", "16"]},
    },
    "network_options": ["filters"],
    "deployment_options": ["batch"],
    "values": {"filters": [16, 32, 64], "batch": [1, 16]},
}


def row(filters: int, batch: int, error: float | None, joules: float | None, again: float | None = None) -> Any:
    return {
        "filters": filters,
        "batch": batch,
        "error_percent": error,
        "training_seconds": None if error is None else filters / 4,
        "energy_joules": joules,
        "latency_ms": 1.0,
        "power_watts": 300.0,
        "reading_seconds": 0.8,
        "energy_joules_again": again,
    }


ROWS = (
    row(16, 1, 30.0, 4.0),
    row(16, 16, 30.0, 1.0, 1.1),
    row(32, 1, 20.0, 8.0),
    row(32, 16, 20.0, 2.0, 1.8),
    row(64, 1, None, 16.0),
    row(64, 16, None, None),
)


def test_a_card_counts_networks_deployments_and_failures() -> None:
    card = card_of("lenet-x", RecordedTable(HEADING, ROWS))
    assert (card.networks, card.deployments, card.failed) == (3, 2, 2)


def test_a_card_says_of_which_recording_the_readings_are() -> None:
    made_with = {name: HEADING[name] for name in ("date", "meter", "machine", "versions")}
    heading = {**HEADING, "date": "2026-02-03", "earlier": made_with}
    text = text_of(card_of("lenet-x", RecordedTable(heading, ROWS)))
    assert "from a recording of 2026-01-02 with NVML, a GPU; the same kind of machine and versions." in text
    heading["versions"] = {"torch": "2.12"}
    text = text_of(card_of("lenet-x", RecordedTable(heading, ROWS)))
    assert "of 2026-01-02 with NVML, a GPU; machine: gpus a GPU, driver 1.2; versions: torch 2.11." in text
    assert "Readings and" not in text_of(card_of("lenet-x", RecordedTable(HEADING, ROWS)))
    heading["earlier"] = {**made_with, "deployments": 1}
    heading["trained_earlier"] = {**made_with, "networks": 2, "at_once": 3}
    text = text_of(card_of("lenet-x", RecordedTable(heading, ROWS)))
    assert "Readings of 1 of the deployments and" in text
    assert "2 of the trainings were taken from" in text
    assert "3 networks there, 6 networks here, trained at a time" in text


def test_a_card_has_the_range_of_each_column_with_networks_counted_once() -> None:
    card = card_of("lenet-x", RecordedTable(HEADING, ROWS))
    assert card.ranges["error_percent"] == (20.0, 25.0, 30.0)
    assert card.ranges["energy_joules"] == (1.0, 4.0, 16.0)
    assert card.training_seconds == 4 + 8
    assert card.reading_seconds == pytest.approx(6 * 0.8)
    assert card.cost_ratio == pytest.approx((4 + 8) / 2 / 0.8)


def test_a_card_says_how_the_time_of_a_batch_agrees_with_its_latency() -> None:
    rows = tuple({**one, "energy_joules": 0.3, "latency_ms": one["batch"] / 2} for one in ROWS)  # 1 ms a piece at 300 W
    assert card_of("lenet-x", RecordedTable(HEADING, rows)).pace == pytest.approx((2, 2, 2))


def test_a_card_counts_the_trainings_whose_log_cost_is_that_of_a_reading() -> None:
    quick = tuple({**one, "training_seconds": 2.7} if one["filters"] == 16 else one for one in ROWS)
    assert card_of("lenet-x", RecordedTable(HEADING, ROWS)).cheap_trainings == 0
    assert card_of("lenet-x", RecordedTable(HEADING, quick)).cheap_trainings == 1


def test_a_card_has_the_non_dominated_designs_and_the_noise_of_second_readings() -> None:
    card = card_of("lenet-x", RecordedTable(HEADING, ROWS))
    assert [(design["filters"], design["batch"]) for design in card.front] == [(32, 16), (16, 16)]
    assert card.noise == pytest.approx((0.1, 0.1))


def test_a_card_is_printed_from_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_table(tmp_path / "lenet-x.csv.gz", RecordedTable(HEADING, ROWS))
    assert main([str(tmp_path / "lenet-x.csv.gz")]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("# lenet-x\n")
    for facts in (
        r"3 networks .*5 planned.* seed 3.* 2 deployments; 2 combinations failed",
        r"Non-dominated: 2 .*2 of the 3 networks .*1 of the 2 deployments",
        r"filters 64; .*batch 1 or 16",
        r"standard deviation .*0\.97 points",  # an error of 25 % on 2,000 images
        r"2 second readings .*10\.0 %",
    ):
        assert re.search(facts, printed), facts
    assert "| 20 | 2000 | 1 | 32 | 16 |" in printed


def test_a_card_without_second_readings_says_nothing_of_noise() -> None:
    rows = tuple({**one, "energy_joules_again": None} for one in ROWS)
    assert "second readings" not in text_of(card_of("lenet-x", RecordedTable(HEADING, rows)))


def test_a_card_says_how_many_designs_are_non_dominated_by_the_error_in_the_deployed_precision() -> None:
    # Batches of 16 lose 15 points, so that those of 1 are non-dominated too.
    rows = tuple(
        {**one, "deployed_error_percent": one["error_percent"] and one["error_percent"] + one["batch"] - 1}
        for one in ROWS
    )
    card = card_of("lenet-x", RecordedTable(HEADING, rows))
    assert card.deployed_front == (4, 2)
    assert re.search(r"\+0\.00 to \+15\.00 points.* 4 designs are non-dominated, 2 of them", text_of(card))
    assert "designs are non-dominated," not in text_of(card_of("lenet-x", RecordedTable(HEADING, ROWS)))


def test_a_card_of_a_table_with_curves_says_how_often_networks_change_places() -> None:
    errors = [[30.0, 20.0, 10.0], [20.0, 30.0, 20.0], [40.0, 40.0, 30.0]]  # of three pairs, one in the other order
    curves = {"epoch_errors": errors, "epoch_seconds": [1.0] * 3, "test_seconds": [0.1] * 3}
    rows = tuple({**one, "windows": 1 + one["batch"] // 16, "latency_spread": 0.02} for one in ROWS)
    card = card_of("lenet-x", RecordedTable({**HEADING, **curves}, rows))
    assert (card.epochs, card.swapped) == ((3,), pytest.approx((1 / 3, 0, 0)))
    text = text_of(card)
    assert re.search(r"3 epochs.* 33 % after the first epoch, 33 % after 1 epochs and 0 % after 2 epochs", text)
    assert re.search(r"single batches .*2\.0 % of their latency", text)
    assert re.search(r"2 of the \d+ readings have one window", text)
    assert "epochs" not in text_of(card_of("lenet-x", RecordedTable(HEADING, ROWS)))


def test_trainings_of_different_lengths_are_compared_after_equal_shares_of_them() -> None:
    errors = [[30.0, 10.0], [40.0, 20.0, 30.0, 20.0], [50.0, 30.0]]  # the second is better than the first at half time
    curves = {"epoch_errors": errors, "epoch_seconds": [1.0] * 3, "test_seconds": [0.1] * 3}
    card = card_of("lenet-x", RecordedTable({**HEADING, **curves}, ROWS))
    assert (card.epochs, card.swapped) == ((2, 4), pytest.approx((1 / 3, 0)))
    assert re.search(r"2 or 4 epochs.* 33 % after 1/2 of each training", text_of(card))


def test_a_card_says_which_deployment_is_best_how_often_and_how_many_networks_are_at_chance() -> None:
    settings = {**HEADING["settings"], "chance_percent": 31.0}
    rows = tuple({**one, "latency_ms": 1.0 + ((one["batch"] == 1) is (one["filters"] == 32))} for one in ROWS[:4])
    text = text_of(card_of("lenet-x", RecordedTable({**HEADING, "settings": settings}, rows)))
    assert "least energy is the same for all networks (batch 16)" in text
    assert re.search(r"latency of a batch is one of 2, for 1, 1 networks \(most often batch 1\)", text)
    assert re.search(r"error of 31 %, the best network one of 20 %; 1 of the 2 networks are within two standard", text)
    assert "share their readings" not in text


def test_a_card_says_which_networks_share_their_readings() -> None:
    settings = {**HEADING["settings"], "chance_percent": 90.0}
    heading = {**HEADING, "settings": settings, "training_only": ["filters"]}
    text = text_of(card_of("lenet-x", RecordedTable(heading, ROWS[:4])))
    assert re.search(r"differ only in filters .*: 2 of the 4 were made", text)
    assert "standard deviations of chance" not in text
