"""CIFAR-10 is read from each of its layouts, and no pickle is run."""

from __future__ import annotations

import io
import pickle
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.unit.systems.data.image_files import BLUE, GREEN, RED, RNG, jpeg_bytes, npz

from flexibo.systems.data import cifar
from flexibo.systems.data.base import (
    DamagedDataError,
    MissingDataError,
)

PHOTOS = RNG.integers(0, 256, (12, 3, 32, 32), dtype=np.uint8)


PHOTO_LABELS = [3, 9, 0, 1, 2, 4, 5, 6, 7, 8, 3, 9]


def short(text: str) -> bytes:
    return b"U" + bytes([len(text)]) + text.encode()


def python2_batch(pixels: np.ndarray, labels: list[int], *, kind: str = "u1", maker: str = "_reconstruct") -> bytes:
    """A batch as Python 2 pickled it: protocol 2, all text as bytes."""
    data = pixels.tobytes()
    state = b"(K\x01" + b"".join(b"M" + struct.pack("<H", n) for n in (len(labels), 3072)) + b"\x86q\x0a"
    dtype = b"cnumpy\ndtype\nq\x0b" + short(kind) + b"K\x00K\x01\x87Rq\x0c(K\x03" + short("|")
    dtype += b"NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb"
    content = b"\x89T" + struct.pack("<I", len(data)) + data + b"tb"
    array = f"cnumpy.core.multiarray\n{maker}\nq\x07".encode() + b"cnumpy\nndarray\nq\x08K\x00\x85" + short("b")
    names = b"](" + b"".join(short(f"photo_{row}.png") for row in range(len(labels))) + b"e"
    numbers = b"]q\x05(" + b"".join(b"K" + bytes([label]) for label in labels) + b"e"
    return b"".join(
        (
            *(b"\x80\x02}q\x01(", short("batch_label"), b"q\x02", short("training batch 1 of 5"), b"q\x03"),
            *(short("labels"), b"q\x04", numbers, short("data"), b"q\x06", array, b"\x87Rq\x09", state, dtype, content),
            *(short("filenames"), b"q\x0d", names, b"u."),
        )
    )


def write_batches(folder: Path, *, binary: bool = False, **replaced: bytes) -> Path:
    for number, name in enumerate(cifar.BATCHES):
        rows = slice(2 * number, 2 * number + 2)
        flat = PHOTOS[rows].reshape(2, -1)
        labels = PHOTO_LABELS[rows]
        data = b"".join(bytes([label]) + row.tobytes() for label, row in zip(labels, flat, strict=True))
        if not binary:
            data = python2_batch(flat, labels)
        place = folder / ("cifar-10-batches-bin" if binary else "cifar-10-batches-py")
        place.mkdir(exist_ok=True)
        (place / (name + ".bin" if binary else name)).write_bytes(replaced.get(name, data))
    return folder


@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.parametrize("inside", [False, True])
def test_batches_are_read_from_their_folder_or_the_one_above(tmp_path: Path, binary: bool, inside: bool) -> None:
    folder = write_batches(tmp_path, binary=binary)
    data = cifar.load(next(folder.iterdir()) if inside else folder)
    assert (data.name, data.note, data.train.classes[3]) == ("cifar-10", "", "cat")
    assert np.array_equal(data.train.pixels, PHOTOS[:10])
    assert np.array_equal(data.test.pixels, PHOTOS[10:])
    assert data.train.labels.tolist() == PHOTO_LABELS[:10]
    assert data.test.labels.tolist() == PHOTO_LABELS[10:]


def test_pickles_that_python_3_wrote_of_the_same_content_are_read(tmp_path: Path) -> None:
    again = pickle.dumps({"data": PHOTOS[:2].reshape(2, -1), "labels": PHOTO_LABELS[:2]}, protocol=3)
    data = cifar.load(write_batches(tmp_path, data_batch_1=again))
    assert np.array_equal(data.train.pixels[:2], PHOTOS[:2])


class Malice:
    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return exec, ("raise SystemExit('the pickle was run')",)


FLAT = PHOTOS[:2].reshape(2, -1)


