# bare.sh - a bare Debian 12 in a new folder, for the scripts of this folder that try a package there (sourced by sh).
# shellcheck shell=sh
#
#   . "$(dirname "$0")/bare.sh"
#   make_bare BARE_ROOT-or-nothing      sets root, mirror; the folder is removed when the script ends
#   inside COMMAND..., quietly COMMAND...   run a command there; quietly shows its output only if it fails
script=$(basename "$0")
mirror=${KILN_MIRROR:-$(apt-get indextargets --format '$(REPO_URI) $(RELEASE)' 'Created-By: Packages' | sed -n 's| bookworm$||p' | head -n 1)}
[ "$(id -u)" = 0 ] || { echo "$script: chroot needs root" >&2; exit 2; }
root=$(mktemp -d)
end() {
    umount "$root/proc" 2>/dev/null || true
    if mountpoint -q "$root/proc"; then
        echo "$script: $root/proc is still mounted; $root is kept" >&2
    else
        rm -rf --one-file-system "$root"
    fi
}
trap end EXIT
trap 'exit 1' HUP INT TERM
say() { echo "== $*"; }
fail() { echo "FAIL: $*" >&2; exit 1; }
# Nothing of this machine's settings goes in, but what its network may need (of pip, of proxies).
for name in $(env | sed -n 's/^\(\(KILN\|CMAKE\|CUDA\)_[A-Za-z_]*\)=.*/\1/p') CC CFLAGS LDFLAGS LD_LIBRARY_PATH PYTHONPATH TMPDIR; do
    unset "$name"
done
export HOME=/root DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 PATH=/usr/sbin:/usr/bin:/sbin:/bin
inside() { chroot "$root" "$@"; }
quietly() { inside "$@" >"$root/log" 2>&1 || { cat "$root/log" >&2; fail "$*"; }; }

make_bare() { # BARE_ROOT is copied; without it debootstrap makes one
    if [ $# -ge 1 ]; then
        cp -a "$1/." "$root"
    else
        debootstrap --variant=minbase bookworm "$root" "$mirror" >"$root.log" || { tail "$root.log" >&2; exit 1; }
        rm "$root.log"
    fi
    chmod 755 "$root"
    echo "deb $mirror bookworm main" >"$root/etc/apt/sources.list"
    cp /etc/resolv.conf "$root/etc/resolv.conf"
    mount -t proc proc "$root/proc"
    quietly apt-get -q update
}

add_python() { # with pip's certificates, and without the libraries that a wheel must bring
    quietly apt-get -q install -y --no-install-recommends python3 python3-venv ca-certificates
    cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/" # this machine may be behind a proxy with a certificate of its own
    for library in libyaml-0 libsqlite3 libjansson libelf libnvrtc libcuda; do
        # Python itself needs SQLite in Debian's package, so that one does not show that the wheel has its own.
        [ "$library" = libsqlite3 ] || ! inside ldconfig -p | grep "$library" || fail "the bare system has $library"
    done
}
