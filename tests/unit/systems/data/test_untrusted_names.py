"""Names that a stranger chose, in archives, folders and tables, forge no line of a message and command no terminal."""

from __future__ import annotations

import gzip
import json
import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from flexibo.errors import FlexiBOError
from flexibo.systems.data import image_folder, reviews, speech, squad
from flexibo.systems.data.base import DamagedDataError, MissingDataError
from flexibo.systems.data.catalogue import find_dataset
from flexibo.systems.recording.columns import MEASURED
from flexibo.systems.recording.table import read_table

EVIL = "a\nflexibo: all is well\x1b[2J\u202e"
ESCAPED = r"a\nflexibo: all is well\x1b[2J\u202e"


def archive(path: Path, **contents: bytes) -> None:
    with zipfile.ZipFile(path, "w") as file:
        for name, content in contents.items():
            file.writestr(name, content)


def bad_review_in_an_archive(folder: Path) -> None:
    sides = [f"{side}/{EVIL}{n}.txt" for side in ("pos", "neg") for n in range(5)]
    archive(folder / "movie_reviews.zip", **dict.fromkeys(sides, b"\xff"))
    reviews.load_movie_reviews(folder)


def large_member_of_an_archive(folder: Path) -> None:
    archive(folder / "movie_reviews.zip", **{f"pos/{EVIL}.txt": bytes(2**26 + 1)})
    reviews.load_movie_reviews(folder)


def bad_review_in_a_folder(folder: Path) -> None:
    for part in ("train/pos", "train/neg", "test/pos", "test/neg"):
        (folder / "aclImdb" / part).mkdir(parents=True)
        (folder / "aclImdb" / part / f"{EVIL}.txt").write_bytes(b"\xff")
    reviews.load_imdb(folder)


def classes_that_differ(folder: Path) -> None:
    for part, name in (("train", "cat"), ("val", EVIL)):
        (folder / part / name).mkdir(parents=True)
        (folder / part / name / "1.png").touch()
    image_folder.load(folder)


def bad_image(folder: Path) -> None:
    for part in ("train", "val"):
        (folder / part / EVIL).mkdir(parents=True)
        (folder / part / EVIL / f"{EVIL}.png").touch()
    image_folder.load(folder)


def bad_recording(folder: Path) -> None:
    archive(folder / "free-spoken-digits.zip", **{f"{EVIL}/1_{n}_{n}.wav": b"RIFF" for n in range(9)})
    speech.load_spoken_digits(folder)


def bad_column(folder: Path) -> None:
    (folder / "clips").mkdir()
    for name in ("train.tsv", "test.tsv"):
        (folder / name).write_bytes(b"path\x1b[2J\tclient\nx\ty\n")
    speech.load_common_voice(folder)


def two_files_of_questions(folder: Path) -> None:
    for name in (EVIL, "b"):
        (folder / f"{name}.json").write_text('{"data": [{"paragraphs": []}]}')
    squad.load(folder)


LOADERS = [
    bad_review_in_an_archive,
    large_member_of_an_archive,
    bad_review_in_a_folder,
    classes_that_differ,
    bad_image,
    bad_recording,
    bad_column,
    two_files_of_questions,
]


@pytest.mark.parametrize("load", LOADERS)
def test_a_message_about_data_is_one_printable_line(tmp_path: Path, load: Callable[[Path], None]) -> None:
    pytest.importorskip("PIL")
    with pytest.raises(FlexiBOError) as caught:
        load(tmp_path)
    assert isinstance(caught.value, DamagedDataError | MissingDataError)
    assert str(caught.value).isprintable(), str(caught.value)
    assert r"\x1b[2J" in str(caught.value)


def test_a_message_of_several_lines_has_no_line_that_a_name_made(tmp_path: Path) -> None:
    for name in (EVIL, "b"):
        (tmp_path / f"{name}.json").write_text('{"data": [{"paragraphs": []}]}')
    with pytest.raises(MissingDataError) as caught:
        find_dataset(["squad", "imdb"], tmp_path)
    lines = str(caught.value).split("\n")
    assert [line.partition(" ")[0] for line in lines] == ["None", "-", "-"]
    assert all(line.isprintable() for line in lines)
    again = pickle.loads(pickle.dumps(caught.value))
    assert (type(again), str(again)) == (MissingDataError, str(caught.value))


def test_a_note_about_data_shows_its_file_escaped(tmp_path: Path) -> None:
    def article(text: str) -> dict[str, object]:
        return {"paragraphs": [{"context": text, "qas": [{"question": "What?", "answers": []}]}]}

    document = {"data": [article("one text"), article("another text")]}
    (tmp_path / f"{EVIL}.json").write_text(json.dumps(document))
    note = squad.load(tmp_path).note
    assert note.startswith(f"The questions of {ESCAPED}.json were divided here")


@pytest.mark.parametrize(
    ("change", "facts"),
    [
        (lambda heading, lines: lines.insert(1, f"x\x1b[2J,batch,{','.join(MEASURED)}"), "has the columns"),
        (lambda heading, lines: heading["values"].update(filters=["\x1b[2J\n"]), "one of"),
        (lambda heading, lines: heading.update(network_options=["x\x1b[2J\n"]), "no table that"),
    ],
)
def test_a_message_about_a_table_is_one_printable_line(
    tmp_path: Path, change: Callable[[dict[str, object], list[str]], None], facts: str
) -> None:
    heading: dict[str, object] = {
        **dict.fromkeys(("system", "date", "meter", "machine"), ""),
        "settings": {"dataset": ""},
        "network_options": ["filters"],
        "deployment_options": ["batch"],
        "values": {"filters": [16], "batch": [1]},
    }
    lines = ["", f"filters,batch,{','.join(MEASURED)}", f"17,1{',1' * len(MEASURED)}"]
    change(heading, lines)
    lines[0] = f"# {json.dumps(heading)}"
    path = tmp_path / "table\n.csv.gz"
    path.write_bytes(gzip.compress("\n".join(lines).encode()))
    with pytest.raises(FlexiBOError, match=facts) as caught:
        read_table(path)
    assert str(caught.value).isprintable()
