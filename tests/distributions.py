"""What an index such as PyPI needs of the built wheel, and how much `pip install flexibo` downloads and installs.

``distributions.py FOLDER``: FOLDER has the wheels that an installation downloads, flexibo's among them, and this Python
has flexibo installed, alone with what it needs. The exit status is 1 if something is missing or too large.
"""

from __future__ import annotations

import re
import sys
from importlib.metadata import Distribution, distributions
from pathlib import Path

MOST_DOWNLOADED_MB = 120
FIELDS = ("Version", "Summary", "Keywords", "License-Expression", "Requires-Python", "Description-Content-Type")


def complaints(flexibo: Distribution) -> list[str]:
    """What its page on an index would lack."""
    about = flexibo.metadata
    found = [f"{field} is missing" for field in FIELDS if not about[field]]
    found += [f"no {field}" for field in ("Classifier", "Project-URL", "License-File") if not about.get_all(field)]
    text = about.get_payload()
    found += [f"a link leads nowhere: {link}" for link in re.findall(r"\]\((?!https://)[^)]*\)", str(text))]
    files = [str(file) for file in flexibo.files or ()]
    kept = {Path(file).name for file in files if "/licenses/" in file}
    scripts = [Path(file) for file in files if file.endswith(".min.js")]
    found += [f"no licence of {script}" for script in scripts if f"{script.name.split('.')[0]}.LICENSE" not in kept]
    return found


def installed_bytes(distribution: Distribution) -> int:
    """The bytes of all files of an installed distribution."""
    paths = [Path(str(distribution.locate_file(file))) for file in distribution.files or ()]
    return sum(path.stat().st_size for path in paths if path.is_file() and path.suffix != ".pyc")


def main(folder: Path) -> int:
    """Print the sizes and what is wrong."""
    everything = {found.name: found for found in distributions() if found.name not in ("pip", "setuptools", "uv")}
    wrong = complaints(everything["flexibo"])
    downloaded = sum(path.stat().st_size for path in folder.glob("*.whl")) / 1e6
    installed = sum(map(installed_bytes, everything.values())) / 1e6
    print(
        f"pip install flexibo: {len(everything)} packages, {downloaded:.0f} MB downloaded, {installed:.0f} MB installed"
    )
    if downloaded > MOST_DOWNLOADED_MB:
        wrong.append(f"{downloaded:.0f} MB are downloaded; at most {MOST_DOWNLOADED_MB} are promised")
    for complaint in wrong:
        print(complaint)
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
