"""The checks of ``flexibo doctor``: packages, meters, GPUs, databases, clusters, browser, data, knobs."""

from __future__ import annotations

import os
import platform
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from sqlite3 import sqlite_version
from types import MappingProxyType
from typing import Any

from flexibo import __version__
from flexibo._internal.text import printable_line
from flexibo.cli._doctor_findings import Check, Finding, output_of, python_says
from flexibo.cli._proxy_hints import proxy_hints
from flexibo.cli._text import counted
from flexibo.compare.problems.datasets import status
from flexibo.errors import FlexiBOError, MissingExtraError
from flexibo.hardware import METERS, MeterError, MeterPlaces, close_meter, open_meter
from flexibo.hardware.knobs import LinuxMachine, NvidiaGpus, NvpModel, all_knobs, default_path, state
from flexibo.storage import Storage, network_type, shown_url, stored_studies
from flexibo.storage.sql import file_of
from flexibo.study.stored import stored_study
from flexibo.systems.catalogue import SYSTEMS
from flexibo.systems.data.catalogue import find_dataset
from flexibo.transfer import study_copy

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "firefox", "microsoft-edge", "xdg-open")
_CLUSTER = """
import sys
from flexibo.errors import FlexiBOError
from flexibo.executors import find_executor
try:
    find_executor(sys.argv[1], address=sys.argv[2]).close()
except FlexiBOError as error:
    sys.exit(" ".join(str(error).split()))
"""
_TORCH = """
import torch
n = torch.cuda.device_count() if torch.cuda.is_available() else 0
print(f"torch {torch.__version__} sees", ", ".join(torch.cuda.get_device_name(i) for i in range(n)) or "no GPU")
"""
DEPENDENCIES: Mapping[str, str] = MappingProxyType(  # required packages
    {
        "numpy>=1.26": "arrays",
        "scipy>=1.11": "fitting surrogates",
        "cloudpickle>=3": "sending functions to other processes",
        "scikit-learn>=1.4": "random forests, and the digits of the demo",
        "threadpoolctl>=3.1": "one thread per worker",
        "moocore>=0.2": "exact hypervolumes",
        "SQLAlchemy>=2.0": "storages",
        "PyYAML>=6.0": "study files",
        "rich>=13.0": "tables and progress bars",
        "typer>=0.12": "this command line",
    }
)


@dataclass(frozen=True, slots=True)
class Extra:
    """Packages for one purpose, each with the oldest version that works."""

    packages: tuple[str, ...]
    purpose: str


EXTRAS: Mapping[str, Extra] = MappingProxyType(  # optional packages, by the name of the extra
    {
        "plot": Extra(("matplotlib>=3.8",), "pictures"),
        "dashboard": Extra(("starlette>=0.46", "uvicorn>=0.34"), "the live dashboard"),
        "pandas": Extra(("pandas>=2.1",), "data frames"),
        "postgres": Extra(("psycopg[binary]>=3.1",), "studies in PostgreSQL"),
        "dask": Extra(("distributed>=2024.8",), "measuring on a Dask cluster"),
        "ray": Extra(("ray>=2.30",), "measuring on a Ray cluster"),
        "slurm": Extra(("submitit>=1.5",), "measuring in jobs of SLURM"),
        "optuna": Extra(("optuna>=4.5",), "the sampler for Optuna"),
        "mlflow": Extra(("mlflow-skinny>=3.5", "SQLAlchemy>=2.0", "alembic>=1.13"), "studies in MLflow"),
        "wandb": Extra(("wandb>=0.22",), "studies in Weights & Biases"),
        "tensorboard": Extra(("tensorboard>=2.16",), "studies in TensorBoard"),
        "examples": Extra(
            ("imageio-ffmpeg>=0.6", "onnx>=1.17", "onnxruntime>=1.20", "tokenizers>=0.20", "matplotlib>=3.8"),
            "the examples that are folders",
        ),
        "notebook": Extra(("ipykernel>=6.29", "nbconvert>=7.16"), "running notebooks"),
        "nvml": Extra(("nvidia-ml-py>=12",), "energy and clocks of NVIDIA GPUs"),
        "dnn": Extra(
            ("torch>=2.5", "pillow>=10", "soundfile>=0.12", "tokenizers>=0.20"), "training the paper's networks"
        ),
        "configspace": Extra(("ConfigSpace>=1.2",), "spaces of ConfigSpace"),
        "evolution": Extra(("pymoo>=0.6.2",), "the method nsga2"),
        "bench": Extra(
            (
                "botorch>=0.18",
                "torch>=2.5",
                "optuna>=5.0",
                "smac>=2.4.1",
                "ConfigSpace>=1.2",
                "pymoo>=0.6.2",
                "onnxruntime>=1.20",
            ),
            "comparing with other libraries",
        ),
    }
)
SINFO_SECONDS = 2.0  # how long SLURM may take to answer: nobody may have asked for it
_REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)(\[[\w,]+\])?>=(?P<oldest>[\d.]+)")
Version = Callable[[str], str]


