from __future__ import annotations

import re
from collections import Counter

from flexibo.compare.contestants import checked_method, checked_rival
from flexibo.compare.problems.table import find_problem, full_name
from flexibo.compare.suites import SUITES, Limit, Suite


def test_a_limited_contestant_takes_part_where_and_as_often_as_it_may() -> None:
    limited = Suite("", ("a", "b"), ("m",), ("slow",), 4, limits={"slow": Limit({"b": 2})})
    assert [task for task in limited.tasks() if task[1] == "slow"] == [("b", "slow", 0), ("b", "slow", 1)]
    assert sum(task[1] == "m" for task in limited.tasks()) == 8


def test_a_limit_may_leave_the_other_problems_alone() -> None:
    limited = Suite("", ("a", "b", "c"), (), ("slow",), 3, limits={"slow": Limit({"b": 2, "c": 0}, elsewhere=True)})
    assert [task[::2] for task in limited.tasks()] == [("a", 0), ("a", 1), ("a", 2), ("b", 0), ("b", 1)]


def test_a_limit_is_described() -> None:
    assert re.search(r"\b3 seeds .*a, b only", Limit({"a": 3, "b": 3}).description(10))
    assert re.search(r"\b1 seed .*a, b only", Limit({"a": 3, "b": 3}).description(1))
    both = Limit({"a": 0, "b": 4, "c": 0}, elsewhere=True)
    assert re.search(r"\b4 seeds .*\bb; .*not .*a, c$", both.description(10))


def test_the_standard_suite_has_problems_of_two_to_five_objectives() -> None:
    def objectives(name: str) -> int:
        said = re.search(r"-(\d)$|:n=(\d)", name)
        return 2 if said is None else int(said[1] or said[2])

    assert Counter(map(objectives, SUITES["standard"].problems)) == {2: 15, 3: 3, 4: 2, 5: 1}
    assert len(find_problem("dtlz2:n=3:ratio=100").objectives) == 3


def test_the_suites_name_problems_and_methods_that_exist() -> None:
    for one in SUITES.values():
        assert tuple(map(full_name, one.problems)) == one.problems
        assert tuple(map(checked_method, one.methods)) == one.methods
        assert tuple(map(checked_rival, one.rivals)) == one.rivals
        assert set(one.limits) <= {*one.methods, *one.rivals}
        assert all(set(limit.seeds) <= set(one.problems) for limit in one.limits.values())