@pytest.mark.parametrize(
    ("batch", "facts"),
    [
        (pickle.dumps({"data": Malice()}, protocol=2), r"__builtin__\.exec"),
        (pickle.dumps({"data": Malice()}, protocol=4), r" builtins\.exec"),
        (python2_batch(FLAT, [3, 9], maker="fromfile"), r"numpy\.core\.multiarray\.fromfile"),
        (python2_batch(FLAT, [3, 9], kind="O8"), "array of kind"),
        (python2_batch(FLAT[:1], [3, 9]), "with 3,072 bytes"),
        (python2_batch(FLAT, [3, 9])[:3000], "cut short"),
        (python2_batch(FLAT, [3, 10]), "from 3 to 10; .*from 0 to 9"),
        (b"\x80\x02e.", "cut short"),
        (b"\x80\x02\x85", "cut short"),
        (b"", "cut short"),
        (pickle.dumps({"labels": [1]}, protocol=2), "no data and labels"),
        (pickle.dumps({"data": FLAT, "labels": [True, False]}, protocol=3), "whole numbers as labels"),
        (pickle.dumps({"data": FLAT, "labels": []}, protocol=3), "whole numbers as labels"),
        (pickle.dumps({"data": FLAT.astype(float), "labels": [1, 2]}, protocol=3), "3,072 bytes"),
        (pickle.dumps({"data": FLAT, "labels": [1]}, protocol=3), r"shape \(2, 3072\) and 1 labels"),
        (pickle.dumps({(1, 2): 3}, protocol=2), "no data and labels"),
    ],
)
def test_pickles_that_are_no_batch_are_refused_and_never_run(tmp_path: Path, batch: bytes, facts: str) -> None:
    write_batches(tmp_path, data_batch_3=batch)
    with pytest.raises(DamagedDataError, match=f"data_batch_3 .*{facts}"):
        cifar.load(tmp_path)


@pytest.mark.parametrize(
    ("batch", "facts"),
    [(bytes(3072), "3,072 bytes, .* cut short"), (b"", "0 bytes"), (b"\x0a" + bytes(3072), "has the label 10")],
)
def test_damaged_binary_batches_are_refused(tmp_path: Path, batch: bytes, facts: str) -> None:
    write_batches(tmp_path, binary=True, test_batch=batch)
    with pytest.raises(DamagedDataError, match=facts):
        cifar.load(tmp_path)


def test_a_missing_batch_is_named(tmp_path: Path) -> None:
    write_batches(tmp_path)
    (tmp_path / "cifar-10-batches-py" / "data_batch_4").unlink()
    with pytest.raises(MissingDataError, match=r"data_batch_4 .*missing.* cifar-10-batches-py"):
        cifar.load(tmp_path)
    with pytest.raises(MissingDataError, match=f"{tmp_path}/elsewhere: ") as caught:
        cifar.load(tmp_path / "elsewhere")
    assert all(form in str(caught.value) for form in ("cifar-10-batches-py", "cifar-10-batches-bin", cifar.JPEG_FILE))


def test_jpegs_are_decoded_and_the_note_says_that_they_are_lossy(tmp_path: Path) -> None:
    photos = [jpeg_bytes(RED), jpeg_bytes(GREEN), jpeg_bytes(BLUE), jpeg_bytes(GREEN, mode="L")]
    data = cifar.load(npz(tmp_path, photos))
    assert "lossy" in data.note
    assert data.train.pixels.shape == (2, 3, 32, 32)
    assert data.train.labels.tolist() == [0, 2]
    assert data.test.labels.tolist() == [1, 3]
    for pixels, colour in zip([*data.train.pixels, data.test.pixels[0]], [RED, BLUE, GREEN], strict=True):
        assert np.abs(pixels.astype(int) - np.array(colour)[:, None, None]).max() < 5


