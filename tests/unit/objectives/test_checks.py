"""Whether objectives fit together."""

from __future__ import annotations

from typing import Any

import pytest

from flexibo import Objective
from flexibo.errors import InvalidTypeError, InvalidValueError
from flexibo.objectives import check_objectives


@pytest.mark.parametrize(
    ("objectives", "facts"),
    [
        (["error"], "two objectives.* 1 given"),
        ([], "two objectives.* 0 given"),
        (["error", "error"], "named 'error'"),
        (["a", Objective("b", options=["colour"])], "option.*'b'.*'colour'.*'color'"),
        (["a", Objective("b", measured_with="c")], "measured_with.*'b'.*'c'.*a, b"),
        ([Objective("a", measured_with="b"), Objective("b", measured_with="a")], "a -> b -> a"),
    ],
)
def test_objectives_that_do_not_fit_together_get_one_sentence(objectives: list[object], facts: str) -> None:
    with pytest.raises(InvalidValueError, match=facts):
        check_objectives(objectives, ["color"])  # type: ignore[arg-type]


SMALL = Objective("error_small", optimise=False)


@pytest.mark.parametrize(
    ("objectives", "facts"),
    [
        ([Objective("error", proxies=["tiny"]), "joules", SMALL], "proxies of 'error'.*'tiny'"),
        ([Objective("error", proxies=["joules"]), "joules"], "'joules' is a proxy of 'error' and optimised.*optimise"),
        ([Objective("error", proxies=["error"]), "joules"], "'error' has itself among its proxies"),
        ([Objective("error", proxies=["ms"]), "joules", Objective("ms", at_most=3)], "'ms' is a proxy.*bound"),
        (
            [
                Objective("error", proxies=["error_small"]),
                "joules",
                Objective("error_small", optimise=False, proxies=["tiny"]),
                Objective("tiny", optimise=False),
            ],
            "'error_small' is a proxy of 'error' and has proxies of its own.*tiny",
        ),
        (
            [
                Objective("error", proxies=["error_small"]),
                "joules",
                Objective("error_small", optimise=False, measured_with="joules"),
            ],
            "'error_small'.*measured_with 'joules'.*alone",
        ),
        (
            [
                Objective("error", proxies=["error_small"]),
                SMALL,
                Objective("joules", measured_with="error_small"),
            ],
            "'joules' is measured_with 'error_small', which is a proxy",
        ),
        (
            [Objective("error", proxies=["error_small"]), "joules", Objective("error_small", optimise=False, steps=9)],
            "'error_small'.*has steps",
        ),
        (
            [
                Objective("error", proxies=["error_small"]),
                "joules",
                Objective("error_small", optimise=False, noisy=True, remeasure=True),
            ],
            "'error_small'.*remeasure",
        ),
        (["error", "joules", SMALL], "'error_small' has optimise=False and no bound.*proxies"),
        ([Objective("error", proxies=["error_small"]), SMALL], "at least two objectives.*1 given"),
    ],
)
def test_proxies_that_make_no_sense_get_one_sentence(objectives: list[Any], facts: str) -> None:
    with pytest.raises(InvalidValueError, match=facts):
        check_objectives(objectives, ["x"])


def test_what_is_used_again_is_decided_by_options_of_an_objective_that_is_asked_for() -> None:
    error = Objective("error", options=["width", "bits"], reuse=["width"])
    assert error.to_dict() == {"name": "error", "options": ["width", "bits"], "reuse": ["width"]}
    assert Objective.from_dict(error.to_dict()) == error
    wrong: list[dict[str, Any]] = [{"options": ["bits"]}, {"measured_with": "joules"}, {"steps": 9}]
    for other in wrong:
        with pytest.raises(InvalidValueError, match=r"'error'.*reuse"):
            Objective("error", reuse=["width"], **other)
    with pytest.raises(InvalidValueError, match=r"reuse.*'error'.*'depth'"):
        check_objectives([Objective("error", reuse=["depth"]), "joules"], ["width", "bits"])
    first, _ = check_objectives([Objective("error", reuse=["bits", "width"]), "joules"], ["width", "bits"])
    assert first.reuse == ("width", "bits"), "in the order of the space"


def test_an_objective_with_a_proxy_travels_and_proxies_come_last() -> None:
    error = Objective("error", proxies=["error_small"])
    assert error.to_dict() == {"name": "error", "proxies": ["error_small"]}
    assert Objective.from_dict(error.to_dict()) == error
    assert Objective.from_dict(SMALL.to_dict()) == SMALL
    checked = check_objectives([SMALL, error, "joules"], ["x"])
    assert [objective.name for objective in checked] == ["error", "joules", "error_small"]
    with pytest.raises(InvalidTypeError, match=r"proxies.*'error_small'"):
        Objective("error", proxies="error_small")
