"""Study files: what they can say, and every mistake at once, with its place and a suggestion."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from flexibo import Categorical, Integer, Objective, Ordinal, Real, Space
from flexibo.studyfile import Command, ExecutorChoice, Function, StudyFile, StudyFileError, read_study_file

OBJECTIVES = """
objectives:
  error:
    command: echo {x}
  joules:
    command: echo 1
"""
SMALL = f"options:\n  x: [1, 2, 3]\n{OBJECTIVES}"


@pytest.fixture(autouse=True)
def _modules_are_forgotten(tmp_path: Path) -> Iterator[None]:
    path, modules = list(sys.path), set(sys.modules)
    yield
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


@pytest.fixture
def read(tmp_path: Path) -> Any:
    def of(text: str | bytes) -> StudyFile:
        path = tmp_path / "study.yaml"
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return read_study_file(path)

    return of


@pytest.fixture
def mistakes(read: Any) -> Any:
    """The mistakes of a text: (line, column, sentence) in order."""

    def of(text: str) -> list[tuple[int, int, str]]:
        with pytest.raises(StudyFileError) as caught:
            read(text)
        return [(m.place.line, m.place.column, m.sentence) for m in caught.value.mistakes]

    return of


class TestWhatItCanSay:
    def test_a_short_file_has_sensible_defaults(self, read: Any, tmp_path: Path) -> None:
        file = read(SMALL)
        assert file.name == tmp_path.name
        assert file.storage == f"sqlite:///{tmp_path / tmp_path.name}.db"
        assert not file.names_storage
        assert file.space == Space({"x": [1, 2, 3]})
        assert file.objectives == (Objective("error"), Objective("joules"))
        assert file.executor == ExecutorChoice("inline")
        assert file.settings == {}

    def test_options_can_be_all_that_a_space_can(self, read: Any) -> None:
        file = read(
            """
options:
  filters: [64, 16, 32]
  kernel: [1x1, 3x3]
  flag: [true, false]
  cores: {from: 1, to: 6}
  ghz: {from: 0.3, to: 2.3}
  half: {from: 1, to: 6, whole: false}
  rate: {from: 1e-5, to: 0.1, log: true}
  batch: {from: 1, to: 1024, log: true}
  size: {ordered: [small, medium, large]}
  id: {unordered: [3, 1, 2]}
  opt: [sgd, adam]
  momentum: {from: 0.0, to: 0.99, when: {opt: sgd}}
  nesterov:
    unordered: [true, false]
    when: {opt: [sgd], momentum_on: [1, 2]}
  momentum_on: [0, 1, 2]
"""
            + OBJECTIVES.replace("{x}", "{cores}")
        )
        assert dict(file.space.options) == {
            "filters": Ordinal([16, 32, 64]),
            "kernel": Categorical(["1x1", "3x3"]),
            "flag": Categorical([True, False]),
            "cores": Integer(1, 6),
            "ghz": Real(0.3, 2.3),
            "half": Real(1, 6),
            "rate": Real(1e-5, 0.1, log=True),
            "batch": Integer(1, 1024, log=True),
            "size": Ordinal(["small", "medium", "large"]),
            "id": Categorical([3, 1, 2]),
            "opt": Categorical(["sgd", "adam"]),
            "momentum": Real(0.0, 0.99),
            "nesterov": Categorical([True, False]),
            "momentum_on": Ordinal([0, 1, 2]),
        }
        assert file.space.conditions == {
            "momentum": {"opt": ("sgd",)},
            "nesterov": {"opt": ("sgd",), "momentum_on": (1, 2)},
        }

    def test_objectives_can_be_all_that_an_objective_can(self, read: Any, tmp_path: Path) -> None:
        (tmp_path / "board.py").write_text("def joules(design):\n    return {'joules': 2.0, 'ms': 3.0}\n")
        file = read(
            """
