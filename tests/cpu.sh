#!/bin/sh
# cpu.sh NAME COMMAND...: run a command and print the CPU minutes of its processes. With CPU_LOG set, add them to that file.
set -u
name="$1"
shift
"$@"
status=$?
file="$(mktemp)"
times > "$file" # not through a pipe: a subshell has no children of its own to count
spent="$(awk 'NR == 2 { split($1, u, /[ms]/); split($2, s, /[ms]/); printf "%.1f", u[1] + s[1] + (u[2] + s[2]) / 60 }' "$file")"
rm -f "$file"
echo "$name: $spent CPU minutes"
[ -z "${CPU_LOG:-}" ] || echo "$spent $name" >> "$CPU_LOG"
exit "$status"
