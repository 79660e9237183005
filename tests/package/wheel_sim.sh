#!/bin/sh
# wheel_sim.sh WHEEL [BARE_ROOT]: installs a wheel of `tools/packaging/wheel.sh --sim` on a bare Debian 12 that has Python, and
# runs the tests of a project there, on the simulated device. It prints the seconds of both.
#
# For a maintainer, by hand: it needs root, a Debian mirror and PyPI, and without BARE_ROOT also debootstrap. BARE_ROOT is
# as for install.sh, and is copied. The mirror is the one that this machine's apt uses, or $KILN_MIRROR.
set -eu
[ $# -ge 1 ] || { sed -n '2,6s/^# \{0,1\}//p' "$0" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
wheel=$(realpath "$1")
mirror=${KILN_MIRROR:-$(apt-get indextargets --format '$(REPO_URI) $(RELEASE)' 'Created-By: Packages' | sed -n 's| bookworm$||p' | head -n 1)}
[ "$(id -u)" = 0 ] || { echo "wheel_sim.sh: chroot needs root" >&2; exit 2; }
root=$(mktemp -d)
end() {
    umount "$root/proc" 2>/dev/null || true
    if mountpoint -q "$root/proc"; then
        echo "wheel_sim.sh: $root/proc is still mounted; $root is kept" >&2
    else
        rm -rf --one-file-system "$root"
    fi
}
trap end EXIT
trap 'exit 1' HUP INT TERM
say() { echo "== $*"; }
fail() { echo "FAIL: $*" >&2; exit 1; }
for name in $(env | sed -n 's/^\(\(KILN\|CMAKE\|CUDA\)_[A-Za-z_]*\)=.*/\1/p') CC CFLAGS LDFLAGS LD_LIBRARY_PATH PYTHONPATH TMPDIR; do
    unset "$name"
done
export HOME=/root DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 PATH=/usr/sbin:/usr/bin:/sbin:/bin
inside() { chroot "$root" "$@"; }
quietly() { inside "$@" >"$root/log" 2>&1 || { cat "$root/log" >&2; fail "$*"; }; }

say "a bare Debian 12 with Python"
if [ $# -ge 2 ]; then
    cp -a "$2/." "$root"
else
    debootstrap --variant=minbase bookworm "$root" "$mirror" >"$root.log" || { tail "$root.log" >&2; exit 1; }
    rm "$root.log"
fi
chmod 755 "$root"
echo "deb $mirror bookworm main" >"$root/etc/apt/sources.list"
cp /etc/resolv.conf "$root/etc/resolv.conf"
mount -t proc proc "$root/proc"
quietly apt-get -q update
quietly apt-get -q install -y --no-install-recommends python3 python3-venv ca-certificates
cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/" # this machine may be behind a proxy with a certificate of its own
for library in libyaml-0 libsqlite3 libjansson libelf libnvrtc libcuda; do
    # Python itself needs SQLite in Debian's package, so that one does not show that the wheel has its own.
    [ "$library" = libsqlite3 ] || ! inside ldconfig -p | grep "$library" || fail "the bare system has $library"
done
cp "$wheel" "$root/root/"

say "the wheel, with NVRTC and pytest"
begin=$(date +%s.%N)
quietly python3 -m venv /root/venv
quietly /root/venv/bin/python -m pip install -q --disable-pip-version-check "/root/$(basename "$wheel")[nvrtc]" pytest
installed=$(date +%s.%N)

say "the tests of a project"
mkdir "$root/root/project"
cp "$here/../sim/ci/project.py" "$root/root/project/test_project.py"
code=0
inside sh -c 'cd /root/project && /root/venv/bin/pytest --kiln-sim h200 --kiln-sim-sarif kiln.sarif' >"$root/log" 2>&1 || code=$?
cat "$root/log"
[ $code = 1 ] || fail "pytest ends with $code"
grep -q '1 failed, 2 passed' "$root/log" || fail "not one test failed"
grep -q 'write of 4 bytes at scale.cu:4' "$root/log" || fail "no line of the source"
grep -q '"startLine": 4' "$root/root/project/kiln.sarif" || fail "SARIF has no line"
tested=$(date +%s.%N)

say "the command"
quietly /root/venv/bin/kiln doctor
quietly /root/venv/bin/kiln run matmul -s tiny -v tiled
echo "$begin $installed $tested" | awk '{printf "== install %.1f s, first tested project %.1f s, together %.1f s\n", $2 - $1, $3 - $2, $3 - $1}'
