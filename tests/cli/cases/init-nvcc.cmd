# The options of nvcc's command line go into the spec; headers of libraries that are not there become empty files.
mkdir -p include other
echo '#define TWICE(x) ((x) + (x))' >include/twice.h
cat >k.cu <<'X'
#include <twice.h>
#include <mylib/host.hpp>
extern "C" __global__ void k(REAL *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        x[i] = TWICE(x[i]) * FACTOR;
}
X
kiln init k.cu 2>&1 | grep -E '^kiln: note|was searched' | cut -c 1-110
kiln init k.cu --nvcc 'nvcc -O3 -arch=sm_90 -Iinclude "-DREAL=float" -D FACTOR=3 -std=c++17 --use_fast_math -Xcompiler -fPIC k.cu -o k.o' \
    --stub mylib/host.hpp -o k.yaml
sed -n '/^kiln/,/^$/p; /^params/,/^$/p' k.yaml
cat stubs/mylib/host.hpp
kiln tune k.yaml -q | grep configurations
kiln init k.cu --stub ../up.h; echo $?
kiln init k.cu --nvcc 'nvcc -include all.h k.cu'; echo $?
kiln init k.cu --nvcc 'nvcc "-DMIN(a,b)=((a)<(b)?(a):(b))" k.cu'; echo $?
# A name of an empty header: the message names the header.
printf '#include <opencv2/core.hpp>\n__global__ void c(cv::Mat m, float *x) { x[0] = 1; }\n' >c.cu
kiln init c.cu 2>&1 | grep -c '^(opencv2/core.hpp: Kiln does not have these libraries'
# CUB's operators of earlier versions, and headers of the host.
printf '#include <cub/cub.cuh>\n#include <cinttypes>\n#include <nccl.h>\n__global__ void m(float *x) { x[threadIdx.x] = cub::Max()(x[threadIdx.x], 1.0f) + cub::Sum()(1, 2); }\n' >m.cu
kiln init m.cu | grep '^  kernel'
printf '__global__ void p(float *x) { x[threadIdx.x] = 1; }\n' >p.cu
kiln init p.cu --nvcc 'nvcc -Xptxas -v,-O3 p.cu' | grep '^options'
# The spec in another folder than the source: its paths lead from there.
mkdir -p kernels specs/deep
printf '#include "lib/host.hpp"\n__global__ void far(float *x, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] = 2; }\n' >kernels/far.cu
kiln init kernels/far.cu --stub lib/host.hpp -o specs/deep/far.yaml && grep -E '^(source|include):' specs/deep/far.yaml
ls specs/deep/stubs/lib && kiln tune specs/deep/far.yaml --read-anywhere -q | grep configurations
# The source may stand in the command line of nvcc alone.
kiln init --nvcc 'nvcc -I other -Xptxas -v -o p.cu p.cu' | grep -E '^(source|options|  kernel)'
kiln init --nvcc 'nvcc -DX=1 p.cu m.cu'; echo $?
kiln init --nvcc 'nvcc -O3 -o p.cu'; echo $?
kiln init; echo $?
