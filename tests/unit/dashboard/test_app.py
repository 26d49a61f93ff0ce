"""What the dashboard answers: details and pictures of hostile studies, and refusals of hostile requests."""

from __future__ import annotations

import csv
import io
import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from tests.unit.dashboard.asgi_client import Client

from flexibo import Objective, Study
from flexibo.dashboard.access import LOOPBACK_NAMES, Access
from flexibo.dashboard.app import Dashboard, dashboard_app
from flexibo.dashboard.follower import Follower
from flexibo.dashboard.watcher import Watcher

HARM = "<img src=x onerror=alert(1)>"
FORMULA = "=HYPERLINK(1)"
PATIENCE = 60.0


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/study.db"


@pytest.fixture
def client(url: str) -> Iterator[Client]:
    app, dashboard = dashboard_app([url], Access(None, LOOPBACK_NAMES))
    yield Client(app)
    dashboard.watcher.close()


def hostile(url: str) -> None:
    """A study whose every text is hostile."""
    study = Study(
        {HARM: [FORMULA, HARM, "@plain"], "x": (0.0, 1.0)},
        [Objective(HARM, unit="<script>"), "b"],
        name=f'"/../{HARM}é;.csv',
        method="random",
        stop={"max_evaluations": 16},
        seed=0,
        n_initial=3,
        storage=url,
    )

    def failing(design: Any) -> float:
        if design["x"] > 0.5:
            raise RuntimeError(f"{HARM}\n\x1b[2J")
        return float(design["x"])

    study.run({HARM: failing, "b": lambda design: (1 - design["x"], 1.0)}, progress=False)
    study.note(f"{FORMULA} {HARM}")


def only_study(client: Client) -> dict[str, Any]:
    (study,) = client.get("/api/studies").json()["studies"]
    return dict(study)


def details_of(client: Client) -> dict[str, Any]:
    """The details of the only study, once it is read."""
    end = time.monotonic() + PATIENCE
    while True:
        details = dict(client.get(f"/api/studies/{only_study(client)['id']}").json())
        if "overview" in details and details["state"] != "reading":
            return details
        assert time.monotonic() < end
        time.sleep(0.02)


def view_of(client: Client, path: str) -> dict[str, Any]:
    end = time.monotonic() + PATIENCE
    while (response := client.get(path)).status_code == 204 or response.headers["x-flexibo-version"] == "measured":
        assert time.monotonic() < end
        time.sleep(0.02)
    assert response.status_code == 200
    return dict(response.json())


def test_hostile_texts_are_sent_as_json_and_change_no_address(url: str, client: Client) -> None:
    hostile(url)
    details = details_of(client)
    assert HARM in details["name"]
    assert HARM not in details["id"]
    assert any(HARM in row["reason"] for row in details["failures"])
    assert HARM in details["notes"][0]["text"]
    base = f"/api/studies/{details['id']}"
    for kind in ("front", "trace", "spending", "choices", "parallel", "importance"):
        assert view_of(client, f"{base}/{kind}")["kind"] == kind
    sliced = client.get(f"{base}/slice", params={"objective": HARM, "x": HARM})
    assert sliced.status_code in (200, 204)
    assert client.get(base).headers["content-type"] == "application/json"


def test_the_table_to_download_has_no_formula_and_a_harmless_name(url: str, client: Client) -> None:
    hostile(url)
    details = details_of(client)
    response = client.get(f"/api/studies/{details['id']}/evaluations.csv")
    disposition = response.headers["content-disposition"]
    assert disposition.startswith('attachment; filename="')
    name = disposition.removeprefix('attachment; filename="').removesuffix('"')
    assert name.isascii()
    assert not set(name) & set('/\\";<>%\r\n')
    assert not name.startswith(".")
    assert response.headers["content-type"].startswith("text/csv")
    rows = list(csv.reader(io.StringIO(response.text)))
    assert len(rows) == 1 + sum(row["measured"] + row["failed"] for row in details["overview"]["objectives"])
    for cell in (cell for row in rows for cell in row):
        assert not cell.startswith(("=", "@", "\t")), cell


def test_no_part_of_a_study_is_downloaded_while_it_is_being_read(
    url: str, client: Client, make_study: Callable[..., Study], monkeypatch: pytest.MonkeyPatch
) -> None:
    make_study(storage=url)
    path = f"/api/studies/{details_of(client)['id']}/evaluations.csv"
    assert client.get(path).status_code == 200
    monkeypatch.setattr(Follower, "is_reading", property(lambda self: True))
    refused = client.get(path)
    assert refused.status_code == 503
    assert refused.json()["error"].endswith(".")


