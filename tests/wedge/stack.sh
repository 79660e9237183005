#!/bin/bash
# stack.sh KILN SPEC: checks that commands work if the stack of the main thread is limited, by a hard limit or by a soft
# limit that can be raised. The limit of 64 KiB is less than a compiler needs, and less than the old default for the
# threads of the interpreter.
set -u
kiln=$1 spec=$2 bad=0
export KILN_DEVICE=sim
limits() { # prints the limits of the calling shell, for the message of a failure
    echo "ulimit -Ss $(ulimit -Ss), -Hs $(ulimit -Hs)"
}
try() {
    local said code
    said=$("$kiln" "$@" 2>&1)
    code=$?
    [ $code = 0 ] || echo "$(limits): kiln $*: exit code $code: $said" >&2
    return $code
}
for stack in "-Ss 64" "-s 64" "-s 1024"; do
    (
        # shellcheck disable=SC2086  # two words
        ulimit $stack
        try help && try run "$spec" --no-cache && try run "$spec" && try check "$spec" && try tune "$spec" --no-store &&
            try tune "$spec" --no-store --isolate
    ) || bad=1
done
exit $bad
