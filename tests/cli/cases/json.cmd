# needs python3
# Every subcommand's --json is one object, and an error's too.
check() {
    kiln "$@" --json >out.json
    code=$?
    python3 -c 'import json, sys; print(type(json.load(open("out.json"))).__name__, "error" in json.load(open("out.json")))' || cat out.json
    echo "$1: $code"
}
check list
check show add
check run add
check tune wrong -v right
check inspect add
check devices
check cache list
check cache verify
check cache gc --max-size 1M
check cache clear
check version
check run nothing
check run wrong -v forgets
check show "$SPECS/broken/slip.yaml"
check tune
