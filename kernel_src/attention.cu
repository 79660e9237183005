// attention.cu - scaled dot-product attention, forward, in bfloat16, in four ways. It is computed for each of BATCH x
// HEADS heads. The formula is O = softmax(scale Q K^T) V, where scale is 1 / sqrt(HEAD_DIM). Q and O are QUERIES x
// HEAD_DIM per head. K and V are KEYS x HEAD_DIM for each of BATCH x KV_HEADS heads.
//
// All arrays are dense: [BATCH, HEADS, QUERIES, HEAD_DIM] and [BATCH, KV_HEADS, KEYS, HEAD_DIM]. If KV_HEADS is smaller
// than HEADS (grouped-query attention), HEADS / KV_HEADS neighbouring heads of queries share a head of keys. With
// CAUSAL, query i sees the keys up to i + KEYS - QUERIES, so the last query sees all keys. A query that sees no key
// gets zeros. This happens if QUERIES > KEYS or if KEYS = 0. QUERIES and KEYS may be any numbers below 2^30, including
// 0. HEAD_DIM is 64 or 128. Inputs must be finite.
//
// The scores of a head are QUERIES x KEYS numbers, far more than Q, K, V and O. Attention is fast if the scores are
// never stored in memory. A tile of queries processes one tile of keys after another. It scales its accumulators down
// when a greater score comes (the online softmax, as in normalise.cu).
//
// Precision: the accumulators of all products are in single precision. The scores and the sums of exponentials are not
// rounded further. Exponentials are rounded to bfloat16 before they are multiplied by V, except in `naive`. The error
// of this rounding is at most 2^-9 of the largest |v|. The kernels compute exponentials as powers of 2. One factor
// contains log2(e) and 1 / sqrt(HEAD_DIM), so the power is s factor - base for a score s. This is one multiply-add. The
// base is near the greatest score of the row times the factor. The base is rounded, but it is the same for the whole
// row, so its error cancels. Each variant gives the same bits in every run.
//
// The tuning parameters are macros. The engine defines these macros from the spec. The defaults below only let an
// editor or a compiler parse this file alone. A kernel is compiled if its own macro ATTENTION_<NAME> is set, or if
// ATTENTION_ONE is not set.

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
#define WARPS 4 // flash, flash_async: number of warps of a block, each with 16 queries
#endif
#ifndef TILE_K
#define TILE_K 64 // number of keys of a tile; a multiple of 16
#endif
#ifndef EXP_POLY
#define EXP_POLY 0 // flash_wgmma: how many of every 8 exponentials a polynomial computes
#endif
#ifndef STAGES
#define STAGES 2 // flash_async, flash_wgmma: number of tiles of keys and values that shared memory holds
#endif
#ifndef HEADS_FIRST
// The tiles that neighbouring blocks compute: 0: neighbouring tiles of queries. 1: the same tile of neighbouring heads.
// n > 1: the same tile of n heads, and then the next tile of these heads.
#define HEADS_FIRST 0
#endif

#ifndef PERSISTENT
// flash_wgmma: 0: a block computes one tile. 1: a block computes tile after tile. 2: a block computes tile after tile,
// and has room for the queries of two tiles.
#define PERSISTENT 0
#endif

#include "async.cuh"
#include "attention.cuh"
#include "attention_tiles.cuh"

#if defined(ATTENTION_NAIVE) || !defined(ATTENTION_ONE)
__device__ __forceinline__ float as_float(bf16 e)
{
    return __uint_as_float((unsigned)e.bits << 16);
}

// Combines the items of all threads of the block. All threads get the result. The function has one barrier before and
// one barrier after the exchange.
template <bool maximum> __device__ __forceinline__ float block_all_reduce(float mine)
{
    __shared__ float warps[BLOCK / WARP];
#pragma unroll
    for (unsigned distance = WARP / 2; distance > 0; distance /= 2) {
        float other = __shfl_xor_sync(ALL_LANES, mine, distance);
        mine = maximum ? fmaxf(mine, other) : mine + other;
    }
    __syncthreads();
    if (lane_id() == 0)
        warps[warp_id()] = mine;
    __syncthreads();
    mine = warps[0];
    for (unsigned w = 1; w < BLOCK / WARP; ++w)
        mine = maximum ? fmaxf(mine, warps[w]) : mine + warps[w];
    return mine;
}

