"""The documentation is true: its code runs, its commands and links exist, its pages build and need no network."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from html.parser import HTMLParser
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml
from tests.forked import COMMAND_LINE, forked_into, imported
from typer.testing import CliRunner

from flexibo import Study
from flexibo.cli import app

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
README = ROOT / "README.md"
PAGES = sorted(DOCS.rglob("*.md"))
LIMIT = 900
"""Seconds that the code of a page may take on a crowded machine."""
NEEDS = {
    "howto/dask-and-ray.md": ("distributed",),
    "howto/optuna.md": ("optuna",),
    "howto/postgresql.md": ("psycopg",),
    "howto/slurm.md": ("submitit",),
    "howto/steps.md": ("torch",),
    "howto/trackers.md": ("mlflow", "wandb", "tensorboard"),
}
"""What must be installed for the code of a page, beside what the tests need anyway."""
SAYS = {
    "certificates.md": ["is certified", "miss at most 0 % of the hypervolume", "among all 120 designs", "confident"],
    "guide.md": ["The budget is spent"],
    "howto/add-a-meter.md": ["read from smart plug", "36.0 J"],
    "howto/ax-botorch.md": ["evaluations for", "1 designs on the front before"],
    "howto/meters-and-settings.md": [": 15.0", ": 85.0"],
    "howto/optuna.md": ["trials are on the front", "knee"],
    "howto/scikit-learn.md": ["model_size", "n_estimators=", "fits so far"],
    "howto/proxies.md": ["'error_small':", "value:error"],
    "howto/steps.md": ["error at step 3:", "weights", "((1, 0.9), (3, 0.6))"],
    "howto/trackers.md": ["the board has too little memory"],
    "howto/use-recorded-data.md": ["filters=256", "filters=16"],
    "parallel.md": ["of 900", "filters=128"],
    "tutorials/steps.md": ["designs were trained, to these epochs: [27, ", "trainings were resumed", "epoch 10:"],
}
"""What running a page must print, where that is worth a check."""
LESS = {
    "howto/dask-and-ray.md": {"budget=200": "budget=100"},
    "howto/proxies.md": {"budget=9000": "budget=4500"},
    "howto/scikit-learn.md": {"(2, 60)": "(2, 6)", "n_iter=20": "n_iter=3", "budget=1.0": "budget=0.4"},
    "howto/slurm.md": {"budget=260": "budget=135", "n_initial=3": "n_initial=2"},
    "howto/trackers.md": {"budget=400": "budget=150", "budget=200": "budget=70"},
    "parallel.md": {"budget=600": "budget=300"},
    "tutorials/first-study.md": {"budget=1500": "budget=500", "study.budget = 1600": "study.budget = 570"},
    "tutorials/steps.md": {"budget=6 * EPOCHS": "budget=5 * EPOCHS", "budget = 9 * EPOCHS": "budget = 6 * EPOCHS"},
}
"""Smaller numbers for pages that measure for long, which run the same code; `make check-all` runs what they say."""


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block: its language, the line of its fence, what is in it, and the file that it shows if it is one."""

    language: str
    line: int
    text: str

    @property
    def file(self) -> str | None:
        heading = re.match(r"#!?\s*([\w/-]+\.[a-z]+)\n", self.text)
        return heading.group(1) if heading else None


def blocks(path: Path, *languages: str) -> list[Block]:
    text = path.read_text(encoding="utf-8")
    fences = re.finditer(r"^( *)```([\w-]*)\n(.*?)^\1```", text, flags=re.DOTALL | re.MULTILINE)
    found = [Block(m.group(2), text.count("\n", 0, m.start()) + 1, m.group(3)) for m in fences]
    return [block for block in found if block.language in languages]


def name_of(path: Path) -> str:
    """How messages call a page."""
    return path.relative_to(DOCS).as_posix() if path.is_relative_to(DOCS) else path.name


@pytest.fixture(scope="module")
def ready() -> Iterator[None]:
    """Pages run in processes of their own, which have imported what most of them need."""
    with imported(*COMMAND_LINE):
        yield


def with_less(path: Path) -> list[Block]:
    """The blocks of a page with its smaller numbers, each of which must be on it."""
    found = blocks(path, "python", "yaml", "sh", "text")
    for number, smaller in LESS.get(name_of(path), {}).items():
        assert any(number in block.text for block in found), f"{name_of(path)} has no {number}"
        found = [replace(block, text=block.text.replace(number, smaller)) for block in found]
    return found


