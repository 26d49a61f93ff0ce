"""The dashboard as it is started: over real sockets, beside real writers, with storages that come and go."""

from __future__ import annotations

import http.client
import json
import resource
import shutil
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path

import pytest
from tests.dashboards import PATIENCE, Running, dashboard, dashboard_as_people_start_it, wait_until
from tests.forked import COMMAND_LINE, forked_into, imported
from tests.postgres import server

from flexibo import Study
from flexibo.dashboard.access import HEADERS
from flexibo.transfer import study_copy

pytestmark = pytest.mark.slow


def write(url: str, evaluations: int) -> None:
    """What a writer does beside the dashboard."""
    settings = {"budget": 10000, "n_initial": 12, "seed": 0}
    study = Study({"x": (0.0, 1.0), "y": [1, 2, 3]}, ["a", "b"], storage=url, **settings)  # type: ignore[arg-type]
    for _ in range(evaluations):
        evaluation = study.ask()
        assert evaluation is not None
        x = float(evaluation.design["x"])  # type: ignore[arg-type]
        study.tell(evaluation, x if evaluation.objective == "a" else 1.0 - x, cost=1.0)
    study.close()


@pytest.fixture(scope="module", autouse=True)
def ready() -> Iterator[None]:
    with imported(*COMMAND_LINE):
        yield


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/study.db"


@pytest.fixture
def shown(url: str, make_study: Callable[..., Study]) -> Iterator[Running]:
    make_study(storage=url)
    with dashboard(url) as running:
        yield running


