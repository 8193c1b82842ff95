#!/usr/bin/env bash
# Makes the rows of a benchmark: generate.sh CACHE tpch|tpcds FOLDER SCALE. The generators are installed under CACHE, from PyPI and Maven
# Central. Exit status 3: a program that is needed for that is missing or the generator cannot be fetched.
set -euo pipefail
cache=$1 set=$2 out=$3 scale=$4
here=$(cd "$(dirname "$0")" && pwd)

need() { command -v "$1" >/dev/null || { echo "making the rows of $set needs $1: apt-get install $2"; exit 3; }; }

# installed NAME COMMAND...: runs COMMAND in a new folder and renames it when whole.
installed() {
  local target="$cache/$1"; shift
  [ -e "$target/.whole" ] && { echo "$target"; return; }
  rm -rf "$target.part"; mkdir -p "$target.part"
  (cd "$target.part" && "$@") >"$target.part/install.log" 2>&1 || { echo "the generator of $set cannot be installed:" >&2; tail -n 5 "$target.part/install.log" >&2; return 3; }
  touch "$target.part/.whole"; rm -rf "$target"; mv "$target.part" "$target"
  echo "$target"
}

tpchgen() { python3 -m pip install --quiet --disable-pip-version-check --target "$PWD" tpchgen-cli==4.0.0; }
dsdgen() { mvn -q -B -f "$here/pom.xml" dependency:copy-dependencies -DoutputDirectory="$PWD"; }

mkdir -p "$out"
case $set in
  tpch)
    need python3 python3-pip
    dir=$(installed tpchgen-4.0.0 tpchgen) || { echo "$dir"; exit 3; }
    "$dir/bin/tpchgen-cli" parquet --scale-factor "$scale" --output-dir "$out"
    ;;
  tpcds)
    need java openjdk-17-jdk-headless; need mvn maven
    dir=$(installed "tpcds-$(sha256sum "$here/pom.xml" | cut -c1-12)" dsdgen) || { echo "$dir"; exit 3; }
    java -cp "$dir/*" io.trino.tpcds.Driver --scale "$scale" --directory "$out"
    ;;
  *) echo "there is no set $set"; exit 2 ;;
esac
