# The elements that the first lanes of two warps read first. The answer does not depend on these elements, so only this
# test distinguishes the patterns.
for variant in offset permuted strided broadcast scattered aos_same soa_same; do
    echo $variant
    kiln study access memory -I "$SPECS/../../../specs" -v $variant -s N=131072 -s FIRST=0 --block 9 |
        awk '$1 ~ /^\((0|1|2|32|33),0,0\)$/ && !seen[$1]++ {print " ", $1, $2, $3}'
done
