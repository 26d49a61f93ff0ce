"""Errors of a PostgreSQL server: what is done about them, and what is shown."""

from __future__ import annotations

import re
from typing import Any

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


@pytest.mark.parametrize(
    ("text", "state"),
    [
        ("the database system is starting up", "57P03"),
        ("the database system is in recovery mode", "57P03"),
        ("sorry, too many clients already", "53300"),
        ("remaining connection slots are reserved for roles with privileges", "53300"),
        ('too many connections for role "ada"', "53300"),
        ("no more connections allowed (max_client_conn)", "53300"),
        ("server login has been failing, try again later (server_login_retry)", "57P03"),
    ],
)
def test_a_server_that_refuses_a_connection_for_now_is_waited_for(database: PostgreSQL, text: str, state: str) -> None:
    refused = error_of(None, text=f"connection failed: FATAL:  {text}\n")  # the driver gives no code
    assert database.trouble(refused) is Trouble.REFUSED
    assert database.trouble(error_of("08P01", text=f"FATAL:  {text}\n")) is Trouble.REFUSED  # of PgBouncer
    assert text in database.sentence(refused)
    assert ("max_connections" in database.sentence(refused)) == (state == "53300")
    assert database.trouble(error_of(None, text="FATAL: password authentication failed")) is Trouble.LOST


def connecting(url: str) -> dict[str, Any]:
    """The arguments with which a database of this URL connects."""
    engine = vars(PostgreSQL(sa.make_url(url), "shown", patience=60.0))["_engine"]
    given: list[dict[str, Any]] = []

    def connect(dialect: object, record: object, positional: object, named: dict[str, Any]) -> None:
        given.append(named)
        raise OSError

    sa.event.listen(engine, "do_connect", connect)
    with pytest.raises(OSError):  # our own
        engine.connect()
    return given[0]


def test_options_of_tls_reach_the_driver_unchanged() -> None:
    tls = {
        "sslmode": "verify-full",
        "sslrootcert": "/certs/root.crt",
        "sslcert": "/certs/ada.crt",
        "sslkey": "/certs/ada.key",
        "sslpassword": "s3cret",
        "sslcrl": "/certs/revoked",
        "ssl_min_protocol_version": "TLSv1.3",
        "channel_binding": "require",
    }
    given = connecting("postgresql://ada@board/studies?" + "&".join(f"{name}={value}" for name, value in tls.items()))
    assert given.items() >= (tls | {"host": "board", "user": "ada", "dbname": "studies"}).items()


@pytest.mark.parametrize("option", ["", "?prepare_threshold=0"])
def test_no_statement_is_prepared_since_a_pool_gives_each_transaction_another_session(option: str) -> None:
    assert connecting(f"postgresql://ada@board/studies{option}")["prepare_threshold"] is None


def test_defaults_of_a_connection_can_be_changed_in_the_url() -> None:
    given = connecting("postgresql://ada@board/studies?connect_timeout=9")
    assert (given["connect_timeout"], given["tcp_user_timeout"]) == ("9", 30_000)


def test_variables_that_complete_a_url_tell_databases_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    def shared() -> object:
        database = PostgreSQL(sa.make_url("postgresql:///studies"), "shown", patience=60.0)
        kept.append(database)
        return vars(database.connections())["_line"]

    kept: list[PostgreSQL] = []
    monkeypatch.setenv("PGHOST", "one")
    assert shared() is shared()
    monkeypatch.setenv("PGHOST", "two")
    assert shared() is not kept[0].connections()._line


def test_no_secret_is_shown_though_the_server_repeats_it(database: PostgreSQL) -> None:
    sentence = database.sentence(
        error_of("42501", text=f"password {SECRET} and other-{SECRET} are wrong\nDETAIL: {SECRET}")
    )
    assert "wrong" in sentence
    assert SECRET not in sentence
    assert SECRET not in repr(vars(database)["_engine"])
