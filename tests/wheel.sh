#!/bin/sh
# Build the source archive and the wheel, check what an index shows of them, install the wheel into an empty environment
# and use it there, away from the sources.
set -eu
BIN="${BIN:-.venv/bin}"
root="$(pwd)"
dir="$(mktemp -d)"
trap 'rm -rf "$dir"' EXIT

"$BIN/python" -m build --no-isolation --outdir "$dir/dist" . >"$dir/build.log" 2>&1 || { cat "$dir/build.log"; exit 1; }
"$BIN/python" -m twine --no-color check --strict "$dir"/dist/*
"$BIN/python" -m venv "$dir/env"
"$dir/env/bin/python" -m pip download -q -c "$root/constraints.txt" -d "$dir/wheels" "$dir"/dist/flexibo-*.whl
sh "$root/tests/install.sh" "$dir/env/bin/python" --no-index --find-links "$dir/wheels" flexibo
"$dir/env/bin/python" "$root/tests/distributions.py" "$dir/wheels"
cd "$dir"
"$dir/env/bin/flexibo" --version
"$dir/env/bin/flexibo" methods >/dev/null
"$dir/env/bin/python" - <<'PY'
from flexibo import Objective, Space, Study

space = Space({"filters": [16, 32, 64, 128], "kernel": ["1x1", "3x3"], "cpu_ghz": (0.3, 2.3), "cores": (1, 6)})
study = Study(space, [Objective("error", options=["filters", "kernel"]), "joules"], budget=120, seed=0)
study.run(
    {
        "error": lambda d: (1 / d["filters"] + 0.1 * (d["kernel"] == "1x1"), 8.0),
        "joules": lambda d: (d["filters"] * d["cpu_ghz"] ** 2 / d["cores"], 1.0),
    }
)
assert study.front() and study.spent <= 120, study.summary()
print("the wheel works:", len(study.front()), "designs on the front")
PY
mkdir "$dir/first" && cd "$dir/first"
"$dir/env/bin/flexibo" init --yes >/dev/null
"$dir/env/bin/flexibo" run study.yaml --dry-run >/dev/null
"$dir/env/bin/python" -c 'from flexibo.web import SCRIPTS, asset; assert all(map(asset, SCRIPTS))'
echo "and has its example and its scripts"
"$dir/env/bin/flexibo" run lenet --recorded --budget 2m >/dev/null
"$dir/env/bin/python" - <<'PY'
from flexibo.systems.recorded import FOLDER, recordings

assert recordings() and all((FOLDER / f"{name}.md").is_file() for name in recordings())
print("and has its recorded tables with their cards:", ", ".join(recordings()))
PY
