"""A processor offers what it can compute."""

from __future__ import annotations

from pathlib import Path

import pytest

from flexibo.hardware.knobs import LinuxMachine, Roots
from flexibo.systems.catalogue import NetworkTraits
from flexibo.systems.platforms import Jetson, LinuxCpu, NvidiaGpu

IMAGES, TEXT = NetworkTraits(), NetworkTraits(images=False, own_batch=True)


def test_a_processor_offers_powers_of_two_as_threads() -> None:
    assert LinuxCpu(cores=6).options(IMAGES)["threads"] == (1, 2, 4)
    assert LinuxCpu(cores=1).options(IMAGES)["threads"] == (1,)


X86 = "processor\t: {n}\nvendor_id\t: GenuineIntel\nflags\t\t: fpu avx2 avx512f {more}\nbugs\t\t: spectre_v1 bf16\n\n"


ARM = "processor\t: {n}\nBogoMIPS\t: 243.75\nFeatures\t: fp asimd fphp asimdhp {more}\nCPU part\t: 0xd0c\n\n"


def processor(folder: Path, text: str | None) -> LinuxCpu:
    if text is not None:
        (folder / "cpuinfo").write_text(text)
    return LinuxCpu(cores=2, machine=LinuxMachine(Roots(sys=folder, proc=folder)))


@pytest.mark.parametrize(
    ("text", "has_bf16"),
    [
        (X86.format(n=0, more="avx512_bf16"), True),
        (X86.format(n=0, more="amx_bf16 amx_tile"), True),
        (X86.format(n=0, more="avx512_fp16"), False),  # half precision is another format
        (X86.format(n=0, more=""), False),
        (ARM.format(n=0, more="bf16 i8mm"), True),
        (ARM.format(n=0, more=""), False),
        (ARM.format(n=0, more="bf16") + ARM.format(n=1, more="bf16"), True),
        (ARM.format(n=0, more="bf16") + ARM.format(n=1, more=""), False),  # large and small cores
        ("", False),
        (None, False),
    ],
)
def test_a_processor_offers_bf16_where_it_has_instructions_for_it(
    tmp_path: Path, text: str | None, has_bf16: bool
) -> None:
    platform = processor(tmp_path, text)
    for traits in (IMAGES, TEXT, TEXT):
        assert platform.options(traits)["precision"] == (("fp32", "bf16") if has_bf16 else ("fp32",))
    assert ["bf16" in note for note in platform.notes()] == ([] if has_bf16 else [True])


def test_an_evaluation_is_limited_on_a_processor_alone() -> None:
    assert LinuxCpu(cores=2).longest_seconds == 60.0
    assert (NvidiaGpu().longest_seconds, Jetson().longest_seconds) == (None, None)
