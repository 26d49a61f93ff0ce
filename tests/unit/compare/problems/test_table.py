from __future__ import annotations

import pytest

from flexibo.compare.problems.table import FAMILIES, find_problem, full_name
from flexibo.errors import InvalidValueError, UnknownNameError


@pytest.mark.parametrize(
    ("given", "full"),
    [
        ("zdt1", "zdt1"),
        ("zdt1:", "zdt1"),
        ("dtlz2:ratio=100:n=3", "dtlz2:n=3:ratio=100"),
        ("branin-currin:ratio=10.0:finite=no", "branin-currin:ratio=10"),
        ("dnn-stack:surface=0:n=3", "dnn-stack:n=3"),
    ],
)
def test_a_name_has_one_canonical_form(given: str, full: str) -> None:
    assert full_name(given) == full
    assert full_name(full) == full


def test_a_problem_is_found_with_its_parameters_and_made_once() -> None:
    found = find_problem("dtlz2:ratio=100:n=3")
    assert found.name == "dtlz2:n=3:ratio=100"
    assert len(found.objectives) == 3
    assert find_problem("dtlz2:ratio=100:n=3") is found


@pytest.mark.parametrize("find", [find_problem, full_name])
def test_an_unknown_name_is_refused_with_a_similar_one(find: object) -> None:
    with pytest.raises(UnknownNameError, match=r"'branin'.*'branin-currin'"):
        find("branin:ratio=10")  # type: ignore[operator]
    with pytest.raises(UnknownNameError, match=r"'rati'.*'ratio'"):
        find("zdt1:rati=10")  # type: ignore[operator]
    with pytest.raises(InvalidValueError, match=r"'ratio'.*'zdt1'.*'ten'"):
        find("zdt1:ratio=ten")  # type: ignore[operator]


def test_every_family_is_listed_by_the_name_that_it_writes() -> None:
    for name, family in FAMILIES.items():
        assert family.name == name == full_name(name)
        assert ":" not in name
        assert family.summary
