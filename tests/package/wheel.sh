#!/bin/sh
# wheel.sh WHEEL [BARE_ROOT]: installs a wheel of tools/packaging/wheel.sh on a bare Debian 12 that has Python, and tunes a
# kernel there. It prints the seconds of both; a reader judges them, as the network's share is large.
#
# For a maintainer, by hand: it needs root, a Debian mirror and PyPI, and without BARE_ROOT also debootstrap. BARE_ROOT is
# as for install.sh, and is copied. The mirror is the one that this machine's apt uses, or $KILN_MIRROR.
set -eu
[ $# -ge 1 ] || { sed -n '2,6s/^# \{0,1\}//p' "$0" >&2; exit 2; }
wheel=$(realpath "$1")
mirror=${KILN_MIRROR:-$(apt-get indextargets --format '$(REPO_URI) $(RELEASE)' 'Created-By: Packages' | sed -n 's| bookworm$||p' | head -n 1)}
[ "$(id -u)" = 0 ] || { echo "wheel.sh: chroot needs root" >&2; exit 2; }
root=$(mktemp -d)
end() {
    umount "$root/proc" 2>/dev/null || true
    if mountpoint -q "$root/proc"; then
        echo "wheel.sh: $root/proc is still mounted; $root is kept" >&2
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

say "the wheel, with NVRTC"
begin=$(date +%s.%N)
quietly python3 -m venv /root/venv
quietly /root/venv/bin/python -m pip install -q --disable-pip-version-check "/root/$(basename "$wheel")[nvrtc]"
installed=$(date +%s.%N)

say "a first kernel"
cat >"$root/root/first.py" <<'END'
import numpy as np
import kiln

SOURCE = """
extern "C" __global__ void affine(float a, const float *x, float b, float *y, int n)
{
    int first = blockIdx.x * BLOCK * ITEMS + threadIdx.x;
    for (int i = 0; i < ITEMS; i++)
        if (first + i * BLOCK < n)
            y[first + i * BLOCK] = a * x[first + i * BLOCK] + b;
}
"""


def affine(x):
    return np.float32(2) * x + np.float32(0.5)


found = kiln.tune(SOURCE, params={"BLOCK": [64, 128, 256, 512], "ITEMS": [1, 2, 4]},
                  sizes={"default": {"N": 100_000_000}, "tiny": {"N": 5000}},
                  args={"a": 2.0, "x": kiln.Input("f32", "N"), "b": 0.5, "y": kiln.Output("f32", "N"), "n": "N"},
                  grid="ceil_div(N, BLOCK * ITEMS)", block="BLOCK", reference=affine, metrics={"bytes": "8 * N"})
print(found)
assert found.totals.verified == 12 and found.best.result.estimated, found.totals
print(found.save("/root/affine.yaml"))
END
inside /root/venv/bin/python /root/first.py >"$root/log" 2>&1 || { cat "$root/log" >&2; fail "the first kernel"; }
tuned=$(date +%s.%N)
cat "$root/log"

say "the catalogue, the worker, and the libraries inside the wheel"
cat >"$root/root/more.py" <<'END'
import pathlib
import kiln

with kiln.Engine() as engine:
    assert engine.load("matmul").plan("tiled", size_set="tiny").run().verified
    with engine.store("/root/samples.db") as store:
        engine.load("memory").tune(max_configurations=1, store=store)
site = pathlib.Path(kiln.__path__[0]).parent
assert (site / "kiln/libexec/kiln/kiln-worker").stat().st_mode & 0o111
maps = pathlib.Path("/proc/self/maps").read_text()
for name in ("libyaml", "libsqlite3", "libjansson", "libelf", "libzstd", "libxxhash", "liblz4"):
    assert f"{site}/kiln_cuda.libs/{name}" in maps, name
END
inside /root/venv/bin/python /root/more.py || fail "more.py"
echo "$begin $installed $tuned" | awk '{printf "== install %.1f s, first tuned kernel %.1f s, together %.1f s\n", $2 - $1, $3 - $2, $3 - $1}'
