#!/bin/sh
# Sets up and builds Kiln once, then runs the command `kiln` with the given arguments:
#
#   tools/kiln.sh tune specs/matmul.yaml
#   tools/kiln.sh sim run ./program
#   tools/kiln.sh --help
set -eu
home=$(cd "$(dirname "$0")/.." && pwd)
if [ ! -e "$home/build/.ready" ]; then
    "$home/tools/setup.sh"
    mkdir -p "$home/build"
    : >"$home/build/.ready"
fi
case ${1:-} in
sim) libraries=kiln_sim_libraries ;; # the libraries that `kiln sim run` preloads into a program
*) libraries= ;;
esac
"$home/tools/build.sh" release kiln kiln-worker $libraries
exec "$home/build/release/tools/kiln" "$@"
