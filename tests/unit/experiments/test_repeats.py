from __future__ import annotations

import pytest
from tests.unit.experiments.toy_problem import TINY, toy

from flexibo.errors import InvalidValueError
from flexibo.experiments import ExperimentSize, Repeat
from flexibo.experiments.making import repeat


def test_a_repeat_survives_being_written() -> None:
    made = repeat(toy(), "flexibo-gp-log", 0, TINY)
    read = Repeat.from_dict(made.to_dict())
    assert read.iterations[-1].spent == pytest.approx(made.iterations[-1].spent, rel=1e-8)
    assert read.iterations[1].objectives == made.iterations[1].objectives
    assert Repeat.from_dict(read.to_dict()) == read


@pytest.mark.parametrize("wrong", [{"repeats": 0}, {"n_initial": 1}, {"iterations": 0}])
def test_terms_that_make_no_sense_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(InvalidValueError, match=next(iter(wrong))):
        ExperimentSize(**wrong)
