#!/bin/sh
# Build a wheel, install it into an empty environment and use it there, away from the sources.
set -eu
BIN="${BIN:-.venv/bin}"
root="$(pwd)"
dir="$(mktemp -d)"
trap 'rm -rf "$dir"' EXIT

"$BIN/python" -m build --wheel --no-isolation --outdir "$dir" . >"$dir/build.log" 2>&1 || { cat "$dir/build.log"; exit 1; }
"$BIN/python" -m venv "$dir/env"
sh "$root/tests/install.sh" "$dir/env/bin/python" "$dir"/flexibo-*.whl
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
"$dir/env/bin/flexibo" run lenet --recorded --budget 40s >/dev/null
"$dir/env/bin/python" - <<'PY'
from flexibo.systems.recorded import FOLDER, recordings

assert recordings() and all((FOLDER / f"{name}.md").is_file() for name in recordings())
print("and has its recorded tables with their cards:", ", ".join(recordings()))
PY
