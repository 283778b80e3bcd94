#!/usr/bin/env bash
# Looks at several gateways on the console of one of them, in a real browser. Takes about 10 seconds.
#   gateways.sh ADMIN_URL ALONE_URL [SCREENSHOTS]
# ConsoleGatewaysTest starts the gateways; the one at ALONE_URL knows no others. The exit status is 0 if all checks pass.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
[ $# -ge 2 ] || { sed -n '2,4s/^# //p' "$0" >&2; exit 2; }
folder=$("$here/install.sh" console)
exec node "${folder#console=}/gateways.mjs" "$@"