def run(path: Path, shown: list[Block], folder: Path, **environment: str) -> str:
    """Run the Python that a page shows in a folder; what it prints."""
    chosen = [block for block in shown if block.language == "python" or block.file]
    printed, complained = (folder.with_name(f"{folder.name}.{stream}") for stream in ("printed", "complained"))
    limited = {"OMP_NUM_THREADS": "1", "MPLBACKEND": "agg"} | environment
    process = forked_into(printed, complained, _run_blocks, path, chosen, folder, limited)
    process.join(LIMIT)
    told = printed.read_text(encoding="utf-8")
    if process.exitcode != 0:
        process.kill()
        told += complained.read_text(encoding="utf-8")[-4000:]
        pytest.fail(f"{name_of(path)} fails ({process.exitcode}):\n{told[-6000:]}")
    return told


def _run_blocks(path: Path, chosen: list[Block], folder: Path, environment: dict[str, str]) -> None:
    """Run blocks in order, in one namespace; a block that is headed by a file's name becomes that file."""
    os.chdir(folder)
    os.environ.update(environment)
    sys.path.insert(0, "")
    names = {"__name__": "__main__"}
    for block in chosen:
        if block.file:
            Path(block.file).parent.mkdir(parents=True, exist_ok=True)
            Path(block.file).write_text(block.text, encoding="utf-8")
        else:
            exec(compile("\n" * block.line + block.text, str(path), "exec"), names)


RUNNABLE = [path for path in PAGES if blocks(path, "python")]


@pytest.mark.slow
@pytest.mark.usefixtures("ready")
@pytest.mark.parametrize("path", RUNNABLE, ids=name_of)
def test_the_python_of_every_page_runs(path: Path, tmp_path: Path) -> None:
    for package in NEEDS.get(name_of(path), ()):
        if find_spec(package) is None:
            pytest.skip(f"needs {package}, which is not installed")
    environment = {}
    if name_of(path) == "howto/postgresql.md":
        from tests.postgres import server

        environment["FLEXIBO_STORAGE"] = server().new_database()
    printed = run(path, with_less(path), tmp_path, **environment)
    for words in SAYS.get(name_of(path), ()):
        assert words in printed, printed[-3000:]
    if name_of(path) == "parallel.md":
        assert Study.load(f"sqlite:///{tmp_path}/lenet.db", "lenet").budget == 1200


@pytest.mark.long
@pytest.mark.usefixtures("ready")
@pytest.mark.parametrize("path", [DOCS / name for name in LESS], ids=name_of)
def test_the_python_of_a_page_runs_with_the_numbers_that_it_shows(path: Path, tmp_path: Path) -> None:
    printed = run(path, blocks(path, "python", "yaml", "sh", "text"), tmp_path)
    assert all(words in printed for words in SAYS.get(name_of(path), ())), printed[-3000:]


