#!/usr/bin/env bash
# Uses the pages Configuration, Live and Audit of a gateway's console in a real browser. Takes about 15 seconds.
#   operations.sh ADMIN_URL TOKEN READ_TOKEN [SCREENSHOTS]
# OperationsTest starts the gateway. The screenshots of the documentation are written to the folder SCREENSHOTS. The exit
# status is 0 if all checks pass.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
[ $# -ge 3 ] || { sed -n '2,5s/^# //p' "$0" >&2; exit 2; }
folder=$("$here/install.sh" console)
exec node "${folder#console=}/operations.mjs" "$@"
