#!/bin/sh
# Installs the packages that Kiln needs on Debian 12 or Ubuntu 24.04, unless they are installed already.
#
#   tools/setup.sh           packages for building and running
#   tools/setup.sh --test    also packages for tests and tools/lint.py (clang for the fuzz targets, lld, gnuplot, zsh,
#                            fish, jq, git, groff, abigail-tools, Open MPI, on Debian Chromium without windows,
#                            Python's jsonschema, yaml, cffi, numpy, Sphinx with MyST and headers, clang-format,
#                            clang-tidy, cppcheck, gcovr, lintian, dpkg-dev)
#   tools/setup.sh --check   only lists missing packages; the exit code is 1 if there are any
#
# Debian packages are installed with apt (as root, or with sudo). NVRTC and the CUDA headers come from an installed
# toolkit. Without a toolkit, NVIDIA's Python wheels are unpacked into build/cuda, which changes nothing else.
set -eu
cd "$(dirname "$0")/.."

check=0 test=0
for argument; do
    case $argument in
    --check) check=1 ;;
    --test) test=1 ;;
    -h | --help) sed -n '2,12s/^# \{0,1\}//p' "$0"; exit 0 ;;
    *) echo "setup.sh: unknown argument '$argument' (try --help)" >&2; exit 2 ;;
    esac
done

say() { echo "setup: $*" >&2; }

# ---- Debian packages ----
packages= if_there= # the second ones are left out where apt does not know them
want() { packages="$packages $1"; }
knows() { apt-cache show "$1" >/dev/null 2>&1; }
has() { command -v "$1" >/dev/null 2>&1; }
has_library() { has pkg-config && pkg-config --exists "$1"; }
mpi_works() { echo '#include <mpi.h>' | mpicc -x c -fsyntax-only - 2>/dev/null; }
cmake_is_new() { has cmake && [ "$(printf '3.25\n%s\n' "$(cmake --version | sed -n 's/.*version //p')" | sort -V | head -n1)" = 3.25 ]; }

has cc || want gcc
[ -e /usr/include/stdio.h ] || want libc6-dev
cmake_is_new || want cmake
has ninja || want ninja-build
has pkg-config || want pkg-config
has_library yaml-0.1 || want libyaml-dev
has_library libxxhash || want libxxhash-dev
has_library libelf || want libelf-dev
has_library liblz4 || want liblz4-dev
has_library libzstd || want libzstd-dev
has_library sqlite3 || want libsqlite3-dev
has_library jansson || want libjansson-dev
has_library zlib || want zlib1g-dev
has_library cunit || want libcunit1-dev
[ -e /usr/share/javascript/vega ] || want libjs-vega # the charts of kiln report
if [ $test = 1 ]; then
    has clang || want clang
    has ld.lld || want lld # links the test programs quickly
    has gnuplot || want gnuplot-nox
    has node || want nodejs # the charts of kiln report as files
    has rsvg-convert || want librsvg2-bin
    # Programs of an MPI are started by its own launcher. Open MPI, since the MPICH of Ubuntu 24.04 starts each alone.
    { has mpicc && has mpiexec && mpi_works; } || want "openmpi-bin libopenmpi-dev"
    # The pages of kiln report in a browser. Ubuntu has none as a package, only as snaps.
    has chromium || has chromium-headless-shell || ! grep -q '^ID=debian' /etc/os-release 2>/dev/null ||
        want chromium-headless-shell
    has jq || want jq
    has git || want git # the test of tools/release.sh
    has groff || want groff-base # the manual page
    has zsh || want zsh # the completions are typed into each shell
    has fish || want fish
    [ -e /usr/share/i18n/locales/tr_TR ] || want locales # the suites under a decimal comma
    has abidiff || want abigail-tools # what changed for programs that were built against an earlier library
    python=/usr/bin/python3 # for which Debian's packages are
    [ -x $python ] || python=python3
    $python -c 'import jsonschema' 2>/dev/null || want python3-jsonschema # specs against their schema
    $python -c 'import yaml' 2>/dev/null || want python3-yaml
    $python -c 'import sphinx' 2>/dev/null || want python3-sphinx # the book
    $python -c 'import myst_parser' 2>/dev/null || want python3-myst-parser
    $python -c 'import cffi' 2>/dev/null || want python3-cffi # tools/python
    $python -c 'import pytest' 2>/dev/null || want python3-pytest # tools/python-sim
    ldconfig -p | grep -q -e libopenblas.so.0 -e libblas.so.3 || want libblas3 # for the stand-in of cuBLAS
    ldconfig -p | grep -q -e libopenblas.so.0 -e liblapack.so.3 || want liblapack3 # for the stand-in of cuSOLVER
    ldconfig -p | grep -q libfftw3.so.3 || want libfftw3-double3 # for the stand-in of cuFFT
    ldconfig -p | grep -q libfftw3f.so.3 || want libfftw3-single3
    $python -c 'import numpy' 2>/dev/null || want python3-numpy
    $python -c 'import pathlib, sysconfig; exit(not pathlib.Path(sysconfig.get_path("include"), "Python.h").exists())' \
        2>/dev/null || want python3-dev
    # Version 14 on every system, because versions differ in what they write. Newer systems have no such package.
    has clang-format-14 || if_there="clang-format-14"
    has clang-tidy || want clang-tidy
    has cppcheck || want cppcheck
    has gcovr || want gcovr # tools/coverage.sh
    has lintian || want lintian # the Debian packages
    has dpkg-shlibdeps || want dpkg-dev
    # libFuzzer and the sanitizers of clang are a package of their own.
    if ! has clang || [ ! -e "$(clang -print-runtime-dir 2>/dev/null)/libclang_rt.fuzzer-x86_64.a" ] &&
       [ ! -e "$(clang -print-runtime-dir 2>/dev/null)/libclang_rt.fuzzer-$(uname -m).a" ] &&
       [ ! -e "$(clang -print-runtime-dir 2>/dev/null)/libclang_rt.fuzzer.a" ]; then
        want libclang-rt-dev
    fi
