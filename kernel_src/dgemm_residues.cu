// dgemm_residues.cu - C = A B in double precision, computed by the 8-bit integer instructions of the tensor cores.
//
// The method is the second scheme of Ozaki, Uchino and Imamura (arXiv:2504.08009). Rows of A and columns of B are
// scaled by powers of two and rounded to integers. The exact sums of products of these integers are below P / 2 in
// magnitude. P is the product of 14 pairwise coprime moduli of 8 bits. Therefore the remainders of an element of the
// integer product determine the element (Chinese remainder theorem). A matrix product of remainders is a product of
// 8-bit integers with 32-bit accumulators. Fourteen such products take less time than one product of doubles, because
// the integer units are thirty times as fast.
//
// The error is as follows. A row is scaled so that its length (the root of its sum of squares) is 2^53.5 to 2^54.5.
// Rounding gives each of its numbers an error of at most a half. So an element of C has an error of about 2^-55 times
// the length of its row of A times the length of its column of B. If all numbers have about the same size, a sum in
// double precision has the same error. If the large numbers of a row meet small numbers of the column, a sum in double
// precision has a smaller error. Infinities and NaN have no remainders. If the row or the column of an element of C has
// one, the element is computed in double precision.
//
// Six kernels compute the scales of A and of B, the remainders of A and of B, the products of remainders, and C from
// its remainders. The remainders of B are transposed, because instructions for 8 bits read both operands along K.

#include "async.cuh"
#include "tensor.cuh"

#ifndef TILE_M
#define TILE_M 128 // number of rows of C that a block computes
#endif
#ifndef TILE_N
#define TILE_N 256 // number of columns of C that a block computes
#endif
#ifndef TILE_K
#define TILE_K 128 // number of bytes along K in one step of the loop, a multiple of 128
#endif
#ifndef STAGES
#define STAGES 4 // number of tiles in the ring buffer
#endif
#ifndef CONSUMERS
#define CONSUMERS 2 // number of warp groups that multiply
#endif

// AHEAD: numbers that a thread loads at once
enum : unsigned { MODULI = 14, LIMBS = 4, AHEAD = 8, NOT_FINITE = 0x80000000u };

#define ALL_MODULI 256, 255, 253, 251, 247, 241, 239, 233, 229, 227, 223, 217, 211, 199
__constant__ unsigned moduli[MODULI] = {ALL_MODULI};

// Returns modulus `i`. If `i` is a constant, the result is a constant of the code.
__device__ __forceinline__ unsigned modulus(unsigned i)
{
    const unsigned p[MODULI] = {ALL_MODULI};
    return p[i];
}

// The array weights has the number P / (p q) for each pair of moduli p and q, in words from the lowest word on. The
// list of factors has a number below 2^16 for each modulus. For each pair of moduli, take the sum of the two remainders
// times their factors, times P / (p q). The sum over all pairs is the number modulo P.
__constant__ unsigned weights[MODULI / 2][3] = {
    {0x4a52c153, 0x60316d49, 0x47d7c8e5}, {0x643e8300, 0x92d54bba, 0x49da70d6}, {0xf4252b00, 0xd337020a, 0x4ec94348}, {0xc7b82b00, 0xe57af30c, 0x54381255}, {0xf2c78300, 0xc467102a, 0x5a385078}, {0x87c2ab00, 0x7da65466, 0x60eab926}, {0x188f8900, 0x3ea899dc, 0x6fb193bc}};
#define ALL_FACTORS 9435, 54784, 45933, 3795, 42175, 48659, 22135, 35611, 47670, 35037, 44702, 30328, 34228, 29962
__constant__ unsigned all_moduli[LIMBS] = {0x6e91ad00, 0x3bdc0108, 0xf11c7ad1, 0x478f};
#define ONE_OVER_P 0x1.c9e518641aa18p-111

// ---- scales ----

// Returns 2^exponent, for exponents from -1022 to 1023.
__device__ __forceinline__ double power_of_two(int exponent)
{
    return __hiloint2double((exponent + 1023) << 20, 0);
}

// Returns x 2^exponent, for exponents from -2044 to 2046. The function multiplies in two steps, so that no step
// overflows unless the result does.
__device__ __forceinline__ double times_power(double x, int exponent)
{
    const int half = exponent / 2;
    return x * power_of_two(half) * power_of_two(exponent - half);
}

