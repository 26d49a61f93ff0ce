"""Metrics: what Prometheus reads from them, also of hostile names, and the health of storages."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from flexibo import Objective, Study
from flexibo.dashboard.metrics import FRESH_SECONDS, METRICS, STALE_SECONDS, Metrics, _number, is_fresh, label_text
from flexibo.dashboard.watcher import Watcher

HARM = 'a"} 1\nflexibo_up{x="\\ \\n é \x1b\r\ud800'


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/study.db"


def looked(*urls: str, **settings: Any) -> Watcher:
    watcher = Watcher(urls, **settings)
    watcher.look()
    return watcher


def parsed(text: str) -> dict[str, dict[tuple[tuple[str, str], ...], float]]:
    """The samples by metric and labels, as Prometheus reads them; none may come twice."""
    found: dict[str, dict[tuple[tuple[str, str], ...], float]] = {}
    for family in text_string_to_metric_families(text):
        assert family.type == "gauge"
        assert family.documentation == METRICS[family.name]
        for sample in family.samples:
            labels = tuple(sample.labels.items())
            assert labels not in found.setdefault(sample.name, {})
            found[sample.name][labels] = sample.value
    return found


def only(samples: dict[tuple[tuple[str, str], ...], float]) -> float:
    (value,) = samples.values()
    return value


def test_the_numbers_of_a_study(url: str, make_study: Callable[..., Study]) -> None:
    study = make_study(storage=url, name="lenet")
    measured, failed = study.ask(), study.ask()
    assert measured is not None
    assert failed is not None
    study.tell(measured, 0.5, cost=7.0)
    pending = study.ask()
    assert pending is not None
    study.fail(failed, "out of memory", cost=2.0)
    design = study.space.designs([{"filters": 16, "kernel": "1x1", "cpu_ghz": 1.0, "cores": 1}])[0]
    study.enqueue(design, ["error"])
    last = study._log.log._clock()
    found = parsed(Metrics(looked(url), now=lambda: last + 5.0).text())
    assert set(found) == set(METRICS)
    counts = {labels[2:]: value for labels, value in found["flexibo_evaluations"].items()}
    assert {labels[:2] for labels in found["flexibo_evaluations"]} == {(("storage", url), ("study", "lenet"))}
    assert sum(counts.values()) == 3
    for evaluation, state in ((measured, "measured"), (failed, "failed"), (pending, "pending")):
        assert counts[("objective", evaluation.objective), ("state", state)] == 1
    assert only(found["flexibo_spent"]) == 9.0
    assert only(found["flexibo_budget"]) == 150.0
    assert only(found["flexibo_workers_alive"]) == 1.0
    assert only(found["flexibo_queued_designs"]) == 1.0
    assert only(found["flexibo_confirmed_designs"]) == 0.0
    assert only(found["flexibo_last_event_age_seconds"]) == pytest.approx(5.0, abs=4.0)
    assert only(found["flexibo_storage_up"]) == only(found["flexibo_study_up"]) == 1.0


def test_confirmed_designs_are_those_of_the_front(url: str, make_study: Callable[..., Study], functions: Any) -> None:
    study = make_study(storage=url, budget=60, method="random-coupled")
    study.run(functions, progress=False)
    found = parsed(Metrics(looked(url)).text())
    assert only(found["flexibo_confirmed_designs"]) == len(study.front()) > 0
    assert only(found["flexibo_spent"]) == pytest.approx(study.history.spent)
    study.close()
    assert only(parsed(Metrics(looked(url)).text())["flexibo_workers_alive"]) == 0.0


def test_numbers_are_computed_again_when_a_study_changed(
    url: str, make_study: Callable[..., Study], monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[int] = []
    monkeypatch.setattr("flexibo.dashboard.metrics.confirmed_count", lambda study: calls.append(1) or 0)
    study = make_study(storage=url)
    watcher = looked(url)
    metrics = Metrics(watcher)
    for _ in range(2):
        metrics.text()
    assert len(calls) == 1
    study.note("changed")
    watcher.look()
    metrics.text()
    assert len(calls) == 2


def test_hostile_names_stay_within_their_labels(url: str) -> None:
    for name in ('"} 1', "back\\slash\\", "學習 é"):
        Study({"x": (0.0, 1.0)}, [Objective('b"\\'), "c"], name=name, seed=0, storage=url)
    found = parsed(Metrics(looked(url)).text())
    assert {dict(labels)["study"] for labels in found["flexibo_spent"]} == {'"} 1', "back\\slash\\", "學習 é"}
    assert {dict(labels)["objective"] for labels in found["flexibo_evaluations"]} == {'b"\\', "c"}
    assert "flexibo_budget" not in found


def test_a_label_holds_any_text_on_one_line() -> None:
    text = label_text(HARM)
    assert "\n" not in text
    assert "\r" not in text
    text.encode("utf-8")
    (family,) = text_string_to_metric_families(f'flexibo_spent{{study="{text}"}} 1\n')
    (sample,) = family.samples
    assert sample.labels["study"].startswith('a"} 1\nflexibo_up{x="\\ \\n é ')


@pytest.mark.parametrize(
    ("value", "text"),
    [(3, "3"), (0.1, "0.1"), (2.0, "2"), (float("inf"), "+Inf"), (-float("inf"), "-Inf"), (float("nan"), "NaN")],
)
def test_numbers_are_written_as_prometheus_reads_them(value: float, text: str) -> None:
    assert _number(value) == text


def test_a_storage_that_cannot_be_read_is_down(url: str, tmp_path: Path, make_study: Callable[..., Study]) -> None:
    make_study(storage=url)
    missing = f"sqlite:///{tmp_path}/missing.db"
    metrics = Metrics(looked(url, missing))
    found = parsed(metrics.text())["flexibo_storage_up"]
    assert {dict(labels)["storage"]: value for labels, value in found.items()} == {url: 1.0, missing: 0.0}
    health = metrics.health()
    assert health["status"] == "failing"
    assert [bool(storage["problem"]) for storage in health["storages"]] == [False, True]
    assert Metrics(looked(url)).health() == {
        "status": "ok",
        "storages": [{"storage": url, "problem": None, "seconds_since_read": pytest.approx(0.0, abs=30.0)}],
        "studies": 1,
        "unreadable_studies": 0,
    }


def test_storages_that_look_the_same_without_their_passwords_are_told_apart() -> None:
    watcher = Watcher([f"postgresql://ada:{secret}@board/studies" for secret in ("one", "two")])
    names = [dict(labels)["storage"] for labels in parsed(Metrics(watcher).text())["flexibo_storage_up"]]
    assert len(names) == 2
    assert "one" not in "".join(names)


def test_a_storage_must_have_been_read_lately(url: str, make_study: Callable[..., Study]) -> None:
    make_study(storage=url)
    now = [0.0]
    watcher = Watcher([url], clock=lambda: now[0])
    assert not is_fresh(watcher)
    assert Metrics(watcher).health()["status"] == "failing"
    watcher.look()
    for seconds, fresh, status in (
        (FRESH_SECONDS, True, "ok"),
        (FRESH_SECONDS + 1, False, "ok"),
        (STALE_SECONDS + 1, False, "failing"),
    ):
        now[0] = seconds
        assert is_fresh(watcher) == fresh
        assert Metrics(watcher).health()["status"] == status
