"""What a command inherits: everything but what gives access to the storage or to the dashboard."""

from __future__ import annotations

import pytest

from flexibo.cli._storage import STORAGE_VARIABLE
from flexibo.cli.dashboard import TOKEN_VARIABLE
from flexibo.studyfile._inherited import WITHHELD, inherited, referred

SECRETS = dict.fromkeys(WITHHELD, "secret")


def test_the_variables_of_flexibo_and_of_postgresql_are_withheld() -> None:
    assert {STORAGE_VARIABLE, TOKEN_VARIABLE, "PGPASSWORD", "PGPASSFILE", "PGSERVICEFILE"} <= set(WITHHELD)
    assert inherited({**SECRETS, "PATH": "/bin", "PGHOST": "db"}, "./measure.sh") == {"PATH": "/bin", "PGHOST": "db"}


def test_what_is_passed_is_inherited() -> None:
    assert inherited(SECRETS, "./measure.sh", ["PGPASSWORD"]) == {"PGPASSWORD": "secret"}


@pytest.mark.parametrize(
    ("command", "names"),
    [
        ('psql "$FLEXIBO_STORAGE"', {"FLEXIBO_STORAGE"}),
        ("sh -c 'echo ${PGPASSWORD:-none}'", {"PGPASSWORD"}),
        ("echo $PGPASSWORDS PGPASSWORD", set()),
    ],
)
def test_a_variable_that_the_command_refers_to_is_inherited(command: str, names: set[str]) -> None:
    assert referred(command) == set(inherited(SECRETS, command)) == names
