#!/bin/sh
# nfs.sh KILN SHIM SPEC: checks that a store on a network file system has a rollback journal, and loses nothing when it is
# moved to a local disk. cache/nfs_shim.c simulates the network file system.
set -u
kiln=$1 shim=$2 spec=$3
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
export KILN_CACHE_DIR="$work/cache" KILN_STORE="$work/samples.db" KILN_NFS=type

fail() { echo "FAIL: $1"; cat "$work/err"; exit 1; }
# Prints the two bytes of the header that tell how the store is written: 1 means a rollback journal, and 2 a write-ahead
# log.
versions() { od -An -tu1 -j18 -N2 "$KILN_STORE" | tr -d ' '; }
sweep() { "$kiln" tune "$spec" -d sim -v "$1" --log-level info >"$work/out" 2>"$work/err" || fail "the sweep of $1"; }
stored() { "$kiln" results add 2>"$work/err" | grep -c "BLOCK="; }

LD_PRELOAD=$shim sweep plain
[ "$(versions)" = 11 ] || fail "no rollback journal on NFS, but $(versions)"
grep -q "on a network file system (NFS)" "$work/err" || fail "it is not said"
plain=$(stored)
[ "$plain" -gt 0 ] || fail "no samples"
sweep wide
[ "$(versions)" = 22 ] || fail "no write-ahead log on a local disk, but $(versions)"
grep -q "network" "$work/err" && fail "a local disk is called one of a network"
both=$(stored)
[ "$both" -gt "$plain" ] || fail "$plain samples, then $both"
LD_PRELOAD=$shim sweep plain
[ "$(versions)" = 11 ] || fail "no rollback journal for a store that comes to NFS, but $(versions)"
[ "$(stored)" = "$both" ] || fail "$both samples, then $(stored)"
echo "ok: $both samples"
