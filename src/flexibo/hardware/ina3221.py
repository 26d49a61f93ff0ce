"""INA3221: the power sensors of NVIDIA's Jetson boards in Linux, under /sys/bus/i2c.

A chip measures three power rails, a board has one to four chips. There are two layouts:

    ina3221x/*/iio:device*/   rail_name_0, in_power0_input (mW)                 JetPack 4 and earlier
    ina3221/*/hwmon/hwmon*/   in1_label, in1_input (mV), curr1_input (mA)       JetPack 5 and later

The rails that make up the module's power, never a total together with its parts:

    Nano                                    POM_5V_IN, which feeds the rest
    TX1, TX2, TX2 NX, Xavier NX,
    Orin NX, Orin Nano                      VDD_IN, which feeds the rest (on TX1 and TX2 the carrier board, VDD_MUX and
                                            what it feeds, is separate and not included)
    AGX Xavier                              GPU + CPU + SOC + CV + VDDRQ + SYS5V: separate rails, none is the total
    AGX Orin                                VDD_GPU_SOC + VDD_CPU_CV + VIN_SYS_5V0; the sensor of VDDQ_VDD2_1V8AO sits
                                            at 5 V, behind VIN_SYS_5V0

For other boards, name the rails.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from flexibo.hardware.base import MeterError, unreadable
from flexibo.hardware.sampling import SampledMeter

SYS = Path("/sys")
TOTALS = ("VDD_IN", "POM_5V_IN")
SIDE_BY_SIDE = (
    ("GPU", "CPU", "SOC", "CV", "VDDRQ", "SYS5V"),
    ("VDD_GPU_SOC", "VDD_CPU_CV", "VIN_SYS_5V0"),
)
SAMPLE_SECONDS = 0.02
_NOT_CONNECTED = ("", "NC")


class Ina3221UnavailableError(MeterError):
    """The sensors are missing or cannot be read, or it is not known which rails to add."""


@dataclass(frozen=True, slots=True)
class _Rail:
    files: tuple[Path, ...]  # the factors of the power: milliwatts, or millivolts and milliamperes
    per_watt: float  # the divisor of the product

    def watts(self) -> float:
        product = 1
        for file in self.files:
            product *= int(file.read_text())
        # A rail without load sometimes reads slightly below zero.
        return max(product, 0) / self.per_watt


class Ina3221Meter(SampledMeter):
    """The energy of a Jetson module in joules: the sampled power of its rails, integrated.

    Args:
        root: The folder /sys; different in tests and containers.
        rails: The names of the rails to add; by default those that make up the module's power.
        period_seconds: The time between two samples.
        clock: Seconds.

    Attributes:
        rails: The rails that are added.

    Raises:
        Ina3221UnavailableError: A sensor is missing or cannot be read; the message says what to do.
    """

    def __init__(
        self,
        root: str | Path = SYS,
        *,
        rails: Iterable[str] | None = None,
        period_seconds: float = SAMPLE_SECONDS,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        i2c = Path(root) / "bus" / "i2c" / "drivers"
        with _unavailable_errors(i2c):
            found = dict(_connected_rails(i2c))
            self.rails = _chosen(found, i2c, (rails,) if isinstance(rails, str) else rails)
            read = tuple(found[name] for name in self.rails)
            _total_watts(read)  # fails early if the rails cannot be read
        name = f"INA3221, {' + '.join(self.rails)}"
        super().__init__(lambda: _total_watts(read), period_seconds=period_seconds, clock=clock, name=name)

    def close(self) -> None:
        """Stops sampling; leaving a `with` block does so."""
        self.stop()


def _total_watts(rails: Iterable[_Rail]) -> float:
    return sum(rail.watts() for rail in rails)


@contextmanager
def _unavailable_errors(i2c: Path) -> Iterator[None]:
    try:
        yield
    except MeterError:
        raise
    except PermissionError as error:
        raise Ina3221UnavailableError(unreadable(error)) from error
    except (OSError, ValueError) as error:
        raise Ina3221UnavailableError(f"The INA3221 sensors under {i2c} cannot be read: {error}.") from error


def _connected_rails(i2c: Path) -> Iterator[tuple[str, _Rail]]:
    for label, rail in _labelled_rails(i2c):
        if label.exists() and (name := label.read_text().strip()) not in _NOT_CONNECTED:
            yield name, rail


def _labelled_rails(i2c: Path) -> Iterator[tuple[Path, _Rail]]:
    for chip in sorted(i2c.glob("ina3221x/*/iio[:_]device*")):
        for channel in "012":
            yield chip / f"rail_name_{channel}", _Rail((chip / f"in_power{channel}_input",), 1e3)
    for chip in sorted(i2c.glob("ina3221/*/hwmon/hwmon*")):
        # Only these: in4 to in6 are the voltages over the shunts, in7 is their sum.
        for channel in "123":
            files = (chip / f"in{channel}_input", chip / f"curr{channel}_input")
            yield chip / f"in{channel}_label", _Rail(files, 1e6)


def _chosen(found: Mapping[str, _Rail], i2c: Path, rails: Iterable[str] | None) -> tuple[str, ...]:
    if not found:
        raise Ina3221UnavailableError(f"There is no INA3221 power sensor under {i2c}.")
    if rails is not None:
        wanted = tuple(dict.fromkeys(rails))
        missing = [name for name in wanted if name not in found]
        if missing or not wanted:
            raise Ina3221UnavailableError(
                f"There is no rail {', '.join(missing) or 'given'}; this board has {', '.join(sorted(found))}."
            )
        return wanted
    for names in (*((total,) for total in TOTALS), *SIDE_BY_SIDE):
        if all(name in found for name in names):
            return names
    raise Ina3221UnavailableError(
        f"The rails {', '.join(sorted(found))} belong to no known board; name those to add with rails=, "
        f"never a total together with its parts."
    )