fi

# ---- NVRTC and the headers ----
toolkit=
for folder in "${CUDA_HOME:-}" "${CUDA_PATH:-}" /usr/local/cuda /usr/lib/cuda build/cuda; do
    [ -n "$folder" ] && [ -e "$folder/include/cuda.h" ] && [ -e "$folder/include/nvrtc.h" ] || continue
    for library in "$folder"/lib64/libnvrtc.so.1? "$folder"/lib/libnvrtc.so.1?; do
        [ -e "$library" ] && toolkit=$folder
    done
    [ -z "$toolkit" ] || break
done
if [ -z "$toolkit" ]; then
    has python3 || want python3
    python3 -c 'import pip' 2>/dev/null || want python3-pip
fi

if [ $check = 1 ]; then
    [ -z "$packages" ] || say "missing packages:$packages"
    [ -n "$toolkit" ] || say "no CUDA toolkit: NVRTC and the headers would be unpacked into build/cuda"
    [ -z "$packages" ] && [ -n "$toolkit" ] && say "nothing is missing (CUDA headers and NVRTC: $toolkit)"
    exit
fi

[ -n "$packages" ] || [ -z "$if_there" ] || knows "$if_there" || if_there=
if [ -n "$packages$if_there" ]; then
    root=
    if [ "$(id -u)" != 0 ]; then
        if ! has sudo; then
            say "these packages are missing; as root, run: apt-get install$packages $if_there"
            exit 1
        fi
        root=sudo
    fi
    say "installing with apt-get:$packages"
    export DEBIAN_FRONTEND=noninteractive
    # An index that is a day old is fresh enough; a machine with none cannot do without.
    if [ -z "$(find /var/lib/apt/lists -name '*Packages*' -mtime -1 2>/dev/null | head -n1)" ]; then
        $root apt-get -q update >&2
    fi
    for package in $if_there; do
        if knows "$package"; then want "$package"; else say "there is no package $package here"; fi
    done
    # shellcheck disable=SC2086  # a list of words
    $root apt-get -q install -y --no-install-recommends ca-certificates $packages >&2
fi

if [ -z "$toolkit" ]; then
    say "no CUDA toolkit found: unpacking NVRTC and the CUDA headers into build/cuda (about 100 MB to fetch)"
    mkdir -p build
    rm -rf build/cuda.new build/wheels
    python3 -m pip download -q --disable-pip-version-check --no-deps --only-binary=:all: --require-hashes \
        -r tools/cuda-wheels.txt -d build/wheels
    for wheel in build/wheels/*.whl; do
        python3 -m zipfile -e "$wheel" build/cuda.new
    done
    rm -rf build/cuda
    mv build/cuda.new/nvidia/cu13 build/cuda
    rm -rf build/cuda.new build/wheels
    toolkit=build/cuda
fi
say "ready (CUDA headers and NVRTC: $toolkit)"
