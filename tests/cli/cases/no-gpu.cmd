# Without a GPU and without a device by name: estimated times, and the limit of a first sweep.
unset KILN_DEVICE
export KILN_LIBCUDA=/nowhere/libcuda.so.1
kiln run add -s default | grep -E 'device|time'
kiln run add -s default --arch sm_80 | grep device
kiln run add --arch sm_80 --device sim; echo "exit $?"
kiln run add --arch 80; echo "exit $?"
kiln doctor | grep -c 'estimated times; the default without a GPU'
one="--variants plain -p BLOCK=32 -p ITEMS=1"
kiln tune add $one | sed '/^Totals/,/^$/d'
kiln tune add $one --json | grep -E '"(ranked_by|limit_seconds|space)"'
kiln tune add $one --all --json | grep limit_seconds
kiln tune add $one --device sim:h200 --json | grep limit_seconds
KILN_DEVICE=sim kiln tune add $one --json | grep -E '"(ranked_by|limit_seconds)"'
kiln tune add $one -m 3 --json | grep limit_seconds
kiln tune add --max-seconds 3 --all; echo "exit $?"
# The time is over before the first is done: nothing is known about the time of the rest.
kiln tune add --variants plain --max-seconds 1e-9 | tail -n 1
# A profile that cannot be read: the simulated device without estimates, and a warning.
echo nonsense >h200.profile
kiln run add -s default | grep -E 'device|time'
