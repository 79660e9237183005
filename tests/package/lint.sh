#!/bin/sh
# lint.sh BUILD_FOLDER: makes the four Debian packages from the build folder and runs lintian on them; errors and warnings
# fail. It also checks files that a package must have. It installs nothing: tests/package/install.sh does.
set -eu
build=$1 here=$(cd "$(dirname "$0")" && pwd)
for tool in cpack dpkg-deb dpkg-shlibdeps lintian python3; do
    command -v "$tool" >/dev/null || { echo "SKIP tool: $tool is not installed"; exit 77; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "FAIL: $*" >&2; exit 1; }

# lintian refuses addresses at hosts that cannot exist.
export DEBFULLNAME='The tests' DEBEMAIL=tests@users.noreply.github.com
# With xz, the default, compression took a third of the test's time.
cpack --config "$build/CPackConfig.cmake" -D CPACK_DEBIAN_COMPRESSION_TYPE=gzip -G DEB -B "$work" >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
cd "$work"
soname=$(objdump -p "$build/engine/libkiln.so" | sed -n 's/^ *SONAME *//p')
[ "$soname" = libkiln.so.0 ] || fail "the shared library is called $soname, its package libkiln0"
set -- ./*.deb
[ $# = 4 ] || fail "not four packages: $*"

field() { dpkg-deb --field "$1"_*.deb "$2"; }
# PACKAGE PATTERN...: requires a file in the package whose path matches; usr/lib may have the architecture's folder
has() {
    package=$1 && shift
    dpkg-deb --contents "$package"_*.deb | awk '{print $6}' >"$package.list"
    for pattern; do
        grep -qE "^\./$pattern\$" "$package.list" || fail "$package has no $pattern"
    done
}
lib='usr/lib(/[^/]+)?'
has libkiln0 "$lib/libkiln\.so\.0" "$lib/libkiln-catalogue\.so\.0" usr/share/doc/libkiln0/copyright
has libkiln-dev "$lib/libkiln\.so" "$lib/libkiln\.a" "$lib/libkiln-catalogue\.so" "$lib/libkiln-catalogue\.a" \
    "$lib/pkgconfig/kiln\.pc" "$lib/pkgconfig/kiln-catalogue\.pc" "$lib/cmake/kiln/kilnConfig\.cmake" \
    usr/include/kiln.h usr/include/kiln_catalogue.h usr/share/doc/libkiln-dev/copyright
has kiln usr/bin/kiln usr/libexec/kiln/kiln-worker usr/share/man/man1/kiln.1.gz usr/share/kiln/specs/matmul.yaml \
    usr/share/kiln/specs/kiln.schema.json usr/share/kiln/verdict.schema.json usr/share/kiln/kernel_src/matmul.cu \
    usr/share/bash-completion/completions/kiln \
    usr/share/zsh/vendor-completions/_kiln usr/share/fish/vendor_completions.d/kiln.fish usr/share/doc/kiln/copyright \
    usr/share/doc/kiln/README.md usr/share/doc/kiln/engine/spec/README.md usr/share/doc/kiln/engine/spec/KEYS.md
has kiln-sim "$lib/kiln/libcuda\.so\.1" "$lib/kiln/libnvJitLink\.so\.13" "$lib/kiln/bin/nvcc" usr/share/doc/kiln-sim/copyright
# Checks that each link of the pages leads to a file of the same package, because Debian's names differ from the names
# in the tree.
dpkg-deb -x kiln_*.deb tree
python3 "$here/../book/links.py" pages tree/usr/share || fail "the pages have links that lead nowhere"
# Checks that no file is in two packages.
cat ./*.list | grep -v '/$' | sort | uniq -d >twice
[ ! -s twice ] || fail "in two packages: $(cat twice)"

# The needed packages are computed from the programs. A package outside of Debian's main archive must not be required.
for package in libkiln0 kiln; do
    for library in libyaml-0-2 libjansson4 libsqlite3-0 libxxhash0 libzstd1; do
        field "$package" Depends | grep -q "$library" || fail "$package does not depend on $library"
    done
done
field kiln Depends | grep -q nvidia && fail "kiln depends on a package that is not free"
field kiln Description | grep -q nvidia-cuda-nvrtc || fail "kiln's description does not say how to get NVRTC"
field libkiln-dev Depends | grep -q 'libkiln0 (= ' || fail "libkiln-dev does not depend on the libkiln0 of its version"
dpkg-deb --control libkiln0_*.deb control
grep -qx 'libkiln 0 libkiln0 (>= .*)' control/shlibs && grep -qx 'libkiln-catalogue 0 libkiln0 (>= .*)' control/shlibs ||
    fail "libkiln0's shlibs: $(cat control/shlibs)"

# A build folder for /usr/local has no folder of the architecture in its paths. `cmake --preset package` makes paths
# with this folder.
without=
grep -q "usr/lib/libkiln" libkiln0.list &&
    without=--suppress-tags=maintscript-calls-ldconfig,pkg-config-unavailable-for-cross-compilation
lintian --allow-root --fail-on error,warning --tag-display-limit 0 $without ./*.deb # root: that of CI's containers
echo "package: 4 packages, no error and no warning of lintian"
