"""Executors on Ray, with a gateway that does what a test says; real clusters are in tests/integration."""

from __future__ import annotations

import os
import socket
import stat
import sys
from collections.abc import Callable, Iterator, Mapping
from multiprocessing.connection import Connection
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.unit.executors.questions import ERROR, one, question

from flexibo.errors import InvalidValueError, MachineError, MissingExtraError
from flexibo.executors import ray as ray_executor
from flexibo.executors._messages import AttemptEnded, ClusterLost, Fault, Job, WorkersSeen, packed
from flexibo.executors._ray_gateway import Ready, Refused, StartAttempt, StopAttempt
from flexibo.executors.ray import RayEngine, RayExecutor

SEEN = WorkersSeen({"node-1": {"CPU": 1.0}}, 0.0)


class FakeGateway:
    """The other end of an engine's connection, in place of the process that uses Ray."""

    def __init__(self) -> None:
        self.first: list[Any] = [Ready("10.0.0.1:6379"), SEEN]
        self.settings: Mapping[str, Any] = {}

    def start(self, engine: RayEngine, settings: Mapping[str, Any]) -> Any:
        self.settings, self.folder = settings, Path(engine._folder)
        engine._socket, theirs = socket.socketpair()
        engine._connection = Connection(os.dup(engine._socket.fileno()))
        self.end = Connection(theirs.detach())
        for message in self.first:
            self.end.send(message)
        return SimpleNamespace(returncode=0, wait=lambda timeout=None: 0, pid=0)

    def heard(self) -> Any:
        assert self.end.poll(20)
        return self.end.recv()


@pytest.fixture
def gateway(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeGateway]:
    fake = FakeGateway()
    monkeypatch.setattr(RayEngine, "_gateway", lambda engine, settings: fake.start(engine, settings))
    yield fake
    fake.end.close()


@pytest.fixture
def make(gateway: FakeGateway) -> Iterator[Callable[..., RayEngine]]:
    made: list[RayEngine] = []

    def make(address: str | None = "auto", n: int | None = None, **resources: float) -> RayEngine:
        made.append(RayEngine(address, n, resources))
        return made[-1]

    yield make
    for engine in made:
        engine.close()


@pytest.fixture
def job() -> Job:
    return packed(question(), ERROR, one)


def test_the_machines_are_known_before_the_first_evaluation(make: Callable[..., RayEngine]) -> None:
    engine = make()
    assert engine.address == "10.0.0.1:6379"
    assert engine.reports.get(timeout=20) == SEEN


def test_an_attempt_brings_its_function_once_and_its_resources_in_rays_words(
    make: Callable[..., RayEngine], gateway: FakeGateway, job: Job
) -> None:
    engine = make()
    engine.start("0-a", job, {"CPU": 2.0, "GPU": 0.5, "jetson": 1.0}, None)
    engine.start("1-b", job, {"CPU": 1.0}, "node-1")
    engine.stop("0-a")
    first, second, third = (gateway.heard() for _ in range(3))
    assert isinstance(first, StartAttempt)
    assert (first.task.attempt, first.task.function) == ("0-a", job.function)
    assert first.options == {"num_cpus": 2.0, "num_gpus": 0.5, "resources": {"jetson": 1.0}}
    assert (second.task.attempt, second.task.function) == ("1-b", None)
    assert second.options == {"num_cpus": 1.0, "num_gpus": 0, "resources": {}}
    assert third == StopAttempt("0-a")
    assert not engine.has_begun("0-a")


def test_what_the_gateway_tells_is_reported(make: Callable[..., RayEngine], gateway: FakeGateway) -> None:
    engine = make()
    engine.reports.get(timeout=20)
    ended = AttemptEnded("0-a", Fault("No meter."))
    gateway.end.send(ended)
    assert engine.reports.get(timeout=20) == ended
    gateway.end.send(ClusterLost("no answer"))
    assert engine.reports.get(timeout=20) == ClusterLost("no answer")


def test_a_gateway_that_ends_is_a_lost_cluster(make: Callable[..., RayEngine], gateway: FakeGateway, job: Job) -> None:
    engine = make()
    engine.reports.get(timeout=20)
    gateway.end.close()
    assert isinstance(engine.reports.get(timeout=20), ClusterLost)
    engine.start("0-a", job, {"CPU": 1.0}, None)
    assert isinstance(engine.reports.get(timeout=20), ClusterLost)


