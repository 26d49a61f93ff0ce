"""What a shell completes: names that are known without heavy imports, and never an error.

The names of methods, systems and problems are repeated here, because importing their tables is too slow for
completion; tests compare them with the tables. Recorded systems are the files in their folder.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

import typer

from flexibo.cli._storage import STORAGE_VARIABLE, storage_url

RECORDED = Path(__file__).parents[1] / "systems" / "recorded"
METHODS = (
    "flexibo",
    *(f"flexibo-{model}-{cost}" for model in ("gp", "rf") for cost in ("log", "ratio", "constant")),
    *("pal", "epsilon-pal", "parego", "smsego", "pesmo", "pesmo-dec", "mesmo", "mesmo-dec", "mesmoc", "ca-mobo"),
    *("ehvi", "nsga2", "sobol", "random", "random-coupled"),
)
SYSTEMS = ("xception", "mobilenet", "lenet", "resnet", "squeezenet", "bert-squad", "bert-imdb", "deepspeech")
PROBLEMS = (
    *("nb201-tx2", "nb201-pi4", "nb201-pixel3", "nb201-4", "nb201-cifar100-pi4", "nb201-imagenet-gpu"),
    *("accel-a100", "accel-zcu102", "accel-3", "accel-5", "accel-3090", "accel-tpuv3", "accel-vck190"),
    *("mlp-australian", "mlp-blood-transfusion", "mlp-car", "mlp-credit-g"),
    *("mlp-kc1", "mlp-phoneme", "mlp-segment", "mlp-vehicle"),
    *(f"tx2-{network}-{images}" for network in ("inceptionv3", "xception") for images in (200, 400, 600, 800)),
    *("tx2-objectives", "dnn-stack", "branin-currin", "zdt1", "zdt2", "zdt3", "dtlz1", "dtlz2", "dtlz7"),
    *("clear-curves", "crossing-curves", "noise-proxy", "nb201-imagenet-proxy", "nb201-cifar100-proxy", "lcbench"),
    *(path.name.removesuffix(".csv.gz") for path in sorted(RECORDED.glob("*.csv.gz"))),
)
SUITES = ("standard", "development", "steps", "steps-development", "quick")
PICTURES = (
    *("front", "pairs", "front3d", "hypervolume", "region", "evaluations"),
    *("gains", "curves", "importance", "parallel", "slices"),
)
EXPERIMENTS = ("rq1", "rq2", "rq3", "times", "motivation", "authors")
PATIENCE_SECONDS = 0.2  # how long to wait for a busy database


def _with_prefix(names: Iterable[str], incomplete: str) -> list[str]:
    """The names with this prefix that a shell can print."""
    return [name for name in names if name.startswith(incomplete) and name.isprintable()]


def _among(names: Iterable[str]) -> Callable[[str], list[str]]:
    """What completes one of these names."""

    def completed(incomplete: str) -> list[str]:
        return _with_prefix(names, incomplete)

    return completed


method_names = _among(METHODS)
system_names = _among(SYSTEMS)
suite_names = _among(SUITES)
experiment_names = _among(EXPERIMENTS)
picture_names = _among(PICTURES)


def file_and_system_names(incomplete: str) -> list[str]:
    """Study files in the folder that is being typed, and systems, with this prefix."""
    folder = incomplete.rpartition("/")[0]
    try:
        files = sorted(path for path in Path(folder or ".").iterdir() if path.suffix in (".yaml", ".yml"))
    except OSError:
        files = []
    return _with_prefix((*(f"{folder}/{path.name}" if folder else path.name for path in files), *SYSTEMS), incomplete)


def problem_names(incomplete: str) -> list[str]:
    """Problems with this prefix; after a comma, another one.

    >>> problem_names("zdt1,zdt")
    ['zdt1,zdt1', 'zdt1,zdt2', 'zdt1,zdt3']
    """
    before, comma, last = incomplete.rpartition(",")
    return [f"{before}{comma}{name}" for name in _with_prefix(PROBLEMS, last)]


def study_names(ctx: typer.Context, incomplete: str) -> list[str]:
    """Studies of a database file with this prefix; a server would be too slow."""
    try:
        url = storage_url(ctx.params.get("storage") or os.environ.get(STORAGE_VARIABLE, ""))
        scheme, _, path = url.partition(":///")
        return _with_prefix(_stored(Path(path)), incomplete) if scheme == "sqlite" else []
    except Exception:  # completion must not print a traceback
        return []


def _stored(path: Path) -> list[str]:
    url = f"file:{quote(str(path.absolute()))}?mode=ro"
    with closing(sqlite3.connect(url, uri=True, timeout=PATIENCE_SECONDS)) as database:
        return [str(name) for (name,) in database.execute("SELECT DISTINCT study FROM flexibo_events ORDER BY study")]
