#include "help.h"
namespace img {
#if FAST
#define R 1
#else
#define R 2
#endif
__global__ __launch_bounds__(256) void blur(const unsigned char *__restrict__ in, unsigned char *out, int width, int height, const float *mask)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    float sum = 0;
    for (int j = -R; j <= R; j++)
        for (int i = -R; i <= R; i++)
            sum += mask[(j + R) * (2 * R + 1) + i + R] * in[clamp(y + j, height) * width + clamp(x + i, width)];
    out[y * width + x] = (unsigned char)sum;
}
}
