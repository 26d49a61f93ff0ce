"""Commands with placeholders: what is put in, what is refused, what the shell makes of hostile values."""

from __future__ import annotations

import shlex
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flexibo.studyfile.template import parsed, variable

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
    ("template", "sentence"),
    [
        ('run "{x}"', "{x} stands inside double quotes"),
        ("run '{x}'", "{x} stands inside single quotes"),
        ("run `cat {x}`", "{x} stands inside backquotes"),
        ("cat <<END\n{x}\nEND", "{x} stands inside a here-document"),
        ("run \"a'b\" '{x}'", "{x} stands inside single quotes"),
        ('run "a \\" {x}"', "{x} stands inside double quotes"),
        ("echo $(( {x} + 1 ))", "{x} stands inside arithmetic, where a shell may run what is in its value"),
        ('echo "$(( {x} ))"', "{x} stands inside arithmetic"),
        ("echo $(( (1 + 2) * {x} ))", "{x} stands inside arithmetic"),
        ("echo $(( $(cat {x}) + 1 ))", "{x} stands inside arithmetic"),
        ("echo $[ {x} + 1 ]", "{x} stands inside arithmetic"),
        ("(( y = {x} ))", "{x} stands inside arithmetic"),
        ("y[{x}]=1", "{x} stands inside a subscript"),
        ('run "$(cat "{x}")"', "{x} stands inside double quotes"),
        ('run "$(cat {x})"', "{x} stands inside a substitution within double quotes"),
        ('run "$(case y in y) echo "{x}";; esac)"', "{x} stands inside or after case"),
        ('run "`cat "{x}"`"', "{x} stands inside backquotes"),
        ("run ${y-{x}}", "{x} stands inside ${...}"),
        ('run ${y-"a {x}"}', "{x} stands inside double quotes"),
        ("a\\\n#'b {x}", "{x} stands inside single quotes"),
        ("a\u00a0#' {x}", "{x} stands inside single quotes"),
        ("echo $(a)#' {x}", "{x} stands inside single quotes"),
        ("cat <<-'END' <<B\n\tEND\n{x}\nB", "{x} stands inside a here-document"),
        ("cat <<END\n\\\nEND\n{x}\nEND", "{x} stands inside a here-document"),
        ("echo $'a\\' {x}'", "{x} stands inside or after $'...' with a backslash"),
        ("$((echo a); echo {x})", "{x} stands inside or after $((...)"),
        ("run {kernle}", "{kernle} names no option; did you mean 'kernel'?"),
        ("run {zzz}", "{zzz} names no option; known are x, kernel."),
    ],
)
def test_a_placeholder_that_cannot_be_filled_is_refused(template: str, sentence: str) -> None:
    _, wrong = parsed(template, ["x", "kernel"])
    assert len(wrong) == 1
    assert sentence in wrong[0]


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
