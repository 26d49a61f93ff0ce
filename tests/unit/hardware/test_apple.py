"""powermetrics, played by a program that prints what it prints."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from flexibo.hardware import AppleMeter, AppleUnavailableError

BLOCK = """*** Sampled system activity (Tue Nov 17 10:00:00 2026 +0000) ({ms}ms elapsed) ***

**** Processor usage ****
CPU Power: 900 mW
GPU Power: 350 mW
ANE Power: 0 mW
Combined Power (CPU + GPU + ANE): {mw} mW
"""


def program(folder: Path, *blocks: str, last: str = "") -> list[str]:
    """A program that prints the first block, then one for each line of a pipe that a test writes to."""
    pipe = folder / "next"
    text = f"""
import sys
blocks = {list(blocks)!r}
print(blocks[0], flush=True)
for block in blocks[1:]:
    open({str(pipe)!r}).read()
    print(block, flush=True)
{last}
"""
    file = folder / "powermetrics.py"
    file.write_text(text)
    return [sys.executable, str(file)]


def test_blocks_add_up_to_joules(tmp_path: Path) -> None:
    import os

    os.mkfifo(tmp_path / "next")
    blocks = [BLOCK.format(ms=200, mw=1000), BLOCK.format(ms=250, mw=2000), BLOCK.format(ms=100, mw=5000)]
    with AppleMeter(program(tmp_path, *blocks, last=f"open({str(tmp_path / 'next')!r}).read()")) as meter:
        readings = []
        for _ in range(2):
            (tmp_path / "next").write_text("")
            readings.append(meter.read_joules())
        assert readings == pytest.approx([0.7, 1.2])
        (tmp_path / "next").write_text("")
    assert meter.update_seconds == 0.2


def test_an_intel_mac_reports_its_package(tmp_path: Path) -> None:
    block = "*** Sampled system activity (x) (500.0ms elapsed) ***\n"
    block += "Intel energy model derived package power (CPUs+GT+SA): 3.00W\n"
    with AppleMeter(program(tmp_path, block)) as meter:
        assert meter._joules == pytest.approx(1.5)
        with pytest.raises(AppleUnavailableError):  # the program has ended
            meter.read_joules()


def test_without_root_the_way_out_is_named(tmp_path: Path) -> None:
    file = tmp_path / "refuses.py"
    file.write_text("import sys; sys.exit('powermetrics must be invoked as the superuser')")
    with pytest.raises(AppleUnavailableError, match=r"superuser.*sudo"):
        AppleMeter([sys.executable, str(file)])


def test_other_systems_have_none() -> None:
    with pytest.raises(AppleUnavailableError, match="powermetrics-of-nobody"):
        AppleMeter(["powermetrics-of-nobody"])
