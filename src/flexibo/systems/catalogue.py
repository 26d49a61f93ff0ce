"""The paper's eight systems: which network learns what, and what running it allows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from flexibo.errors import unknown_name
from flexibo.systems.options import NETWORKS, TRAINING_ONLY
from flexibo.systems.traits import Traits

Kind = Literal["images", "reviews", "questions", "recordings"]


@dataclass(frozen=True, slots=True)
class Entry:
    """A system of the paper.

    Attributes:
        name: What a user types.
        summary: One line.
        network: A key of `NETWORKS`.
        kind: What its examples are.
        datasets: The data it can learn from, the paper's own first.
        traits: What the network allows a platform to do.
    """

    name: str
    summary: str
    network: str
    kind: Kind
    datasets: tuple[str, ...]
    traits: Traits

    @property
    def options(self) -> Mapping[str, tuple[float, ...]]:
        """The options of the network with their values."""
        return NETWORKS[self.network]

    @property
    def running_options(self) -> tuple[str, ...]:
        """Those that change what running the network costs."""
        return tuple(name for name in self.options if name not in TRAINING_ONLY.get(self.network, ()))


IMAGES = Traits()
TEXT = Traits(images=False, own_batch=True)
SPEECH = Traits(images=False, own_batch=True, graphs=False)

SYSTEMS: Mapping[str, Entry] = MappingProxyType(
    {
        entry.name: entry
        for entry in (
            Entry("xception", "Xception, photographs", "xception", "images", ("imagenet", "cifar-10"), IMAGES),
            Entry("mobilenet", "MobileNet, photographs", "mobilenet", "images", ("imagenet", "cifar-10"), IMAGES),
            Entry("lenet", "LeNet, digits or clothes", "lenet", "images", ("mnist", "fashion-mnist"), IMAGES),
            Entry("resnet", "ResNet, small photographs", "resnet", "images", ("cifar-10",), IMAGES),
            Entry("squeezenet", "SqueezeNet, small photographs", "squeezenet", "images", ("cifar-10",), IMAGES),
            Entry("bert-squad", "BERT, answers in a text", "bert", "questions", ("squad",), TEXT),
            Entry("bert-imdb", "BERT, film reviews", "bert", "reviews", ("imdb", "movie-reviews"), TEXT),
            Entry("deepspeech", "DeepSpeech", "deepspeech", "recordings", ("common-voice", "spoken-digits"), SPEECH),
        )
    }
)


def find_system(name: str) -> Entry:
    """The system of that name."""
    if name not in SYSTEMS:
        raise unknown_name("system", name, SYSTEMS)
    return SYSTEMS[name]
