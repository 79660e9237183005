//! T = int u32 u64
//! S = _block _system
#include "prelude.h"
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
extern "C" __global__ void k(T *p, T v, T *out)
{
    out[0] = JOIN(atomicAdd, S)(p, v) + JOIN(atomicExch, S)(p, v) + JOIN(atomicCAS, S)(p, v, v + 1);
    out[1] = JOIN(atomicMin, S)(p, v) + JOIN(atomicMax, S)(p, v) + JOIN(atomicAnd, S)(p, v) + JOIN(atomicOr, S)(p, v);
    out[2] = JOIN(atomicXor, S)(p, v);
    __shared__ T room;
    atomicAdd(&room, v);
    atomicAdd(p + 1, v);
    out[3] = room;
}
