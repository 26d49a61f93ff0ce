"""Records as CSV and as pandas data frames."""

from __future__ import annotations

import csv
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

from flexibo.errors import missing_extra


class Tabular(ABC):
    """What has records, and so can be written as CSV and converted to pandas."""

    __slots__ = ()

    @abstractmethod
    def records(self) -> list[dict[str, Any]]:
        """One flat dictionary per row."""

    def to_csv(self, path: str | Path) -> None:
        """Write the rows as CSV."""
        write_csv(path, self.records(), self._heading())

    def to_pandas(self) -> Any:
        """The rows as a pandas DataFrame (extra ``pandas``)."""
        return data_frame(self.records())

    def _heading(self) -> list[str]:
        """The columns of a table without rows."""
        return []


def write_csv(path: str | Path, records: list[dict[str, Any]], names: list[str]) -> None:
    """Write records as CSV; `names` are the header if there are no records."""
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(records[0]) if records else names)
        writer.writeheader()
        writer.writerows(records)


def data_frame(records: list[dict[str, Any]]) -> Any:
    """The records as a pandas DataFrame (extra ``pandas``)."""
    try:
        import pandas as pd
    except ImportError:
        raise missing_extra("pandas", "pandas") from None
    return pd.DataFrame.from_records(records)
