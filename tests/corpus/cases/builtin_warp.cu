//! T = int u32 float double i64 u64
#include "prelude.h"
extern "C" __global__ void k(const T *in, T *out, unsigned mask)
{
    T v = in[threadIdx.x];
    int all;
    out[0] = __shfl_sync(mask, v, 3) + __shfl_up_sync(mask, v, 2, 16) + __shfl_down_sync(mask, v, 1, 8) +
             __shfl_xor_sync(mask, v, 4);
    out[1] = __match_any_sync(mask, v) + __match_all_sync(mask, v, &all) + all;
    out[2] = __ballot_sync(mask, v > 1) + __any_sync(mask, v > 2) + __all_sync(mask, v > 3) + __activemask();
    out[3] = __ldg(in) + __ldcg(in + 1) + __ldca(in + 2) + __ldcs(in + 3) + __ldlu(in + 4) + __ldcv(in + 5);
    __stwb(out + 4, v);
    __stcg(out + 5, v);
    __stcs(out + 6, v);
    __stwt(out + 7, v);
    __syncwarp(mask);
}
