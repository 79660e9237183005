kiln tune add -m 2 --json | grep -c '"variant"'
kiln tune add --variant plain --variant wide -m 3 -q | grep configurations
