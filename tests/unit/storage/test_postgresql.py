"""Errors of a PostgreSQL server: what is done about them, and what is shown."""

from __future__ import annotations

import re

import pytest
import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError, ProgrammingError

from flexibo.errors import FlexiBOError
from flexibo.storage import open_storage
from flexibo.storage._database import Trouble
from flexibo.storage._postgresql import PostgreSQL


@pytest.mark.parametrize("options", ["port=zz", "host=a:1&host=b:zz&port=1"])
def test_hosts_and_ports_that_make_no_sense_are_one_sentence(options: str) -> None:
    with pytest.raises(FlexiBOError, match=r"^Storage 'postgresql:///db.* hosts, ports "):
        open_storage(f"postgresql:///db?{options}", "study")


SECRET = "s3cret"


@pytest.fixture
def database() -> PostgreSQL:
    url = sa.make_url(f"postgresql://ada:{SECRET}@board/studies?sslpassword=other-{SECRET}")
    return PostgreSQL(url, "postgresql://ada:***@board/studies", patience=60.0)


def error_of(state: str | None, kind: type[DBAPIError] = OperationalError, text: str = "it failed.") -> DBAPIError:
    """An error of the driver with this code of PostgreSQL; None if no server answered."""
    cause = Exception(text)
    if state is not None:
        cause.sqlstate = state  # type: ignore[attr-defined]
    return kind("SELECT 1", None, cause)


@pytest.mark.parametrize(
    ("state", "kind", "trouble"),
    [
        ("40001", OperationalError, Trouble.BUSY),
        ("40P01", OperationalError, Trouble.BUSY),
        (None, OperationalError, Trouble.LOST),
        (None, InterfaceError, Trouble.LOST),
        ("08006", OperationalError, Trouble.LOST),
        ("57P01", OperationalError, Trouble.LOST),
        ("53300", OperationalError, Trouble.REFUSED),
        ("57P03", OperationalError, Trouble.REFUSED),
        (None, ProgrammingError, Trouble.FINAL),
        ("55P03", OperationalError, Trouble.BUSY),
        ("53100", OperationalError, Trouble.FINAL),
        ("42501", ProgrammingError, Trouble.FINAL),
    ],
)
def test_the_code_of_an_error_says_what_to_do(
    database: PostgreSQL, state: str | None, kind: type[DBAPIError], trouble: Trouble
) -> None:
    assert database.trouble(error_of(state, kind)) is trouble


def test_a_connection_that_the_driver_gave_up_is_lost_whatever_the_code(database: PostgreSQL) -> None:
    error = error_of("42501", ProgrammingError)
    error.connection_invalidated = True
    assert database.trouble(error) is Trouble.LOST


@pytest.mark.parametrize(
    ("state", "facts"),
    [("55P03", "is locked"), ("53100", "disk is full"), (None, r"reached \(it failed\)"), ("42501", "it failed")],
)
def test_an_error_names_the_database_and_the_cause(database: PostgreSQL, state: str | None, facts: str) -> None:
    sentence = database.sentence(error_of(state))
    assert re.match(rf"postgresql://ada:\*\*\*@board/studies .*{facts}", sentence)
    assert not sentence.endswith(".")


def test_no_secret_is_shown_though_the_server_repeats_it(database: PostgreSQL) -> None:
    sentence = database.sentence(
        error_of("42501", text=f"password {SECRET} and other-{SECRET} are wrong\nDETAIL: {SECRET}")
    )
    assert "wrong" in sentence
    assert SECRET not in sentence
    assert SECRET not in repr(vars(database)["_engine"])
