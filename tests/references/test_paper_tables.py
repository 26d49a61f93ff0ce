"""Every cell of the paper's tables of systems and options, typed from the paper, against what is built here.

Iqbal et al. 2023, tables `datasets`, `net-config`, `os-config` and `hw-config`. A cell that is not built as it is
printed is in `DIFFERENT`, with what is built and with the words of docs/paper-map.md that name the difference.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.unit.hardware.fake_linux import FakeKernel, jetson

from flexibo.hardware.knobs import Scheduler, jetson_knobs, os_knobs
from flexibo.systems.build import SystemRequest
from flexibo.systems.catalogue import SYSTEMS
from flexibo.systems.data.catalogue import DATASETS as DATA
from flexibo.systems.data.subsets import chosen
from flexibo.systems.options import NETWORKS, OPERATING_SYSTEM
from flexibo.systems.platforms import PLATFORMS
from flexibo.systems.recorded import newest_recording, recorded_table, recordings
from flexibo.systems.sizes import sized

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

COLUMNS = ("domain", "dataset", "compiler", "layers", "parameters", "train", "test")

# our system, architecture, then the columns
DATASETS = """
xception   | Xception   | Image  | ImageNet       | Keras   | 71 | 22M  | 100K      | 10K
mobilenet  | MobileNet  | Image  | ImageNet       | Keras   | 28 | 4.2M | 100K      | 10K
lenet      | LeNet      | Image  | MNIST          | Keras   | 7  | 60K  | 50K       | 10K
resnet     | ResNet     | Image  | CIFAR-10       | Keras   | 50 | 25M  | 45K       | 5K
squeezenet | SqueezeNet | Image  | CIFAR-10       | Keras   | 3  | 1.2M | 45K       | 5K
bert-squad | Bert       | NLP    | SQuAD 2.0      | PyTorch | 12 | 110M | 56K       | 5K
bert-imdb  | Bert       | NLP    | IMDB Sentiment | PyTorch | 12 | 110M | 25K       | 2K
deepspeech | Deepspeech | Speech | Common Voice   | PyTorch | 9  | 68M  | 300 (hrs) | 2 (hrs)
"""

PUBLISHED = {  # how many examples to learn from and to test on the publishers of the data give
    "imagenet": (1_281_167, 50_000),
    "mnist": (60_000, 10_000),
    "cifar-10": (50_000, 10_000),
    "squad": (130_319, 11_873),
    "imdb": (25_000, 25_000),
}


@dataclass(frozen=True, slots=True)
class Difference:
    """What is built in place of what a cell of the paper says."""

    built: str
    named: str  # the words of docs/paper-map.md that name it


IMAGES = ("xception", "mobilenet", "lenet", "resnet", "squeezenet")
IN_PYTORCH = Difference("PyTorch", "Keras for the five image networks | PyTorch for all")
ALL_OF_CIFAR, ALL_OF_IMAGENET = "CIFAR-10: all 50,000 and 10,000", "ImageNet: all 1,281,167 and 50,000"
ALL_OF_ONE_LANGUAGE = Difference("all of one language", "Common Voice: all recordings of one language")
STEPS = Difference("at most 8 of the board's steps", "at most eight of the board's own steps within them")

DIFFERENT: Mapping[tuple[str, str], Difference] = {
    **{(system, "compiler"): IN_PYTORCH for system in IMAGES},
    ("lenet", "layers"): Difference("6", "LeNet 6: the four convolutions of its options and two dense layers"),
    ("squeezenet", "layers"): Difference("18", "SqueezeNet 18, one after the other (26 convolutions)"),
    ("xception", "parameters"): Difference("6.87 to 32.3 million", "Xception's designs have 6.87 to 32.3 million"),
    ("lenet", "parameters"): Difference("0.00313 to 255 million", "LeNet's 0.00313 to 255 million"),
    ("squeezenet", "parameters"): Difference("0.00707 to 25.2 million", "SqueezeNet's 0.00707 to 25.2 million"),
    ("resnet", "parameters"): Difference("23.5 million", "ResNet-50 has 23.5 million for the ten classes of CIFAR-10"),
    **{(system, "train"): Difference("1,281,167", ALL_OF_IMAGENET) for system in ("xception", "mobilenet")},
    **{(system, "test"): Difference("50,000", ALL_OF_IMAGENET) for system in ("xception", "mobilenet")},
    ("lenet", "train"): Difference("60,000", "MNIST: all 60,000 and 10,000"),
    **{(system, "train"): Difference("50,000", ALL_OF_CIFAR) for system in ("resnet", "squeezenet")},
    **{(system, "test"): Difference("10,000", ALL_OF_CIFAR) for system in ("resnet", "squeezenet")},
    ("bert-squad", "train"): Difference("130,319", "SQuAD 2.0: all 130,319 and 11,873"),
    ("bert-squad", "test"): Difference("11,873", "SQuAD 2.0: all 130,319 and 11,873"),
    ("bert-imdb", "test"): Difference("25,000", "IMDB: all 25,000 and 25,000"),
    ("deepspeech", "train"): ALL_OF_ONE_LANGUAGE,
    ("deepspeech", "test"): ALL_OF_ONE_LANGUAGE,
    ("squeezenet", "filters_fire_1"): Difference("filters fire 1", "the second is `filters_fire_1`"),
    ("squeezenet", "filter_size_stem"): Difference("filter size stem", "the filter size is the stem's"),
    ("deepspeech", "learning_rate"): Difference("times 10", "DeepSpeech's times 10 with `--size full`"),
    ("os-config", "scheduler"): Difference("bfq, none", "`bfq` (or else `mq-deadline`) and `none`"),
    ("hw-config", "cpu_frequency"): STEPS,
    ("hw-config", "gpu_frequency"): STEPS,
    ("hw-config", "emc_frequency"): STEPS,
}


def rows(table: str) -> list[tuple[str, ...]]:
    return [tuple(cell.strip() for cell in line.split("|")) for line in table.strip().splitlines()]


def values(text: str) -> tuple[float | str, ...]:
    """The values of a cell; a filter size (3x3) is its side."""
    cells = [cell.strip().strip("()").split("x")[0] for cell in text.split(",")]
    return tuple(cell if cell.isalpha() else float(cell) for cell in cells)


def number(text: str) -> float:
    """The number in a cell, as in 60K and 4.2M."""
    return float(text.rstrip("KM")) * {"K": 1e3, "M": 1e6}.get(text[-1], 1)


def check(row: str, column: str, *, printed: str, built: str) -> None:
    """What is built is what the paper prints, or what `DIFFERENT` says."""
    if (row, column) not in DIFFERENT:
        assert built == printed, (row, column)
        return
    assert built != printed, f"{row} {column} is as printed; remove it from DIFFERENT"
    assert built == DIFFERENT[row, column].built, (row, column)


@pytest.fixture(scope="module")
def paper_map() -> str:
    return (Path(__file__).parents[2] / "docs" / "paper-map.md").read_text(encoding="utf-8")


NET_ROWS = rows(NET_CONFIG)
SYSTEM_ROWS = {system: dict(zip(COLUMNS, cells, strict=True)) for system, _, *cells in rows(DATASETS)}
KNOBS = [option for _, option, *_ in rows(OS_CONFIG) + rows(HW_CONFIG)]
CELLS = (
    {(system, column) for system in SYSTEM_ROWS for column in COLUMNS}
    | {(network, option) for network, _, option, _ in NET_ROWS}
    | {("os-config", option) for _, option, _ in rows(OS_CONFIG)}
    | {("hw-config", option) for _, option, *_ in rows(HW_CONFIG)}
)


def test_every_difference_is_of_a_cell_and_named_in_the_map_of_the_paper(paper_map: str) -> None:
    assert set(DIFFERENT) <= CELLS
    for cell, difference in DIFFERENT.items():
        assert difference.named in paper_map, cell


# Table `net-config`


@pytest.mark.parametrize(("network", "printed", "option", "cell"), NET_ROWS)
def test_every_row_of_the_networks_options_is_an_option_with_its_values(
    network: str, printed: str, option: str, cell: str
) -> None:
    assert NETWORKS[network][option] == values(cell), printed
    if option == "learning_rate":  # what multiplies its values is tested below
        return
    words = {"one": "1", "two": "2", "three": "3", "four": "4"}
    said = [words.get(word, word) for word in printed.lower().split()]
    own = option.split("_")
    check(network, option, printed=printed, built=printed if set(own) <= set(said) else " ".join(own))


def test_no_network_has_an_option_that_the_paper_has_not() -> None:
    typed = [(network, option) for network, _, option, _ in NET_ROWS]
    assert len(typed) == len(set(typed)) == 39
    assert {(network, option) for network, options in NETWORKS.items() for option in options} == set(typed)


@dataclass(frozen=True)
class Learned:
    """A task of which only the settings matter."""

    settings: Any


@pytest.mark.torch
def test_learning_rates_are_the_papers_for_bert_base_and_multiplied_for_what_starts_smaller(
    tmp_path: Path, paper_map: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch")
    monkeypatch.setattr("flexibo.systems.sizes._check_encoder", lambda task: None)  # there are no weights here
    from flexibo.systems.tasks.speech import SpeechTraining
    from flexibo.systems.tasks.text import TextTraining

    base = {"num_hidden_layers": 12, "hidden_size": 768, "num_attention_heads": 12, "intermediate_size": 3072}
    (tmp_path / "config.json").write_text(json.dumps(base))
    text, speech = Learned(TextTraining()), Learned(SpeechTraining())

    def of_text(size: str, encoder: Path | None) -> float:
        settings = sized(SYSTEMS["bert-imdb"], text, size, encoder).settings
        return settings.rate({"learning_rate": 1.0})  # type: ignore[no-any-return]

    def of_speech(size: str) -> float:
        return sized(SYSTEMS["deepspeech"], speech, size).settings.learning_rate_factor  # type: ignore[no-any-return]

    for network, factor in {"bert": of_text("full", tmp_path), "deepspeech": of_speech("full")}.items():
        check(network, "learning_rate", printed="times 1", built=f"times {factor:g}")
    assert of_text("small", tmp_path) == 5
    assert of_text("", None) == of_text("tiny", None) == of_speech("") == 10
    assert of_speech("small") == of_speech("tiny") == 40
    assert "BERT's times 5 for MiniLM and 10 from scratch; DeepSpeech's times 10" in paper_map
    assert "and without a size, and 40 with `small` and `tiny`" in paper_map


# Tables `os-config` and `hw-config`


def test_the_options_of_the_operating_system_are_those_of_the_paper_and_knobs_offer_them(tmp_path: Path) -> None:
    typed = {option: values(cell) for _, option, cell in rows(OS_CONFIG)}
    assert {name: tuple(offered) for name, offered in OPERATING_SYSTEM.items()} == typed
    kernel = FakeKernel(jetson(tmp_path))
    assert {knob.name: knob.values() for knob in os_knobs(kernel)} == typed
    kinds = ", ".join(write.value for kind in typed["scheduler"] for write in Scheduler(kernel).writes(kind))
    check("os-config", "scheduler", printed="CFP, NOOP", built=kinds)


def test_the_options_of_the_hardware_are_steps_within_the_papers_ranges(tmp_path: Path) -> None:
    kernel = FakeKernel(jetson(tmp_path))
    offered = {knob.name: knob.values() for knob in jetson_knobs(kernel)}
    steps = {knob.name: knob.values() for knob in jetson_knobs(kernel, steps=99)}
    typed = {option: (float(low), float(high)) for _, option, low, high in rows(HW_CONFIG)}
    assert list(offered) == list(typed)
    assert offered["active_cores"] == tuple(range(1, 7))
    for name, (low, high) in typed.items():
        assert len(steps[name]) > 5, name
        assert set(offered[name]) <= set(steps[name]), name
        assert low <= min(steps[name]) <= max(steps[name]) <= high, name
        most = max(map(len, offered.values()))
        found = "a range" if name == "active_cores" else f"at most {most} of the board's steps"
        check("hw-config", name, printed="a range", built=found)


def test_the_papers_nine_options_of_system_and_hardware_are_knobs_of_its_boards_and_no_default(paper_map: str) -> None:
    board = PLATFORMS["jetson-xavier"]()
    assert {knob.name for knob in board.knobs()} == set(KNOBS)
    for system in SYSTEMS.values():
        assert set(board.options(system.traits)) <= {"batch", "precision"}
    assert SystemRequest("lenet", Path()).knobs == ()
    assert "none without `--knobs`" in paper_map


# Table `datasets`


def test_every_row_of_the_systems_is_a_system() -> None:
    assert list(SYSTEM_ROWS) == [*IMAGES, "bert-squad", "bert-imdb", "deepspeech"]
    assert set(SYSTEMS) == set(SYSTEM_ROWS)


@pytest.mark.parametrize("system", SYSTEM_ROWS)
def test_every_system_is_of_the_papers_domain_and_learns_first_from_its_data(system: str) -> None:
    printed, own = SYSTEM_ROWS[system], SYSTEMS[system]
    domains = {"images": "Image", "reviews": "NLP", "questions": "NLP", "recordings": "Speech"}
    check(system, "domain", printed=printed["domain"], built=domains[own.kind])
    data = DATA[own.datasets[0]]
    assert data.stands_in_for is None
    title = data.title.split(":")[0]
    check(system, "dataset", printed=printed["dataset"].removesuffix(" Sentiment"), built=title)


@pytest.mark.parametrize("system", SYSTEM_ROWS)
def test_a_system_takes_all_examples_of_its_data(system: str) -> None:
    dataset = SYSTEMS[system].datasets[0]
    if dataset in PUBLISHED:
        labels, test_labels = (np.zeros(m) for m in PUBLISHED[dataset])
        built = [f"{len(part):,}" for part in chosen(labels, test_labels, None, 0)]
    else:
        built = ["all of one language"] * 2
    for column, found in zip(("train", "test"), built, strict=True):
        cell = SYSTEM_ROWS[system][column]
        check(system, column, printed=cell if "hrs" in cell else f"{number(cell):,.0f}", built=found)


def test_a_limit_shortens_the_test_part_too(paper_map: str) -> None:
    train, test = chosen(np.zeros(50_000), np.zeros(10_000), 45_000, 0)
    assert (len(train), len(test)) == (45_000, 9_000)
    assert "`--limit 45000` takes 45,000 and 9,000 of CIFAR-10" in paper_map


ORIGINALS: Mapping[str, Mapping[str, int]] = {  # the design that is the architecture as published, where there is one
    "xception": {"filters_entry": 32, "filter_size_entry": 3, "filters_middle": 728, "filter_size_middle": 3}
    | {"filter_size_exit": 3},
    "mobilenet": {"filters_stem": 32, "filter_size_stem": 3}
    | {f"filters_block_{n}": filters for n, filters in enumerate((128, 256, 512, 1024), 1)},
    "resnet": dict.fromkeys(("filters_stem", "filters_projection", "filters_bottleneck"), 64)
    | dict.fromkeys(("filter_size_projection", "filter_size_bottleneck"), 3),
}


@cache
def network_of(system: str, which: str = "original") -> Any:
    """A system's network at the size full, without numbers: the original, or of the least or greatest values."""
    torch = pytest.importorskip("torch")
    from flexibo.systems.networks import bert, deepspeech
    from flexibo.systems.sizes import FULL_FEATURES
    from flexibo.systems.tasks.images import BUILDERS, SCALING

    network, data, options = SYSTEMS[system].network, SYSTEMS[system].datasets[0], SYSTEMS[system].options
    with torch.device("meta"):
        if network == "bert":
            head = "answer" if system == "bert-squad" else "classify"
            return bert.build({"dropout": 0.1}, vocabulary=30_522, head=head, size=bert.BASE)
        if network == "deepspeech":
            return deepspeech.build({"dropout": 0.1}, features=FULL_FEATURES, letters=28, size=deepspeech.FULL)
        extremes = {name: (min(offered), max(offered))[which == "greatest"] for name, offered in options.items()}
        design = ORIGINALS[system] if which == "original" else extremes
        sizes = {"small": data != "imagenet"} if network in SCALING else {}
        channels, classes = 1 if data == "mnist" else 3, 1000 if data == "imagenet" else 10
        return BUILDERS[network](design, channels=channels, classes=classes, **sizes)


