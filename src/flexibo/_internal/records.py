"""Records as CSV and as pandas data frames."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

from flexibo.errors import missing_extra


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
