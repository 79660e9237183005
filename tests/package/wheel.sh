#!/bin/sh
# wheel.sh WHEEL [BARE_ROOT]: installs a wheel of tools/packaging/wheel.sh on a bare Debian 12 that has Python, and tunes a
# kernel there. It prints the seconds of both. A person judges them, because the network takes a large part.
#
# A maintainer runs the script by hand. It needs root, a Debian mirror and PyPI, and without BARE_ROOT also debootstrap.
# install.sh explains BARE_ROOT and the mirror.
set -eu
[ $# -ge 1 ] || { sed -n '2,6s/^# \{0,1\}//p' "$0" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
wheel=$(realpath "$1")
shift
# shellcheck source=tests/package/bare.sh
. "$here/bare.sh"

say "a bare Debian 12 with Python"
make_bare "$@"
add_python
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
