// attention_backward.cu - the gradients of scaled dot-product attention in bfloat16, in three ways. They are computed
// for each of BATCH x HEADS heads. The forward pass is attention.cu: O = P V, where P = softmax(scale Q K^T) and scale
// = 1 / sqrt(HEAD_DIM). The forward pass also gives `lse`, the logarithm of the sum of the exponentials of each row of
// scores. dO is the gradient of O. The gradients are:
//     P  = exp(scale Q K^T - lse)           dP = dO V^T           delta = the sum of each row of dO x O
//     dS = P x (dP - delta)                 x multiplies element by element
//     dV = P^T dO                           dK = scale dS^T Q     dQ = scale dS K
// These are five products of matrices: Q K^T, dO V^T, P^T dO, dS^T Q and dS K. P and dP have QUERIES x KEYS elements
// per head, and are never stored in memory. The kernels compute both again from Q, K, dO and V. Because `lse` is known,
// they need no online softmax.
//
// Arrays are dense, with the shapes of attention.cu: [BATCH, HEADS, QUERIES, HEAD_DIM] for Q, O, dO and dQ, and [BATCH,
// KV_HEADS, KEYS, HEAD_DIM] for K, V, dK and dV. The array `lse` is [BATCH, HEADS, QUERIES]. If neighbouring heads of
// queries share a head of keys, dK and dV are sums over these heads. With CAUSAL, query i sees the keys up to i + KEYS
// - QUERIES. A query that sees no key changes nothing, and its dQ is zero. HEAD_DIM is 64 or 128. Inputs must be
// finite.
//
// dK and dV are sums over queries, and dQ is a sum over keys. A block that owns some keys can keep dK and dV in
// registers, but it has only a part of the sum for dQ. There are two ways to complete dQ. `naive` and `tiled` compute P
// and dP twice: once in blocks that own queries, and once in blocks that own keys. Computing P and dP twice takes seven
// products, and the bits are the same in every run. `wgmma_atomic` computes P and dP once, and its blocks add their
// parts of dQ in global memory. The order of these additions differs from run to run, and so do the last bits of dQ.
// `wgmma_ordered` adds the parts in the order of the keys, so it gives the same bits in every run.
//
// Precision: the accumulators of all products are in single precision. Except in `naive`, P and dS are rounded to
// bfloat16 before they are multiplied. `wgmma_atomic` computes dS from the rounded P.
//
// The tuning parameters are macros. The engine defines these macros from the spec. The defaults below only let an
// editor or a compiler parse this file alone. A kernel is compiled if its own macro BACKWARD_<NAME> is set, or if
// BACKWARD_ONE is not set.

#ifndef HEAD_DIM
#define HEAD_DIM 64 // 64 or 128
#endif
#ifndef CAUSAL
#define CAUSAL 0 // 1: query i sees the keys up to i + KEYS - QUERIES
#endif
#ifndef BLOCK
#define BLOCK 128 // naive: number of threads of a block; a multiple of HEAD_DIM
#endif
#ifndef WARPS
#define WARPS 4 // tiled: number of warps of a block, each with 16 rows of its own
#endif
#ifndef TILE
// tiled: rows of a tile of the other rows (queries if the block owns keys, and keys otherwise); a multiple of 32
#define TILE 64
#endif
#ifndef STAGES
#define STAGES 2 // tiled, wgmma_atomic: number of tiles of the other rows in shared memory
#endif
#ifndef HEADS_FIRST
// wgmma_atomic: the tiles of keys of neighbouring blocks: 0: neighbouring tiles. n > 0: the same tile of n heads, and
// then the next tile of these heads.
#define HEADS_FIRST 0
#endif
#ifndef ROTATE
// wgmma_atomic: 1: the blocks of a head begin with different tiles of queries, so that they add to different parts of
// dQ
#define ROTATE 0
#endif

#ifndef ORDERED
// wgmma_*: 1: the blocks of a head add to a part of dQ in the order of their keys. 0: they add in any order
#define ORDERED 0
#endif
#ifndef BULK
// wgmma_atomic: 1: parts of dQ go through shared memory, and a bulk copy adds them. 0: each thread adds its registers
#define BULK 0
#endif
#ifndef EXP_POLY
#define EXP_POLY 0 // wgmma_atomic: how many of every 8 exponentials a polynomial computes
#endif

#include "async.cuh"
#include "attention.cuh"

struct Sizes {
    unsigned heads, kv_heads, queries, keys; // `heads` and `kv_heads` count the heads of all batches
};

enum : unsigned { PADDED = 128 }; // in lse and delta, each head is padded to a multiple of this number of rows

__device__ __forceinline__ unsigned padded(unsigned queries)
{
    return ceil_div(queries, (unsigned)PADDED) * PADDED;
}

// Returns whether a query sees a key. Both numbers must be inside their matrices.
__device__ __forceinline__ bool sees(unsigned query, unsigned key, Sizes n)
{
    return !CAUSAL || (int)key <= (int)(query + n.keys - n.queries);
}

// Returns the first query that sees this key or any later key.
__device__ __forceinline__ unsigned first_query(unsigned key, Sizes n)
{
    return CAUSAL ? (unsigned)max((int)(key + n.queries - n.keys), 0) : 0;
}

// Returns how many keys a query sees. A result of 0 or less means that the query sees no key.
__device__ __forceinline__ int keys_seen(unsigned query, Sizes n)
{
    return min(CAUSAL ? (int)(query + 1 + n.keys - n.queries) : (int)n.keys, (int)n.keys);
}

__device__ __forceinline__ constexpr float scale()
{
    return HEAD_DIM == 64 ? 0.125f : 0.088388348f;
}

