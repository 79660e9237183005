// mri.cu - two sums for the reconstruction of an image from samples at arbitrary places of k-space: F^H d and Q.
//
// The image has nx x ny x nz voxels over a field of view of length 1. Neighbouring voxels along x are neighbours in
// memory. On an axis with n voxels, voxel i is at (i - n / 2) / n. Here n / 2 is rounded down and the quotient is
// rounded to single precision. Sample s is at (kx, ky, kz)[s], in cycles over the field of view. A sample has two
// complex numbers: phi, the sensitivity of the coil, and d, the measured value. Each voxel gets
//     sum over all s of w[s] exp(i 2 pi (kx x + ky y + kz z)),   w = conj(phi) d for F^H d (Q 0), |phi|^2 for Q (Q 1).
// Each pair of a voxel and a sample needs a sine and a cosine. So the special-function units are the bound. From sm_70
// on, a multiprocessor does 16 such operations per clock, which serves 8 pairs. For evenly spaced samples the kernel
// mri_rotation needs neither sine nor cosine per pair. The kernel mri_factored needs few of them for any samples.
//
// The sums are in single precision. The error is stated in units of sqrt(sum |w|^2). If the samples are far apart, this
// unit is the root mean square of the image. The error comes from the angle, whose error in single precision is 2^-24
// times its value. Any k with |k| < 2^20 is allowed. The kernels mri_fast_trig and mri_factored split a coordinate into
// two parts and round each part. So for an nx that is not a power of two, these kernels add an error of 2^-25 |k|
// cycles. An infinite or NaN sample makes all voxels infinite or NaN, and an infinite or NaN k makes all voxels NaN.
// All kernels except mri_scatter_atomic give the same bits in every run.
//
// The tuning parameters are macros. The engine defines these macros from the spec. The defaults below only let an
// editor or a compiler parse this file alone. A kernel is compiled if its own macro MRI_<NAME> is set, or if MRI_ONE is
// not set.

#include "common.cuh"

#ifndef Q
#define Q 0 // 0: F^H d, 1: Q
#endif
#ifndef LINE
#define LINE 256 // number of samples of a line; mri_rotation tests for each line whether its samples are evenly spaced
#endif
#ifndef BLOCK
#define BLOCK 128 // number of threads of a block
#endif
#ifndef CHUNK
#define CHUNK 1024 // number of samples in constant memory, of 20 bytes each
#endif
#ifndef LAYOUT
// layout of the samples in constant memory: 0: five arrays; 1: the five numbers of a sample side by side
#define LAYOUT 0
#endif
#ifndef UNROLL
#define UNROLL 4 // number of samples per iteration of the loop
#endif
#ifndef BLOCK_X
// for kernels with several voxels per thread: threads of a block along x; the other threads process the following rows
#define BLOCK_X 32
#endif
#ifndef POINTS
#define POINTS 4 // number of voxels of a thread
#endif
#ifndef STAGE
#define STAGE 256 // mri_fast_trig: number of samples in shared memory at a time
#endif
#ifndef EXACT
#define EXACT 1 // mri_fast_trig: 1: removes whole turns from the angle before rounding; 0: keeps them
#endif
#ifndef INTERVAL
#define INTERVAL 32 // mri_rotation: number of samples for one sine and one cosine; divides LINE
#endif

#ifndef DEPTH
#define DEPTH 32 // mri_factored: number of samples in shared memory at a time
#endif
#ifndef LANES_X
#define LANES_X 16 // mri_factored: number of threads of a block along x
#endif
#ifndef ROWS
#define ROWS 4 // mri_factored: number of image rows per thread, a multiple of 4
#endif
#ifndef PAIRS
#define PAIRS 4 // mri_factored: number of pairs of voxels that a thread has in each of its rows, a multiple of 4
#endif

#define TURN 6.2831853f

__device__ __forceinline__ float coordinate(int i, int n)
{
    return __fdiv_rn((float)(i - n / 2), (float)n);
}

struct Voxel {
    float x, y, z;
};