@pytest.mark.slow
def test_the_study_file_about_shell_commands_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not all(shutil.which(program) for program in ("awk", "gzip", "bzip2")):
        pytest.skip("needs awk, gzip and bzip2")
    for block in blocks(DOCS / "howto" / "shell-commands.md", "sh", "yaml"):
        if block.file:
            (tmp_path / block.file).write_text(block.text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    for arguments in (["--dry-run"], ["--budget", "600s"]):
        done = CliRunner().invoke(app, ["run", "study.yaml", *arguments])
        assert done.exit_code == 0, (done.output, done.exception)
    assert not [event for event in Study.load(f"sqlite:///{tmp_path}/packing.db").trace() if event.reason]


def test_most_pages_have_code_that_is_run() -> None:
    assert len(RUNNABLE) >= 12


def test_code_that_fails_is_noticed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```python\n# part.py\nvalue = 3\n```\n\n```python\nimport part\nassert part.value == 4\n```\n")
    with imported(), pytest.raises(pytest.fail.Exception, match=r"page\.md(.|\n)*line 8\b"):
        run(page, blocks(page, "python"), tmp_path)


def test_the_ten_lines_of_the_readme_run() -> None:
    ten, by_hand = (block.text for block in blocks(README, "python"))
    names: dict[str, object] = {}
    exec(compile(ten, "README.md", "exec"), names)
    study = names["study"]
    assert isinstance(study, Study)
    assert 20 < len(study.trace()) <= 40
    assert study.front()
    fresh = Study(study.space, study.objectives, budget=1200, seed=0)
    exec(compile(by_hand, "README.md", "exec"), names | {"study": fresh, "value": 1.0, "seconds": 50.0})
    assert 500 <= fresh.spent <= 1200


def paths_named_in(page: Path) -> list[str]:
    """The backticked paths of a page: files such as `study/study.py: Study.run`, and folders such as `systems/`."""
    found = re.findall(r"`([\w/.-]+(?:\.\w+|/))(?::[^`]*)?`", page.read_text(encoding="utf-8"))
    return [path for path in found if "/" in path]


@pytest.mark.parametrize("path", [README, *PAGES], ids=name_of)
def test_files_of_the_project_named_on_a_page_exist(path: Path) -> None:
    about_the_source = name_of(path) in ("paper-map.md", "architecture.md", "methods.md")
    ours = ("src/", "tests/", "benchmarks/", "examples/", "docs/", "flexibo/")
    paths = [name for name in paths_named_in(path) if about_the_source or name.startswith(ours)]
    bases = (ROOT, ROOT / "src", ROOT / "src/flexibo")
    assert not [name for name in paths if not any((base / name).exists() for base in bases)]
    assert len(paths) >= 10 or not about_the_source


def test_a_file_that_does_not_exist_is_noticed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "`pareto/region.py`, `study/study.py: Study.run`, `systems/`, but not `Study.run` or `parego/cost`."
    )
    assert paths_named_in(page) == ["pareto/region.py", "study/study.py", "systems/"]


# The picture of the packages


@pytest.fixture(scope="module")
def house() -> ModuleType:
    """The script that draws the packages."""
    if sys.version_info < (3, 11):
        pytest.skip("tomllib comes with Python 3.11")
    spec = spec_from_file_location("draw_architecture", DOCS / "draw_architecture.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_the_picture_shows_every_package_and_no_other(house: ModuleType) -> None:
    picture = (DOCS / "architecture.svg").read_text(encoding="utf-8")
    shown = re.findall(r'data-room="(\w+)"', picture)
    found = {path.parent.name for path in (ROOT / "src/flexibo").glob("*/__init__.py")}
    found |= {path.stem for path in (ROOT / "src/flexibo").glob("*.py")} - {"__init__", "__main__"}
    assert sorted(shown) == sorted(found)
    assert sorted(house.read_house().lines) == sorted(found)
    assert len(shown) <= 30


def test_no_arrow_of_the_picture_points_upward(house: ModuleType) -> None:
    picture = (DOCS / "architecture.svg").read_text(encoding="utf-8")
    layer = house.read_house().layer
    arrows = re.findall(r'data-from="(\w+)" data-to="(\w+)"', picture)
    assert len(arrows) >= 20
    assert not [arrow for arrow in arrows if layer(arrow[0]) >= layer(arrow[1])]


def test_no_import_points_upward_or_sideways(house: ModuleType) -> None:
    found = house.read_house()
    pairs = [(room, target) for room, targets in found.imports.items() for target in targets]
    assert not [pair for pair in pairs if found.layer(pair[0]) >= found.layer(pair[1])]


def test_no_modules_import_each_other_in_a_circle(house: ModuleType) -> None:
    assert not house.circles(house.read_house().imports)
    assert not house.circles(house.module_imports())


def test_a_circle_is_found_and_implied_arrows_are_left_out(house: ModuleType) -> None:
    chain = {"a": frozenset("bc"), "b": frozenset("c"), "c": frozenset()}
    assert not house.circles(chain)
    assert house.essential(chain) == {"a": frozenset("b"), "b": frozenset("c"), "c": frozenset()}
    assert house.circles(chain | {"c": frozenset("b")}) == [frozenset("bc")]


# Commands


def commands(path: Path) -> Iterator[tuple[int, list[str]]]:
    """The simple commands of the shell blocks of a page, each with the line of its block."""
    for block in blocks(path, "sh", "console"):
        if block.file:
            continue
        text = block.text.replace("\\\n", " ")
        lines = text.splitlines()
        if block.language == "console":
            lines = [line[2:] for line in lines if line.startswith("$ ")]
        for line in lines:
            yield from ((block.line, words) for words in simple_commands(line))


def simple_commands(line: str) -> Iterator[list[str]]:
    """The commands of a line without variables before them and what follows a redirection.

    >>> list(simple_commands("A=1 flexibo list | head -1 > names  # first"))
    [['flexibo', 'list'], ['head', '-1']]
    """
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.commenters = "#"
    lexer.whitespace_split = True
    words: list[str] = []
    skip = False
    for word in [*lexer, ";"]:
        if set(word) <= set("();|&"):
            while words and re.fullmatch(r"\w+=.*", words[0]):
                del words[0]
            if words:
                yield words
            words, skip = [], False
        elif set(word) <= set("<>"):
            skip = True
        elif skip:
            skip = False
        else:
            words.append(word)


def complaint(words: list[str]) -> str:
    """What is wrong with a command of flexibo, pip or make; empty if nothing is."""
    if words[0] == "flexibo":
        return flexibo_complaint(words[1:])
    if words[:2] == ["pip", "install"]:
        known = project()["optional-dependencies"]
        extras = re.findall(r"\[([\w,]+)\]", " ".join(words))
        return ", ".join(name for names in extras for name in names.split(",") if name not in known)
    if words[0] == "make":
        targets = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE)
        return ", ".join(word for word in words[1:] if "=" not in word and word not in targets)
    if words[0] == "python" and words[1].endswith(".py") and "/" in words[1]:
        return "" if (ROOT / words[1]).is_file() else f"there is no {words[1]}"
    return ""


