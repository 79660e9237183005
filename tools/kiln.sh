#!/bin/sh
# Sets up and builds Kiln once, then runs the command `kiln` with the given arguments:
#
#   tools/kiln.sh tune specs/matmul.yaml
#   tools/kiln.sh --help
set -eu
home=$(cd "$(dirname "$0")/.." && pwd)
if [ ! -e "$home/build/.ready" ]; then
    "$home/tools/setup.sh"
    mkdir -p "$home/build"
    : >"$home/build/.ready"
fi
"$home/tools/build.sh" release kiln kiln-worker
exec "$home/build/release/tools/kiln" "$@"
