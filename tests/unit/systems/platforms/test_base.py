"""The contract of a platform, which every one in the table keeps."""

from __future__ import annotations

import inspect

import pytest

from flexibo.systems.platforms import PLATFORMS, Platform
from flexibo.systems.platforms.base import batch_of


def test_the_batch_is_the_platforms_option_or_the_networks_own() -> None:
    assert batch_of({"batch": 4, "batch_size": 16}) == 4
    assert batch_of({"batch_size": 16.0}) == 16
    assert type(batch_of({"batch_size": 16.0})) is int
    with pytest.raises(KeyError):
        batch_of({"threads": 2})


@pytest.mark.parametrize("name", list(PLATFORMS))
def test_every_platform_takes_the_arguments_of_the_contract(name: str) -> None:
    platform = PLATFORMS[name]()
    for method in ("options", "notes", "knobs", "meter", "serving"):
        found = inspect.signature(getattr(platform, method))
        wanted = list(inspect.signature(getattr(Platform, method)).parameters.values())[1:]
        assert [(p.name, p.default) for p in found.parameters.values()] == [(p.name, p.default) for p in wanted], method


@pytest.mark.parametrize("name", list(PLATFORMS))
def test_every_platform_says_where_torch_runs_and_how_long_it_may_take(name: str) -> None:
    platform = PLATFORMS[name]()
    assert platform.device.partition(":")[0] == ("cpu" if name == "linux-cpu" else "cuda")
    assert platform.longest_seconds is None or platform.longest_seconds > 0
    assert platform.machine.roots.sys.name == "sys"
