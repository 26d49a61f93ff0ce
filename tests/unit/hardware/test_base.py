"""What all meters share."""

from __future__ import annotations

import pickle

import pytest

from flexibo.errors import MachineError
from flexibo.hardware import EstimatedMeter, Ina3221Meter, NvmlMeter, RaplMeter
from flexibo.hardware.base import Availability, EnergyMeter, MeterError, unreadable
from flexibo.hardware.sampling import SampledMeter


@pytest.mark.parametrize("kind", [EstimatedMeter, Ina3221Meter, NvmlMeter, RaplMeter, SampledMeter])
def test_only_an_estimate_is_called_one(kind: type[EnergyMeter]) -> None:
    assert kind.is_estimate is (kind is EstimatedMeter)  # type: ignore[comparison-overlap]
    assert callable(kind.read_joules)


def test_a_file_that_may_not_be_read_is_named_with_the_command_that_helps() -> None:
    advice = unreadable(PermissionError(13, "Permission denied", "/sys/energy_uj"))
    assert advice.startswith("/sys/energy_uj ")
    assert "chmod a+r /sys/energy_uj" in advice


def test_an_availability_is_true_only_if_the_meter_can_be_read() -> None:
    assert Availability(True, "RAPL, 1 package")
    assert not Availability(False, "There is none.")


def test_errors_of_meters_stop_a_study_rather_than_fail_a_design() -> None:
    assert issubclass(MeterError, MachineError)
    assert issubclass(MeterError, OSError)
    assert str(pickle.loads(pickle.dumps(MeterError("No meter.")))) == "No meter."
