"""Functions that a study file names: where they are looked for, and what is said of those that are not there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from flexibo import Space
from flexibo.errors import InvalidValueError, MachineError
from flexibo.studyfile.functions import Function, found, imported

pytestmark = pytest.mark.usefixtures("fresh_modules")
DESIGN = Space({"x": [1, 2]}).design({"x": 2})


def test_a_function_is_looked_for_beside_the_file_first(tmp_path: Path) -> None:
    (tmp_path / "sndhdr_like.py").write_text("def f(design):\n    return design['x'] * 10\n")
    package = tmp_path / "inner"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "part.py").write_text("class C:\n    @staticmethod\n    def f(design):\n        return -design['x']\n")
    assert Function("sndhdr_like:f", str(tmp_path))(DESIGN) == 20
    assert Function("inner.part:C.f", str(tmp_path))(DESIGN) == -2


@pytest.mark.parametrize(
    "place", ["json", "json:", ":dumps", "json.:dumps", "json:dumps()", "os;x:f", "a/b:f", "json:1"]
)
def test_what_is_no_name_of_a_function_is_not_imported(tmp_path: Path, place: str) -> None:
    with pytest.raises(InvalidValueError, match=rf"{re.escape(repr(place))}.*module:function"):
        found(place, str(tmp_path))


@pytest.mark.parametrize(
    ("place", "facts"),
    [
        ("json:dump_s", r"'json'.*'dump_s'.*'dump"),
        ("json:dumps.wide", r"'json'.*'dumps\.wide'"),
        ("os:nofn", r"'os'.*'nofn'"),
        ("sys:path", r"sys:path.* list;.*function"),
        ("nowhere:f", r"no module 'nowhere'"),
        ("brokn:f", r"no module 'brokn'.*'broken'"),
        ("json.nowhere:f", r"no module 'json\.nowhere'"),
        ("broken:f", r"'broken'.*ZeroDivisionError"),
        ("leaving:f", r"'leaving'.*SystemExit: 3"),
        ("wrong:f", r"'wrong'.*SyntaxError"),
        ("lacking:f", r"'lacking'.*'surely_not_there'"),
        ("statistics:f", r"statistics\.py.*taken.*rename"),
    ],
)
def test_a_function_that_cannot_be_had_is_refused(tmp_path: Path, place: str, facts: str) -> None:
    import statistics  # noqa: F401  # so that its name is taken

    (tmp_path / "broken.py").write_text("1 / 0")
    (tmp_path / "leaving.py").write_text("raise SystemExit(3)")
    (tmp_path / "wrong.py").write_text("def f(:")
    (tmp_path / "lacking.py").write_text("import surely_not_there")
    (tmp_path / "statistics.py").write_text("def f(design):\n    return 1")
    with pytest.raises(InvalidValueError, match=facts):
        found(place, str(tmp_path))


def test_of_the_names_of_a_large_module_only_the_nearest_three_are_suggested(tmp_path: Path) -> None:
    with pytest.raises(InvalidValueError) as caught:
        found("os:nofn", str(tmp_path))
    assert str(caught.value).rpartition(";")[2].count(",") == 2


def test_a_value_can_be_imported_that_is_no_function(tmp_path: Path) -> None:
    (tmp_path / "numbers_of_mine.py").write_text("LIMIT = 3\n")
    assert imported("numbers_of_mine:LIMIT", str(tmp_path)) == 3


def test_a_module_that_is_gone_later_is_the_machines_fault(tmp_path: Path) -> None:
    with pytest.raises(MachineError, match="no module 'nowhere'"):
        Function("nowhere:f", str(tmp_path))(DESIGN)
