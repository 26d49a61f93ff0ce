"""What of a storage URL is shown: never a password, wherever it stands."""

from __future__ import annotations

from pathlib import Path

import pytest

from flexibo.errors import FlexiBOError
from flexibo.storage import open_storage, shown_url, stored_studies


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("sqlite:///study.db", "sqlite:///study.db"),
        ("sqlite:////home/ada@lab/a:b=c.db", "sqlite:////home/ada@lab/a:b=c.db"),
        ("study.db", "study.db"),
        ("postgresql://ada@host/db", "postgresql://ada@host/db"),
        ("postgresql://host:5432/db", "postgresql://host:5432/db"),
        ("postgresql://ada:SECRET@host:5432/db", "postgresql://ada:***@host:5432/db"),
        ("postgresql://ada:SECRET@[::1]:5432/db", "postgresql://ada:***@[::1]:5432/db"),
        ("postgresql+psycopg://:SECRET@host/db?sslmode=require", "postgresql+psycopg://:***@host/db?sslmode=require"),
        ("postgresql://ada:SEC/RET@host/db", "postgresql://ada:***@host/db"),
        ("postgresql://ada:SEC@RET@host/db", "postgresql://ada:***@host/db"),
        (
            "postgresql:///db?host=/tmp&port=1&password=SECRET&user=ada",
            "postgresql:///db?host=/tmp&port=1&password=***&user=ada",
        ),
        ("postgresql:///db?sslpassword=SECRET&passfile=/home/SECRET", "postgresql:///db?sslpassword=***&passfile=***"),
    ],
)
def test_a_url_is_shown_without_its_secrets(url: str, shown: str) -> None:
    assert shown_url(url) == shown


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://ada:SEC?RET@host/db",
        "postgresql://ada:SECRET",
        "postgresql://ada:SECRET/db",
        "postgresql://ada@host/db?password=SEC@RET",
        "postgresql://ada@host/db?password=x&SECRET",
        "postgresql://ada@host/db?password=x&SECRET=1",
        "postgresql://ada@host/db?PASSWORD=SECRET",
        "postgresql://ada@host/db?options=-csecret=SECRET",
        "sqlite:///study.db?key=SECRET",
        "sqlite+pysqlcipher://:SECRET@/study.db",
        "ada:SECRET@host/db",
        "host=h password=SECRET",
        "://:SECRET@h",
    ],
)
def test_whatever_is_wrong_with_a_url_its_secret_is_not_shown(url: str) -> None:
    assert not any(part in shown_url(url) for part in ("SEC", "RET"))


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://ada:p@SECRET@127.0.0.1:1/db",
        "postgresql://ada:p@SEC/RET@127.0.0.1:1/db",
        "postgresql://ada:p@SEC?RET@127.0.0.1:1/db",
        "postgresql://a@SECRET:p@127.0.0.1:1/db",
        "postgresql://ada@127.0.0.1:1/db?password=p@SECRET",
        "mysql://ada:p@SECRET@127.0.0.1:1/db",
    ],
)
def test_a_url_whose_password_cannot_be_told_apart_is_refused_without_showing_it(url: str) -> None:
    for use in (lambda: open_storage(url, "study"), lambda: stored_studies(url)):
        with pytest.raises(ValueError, match=r" @; .* %40") as caught:
            use()
        assert not any(part in str(caught.value) for part in ("SEC", "RET", "127"))


@pytest.mark.parametrize(
    ("given", "facts"),
    [
        (b"postgresql://ada:SECRET@h/db", r" bytes; .* sqlite:///study\.db"),
        (["postgresql://ada:SECRET@h/db"], r" list; .* sqlite:///study\.db"),
        (Path("SECRET/study.db"), "Path; .* sqlite:///PATH"),
    ],
)
def test_what_is_no_url_is_named_by_its_type_alone(given: object, facts: str) -> None:
    for use in (lambda: open_storage(given, "study"), lambda: stored_studies(given)):  # type: ignore[arg-type]
        with pytest.raises(TypeError, match=facts) as caught:
            use()
        assert "SECRET" not in str(caught.value)


@pytest.mark.parametrize("options", ["port=zz", "host=a:1&host=b:zz&port=1"])
def test_hosts_and_ports_that_make_no_sense_are_one_sentence(options: str) -> None:
    with pytest.raises(FlexiBOError, match=r"^Storage 'postgresql:///db.* hosts, ports "):
        open_storage(f"postgresql:///db?{options}", "study")


def test_an_at_sign_in_the_path_of_a_file_is_a_letter(tmp_path: Path) -> None:
    (tmp_path / "ada@home@lab").mkdir()
    assert open_storage(f"sqlite:///{tmp_path / 'ada@home@lab' / 'study.db'}", "study").read() == []
