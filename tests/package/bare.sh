# bare.sh - makes a bare Debian 12 in a new folder. The scripts of this folder source it, and try a package there.
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
# Drops the settings of this machine. Only settings that its network may need are kept: those of pip and of proxies.
for name in $(env | sed -n 's/^\(\(KILN\|CMAKE\|CUDA\)_[A-Za-z_]*\)=.*/\1/p') CC CFLAGS LDFLAGS LD_LIBRARY_PATH PYTHONPATH TMPDIR; do
    unset "$name"
done
export HOME=/root DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 PATH=/usr/sbin:/usr/bin:/sbin:/bin
inside() { chroot "$root" "$@"; }
quietly() { inside "$@" >"$root/log" 2>&1 || { cat "$root/log" >&2; fail "$*"; }; }

make_bare() { # make_bare [BARE_ROOT]: copies BARE_ROOT; without BARE_ROOT debootstrap makes a system
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

# installs Python and the certificates that pip needs, and checks that the libraries of a wheel are missing
add_python() {
    quietly apt-get -q install -y --no-install-recommends python3 python3-venv ca-certificates
    # this machine may be behind a proxy that has its own certificate
    cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
    for library in libyaml-0 libsqlite3 libjansson libelf libnvrtc libcuda; do
        # Debian's Python needs SQLite itself, so the test cannot show that the wheel has its own SQLite.
        [ "$library" = libsqlite3 ] || ! inside ldconfig -p | grep "$library" || fail "the bare system has $library"
    done
}
