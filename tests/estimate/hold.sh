#!/bin/sh
# hold.sh KILN CACHE SPEC SIZE RECORDED SPEARMAN BEST [options of kiln tune]: estimates a sweep for an H200 and compares
# it with the times of an H200 (compare.py). CACHE keeps compiled code for the next run.
set -e
here=$(cd "$(dirname "$0")" && pwd)
command -v python3 >/dev/null || { echo "SKIP tool: there is no python3"; exit 77; }
kiln=$1 cache=$2 spec=$3 size=$4 recorded=$5 spearman=$6 best=$7
shift 7
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
KILN_CACHE_DIR=${KILN_TEST_CACHE:-$cache} "$kiln" tune "$spec" --no-store -s "$size" --device sim:h200 --no-verify --json "$@" >"$work/estimated.json"
grep -q '"estimated": true' "$work/estimated.json" || { echo "nothing was estimated"; exit 1; }
if grep -q '"measured": true' "$work/estimated.json"; then echo "an estimate is called a measurement"; exit 1; fi
python3 "$here/compare.py" "$recorded" "$work/estimated.json" --spearman "$spearman" --best "$best" --verbose
