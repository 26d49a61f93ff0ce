"""Images in folders, one folder per class, as ImageNet is kept: train/CLASS/*.JPEG and val/CLASS/*.JPEG.

Images are decoded into memory, by a thread per core. If they need more than a quarter of it, as those of ImageNet
(193 GB at 224 x 224 pixels), they are decoded batch by batch whenever they are used, the next batch during the present
one. Both have the same pixels and fingerprint, so the same trained networks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from flexibo._internal.arrays import IntArray
from flexibo._internal.machine import cores, memory_bytes
from flexibo.errors import missing_extra
from flexibo.systems.data.base import DamagedDataError, Dataset, Images, Pixels, StreamedPixels
from flexibo.systems.data.files import check_present
from flexibo.systems.data.subsets import chosen, dataset, split

ENDINGS = (".jpeg", ".jpg", ".png")
SIDE = 224
SHARE = 0.2
MOST_PIXELS = 89_478_485  # of one image; Pillow only warns of more
MOST_MEMORY = 0.25  # the share of the memory that decoded images may take


def missing(folder: Path) -> str:
    """What is missing to load images from a folder, as a clause; empty if nothing is."""
    parts = [folder / "train", folder / "val"]
    if any(part.is_dir() for part in parts):
        for part in parts:
            if not part.is_dir():
                return f"the folder {part.name} is missing"
            if not _folders(part):
                return f"the folder {part.name} has no folder per class"
        return ""
    if sum(any(map(_is_image, one.iterdir())) for one in _folders(folder)) >= 2:
        return ""
    return "train/CLASS/*.JPEG and val/CLASS/*.JPEG are missing"


def load(folder: Path, *, side: int = SIDE, limit: int | None = None, seed: int = 0) -> Dataset[Images]:
    """The images of train/CLASS and val/CLASS, or of CLASS folders, which are then split; only the chosen are read.

    All of them are decoded once, for the fingerprint.
    """
    check_present("imagenet", folder, missing(folder))
    is_divided = (folder / "train").is_dir()
    classes, paths, labels = _listed(folder / "train" if is_divided else folder)
    if is_divided:
        test_classes, test_paths, test_labels = _listed(folder / "val")
        if test_classes != classes:
            odd = sorted(set(classes) ^ set(test_classes))
            raise DamagedDataError(f"The folders train and val in {folder} do not have the same classes: {odd[0]} ...")
    else:
        rest, test = split(labels, SHARE, seed)
        test_paths, test_labels = [paths[row] for row in test], labels[test]
        paths, labels = [paths[row] for row in rest], labels[rest]
    rows, test_rows = chosen(labels, test_labels, limit, seed)
    is_streamed = (len(rows) + len(test_rows)) * 3 * side**2 > MOST_MEMORY * memory_bytes()
    parts = (
        FolderPixels([paths[row] for row in rows], side),
        FolderPixels([test_paths[row] for row in test_rows], side),
    )
    pixels: list[Pixels | StreamedPixels] = [part if is_streamed else part[:] for part in parts]
    train = Images(pixels[0], labels[rows], classes)
    held_out = Images(pixels[1], test_labels[test_rows], classes)
    note = "" if is_divided else f"The images were divided here: {SHARE:.0%} of each class are for testing."
    return dataset("imagenet", train, held_out, note)


def _natural(path: Path) -> tuple[Any, ...]:
    """A sort key that puts class2 before class10."""
    parts = re.split(r"(\d+)", path.name)
    return tuple(int(part) if place % 2 else part for place, part in enumerate(parts)), path.name


def _folders(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    return sorted((one for one in folder.iterdir() if one.is_dir() and not one.name.startswith(".")), key=_natural)


def _is_image(path: Path) -> bool:
    return path.suffix.lower() in ENDINGS and not path.name.startswith(".")


def _listed(folder: Path) -> tuple[tuple[str, ...], list[Path], IntArray]:
    """The classes, the images and their labels."""
    classes, paths, labels = [], [], []
    for label, one in enumerate(_folders(folder)):
        images = sorted(filter(_is_image, one.iterdir()), key=_natural)
        if not images:
            raise DamagedDataError(f"The class folder {one} has no image ({', '.join(ENDINGS)}); fill or remove it.")
        classes.append(one.name)
        paths += images
        labels += [label] * len(images)
    return tuple(classes), paths, np.array(labels, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class FolderPixels:
    """Image files as pixels (m, 3, side, side), which are decoded when they are asked for."""

    paths: Sequence[Path]
    side: int

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """Of all images together."""
        return len(self.paths), 3, self.side, self.side

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, rows: slice | IntArray) -> Pixels:
        (found,) = self.parts([np.arange(len(self))[rows]])
        return found

    def parts(self, rows: Iterable[IntArray]) -> Iterator[Pixels]:
        """The images of each part of the rows; the next part is decoded while the caller uses one."""
        pool = ThreadPoolExecutor(cores())  # Pillow decodes without Python's lock
        try:
            before: _Decoding | None = None
            for some in rows:
                now = self._begun(pool, some)
                if before is not None:
                    yield _decoded(before)
                before = now
            if before is not None:
                yield _decoded(before)
        finally:  # what is not begun of the next part is not waited for: a training may have been stopped
            pool.shutdown(cancel_futures=True)

    def _begun(self, pool: ThreadPoolExecutor, rows: IntArray) -> _Decoding:
        pixels = np.empty((len(rows), *self.shape[1:]), dtype=np.uint8)

        def read(place: int) -> None:
            pixels[place] = read_image(self.paths[rows[place]], self.side).transpose(2, 0, 1)

        return pixels, [pool.submit(read, place) for place in range(len(rows))]


_Decoding: TypeAlias = tuple[Pixels, list[Future[None]]]  # images, and what decodes each


def _decoded(decoding: _Decoding) -> Pixels:
    """Images once all are decoded; what cannot be decoded raises its error here."""
    pixels, futures = decoding
    for one in futures:
        one.result()
    return pixels


def read_image(path: Path, side: int) -> Pixels:
    """The middle square (side, side, 3) of an image whose shorter side is scaled to `side` pixels."""
    try:
        from PIL import Image
    except ImportError:
        raise missing_extra("Pillow", "dnn") from None
    try:
        with Image.open(path, formats=("JPEG", "PNG")) as image:
            if image.width * image.height > MOST_PIXELS:
                raise Image.DecompressionBombError
            image.draft("RGB", (side, side))  # lets a JPEG decoder skip detail that is not needed
            width, height = image.size
            square = min(width, height)
            left, top = (width - square) / 2, (height - square) / 2
            whole = image.convert("RGB")
            cut = whole.resize((side, side), Image.Resampling.BILINEAR, (left, top, left + square, top + square))
            return np.asarray(cut)
    except (Image.DecompressionBombWarning, Image.DecompressionBombError) as error:
        raise DamagedDataError(f"{path} claims to be larger than any photograph; remove it.") from error
    except (OSError, SyntaxError, ValueError) as error:
        raise DamagedDataError(f"{path} cannot be decoded as an image; fetch it again or remove it.") from error
