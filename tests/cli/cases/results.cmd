# exit 2
# The stored samples: listed, exported, imported, removed.
kiln results
kiln tune add >/dev/null
kiln results | sed 's/simulated).*/.../'
kiln results add -v wide | sed -E "s/^....-..-.. ..:../DATE/; s/[0-9.]+ .?.s \(simulated\)/N/" | sort
kiln results add --failed
kiln results export all.csv
kiln results import all.csv --store other.db
kiln results import all.csv --store other.db
kiln results --csv again.csv --store other.db && cmp all.csv again.csv
kiln results add --json | grep -c '"spec": "add"'
kiln results compare add sim "nvrtc 1.0"
kiln results compare add sim "kiln 0.1.0" --top 1 | sed -E 's/ +$//' | sed -n '1p; $p'
kiln results prune
kiln results prune add -v wide
kiln results prune --older 1
kiln results prune --all
kiln results add
sed '3s|,[^,]*,[^,]*$||' all.csv > short.csv
kiln results import short.csv 2>&1 | sed 's/ends before.*/ends/'
kiln results import nothing.csv
kiln results compare add
kiln results compare none sim sim
kiln results list add more
