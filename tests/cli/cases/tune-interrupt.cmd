# needs timeout
# A signal ends the sweep with what there is; `timeout` sends it twice, to the process and to its group.
kiln tune "$SPECS/endless/many.yaml" --no-verify -m 5 >/dev/null # these come from the cache below
for signal in INT TERM; do
    timeout --preserve-status -s $signal 2 kiln tune "$SPECS/endless/many.yaml" --no-verify >out 2>err
    echo $?
    grep -c '^Best' out
    cat err
done
timeout --preserve-status -s INT 1 kiln tune "$SPECS/endless/many.yaml" --json >out 2>/dev/null
echo $?
tail -n 5 out | sed 's/[0-9][0-9]* of/N of/'