__device__ __forceinline__ Voxel voxel(offset v, int nx, int ny, int nz)
{
    return {coordinate(v % nx, nx), coordinate(v / nx % ny, ny), coordinate(v / nx / ny, nz)};
}

// Returns the weight of a sample.
__device__ __forceinline__ float2 weight_of(float2 phi, float2 d)
{
    if (Q)
        return {phi.x * phi.x + phi.y * phi.y, 0};
    return {phi.x * d.x + phi.y * d.y, phi.x * d.y - phi.y * d.x};
}

__device__ __forceinline__ void add_turned(float2 &sum, float2 w, float sine, float cosine)
{
    sum.x += w.x * cosine;
    sum.y += w.x * sine;
    if (!Q) {
        sum.x -= w.y * sine;
        sum.y += w.y * cosine;
    }
}

// Adds the contribution of a sample to the sum of a voxel. `cycles` is the angle in cycles.
__device__ __forceinline__ void add_sample(float2 &sum, float2 w, float cycles)
{
    float sine, cosine;
    sincospif(2 * cycles, &sine, &cosine);
    add_turned(sum, w, sine, cosine);
}

__device__ __forceinline__ float cycles_of(float kx, float ky, float kz, const Voxel &at)
{
    return kx * at.x + ky * at.y + kz * at.z;
}

#if defined MRI_SCATTER_ATOMIC || !defined MRI_ONE
// Each thread processes one sample and one slice of the image, which is one z. The thread computes the weight of the
// sample, and then adds to every voxel of the slice. All lanes of a warp add to the same voxel at once, and the order
// of the additions differs from run to run. Atomics treat denormal numbers as 0.
extern "C" __global__ void __launch_bounds__(BLOCK)
    mri_scatter_atomic(const float *kx, const float *ky, const float *kz, const float2 *phi, const float2 *d,
                       unsigned samples, float *re, float *im, int nx, int ny, int nz)
{
    unsigned s = blockIdx.x * BLOCK + threadIdx.x;
    if (s >= samples)
        return;
    float2 w = weight_of(phi[s], d[s]);
    offset begin = (offset)blockIdx.y * nx * ny;
    for (int v = 0; v < nx * ny; v++) {
        float2 sum = {0, 0};
        add_sample(sum, w, cycles_of(kx[s], ky[s], kz[s], voxel(begin + v, nx, ny, nz)));
        atomicAdd(&re[begin + v], sum.x);
        atomicAdd(&im[begin + v], sum.y);
    }
}
#endif

// ---- two kernels: first the weights, one thread per sample; then the sums, one thread per voxel ----

#if defined MRI_WEIGHTS || !defined MRI_ONE
extern "C" __global__ void __launch_bounds__(BLOCK)
    mri_weights(const float2 *phi, const float2 *d, float2 *weights, unsigned samples)
{
    unsigned s = blockIdx.x * BLOCK + threadIdx.x;
    if (s < samples)
        weights[s] = weight_of(phi[s], d[s]);
}
#endif

#if defined MRI_GATHER || !defined MRI_ONE
// mri_weights() has written the weight of each sample. So the loop over the voxels and the loop over the samples can be
// exchanged. One thread per voxel adds the contributions of all samples, without atomics. The compiler must assume that
// the inputs may overlap with the outputs, so each iteration of the loop reads and writes the sums.
extern "C" __global__ void __launch_bounds__(BLOCK)
    mri_gather(const float *kx, const float *ky, const float *kz, const float2 *weights, unsigned samples, float *re,
               float *im, int nx, int ny, int nz)
{
    offset v = tile_begin(BLOCK) + threadIdx.x;
    if (v >= (offset)nx * ny * nz)
        return;
    Voxel at = voxel(v, nx, ny, nz);
    re[v] = im[v] = 0;
    for (unsigned s = 0; s < samples; s++) {
        float2 sum = {re[v], im[v]};
        add_sample(sum, weights[s], cycles_of(kx[s], ky[s], kz[s], at));
        re[v] = sum.x;
        im[v] = sum.y;
    }
}
#endif

