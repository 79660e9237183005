#!/bin/sh
# measure.sh KILN FOLDER - measures the specs in specs/ of this folder on the GPU of this machine, at the sizes for
# which estimates are compared. It writes FOLDER/tune-SPEC-SIZE.json. Run it from the root of the source tree.
set -e
kiln=$1 to=$2
mkdir -p "$to"
for each in transpose:default transpose:n1024 transpose:n2048 copy:default copy:n1m copy:n8m saxpy:default saxpy:n256k \
            saxpy:n2m stencil:default stencil:n1024 histogram:default histogram:n1m reduction:default reduction:n1m; do
    spec=${each%:*} size=${each#*:}
    "$kiln" tune "tests/estimate/specs/$spec.yaml" --no-store -s "$size" --device cuda:0 --budget 0.03 --json > "$to/tune-$spec-$size.json"
done
