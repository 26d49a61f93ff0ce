"""The speed of the library, as ratios taken in one run, single thread: ``python -m benchmarks.speed``.

Sections: 1 an ask against scikit-learn's GP and plain loops; 2 against BoTorch; 3 growth with the candidates, and
memory; 4 with the evaluations; 5 with the objectives; 6 imports; 7 drawing designs; 8 every method; 9 a stored
study against Optuna's; 10 thousands of evaluations among 10^13 designs. The exit status is 1 if anything that must be
reached was missed.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from threadpoolctl import threadpool_limits

from benchmarks import ask_growth, asks, methods, scale, start, storage
from benchmarks.results import Row, machine, show, write_json

Section = Callable[[], list[Row]]


def sections(*, quick: bool) -> dict[int, Section]:
    """What each section runs, by its number."""
    window = asks.QUICK if quick else asks.FULL
    sizes = ask_growth.QUICK if quick else ask_growth.FULL
    tries = 2 if quick else 5
    return {
        1: lambda: asks.against_baseline(window),
        2: lambda: asks.against_botorch(window),
        3: lambda: ask_growth.with_candidates(sizes),
        4: lambda: ask_growth.with_evaluations(sizes),
        5: lambda: ask_growth.with_objectives(sizes),
        6: lambda: start.imports(tries),
        7: lambda: start.sampling(tries),
        8: lambda: methods.of_each_method(methods.QUICK if quick else methods.FULL),
        9: lambda: storage.against_optuna(storage.QUICK if quick else storage.FULL),
        10: lambda: scale.with_many_evaluations(scale.QUICK if quick else scale.FULL),
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the sections, print the table, and return the exit status."""
    given = _arguments(arguments)
    rows: list[Row] = []
    begin = time.perf_counter(), time.process_time()
    with threadpool_limits(limits=1):
        facts = machine()
        for number, section in sections(quick=given.quick).items():
            if given.only is None or number in given.only:
                print(f"section {number} ...", file=sys.stderr, flush=True)
                rows += section()
                if given.json is not None:  # what follows may take long, or fail
                    write_json(given.json, facts, rows)
    facts["took"] = f"{time.perf_counter() - begin[0]:.0f} s, {time.process_time() - begin[1]:.0f} s of them computing"
    if given.quick:
        facts["sizes"] = "reduced (--quick): the bounds are those of the full sizes"
    show(facts, rows)
    if given.json is not None:
        write_json(given.json, facts, rows)
    return 1 if any(row.verdict == "missed" for row in rows) else 0


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed", description=__doc__)
    parser.add_argument("--only", type=_numbers, help="sections to run, such as 1,3")
    parser.add_argument("--quick", action="store_true", help="smaller sizes")
    parser.add_argument("--json", type=Path, help="also write the rows to this file")
    return parser.parse_args(arguments)


def _numbers(text: str) -> set[int]:
    try:
        numbers = {int(part) for part in text.split(",")}
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of numbers such as 1,3") from None
    if unknown := numbers - set(sections(quick=True)):
        raise argparse.ArgumentTypeError(f"there is no section {min(unknown)}; there are 1 to 10")
    return numbers


if __name__ == "__main__":
    sys.exit(main())
