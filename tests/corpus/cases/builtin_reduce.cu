//! F = __reduce_add_sync __reduce_min_sync __reduce_max_sync __reduce_and_sync __reduce_or_sync __reduce_xor_sync
//! arch 80 100
extern "C" __global__ void k(const unsigned *in, unsigned *out)
{
    out[threadIdx.x] = F(0xffffffffu, in[threadIdx.x]) + (unsigned)F(0xffu, in[threadIdx.x] * 3u);
}
