// attention_tcgen05.cu - the attention of attention.cu on tensor cores of compute capability 10.0. The scores, the
// exponentials and O are in tensor memory.
//
// The kernel of this file was never run on hardware, because no device with tensor memory was available. The kernel was
// tested only on the simulated device. The params of the kernel are not tuned, because its times were never measured.
//
// Read attention_flash_wgmma in attention.cu and tcgen05.cuh first. The problem, the layouts, the precision and the
// online softmax are the same as in attention.cu. Two things are different:
// - A matrix instruction has 128 queries, and its scores are in tensor memory. A thread of a warp group has a whole row
//   of scores. So the greatest score and the sum of a row need no exchange between threads.
// - O is in tensor memory as well. When a greater score comes, threads must read and write O to scale it down.
//   Therefore a row's base may stay behind its greatest score (SLACK in attention.cuh), so that O is scaled for few
//   tiles only.
//
// The warps of a block have three roles:
//
// - Warp groups 0 to GROUPS - 1 compute the softmax. Each of them has 128 queries.
// - The next warp is the producer. One of its threads begins the copies of Q, and of the tiles of K and V to two rings.
// - The warp after the producer is the issuer. One of its threads issues all matrix instructions. The warp also
//   allocates tensor memory.
//
// Two idle warps complete the last warp group, because registers move only between whole warp groups. Each thread of a
// softmax group needs registers for TILE_K scores.
//
// The tensor memory of a softmax group has three parts: TILE_K columns for scores, TILE_K / 2 columns for exponentials
// (P, numbers of 16 bits), and HEAD_DIM columns for O. If all groups together need more than the 512 columns of an SM,
// the exponentials take the place of the scores (SHARED_PLACE). In this case the next scores must wait until the
// product of the exponentials is complete.

#ifndef HEAD_DIM
#define HEAD_DIM 64 // 64 or 128
#endif
#ifndef CAUSAL
#define CAUSAL 0 // 1: query i sees the keys up to i + KEYS - QUERIES
#endif
#ifndef GROUPS
#define GROUPS 2 // number of softmax warp groups, each with 128 queries
#endif
#ifndef TILE_K
#define TILE_K 128 // number of keys of a tile: 64 or 128
#endif
#ifndef STAGES
#define STAGES 2 // number of tiles of keys, and of tiles of values, in shared memory
#endif
#ifndef EXP_POLY
#define EXP_POLY 0 // how many of every 8 exponentials a polynomial computes
#endif
#ifndef HEADS_FIRST
#define HEADS_FIRST 0 // as in attention.cu
#endif
#define PERSISTENT 0 // 0: a block computes one tile of queries

#include "async.cuh"
#include "attention.cuh"
#include "attention_tiles.cuh"
#include "tcgen05.cuh"

#if defined(ATTENTION_TCGEN05) || !defined(ATTENTION_ONE)
enum : unsigned {
    GROUP_QUERIES = 128,               // queries of a warp group, one for each thread
    QUERIES_TILE = GROUPS * GROUP_QUERIES,
    HALVES = HEAD_DIM / 64,            // number of boxes of 64 columns that make up a tile of rows
    PRODUCER = 4 * GROUPS,             // numbers of warps
    ISSUER = PRODUCER + 1,
    THREADS = WARP_GROUP * (GROUPS + 1),
    // columns of tensor memory: SET columns belong to a group; OF_P and OF_O are the first columns of its exponentials
    // and its O
    SHARED_PLACE = GROUPS * (TILE_K + TILE_K / 2 + HEAD_DIM) > 512,
    OF_P = SHARED_PLACE ? 0 : TILE_K,
    OF_O = TILE_K + (SHARED_PLACE ? 0 : TILE_K / 2),
    SET = OF_O + HEAD_DIM,
    ALLOCATED = tensor_columns(GROUPS * SET)
};

// The barriers of a block. The barriers of a group count its tiles of keys:
//
// - Phase t of `ready` tells that the scores of tile t are complete. The issuer issues them after the product of the
//   values of tile t - 1, so this product is complete as well. The last phase, after all scores, tells that O is
//   complete.
// - Phase t of `given` tells that all warps of the group have written the exponentials of tile t.
// - Phase t of `spent` tells that the product of the exponentials and the values of tile t is complete. Only
//   SHARED_PLACE uses it.
struct Barriers {
    barrier q_full, k_full[STAGES], k_empty[STAGES], v_full[STAGES], v_empty[STAGES];
    barrier ready[GROUPS], given[GROUPS], spent[GROUPS];

