# A param replaces the value that the source or a header of the project gives to the same name.
printf '#define ITEMS 2\n' >items.h
cat >own.cu <<'X'
#include "items.h"
#define BLOCK 16 /* a usual
number */
namespace tiles { constexpr unsigned WIDTH = 32; }
__global__ void own(float *x, int n)
{
    const int tile = BLOCK * ITEMS * tiles::WIDTH;
    for (int i = blockIdx.x * tile + threadIdx.x; i < n && i < (blockIdx.x + 1) * tile; i += BLOCK)
        x[i] = 2 * i;
}
X
cat >own.yaml <<'X'
kiln: 1
name: own
source: own.cu
sizes: {tiny: {N: 5000}}
buffers: {x: {type: f32, shape: [N], out: true}}
params: {BLOCK: [16, 32], ITEMS: [1, 2], WIDTH: [8, 32]}
verify: {x: {against: {variant: default}}}
launch: {kernel: own, grid: ["ceil_div(N, BLOCK * ITEMS * WIDTH)"], block: [BLOCK], args: [x, N]}
X
kiln tune own.yaml -q | grep configurations
kiln run own.yaml -p BLOCK=32 -p ITEMS=2 -p WIDTH=8 | head -1
# A message about a constant shows the name in the source.
cat >wrong.cu <<'X'
namespace tiles { constexpr int WIDTH = 32; }
__global__ void own(float *x, int n) { x[n] = WIDTH; }
X
sed 's/own.cu/wrong.cu/; s/BLOCK: .*, WIDTH/WIDTH/; s/grid: .*block: .BLOCK./grid: [N], block: [32]/' own.yaml >wrong.yaml
kiln run wrong.yaml 2>&1 | tail -1