@pytest.mark.parametrize(
    ("first", "seconds", "fact"), [([Refused("it is full")], 20.0, "it is full"), ([], 0.003, r"0\.003 s")]
)
def test_a_cluster_that_refuses_or_says_nothing_is_a_fault_of_the_machine_and_leaves_nothing(
    make: Callable[..., RayEngine],
    gateway: FakeGateway,
    monkeypatch: pytest.MonkeyPatch,
    first: list[Any],
    seconds: float,
    fact: str,
) -> None:
    gateway.first = first
    monkeypatch.setattr(ray_executor, "CONNECT_SECONDS", seconds)
    with pytest.raises(MachineError, match=rf"cluster at auto .*\(.*{fact}"):
        make()
    assert not gateway.folder.exists()


def test_closing_tells_nothing_of_the_end_and_removes_the_folder(
    make: Callable[..., RayEngine], gateway: FakeGateway
) -> None:
    engine = make()
    engine.reports.get(timeout=20)
    engine.close()
    assert engine.reports.empty()
    assert not gateway.folder.exists()
    with pytest.raises(EOFError):
        gateway.end.recv()


def test_a_cluster_of_our_own_offers_what_was_given_and_shows_no_pages(
    make: Callable[..., RayEngine], gateway: FakeGateway
) -> None:
    make(None, 3, GPU=2, jetson=1)
    assert gateway.settings["address"] == "local"
    assert (gateway.settings["num_cpus"], gateway.settings["num_gpus"]) == (3, 2)
    assert gateway.settings["resources"] == {"jetson": 1}
    assert gateway.settings["include_dashboard"] is False
    assert gateway.settings["_temp_dir"] == str(gateway.folder)


def test_a_cluster_of_others_is_told_nothing_about_what_it_offers(
    make: Callable[..., RayEngine], gateway: FakeGateway
) -> None:
    make("auto", 3)
    assert gateway.settings["address"] == "auto"
    assert not {"num_cpus", "num_gpus", "resources", "_temp_dir"} & set(gateway.settings)


def test_the_remedy_is_a_command_or_an_argument_that_offers_what_is_needed(make: Callable[..., RayEngine]) -> None:
    needs = {"CPU": 2.0, "GPU": 1.0, "jetson": 0.5}
    command = "ray start --address=10.0.0.1:6379 --num-cpus=2 --num-gpus=1 --resources='{\"jetson\": 0.5}'"
    assert make("auto").remedy(needs).endswith(command)
    assert make("auto").remedy({"CPU": 1.0}).endswith("--num-cpus=1")
    assert make(None, 1).remedy(needs).endswith("n=2 or more and resources={'GPU': 1.0, 'jetson': 0.5}")
    assert make(None, 1).remedy({"CPU": 1.0, "GPU": 1.0}).endswith("RayExecutor resources={'GPU': 1.0}")


def test_a_private_cluster_has_a_token_that_others_cannot_read(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    tokens = []
    for folder in (first, second):
        folder.mkdir()
        environment = ray_executor._private(str(folder))
        token = Path(environment["RAY_AUTH_TOKEN_PATH"])
        assert environment["RAY_AUTH_MODE"] == "token"
        assert stat.S_IMODE(token.stat().st_mode) == 0o600
        tokens.append(token.read_text())
    assert len(set(tokens)) == 2
    assert all(len(token) == 64 for token in tokens)


# Arguments


def test_a_missing_library_names_the_extra_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtraError, match=r"'flexibo\[ray\]'\.$"):
        RayExecutor()


@pytest.mark.parametrize(
    ("settings", "facts"),
    [
        ({"address": ""}, "address is '';"),
        ({"n": 1.5}, r"n is 1\.5;"),
        ({"patience": "long"}, "patience is 'long';"),
        ({"resources": {"CPU": 2}}, "resources .*CPU; .*n "),
        ({"resources": {"GPU": 0}}, "0 .*'GPU'"),
        ({"address": "auto", "resources": {"GPU": 1}}, "resources .*ray start --resources"),
        ({"address": "ray://127.0.0.1:10001"}, r"'ray://127\.0\.0\.1:10001'.*host:port"),
    ],
)
def test_a_wrong_argument_is_told_before_ray_is_looked_for(
    settings: dict[str, Any], facts: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(InvalidValueError, match=facts):
        RayExecutor(**settings)


@pytest.mark.parametrize("address", ["10.0.0.1", ":6379", "10.0.0.1:", "10.0.0.1:port"])
def test_an_address_without_host_or_port_is_refused(address: str) -> None:
    with pytest.raises(InvalidValueError, match=f"address is '{address}';.*host:port"):
        RayEngine(address, None, {})


def test_an_address_where_nothing_listens_is_a_fault_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
        ray_executor._check_reachable(address)
    with pytest.raises(MachineError, match=f"'{address}' .*ray start --head"):
        ray_executor._check_reachable(address)