    __device__ __forceinline__ void make()
    {
        barrier_init(&q_full, 1);
        for (unsigned i = 0; i < STAGES; ++i) {
            barrier_init(&k_full[i], 1);
            barrier_init(&k_empty[i], 1);
            barrier_init(&v_full[i], 1);
            barrier_init(&v_empty[i], 1);
        }
        for (unsigned i = 0; i < GROUPS; ++i) {
            barrier_init(&ready[i], 1);
            barrier_init(&given[i], 4);
            barrier_init(&spent[i], 1);
        }
        barriers_made();
    }
};

// Begins to copy `rows` rows as boxes of 64 columns, whose rows of 128 bytes the copy swizzles.
template <unsigned rows>
__device__ __forceinline__ void load_boxes(char *tile, const tensor_map &map, unsigned row, unsigned head, barrier *full)
{
    barrier_expect(full, rows * HEAD_DIM * 2);
#pragma unroll
    for (unsigned half = 0; half < HALVES; ++half)
        tensor_load(tile + half * rows * 128, map, (int)(half * 64), (int)row, (int)head, full);
}

// ---- the softmax of one row; one thread has all scores of the row ----

struct RowSoftmax {
    float base = least(), sum = 0; // these variables mean the same as in Softmax (attention.cuh)

    // Turns the scores of a tile into exponentials. The caller must multiply the row of O by the returned factor.
    __device__ __forceinline__ float take(float (&s)[TILE_K])
    {
        float top = least();
#pragma unroll
        for (unsigned i = 0; i < TILE_K; ++i)
            top = fmaxf(top, s[i]);
        top *= factor();
        const float now = top > base + SLACK ? top : base;
        const float base_now = now == least() ? 0 : now; // if a row has seen no key yet, each exponential is 0
        const float scale = exp2_fast(base - base_now);
        base = now;
        sum *= scale;
#pragma unroll
        for (unsigned i = 0; i < TILE_K; ++i) {
            s[i] = exponential(s[i] * factor() - base_now, i);
            sum += s[i];
        }
        return scale;
    }
};

// Multiplies the rows of O that belong to a warp by `scale`. Each thread multiplies its own row.
__device__ __forceinline__ void scale_output(unsigned address, float scale)
{
#pragma unroll 1
    for (unsigned c = 0; c < HEAD_DIM; c += 32) {
        float o[32];
        unsigned scaled[32];
        tensor_load(o, address + c);
        tensor_load_wait(o);
#pragma unroll
        for (unsigned i = 0; i < 32; ++i)
            scaled[i] = __float_as_uint(o[i] * scale);
        tensor_put(address + c, scaled);
    }
    tensor_put_wait();
}

// Writes the exponentials of a row to tensor memory, two exponentials in each column.
__device__ __forceinline__ void put_exponentials(unsigned address, const float (&s)[TILE_K])
{
#pragma unroll
    for (unsigned c = 0; c < TILE_K / 2; c += 32) {
        unsigned pairs[32];
#pragma unroll
        for (unsigned i = 0; i < 32; ++i)
            pairs[i] = pack_pair(bf16(), s[2 * (c + i)], s[2 * (c + i) + 1]);
        tensor_put(address + c, pairs);
    }
    tensor_put_wait();
}

// Multiplies the warp's 32 rows of O by `scale`, and writes them to `room` in shared memory. A tensor map copies the
// rows from there, and skips the rows after the last query. The boxes of 64 columns are half_bytes apart. If `any` is
// false, O was never computed, and the function writes zeros.
__device__ __forceinline__ void write_output(char *room, unsigned half_bytes, unsigned address, float scale, bool any,
                                             const tensor_map &map, unsigned row, unsigned head)
{
#pragma unroll 1
    for (unsigned c = 0; c < HEAD_DIM; c += 32) {
        float o[32] = {};
        if (any) {
            tensor_load(o, address + c);
            tensor_load_wait(o);
        }
#pragma unroll
        for (unsigned i = 0; i < 32; i += 8)
            *(uint4 *)(room + c / 64 * half_bytes + swizzled<128>(lane_id() * 128 + (c % 64 + i) * 2)) = {
                pack_pair(bf16(), o[i] * scale, o[i + 1] * scale), pack_pair(bf16(), o[i + 2] * scale, o[i + 3] * scale),
                pack_pair(bf16(), o[i + 4] * scale, o[i + 5] * scale), pack_pair(bf16(), o[i + 6] * scale, o[i + 7] * scale)};
    }
    fence_async();
    __syncwarp();
    if (lane_id() == 0) {
#pragma unroll
        for (unsigned half = 0; half < HALVES; ++half)
            tensor_store(map, (int)(half * 64), (int)row, (int)head, room + half * half_bytes);
        tensor_store_commit();
        tensor_store_wait<0>();
    }
}

// ---- the matrix products ----