// A sum of squares in three parts (the method of Blue, ACM TOMS 4, 1978). In each part the squares neither overflow nor
// underflow: numbers above 2^500 are scaled by 2^-600, numbers below 2^-500 by 2^600, and the others not at all.
struct Length {
    double large, middle, little;
    bool finite;

    __device__ __forceinline__ Length() : large(0), middle(0), little(0), finite(true)
    {
    }
    __device__ __forceinline__ void add(double x)
    {
        const double size = fabs(x);
        if (size <= 0x1p500 && size >= 0x1p-500) {
            middle = fma(x, x, middle);
        } else if (size < 0x1p-500) {
            little = fma(x * 0x1p600, x * 0x1p600, little);
        } else { // this case also has NaN
            finite = finite && isfinite(x);
            large = fma(x * 0x1p-600, x * 0x1p-600, large);
        }
    }
    __device__ __forceinline__ void join(const Length &other)
    {
        large += other.large;
        middle += other.middle;
        little += other.little;
        finite = finite && other.finite;
    }
    // Returns the exponent s for which the length times 2^s is above 2^53.5 and not above 2^54.5.
    __device__ __forceinline__ unsigned scale() const
    {
        if (!finite)
            return NOT_FINITE;
        const int exponent = large > 0 ? 600 : middle > 0 ? 0 : -600;
        const double sum = large > 0    ? fma(middle, 0x1p-1000 * 0x1p-200, large)
                           : middle > 0 ? fma(little, 0x1p-1000 * 0x1p-200, middle)
                                        : little;
        if (sum == 0)
            return 0;
        int e;
        const double m = frexp(sqrt(sum), &e);
        return (unsigned)(54 - e - exponent + (m <= 0.707 ? 1 : 0)) & ~NOT_FINITE;
    }
};

// Returns the exponent in the lower 31 bits of a scale. The highest bit is set if the row or column has infinities or
// NaN.
__device__ __forceinline__ int exponent_of(unsigned scale)
{
    return (int)(scale << 1) >> 1;
}

// Computes the scales of A. Each warp processes one row of A.
extern "C" __global__ void __launch_bounds__(256)
    residues_scale_rows(const double *__restrict__ A, unsigned *scales, unsigned rows, unsigned columns)
{
    const unsigned row = blockIdx.x * 8 + threadIdx.x / WARP;
    if (row >= rows)
        return;
    Length length;
    for (unsigned first = lane_id(); first - lane_id() < columns; first += AHEAD * WARP) {
        double x[AHEAD];
#pragma unroll
        for (unsigned l = 0; l < AHEAD; ++l)
            x[l] = first + l * WARP < columns ? A[(offset)row * columns + first + l * WARP] : 0;
#pragma unroll
        for (unsigned l = 0; l < AHEAD; ++l)
            length.add(x[l]);
    }
#pragma unroll
    for (unsigned distance = WARP / 2; distance > 0; distance /= 2) {
        Length other;
        other.large = __shfl_xor_sync(ALL_LANES, length.large, distance);
        other.middle = __shfl_xor_sync(ALL_LANES, length.middle, distance);
        other.little = __shfl_xor_sync(ALL_LANES, length.little, distance);
        other.finite = __shfl_xor_sync(ALL_LANES, (int)length.finite, distance);
        length.join(other);
    }
    if (lane_id() == 0)
        scales[row] = length.scale();
}

// Computes the scales of B. A block processes 32 columns of B, and each of its 32 warps processes every 32nd row.
extern "C" __global__ void __launch_bounds__(1024)
    residues_scale_columns(const double *__restrict__ B, unsigned *scales, unsigned rows, unsigned columns)
{
    __shared__ double parts[3][WARP][WARP];
    __shared__ bool all_finite[WARP][WARP];
    const unsigned column = blockIdx.x * WARP + lane_id();
    Length length;
    for (unsigned first = warp_id(); first < rows; first += AHEAD * WARP) {
        double x[AHEAD];
#pragma unroll
        for (unsigned l = 0; l < AHEAD; ++l) {
            const unsigned k = first + l * WARP;
            x[l] = k < rows && column < columns ? B[(offset)k * columns + column] : 0;
        }
#pragma unroll
        for (unsigned l = 0; l < AHEAD; ++l)
            length.add(x[l]);
    }
    parts[0][warp_id()][lane_id()] = length.large;
    parts[1][warp_id()][lane_id()] = length.middle;
    parts[2][warp_id()][lane_id()] = length.little;
    all_finite[warp_id()][lane_id()] = length.finite;
    __syncthreads();
    if (warp_id() > 0 || column >= columns)
        return;
    for (unsigned w = 1; w < WARP; ++w) {
        length.large += parts[0][w][lane_id()];
        length.middle += parts[1][w][lane_id()];
        length.little += parts[2][w][lane_id()];
        length.finite = length.finite && all_finite[w][lane_id()];
    }
    scales[column] = length.scale();
}

