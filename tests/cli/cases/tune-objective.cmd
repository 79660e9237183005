# exit 18
# Other objectives than time, several at once, and budgets. Estimates are the same in every run.
tune() { kiln tune add --device sim:h200 --no-store "$@"; }
best() { sed -n -E 's/^ +1  .*(plain|wide)  /best: \1 /p' | head -n 1; }
tune --objective time | best
tune --objective max:time | best
tune --objective gflops | best
tune --objective 'max:BLOCK * ITEMS' | best
tune --objective time --objective 'max:float(ITEMS) / N' | sed -n '/^Pareto front/,/^$/p'
tune --objective time --objective max:ITEMS --json | grep -c '"front": true'
tune --objective 'flops / time' --json | sed -n '/"objectives"/,/]/p' | head -n 3
# Budgets, and which of them ended it.
ended() { sed -n -E 's/^ +"(configurations|ended)": (.*),/\2/p' | tr '\n' ' '; echo; }
tune --json | ended
tune -m 2 --json | ended
tune -m 200 --json | ended
tune --stagnation 4 --strategy exhaustive --json | ended # the first is the best
tune --stagnation 4 --strategy exhaustive --objective max:time --improvement 0.5 --json | ended
tune --roofline 0.0001 --json | ended
tune --roofline 0.9 --json | ended
tune --stagnation 4 --strategy exhaustive | grep ended
# What does not go.
tune --objective tme
tune --objective 'time +'
tune --objective 'time // 0'
kiln tune --replay space.json --objective time
tune --objective ''
tune --objective energy