// Begins S = Q K^T of a group's 128 queries and a tile of keys. Both are stored by rows in shared memory.
__device__ __forceinline__ void issue_scores(unsigned scores, unsigned queries, unsigned keys)
{
    constexpr unsigned shape = tcgen05_shape<bf16>(GROUP_QUERIES, TILE_K, false);
    const offset a = tcgen05_descriptor<128>(queries, 16, 1024), b = tcgen05_descriptor<128>(keys, 16, 1024);
#pragma unroll
    for (unsigned d = 0; d < DEPTH; ++d)
        tcgen05_multiply(bf16(), scores, descriptor_after(a, d / 4 * (QUERIES_TILE * 128) + d % 4 * 32),
                         descriptor_after(b, d / 4 * (TILE_K * 128) + d % 4 * 32), shape, d > 0);
}

// Begins O += P V. The exponentials are in tensor memory. A tile of values is stored by rows, so the elements along K,
// which are keys, are not neighbours.
__device__ __forceinline__ void issue_values(unsigned o, unsigned exponentials, unsigned values, bool add)
{
    constexpr unsigned shape = tcgen05_shape<bf16>(GROUP_QUERIES, HEAD_DIM, true);
    const offset b = tcgen05_descriptor<128>(values, TILE_K * 128, 1024);
#pragma unroll
    for (unsigned j = 0; j < TILE_K / 16; ++j)
        tcgen05_multiply_tensor(o, exponentials + j * 8, descriptor_after(b, j * 2048), shape, add || j > 0);
}

