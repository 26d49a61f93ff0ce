from __future__ import annotations

import pytest
from tests.unit.compare.spied_problem import SPACE, THEIRS, FakeRival, Spy

from flexibo import Objective
from flexibo.compare import contestants
from flexibo.compare.problems.base import Problem, nadir_reference, true_front
from flexibo.compare.rivals.base import RivalEntry, Setting
from flexibo.pareto import hypervolume


@pytest.fixture
def spy() -> Spy:
    return Spy()


@pytest.fixture
def problem(spy: Spy) -> Problem:
    objectives = (Objective("error"), Objective("joules"))
    front = true_front(spy.values(SPACE.enumerate()))
    reference = nadir_reference(front)
    return Problem(
        "spied", "", SPACE, objectives, spy.values, spy.costs, reference, front, hypervolume(front, reference)
    )


@pytest.fixture
def fakes(monkeypatch: pytest.MonkeyPatch) -> list[FakeRival]:
    made: list[FakeRival] = []

    def entry(name: str, decoupled: bool) -> RivalEntry:
        def make(setting: Setting) -> FakeRival:
            made.append(FakeRival(setting, decoupled=decoupled))
            return made[-1]

        return RivalEntry(name, "", (), (), make, "", decoupled)

    known = {name: entry(name, name == "fake-decoupled") for name in THEIRS}
    monkeypatch.setattr(contestants, "RIVALS", known)
    return made
