#!/bin/sh
# wheel_sim.sh WHEEL [BARE_ROOT]: installs a wheel of `tools/packaging/wheel.sh --sim` on a bare Debian 12 that has Python, and
# runs the tests of a project there, on the simulated device. It prints the seconds of both.
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
