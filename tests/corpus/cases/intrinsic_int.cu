//! F = __brev __clz __ffs __popc abs __vabs2 __vabs4 __vabsss2 __vabsss4 __vneg2 __vneg4 __vnegss2 __vnegss4
//! arch 75 100
//! every
extern "C" __global__ void k(const int *in, int *out)
{
    out[threadIdx.x] = F(in[threadIdx.x]);
}
