kiln run add --check --json | sed -n "/findings/p"
