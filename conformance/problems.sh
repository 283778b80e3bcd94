#!/usr/bin/env bash
# Looks for the causes of failures on a gateway's console, in a real browser, as an operator would. Takes about 30
# seconds.
#   problems.sh ADMIN_URL TOKEN [SCREENSHOTS]
# ConsoleProblemsTest starts the gateway and breaks its servers. The screenshots of the documentation are written to the
# folder SCREENSHOTS. The exit status is 0 if all checks pass.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
[ $# -ge 2 ] || { sed -n '2,6s/^# //p' "$0" >&2; exit 2; }
folder=$("$here/install.sh" console)
exec node "${folder#console=}/problems.mjs" "$@"
