"""Images: idx files, CIFAR-10's batches and JPEGs, and folders; and what all loaders share."""

from __future__ import annotations

import builtins
import gzip
import io
import pickle
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from flexibo.errors import InvalidTypeError, InvalidValueError, MissingExtraError, UnknownNameError
from flexibo.systems.data import cifar, files, idx, image_folder, subsets
from flexibo.systems.data.base import (
    DamagedDataError,
    Images,
    MissingDataError,
    Question,
    Questions,
    Recordings,
    Reviews,
)

RNG = np.random.default_rng(0)
N, N_TEST = 20, 10
DIGITS = RNG.integers(0, 256, (N + N_TEST, 5, 4), dtype=np.uint8)
LABELS = np.arange(N + N_TEST) % 10


def idx_bytes(values: Any) -> bytes:
    array = np.asarray(values, dtype=np.uint8)
    return struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape) + array.tobytes()


def write_idx(folder: Path, *, mark: str = "-", gz: bool = False, **replaced: bytes) -> Path:
    files = {
        f"train-images{mark}idx3-ubyte": idx_bytes(DIGITS[:N]),
        f"train-labels{mark}idx1-ubyte": idx_bytes(LABELS[:N]),
        f"t10k-images{mark}idx3-ubyte": idx_bytes(DIGITS[N:]),
        f"t10k-labels{mark}idx1-ubyte": idx_bytes(LABELS[N:]),
    }
    for key, data in replaced.items():
        files[next(name for name in files if name.startswith(key.replace("_", "-")))] = data
    for name, data in files.items():
        (folder / (name + ".gz" if gz else name)).write_bytes(gzip.compress(data) if gz else data)
    return folder


@pytest.mark.parametrize("gz", [False, True])
@pytest.mark.parametrize("mark", ["-", "."])
def test_idx_files_are_read_under_each_of_their_usual_names(tmp_path: Path, mark: str, gz: bool) -> None:
    data = idx.load(write_idx(tmp_path, mark=mark, gz=gz))
    assert data.name == "mnist"
    assert np.array_equal(data.train.pixels, DIGITS[:N, None])
    assert np.array_equal(data.test.pixels, DIGITS[N:, None])
    assert data.train.labels.dtype == np.int64
    assert data.train.labels.tolist() == LABELS[:N].tolist()
    assert data.test.labels.tolist() == LABELS[N:].tolist()
    assert data.train.classes[3] == "3"


def test_fashion_has_its_own_classes(tmp_path: Path) -> None:
    data = idx.load(write_idx(tmp_path), name="fashion-mnist")
    assert (data.name, data.train.classes[9], len(data.train.classes)) == ("fashion-mnist", "ankle boot", 10)


def test_a_dataset_that_is_not_published_as_idx_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'mnist'"):
        idx.load(write_idx(tmp_path), name="mnst")


def test_missing_idx_files_are_named(tmp_path: Path) -> None:
    write_idx(tmp_path)
    (tmp_path / "t10k-labels-idx1-ubyte").unlink()
    with pytest.raises(MissingDataError, match="t10k-labels-idx1-ubyte is missing"):
        idx.load(tmp_path)


@pytest.mark.parametrize(("asked", "there"), [("mnist", "fashion-mnist"), ("fashion-mnist", "mnist")])
def test_the_files_of_one_dataset_are_not_taken_for_the_other(tmp_path: Path, asked: str, there: str) -> None:
    first = list(idx.FIRST_LABELS[there])
    write_idx(tmp_path, train_labels=idx_bytes(first + first), gz=True)
    assert idx.missing(tmp_path, name=there) == ""
    with pytest.raises(MissingDataError, match=f"those of {there}"):
        idx.load(tmp_path, name=asked)