#if defined MRI_REGISTERS || !defined MRI_ONE
// The sums stay in registers, and each thread writes them once.
extern "C" __global__ void __launch_bounds__(BLOCK)
    mri_registers(const float *kx, const float *ky, const float *kz, const float2 *weights, unsigned samples, float *re,
                  float *im, int nx, int ny, int nz)
{
    offset v = tile_begin(BLOCK) + threadIdx.x;
    if (v >= (offset)nx * ny * nz)
        return;
    Voxel at = voxel(v, nx, ny, nz);
    float2 sum = {0, 0};
    for (unsigned s = 0; s < samples; s++)
        add_sample(sum, weights[s], cycles_of(kx[s], ky[s], kz[s], at));
    re[v] = sum.x;
    im[v] = sum.y;
}
#endif

#if defined MRI_READONLY || !defined MRI_ONE
// Does the same as mri_registers, but the pointers are __restrict__. So the compiler knows that the outputs do not
// overlap with the inputs. It reads the inputs through the path for read-only data, and loads the next samples early.
extern "C" __global__ void __launch_bounds__(BLOCK)
    mri_readonly(const float *__restrict__ kx, const float *__restrict__ ky, const float *__restrict__ kz,
                 const float2 *__restrict__ weights, unsigned samples, float *__restrict__ re, float *__restrict__ im,
                 int nx, int ny, int nz)
{
    offset v = tile_begin(BLOCK) + threadIdx.x;
    if (v >= (offset)nx * ny * nz)
        return;
    Voxel at = voxel(v, nx, ny, nz);
    float2 sum = {0, 0};
#pragma unroll UNROLL
    for (unsigned s = 0; s < samples; s++)
        add_sample(sum, weights[s], cycles_of(kx[s], ky[s], kz[s], at));
    re[v] = sum.x;
    im[v] = sum.y;
}
#endif

// ---- samples in constant memory: each launch adds one chunk of CHUNK samples ----

// All lanes of a warp read the same sample. The five numbers of a sample are in five arrays, or side by side. Side by
// side they lie in the same or in neighbouring cache lines.
__constant__ float mri_chunk[5 * CHUNK];

struct Sample {
    float kx, ky, kz;
    float2 w;
};

__host__ __device__ constexpr unsigned word_of(unsigned s, unsigned field)
{
    return LAYOUT ? 5 * s + field : field * CHUNK + s;
}

__device__ __forceinline__ Sample sample(unsigned s)
{
    return {mri_chunk[word_of(s, 0)], mri_chunk[word_of(s, 1)], mri_chunk[word_of(s, 2)],
            {mri_chunk[word_of(s, 3)], mri_chunk[word_of(s, 4)]}};
}

#if defined MRI_PACK || !defined MRI_ONE
// Computes the weights, and writes the samples in the layout of the chunks in constant memory. Zeros fill up the last
// chunk.
extern "C" __global__ void __launch_bounds__(BLOCK)
    mri_pack(const float *kx, const float *ky, const float *kz, const float2 *phi, const float2 *d, float *packed,
             unsigned samples, unsigned room)
{
    unsigned s = blockIdx.x * BLOCK + threadIdx.x;
    if (s >= room)
        return;
    float2 w = s < samples ? weight_of(phi[s], d[s]) : make_float2(0, 0);
    float words[5] = {s < samples ? kx[s] : 0, s < samples ? ky[s] : 0, s < samples ? kz[s] : 0, w.x, w.y};
    for (unsigned field = 0; field < 5; field++)
        packed[(offset)(s / CHUNK) * 5 * CHUNK + word_of(s % CHUNK, field)] = words[field];
}
#endif

template <unsigned unroll>
__device__ __forceinline__ void add_chunk(unsigned count, float *re, float *im, int nx, int ny, int nz)
{
    offset v = tile_begin(BLOCK) + threadIdx.x;
    if (v >= (offset)nx * ny * nz)
        return;
    Voxel at = voxel(v, nx, ny, nz);
    float2 sum = {0, 0};
#pragma unroll unroll
    for (unsigned s = 0; s < count; s++) {
        Sample one = sample(s);
        add_sample(sum, one.w, cycles_of(one.kx, one.ky, one.kz, at));
    }
    re[v] += sum.x;
    im[v] += sum.y;
}

