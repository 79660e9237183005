// spec: stencil3
// Right: the tile is guarded by a barrier written in PTX.
extern "C" __global__ void stencil3(const float *x, float *y, int depth, int height, int width)
{
    __shared__ float rows[4][32];
    const int tx = threadIdx.x, ty = threadIdx.y, w = blockIdx.x * 32 + tx, h = blockIdx.y * 4 + ty;
    const bool valid = w < width && h < height, inside = h > 0 && h < height - 1 && w > 0 && w < width - 1;
    const int plane = height * width;
    for (int d = 0; d < depth; d++) {
        const int at = d * plane + h * width + w;
        const float v = valid ? x[at] : 0.0f;
        rows[ty][tx] = v;
        asm volatile("barrier.sync 1, 128;" ::: "memory");
        if (valid) {
            float z = v;
            if (inside && d > 0 && d < depth - 1) {
                const float left = tx > 0 ? rows[ty][tx - 1] : x[at - 1], right = tx < 31 ? rows[ty][tx + 1] : x[at + 1];
                const float up = ty > 0 ? rows[ty - 1][tx] : x[at - width], down = ty < 3 ? rows[ty + 1][tx] : x[at + width];
                z = 0.4f * v + 0.1f * (left + right + up + down + x[at - plane] + x[at + plane]);
            }
            y[at] = z;
        }
        asm volatile("barrier.sync 1, 128;" ::: "memory");
    }
}
