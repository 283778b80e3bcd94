#!/usr/bin/env bash
# Tries gateways with a real browser: REST and gRPC-Web from a page of another origin. Takes about 20 seconds.
#   browser.sh GATEWAY_URL [GATEWAY_URL...]
# The gateways serve the embedded models; their listeners have 'grpc_web: true' and 'cors: {origins: ["http://localhost:*"]}'.
# Certificates are not verified. The exit status is 0 if all checks pass.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
[ $# -gt 0 ] || { sed -n '2,5s/^# //p' "$0" >&2; exit 2; }
folder=$("$here/install.sh" browser)
exec node "${folder#browser=}/run.mjs" "$@"
