// spec: stencil3
// Wrong: no barrier after the tile is filled; a race.
extern "C" __global__ void stencil3(const float *x, float *y, int depth, int height, int width)
{
    __shared__ float tile[6][34];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int w = blockIdx.x * 32 + tx, h = blockIdx.y * 4 + ty;
    const bool valid = w < width && h < height;
    const bool inside = h > 0 && h < height - 1 && w > 0 && w < width - 1;
    const int plane = height * width;
    for (int d = 0; d < depth; d++) {
        const float *from = x + d * plane;
        for (int k = ty * 32 + tx; k < 6 * 34; k += 128) {
            const int hh = (int)blockIdx.y * 4 + k / 34 - 1, ww = (int)blockIdx.x * 32 + k % 34 - 1;
            tile[k / 34][k % 34] = hh >= 0 && hh < height && ww >= 0 && ww < width ? from[hh * width + ww] : 0.0f;
        }
        if (valid) {
            float v = tile[ty + 1][tx + 1];
            if (inside && d > 0 && d < depth - 1)
                v = 0.4f * v + 0.1f * (tile[ty + 1][tx] + tile[ty + 1][tx + 2] + tile[ty][tx + 1] + tile[ty + 2][tx + 1] +
                                       from[h * width + w - plane] + from[h * width + w + plane]);
            y[d * plane + h * width + w] = v;
        }
        __syncthreads(); // used
    }
}
