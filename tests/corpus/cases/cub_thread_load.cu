//! T = u8 int float double wide
//! HOW = LOAD_DEFAULT LOAD_CA LOAD_CG LOAD_CS LOAD_CV LOAD_LDG LOAD_VOLATILE
#include <cub/thread/thread_load.cuh>
#include <cub/thread/thread_store.cuh>
#include "prelude.h"
extern "C" __global__ void k(T *in, T *out)
{
    cub::ThreadStore<cub::STORE_CG>(out + threadIdx.x, cub::ThreadLoad<cub::HOW>(in + threadIdx.x));
    cub::ThreadStore<cub::STORE_WT>(out + threadIdx.x + 32, cub::ThreadLoad<cub::HOW>(in + threadIdx.x + 32));
    cub::ThreadStore<cub::STORE_VOLATILE>(out + threadIdx.x + 64, cub::ThreadLoad<cub::HOW>(in + threadIdx.x + 64));
}