@pytest.fixture(scope="module")
def lasting(ready: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A dashboard that many tests ask, and none of them ends."""
    url = f"sqlite:///{tmp_path_factory.mktemp('lasting')}/study.db"
    Study({"x": (0.0, 1.0)}, ["a", "b"], storage=url, budget=10, seed=0).close()
    with dashboard(url) as running:
        yield running


def events(stream: http.client.HTTPResponse) -> Iterator[tuple[str, dict[str, object]]]:
    """The events of the live feed."""
    name = ""
    for line in stream:
        field, _, value = line.decode().rstrip("\n").partition(": ")
        if field == "event":
            name = value
        elif field == "data":
            yield name, json.loads(value)


@contextmanager
def live(running: Running) -> Iterator[http.client.HTTPResponse]:
    """An open live feed."""
    connection = http.client.HTTPConnection("127.0.0.1", running.port, timeout=PATIENCE)
    with closing(connection):
        connection.request("GET", "/api/live")
        with connection.getresponse() as stream:
            yield stream


def said(running: Running, request: bytes) -> bytes:
    """What the server answers to bytes; empty where it hangs up without a word."""
    with socket.create_connection(("127.0.0.1", running.port), timeout=PATIENCE) as line:
        answer = b""
        with suppress(OSError):  # it may hang up before it has heard everything
            line.sendall(request)
        with suppress(ConnectionResetError):
            while part := line.recv(65536):
                answer += part
        return answer


def test_a_study_that_grows_is_told_to_whoever_watches(
    shown: Running, url: str, make_study: Callable[..., Study]
) -> None:
    with live(shown) as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        assert stream.headers["cache-control"] == "no-store"
        feed = events(stream)
        first = next(content for name, content in feed if name == "studies" and content["studies"])
        assert [study["name"] for study in first["studies"]] == ["study"]  # type: ignore[attr-defined]
        with make_study(storage=url) as study:
            study.tell(study.ask(), 0.5, cost=7.0)
        assert any(name == "studies" and content["studies"][0].get("spent") == 7.0 for name, content in feed)  # type: ignore[index]


def test_ctrl_c_ends_it_at_once_with_streams_open(shown: Running) -> None:
    with ExitStack() as stack:
        for stream in [stack.enter_context(live(shown)) for _ in range(3)]:
            next(events(stream))
        printed = shown.end()
    assert shown.process.returncode == 0, printed
    assert "stopped" in printed
    assert "Traceback" not in printed
    assert "rror" not in printed


def test_a_termination_ends_it_without_a_traceback(shown: Running) -> None:
    with live(shown) as stream:
        next(events(stream))
        assert "Traceback" not in shown.end(signal.SIGTERM)
    assert shown.process.returncode != 0


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"nonsense\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nno colon\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nA: \x00\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 200_000 + b"\r\n\r\n",
        b"GET /" + b"a" * 200_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(range(256)),
    ],
)
def test_what_is_no_request_gets_400_the_headers_and_a_sentence(lasting: Running, request_bytes: bytes) -> None:
    head, _, body = said(lasting, request_bytes).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400"), head
    lines = head.decode().lower()
    for name, value in HEADERS.items():
        assert f"{name}: {value}".lower() in lines
    assert json.loads(body)["error"].endswith(".")
    assert lasting.get("/api/studies")["studies"], "it goes on"


def test_who_is_refused_can_say_what_he_has_to_say(lasting: Running) -> None:
    with socket.create_connection(("127.0.0.1", lasting.port), timeout=PATIENCE) as line:
        line.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 100_000)
        assert line.makefile("rb").read().startswith(b"HTTP/1.1 400 ")
        for _ in range(10):  # to hang up now would take the answer away from who still speaks
            line.sendall(b"a" * 10_000)


@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        (b"GET /../../etc/passwd HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", 404),
        (b"GET /static/..%2f..%2f..%2fpyproject.toml HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", 404),
        (b"GET http://localhost/api/studies/x HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", 404),
        (b"GET /api/studies HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n", 421),
        (b"POST /api/studies HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\nConnection: close\r\n\r\nabc", 405),
        (b"CONNECT localhost:80 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", 405),
        (b"GET /api/live HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: close\r\n\r\n", 200),
    ],
)
def test_odd_requests_get_what_they_deserve(lasting: Running, request_bytes: bytes, status: int) -> None:
    with socket.create_connection(("127.0.0.1", lasting.port), timeout=PATIENCE) as line:
        line.sendall(request_bytes)
        head = line.makefile("rb").readline().decode()
    assert head.startswith(f"HTTP/1.1 {status} "), head


@contextmanager
def few_files(most: int) -> Iterator[None]:
    """Programs that are started meanwhile may open at most this many files."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_idle_connections_neither_stop_it_nor_fill_its_log(url: str, make_study: Callable[..., Study]) -> None:
    make_study(storage=url).close()
    with ExitStack() as stack:
        with few_files(150):
            running = stack.enter_context(dashboard_as_people_start_it(url))
        lines = []
        for i in range(250):
            line = stack.enter_context(socket.create_connection(("127.0.0.1", running.port), timeout=PATIENCE))
            lines.append(line)
            with suppress(OSError):  # one too many is cut
                line.sendall(b"GET / HT" if i % 2 else b"GET /api/live HTTP/1.1\r\nHost: localhost\r\n\r\n")

        def answers() -> bool:
            with suppress(OSError):
                return bool(running.get("/api/studies")["studies"])
            return False

        wait_until(answers, "it answers again, while the others still hold on")
        heard = [line.recv(40) for line in lines[1:40:2]]
        assert all(answer.startswith((b"HTTP/1.1 408 ", b"HTTP/1.1 503 ")) for answer in heard), heard
        printed = running.end()
    assert "Traceback" not in printed
    assert len(printed) < 1000


def test_another_address_needs_the_token_that_was_printed(url: str, make_study: Callable[..., Study]) -> None:
    make_study(storage=url)
    with dashboard(url, "--host", "0.0.0.0") as running:
        token = running.address.partition("?token=")[2]
        assert len(token) >= 16
        close = "Connection: close\r\n\r\n"
        refused = said(running, f"GET /api/studies HTTP/1.1\r\nHost: board\r\n{close}".encode())
        assert refused.startswith(b"HTTP/1.1 401")
        assert b"study.db" not in refused
        bearer = f"Authorization: Bearer {token}\r\n"
        allowed = said(running, f"GET /api/studies HTTP/1.1\r\nHost: board\r\n{bearer}{close}".encode())
        assert allowed.startswith(b"HTTP/1.1 200")
        assert b"study.db" in allowed


def test_a_storage_that_vanishes_is_said_and_found_again(
    shown: Running, url: str, tmp_path: Path, make_study: Callable[..., Study]
) -> None:
    wait_until(shown.study, "the study is read")
    shutil.move(tmp_path / "study.db", tmp_path / "away.db")
    problem = wait_until(lambda: shown.get("/api/studies")["storages"][0]["problem"], "the trouble is said")
    assert problem.endswith(".")
    assert shown.study()["read"] == 2, "what was seen stays"
    shutil.move(tmp_path / "away.db", tmp_path / "study.db")
    wait_until(lambda: not shown.get("/api/studies")["storages"][0]["problem"], "it is found again")
    make_study(storage=url).note("and goes on")
    wait_until(lambda: shown.study()["read"] == 3, "what is new is seen")


def test_four_writers_never_notice_the_dashboard(tmp_path: Path) -> None:
    url, evaluations = f"sqlite:///{tmp_path}/study.db", 7
    write(url, 0)
    printed = [tmp_path / f"writer-{n}" for n in range(4)]
    with dashboard(url) as running, live(running), live(running):
        writers = [forked_into(path, path, write, url, evaluations) for path in printed]
        while any(writer.is_alive() for writer in writers):
            study = running.study()
            if study is not None:
                for kind in ("front", "trace", "choices"):
                    running.get(f"/api/studies/{study['id']}/{kind}")
        complaints = [path.read_text() for path in printed]
        assert [writer.exitcode for writer in writers] == [0, 0, 0, 0], complaints
        assert complaints == ["", "", "", ""]
        stored = len(study_copy(url).contents)
        wait_until(lambda: running.study()["read"] == stored, "everything is seen")
        assert running.study()["spent"] == 4 * evaluations


def test_a_server_that_restarts_is_said_and_found_again(make_study: Callable[..., Study]) -> None:
    database = server()
    url = database.new_database()
    make_study(storage=url).close()
    with dashboard(url) as running:
        wait_until(running.study, "the study is read")
        database.stop()
        try:
            problem = wait_until(lambda: running.get("/api/studies")["storages"][0]["problem"], "the trouble is said")
            assert problem.endswith(".")
            assert running.study()["name"] == "study"
        finally:
            database.start()
        wait_until(lambda: not running.get("/api/studies")["storages"][0]["problem"], "it is found again")
        study = make_study(storage=url)
        study.note("and goes on")
        study.close()
        wait_until(lambda: running.study()["read"] == 3, "what is new is seen")
