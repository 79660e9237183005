# needs fish
kiln completion fish >script.fish
try() {
    fish -c "source script.fish; complete -C '$1'" | cut -f 1 | tr '\n' ' '
    echo "<- $1"
}
try 'kiln tu'
try 'kiln run add -v '
try 'kiln run ad'
try 'kiln run add --log-level '
try 'kiln cache '
try 'kiln tune add --size '
