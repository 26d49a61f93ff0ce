"""The table of commands: where each stands in the help, its summary and examples, and the module that holds it."""

from __future__ import annotations

from dataclasses import dataclass

STUDIES, INSPECT, HARDWARE, COMPARE, SETUP = "Studies", "Inspect", "Systems and hardware", "Compare", "Setup"


@dataclass(frozen=True, slots=True)
class CommandEntry:
    """A command as the help shows it. Its module is imported only when the command is used."""

    name: str  # what users type
    panel: str  # the section of the help
    summary: str
    examples: tuple[str, ...] = ()
    function: str = ""  # or the Typer application of a group, in the module of the same name
    allows_dashes: bool = False  # whether values may begin with a dash, such as negative numbers


COMMANDS = (  # every command, in the order of the help
    CommandEntry(
        "demo",
        STUDIES,
        "Tune a small network on handwritten digits: a first look.",
        ("flexibo demo", "flexibo demo --budget 20 --seed 1 --out front.png"),
    ),
    CommandEntry(
        "init",
        STUDIES,
        "Write a study file: from your answers, or an example.",
        ("flexibo init", "flexibo init --yes compress", "flexibo init my-study.yaml"),
    ),
    CommandEntry(
        "run",
        STUDIES,
        "Run a study: a study file, or a built-in system by name.",
        ("flexibo run study.yaml", "flexibo run resnet --recorded --budget 5m"),
    ),
    CommandEntry(
        "resume",
        STUDIES,
        "Resume a stored study, optionally with a larger budget.",
        ("flexibo resume", "flexibo resume --storage sqlite:///study.db --budget 2h"),
    ),
    CommandEntry(
        "confirm",
        STUDIES,
        "Measure what promising designs lack, and nothing else.",
        ("flexibo confirm", "flexibo confirm 4 7", "flexibo confirm --budget 10m", "flexibo confirm 4 --later"),
    ),
    CommandEntry(
        "enqueue",
        STUDIES,
        "Put a design of your own next in line.",
        (
            "flexibo enqueue layers=3 width=64",
            "flexibo enqueue layers=3 width=64 --objectives energy --readings 5",
            "flexibo enqueue --withdraw 0",
        ),
    ),
    CommandEntry(
        "note",
        STUDIES,
        "Store a note with a study, for people.",
        ("flexibo note 'the fan was replaced'", "flexibo note study.db 'the fan was replaced'"),
    ),
    CommandEntry(
        "worker",
        STUDIES,
        "Measure for a stored study, in parallel with other workers.",
        ("flexibo worker --storage postgresql://ada@host/studies --only energy",),
    ),
    CommandEntry(
        "ask",
        STUDIES,
        "Ask what to measure next, from a shell or any language.",
        ("flexibo ask", "flexibo ask --only energy --json", 'eval "$(flexibo ask --shell)"'),
    ),
    CommandEntry(
        "tell",
        STUDIES,
        "Answer an evaluation: its value, a failure, or a release.",
        (
            "flexibo tell 12-3f9a 0.31 --cost 4.5",
            "flexibo tell 12-3f9a energy=3.1 ms=20 --cost 4.5",
            'flexibo tell 12-3f9a --failed "out of memory" --impossible',
            "flexibo tell 12-3f9a --released",
        ),
        allows_dashes=True,
    ),
    CommandEntry(
        "export",
        STUDIES,
        "Write a study to a file: every event, or a table.",
        ("flexibo export --out study.csv", "flexibo export --out study.jsonl", "flexibo export --out - --format csv"),
    ),
    CommandEntry(
        "import",
        STUDIES,
        "Create a study from a file, or add results to one.",
        ("flexibo import study.jsonl --storage sqlite:///new.db", "flexibo import results.csv"),
        function="import_study",
    ),
    CommandEntry(
        "verify",
        STUDIES,
        "Check that stored studies are whole.",
        ("flexibo verify", "flexibo verify study.db", "flexibo verify study.jsonl"),
    ),
    CommandEntry(
        "salvage",
        STUDIES,
        "Bring out what can be read of damaged studies.",
        ("flexibo salvage study.db --out saved.db",),
    ),
    CommandEntry(
        "backup",
        STUDIES,
        "Copy stored studies to a file while they are in use.",
        ("flexibo backup study.db copy.db", "flexibo backup postgresql://ada@host/studies copy.jsonl --name net"),
    ),
    CommandEntry(
        "list", INSPECT, "List the studies of a storage.", ("flexibo list", "flexibo list --json"), "list_studies"
    ),
    CommandEntry(
        "status",
        INSPECT,
        "Show a study: budget, measurements, failures, front.",
        ("flexibo status", "flexibo status --no-front --json"),
    ),
    CommandEntry(
        "front",
        INSPECT,
        "Show confirmed designs, and promising ones.",
        (
            "flexibo front",
            "flexibo front --number 2",
            "flexibo front --measured --csv > front.csv",
            "flexibo front --out front.svg",
        ),
    ),
    CommandEntry(
        "dashboard",
        INSPECT,
        "Watch studies live in a browser.",
        ("flexibo dashboard sqlite:///study.db", "flexibo dashboard --open"),
    ),
    CommandEntry("systems", HARDWARE, "List the systems that can be run.", ("flexibo systems --data FOLDER",)),
    CommandEntry(
        "record",
        HARDWARE,
        "Measure a grid of designs once, to replay it anywhere.",
        ("flexibo record bert-squad --out squad.csv.gz --data FOLDER --time 9m",),
    ),
    CommandEntry(
        "models",
        HARDWARE,
        "List the trained models of a study, or fetch one.",
        ("flexibo models", "flexibo models fetch 2", "flexibo models fetch 2 --from ada@gpu-host:models --to here"),
    ),
    CommandEntry(
        "meter",
        HARDWARE,
        "Measure the energy, power and time of any command.",
        (
            "flexibo meter -- ./infer.sh 16",
            "flexibo meter --repeats 5 --idle 10s --json -- python infer.py",
            "flexibo meter --meter 'read-my-plug' -- make",
        ),
    ),
    CommandEntry("knobs", HARDWARE, "List, set and restore machine settings."),
    CommandEntry("board", HARDWARE, "Measure on boards that cannot run flexibo."),
    CommandEntry("methods", COMPARE, "List the methods that a study can use.", ("flexibo methods --json",)),
    CommandEntry("problems", COMPARE, "List the problems to compare methods on.", ("flexibo problems --json",)),
    CommandEntry(
        "compare",
        COMPARE,
        "Compare methods on problems at equal cost.",
        ("flexibo compare --suite quick", "flexibo compare --problems zdt1:ratio=10 --methods flexibo,ehvi --seeds 5"),
    ),
    CommandEntry(
        "reproduce",
        COMPARE,
        "Repeat an experiment of the paper.",
        ("flexibo reproduce rq1 --repeats 2 --iterations 50",),
    ),
    CommandEntry(
        "data",
        COMPARE,
        "List the recorded tables and where to get missing ones.",
        ("flexibo data --all", "flexibo data --rebuild accel --originals FOLDER"),
    ),
    CommandEntry(
        "doctor",
        SETUP,
        "Check what is installed, reachable or missing.",
        (
            "flexibo doctor",
            "flexibo doctor --need plot --need rapl-meter",
            "flexibo doctor --storage sqlite:///study.db",
        ),
    ),
)
