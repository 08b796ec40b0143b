#!/bin/sh
# Installs the Debian packages that are missing: install-packages.sh <package>...
# Names the missing ones and stops if it may not install (neither root nor passwordless sudo, or no apt-get).
set -eu

missing=""
for package; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q "install ok installed" || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

if ! command -v apt-get >/dev/null; then
  # On systems other than Debian, it suffices that the build finds its tools.
  echo "note: no apt-get here; if the build misses something, install what Debian calls:$missing" >&2
  exit 0
fi
if [ "$(id -u)" = 0 ]; then
  as_root=""
elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
  as_root="sudo"
else
  echo "These Debian packages are needed and missing:$missing" >&2
  echo "Install them (apt-get install$missing) and run make again." >&2
  exit 1
fi
echo "installing$missing"
# Debian runs this file before it starts services; it keeps all of them from starting.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
  trap '$as_root rm -f "$policy"' EXIT
  printf '#!/bin/sh\nexit 101\n' | $as_root tee "$policy" >/dev/null
  $as_root chmod 755 "$policy"
fi
export DEBIAN_FRONTEND=noninteractive
# shellcheck disable=SC2086  # a list of words
$as_root apt-get install -y -qq --no-install-recommends $missing >/dev/null 2>&1 ||
  { $as_root apt-get update -qq && $as_root apt-get install -y -qq --no-install-recommends $missing >/dev/null; }
