"""The version of flexibo."""

from __future__ import annotations

import re

import flexibo
from flexibo._internal.version import __version__


def test_the_version_of_the_package_is_semantic() -> None:
    assert flexibo.__version__ == __version__
    assert re.fullmatch(r"\d+\.\d+\.\d+", __version__)
