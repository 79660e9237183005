# As many repetitions as requested, on the simulated device too.
kiln run add -n 3 --json | grep '"repetitions"'
kiln run add -n 40 --json | grep '"repetitions"'
kiln run add --json | grep '"repetitions"'