// One block computes one query: all its scores, their softmax, and then the mean of the rows of V with these weights.
//
// The scores are in shared memory, which limits KEYS. Each thread multiplies the query by one key, so a warp reads 32
// rows of K at once. Then each thread sums one column of V. Every query reads K and V again, so the L2 delivers both of
// them QUERIES times. Only the result is rounded.
extern "C" __global__ void __launch_bounds__(BLOCK)
    attention_naive(const bf16 *__restrict__ q, const bf16 *__restrict__ k, const bf16 *__restrict__ v,
                    bf16 *__restrict__ o, unsigned heads, unsigned kv_heads, unsigned queries, unsigned keys)
{
    extern __shared__ float scores[];
    __shared__ float query[HEAD_DIM], parts[BLOCK];
    const Sizes n = {heads, kv_heads, queries, keys};
    const Place at(n, 1, blockIdx.x);
    const offset row = (offset)at.head * queries + at.first, base = (offset)at.kv_head * keys * HEAD_DIM;
    const int seen = keys_seen(at.first, n);
    for (unsigned d = threadIdx.x; d < HEAD_DIM; d += BLOCK)
        query[d] = as_float(q[row * HEAD_DIM + d]);
    __syncthreads();
    float top = least(), sum = 0;
    for (int j = (int)threadIdx.x; j < seen; j += BLOCK) {
        float score = 0;
        for (unsigned d = 0; d < HEAD_DIM; ++d)
            score += query[d] * as_float(k[base + (offset)j * HEAD_DIM + d]);
        scores[j] = score;
        top = fmaxf(top, score);
    }
    top = block_all_reduce<true>(top);
    for (int j = (int)threadIdx.x; j < seen; j += BLOCK)
        sum += scores[j] = exp2_fast((scores[j] - top) * factor());
    sum = block_all_reduce<false>(sum);
    const unsigned column = threadIdx.x % HEAD_DIM;
    float mean = 0;
    for (int j = (int)(threadIdx.x / HEAD_DIM); j < seen; j += BLOCK / HEAD_DIM)
        mean += scores[j] * as_float(v[base + (offset)j * HEAD_DIM + column]);
    parts[threadIdx.x] = mean;
    __syncthreads();
    if (threadIdx.x >= HEAD_DIM)
        return;
    for (unsigned i = threadIdx.x + HEAD_DIM; i < BLOCK; i += HEAD_DIM)
        mean += parts[i];
    store_one(o + row * HEAD_DIM + threadIdx.x, sum > 0 ? mean / sum : 0);
}
#endif

#if defined(ATTENTION_FLASH) || defined(ATTENTION_FLASH_ASYNC) || !defined(ATTENTION_ONE)
// ---- tiles in shared memory, with rows of HEAD_DIM elements ----

enum : unsigned { TILE_Q = 16 * WARPS, THREADS = WARP * WARPS, ROW_BYTES = 2 * HEAD_DIM };

// Returns the offset of piece `c` of a row. A piece has 16 bytes. The pieces of a row are permuted by the row's number,
// so the same piece of eight rows lies in different banks.
struct Exchanged {
    static __device__ __forceinline__ unsigned piece(unsigned row, unsigned c)
    {
        return row * ROW_BYTES + ((c ^ row % 8) * 16);
    }
};

// The block begins to copy `rows` rows, from row `first` on, to a tile. Rows from `end` on become zeros in the tile.
// Neighbouring threads copy neighbouring pieces of 16 bytes.
template <bool async, unsigned rows>
__device__ __forceinline__ void load_tile(char *tile, const bf16 *from, unsigned first, unsigned end)
{
#pragma unroll
    for (unsigned i = 0; i < ceil_div(rows * PIECES, (unsigned)THREADS); ++i) {
        const unsigned number = i * THREADS + threadIdx.x, row = number / PIECES, c = number % PIECES;
        if (rows * PIECES % THREADS != 0 && number >= rows * PIECES)
            break;
        const bool inside = first + row < end;
        const uint4 *at = (const uint4 *)(from + (offset)(inside ? first + row : 0) * HEAD_DIM) + c;
        if (async)
            copy_async<16>(tile + Exchanged::piece(row, c), at, inside);
        else
            *(uint4 *)(tile + Exchanged::piece(row, c)) = inside ? *at : make_uint4(0, 0, 0, 0);
    }
}