options: {x: [1, 2], y: [1, 2]}
objectives:
  speed:
    direction: max
    unit: images/s
    options: [x]
    command: run --x {x}
    timeout: 2m
    cost: 30
    resources: {GPU: 1}
  joules:
    unit: J
    function: board:joules
    noisy: true
    repeats: 5
    remeasure: true
    tolerance: 0.1
  ms: {unit: ms, measured_with: joules, at_most: 50, optimise: true}
  level: {command: echo 1, at_least: 3}
"""
        )
        assert file.objectives == (
            Objective("speed", "max", unit="images/s", options=["x"], timeout=120, cost=30, resources={"GPU": 1}),
            Objective("joules", unit="J", noisy=True, repeats=5, remeasure=True, tolerance=0.1),
            Objective("ms", unit="ms", measured_with="joules", at_most=50, optimise=True),
            Objective("level", at_least=3),
        )
        assert list(file.measures) == ["speed", "joules", "level"]
        speed = file.measures["speed"]
        assert isinstance(speed, Command)
        assert (speed.folder, speed.timeout) == (str(tmp_path), 120.0)
        assert file.measures["joules"] == Function("board:joules", str(tmp_path))
        assert file.measures["joules"](file.space.design({"x": 1, "y": 2})) == {"joules": 2.0, "ms": 3.0}

    def test_the_rest_is_what_a_study_takes(self, read: Any, tmp_path: Path) -> None:
        (tmp_path / "mine.py").write_text(
            "def legal(design):\n    return design['x'] < 3\ndef price(design, objective):\n    return 1.0\n"
        )
        file = read(
            """
name: net
method: parego
budget: 30m
seed: 3
storage: sqlite:///other.db
valid: mine:legal
reference: {error: 10, joules: 2.5}
n_initial: 2
initial_designs:
  - {x: 1}
  - x: 2
candidates: 50
delta: 0.1
surrogate: rf
cost: mine:price
lease: 2m
stop: {max_evaluations: 40, gain_per_cost: 1e-6, max_seconds: 1h, certified_error: 5%}
executor: {name: processes, workers: 2, slots: {joules: 1}, resources: {GPU: 1}}
logs: logs
"""
            + SMALL
        )
        assert file.name == "net"
        assert file.storage == f"sqlite:///{tmp_path / 'other.db'}"
        assert file.names_storage
        assert file.space.size == 2
        cost = file.settings["cost"]
        assert cost.__name__ == "price"
        assert {key: value for key, value in file.settings.items() if key != "cost"} == {
            "method": "parego",
            "budget": 1800.0,
            "seed": 3,
            "reference": {"error": 10.0, "joules": 2.5},
            "n_initial": 2,
            "initial_designs": [{"x": 1}, {"x": 2}],
            "candidates": 50,
            "delta": 0.1,
            "surrogate": "rf",
            "lease": 120.0,
            "stop": {
                "max_evaluations": 40,
                "gain_per_cost": 1e-6,
                "max_seconds": 3600.0,
                "certified_error": 0.05,
            },
        }
        assert file.executor == ExecutorChoice("processes", 2, slots={"joules": 1}, resources={"GPU": 1.0})
        assert file.measures["error"].logs == str(tmp_path / "logs")
        study = file.study(storage=None)
        assert (study.method.name, study.budget, study.settings.seed) == ("parego", 1800.0, 3)
        assert study.history.origin == {"study_file": str(tmp_path / "study.yaml"), "sha256": file.source.digest}

    @pytest.mark.parametrize(
        ("url", "expected"),
        [
            ("sqlite:///a/b.db", "sqlite:///{folder}/a/b.db"),
            ("sqlite:////abs/b.db", "sqlite:////abs/b.db"),
            ("sqlite:///~/b.db", "sqlite:///~/b.db"),
            ("postgresql://me@host/studies", "postgresql://me@host/studies"),
        ],
    )
    def test_a_storage_is_beside_the_file_unless_it_is_elsewhere(
        self, read: Any, tmp_path: Path, url: str, expected: str
    ) -> None:
        assert read(f"storage: {url}\n{SMALL}").storage == expected.format(folder=tmp_path)

    def test_a_name_for_people_becomes_a_name_for_a_file(self, read: Any, tmp_path: Path) -> None:
        assert read(f'name: "../../my study: 1"\n{SMALL}').storage == f"sqlite:///{tmp_path}/my-study-1.db"

    def test_designs_may_come_from_a_table(self, read: Any, tmp_path: Path) -> None:
        (tmp_path / "pool.csv").write_text("cores,ghz,kernel,note\n1,2.0,3x3,a\n4,0.5,1x1,b\n4,1,1x1,c\n")
        objectives = OBJECTIVES.replace("{x}", "{kernel}")
        file = read(f"designs: pool.csv\n{objectives}")
        assert file.space.size == 3
        assert file.space.options["ghz"] == Ordinal([0.5, 1.0, 2.0])
        assert file.space.options["cores"] == Ordinal([1, 4])
        assert file.space.options["kernel"] == Categorical(["1x1", "3x3"])
        file = read(f"designs: {{file: pool.csv, columns: [cores, kernel]}}\n{objectives}")
        assert file.space.names == ("cores", "kernel")
        assert file.space.size == 2

    def test_a_file_with_a_byte_order_mark_or_other_line_ends_is_read(self, read: Any) -> None:
        assert read(b"\xef\xbb\xbf" + SMALL.replace("\n", "\r\n").encode()).space.names == ("x",)


class TestMistakes:
    def test_all_mistakes_are_listed_at_once_in_the_order_of_the_lines(self, mistakes: Any) -> None:
        found = mistakes(
            """name: 12
