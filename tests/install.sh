#!/bin/sh
# install.sh PYTHON PACKAGE...: install packages into the environment of this Python, in the versions we test with.
# uv takes seconds where pip takes minutes. pip does it where uv is not available or cannot reach the package index.
set -eu
python="$1"
shift
constraints="$(dirname "$0")/../constraints.txt"
export UV_FIND_LINKS="${UV_FIND_LINKS:-${PIP_FIND_LINKS:-$("$python" -m pip config get global.find-links 2>/dev/null || true)}}"
[ -n "$UV_FIND_LINKS" ] || unset UV_FIND_LINKS

"$python" -m uv --version >/dev/null 2>&1 || "$python" -m pip install -q -c "$constraints" uv || true
"$python" -m uv pip install -q --python "$python" -c "$constraints" "$@" ||
  "$python" -m pip install -q -c "$constraints" "$@"