// The state of the 16 queries of a warp.
struct Queries {
    unsigned fragments[DEPTH][4];
    float o[HEAD_DIM / 2];
    Softmax softmax;
    int seen[2];

    __device__ __forceinline__ void begin(const char *tile, unsigned first, Sizes n)
    {
        const unsigned row = warp_id() * 16 + lane_id() % 16;
#pragma unroll
        for (unsigned d = 0; d < DEPTH; ++d)
            load_fragments(fragments[d], shared_address(tile) + Exchanged::piece(row, 2 * d + lane_id() / 16));
#pragma unroll
        for (unsigned i = 0; i < HEAD_DIM / 2; ++i)
            o[i] = 0;
        softmax.begin();
#pragma unroll
        for (unsigned r = 0; r < 2; ++r)
            seen[r] = keys_seen(first + warp_id() * 16 + lane_id() / 4 + 8 * r, n);
    }
    // Adds a tile of keys and values, from key `first` on. `whole` tells that all queries of the block see all keys of
    // the tile.
    __device__ __forceinline__ void take(const char *keys, const char *values, unsigned first, bool whole)
    {
        take_tile<Exchanged, TILE_K>(o, softmax, fragments, shared_address(keys), shared_address(values), first, whole,
                                     seen);
    }
    // Writes O in complete pieces of rows, through the part of the queries' tile that belongs to this warp.
    __device__ __forceinline__ void end(char *tile, bf16 *to, unsigned first, unsigned queries)
    {
        float scale[2];
        softmax.end(scale);
        scale_rows(o, scale);
        __syncwarp();
#pragma unroll
        for (unsigned i = 0; i < HEAD_DIM / 2; i += 2) {
            const unsigned row = warp_id() * 16 + lane_id() / 4 + i / 2 % 2 * 8;
            *(unsigned *)(tile + Exchanged::piece(row, i / 4) + lane_id() % 4 * 4) = pack_pair(bf16(), o[i], o[i + 1]);
        }
        __syncwarp();
#pragma unroll
        for (unsigned i = 0; i < 16 * PIECES / WARP; ++i) {
            const unsigned number = i * WARP + lane_id(), row = warp_id() * 16 + number / PIECES, c = number % PIECES;
            if (first + row < queries)
                *((uint4 *)(to + (offset)(first + row) * HEAD_DIM) + c) = *(const uint4 *)(tile + Exchanged::piece(row, c));
        }
    }
};

// `count` is the number of tiles of keys that the queries of a block see. `whole` is the first tile that some of these
// queries do not see completely.
struct Tiles {
    unsigned count, whole;
    __device__ __forceinline__ Tiles(unsigned first, unsigned last, Sizes n)
    {
        const int most = keys_seen(last < n.queries ? last : n.queries - 1, n), fewest = keys_seen(first, n);
        count = most > 0 ? ceil_div((unsigned)most, (unsigned)TILE_K) : 0;
        whole = fewest > 0 ? fewest / TILE_K : 0;
    }
};
#endif

#if defined(ATTENTION_FLASH) || !defined(ATTENTION_ONE)
// One block computes one tile of 16 WARPS queries. The queries stay in registers, and the block processes one tile of
// keys after the other. Each warp multiplies its own queries on the tensor cores, by mma.sync.
//
// Compared with naive, the kernel makes one pass, and stores nothing of the size of the scores. It reads K and V once
// for 16 WARPS queries. The accumulators of the first product have the register layout that the second product needs.
// So exponentials stay in registers between the products. Loads and products alternate: while a tile is being loaded,
// the block multiplies nothing.
extern "C" __global__ void __launch_bounds__(THREADS)
    attention_flash(const bf16 *__restrict__ q, const bf16 *__restrict__ k, const bf16 *__restrict__ v,
                    bf16 *__restrict__ o, unsigned heads, unsigned kv_heads, unsigned queries, unsigned keys)
{
    extern __shared__ __align__(16) char room[];
    char *const tile_q = room, *const tile_k = room + TILE_Q * ROW_BYTES, *const tile_v = tile_k + TILE_K * ROW_BYTES;
    const Sizes n = {heads, kv_heads, queries, keys};
    const Place at(n, TILE_Q, blockIdx.x);
    const offset of_head = (offset)at.head * queries * HEAD_DIM, of_keys = (offset)at.kv_head * keys * HEAD_DIM;
    load_tile<false, TILE_Q>(tile_q, q + of_head, at.first, queries);
    __syncthreads();
    Queries mine;
    mine.begin(tile_q, at.first, n);
    const Tiles tiles(at.first, at.first + TILE_Q - 1, n);
    for (unsigned t = 0; t < tiles.count; ++t) {
        __syncthreads();
        load_tile<false, TILE_K>(tile_k, k + of_keys, t * TILE_K, keys);
        load_tile<false, TILE_K>(tile_v, v + of_keys, t * TILE_K, keys);
        __syncthreads();
        mine.take(tile_k, tile_v, t * TILE_K, t < tiles.whole);
    }
    mine.end(tile_q, o + of_head, at.first, queries);
}
#endif

