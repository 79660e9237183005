# Standard output that cannot be written is an error of its own, whatever the command.
for line in help version man "completion bash" "list" "show add" "run add" "tune add -v wide" "devices --json"; do
    kiln $line >/dev/full
    echo "$line: $?"
done
