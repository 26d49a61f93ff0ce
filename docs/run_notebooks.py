"""Run the notebooks of the documentation and keep their outputs: ``python docs/run_notebooks.py``.

Nothing about the machine is kept: no versions, no times, no counts of executions. A notebook that fails is an error.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import nbformat
from nbconvert.preprocessors import ExecutePreprocessor

DOCS = Path(__file__).parent
MOST_SECONDS = 300  # for one cell, on a crowded machine


def run(path: Path) -> nbformat.NotebookNode:
    """The notebook at a path with its outputs, run in an empty folder."""
    notebook = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        ExecutePreprocessor(timeout=MOST_SECONDS, kernel_name="python3").preprocess(
            notebook, {"metadata": {"path": folder}}
        )
    notebook = nbformat.reads(nbformat.writes(notebook).replace(f"{folder}/", ""), as_version=4)
    notebook.metadata = {"kernelspec": notebook.metadata.kernelspec, "language_info": {"name": "python"}}
    for cell in notebook.cells:
        cell.metadata = {}
        if cell.cell_type == "code":
            cell.execution_count = None
            for output in cell.outputs:
                output.pop("execution_count", None)
                if output.output_type == "execute_result":
                    output.execution_count = None
    return notebook


def main() -> None:
    """Run all notebooks, or those that are named; keep the outputs beside each, or in a folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("paths", nargs="*", type=Path, default=sorted(DOCS.rglob("*.ipynb")))
    parser.add_argument("--out", type=Path, help="a folder for the notebooks that were run; by default their own")
    given = parser.parse_args()
    for path in given.paths:
        into = (given.out or path.parent) / path.name
        into.write_text(nbformat.writes(run(path), indent=1) + "\n", encoding="utf-8")
        print(into, file=sys.stderr)


if __name__ == "__main__":
    main()
