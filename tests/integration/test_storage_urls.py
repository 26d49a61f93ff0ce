"""What of a storage URL is shown: never a password, wherever it stands."""

from __future__ import annotations

import pytest

from flexibo.storage import shown_url


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