#if defined MRI_CONSTANT_CHUNKS || !defined MRI_ONE
extern "C" __global__ void __launch_bounds__(BLOCK)
    mri_constant_chunks(unsigned count, float *re, float *im, int nx, int ny, int nz)
{
    add_chunk<1>(count, re, im, nx, ny, nz);
}
#endif

#if defined MRI_UNROLLED || !defined MRI_ONE
extern "C" __global__ void __launch_bounds__(BLOCK)
    mri_unrolled(unsigned count, float *re, float *im, int nx, int ny, int nz)
{
    add_chunk<UNROLL>(count, re, im, nx, ny, nz);
}
#endif

// ---- several voxels of a row per thread, BLOCK_X apart, so that the lanes of a warp write neighbouring voxels ----

// The voxels of a thread have the coordinates x[0] to x[POINTS - 1], y and z, and lie in one row of one slice of the
// image. The x index of the grid counts tiles of a row, the y index groups of rows, and the z index slices.
struct Row {
    float x[POINTS], y, z;
    // index of the thread's first voxel in the row; the number of voxels in the row, or 0 outside the image
    int first, inside;
    offset begin;
};

__device__ __forceinline__ Row row_of_thread(int nx, int ny, int nz)
{
    Row row;
    int y = blockIdx.y * (BLOCK / BLOCK_X) + threadIdx.x / BLOCK_X;
    row.first = blockIdx.x * BLOCK_X * POINTS + threadIdx.x % BLOCK_X;
    row.inside = y < ny ? nx : 0;
    row.y = coordinate(y, ny);
    row.z = coordinate(blockIdx.z, nz);
    row.begin = ((offset)blockIdx.z * ny + y) * nx;
#pragma unroll
    for (int k = 0; k < POINTS; k++)
        row.x[k] = coordinate(row.first + k * BLOCK_X, nx);
    return row;
}

// Writes the sums of a thread. With `add`, the function adds them to the results of the previous launch.
template <bool add>
__device__ __forceinline__ void write_row(const float2 sums[POINTS], const Row &row, float *re, float *im)
{
#pragma unroll
    for (int k = 0; k < POINTS; k++)
        if (row.first + k * BLOCK_X < row.inside) {
            offset v = row.begin + row.first + k * BLOCK_X;
            re[v] = add ? re[v] + sums[k].x : sums[k].x;
            im[v] = add ? im[v] + sums[k].y : sums[k].y;
        }
}

#if defined MRI_COARSENED || !defined MRI_ONE
// A thread reads each sample once for POINTS voxels. For all of them it computes the contribution of y and z to the
// angle once.
extern "C" __global__ void __launch_bounds__(BLOCK)
    mri_coarsened(unsigned count, float *re, float *im, int nx, int ny, int nz)
{
    Row row = row_of_thread(nx, ny, nz);
    float2 sums[POINTS] = {};
#pragma unroll UNROLL
    for (unsigned s = 0; s < count; s++) {
        Sample one = sample(s);
        float rest = one.ky * row.y + one.kz * row.z;
#pragma unroll
        for (int k = 0; k < POINTS; k++)
            add_sample(sums[k], one.w, one.kx * row.x[k] + rest);
    }
    write_row<true>(sums, row, re, im);
}
#endif

// ---- the special-function unit ----

// Returns k x minus the nearest whole number of cycles. The whole cycles are removed before the product is rounded, so
// the result is rounded only once. Adding 1.5 2^23 and subtracting it rounds a number to an integer.
__device__ __forceinline__ float fraction(float k, float x)
{
    const float rounder = 12582912;
    float whole = __fadd_rn(__fmaf_rn(k, x, rounder), -rounder);
    return __fmaf_rn(k, x, -whole);
}

// The instructions sin.approx and cos.approx need a multiplication by 1 / (2 pi) and one instruction of the
// special-function unit each. The error of both is below 2^-20.5 for the first turns. For larger angles, the rounding
// of the angle is an additional error.
__device__ __forceinline__ void add_fast(float2 &sum, float2 w, float radians)
{
    add_turned(sum, w, __sinf(radians), __cosf(radians));
}