@pytest.mark.parametrize(
    ("replaced", "sentence"),
    [
        ({"train_images": idx_bytes(DIGITS[:N])[:-1]}, "20 x 5 x 4 bytes and holds 399; it is cut short"),
        ({"train_images": b"\x00\x00\x08\x03\x00"}, "cut short"),
        ({"train_images": b""}, "begins with nothing"),
        ({"train_images": b"\x00\x00\x0d\x03" + idx_bytes(DIGITS[:N])[4:]}, "begins with 00000d03 .* with 00000803"),
        ({"train_labels": idx_bytes([0] * (N - 1) + [10])}, "has the label 10; labels are from 0 to 9"),
        ({"train_labels": idx_bytes(LABELS[: N - 1])}, "20 images and train-labels-idx1-ubyte 19 labels"),
        ({"t10k_images": idx_bytes(DIGITS[N:, :4])}, "5 x 4 and the test images 4 x 4"),
        ({"train_images": idx_bytes(DIGITS[:0]), "train_labels": idx_bytes([])}, "has no images"),
        ({"train_images": gzip.compress(idx_bytes(DIGITS[:N]))[:-9]}, "middle of its gzip stream"),
        ({"train_images": gzip.compress(idx_bytes(DIGITS[:N]))[:-8] + bytes(8)}, "no whole gzip file"),
    ],
)
def test_damaged_idx_files_are_refused(tmp_path: Path, replaced: dict[str, bytes], sentence: str) -> None:
    write_idx(tmp_path, **replaced)
    with pytest.raises(DamagedDataError, match=sentence):
        idx.load(tmp_path)


def test_a_file_that_unpacks_to_more_than_it_may_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bomb.gz"
    path.write_bytes(gzip.compress(bytes(100_000)))
    assert len(files.content(path, most_bytes=100_000)) == 100_000
    with pytest.raises(DamagedDataError, match="unpacks to more than 99,999 bytes"):
        files.content(path, most_bytes=99_999)
    with pytest.raises(DamagedDataError, match="has more than 10 bytes"):
        files.content(path, most_bytes=10)
    with pytest.raises(MissingDataError, match="cannot be read"):
        files.content(tmp_path / "nothing")


def test_a_limit_keeps_labels_in_proportion_and_a_test_part_of_200() -> None:
    labels, test_labels = np.repeat([0, 1, 2], [600, 300, 100]), np.repeat([0, 1], [400, 100])
    rows, test_rows = subsets.chosen(labels, test_labels, 100, 0)
    assert np.bincount(labels[rows]).tolist() == [60, 30, 10]
    assert np.bincount(test_labels[test_rows]).tolist() == [160, 40]
    assert len(subsets.chosen(labels, test_labels, 800, 0)[1]) == 400
    assert len(subsets.chosen(labels, test_labels[:150], 10, 0)[1]) == 150
    assert np.all(np.diff(rows) > 0)


def test_without_a_limit_or_with_one_that_is_not_reached_all_rows_are_used() -> None:
    for limit in (None, 3, 4):
        rows, test_rows = subsets.chosen(np.zeros(3), np.zeros(2), limit, 0)
        assert (rows.tolist(), test_rows.tolist()) == ([0, 1, 2], [0, 1])


def test_the_seed_chooses_the_rows_and_a_larger_limit_keeps_those_of_a_smaller_one() -> None:
    labels = np.arange(1000) % 10
    few, more, other = (subsets.chosen(labels, labels, limit, seed)[0] for limit, seed in ((50, 1), (100, 1), (50, 2)))
    assert set(few) < set(more)
    assert few.tolist() == subsets.chosen(labels, labels, 50, 1)[0].tolist()
    assert set(few) != set(other)


def test_rows_that_do_not_divide_evenly_are_as_many_as_asked() -> None:
    for n in range(1, 11):
        assert len(set(subsets.stratified(np.array([0, 0, 0, 1, 1, 1, 2, 2, 2, 3]), n, np.random.default_rng(0)))) == n


@pytest.mark.parametrize(
    ("limit", "error"), [(0, InvalidValueError), (1.5, InvalidTypeError), (True, InvalidTypeError)]
)
def test_a_limit_that_is_no_positive_whole_number_is_refused(tmp_path: Path, limit: Any, error: type) -> None:
    with pytest.raises(error, match=f"The limit is {limit}"):
        idx.load(write_idx(tmp_path), limit=limit)


def test_a_limit_takes_pixels_and_labels_of_the_same_rows(tmp_path: Path) -> None:
    data = idx.load(write_idx(tmp_path), limit=10)
    assert sorted(data.train.labels) == list(range(10))
    for pixels, label in zip(data.train.pixels, data.train.labels, strict=True):
        at = next(row for row in range(N) if np.array_equal(DIGITS[row], pixels[0]))
        assert LABELS[at] == label


def images(change: int = 0, label: int = 1, classes: tuple[str, ...] = ("a", "b")) -> Images:
    return Images(np.array([change], dtype=np.uint8).reshape(1, 1, 1, 1), np.array([label]), classes)


def recordings(rate: int = 8, word: str = "one", sample: float = 0.5) -> Recordings:
    return Recordings((np.array([sample], dtype=np.float32),), rate, (word,))


