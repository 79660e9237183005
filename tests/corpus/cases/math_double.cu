//! F = acos acosh asin asinh atan atanh cbrt ceil cos cosh cospi cyl_bessel_i0 cyl_bessel_i1 erfc erfcinv erfcx erf
//! F = erfinv exp10 exp2 exp expm1 fabs floor j0 j1 lgamma log10 log1p log2 logb log nearbyint normcdf normcdfinv rcbrt
//! F = rint round rsqrt sin sinh sinpi sqrt tan tanh tgamma trunc y0 y1 __drcp_rn __drcp_rz __drcp_ru __drcp_rd
//! F = __dsqrt_rn __dsqrt_rz __dsqrt_ru __dsqrt_rd
extern "C" __global__ void k(const double *in, double *out)
{
    out[threadIdx.x] = F(in[threadIdx.x]);
}
