// mri.cu - sums for the reconstruction of an image from samples in k-space that lie anywhere: F^H d and Q.
//
// The image has nx x ny x nz voxels, x fastest, over a field of view of length 1: voxel i of n lies at (i - n / 2) /
// n (n / 2 rounded down, the quotient to single precision). Sample s lies at (kx, ky, kz)[s], in cycles over the
// field of view, and has two complex numbers: phi, what the coil sees, and d, what was measured. Each voxel gets
//   sum over all s of w[s] exp(i 2 pi (kx x + ky y + kz z)),   w = conj(phi) d for F^H d (Q 0), |phi|^2 for Q (Q 1).
// A pair of a voxel and a sample costs a sine and a cosine: the bound is what the special-function units do, 16 a clock
// and multiprocessor from sm_70 on, so 8 pairs. mri_rotation needs neither where samples are evenly spaced, and
// mri_factored few wherever they are.
//
// What the answer is: sums in single precision. The error is stated in units of sqrt(sum |w|^2), which is the root mean
// square of the image for samples that are apart. It comes from the angle: single precision leaves 2^-24 of as many
// cycles as the angle has. Any k with |k| < 2^20 will do; mri_fast_trig and mri_factored make a coordinate of two, each
// rounded, so that at sizes other than powers of two they add 2^-25 |k| cycles. A sample that is infinite or NaN makes
// infinite or NaN of all voxels; a k that is makes NaN. All kernels but mri_scatter_atomic give the same bits in every
// run.
//
// The tuning parameters are macros. A spec sets them; the defaults are for an editor or a compiler that is given none.
// A kernel is compiled where its own macro MRI_<NAME> is set, or where MRI_ONE is not.

#include "common.cuh"

#ifndef Q
#define Q 0 // 0: F^H d, 1: Q
#endif
#ifndef LINE
#define LINE 256 // samples that may be evenly spaced: mri_rotation looks at so many at once
#endif
#ifndef BLOCK
#define BLOCK 128 // threads of a block
#endif
#ifndef CHUNK
#define CHUNK 1024 // samples in constant memory, 20 bytes each
#endif
#ifndef LAYOUT
#define LAYOUT 0 // there: 0 an array of each number, 1 the numbers of a sample side by side
#endif
#ifndef UNROLL
#define UNROLL 4 // samples that the loop takes at once
#endif
#ifndef BLOCK_X
#define BLOCK_X 32 // where threads have several voxels: threads of a block along x, the others are in the rows behind
#endif
#ifndef POINTS
#define POINTS 4 // voxels of a thread
#endif
#ifndef STAGE
#define STAGE 256 // mri_fast_trig: samples in shared memory at a time
#endif
#ifndef EXACT
#define EXACT 1 // mri_fast_trig: 1: the angle without whole turns, before it is rounded; 0: as it is
#endif
#ifndef INTERVAL
#define INTERVAL 32 // mri_rotation: samples from one sine and cosine to the next; divides LINE
#endif

#ifndef DEPTH
#define DEPTH 32 // mri_factored: samples in shared memory at a time
#endif
#ifndef LANES_X
#define LANES_X 16 // mri_factored: threads of a block along x
#endif
#ifndef ROWS
#define ROWS 4 // mri_factored: rows of a thread, a multiple of 4
#endif
#ifndef PAIRS
#define PAIRS 4 // mri_factored: pairs of voxels of a thread in each of its rows, a multiple of 4
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

// What a sample counts.
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

// Adds a sample to a voxel's sum; cycles are what the angle has.
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
// A thread a sample and slice: it makes its weight, then adds to every voxel of the slice. All lanes add to the same
// voxel at once, and the sum has another order in every run. Atomics take numbers that are not normal for 0.
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

// ---- the loop split in two: weights first, a thread a sample; then a thread a voxel ----

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
// Now the loops can change places: a thread a voxel, over all samples, without atomics. What it reads could lie where
// it writes, for all that the compiler knows; so each turn of the loop reads and writes the sums.
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
// The sums in registers, written once.
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
// The same, but that the compiler is told that nothing else is where it writes: it takes the path for data that are
// only read, and asks for the next samples early.
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

// ---- samples in constant memory, a chunk of them a launch ----

// All lanes of a warp read the same sample. The five numbers of a sample lie in five arrays, or side by side: then they
// are in one line of the cache.
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
// Weights, and the samples as the chunks have them; the last chunk is filled up with zeros.
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

// ---- several voxels of a row a thread: BLOCK_X apart, so that lanes write neighbours ----