def question(context: str = "c", asked: str = "q", answers: tuple[tuple[int, str], ...] = ()) -> Questions:
    return Questions((Question(context, asked, answers),))


def test_a_fingerprint_is_twelve_digits_that_change_with_every_part_of_the_examples() -> None:
    zero, one = np.array([0]), np.array([1])
    parts = [
        *(images(), images(change=1), images(label=0), images(classes=("a", "c"))),
        *(Reviews(("ab", "c"), np.array([0, 1])), Reviews(("a", "bc"), np.array([0, 1]))),
        *(Reviews(("a",), zero), Reviews(("a",), one)),
        *(question(), question("d"), question(asked="d"), question(answers=((0, "c"),)), question(answers=((1, "c"),))),
        *(recordings(), recordings(rate=9), recordings(word="two"), recordings(sample=0.25)),
    ]
    prints = [subsets.fingerprint(part) for part in parts]
    assert len(set(prints)) == len(parts)
    assert all(len(one) == 12 and int(one, 16) >= 0 for one in prints)
    assert subsets.fingerprint(images(), images(1)) != subsets.fingerprint(images(1), images())
    assert subsets.fingerprint(images()) == prints[0]


def test_the_same_files_have_the_same_fingerprint_and_other_rows_another(tmp_path: Path) -> None:
    folder = write_idx(tmp_path)
    assert idx.load(folder).fingerprint == idx.load(folder).fingerprint != idx.load(folder, limit=10).fingerprint


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
    ("batch", "sentence"),
    [
        (pickle.dumps({"data": Malice()}, protocol=2), "it calls __builtin__ exec"),
        (pickle.dumps({"data": Malice()}, protocol=4), "it has the step"),
        (python2_batch(FLAT, [3, 9], maker="scalar"), "it calls numpy.core.multiarray scalar"),
        (python2_batch(FLAT, [3, 9], kind="O8"), "array that is not of bytes"),
        (python2_batch(FLAT, [3, 9]).replace(b"\x89T", b"\x88T"), "not plain bytes, row by row"),
        (python2_batch(FLAT[:1], [3, 9]), "3,072 bytes do not fit its shape"),
        (python2_batch(FLAT, [3, 9])[:3000], "cut short"),
        (python2_batch(FLAT, [3, 10]), "labels from 3 to 10; they are from 0 to 9"),
        (b"\x80\x02e.", "an end without a beginning"),
        (b"\x80\x02\x85", "cut short"),
        (b"", "cut short"),
        (pickle.dumps({"labels": [1]}, protocol=2), "it has no data and labels"),
        (pickle.dumps({"data": FLAT, "labels": [True, False]}, protocol=3), "list of whole numbers"),
        (pickle.dumps({"data": FLAT, "labels": []}, protocol=3), "list of whole numbers"),
        (pickle.dumps({"data": FLAT, "labels": [1]}, protocol=3), r"shape \(2, 3072\) and 1 labels"),
        (pickle.dumps({(1, 2): 3}, protocol=2), "a tuple where a bytes belongs"),
    ],
)
def test_pickles_that_are_no_batch_are_refused_and_never_run(tmp_path: Path, batch: bytes, sentence: str) -> None:
    write_batches(tmp_path, data_batch_3=batch)
    with pytest.raises(DamagedDataError, match=f"data_batch_3 .*{sentence}"):
        cifar.load(tmp_path)


@pytest.mark.parametrize(
    ("batch", "sentence"),
    [(bytes(3072), "3,072 bytes, .* cut short"), (b"", "0 bytes"), (b"\x0a" + bytes(3072), "has the label 10")],
)
def test_damaged_binary_batches_are_refused(tmp_path: Path, batch: bytes, sentence: str) -> None:
    write_batches(tmp_path, binary=True, test_batch=batch)
    with pytest.raises(DamagedDataError, match=sentence):
        cifar.load(tmp_path)


