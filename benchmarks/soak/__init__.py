"""Showing that nothing measured is lost: processes killed, frozen and restarted over shared studies.

``python -m benchmarks.soak`` runs all of it; the tests run small versions of its parts.
"""