// Computes delta, and converts lse to base 2. If a row sees no key, or only pads a head, its lse becomes infinite, so
// that its exponentials are 0. PIECES neighbouring threads process one row. With `with_sums`, the threads also set the
// HEAD_DIM elements of `sums` of this row to zero. They also set the counters to zero; each counter belongs to 4096
// elements of `sums`.
template <bool with_sums>
__device__ __forceinline__ void prepare_rows(const bf16 *o, const bf16 *dout, const float *lse, float *powers,
                                             float *delta, float *sums, unsigned *counters, unsigned heads,
                                             unsigned queries, unsigned keys)
{
    const Sizes n = {heads, 1, queries, keys};
    const offset row = grid_thread<256>() / PIECES;
    const unsigned piece = threadIdx.x % PIECES, rows = padded(queries);
    const bool inside = row < (offset)heads * rows;
    const unsigned head = inside ? (unsigned)(row / rows) : 0, query = (unsigned)(row % rows);
    const bool real = inside && query < queries;
    const offset at = (offset)head * queries + query;
    float sum = 0;
    if (real) {
        const uint4 a = *((const uint4 *)(o + at * HEAD_DIM) + piece), b = *((const uint4 *)(dout + at * HEAD_DIM) + piece);
        const unsigned left[4] = {a.x, a.y, a.z, a.w}, right[4] = {b.x, b.y, b.z, b.w};
#pragma unroll
        for (unsigned i = 0; i < 4; ++i)
            sum += __uint_as_float(left[i] << 16) * __uint_as_float(right[i] << 16) +
                   __uint_as_float(left[i] & 0xffff0000) * __uint_as_float(right[i] & 0xffff0000);
    }
#pragma unroll
    for (unsigned distance = PIECES / 2; distance > 0; distance /= 2)
        sum += __shfl_xor_sync(ALL_LANES, sum, distance);
    if (!inside)
        return;
    if (with_sums) {
        store_quad(sums + row * HEAD_DIM + 4 * piece, make_float4(0, 0, 0, 0));
        store_quad(sums + row * HEAD_DIM + HEAD_DIM / 2 + 4 * piece, make_float4(0, 0, 0, 0));
        if (piece == 0 && row * HEAD_DIM % 4096 == 0)
            counters[row * HEAD_DIM / 4096] = 0;
    }
    if (piece == 0) {
        powers[row] = real && keys_seen(query, n) > 0 ? lse[at] * 1.44269504f : -least();
        delta[row] = sum;
    }
}

extern "C" __global__ void __launch_bounds__(256)
    backward_rows(const bf16 *__restrict__ o, const bf16 *__restrict__ dout, const float *__restrict__ lse,
                  float *__restrict__ powers, float *__restrict__ delta, unsigned heads, unsigned queries, unsigned keys)
{
    prepare_rows<false>(o, dout, lse, powers, delta, nullptr, nullptr, heads, queries, keys);
}

extern "C" __global__ void __launch_bounds__(256)
    backward_rows_and_sums(const bf16 *__restrict__ o, const bf16 *__restrict__ dout, const float *__restrict__ lse,
                           float *__restrict__ powers, float *__restrict__ delta, float *__restrict__ sums,
                           unsigned *__restrict__ counters, unsigned heads, unsigned queries, unsigned keys)
{
    prepare_rows<true>(o, dout, lse, powers, delta, sums, counters, heads, queries, keys);
}

#if defined(BACKWARD_NAIVE) || !defined(BACKWARD_ONE)
__device__ __forceinline__ float dot(const float *row, const bf16 *other)
{
    float sum = 0;
    for (unsigned d = 0; d < HEAD_DIM; ++d)
        sum += row[d] * load_one(other + d);
    return sum;
}

