# If files may not grow, the command says so. The old file is unchanged, and no other file is left beside it.
kiln tune add -s N=127 -q >/dev/null
kiln results export space.json -s N=127 --format kernel-tuner >/dev/null
mkdir vega out && head -c 100000 /dev/zero | tr '\0' ' ' >vega/vega.min.js && export KILN_VEGA=vega
for command in "report --replay space.json -o out/file" "results convert space.json out/file" \
    "compare-strategies space.json --plot out/file" \
    "tune add -v plain -q --no-store --no-cache --csv out/file" "run add -s N=4000 -q --no-cache --output z=out/file" \
    "inspect add --no-cache --ptx=out/file"; do
    echo old >out/file
    (ulimit -f 1 && exec timeout -s KILL 280 kiln $command >/dev/null 2>err)
    echo "$? $command: $(cat out/*), $(ls -A out | wc -l) file"
    sed 's/^.*out/out/' err
done
