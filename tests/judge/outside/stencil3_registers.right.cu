// spec: stencil3
// Right: the values above and below stay in registers.
extern "C" __global__ void stencil3(const float *x, float *y, int depth, int height, int width)
{
    const int w = blockIdx.x * 32 + threadIdx.x, h = blockIdx.y * 4 + threadIdx.y;
    if (w >= width || h >= height)
        return;
    const bool inside = h > 0 && h < height - 1 && w > 0 && w < width - 1;
    const int plane = height * width;
    int at = h * width + w;
    float below = 0, here = x[at], above = depth > 1 ? x[at + plane] : 0;
    for (int d = 0; d < depth; d++, at += plane) {
        float v = here;
        if (inside && d > 0 && d < depth - 1)
            v = 0.4f * here + 0.1f * (x[at - 1] + x[at + 1] + x[at - width] + x[at + width] + below + above);
        y[at] = v;
        below = here;
        here = above;
        if (d + 2 < depth)
            above = x[at + 2 * plane];
    }
}