// Two functions compute the angle of a sample. angle_yz() returns the contribution of y and z. angle_x() adds the
// contribution of x to it.
__device__ __forceinline__ float angle_yz(float ky, float kz, float y, float z, bool exact)
{
    return TURN * (exact ? fraction(ky, y) + fraction(kz, z) : ky * y + kz * z);
}

__device__ __forceinline__ float angle_x(float kx, float x, float rest, bool exact)
{
    return exact ? __fmaf_rn(fraction(kx, x), TURN, rest) : __fmaf_rn(kx * TURN, x, rest);
}

#if defined MRI_FAST_TRIG || !defined MRI_ONE
// A pair of a voxel and a sample needs two instructions of the special-function unit, which accepts one instruction of
// a warp every 8 clocks. So a multiprocessor partition can issue 16 instructions per pair in this time. With EXACT,
// whole turns are removed from two angles before they are rounded: the angle of a thread's first voxel, and the
// difference between the thread's successive voxels. A pair then needs one multiply-add for its angle, and 9
// instructions in all. Without EXACT the angle keeps its whole turns, and these take bits from the fraction.
extern "C" __global__ void __launch_bounds__(BLOCK)
    mri_fast_trig(const float *kx, const float *ky, const float *kz, const float2 *phi, const float2 *d,
                  unsigned samples, float *re, float *im, int nx, int ny, int nz)
{
    __shared__ float4 stage[STAGE];
    __shared__ float2 stage_more[STAGE];
    Row row = row_of_thread(nx, ny, nz);
    float2 sums[POINTS] = {};
    float step = __fdiv_rn((float)BLOCK_X, (float)nx);
    for (unsigned first = 0; first < samples; first += STAGE) {
        unsigned here = min((unsigned)STAGE, samples - first);
        __syncthreads();
        for (unsigned s = threadIdx.x; s < here; s += BLOCK) {
            float2 w = weight_of(phi[first + s], d[first + s]);
            stage[s] = make_float4(kx[first + s], ky[first + s], kz[first + s], w.x);
            stage_more[s] = make_float2(TURN * fraction(kx[first + s], step), w.y);
        }
        __syncthreads();
#pragma unroll UNROLL
        for (unsigned s = 0; s < here; s++) {
            float4 one = stage[s];
            float2 more = Q && !EXACT ? make_float2(0, 0) : stage_more[s], w = {one.w, more.y};
            float rest = angle_yz(one.y, one.z, row.y, row.z, EXACT), start = angle_x(one.x, row.x[0], rest, EXACT);
#pragma unroll
            for (int k = 0; k < POINTS; k++)
                add_fast(sums[k], w,
                         EXACT ? __fmaf_rn((float)k, more.x, start) : angle_x(one.x, row.x[k], rest, false));
        }
    }
    write_row<false>(sums, row, re, im);
}
#endif

// ---- evenly spaced samples: most of them need no sine and no cosine ----

#if defined MRI_ROTATION || !defined MRI_ONE

// The k of a line, which is LINE successive samples. If they are evenly spaced, sample j of the line is at start + j
// step.
struct Line {
    float start[3], step[3];
    // 0: the samples are not evenly spaced, or a weight is infinite, NaN or so large that a sum of rotated weights
    // could overflow
    int even;
};

// Tests one line per warp and writes its Line. Also writes the weights of the samples.
extern "C" __global__ void __launch_bounds__(BLOCK)
    mri_lines(const float *kx, const float *ky, const float *kz, const float2 *phi, const float2 *d, float2 *weights,
              Line *lines, unsigned samples)
{
    unsigned line = blockIdx.x * (BLOCK / WARP) + warp_id(), first = line * LINE;
    if (first >= samples)
        return;
    unsigned here = min((unsigned)LINE, samples - first), next = here > 1 ? first + 1 : first;
    const float *const k[3] = {kx, ky, kz};
    Line of;
    for (int i = 0; i < 3; i++) {
        of.start[i] = k[i][first];
        of.step[i] = k[i][next] - of.start[i];
    }
    bool even = true;
    for (unsigned j = lane_id(); j < here; j += WARP) {
        float2 w = weight_of(phi[first + j], d[first + j]);
        weights[first + j] = w;
        even = even && fabsf(w.x) + fabsf(w.y) < 0x1p100f;
        for (int i = 0; i < 3; i++)
            even = even && k[i][first + j] == __fmaf_rn((float)j, of.step[i], of.start[i]);
    }
    of.even = __all_sync(ALL_LANES, even);
    if (lane_id() == 0)
        lines[line] = of;
}

