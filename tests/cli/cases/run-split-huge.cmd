# exit 15
# K so long that the number of its steps times the number of blocks that share them passes 2^32, in which gemm_split_k counts.
kiln run "$SPECS/../../../specs/gemm.yaml" -v split_k -p TILE_M=64 -p TILE_N=64 -p CONSUMERS=1 -p PARTS=66 \
    -s M=1 -s N=8 -s K=2147483640 --device sim:h200 --no-verify
