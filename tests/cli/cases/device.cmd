cp "$SPECS/../../tune/device.yaml" "$SPECS/../../tune/add.cu" .
kiln show ./device.yaml -v later
kiln show ./device.yaml -v hopper --device sim:t4
kiln show ./device.yaml -v later --json | grep -A3 -E '"(needs|left_out|target)"'
kiln tune ./device.yaml -p BLOCK=32 --no-store --no-verify | grep -A2 'Left out'
kiln tune ./device.yaml -p BLOCK=32 --no-store --no-verify --json | grep -A4 '"left_out"'
kiln inspect ./device.yaml -v hopper | tail -1 | sed 's|, .*||'
kiln inspect ./device.yaml -v hopper --json | grep -E '"(arch|findings)"'
kiln run ./device.yaml -v later
echo $?