// Returns exp(i 2 pi step . voxel) as exactly as single precision allows, because an error in this angle adds up from
// sample to sample.
__device__ __forceinline__ float2 turn_of(const Line &line, float x, float y, float z)
{
    double cycles = (double)line.step[0] * x + (double)line.step[1] * y + (double)line.step[2] * z;
    cycles -= rint(cycles);
    float most = (float)cycles, rest = TURN * (float)(cycles - most), sine, cosine;
    sincospif(2 * most, &sine, &cosine);
    return {cosine - rest * sine, sine + rest * cosine};
}

// For a given voxel, the angle grows by the same amount from each sample of a line to the next. So a sum over INTERVAL
// samples is a polynomial in `turn`, which is exp(i angle). Horner's scheme evaluates it with four multiply-adds per
// sample. Then the result is rotated by the angle of the first sample of the interval, which needs a sine and a cosine.
// The rounding of `turn` makes an error in the angle that grows from sample to sample. So a larger INTERVAL gives a
// larger error and takes less time.
extern "C" __global__ void __launch_bounds__(BLOCK)
    mri_rotation(const float *kx, const float *ky, const float *kz, const float2 *weights, const Line *lines,
                 unsigned samples, float *re, float *im, int nx, int ny, int nz)
{
    __shared__ float2 stage[LINE];
    Row row = row_of_thread(nx, ny, nz);
    float2 sums[POINTS] = {};
    for (unsigned first = 0; first < samples; first += LINE) {
        unsigned here = min((unsigned)LINE, samples - first);
        Line line = lines[first / LINE];
        __syncthreads();
        for (unsigned j = threadIdx.x; j < LINE; j += BLOCK)
            stage[j] = j < here ? weights[first + j] : make_float2(0, 0);
        __syncthreads();
        if (!line.even) {
            for (unsigned j = 0; j < here; j++) {
                float rest = angle_yz(ky[first + j], kz[first + j], row.y, row.z, true);
#pragma unroll
                for (int k = 0; k < POINTS; k++)
                    add_fast(sums[k], stage[j], angle_x(kx[first + j], row.x[k], rest, true));
            }
            continue;
        }
        float2 turn[POINTS];
#pragma unroll
        for (int k = 0; k < POINTS; k++)
            turn[k] = turn_of(line, row.x[k], row.y, row.z);
        for (unsigned begin = 0; begin < here; begin += INTERVAL) {
            float2 part[POINTS] = {};
#pragma unroll UNROLL
            for (int j = INTERVAL - 1; j >= 0; j--) {
                float2 w = stage[begin + j];
#pragma unroll
                for (int k = 0; k < POINTS; k++) {
                    float x = __fmaf_rn(part[k].x, turn[k].x, w.x);
                    float y = Q ? part[k].x * turn[k].y : __fmaf_rn(part[k].x, turn[k].y, w.y);
                    part[k] = {__fmaf_rn(-part[k].y, turn[k].y, x), __fmaf_rn(part[k].y, turn[k].x, y)};
                }
            }
            float k0[3];
#pragma unroll
            for (int i = 0; i < 3; i++)
                k0[i] = __fmaf_rn((float)begin, line.step[i], line.start[i]);
            float rest = angle_yz(k0[1], k0[2], row.y, row.z, true);
#pragma unroll
            for (int k = 0; k < POINTS; k++) {
                float angle = angle_x(k0[0], row.x[k], rest, true), sine = __sinf(angle), cosine = __cosf(angle);
                sums[k].x += part[k].x * cosine - part[k].y * sine;
                sums[k].y += part[k].x * sine + part[k].y * cosine;
            }
        }
    }
    write_row<false>(sums, row, re, im);
}
#endif