// One block computes one row of the results. With `of_keys`, the row is a key with its value, and the other rows are
// queries with their dO. Without it, the row is a query with its dO, and the other rows are keys with their values. In
// both cases a pair of the block's row and another row has the score s = first . other_first, and dp = second .
// other_second.
//
// Each thread computes P and dS of one pair. Then it sums one column over BLOCK pairs. Each block reads all other rows
// again. Only the results are rounded.
template <bool of_keys>
__device__ __forceinline__ void naive(const bf16 *first, const bf16 *second, const bf16 *other_first,
                                      const bf16 *other_second, const float *powers, const float *delta, bf16 *to_first,
                                      bf16 *to_second, Sizes n)
{
    __shared__ float mine[2][HEAD_DIM], weights[2][BLOCK], parts[2][BLOCK];
    const unsigned length = of_keys ? n.keys : n.queries, other_length = of_keys ? n.queries : n.keys;
    const unsigned own_head = blockIdx.x / length, own = blockIdx.x % length, group = n.heads / n.kv_heads;
    const offset row = (offset)own_head * length + own;
    for (unsigned d = threadIdx.x; d < HEAD_DIM; d += BLOCK) {
        mine[0][d] = load_one(first + row * HEAD_DIM + d);
        mine[1][d] = load_one(second + row * HEAD_DIM + d);
    }
    const unsigned column = threadIdx.x % HEAD_DIM;
    float sums[2] = {};
    for (unsigned h = 0; h < (of_keys ? group : 1); ++h) {
        const unsigned other_head = of_keys ? own_head * group + h : own_head / group;
        const unsigned query_head = of_keys ? other_head : own_head;
        const offset base = (offset)other_head * other_length;
        for (unsigned begin = 0; begin < other_length; begin += BLOCK) {
            __syncthreads(); // the block's own row has arrived, and all threads have used the previous weights
            const unsigned other = begin + threadIdx.x, query = of_keys ? other : own, key = of_keys ? own : other;
            float p = 0, ds = 0;
            if (other < other_length && sees(query, key, n)) {
                const offset at = (offset)query_head * padded(n.queries) + query;
                p = exp2_fast(dot(mine[0], other_first + (base + other) * HEAD_DIM) * factor() - powers[at]);
                ds = p * (dot(mine[1], other_second + (base + other) * HEAD_DIM) - delta[at]);
            }
            weights[0][threadIdx.x] = ds;
            weights[1][threadIdx.x] = p;
            __syncthreads();
            const unsigned count = min((unsigned)BLOCK, other_length - begin);
            for (unsigned i = threadIdx.x / HEAD_DIM; i < count; i += BLOCK / HEAD_DIM) {
                const offset at = (base + begin + i) * HEAD_DIM + column;
                sums[0] += weights[0][i] * load_one(other_first + at);
                if (of_keys)
                    sums[1] += weights[1][i] * load_one(other_second + at);
            }
        }
    }
    parts[0][threadIdx.x] = sums[0];
    parts[1][threadIdx.x] = sums[1];
    __syncthreads();
    if (threadIdx.x >= HEAD_DIM)
        return;
    for (unsigned i = threadIdx.x + HEAD_DIM; i < BLOCK; i += HEAD_DIM)
        sums[0] += parts[0][i], sums[1] += parts[1][i];
    store_one(to_first + row * HEAD_DIM + threadIdx.x, sums[0] * scale());
    if (of_keys)
        store_one(to_second + row * HEAD_DIM + threadIdx.x, sums[1]);
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    backward_naive_queries(const bf16 *__restrict__ q, const bf16 *__restrict__ k, const bf16 *__restrict__ v,
                           const bf16 *__restrict__ dout, const float *__restrict__ powers,
                           const float *__restrict__ delta, bf16 *__restrict__ dq, unsigned heads, unsigned kv_heads,
                           unsigned queries, unsigned keys)
{
    naive<false>(q, dout, k, v, powers, delta, dq, nullptr, {heads, kv_heads, queries, keys});
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    backward_naive_keys(const bf16 *__restrict__ q, const bf16 *__restrict__ k, const bf16 *__restrict__ v,
                        const bf16 *__restrict__ dout, const float *__restrict__ powers, const float *__restrict__ delta,
                        bf16 *__restrict__ dk, bf16 *__restrict__ dv, unsigned heads, unsigned kv_heads, unsigned queries,
                        unsigned keys)
{
    naive<true>(k, v, q, dout, powers, delta, dk, dv, {heads, kv_heads, queries, keys});
}
#endif

#if defined(BACKWARD_TILED) || !defined(BACKWARD_ONE)
enum : unsigned { OWN = 16 * WARPS, THREADS = WARP * WARPS, ROW_BYTES = 2 * HEAD_DIM };

// Returns the offset of piece `c` of a row. A piece has 16 bytes. The pieces of a row are permuted by the row's number,
// so the same piece of eight rows lies in different banks.
__device__ __forceinline__ unsigned place(unsigned row, unsigned c)
{
    return row * ROW_BYTES + ((c ^ row % 8) * 16);
}

// The block begins to copy `rows` rows, from row `first` on, to a tile. Rows from `end` on become zeros in the tile.
template <unsigned rows>
__device__ __forceinline__ void begin_tile(char *tile, const bf16 *from, unsigned first, unsigned end)
{
#pragma unroll
    for (unsigned i = 0; i < ceil_div(rows * PIECES, (unsigned)THREADS); ++i) {
        const unsigned number = i * THREADS + threadIdx.x, row = number / PIECES, c = number % PIECES;
        if (rows * PIECES % THREADS != 0 && number >= rows * PIECES)
            break;
        const bool inside = first + row < end;
        copy_async<16>(tile + place(row, c), (const uint4 *)(from + (offset)(inside ? first + row : 0) * HEAD_DIM) + c,
                       inside);
    }
}

// Multiplies a warp's 16 rows of `a` by 32 rows of `b`, from row `row` on, and adds to s: s += a b^T. Both tiles are in
// shared memory.
__device__ __forceinline__ void add_scores(float (&s)[16], unsigned a, unsigned b, unsigned row)
{
    const unsigned lane = lane_id();
#pragma unroll
    for (unsigned d = 0; d < DEPTH; ++d) {
        unsigned of_a[4], of_b[4];
        load_fragments(of_a, a + place(warp_id() * 16 + lane % 16, 2 * d + lane / 16));
#pragma unroll
        for (unsigned j = 0; j < 2; ++j) {
            load_fragments(of_b, b + place(row + 16 * j + lane / 16 * 8 + lane % 8, 2 * d + lane / 8 % 2));
            multiply(bf16(), *(float(*)[4])(s + 8 * j), of_a, of_b[0], of_b[1]);
            multiply(bf16(), *(float(*)[4])(s + 8 * j + 4), of_a, of_b[2], of_b[3]);
        }
    }
}

// Computes sums += weights b. The weights of 16 x 32 pairs are fragments in registers, and b are 32 rows from row `row`
// on.
__device__ __forceinline__ void add_weighted(float (&sums)[HEAD_DIM / 2], const unsigned (&weights)[2][4], unsigned b,
                                             unsigned row)
{
#pragma unroll
    for (unsigned j = 0; j < 2; ++j)
#pragma unroll
        for (unsigned d = 0; d < DEPTH; ++d) {
            unsigned of_b[4];
            load_fragments_turned(of_b, b + place(row + 16 * j + lane_id() % 16, 2 * d + lane_id() / 16));
            multiply(bf16(), *(float(*)[4])(sums + 8 * d), weights[j], of_b[0], of_b[1]);
            multiply(bf16(), *(float(*)[4])(sums + 8 * d + 4), weights[j], of_b[2], of_b[3]);
        }
}

// Multiplies a warp's 16 rows of sums by `by` and writes them in complete pieces of rows. The rows go through the
// warp's own rows of `tile`.
__device__ __forceinline__ void write_own(char *tile, bf16 *to, const float (&sums)[HEAD_DIM / 2], float by,
                                          unsigned first, unsigned end)
{
    __syncwarp();
#pragma unroll
    for (unsigned i = 0; i < HEAD_DIM / 2; i += 2) {
        const unsigned row = warp_id() * 16 + lane_id() / 4 + i / 2 % 2 * 8;
        *(unsigned *)(tile + place(row, i / 4) + lane_id() % 4 * 4) = pack_pair(bf16(), by * sums[i], by * sums[i + 1]);
    }
    __syncwarp();
#pragma unroll
    for (unsigned i = 0; i < 16 * PIECES / WARP; ++i) {
        const unsigned number = i * WARP + lane_id(), row = warp_id() * 16 + number / PIECES, c = number % PIECES;
        if (first + row < end)
            *((uint4 *)(to + (offset)(first + row) * HEAD_DIM) + c) = *(const uint4 *)(tile + place(row, c));
    }
}

// One block computes a tile of 16 WARPS rows, which are keys or queries as in naive(). Tiles of the other rows pass
// through a ring in shared memory. Each warp multiplies on the tensor cores, by mma.sync. The accumulators of a product
// have the register layout that the next product needs, so P and dS stay in registers.
//
// Compared with naive, the kernel reads the other rows once for 16 WARPS rows. A warp needs no other warp's results.
// The two kernels have the same structure. The block that owns queries computes S and dP, and the block that owns keys
// computes their transposes.
template <bool of_keys>
__device__ __forceinline__ void tiled(const bf16 *first, const bf16 *second, const bf16 *other_first,
                                      const bf16 *other_second, const float *powers, const float *delta, bf16 *to_first,
                                      bf16 *to_second, Sizes n)
{
    extern __shared__ __align__(16) char room[];
    constexpr unsigned own_bytes = OWN * ROW_BYTES, tile_bytes = TILE * ROW_BYTES;
    char *const own[2] = {room, room + own_bytes}, *const ring = room + 2 * own_bytes;
    const unsigned length = of_keys ? n.keys : n.queries, other_length = of_keys ? n.queries : n.keys;
    const unsigned blocks = ceil_div(length, (unsigned)OWN), group = n.heads / n.kv_heads;
    const unsigned own_head = blockIdx.x / blocks, begin = blockIdx.x % blocks * OWN;
    const offset base = (offset)own_head * length * HEAD_DIM;
    // the tiles of the other rows that form pairs with some rows of this block
    const unsigned last = min(begin + OWN, length) - 1;
    const int most = of_keys ? 0 : keys_seen(last, n);
    const unsigned from = of_keys ? first_query(begin, n) / TILE : 0;
    const unsigned to = of_keys ? ceil_div(other_length, (unsigned)TILE) : most > 0 ? ceil_div((unsigned)most, TILE) : 0;
    const unsigned count = to > from ? to - from : 0, steps = count * (of_keys ? group : 1);
    auto head_of = [&](unsigned step) { // returns the head of the other rows
        return of_keys ? own_head * group + step / count : own_head / group;
    };
    auto begin_step = [&](unsigned step) {
        if (step < steps) {
            char *tile = ring + step % STAGES * 2 * tile_bytes;
            const offset of_head = (offset)head_of(step) * other_length * HEAD_DIM;
            const unsigned row = (from + step % count) * TILE;
            begin_tile<TILE>(tile, other_first + of_head, row, other_length);
            begin_tile<TILE>(tile + tile_bytes, other_second + of_head, row, other_length);
        }
        copy_async_commit();
    };
    begin_tile<OWN>(own[0], first + base, begin, length);
    begin_tile<OWN>(own[1], second + base, begin, length);
#pragma unroll 1
    for (unsigned step = 0; step < STAGES - 1; ++step)
        begin_step(step);
    const unsigned row = begin + warp_id() * 16 + lane_id() / 4; // this lane's first row; its second row is row + 8
    float own_power[2] = {}, own_delta[2] = {};
#pragma unroll
    for (unsigned r = 0; r < 2 && !of_keys; ++r) {
        const offset at = (offset)own_head * padded(length) + min(row + 8 * r, length - 1);
        own_power[r] = powers[at], own_delta[r] = delta[at];
    }
    float sums[2][HEAD_DIM / 2] = {};
    for (unsigned step = 0; step < steps; ++step) {
        copy_async_wait<STAGES - 2>();
        __syncthreads(); // the tiles of this step have arrived, and all warps have read the tiles of the step before
        begin_step(step + STAGES - 1);
        const unsigned tile = shared_address(ring) + step % STAGES * 2 * tile_bytes, at = (from + step % count) * TILE;
        const offset rows = (offset)head_of(step) * padded(n.queries);
#pragma unroll 1
        for (unsigned part = 0; part < TILE; part += 32) {
            float s[16] = {}, dp[16] = {};
            add_scores(s, shared_address(own[0]), tile, part);
            add_scores(dp, shared_address(own[1]), tile + tile_bytes, part);
#pragma unroll
            for (unsigned i = 0; i < 16; i += 2) {
                const unsigned other = at + part + i / 4 * 8 + lane_id() % 4 * 2, r = i / 2 % 2;
                float2 power = {own_power[r], own_power[r]}, less = {own_delta[r], own_delta[r]};
                if (of_keys) {
                    // a tile may extend beyond the rows of the head, whose number is a multiple of PADDED
                    const offset pair = rows + min(other, padded(n.queries) - 2);
                    power = *(const float2 *)(powers + pair), less = *(const float2 *)(delta + pair);
                }
#pragma unroll
                for (unsigned e = 0; e < 2; ++e) {
                    const unsigned query = of_keys ? other + e : row + 8 * r, key = of_keys ? row + 8 * r : other + e;
                    const bool seen = query < n.queries && key < n.keys && sees(query, key, n);
                    const float p = seen ? exp2_fast(s[i + e] * factor() - (e ? power.y : power.x)) : 0;
                    s[i + e] = p;
                    dp[i + e] = p * (dp[i + e] - (e ? less.y : less.x));
                }
            }
            unsigned weights[2][4];
            as_fragments(weights, dp);
            add_weighted(sums[0], weights, tile, part);
            if (of_keys) {
                as_fragments(weights, s);
                add_weighted(sums[1], weights, tile + tile_bytes, part);
            }
        }
    }
    copy_async_wait<0>(); // needed for the block's own rows if the loop had no step
    __syncthreads();
    write_own(own[0], to_first + base, sums[0], scale(), begin, length);
    if (of_keys)
        write_own(own[1], to_second + base, sums[1], 1, begin, length);
}

extern "C" __global__ void __launch_bounds__(THREADS)
    backward_tiled_queries(const bf16 *__restrict__ q, const bf16 *__restrict__ k, const bf16 *__restrict__ v,
                           const bf16 *__restrict__ dout, const float *__restrict__ powers,
                           const float *__restrict__ delta, bf16 *__restrict__ dq, unsigned heads, unsigned kv_heads,
                           unsigned queries, unsigned keys)
{
    tiled<false>(q, dout, k, v, powers, delta, dq, nullptr, {heads, kv_heads, queries, keys});
}

extern "C" __global__ void __launch_bounds__(THREADS)
    backward_tiled_keys(const bf16 *__restrict__ q, const bf16 *__restrict__ k, const bf16 *__restrict__ v,
                        const bf16 *__restrict__ dout, const float *__restrict__ powers, const float *__restrict__ delta,
                        bf16 *__restrict__ dk, bf16 *__restrict__ dv, unsigned heads, unsigned kv_heads, unsigned queries,
                        unsigned keys)
{
    tiled<true>(k, v, q, dout, powers, delta, dk, dv, {heads, kv_heads, queries, keys});
}
#endif

#if defined(BACKWARD_WGMMA) || !defined(BACKWARD_ONE)
enum : unsigned {
    GROUP = 128,                         // threads of a warp group
    TILE_K = 128,                        // keys of a block: 64 for each of two warp groups
    TILE_Q = HEAD_DIM == 64 ? 128 : 64,  // queries of one step of the loop
    HALVES = HEAD_DIM / 64,              // number of boxes of 64 columns that make up a tile of rows
    KEY_BYTES = TILE_K * HEAD_DIM * 2,   // bytes of a tile of keys or values
    QUERY_BYTES = TILE_Q * HEAD_DIM * 2, // bytes of a tile of queries or dO
    WEIGHT_BYTES = TILE_Q * TILE_K * 2   // bytes of a tile of dS
};

// The sums of dQ in global memory are in parts. Returns the first element of a warp group's part of a tile of queries.
// The sums of a head are tiles of TILE_Q x HEAD_DIM elements. Each tile has two parts of 64 x 64 sums. The parts are
// two halves of the columns, or two halves of the queries. The elements of a part are in the order of the accumulators
// of a wgmma: four sums of each of the 128 threads, and then the next four sums of each thread.
__device__ __forceinline__ offset part_of_sums(unsigned head, unsigned tile, unsigned part, unsigned queries)
{
    return ((offset)head * padded(queries) + tile * TILE_Q) * HEAD_DIM + part * 4096;
}

// Rounds the sums of dQ to bfloat16. Each block of 128 threads rounds one part of a tile.
extern "C" __global__ void __launch_bounds__(128)
    backward_round(const float *__restrict__ sums, bf16 *__restrict__ dq, unsigned queries)
{
    constexpr unsigned pitch = 64 + 8;
    __shared__ __align__(16) bf16 rows[64 * pitch];
    const unsigned tiles = ceil_div(queries, (unsigned)TILE_Q);
    const unsigned part = blockIdx.x % 2, tile = blockIdx.x / 2 % tiles, head = blockIdx.x / 2 / tiles;
    const float *from = sums + part_of_sums(head, tile, part, queries) + 4 * threadIdx.x;
    bf16 *to = rows + (warp_id() * 16 + lane_id() / 4) * pitch + lane_id() % 4 * 2;
#pragma unroll
    for (unsigned j = 0; j < 8; ++j) {
        const float4 four = load_quad(from + j * 512);
        store_pair(to + 8 * j, scale() * four.x, scale() * four.y);
        store_pair(to + 8 * pitch + 8 * j, scale() * four.z, scale() * four.w);
    }
    __syncthreads();
    const unsigned first = tile * TILE_Q + (HEAD_DIM == 64 ? 64 * part : 0), column = HEAD_DIM == 64 ? 0 : 64 * part;
#pragma unroll
    for (unsigned i = 0; i < 4; ++i) {
        const unsigned row = (i * 128 + threadIdx.x) / 8, piece = threadIdx.x % 8;
        if (first + row < queries)
            *(uint4 *)(dq + ((offset)head * queries + first + row) * HEAD_DIM + column + 8 * piece) =
                *(const uint4 *)(rows + row * pitch + 8 * piece);
    }
}
#endif

#if (defined(BACKWARD_WGMMA) || !defined(BACKWARD_ONE)) && (!defined(__CUDA_ARCH__) || defined(__CUDA_ARCH_FEAT_SM90_ALL))
// Adds four floats to four neighbouring floats in global memory. Each addition is atomic.
__device__ __forceinline__ void add_quad(float *to, float a, float b, float c, float d)
{
    asm volatile("red.global.add.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(__cvta_generic_to_global(to)), "f"(a), "f"(b),
                 "f"(c), "f"(d)
                 : "memory");
}

// Waits until a counter has reached `turn`. The thread then sees all writes that came before this count.
__device__ __forceinline__ void wait_for_turn(const unsigned *counter, unsigned turn)
{
    unsigned now;
    do
        asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(now) : "l"(counter) : "memory");
    while (now != turn);
}

// Lets the block with the next keys add its part. That block sees everything that this thread has seen so far.
__device__ __forceinline__ void end_turn(unsigned *counter)
{
    asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(counter) : "memory");
}

