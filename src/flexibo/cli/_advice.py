"""Commands that are printed for users to copy: they work in the same folder, and are quoted for the shell."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from flexibo.cli._storage import STORAGE_VARIABLE, has_password, short_path, short_url
from flexibo.cli._text import typed_command

if TYPE_CHECKING:
    from flexibo.history import History

NOTHING: Mapping[str, object] = {}


@dataclass(frozen=True, slots=True)
class StudyPlace:
    """How a command names a stored study; what is empty need not be typed."""

    storage: str = ""
    name: str = ""
    origin: Mapping[str, Any] | None = None  # where its functions come from, if that is known

    @classmethod
    def typed(cls, storage: str, name: str, origin: Mapping[str, Any] | None = None) -> StudyPlace:
        """The study of a command with these options: what it did not need, other commands here do not need."""
        return cls("" if storage == os.environ.get(STORAGE_VARIABLE) else storage, name, origin)

    def command(self, *words: str, options: Mapping[str, object] = NOTHING) -> str:
        """A command for this study that only reads or writes it."""
        return self._typed(words, options)

    def measuring(self, *words: str, options: Mapping[str, object] = NOTHING) -> str:
        """A command that measures for this study, with its study file if that must be named."""
        from flexibo.studyfile.file_origin import changed_file

        file = changed_file(self.origin or {})
        return self._typed(words, {**options, "--file": file and short_path(file)})

    def _typed(self, words: tuple[str, ...], options: Mapping[str, object]) -> str:
        secret = has_password(self.storage)
        where: dict[str, object] = {"--storage": "" if secret else short_url(self.storage), "--name": self.name}
        command = typed_command(["flexibo", *words], {**where, **options})
        is_set = self.storage == os.environ.get(STORAGE_VARIABLE)
        return f"{command} (with {STORAGE_VARIABLE} set to the storage)" if secret and not is_set else command


def granted_budget(price: float | None, history: History) -> dict[str, object]:
    """The budget that confirming at this price needs, twice the price, if that is not left of the study's budget."""
    if price is None or history.budget is None or price <= history.budget - history.spent:
        return {}
    return {"--budget": f"{math.ceil(2.0 * price)}{history.cost_unit}"}
