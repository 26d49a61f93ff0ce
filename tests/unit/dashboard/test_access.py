"""The guard of the dashboard: who may ask, and what every answer carries."""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.unit.dashboard.asgi_client import Client, LatestView

from flexibo import Study
from flexibo.dashboard.access import HEADERS, LONGEST_TARGET, LOOPBACK_NAMES, Access
from flexibo.dashboard.app import Dashboard, dashboard_app

TOKEN = "correct-horse-battery-staple"
LOCAL = Access(None, LOOPBACK_NAMES)
ANSWERS = ["/", "/static/app.js", "/api/studies", "/api/studies/nothing", "/nothing", "/api/studies/x/front?a=b"]


@pytest.fixture
def client_of(make_study: Callable[..., Study], tmp_path: Path) -> Iterator[Callable[..., Client]]:
    url = f"sqlite:///{tmp_path}/study.db"
    make_study(storage=url)
    made: list[Dashboard] = []

    def make(access: Access = LOCAL) -> Client:
        app, dashboard = dashboard_app([url], access)
        made.append(dashboard)
        return Client(app, "127.0.0.1:8765")

    yield make
    for dashboard in made:
        dashboard.watcher.close()


def assert_guarded(response: LatestView) -> None:
    for name, value in HEADERS.items():
        allowed = {value, "no-cache"} if name == "cache-control" else {value}
        assert response.headers[name] in allowed, (response.path, name)
    policy = response.headers["content-security-policy"]
    for part in (
        "default-src 'none'",
        "script-src 'self'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
        "form-action 'none'",
    ):
        assert part in policy
    assert "unsafe" not in policy
    assert "access-control-allow-origin" not in response.headers


@pytest.mark.parametrize("path", ANSWERS)
@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "BREW"])
def test_every_answer_has_the_headers_and_only_get_and_head_are_answered(
    client_of: Callable[..., Client], path: str, method: str
) -> None:
    response = client_of().request(method, path)
    assert_guarded(response)
    if method not in ("GET", "HEAD"):
        assert response.status_code == 405
        assert response.headers["allow"] == "GET, HEAD"
        assert response.json()["error"].endswith(".")


def test_data_is_never_stored_by_the_browser(client_of: Callable[..., Client]) -> None:
    client = client_of()
    assert client.get("/api/studies").headers["cache-control"] == "no-store"
    script = client.get("/static/app.js")
    assert script.headers["cache-control"] == "no-cache"
    again = client.get("/static/app.js", headers={"If-None-Match": script.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert_guarded(again)


@pytest.mark.parametrize(
    "host", ["localhost", "localhost:8765", "127.0.0.1:1", "[::1]", "[::1]:8765", "LOCALHOST", "localhost."]
)
def test_the_machine_itself_may_ask_by_its_own_names(client_of: Callable[..., Client], host: str) -> None:
    assert client_of().get("/api/studies", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8765",
        "127.0.0.1.evil.example",
        "localhost@evil.example",
        "",
        "localhost:x",
        "a b",
        "[::1",
        "localhost/evil",
        "2130706433",
        "0.0.0.0",
    ],
)
def test_a_strangers_name_that_leads_here_is_refused(client_of: Callable[..., Client], host: str) -> None:
    response = client_of().get("/api/studies", headers={"Host": host})
    assert response.status_code == 421
    assert "studies" not in response.json()
    assert_guarded(response)


def test_two_host_headers_are_refused(client_of: Callable[..., Client]) -> None:
    headers = [("Host", "localhost"), ("Host", "evil.example")]
    assert client_of().get("/api/studies", headers=headers).status_code == 421


def test_without_the_token_nothing_is_told(client_of: Callable[..., Client]) -> None:
    client = client_of(Access(TOKEN, None))
    for path in [
        *ANSWERS,
        "/api/live",
        "/?token=",
        "/?token=wrong",
        f"/api/studies?token={TOKEN}",
        f"//evil.example/?token={TOKEN}",
    ]:
        response = client.get(path)
        assert response.status_code == 401, path
        assert TOKEN not in response.text
        assert "study" not in response.text
        assert response.headers["www-authenticate"] == "Bearer"
        assert "set-cookie" not in response.headers
        assert_guarded(response)


@pytest.mark.parametrize("given", [TOKEN[:-1], TOKEN + "x", TOKEN.upper(), "", "\xff\xfe", "x" * 3000])
def test_a_wrong_token_is_refused_however_it_is_shown(client_of: Callable[..., Client], given: str) -> None:
    client = client_of(Access(TOKEN, None))
    shown = given.encode("latin-1")
    assert client.get("/", params={"token": given}).status_code == 401
    assert client.get("/", headers={b"Authorization": b"Bearer " + shown}).status_code == 401
    assert client.get("/", headers={b"Cookie": b"flexibo=" + shown}).status_code == 401


def test_the_token_is_compared_in_constant_time(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[tuple[bytes, bytes]] = []
    real = hmac.compare_digest
    monkeypatch.setattr(hmac, "compare_digest", lambda a, b: compared.append((a, b)) or real(a, b))
    assert not Access(TOKEN, None).is_token(b"wrong")
    assert not Access(TOKEN, None).is_authorised([(b"cookie", b"flexibo=wrong")])
    assert [a for a, _ in compared] == [b"wrong", b"wrong"]


def test_the_right_token_opens_the_door_as_a_header(client_of: Callable[..., Client]) -> None:
    client = client_of(Access(TOKEN, None))
    assert client.get("/api/studies", headers={"Authorization": f"Bearer {TOKEN}"}).status_code == 200
    assert client.get("/api/studies", headers={"Authorization": f"bearer {TOKEN}"}).status_code == 200
    assert client.get("/api/studies").status_code == 401


def test_the_right_token_in_the_address_becomes_a_cookie_that_scripts_cannot_read(
    client_of: Callable[..., Client],
) -> None:
    client = client_of(Access(TOKEN, None, cookie="flexibo-8765"))
    response = client.get("/", params={"token": TOKEN})
    assert (response.status_code, response.headers["location"]) == (303, "/")
    cookie = response.headers["set-cookie"]
    assert all(part in cookie for part in ("flexibo-8765=", "HttpOnly", "SameSite=Strict", "Path=/"))
    assert TOKEN not in cookie
    assert_guarded(response)
    value = cookie.partition(";")[0]
    assert client.get("/", headers={"Cookie": value}).status_code == 200
    assert client.get("/", headers={"Cookie": f"a; b=; =c; {value}; d=\x01"}).status_code == 200


def test_a_long_address_is_refused(client_of: Callable[..., Client]) -> None:
    client = client_of()
    for path in ("/" + "a" * LONGEST_TARGET, "/api/studies?" + "a" * LONGEST_TARGET):
        response = client.get(path)
        assert response.status_code == 414
        assert_guarded(response)


def test_a_failure_of_the_server_says_nothing_and_has_the_headers(
    client_of: Callable[..., Client], monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(self: object) -> None:
        raise RuntimeError("a secret")

    client = client_of()
    monkeypatch.setattr("flexibo.dashboard.watcher.Watcher.summary", failing)
    response = client.get("/api/studies", fails=RuntimeError)
    assert response.status_code == 500
    assert "secret" not in response.text
    assert_guarded(response)


def test_websockets_are_refused(client_of: Callable[..., Client]) -> None:
    sent: list[dict[str, Any]] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        return {"type": "websocket.connect"}

    guard = client_of().app
    asyncio.run(guard({"type": "websocket", "path": "/api/live", "headers": []}, receive, send))
    assert [message["type"] for message in sent] == ["websocket.close"]
