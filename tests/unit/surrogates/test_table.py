from __future__ import annotations

import pytest

from flexibo import Objective
from flexibo.errors import InvalidTypeError, UnknownNameError
from flexibo.surrogates import Averaged, GaussianProcess, Warped
from flexibo.surrogates.table import SURROGATES, find_surrogate


@pytest.mark.parametrize(("noisy", "noise"), [(False, 1e-10), (True, "learned")])
def test_the_default_models_learn_the_noise_of_noisy_objectives_only(noisy: bool, noise: object) -> None:
    chosen = find_surrogate("gp").of(Objective("joules", noisy=noisy))
    assert isinstance(chosen, Averaged)
    members = [member.model if isinstance(member, Warped) else member for member in chosen.models]
    assert {member.noise for member in members if isinstance(member, GaussianProcess)} == {noise}
    assert sum(isinstance(member, Warped) for member in chosen.models) == 2


def test_a_name_is_found_and_an_object_with_fit_stands_for_itself() -> None:
    assert find_surrogate("rf") is SURROGATES["rf"]
    own = GaussianProcess(noise=1e-3)
    chosen = find_surrogate(own)
    assert chosen.of(Objective("a")) is chosen.of(Objective("a", noisy=True)) is own
    assert find_surrogate(chosen) is chosen


def test_the_papers_forest_is_refitted_after_every_evaluation_and_processes_are_not() -> None:
    assert SURROGATES["rf"].growth == 1.0
    assert all(choice.growth > 1.0 for name, choice in SURROGATES.items() if name != "rf")


def test_an_unknown_name_and_an_object_without_fit_are_refused() -> None:
    with pytest.raises(UnknownNameError, match=r"'gp-papr'.*'gp-paper'"):
        find_surrogate("gp-papr")
    with pytest.raises(InvalidTypeError, match=r"surrogate is 3.*gp-warped.*fit\(\)"):
        find_surrogate(3)  # type: ignore[arg-type]