// ---- remainders ----

// Writes the remainders of four neighbours along K, which are from -128 to 127. Each modulus has its own matrix of
// remainders. The numbers are integers below 2^55 in magnitude. Adding 1.5 2^52 to a quotient rounds the quotient and
// leaves it in the lowest bits. The remainder is small, so the lowest 32 bits of the number and of the quotient
// determine it. The quotient is rounded from a product with an error of 2^-6, so it may be wrong by one. A remainder is
// at most p / 2 + p / 64.
__device__ __forceinline__ void write_remainders(const double (&x)[4], unsigned *to, offset matrix)
{
    int low[4];
#pragma unroll
    for (unsigned l = 0; l < 4; ++l)
        low[l] = (int)__double2ll_rz(x[l]);
#pragma unroll
    for (unsigned i = 0; i < MODULI; ++i) {
        const int p = (int)modulus(i);
        int r[4];
#pragma unroll
        for (unsigned l = 0; l < 4; ++l) {
            r[l] = low[l] - __double2loint(fma(x[l], 1.0 / p, 0x1.8p52)) * p;
            if (p > 247) // if a modulus is smaller, the remainder is always in the range
                r[l] = r[l] > 127 ? r[l] - p : r[l] < -128 ? r[l] + p : r[l];
        }
        const unsigned first = __byte_perm(r[0], r[1], 0x0040), second = __byte_perm(r[2], r[3], 0x0040);
        to[i * matrix] = __byte_perm(first, second, 0x5410);
    }
}

__device__ __forceinline__ double scaled(double x, unsigned scale)
{
    return scale & NOT_FINITE ? 0 : rint(times_power(x, exponent_of(scale)));
}

// Computes the remainders of A. Each thread processes four neighbouring numbers of a row. `pitch` is the number of
// bytes in a row of remainders. Zeros fill the end of the row.
extern "C" __global__ void __launch_bounds__(256)
    residues_of_rows(const double *__restrict__ A, const unsigned *scales, unsigned *to, unsigned rows, unsigned columns,
                     unsigned pitch)
{
    const unsigned row = blockIdx.x, k = (blockIdx.y * 256 + threadIdx.x) * 4;
    if (k >= pitch)
        return;
    const double *from = A + (offset)row * columns + k;
    double x[4];
    if (columns % 4 == 0 && k < columns && is_aligned<16>(A)) {
        const double2 first = ((const double2 *)from)[0], second = ((const double2 *)from)[1];
        x[0] = first.x, x[1] = first.y, x[2] = second.x, x[3] = second.y;
    } else {
#pragma unroll
        for (unsigned l = 0; l < 4; ++l)
            x[l] = k + l < columns ? from[l] : 0;
    }
#pragma unroll
    for (unsigned l = 0; l < 4; ++l)
        x[l] = scaled(x[l], scales[row]);
    write_remainders(x, to + ((offset)row * pitch + k) / 4, (offset)rows * pitch / 4);
}

// Computes the remainders of B and transposes them. A block processes 32 columns and 128 rows.
extern "C" __global__ void __launch_bounds__(256)
    residues_of_columns(const double *__restrict__ B, const unsigned *scales, unsigned *to, unsigned rows,
                        unsigned columns, unsigned pitch)
{
    __shared__ double tile[128][WARP + 1];
    const unsigned first = blockIdx.x * WARP, k0 = blockIdx.y * 128, column = first + lane_id();
    const unsigned scale = column < columns ? scales[column] : 0;
#pragma unroll 4
    for (unsigned k = warp_id(); k < 128; k += 8)
        tile[k][lane_id()] = k0 + k < rows && column < columns
                                 ? scaled(B[(offset)(k0 + k) * columns + column], scale)
                                 : 0;
    __syncthreads();
    const unsigned k = k0 + lane_id() * 4;
#pragma unroll 1
    for (unsigned c = warp_id(); c < WARP; c += 8) {
        if (first + c >= columns || k >= pitch)
            continue;
        double x[4];
#pragma unroll
        for (unsigned l = 0; l < 4; ++l)
            x[l] = tile[lane_id() * 4 + l][c];
        write_remainders(x, to + ((offset)(first + c) * pitch + k) / 4, (offset)columns * pitch / 4);
    }
}

