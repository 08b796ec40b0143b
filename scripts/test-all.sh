#!/bin/sh
# Runs everything that a machine without a GPU can, part by part, with one table of totals: test-all.sh <build
# directory> [part...]
#
# Resumable: a part that has passed for this commit and the same changes (tree-state.sh) is not repeated;
# `make test-all AGAIN=1` repeats all parts. If git does not know the tree, all parts run. Each part is a target of the
# Makefile; its output is kept as <build directory>/test-all/<part>.txt. A part fails by its exit code or by its totals.
set -u
build=$1
shift
parts=${*:-"test-tiers test-without-precompiled test-namespaces noop sanitize test-wheel outside"}
kept=$build/test-all
mkdir -p "$kept" || exit 1
if ! state=$("$(dirname "$0")/tree-state.sh"); then
  state=
  echo "test-all.sh: git does not know this tree, so all parts run, and none is kept as passed" >&2
fi
[ -z "${AGAIN:-}" ] || rm -f "$kept"/*.passed

status=0
for part in $parts; do
  if [ -n "$state" ] && [ "$(cat "$kept/$part.passed" 2>/dev/null)" = "$state" ]; then
    continue
  fi
  echo "--- $part"
  begun=$(date +%s)
  rm -f "$kept/$part.passed" "$kept/$part.status"
  { "${MAKE:-make}" --no-print-directory "$part" 2>&1; echo "$?" >"$kept/$part.status"; } | tee "$kept/$part.txt"
  echo "$(($(date +%s) - begun)) s" >"$kept/$part.seconds"
  totals=$(grep -E '^[0-9]+ passed, [0-9]+ failed' "$kept/$part.txt" | tail -n 1)
  case $(cat "$kept/$part.status"):$totals in
    0:*" 0 failed"*) [ -z "$state" ] || echo "$state" >"$kept/$part.passed" ;;
    *) status=1 ;;
  esac
done

echo
printf '%-26s %-45s %s\n' part totals time
for part in $parts; do
  totals=$(grep -E '^[0-9]+ passed, [0-9]+ failed' "$kept/$part.txt" 2>/dev/null | tail -n 1)
  [ "$(cat "$kept/$part.status" 2>/dev/null)" = 0 ] || totals="FAILED: ${totals:-no totals}"
  printf '%-26s %-45s %s\n' "$part" "${totals:-no totals}" "$(cat "$kept/$part.seconds" 2>/dev/null)"
done
for part in $parts; do grep -E '^[0-9]+ passed, [0-9]+ failed' "$kept/$part.txt" 2>/dev/null | tail -n 1; done |
  awk -v status=$status '{ passed += $1; failed += $3; skipped += $5 }
    END { if ((status || NR == 0) && !failed) failed = 1
          print passed + 0 " passed, " failed + 0 " failed, " skipped + 0 " skipped"
          exit failed > 0 }'
