/* The mean of each element and its right neighbour, through each kind of texture; and sums of texels of small types. */
extern "C" __global__ void plain(const float *in, float *out, int n, int width)
{
    const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n)
        out[i] = 0.5f * in[i] + 0.5f * in[i % width == width - 1 ? i : i + 1];
}

struct held {
    int width;
    cudaTextureObject_t in;
};

template <int kind> __device__ float mean(cudaTextureObject_t t, float x, float y, float z, int i, int width)
{
    if (kind == 0) /* zero outside */
        return 0.5f * tex1Dfetch<float>(t, i) +
               0.5f * tex1Dfetch<float>(t, i % width == width - 1 ? i : i + 1) + tex1Dfetch<float>(t, -1 - i);
    if (kind == 1)
        return tex2D<float>(t, x, y);
    if (kind == 2)
        return tex3D<float>(t, x, y, z);
    if (kind == 3)
        return tex2DLayered<float>(t, x, y, (int)z);
    if (kind == 4)
        return tex1DLayered<float>(t, x, (int)y);
    /* from 1 to 2 and from 2 to 3, which is the same where it wraps; the last column is its own neighbour */
    const float at = x >= (float)width ? x - 0.5f : x;
    return tex2D<float>(t, 1 + at / (float)width, y);
}

/* x: between two texels of a row. Rows count through all planes but for kinds 2 and 3. */
template <int kind>
__global__ void through(cudaTextureObject_t in, float *out, int n, int width, int height, int rows)
{
    const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x), row = i / width;
    const bool planes = kind == 2 || kind == 3;
    const float y = (float)(planes ? row % height : row) + 0.5f, z = (float)(row / height) + (kind == 2 ? 0.5f : 0.0f);
    if (i < n)
        out[i] = mean<kind>(in, (float)(i % width) + 1.0f, kind == 5 ? 2 + y / (float)rows : y, z, i, width);
}

extern "C" __global__ void in_struct(held in, float *out, int n)
{
    const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n)
        out[i] = tex2D<float>(in.in, (float)(i % in.width) + 1.0f, (float)(i / in.width) + 0.5f);
}

/* Four bytes as fractions and a pair of short integers. */
extern "C" __global__ void texels(cudaTextureObject_t bytes, cudaTextureObject_t pairs, float *out, int width)
{
    const int x = (int)threadIdx.x, y = (int)blockIdx.x;
    const float4 b = tex2D<float4>(bytes, (float)x + 0.5f, (float)y + 0.5f);
    const short2 p = tex1Dfetch<short2>(pairs, y * width + x);
    out[y * width + x] = b.x + 10 * b.y + 100 * b.z + 1000 * b.w + 10000 * (float)(p.x - p.y);
}
extern "C" __global__ void texels_plain(const unsigned char *bytes, const short *pairs, float *out, int width)
{
    const int i = (int)(blockIdx.x * width + threadIdx.x);
    const unsigned char *b = bytes + 4 * i;
    const float to = 1.0f / 255.0f;
    out[i] = to * b[0] + 10 * to * b[1] + 100 * to * b[2] + 1000 * to * b[3] +
             10000 * (float)(pairs[2 * i] - pairs[2 * i + 1]);
}
