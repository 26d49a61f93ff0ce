"""Packages that ``flexibo doctor`` checks."""

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError
from pathlib import Path

from tests.command_line import mentions

from flexibo.cli._doctor_checks import DEPENDENCIES, EXTRAS, dependencies, extras

ROOT = Path(__file__).parents[3]


class TestPackages:
    def test_the_tables_are_those_of_the_project(self) -> None:
        text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
        needed = re.search(r"^dependencies = \[(.*?)^\]", text, re.MULTILINE | re.DOTALL)
        assert needed is not None
        assert set(re.findall(r'"([^"]+)"', needed[1])) == set(DEPENDENCIES)
        section = text.partition("[project.optional-dependencies]")[2].partition("\n[")[0]
        stated = {
            name: tuple(re.findall(r'"([^"]+)"', packages))
            for name, packages in re.findall(r"^(\w+) = \[(.*)\]$", section, re.MULTILINE)
        }
        for people in ("test", "docs", "dev"):
            stated.pop(people)
        assert stated == {name: extra.packages for name, extra in EXTRAS.items()}

    def test_a_missing_or_old_package_comes_with_the_command_to_get_it(self) -> None:
        def installed(name: str) -> str:
            if name in ("numpy", "matplotlib"):
                raise PackageNotFoundError(name)
            return {"rich": "12.9.1", "uvicorn": "0.2"}.get(name, "9999.1+cu121")

        core = {one.name: one for one in dependencies(installed)}
        assert (core["numpy"].state, core["numpy"].remedy) == ("wrong", "pip install 'numpy>=1.26'")
        assert core["rich"].state == "wrong"
        assert mentions(core["rich"].text, "12.9.1", "13.0")
        assert core["scipy"].state == "good"
        more = {one.name: one for one in extras(installed)}
        assert (more["plot"].state, more["plot"].remedy) == ("absent", "pip install 'flexibo[plot]'")
        assert more["dashboard"].state == "absent"
        assert mentions(more["dashboard"].text, "uvicorn 0.2", "0.34")
        assert more["pandas"].state == "good"