def checks(*, storage: str = "", dask: str = "", ray: str = "", data: str = "", limit: float = 10.0) -> list[Check]:
    """All checks, in the order of the report; those that run programs stop them at the limit."""
    return [
        Check("Python", "python", _python),
        Check("Packages", "packages", dependencies),
        Check("Extras", "extras", extras),
        *(Check("Meters", f"{kind}-meter", partial(_meter, kind)) for kind in METERS),
        Check("GPUs", "gpu", partial(_gpus, limit)),
        Check("GPUs", "torch", partial(_torch, limit)),
        Check("Databases", "sqlite", lambda: [Finding("Databases", "sqlite", "good", f"SQLite {sqlite_version}")]),
        Check("Databases", "storage", partial(_storage, storage)),
        Check("Databases", "checkpoints", partial(_checkpoints, storage)),
        Check("Databases", "proxies", partial(_proxies, storage)),
        Check("Clusters", "dask-cluster", partial(_cluster, "dask", dask, limit)),
        Check("Clusters", "ray-cluster", partial(_cluster, "ray", ray, limit)),
        Check("Clusters", "slurm-cluster", partial(_slurm, limit)),
        Check("Browser", "browser", _browser),
        Check("Data", "data", partial(_folder, data)),
        Check("Data", "tables", partial(_tables, data)),
        Check("Data", "training", partial(_training, data)),
        Check("Knobs", "knobs", _knobs),
        Check("Knobs", "journal", partial(_journal, os.environ)),
    ]


def _python() -> Iterator[Finding]:
    yield Finding("Python", "flexibo", "good", f"{__version__}, in {Path(__file__).parents[1]}")
    yield Finding("Python", "python", "good", f"{platform.python_version()}, {sys.executable}")
    yield Finding("Python", "system", "good", f"{platform.platform()}, {os.cpu_count()} cores")


def dependencies(installed: Version = version) -> Iterator[Finding]:
    for package, purpose in DEPENDENCIES.items():
        name, told, is_good = _state(package, installed)
        remedy = "" if is_good else f"pip install '{package}'"
        yield Finding("Packages", name, "good" if is_good else "wrong", f"{told}: {purpose}", remedy)


def extras(installed: Version = version) -> Iterator[Finding]:
    for extra, about in EXTRAS.items():
        states = [_state(package, installed) for package in about.packages]
        told = ", ".join(f"{name} {said}" for name, said, _ in states)
        if all(is_good for _, _, is_good in states):
            yield Finding("Extras", extra, "good", f"{told}: {about.purpose}")
        else:
            lacking = ", ".join(f"{name} {said}" for name, said, is_good in states if not is_good)
            yield Finding("Extras", extra, "absent", f"{lacking}: {about.purpose}", f"pip install 'flexibo[{extra}]'")


def _state(package: str, installed: Version) -> tuple[str, str, bool]:
    """The name of a package, its version or what is wrong, and whether it can be used."""
    match = _REQUIREMENT.fullmatch(package)
    assert match is not None  # the tables above are ours
    name, oldest = match["name"], match["oldest"]
    try:
        here = installed(name)
    except PackageNotFoundError:
        return name, "is not installed", False
    if _numbers(here) < _numbers(oldest):
        return name, f"{here} is too old ({oldest} or later)", False
    return name, here, True


def _numbers(text: str) -> tuple[int, ...]:
    """The leading numbers of a version.

    >>> _numbers("2.10.1+cu121") > _numbers("2.5"), _numbers("5.0.0rc1")
    (True, (5, 0, 0))
    """
    leading = re.match(r"\d+(\.\d+)*", text)
    return tuple(int(part) for part in leading[0].split(".")) if leading else ()