#if defined(ATTENTION_FLASH_ASYNC) || !defined(ATTENTION_ONE)
// The kernel does the same as flash, but has space for STAGES tiles of keys and values. While the block multiplies one
// tile, cp.async copies the other tiles.
//
// Compared with flash, the products hide the time of a copy, copies in flight need no registers, and a tile needs one
// barrier instead of two. A thread sees its own copies after it has waited for them. It sees the copies of other
// threads after the barrier.
extern "C" __global__ void __launch_bounds__(THREADS)
    attention_flash_async(const bf16 *__restrict__ q, const bf16 *__restrict__ k, const bf16 *__restrict__ v,
                          bf16 *__restrict__ o, unsigned heads, unsigned kv_heads, unsigned queries, unsigned keys)
{
    extern __shared__ __align__(16) char room[];
    char *const tile_q = room, *const ring = room + TILE_Q * ROW_BYTES;
    constexpr unsigned tile_bytes = TILE_K * ROW_BYTES;
    const Sizes n = {heads, kv_heads, queries, keys};
    const Place at(n, TILE_Q, blockIdx.x);
    const offset of_head = (offset)at.head * queries * HEAD_DIM, of_keys = (offset)at.kv_head * keys * HEAD_DIM;
    const Tiles tiles(at.first, at.first + TILE_Q - 1, n);
    load_tile<true, TILE_Q>(tile_q, q + of_head, at.first, queries);
    copy_async_commit();
#pragma unroll
    for (unsigned t = 0; t < STAGES - 1; ++t) {
        if (t < tiles.count) {
            load_tile<true, TILE_K>(ring + 2 * t * tile_bytes, k + of_keys, t * TILE_K, keys);
            load_tile<true, TILE_K>(ring + (2 * t + 1) * tile_bytes, v + of_keys, t * TILE_K, keys);
        }
        copy_async_commit();
    }
    copy_async_wait<STAGES - 1>();
    __syncthreads();
    Queries mine;
    mine.begin(tile_q, at.first, n);
    unsigned stage = 0, behind = STAGES - 1; // the stage of the next tile; the stage that was read last
    for (unsigned t = 0; t < tiles.count; ++t) {
        copy_async_wait<STAGES - 2>();
        __syncthreads();
        const unsigned next = t + STAGES - 1;
        if (next < tiles.count) {
            load_tile<true, TILE_K>(ring + 2 * behind * tile_bytes, k + of_keys, next * TILE_K, keys);
            load_tile<true, TILE_K>(ring + (2 * behind + 1) * tile_bytes, v + of_keys, next * TILE_K, keys);
        }
        copy_async_commit();
        mine.take(ring + 2 * stage * tile_bytes, ring + (2 * stage + 1) * tile_bytes, t * TILE_K, t < tiles.whole);
        behind = stage;
        stage = stage + 1 == STAGES ? 0 : stage + 1;
    }
    mine.end(tile_q, o + of_head, at.first, queries);
}
#endif

#if defined(ATTENTION_FLASH_WGMMA) || (!defined(ATTENTION_ONE) && defined(__CUDA_ARCH_FEAT_SM90_ALL))
#ifndef GROUPS
#define GROUPS 2 // consumer warp groups, each with 64 queries
#endif
#ifndef OVERLAP
// 1: begins the scores of the next tile before the values of this tile; 2: begins the scores of the tile after that too
#define OVERLAP 1
#endif
#ifndef IN_TURN
#define IN_TURN 1 // 1: one of two groups multiplies while the other computes exponentials
#endif

enum : unsigned {
    GROUP = 128,           // threads of a warp group
    GROUP_QUERIES = 64,    // queries in one wgmma of a warp group
    HALVES = HEAD_DIM / 64 // number of boxes of 64 columns that make up a tile of rows
};