template <unsigned rows>
__device__ __forceinline__ void load_boxes(char *tile, const tensor_map &map, unsigned row, unsigned head, barrier *full)
{
#pragma unroll
    for (unsigned half = 0; half < HALVES; ++half)
        tensor_load(tile + half * rows * 128, map, (int)(half * 64), (int)row, (int)head, full);
}

// Begins a product of 64 rows of a tile of keys or values with a tile of queries or dO. The results are transposed
// scores or transposed dP.
__device__ __forceinline__ void begin_scores(float (&s)[TILE_Q / 2], offset a, offset b)
{
    wgmma_keep(s);
    wgmma_fence();
#pragma unroll
    for (unsigned d = 0; d < DEPTH; ++d)
        wgmma<bf16, TILE_Q>::template multiply<false>(s, descriptor_after(a, d / 4 * (TILE_K * 128) + d % 4 * 32),
                                                      descriptor_after(b, d / 4 * (TILE_Q * 128) + d % 4 * 32), d > 0);
    wgmma_commit();
}

// Begins sums += weights b, which is dV += P^T dO or dK += dS^T Q. The weights are in registers, and b is a tile that
// is stored by rows.
__device__ __forceinline__ void begin_weighted(float (&sums)[HEAD_DIM / 2], const unsigned (&weights)[TILE_Q / 16][4],
                                               offset b)
{
    wgmma_keep(sums);
    wgmma_fence();
#pragma unroll
    for (unsigned j = 0; j < TILE_Q / 16; ++j)
        wgmma<bf16, HEAD_DIM>::template multiply<true>(sums, weights[j], descriptor_after(b, j * 2048), 1);
    wgmma_commit();
}

