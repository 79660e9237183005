# needs python3
# A signal ends the sweep, which then shows its results so far. The signal is sent twice, to the process and to its
# group.
kiln tune "$SPECS/endless/many.yaml" --no-verify --no-store -m 5 >/dev/null # these come from the cache below
for signal in INT TERM; do
    python3 "$TOOLS/twice.py" $signal kiln tune "$SPECS/endless/many.yaml" --no-verify >out 2>err
    echo $?
    grep -c '^Best' out
    cat err
    kiln results prune many >/dev/null
done
python3 "$TOOLS/twice.py" INT kiln tune "$SPECS/endless/many.yaml" --json >out 2>/dev/null
echo $?
tail -n 5 out | sed 's/[0-9][0-9]* of/N of/'
