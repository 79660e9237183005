kiln study carveout matmul -I "$SPECS/../../../specs" -v tiled -s M=64 -s N=64 -s K=64
