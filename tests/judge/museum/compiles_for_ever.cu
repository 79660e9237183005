// spec: axpby   expect: compile,timeout
// Templates that never end keep the compiler busy.
#if CHEAT
template <int N> struct tree { static const int value = tree<N - 1>::value + tree<N - 2>::value * (N % 3 == 0); };
template <int A, int B> struct wide { typedef typename wide<A - 1, B * 2 + 1>::type left; typedef typename wide<A - 1, B * 2>::type type; };
template <int B> struct wide<0, B> { typedef int type; };
typedef wide<40, 0>::left endless;
#endif
extern "C" __global__ void axpby(float a, const float *x, float b, const float *y, float *z, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        z[i] = a * x[i] + b * y[i];
}
