kiln study access matmul -I "$SPECS/../../../specs" -v tiled -p TILE_WIDTH=8 -s M=16 -s N=16 -s K=16 --block 1 | sed -E 's/line [0-9]+/line N/g' | head -n 8
kiln study access add -p BLOCK=32 -s N=40 --block 1
kiln study access add --block 99
echo $?
