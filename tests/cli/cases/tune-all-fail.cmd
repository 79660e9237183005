# exit 11
# needs python3
kiln tune wrong -v huge | cat
kiln tune wrong -v huge --json | python3 -c '
import json, sys
got = json.load(sys.stdin)
print(got["complete"], got["best"], len(got["samples"]), got["error"]["status"], got["error"]["message"].split("\n")[0])'
kiln tune wrong -v huge >/dev/null
