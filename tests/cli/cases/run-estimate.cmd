kiln run add --device sim:h200 -s default | grep -v rate
kiln run add --device sim:h200 -s default --no-verify --json | grep -E '"(measured|estimated|verified)"'
kiln tune add --device sim:h200 --no-verify --variants wide --top 1 | grep estimated
