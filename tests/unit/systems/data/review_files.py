"""Files of reviews that several tests write."""

from __future__ import annotations

import zipfile
from pathlib import Path

from flexibo.systems.data import reviews

CONTEXT = "The Normans gave their name to Normandy, a region in France."


def write_archive(folder: Path, extra: dict[str, bytes] | None = None, *, n: int = 10) -> Path:
    files = {f"movie_reviews/{side}/cv{k:03}.txt": f"{side} {k}".encode() for side in ("neg", "pos") for k in range(n)}
    with zipfile.ZipFile(folder / reviews.ARCHIVE, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in (files | {"movie_reviews/README": b"read me"} | (extra or {})).items():
            archive.writestr(name, data)
    return folder
