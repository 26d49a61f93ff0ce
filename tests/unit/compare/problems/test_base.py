from __future__ import annotations

from dataclasses import replace

import pytest

from flexibo.compare.problems.base import GROUPS
from flexibo.compare.problems.table import FAMILIES, find_problem
from flexibo.errors import UnknownNameError


def test_every_family_has_a_group() -> None:
    assert {family.group for family in FAMILIES.values()} == set(GROUPS)


def test_an_unknown_group_is_refused() -> None:
    with pytest.raises(UnknownNameError):
        replace(find_problem("branin-currin"), group="recordd")


@pytest.mark.parametrize(
    ("name", "group"),
    [
        ("zdt1:finite", "equal"),
        ("zdt1:ratio=10:finite", "synthetic"),
        ("branin-currin:noise=0.05", "equal"),
        ("dnn-stack", "stack"),
        ("lenet-h200", "recorded"),
    ],
)
def test_a_problem_is_in_its_group(name: str, group: str) -> None:
    assert find_problem(name).group == group


def test_the_group_does_not_change_the_fingerprint() -> None:
    problem = find_problem("branin-currin")
    assert replace(problem, group="synthetic").fingerprint() == problem.fingerprint()
