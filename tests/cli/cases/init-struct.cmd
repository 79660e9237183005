# Structures by value: with numbers, arrays, vectors and pointers as fields; one whose fields are not read; lists of
# pointers. What is written runs.
cat >k.cu <<'END'
#include <cuda_fp16.h>
#define TAPS 3
typedef struct params
{
    int width, height;
    const float *__restrict__ in, *extra;
    float taps[TAPS], scale = 1;
    float4 shift;
    unsigned char mode;
    static const int most = 4;
    __host__ __device__ bool inside(int x, int y) const { return x < width && y < height; }
} Params;
template <typename V> struct Pair
{
    V a, b;
};
template <bool SHIFTED> __global__ void k(Params p, Pair<short> pair, float3 v, __half h, float **rows, float *out)
{
    int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y;
    if (x < p.width && y < p.height)
        out[y * p.width + x] = p.in[y * p.width + x] * p.taps[1] + (SHIFTED ? p.shift.w : p.shift.x) + v.z + (float)h + pair.b + rows[0][x];
}
END
kiln init k.cu -o k.yaml
sed -n '/^sizes/,/^$/p; /^buffers/,/^$/p; /^launch/,$p' k.yaml
grep 'trial run' k.yaml
kiln tune k.yaml -q | grep configurations
