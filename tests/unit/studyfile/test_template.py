"""Commands with placeholders: what is put in, what is refused, what the shell makes of hostile values."""

from __future__ import annotations

import re
import shlex
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flexibo.studyfile.template import (
    ARITHMETIC,
    BACK,
    DOUBLE,
    EXPANSION,
    HERE,
    MOST_WRONG,
    SINGLE,
    SUBSCRIPT,
    WITHIN,
    parsed,
    variable,
)

HOSTILE = [
    "$(touch pwned)",
    "`touch pwned`",
    "'; touch pwned; '",
    '"; touch pwned; "',
    "a b  c",
    "*",
    "~",
    "-n",
    "$HOME",
    "\\",
    "a\nb",
    "a\ttouch pwned",
    "",
    "é漢",
    "&& touch pwned",
    "{x}",
    "%s\\n",
    "!!",
]


def shell_words(template: str, options: dict[str, str]) -> list[str]:
    """The arguments that a program gets when the shell runs a template whose program prints its arguments."""
    made, wrong = parsed(template, list(options))
    assert not wrong
    environment = {variable(name): value for name, value in options.items()}
    script = f'show() {{ for word in "$@"; do printf "%s\\0" "$word"; done; }}\n{made.script}'
    done = subprocess.run(["/bin/sh", "-c", script], env=environment, capture_output=True, check=True, timeout=60)
    return done.stdout.decode().split("\0")[:-1]


@pytest.mark.parametrize("hostile", HOSTILE)
def test_whatever_a_value_holds_it_arrives_as_one_literal_argument(hostile: str) -> None:
    assert shell_words("show --x {x} --y={x} end", {"x": hostile}) == ["--x", hostile, f"--y={hostile}", "end"]


@pytest.mark.parametrize("hostile", HOSTILE)
def test_the_command_shown_to_people_means_the_same_to_a_shell(hostile: str) -> None:
    template, _ = parsed("printf '%s|' {x}", ["x"])
    done = subprocess.run(["/bin/sh", "-c", template.filled({"x": hostile})], capture_output=True, timeout=60)
    assert done.stdout.decode() == f"{hostile}|"


@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=30))
def test_a_value_is_one_word_of_the_command_shown_and_no_part_of_the_one_that_is_run(text: str) -> None:
    template, _ = parsed("echo --x={x} end", ["x"])
    assert shlex.split(template.filled({"x": text})) == ["echo", f"--x={text}", "end"]
    assert template.script == 'echo --x="${FLEXIBO_OPTION_X}" end'


@pytest.mark.parametrize(
    ("template", "context"),
    [
        ('run "{x}"', DOUBLE),
        ("run '{x}'", SINGLE),
        ("run `cat {x}`", BACK),
        ("cat <<END\n{x}\nEND", HERE),
        ("run \"a'b\" '{x}'", SINGLE),
        ('run "a \\" {x}"', DOUBLE),
        ("echo $(( {x} + 1 ))", ARITHMETIC),
        ('echo "$(( {x} ))"', ARITHMETIC),
        ("echo $(( (1 + 2) * {x} ))", ARITHMETIC),
        ("echo $(( $(cat {x}) + 1 ))", ARITHMETIC),
        ("echo $[ {x} + 1 ]", ARITHMETIC),
        ("(( y = {x} ))", ARITHMETIC),
        ("y[{x}]=1", SUBSCRIPT),
        ('run "$(cat "{x}")"', DOUBLE),
        ('run "$(cat {x})"', WITHIN),
        ('run "$(case y in y) echo "{x}";; esac)"', "or after case"),
        ('run "`cat "{x}"`"', BACK),
        ("run ${y-{x}}", EXPANSION),
        ('run ${y-"a {x}"}', DOUBLE),
        ("a\\\n#'b {x}", SINGLE),
        ("a\u00a0#' {x}", SINGLE),
        ("echo $(a)#' {x}", SINGLE),
        ("cat <<-'END' <<B\n\tEND\n{x}\nB", HERE),
        ("cat <<END\n\\\nEND\n{x}\nEND", HERE),
        ("echo $'a\\' {x}'", "or after $'...'"),
        ("$((echo a); echo {x})", "or after $((...)"),
    ],
)
def test_a_placeholder_that_cannot_be_filled_is_refused(template: str, context: str) -> None:
    _, wrong = parsed(template, ["x", "kernel"])
    assert len(wrong) == 1
    assert re.search(rf"^\{{x\}} .*inside {re.escape(context)}[, ]", wrong[0])


