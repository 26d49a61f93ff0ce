"""The version of flexibo."""

__version__ = "0.1.0"
