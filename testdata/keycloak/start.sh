#!/usr/bin/env bash
# Runs a real Keycloak with the realm beside this script on http://127.0.0.1:PORT/realms/gatehouse.
#
#   start.sh [PORT]        default port 8400
#
# It prints "ready URL" on standard output once the realm answers, then stays until it is stopped
# (TERM, INT or HUP) and takes its Java child along. The distribution comes from Maven into
# ${GATEHOUSE_CACHE:-~/.cache/gatehouse}/keycloak. The first start builds it and imports the realm once,
# which takes a minute or two; later starts run on a copy of that database, so that nothing a test
# changes stays. The administrator is admin/admin: for tests on loopback only.
set -euo pipefail

version=26.7.3
port=${1:-8400}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${GATEHOUSE_CACHE:-$HOME/.cache/gatehouse}/keycloak
home=$cache/keycloak-$version
realm=$cache/realm-$version-$(sha256sum "$here/realm.json" | cut -c1-16)
run=$(mktemp -d "${TMPDIR:-/tmp}/gatehouse-keycloak.XXXXXX")
child=
export JAVA_OPTS_KC_HEAP="-Xms128m -Xmx512m"

stop() {
  trap - EXIT TERM INT HUP
  if [[ -n $child ]]; then
    kill -- "-$child" 2>/dev/null || true
    wait "$child" 2>/dev/null || true # kc.sh may end before java does
    for ((i = 0; i < 100; i++)); do kill -0 -- "-$child" 2>/dev/null || break; sleep 0.1; done
    kill -KILL -- "-$child" 2>/dev/null || true
  fi
  rm -rf "$run"
}
trap stop EXIT
trap 'exit 143' TERM INT HUP

fetch() { # the built distribution, whole or not at all
  [[ -d $home ]] && return
  local zip=$cache/keycloak-quarkus-dist-$version.zip
  [[ -f $zip ]] || mvn -q -B org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy \
    "-Dartifact=org.keycloak:keycloak-quarkus-dist:$version:zip" "-DoutputDirectory=$cache" >&2
  unzip -q "$zip" -d "$run"
  "$run/keycloak-$version/bin/kc.sh" build --db=dev-file --cache=local --health-enabled=false >&2
  mv "$run/keycloak-$version" "$home"
}

import() { # a database that holds the realm, whole or not at all
  [[ -d $realm ]] && return
  mkdir -p "$run/seed"
  KC_BOOTSTRAP_ADMIN_USERNAME=admin KC_BOOTSTRAP_ADMIN_PASSWORD=admin \
    "$home/bin/kc.sh" bootstrap-admin user --optimized --username admin --password:env KC_BOOTSTRAP_ADMIN_PASSWORD \
    --db-url="jdbc:h2:file:$run/seed/db;NON_KEYWORDS=VALUE" >&2
  "$home/bin/kc.sh" import --optimized --file "$here/realm.json" --db-url="jdbc:h2:file:$run/seed/db;NON_KEYWORDS=VALUE" >&2
  mv "$run/seed" "$realm"
}

mkdir -p "$cache"
exec 9>"$cache/lock"
flock 9
fetch
import
flock -u 9

cp -r "$realm" "$run/db"
set -m # the child gets a process group of its own, so that kc.sh and java stop together
"$home/bin/kc.sh" start --optimized --http-enabled=true --hostname-strict=false \
  --http-host=127.0.0.1 --http-port="$port" --db-url="jdbc:h2:file:$run/db/db;NON_KEYWORDS=VALUE" >&2 9>&- &
child=$!
set +m

url=http://127.0.0.1:$port/realms/gatehouse
until curl -fsS -o /dev/null "$url/.well-known/openid-configuration" 2>/dev/null; do
  kill -0 "$child" 2>/dev/null || { echo "Keycloak ended before it was ready" >&2; exit 1; }
  sleep 0.3
done
echo "ready $url"
wait "$child"