metod: flexibo
method: flexbo
budget: soon
seed: -1
options:
  filters: 16
  kernel: [1x1, no]
  cores: {from: 6, to: 1}
  ghz: {low: 1, to: 2}
  momentum: {from: 0, to: 1, when: {kernle: 1x1}}
objectives:
  error:
    direction: minimise
    options: [filers]
    command: run "{kernel}" {kernle}
    noise: true
  joules:
    function: nowhere:joules
  ms: {measured_with: joule}
stop: {max_evals: 3}
"""
        )
        lines = [line for line, _, _ in found]
        assert lines == sorted(lines)
        assert set(lines) == {1, 2, 3, 4, 5, 7, 8, 9, 10, 11, 14, 15, 16, 17, 19, 20, 21}
        sentences = {line: sentence for line, _, sentence in found}
        for line, words in {
            2: "There is no key 'metod' in a study file; did you mean 'method'?",
            3: "Unknown method 'flexbo'; did you mean 'flexibo'?",
            4: "budget is 'soon'; it must be a duration such as",
            9: "Option 'cores' has bounds (6, 1); the lower bound must come first.",
            10: "did you mean 'from'?",
            11: "Unknown option 'kernle' in when of option 'momentum'; did you mean 'kernel'?",
            14: "did you mean 'min'?",
            15: "Unknown option 'filers' in options of objective 'error'; did you mean 'filters'?",
            17: "There is no key 'noise' in objective 'error'; did you mean 'noisy'?",
            19: "There is no module 'nowhere' beside the file",
            20: "did you mean 'joules'?",
            21: "There is no key 'max_evals' in stop; did you mean 'max_evaluations'?",
        }.items():
            assert words in sentences[line]

    def test_the_message_names_the_file_with_line_and_column(self, read: Any, tmp_path: Path) -> None:
        with pytest.raises(StudyFileError) as caught:
            read(SMALL + "colour: blue\nseeds: 1\n")
        shown = str(tmp_path / "study.yaml")
        lines = str(caught.value).splitlines()
        assert lines[0] == f"{shown} has 2 mistakes; nothing was run."
        assert lines[1].startswith(f"  {shown}:9:1: There is no key 'colour'")
        assert lines[2] == f"  {shown}:10:1: There is no key 'seeds' in a study file; did you mean 'seed'?"

    @pytest.mark.parametrize(
        ("line", "words"),
        [
            ("budget: 0", "budget is 0; it must be a duration"),
            ("budget: -5m", "budget is '-5m'"),
            ("budget: [1]", "budget is a list"),
            ("budget:", "budget has no value; it must be a duration"),
            ("seed: 1.5", "seed is 1.5; it must be a whole number, 0 or more"),
            ("seed: true", "seed is true; it must be a whole number"),
            ("n_initial: 0", "n_initial is 0; it must be a whole number, 1 or more"),
            ("delta: 2", "delta is 2"),
            ("surrogate: gpp", "Unknown surrogate 'gpp'; did you mean 'gp'?"),
            ("cost: lgo", "Unknown cost 'lgo'; did you mean 'log'?"),
            ("storage: study.db", "storage is not a URL"),
            ("reference: {eror: 1}", "Unknown optimised objective 'eror' in reference; did you mean 'error'?"),
            ("reference: {error: 1}", "reference names error; it must name error, joules"),
            ("initial_designs: {x: 1}", "initial_designs must be a list"),
            ("initial_designs: [{x: 9}]", "Option 'x' is 9"),
            ("initial_designs: [3]", "An initial design is not a mapping"),
            ("valid: nothing", "give module:function"),
            ("stop: {max_evaluations: 0}", "it must be a whole number, 1 or more"),
            ("stop: {gain_per_cost: -1}", "it must be zero or more"),
            ("stop: {certified_error: 5}", "it must be a share such as 5% or 0.05, below 100%"),
            ("stop: 100", "stop is 100; it must be a mapping"),
            ("executor: proceses", "Unknown executor 'proceses'; did you mean 'processes'?"),
            ("executor: {workers: 2}", "executor lacks the key name"),
            ("executor: {name: inline, workers: 2}", "Executor 'inline' takes no workers"),
            ("executor: {name: processes, slots: {errr: 1}}", "did you mean 'error'?"),
            ("executor: {name: processes, slots: {error: 0}}", "it must be a whole number, 1 or more"),
            ("executor: {name: dask, workers: none}", "workers of executor is 'none'"),
            ("lease: never", "lease is 'never'"),
            ("logs: 3", "logs is 3; it must be a text"),
            ("designs: pool.csv", "Both options and designs are given"),
            ("<<: {seed: 1}", "There is no key '<<'"),
        ],
    )
    def test_each_key_says_what_it_wants(self, mistakes: Any, line: str, words: str) -> None:
        ((at, _, sentence),) = mistakes(f"{line}\n{SMALL}")
        assert at == 1
        assert words in sentence

    @pytest.mark.parametrize(
        ("values", "words"),
        [
            ("5", "Option 'x' is 5; give a list such as"),
            ("", "Option 'x' is nothing; give a list such as"),
            ("[]", "Option 'x' has no values"),
            ("[1, 1]", "Option 'x' has the value 1 twice"),
            ("[1, [2]]", "Option 'x' has a list among its values"),
            ("[1, .inf]", "numbers must be finite"),
            ("{from: 1}", "Option 'x' lacks to"),
            ("{}", "Option 'x' lacks from and to"),
            ("{from: 0, to: 1, log: true}", "a log scale needs a lower bound above 0"),
            ("{from: a, to: 2}", "from of option 'x' is 'a'; it must be a number"),
            ("{from: 1, to: 2, log: 1}", "log of option 'x' is 1; it must be true or false"),
            ("{from: 1.5, to: 2.5, whole: true}", "an Integer needs whole numbers"),
            ("{ordered: [a], from: 1, to: 2}", "mixes a list with bounds"),
            ("{ordered: [a], unordered: [b]}", "mixes a list with bounds or another list"),
            ("{ordered: a}", "ordered of option 'x' must be a list"),
            ("{from: 1, to: 2, when: {x: [1]}}", "The conditions form a cycle"),
            ("{from: 1, to: 2, when: [y]}", "when of option 'x' is a list; it must be a mapping"),
            ("{from: 1, to: 2, when: {y: c}}", "asks for 'c' of 'y'"),
        ],
    )
    def test_each_option_says_what_it_wants(self, mistakes: Any, values: str, words: str) -> None:
        found = mistakes(f"options:\n  y: [a, b]\n  x: {values}\n{OBJECTIVES}")
        assert [at for at, _, _ in found] == [3]
        assert words in found[0][2]

    @pytest.mark.parametrize(
        ("objective", "words"),
        [
            ("{}", "has neither a function nor a command"),
            ("{command: a, function: b:c}", "has both a function and a command"),
            ("{command: echo 1, measured_with: other}", "leave command out"),
            ("{measured_with: othr}", "did you mean 'other'?"),
            ("", "has nothing below it"),
            ("echo 1", "is not a mapping"),
            ("{command: \"echo '{x}'\"}", "{x} stands inside single quotes"),
            ('{command: "echo {y}"}', "{y} names no option"),
            ('{command: "echo \'"}', "The shell cannot read the command"),
            ("{command: {x} 1}", "This is not YAML"),
            ("{command: {x: 1}}", "begins with a brace"),
            ("{command: [a]}", "command of objective 'm' is a list; it must be a text"),
            ("{function: 3}", "function of objective 'm' is 3; it must be a text"),
            ("{function: json}", "give module:function"),
            ("{function: json:dump_s}", "Module 'json' has no 'dump_s'; did you mean"),
            ("{function: os:nofn}", "Module 'os' has no 'nofn'; the nearest are "),
            ("{measured_by: hands}", "measured_by of objective 'm' is 'hands'; it must be hand"),
            ("{measured_by: hand, command: echo 1}", "has both a command and measured_by; leave one out"),
            ("{measured_by: hand, measured_with: other}", "leave measured_by out"),
            ("{by: hand}", "has neither a function nor a command; give one, or say measured_by: hand"),
            ("{function: sys:path}", "it must be a function"),
            ("{function: broken:f}", "Module 'broken' cannot be imported: ZeroDivisionError"),
            ("{function: leaving:f}", "Module 'leaving' cannot be imported: SystemExit"),
            ("{function: wrong:f}", "Module 'wrong' cannot be imported: SyntaxError"),
            ("{function: lacking:f}", "Module 'lacking' cannot be imported: No module named 'surely_not_there'"),
            ("{function: statistics:f}", "is taken by another module"),
            ("{command: echo 1, at_most: 3, at_least: 1}", "has at_most and at_least"),
            ("{command: echo 1, at_most: 3, direction: max}", "goes with direction 'min'"),
            ("{command: echo 1, remeasure: true}", "has remeasure=True but is exact"),
            ("{command: echo 1, timeout: never}", "timeout of objective 'm' is 'never'"),
            ("{command: echo 1, repeats: 0}", "it must be a whole number, 1 or more"),
            ("{command: echo 1, resources: {GPU: many}}", "it must be a number"),
            ("{command: echo 1, options: x}", "must be a list of options"),
            ("{command: echo 1, options: [x, x]}", "'x' is named twice"),
            ("{command: echo 1, unit: 3}", "unit of objective 'm' is 3"),
        ],
    )
    def test_each_objective_says_what_it_wants(self, mistakes: Any, tmp_path: Path, objective: str, words: str) -> None:
        import statistics  # noqa: F401  # so that its name is taken

        (tmp_path / "broken.py").write_text("1 / 0")
        (tmp_path / "leaving.py").write_text("raise SystemExit(3)")
        (tmp_path / "wrong.py").write_text("def f(:")
        (tmp_path / "lacking.py").write_text("import surely_not_there")
        (tmp_path / "statistics.py").write_text("def f(design):\n    return 1")
        found = mistakes(f"options: {{x: [1, 2]}}\nobjectives:\n  other: {{command: echo 1}}\n  m: {objective}\n")
        assert found[0][0] == 4
        assert words in found[0][2]

    def test_a_study_needs_two_objectives_and_a_method_that_can_do_them(self, mistakes: Any) -> None:
        ((line, _, sentence),) = mistakes("options: {x: [1, 2]}\nobjectives:\n  m: {command: echo 1}\n")
        assert (line, "needs at least two objectives" in sentence) == (2, True)
        many = "".join(f"  m{n}: {{command: echo 1}}\n" for n in range(9))
        ((line, _, sentence),) = mistakes(f"options: {{x: [1, 2]}}\nmethod: smsego\nobjectives:\n{many}")
        assert (line, "takes at most" in sentence) == (2, True)

    def test_a_budget_below_the_initial_designs_is_seen_before_anything_runs(self, mistakes: Any) -> None:
        text = SMALL.replace("command", "cost: 100\n    command") + "budget: 10s\n"
        ((line, _, sentence),) = mistakes(text)
        assert line == 11
        assert "initial designs are expected to cost" in sentence

    def test_nothing_but_options_or_nothing_but_objectives_is_said(self, mistakes: Any) -> None:
        assert "There are no objectives" in mistakes("options: {x: [1, 2]}")[0][2]
        assert "There are no options" in mistakes("objectives: {a: {command: echo 1}}")[0][2]
        assert "options is empty" in mistakes(f"options: {{}}\n{OBJECTIVES}")[0][2]

    def test_of_the_names_of_a_large_module_only_the_nearest_three_are_suggested(self, mistakes: Any) -> None:
        ((_, _, sentence),) = mistakes(SMALL.replace("command: echo 1", "function: os:nofn"))
        assert sentence.partition("the nearest are ")[2].count(",") == 2

    def test_a_command_that_uses_an_option_which_its_objective_leaves_out_is_a_mistake(self, mistakes: Any) -> None:
        text = "options: {x: [1, 2], y: [1, 2]}" + OBJECTIVES.replace("echo {x}", "echo {x} {y}\n    options: [y]")
        ((line, _, sentence),) = mistakes(text)
        assert line == 4
        assert sentence == (
            "In the command of objective 'error': {x} is used, but options of objective 'error' leaves 'x' out; add it "
            "there, or take it out of the command."
        )

    def test_a_mistake_in_the_name_of_an_option_brings_no_complaints_about_its_placeholders(
        self, mistakes: Any
    ) -> None:
        found = mistakes(OBJECTIVES.replace("{x}", "{x} {on} {true}") + "options: {x: [2, 1, 1], on: [1], true: [1]}\n")
        assert {line for line, _, _ in found} == {7}
        assert len(found) == 3

    def test_functions_of_the_study_are_mistakes_where_flexibo_ask_would_need_them(
        self, mistakes: Any, read: Any
    ) -> None:
        hands = SMALL.replace("command: echo 1", "measured_by: hand")
        assert read(f"{hands}cost: log\n").by_hand == ("joules",)
        for key in ("valid", "cost"):
            ((line, _, sentence),) = mistakes(f"{hands}{key}: os:getcwd\n")
            assert line == 9
            assert f"{key} is a function, which flexibo ask does not have, and objective 'joules'" in sentence

    def test_options_that_no_environment_can_tell_apart_are_refused(self, mistakes: Any) -> None:
        text = "options: {a-b: [1, 2], a_b: [1, 2], x: [1, 2]}" + OBJECTIVES
        assert "options 'a-b' and 'a_b' are both FLEXIBO_OPTION_A_B" in mistakes(text)[0][2]

    def test_values_that_no_program_can_be_given_are_refused(self, mistakes: Any) -> None:
        assert "cannot be passed to a program" in mistakes('options: {x: [a, "b\\0c"]}' + OBJECTIVES)[0][2]

    @pytest.mark.parametrize(
        ("table", "words"),
        [
            ("", "has no designs"),
            ("a,b\n", "has no designs"),
            ("a,a\n1,2\n", "each column needs a name of its own"),
            ("a,b\n1,2\n3\n", "has 1 values in row 3; its heading has 2"),
            ("a,b\n1,\xff\n", "is not UTF-8 text"),
        ],
    )
    def test_a_table_of_designs_that_is_none_is_said(
        self, mistakes: Any, tmp_path: Path, table: str, words: str
    ) -> None:
        (tmp_path / "pool.csv").write_bytes(table.encode("latin-1"))
        found = mistakes(f"designs: pool.csv\n{OBJECTIVES}")
        assert (found[0][0], words in found[0][2]) == (1, True)

    def test_a_table_that_is_not_there_and_a_column_that_is_not_in_it(self, mistakes: Any, tmp_path: Path) -> None:
        assert "pool.csv cannot be read: No such file" in mistakes(f"designs: pool.csv\n{OBJECTIVES}")[0][2]
        (tmp_path / "pool.csv").write_text("cores,x\n1,2\n2,2\n")
        found = mistakes(f"designs: {{file: pool.csv, columns: [core]}}\n{OBJECTIVES}")
        assert "has no column 'core'; did you mean 'cores'?" in found[0][2]

    def test_a_long_list_of_mistakes_is_cut(self, read: Any) -> None:
        with pytest.raises(StudyFileError) as caught:
            read("".join(f"key{n}: 1\n" for n in range(200)))
        assert len(str(caught.value).splitlines()) == 42
        assert "... and 162 more." in str(caught.value)

    def test_what_a_file_says_cannot_command_a_terminal(self, read: Any) -> None:
        with pytest.raises(StudyFileError) as caught:
            read('"a\\e[2Jb\\nflexibo: all is well": 1\n')
        assert "\x1b" not in str(caught.value)
        assert not any(line.startswith("flexibo:") for line in str(caught.value).splitlines())


class TestFilesThatAreNone:
    @pytest.mark.parametrize(
        ("data", "words"),
        [
            (b"", "is empty; flexibo init writes an example"),
            (b" \n\n", "is empty"),
            (b"# remark\n", "says nothing"),
            (b"\x89PNG\r\n\x1a\n\xff", "is not UTF-8 text (see byte 0)"),
            (b"name: a\0b", "it has zero bytes"),
            (b"a" * 1_000_001, "is longer than 1000000 bytes"),
            (b"- a\n- b\n", "A study file is a mapping"),
            (b"just words\n", "A study file is a mapping"),
        ],
    )
    def test_each_is_said_in_a_sentence(self, read: Any, data: bytes, words: str) -> None:
        with pytest.raises(StudyFileError) as caught:
            read(data)
        assert words in str(caught.value)

    def test_a_missing_file_is_answered_with_the_nearest(self, tmp_path: Path) -> None:
        with pytest.raises(StudyFileError, match="flexibo init writes one"):
            read_study_file(tmp_path / "study.yaml")
        (tmp_path / "study.yaml").write_text(SMALL)
        with pytest.raises(StudyFileError, match=r"did you mean 'study.yaml'\?"):
            read_study_file(tmp_path / "studdy.yaml")

    @pytest.mark.skipif(os.name != "posix", reason="needs named pipes")
    def test_folders_and_pipes_are_not_waited_for(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe.yaml")
        for path in (tmp_path, tmp_path / "pipe.yaml"):
            with pytest.raises(StudyFileError, match="is not a file"):
                read_study_file(path)


def test_a_function_is_looked_for_beside_the_file_first(read: Any, tmp_path: Path) -> None:
    (tmp_path / "sndhdr_like.py").write_text("def f(design):\n    return design['x'] * 10\n")
    package = tmp_path / "inner"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "part.py").write_text("class C:\n    @staticmethod\n    def f(design):\n        return -design['x']\n")
    file = read(
        "options: {x: [1, 2]}\nobjectives:\n  a: {function: 'sndhdr_like:f'}\n  b: {function: 'inner.part:C.f'}\n"
    )
    design = file.space.design({"x": 2})
    assert (file.measures["a"](design), file.measures["b"](design)) == (20, -2)


def test_a_module_that_is_gone_later_is_the_machines_fault(tmp_path: Path) -> None:
    from flexibo.errors import MachineError

    with pytest.raises(MachineError, match="There is no module 'nowhere'"):
        Function("nowhere:f", str(tmp_path))(Space({"x": [1, 2]}).design({"x": 1}))