def _meter(kind: str) -> Iterator[Finding]:
    try:
        meter = open_meter(kind, MeterPlaces.of_environment(os.environ))
    except (MeterError, MissingExtraError) as error:
        yield Finding("Meters", f"{kind}-meter", "absent", str(error))
    else:
        close_meter(meter)
        yield Finding("Meters", f"{kind}-meter", "good", f"{meter.name} can be read")


def _gpus(limit: float) -> Iterator[Finding]:
    program = shutil.which("nvidia-smi")
    if program is None:
        yield Finding("GPUs", "gpu", "absent", "There is no nvidia-smi, so no NVIDIA driver, on this machine.")
        return
    query = "--query-gpu=name,memory.total,driver_version"
    status, said = output_of([program, query, "--format=csv,noheader"], limit=limit)
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    if status or not lines:
        yield Finding("GPUs", "gpu", "wrong", said.strip() or "nvidia-smi lists no GPU.", "nvidia-smi says more")
    for line in lines if not status else ():
        yield Finding("GPUs", "gpu", "good", line)


def _torch(limit: float) -> Iterator[Finding]:
    if find_spec("torch") is None:
        yield Finding("GPUs", "torch", "absent", "torch is not installed.", "pip install 'flexibo[dnn]'")
        return
    status, said = python_says(_TORCH, limit=limit)
    yield Finding("GPUs", "torch", "wrong" if status else "good", said.strip())


def _storage(url: str) -> Iterator[Finding]:
    """Whether the storage can be read; the text never contains its password."""
    if not url:
        text = "No storage was given; check one with --storage, or set FLEXIBO_STORAGE."
        yield Finding("Databases", "storage", "absent", text)
        return
    try:
        studies = stored_studies(url)
    except FlexiBOError as error:
        yield Finding("Databases", "storage", "wrong", str(error))
    except Exception as error:  # a driver's message may contain the password
        yield Finding("Databases", "storage", "wrong", f"{shown_url(url)} cannot be used ({type(error).__name__}).")
    else:
        many = counted(len(studies), "study", "studies")
        kind = network_type(url)
        network = f" on a network file system ({kind}), which only one machine at a time may use" if kind else ""
        remedy = "Use PostgreSQL to share a study between machines." if kind else ""
        yield Finding("Databases", "storage", "good", f"{shown_url(url)} holds {many}{network}", remedy)


def _checkpoints(url: str) -> Iterator[Finding]:
    """Whether trainings of the stored studies can save their checkpoints at the usual place, if any has steps."""
    try:
        storages = [stored_study(url, study.name)[0] for study in stored_studies(url)] if url else []
        # A URL is that of a database, which names a folder; the protocol does not, as a storage in memory has none.
        stepwise = [storage for storage in storages if any(one.get("steps") for one in _objectives(storage))]
        folders = {storage.checkpoints for storage in stepwise}  # type: ignore[attr-defined]
    except Exception:  # the check of the storage says why
        return
    for folder in sorted(folders):
        place = next(path for path in (folder, *folder.parents) if path.exists())
        size = sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file())
        free = shutil.disk_usage(place).free
        text = f"{folder} has {size / 1e6:.3g} MB of checkpoints; {free / 1e9:.3g} GB are free"
        remedy = (
            "" if file_of(url) else "If several machines measure: flexibo worker --checkpoints FOLDER_THAT_ALL_SHARE"
        )
        if place.is_dir() and os.access(place, os.W_OK | os.X_OK):
            yield Finding("Databases", "checkpoints", "good", text, remedy)
        else:
            text = f"Checkpoints cannot be written to {folder}, so objectives with steps cannot be measured here."
            yield Finding("Databases", "checkpoints", "wrong", text, "flexibo worker --checkpoints FOLDER")


def _proxies(url: str) -> Iterator[Finding]:
    """The proxies of the stored studies, and what is to know about them."""
    try:
        names = [study.name for study in stored_studies(url)] if url else []
        names = [name for name in names if any(one.get("proxies") for one in _objectives(stored_study(url, name)[0]))]
    except Exception:  # the check of the storage says why
        return
    for name in names:
        study = study_copy(url, name).study
        pairs = [f"{proxy} of {one.name}" for one in study.objectives for proxy in one.proxies]
        text = printable_line(f"study {name!r} has {'a proxy' if len(pairs) == 1 else 'proxies'}: {', '.join(pairs)}")
        yield Finding("Databases", "proxies", "good", text, printable_line(" ".join(proxy_hints(study))))