def flexibo_complaint(words: list[str]) -> str:
    from typer.main import get_command

    command: Any = get_command(app)
    context = command.make_context("flexibo", [], resilient_parsing=True)
    while words and hasattr(command, "get_command") and not words[0].startswith("-"):
        name, words = words[0], words[1:]
        command = command.get_command(context, name)
        if command is None:
            return f"there is no command {name!r}"
        context = command.make_context(name, [], parent=context, resilient_parsing=True)
        command = context.command  # of a command that is imported only when it is used
    given = words[: words.index("--")] if "--" in words else words
    known = {"--help", *(name for option in command.params for name in (*option.opts, *option.secondary_opts))}
    return ", ".join(word for word in given if re.match(r"--?[A-Za-z]", word) and word.partition("=")[0] not in known)


def project() -> dict[str, Any]:
    if sys.version_info < (3, 11):
        pytest.skip("tomllib comes with Python 3.11")
    import tomllib

    found: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return found


@pytest.mark.parametrize("path", [README, *PAGES], ids=name_of)
def test_every_command_of_a_page_exists_with_its_options(path: Path) -> None:
    wrong = [f"line {line}: {' '.join(words)}: {said}" for line, words in commands(path) if (said := complaint(words))]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("flexibo satus", "'satus'"),
        ("flexibo status --frnt", "--frnt"),
        ("flexibo knobs lst", "'lst'"),
        ("flexibo list | flexibo export --out x.csv --why", "--why"),
        ("make everything", "everything"),
        ("pip install 'flexibo[plots]'", "plots"),
    ],
)
def test_a_command_that_does_not_exist_is_noticed(line: str, said: str) -> None:
    assert said in "".join(complaint(words) for words in simple_commands(line))


def test_commands_are_found_on_the_pages() -> None:
    assert sum(words[0] == "flexibo" for path in [README, *PAGES] for _, words in commands(path)) >= 25


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_the_yaml_of_every_page_can_be_read(path: Path) -> None:
    for block in blocks(path, "yaml"):
        assert isinstance(yaml.safe_load(block.text), dict | list), f"line {block.line}"


# Links and pictures


