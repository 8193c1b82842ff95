#!/usr/bin/env bash
# Installs the client programs of the end-to-end tests under the given cache folder, once per version of their lists.
# Prints where they are, as variables for the tests. Missing interpreters are named with what installs them.
set -euo pipefail
cache=${1:?usage: install.sh CACHE_FOLDER}
here=$(cd "$(dirname "$0")" && pwd)

need() { command -v "$1" >/dev/null || { echo "the end-to-end tests need $1: apt-get install $2" >&2; exit 1; }; }
key() { cat "$@" | sha256sum | cut -c1-12; }

# install NAME KEY COMMAND...: runs COMMAND in a new folder and renames it when whole.
install() {
  local target="$cache/$1-$2"; shift 2
  if [ ! -e "$target/.whole" ]; then
    rm -rf "$target.part"; mkdir -p "$target.part"
    (cd "$target.part" && "$@") >"$target.part/install.log" 2>&1 || { tail -n 20 "$target.part/install.log" >&2; exit 1; }
    touch "$target.part/.whole"; rm -rf "$target"; mv "$target.part" "$target"
  fi
  echo "$target"
}

python_client() { python3 -m venv --copies . && bin/python -m pip install --quiet --disable-pip-version-check -r "$here/python/requirements.txt"; }
pyiceberg_client() { python3 -m venv --copies . && bin/python -m pip install --quiet --disable-pip-version-check -r "$here/pyiceberg/requirements.txt"; }
java_client() { mvn -q -B -f "$here/java/pom.xml" dependency:copy-dependencies -DoutputDirectory="$PWD"; }
node_client() { cp "$here/node/package.json" . && npm install --silent --no-audit --no-fund --ignore-scripts; }

s3_server() { GOBIN="$PWD" GOFLAGS= go install "github.com/versity/versitygw/cmd/versitygw@$s3"; }
s3=v1.8.0 # objects/objectstest has the same

need python3 python3-venv; need java openjdk-17-jdk-headless; need mvn maven; need node nodejs; need npm npm
echo "PYTHON_CLIENT=$(install python "$(key "$here/python/requirements.txt")" python_client)"
echo "PYICEBERG_CLIENT=$(install pyiceberg "$(key "$here/pyiceberg/requirements.txt")" pyiceberg_client)"
echo "JAVA_CLIENT=$(install java "$(key "$here/java/pom.xml")" java_client)"
echo "NODE_CLIENT=$(install node "$(key "$here/node/package.json")" node_client)"
echo "S3_SERVER=$(install versitygw "$s3" s3_server)"
