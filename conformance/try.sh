#!/usr/bin/env bash
# Uses the console's page "Try it" in a real browser, and pastes its commands into a shell. Takes about 20 seconds.
#   try.sh ADMIN_URL TOKEN [SCREENSHOTS]
# The gateway serves the embedded models. The screenshot of the documentation is written to the folder SCREENSHOTS. The exit
# status is 0 if all checks pass.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
[ $# -ge 2 ] || { sed -n '2,5s/^# //p' "$0" >&2; exit 2; }
installed=$("$here/install.sh" console grpcurl client)
folder() { sed -n "s/^$1=//p" <<<"$installed"; }
PATH=$(folder grpcurl):$PATH exec node "$(folder console)/try.mjs" "$1" "$2" "$(folder client)/bin/python" "${@:3}"
