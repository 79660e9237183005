//! F = __brevll __clzll __ffsll __popcll llabs __ll2double_rn __ll2float_rz __longlong_as_double __ll2float_ru
//! F = __ull2double_rd __ull2float_rn
extern "C" __global__ void k(const long long *in, double *out)
{
    out[threadIdx.x] = (double)F(in[threadIdx.x]);
}
