"""The paper's eight systems: which network learns from which data, and what it allows a platform to do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from flexibo.errors import unknown_name
from flexibo.systems.options import NETWORKS, TRAINING_ONLY, tiny

Kind = Literal["images", "reviews", "questions", "recordings"]


@dataclass(frozen=True, slots=True)
class NetworkTraits:
    """What a network allows a platform to do."""

    images: bool = True  # whether its inputs are images, which have a memory layout to choose
    own_batch: bool = False  # whether the batch size is one of its own options
    is_tiny: bool = False  # whether its options are those of a quick test on a processor


@dataclass(frozen=True, slots=True)
class PaperSystem:
    """A system of the paper."""

    name: str  # the name on the command line
    summary: str
    network: str  # A key of `NETWORKS`
    kind: Kind  # the kind of its examples
    datasets: tuple[str, ...]  # the data it can learn from; the paper's first
    traits: NetworkTraits  # what the network allows a platform to do

    @property
    def options(self) -> Mapping[str, tuple[float, ...]]:
        """The options of the network with their values."""
        return tiny(NETWORKS[self.network]) if self.traits.is_tiny else NETWORKS[self.network]

    @property
    def running_options(self) -> tuple[str, ...]:
        """The options that change the cost of inference."""
        return tuple(name for name in self.options if name not in TRAINING_ONLY.get(self.network, ()))


IMAGES = NetworkTraits()
SEQUENCES = NetworkTraits(images=False, own_batch=True)

SYSTEMS: Mapping[str, PaperSystem] = MappingProxyType(
    {
        entry.name: entry
        for entry in (
            PaperSystem("xception", "Xception, photographs", "xception", "images", ("imagenet", "cifar-10"), IMAGES),
            PaperSystem("mobilenet", "MobileNet, photographs", "mobilenet", "images", ("imagenet", "cifar-10"), IMAGES),
            PaperSystem(
                "lenet", "LeNet, digits or clothes", "lenet", "images", ("mnist", "fashion-mnist", "cifar-10"), IMAGES
            ),
            PaperSystem("resnet", "ResNet, small photographs", "resnet", "images", ("cifar-10",), IMAGES),
            PaperSystem("squeezenet", "SqueezeNet, small photographs", "squeezenet", "images", ("cifar-10",), IMAGES),
            PaperSystem(
                "bert-squad", "BERT, answers in a text", "bert", "questions", ("squad", "squad-answerable"), SEQUENCES
            ),
            PaperSystem("bert-imdb", "BERT, film reviews", "bert", "reviews", ("imdb", "movie-reviews"), SEQUENCES),
            PaperSystem(
                "deepspeech",
                "DeepSpeech",
                "deepspeech",
                "recordings",
                ("common-voice", "digit-strings", "spoken-digits"),
                SEQUENCES,
            ),
        )
    }
)


def find_system(name: str) -> PaperSystem:
    """The system of that name."""
    if name not in SYSTEMS:
        raise unknown_name("system", name, SYSTEMS)
    return SYSTEMS[name]
