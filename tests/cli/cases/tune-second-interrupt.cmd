# A configuration that does not end: the first signal waits for it, the second does not.
KILN_SIM_STEPS=1000 kiln run "$SPECS/endless/spin.yaml" 2>/dev/null # it is in the cache now: no compile to wait for
kiln tune "$SPECS/endless/spin.yaml" --no-verify 2>err &
tune=$!
sleep 2
kill -TERM $tune
sleep 1
kill -TERM $tune
wait $tune 2>/dev/null
echo $?
cat err