def test_a_page_that_was_open_before_a_restart_is_not_told_that_another_study_is_the_old_one(
    tmp_path: Path, make_study: Callable[..., Study]
) -> None:
    url, have = f"sqlite:///{tmp_path}/study.db", []
    for budget in (40, 77):
        make_study(storage=url, budget=budget).close()
        app, dashboard = dashboard_app([url], Access(None, LOOPBACK_NAMES))
        asking = Client(app)
        path = f"/api/studies/{details_of(asking)['id']}/trace"
        assert view_of(asking, path)["budget"] == budget
        assert [asking.get(path, params={"have": version}).status_code for version in have] == [200] * len(have)
        have.append(asking.get(path).headers["x-flexibo-version"])
        dashboard.watcher.close()
        (tmp_path / "study.db").unlink()


def test_the_views_of_a_study_are_forgotten_with_it(tmp_path: Path, make_study: Callable[..., Study]) -> None:
    for name in ("one", "two"):
        make_study(storage=f"sqlite:///{tmp_path}/study.db", name=name).close()
    watch = Watcher([f"sqlite:///{tmp_path}/study.db"])
    watch.look()
    dashboard = Dashboard(watch)
    client = Client(Starlette(routes=dashboard.routes()))
    one, two = (study["id"] for study in watch.summary()["studies"])
    assert client.get(f"/api/studies/{one}").status_code == 200
    assert list(dashboard._shown) == [one]
    with sqlite3.connect(tmp_path / "study.db") as connection:
        connection.execute("DELETE FROM flexibo_events WHERE study = 'one'")
    connection.close()
    watch.look()
    assert client.get(f"/api/studies/{two}").status_code == 200
    assert list(dashboard._shown) == [two]
    watch.close()


def test_pictures_say_their_version_and_are_not_sent_twice(
    url: str, client: Client, make_study: Callable[..., Study]
) -> None:
    make_study(storage=url).note("hello")
    base = f"/api/studies/{details_of(client)['id']}"
    view_of(client, f"{base}/trace")
    response = client.get(f"{base}/trace")
    version = response.headers["x-flexibo-version"]
    again = client.get(f"{base}/trace", params={"have": version})
    assert (again.status_code, again.content) == (204, b"")
    assert client.get(f"{base}/trace", params={"have": "other"}).status_code == 200


