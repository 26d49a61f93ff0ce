"""What `benchmarks.record_all` records of each system: data, length of a training, networks and deployments.

Networks are drawn from the paper's options, narrowed so that hundreds of trainings and thousands of readings fit into
minutes of a GPU. Deployments are chosen so that the best one differs between networks: of the combinations of four
options with two values each, those with an odd number of second values. None of them has everything that is fast at
once, so a narrow network, which waits for its kernels to start, prefers another one than a wide network.

The price of a training should be 50 to 150 times that of a reading in the mean. A reading lasts 0.4 s at least: its
first call, 0.1 s of warm-up, the wait for a step of NVML's counter and two steps of 0.1 s, so it can hardly be shorter.
The epochs of the image networks follow from the times of an epoch and of a reading in a first recording, of all 48
networks: a training costs 51 to 54 readings. Those of the BERTs follow from fewer networks that were timed, and cost 51
and 52; a training of DeepSpeech, whose number of epochs is an option, costs 66 (docs/recorded.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from types import MappingProxyType
from typing import Any

import numpy as np

from flexibo.systems.catalogue import PaperSystem
from flexibo.systems.platforms import Platform
from flexibo.systems.recording.plan import Plan, drawn

N_DEPLOYMENTS = 8
Values = Mapping[str, tuple[Any, ...]]

NARROW, NARROWER, SIDES = (16, 32, 64, 128), (16, 32, 64), (1, 3, 5)
OF_IMAGES = {
    "batch": (64, 256),
    "precision": ("tf32", "bf16"),
    "layout": ("contiguous", "channels_last"),
    "cuda_graphs": (False, True),
    "streams": (1,),
}
OF_TEXT = {"precision": ("tf32", "bf16", "fp16"), "cuda_graphs": (False, True), "streams": (1, 2, 4)}
OF_SPEECH = {"precision": ("fp32", "tf32", "bf16", "fp16"), "cuda_graphs": (False, True), "streams": (1,)}
ON_A_PROCESSOR = {"threads": (1,), "batch": (1, 4), "layout": ("contiguous", "channels_last"), "precision": ("fp32",)}
BERT = {"dropout": (0.1, 0.3, 0.5)}


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a system is recorded."""

    dataset: str
    limit: int | None  # training examples
    epochs: int | None  # of each training; None: an option of the design
    networks: Values  # the values of some options to draw from; all values of the others
    deployments: Values


RECIPES: Mapping[str, Recipe] = MappingProxyType(
    {
        "lenet": Recipe(
            "cifar-10",
            20_000,
            47,
            {f"filters_{n}": NARROW for n in (1, 2, 3, 4)} | {f"filter_size_{n}": SIDES for n in (1, 2, 3, 4)},
            OF_IMAGES,
        ),
        "squeezenet": Recipe(
            "cifar-10",
            10_000,
            29,
            {"filters_stem": NARROW, "filter_size_stem": SIDES, "filters_fire_1": NARROW, "filters_fire_2": NARROW}
            | {"filters_fire_block": (16, 32, 64, 128, 256)},
            OF_IMAGES,
        ),
        "resnet": Recipe(
            "cifar-10",
            10_000,
            14,
            {"filters_stem": NARROW, "filters_projection": (16, 32), "filter_size_projection": SIDES}
            | {"filters_bottleneck": NARROWER, "filter_size_bottleneck": SIDES},
            OF_IMAGES,
        ),
        "mobilenet": Recipe(
            "cifar-10",
            10_000,
            31,
            {"filters_stem": NARROWER, "filter_size_stem": SIDES, "filters_block_1": NARROW, "filters_block_2": NARROW}
            | {"filters_block_3": NARROW, "filters_block_4": (16, 32, 64, 128, 256, 512)},
            OF_IMAGES,
        ),
        "xception": Recipe(
            "cifar-10",
            10_000,
            16,
            {"filters_entry": (16, 32), "filter_size_entry": SIDES, "filters_middle": NARROW}
            | {"filter_size_middle": SIDES},
            OF_IMAGES,
        ),
        "bert-imdb": Recipe("movie-reviews", None, 18, BERT, OF_TEXT),
        # 48 trainings of 35 s each if alone, 63 times a reading, from the epochs of 13 networks that were timed on an
        # H200: with 8 at a time 4.5 minutes, and the readings 2.5. Questions without an answer are left out: 4,826
        # questions are too few to learn which ones they are, and no network was better than never answering.
        "bert-squad": Recipe("squad-answerable", None, 12, {**BERT, "sequence_length": (32, 64, 128, 256)}, OF_TEXT),
        "deepspeech": Recipe(
            "digit-strings",
            2_000,
            None,
            {"epochs": (8, 16, 32), "dropout": (0.1, 0.3, 0.5), "batch_size": (16, 32, 64)}
            | {"sequence_length": (64, 128, 256, 512, 1024)},
            OF_SPEECH,
        ),
    }
)
TINY_LIMIT = 64


def recipe_of(system: PaperSystem, size: str, platform: Platform) -> Recipe:
    """The recipe of a system; at the size tiny, the smallest networks and one short training, for a test."""
    recipe = RECIPES[system.name]
    if size == "tiny":
        networks = {name: values[:2] for name, values in system.options.items()}
        epochs = None if recipe.epochs is None else 2
        recipe = Recipe(recipe.dataset, TINY_LIMIT, epochs, networks, recipe.deployments)
    if platform.name == "nvidia-gpu":
        return recipe
    offered = platform.options(system.traits)
    deployments = {name: values for name, values in ON_A_PROCESSOR.items() if name in offered}
    return Recipe(recipe.dataset, recipe.limit, recipe.epochs, recipe.networks, deployments)


def plan_of(system: PaperSystem, recipe: Recipe, *, count: int, seed: int, settings: Mapping[str, Any]) -> Plan:
    """The grid: drawn networks, and the deployments of the recipe."""
    options = {name: tuple(recipe.networks.get(name, values)) for name, values in system.options.items()}
    networks = drawn(options, count, np.random.default_rng((seed, 0)))
    return Plan(system.name, networks, deployments_of(recipe.deployments), frozenset(), {**settings, "seed": seed})


def deployments_of(values: Values) -> tuple[dict[str, Any], ...]:
    """All combinations; if they are too many, those whose numbers of values add up to an odd number.

    >>> [list(one.values()) for one in deployments_of({"a": (0, 1), "b": (0, 1)})]
    [[0, 0], [0, 1], [1, 0], [1, 1]]
    >>> len(deployments_of({name: (0, 1) for name in "abcd"}))
    8
    """
    combinations = list(product(*(range(len(one)) for one in values.values())))
    if len(combinations) > N_DEPLOYMENTS:
        combinations = [places for places in combinations if sum(places) % 2][:N_DEPLOYMENTS]
    return tuple(_combined(values, places) for places in combinations)


def _combined(values: Values, places: Sequence[int]) -> dict[str, Any]:
    return {name: one[place] for (name, one), place in zip(values.items(), places, strict=True)}
