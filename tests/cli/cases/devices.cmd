kiln devices --json | grep -c '"id": "sim'
kiln devices | tail -n 1
kiln devices | grep -o '  320.1.*'
kiln devices --json | grep -A9 '"unit_flops"' | tail -n 9
