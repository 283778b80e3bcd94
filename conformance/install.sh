#!/usr/bin/env bash
# Installs the real servers and the official clients that the end-to-end tests use, outside the checkout.
#   install.sh [triton|mlserver|kserve|client|onnxruntime|grpcio-1.49|grpcio-1.57|grpc-go|grpc-js|h2load|h2spec|
#               grpcurl|fortio|ghz|grpc_health_probe|sslyze|openapi|prometheus|browser|console|kube-apiserver|helm|crds|redis|nginx|otelcol|opa|wheel|
#               aissemble|omle|dynamo|loadgen|triton-qa ...]
#                   default: triton mlserver client
#   install.sh --missing COMPONENT ...     installs nothing; says what the components need and this machine lacks
# Prints one line per component: NAME=FOLDER. A completed installation is reused; an interrupted one is repeated.
#   ISTHMUS_CACHE   where to install; default ${XDG_CACHE_HOME:-~/.cache}/isthmus
#   PYTHON          a Python 3.11; default: the first one found
#   TRITON_REPOSITORY   from where triton-qa takes Triton's sources; default: GitHub. A clone on this machine will do.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cache=${ISTHMUS_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/isthmus}
mkdir -p "$cache"

say() { echo "conformance: $*" >&2; }

# One at a time: the JVMs of the tests install side by side, and apt-get fails while another one has its locks.
apt-get() { flock "$cache/apt.lock" apt-get "$@"; }

only_missing=
if [ "${1:-}" = --missing ]; then
  only_missing=1
  shift
fi

# Installs a missing Debian package if permitted; otherwise reports it.
debian() {
  local package=$1 why=$2
  if [ "$(id -u)" = 0 ] && type -P apt-get >/dev/null; then
    [ -z "$only_missing" ] || return 0
    say "installing Debian package $package ($why)"
    { apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -q -y "$package"; } >"$cache/apt.log" 2>&1 && return
    say "apt-get could not install $package; its log is $cache/apt.log"
  fi
  say "missing: $why. On Debian or Ubuntu: apt-get install $package"
  [ -n "$only_missing" ] || exit 3
  lacking=1
}
lacking=

python311() {
  local candidate
  for candidate in ${PYTHON:-} python3.11 /usr/bin/python3.11 python3 /usr/local/bin/python3.11; do
    if command -v "$candidate" >/dev/null &&
      "$candidate" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info[:2] != (3, 11))' 2>/dev/null; then
      "$candidate" -c 'import sys; print(sys.executable)'
      return
    fi
  done
  return 1
}

triton() {
  # Triton 2.51.0 (24.10), CPU only, from the nvidia-pytriton wheel, with the python backend. Only the server and the backend's
  # numpy are needed from it.
  local venv=$1 triton
  "$venv/bin/pip" install -q --no-deps nvidia-pytriton==0.7.0 numpy==1.26.4
  triton=$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')/pytriton/tritonserver
  ln -sf ../../python_backend_stubs/3.11/triton_python_backend_stub "$triton/backends/python/"
}

mlserver() {
  "$1/bin/pip" install -q -c "$here/constraints_mlserver.txt" mlserver==1.7.1 mlserver-sklearn==1.7.1
}

kserve() {
  "$1/bin/pip" install -q -c "$here/constraints_kserve.txt" kserve==0.21.0
}

aissemble() {
  "$1/bin/pip" install -q -c "$here/constraints_aissemble.txt" aissemble-open-inference-protocol-fastapi==1.1.0 \
    aissemble-open-inference-protocol-grpc==1.1.0
}

omle() { # omle-server is one program; omle writes its models
  "$1/bin/pip" install -q -c "$here/constraints_omle.txt" omle-server==0.2.1 omle==0.2.0
}

dynamo() {
  # Without what ai-dynamo's planner needs: PyPI has a placeholder for aisimulate only, and models of tensors need none of it.
  "$1/bin/pip" install -q -c "$here/constraints_dynamo.txt" ai-dynamo-runtime==1.6.1 aiohttp certifi kubernetes msgspec \
    prometheus-client pyzmq redis tqdm transformers zstandard
  "$1/bin/pip" install -q --no-deps ai-dynamo==1.6.1
}

client() {
  "$1/bin/pip" install -q -c "$here/constraints_client.txt" "tritonclient[http,grpc]==2.73.0" ml_dtypes pytest
}

