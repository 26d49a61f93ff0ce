"""A Jetson AGX Xavier in a folder, an agent beside it, and an ssh that leads there."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from tests.unit.hardware.fake_linux import GPU_STEPS, linux, put

from flexibo.hardware.boards import agent_text

WATTS = 10.5  # 1 + 2 + 3 + 0 + 0.5 + 4, the rails of the board
SSH = """#!/bin/sh
# ssh -o NAME=VALUE ... -- HOST COMMAND: another home folder of this machine
while [ "$1" != -- ]; do shift; done
[ "$2" = gone@board ] && {{ echo "ssh: connect to host board port 22: No route to host" >&2; exit 255; }}
shift; shift
cd '{home}' && export HOME='{home}'
case "$*" in
  *" session") exec sh -c "$* --root '{root}' --state '{state}'" ;;
  *) exec sh -c "$*" ;;
esac
"""
MODES = """< POWER_MODEL ID=0 NAME=MAXN >
CPU_ONLINE CORE_0 1
< POWER_MODEL ID=2 NAME=MODE_15W >
"""


def xavier(folder: Path) -> Path:
    """The files of the board; returns their root."""
    roots = linux(folder, cores=8, groups=((0, 1), (2, 3), (4, 5), (6, 7)))
    put(roots.proc / "device-tree/model", "Jetson-AGX\0")
    gpu = roots.sys / "class/devfreq/17000000.gv11b"
    put(gpu / "available_frequencies", " ".join(map(str, GPU_STEPS)))
    put(gpu / "min_freq", GPU_STEPS[0])
    put(gpu / "max_freq", GPU_STEPS[-1])
    emc = roots.sys / "kernel/debug/bpmp/debug/clk/emc"
    for name, number in {"rate": 1600000000, "mrq_rate_locked": 0, "state": 1}.items():
        put(emc / name, number)
    put(emc / "min_rate", 204000000)
    put(emc / "max_rate", 2133000000)
    rails = (("GPU", 1000), ("CPU", 2000), ("SOC", 3000), ("CV", 0), ("VDDRQ", 500), ("SYS5V", 4000))
    for at, (name, milliwatts) in enumerate(rails):
        chip = roots.sys / f"bus/i2c/drivers/ina3221x/1-004{at // 3}/iio:device{at // 3}"
        put(chip / f"rail_name_{at % 3}", name)
        put(chip / f"in_power{at % 3}_input", milliwatts)
    for at, (kind, millidegrees) in enumerate((("CPU-therm", 41500), ("PMIC-Die", 100000))):
        put(roots.sys / f"class/thermal/thermal_zone{at}/type", kind)
        put(roots.sys / f"class/thermal/thermal_zone{at}/temp", millidegrees)
    for at, kind in enumerate(("pwm-fan", "gpu-balanced")):
        put(roots.sys / f"class/thermal/cooling_device{at}/type", kind)
        put(roots.sys / f"class/thermal/cooling_device{at}/cur_state", 1 - at)
    put(folder / "etc/nvpmodel.conf", MODES)
    (folder / "tmp").mkdir()
    (folder / "tmp").chmod(0o777)
    return folder


def installed(folder: Path) -> Path:
    """The agent in a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "agent.py"
    path.write_bytes(agent_text())
    return path


def loaded(folder: Path) -> ModuleType:
    """The agent as a module, to call its parts."""
    spec = importlib.util.spec_from_file_location("board_agent", installed(folder))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def program(path: Path, text: str) -> Path:
    """An executable script."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def fake_ssh(folder: Path, root: Path) -> Path:
    """A program ssh that leads to a board in a folder; returns the folder to put on the path."""
    home, state = folder / "home", folder / "state"
    home.mkdir(parents=True, exist_ok=True)
    program(folder / "bin/ssh", SSH.format(home=home, root=root, state=state))
    return folder / "bin"


def begun(folder: Path, root: Path, *words: str, python: str = sys.executable) -> subprocess.Popen[bytes]:
    """A running agent on a board."""
    agent = folder / "agent.py"
    return subprocess.Popen(
        [python, *(agent if agent.exists() else installed(folder), *words, "--root", root, "--state", folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONWARNINGS": "error"},
    )


def asked(agent: subprocess.Popen[bytes], request: object) -> dict[str, Any]:
    """The answer of a running session."""
    assert agent.stdin is not None
    assert agent.stdout is not None
    agent.stdin.write((request if isinstance(request, str) else json.dumps(request)).encode() + b"\n")
    agent.stdin.flush()
    while "alive" in (answer := json.loads(agent.stdout.readline())):
        pass
    return dict(answer)


def ended(agent: subprocess.Popen[bytes]) -> str:
    """End a session; returns what it wrote on its standard error."""
    _, errors = agent.communicate(timeout=20)
    return errors.decode()


def eventually(condition: Callable[[], object], seconds: float = 10.0) -> None:
    """Wait for something that another process does."""
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.01)
