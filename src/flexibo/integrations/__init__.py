"""Integrations: flexibo inside other libraries, one module or package per library, each with an extra of its name.

They import studies and what lies below, and use only what users of flexibo can use too. Only the command line may
import them, and importing this package imports none of them.
"""
