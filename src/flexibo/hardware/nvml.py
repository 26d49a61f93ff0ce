"""NVML: the energy counter of NVIDIA GPUs, through the Python package nvidia-ml-py (module `pynvml`, extra `nvml`).

The counter `nvmlDeviceGetTotalEnergyConsumption` gives millijoules since the driver was loaded, on Volta and later; on
recent GPUs it is updated ten times a second. If there is none, `nvmlDeviceGetPowerUsage` is sampled. Both cover the
whole GPU board, including idle power and other processes.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

from flexibo.errors import InvalidTypeError, InvalidValueError, missing_extra
from flexibo.hardware.base import MeterError
from flexibo.hardware.sampling import SampledMeter

COUNTER_SECONDS = 0.1
SAMPLE_SECONDS = 0.02
VISIBLE = "CUDA_VISIBLE_DEVICES"
ALL = "all"

# By the name of the error code of NVML: what is wrong and what to do.
_SENTENCES = {
    "NVML_ERROR_LIBRARY_NOT_FOUND": "libnvidia-ml is not on this machine; install the NVIDIA driver",
    "NVML_ERROR_DRIVER_NOT_LOADED": "the NVIDIA driver is not loaded; load it, or start the container with GPUs",
    "NVML_ERROR_NO_PERMISSION": "this user may not read it; ask the administrator for access to /dev/nvidia*",
    "NVML_ERROR_GPU_IS_LOST": "the GPU is lost (it fell off the bus); reset it or restart the machine",
    "NVML_ERROR_RESET_REQUIRED": "the GPU needs a reset; reset it or restart the machine",
    "NVML_ERROR_LIB_RM_VERSION_MISMATCH": "driver and library are of different versions; restart the machine",
    "NVML_ERROR_NOT_SUPPORTED": "this GPU reports neither energy nor power; choose another meter",
    "NVML_ERROR_FUNCTION_NOT_FOUND": "the NVIDIA driver is too old for it; update the driver",
}
_NO_COUNTER = ("NVML_ERROR_NOT_SUPPORTED", "NVML_ERROR_FUNCTION_NOT_FOUND")


class NvmlUnavailableError(MeterError):
    """NVML or the counter of a GPU is missing or cannot be read."""


class NvmlMeter:
    """The energy of one NVIDIA GPU, or of several together, in joules since the meter was created.

    An index refers to the GPUs that CUDA_VISIBLE_DEVICES leaves visible, as in PyTorch. NVML sorts GPUs by bus; CUDA
    does so with CUDA_DEVICE_ORDER=PCI_BUS_ID. On a machine with different GPUs, set that or name the GPU by its UUID.

    Args:
        index: The GPU: an index among the visible ones, or a UUID ("GPU-..." or the beginning of one); or several, or
            "all" visible ones.
        library: The module `pynvml`, or an object with the same functions.
        environment: The environment with CUDA_VISIBLE_DEVICES; by default that of this process.
        clock: Seconds, for a GPU whose power is sampled.

    Raises:
        MissingExtraError: nvidia-ml-py is not installed.
        NvmlUnavailableError: There is no such GPU, or it cannot be read; the message says what to do.
    """

    is_estimate = False

    def __init__(
        self,
        index: int | str | Sequence[int | str] = 0,
        *,
        library: Any = None,
        environment: Mapping[str, str] | None = None,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        wanted = (index,) if isinstance(index, (int, str)) else tuple(index)
        self._library = load_pynvml() if library is None else library
        _call(self._library, "NVML cannot be started", "nvmlInit")
        try:
            positions = _positions(self._library, wanted, os.environ if environment is None else environment)
            self._handles = [self._ask(f"GPU {at}", "nvmlDeviceGetHandleByIndex", at) for at in positions]
            self._names = [_text(self._ask("A GPU's name", "nvmlDeviceGetName", handle)) for handle in self._handles]
            self._devices = [
                _device(self._library, handle, f"GPU {at} ({name})", clock)
                for at, handle, name in zip(positions, self._handles, self._names, strict=True)
            ]
        except BaseException:
            self._library.nvmlShutdown()
            raise
        self._is_open = True

    @property
    def name(self) -> str:
        """What is read."""
        names = dict.fromkeys(self._names)
        counted = [(self._names.count(name), name) for name in names]
        gpus = " + ".join(name if count == 1 else f"{count} x {name}" for count, name in counted)
        return f"NVML, {gpus}{' (power samples)' if self._is_sampled else ''}"

    @property
    def update_seconds(self) -> float:
        """The update interval of the slowest counter."""
        return max(device.update_seconds for device in self._devices)

    def read_joules(self) -> float:
        """The energy since the meter was created; an error if a GPU cannot be read any more, or its counter fell."""
        # All are read before an error is raised, so that a counter that fell fails one reading only.
        joules, failure = 0.0, None
        for device in self._devices:
            try:
                joules += device.read_joules()
            except MeterError as error:
                failure = failure or error
        if failure is not None:
            raise failure
        return joules

    def describe(self) -> Mapping[str, str]:
        """The GPUs, how they are read, and the versions of driver and libraries."""
        facts = {"gpus": " + ".join(self._names), "source": "power samples" if self._is_sampled else "energy counter"}
        facts |= self._optional("driver", "nvmlSystemGetDriverVersion")
        facts |= self._optional("nvml", "nvmlSystemGetNVMLVersion")
        facts |= self._optional("cuda", "nvmlSystemGetCudaDriverVersion")
        facts |= self._optional("power_limit_watts", "nvmlDeviceGetEnforcedPowerLimit", self._handles[0])
        if "cuda" in facts:
            facts["cuda"] = f"{int(facts['cuda']) // 1000}.{int(facts['cuda']) % 1000 // 10}"
        if "power_limit_watts" in facts:
            facts["power_limit_watts"] = f"{int(facts['power_limit_watts']) / 1000:g}"
        return facts

    def close(self) -> None:
        """Stop sampling, if there is any, and release NVML; leaving a `with` block does so."""
        for device in self._devices:
            if isinstance(device, SampledMeter):
                device.stop()
        if self._is_open:
            self._is_open = False
            self._library.nvmlShutdown()

    def __enter__(self) -> NvmlMeter:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @property
    def _is_sampled(self) -> bool:
        return any(isinstance(device, SampledMeter) for device in self._devices)

    def _ask(self, what: str, function: str, *arguments: object) -> Any:
        return _call(self._library, f"{what} cannot be read", function, *arguments)

    def _optional(self, fact: str, function: str, *arguments: object) -> dict[str, str]:
        try:
            return {fact: _text(self._ask(fact, function, *arguments))}
        except NvmlUnavailableError:
            return {}


class _Counter:
    """The energy counter of one GPU, from the creation of this object."""

    update_seconds = COUNTER_SECONDS

    def __init__(self, read_millijoules: Callable[[], int], what: str) -> None:
        self._read_millijoules = read_millijoules
        self._what = what
        self._last = read_millijoules()
        self._total = 0

    def read_joules(self) -> float:
        now = self._read_millijoules()
        before, self._last = self._last, now
        if now < before:
            raise NvmlUnavailableError(
                f"The energy counter of {self._what} fell from {before / 1000:g} J to {now / 1000:g} J, as when the "
                f"driver is reloaded; measure again."
            )
        self._total += now - before
        return self._total / 1000


def _device(library: Any, handle: Any, what: str, clock: Callable[[], float]) -> _Counter | SampledMeter:
    try:
        library.nvmlDeviceGetTotalEnergyConsumption(handle)
    except library.NVMLError as error:
        if _code(library, error) not in _NO_COUNTER:
            raise _unavailable(library, f"{what} cannot be read", error) from error
    else:
        return _Counter(
            lambda: int(_call(library, f"{what} cannot be read", "nvmlDeviceGetTotalEnergyConsumption", handle)), what
        )

    def power_watts() -> float:
        return float(_call(library, f"{what} cannot be read", "nvmlDeviceGetPowerUsage", handle)) / 1000

    power_watts()  # fails early if the GPU does not report its power either
    return SampledMeter(power_watts, period_seconds=SAMPLE_SECONDS, clock=clock, name=f"NVML power of {what}")


def _positions(library: Any, wanted: Sequence[int | str], environment: Mapping[str, str]) -> list[int]:
    """The positions of the requested GPUs in the order of NVML."""
    if not wanted:
        raise InvalidValueError("No GPU was named; give at least one index or UUID.")
    count = int(_call(library, "The number of GPUs cannot be read", "nvmlDeviceGetCount"))
    visible = _visible(library, count, environment.get(VISIBLE))
    if tuple(wanted) == (ALL,) and visible:
        return visible
    wanted = (0,) if tuple(wanted) == (ALL,) else wanted
    positions = []
    for gpu in wanted:
        if isinstance(gpu, str):
            positions.append(_with_uuid(library, count, gpu))
        elif isinstance(gpu, bool) or not isinstance(gpu, int):
            raise InvalidTypeError(f"The GPU is {gpu!r}; give an index or a UUID.")
        elif 0 <= gpu < len(visible):
            positions.append(visible[gpu])
        else:
            raise NvmlUnavailableError(_no_such_gpu(gpu, count, len(visible), environment.get(VISIBLE)))
    if len(set(positions)) < len(positions):
        raise InvalidValueError(f"A GPU is named twice in {list(wanted)}; its energy would count twice.")
    return positions


def _no_such_gpu(gpu: int, count: int, n_visible: int, setting: str | None) -> str:
    if n_visible == 0 and count > 0:
        return f"No GPU is visible, because {VISIBLE} is {setting!r}; unset it or name a GPU in it."
    if setting is None:
        return f"There is no GPU {gpu}; this machine has {count}, counted from 0."
    return f"There is no GPU {gpu} among the {n_visible} that {VISIBLE}={setting} leaves visible, counted from 0."


def _visible(library: Any, count: int, setting: str | None) -> list[int]:
    """The positions of the visible GPUs; as in CUDA, the first entry that names no GPU ends the list."""
    if setting is None:
        return list(range(count))
    positions: list[int] = []
    for entry in (part.strip() for part in setting.split(",")):
        if entry.startswith("MIG-"):
            raise NvmlUnavailableError(
                f"{VISIBLE} names the slice {entry} of a GPU, and a slice has no energy counter; use a whole GPU."
            )
        if entry.startswith("GPU-"):
            try:
                positions.append(_with_uuid(library, count, entry))
            except NvmlUnavailableError:
                break
        elif entry.isdecimal() and int(entry) < count:
            positions.append(int(entry))
        else:
            break
    return positions


def _with_uuid(library: Any, count: int, beginning: str) -> int:
    uuids = []
    for at in range(count):
        handle = _call(library, f"GPU {at} cannot be read", "nvmlDeviceGetHandleByIndex", at)
        uuids.append(_text(_call(library, f"GPU {at} cannot be read", "nvmlDeviceGetUUID", handle)))
    matching = [at for at, uuid in enumerate(uuids) if uuid.startswith(beginning)]
    if not beginning.startswith("GPU-") or len(matching) != 1:
        raise NvmlUnavailableError(
            f"{len(matching) if beginning.startswith('GPU-') else 'No'} GPUs have the UUID {beginning!r}; "
            f"this machine has {', '.join(uuids) or 'none'}."
        )
    return matching[0]


def _call(library: Any, failed: str, function: str, *arguments: object) -> Any:
    try:
        return getattr(library, function)(*arguments)
    except library.NVMLError as error:
        raise _unavailable(library, failed, error) from error


def _unavailable(library: Any, failed: str, error: Exception) -> NvmlUnavailableError:
    reason = _SENTENCES.get(_code(library, error), str(error))
    return NvmlUnavailableError(f"{failed}: {reason}.")


def _code(library: Any, error: Any) -> str:
    """The name of an NVML error code, or "" if it is not in the table."""
    return next((name for name in _SENTENCES if getattr(library, name, None) == error.value), "")


def _text(value: object) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)  # older bindings return bytes


def load_pynvml() -> Any:
    """The module `pynvml`; an error that names the extra if it is not installed."""
    try:
        return import_module("pynvml")
    except ImportError as error:
        raise missing_extra("nvidia-ml-py", "nvml") from error
