"""The store of trained models: a folder shared by processes and hosts, in which each model is trained once.

An entry is a file of weights, `NAME.pt`, and a file `NAME.json` that has the hash of the weights and is written after
them. An entry whose files do not agree is ignored. NAME contains a hash of everything that decides the weights: the
network and its options, the data and the settings of the task, the seed, and the source code of network, task and
training. Deployment options are not included.

The process that trains a model holds `NAME.lock` and touches it every few seconds. Others wait. They take over when the
holder is dead: its process is gone from this host, or the lock was not touched for a while. If two processes train the
same model after all (a holder that was suspended), both write the same entry.
"""

from __future__ import annotations

import hashlib
import json
import logging
import math
import os
import shutil
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import torch
from torch import nn

from flexibo._internal.files import write_atomically
from flexibo._internal.text import printable_line
from flexibo._internal.untrusted_json import untrusted_json
from flexibo.errors import MachineError
from flexibo.systems.tasks.base import Design, Device, LearningTask, TrainingFailedError
from flexibo.systems.training import Progress, Trained, Writer, identity, network_options, packed, train, unpacked

HEARTBEAT_SECONDS = 5.0
STALE_SECONDS = 60.0
POLL_SECONDS = 0.5
_HERE = Path(__file__).parent
_ALSO = {"bert": ("data/tokens.py",)}
_log = logging.getLogger(__name__)


class UnwritableStoreError(MachineError, OSError):
    """A model cannot be stored; the message says where and why."""


@dataclass(frozen=True, slots=True)
class StoredModel:
    """A trained model in a store: what `Trained` says of it, its design and the file of its weights."""

    design: Mapping[str, Any]
    error_percent: float
    seconds: float
    epochs: int
    losses: tuple[float, ...]
    weights: Path
    machines: tuple[str, ...] = ()
    cost_seconds: float = 0.0  # of this request on this machine, without waiting for another process that trains it

    def load(self, task: LearningTask, device: Device = "cpu") -> nn.Module:
        """The trained network, in evaluation mode."""
        with torch.random.fork_rng(devices=[]):  # the discarded initial weights do not advance torch's generator
            model = task.build(self.design)
        model.load_state_dict(unpacked(self.weights.read_bytes()))
        return model.to(device).eval()


def sources_of(network: str) -> tuple[Path, ...]:
    """The source files that decide the weights of a trained network."""
    named = (f"networks/{network}.py", "networks/layers.py", "training.py", *_ALSO.get(network, ()))
    return (*(_HERE / name for name in named), *sorted((_HERE / "tasks").glob("*.py")))


