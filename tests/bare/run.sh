#!/bin/bash
# run.sh [OPTION...] SYSTEM [COMMAND...]: makes a bare SYSTEM (debian-12, debian-13 or ubuntu-24.04) with debootstrap, unpacks the commit HEAD
# in it, and runs there, as root, each COMMAND with sh. Without a COMMAND it runs the two commands of README.md.
# README.md in this folder tells what this proves, and when to run it.
#
#   --folder FOLDER     the folder of the systems and logs (default: build/bare). SYSTEM.base is kept and copied.
#   --commit COMMIT     another commit than HEAD
#   --without WHAT      takes a part of the machine away from the commands: pts, proc, shm, or (tests/bare/deny.c) ipv6,
#                       ptrace, userns; repeatable
#   --again             uses the system, the tree and the build of the last run again
#
# It needs root, debootstrap, and the mirrors that this machine's apt and pip use. The system gets nothing else of this
# machine. It exits with the status of the first command that fails.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/../.."

usage() { sed -n '2,14s/^# \{0,1\}//p' "$here/run.sh"; }
fail() { echo "bare: $*" >&2; exit 2; }
{ # the shell reads the whole block before it runs, so the file may change meanwhile
folder=build/bare commit=HEAD again=0 without=() deny=()
while [ $# != 0 ]; do
    case $1 in
    -h | --help) usage; exit 0 ;;
    --folder | --commit | --without) [ $# -ge 2 ] || fail "$1 needs a value (try --help)" ;;&
    --folder) folder=$2; shift 2 ;;
    --commit) commit=$2; shift 2 ;;
    --without)
        case $2 in
        pts | proc | shm) without+=("$2") ;;
        ipv6 | ptrace | userns) deny+=("$2") ;;
        *) fail "--without $2: pts, proc, shm, ipv6, ptrace or userns can be left out" ;;
        esac
        shift 2
        ;;
    --again) again=1; shift ;;
    -*) fail "unknown option '$1' (try --help)" ;;
    *) break ;;
    esac