// ---- products of remainders ----

#if !defined(__CUDA_ARCH__) || defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define INTEGERS16(i)                                                                                                  \
    "+r"(d[i]), "+r"(d[i + 1]), "+r"(d[i + 2]), "+r"(d[i + 3]), "+r"(d[i + 4]), "+r"(d[i + 5]), "+r"(d[i + 6]),        \
        "+r"(d[i + 7]), "+r"(d[i + 8]), "+r"(d[i + 9]), "+r"(d[i + 10]), "+r"(d[i + 11]), "+r"(d[i + 12]),             \
        "+r"(d[i + 13]), "+r"(d[i + 14]), "+r"(d[i + 15])
#define INTEGERS64 INTEGERS16(0), INTEGERS16(16), INTEGERS16(32), INTEGERS16(48)
#define INTEGERS96 INTEGERS64, INTEGERS16(64), INTEGERS16(80)
#define INTEGERS128 INTEGERS96, INTEGERS16(96), INTEGERS16(112)

// The type computes d += a b by wgmma (tensor.cuh). Here d is 64 x n, a is 64 x 32 and b is 32 x n.
template <unsigned n> struct integer_product;
#define INTEGER_PRODUCT(n, c, p0, p1, p2)                                                                              \
    template <> struct integer_product<n> {                                                                            \
        static __device__ __forceinline__ void multiply(int (&d)[c], offset a, offset b, unsigned add)                 \
        {                                                                                                              \
            asm volatile("{.reg .pred add; setp.ne.b32 add, " p2 ", 0;\n"                                              \
                         "wgmma.mma_async.sync.aligned.m64n" #n "k32.s32.s8.s8 {" WGMMA_R##c "}, " p0 ", " p1          \
                         ", add;}\n"                                                                                   \
                         : INTEGERS##c                                                                                 \
                         : "l"(a), "l"(b), "r"(add));                                                                  \
        }                                                                                                              \
    };
INTEGER_PRODUCT(128, 64, "%64", "%65", "%66")
INTEGER_PRODUCT(192, 96, "%96", "%97", "%98")
INTEGER_PRODUCT(256, 128, "%128", "%129", "%130")

enum : unsigned {
    BOXES = TILE_K / 128,
    OF_A = TILE_M * 128, // bytes of a box
    OF_B = TILE_N * 128,
    STAGE = BOXES * (OF_A + OF_B),
    DOWN = TILE_M / CONSUMERS / 64
};
#endif

// Each of four lanes has two neighbouring bytes of each of four pieces. A piece has 8 bytes of a row, and pair[j]
// belongs to piece j. Returns the whole piece t to lane t. The function transposes in two exchanges. Without this
// function a warp would write 2 bytes per lane, which is a quarter of each sector.
__device__ __forceinline__ uint2 join_pairs(const unsigned (&pair)[4])
{
    const bool upper = lane_id() & 2, odd = lane_id() & 1;
    const unsigned first = pair[0] | pair[1] << 16, second = pair[2] | pair[3] << 16;
    const unsigned came = __shfl_xor_sync(ALL_LANES, upper ? first : second, 2);
    // `a` and `b` have two pieces of the lanes t % 2 and t % 2 + 2
    const unsigned a = upper ? came : first, b = upper ? second : came;
    const unsigned low = __byte_perm(a, b, 0x5410), high = __byte_perm(a, b, 0x7632);
    const unsigned others = __shfl_xor_sync(ALL_LANES, odd ? low : high, 1);
    const unsigned even_lanes = odd ? others : low, odd_lanes = odd ? high : others;
    return {__byte_perm(even_lanes, odd_lanes, 0x5410), __byte_perm(even_lanes, odd_lanes, 0x7632)};
}

