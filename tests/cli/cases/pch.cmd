# needs /usr/bin/setarch
# A sweep whose kernels begin with headers of CUDA compiles these ahead. The code is the same as without.
cat >sum.yaml <<EOF
kiln: 1
name: sum
source: sum.cu
params: {T: [int, long], BLOCK: [32, 64]}
sizes: {default: {N: 64}}
buffers: {z: {type: i32, shape: [N], out: true}}
launch: {kernel: k, grid: [1], block: [BLOCK], args: [z]}
EOF
cat >sum.cu <<EOF
#include <mma.h> // params may have the names of what is in it: it has T
extern "C" __global__ void k(int *z)
{
    z[threadIdx.x] = T(BLOCK);
}
EOF
made() { kiln cache list --json | sed -n 's/.*"id": "\(....\).*/\1/p' | sort | while read -r id; do kiln cache show "$id" --ptx; done | cksum; }
kiln tune sum.yaml --no-verify --no-store -j 1 2>&1 | grep configurations
with=$(made)
ls "$KILN_CACHE_DIR/pch" | grep -c '[.]pch$' >count
setarch -R true 2>/dev/null || echo 1 >count # where processes must have random addresses, none is made
sed 's/.*/files: &/' count
rm -rf "$KILN_CACHE_DIR/v1"
kiln tune sum.yaml --no-verify --no-store -j 1 2>&1 | grep configurations # uses the file
[ "$with" = "$(made)" ] && echo same
rm -rf "$KILN_CACHE_DIR"
mkdir "$KILN_CACHE_DIR" && touch "$KILN_CACHE_DIR/pch" # not a folder: without precompiled headers
kiln tune sum.yaml --no-verify --no-store 2>&1 | grep configurations
[ "$with" = "$(made)" ] && echo same
rm "$KILN_CACHE_DIR/pch"
mkdir "$KILN_CACHE_DIR/pch" && echo >"$KILN_CACHE_DIR/pch/file"
kiln cache clear >/dev/null
ls "$KILN_CACHE_DIR/pch"
# The first compile of a draft makes the file, with the options of the trial run: the sweep after it makes no other one.
# A param may have the name of something in the headers there, too.
rm -rf "$KILN_CACHE_DIR"
kiln init sum.cu -p T=int,long -p BLOCK=32,64 -o first.yaml
grep -E '^  (T|BLOCK|z):' first.yaml
files() { ls "$KILN_CACHE_DIR/pch" | grep -c '[.]pch$' >count; setarch -R true 2>/dev/null || echo 1 >count; sed 's/.*/files: &/' count; }
files
kiln tune first.yaml --no-verify --no-store -j 1 2>&1 | grep configurations
files
