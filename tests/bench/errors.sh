#!/bin/sh
# errors.sh KILN DEVICE M N K VARIANT...: prints the errors of variants of specs/matmul.yaml on a device, for the five
# classes of matrices of split_error.c. The errors are the median, the 99.9th percentile and the largest error, in 1e-9
# of the sum of |a b|. +NAME=VALUE after a variant sets a param. The variant `cublas` is cuBLAS SGEMM, which PyTorch
# calls.
#
#   tests/bench/errors.sh build/release/tools/kiln cuda:0 4096 4096 4096 coarsened tensor_3xtf32 tensor_bf16x6+TILE_N=192 cublas
set -eu
kiln=$1 device=$2 m=$3 n=$4 k=$5
shift 5
home=$(cd "$(dirname "$0")/../.." && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cc -O2 -o "$folder/split_error" "$home/tests/bench/split_error.c" -lm
sgemm='
import sys, numpy, torch
torch.backends.cuda.matmul.allow_tf32 = False
a, b = (torch.from_numpy(numpy.load(f"{sys.argv[1]}/{name}.npy")).cuda() for name in "AB")
numpy.save(f"{sys.argv[1]}/P.npy", (a @ b).cpu().numpy())'
for class in 0 1 2 3 4; do
    "$folder/split_error" make $class "$folder/A.npy" "$folder/B.npy" "$m" "$n" "$k"
    for variant; do
        rm -f "$folder/P.npy"
        if [ "$variant" = cublas ]; then
            python3 -c "$sgemm" "$folder"
        else
            # shellcheck disable=SC2046  # a list of words
            "$kiln" run "$home/specs/matmul.yaml" -v $(echo "$variant" | sed 's/+/ -p /g') -s "M=$m" -s "N=$n" -s "K=$k" \
                    --device "$device" --input "A=$folder/A.npy" --input "B=$folder/B.npy" --output "P=$folder/P.npy" \
                    --no-verify --no-measure >"$folder/run.txt" 2>&1 || { cat "$folder/run.txt"; exit 1; }
        fi
        printf '  %-40s %s\n' "$variant" "$("$folder/split_error" read "$folder/A.npy" "$folder/B.npy" "$folder/P.npy")"
    done
done
