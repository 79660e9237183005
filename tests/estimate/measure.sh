#!/bin/sh
# measure.sh KILN FOLDER - measures the specs of this folder's specs/ on the GPU of this machine, at sizes that the
# estimate is held against: FOLDER/tune-SPEC-SIZE.json. From the root of the source tree.
set -e
kiln=$1 to=$2
mkdir -p "$to"
for each in transpose:default transpose:n1024 transpose:n2048 copy:default copy:n1m copy:n8m saxpy:default saxpy:n256k \
            saxpy:n2m stencil:default stencil:n1024 histogram:default histogram:n1m reduction:default reduction:n1m; do
    spec=${each%:*} size=${each#*:}
    "$kiln" tune "tests/estimate/specs/$spec.yaml" --no-store -s "$size" --device cuda:0 --budget 0.03 --json > "$to/tune-$spec-$size.json"
done
