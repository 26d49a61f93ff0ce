"""Views as a browser gets them."""

from __future__ import annotations

import json
from typing import Any


def strict_json(view: Any) -> dict[str, Any]:
    """A view, written as strict JSON and read again."""
    return json.loads(json.dumps(view.to_dict(), allow_nan=False))
