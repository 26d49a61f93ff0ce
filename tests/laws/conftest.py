from __future__ import annotations

from tests.laws import effort  # noqa: F401  # the profile must be known before it is chosen