loadgen() { # MLPerf's load generator, and the clients of bench/loadgen
  "$1/bin/pip" install -q -c "$here/constraints_client.txt" mlcommons-loadgen==6.0.17 grpcio protobuf numpy ml_dtypes
}

# Triton's own tests, at one commit of its repository: they are fetched, and none of them is in this one.
triton-qa() {
  local from=${TRITON_REPOSITORY:-https://github.com/triton-inference-server/server}
  git init -q "$1"
  git -C "$1" fetch -q --depth 1 "$from" e1db8a603d863b1317ee859bdeea2be19959462e || {
    say "Triton's sources cannot be fetched from $from. TRITON_REPOSITORY names another place, such as a clone on this machine"
    exit 3
  }
  git -C "$1" checkout -q FETCH_HEAD -- qa/L0_infer qa/common qa/python_models qa/custom_models qa/ensemble_models
}

wheel() { # what conformance/wheel builds with
  "$1/bin/pip" install -q grpcio-tools==1.85.1 hatchling==1.33.0
}

# Old clients, which behave differently from the current one: C-core sent a WINDOW_UPDATE for each small message.
grpcio-1.49() {
  "$1/bin/pip" install -q grpcio==1.49.1
}

grpcio-1.57() {
  "$1/bin/pip" install -q grpcio==1.57.0
}

grpc-go() {
  (cd "$here/clients/grpc-go" && go build -o "$1/stream" .)
}

grpc-js() {
  cp "$here"/clients/grpc-js/* "$1"
  (cd "$1" && npm ci --silent --ignore-scripts --no-audit --no-fund >&2)
}

browser() {
  cp "$here"/clients/browser/* "$1"
  # Browsers send one message, so their service has a method that streams in one direction. The wire is the same.
  sed 's/ModelStreamInfer(stream ModelInferRequest)/ModelStreamInfer(ModelInferRequest)/' \
    "$here/../proto/src/main/proto/inference.proto" >"$1/inference.proto"
  # Not 'npm ci', which wants the programs of all platforms in the lock file.
  (cd "$1" && npm install --no-save --silent --ignore-scripts --no-audit --no-fund && node_modules/.bin/buf generate inference.proto &&
    node_modules/.bin/esbuild page.js --bundle --format=esm --log-level=warning --outfile=bundle.js) >&2
}

console() {
  cp "$here"/clients/console/* "$1"
  (cd "$1" && npm ci --silent --ignore-scripts --no-audit --no-fund) >&2
}

h2load() { :; } # a program of the system

h2spec() {
  GOBIN=$1 go install github.com/summerwind/h2spec/cmd/h2spec@v2.2.1+incompatible >&2
}

grpcurl() {
  GOBIN=$1 go install github.com/fullstorydev/grpcurl/cmd/grpcurl@v1.9.4 >&2
}

fortio() { # later versions need a module that the proxy of Go modules does not have
  GOBIN=$1 go install fortio.org/fortio@v1.66.5 >&2
}

ghz() {
  GOBIN=$1 go install github.com/bojand/ghz/cmd/ghz@v0.120.0 >&2
}

grpc_health_probe() {
  GOBIN=$1 go install github.com/grpc-ecosystem/grpc-health-probe@v0.4.61 >&2
}

sslyze() {
  "$1/bin/pip" install -q -c "$here/constraints_sslyze.txt" sslyze==6.3.1
}

openapi() {
  # A validator of OpenAPI documents, and a generator of clients.
  "$1/bin/pip" install -q -c "$here/constraints_openapi.txt" openapi-spec-validator==0.9.0 openapi-python-client==0.29.1
}

prometheus() {
  # Debian's package, unpacked: bin/prometheus and bin/promtool.
  cd "$1"
  apt-get download -q prometheus >&2 || { apt-get update -q >&2 && apt-get download -q prometheus >&2; }
  dpkg -x prometheus_*.deb package
  ln -s package/usr/bin bin
  rm prometheus_*.deb
}

# A program of a Debian package and what it needs beyond the installed packages, unpacked: bin/PROGRAM. Nothing is started.
unpacked() { # folder, package, program
  cd "$1"
  mkdir -p archives/partial bin package
  local download=(apt-get install -qq -y --download-only --no-install-recommends -o Debug::NoLocking=1
    -o APT::Sandbox::User=root -o Dir::Cache::archives="$1/archives" "$2")
  "${download[@]}" >&2 || { apt-get update -q >&2 && "${download[@]}" >&2; }
  local deb program
  for deb in archives/*.deb; do if [ -e "$deb" ]; then dpkg -x "$deb" package; fi; done
  program=$(find "$1/package" -path "*bin/$3" | head -n 1)
  [ -n "$program" ] || program=$(type -P "$3")
  printf '#!/bin/sh\nLD_LIBRARY_PATH="%s" exec "%s" "$@"\n' \
    "$(find "$1/package" -name '*.so*' -printf '%h\n' | sort -u | tr '\n' ':')" "$program" >"bin/$3"
  chmod +x "bin/$3"
  rm -r archives
}

redis() { unpacked "$1" redis-server redis-server; }

nginx() { unpacked "$1" nginx nginx; }

otelcol() {
  # The collector of OpenTelemetry: receives OTLP, writes files. Compiles for a minute or two.
  (cd "$here/clients/otelcol" && go build -o "$1/otelcol" .)
}

opa() {
  # The engine of Open Policy Agent behind Envoy's ext_authz. Compiles for a minute or two.
  (cd "$here/clients/opa" && CGO_ENABLED=0 go build -o "$1/opa" .)
}

# The Kubernetes API server, and the etcd that it stores in. Compiles for minutes; without optimization it takes three quarters
# of the CPU time (572 of 740 s), and the tests notice nothing of it.
kube-apiserver() {
  local version=k8s.io/component-base/version
  say "kube-apiserver is compiled, which takes 5 to 15 minutes"
  (cd "$here/clients/kube-apiserver" && CGO_ENABLED=0 nice -n 10 go build -p 2 -trimpath -gcflags='all=-N -l' -o "$1/kube-apiserver" \
    -ldflags "-s -w -X $version.gitVersion=v1.36.3 -X $version.gitMajor=1 -X $version.gitMinor=36" \
    k8s.io/kubernetes/cmd/kube-apiserver) >&2
  (cd "$1" && { apt-get download -q etcd-server || { apt-get update -q && apt-get download -q etcd-server; }; } && dpkg -x etcd-server_*.deb . && ln -s usr/bin/etcd etcd && rm ./*.deb) >&2
}

# The definitions of resources of other projects, whose repositories are Go modules.
crds() {
  local version kind
  for version in 0.15.2 0.20.0; do # 0.20 has canaries without Knative
    for kind in inferenceservices servingruntimes clusterservingruntimes; do
      definition "$1" "$kind-$version" "github.com/kserve/kserve@v$version" config/crd/full/serving.kserve.io_$kind.yaml
    done
  done
  for kind in httproutes grpcroutes; do
    definition "$1" $kind sigs.k8s.io/gateway-api@v1.3.0 config/crd/standard/gateway.networking.k8s.io_$kind.yaml
  done
  definition "$1" certificates github.com/cert-manager/cert-manager@v1.19.2 deploy/crds/cert-manager.io_certificates.yaml
  definition "$1" scaledobjects github.com/kedacore/keda/v2@v2.18.3 config/crd/bases/keda.sh_scaledobjects.yaml
  for kind in servicemonitors prometheusrules; do
    definition "$1" $kind github.com/prometheus-operator/prometheus-operator@v0.87.1 \
      example/prometheus-operator-crd/monitoring.coreos.com_$kind.yaml
  done
  rm -r "$1/modules"
}

# A definition, as NAME.yaml, from a file of a Go module.
definition() { # folder, name, module, file
  (cd "$1" && GOFLAGS=-modcacherw GOMODCACHE=$1/modules go mod download "$3") >&2
  cp "$1/modules/$3/$4" "$1/$2.yaml"
}

helm() {
  GOBIN=$1 go install helm.sh/helm/v3/cmd/helm@v3.19.2 >&2
}

need() { # a program, its Debian package, why
  type -P "$1" >/dev/null || debian "$2" "$3"
}

check() { # what a component needs at run time, each time: packages may be removed
  case $1 in
    grpc-go) need go golang-go "Go 1.19 or later builds the grpc-go client" ;;
    grpc-js) need node nodejs "Node.js runs the grpc-js client"; need npm npm "npm installs the grpc-js client" ;;
    h2spec | grpcurl | fortio | ghz | grpc_health_probe) need go golang-go "Go 1.19 or later builds $1" ;;
    prometheus) need apt-get apt "Prometheus is Debian's package" ;;
    triton-qa) need git git "git fetches Triton's tests" ;;
    redis | nginx) need apt-get apt "$1 is Debian's package" ;;
    otelcol) need go golang-go "Go 1.26 or later builds the collector of OpenTelemetry" ;;
    kube-apiserver)
      need go golang-go "Go 1.26 or later builds kube-apiserver"
      need dpkg dpkg "kube-apiserver stores in etcd, which is unpacked from Debian's package"
      ;;
    helm) need go golang-go "Go 1.25 or later builds helm" ;;
    opa) need go golang-go "Go 1.26 or later builds Open Policy Agent" ;;
    crds) need go golang-go "Go downloads the definitions of resources of other projects" ;;
    browser | console)
      need node nodejs "Node.js runs the tests with a browser"
      need npm npm "npm installs what the tests with a browser need"
      need "${CHROMIUM:-chromium}" chromium "Chromium is the browser of the tests"
      ;;
    h2load) need h2load nghttp2-client "h2load is a client of the tests" ;;
  esac
  [ "$1" != triton ] && return
  if [ "$(uname -s) $(uname -m)" != "Linux x86_64" ]; then
    say "Triton is published as a Python wheel for Linux on x86-64 only (glibc 2.35 or later), this is $(uname -s) on $(uname -m)"
    exit 3
  fi
  PATH=$PATH:/sbin ldconfig -p | grep 'libpython3\.11\.so\.1\.0' >/dev/null || debian libpython3.11 "Triton's python backend needs libpython3.11.so.1.0"
}

onnxruntime() {
  "$1/bin/pip" install -q -c "$here/constraints_onnxruntime.txt" onnxruntime==1.29.0 onnx==1.23.2
}

for component in "${@:-triton mlserver client}"; do
  for name in $component; do
    case $name in triton | mlserver | kserve | client | onnxruntime | grpcio-1.49 | grpcio-1.57 | grpc-go | grpc-js | h2load | h2spec | grpcurl | fortio | ghz | grpc_health_probe | sslyze | openapi | prometheus | browser | console | kube-apiserver | helm | crds | redis | nginx | otelcol | opa | wheel | aissemble | omle | dynamo | loadgen | triton-qa) ;; *) say "unknown component '$name'"; exit 2 ;; esac
    check "$name"
    if [ -n "$only_missing" ]; then
      case $name in
        triton | mlserver | kserve | client | onnxruntime | grpcio-* | sslyze | openapi | wheel | aissemble | omle | dynamo | loadgen)
          python311 >/dev/null || debian python3.11-venv "Python 3.11 with venv"
          ;;
      esac
      continue
    fi
    proto=(); [ "$name" = browser ] && proto=("$here/../proto/src/main/proto/inference.proto")
    digest=$({ declare -f "$name"; cat "$here/constraints_$name.txt" "$here/clients/$name"/* "${proto[@]}" 2>/dev/null || true; } | sha256sum | cut -c1-12)
    folder=$cache/$name-$digest
    # Not for what is there and has its Python: the look takes half a second, and tests ask dozens of times.
    if [ ! -e "$folder/.complete" ] || { [ -L "$folder/bin/python" ] && [ ! -x "$folder/bin/python" ]; }; then
      case $name in
        grpc-go | grpc-js | h2load | h2spec | grpcurl | fortio | ghz | grpc_health_probe | prometheus | browser | console | kube-apiserver | helm | crds | redis | nginx | otelcol | opa | triton-qa) make=(mkdir) ;;
        *)
          python=$(python311) || { debian python3.11-venv "Python 3.11 with venv"; python=$(python311); } ||
            { say "missing: Python 3.11 with venv and pip"; exit 3; }
          make=("$python" -m venv)
          ;;
      esac
    fi
    (
      flock 9
      if [ ! -e "$folder/.complete" ]; then
        say "installing $name into $folder (once)"
        rm -rf "$folder"
        "${make[@]}" "$folder"
        "$name" "$folder"
        touch "$folder/.complete"
      fi
    ) 9>"$cache/$name.lock"
    echo "$name=$folder"
  done
done
[ -z "$lacking" ] || exit 3
