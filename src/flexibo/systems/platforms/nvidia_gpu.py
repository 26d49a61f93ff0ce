"""An NVIDIA GPU: batch size, precision, memory layout, CUDA graphs and streams; NVML measures the energy.

The paper's motivation also tunes TensorFlow's memory growth. PyTorch's counterpart, expandable segments, is not an
option here: once a network runs, the caching allocator requests no memory from the driver, so it changes no result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from flexibo.hardware import EnergyMeter, NvmlMeter
from flexibo.hardware.knobs import Knob, LinuxMachine, NvidiaGpus, nvidia_knobs
from flexibo.systems.catalogue import NetworkTraits
from flexibo.systems.options import Values
from flexibo.systems.platforms._torch_settings import BATCHES, LAYOUTS, adapted, placed, tensor_float_32
from flexibo.systems.platforms.base import MakeInputs, Serving, batch_of

PRECISIONS = ("fp32", "tf32", "bf16", "fp16")
STREAMS = (1, 2, 4)
WARM_UP_CALLS = 3  # calls before a graph is recorded: libraries choose their algorithms in the first ones


@dataclass(frozen=True, slots=True)
class NvidiaGpu:
    """One of the visible NVIDIA GPUs; its clocks and its power limit are changed only if that is allowed."""

    name = "nvidia-gpu"
    longest_seconds = None  # a GPU trains and runs all networks of the paper

    index: int = 0
    allow_clocks: bool = False

    @property
    def device(self) -> str:
        """The device of torch."""
        return f"cuda:{self.index}"

    @property
    def machine(self) -> LinuxMachine:
        """The machine, whose GPUs are changed only if that is allowed."""
        return LinuxMachine(nvidia=NvidiaGpus(allow=self.allow_clocks))

    def options(self, traits: NetworkTraits) -> Mapping[str, Values]:
        """The options that the network allows."""
        options: dict[str, Values] = {} if traits.own_batch else {"batch": BATCHES}
        options["precision"] = PRECISIONS
        if traits.images:
            options["layout"] = LAYOUTS
        options["cuda_graphs"] = (False, True)
        options["streams"] = STREAMS
        return options

    def notes(self) -> tuple[str, ...]:
        """None."""
        return ()

    def knobs(self) -> tuple[Knob, ...]:
        """Clock and power limit, if they may be changed."""
        return nvidia_knobs(NvidiaGpus(allow=True), index=self.index) if self.allow_clocks else ()

    def meter(self) -> EnergyMeter:
        """NVML's energy counter."""
        return NvmlMeter(self.index)

    @contextmanager
    def serving(self, model: Any, inputs: MakeInputs, design: Mapping[str, Any]) -> Iterator[Serving]:
        """The model on the GPU; its memory is freed afterwards."""
        import torch

        batch = batch_of(design)
        precision, layout = str(design["precision"]), str(design.get("layout", "contiguous"))
        n_streams, graphs = int(design["streams"]), bool(design.get("cuda_graphs", False))
        with ExitStack() as stack:
            stack.callback(torch.cuda.empty_cache)
            stack.enter_context(torch.cuda.device(self.device))
            stack.enter_context(torch.inference_mode())
            stack.enter_context(tensor_float_32(precision == "tf32"))
            ready = placed(model, self.device, precision, layout)
            given = [adapted(inputs(batch, self.device), precision, layout) for _ in range(n_streams)]
            lanes = [_lane(torch, ready, some, graphs=graphs, own_stream=n_streams > 1) for some in given]
            yield Serving(lambda: [lane() for lane in lanes], torch.cuda.synchronize, batch * n_streams)


def _lane(
    torch: Any, model: Callable[..., Any], inputs: tuple[Any, ...], *, graphs: bool, own_stream: bool
) -> Callable[[], object]:
    """A function that starts one batch, as single operations or as a recorded graph."""
    stream = torch.cuda.Stream() if own_stream or graphs else torch.cuda.current_stream()

    def on_stream(work: Callable[[], object]) -> None:
        with torch.cuda.stream(stream):
            work()

    if not graphs:
        return lambda: on_stream(lambda: model(*inputs))
    stream.wait_stream(torch.cuda.current_stream())
    for _ in range(WARM_UP_CALLS):
        on_stream(lambda: model(*inputs))
    stream.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        model(*inputs)
    kept = graph, model, inputs  # a graph holds no references to the weights and inputs that it reads
    return lambda: on_stream(kept[0].replay)
