from __future__ import annotations

from dataclasses import replace
from importlib.metadata import version

import pytest
from tests.unit.compare.rivals.small_settings import POOL, setting

from flexibo.compare.rivals import RIVALS
from flexibo.compare.rivals.base import Rival, RivalEntry, Setting
from flexibo.errors import MissingExtraError


def unused(setting: Setting) -> Rival:
    raise AssertionError("nobody asked for this rival")


def entry(packages: tuple[str, ...], modules: tuple[str, ...]) -> RivalEntry:
    return RivalEntry("one", "", packages, modules, unused, "")


def test_a_rival_that_is_not_installed_names_the_module_and_the_extra() -> None:
    one = entry(("numpy", "nosuchpackage"), ("numpy", "nosuchmodule"))
    assert not one.is_installed()
    with pytest.raises(MissingExtraError, match=r"nosuchmodule.*flexibo\[bench\]"):
        one.check()


def test_a_rival_that_is_installed_passes_the_check() -> None:
    one = entry(("numpy",), ("numpy", "json"))
    assert one.is_installed()
    one.check()


def test_versions_are_those_of_all_packages_in_their_order() -> None:
    one = entry(("pytest", "nosuchpackage", "numpy"), ())
    first, second, third = one.versions().split(", ")
    assert (first, third) == (f"pytest {version('pytest')}", f"numpy {version('numpy')}")
    assert second.startswith("nosuchpackage ")


def test_the_table_names_each_rival_by_its_library_and_where_it_is_described() -> None:
    for name, one in RIVALS.items():
        assert one.name == name
        assert name.split("-")[0] == one.packages[0]
        assert set(one.modules) & set(one.packages)
        assert one.documentation.startswith("https://")
    assert [name for name, one in RIVALS.items() if one.decoupled] == ["botorch-hvkg"]


def test_an_objective_depends_on_all_options_unless_it_says_otherwise() -> None:
    given = replace(setting(POOL), options={"joules": ("b", "kind")})
    assert given.options == {"error": ("a", "b", "kind"), "joules": ("b", "kind")}