// Computes the products of remainders for all moduli, tile by tile. Resident blocks do this as in
// gemm_wgmma_specialised, whose comment explains the roles of the warp groups. A sum is reduced modulo its modulus
// before it is written as a byte. `pitch` is the number of bytes in a row of the remainders of C. It is a multiple of
// 8.
extern "C" __global__ void __launch_bounds__(128 * (CONSUMERS + 1), 1)
    residues_product(const __grid_constant__ tensor_map map_a, const __grid_constant__ tensor_map map_b,
                     unsigned char *__restrict__ C, unsigned M, unsigned N, unsigned K, unsigned pitch, unsigned walk)
{
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    extern __shared__ __align__(16) unsigned char shared[];
    unsigned char *stages = shared + (1024 - shared_address(shared) % 1024) % 1024;
    barrier *full = (barrier *)(stages + STAGES * STAGE), *empty = full + STAGES;
    const unsigned group = threadIdx.x / 128, steps = ceil_div(K, TILE_K);
    const unsigned tiles_m = ceil_div(M, TILE_M), tiles_n = ceil_div(N, TILE_N), tiles = tiles_m * tiles_n;
    if (threadIdx.x == 0) {
        for (unsigned i = 0; i < STAGES; ++i) {
            barrier_init(full + i, 1);
            barrier_init(empty + i, CONSUMERS);
        }
        barriers_made();
    }
    __syncthreads();
    // the order of tiles goes down `walk` rows of tiles before it moves to the next column
    auto row_of = [&](unsigned tile) {
        const unsigned first = tile / (walk * tiles_n) * walk;
        return (first + tile % (walk * tiles_n) % min(walk, tiles_m - first)) * TILE_M;
    };
    auto column_of = [&](unsigned tile) {
        const unsigned first = tile / (walk * tiles_n) * walk;
        return tile % (walk * tiles_n) / min(walk, tiles_m - first) * TILE_N;
    };
    unsigned count = 0; // number of steps of all tiles so far
    if (group == CONSUMERS) {
        registers_give<40>();
        if (threadIdx.x % 128 == 0)
            for (unsigned tile = blockIdx.x; tile < tiles * MODULI; tile += gridDim.x) {
                const unsigned number = tile / tiles, row = row_of(tile % tiles), column = column_of(tile % tiles);
                for (unsigned step = 0; step < steps; ++step, ++count) {
                    unsigned char *to = stages + count % STAGES * STAGE;
                    barrier *here = full + count % STAGES;
                    barrier_wait(empty + count % STAGES, (count / STAGES & 1) ^ 1);
                    barrier_expect(here, STAGE);
#pragma unroll
                    for (unsigned i = 0; i < BOXES; ++i) {
                        const int k = (int)(step * TILE_K + i * 128);
                        tensor_load(to + i * OF_A, map_a, k, (int)row, (int)number, here);
                        tensor_load(to + BOXES * OF_A + i * OF_B, map_b, k, (int)column, (int)number, here);
                    }
                }
            }
        return;
    }
    registers_take<232>();
    for (unsigned tile = blockIdx.x; tile < tiles * MODULI; tile += gridDim.x) {
        const unsigned number = tile / tiles;
        int sums[DOWN][TILE_N / 2];
        auto keep = [&] {
#pragma unroll
            for (unsigned i = 0; i < DOWN; ++i)
#pragma unroll
                for (unsigned l = 0; l < TILE_N / 2; ++l)
                    asm volatile("" : "+r"(sums[i][l])::"memory");
        };
        for (unsigned step = 0; step < steps; ++step, ++count) {
            barrier_wait(full + count % STAGES, count / STAGES & 1);
            const unsigned at = shared_address(stages + count % STAGES * STAGE);
            const offset a = matrix_descriptor<128>(at + group * DOWN * 64 * 128, 16, 1024);
            const offset b = matrix_descriptor<128>(at + BOXES * OF_A, 16, 1024);
            keep();
            wgmma_fence();
#pragma unroll
            for (unsigned k = 0; k < TILE_K / 32; ++k)
#pragma unroll
                for (unsigned i = 0; i < DOWN; ++i)
                    integer_product<TILE_N>::multiply(
                        sums[i], descriptor_after(a, k / 4 * OF_A + i * 64 * 128 + k % 4 * 32),
                        descriptor_after(b, k / 4 * OF_B + k % 4 * 32), k > 0 || step > 0);
            wgmma_commit();
            keep();
            wgmma_wait<1>(); // the wgmma instructions of the previous step have read their stage
            if (step > 0 && threadIdx.x % 128 == 0)
                barrier_arrive(empty + (count - 1) % STAGES);
        }
        wgmma_wait<0>();
        keep();
        if (threadIdx.x % 128 == 0)
            barrier_arrive(empty + (count - 1) % STAGES);
        __syncwarp();

        const int p = (int)moduli[number], inverse = (int)(0xffffffffu / (unsigned)p);
        unsigned char *to = C + (offset)number * M * pitch;
        const unsigned row = row_of(tile % tiles) + group * DOWN * 64 + warp_id() % 4 * 16 + lane_id() / 4;
        const unsigned column = column_of(tile % tiles) + lane_id() % 4 * 8;
        auto remainder = [&](int sum) { // the last two lines correct a quotient that is wrong by one
            int r = sum - __mulhi(sum, inverse) * p;
            r = r < 0 ? r + p : r;
            return (unsigned)(r >= p ? r - p : r);
        };
#pragma unroll
        for (unsigned i = 0; i < DOWN; ++i)
#pragma unroll
            for (unsigned j = 0; j < TILE_N / 8; j += 4)
#pragma unroll
                for (unsigned half = 0; half < 2; ++half) {
                    unsigned pairs[4];
#pragma unroll
                    for (unsigned l = 0; l < 4; ++l) {
                        const int *two = sums[i] + 4 * (j + l) + 2 * half;
                        pairs[l] = remainder(two[0]) | remainder(two[1]) << 8;
                    }
                    const uint2 piece = join_pairs(pairs);
                    const unsigned r = row + 64 * i + 8 * half, c = column + 8 * j;
                    if (r < M && c < pitch)
                        *(uint2 *)(to + (offset)r * pitch + c) = piece;
                }
    }
#endif
}