class ModelStore:
    """Trained models in a folder, which is created if it does not exist."""

    def __init__(
        self,
        folder: str | Path,
        *,
        sources: Callable[[str], Iterable[Path]] = sources_of,  # the files that decide the weights of a network
        write: Writer = write_atomically,
        clock: Callable[[], float] = time.monotonic,  # of locks
        sleep: Callable[[float], None] = time.sleep,
        host: str | None = None,
    ) -> None:
        self.folder = Path(folder)
        self._sources = sources
        self._write = write
        self._clock = clock
        self._sleep = sleep
        self._host = socket.gethostname() if host is None else host

    def get(self, task: LearningTask, design: Design, *, seed: int) -> StoredModel | None:
        """The model, if it is stored and undamaged."""
        name = self._name(task, design, seed)
        entry = self._entry(name)
        if entry is None or "failed" in entry:
            return None
        stored = _stored(entry, self.folder / f"{name}.pt")
        if stored is None or stored.design != network_options(task, design):
            _log.warning("The entry %s in %s is damaged; the model is trained again.", name, self.folder)
            return None
        return stored

    def has(self, task: LearningTask, design: Design, *, seed: int) -> bool:
        """Whether its training has ended, successfully or not; the weights are not checked."""
        return self._entry(self._name(task, design, seed)) is not None

    def failure(self, task: LearningTask, design: Design, *, seed: int) -> str | None:
        """Why training this model failed, if it did."""
        entry = self._entry(self._name(task, design, seed))
        return None if entry is None or not isinstance(entry.get("failed"), str) else entry["failed"]

    def put(self, task: LearningTask, design: Design, trained: Trained, *, seed: int) -> StoredModel:
        """Store a model; it is on disk when this returns."""
        content = packed(trained.model.state_dict())
        entry = {
            "error_percent": trained.error_percent,
            "seconds": trained.seconds,
            "epochs": trained.epochs,
            "losses": list(trained.losses),
            "machines": list(trained.machines),
            "weights_sha256": hashlib.sha256(content).hexdigest(),
        }
        name = self._name(task, design, seed)
        self._keep(f"{name}.pt", content)
        self._keep_entry(name, task, design, seed, entry)
        figures = trained.error_percent, trained.seconds, trained.epochs, trained.losses
        return StoredModel(network_options(task, design), *figures, self.folder / f"{name}.pt", trained.machines)

    def trained(
        self,
        task: LearningTask,
        design: Design,
        *,
        seed: int,
        device: Device = "cpu",
        train: Callable[..., Trained] = train,
        progress: Progress | None = None,
    ) -> StoredModel:
        """The model, trained if it is not stored; waits while another process trains it.

        The error of a failed training is stored and raised again; a lack of memory (`OutOfMemoryError`) is not stored.
        """
        name = self._name(task, design, seed)
        lock = self.folder / f"{name}.lock"
        watch = _Watch(lock, self._host, self._clock)
        begin = self._clock()
        while True:
            stored = self._known(task, design, seed)
            if stored is not None:
                return replace(stored, cost_seconds=self._clock() - begin)
            with self._locked(lock) as is_mine:
                if is_mine:
                    # Another process may have finished between the look above and the lock.
                    stored = self._known(task, design, seed)
                    stored = stored or self._train(name, task, design, seed, device, train, progress)
                    return replace(stored, cost_seconds=self._clock() - begin)
            if watch.holder_is_dead():
                watch.remove()
            else:
                self._sleep(POLL_SECONDS)
                begin = self._clock()  # the time so far was waiting for another process

    def _known(self, task: LearningTask, design: Design, seed: int) -> StoredModel | None:
        reason = self.failure(task, design, seed=seed)
        if reason is not None:
            raise TrainingFailedError(printable_line(reason))  # the text may come from another host
        return self.get(task, design, seed=seed)

    def _train(
        self,
        name: str,
        task: LearningTask,
        design: Design,
        seed: int,
        device: Device,
        train: Callable[..., Trained],
        progress: Progress | None,
    ) -> StoredModel:
        folder = self.folder / "training" / name
        try:
            result = train(task, design, seed=seed, device=device, folder=folder, progress=progress)
        except TrainingFailedError as error:
            self._keep_entry(name, task, design, seed, {"failed": str(error)})
            shutil.rmtree(folder, ignore_errors=True)
            raise
        stored = self.put(task, design, result, seed=seed)
        shutil.rmtree(folder, ignore_errors=True)
        for draft in self.folder.glob(f".{name}.*.part"):  # left by a process that was killed while writing
            draft.unlink(missing_ok=True)
        return stored

    def _name(self, task: LearningTask, design: Design, seed: int) -> str:
        digest = hashlib.sha256(identity(task, design, seed).encode())
        for path in self._sources(task.network):
            code = path.read_bytes()
            digest.update(f"{path.name} {len(code)} ".encode() + code)
        return f"{task.network}-{digest.hexdigest()[:32]}"

    def _entry(self, name: str) -> dict[str, Any] | None:
        path = self.folder / f"{name}.json"
        try:
            entry = untrusted_json(path.read_bytes())
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (ValueError, OSError):
            entry = None
        if isinstance(entry, dict) and entry.get("name") == name:
            return entry
        _log.warning("%s cannot be read; the model is trained again.", path)
        return None

    def _keep_entry(self, name: str, task: LearningTask, design: Design, seed: int, entry: Mapping[str, Any]) -> None:
        whole = {
            "name": name,
            "network": task.network,
            "design": network_options(task, design),
            "fingerprint": task.fingerprint,
            "seed": seed,
            **entry,
        }
        self._keep(f"{name}.json", (json.dumps(whole, indent=1) + "\n").encode())

    def _keep(self, name: str, content: bytes) -> None:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._write(self.folder / name, content)
        except OSError as error:
            raise _unwritable(self.folder, error) from error

    @contextmanager
    def _locked(self, lock: Path) -> Iterator[bool]:
        """Whether we got the lock; if so, it is touched until the end of the context and then removed."""
        token = uuid4().hex
        try:
            lock.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise _unwritable(self.folder, error) from error
        try:
            descriptor = os.open(lock, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)
        except FileExistsError:
            yield False
            return
        except OSError as error:
            raise _unwritable(self.folder, error) from error
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump({"host": self._host, "pid": os.getpid(), "token": token}, file)
        ended = threading.Event()
        heart = threading.Thread(target=_beat, args=(lock, ended), daemon=True)
        heart.start()
        try:
            yield True
        finally:
            ended.set()
            heart.join()
            if _holder(lock).get("token") == token:
                lock.unlink(missing_ok=True)


