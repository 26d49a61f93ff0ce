"""An NVIDIA GPU: batch size, precision, memory layout, CUDA graphs and streams; NVML reads the energy.

The paper's motivation also tunes TensorFlow's memory growth. PyTorch's counterpart, growing segments of its allocator,
is no option here: once a network runs, the caching allocator asks the driver for nothing, so that no reading changes.
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
from flexibo.systems.platforms.base import MakeInputs, Serving

PRECISIONS = ("fp32", "tf32", "bf16", "fp16")
STREAMS = (1, 2, 4)
WARM_UP_CALLS = 3
"""So many calls before a graph is recorded: libraries choose their algorithms in the first ones."""


@dataclass(frozen=True, slots=True)
class NvidiaGpu:
    """One NVIDIA GPU.

    Attributes:
        index: Which of the visible ones.
        allow_clocks: Whether its clocks and its power limit may be changed.
    """

    index: int = 0
    allow_clocks: bool = False

    @property
    def name(self) -> str:
        """What a user types."""
        return "nvidia-gpu"

    @property
    def device(self) -> str:
        """Where torch runs."""
        return f"cuda:{self.index}"

    @property
    def machine(self) -> LinuxMachine:
        """The driver, which takes changes only where they are allowed."""
        return LinuxMachine(nvidia=NvidiaGpus(allow=self.allow_clocks))

    def options(self, traits: NetworkTraits) -> Mapping[str, Values]:
        """What the network at hand leaves to choose."""
        options: dict[str, Values] = {} if traits.own_batch else {"batch": BATCHES}
        options["precision"] = PRECISIONS
        if traits.images:
            options["layout"] = LAYOUTS
        if traits.graphs:
            options["cuda_graphs"] = (False, True)
        options["streams"] = STREAMS
        return options

    @property
    def longest_seconds(self) -> None:
        """No limit: a GPU trains and runs all networks of the paper."""
        return None

    def notes(self) -> tuple[str, ...]:
        """Nothing that a report must say."""
        return ()

    def knobs(self) -> tuple[Knob, ...]:
        """Clocks and power limit, where that is allowed."""
        return nvidia_knobs(NvidiaGpus(allow=True), index=self.index) if self.allow_clocks else ()

    def meter(self) -> EnergyMeter:
        """NVML's energy counter."""
        return NvmlMeter(self.index)

    @contextmanager
    def serving(self, model: Any, inputs: MakeInputs, design: Mapping[str, Any]) -> Iterator[Serving]:
        """A model on the GPU as a design says; its memory is given back afterwards."""
        import torch

        batch = int(design["batch"] if "batch" in design else design["batch_size"])
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
    """What starts one batch, on a stream of its own or not, as single operations or as one recorded graph."""
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
    kept = graph, model, inputs  # a graph reads weights and inputs where they were, and keeps neither
    return lambda: on_stream(kept[0].replay)
