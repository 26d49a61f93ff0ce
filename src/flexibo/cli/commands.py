"""The table of commands: where each stands in the help, what it says in one line, and examples."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from flexibo.cli.ask import ask
from flexibo.cli.compare import compare
from flexibo.cli.dashboard import dashboard
from flexibo.cli.data import data
from flexibo.cli.demo import demo
from flexibo.cli.doctor import doctor
from flexibo.cli.export import export
from flexibo.cli.front import front
from flexibo.cli.import_study import import_study
from flexibo.cli.init import init
from flexibo.cli.list_studies import list_studies
from flexibo.cli.methods import methods
from flexibo.cli.problems import problems
from flexibo.cli.record import record
from flexibo.cli.reproduce import reproduce
from flexibo.cli.resume import resume
from flexibo.cli.run import run
from flexibo.cli.status import status
from flexibo.cli.systems import systems
from flexibo.cli.tell import tell
from flexibo.cli.worker import worker

STUDIES, LOOK, MACHINE, COMPARE, SET_UP = "Studies", "Look", "Systems and hardware", "Compare", "Set-up"


@dataclass(frozen=True, slots=True)
class Command:
    """A command as the help shows it.

    Attributes:
        name: What users type.
        function: What it does.
        panel: The part of the help where it stands.
        summary: What it does in one line.
        examples: Lines that a user may type.
        free: Whether words that begin with a dash may be values, such as negative numbers.
    """

    name: str
    function: Callable[..., Any]
    panel: str
    summary: str
    examples: tuple[str, ...] = ()
    free: bool = False

    @property
    def epilog(self) -> str | None:
        """The examples, in lines that stay as they are."""
        return "\n  ".join(("\b\nExamples:", *self.examples)) if self.examples else None


COMMANDS = (
    Command(
        "demo",
        demo,
        STUDIES,
        "Tune a small network on digits here and now: a first look.",
        ("flexibo demo", "flexibo demo --budget 20 --seed 1 --out front.png"),
    ),
    Command(
        "init",
        init,
        STUDIES,
        "Write a study file: from your answers, or an example.",
        ("flexibo init", "flexibo init --yes compress", "flexibo init my-study.yaml"),
    ),
    Command(
        "run",
        run,
        STUDIES,
        "Run a study: a study file, or a system by its name.",
        ("flexibo run study.yaml", "flexibo run resnet --recorded --budget 5m"),
    ),
    Command(
        "resume",
        resume,
        STUDIES,
        "Go on with a stored study, perhaps with a larger budget.",
        ("flexibo resume", "flexibo resume --storage sqlite:///study.db --budget 2h"),
    ),
    Command(
        "worker",
        worker,
        STUDIES,
        "Measure for a stored study, beside others.",
        ("flexibo worker --storage postgresql://ada@host/studies --only energy",),
    ),
    Command(
        "ask",
        ask,
        STUDIES,
        "Ask what to measure next, from a shell or any language.",
        ("flexibo ask", "flexibo ask --only energy --json", 'eval "$(flexibo ask --shell)"'),
    ),
    Command(
        "tell",
        tell,
        STUDIES,
        "Answer what was asked: a value, a failure, or given back.",
        (
            "flexibo tell 12 0.31 --cost 4.5",
            "flexibo tell 12 energy=3.1 ms=20 --cost 4.5",
            'flexibo tell 12 --failed "out of memory" --impossible',
            "flexibo tell 12 --released",
        ),
        free=True,
    ),
    Command(
        "export",
        export,
        STUDIES,
        "Write a study to a file: every event, or a table.",
        ("flexibo export --out study.csv", "flexibo export --out study.jsonl", "flexibo export --out - --format csv"),
    ),
    Command(
        "import",
        import_study,
        STUDIES,
        "Make a study from a file, or bring in results.",
        ("flexibo import study.jsonl --storage sqlite:///new.db", "flexibo import results.csv"),
    ),
    Command("list", list_studies, LOOK, "List the studies of a database.", ("flexibo list", "flexibo list --json")),
    Command(
        "status",
        status,
        LOOK,
        "Show a study: money, measurements, failures, front.",
        ("flexibo status", "flexibo status --no-front --json"),
    ),
    Command(
        "front",
        front,
        LOOK,
        "Show the front: what is measured, predicted, unconfirmed.",
        (
            "flexibo front",
            "flexibo front --number 2",
            "flexibo front --measured --csv > front.csv",
            "flexibo front --out front.svg",
        ),
    ),
    Command(
        "dashboard",
        dashboard,
        LOOK,
        "Watch studies live in a browser.",
        ("flexibo dashboard sqlite:///study.db", "flexibo dashboard --open"),
    ),
    Command("systems", systems, MACHINE, "List the systems that can be run.", ("flexibo systems --data FOLDER",)),
    Command(
        "record",
        record,
        MACHINE,
        "Measure a grid of designs once, to replay it anywhere.",
        ("flexibo record bert-squad --out squad.csv.gz --data FOLDER --time 9m",),
    ),
    Command("methods", methods, COMPARE, "List the methods that a study can use.", ("flexibo methods --json",)),
    Command("problems", problems, COMPARE, "List the problems to compare methods on.", ("flexibo problems --json",)),
    Command(
        "compare",
        compare,
        COMPARE,
        "Compare methods on problems at equal cost.",
        ("flexibo compare --suite quick", "flexibo compare --problems zdt1:ratio=10 --methods flexibo,ehvi --seeds 5"),
    ),
    Command(
        "reproduce",
        reproduce,
        COMPARE,
        "Repeat an experiment of the paper.",
        ("flexibo reproduce rq1 --repeats 2 --iterations 50",),
    ),
    Command(
        "data",
        data,
        COMPARE,
        "Say which recorded tables are here, and where to get them.",
        ("flexibo data --all", "flexibo data --rebuild accel --originals FOLDER"),
    ),
    Command(
        "doctor",
        doctor,
        SET_UP,
        "Say what is installed, what can be reached, what is missing.",
        (
            "flexibo doctor",
            "flexibo doctor --need plot --need rapl-meter",
            "flexibo doctor --storage sqlite:///study.db",
        ),
    ),
)
"""Every command but the group ``knobs``, in the order of the help."""