@pytest.mark.parametrize("template", ["echo $(( {x} + 1 ))", "y[{x}]=1"])
def test_where_a_shell_would_run_the_value_another_way_to_compute_is_named(template: str) -> None:
    _, (wrong,) = parsed(template, ["x"])
    assert "$(expr " in wrong
    assert "$FLEXIBO_OPTION_X" not in wrong  # in quotes the shell would run it all the same


@pytest.mark.parametrize(
    ("template", "facts"),
    [
        ("run {kernle}", r"^\{kernle\} .*'kernel'.*\{\{kernle\}\}"),
        ("run {zzz}", r"^\{zzz\} .*\bx, kernel\b.*\{\{zzz\}\}"),
    ],
)
def test_a_placeholder_that_names_no_option_is_refused_with_the_known_ones(template: str, facts: str) -> None:
    _, wrong = parsed(template, ["x", "kernel"])
    assert len(wrong) == 1
    assert re.search(facts, wrong[0])


def test_a_command_full_of_wrong_placeholders_is_told_some_of_them() -> None:
    _, wrong = parsed("echo " + " ".join(f"{{z{n}}}" for n in range(500)), ["x"])
    assert len(wrong) == MOST_WRONG == 20


@pytest.mark.parametrize(
    "template",
    [
        "awk '{print $1}' file",
        "echo ${HOME} ${x}",
        "{ echo a; }",
        "echo a{1,2} {}",
        "echo \\{x}",
        "# don't look at {x} here\necho hi",
        "find . -exec ls {} \\;",
    ],
)
def test_braces_of_the_shell_are_left_alone(template: str) -> None:
    made, wrong = parsed(template, ["x"])
    assert not wrong
    assert made.options == ()
    assert made.script == template


def test_double_braces_are_braces() -> None:
    made, wrong = parsed("awk '{{print}}' {x}", ["x"])
    assert not wrong
    assert made.script == "awk '{print}' \"${FLEXIBO_OPTION_X}\""


def test_quotes_that_are_closed_do_not_matter_to_what_follows() -> None:
    assert shell_words("show \"it's\" 'a \"b' {x} don\\'t", {"x": "$y"}) == ["it's", 'a "b', "$y", "don't"]


@pytest.mark.parametrize(
    "template",
    [
        "show $((1<<2)) {x}",
        ":;# it's\nshow 4 {x}",
        ": &# it's\nwait; show 4 {x}",
        "(:)# it's\nshow 4 {x}",
        "cat >/dev/null <<END\nit's\nEND\nshow 4 {x}",
        "cat >/dev/null <<-'END' <<B\n\tEND\nit's\nB\nshow 4 {x}",
        "show $(echo 4) {x}",
        "show $(echo 4 # it's\n) {x}",
        "show $(( (1 + 1) * $(echo 2) )) {x}",
        "show \"$(echo '4')\" {x}",
        'show "`echo 4`" {x}',
        "show ${no-4} {x}",
        "show ${no-'4'} {x}",
        "case {x} in no) ;; *) show 4 {x} ;; esac",
        "show $(case a in a) echo 4;; esac) {x}",
        "show \\\n4 {x}",
        "show 4 {x} # {x}, it's",
    ],
)
@pytest.mark.parametrize("hostile", ["$(touch pwned)", "a[$(touch pwned)]", "'\"; touch pwned"])
def test_what_is_closed_again_does_not_matter_to_what_follows(template: str, hostile: str) -> None:
    assert shell_words(template, {"x": hostile}) == ["4", hostile]


def test_a_placeholder_may_stand_in_a_substitution_that_is_not_quoted() -> None:
    assert shell_words("show $(expr 10 - {x})", {"x": "3"}) == ["7"]


def test_options_with_odd_names_have_placeholders_too() -> None:
    assert shell_words("show {batch size} {a-b}", {"batch size": "8", "a-b": "c"}) == ["8", "c"]
    assert variable("größe 2") == "FLEXIBO_OPTION_GR__E_2"
