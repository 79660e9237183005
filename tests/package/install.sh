#!/bin/sh
# install.sh FOLDER_OF_DEBS [BARE_ROOT]: installs the four packages on a bare Debian 12 and uses them as their users do.
#
# A maintainer runs the script by hand. It needs root, debootstrap, a Debian mirror and PyPI, and some minutes. BARE_ROOT is
# a folder that `debootstrap --variant=minbase bookworm BARE_ROOT` made; the script works on a copy. Without BARE_ROOT the
# script runs debootstrap first. The mirror is $KILN_MIRROR, or the one of this machine's apt. tests/package/lint.sh (the
# CTest `package`) needs none of these.
set -eu
[ $# -ge 1 ] || { sed -n '2,7s/^# \{0,1\}//p' "$0" >&2; exit 2; }
debs=$(cd "$1" && pwd) here=$(cd "$(dirname "$0")" && pwd)
shift
# shellcheck source=tests/package/bare.sh
. "$here/bare.sh"
install() { quietly apt-get -q install -y --no-install-recommends "$@"; }

say "a bare Debian 12"
make_bare "$@"

say "the packages, and what they depend on"
mkdir "$root/debs"
cp "$debs"/libkiln0_*.deb "$debs"/libkiln-dev_*.deb "$debs"/kiln_*.deb "$debs"/kiln-sim_*.deb "$root/debs"
inside sh -c 'apt-get -q install -y --no-install-recommends /debs/*.deb' >"$root/log" 2>&1 || { cat "$root/log"; exit 1; }
inside dpkg-query -W -f '${Package} ${Version} ${db:Status-Status}\n' libkiln0 libkiln-dev kiln kiln-sim
[ "$(inside dpkg --verify libkiln0 libkiln-dev kiln kiln-sim)" = '' ] || fail "files differ from the packages'"
inside kiln --version

say "kiln doctor without NVRTC says how to get it"
inside kiln doctor >"$root/doctor" && fail "kiln doctor found a compiler on a bare system"
grep -q '^MISSING  nvrtc' "$root/doctor" || { cat "$root/doctor"; fail "kiln doctor does not say that NVRTC is missing"; }
get=$(inside kiln doctor --json | grep -o 'python3 -m pip install --target [^,(]*~=13[0-9.]*[0-9]' | head -n 1)
[ -n "$get" ] || fail "kiln doctor does not say how to install the wheels"
echo "$get"
install python3-pip ca-certificates
# this machine may be behind a proxy that has its own certificate
cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
inside sh -c "$get" >"$root/log" 2>&1 || { cat "$root/log"; fail "what kiln doctor says does not work"; }
inside kiln doctor

say "a sweep on the simulated device, and the best known configuration after it"
inside kiln tune memory -s tiny --device sim -v one_word | tail -n 12
inside kiln best memory -s tiny --device sim

say "manual page, completion, pages"
install man-db
inside man -w kiln
inside man -P cat kiln | grep -q 'kiln tune' || fail "man kiln does not show the commands"
inside bash -c '. /usr/share/bash-completion/completions/kiln && complete -p kiln'
for page in copyright README.md engine/spec/README.md engine/spec/KEYS.md; do
    [ -s "$root/usr/share/doc/kiln/$page" ] || fail "no $page in share/doc/kiln"
done

say "a program outside: by CMake, by pkg-config, static"
install gcc libc6-dev cmake make pkg-config
mkdir "$root/consumer"
cp "$here"/../consumer/* "$root/consumer"
inside sh -e -c '
    export KILN_DEVICE=sim && cd /consumer
    cmake -S . -B build >log && cmake --build build >>log || { cat log; exit 1; }
    objdump -p build/consumer | grep "NEEDED.*libkiln"
    build/consumer
    cc -std=c11 main.c $(pkg-config --cflags --libs kiln-catalogue) -lm -o shared && ./shared | tail -n 1
    cc -std=c11 -DKILN_STATIC main.c -Wl,-Bstatic -lkiln-catalogue -lkiln -Wl,-Bdynamic $(pkg-config --static --libs kiln | sed "s/-lkiln//") -lm \
        -o static && ! ldd static | grep libkiln && ./static | tail -n 1'

say "the simulated libcuda.so.1, for who asks for it"
inside sh -e -c '
    folder=$(dirname "$(dpkg -L kiln-sim | grep "/libcuda\.so\.1$")")
    ! ldconfig -p | grep libcuda || exit 1
    LD_LIBRARY_PATH=$folder python3 -c "
import ctypes
cuda = ctypes.CDLL(\"libcuda.so.1\")
assert cuda.cuInit(0) == 0
name = ctypes.create_string_buffer(64)
assert cuda.cuDeviceGetName(name, 64, 0) == 0
print(name.value.decode())"'

say "removal"
inside apt-get -q purge -y libkiln0 libkiln-dev kiln kiln-sim >"$root/log" 2>&1 || { cat "$root/log"; exit 1; }
left=$(inside find /usr /etc /var -name '*kiln*' ! -path '/var/lib/apt/*' ! -path '/var/cache/man/*' ! -path '/var/log/*' ! -path '/usr/local/lib/kiln*')
[ -z "$left" ] || fail "left behind: $left"
say "all of it worked"
