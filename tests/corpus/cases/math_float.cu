//! F = acosf acoshf asinf asinhf atanf atanhf cbrtf ceilf cosf coshf cospif cyl_bessel_i0f cyl_bessel_i1f erfcf erfcinvf
//! F = erfcxf erff erfinvf exp10f exp2f expf expm1f fabsf floorf j0f j1f lgammaf log10f log1pf log2f logbf logf
//! F = nearbyintf normcdff normcdfinvf rcbrtf rintf roundf rsqrtf sinf sinhf sinpif sqrtf tanf tanhf tgammaf truncf y0f
//! F = y1f __cosf __exp10f __expf __log10f __log2f __logf __sinf __tanf __saturatef __frcp_rn __frcp_rz __frcp_ru
//! F = __frcp_rd __fsqrt_rn __fsqrt_rz __fsqrt_ru __fsqrt_rd __frsqrt_rn
extern "C" __global__ void k(const float *in, float *out)
{
    out[threadIdx.x] = F(in[threadIdx.x]);
}