class _Watch:
    """Watches a lock of another process: stale if unchanged for a while on our own clock, as clocks of hosts differ."""

    def __init__(self, lock: Path, host: str, clock: Callable[[], float]) -> None:
        self._lock = lock
        self._host = host
        self._clock = clock
        self._seen: tuple[object, float] = (None, 0.0)
        self._token: object = None

    def holder_is_dead(self) -> bool:
        try:
            touched = self._lock.stat().st_mtime_ns
        except FileNotFoundError:
            return False
        holder = _holder(self._lock)
        self._token = holder.get("token")
        state, now = (touched, self._token), self._clock()
        if self._seen[0] != state:
            self._seen = (state, now)
        pid = holder.get("pid")
        if holder.get("host") == self._host and isinstance(pid, int) and not _is_alive(pid):
            return True
        return now - self._seen[1] > STALE_SECONDS

    def remove(self) -> None:
        """Remove the lock of a dead process, unless another process has done so and holds its own."""
        aside = self._lock.with_name(f".{self._lock.name}.{uuid4().hex}.part")
        with suppress(FileNotFoundError):
            self._lock.rename(aside)
            if _holder(aside).get("token") != self._token:
                with suppress(OSError):
                    os.link(aside, self._lock)
            aside.unlink()


def _stored(entry: Mapping[str, Any], weights: Path) -> StoredModel | None:
    """The model of an entry; None if the entry or its weights are damaged."""
    try:
        numbers = [float(entry["error_percent"]), float(entry["seconds"]), *(float(loss) for loss in entry["losses"])]
        digest = hashlib.sha256(weights.read_bytes()).hexdigest()
        if digest != entry["weights_sha256"] or not all(map(math.isfinite, numbers)) or min(numbers[:2]) < 0:
            return None
        design, epochs, machines = dict(entry["design"]), int(entry["epochs"]), tuple(map(str, entry["machines"]))
        return StoredModel(design, numbers[0], numbers[1], epochs, tuple(numbers[2:]), weights, machines)
    except (KeyError, TypeError, ValueError, OSError):
        return None


def _unwritable(folder: Path, error: OSError) -> UnwritableStoreError:
    return UnwritableStoreError(
        f"Trained models cannot be written to {folder}: {error.strerror or error}; free space or choose another folder."
    )


def _holder(lock: Path) -> dict[str, Any]:
    """The holder of the lock; empty if it is not (or not yet) written."""
    try:
        holder = untrusted_json(lock.read_bytes())
    except (ValueError, OSError):
        return {}
    return holder if isinstance(holder, dict) else {}


def _beat(lock: Path, ended: threading.Event) -> None:
    while not ended.wait(HEARTBEAT_SECONDS):
        with suppress(OSError):
            os.utime(lock)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (OSError, OverflowError) as error:  # an id that is too large, or another user's process
        return isinstance(error, PermissionError)
    return True
