# If the reader of a pipe ends, kiln ends without a message.
(kiln man; echo $? >code) | head -n 1 >/dev/null
code=$(cat code)
[ "$code" = 0 ] || [ "$code" = 141 ] || echo "exit code $code"
