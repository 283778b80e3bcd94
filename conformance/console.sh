#!/usr/bin/env bash
# Uses the console of a gateway in a real browser, as ConsoleTest starts it. Takes about 30 seconds.
#   console.sh ADMIN_URL GUARDED_ADMIN_URL TOKEN [SCREENSHOTS]
# ADMIN_URL is on loopback, GUARDED_ADMIN_URL needs the token for reading. The screenshots of the documentation are
# written to the folder SCREENSHOTS. The exit status is 0 if all checks pass.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
[ $# -ge 3 ] || { sed -n '2,5s/^# //p' "$0" >&2; exit 2; }
folder=$("$here/install.sh" console)
exec node "${folder#console=}/run.mjs" "$@"
