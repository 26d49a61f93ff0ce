"""CUDA graphs are recorded once and replayed."""

from __future__ import annotations

import gc
import weakref
from contextlib import contextmanager
from typing import Any


class FakeStream:
    """Remembers what happens on it."""

    def __init__(self, log: list[str]) -> None:
        self.log = log

    def wait_stream(self, other: object) -> None:
        self.log.append("wait")

    def synchronize(self) -> None:
        self.log.append("synchronise")


class FakeCuda:
    """What of torch.cuda a lane uses."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.made = 0

    def Stream(self) -> FakeStream:  # torch's name  # noqa: N802
        self.made += 1
        return FakeStream(self.log)

    def current_stream(self) -> FakeStream:
        return FakeStream(self.log)

    @contextmanager
    def stream(self, stream: FakeStream) -> Any:
        self.log.append("on")
        yield
        self.log.append("off")

    @contextmanager
    def graph(self, graph: Any, *, stream: FakeStream) -> Any:
        self.log.append("capture")
        yield
        self.log.append("captured")

    def CUDAGraph(self) -> Any:  # torch's name  # noqa: N802
        log = self.log

        class Graph:
            def replay(self) -> None:
                log.append("replay")

        return Graph()


class FakeTorch:
    def __init__(self) -> None:
        self.cuda = FakeCuda()


def test_a_graph_is_warmed_up_recorded_once_and_replayed() -> None:
    from flexibo.systems.platforms.nvidia_gpu import WARM_UP_CALLS, _lane

    torch = FakeTorch()
    lane = _lane(torch, lambda x: torch.cuda.log.append("model"), (1,), graphs=True, own_stream=False)
    assert torch.cuda.log.count("model") == WARM_UP_CALLS + 1
    assert torch.cuda.log[-3:] == ["capture", "model", "captured"]
    lane()
    assert torch.cuda.log[-3:] == ["on", "replay", "off"]


def test_a_recorded_graphs_inputs_live_as_long_as_what_starts_it() -> None:
    from flexibo.systems.platforms.nvidia_gpu import _lane

    class Tensor:
        """Something that can be watched."""

    tensor = Tensor()
    watched = weakref.ref(tensor)
    lane = _lane(FakeTorch(), lambda x: None, (tensor,), graphs=True, own_stream=False)
    del tensor
    gc.collect()
    assert watched() is not None
    del lane
    gc.collect()
    assert watched() is None


def test_without_graphs_the_model_runs_each_time_on_its_stream() -> None:
    from flexibo.systems.platforms.nvidia_gpu import _lane

    torch = FakeTorch()
    lane = _lane(torch, lambda x: torch.cuda.log.append("model"), (1,), graphs=False, own_stream=True)
    assert (torch.cuda.log, torch.cuda.made) == ([], 1)
    lane()
    assert torch.cuda.log == ["on", "model", "off"]
