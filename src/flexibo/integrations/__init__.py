"""Integrations: flexibo inside other libraries, one module or package per library.

Each has an extra of its name, unless flexibo needs the library anyway. They import studies and what lies below. Study
files name trackers (`trackers.py`); otherwise only the command line may import them, and importing this package imports
none of them.
"""
