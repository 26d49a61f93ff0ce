from __future__ import annotations

import pytest

import flexibo
from flexibo import Objective, list_methods
from flexibo.errors import InvalidTypeError, InvalidValueError
from flexibo.methods import METHODS, ProposingMethod, RandomMethod, ScoringMethod, find_method
from flexibo.methods.base import Candidates
from flexibo.methods.table import check_method


def test_every_method_is_of_one_kind() -> None:
    kinds = {name: type(method) for name, method in METHODS.items()}
    assert {name for name, kind in kinds.items() if kind is ProposingMethod} == {"nsga2", "sobol"}
    assert {name for name, kind in kinds.items() if kind is RandomMethod} == {"random", "random-coupled"}
    assert sum(kind is ScoringMethod for kind in kinds.values()) == 18


def test_the_names_are_the_keys_and_the_default_is_first() -> None:
    assert [method.name for method in list_methods()] == list(METHODS)
    assert list_methods()[0].name == "flexibo"


def test_only_methods_that_remember_have_fixed_candidates() -> None:
    for method in METHODS.values():
        if isinstance(method, ScoringMethod):
            assert (method.step is not None) == (method.candidates is Candidates.FIXED)


def test_the_suffix_makes_a_scoring_method_cost_aware() -> None:
    assert not find_method("ehvi").cost_aware
    assert find_method("ehvi/cost").cost == "learned-ratio"
    assert find_method("pesmo-dec/cost").cost == "learned"
    assert find_method("ca-mobo").cost_aware
    for name in ("nsga2/cost", "random/cost"):
        with pytest.raises(InvalidValueError, match="no scores"):
            find_method(name)


def test_a_name_that_is_not_in_the_table_is_refused() -> None:
    with pytest.raises(InvalidValueError, match="ehvvi"):
        find_method("ehvvi")
    with pytest.raises(InvalidTypeError, match="7"):
        find_method(7)  # type: ignore[arg-type]


def test_too_many_objectives_are_refused_with_the_methods_that_take_them() -> None:
    seven = [Objective(f"o{j}") for j in range(7)]
    check_method(find_method("parego"), seven)
    with pytest.raises(InvalidValueError, match=r"ehvi.*6.*7.*parego"):
        check_method(find_method("ehvi"), seven)


def test_a_method_that_needs_an_extra_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flexibo.methods.table.find_spec", lambda name: None)
    with pytest.raises(flexibo.FlexiBOError, match=r"flexibo\[evolution\]"):
        flexibo.Study({"x": (0.0, 1.0)}, ["a", "b"], method="nsga2")


def test_a_method_refuses_more_objectives_than_it_takes() -> None:
    with pytest.raises(flexibo.FlexiBOError, match=r"'ehvi'.* 6 .* 7 given"):
        flexibo.Study({"x": (0.0, 1.0)}, list("abcdefg"), method="ehvi")


@pytest.mark.parametrize("method", ["nsga2/cost", "sobol/cost", "random/cost"])
def test_a_method_without_scores_has_none_to_divide(method: str) -> None:
    base, suffix = method.split("/")
    with pytest.raises(InvalidValueError, match=f"'{base}'.*scores.*'/{suffix}'"):
        flexibo.Study({"x": (0.0, 1.0)}, ["a", "b"], method=method)


def test_calling_the_package_names_the_function_that_lists_the_methods() -> None:
    with pytest.raises(InvalidTypeError, match=r"flexibo\.list_methods\(\)"):
        flexibo.methods()  # type: ignore[operator]
