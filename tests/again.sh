#!/bin/sh
# Run pytest. With AGAIN set, tests that fail are run a second time, alone: they start processes, servers and browsers, and
# a busy machine may starve one. A test that fails twice has failed. One that passes the second time is printed: it is flaky.
set -u
"$@" && exit 0
status=$?
[ "$status" = 1 ] && [ -n "${AGAIN:-}" ] || exit "$status"
echo "== These tests failed and are run again, one at a time"
exec "$@" -n 0 --last-failed --last-failed-no-failures none