def test_a_missing_batch_is_named(tmp_path: Path) -> None:
    write_batches(tmp_path)
    (tmp_path / "cifar-10-batches-py" / "data_batch_4").unlink()
    with pytest.raises(MissingDataError, match="data_batch_4 is missing in cifar-10-batches-py"):
        cifar.load(tmp_path)
    with pytest.raises(MissingDataError, match="one of them is enough"):
        cifar.load(tmp_path / "elsewhere")


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
    ("replaced", "sentence"),
    [
        ({"classes": np.array([{"a": 1}], dtype=object)}, "no npz file of plain arrays"),
        ({"label": None}, "lacks an array"),
        ({"label": np.array([0, 10])}, "has the label 10; labels are from 0 to 9"),
        ({"label": np.array([0, -1])}, "has the label -1"),
        ({"label": np.array([0.0, 1.0])}, "whole numbers"),
        ({"label": np.array([0])}, "1 labels, 2 marks and 3 offsets"),
        ({"offset": np.array([0, 900_000, 1])}, "do not ascend"),
        ({"offset": np.array([0, 1, 900_000])}, "do not ascend"),
        ({"offset": np.array([-1, 1, 2])}, "do not ascend"),
        ({"is_test": np.array([True, True])}, "training and test images"),
        ({"is_test": np.array([1, 0])}, "is_test as truths"),
        ({"classes": np.array(["cat", "dog"])}, "other classes"),
    ],
)
def test_npz_files_that_are_not_as_they_should_be_are_refused(
    tmp_path: Path, replaced: dict[str, Any], sentence: str
) -> None:
    npz(tmp_path, [jpeg_bytes(RED), jpeg_bytes(GREEN)], **replaced)
    with pytest.raises(DamagedDataError, match=sentence):
        cifar.load(tmp_path)


def test_damaged_npz_files_are_refused(tmp_path: Path) -> None:
    path = npz(tmp_path, [jpeg_bytes(RED), jpeg_bytes(GREEN)]) / cifar.JPEG_FILE
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(DamagedDataError, match="cut short or damaged"):
        cifar.load(tmp_path)


def test_npz_files_that_claim_an_absurd_size_are_refused_before_they_are_unpacked(tmp_path: Path) -> None:
    path = npz(tmp_path, [jpeg_bytes(RED), jpeg_bytes(GREEN)]) / cifar.JPEG_FILE
    claim_size(path, 2**32 - 2)
    with pytest.raises(DamagedDataError, match="says that it unpacks to"):
        cifar.load(tmp_path)


def claim_size(path: Path, size: int) -> None:
    """Make the directory of a zip archive say that its first file has this size."""
    data = bytearray(path.read_bytes())
    at = data.index(b"PK\x01\x02")
    data[at + 24 : at + 28] = struct.pack("<I", size)
    path.write_bytes(data)


@pytest.mark.parametrize(
    ("photo", "sentence"),
    [
        (b"\xff\xd8\xff\xe0 no jpeg", "Image 1 .* cannot be decoded"),
        (jpeg_bytes(RED)[:400], "Image 1 .* cannot be decoded"),
        (jpeg_bytes(RED, (32, 31)), "Image 1 .* is 32 x 31 pixels"),
    ],
)
def test_corrupt_jpegs_are_named(tmp_path: Path, photo: bytes, sentence: str) -> None:
    npz(tmp_path, [jpeg_bytes(RED), photo])
    with pytest.raises(DamagedDataError, match=sentence):
        cifar.load(tmp_path)


