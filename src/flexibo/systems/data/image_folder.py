"""Images in folders, one folder per class, as ImageNet is kept: train/CLASS/*.JPEG and val/CLASS/*.JPEG."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from flexibo._internal.arrays import IntArray
from flexibo._internal.machine import cores
from flexibo.errors import missing_extra
from flexibo.systems.data.base import DamagedDataError, Dataset, Images, Pixels
from flexibo.systems.data.files import check_present
from flexibo.systems.data.subsets import chosen, dataset, split

ENDINGS = (".jpeg", ".jpg", ".png")
SIDE = 224
SHARE = 0.2


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
    """The images of train/CLASS and val/CLASS, or of CLASS folders, which are then split; only the chosen are read."""
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
    train = Images(_read(paths, rows, side), labels[rows], classes)
    held_out = Images(_read(test_paths, test_rows, side), test_labels[test_rows], classes)
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


def _read(paths: Sequence[Path], rows: IntArray, side: int) -> Pixels:
    pixels = np.empty((len(rows), 3, side, side), dtype=np.uint8)

    def read(place: int) -> None:
        pixels[place] = read_image(paths[rows[place]], side).transpose(2, 0, 1)

    # Pillow decodes without Python's lock; what cannot be decoded raises its error here. It warns of images so large
    # that they may be an attack on the memory; filters of warnings are those of all threads.
    with warnings.catch_warnings(), ThreadPoolExecutor(cores()) as pool:
        warnings.filterwarnings("error", ".*decompression bomb")
        for _ in pool.map(read, range(len(rows))):
            pass
    return pixels


def read_image(path: Path, side: int) -> Pixels:
    """The middle square (side, side, 3) of an image whose shorter side is scaled to `side` pixels."""
    try:
        from PIL import Image
    except ImportError:
        raise missing_extra("Pillow", "dnn") from None
    try:
        with Image.open(path, formats=("JPEG", "PNG")) as image:
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
