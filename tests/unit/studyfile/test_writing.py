"""Study files from the answers of a user: each answer is checked, and the file is read as it was meant."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from flexibo import Categorical, Integer, Objective, Ordinal, Real
from flexibo.studyfile import Command, Function
from flexibo.studyfile._options import option_of_node
from flexibo.studyfile._yaml_nodes import YamlMapping, YamlScalar, nodes_of
from flexibo.studyfile.mistakes import Mistakes, Position
from flexibo.studyfile.writing import (
    ObjectiveAnswer,
    dependence_problem,
    duration_problem,
    measure_problem,
    named_options,
    number_problem,
    option_problem,
    option_text,
    scalar,
    study_text,
    used_options,
)

OPTIONS = ["x", "kernel", "batch size"]
WORDS = ["no", "On", "012", "0x1F", "1_000", "1:30", "true", "NULL", ".inf", "3x3", "é漢", "'a'", '"a"', "a\\b", "a,b"]
SIGNS = ["[a]", "{a}", "@a", "*a", "&a", "!a", "~", "%", "`", "-", ".", "?"]


def node_of(text: str) -> Any:
    mistakes = Mistakes("f.yaml")
    root = nodes_of(f"key: {text}", mistakes)
    assert not mistakes.found
    assert isinstance(root, YamlMapping)
    return root.get("key")


@pytest.mark.parametrize("word", [*WORDS, *SIGNS])
def test_a_word_is_written_so_that_it_is_read_as_the_same_text(word: str) -> None:
    node = node_of(scalar(word))
    assert isinstance(node, YamlScalar)
    assert node.value == word


@pytest.mark.parametrize("words", ["", " ", "batch size", "a: b", "a #b", "- a", "a\nb"])
def test_words_with_blanks_are_one_text(words: str) -> None:
    assert node_of(scalar(words)).value == words


@pytest.mark.parametrize(("word", "number"), [("3", 3), ("-0.5", -0.5), ("1e-3", 0.001)])
def test_a_number_stays_a_number(word: str, number: float) -> None:
    assert node_of(scalar(word)).value == number


@pytest.mark.parametrize(
    ("answer", "option"),
    [
        ("1..9", Integer(1, 9)),
        (" 1 .. 9 ", Integer(1, 9)),
        ("0.5..9", Real(0.5, 9)),
        ("-1..1", Integer(-1, 1)),
        ("0.001..1 log", Real(0.001, 1, log=True)),
        ("0.001..1", Real(0.001, 1, log=True)),
        ("0.001..1 linear", Real(0.001, 1, log=False)),
        ("16, 32,", Ordinal([16, 32])),
        ("1x1, no, true", Categorical(["1x1", "no", "true"])),
        ("a: b, c", Categorical(["a: b", "c"])),
    ],
)
def test_values_are_understood_as_people_type_them(answer: str, option: object) -> None:
    mistakes = Mistakes("f.yaml")
    assert option_of_node("x", node_of(option_text(answer)), Position(1, 1), mistakes) == option
    assert not mistakes.found
    assert option_problem("x", answer) == ""


@pytest.mark.parametrize(
    ("answer", "facts"),
    [
        ("9..1", r"'x'.*\(9, 1\)"),
        ("a..b", r"'x'.* 'a';.*number"),
        ("-1..1 log", r"'x'.*\(-1, 1\).*log scale"),
        ("a, a", r"'x'.*'a' twice"),
        (",", r"'x'.*no values"),
    ],
)
def test_values_that_are_no_option_are_refused_as_in_a_file(answer: str, facts: str) -> None:
    assert re.search(facts, option_problem("x", answer))


@pytest.mark.parametrize(
    "answer", ["train {x} {batch size}", "train", "board:speed", "a.b:C.f", "hand", "echo ${HOME}"]
)
def test_a_command_a_function_or_a_person_may_measure(answer: str) -> None:
    assert measure_problem(answer, OPTIONS) == ""


@pytest.mark.parametrize(
    ("answer", "facts"),
    [
        ("train '{x}'", r"\{x\}.*single quotes"),
        ("train {kernle}", r"\{kernle\}.*'kernel'"),
        ("train 'x", r"^The shell"),
        ("board.py:f'", r"^The shell"),
    ],
)
def test_a_command_that_cannot_run_is_refused(answer: str, facts: str) -> None:
    assert re.search(facts, measure_problem(answer, OPTIONS))


def test_only_a_command_says_which_options_it_uses() -> None:
    assert used_options("run {kernel} {x} {x}", OPTIONS) == ("x", "kernel")
    assert used_options("board:speed", OPTIONS) == used_options("hand", OPTIONS) == ()


def test_named_options_are_in_the_order_of_the_study_or_all() -> None:
    assert named_options("kernel, x", OPTIONS) == ("x", "kernel")
    assert named_options(" all ", OPTIONS) is None


@pytest.mark.parametrize(
    ("answer", "facts"), [("x", r"\{kernel\}.*\bkernel\b"), ("x, kernle", r"'kernle'.*'kernel'"), ("", r"\{x\}")]
)
def test_an_objective_depends_on_what_its_command_uses(answer: str, facts: str) -> None:
    assert re.search(facts, dependence_problem(answer, ["x", "kernel"], OPTIONS))
    assert dependence_problem("kernel, batch size,x", ["x", "kernel"], OPTIONS) == ""
    assert dependence_problem("all", ["x", "kernel"], OPTIONS) == ""


@pytest.mark.parametrize("answer", ["little", "", "1 2", "nan", "1_000"])
def test_what_is_no_number_is_refused(answer: str) -> None:
    assert repr(answer) in number_problem(answer)
    assert number_problem("-1.5e3") == ""


@pytest.mark.parametrize("answer", ["soon", "0", "-5m", ""])
def test_what_is_no_duration_is_refused(answer: str) -> None:
    assert re.search(rf"{answer!r}.*\b30m\b", duration_problem(answer))
    assert duration_problem("1.5h") == ""


def test_a_written_study_is_read_as_it_was_meant(read: Any, tmp_path: Path) -> None:
    (tmp_path / "board.py").write_text("def speed(design):\n    return 1.0\n")
    command = """printf '%s: "é"' {kernel} | train --batch {batch size} # all"""
    objectives = [
        ObjectiveAnswer("error", "min", "%", command, ("kernel", "batch size"), bound="5", optimise=True),
        ObjectiveAnswer("no", "max", "", "board:speed", noisy=True, bound="3"),
        ObjectiveAnswer("taste", "max", "", "hand"),
    ]
    options = {"kernel": "1x1, no", "batch size": "1..64 log"}
    file = read(study_text("study.yaml", "nets: 2nd", options, objectives, "90s"))
    assert file.name == "nets: 2nd"
    assert dict(file.space.options) == {"kernel": Categorical(["1x1", "no"]), "batch size": Integer(1, 64, log=True)}
    assert file.objectives == (
        Objective("error", unit="%", options=["kernel", "batch size"], at_most=5, optimise=True),
        Objective("no", "max", noisy=True, at_least=3),
        Objective("taste", "max"),
    )
    error, speed = file.measures["error"], file.measures["no"]
    assert isinstance(error, Command)
    assert error.template.text == command
    assert isinstance(speed, Function)
    assert file.by_hand == ("taste",)
    assert file.settings == {"budget": 90.0, "seed": 0}
