# The first elements of A and T that neighbouring blocks of a swizzled transpose touch: along a row of tiles, and along
# a diagonal of them.
for diagonal in 0 1; do
    for block in 0 1 2 3; do
        kiln study access transpose -I "$SPECS/../../../specs" -v swizzled -p DIAGONAL=$diagonal -s BATCH=1 -s M=128 \
            -s N=96 --block $block | awk '$1 == "(0,0,0)" && $2 ~ /A/ {print $2, $6}'
    done
done
