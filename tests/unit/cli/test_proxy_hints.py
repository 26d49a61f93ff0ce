from __future__ import annotations

from typing import Any

import pytest
from tests.command_line import mentions

from flexibo import Objective, Study
from flexibo.belief.proxies import PATIENCE
from flexibo.cli._proxy_hints import proxy_hints


def with_proxy(cost: float | None = 2.0, **settings: Any) -> Study:
    objectives = [
        Objective("error", cost=9.0, proxies=["small"]),
        Objective("size", cost=1.0),
        Objective("small", optimise=False, cost=cost),
    ]
    return Study({"x": list(range(PATIENCE))}, objectives, seed=0, **settings)


@pytest.mark.parametrize("cost", [None, 3.0])
def test_nothing_is_said_of_a_proxy_that_is_cheap_or_whose_cost_is_not_known(cost: float | None) -> None:
    assert proxy_hints(with_proxy(cost)) == []
    assert proxy_hints(Study({"x": [1, 2]}, ["a", "b"], seed=0)) == []


def test_a_proxy_is_compared_with_its_own_objective() -> None:
    (hint,) = proxy_hints(with_proxy(4.5))
    assert mentions(hint, "small costs 50% of error", "third")


@pytest.mark.parametrize("settings", [{"method": "random"}, {"surrogate": "rf"}, {"surrogate": "gp-paper"}])
def test_a_proxy_that_nobody_asks_for_is_named(settings: dict[str, str]) -> None:
    (hint,) = proxy_hints(with_proxy(**settings))
    assert mentions(hint, "small", "not asked for", "flexibo", "gp, gp-warped or gp-plain")


def test_a_proxy_that_always_fails_is_not_asked_for_any_more() -> None:
    study = with_proxy()
    for x in range(PATIENCE):
        study.enqueue({"x": x}, ["small"])
        (evaluation,) = study.ask(1, only=["small"])
        study.fail(evaluation, "no \x1b[31m simulator", cost=1.0)
    (hint,) = proxy_hints(study)
    assert mentions(hint, f"small failed {PATIENCE} times", "simulator")
    assert "\x1b" not in hint
