"""Limits of a study file: what is too large is a sentence, and takes neither memory nor time."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from flexibo.studyfile import read_study_file
from flexibo.studyfile.mistakes import Mistakes, Position, StudyFileError, nearest

Refused = Callable[[str], str]
OBJECTIVES = "objectives: {a: {command: echo 1}, b: {command: echo 1}}\n"


@pytest.fixture
def refused(tmp_path: Path) -> Refused:
    """What is said of a text that is no study file."""

    def read(text: str) -> str:
        (tmp_path / "study.yaml").write_text(text)
        with pytest.raises(StudyFileError) as caught:
            read_study_file(tmp_path / "study.yaml")
        return str(caught.value)

    return read


@pytest.mark.parametrize(("key", "most"), [("n_initial", 100_000), ("candidates", 1_000_000), ("seed", 2**128 - 1)])
def test_a_number_that_no_study_needs_is_a_mistake(refused: Refused, tmp_path: Path, key: str, most: int) -> None:
    said = refused(f"options: {{x: [1, 2, 3]}}\n{key}: {most + 1}\n{OBJECTIVES}")
    assert f"study.yaml:2:{len(key) + 3}: {key} is " in said
    assert f"at most {most}." in said


def test_repeats_and_evaluations_have_a_limit_too(refused: Refused) -> None:
    huge = "1" + "0" * 200
    said = refused(
        f"options: {{x: [1, 2, 3]}}\nstop: {{max_evaluations: {huge}}}\n"
        f"objectives: {{a: {{command: echo 1, repeats: {huge}}}, b: {{command: echo 1}}}}\n"
    )
    assert said.count("at most 1000000000.") == 2


@pytest.mark.skipif(os.name != "posix", reason="needs devices")
def test_a_device_is_no_table_of_designs(refused: Refused) -> None:
    assert "/dev/zero is not a file; give a CSV file." in refused(f"designs: /dev/zero\n{OBJECTIVES}")


@pytest.mark.skipif(os.name != "posix", reason="needs pipes")
def test_a_pipe_is_no_table_of_designs(refused: Refused, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pool.csv")
    assert "pool.csv is not a file; give a CSV file." in refused(f"designs: pool.csv\n{OBJECTIVES}")


def test_a_table_has_a_largest_size(refused: Refused, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flexibo.studyfile._options.MOST_TABLE_BYTES", 100)
    (tmp_path / "pool.csv").write_text("x\n" + "1\n" * 100)
    assert "pool.csv is larger than 100 bytes" in refused(f"designs: pool.csv\n{OBJECTIVES}")


def test_a_cell_that_is_too_long_is_a_sentence(refused: Refused, tmp_path: Path) -> None:
    (tmp_path / "pool.csv").write_text("x\n" + "a" * 200_000 + "\n")
    assert "pool.csv is not a CSV file: field larger than field limit" in refused(f"designs: pool.csv\n{OBJECTIVES}")


@pytest.mark.parametrize(
    "text",
    [
        "".join(f"k{n}: 1\n" for n in range(60_000)),
        "options:\n" + "".join(f"  o{n}: [1, 2]\n" for n in range(20_000)),
        "options:\n  x: [" + ",".join(map(str, range(11_000))) + "]\n",
    ],
    ids=["keys", "options", "values"],
)
def test_a_list_or_a_mapping_that_is_too_long_is_one_mistake(refused: Refused, text: str) -> None:
    said = refused(text)
    assert "A list has at most 10000 values and a mapping at most 500 keys in a study file" in said
    assert "has a mistake; nothing was run" in said


def test_a_file_of_many_lists_is_too_long_as_well(refused: Refused, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flexibo.studyfile._yaml_nodes.MOST_NODES", 500)
    lines = "".join(f"  o{n}: [{', '.join(map(str, range(100)))}]\n" for n in range(6))
    assert "The file has more than 500 keys and values up to here" in refused(f"options:\n{lines}")


def test_so_many_mistakes_end_the_reading() -> None:
    mistakes = Mistakes("f.yaml")
    for line in range(1, 250):
        mistakes.add(Position(line, 1), "It is wrong.")
    with pytest.raises(StudyFileError) as caught:
        mistakes.add(Position(250, 1), "It is wrong.")
    assert str(caught.value).startswith("f.yaml has 250 mistakes or more; nothing was run.")


def test_names_are_compared_with_few_others_and_only_if_they_are_short(monkeypatch: pytest.MonkeyPatch) -> None:
    import difflib

    compared: list[int] = []
    close = difflib.get_close_matches

    def counted(word: str, possibilities: dict[str, str], **fields: float) -> list[str]:
        compared.append(len(possibilities))
        return close(word, possibilities, **fields)  # type: ignore[arg-type]

    monkeypatch.setattr("flexibo.studyfile.mistakes.difflib.get_close_matches", counted)
    names = [f"option_{n}" for n in range(10_000)] + ["kernel"]
    assert nearest("kernle", names) == "; did you mean 'kernel'?"
    assert len(nearest("a" * 100_000, ["b" * 100_000])) < 200
    assert max(compared) <= 100


def test_a_command_full_of_wrong_placeholders_is_told_some_of_them(refused: Refused) -> None:
    command = "echo " + " ".join(f"{{z{n}}}" for n in range(500))
    said = refused(f"options: {{x: [1, 2]}}\nobjectives: {{a: {{command: '{command}'}}, b: {{command: echo 1}}}}\n")
    assert "has 20 mistakes; nothing was run" in said
