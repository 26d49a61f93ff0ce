#!/bin/sh
# Run contracts, laws, golden questions, the examples of every module and the command line on the oldest and the newest
# supported Python that is installed, unless it is the current one. The other tests depend on the Python version through
# these parts only; what the oldest lacks is found by mypy, too. Variants of a test, which run the same code with other
# numbers, are left out (of the command line all but the help of all commands and the first case of each test, on the
# newest the first test of each class and file), as is what only reads the sources of tests; laws are tried with few
# examples.
# pythons.sh --install: only make their environments. pythons.sh oldest, pythons.sh newest: only this one of the two.
set -eu
only="${1:-}"
BIN="${BIN:-.venv/bin}"
here="$("$BIN/python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')"
oldest=""
newest=""
for version in 3.10 3.11 3.12 3.13; do
  for name in "python$version" "$HOME"/.pyenv/versions/"$version".*/bin/python; do
    if "$name" -c 'import venv, ensurepip' 2>/dev/null; then
      newest="$name"
      [ -n "$oldest" ] || oldest="$name"
      break
    fi
  done
done
[ "$newest" != "$oldest" ] || newest=""

tested() {
  version="$("$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])')"
  [ "$version" != "$here" ] || return 0
  env=".venv-$version"
  echo "== Python $version"
  if ! cmp -s constraints.txt "$env/constraints.txt" || ! cmp -s pyproject.toml "$env/pyproject.toml"; then
    "$1" -m venv "$env"
    sh tests/install.sh "$env/bin/python" -e '.[test]'
    cp constraints.txt pyproject.toml "$env/"
  fi
  [ "$only" != --install ] || return 0
  sh tests/again.sh "$env/bin/python" -c "$run" -q -m "not slow and not long and not variant" \
    --hypothesis-profile=few \
    -o cache_dir="$env/.pytest_cache" --ignore=tests/contracts/test_tests.py \
    src tests/contracts tests/laws tests/golden tests/unit/cli
}

# Side by side, each on its own core. A shell lets its background jobs ignore Ctrl-C, which some tests send to themselves.
run='import signal, sys, pytest; signal.signal(signal.SIGINT, signal.default_int_handler); sys.exit(pytest.main(sys.argv[1:]))'
export OMP_NUM_THREADS=1
logs="$(mktemp -d)"
jobs=""
case "$only" in
  oldest) names="$oldest" ;;
  newest) names="$newest" ;;
  *) names="$oldest $newest" ;;
esac
for name in $names; do
  log="$logs/$(echo "$name" | tr / _)"
  (set -e; tested "$name") > "$log" 2>&1 &
  jobs="$jobs $!:$log"
done
status=0
for job in $jobs; do
  wait "${job%%:*}" || status=1
  cat "${job#*:}"
done
rm -r "$logs"
exit "$status"
