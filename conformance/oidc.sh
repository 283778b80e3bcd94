#!/usr/bin/env bash
# Logs in to the console of a gateway with a real provider of OpenID Connect in a real browser. Takes about 10 seconds.
#   oidc.sh ADMIN_URL PORT SECRET [SCREENSHOTS]
# OidcBrowserTest starts the gateway, whose issuer is http://localhost:PORT; SECRET is that of its client 'isthmus'. The exit status is 0 if
# all checks pass.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
[ $# -ge 3 ] || { sed -n '2,5s/^# //p' "$0" >&2; exit 2; }
folder=$("$here/install.sh" console)
exec node "${folder#console=}/oidc.mjs" "$@"
