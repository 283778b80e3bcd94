#!/usr/bin/env bash
# Starts one real server with its test models, on loopback, in the foreground.
#   start.sh triton|mlserver|kserve|aissemble|omle|dynamo
#   HTTP_PORT GRPC_PORT METRICS_PORT   ports;  REPO  folder for the generated models (default: a new one)
#   ADDRESS     of Triton, on loopback; default: 127.0.0.1
#   EXPLICIT=1  Triton with explicit model control; all models are loaded at start
#   MODELS      Triton with these of its models only, names with spaces between; default: all
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
name=$1
venv=$("$here/install.sh" "$name" | cut -d= -f2-)
REPO=${REPO:-$(mktemp -d)/$name}
ADDRESS=${ADDRESS:-127.0.0.1} HTTP_PORT=${HTTP_PORT:-8000} GRPC_PORT=${GRPC_PORT:-8001} METRICS_PORT=${METRICS_PORT:-8002}
export PATH="$venv/bin:$PATH"

case $name in
  triton)
    site=$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')
    triton=$site/pytriton/tritonserver
    [ -d "$REPO" ] || "$venv/bin/python" "$here/oip_conformance/fleets/triton_models.py" "$REPO" ${MODELS:-}
    export LD_LIBRARY_PATH="$site/nvidia_pytriton.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" PYTHONPATH="$site"
    control=()
    [ -z "${EXPLICIT:-}" ] || control=(--model-control-mode=explicit --load-model='*')
    exec "$triton/bin/tritonserver" --model-repository="$REPO" ${control[@]+"${control[@]}"} \
      --backend-directory="$triton/backends" --cache-directory="$triton/caches" \
      --http-address="$ADDRESS" --http-port="$HTTP_PORT" \
      --grpc-address="$ADDRESS" --grpc-port="$GRPC_PORT" \
      --metrics-address="$ADDRESS" --metrics-port="$METRICS_PORT" \
      --allow-gpu-metrics=false --disable-auto-complete-config --exit-timeout-secs=5
    ;;
  mlserver)
    [ -d "$REPO" ] || "$venv/bin/python" "$here/oip_conformance/fleets/mlserver_models.py" "$REPO" "$HTTP_PORT" "$GRPC_PORT" "$METRICS_PORT"
    cd "$REPO"
    PYTHONPATH="$REPO" exec mlserver start .
    ;;
  kserve)
    exec "$venv/bin/python" "$here/oip_conformance/fleets/kserve_models.py" --http_port "$HTTP_PORT" --grpc_port "$GRPC_PORT" \
      --enable_docs_url false --configure_logging true
    ;;
  aissemble)
    export AUTH_ENABLED=false FASTAPI_HOST=127.0.0.1 FASTAPI_PORT=$HTTP_PORT GRPC_HOST=127.0.0.1 GRPC_PORT
    exec "$venv/bin/python" "$here/oip_conformance/fleets/aissemble_models.py"
    ;;
  omle) # it has no option for the address, and with its default of a thread for each core it refuses calls at the same time
    [ -d "$REPO" ] || "$venv/bin/python" "$here/oip_conformance/fleets/omle_models.py" "$REPO"
    exec omle-server --model-dir "$REPO" --rest-port "$HTTP_PORT" --grpc-port "$GRPC_PORT" --grpc-threads 32 --rest-threads 32
    ;;
  dynamo) # it speaks the protocol over gRPC only
    mkdir -p "$REPO"
    export METRICS_PORT
    exec "$venv/bin/python" "$here/oip_conformance/fleets/dynamo_models.py" "$GRPC_PORT" "$REPO"
    ;;
  *)
    echo "start.sh: triton, mlserver, kserve, aissemble, omle or dynamo is expected, got '$name'" >&2
    exit 2
    ;;
esac
