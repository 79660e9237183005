# exit 5
# Every option that writes a file refuses a path that is not a regular file, and leaves it unchanged. Each option is
# tried with a pipe, a folder, a link and a device. The device is made for this test if possible, so that an error does
# not cost the machine its /dev/null.
device=/dev/null
[ "$(id -u)" != 0 ] || { mknod device c 1 3 2>/dev/null && device=device; }
kiln tune add -s N=127 -v wide -q >/dev/null
kiln results export space.json -s N=127 --format kernel-tuner -q >/dev/null
kiln best add -q >/dev/null
mkdir vega && echo >vega/vega.min.js && export KILN_VEGA=vega
mkfifo fifo && mkdir folder && echo old >old && ln -s old link && ln -s "$device" to-device
try() {
    for target in fifo folder link "$device" to-device; do
        case $target in "$device") name=DEVICE ;; *) name=$target ;; esac
        timeout -s KILL 280 kiln $(echo "$*" | sed "s|@|$target|") >out 2>err
        code=$?
        sed -E "s#^(kiln: |wrote )?.*(is a FIFO|is a folder|is a symbolic link|is a character device).*#\2#" err >said
        echo "$code $name: $(grep -E '^is a ' said || cat err out)"
    done
}
for command in "report add -o @" "report --replay space.json -o @" "compare-strategies space.json --plot @" \
    "tune add -s N=127 -v wide -q --csv @" "run add -v wide -q --output z=@" "results export @ --format csv" \
    "results export @ --format t4" "results convert space.json @" "inspect add --source=@" "inspect add --ptx=@" \
    "best --export @" "results --store @"; do
    echo "== $command"
    try $command
done
for command in "run add --capture" "report add --gnuplot"; do
    for target in fifo link to-device; do
        timeout -s KILL 280 kiln $command $target >/dev/null 2>err
        echo "$? $command $target: $(sed 's/.*: //' err)"
    done
done
[ -c "$device" ] && [ -p fifo ] && [ -L link ] && [ -d folder ] && cat old
rm -f device
ls . folder
kiln report add -o link
