#!/bin/sh
# Run pytest. With AGAIN set, tests that fail are run a second time, alone: they start processes, servers and browsers, and
# a crowded machine may starve one. A test that fails twice has failed; one that passes then is named, for it is unsteady.
set -u
"$@" && exit 0
status=$?
[ "$status" = 1 ] && [ -n "${AGAIN:-}" ] || exit "$status"
echo "== These failed, and are run again, one at a time"
exec "$@" -n 0 --last-failed --last-failed-no-failures none
