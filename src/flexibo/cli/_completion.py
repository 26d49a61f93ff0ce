"""What a shell may complete: names that are known without importing anything heavy, and never an error.

The names of methods, systems and problems stand here once more, because importing their tables takes longer than a
user waits for a key; tests compare them with the tables. Recorded systems are the files of their folder.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import typer

from flexibo.cli._storage import VARIABLE, storage_url

RECORDED = Path(__file__).parents[1] / "systems" / "recorded"
METHODS = (
    "flexibo",
    *(f"flexibo-{model}-{cost}" for model in ("gp", "rf") for cost in ("log", "ratio", "constant")),
    *("pal", "epsilon-pal", "parego", "smsego", "pesmo", "pesmo-dec", "mesmo", "mesmo-dec", "mesmoc", "ca-mobo"),
    *("ehvi", "nsga2", "sobol", "random", "random-coupled"),
)
SYSTEMS = ("xception", "mobilenet", "lenet", "resnet", "squeezenet", "bert-squad", "bert-imdb", "deepspeech")
PROBLEMS = (
    *("nb201-tx2", "nb201-pi4", "nb201-pixel3", "nb201-4"),
    *("accel-a100", "accel-zcu102", "accel-3", "accel-5"),
    *(f"tx2-{network}-{images}" for network in ("inceptionv3", "xception") for images in (200, 400, 600, 800)),
    *("tx2-objectives", "dnn-stack", "branin-currin", "zdt1", "zdt2", "zdt3", "dtlz1", "dtlz2", "dtlz7"),
    *(path.name.removesuffix(".csv.gz") for path in sorted(RECORDED.glob("*.csv.gz"))),
)
SUITES = ("standard", "quick")
PICTURES = (
    *("front", "pairs", "front3d", "hypervolume", "region", "evaluations"),
    *("gains", "importance", "parallel", "slices"),
)
EXPERIMENTS = ("rq1", "rq2", "rq3", "times", "motivation")
PATIENCE_SECONDS = 0.2
"""How long a database that is busy may keep a user waiting for a key."""


def method_names(incomplete: str) -> list[str]:
    """Methods that begin so."""
    return _beginning(METHODS, incomplete)


def system_names(incomplete: str) -> list[str]:
    """Systems that begin so."""
    return _beginning(SYSTEMS, incomplete)


def file_and_system_names(incomplete: str) -> list[str]:
    """Study files of the folder that is being typed, and systems, that begin so."""
    folder = incomplete.rpartition("/")[0]
    try:
        files = sorted(path for path in Path(folder or ".").iterdir() if path.suffix in (".yaml", ".yml"))
    except OSError:
        files = []
    return _beginning((*(f"{folder}/{path.name}" if folder else path.name for path in files), *SYSTEMS), incomplete)


def problem_names(incomplete: str) -> list[str]:
    """Problems that begin so; after a comma, another one.

    >>> problem_names("zdt1,zdt")
    ['zdt1,zdt1', 'zdt1,zdt2', 'zdt1,zdt3']
    """
    before, comma, last = incomplete.rpartition(",")
    return [f"{before}{comma}{name}" for name in _beginning(PROBLEMS, last)]


def suite_names(incomplete: str) -> list[str]:
    """Ready-made comparisons that begin so."""
    return _beginning(SUITES, incomplete)


def experiment_names(incomplete: str) -> list[str]:
    """Experiments of the paper that begin so."""
    return _beginning(EXPERIMENTS, incomplete)


def picture_names(incomplete: str) -> list[str]:
    """Pictures that begin so."""
    return _beginning(PICTURES, incomplete)


def study_names(ctx: typer.Context, incomplete: str) -> list[str]:
    """Studies that begin so, of a database file; a server is not asked while a user waits for a key."""
    try:
        url = storage_url(ctx.params.get("storage") or os.environ.get(VARIABLE, ""))
        scheme, _, path = url.partition(":///")
        return _beginning(_stored(Path(path)), incomplete) if scheme == "sqlite" else []
    except Exception:  # whatever is wrong, a key must not print a traceback
        return []


def _stored(path: Path) -> list[str]:
    import sqlite3
    from contextlib import closing
    from urllib.parse import quote

    url = f"file:{quote(str(path.absolute()))}?mode=ro"
    with closing(sqlite3.connect(url, uri=True, timeout=PATIENCE_SECONDS)) as database:
        return [str(name) for (name,) in database.execute("SELECT DISTINCT study FROM flexibo_events ORDER BY study")]


def _beginning(names: Iterable[str], incomplete: str) -> list[str]:
    """The names that begin so and that every shell can print as one word."""
    return [name for name in names if name.startswith(incomplete) and name.isprintable()]
