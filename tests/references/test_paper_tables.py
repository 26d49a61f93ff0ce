"""Every row of the paper's tables of systems and options, typed from the paper, against what is built here.

Iqbal et al. 2023, tables `datasets`, `net-config`, `os-config` and `hw-config`. Where flexibo differs from a row, the
row is in `DIFFERENT` with the reason, and docs/paper-map.md names it.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.hardware.fake_linux import FakeKernel, jetson

from flexibo.hardware.knobs import jetson_knobs, os_knobs
from flexibo.systems.catalogue import SYSTEMS
from flexibo.systems.options import NETWORKS, OPERATING_SYSTEM

FILTERS_5, FILTERS_7 = "16, 32, 64, 128, 256", "16, 32, 64, 128, 256, 512, 1024"
SIZES_5 = "(1x1), (3x3), (5x5), (7x7), (9x9)"
DROPOUTS, RATES = "0.1, 0.3, 0.5, 0.7, 0.9", "1e-5, 2e-5, 3e-5, 4e-5, 5e-5"

NET_CONFIG = f"""
xception   | Number of Filters Entry Flow          | filters_entry          | {FILTERS_5}
xception   | Number of Filters Middle Flow         | filters_middle         | {FILTERS_5}
xception   | Filter Size Entry Flow                | filter_size_entry      | {SIZES_5}
xception   | Filter Size Middle Flow               | filter_size_middle     | {SIZES_5}
xception   | Filter Size Exit Flow                 | filter_size_exit       | (1x1), (3x3)
mobilenet  | Number of Filters Stem                | filters_stem           | {FILTERS_5}
mobilenet  | Filter Size Stem                      | filter_size_stem       | {SIZES_5}
mobilenet  | Number of Filters Depthwise Block One | filters_block_1        | {FILTERS_7}
mobilenet  | Number of Filters Depthwise Block Two | filters_block_2        | {FILTERS_7}
mobilenet  | Number of Filters Depthwise Block Three | filters_block_3      | {FILTERS_7}
mobilenet  | Number of Filters Depthwise Block Four | filters_block_4       | {FILTERS_7}
lenet      | Number of Filters Layer 1             | filters_1              | {FILTERS_7}
lenet      | Filter Size Layer 1                   | filter_size_1          | {SIZES_5}
lenet      | Number of Filters Layer 2             | filters_2              | {FILTERS_7}
lenet      | Filter Size Layer 2                   | filter_size_2          | {SIZES_5}
lenet      | Number of Filters Layer 3             | filters_3              | {FILTERS_7}
lenet      | Filter Size Layer 3                   | filter_size_3          | {SIZES_5}
lenet      | Number of Filters Layer 4             | filters_4              | {FILTERS_7}
lenet      | Filter Size Layer 4                   | filter_size_4          | {SIZES_5}
resnet     | Number of Filters Stem                | filters_stem           | {FILTERS_7}
resnet     | Number of Filters Projection Block    | filters_projection     | {FILTERS_7}
resnet     | Filter Size Projection Block          | filter_size_projection | {SIZES_5}
resnet     | Number of Filters Bottleneck Block    | filters_bottleneck     | {FILTERS_7}
resnet     | Filter Size Bottleneck Block          | filter_size_bottleneck | {SIZES_5}
squeezenet | Number of Filters Stem                | filters_stem           | {FILTERS_7}
squeezenet | Number of Filters Stem (again)        | filters_fire_1         | {FILTERS_7}
squeezenet | Filter Size Fire Group One            | filter_size_stem       | {SIZES_5}
squeezenet | Number of Filters Fire Group Two      | filters_fire_2         | {FILTERS_7}
squeezenet | Number of Filters Fire Block          | filters_fire_block     | {FILTERS_7}
bert       | Dropout                               | dropout                | {DROPOUTS}
bert       | Maximum Batch Size                    | batch_size             | 6, 12, 16, 32, 64
bert       | Maximum Sequence Length               | sequence_length        | 13, 16, 32, 64, 128, 256
bert       | Learning Rate                         | learning_rate          | {RATES}
bert       | Weight Decay                          | weight_decay           | 0, 0.1, 0.2, 0.3
deepspeech | Num of epochs                         | epochs                 | 2, 4, 8, 16, 32
deepspeech | Dropout                               | dropout                | {DROPOUTS}
deepspeech | Maximum Batch Size                    | batch_size             | 16, 32, 64, 128, 256
deepspeech | Maximum Sequence Length               | sequence_length        | 16, 32, 64, 128, 256, 512, 1024
deepspeech | Learning Rate                         | learning_rate          | {RATES}
"""

OS_CONFIG = """
Scheduler Policy       | scheduler              | CFP, NOOP
Swappiness             | swappiness             | 10, 30, 60, 100
Dirty Background Ratio | dirty_background_ratio | 10, 50, 80
Dirty Ratio            | dirty_ratio            | 5, 50
Cache Pressure         | cache_pressure         | 100, 500
"""

HW_CONFIG = """
Num Active CPU      | active_cores  | 1 | 6
CPU Frequency (GHz) | cpu_frequency | 0.3 | 2.3
GPU Frequency (GHz) | gpu_frequency | 0.3 | 1.8
EMC Frequency (GHz) | emc_frequency | 0.3 | 2.0
"""

# architecture, our system, its dataset, millions of parameters
DATASETS = """
Xception   | xception   | imagenet     | 22
MobileNet  | mobilenet  | imagenet     | 4.2
LeNet      | lenet      | mnist        | 0.06
ResNet     | resnet     | cifar-10     | 25
SqueezeNet | squeezenet | cifar-10     | 1.2
Bert       | bert-squad | squad        | 110
Bert       | bert-imdb  | imdb         | 110
Deepspeech | deepspeech | common-voice | 68
"""

DIFFERENT = {
    (
        "squeezenet",
        "filters_fire_1",
    ): "printed as a second Number of Filters Stem; the authors' repository has this one",
    ("squeezenet", "filter_size_stem"): "printed as Filter Size Fire Group One; the authors' repository has this one",
}


def rows(table: str) -> list[tuple[str, ...]]:
    return [tuple(cell.strip() for cell in line.split("|")) for line in table.strip().splitlines()]


def values(text: str) -> tuple[float | str, ...]:
    """The values of a cell; a filter size (3x3) is its side."""
    cells = [cell.strip().strip("()").split("x")[0] for cell in text.split(",")]
    return tuple(cell if cell.isalpha() else float(cell) for cell in cells)


@pytest.mark.parametrize(("network", "printed", "option", "cell"), rows(NET_CONFIG))
def test_every_row_of_the_networks_options_is_an_option_with_its_values(
    network: str, printed: str, option: str, cell: str
) -> None:
    assert NETWORKS[network][option] == values(cell), printed


def test_no_network_has_an_option_that_the_paper_has_not() -> None:
    typed = [(network, option) for network, _, option, _ in rows(NET_CONFIG)]
    assert len(typed) == len(set(typed)) == 39
    assert {(network, option) for network, options in NETWORKS.items() for option in options} == set(typed)


def test_the_options_of_the_operating_system_are_those_of_the_paper_and_knobs_offer_them(tmp_path: Path) -> None:
    typed = {option: values(cell) for _, option, cell in rows(OS_CONFIG)}
    assert {name: tuple(offered) for name, offered in OPERATING_SYSTEM.items()} == typed
    kernel = FakeKernel(jetson(tmp_path))
    for knob in os_knobs(kernel):
        if knob.name != "scheduler":  # its values are there only where a device has both schedulers
            assert knob.values() == typed[knob.name]
    assert [knob.name for knob in os_knobs(kernel)] == [*(name for name in typed if name != "scheduler"), "scheduler"]


def test_the_options_of_the_hardware_are_those_of_the_paper_within_its_ranges(tmp_path: Path) -> None:
    knobs = {knob.name: knob for knob in jetson_knobs(FakeKernel(jetson(tmp_path)), steps=99)}
    typed = {option: (float(low), float(high)) for _, option, low, high in rows(HW_CONFIG)}
    assert list(knobs) == list(typed)
    for name, (low, high) in typed.items():
        offered = knobs[name].values()
        assert len(offered) > 5, name
        assert low <= min(offered) <= max(offered) <= high, name


def test_every_row_of_the_systems_is_a_system_that_learns_first_from_the_papers_data() -> None:
    typed = rows(DATASETS)
    assert [system for _, system, _, _ in typed] == [
        *("xception", "mobilenet", "lenet", "resnet", "squeezenet"),
        *("bert-squad", "bert-imdb", "deepspeech"),
    ]
    assert {system: SYSTEMS[system].datasets[0] for _, system, _, _ in typed} == {
        system: dataset for _, system, dataset, _ in typed
    }
    assert set(SYSTEMS) == {system for _, system, _, _ in typed}


ORIGINALS = {  # the design that is the architecture as published; LeNet and SqueezeNet have none: one of their size
    "xception": {"filters_entry": 32, "filter_size_entry": 3, "filters_middle": 728, "filter_size_middle": 3}
    | {"filter_size_exit": 3},
    "mobilenet": {"filters_stem": 32, "filter_size_stem": 3}
    | {f"filters_block_{n}": filters for n, filters in enumerate((128, 256, 512, 1024), 1)},
    "lenet": {f"filters_{n}": filters for n, filters in enumerate((16, 32, 64, 64), 1)}
    | dict.fromkeys(("filter_size_1", "filter_size_2", "filter_size_3", "filter_size_4"), 3),
    "resnet": dict.fromkeys(("filters_stem", "filters_projection", "filters_bottleneck"), 64)
    | dict.fromkeys(("filter_size_projection", "filter_size_bottleneck"), 3),
    "squeezenet": {"filters_stem": 64, "filter_size_stem": 3, "filters_fire_1": 128, "filters_fire_2": 256}
    | {"filters_fire_block": 256},
}


@pytest.mark.torch
@pytest.mark.parametrize(("system", "millions"), [(row[1], float(row[3])) for row in rows(DATASETS)])
def test_the_networks_have_the_papers_number_of_parameters(system: str, millions: float) -> None:
    torch = pytest.importorskip("torch")
    from flexibo.systems.networks import bert, deepspeech
    from flexibo.systems.sizes import FULL_FEATURES
    from flexibo.systems.tasks.images import BUILDERS, SCALING

    network, is_imagenet = SYSTEMS[system].network, SYSTEMS[system].datasets[0] == "imagenet"
    with torch.device("meta"):
        if network == "bert":
            model = bert.build({"dropout": 0.1}, vocabulary=30_522, head="answer", size=bert.BASE)
        elif network == "deepspeech":
            model = deepspeech.build({"dropout": 0.1}, features=FULL_FEATURES, letters=28, size=deepspeech.FULL)
        else:
            classes = 10 if network in ("lenet", "squeezenet") else 1000  # ResNet-50 has its 25 M with 1,000 classes
            sizes = {"small": not is_imagenet} if network in SCALING else {}
            model = BUILDERS[network](
                ORIGINALS[network], channels=1 if network == "lenet" else 3, classes=classes, **sizes
            )
    count = sum(weights.numel() for weights in model.parameters()) / 1e6
    assert count == pytest.approx(millions, rel=0.12), count


def test_what_differs_from_the_tables_is_named_in_the_map_of_the_paper() -> None:
    written = (Path(__file__).parents[2] / "docs" / "paper-map.md").read_text(encoding="utf-8")
    typed = {(network, option) for network, _, option, _ in rows(NET_CONFIG)}
    assert set(DIFFERENT) <= typed
    for text in ("SqueezeNet's repeated row", "PyTorch", "MobileNet is v1", "CFP and NOOP", "`--size full`", "45,000"):
        assert text in written, text