// ---- voxels on a lattice: each term is a factor of the row times a factor of the column ----

#if defined MRI_FACTORED || !defined MRI_ONE

enum : int {
    LANES_Y = BLOCK / LANES_X,
    TILE_ROWS = LANES_Y * ROWS, // image rows that a block processes
    TILE_PAIRS = LANES_X * PAIRS
};

// A pair is two columns: the middle of the image row plus an offset, and the middle minus this offset. Both columns
// share this offset.
struct Pair {
    int right, left;
    float offset;
};

__device__ __forceinline__ Pair pair_of(int m, int nx)
{
    int even = nx % 2 == 0;
    return {nx / 2 + m, (nx - 1) / 2 - m, __fdiv_rn((float)(2 * m + even), (float)(2 * nx))};
}

__device__ __forceinline__ float2 turned(float cycles)
{
    float radians = TURN * cycles;
    return {__cosf(radians), __sinf(radians)};
}

__device__ __forceinline__ float2 multiply(float2 a, float2 b)
{
    return {a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x};
}

// Returns whether a weight is small enough for the products below. Larger weights could make infinities in the four
// partial sums although the result is finite. The samples with such weights are added one by one at the end.
__device__ __forceinline__ bool is_moderate(float2 w)
{
    return fabsf(w.x) + fabsf(w.y) < 0x1p100f;
}

// Reads `count` elements. `count` is a multiple of 4.
template <int count> __device__ __forceinline__ void read_four(float to[], const float *from)
{
#pragma unroll
    for (int i = 0; i < count; i += 4) {
        float4 four = *(const float4 *)(from + i);
        to[i] = four.x, to[i + 1] = four.y, to[i + 2] = four.z, to[i + 3] = four.w;
    }
}

