# If standard output cannot be written, every command reports this as an error of its own.
for line in help version man "completion bash" "list" "show add" "run add" "tune add -v wide" "devices --json"; do
    kiln $line >/dev/full
    echo "$line: $?"
done
