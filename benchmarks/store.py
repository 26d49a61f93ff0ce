"""Store results of rivals in the package: ``python -m benchmarks.store results/rivals --command ... --machine ...``.

The folder is one that ``flexibo compare`` wrote. Runs that are stored already, made with the same versions on the same
problems under the same allowance, are kept beside the new ones.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from flexibo.compare.results_folder import FRONTS, RESULTS, SETTINGS
from flexibo.compare.rivals import RIVALS
from flexibo.compare.runs import Allowance, read_runs
from flexibo.compare.stored_results import StoredResults, add, describe, package, store


def main(arguments: Sequence[str] | None = None) -> int:
    """Store every rival that the folder has runs of."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.store", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--command", required=True, help="what made the results")
    parser.add_argument("--machine", required=True, help="the machine, for the overhead")
    given = parser.parse_args(arguments)
    settings = json.loads((given.folder / SETTINGS).read_text(encoding="utf-8"))
    allowance = Allowance(settings["n_initial"], settings["budget"], settings.get("from_scratch", False))
    runs = read_runs(given.folder / RESULTS, given.folder / FRONTS)
    for rival in sorted({run.method for run in runs} & set(RIVALS)):
        own = [run for run in runs if run.method == rival]
        versions = settings["methods"][rival]
        problems = {run.problem: settings["problems"][run.problem] for run in own}
        made = StoredResults(rival, versions, given.command, given.machine, allowance, problems)
        before = describe(rival)
        if before is not None and package(before.versions) == package(versions) and before.allowance == allowance:
            add(own, made)
        else:
            store(own, made)
        print(f"{rival}: {len(own)} runs on {len(problems)} problems")
    return 0


if __name__ == "__main__":
    sys.exit(main())
