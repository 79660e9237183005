# The columns of tensor memory that a kernel allocates: constants, constants in registers, and unknown numbers.
cat > t.yaml <<'END'
kiln: 1
name: t
source: t.cu
sizes: {default: {N: 64}}
buffers:
  y: {type: u32, shape: [N], out: true}
metrics: {flops: N, bytes: 4 * N}
params: {WAY: [1, 2, 3]}
launch: {kernel: t, grid: [1], block: [64], args: [y, N]}
END
cat > t.cu <<'END'
#define ALLOC(kind, count) asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(a), kind(count) : "memory")
extern "C" __global__ void t(unsigned *y, int n)
{
    __shared__ unsigned base;
    unsigned a = (unsigned)__cvta_generic_to_shared(&base);
    if (threadIdx.x < 32) {
#if WAY == 1
        ALLOC("n", 128);
#elif WAY == 2
        ALLOC("r", 256);
        ALLOC("n", 64);
#else
        ALLOC("r", n);
#endif
    }
    __syncthreads();
    if (threadIdx.x < n)
        y[threadIdx.x] = base;
}
END
for way in 1 2 3; do kiln inspect t.yaml -p WAY=$way --arch sm_100a | grep 'tensor memory'; done
! kiln inspect add --arch sm_90 | grep 'tensor memory'
