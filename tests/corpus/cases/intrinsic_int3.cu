//! F = __sad __usad __byte_perm __funnelshift_l __funnelshift_lc __funnelshift_r __funnelshift_rc __dp4a
//! F = __viaddmax_s32 __viaddmin_s32 __viaddmax_u32 __viaddmin_u32 __viaddmax_s16x2 __viaddmin_u16x2
//! F = __vimax3_s32 __vimin3_u32 __vimax3_s16x2 __vimin3_u16x2 __vimax3_s32_relu __viaddmax_s32_relu
extern "C" __global__ void k(const int *in, int *out)
{
    out[threadIdx.x] = F(in[threadIdx.x], in[threadIdx.x + 32], in[threadIdx.x + 64]);
}
