"""How many examples a law is tried with: few on other Pythons, where more would run the same code again."""

from __future__ import annotations

from hypothesis import settings

FEW = "few"
"""The profile of other Pythons: ``pytest --hypothesis-profile=few``."""
settings.register_profile(FEW, max_examples=5)


def examples(many: int) -> int:
    """This many, or the few of the profile."""
    return min(many, settings.default.max_examples) if settings.get_current_profile_name() == FEW else many