// ---- C from its remainders ----

// Returns the number below P / 2 in magnitude that has these remainders. It is a sum of seven products, minus a
// multiple of P.
__device__ __forceinline__ double join_remainders(const unsigned (&r)[MODULI])
{
    const unsigned factors[MODULI] = {ALL_FACTORS};
    long long limbs[3] = {};
#pragma unroll
    for (unsigned i = 0; i < MODULI / 2; ++i) {
        const unsigned both = r[2 * i] * factors[2 * i] + r[2 * i + 1] * factors[2 * i + 1]; // the sum is below 2^25
#pragma unroll
        for (unsigned l = 0; l < 3; ++l)
            limbs[l] += (offset)both * weights[i][l];
    }
    const double sum = fma((double)limbs[2], 0x1p64, (double)limbs[1] * 0x1p32);
    const long long quotient = (long long)rint(sum * ONE_OVER_P);
    limbs[0] -= quotient * all_moduli[0];
    limbs[1] += (limbs[0] >> 32) - quotient * all_moduli[1];
    limbs[2] += (limbs[1] >> 32) - quotient * (long long)((offset)all_moduli[3] << 32 | all_moduli[2]);
    const offset low = (offset)(unsigned)limbs[1] << 32 | (unsigned)limbs[0];
    return fma((double)limbs[2], 0x1p64, (double)low);
}

// Each thread computes four neighbouring elements of a row of C.
extern "C" __global__ void __launch_bounds__(256)
    residues_join(const double *__restrict__ A, const double *__restrict__ B, double *__restrict__ C,
                  const unsigned *__restrict__ remainders, const unsigned *__restrict__ rows,
                  const unsigned *__restrict__ columns, unsigned M, unsigned N, unsigned K, unsigned pitch)
{
    const unsigned row = blockIdx.x, first = (blockIdx.y * 256 + threadIdx.x) * 4;
    if (first >= N)
        return;
    unsigned words[MODULI];
#pragma unroll
    for (unsigned i = 0; i < MODULI; ++i)
        words[i] = remainders[((offset)i * M + row) * (pitch / 4) + first / 4];
    const unsigned scale = rows[row];
    double made[4];
#pragma unroll
    for (unsigned l = 0; l < 4; ++l) {
        const unsigned column = min(first + l, N - 1), other = columns[column];
        made[l] = 0;
        if ((scale | other) & NOT_FINITE) {
            for (unsigned k = 0; k < K; ++k)
                made[l] = fma(A[(offset)row * K + k], B[(offset)k * N + column], made[l]);
        } else {
            unsigned r[MODULI];
#pragma unroll
            for (unsigned i = 0; i < MODULI; ++i)
                r[i] = words[i] >> 8 * l & 0xff;
            // if the sum of the scales is above 2044, the result is 0
            made[l] = times_power(join_remainders(r), max(-(exponent_of(scale) + exponent_of(other)), -2044));
        }
    }
    double *to = C + (offset)row * N + first;
    if (N % 4 == 0 && is_aligned<16>(C)) {
        ((double2 *)to)[0] = {made[0], made[1]};
        ((double2 *)to)[1] = {made[2], made[3]};
    } else {
#pragma unroll
        for (unsigned l = 0; l < 4; ++l)
            if (first + l < N)
                to[l] = made[l];
    }
}
