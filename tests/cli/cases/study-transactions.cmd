specs="$SPECS/../../estimate/specs"
kiln study transactions transpose -I "$specs" -v naive -p BLOCK_X=32 -p BLOCK_Y=8 | sed -E 's/%[a-z]+[0-9]+/%R/g'
kiln study transactions copy -I "$specs" -v contiguous -p ITEMS=4 --json | grep -E '"(access|sectors|lines|used_of_sectors|requests)"' | head -n 5
