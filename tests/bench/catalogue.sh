#!/bin/sh
# catalogue.sh FOLDER [FAMILY|FAMILY/WORK...]: measures the catalogue on this machine's GPU and writes FOLDER/rows.tsv.
#
# For each family of works.txt, or for each named one, the script builds and runs the peer. Then it sweeps the spec for
# each work. The same run measures the bounds of the device's memory. `tests/bench/results.py add kernel_src
# FOLDER/rows.tsv` puts the rows into the page of results. FOLDER also keeps each whole sweep in FAMILY-WORK.json.
#
# The script needs nvcc and python3. KILN is the command, by default build/release/tools/kiln. KILN_TUNE can hold more
# options for `kiln tune`. KILN_GROUPS can hold lists of variants. The script then runs a sweep for each list, so that
# each list gets the whole time limit.
set -eu
[ $# -ge 1 ] || { sed -n '2,10s/^# \{0,1\}//p' "$0"; exit 2; }
bench=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$bench/../.." && pwd)
kiln=${KILN:-$root/build/release/tools/kiln}
mkdir -p "$1"
out=$(cd "$1" && pwd)
shift
rows=$out/rows.tsv
: >"$rows"

# peer NAME: writes the lines that tests/bench/peers/NAME.cu and NAME.py print. If NAME.cu cannot be built or fails, there
# are no lines.
peer() {
    : >"$out/peer-$1.tsv"
    peer_built "$1" || return 1
    [ ! -e "$bench/peers/$1.py" ] || python3 "$bench/peers/$1.py" >>"$out/peer-$1.tsv" || return 1
}

peer_built() {
    [ -e "$bench/peers/$1.cu" ] || return 0
    link=$(sed -n 's,^// link: ,,p' "$bench/peers/$1.cu")
    # shellcheck disable=SC2086  # a list of words
    if nvcc -O3 -std=c++17 -arch=native -o "$out/peer-$1" "$bench/peers/$1.cu" $link &&
       "$out/peer-$1" ${PEER_WORKS:-} >"$out/new.tsv"; then
        mv "$out/new.tsv" "$out/peer-$1.tsv"
        rm "$out/peer-$1"
        return 0
    fi
    echo "catalogue.sh: there are no figures of the peer $1" >&2
    return 1
}

# wanted FAMILY WORK ARGUMENT...: tells whether an argument names the family or the work. Without arguments the answer is yes.
wanted() {
    of=$1/$2
    shift 2
    [ $# -gt 0 ] || return 0
    for name; do
        case $of in "$name" | "$name"/*) return 0 ;; esac
    done
    return 1
}

sweep() { # FAMILY BOUND WORK
    case $3 in
    *=*) arguments=$(echo ",$3" | sed 's/,/ -s /g') ;;
    *) arguments="-s $3" ;;
    esac
    sweeps=''
    for group in ${KILN_GROUPS:-all}; do
        name=$1-$3
        chosen=''
        [ "$group" = all ] || { name=$name-${group%%,*}; chosen="-v $group"; }
        # A sweep in which some configurations failed is still useful; its rows count the failures.
        # shellcheck disable=SC2086  # lists of words
        "$kiln" tune "$root/specs/$1.yaml" $arguments $chosen ${KILN_TUNE:-} --no-store --quiet --json \
            >"$out/$name.json" </dev/null || echo "catalogue.sh: kiln tune $1 $arguments $chosen: exit code $?" >&2
        sweeps=$sweeps${sweeps:+:}$out/$name.json
    done
    "$bench/results.py" rows "$1" "$3" "$2" "$sweeps" "$out/peer-bounds.tsv" "$out/peer-$1.tsv" >"$out/new.tsv" || return 1
    cat "$out/new.tsv" >>"$rows"
    echo "$1 $3: done" >&2
}

peer bounds
grep -v '^#' "$bench/works.txt" | {
    failed=0
    while read -r family bound works; do
        measured=0
        for work in $works; do
            wanted "$family" "$work" "$@" || continue
            if [ $measured = 0 ]; then
                measured=1
                peer "$family" || failed=1
            fi
            sweep "$family" "$bound" "$work" || failed=1
        done
    done
    rm -f "$out/new.tsv"
    exit $failed
}
