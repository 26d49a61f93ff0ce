"""The version of flexibo."""

__version__ = "0.2.0"
