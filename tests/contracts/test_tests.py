"""Tests are found by the name of the module that they test, and no message is a promised text."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
MODULES = TESTS.parent / "src" / "flexibo"
WORD = r"\b(?:[A-Za-z]{2,}|a)\b"
PROSE = re.compile(rf"(?<![./']){WORD}(?:[,;]? {WORD}){{3}}")
"""Four words in a row; a name in quotes and the end of a path are no words."""


def modules() -> list[Path]:
    """Every module, without the files that only collect or start others."""
    return sorted(
        path.relative_to(MODULES) for path in MODULES.rglob("*.py") if path.name not in ("__init__.py", "__main__.py")
    )


def matches(path: Path) -> Iterator[tuple[int, str]]:
    """The texts that a test file expects in errors and warnings, with their lines."""
    text = path.read_text()
    for call in ast.walk(ast.parse(text)) if "match" in text else ():
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
            continue
        if call.func.attr not in ("raises", "warns"):
            continue
        for keyword in call.keywords:
            for part in ast.walk(keyword.value) if keyword.arg == "match" else ():
                if isinstance(part, ast.Constant) and isinstance(part.value, str):
                    yield part.lineno, part.value


def test_every_module_has_a_test_file_of_its_name() -> None:
    wanted = [TESTS / "unit" / path.parent / f"test_{path.stem.lstrip('_')}.py" for path in modules()]
    assert len(wanted) > 300
    assert [str(path.relative_to(TESTS)) for path in wanted if not path.exists()] == []


def test_no_test_expects_a_sentence_of_an_error_or_warning() -> None:
    found = [
        f"{path.relative_to(TESTS)}:{line}: {text}"
        for path in sorted(TESTS.rglob("*.py"))
        for line, text in matches(path)
        if PROSE.search(text)
    ]
    assert found == []


def test_marks_of_make_rest_are_named_in_the_files_of_their_tests() -> None:
    """`make rest` collects only the files that name one of its marks."""
    named = re.compile(r"mark\.(slow|torch|botorch|rivals)\b")
    shared = [path for path in TESTS.rglob("*.py") if not path.name.startswith("test_")]
    assert [str(path.relative_to(TESTS)) for path in shared if named.search(path.read_text())] == []
    assert not any(re.search(r"add_marker\((?!\"variant\"\))", path.read_text()) for path in shared)


@pytest.mark.parametrize(
    ("text", "is_prose"),
    [
        ("the budget is not positive", True),
        ("there is a number", True),
        (r"'x' is missing.*one of 1, 2", False),
        (r"t\.csv has no plan", False),
        ("no value for filter_size_2", False),
        ("gave one, not two numbers", True),
        (r"budget is -1; .*positive", False),
        (r"Design\(a=0\).*ZeroDivisionError: division by zero", False),
    ],
)
def test_prose_is_four_words_in_a_row(text: str, is_prose: bool) -> None:
    assert (PROSE.search(text) is not None) is is_prose
