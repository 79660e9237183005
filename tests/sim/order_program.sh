#!/bin/sh
# order_program.sh PROGRAM runs each case of the program. A case must have its expected finding once, or no finding.
set -eu
program=$1
export KILN_SIM_DEVICES=2 KILN_SIM_CHECK=1
wrong=0
cases=$(mktemp)
trap 'rm -f "$cases"' EXIT
"$program" >"$cases"
while IFS='|' read -r name finding; do
    rules=${0%.sh}.suppress
    case $name in heap_*) rules= ;; esac # these cases test leaks, which the rules suppress
    said=$(KILN_SIM_CHECK_SUPPRESS="$rules" "$program" "$name" 2>&1) || { echo "$name: exit code $?" && wrong=1; }
    if [ -z "$finding" ]; then
        case $said in # each context has a report
        *"kiln checks: "[1-9]*) ;;
        *"kiln checks: 0 findings"*) continue ;;
        esac
    else
        case $said in *"$finding"*"kiln checks: 1 finding,"*) continue ;; esac
    fi
    printf '%s: expected "%s", got:\n%s\n' "$name" "$finding" "$said"
    wrong=1
done <"$cases"
exit $wrong
