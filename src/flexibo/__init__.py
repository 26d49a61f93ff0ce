"""FlexiBO: choose which design and which single objective to measure next."""

__version__ = "0.1.0"
