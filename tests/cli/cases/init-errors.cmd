cp "$SPECS"/init/*.cu .
echo mine > taken.yaml
kiln init saxpy.cu -o taken.yaml; echo $?
cat taken.yaml
kiln init odd.cu -k f | grep args
kiln init odd.cu -k h | grep args
echo 'struct big { float x[1000]; }; __global__ void f(float ***x) {} __global__ void g(big b) {}' >odder.cu
kiln init odder.cu -k f; echo $?
kiln init odder.cu -k g; echo $?
kiln init odd.cu -k nothing | sed -n '/^launch/,$p'
kiln init odd.cu -k missing; echo $?
kiln init wrong.cu; echo $?
kiln init nowhere.cu; echo $?
kiln init gemm.json; echo $?
echo 'int main() {}' > none.cu
kiln init none.cu; echo $?
# A guess that does not compile: the message says which ones there are, and how to give others.
cat >wanted.cu <<'END'
extern "C" __global__ void wanted(float *x, int n)
{
    int i = blockIdx.x * 64 + threadIdx.x;
    float wide[DEEP - 4] = {0};
    if (i < n)
        x[i] = wide[0];
}
END
kiln init wanted.cu 2>&1 | tail -1
kiln init wanted.cu -p DEEP=6,8,10 | sed -n '/^params/,/^$/p'
kiln init wanted.cu -p DEEP; echo $?
# Functions without __device__ that a kernel calls.
cat >plain.cu <<'END'
constexpr float half_of(float x) { return x / 2; }
extern "C" __global__ void plain(float *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        x[i] = half_of(i);
}
END
kiln init plain.cu | grep -E '^  kernel|check: a trial'
# Where a header is missing, no guess is the reason.
printf '#include "absent.h"\nextern "C" __global__ void absent(float *x) { x[threadIdx.x] = WIDE; }\n' >absent.cu
kiln init absent.cu -p WIDE=1 2>&1 | grep -c guesses || true
# The source has a main(), as files for nvcc do: it is left out, also where a macro of the kernel is missing.
cat >whole.cu <<'END'
#include <vector>
#include <stdio.h>
extern "C" __global__ void whole(float *x, int n)
{
#pragma unroll UNROLL
    for (int i = 0; i < 4; i++)
        x[(blockIdx.x * blockDim.x + threadIdx.x) * 4 + i] = n;
}
int main()
{
    std::vector<float> host(100);
    float *device;
    cudaMalloc(&device, 400);
    whole<<<1, 100>>>(device, 4);
    printf("done\n");
}
END
kiln init whole.cu 2>&1 | sed -n '/^params/,/^$/p'