def millions(system: str, which: str = "original") -> float:
    """The parameters of a network."""
    return sum(weights.numel() for weights in network_of(system, which).parameters()) / 1e6  # type: ignore[no-any-return]


def depth(system: str) -> int:
    """The layers of a network that follow one another: shortcuts and filters beside others make none deeper."""
    torch = pytest.importorskip("torch")
    from flexibo.systems.networks import bert, deepspeech

    model = network_of(system, "original" if system in ORIGINALS or system not in IMAGES else "least")
    if system not in IMAGES:
        kinds = (bert.EncoderLayer, deepspeech.Spectral, deepspeech.Recurrent)
        return sum(isinstance(module, kinds) for module in model.modules())
    kinds = (torch.nn.Conv2d, torch.nn.Linear)
    named = [name for name, module in model.named_modules() if isinstance(module, kinds)]
    return len([name for name in named if "shortcut" not in name and not name.endswith("expand_3")])


@pytest.mark.torch
@pytest.mark.parametrize("system", SYSTEM_ROWS)
def test_the_networks_have_the_papers_compiler_and_layers(system: str) -> None:
    torch = pytest.importorskip("torch")
    printed = SYSTEM_ROWS[system]
    check(system, "layers", printed=printed["layers"], built=str(depth(system)))
    is_torch = isinstance(network_of(system, "least"), torch.nn.Module)
    check(system, "compiler", printed=printed["compiler"], built="PyTorch" if is_torch else "another one")


