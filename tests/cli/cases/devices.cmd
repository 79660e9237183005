kiln devices --json | grep -c '"id": "sim'
kiln devices | tail -n 1