def links(path: Path) -> Iterator[str]:
    """The targets of the links and pictures of a page that are not elsewhere on the web."""
    text = re.sub(r"^( *)```.*?^\1```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"`[^`]*`", "", text)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if not re.match(r"[a-z]+:", target):
            yield target


@pytest.mark.parametrize("path", [README, *PAGES], ids=name_of)
def test_every_link_leads_to_a_file(path: Path) -> None:
    wrong = [target for target in links(path) if not (path.parent / target.partition("#")[0]).exists()]
    assert not wrong


def test_pictures_are_small_and_all_of_them_are_shown() -> None:
    shown = {(path.parent / target).resolve() for path in [README, *PAGES] for target in links(path)}
    pictures = [p for p in (DOCS / "images").iterdir() if p.suffix in (".png", ".svg")]
    assert len(pictures) >= 4
    assert not [p.name for p in pictures if p.resolve() not in shown]
    assert not [p.name for p in pictures if p.stat().st_size > 400_000]


@pytest.mark.long
def test_the_pictures_of_the_ideas_are_drawn_by_one_command(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    command = [sys.executable, str(DOCS / "pictures.py"), "--folder", str(tmp_path), "--seeds", "1", "--budget", "500"]
    limited = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, env=limited)
    assert done.returncode == 0, done.stderr
    drawn = {path.name for path in tmp_path.iterdir()}
    assert drawn == {path.name for path in (DOCS / "images").glob("*-*.png") if not path.name.startswith("dashboard")}


# The built pages


class References(HTMLParser):
    """What a page makes a browser load, and what it leads to."""

    def __init__(self) -> None:
        super().__init__()
        self.loaded: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = dict(attributes)
        if tag in ("script", "img", "iframe", "source", "video", "audio", "embed", "object") and given.get("src"):
            self.loaded.append(str(given["src"]))
        if tag == "link" and given.get("rel") not in ("canonical", "index", "search", "next", "prev", "author"):
            self.loaded.append(str(given.get("href")))


def loaded(page: Path) -> list[str]:
    references = References()
    references.feed(page.read_text(encoding="utf-8"))
    return references.loaded


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    for package in ("sphinx", "myst_parser", "furo"):
        pytest.importorskip(package, reason="needs the extra docs")
    if (made := Path(os.environ.get("FLEXIBO_BUILT_DOCS", "") or "/nowhere")).joinpath("index.html").is_file():
        return made  # `make docs` has just built them, with warnings as errors
    folder = tmp_path_factory.mktemp("docs")
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-n", "-q", "-b", "html", str(DOCS), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.slow
def test_the_pages_build_without_warnings_and_load_nothing_from_elsewhere(built: Path) -> None:
    pages = sorted(built.rglob("*.html"))
    assert len(pages) >= len(PAGES)
    for page in pages:
        for target in loaded(page):
            assert not re.match(r"([a-z]+:)?//", target), f"{page.name} loads {target}"
            if not target.startswith("data:"):
                assert (page.parent / target.partition("?")[0].partition("#")[0]).exists(), f"{page.name}: {target}"
    for style in built.rglob("*.css"):
        text = re.sub(r"/\*.*?\*/", "", style.read_text(encoding="utf-8"), flags=re.DOTALL)
        assert not re.findall(r"(?:@import|url\()\s*[\"']?(?:https?:)?//[^)\"']*", text), style.name


@pytest.mark.slow
def test_every_public_name_is_in_the_reference(built: Path) -> None:
    import flexibo

    text = "".join(page.read_text(encoding="utf-8") for page in (built / "reference").glob("*.html"))
    missing = [name for name in flexibo.__all__ if f'id="flexibo.{name}"' not in text]
    assert not missing


@pytest.mark.slow
def test_the_search_works_from_the_disk_without_a_server_and_the_pages_fit_a_phone(built: Path) -> None:
    from tests.browser import browser, wait_for

    with browser() as chrome:
        chrome.open((built / "search.html").as_uri() + "?q=swappiness")
        found = wait_for(chrome, "return document.querySelectorAll('ul.search li a').length", "results of a search")
        assert found >= 1
        assert "systems.html" in chrome.run("return document.querySelector('ul.search').innerHTML")
        assert all(request.startswith("file:") for request in chrome.requests())
        for word in ("prune", "trial", "sampler", "jupyter", "slurm"):  # of other tools: a page says what they are here
            chrome.open((built / "search.html").as_uri() + f"?q={word}")
            wait_for(
                chrome, "return document.querySelector('ul.search a[href^=\"words.html\"]')", f"a page about {word}"
            )
        for page in ("index.html", "methods.html", "howto/add-a-knob.html", "reference/study.html"):
            chrome.open(built / page)
            chrome.size(390, 844, phone=True)
            wide = chrome.run("return document.documentElement.scrollWidth - document.documentElement.clientWidth")
            assert wide <= 0, f"{page} is {wide} pixels too wide"


def test_a_page_that_loads_something_from_elsewhere_is_noticed(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text(
        '<link rel="stylesheet" href="//fonts.example/a.css"><script src="https://x.example/b.js"></script>'
    )
    assert loaded(page) == ["//fonts.example/a.css", "https://x.example/b.js"]
