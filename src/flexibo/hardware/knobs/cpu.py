"""Processor knobs of Linux: the number of active cores, their governor and their frequency."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from flexibo.errors import InvalidValueError
from flexibo.hardware.knobs._frequencies import pinned, spread, step_of
from flexibo.hardware.knobs.base import KnobUnavailableError, Level, Machine, Write, changes, whole
from flexibo.hardware.knobs.files import number_of, numbered, numbers_of, text_of

CPU = Path("devices/system/cpu")
_KHZ = 1e6  # per GHz
_TABLE_TOLERANCE, _RANGE_TOLERANCE = 0.01, 0.05


@dataclass(frozen=True, slots=True)
class ActiveCores:
    """The number of online processor cores, at most `highest`; those with the lowest numbers are online.

    The first core, and others that cannot go offline, are always included. On a Jetson TX2, cores 1 and 2 are its
    Denver cores. A process that was bound to a core that goes offline stays unbound when the core returns.
    """

    machine: Machine
    highest: int | None = None
    name: str = "active_cores"

    def values(self) -> tuple[Level, ...]:
        """From the number of cores that cannot go offline to all."""
        switches, fixed = self._cores()
        if not switches:
            raise KnobUnavailableError(f"No core under {self.machine.roots.sys / CPU} can go offline.")
        most = len(switches) + fixed
        return tuple(range(max(fixed, 1), min(most, self.highest or most) + 1))

    def read(self) -> Level:
        """The number of online cores."""
        switches, fixed = self._cores()
        return fixed + sum(number_of(self.machine, switch) for switch in switches)

    def writes(self, value: Level) -> tuple[Write, ...]:
        """Cores come online before others go offline, so that there are never fewer than before or after."""
        offered = self.values()
        switches, fixed = self._cores()
        count = whole(self.name, value, int(offered[0]), int(offered[-1])) - fixed
        moves = [
            Write(str(switch), "1" if position < count else "0", text_of(self.machine, switch))
            for position, switch in enumerate(switches)
        ]
        up, down = moves[:count], moves[count:]
        return changes([*up, *reversed(down)])

    def _cores(self) -> tuple[list[Path], int]:
        """The files `online` of the cores that can go offline, and the number of the other cores."""
        cores = numbered(self.machine.roots.sys / CPU, "cpu")
        if not cores:
            raise KnobUnavailableError(f"There are no processor cores under {self.machine.roots.sys / CPU}.")
        # Boards have this file for the first core as well, but interrupts and firmware need it online.
        switches = [core / "online" for core in cores if core.name != "cpu0" and (core / "online").exists()]
        return switches, len(cores) - len(switches)


MIXED = "mixed"


@dataclass(frozen=True, slots=True)
class CpuGovernor:
    """The governor of all online cores: the rule by which the kernel chooses their frequency, such as powersave."""

    machine: Machine
    name: str = "cpu_governor"

    def values(self) -> tuple[Level, ...]:
        """The governors that all groups of cores offer; `userspace` is left out, because it keeps any frequency."""
        offered = [text_of(self.machine, policy / "scaling_available_governors").split() for policy in self._policies()]
        common = [word for word in offered[0] if word != "userspace" and all(word in others for others in offered)]
        if not common:
            raise KnobUnavailableError("The groups of cores have no governor in common.")
        return tuple(common)

    def read(self) -> Level:
        """The present governor, or "mixed" if groups of cores differ."""
        present = {text_of(self.machine, policy / "scaling_governor") for policy in self._policies()}
        return present.pop() if len(present) == 1 else MIXED

    def writes(self, value: Level) -> tuple[Write, ...]:
        """One write for each group of cores that has another governor."""
        offered = self.values()
        if value not in offered:
            listed = ", ".join(map(str, offered))
            raise InvalidValueError(f"Option {self.name!r} is {value!r}; this machine has {listed}.")
        files = [policy / "scaling_governor" for policy in self._policies()]
        return changes(Write(str(file), str(value), text_of(self.machine, file)) for file in files)

    def _policies(self) -> list[Path]:
        return _online_policies(self.machine)


@dataclass(frozen=True, slots=True)
class CpuFrequency:
    """The frequency of all online cores in GHz: both limits of each group of cores with a common clock are set to it.

    Every governor obeys the limits, so none is changed; for the governor `userspace` the speed is set as well. A group
    of cores without this step takes its nearest one.
    """

    machine: Machine
    steps: int = 8  # the largest number of frequencies offered
    bounds: tuple[float, float] | None = None  # the lowest and the highest frequency offered, in GHz; all if None
    name: str = "cpu_frequency"

    def values(self) -> tuple[Level, ...]:
        """The steps of the fastest cores, or evenly spaced ones if the driver accepts any frequency."""
        policy = self._fastest()
        table = self._table(policy)
        if table:
            return spread([step / _KHZ for step in table], self.steps, self.bounds)
        low, high = self._range(policy)
        return spread([(low + (high - low) * part // 100) / _KHZ for part in range(101)], self.steps, self.bounds)

    def read(self) -> Level:
        """The present upper limit of the fastest cores."""
        return number_of(self.machine, self._fastest() / "scaling_max_freq") / _KHZ

    def writes(self, value: Level) -> tuple[Write, ...]:
        """Both limits of each group of cores, then its speed if the governor is `userspace`."""
        fastest = self._fastest()
        table = self._table(fastest)
        if table:
            wanted = step_of(self.name, value, [step / _KHZ for step in table]) * _KHZ
        else:
            low, high = self._range(fastest)
            if isinstance(value, (str, bool)) or not low <= round(value * _KHZ) <= high:
                raise InvalidValueError(
                    f"Option {self.name!r} is {value!r}; it must be between {low / _KHZ:g} and {high / _KHZ:g}."
                )
            wanted = value * _KHZ
        return tuple(write for policy in self._policies() for write in self._pinned(policy, wanted))

    def _pinned(self, policy: Path, wanted: float) -> tuple[Write, ...]:
        table = self._table(policy)
        low, high = self._range(policy)
        target = min(table, key=lambda step: abs(step - wanted)) if table else round(min(max(wanted, low), high))
        tolerance = _TABLE_TOLERANCE if table else _RANGE_TOLERANCE
        limits = pinned(
            self.machine, policy / "scaling_min_freq", policy / "scaling_max_freq", target, tolerance=tolerance
        )
        speed = policy / "scaling_setspeed"
        if text_of(self.machine, policy / "scaling_governor") != "userspace" or not speed.exists():
            return limits
        before = str(number_of(self.machine, speed))
        return (*limits, *changes([Write(str(speed), str(target), before, tolerance=tolerance)]))

    def _policies(self) -> list[Path]:
        return _online_policies(self.machine)

    def _fastest(self) -> Path:
        return max(self._policies(), key=lambda policy: self._range(policy)[1])

    def _table(self, policy: Path) -> tuple[int, ...]:
        return numbers_of(self.machine, policy / "scaling_available_frequencies")

    def _range(self, policy: Path) -> tuple[int, int]:
        return (
            number_of(self.machine, policy / "cpuinfo_min_freq"),
            number_of(self.machine, policy / "cpuinfo_max_freq"),
        )


def _online_policies(machine: Machine) -> list[Path]:
    """The groups of cores with a common clock that have a core online."""
    folder = machine.roots.sys / CPU / "cpufreq"
    found = [policy for policy in numbered(folder, "policy") if numbers_of(machine, policy / "affected_cpus")]
    if not found:
        raise KnobUnavailableError(f"The kernel does not control the cores' frequency: no policy under {folder}.")
    return found
