#!/bin/sh
# layer_errors.sh KILN DEVICE LAYER VARIANT...: prints the errors of variants of specs/convnet.yaml on a device, for
# four classes of numbers (layer_error.c). The errors are the median, the 99.9th percentile and the largest error, in
# 1e-9 of the sum of |x w|. LAYER is N,C,H,W,K,R,S,GROUPS,NHWC,STRIDE,PAD. +NAME=VALUE after a variant sets a param.
# WORK:ALGORITHM in place of a variant runs cuDNN in full single precision. WORK is the name of the layer in
# tests/bench/peers/convnet.cu. The algorithm "fastest" is the choice of cuDNN's search.
#
#   tests/bench/layer_errors.sh build/release/tools/kiln cuda:0 32,64,56,56,64,3,3,1,0,1,1 direct implicit_gemm_tensor \
#       default:fastest "default:winograd nonfused"
set -eu
kiln=$1 device=$2 layer=$(echo "$3" | tr , ' ')
shift 3
home=$(cd "$(dirname "$0")/../.." && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cc -O2 -o "$folder/layer_error" "$home/tests/bench/layer_error.c" -lm
case "$*" in *:*) nvcc -O3 -std=c++17 -arch=native -o "$folder/peer" "$home/tests/bench/peers/convnet.cu" -lcudnn ;; esac
set_sizes() { # N C H W K R S GROUPS NHWC STRIDE PAD
    sizes="-s N=$1 -s C=$2 -s H=$3 -s W=$4 -s K=$5 -s R=$6 -s S=$7 -s GROUPS=$8 -s NHWC=$9"
    made="$1 $2 $3 $4 $5 $6 $7 $8 $9"
    shift 7 # GROUPS NHWC STRIDE PAD
    sizes="$sizes -s STRIDE_H=$3 -s STRIDE_W=$3 -s PAD_H=$4 -s PAD_W=$4"
}
# shellcheck disable=SC2086  # lists of words, here and below
set_sizes $layer
for class in 0 1 2 3; do
    echo "class $class"
    "$folder/layer_error" make $class "$folder/x.npy" "$folder/w.npy" $made
    for variant; do
        rm -f "$folder/y.npy"
        case $variant in
        *:*)
            "$folder/peer" "${variant%%:*}" "${variant#*:}" "$folder/x.npy" "$folder/y.npy" "$folder/w.npy" >"$folder/run.txt" ||
                continue # cuDNN does not have this algorithm for this layer
            variant=cuDNN,$(tr ' ' - <"$folder/run.txt") ;;
        *)
            # shellcheck disable=SC2046
            "$kiln" run "$home/specs/convnet.yaml" -v $(echo "$variant" | sed 's/+/ -p /g') $sizes --device "$device" \
                    --input "x=$folder/x.npy" --input "w=$folder/w.npy" --output "y=$folder/y.npy" --no-verify \
                    --no-measure >"$folder/run.txt" 2>&1 || { cat "$folder/run.txt"; exit 1; } ;;
        esac
        printf '  %-40s %s\n' "$variant" "$("$folder/layer_error" read "$folder/x.npy" "$folder/w.npy" "$folder/y.npy" $layer)"
    done
done
