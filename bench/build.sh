# Builds the benches if necessary. To be sourced: . build.sh NAME. Sets java_home, and lib, the folder of their dependencies.
lib=$home/bench/target/lib

java_home=$("$home/.mvn/jdk25") || exit 3

stale() {
  [ ! -e "$lib/.built" ] || [ ! -d "$home/gateway/app/target/dist/lib" ] ||
    [ -n "$(find "$home"/pom.xml "$home"/*/pom.xml "$home"/*/src/main "$home"/gateway/*/pom.xml "$home"/gateway/*/src/main -newer "$lib/.built" -print -quit)" ]
}

if stale; then
  echo "Building ..." >&2
  log=$(mktemp)
  if ! (cd "$home" && JAVA_HOME=$java_home ./mvnw -q -B -DskipTests -pl bench -am package) >"$log" 2>&1; then
    cat "$log" >&2
    rm -f "$log"
    echo "$1: the build failed" >&2
    exit 3
  fi
  rm -f "$log"
  touch "$lib/.built"
fi
