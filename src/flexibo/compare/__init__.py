"""Comparisons at equal cost: problems with known fronts, third-party optimisers, statistics and reports.

Three parts: `problems` (what is optimised), `rivals` (optimisers of other libraries) and `statistics` (what the runs
show, presented by `report`). `compare` in `comparison.py` runs a suite, `verdict` in `verdict.py` evaluates its runs.
Imported by `flexibo.experiments` and the command line; imports everything from `flexibo.study` and `flexibo.web` down.
"""
