// split.cuh - single precision on tensor cores. A float is the sum of three bf16 parts, and six products of such parts
// make a product of floats (TENSOR.md).

#ifndef SPLIT_CUH
#define SPLIT_CUH

#include "common.cuh"
#include "tensor.cuh"

// Returns whether a number can be split: it is zero, or its magnitude is in [2^-102, 2^127).
__device__ __forceinline__ bool is_carried(float x)
{
    unsigned magnitude = __float_as_uint(x) & 0x7fffffff;
    return magnitude == 0 || magnitude - 0x0c800000 < 0x7f000000 - 0x0c800000;
}

// Splits the next bf16 part off some numbers. `pairs` gets these parts, and x keeps the exact remainders.
template <unsigned count> __device__ __forceinline__ void take_part(unsigned (&pairs)[count / 2], float (&x)[count])
{
#pragma unroll
    for (unsigned i = 0; i < count; i += 2)
        pairs[i / 2] = pack_pair(bf16(), x[i], x[i + 1]);
#pragma unroll
    for (unsigned i = 0; i < count; ++i)
        x[i] -= __uint_as_float(i % 2 ? pairs[i / 2] & 0xffff0000 : pairs[i / 2] << 16);
}

// Splits a matrix into its three bf16 parts. Each part is a matrix of rows x stride elements, where the stride is a
// multiple of 8. A block of 128 threads processes a piece of a row, and each thread processes four numbers. A number
// that cannot be split becomes NaN, so every product with this number is NaN.
__device__ __forceinline__ void split_matrix(const float *__restrict__ matrix, uint2 *__restrict__ parts, unsigned rows,
                                             unsigned cols, unsigned stride)
{
    unsigned row = blockIdx.x, col = (blockIdx.y * 128 + threadIdx.x) * 4;
    if (col >= stride)
        return;
    const float *from = matrix + (offset)row * cols + col;
    float x[4];
    if (cols % 4 == 0 && is_aligned<16>(matrix) && col < cols)
        unpack(x, load_quad(from));
    else
#pragma unroll
        for (unsigned i = 0; i < 4; ++i)
            x[i] = col + i < cols ? from[i] : 0.0f;
#pragma unroll
    for (unsigned i = 0; i < 4; ++i)
        x[i] = is_carried(x[i]) ? x[i] : __uint_as_float(0x7fffffff);
#pragma unroll
    for (unsigned part = 0; part < 3; ++part) {
        unsigned pair[2];
        take_part(pair, x);
        parts[((offset)part * rows + row) * (stride / 4) + col / 4] = {pair[0], pair[1]};
    }
}

// Computes the 64 x n accumulators of a warp group over `steps` x 16 elements along K, by six products of parts. The
// products of smaller parts come first. Shared memory has the parts of A, which are part_a bytes apart, and the parts
// of B, which are part_b bytes apart. The next 16 elements along K begin step_a and step_b bytes later. With b_rows, B
// is stored by rows.
template <bool b_rows, unsigned n>
__device__ __forceinline__ void multiply_parts(float (&sum)[n / 2], offset a, unsigned part_a, unsigned step_a, offset b,
                                               unsigned part_b, unsigned step_b, unsigned steps)
{
    const unsigned of_a[6] = {2, 0, 1, 1, 0, 0}, of_b[6] = {0, 2, 1, 0, 1, 0};
    wgmma_keep(sum);
    wgmma_fence();
#pragma unroll
    for (unsigned product = 0; product < 6; ++product)
#pragma unroll
        for (unsigned k = 0; k < steps; ++k)
            wgmma<bf16, n>::template multiply<b_rows>(sum, descriptor_after(a, of_a[product] * part_a + k * step_a),
                                                      descriptor_after(b, of_b[product] * part_b + k * step_b),
                                                      product + k != 0);
    wgmma_commit();
    wgmma_wait<0>();
    wgmma_keep(sum);
}

#endif
