// spec: stencil3
extern "C" __global__ void stencil3(const float *x, float *y, int depth, int height, int width)
{
    const int w = blockIdx.x * 32 + threadIdx.x, h = blockIdx.y * 4 + threadIdx.y;
    if (w >= width || h >= height)
        return;
    const int plane = height * width;
    for (int d = 0; d < depth; d++) {
        const int at = d * plane + h * width + w;
        if (d > 0 && d < depth - 1 && h > 0 && h < height - 1 && w > 0 && w < width - 1)
            y[at] = 0.4f * x[at] + 0.1f * (x[at - 1] + x[at + 1] + x[at - width] + x[at + width] + x[at - plane] + x[at + plane]);
        else
            y[at] = x[at]; // border
    }
}
