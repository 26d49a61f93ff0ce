"""Image classification: the task of LeNet, SqueezeNet, ResNet, MobileNet and Xception.

For a training the images stay on the device, as bytes, from the first batch on, and batches are gathered there, so that
a training of seconds does not wait for Python. Images that need more than `MOST_RESIDENT_BYTES`, as of ImageNet, stay
in the memory of the host, and batches are sent to the device. Images that are too many for that memory are decoded
batch by batch (`StreamedPixels`).

AdamW with one cycle of the learning rate reaches a good error in few epochs at every width of the option tables; plain
gradient descent would need a different learning rate for each.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from flexibo.systems.data.base import Dataset, Images, StreamedPixels
from flexibo.systems.networks import lenet, mobilenet, resnet, squeezenet, xception
from flexibo.systems.tasks import base
from flexibo.systems.tasks.base import Batch, Design, Device, Optimiser

N_LEVELS = 256
LARGEST_SMALL_SIDE = 64
N_AT_ONCE = 2048
N_AT_ONCE_ON_CPU = 256
MOST_RESIDENT_BYTES = 2**32  # of a part of a dataset, on a device
WARM_SHARE = 0.25

BUILDERS = {  # the function that builds each network
    "lenet": lenet.build,
    "squeezenet": squeezenet.build,
    "resnet": resnet.build,
    "mobilenet": mobilenet.build,
    "xception": xception.build,
}

AS_READ = {"side": None}  # part of the fingerprints of stored studies

SCALING = ("squeezenet", "resnet", "mobilenet", "xception")  # they downsample large images earlier than small ones


@dataclass(frozen=True, slots=True)
class ImageTraining:
    """How a network is trained on images."""

    epochs: int = 6  # the number of passes over the training images
    batch: int = 128  # the largest number of images in a batch
    learning_rate: float = 2e-3  # the highest learning rate, reached after a quarter of the training
    weight_decay: float = 1e-4  # the weight decay of AdamW
    shift: int = 0  # the largest number of pixels by which a training image is shifted at random, in each direction
    flip: bool = False  # whether half of the training images are mirrored

    def __post_init__(self) -> None:
        base.check_positive(self, "epochs", "batch", "learning_rate")


@dataclass(frozen=True, slots=True, eq=False)
class ImageTask:
    """Which class an image belongs to; keeps the images on each device they were requested for."""

    network: str
    data: Dataset[Images]
    settings: ImageTraining = field(default_factory=ImageTraining)
    _memory: dict[tuple[str, str], Any] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        base.check_task("image", self.network, BUILDERS, self.data)

    @property
    def fingerprint(self) -> str:
        """Changes with the data and the settings."""
        return base.fingerprint_of("images", self.data.fingerprint, asdict(self.settings) | AS_READ)

    @property
    def chance_percent(self) -> float:
        """The error of always giving the most frequent label."""
        return base.chance_percent(self.data.test.labels)

    def load(self, device: Device) -> None:
        """Move all images to the device."""
        for part in base.PARTS:
            self._kept(part, device)

    def epochs(self, design: Design) -> int:
        """The same for every design."""
        return self.settings.epochs

    def build(self, design: Design) -> nn.Module:
        """The design's network with fresh weights."""
        images = self.data.train
        sizes: dict[str, Any] = {"channels": images.pixels.shape[1], "classes": len(images.classes)}
        if self.network in SCALING:
            sizes["small"] = max(images.pixels.shape[2:]) <= LARGEST_SMALL_SIDE
        return BUILDERS[self.network](design, **sizes)

    def batches(self, design: Design, generator: torch.Generator, device: Device) -> Iterator[Batch]:
        """One epoch of images, shape (b, channels, height, width), and labels."""
        pixels, labels = self._kept("train", device)
        parts = base.shuffled(len(labels), self.settings.batch, generator)
        for chosen, some in zip(parts, _of_each(pixels, parts), strict=True):
            images = self._normal(self._changed(some.to(labels.device), generator))
            yield images, labels[chosen.to(labels.device)]

    def loss(self, model: nn.Module, batch: Batch) -> Tensor:
        """The cross entropy."""
        images, labels = batch
        with base.autocast(images.device):
            logits = model(images)
        return functional.cross_entropy(logits.float(), labels)

    def optimiser(self, model: nn.Module, design: Design) -> Optimiser:
        """AdamW with one cycle of the learning rate."""
        settings = self.settings
        steps = settings.epochs * base.n_steps(len(self.data.train), settings.batch)
        optimiser = base.adam(model, learning_rate=settings.learning_rate, weight_decay=settings.weight_decay)
        return base.one_cycle(optimiser, steps, warm_share=WARM_SHARE)

    def error_percent(self, model: nn.Module, design: Design, device: Device) -> float:
        """The percentage of held-out images that get a wrong label."""
        pixels, labels = self._kept("test", device)
        wrong = torch.zeros((), dtype=torch.int64, device=labels.device)
        with base.evaluating(model):
            parts = torch.arange(len(labels)).split(N_AT_ONCE if labels.is_cuda else N_AT_ONCE_ON_CPU)
            for chosen, some in zip(parts, _of_each(pixels, parts), strict=True):
                right = labels[chosen.to(labels.device)]
                logits = model(self._normal(some.to(labels.device)))
                base.check_finite(logits)
                wrong += (logits.argmax(dim=1) != right).sum()
        return 100 * int(wrong) / len(labels)

    def inputs(self, design: Design, count: int, device: Device) -> tuple[Tensor, ...]:
        """Held-out images, shape (count, channels, height, width)."""
        pixels = torch.tensor(self.data.test.first(count).pixels, device=device)
        return (self._normal(base.cycled(pixels, count)).contiguous(),)

    def _changed(self, pixels: Tensor, generator: torch.Generator) -> Tensor:
        """Bytes of images (b, channels, height, width), each shifted and mirrored at random as the settings say."""
        shift, (count, _, height, width) = self.settings.shift, pixels.shape
        if shift:
            down, right = torch.randint(2 * shift + 1, (2, count, 1), generator=generator).to(pixels.device)
            rows = torch.arange(height, device=pixels.device) + down
            columns = torch.arange(width, device=pixels.device) + right
            padded = functional.pad(pixels, (shift, shift, shift, shift))
            which = torch.arange(count, device=pixels.device)[:, None, None]
            pixels = padded.permute(0, 2, 3, 1)[which, rows[:, :, None], columns[:, None, :]].permute(0, 3, 1, 2)
        if self.settings.flip:
            is_mirrored = (torch.rand(count, generator=generator) < 0.5).to(pixels.device)
            pixels = torch.where(is_mirrored[:, None, None, None], pixels.flip(3), pixels)
        return pixels

    def _normal(self, pixels: Tensor) -> Tensor:
        mean, deviation = base.remembered(self._memory, "levels", pixels.device, lambda: self._levels(pixels.device))
        images = (pixels.float() - mean) / deviation
        # The memory layout in which convolutions on a GPU are fastest.
        return images.contiguous(memory_format=torch.channels_last) if images.is_cuda else images

    def _levels(self, device: Device) -> tuple[Tensor, Tensor]:
        """The mean and the standard deviation of each channel's bytes, shape (channels, 1, 1)."""
        pixels = self.data.train.pixels
        # Counted in parts, because numpy counts bytes as 64-bit numbers, and not on the device, which may only run.
        counts = np.zeros((pixels.shape[1], N_LEVELS), dtype=np.int64)
        for begin in range(0, len(pixels), N_AT_ONCE):
            for own, channel in zip(counts, pixels[begin : begin + N_AT_ONCE].swapaxes(0, 1), strict=True):
                own += np.bincount(channel.reshape(-1), minlength=N_LEVELS)
        shares = counts / counts[0].sum()
        levels = np.arange(N_LEVELS)
        mean = shares @ levels
        variance = (shares * (levels - mean[:, None]) ** 2).sum(axis=1)
        deviation = np.where(variance > 0, np.sqrt(variance), 1.0)
        mean, deviation = (
            torch.tensor(value, dtype=torch.float32, device=device)[:, None, None] for value in (mean, deviation)
        )
        return mean, deviation

    def _kept(self, part: str, device: Device) -> tuple[Tensor | StreamedPixels, Tensor]:
        """The images of a part, as bytes, on the device unless they are too many, and their labels on the device."""

        def moved() -> tuple[Tensor | StreamedPixels, Tensor]:
            images: Images = getattr(self.data, part)
            if not isinstance(images.pixels, np.ndarray):
                pixels: Tensor | StreamedPixels = images.pixels
            elif images.pixels.nbytes > MOST_RESIDENT_BYTES and images.pixels.flags.writeable:
                pixels = torch.from_numpy(images.pixels)
            else:  # a copy: torch must not share memory with an array that may be read-only
                pixels = torch.tensor(images.pixels, device=device)
            return pixels, torch.tensor(images.labels, dtype=torch.int64, device=device)

        return base.remembered(self._memory, part, device, moved)


def _of_each(pixels: Tensor | StreamedPixels, parts: Sequence[Tensor]) -> Iterator[Tensor]:
    """The images of each part of the rows, as bytes."""
    if isinstance(pixels, Tensor):
        return (pixels[rows.to(pixels.device)] for rows in parts)
    return map(torch.from_numpy, pixels.parts(rows.numpy() for rows in parts))