// Returns the bytes of a tile of `rows` rows. A tile has HALVES boxes with rows of 128 bytes, which the copy swizzles.
template <unsigned rows> __device__ __forceinline__ constexpr unsigned boxed_bytes()
{
    return rows * HEAD_DIM * 2;
}

template <unsigned rows>
__device__ __forceinline__ void load_boxes(char *tile, const tensor_map &map, unsigned row, unsigned head, barrier *full)
{
    barrier_expect(full, boxed_bytes<rows>());
#pragma unroll
    for (unsigned half = 0; half < HALVES; ++half)
        tensor_load(tile + half * rows * 128, map, (int)(half * 64), (int)row, (int)head, full);
}

struct Rings {
    barrier q_full[2], q_empty[2], k_full[STAGES], k_empty[STAGES], v_full[STAGES], v_empty[STAGES];
};

// Begins S = Q K^T for the warp group's 64 queries and a tile of keys. `a` and `b` are the descriptors of both. The
// wgmma instructions run asynchronously.
__device__ __forceinline__ void begin_scores(float (&s)[TILE_K / 2], offset a, offset b)
{
    wgmma_keep(s);
    wgmma_fence();
#pragma unroll
    for (unsigned d = 0; d < DEPTH; ++d)
        wgmma<bf16, TILE_K>::template multiply<false>(
            s, descriptor_after(a, d / 4 * (GROUPS * GROUP_QUERIES * 128) + d % 4 * 32),
            descriptor_after(b, d / 4 * (TILE_K * 128) + d % 4 * 32), d > 0);
    wgmma_commit();
}

// Begins O += P V. The exponentials P are in registers, and the tile of values V is stored by rows.
__device__ __forceinline__ void begin_values(float (&o)[HEAD_DIM / 2], const unsigned (&p)[TILE_K / 16][4], offset b)
{
    wgmma_keep(o);
    wgmma_fence();
#pragma unroll
    for (unsigned j = 0; j < TILE_K / 16; ++j)
        wgmma<bf16, HEAD_DIM>::template multiply<true>(o, p[j], descriptor_after(b, j * 2048), 1);
    wgmma_commit();
}

// Writes the warp's 16 rows of O by a tensor map, which skips the rows after the last query. The boxes of 64 columns
// are half_bytes apart.
__device__ __forceinline__ void write_rows(char *room, unsigned half_bytes, const float (&o)[HEAD_DIM / 2],
                                           const tensor_map &map, unsigned row, unsigned head)
{
#pragma unroll
    for (unsigned d = 0; d < DEPTH; ++d)
        store_fragments(shared_address(room) + d / 4 * half_bytes +
                            swizzled<128>(lane_id() % 16 * 128 + d % 4 * 32 + lane_id() / 16 * 16),
                        pack_pair(bf16(), o[8 * d], o[8 * d + 1]), pack_pair(bf16(), o[8 * d + 2], o[8 * d + 3]),
                        pack_pair(bf16(), o[8 * d + 4], o[8 * d + 5]), pack_pair(bf16(), o[8 * d + 6], o[8 * d + 7]));
    fence_async();
    __syncwarp();
    if (lane_id() == 0) {
#pragma unroll
        for (unsigned half = 0; half < HALVES; ++half)
            tensor_store(map, (int)(half * 64), (int)row, (int)head, room + half * half_bytes);
        tensor_store_commit();
    }
}