@pytest.mark.torch
@pytest.mark.parametrize("system", SYSTEM_ROWS)
def test_the_networks_have_the_papers_number_of_parameters(system: str) -> None:
    """Within 5 %: the paper rounds or truncates. Without the architecture as published, the range is compared."""
    expected = number(SYSTEM_ROWS[system]["parameters"]) / 1e6
    printed, options = f"{expected:g} million", SYSTEMS[system].options
    original = ORIGINALS.get(system)
    if system in IMAGES and (original is None or any(value not in options[name] for name, value in original.items())):
        least, greatest = millions(system, "least"), millions(system, "greatest")
        assert least < expected < greatest
        check(system, "parameters", printed=printed, built=f"{least:.3g} to {greatest:.3g} million")
        return
    count = millions(system)
    found = printed if count == pytest.approx(expected, rel=0.05) else f"{count:.3g} million"
    check(system, "parameters", printed=printed, built=found)


@pytest.mark.torch
def test_xception_has_the_papers_parameters_with_a_middle_flow_that_its_options_do_not_have(paper_map: str) -> None:
    assert millions("xception") == pytest.approx(22.9, rel=0.005)
    assert max(NETWORKS["xception"]["filters_middle"]) == 256
    assert "22.9 million as published, with 728 filters in the middle flow" in paper_map


# The recorded tables


def test_no_recorded_table_has_an_option_of_system_or_hardware(paper_map: str) -> None:
    for name in recordings():
        assert not set(recorded_table(name).deployment_options) & set(KNOBS), name
    assert "Recorded tables have none of the nine" in paper_map


def recorded_row(system: str) -> str:
    """The row of the map: the data, and the options of which not all values were drawn, in the newest table."""
    heading = recorded_table(newest_recording(system)).heading
    narrowed: dict[str, list[str]] = {}
    for option, offered in SYSTEMS[system].options.items():
        drawn = heading["values"][option]
        if set(drawn) < set(offered):
            narrowed.setdefault(", ".join(f"{value:g}" for value in drawn), []).append(f"`{option}`")
    cells = "; ".join(f"{', '.join(options)}: {drawn}" for drawn, options in narrowed.items())
    return f"| `{system}` | `{heading['settings']['dataset']}` | {cells} |"


@pytest.mark.parametrize("system", SYSTEM_ROWS)
def test_the_data_and_narrowed_options_of_a_recorded_table_are_named_in_the_map(system: str, paper_map: str) -> None:
    assert recorded_row(system) in paper_map