def test_decoded_images_are_the_right_way_up(tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    pixels = np.zeros((32, 32, 3), dtype=np.uint8)
    pixels[:16] = 255  # white above, black below
    out = io.BytesIO()
    image.fromarray(pixels).save(out, "JPEG")
    data = cifar.load(npz(tmp_path, [out.getvalue(), jpeg_bytes(RED)]))
    assert data.train.pixels[0, :, :12].min() > 200
    assert data.train.pixels[0, :, 20:].max() < 50


def test_only_the_jpegs_that_a_limit_chooses_are_decoded(tmp_path: Path) -> None:
    npz(tmp_path, [b"none", jpeg_bytes(RED), b"none"], label=np.array([0, 0, 1]))
    with pytest.raises(DamagedDataError, match="Image 0 "):
        cifar.load(tmp_path)
    npz(tmp_path, [jpeg_bytes(RED), jpeg_bytes(RED), b"none"], label=np.array([0, 0, 1]))
    assert cifar.load(tmp_path, limit=1).train.labels.tolist() == [0]


def test_batches_are_preferred_to_jpegs(tmp_path: Path) -> None:
    npz(write_batches(tmp_path), [b"none", b"none"])
    assert np.array_equal(cifar.load(tmp_path).train.pixels, PHOTOS[:10])


@pytest.mark.parametrize(
    ("replaced", "facts"),
    [
        ({"classes": np.array([{"a": 1}], dtype=object)}, "no npz file"),
        ({"label": None}, "lacks an array"),
        ({"label": np.array([0, 10])}, "label 10; .*0 to 9"),
        ({"label": np.array([0, -1])}, "has the label -1"),
        ({"label": np.array([0.0, 1.0])}, "label as integers"),
        ({"label": np.array([0])}, "1 labels, 2 marks .*3 offsets"),
        ({"offset": np.array([0, 900_000, 1])}, "do not ascend"),
        ({"offset": np.array([0, 1, 900_000])}, "do not ascend"),
        ({"offset": np.array([-1, 1, 2])}, "do not ascend"),
        ({"is_test": np.array([True, True])}, "test images"),
        ({"is_test": np.array([1, 0])}, "is_test .*booleans"),
        ({"classes": np.array(["cat", "dog"])}, "other classes"),
    ],
)
def test_npz_files_that_are_not_as_they_should_be_are_refused(
    tmp_path: Path, replaced: dict[str, Any], facts: str
) -> None:
    npz(tmp_path, [jpeg_bytes(RED), jpeg_bytes(GREEN)], **replaced)
    with pytest.raises(DamagedDataError, match=facts):
        cifar.load(tmp_path)


def test_damaged_npz_files_are_refused(tmp_path: Path) -> None:
    path = npz(tmp_path, [jpeg_bytes(RED), jpeg_bytes(GREEN)]) / cifar.JPEG_FILE
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(DamagedDataError, match=f"{path} .*damaged"):
        cifar.load(tmp_path)


def test_npz_files_that_claim_an_absurd_size_are_refused_before_they_are_unpacked(tmp_path: Path) -> None:
    path = npz(tmp_path, [jpeg_bytes(RED), jpeg_bytes(GREEN)]) / cifar.JPEG_FILE
    claim_size(path, 2**32 - 2)
    with pytest.raises(DamagedDataError, match=r"unpack to [\d,]+ bytes"):
        cifar.load(tmp_path)


def claim_size(path: Path, size: int) -> None:
    """Make the directory of a zip archive say that its first file has this size."""
    data = bytearray(path.read_bytes())
    at = data.index(b"PK\x01\x02")
    data[at + 24 : at + 28] = struct.pack("<I", size)
    path.write_bytes(data)


@pytest.mark.parametrize(
    ("photo", "facts"),
    [
        (b"\xff\xd8\xff\xe0 no jpeg", "Image 1 .*decoded as JPEG"),
        (jpeg_bytes(RED)[:400], "Image 1 .*decoded as JPEG"),
        (jpeg_bytes(RED, (32, 31)), "Image 1 .* is 32 x 31 pixels"),
    ],
)
def test_corrupt_jpegs_are_named(tmp_path: Path, photo: bytes, facts: str) -> None:
    npz(tmp_path, [jpeg_bytes(RED), photo])
    with pytest.raises(DamagedDataError, match=facts):
        cifar.load(tmp_path)
