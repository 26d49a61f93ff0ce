"""Film reviews: the folders of aclImdb and movie_reviews.zip."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.unit.systems.data.review_files import write_archive

from flexibo.systems.data import reviews
from flexibo.systems.data.base import DamagedDataError, MissingDataError, Use


def write_imdb(root: Path, *, n: int = 4, **replaced: bytes) -> Path:
    for part in ("train", "test"):
        for side in ("pos", "neg"):
            (root / part / side).mkdir(parents=True)
            for number in range(n):
                text = replaced.get(f"{part}_{side}_{number}", f"{part} {side} {number}<br />Très bon.".encode())
                (root / part / side / f"{number}_7.txt").write_bytes(text)
    return root


@pytest.mark.parametrize("name", ["aclImdb", ""])
def test_imdb_folders_are_read_with_their_labels(tmp_path: Path, name: str) -> None:
    write_imdb(tmp_path / name, n=11)
    data = reviews.load_imdb(tmp_path)
    assert data.train.labels.tolist() == [0] * 11 + [1] * 11
    assert data.train.texts[10:12] == ("train neg 10\nTrès bon.", "train pos 0\nTrès bon.")
    assert data.test.texts[0] == "test neg 0\nTrès bon."
    assert data.name == "imdb"


def test_only_the_reviews_that_a_limit_chooses_are_read(tmp_path: Path) -> None:
    write_imdb(tmp_path, n=20)
    data = reviews.load_imdb(tmp_path, limit=10)
    assert np.bincount(data.train.labels).tolist() == [5, 5]
    for part in ("neg", "pos"):
        for path in (tmp_path / "train" / part).iterdir():
            if not any(text.startswith(f"train {part} {path.stem.split('_')[0]}\n") for text in data.train.texts):
                path.write_bytes(b"\xff")
    assert reviews.load_imdb(tmp_path, limit=10).fingerprint == data.fingerprint


@pytest.mark.parametrize(
    ("text", "facts"),
    [(b"caf\xe9 bar", r"train.pos.2_7\.txt .*UTF-8.* 3 is 0xe9"), (b" \n", "has no text")],
)
def test_reviews_that_are_no_text_are_refused(tmp_path: Path, text: bytes, facts: str) -> None:
    with pytest.raises(DamagedDataError, match=facts):
        reviews.load_imdb(write_imdb(tmp_path, train_pos_2=text))


def test_missing_and_empty_imdb_folders_are_named(tmp_path: Path) -> None:
    with pytest.raises(MissingDataError, match=f"{tmp_path}: .*folder aclImdb"):
        reviews.load_imdb(tmp_path)
    write_imdb(tmp_path / "aclImdb", n=1)
    (tmp_path / "aclImdb/test/pos/0_7.txt").unlink()
    with pytest.raises(DamagedDataError, match=r"aclImdb/test/pos has no reviews"):
        reviews.load_imdb(tmp_path)
    (tmp_path / "aclImdb/test/pos").rmdir()
    with pytest.raises(MissingDataError, match=f"test/pos is missing .*{tmp_path}/aclImdb"):
        reviews.load_imdb(tmp_path)


@pytest.mark.parametrize("is_archive", [True, False])
def test_what_is_only_run_reads_the_texts_of_its_words_and_a_few_held_out_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_archive: bool
) -> None:
    monkeypatch.setattr(reviews, "N_TO_RUN", 3)
    _ = write_archive(tmp_path) if is_archive else write_imdb(tmp_path)
    load = reviews.load_movie_reviews if is_archive else reviews.load_imdb
    whole, run, encoder = (load(tmp_path, use=use) for use in Use)
    assert (run.train.texts, encoder.train.texts) == (whole.train.texts, ())
    assert run.test.texts == encoder.test.texts == whole.test.texts[:3] != whole.test.texts
    assert run.test.first(5).labels.tolist() == whole.test.labels[:3].tolist()
    for part in (run, encoder):  # how many there are, and the error of guessing, are those of all
        assert part.test.labels.tolist() == whole.test.labels.tolist()
        assert len(part.train) == len(whole.train)


def test_the_archive_is_divided_with_both_labels_in_proportion(tmp_path: Path) -> None:
    data = reviews.load_movie_reviews(write_archive(tmp_path), seed=5)
    assert np.bincount(data.train.labels).tolist() == [8, 8]
    assert np.bincount(data.test.labels).tolist() == [2, 2]
    assert len({*data.train.texts, *data.test.texts}) == 20
    for part in (data.train, data.test):
        assert [text[:3] for text in part.texts] == [reviews.SIDES[label] for label in part.labels]
    assert "20%" in data.note
    assert reviews.load_movie_reviews(tmp_path, seed=5).fingerprint == data.fingerprint
    assert reviews.load_movie_reviews(tmp_path, seed=6).fingerprint != data.fingerprint


def test_a_limit_on_the_archive_keeps_the_test_part_apart(tmp_path: Path) -> None:
    data = reviews.load_movie_reviews(write_archive(tmp_path), limit=4)
    assert np.bincount(data.train.labels).tolist() == [2, 2]
    assert set(data.test.texts) == set(reviews.load_movie_reviews(tmp_path).test.texts)


def test_an_archive_needs_both_kinds_of_reviews_as_utf_8(tmp_path: Path) -> None:
    with pytest.raises(DamagedDataError, match=rf"{reviews.ARCHIVE} .*pos/\*\.txt .*neg/\*\.txt"):
        reviews.load_movie_reviews(write_archive(tmp_path, {"pos/a.txt": b"a"}, n=0))
    with pytest.raises(DamagedDataError, match=r"pos/latin\.txt in .*UTF-8.* 0 is 0xe9"):
        reviews.load_movie_reviews(write_archive(tmp_path, {"pos/latin.txt": b"\xe9t\xe9"}))