// One warp of the block loads all tiles by tensor maps. GROUPS warp groups, with 64 queries each, multiply these tiles
// by wgmma.
//
// Compared with flash_async, copies need one thread and no registers. Operands come from shared memory without
// ldmatrix. Products run asynchronously, 64 x TILE_K at a time. Therefore a warp group can compute exponentials while
// products run. An SM has few units for exponentials. With OVERLAP a warp group computes exponentials while its own
// products run. The warp group begins the scores of the next tile before the values of this tile. It computes the
// exponentials of the next tile while the values are multiplied. With OVERLAP 2, the scores of the tile after the next
// tile run at the same time too. With IN_TURN a warp group computes exponentials while the products of the other group
// run. Registers move from the warp that copies to the warps that multiply.
//
// The bounds of this kernel for sm_90a, in clocks of a multiprocessor for 64 queries and 128 keys, are as follows.
// Products take 512 clocks with heads of 64 and 1024 with heads of 128. Exponentials take 512 clocks (16 exponentials
// per clock). Instructions take about 400 clocks. Each of the 4 warps executes 64 multiply-adds, 64 exponentials, 64
// additions, 64 maxima and 32 conversions. Once per tile it executes some other instructions. Therefore heads of 64
// have two equal bounds. Warp groups reach both bounds only if they are at different places of the loop.
//
// The kernel writes O through the shared memory of the queries. With PERSISTENT, the kernel loads the keys of the next
// tile of queries while this tile ends. If there is room for the queries of two tiles, the next queries have arrived
// when a tile ends. Then O is written while the next scores are multiplied.
extern "C" __global__ void __launch_bounds__(GROUP *(GROUPS + 1), 1)
    attention_flash_wgmma(const __grid_constant__ tensor_map q, const __grid_constant__ tensor_map k,
                          const __grid_constant__ tensor_map v, const __grid_constant__ tensor_map o, unsigned heads,
                          unsigned kv_heads, unsigned queries, unsigned keys)
{
    extern __shared__ __align__(16) char shared[];
    __shared__ Rings rings;
    // swizzles permute address bits, so tiles begin at addresses that are multiples of 1024
    char *const room = shared + (0 - shared_address(shared)) % 1024;
    constexpr unsigned tile_queries = GROUPS * GROUP_QUERIES, half_bytes = tile_queries * 128;
    const Sizes n = {heads, kv_heads, queries, keys};
    // wgmma takes descriptors from uniform registers. If ptxas can see that the lanes of a warp agree on everything on
    // which a descriptor depends, it keeps the descriptor there. Therefore one lane gives the number of the warp group,
    // conditions are votes, and a __syncwarp() follows the code of a single lane.
    const unsigned group = __shfl_sync(ALL_LANES, threadIdx.x / GROUP, 0);
    char *const room_k = room + boxed_bytes<tile_queries>(), *const room_v = room_k + STAGES * boxed_bytes<TILE_K>();
    const unsigned first_k = (unsigned)matrix_descriptor<128>(shared_address(room_k), 0, 1024);
    const unsigned first_v = (unsigned)matrix_descriptor<128>(shared_address(room_v), TILE_K * 128, 1024);
    typedef Ring<boxed_bytes<TILE_K>(), 128> TileRing;
    TileRing ring_k = {room_k, rings.k_full, rings.k_empty, first_k, 0, 0, first_k};
    TileRing ring_v = {room_v, rings.v_full, rings.v_empty, first_v, 0, 0, first_v};
    constexpr unsigned rooms = PERSISTENT == 2 ? 2 : 1;
    char *const room_2 = room_v + STAGES * boxed_bytes<TILE_K>(); // the second buffer for queries
    auto tiles_to = [&](unsigned last) { // returns the number of tiles of keys that the queries up to `last` see
        const int most = keys_seen(last < queries ? last : queries - 1, n);
        return most > 0 ? ceil_div((unsigned)most, (unsigned)TILE_K) : 0;
    };
    if (threadIdx.x == 0) {
        for (unsigned i = 0; i < rooms; ++i) {
            barrier_init(&rings.q_full[i], 1);
            barrier_init(&rings.q_empty[i], GROUPS * 4); // each warp that has written O arrives here
        }
        for (unsigned i = 0; i < STAGES; ++i) {
            barrier_init(&rings.k_full[i], 1);
            barrier_init(&rings.v_full[i], 1);
            barrier_init(&rings.k_empty[i], GROUPS);
            barrier_init(&rings.v_empty[i], GROUPS);
        }
        barriers_made();
    }
    __syncthreads();
    Turns turns(heads * ceil_div(queries, tile_queries));
    if (group == GROUPS) { // the producer
        registers_give<GROUPS == 3 ? 32 : 24>();
        if (warp_id() != GROUPS * 4 || !is_elected())
            return;
        tensor_prefetch(q), tensor_prefetch(k), tensor_prefetch(v), tensor_prefetch(o);
        auto load_queries = [&](const Turns &of) {
            const Place at(n, tile_queries, of.number);
            const unsigned second = of.taken % rooms;
            barrier_wait(&rings.q_empty[second], of.taken / rooms % 2 ^ 1);
            load_boxes<tile_queries>(second ? room_2 : room, q, at.first, at.head, &rings.q_full[second]);
        };
        for (; turns.more(); turns.next()) {
            const Place at(n, tile_queries, turns.number);
            const unsigned tiles = tiles_to(at.first + tile_queries - 1);
            auto load = [&](TileRing &ring, const tensor_map &map, unsigned t) {
                ring.wait_empty();
                load_boxes<TILE_K>(ring.tile(), map, t * TILE_K, at.kv_head, ring.full + ring.stage);
                ring.next();
            };
            if (tiles > 0)
                load(ring_k, k, 0);
            if (PERSISTENT < 2 || turns.taken == 0)
                load_queries(turns);
            for (unsigned t = 0; t < tiles || t == 0; ++t) {
                Turns after = turns;
                after.next();
                if (PERSISTENT == 2 && t + 1 >= tiles && after.more())
                    load_queries(after); // the copy of O of the previous tile has ended long before
                if (t > 0)
                    load(ring_k, k, t);
                if (tiles > 0)
                    load(ring_v, v, t);
            }
        }
        return;
    }
    registers_take<GROUPS == 2 ? 240 : GROUPS == 3 ? 160 : 112>();
    const unsigned warp_row = group * GROUP_QUERIES + warp_id() % 4 * 16;
    // Group g begins its products when the other group has begun its own products. Group g waits at barrier 1 + g for
    // this.
    const bool in_turn = IN_TURN && GROUPS == 2;
    if (in_turn && group == 1)
        group_arrive(1, 2 * GROUP);
    for (; turns.more(); turns.next()) {
        const Place at(n, tile_queries, turns.number);
        const unsigned second = turns.taken % rooms, phase = turns.taken / rooms % 2;
        char *const room_q = second ? room_2 : room;
        const offset tile_q = matrix_descriptor<128>(shared_address(room_q + group * GROUP_QUERIES * 128), 0, 1024);
        const unsigned all_tiles = tiles_to(at.first + tile_queries - 1), begin = at.first + group * GROUP_QUERIES;
        // number of tiles of keys that the queries of this group see
        const unsigned tiles = begin < queries ? tiles_to(begin + GROUP_QUERIES - 1) : 0;
        const unsigned first = at.first + warp_row, row = first + lane_id() / 4;
        const int seen[2] = {keys_seen(row, n), keys_seen(row + 8, n)};
        const int fewest = keys_seen(begin, n);
        const unsigned whole = fewest > 0 ? fewest / TILE_K : 0;
        Softmax softmax;
        softmax.begin();
        float s[TILE_K / 2], sums[HEAD_DIM / 2], scale[2];
        unsigned p[TILE_K / 16][4];
        bool grew = false;
#pragma unroll
        for (unsigned i = 0; i < HEAD_DIM / 2; ++i)
            sums[i] = 0;
        auto next_scores = [&] {
            if (in_turn)
                group_sync(1 + group, 2 * GROUP);
            begin_scores(s, tile_q, ring_k.descriptor());
        };
        auto next_values = [&] {
            ring_v.wait_full();
            begin_values(sums, p, ring_v.descriptor());
        };
        // Computes the exponentials of a tile's scores, which are later multiplied by the tile's values. The product of
        // the scores has ended. The product of the previous values may still run.
        auto exponentials = [&](unsigned t) {
            wgmma_keep(s);
            ring_k.leave();
            if (t >= whole)
                softmax.mask(s, t * TILE_K, seen);
            grew = softmax.take(s, scale);
        };
        // This is a step of the loop for two tiles of scores. Before a step, the scores of tile t are complete. The
        // step begins the scores of the next tile and completes them.
        auto wait_for_all_but = [](bool one) {
            if (one)
                wgmma_wait<1>();
            else
                wgmma_wait<0>();
        };
        auto step = [&](float(&mine)[TILE_K / 2], float(&next)[TILE_K / 2], unsigned t, bool last)
            __attribute__((always_inline)) {
            if (!last) {
                ring_k.wait_full();
                begin_scores(next, tile_q, ring_k.descriptor());
            }
            if (t >= whole)
                softmax.mask(mine, t * TILE_K, seen);
            grew = softmax.take(mine, scale);
            // This barrier has completed already, so the wait takes no time. The wait only keeps the next wait behind
            // the exponentials (see below).
            barrier_wait(&rings.q_full[second], phase ^ (unsigned)__any_sync(ALL_LANES, softmax.sum[0] + softmax.sum[1] < 0));
            wait_for_all_but(!last);
            wgmma_keep(sums);
            if (t > 0)
                ring_v.leave();
            if (grew)
                scale_rows(sums, scale);
            as_fragments(p, mine);
            next_values();
            wait_for_all_but(!last);
            if (last) {
                wgmma_keep(sums);
                ring_v.leave();
            } else {
                wgmma_keep(next);
                ring_k.leave();
            }
        };
        auto values_end = [&] {
            wgmma_wait<0>();
            wgmma_keep(sums);
            ring_v.leave();
        };
        // Waits until O of the previous tile has left the other buffer. This is called after scores were begun, so the
        // wait costs no time.
        auto other_room_is_empty = [&] {
            if (PERSISTENT == 2 && turns.taken > 0 && lane_id() == 0) {
                tensor_store_wait<0>();
                barrier_arrive(&rings.q_empty[second ^ 1]);
            }
            __syncwarp();
        };
        barrier_wait(&rings.q_full[second], phase);
        if (tiles == 0)
            other_room_is_empty();
        if (OVERLAP == 2 && tiles > 0) {
            float other[TILE_K / 2];
            ring_k.wait_full();
            next_scores();
            other_room_is_empty();
            wgmma_wait<0>();
            wgmma_keep(s);
            ring_k.leave();
            unsigned t = 0;
            for (; t + 2 < tiles; t += 2) {
                step(s, other, t, false);
                step(other, s, t + 1, false);
            }
            if (t + 1 < tiles) {
                step(s, other, t, false);
                step(other, s, t + 1, true);
            } else
                step(s, other, t, true);
        }
        if (OVERLAP < 2 && tiles > 0) {
            ring_k.wait_full();
            next_scores();
            if (in_turn)
                group_arrive(2 - group, 2 * GROUP);
            other_room_is_empty();
            wgmma_wait<0>();
            exponentials(0);
            as_fragments(p, s);
        }
        if (OVERLAP == 1 && tiles > 1)
            ring_k.wait_full();
        for (unsigned t = 1; OVERLAP < 2 && t < tiles; ++t) {
            if (!OVERLAP) {
                next_values();
                values_end();
                ring_k.wait_full();
            }
            next_scores();
            if (OVERLAP)
                next_values();
            if (in_turn)
                group_arrive(2 - group, 2 * GROUP);
            wgmma_wait<OVERLAP != 0>();
            exponentials(t);
            if (OVERLAP) {
                // The wait for products needs no exponential, so ptxas would move it before all exponentials. It moves
                // nothing across a branch. wait_full() for the keys has a branch, and this argument makes that branch
                // depend on the exponentials. The argument is always false, because no sum is below 0.
                if (t + 1 < tiles)
                    ring_k.wait_full(__any_sync(ALL_LANES, softmax.sum[0] + softmax.sum[1] < 0));
                values_end();
            }
            if (grew)
                scale_rows(sums, scale);
            as_fragments(p, s);
        }
        if (OVERLAP < 2 && tiles > 0) {
            next_values();
            values_end();
        }
        // The queries of this group see no key of these tiles, so only other groups multiply them. No product keeps the
        // warps of this group together here, and one thread arrives for all of them. Therefore only this thread's warp
        // waits. If another warp waited too, two phases could end before this warp tests the barrier. The barrier only
        // distinguishes odd phases from even phases, so the warp would wait forever. The warps of the group synchronise
        // before O is written.
        for (unsigned t = tiles; t < all_tiles; ++t) {
            if (warp_id() % 4 == 0)
                ring_k.wait_full();
            if (in_turn) {
                group_sync(1 + group, 2 * GROUP);
                group_arrive(2 - group, 2 * GROUP);
            }
            ring_k.leave();
            if (warp_id() % 4 == 0)
                ring_v.wait_full();
            ring_v.leave();
        }
        softmax.end(scale);
        scale_rows(sums, scale);
        group_sync(3 + group, GROUP); // all warps of the group have read the queries
        write_rows(room_q + warp_row * 128, half_bytes, sums, o, first, at.head);
        if (PERSISTENT == 1 && lane_id() == 0) {
            tensor_store_wait<0>();
            barrier_arrive(&rings.q_empty[0]);
        }
        __syncwarp();
    }
    if (in_turn && group == 0)
        group_sync(1, 2 * GROUP); // matches the last arrival of group 1
    if (lane_id() == 0)
        tensor_store_wait<0>();
}
#endif