// Begins a part of dQ, which is the product of 64 queries of dS and 64 columns of all keys. In shared memory, dS is two
// boxes of 64 keys.
__device__ __forceinline__ void begin_queries(float (&dq)[32], offset a, offset b)
{
    wgmma_keep(dq);
    wgmma_fence();
#pragma unroll
    for (unsigned j = 0; j < TILE_K / 16; ++j)
        wgmma<bf16, 64>::template multiply<true>(dq, descriptor_after(a, j / 4 * (TILE_Q * 128) + j % 4 * 32),
                                                 descriptor_after(b, j * 2048), j > 0);
    wgmma_commit();
}

// Multiplies a warp's 16 rows by `by`, and writes them by a tensor map, which skips the rows after the last key. `tile`
// has room for the block's TILE_K rows.
__device__ __forceinline__ void write_keys(char *tile, const float (&sums)[HEAD_DIM / 2], float by, const tensor_map &map,
                                           unsigned first, unsigned head)
{
    char *const room = tile + warp_id() * 16 * 128;
#pragma unroll
    for (unsigned d = 0; d < DEPTH; ++d)
        store_fragments(shared_address(room) + d / 4 * (TILE_K * 128) +
                            swizzled<128>(lane_id() % 16 * 128 + d % 4 * 32 + lane_id() / 16 * 16),
                        pack_pair(bf16(), by * sums[8 * d], by * sums[8 * d + 1]),
                        pack_pair(bf16(), by * sums[8 * d + 2], by * sums[8 * d + 3]),
                        pack_pair(bf16(), by * sums[8 * d + 4], by * sums[8 * d + 5]),
                        pack_pair(bf16(), by * sums[8 * d + 6], by * sums[8 * d + 7]));
    fence_async();
    __syncwarp();
    if (lane_id() == 0) {
#pragma unroll
        for (unsigned half = 0; half < HALVES; ++half)
            tensor_store(map, (int)(half * 64), (int)(first + warp_id() * 16), (int)head, room + half * TILE_K * 128);
        tensor_store_commit();
    }
    __syncwarp();
}

