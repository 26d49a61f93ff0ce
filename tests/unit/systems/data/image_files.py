"""Image files that several tests write."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from flexibo.systems.data import cifar

RNG = np.random.default_rng(0)


def jpeg_bytes(colour: tuple[int, int, int], size: tuple[int, int] = (32, 32), mode: str = "RGB") -> bytes:
    image = pytest.importorskip("PIL.Image")
    out = io.BytesIO()
    image.new("RGB", size, colour).convert(mode).save(out, "JPEG")
    return out.getvalue()


def npz(folder: Path, photos: list[bytes], **replaced: Any) -> Path:
    arrays = {
        "jpeg": np.frombuffer(b"".join(photos), dtype=np.uint8),
        "offset": np.cumsum([0, *map(len, photos)]),
        "label": np.arange(len(photos), dtype=np.uint8),
        "is_test": np.arange(len(photos)) % 2 == 1,
        "classes": np.array(cifar.CLASSES),
    } | replaced
    np.savez_compressed(folder / cifar.JPEG_FILE, **{key: value for key, value in arrays.items() if value is not None})
    return folder


RED, GREEN, BLUE = (255, 0, 0), (0, 255, 0), (0, 0, 255)
