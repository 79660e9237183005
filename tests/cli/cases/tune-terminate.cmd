# needs timeout
# A sweep under a time limit ends on SIGTERM. A sweep that gets a pipe in place of an array does not wait for the pipe.
timeout -s KILL 280 kiln tune "$SPECS/endless/many.yaml" --no-verify -t 100 >out 2>err &
until kiln results many --json 2>/dev/null | grep -q '"key"' || ! kill -0 $! 2>/dev/null; do sleep 0.1; done
kill -TERM $!
wait $!
echo $?
grep -c '^Best' out
mkdir bad && mkfifo bad/x.npy && cp "$SPECS/add.cu" bad
sed 's/fill: {iota: \[0, 1\]}/file: x.npy/' "$SPECS/add.yaml" >bad/array.yaml
timeout -s KILL 280 kiln tune bad/array.yaml -t 100 >out 2>&1
echo $?
grep -o 'is a FIFO.*' out
