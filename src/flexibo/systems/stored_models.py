"""Trained models where they are stored, here or on another host, without torch: which there are, and fetching them.

A place is a folder of a `flexibo.systems.model_store.ModelStore`, or HOST:FOLDER, which is reached with ssh. What comes
from there is checked: an entry must have the form that the store writes, and weights the hash of their entry.
"""

from __future__ import annotations

import hashlib
import io
import logging
import math
import re
import shlex
import subprocess
import tarfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from flexibo._internal.files import write_atomically
from flexibo._internal.text import printable_line
from flexibo._internal.untrusted_json import untrusted_json
from flexibo.errors import InvalidValueError, MachineError

NAME = re.compile(r"[a-z]+-[0-9a-f]{32}")  # of an entry
MOST_ENTRY_BYTES = 2**22
MOST_WEIGHT_BYTES = 2**33
SSH_SECONDS = 600
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ModelEntry:
    """What a store says of a trained model."""

    name: str
    design: Mapping[str, Any]  # the values of the network's options
    error_percent: float  # as trained
    seconds: float  # of the training
    epochs: int
    machines: tuple[str, ...]  # those it was trained on
    weights_sha256: str
    content: bytes  # the entry itself


class Place(Protocol):
    """Where a store is."""

    def entries(self, network: str) -> Iterator[tuple[str, bytes]]:
        """The names and contents of the entries of a network."""

    def weights(self, name: str) -> bytes:
        """The file of the weights of an entry."""


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder of this machine."""

    path: Path

    def entries(self, network: str) -> Iterator[tuple[str, bytes]]:
        """The names and contents of the entries of a network."""
        for path in sorted(self.path.glob(f"{network}-*.json")):
            try:
                with open(path, "rb") as file:
                    yield path.stem, file.read(MOST_ENTRY_BYTES + 1)
            except OSError as error:
                _log.warning("The entry %s cannot be read: %s.", printable_line(path), error.strerror or error)

    def weights(self, name: str) -> bytes:
        """The file of the weights of an entry."""
        try:
            return (self.path / f"{name}.pt").read_bytes()
        except OSError as error:
            raise MachineError(f"The weights {name}.pt cannot be read from {self.path}: {error.strerror}.") from None


@dataclass(frozen=True, slots=True)
class RemoteFolder:
    """A folder of another host, reached with ssh."""

    host: str
    path: str

    def entries(self, network: str) -> Iterator[tuple[str, bytes]]:
        """The names and contents of the entries of a network."""
        # A host without models has no such file, and tar says so.
        packed = self._output(f"cd {shlex.quote(self.path)} && tar -cf - {network}-*.json 2>/dev/null || true")
        if not packed:
            return
        try:
            with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
                for member in archive:
                    file = archive.extractfile(member) if member.isfile() else None
                    if file is not None:
                        yield Path(member.name).stem, file.read(MOST_ENTRY_BYTES + 1)
        except tarfile.TarError as error:
            raise MachineError(
                f"What {self.host} sent of its models cannot be read: {printable_line(error)}."
            ) from None

    def weights(self, name: str) -> bytes:
        """The file of the weights of an entry."""
        return self._output(f"cat {shlex.quote(f'{self.path}/{name}.pt')}")

    def _output(self, command: str) -> bytes:
        try:
            done = subprocess.run(
                ["ssh", "-o", "BatchMode=yes", self.host, command],
                capture_output=True,
                timeout=SSH_SECONDS,
                check=False,
            )
        except FileNotFoundError:
            raise MachineError("ssh is not installed here; copy the folder of models by hand.") from None
        except subprocess.TimeoutExpired:
            raise MachineError(f"{self.host} has not answered for {SSH_SECONDS} s.") from None
        if done.returncode:
            lines = done.stderr.decode(errors="replace").strip().splitlines() or [f"exit status {done.returncode}"]
            raise MachineError(f"Models cannot be read from {self.host}: {printable_line(lines[-1])}.")
        return done.stdout


def place_of(text: str) -> Place:
    """The place that a text names: a folder, or HOST:FOLDER.

    >>> place_of("ada@board:models"), place_of("models")
    (RemoteFolder(host='ada@board', path='models'), Folder(path=PosixPath('models')))
    """
    host, colon, folder = text.partition(":")
    if not colon or "/" in host:
        return Folder(Path(text))
    if not host or not folder or host.startswith("-") or not host.isprintable() or " " in host:
        raise InvalidValueError(f"The place of models is {text!r}; give a folder, or HOST:FOLDER.")
    return RemoteFolder(host, folder)


def models_of(place: Place, *, network: str, training: str, seed: int) -> list[ModelEntry]:
    """The models of a training (the fingerprint of its data and settings) with a seed, by their error.

    A damaged entry is left out, with a warning that names it.
    """
    found = []
    for name, content in place.entries(network):
        if not NAME.fullmatch(name):
            continue
        try:
            entry = _entry(name, content, network, training, seed)
        except KeyError as error:
            _warn(name, f"it has no {error}")
        except TypeError:
            _warn(name, "a value in it has the wrong type")
        except ValueError as error:
            _warn(name, str(error))
        else:
            found += [] if entry is None else [entry]
    return sorted(found, key=lambda one: (one.error_percent, one.name))


def is_network_of(entry: ModelEntry, design: Mapping[str, Any]) -> bool:
    """Whether a model is that of a design: all options of its network have the design's values."""
    return all(design.get(name) == value for name, value in entry.design.items())


def fetch_model(place: Place, entry: ModelEntry, folder: Path) -> Path:
    """Copy a model into the store in a folder of this machine, weights first; returns the file of its weights."""
    target = folder / f"{entry.name}.pt"
    content = place.weights(entry.name)
    if len(content) > MOST_WEIGHT_BYTES or hashlib.sha256(content).hexdigest() != entry.weights_sha256:
        raise MachineError(
            f"The weights {entry.name}.pt are damaged: they are not those of their entry; train it again."
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_atomically(target, content)
        write_atomically(folder / f"{entry.name}.json", entry.content)
    except OSError as error:
        raise MachineError(f"The model cannot be written to {folder}: {error.strerror or error}.") from None
    return target


def _warn(name: str, reason: str) -> None:
    _log.warning("The entry %s.json of a model is damaged and left out: %s.", name, printable_line(reason))


def _entry(name: str, content: bytes, network: str, training: str, seed: int) -> ModelEntry | None:
    """The entry, if it is of this training and did not fail; ValueError, KeyError or TypeError if it is damaged."""
    if len(content) > MOST_ENTRY_BYTES:
        raise ValueError(f"it has more than {MOST_ENTRY_BYTES} bytes")
    entry = untrusted_json(content)
    if not isinstance(entry, dict) or entry["name"] != name:
        raise ValueError("it does not have its own name")
    if (entry["network"], entry["fingerprint"], entry["seed"]) != (network, training, seed) or "failed" in entry:
        return None
    numbers = float(entry["error_percent"]), float(entry["seconds"])
    epochs = float(entry["epochs"])
    if not all(math.isfinite(number) and number >= 0 for number in (*numbers, epochs)):
        raise ValueError("its error, seconds or epochs are no numbers of a training")
    machines = tuple(printable_line(machine) for machine in entry["machines"])
    return ModelEntry(
        name, dict(entry["design"]), *numbers, int(epochs), machines, str(entry["weights_sha256"]), content
    )
