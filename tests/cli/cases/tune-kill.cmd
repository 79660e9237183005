# A sweep that is killed goes on where it was.
kiln tune "$SPECS/endless/many.yaml" --no-verify -m 300 --strategy exhaustive --no-store >/dev/null # compiled, all of them
for round in 1 2 3 4 5 6; do
    kiln tune "$SPECS/endless/many.yaml" --no-verify -m 300 --strategy exhaustive >/dev/null 2>&1 &
    sleep 0.0$round
    kill -KILL $! 2>/dev/null # it may have ended
    wait $! 2>/dev/null
    count=$(kiln results many --json 2>/dev/null | grep -c '"key"')
    kept=$(kiln tune "$SPECS/endless/many.yaml" --no-verify --strategy exhaustive -m "$((count > 0 ? count : 1))" --json | sed -n -E 's/^ +"reused": ([0-9]+),/\1/p')
    [ "$kept" = "$count" ] || echo "round $round: $count were there, $kept were taken"
    kiln results prune many >/dev/null
done
echo done