// A block computes QUERIES_TILE queries. If there are two groups, the issuer issues the products of one group while the
// other group computes exponentials:
//     S0 S1 | O0 S0 | O1 S1 | O0 S0 | ...
// Here S0 are scores of group 0, and O0 is a product of its exponentials and values. If there is one group, the tensor
// core is idle during the softmax.
//
// Products with different accumulators may run in any order, even if one thread issues them. Therefore, if scores take
// the place of exponentials, the issuer first waits for the product that reads these exponentials (`spent`). The tensor
// core is idle during this wait.
//
// The bounds of the code for a B200 are as follows, in clocks of a multiprocessor for 128 queries and 128 keys with
// heads of 128. The two products take 1024 clocks at the rate of the datasheet. Exponentials take 1024 clocks, at 16
// exponentials per clock. With EXP_POLY, other units compute some of the exponentials. These bounds were computed and
// not measured.
extern "C" __global__ void __launch_bounds__(THREADS, 1)
    attention_tcgen05(const __grid_constant__ tensor_map q, const __grid_constant__ tensor_map k,
                      const __grid_constant__ tensor_map v, const __grid_constant__ tensor_map o, unsigned heads,
                      unsigned kv_heads, unsigned queries, unsigned keys)
{
#if HAS_TCGEN05
    extern __shared__ __align__(16) char shared[];
    __shared__ Barriers barriers;
    __shared__ unsigned tensor_address;
    // swizzles permute address bits, so tiles begin at addresses that are multiples of 1024
    constexpr unsigned tile_bytes = TILE_K * HEAD_DIM * 2, half_bytes = QUERIES_TILE * 128;
    char *const room = shared + (0 - shared_address(shared)) % 1024, *const room_k = room + QUERIES_TILE * HEAD_DIM * 2,
                *const room_v = room_k + STAGES * tile_bytes;
    const Sizes n = {heads, kv_heads, queries, keys};
    const Place at(n, QUERIES_TILE, blockIdx.x);
    const unsigned warp = warp_id();
    // Returns the number of tiles of keys that a group's queries see.
    auto tiles_of = [&](unsigned group) {
        const unsigned begin = at.first + group * GROUP_QUERIES, last = min(begin + GROUP_QUERIES, queries) - 1;
        const int most = begin < queries ? keys_seen(last, n) : 0;
        return most > 0 ? ceil_div((unsigned)most, (unsigned)TILE_K) : 0;
    };
    unsigned tiles = 0; // number of tiles of keys that the block's queries see
    for (unsigned g = 0; g < GROUPS; ++g)
        tiles = max(tiles, tiles_of(g));
    if (warp == ISSUER)
        tensor_allocate<ALLOCATED>(&tensor_address);
    if (threadIdx.x == 0)
        barriers.make();
    tcgen05_fence_before();
    __syncthreads();
    tcgen05_fence_after();
    const unsigned tensor = tensor_address;

    if (warp >= PRODUCER) {
        if (GROUPS > 1)
            registers_give<56>();
        if (warp == PRODUCER && is_elected() && tiles > 0) {
            load_boxes<QUERIES_TILE>(room, q, at.first, at.head, &barriers.q_full);
            for (unsigned t = 0; t < tiles; ++t) {
                const unsigned stage = t % STAGES, parity = t / STAGES & 1;
                barrier_wait(&barriers.k_empty[stage], parity ^ 1);
                load_boxes<TILE_K>(room_k + stage * tile_bytes, k, t * TILE_K, at.kv_head, &barriers.k_full[stage]);
                barrier_wait(&barriers.v_empty[stage], parity ^ 1);
                load_boxes<TILE_K>(room_v + stage * tile_bytes, v, t * TILE_K, at.kv_head, &barriers.v_full[stage]);
            }
        }
        if (warp == ISSUER && is_elected() && tiles > 0) {
            barrier_wait(&barriers.q_full, 0);
            // Issues the scores of tile t for a group. After the last group's scores, the tile of keys is free.
            auto scores = [&](unsigned t, unsigned g) {
                const unsigned stage = t % STAGES;
                if (t < tiles_of(g)) {
                    barrier_wait(&barriers.k_full[stage], t / STAGES & 1);
                    if (SHARED_PLACE && t > 0)
                        barrier_wait(&barriers.spent[g], t - 1 & 1);
                    tcgen05_fence_after();
                    issue_scores(tensor + g * SET, shared_address(room) + g * GROUP_QUERIES * 128,
                                 shared_address(room_k) + stage * tile_bytes);
                }
                if (t <= tiles_of(g) && tiles_of(g) > 0)
                    tcgen05_commit(&barriers.ready[g]); // reports the scores of tile t, or the final O
                if (g + 1 == GROUPS && t < tiles)
                    tcgen05_commit(&barriers.k_empty[stage]);
            };
#pragma unroll 1
            for (unsigned g = 0; g < GROUPS; ++g)
                scores(0, g);
#pragma unroll 1
            for (unsigned t = 0; t < tiles; ++t) {
                const unsigned stage = t % STAGES;
#pragma unroll 1
                for (unsigned g = 0; g < GROUPS; ++g) {
                    if (t < tiles_of(g)) {
                        barrier_wait(&barriers.given[g], t & 1);
                        barrier_wait(&barriers.v_full[stage], t / STAGES & 1);
                        tcgen05_fence_after();
                        issue_values(tensor + g * SET + OF_O, tensor + g * SET + OF_P,
                                     shared_address(room_v) + stage * tile_bytes, t > 0);
                        if (SHARED_PLACE)
                            tcgen05_commit(&barriers.spent[g]);
                    }
                    if (g + 1 == GROUPS)
                        tcgen05_commit(&barriers.v_empty[stage]);
                    scores(t + 1, g);
                }
            }
        }
    } else { // this warp belongs to a softmax group
        if (GROUPS > 1)
            registers_take<224>();
        const unsigned group = warp / 4, begin = at.first + group * GROUP_QUERIES, row = begin + threadIdx.x % WARP_GROUP;
        const unsigned lanes = tensor + (warp % 4 * 32 << 16) + group * SET, mine = tiles_of(group);
        const int seen = keys_seen(row, n);
        RowSoftmax softmax;
        for (unsigned t = 0; t < mine; ++t) {
            float s[TILE_K];
            barrier_wait(&barriers.ready[group], t & 1);
            tcgen05_fence_after();
#pragma unroll
            for (unsigned c = 0; c < TILE_K; c += 32)
                tensor_load(*(float(*)[32])(s + c), lanes + c);
            tensor_load_wait(s);
            if ((int)((t + 1) * TILE_K) > seen)
#pragma unroll
                for (unsigned i = 0; i < TILE_K; ++i)
                    if ((int)(t * TILE_K + i) >= seen)
                        s[i] = least();
            const float scale = softmax.take(s);
            if (t > 0 && __any_sync(ALL_LANES, scale != 1))
                scale_output(lanes + OF_O, scale);
            put_exponentials(lanes + OF_P, s);
            tcgen05_fence_before();
            __syncwarp();
            if (lane_id() == 0)
                barrier_arrive(&barriers.given[group]);
        }
        // O takes the place of the group's queries in shared memory. All products that read these queries are complete.
        // If a group has no products, the copy of its queries must have ended.
        if (mine > 0) {
            barrier_wait(&barriers.ready[group], mine & 1);
            tcgen05_fence_after();
        } else if (tiles > 0) {
            barrier_wait(&barriers.q_full, 0);
        }
        write_output(room + (warp * 32) * 128, half_bytes, lanes + OF_O, softmax.sum > 0 ? 1 / softmax.sum : 0, mine > 0, o,
                     begin + warp % 4 * 32, at.head);
    }
    __syncwarp();
    tcgen05_fence_before();
    __syncthreads(); // all threads have read O from tensor memory
    if (warp == ISSUER) {
        tcgen05_fence_after();
        tensor_free<ALLOCATED>(tensor);
    }
#endif
}
#endif