// A term of the sum is a factor of the row times a factor of the column. The factor of the row is w exp(i 2 pi (ky y +
// kz z)). The factor of the column is exp(i 2 pi kx x). A tile of rows x columns needs few sines and cosines. The other
// work is a matrix product. Two columns at the same distance to the left and to the right of the middle have conjugate
// factors. Let a + ib be the factor of the row, which includes the angle of the middle. Let c + is be the factor of the
// right column. Then the right voxel gets ac - bs and bc + as, and the left voxel gets ac + bs and bc - as. The kernel
// sums the four products ac, bs, bc and as separately. So a pair of a voxel and a sample costs two multiply-adds.
extern "C" __global__ void __launch_bounds__(BLOCK)
    mri_factored(const float *kx, const float *ky, const float *kz, const float2 *phi, const float2 *d,
                 unsigned samples, float *re, float *im, int nx, int ny, int nz)
{
    __shared__ __align__(16) float row_re[DEPTH][TILE_ROWS], row_im[DEPTH][TILE_ROWS];
    __shared__ __align__(16) float column_cos[DEPTH][TILE_PAIRS], column_sin[DEPTH][TILE_PAIRS];
    __shared__ float3 k[DEPTH];
    __shared__ float2 weight[DEPTH];
    int first_pair = blockIdx.x * TILE_PAIRS, first_row = blockIdx.y * TILE_ROWS, rows = ny * nz;
    int lane_x = threadIdx.x % LANES_X, lane_y = threadIdx.x / LANES_X;
    // The image row and the pair of columns whose factors this thread computes.
    int made_row = min(first_row + (int)threadIdx.x % TILE_ROWS, rows - 1);
    float y = coordinate(made_row % ny, ny), z = coordinate(made_row / ny, nz);
    float middle = nx % 2 == 0 ? __fdiv_rn(-0.5f, (float)nx) : 0;
    float offset_x = pair_of(first_pair + threadIdx.x % TILE_PAIRS, nx).offset;
    float ac[ROWS][PAIRS] = {}, bs[ROWS][PAIRS] = {}, bc[ROWS][PAIRS] = {}, as[ROWS][PAIRS] = {};
    bool finite = true;
    // this thread's sample of the next DEPTH samples, which is loaded while the current samples are added
    float3 next_k = {0, 0, 0};
    float2 next_phi = {0, 0}, next_d = {0, 0};
    auto read_next = [&](unsigned s) {
        bool there = threadIdx.x < DEPTH && s < samples;
        next_k = there ? make_float3(kx[s], ky[s], kz[s]) : make_float3(0, 0, 0);
        next_phi = there ? phi[s] : make_float2(0, 0);
        next_d = there ? d[s] : make_float2(0, 0);
    };
    read_next(threadIdx.x);
#pragma unroll 1
    for (unsigned first = 0; first < samples; first += DEPTH) {
        __syncthreads();
        if (threadIdx.x < DEPTH) {
            float2 w = weight_of(next_phi, next_d);
            finite = finite && is_moderate(w);
            k[threadIdx.x] = next_k;
            weight[threadIdx.x] =
                is_moderate(w) ? multiply(w, turned(fraction(next_k.x, middle))) : make_float2(0, 0);
        }
        __syncthreads();
        read_next(first + DEPTH + threadIdx.x);
        for (unsigned s = threadIdx.x / TILE_ROWS; s < DEPTH; s += BLOCK / TILE_ROWS) {
            float2 factor = multiply(weight[s], turned(fraction(k[s].y, y) + fraction(k[s].z, z)));
            row_re[s][threadIdx.x % TILE_ROWS] = factor.x;
            row_im[s][threadIdx.x % TILE_ROWS] = factor.y;
        }
        for (unsigned s = threadIdx.x / TILE_PAIRS; s < DEPTH; s += BLOCK / TILE_PAIRS) {
            float2 turn = turned(fraction(k[s].x, offset_x));
            column_cos[s][threadIdx.x % TILE_PAIRS] = turn.x;
            column_sin[s][threadIdx.x % TILE_PAIRS] = turn.y;
        }
        __syncthreads();
#pragma unroll UNROLL
        for (unsigned s = 0; s < DEPTH; s++) {
            float a[ROWS], b[ROWS], c[PAIRS], sine[PAIRS];
            read_four<ROWS>(a, &row_re[s][lane_y * ROWS]);
            read_four<ROWS>(b, &row_im[s][lane_y * ROWS]);
            read_four<PAIRS>(c, &column_cos[s][lane_x * PAIRS]);
            read_four<PAIRS>(sine, &column_sin[s][lane_x * PAIRS]);
#pragma unroll
            for (int r = 0; r < ROWS; r++)
#pragma unroll
                for (int m = 0; m < PAIRS; m++) {
                    ac[r][m] = __fmaf_rn(a[r], c[m], ac[r][m]);
                    bs[r][m] = __fmaf_rn(b[r], sine[m], bs[r][m]);
                    bc[r][m] = __fmaf_rn(b[r], c[m], bc[r][m]);
                    as[r][m] = __fmaf_rn(a[r], sine[m], as[r][m]);
                }
        }
    }
    finite = __syncthreads_and(finite);
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        int row = first_row + lane_y * ROWS + r;
        if (row >= rows)
            continue;
#pragma unroll
        for (int m = 0; m < PAIRS; m++) {
            Pair pair = pair_of(first_pair + lane_x * PAIRS + m, nx);
            if (pair.left < 0)
                continue;
            offset right = (offset)row * nx + pair.right, left = (offset)row * nx + pair.left;
            float2 of_left = {ac[r][m] + bs[r][m], bc[r][m] - as[r][m]},
                   of_right = {ac[r][m] - bs[r][m], bc[r][m] + as[r][m]};
            for (unsigned s = 0; s < samples && !finite; s++) {
                float2 w = weight_of(phi[s], d[s]);
                if (is_moderate(w))
                    continue;
                float rest = angle_yz(ky[s], kz[s], coordinate(row % ny, ny), coordinate(row / ny, nz), true);
                add_fast(of_left, w, angle_x(kx[s], coordinate(pair.left, nx), rest, true));
                add_fast(of_right, w, angle_x(kx[s], coordinate(pair.right, nx), rest, true));
            }
            re[left] = of_left.x, im[left] = of_left.y;
            re[right] = of_right.x, im[right] = of_right.y;
        }
    }
}
#endif