def without(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def refusing(name: str, *rest: Any) -> Any:
        if name.split(".")[0] == package:
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", refusing)


def test_without_pillow_the_extra_to_install_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    npz(tmp_path, [jpeg_bytes(RED), jpeg_bytes(GREEN)])
    tree(tmp_path, {"train/a": 1, "train/b": 1, "val/a": 1, "val/b": 1})
    without("PIL", monkeypatch)
    for load in (cifar.load, image_folder.load):
        with pytest.raises(MissingExtraError, match=r"Pillow.*flexibo\[dnn\]"):
            load(tmp_path)


def tree(root: Path, counts: dict[str, int]) -> Path:
    for place, many in counts.items():
        (root / place).mkdir(parents=True, exist_ok=True)
        for number in range(many):
            shade = sum(map(ord, place)) % 200
            (root / place / f"image_{number}.JPEG").write_bytes(jpeg_bytes((shade, 20 * number, 0), (48, 32)))
    return root


def test_classes_are_in_natural_order_and_both_parts_are_read(tmp_path: Path) -> None:
    tree(tmp_path, {"train/n10": 1, "train/n9": 2, "val/n10": 1, "val/n9": 1, "train/.hidden": 1})
    data = image_folder.load(tmp_path, side=8)
    assert data.train.classes == ("n9", "n10")
    assert data.train.labels.tolist() == [0, 0, 1]
    assert data.test.labels.tolist() == [0, 1]
    assert data.train.pixels.shape == (3, 3, 8, 8)
    assert (data.name, data.note) == ("imagenet", "")


def test_the_middle_square_is_kept_and_brought_to_the_side(tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    pixels = np.zeros((60, 100, 3), dtype=np.uint8)
    pixels[:, :20], pixels[:, 20:80, 1], pixels[:, 80:] = (255, 0, 0), 255, (0, 0, 255)
    for shape, path in ((pixels, tmp_path / "wide.png"), (pixels.transpose(1, 0, 2), tmp_path / "high.PNG")):
        image.fromarray(np.ascontiguousarray(shape)).save(path)
        cut = image_folder.read_image(path, 20)
        assert cut.shape == (20, 20, 3)
        assert np.all(cut[1:-1, 1:-1] == (0, 255, 0))
        assert np.all(cut[..., 1] > 200)  # the outermost pixels blend with their neighbours beyond the cut


def test_grey_images_get_three_channels(tmp_path: Path) -> None:
    (tmp_path / "grey.jpg").write_bytes(jpeg_bytes((90, 90, 90), (40, 40), mode="L"))
    assert np.all(np.abs(image_folder.read_image(tmp_path / "grey.jpg", 8).astype(int) - 90) < 3)


def test_one_tree_is_divided_in_proportion_and_says_so(tmp_path: Path) -> None:
    tree(tmp_path, {"cats": 10, "dogs": 5})
    data = image_folder.load(tmp_path, side=4, share=0.2, seed=3)
    assert np.bincount(data.train.labels).tolist() == [8, 4]
    assert np.bincount(data.test.labels).tolist() == [2, 1]
    assert "20% of each class" in data.note
    together = np.concatenate([data.train.pixels, data.test.pixels]).reshape(15, -1)
    assert len(np.unique(together, axis=0)) == 15
    assert image_folder.load(tmp_path, side=4, share=0.2, seed=4).fingerprint != data.fingerprint


def test_images_beyond_the_number_per_class_or_the_limit_are_not_read(tmp_path: Path) -> None:
    tree(tmp_path, {"train/a": 3, "train/b": 3, "val/a": 2, "val/b": 2})
    (tmp_path / "train/b/image_2.JPEG").write_bytes(b"none")
    data = image_folder.load(tmp_path, side=4, per_class=2)
    assert data.train.labels.tolist() == [0, 0, 1, 1]
    assert data.test.labels.tolist() == [0, 0, 1, 1]
    assert image_folder.load(tmp_path, side=4, per_class=2, limit=2).train.labels.tolist() == [0, 1]
    with pytest.raises(DamagedDataError, match=r"image_2\.JPEG cannot be decoded"):
        image_folder.load(tmp_path, side=4)


def test_an_image_that_claims_to_be_enormous_is_refused(tmp_path: Path) -> None:
    data = bytearray(jpeg_bytes(RED))
    at = data.index(b"\xff\xc0") + 5
    data[at : at + 4] = struct.pack(">HH", 12_000, 12_000)
    (tmp_path / "large.jpg").write_bytes(data)
    with pytest.raises(DamagedDataError, match="larger than any photograph"):
        image_folder.read_image(tmp_path / "large.jpg", 8)


@pytest.mark.parametrize(
    ("counts", "error", "sentence"),
    [
        ({"train/a": 1, "train/b": 0, "val/a": 1, "val/b": 1}, DamagedDataError, "train/b has no image"),
        ({"train/a": 1, "train/b": 1, "val/a": 1}, DamagedDataError, "do not have the same classes: b"),
        ({"train/a": 1}, MissingDataError, "the folder val is missing"),
        ({"train/a": 1, "val": 2}, MissingDataError, "the folder val has no folder per class"),
        ({"a": 1, "b": 0}, MissingDataError, "train/CLASS"),
        ({}, MissingDataError, "train/CLASS"),
    ],
)
def test_folders_that_are_not_as_they_should_be_are_refused(
    tmp_path: Path, counts: dict[str, int], error: type, sentence: str
) -> None:
    with pytest.raises(error, match=sentence):
        image_folder.load(tree(tmp_path, counts), side=4)


@pytest.mark.parametrize(
    ("choice", "sentence"), [({"side": 0}, "side is 0"), ({"per_class": 0}, "per class is 0"), ({"share": 1}, "share")]
)
def test_choices_out_of_range_are_refused(tmp_path: Path, choice: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InvalidValueError, match=sentence):
        image_folder.load(tmp_path, **choice)
