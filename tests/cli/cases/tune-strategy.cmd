# exit 4
# Every strategy tries every configuration once. Stored samples are not measured again.
tried() { sed -n -E 's/^ +"(configurations|reused)": ([0-9]+),/\1 \2/p' | tr '\n' ' '; }
for strategy in exhaustive surrogate random greedy ils annealing genetic evolution; do
    kiln tune add --device sim:h200 --strategy $strategy --seed 3 --json >$strategy.json
    echo "$strategy: $(tried <$strategy.json)"
done
# A limit counts what is made now: the same command goes on where it ended.
for round in 1 2 3; do
    kiln tune add --device sim:h200 --store limited.db -m 4 --json | tried
    echo
done
# The same seed: the same way, where the same times come of it. Samples are shown by rank, so few are tried.
way() { kiln tune add --device sim:h200 --no-store --strategy $1 --seed $2 -m 3 --json | sed -n -E 's/^ +"(BLOCK|ITEMS|variant)": //p' | tr -d '\n'; }
for strategy in surrogate genetic; do
    [ "$(way $strategy 5)" = "$(way $strategy 5)" ] && echo "$strategy: the same"
done
[ "$(way random 1)" = "$(way random 2)" ] || echo "another seed, another way"
# In order: the first four of the first variant.
kiln tune add --device sim:h200 --no-store --strategy exhaustive -m 4 --json | grep -c '"variant": "plain"'
kiln tune add --strategy annealling
