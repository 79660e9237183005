#!/bin/sh
# carry.sh FOLDER: puts an MPI (MPICH, from PyPI) and the plug-in for it into one folder of some 20 MB. The folder works
# wherever it is copied to. It is for machines that have neither an MPI nor a network.
#
#     FOLDER/bin/mpiexec -n 2 env KILN_MPI=FOLDER/lib/libkiln-mpi.so kiln tune matmul
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
to=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m pip download --quiet --no-deps --dest "$work" mpich==5.0.2
python3 -m zipfile -e "$work"/mpich-*.whl "$work"
from=$(echo "$work"/mpich-*.data/data)
mkdir -p "$to/bin" "$to/lib"
cp "$from/bin/mpiexec.hydra" "$to/bin/mpiexec"
cp "$from/bin/hydra_pmi_proxy" "$to/bin/"
cp -r "$from/lib/libmpi.so.12" "$from/lib/mpich" "$to/lib/"
chmod +x "$to"/bin/*
cc -std=c11 -D_GNU_SOURCE -O2 -fPIC -shared -fvisibility=hidden -I"$from/include" -I"$here/../../engine/ranks" \
    "$here/../../engine/ranks/mpi/plugin.c" -o "$to/lib/libkiln-mpi.so" -L"$to/lib" -l:libmpi.so.12 '-Wl,-rpath,$ORIGIN'
du -sh "$to"