def test_what_is_measured_is_shown_before_the_models_are_fitted(
    url: str, client: Client, make_study: Callable[..., Study], functions: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = make_study(storage=url, method="random", n_initial=6, budget=90)
    study.run(functions)
    never = "flexibo.dashboard.background_views.WorkQueue.add"
    monkeypatch.setattr(never, lambda self, request: None)
    base = f"/api/studies/{details_of(client)['id']}"
    response = client.get(f"{base}/front")
    assert response.headers["x-flexibo-version"] == "measured"
    view = response.json()
    assert view["region"] is None
    assert {point["kind"] for point in view["points"]} <= {"front-confirmed", "measured"}
    assert all(all(point["measured"].values()) for point in view["points"])
    best = [point["values"] for point in view["points"] if point["kind"] == "front-confirmed"]
    assert sorted(map(str, best)) == sorted(str(dict(row.values)) for row in study.front())
    assert float(response.headers["x-flexibo-again"]) > 0
    assert client.get(f"{base}/front", params={"have": "measured"}).status_code == 204


def test_a_study_that_grows_is_seen(url: str, client: Client, make_study: Callable[..., Study]) -> None:
    study = make_study(storage=url)
    before = details_of(client)
    study.tell(study.ask(), 0.5, cost=3.0)
    end = time.monotonic() + PATIENCE
    while (now := details_of(client))["version"] == before["version"] or now["spent"] != 3.0:
        assert time.monotonic() < end
        time.sleep(0.05)
    assert now["measured"] == 1


@pytest.mark.parametrize(
    "path",
    [
        "/api/studies/nothing",
        "/api/studies/0123456789abcdef",
        "/api/studies/%00",
        "/api/studies/..%2f..%2fetc%2fpasswd",
        "/api/studies/../../etc/passwd",
        "/static/../files.py",
        "/static/..%2ffiles.py",
        "/static/%2e%2e/%2e%2e/pyproject.toml",
        "/static//etc/passwd",
        "/static/index.html",
        "/static/APP.JS",
        "/static/app.js/",
        "/static/app.js%00.txt",
        "/static/",
        "/etc/passwd",
        "//",
        "/api",
        "/api/studies/",
        "/%",
        "/%ff%fe",
        "/favicon.ico",
    ],
)
def test_what_is_not_there_is_one_sentence(
    url: str, client: Client, make_study: Callable[..., Study], path: str
) -> None:
    make_study(storage=url)
    response = client.get(path)
    assert response.status_code == 404, response.text
    assert list(response.json()) == ["error"]
    assert response.json()["error"].endswith(".")
    assert "root:" not in response.text


@pytest.mark.parametrize(
    "query",
    [
        "",
        "objective=error",
        "objective=error&x=nothing",
        "objective=error&x=cores&y=cores",
        f"objective={HARM}&x=cores",
        "%",
        "objective=error&x=cores&y=%00%ff",
    ],
)
def test_a_slice_of_nothing_is_one_sentence(
    url: str, client: Client, make_study: Callable[..., Study], query: str
) -> None:
    make_study(storage=url)
    response = client.get(f"/api/studies/{details_of(client)['id']}/slice?{query}")
    assert response.status_code == 400
    assert response.json()["error"].endswith(".")


def test_bodies_are_small_on_the_way(
    url: str, client: Client, make_study: Callable[..., Study], functions: Any
) -> None:
    make_study(storage=url, method="random", n_initial=6, budget=120).run(functions)
    base = f"/api/studies/{details_of(client)['id']}"
    view_of(client, f"{base}/front")
    packed = client.get(f"{base}/front", headers={"Accept-Encoding": "gzip"})
    plain = client.get(f"{base}/front", headers={"Accept-Encoding": "identity"})
    assert packed.headers["content-encoding"] == "gzip"
    assert int(packed.headers["content-length"]) < int(plain.headers["content-length"]) / 3
    assert packed.json() == plain.json()


def test_studies_of_several_storages_are_listed_together(tmp_path: Path, make_study: Callable[..., Study]) -> None:
    urls = [f"sqlite:///{tmp_path}/{name}.db" for name in "abc"]
    for url in urls[:2]:
        make_study(storage=url, name="net")
    watch = Watcher(urls)
    watch.look()
    said = Dashboard(watch).watcher.summary()
    assert [study["storage"] for study in said["studies"]] == urls[:2]
    assert [bool(storage["problem"]) for storage in said["storages"]] == [False, False, True]


def test_metrics_are_text_and_health_is_a_status(client: Client, url: str, make_study: Callable[..., Study]) -> None:
    make_study(storage=url, name='"} 1')
    metrics = client.get("/metrics")
    assert metrics.status_code == 200
    assert metrics.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert 'study="\\"} 1"' in metrics.text
    health = client.get("/health")
    assert (health.status_code, health.json()["status"]) == (200, "ok")


def test_the_health_of_a_storage_that_cannot_be_read_is_a_status_too(client: Client) -> None:
    health = client.get("/health")
    assert (health.status_code, health.json()["status"]) == (503, "failing")
    assert "flexibo_storage_up" in client.get("/metrics").text


@pytest.mark.parametrize("path", ["/metrics", "/health"])
def test_metrics_and_health_need_the_token_like_everything_else(url: str, path: str) -> None:
    app, dashboard = dashboard_app([url], Access("a-long-secret-token", None))
    asking = Client(app)
    assert asking.get(path).status_code == 401
    assert asking.get(f"{path}?token=a-long-secret-token").status_code == 401
    assert asking.get(path, headers={"authorization": "Bearer a-long-secret-token"}).status_code in (200, 503)
    dashboard.watcher.close()


def test_evaluations_come_compact_at_first_and_then_as_news(client: Client, url: str) -> None:
    hostile(url)
    path = f"/api/studies/{details_of(client)['id']}/evaluations"
    found = client.get(path).json()
    assert found["all"]
    assert sorted(row[0] for row in found["rows"]) == list(range(16))
    assert found["options"] == [HARM, "x"]
    news = client.get(f"{path}?after={found['after']}").json()
    assert (news["rows"], news["all"], news["after"]) == ([], False, found["after"])
    for wrong in ("9.1", "0.-1", "0.x", "%00", "0.99999999999999999999", "0.%D9%A1"):
        again = client.get(f"{path}?after={wrong}").json()
        assert again["all"], wrong
    first = client.get(f"{path}?first").json()
    assert first["rows"] == found["rows"], "so few are all sent at once"
    assert first["after"] == found["after"]


def test_an_answer_with_the_first_rows_alone_says_that_others_are_missing(
    client: Client, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("flexibo.dashboard.app.FIRST_ROWS", 5)
    hostile(url)
    found = client.get(f"/api/studies/{details_of(client)['id']}/evaluations?first").json()
    assert [row[0] for row in found["rows"]] == [15, 14, 13, 12, 11]
    assert (found["after"], found["left_out"]) == ("", 11)


def test_details_of_one_evaluation_have_its_output_as_text(client: Client, url: str) -> None:
    hostile(url)
    path = f"/api/studies/{details_of(client)['id']}/evaluations"
    rows = client.get(path).json()
    failed = next(row[0] for row in rows["rows"] if rows["states"][row[2]] == "failed")
    answer = client.get(f"{path}/{failed}")
    assert answer.headers["content-type"] == "application/json"
    assert HARM in answer.json()["reason"]
    assert answer.json()["design"].keys() == {HARM, "x"}
    for wrong in ("16", "-1", "x", "1e3", "99999999999", "..", "%2e%2e", "0/1"):
        assert client.get(f"{path}/{wrong}").status_code == 404, wrong