done
case ${1:-} in
debian-12) suite=bookworm archive=debian script=sid components=main ;;
# this system has newer compilers than the other two
debian-13) suite=trixie archive=debian script=sid components=main ;;
ubuntu-24.04) suite=noble archive=ubuntu script=gutsy components=main,universe ;;
*) fail "'${1:-}' is not debian-12, debian-13 or ubuntu-24.04 (try --help)" ;;
esac
system=$1
shift
case ${1:-} in -*) fail "options stand before $system, commands behind it: '$1' is neither (try --help)" ;; esac
[ $# != 0 ] || set -- 'tools/kiln.sh tune specs/matmul.yaml' 'tools/test.sh'
[ "$(id -u)" = 0 ] || fail "a system is made and entered as root"
command -v debootstrap >/dev/null || fail "there is no debootstrap; run: apt-get install debootstrap"
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
root=$folder/$system
say() { echo "== bare $system: $*"; }

# Finds the mirror of the distribution: this machine's apt knows it, or debootstrap's script for the suite knows it.
# Without the keyring of the distribution debootstrap cannot check signatures, so the transport must be safe. apt in the
# new system checks the signatures again.
scripts=/usr/share/debootstrap/scripts
mirror=$(apt-get indextargets --format '$(REPO_URI) $(RELEASE)' 'Created-By: Packages' |
         awk -v suite="$suite" -v archive="/$archive\$" '{ sub("/$", "", $1) }
             $2 == suite || !found && $1 ~ archive { found = $1; if ($2 == suite) exit } END { print found }')
if [ -z "$mirror" ]; then
    mirror=$(sed -n "s/.*default_mirror \(http.*\/$archive\)\$/\1/p" "$scripts/$script" | grep -v old | head -n 1 || :)
    [ "$archive" != debian ] || mirror=$(sed -n 's/^DEF_MIRROR="\(.*\)"/\1/p' "$(command -v debootstrap)")
    [ -e "/usr/share/keyrings/$archive-archive-keyring.gpg" ] || mirror=https:${mirror#http*:}
fi
if [ ! -e "$root.base/.made" ]; then
    say "debootstrap, once"
    rm -rf --one-file-system "$root.base"
    debootstrap --variant=minbase --components="$components" "$suite" "$root.base" "$mirror" \
        "$([ -e "$scripts/$suite" ] && echo "$suite" || echo "$script")" >"$root.log" 2>&1 ||
        { tail -n 20 "$root.log" >&2; fail "debootstrap failed; $root.log has the rest"; }
    : >"$root.base/.made"
fi

# Copies the settings that are needed to reach the mirrors: settings of apt and pip, proxies, and this machine's
# certificates.
settle() {
    {
        echo "deb $mirror $suite ${components//,/ }"
        apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
            awk -v suite="$suite" 'index($2, suite "-") == 1 { print "deb", $1, $2, $3 }'
        [ "$archive" != ubuntu ] || echo "deb $mirror $suite-updates ${components//,/ }"
    } >"$root/etc/apt/sources.list"
    apt-config dump | grep -E '^Acquire::(http|https|Check-Valid-Until|Check-Date|Retries)(::[A-Za-z-]+)* "[^"]+";' \
        >"$root/etc/apt/apt.conf.d/00machine" || :
    cp /etc/resolv.conf "$root/etc/resolv.conf"
    [ ! -e /etc/pip.conf ] || cp /etc/pip.conf "$root/etc/pip.conf"
    mkdir -p "$root/etc/machine-certificates"
    cp /etc/ssl/certs/ca-certificates.crt "$root/etc/machine-certificates/all.pem" 2>/dev/null || :
    if [ -s "$root/etc/machine-certificates/all.pem" ]; then
        echo 'Acquire::https::CaInfo "/etc/machine-certificates/all.pem";' >>"$root/etc/apt/apt.conf.d/00machine"
    fi
}
if [ $again = 0 ] || [ ! -e "$root/root/kiln" ]; then
    say "a copy, and the tree of $(git rev-parse --short "$commit")"
    rm -rf --one-file-system "$root"
    cp -a --reflink=auto "$root.base" "$root"
    settle
    mkdir "$root/root/kiln"
    git archive "$commit" | tar -x -C "$root/root/kiln"
fi
if [ ${#deny[@]} != 0 ]; then
    cc -std=c11 -O1 -static -o "$root/usr/local/bin/deny" "$here/deny.c" || fail "deny.c does not compile here"
fi

# The mounts and processes end with their namespaces.
environment=(PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8)
while IFS='=' read -r name value; do
    case $name in
    PIP_CERT) ;;
    PIP_FIND_LINKS) case $value in /*) ;; *) environment+=("$name=$value") ;; esac ;;
    PIP_* | http_proxy | https_proxy | no_proxy | HTTP_PROXY | HTTPS_PROXY | NO_PROXY | ALL_PROXY | KILN_FUZZ_SECONDS)
        environment+=("$name=$value") ;;
    esac
done < <(env)
[ ! -s "$root/etc/machine-certificates/all.pem" ] || environment+=(PIP_CERT=/etc/machine-certificates/all.pem)
inside='
root=$1 without=$2 deny=$3 command=$4
shift 4
mount --bind "$root" "$root" # only a mount can take the place of /
case " $without " in
*" proc "*) mount -t proc -o subset=pid proc "$root/proc" ;;
*) mount -t proc proc "$root/proc" ;;
esac
mount -t sysfs -o ro sysfs "$root/sys" 2>/dev/null || :
mount -t tmpfs -o mode=755 dev "$root/dev"
node() { mknod -m 666 "$root/dev/$1" c "$2" "$3"; }
node null 1 3; node zero 1 5; node full 1 7; node random 1 8; node urandom 1 9; node tty 5 0
ln -s /proc/self/fd "$root/dev/fd"
ln -s fd/0 "$root/dev/stdin"; ln -s fd/1 "$root/dev/stdout"; ln -s fd/2 "$root/dev/stderr"
case " $without " in *" pts "*) ;; *)
    mkdir "$root/dev/pts"
    mount -t devpts -o newinstance,ptmxmode=666,mode=620 devpts "$root/dev/pts"
    ln -s pts/ptmx "$root/dev/ptmx" ;;
esac
case " $without " in *" shm "*) ;; *)
    mkdir "$root/dev/shm"
    mount -t tmpfs -o mode=1777 shm "$root/dev/shm" ;;
esac
# A process in a chroot may not make a user namespace. So the root folder of the new system becomes / itself.
cd "$root"
pivot_root . .
umount -l .
cd /root/kiln
exec ${deny:+/usr/local/bin/deny $deny --} env -i "$@" sh -c "$command"
'
running=
# the command ignores SIGTERM; its processes end with it
trap '[ -z "$running" ] || kill -KILL "$running" 2>/dev/null || :' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
TIMEFORMAT='%0R s, processor %0U s and %0S s of the kernel'
for command; do
    say "$command"
    status=0
    time {
        unshare --mount --pid --fork --kill-child sh -c "$inside" sh "$root" "${without[*]}" "${deny[*]}" "$command" \
            "${environment[@]}" </dev/null &
        running=$!
        wait $running || status=$?
    }
    [ $status = 0 ] || { say "FAILED with $status: $command"; exit 1; }
    say "passed: $command"
done
say "all of it passed"
exit
}