def _objectives(storage: Storage) -> list[dict[str, Any]]:
    """The objectives of a stored study, as they are stored."""
    settings = [content["settings"] for content in storage.read() if content["event"] in ("created", "changed")]
    return list(settings[-1]["objectives"])


def _cluster(kind: str, address: str, limit: float) -> Iterator[Finding]:
    name, package = f"{kind}-cluster", {"dask": "distributed", "ray": "ray"}[kind]
    if find_spec(package) is None:
        told = f"{address} was not tried: " * bool(address) + f"{package} is not installed."
        yield Finding("Clusters", name, "wrong" if address else "absent", told, f"pip install 'flexibo[{kind}]'")
    elif not address:
        yield Finding("Clusters", name, "absent", f"No cluster was given; check one with --{kind} ADDRESS.")
    else:
        status, said = python_says(_CLUSTER, kind, address, limit=limit)
        yield Finding("Clusters", name, "wrong" if status else "good", said if status else f"{address} answers")


def _slurm(limit: float) -> Iterator[Finding]:
    if shutil.which("sinfo") is None:
        yield Finding("Clusters", "slurm-cluster", "absent", "There is no SLURM here (no command sinfo).")
        return
    status, said = output_of(["sinfo", "--noheader", "--format=%P"], limit=min(limit, SINFO_SECONDS))
    partitions = ", ".join(said.split())
    text = f"SLURM does not answer: {said}" if status else f"SLURM answers; its partitions: {partitions}"
    yield Finding("Clusters", "slurm-cluster", "absent" if status else "good", text)


def _browser() -> Iterator[Finding]:
    here = [name for name in BROWSERS if shutil.which(name)]
    if here:
        yield Finding("Browser", "browser", "good", f"{here[0]} can show the dashboard")
    else:
        text = "There is no browser here; open the dashboard on another machine through a tunnel."
        yield Finding("Browser", "browser", "absent", text, "ssh -L 8765:127.0.0.1:8765 THIS_MACHINE")


def _folder(data: str) -> Iterator[Finding]:
    if not data:
        yield Finding("Data", "data", "absent", "FLEXIBO_DATA is not set.", "export FLEXIBO_DATA=FOLDER")
    elif not Path(data).is_dir():
        yield Finding("Data", "data", "wrong", f"FLEXIBO_DATA is {data}, which is not a folder.", f"mkdir -p {data}")
    else:
        yield Finding("Data", "data", "good", f"FLEXIBO_DATA is {data}")


def _tables(data: str) -> Iterator[Finding]:
    found = status(Path(data) if data else None)
    good = sum(one.complete for one in found)
    faults = [f"{one.dataset.name}: {one.fault}" for one in found if one.present and not one.complete]
    text = f"{good} of {len(found)} optional recorded tables" + (f"; {faults[0]}" if faults else "")
    if good == len(found):
        yield Finding("Data", "tables", "good", text)
    else:
        yield Finding("Data", "tables", "wrong" if faults else "absent", text, "flexibo data")


def _training(data: str) -> Iterator[Finding]:
    ready = []
    for entry in SYSTEMS.values() if data else ():
        try:
            find_dataset(entry.datasets, Path(data))
            ready.append(entry.name)
        except FlexiBOError:  # absent, or damaged; flexibo run says how
            continue
    text = f"training data of {len(ready)} of {len(SYSTEMS)} systems" + (f": {', '.join(ready)}" if ready else "")
    yield Finding("Data", "training", "good" if ready else "absent", text, "" if ready else "flexibo systems")


def _knobs() -> Iterator[Finding]:
    gpus = NvidiaGpus(allow=False)
    machine = LinuxMachine(nvidia=gpus, nvpmodel=NvpModel())
    states = [state(knob, machine) for knob in all_knobs(machine, gpus)]
    free = [one.name for one in states if one.offered and not one.refusal]
    barred = [one.name for one in states if one.offered and one.refusal]
    told = f"{len(free)} may be set" + (f" ({', '.join(free)})" if free else "")
    told += f", {len(barred)} more with other permissions" if barred else ""
    remedy = "" if free and not barred else "flexibo knobs list"
    yield Finding("Knobs", "knobs", "good" if free else "absent", told, remedy)


def _journal(environment: Mapping[str, str]) -> Iterable[Finding]:
    path = default_path(environment, Path.home())
    if path.exists():
        text = f"{path} keeps settings that a session changed; if it was killed, put them back."
        return [Finding("Knobs", "journal", "wrong", text, "flexibo knobs restore")]
    return []
