"""Too little memory and a failed GPU are errors of one evaluation."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch


def test_an_error_that_is_not_about_memory_is_not_hidden() -> None:
    from flexibo.systems.device_errors import within_memory

    def broken() -> None:
        raise RuntimeError("mat1 and mat2 shapes cannot be multiplied")

    with pytest.raises(RuntimeError, match="mat1"):
        within_memory(broken, "to do it")


@pytest.mark.torch
def test_a_gpu_that_failed_fails_one_evaluation_and_then_stops_the_study(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    from flexibo.errors import MachineError
    from flexibo.systems import device_errors

    def broken() -> None:
        raise RuntimeError("CUDA error: illegal access\nSearch for it elsewhere.")

    monkeypatch.setattr(device_errors, "_failures", [])
    assert device_errors.within_memory(lambda: 1, "to do it") == 1
    with pytest.raises(device_errors.BrokenGpuError, match=r"to do it \(CUDA error: illegal access\)\.$"):
        device_errors.within_memory(broken, "to do it")
    with pytest.raises(MachineError, match=r"\(CUDA error: illegal access\).*same command"):
        device_errors.within_memory(lambda: 1, "to do it")
