"""The mistakes of a study file: how they are listed, how many, and which name is suggested."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Any

import pytest
from tests.unit.studyfile.texts import SMALL

from flexibo.studyfile.mistakes import Mistakes, Position, StudyFileError, nearest


def test_the_message_names_the_file_with_line_and_column(read: Any, tmp_path: Path) -> None:
    with pytest.raises(StudyFileError) as caught:
        read(SMALL + "colour: blue\nseeds: 1\n")
    shown = str(tmp_path / "study.yaml")
    lines = str(caught.value).splitlines()
    assert lines[0].startswith(f"{shown} has 2 mistakes")
    assert lines[1].startswith(f"  {shown}:9:1: {caught.value.mistakes[0].sentence}")
    assert "'colour'" in lines[1]
    assert lines[2].startswith(f"  {shown}:10:1: {caught.value.mistakes[1].sentence}")
    assert "'seeds'" in lines[2]
    assert "'seed'" in lines[2]


def test_mistakes_are_in_the_order_of_their_places_and_each_is_there_once() -> None:
    mistakes = Mistakes("f.yaml")
    mistakes.check()  # there are none yet
    for place in (Position(10, 1), Position(9, 2), Position(9, 1), Position(9, 2)):
        mistakes.add(place, "It is wrong.")
    with pytest.raises(StudyFileError) as caught:
        mistakes.check()
    assert [one.place for one in caught.value.mistakes] == [Position(9, 1), Position(9, 2), Position(10, 1)]
    assert len(str(caught.value).splitlines()) == 4


def test_a_long_list_of_mistakes_is_cut(read: Any) -> None:
    with pytest.raises(StudyFileError) as caught:
        read("".join(f"key{n}: 1\n" for n in range(200)))
    lines = str(caught.value).splitlines()
    assert len(lines) == 42
    assert "162 more" in lines[-1]
    assert len(caught.value.mistakes) == 202


def test_so_many_mistakes_end_the_reading() -> None:
    mistakes = Mistakes("f.yaml")
    for line in range(1, 250):
        mistakes.add(Position(line, 1), "It is wrong.")
    with pytest.raises(StudyFileError) as caught:
        mistakes.add(Position(250, 1), "It is wrong.")
    assert str(caught.value).startswith("f.yaml has 250 mistakes")


def test_what_a_file_says_cannot_command_a_terminal(read: Any) -> None:
    with pytest.raises(StudyFileError) as caught:
        read('"a\\e[2Jb\\nflexibo: all is well": 1\n')
    assert "\x1b" not in str(caught.value)
    assert not any(line.startswith("flexibo:") for line in str(caught.value).splitlines())


@pytest.mark.parametrize("letter", ["z", "z "])
@pytest.mark.parametrize("line", ["method: {}", "surrogate: {}", "cost: {}", "executor: {}"])
def test_a_value_that_goes_on_for_pages_is_not_repeated_whole(read: Any, line: str, letter: str) -> None:
    with pytest.raises(StudyFileError, match="characters") as caught:
        read(SMALL + line.format((letter * 100_000).strip()) + "\n")
    assert len(str(caught.value)) < 3000


class TestSuggestions:
    def test_a_near_name_is_suggested_whatever_its_letters_are(self) -> None:
        assert "'Kernel'" in nearest("KERNLE", ["filters", "Kernel"])
        assert "filters" not in nearest("KERNLE", ["filters", "Kernel"])

    def test_without_a_near_one_all_of_a_few_names_are_listed_and_three_of_many(self) -> None:
        few, many = [f"option_{n}" for n in range(12)], [f"option_{n}" for n in range(13)]
        assert all(name in nearest("zzz", few) for name in few)
        assert nearest("zzz", many).count("option_") == 3

    def test_names_are_compared_with_few_others_and_only_if_they_are_short(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        compared: list[int] = []
        close = difflib.get_close_matches

        def counted(word: str, possibilities: dict[str, str], **fields: float) -> list[str]:
            compared.append(len(possibilities))
            return close(word, possibilities, **fields)  # type: ignore[arg-type]

        monkeypatch.setattr("flexibo.studyfile.mistakes.difflib.get_close_matches", counted)
        names = [f"option_{n}" for n in range(10_000)] + ["kernel"]
        assert "'kernel'" in nearest("kernle", names)
        assert "option_" not in nearest("kernle", names)
        assert len(nearest("a" * 100_000, ["b" * 100_000])) < 200
        assert max(compared) <= 100