struct Barriers {
    barrier keys, queries[STAGES], outputs[STAGES], empty[STAGES]; // outputs: barriers for the tiles of dO
};

// A block owns 128 keys. It processes one tile of queries after another, in all heads that share the keys. One warp
// loads all tiles by tensor maps. Two warp groups with 64 keys each multiply by wgmma. Each warp group computes the
// transposes of S and dP. So P and dS are in registers, in the layout that the products for dV and dK need. Only dS
// goes to shared memory, and it is transposed on the way. It is needed there because dQ is a product over the keys of
// both warp groups. Each group computes one half of dQ and adds it to the sums in global memory. These sums are in
// memory in the order of the registers. Therefore an instruction of a warp adds to 512 neighbouring bytes (red.v4).
// With BULK, this half of dQ goes through shared memory, and one bulk copy adds all of it.
//
// With ORDERED, a counter for each half of a tile of dQ tells which block may add next. Blocks wait only for blocks
// with smaller numbers, which have begun before them. All blocks of a head begin together. Each of them then works
// about one step behind the block before it.
//
// Compared with tiled, the kernel has five products instead of seven. They run asynchronously, with operands from
// shared memory. A warp group computes exponentials while its product for dP runs. It computes dS while its product for
// dV runs, and adds dQ while its product for dK runs. The tile dS has two buffers, so one barrier of both warp groups
// per step is enough. A group that passes this barrier has finished dQ of the previous step.
//
// The bounds of this kernel for sm_90a are as follows, in clocks of a multiprocessor for a step of 64 queries and 128
// keys with heads of 128. Products take 2560 clocks. Reading the operands of the products from shared memory takes 2048
// clocks. Exponentials take 512 clocks.
extern "C" __global__ void __launch_bounds__(GROUP * 3, 1)
    backward_wgmma(const __grid_constant__ tensor_map q, const __grid_constant__ tensor_map k,
                   const __grid_constant__ tensor_map v, const __grid_constant__ tensor_map dout,
                   const __grid_constant__ tensor_map dk, const __grid_constant__ tensor_map dv,
                   const float *__restrict__ powers, const float *__restrict__ delta, float *dq_sums,
                   unsigned *counters, unsigned heads, unsigned kv_heads, unsigned queries, unsigned keys)
{
    extern __shared__ __align__(16) char shared[];
    __shared__ Barriers barriers;
    __shared__ __align__(16) float rows[STAGES][2][TILE_Q]; // powers and delta of a step's queries
    // swizzles permute address bits, so tiles begin at addresses that are multiples of 1024
    char *const room_k = shared + (0 - shared_address(shared)) % 1024, *const room_v = room_k + KEY_BYTES;
    char *const ring = room_v + KEY_BYTES, *const room_ds = ring + STAGES * 2 * QUERY_BYTES;
    const Sizes n = {heads, kv_heads, queries, keys};
    // the number of the warp group comes from one lane, so that the compiler sees that all lanes of a warp agree
    const unsigned group = __shfl_sync(ALL_LANES, threadIdx.x / GROUP, 0);

    // the block's head of keys and its first key
    const unsigned key_tiles = ceil_div(keys, (unsigned)TILE_K);
    const unsigned together = HEADS_FIRST > 0 && HEADS_FIRST < kv_heads ? HEADS_FIRST : HEADS_FIRST > 0 ? kv_heads : 1;
    const unsigned begin_head = blockIdx.x / (together * key_tiles) * together;
    const unsigned in_group = blockIdx.x - begin_head * key_tiles, here = min(together, kv_heads - begin_head);
    const unsigned kv_head = begin_head + in_group % here, first_key = in_group / here * TILE_K;

    const unsigned tiles = ceil_div(queries, (unsigned)TILE_Q), first_tile = min(first_query(first_key, n) / TILE_Q, tiles);
    const unsigned count = tiles - first_tile, sharing = heads / kv_heads, steps = count * sharing;
    // the first step of a head
    const unsigned start = ROTATE && count > 0 ? first_tile + first_key / TILE_K % count : first_tile;

    auto next_tile = [&](unsigned &tile, unsigned &head) {
        tile = tile + 1 == tiles ? first_tile : tile + 1;
        head += tile == start;
    };

    if (threadIdx.x == 0) {
        barrier_init(&barriers.keys, 1);
        for (unsigned i = 0; i < STAGES; ++i) {
            barrier_init(&barriers.queries[i], 1);
            barrier_init(&barriers.outputs[i], 1);
            barrier_init(&barriers.empty[i], 2);
        }
        barriers_made();
    }
    __syncthreads();
    if (group == 2) { // the producer
        registers_give<24>();
        if (warp_id() != 8 || !is_elected())
            return;
        tensor_prefetch(q), tensor_prefetch(k), tensor_prefetch(v), tensor_prefetch(dout);
        barrier_expect(&barriers.keys, 2 * KEY_BYTES);
        load_boxes<TILE_K>(room_k, k, first_key, kv_head, &barriers.keys);
        load_boxes<TILE_K>(room_v, v, first_key, kv_head, &barriers.keys);
        unsigned tile = start, head = kv_head * sharing;
        for (unsigned step = 0; step < steps; ++step) {
            const unsigned stage = step % STAGES, row = tile * TILE_Q;
            const offset at = (offset)head * padded(queries) + row;
            char *const to = ring + stage * 2 * QUERY_BYTES;
            barrier_wait(&barriers.empty[stage], step / STAGES % 2 ^ 1);
            barrier_expect(&barriers.queries[stage], QUERY_BYTES + TILE_Q * 4);
            load_boxes<TILE_Q>(to, q, row, head, &barriers.queries[stage]);
            bulk_load(rows[stage][0], powers + at, TILE_Q * 4, &barriers.queries[stage]);
            barrier_expect(&barriers.outputs[stage], QUERY_BYTES + TILE_Q * 4);
            load_boxes<TILE_Q>(to + QUERY_BYTES, dout, row, head, &barriers.outputs[stage]);
            bulk_load(rows[stage][1], delta + at, TILE_Q * 4, &barriers.outputs[stage]);
            next_tile(tile, head);
        }
        return;
    }
    registers_take<240>();
    constexpr offset by_columns = 0;
    const offset tile_k = matrix_descriptor<128>(shared_address(room_k) + group * 64 * 128, by_columns, 1024);
    const offset tile_v = matrix_descriptor<128>(shared_address(room_v) + group * 64 * 128, by_columns, 1024);
    // the descriptor of all keys, by rows, for dQ: this warp group's half of the columns
    const offset all_keys = matrix_descriptor<128>(shared_address(room_k) + (HEAD_DIM == 64 ? 0 : group * TILE_K * 128),
                                                   TILE_K * 128, 1024);
    // the descriptor of dS for dQ: this warp group's queries
    const offset all_weights = matrix_descriptor<128>(shared_address(room_ds) + (HEAD_DIM == 64 ? group * 64 * 128 : 0),
                                                      by_columns, 1024);
    const offset tile_q = matrix_descriptor<128>(shared_address(ring), TILE_Q * 128, 1024);
    // this lane's first key; its second key is key + 8
    const unsigned key = first_key + group * 64 + warp_id() % 4 * 16 + lane_id() / 4;
    // the address to which stmatrix writes dS; lanes 0 to 7 and 16 to 23 write the first 8 keys of the warp, and the
    // other lanes write the next 8 keys
    const unsigned to_weights = shared_address(room_ds) + group * TILE_Q * 128 +
                                swizzled<128>((lane_id() / 16 * 8 + lane_id() % 8) * 128 + warp_id() % 4 * 32 +
                                              lane_id() / 8 % 2 * 16);
    float *const room_dq = (float *)(room_ds + 2 * WEIGHT_BYTES) + group * 64 * 64; // used with BULK
    float sums_k[HEAD_DIM / 2], sums_v[HEAD_DIM / 2];
    unsigned ds[TILE_Q / 16][4];
#pragma unroll
    for (unsigned i = 0; i < HEAD_DIM / 2; ++i)
        sums_k[i] = sums_v[i] = 0;
    unsigned stage = 0, phase = 0, tile = start, head = kv_head * sharing;
    auto queries_at = [&](unsigned at) { // returns the descriptor of the queries of a stage; dO follows the queries
        return descriptor_after(tile_q, at * 2 * QUERY_BYTES);
    };
    // The second half of a step: computes P and dS, adds to dV, and writes dS to its buffer. When it begins, the
    // products for S and dP run. When it ends, no product runs.
    auto weights = [&](float(&s)[TILE_Q / 2], float(&dp)[TILE_Q / 2], unsigned room) __attribute__((always_inline)) {
        const unsigned first = tile * TILE_Q;
        unsigned p[TILE_Q / 16][4];
        const float *const power = rows[stage][0] + lane_id() % 4 * 2, *const less = rows[stage][1] + lane_id() % 4 * 2;
        wgmma_wait<1>();
        wgmma_keep(s);
        // true if some pairs of this tile are not seen
        if (first_key + TILE_K > keys || !sees(first, first_key + TILE_K - 1, n))
#pragma unroll
            for (unsigned i = 0; i < TILE_Q / 2; ++i) {
                const unsigned of_key = key + i / 2 % 2 * 8, query = first + i / 4 * 8 + lane_id() % 4 * 2 + i % 2;
                if (of_key >= keys || !sees(query, of_key, n))
                    s[i] = least();
            }
#pragma unroll
        for (unsigned i = 0; i < TILE_Q / 2; i += 4) {
            const float2 two = *(const float2 *)(power + i * 2);
            s[i] = exponential(s[i] * factor() - two.x, i);
            s[i + 1] = exponential(s[i + 1] * factor() - two.y, i + 1);
            s[i + 2] = exponential(s[i + 2] * factor() - two.x, i + 2);
            s[i + 3] = exponential(s[i + 3] * factor() - two.y, i + 3);
        }
        as_fragments(p, s);
        begin_weighted(sums_v, p, descriptor_after(queries_at(stage), QUERY_BYTES));
        wgmma_wait<1>();
        wgmma_keep(dp);
#pragma unroll
        for (unsigned i = 0; i < TILE_Q / 2; i += 4) {
            const float2 two = *(const float2 *)(less + i * 2);
#pragma unroll
            for (unsigned r = 0; r < 4; r += 2) {
                // the rounded P is used, because P itself would need too many registers while dV is multiplied
                const unsigned pair = p[i / 8][i / 4 % 2 * 2 + r / 2];
                dp[i + r] = __uint_as_float(pair << 16) * (dp[i + r] - two.x);
                dp[i + r + 1] = __uint_as_float(pair & 0xffff0000) * (dp[i + r + 1] - two.y);
            }
        }
        as_fragments(ds, dp);
#pragma unroll
        for (unsigned j = 0; j < TILE_Q / 16; ++j)
            store_fragments_turned(to_weights + room + j * 2048, ds[j][0], ds[j][1], ds[j][2], ds[j][3]);
        fence_async();
        wgmma_wait<0>();
        wgmma_keep(sums_v);
    };
    barrier_wait(&barriers.keys, 0);
    if (steps > 0) {
        float s[TILE_Q / 2], dp[TILE_Q / 2];
        barrier_wait(&barriers.queries[0], 0);
        begin_scores(s, tile_k, tile_q);
        barrier_wait(&barriers.outputs[0], 0);
        begin_scores(dp, tile_v, descriptor_after(tile_q, QUERY_BYTES));
        weights(s, dp, 0);
    }
    // The loop begins in the middle of a step, where no product runs. Otherwise the compiler would wait for a product
    // at the beginning.
#pragma unroll 1
    for (unsigned step = 0; step < steps; ++step) {
        const unsigned room = step % 2 * WEIGHT_BYTES, before = stage;
        float s[TILE_Q / 2], dp[TILE_Q / 2], dq[32];
        group_sync(1, 2 * GROUP); // dS of both groups is complete, and dQ of the previous step is complete too
        begin_queries(dq, descriptor_after(all_weights, room), all_keys);
        begin_weighted(sums_k, ds, queries_at(stage));
        wgmma_wait<1>();
        wgmma_keep(dq);
        float *const to = dq_sums + part_of_sums(head, tile, group, queries);
        if (BULK) {
            if (threadIdx.x % GROUP == 0)
                tensor_store_wait<0>(); // the copy of the previous part has read this buffer before
            group_sync(2 + group, GROUP);
#pragma unroll
            for (unsigned i = 0; i < 32; i += 4)
                store_quad(room_dq + i * 128 + threadIdx.x % GROUP * 4, make_float4(dq[i], dq[i + 1], dq[i + 2], dq[i + 3]));
            fence_async();
            group_sync(2 + group, GROUP);
            if (threadIdx.x % GROUP == 0) {
                bulk_add(to, room_dq, 64 * 64 * 4);
                tensor_store_commit();
            }
            __syncwarp();
        } else {
            unsigned *const counter = counters + part_of_sums(head, tile, group, queries) / 4096;
            if (ORDERED) {
                if (threadIdx.x % GROUP == 0)
                    wait_for_turn(counter, first_key / TILE_K);
                group_sync(2 + group, GROUP);
            }
#pragma unroll
            for (unsigned i = 0; i < 32; i += 4)
                add_quad(to + i * 128 + threadIdx.x % GROUP * 4, dq[i], dq[i + 1], dq[i + 2], dq[i + 3]);
            if (ORDERED) {
                group_sync(2 + group, GROUP);
                if (threadIdx.x % GROUP == 0)
                    end_turn(counter);
                __syncwarp();
            }
        }
        if (step + 1 == steps)
            break;
        stage = stage + 1 == STAGES ? 0 : stage + 1;
        phase ^= stage == 0;
        next_tile(tile, head);
        barrier_wait(&barriers.queries[stage], phase);
        begin_scores(s, tile_k, queries_at(stage));
        wgmma_wait<1>();
        wgmma_keep(sums_k);
        if (threadIdx.x % GROUP == 0)
            barrier_arrive(&barriers.empty[before]);
        barrier_wait(&barriers.outputs[stage], phase);
        begin_scores(dp, tile_v, descriptor_after(queries_at(stage), QUERY_BYTES));
        weights(s, dp, room ^ WEIGHT_BYTES);
    }
    wgmma_wait<0>();
    wgmma_keep(sums_k);
    group_sync(1, 2 * GROUP); // all warps have read the keys
    write_keys(room_k, sums_k, scale(), dk, first_key, kv_head);
    write_keys(room_v, sums_v, 1, dv, first_key, kv_head);
    if (lane_id() == 0)
        tensor_store_wait<0>();
}
#endif