// The voxels of a thread: x[0] to x[POINTS - 1] in row y of slice z. A grid is tiles of a row, rows, slices.
struct Row {
    float x[POINTS], y, z;
    int first, inside; // of the row: the first voxel's place; where the voxels of the image end
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

// Adds to what the launch before left, or writes.
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
// A sample is read once for POINTS voxels, and what y and z contribute to the angle is made once.
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

// k x without whole cycles: the product is rounded once, after they were taken off. Adding 1.5 2^23 rounds to an
// integer.
__device__ __forceinline__ float fraction(float k, float x)
{
    const float rounder = 12582912;
    float whole = __fadd_rn(__fmaf_rn(k, x, rounder), -rounder);
    return __fmaf_rn(k, x, -whole);
}

// sin.approx and cos.approx: a multiplication by 1 / (2 pi) and an instruction of the special-function unit each.
// Within 2^-20.5 in the first turns; further off by the rounding of the angle.
__device__ __forceinline__ void add_fast(float2 &sum, float2 w, float radians)
{
    add_turned(sum, w, __sinf(radians), __cosf(radians));
}

// The angle of a sample in two parts: what y and z contribute, and (angle_x) what x does.
__device__ __forceinline__ float angle_yz(float ky, float kz, float y, float z, bool exact)
{
    return TURN * (exact ? fraction(ky, y) + fraction(kz, z) : ky * y + kz * z);
}

__device__ __forceinline__ float angle_x(float kx, float x, float rest, bool exact)
{
    return exact ? __fmaf_rn(fraction(kx, x), TURN, rest) : __fmaf_rn(kx * TURN, x, rest);
}

#if defined MRI_FAST_TRIG || !defined MRI_ONE
// Two instructions of the special-function unit a pair, which takes one of a warp every 8 clocks: 16 instructions can
// begin meanwhile. EXACT takes whole turns off the angle of a thread's first voxel and off its growth from one voxel to
// the next, before either is rounded, so a pair needs one addition more for its angle and 9 instructions in all.
// Without it the angle keeps its whole turns, and loses as many bits to them.
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

// ---- evenly spaced samples: no sine and no cosine for most of them ----

#if defined MRI_ROTATION || !defined MRI_ONE

// The k of LINE samples: start + j step for sample j of them, where they are evenly spaced.
struct Line {
    float start[3], step[3];
    int even; // 0: they are not, or a weight is so large or infinite or NaN that a sum of turned ones could be another
};

// A warp a line.
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

// exp(i 2 pi step . voxel), as exact as single precision can be: an error in the angle counts once for each sample.
__device__ __forceinline__ float2 turn_of(const Line &line, float x, float y, float z)
{
    double cycles = (double)line.step[0] * x + (double)line.step[1] * y + (double)line.step[2] * z;
    cycles -= rint(cycles);
    float most = (float)cycles, rest = TURN * (float)(cycles - most), sine, cosine;
    sincospif(2 * most, &sine, &cosine);
    return {cosine - rest * sine, sine + rest * cosine};
}

// From one sample of a line to the next the angle grows by the same for a voxel: a sum over INTERVAL of them is a
// polynomial in turn = exp(i angle), which Horner's scheme evaluates by four multiplications with addition a sample.
// Then the sum is turned by the angle of its first sample, which takes a sine and a cosine. Rounding turn is an error
// in the angle that grows from sample to sample, so the error grows with INTERVAL: the time falls with it.
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

// ---- voxels lie on a lattice: factors of a row and of a column ----

#if defined MRI_FACTORED || !defined MRI_ONE

enum : int {
    LANES_Y = BLOCK / LANES_X,
    TILE_ROWS = LANES_Y * ROWS, // of a block
    TILE_PAIRS = LANES_X * PAIRS
};

// A column lies at the middle of the row plus or minus an offset: column middle + m and its mirror image have the same.
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

// Of others, the sum of products could be another infinity than the product: they are added at the end, one by one.
__device__ __forceinline__ bool is_moderate(float2 w)
{
    return fabsf(w.x) + fabsf(w.y) < 0x1p100f;
}

// `count` is a multiple of 4.
template <int count> __device__ __forceinline__ void read_four(float to[], const float *from)
{
#pragma unroll
    for (int i = 0; i < count; i += 4) {
        float4 four = *(const float4 *)(from + i);
        to[i] = four.x, to[i + 1] = four.y, to[i + 2] = four.z, to[i + 3] = four.w;
    }
}

// exp(i 2 pi (kx x + ky y + kz z)) is a factor of the row, w exp(i 2 pi (ky y + kz z)), times one of the column,
// exp(i 2 pi kx x): for a tile of rows x columns, sines and cosines are few, and what is left is a product of matrices.
// Columns left and right of the middle of a row have conjugate factors: with a + ib of the row (the middle's angle is
// in it) and c + is of the column, the two voxels get ac -+ bs and bc +- as. The four products are summed up apart, so
// that a pair of a voxel and a sample costs two multiplications with addition.
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
    // The row and the column whose factors this thread makes.
    int made_row = min(first_row + (int)threadIdx.x % TILE_ROWS, rows - 1);
    float y = coordinate(made_row % ny, ny), z = coordinate(made_row / ny, nz);
    float middle = nx % 2 == 0 ? __fdiv_rn(-0.5f, (float)nx) : 0;
    float offset_x = pair_of(first_pair + threadIdx.x % TILE_PAIRS, nx).offset;
    float ac[ROWS][PAIRS] = {}, bs[ROWS][PAIRS] = {}, bc[ROWS][PAIRS] = {}, as[ROWS][PAIRS] = {};
    bool finite = true;
    float3 next_k = {0, 0, 0}; // the sample of this thread in the next stage, which is read while this one is added up
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
