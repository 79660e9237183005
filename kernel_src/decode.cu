// decode.cu - attention of one query for each sequence, in bfloat16, for BATCH sequences and HEADS heads. A language
// model does this for each new word. The formula is O = softmax(scale Q K^T) V, where scale is 1 / sqrt(HEAD_DIM). A
// query is a vector of HEAD_DIM elements.
//
// Q and O are [BATCH, HEADS, HEAD_DIM]. The keys and values of earlier words are kept in a cache of pages. K and V are
// [BATCH x pages, KV_HEADS, page, HEAD_DIM], where `page` is the number of keys of a page, and `pages` is the number of
// pages of a sequence. With PAGED 1, page i of sequence s is page number table[s][i] of the cache. With PAGED 0, the
// cache is dense: each sequence has one page, and there is no table. Sequence s has lengths[s] keys. The rows after the
// keys of a sequence may hold any bits, including NaN. A sequence without keys gets zeros. If there are fewer heads of
// keys than of queries (grouped queries), HEADS / KV_HEADS neighbouring heads of queries share a head of keys. HEAD_DIM
// is 64 or 128. Inputs are finite.
//
// The bound is memory. Each key and value is needed once for each head of queries. This is 4 operations for 4 bytes and
// head, but an H200 can do 200 operations of the tensor cores for each byte. Therefore the fastest kernel reads K and V
// once, and always has enough bytes in flight. By Little's law 4.8 TB/s at 800 ns need 3.8 MB in flight, which is 29 KB
// for each of 132 multiprocessors. At full load the latency is a multiple of 800 ns.
//
// The file attention.cu explains the online softmax and its precision. The variants one_head, grouped and split_direct
// round only the result. Every variant gives the same bits in every run.
//
// The tuning parameters are macros. The engine defines these macros from the spec. The defaults below only let an
// editor or a compiler parse this file alone. A kernel is compiled if its own macro DECODE_<NAME> is set, or if
// DECODE_ONE is not set.

#ifndef HEAD_DIM
#define HEAD_DIM 128 // number of elements of a head: 64 or 128
#endif
#ifndef GROUP
#define GROUP 4 // decode_direct: HEADS / KV_HEADS
#endif
#ifndef TOGETHER
#define TOGETHER 4 // decode_direct: number of heads of queries that a block processes: 1 or GROUP
#endif
#ifndef PAGED
#define PAGED 0 // 1: pages are looked up in a table
#endif
#ifndef WARPS
#define WARPS 8 // number of warps of a block
#endif
#ifndef UNROLL
#define UNROLL 4 // decode_direct: number of keys that each lane has in flight
#endif
#ifndef TILE
#define TILE 16 // decode_async, decode_bulk: number of keys of a tile; a multiple of 16
#endif
#ifndef STAGES
#define STAGES 3 // decode_async, decode_bulk: number of tiles of each warp in shared memory
#endif

#include "async.cuh"
#include "attention.cuh"

enum : unsigned {
    BLOCK = WARP * WARPS,
    ROWS_MOST = 16,           // largest number of heads of queries that a block processes
    ROW_STRIDE = HEAD_DIM + 8 // length of a row of sums in shared memory; rows of this length begin in different banks
};

struct Cache {
    const bf16 *k, *v;
    const int *table;
    unsigned kv_heads, page, pages;
};

// The state of the sums over a part of the keys. The sum divided by `weight` is the mean of V, and the exponentials are
// powers of 2 relative to `base`.
struct State {
    float base, weight;
};

// Global memory in which blocks leave their sums for the block that finishes last. The array `arrived` counts the
// blocks that have finished. The counter is 0 between launches.
struct Meeting {
    float *sums;
    State *states;
    unsigned *arrived;
};

// The work of a block: a part of the keys of one head of keys, for up to ROWS_MOST heads of queries that share this
// head.
struct Work {
    // `first` is the first of the heads of queries, and `rows` is the number of these heads
    unsigned sequence, kv_head, first, rows;
    unsigned begin, end;                     // first key of the part; end of the part
    // index of this part of the sequence's keys, and number of parts that are not empty
    unsigned split, splits;
    unsigned number;                         // number of this group of heads among all groups
    offset place;                            // the row of the sums of the first part in Meeting

    __device__ __forceinline__ Work(const int *lengths, unsigned heads, unsigned kv_heads, unsigned together,
                                    unsigned share, unsigned parts)
    {
        const unsigned group = heads / kv_heads, tiles = ceil_div(group, together);
        split = blockIdx.x % parts;
        number = blockIdx.x / parts;
        place = (offset)number * parts * together;
        first = number % tiles * together;
        rows = group - first < together ? group - first : together;
        kv_head = number / tiles % kv_heads;
        sequence = number / tiles / kv_heads;
        first += kv_head * group;
        const unsigned length = (unsigned)lengths[sequence];
        splits = length > share ? ceil_div(length, share) : 1;
        begin = split * share;
        end = length - begin < share ? length : begin + share;
    }
    __device__ __forceinline__ bool is_empty() const
    {
        return split >= splits;
    }
    // Returns the row of K and V in which a key is. The following keys are in the following rows, up to the end of the
    // page.
    __device__ __forceinline__ offset row(const Cache &cache, unsigned key) const
    {
        const unsigned page = PAGED ? (unsigned)__ldg(cache.table + (offset)sequence * cache.pages + key / cache.page)
                                    : sequence;
        return ((offset)page * cache.kv_heads + kv_head) * cache.page + (PAGED ? key % cache.page : key);
    }
};

__device__ __forceinline__ float as_float(unsigned bits) // returns the float whose upper half has these bits
{
    return __uint_as_float(bits & 0xffff0000u);
}

__device__ __forceinline__ void to_floats(float (&to)[8], uint4 from)
{
    const unsigned words[4] = {from.x, from.y, from.z, from.w};
#pragma unroll
    for (unsigned i = 0; i < 4; ++i)
        to[2 * i] = __uint_as_float(words[i] << 16), to[2 * i + 1] = as_float(words[i]);
}

// ---- joining the sums of several parts of the keys ----

// Returns the factor that converts sums with exponentials relative to `base` to sums relative to `top`. For a part
// without keys, the factor is 0.
__device__ __forceinline__ float factor_of(float base, float top)
{
    return base == least() ? 0 : exp2_fast(base - top);
}

// Four columns of the sums of several parts. The parts are added one after another.
struct Mean {
    float4 sum;
    State state;

    __device__ __forceinline__ Mean() : sum(make_float4(0, 0, 0, 0)), state{least(), 0}
    {
    }
    __device__ __forceinline__ void add(float4 more, State of)
    {
        const float top = fmaxf(state.base, of.base);
        const float mine = factor_of(state.base, top), other = factor_of(of.base, top);
        sum.x = sum.x * mine + more.x * other, sum.y = sum.y * mine + more.y * other;
        sum.z = sum.z * mine + more.z * other, sum.w = sum.w * mine + more.w * other;
        state.weight = state.weight * mine + of.weight * other;
        state.base = top;
    }
    __device__ __forceinline__ void store(bf16 *to) const
    {
        const float scale = state.weight > 0 ? 1 / state.weight : 0;
        *(uint2 *)to = make_uint2(pack_pair(bf16(), sum.x * scale, sum.y * scale),
                                  pack_pair(bf16(), sum.z * scale, sum.w * scale));
    }
};

// The sums of a warp in shared memory. First come `rows` rows of sums, and then their states.
template <unsigned rows> struct alignas(16) Part {
    float sums[rows][ROW_STRIDE];
    State states[rows];
};

// Joins the sums of the block's warps, which are `apart` bytes apart in shared memory. The block that finishes the last
// part of the keys of a sequence joins the sums of all parts. It joins them in their order, so that the bits do not
// depend on which block is the last.
template <unsigned rows>
__device__ __forceinline__ void finish(const char *room, unsigned apart, const Work &work, bf16 *o, unsigned heads,
                                       const Meeting &meeting)
{
    enum : unsigned { QUADS = HEAD_DIM / 4 };
    __shared__ bool last;
    bf16 *const out = o + ((offset)work.sequence * heads + work.first) * HEAD_DIM;
    __syncthreads();
    for (unsigned i = threadIdx.x; i < work.rows * QUADS; i += BLOCK) {
        const unsigned row = i / QUADS, column = i % QUADS * 4;
        Mean mean;
#pragma unroll
        for (unsigned w = 0; w < WARPS; ++w) {
            const Part<rows> &part = *(const Part<rows> *)(room + w * apart);
            mean.add(*(const float4 *)&part.sums[row][column], part.states[row]);
        }
        if (work.splits == 1) {
            mean.store(out + i * 4);
            continue;
        }
        const offset at = work.place + work.split * work.rows + row;
        *(float4 *)(meeting.sums + at * HEAD_DIM + column) = mean.sum;
        if (column == 0)
            meeting.states[at] = mean.state;
    }
    if (work.splits == 1)
        return;
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence(); // the sums of all threads must be visible before the count
        last = atomicInc(meeting.arrived + work.number, work.splits - 1) == work.splits - 1;
        __threadfence();
    }
    __syncthreads();
    if (!last)
        return;
    for (unsigned i = threadIdx.x; i < work.rows * QUADS; i += BLOCK) {
        const unsigned row = i / QUADS, column = i % QUADS * 4;
        Mean mean;
#pragma unroll 8
        for (unsigned s = 0; s < work.splits; ++s) {
            const offset at = work.place + s * work.rows + row;
            mean.add(*(const float4 *)(meeting.sums + at * HEAD_DIM + column), meeting.states[at]);
        }
        mean.store(out + i * 4);
    }
}

#if defined(DECODE_DIRECT) || !defined(DECODE_ONE)
// This kernel is used by the variants one_head, grouped and split_direct. Keys and values go from memory to registers.
// A lane reads 16 bytes of a row, so that a warp reads 256 / HEAD_DIM keys at once. The lane issues UNROLL such reads
// before it uses the first of them. Products are in single precision. Shuffles add up the products of a row.
//
// In the variant one_head, a block processes one head of queries. Every head of a group reads K and V again. The reads
// come from the L2 if the blocks of the group run at the same time. In the variant grouped, a block processes all heads
// of a group, and multiplies each row of K and V GROUP times. If BATCH is small, there are then too few blocks to fill
// the device. In the variant split_direct, the keys are divided among `parts` blocks, and the last of these blocks
// joins the sums.
extern "C" __global__ void __launch_bounds__(BLOCK)
    decode_direct(const bf16 *__restrict__ q, const bf16 *__restrict__ k, const bf16 *__restrict__ v,
                  const int *__restrict__ lengths, const int *__restrict__ table, bf16 *__restrict__ o, unsigned heads,
                  unsigned kv_heads, unsigned page, unsigned pages, unsigned share, unsigned parts, float *sums,
                  State *states, unsigned *arrived)
{
    enum : unsigned { LANES = HEAD_DIM / 8, AT_ONCE = WARP / LANES };
    __shared__ __align__(16) Part<TOGETHER> room[WARPS];
    const Work work(lengths, heads, kv_heads, TOGETHER, share, parts);
    if (work.is_empty())
        return;
    const Cache cache = {k, v, table, kv_heads, page, pages};
    const unsigned column = lane_id() % LANES * 8;
    float query[TOGETHER][8], sum[TOGETHER][8];
    State state[TOGETHER];
#pragma unroll
    for (unsigned h = 0; h < TOGETHER; ++h) {
        to_floats(query[h], *(const uint4 *)(q + ((offset)work.sequence * heads + work.first + h) * HEAD_DIM + column));
        state[h] = {least(), 0};
#pragma unroll
        for (unsigned i = 0; i < 8; ++i)
            query[h][i] *= factor(), sum[h][i] = 0;
    }
    for (unsigned first = work.begin + warp_id() * AT_ONCE * UNROLL; first < work.end; first += WARPS * AT_ONCE * UNROLL) {
        uint4 keys[UNROLL], values[UNROLL];
#pragma unroll
        for (unsigned u = 0; u < UNROLL; ++u) {
            const unsigned key = first + u * AT_ONCE + lane_id() / LANES;
            const offset at = work.row(cache, key < work.end ? key : work.begin) * HEAD_DIM + column;
            keys[u] = *(const uint4 *)(k + at), values[u] = *(const uint4 *)(v + at);
        }
        float score[UNROLL][TOGETHER];
#pragma unroll
        for (unsigned u = 0; u < UNROLL; ++u) {
            float key[8];
            to_floats(key, keys[u]);
#pragma unroll
            for (unsigned h = 0; h < TOGETHER; ++h) {
                float product = 0;
#pragma unroll
                for (unsigned i = 0; i < 8; ++i)
                    product += query[h][i] * key[i];
#pragma unroll
                for (unsigned distance = LANES / 2; distance > 0; distance /= 2)
                    product += __shfl_xor_sync(ALL_LANES, product, distance);
                score[u][h] = first + u * AT_ONCE + lane_id() / LANES < work.end ? product : least();
            }
        }
#pragma unroll
        for (unsigned h = 0; h < TOGETHER; ++h) {
            float top = state[h].base;
#pragma unroll
            for (unsigned u = 0; u < UNROLL; ++u)
                top = fmaxf(top, score[u][h]);
            const float scale = factor_of(state[h].base, top);
            state[h] = {top, state[h].weight * scale};
#pragma unroll
            for (unsigned i = 0; i < 8; ++i)
                sum[h][i] *= scale;
#pragma unroll
            for (unsigned u = 0; u < UNROLL; ++u)
                state[h].weight += score[u][h] = factor_of(score[u][h], top);
        }
#pragma unroll
        for (unsigned u = 0; u < UNROLL; ++u) {
            float value[8];
            to_floats(value, values[u]);
#pragma unroll
            for (unsigned h = 0; h < TOGETHER; ++h)
#pragma unroll
                for (unsigned i = 0; i < 8; ++i)
                    sum[h][i] += score[u][h] * value[i];
        }
    }
    // Adds the sums of those lanes that have read other rows.
#pragma unroll
    for (unsigned h = 0; h < TOGETHER; ++h) {
#pragma unroll
        for (unsigned distance = LANES; distance < WARP; distance *= 2) {
            const float other = __shfl_xor_sync(ALL_LANES, state[h].base, distance), top = fmaxf(state[h].base, other);
            const float scale = factor_of(state[h].base, top);
            state[h] = {top, state[h].weight * scale};
            state[h].weight += __shfl_xor_sync(ALL_LANES, state[h].weight, distance);
#pragma unroll
            for (unsigned i = 0; i < 8; ++i) {
                sum[h][i] *= scale;
                sum[h][i] += __shfl_xor_sync(ALL_LANES, sum[h][i], distance);
            }
        }
        if (lane_id() < LANES) {
            Part<TOGETHER> &mine = room[warp_id()];
            *(float4 *)&mine.sums[h][column] = make_float4(sum[h][0], sum[h][1], sum[h][2], sum[h][3]);
            *(float4 *)&mine.sums[h][column + 4] = make_float4(sum[h][4], sum[h][5], sum[h][6], sum[h][7]);
            mine.states[h] = state[h];
        }
    }
    finish<TOGETHER>((const char *)room, sizeof *room, work, o, heads, {sums, states, arrived});
}
#endif

#if defined(DECODE_ASYNC) || defined(DECODE_BULK) || !defined(DECODE_ONE)
// ---- tiles in shared memory that belong to one warp, and matrix instructions ----

enum : unsigned {
    TILE_BYTES = TILE * HEAD_DIM * 2,
    STAGE_BYTES = 2 * TILE_BYTES, // a stage has a tile of keys and then a tile of values
    RING_BYTES = STAGES * STAGE_BYTES
};

// The tiles have the layout that copies by tensor maps make: boxes of 64 columns. The pieces of 16 bytes of a row are
// permuted by the row's number.
struct Boxes {
    static __device__ __forceinline__ unsigned piece(unsigned row, unsigned c)
    {
        return c / 8 * (TILE * 128) + row * 128 + ((c ^ row) % 8) * 16;
    }
};

// The queries of the block's heads are 16 rows of a product. Missing rows are zeros. Each warp sums the contributions
// of the tiles that it reads.
struct Heads {
    unsigned fragments[DEPTH][4];
    float o[HEAD_DIM / 2];
    Softmax softmax;

    __device__ __forceinline__ void begin(const bf16 *q, unsigned rows)
    {
#pragma unroll
        for (unsigned d = 0; d < DEPTH; ++d)
#pragma unroll
            for (unsigned i = 0; i < 4; ++i) {
                const unsigned row = lane_id() / 4 + i % 2 * 8, column = 16 * d + i / 2 * 8 + lane_id() % 4 * 2;
                fragments[d][i] = row < rows ? *(const unsigned *)(q + row * HEAD_DIM + column) : 0;
            }
#pragma unroll
        for (unsigned i = 0; i < HEAD_DIM / 2; ++i)
            o[i] = 0;
        softmax.begin();
    }
    __device__ __forceinline__ void take(const char *stage, unsigned key, unsigned end)
    {
        const int seen[2] = {(int)end, (int)end};
        take_tile<Boxes, TILE>(o, softmax, fragments, shared_address(stage), shared_address(stage) + TILE_BYTES, key,
                               key + TILE <= end, seen);
    }
    __device__ __forceinline__ void end(Part<ROWS_MOST> &to, unsigned rows)
    {
#pragma unroll
        for (unsigned r = 0; r < 2; ++r) {
            const unsigned row = lane_id() / 4 + 8 * r;
            float weight = softmax.sum[r] + __shfl_xor_sync(ALL_LANES, softmax.sum[r], 1);
            weight += __shfl_xor_sync(ALL_LANES, weight, 2);
            if (row >= rows)
                continue;
#pragma unroll
            for (unsigned i = 0; i < HEAD_DIM / 8; ++i)
                *(float2 *)&to.sums[row][8 * i + lane_id() % 4 * 2] = {o[4 * i + 2 * r], o[4 * i + 2 * r + 1]};
            if (lane_id() % 4 == 0)
                to.states[row] = {softmax.base[r], weight};
        }
    }
};

static_assert(sizeof(Part<ROWS_MOST>) <= RING_BYTES, "a warp's sums take the place of its tiles");

// The tiles of the block's keys that a warp reads: every WARPS-th tile, beginning with the warp's number.
struct Turns {
    unsigned first, count;

    __device__ __forceinline__ Turns(const Work &work)
    {
        const unsigned tiles = work.end > work.begin ? ceil_div(work.end - work.begin, (unsigned)TILE) : 0;
        first = work.begin + warp_id() * TILE;
        count = tiles > warp_id() ? ceil_div(tiles - warp_id(), (unsigned)WARPS) : 0;
    }
    __device__ __forceinline__ unsigned key(unsigned turn) const
    {
        return first + turn * (WARPS * TILE);
    }
};
#endif

#if defined(DECODE_ASYNC) || !defined(DECODE_ONE)
// Each warp fills its own ring of STAGES tiles by cp.async.
//
// Compared with split_direct, bytes in flight need no registers, so more bytes can be in flight. Tensor cores multiply,
// and the heads of a group are the rows of one operand. A product has at least 16 rows, so up to 15 of 16
// multiplications are wasted. The wasted multiplications still cost less than the shuffles and multiply-adds that they
// replace, and memory is the bound. On an H200 2 or 3 stages are enough. No warp waits for another warp before the end.
// Each warp waits only for its own copies.
extern "C" __global__ void __launch_bounds__(BLOCK)
    decode_async(const bf16 *__restrict__ q, const bf16 *__restrict__ k, const bf16 *__restrict__ v,
                 const int *__restrict__ lengths, const int *__restrict__ table, bf16 *__restrict__ o, unsigned heads,
                 unsigned kv_heads, unsigned page, unsigned pages, unsigned share, unsigned parts, float *sums,
                 State *states, unsigned *arrived)
{
    extern __shared__ __align__(128) char room[];
    const unsigned group = heads / kv_heads;
    const Work work(lengths, heads, kv_heads, group < ROWS_MOST ? group : ROWS_MOST, share, parts);
    if (work.is_empty())
        return;
    const Cache cache = {k, v, table, kv_heads, page, pages};
    char *const ring = room + warp_id() * RING_BYTES;
    const Turns turns(work);
    auto load = [&](char *stage, unsigned turn) {
        if (turn < turns.count) {
            const unsigned key = turns.key(turn);
            const offset at = work.row(cache, key) * HEAD_DIM;
#pragma unroll
            for (unsigned i = 0; i < TILE * PIECES / WARP; ++i) {
                const unsigned number = i * WARP + lane_id(), row = number / PIECES, c = number % PIECES;
                const bool inside = key + row < work.end;
                const offset from = at + (inside ? row * HEAD_DIM : 0) + c * 8;
                copy_async<16>(stage + Boxes::piece(row, c), k + from, inside);
                copy_async<16>(stage + TILE_BYTES + Boxes::piece(row, c), v + from, inside);
            }
        }
        copy_async_commit();
    };
#pragma unroll
    for (unsigned t = 0; t < STAGES - 1; ++t)
        load(ring + t * STAGE_BYTES, t);
    Heads mine;
    mine.begin(q + ((offset)work.sequence * heads + work.first) * HEAD_DIM, work.rows);
    unsigned stage = 0, behind = STAGES - 1; // the stage of the next tile; the stage that was read last
    for (unsigned t = 0; t < turns.count; ++t) {
        __syncwarp(); // all lanes have read the stage that is filled next
        load(ring + behind * STAGE_BYTES, t + STAGES - 1);
        copy_async_wait<STAGES - 1>();
        __syncwarp(); // the copies of the other lanes have arrived
        mine.take(ring + stage * STAGE_BYTES, turns.key(t), work.end);
        behind = stage;
        stage = stage + 1 == STAGES ? 0 : stage + 1;
    }
    copy_async_wait<0>();
    __syncwarp();
    mine.end(*(Part<ROWS_MOST> *)ring, work.rows);
    finish<ROWS_MOST>(room, RING_BYTES, work, o, heads, {sums, states, arrived});
}
#endif

#if defined(DECODE_BULK) || (!defined(DECODE_ONE) && __CUDA_ARCH__ >= 900)
// The kernel has the same rings as decode_async, but tensor maps fill them. One lane begins the two or four copies of a
// tile. A barrier of the stage counts the bytes of the tile.
//
// Compared with decode_async, a warp computes no addresses, and needs no instruction for each 16 bytes. Nevertheless
// the kernel is slower: on an H200 copies of boxes reach 4.2 TB/s, and cp.async reaches 4.6 TB/s. The last tile may
// have rows after the last key of the sequence. These rows may hold any bits. The scores of these rows are masked. The
// values of these rows are overwritten with zeros, because 0 times NaN is NaN.
extern "C" __global__ void __launch_bounds__(BLOCK)
    decode_bulk(const bf16 *__restrict__ q, const __grid_constant__ tensor_map k, const __grid_constant__ tensor_map v,
                const int *__restrict__ lengths, const int *__restrict__ table, bf16 *__restrict__ o, unsigned heads,
                unsigned kv_heads, unsigned page, unsigned pages, unsigned share, unsigned parts, float *sums,
                State *states, unsigned *arrived)
{
    extern __shared__ __align__(16) char shared[];
    __shared__ barrier full[WARPS][STAGES];
    // swizzles permute address bits, so tiles begin at addresses that are multiples of 1024
    char *const room = shared + (0 - shared_address(shared)) % 1024;
    const unsigned group = heads / kv_heads;
    const Work work(lengths, heads, kv_heads, group < ROWS_MOST ? group : ROWS_MOST, share, parts);
    if (work.is_empty())
        return;
    const Cache cache = {nullptr, nullptr, table, kv_heads, page, pages};
    char *const ring = room + warp_id() * RING_BYTES;
    barrier *const arrivals = full[warp_id()];
    const Turns turns(work);
    if (lane_id() == 0) {
        for (unsigned i = 0; i < STAGES; ++i)
            barrier_init(arrivals + i, 1);
        barriers_made();
    }
    __syncwarp();
    auto load = [&](unsigned stage, unsigned turn) { // one lane calls this
        if (turn >= turns.count)
            return;
        const unsigned key = turns.key(turn);
        const offset row = work.row(cache, key);
        char *const to = ring + stage * STAGE_BYTES;
        barrier_expect(arrivals + stage, STAGE_BYTES);
#pragma unroll
        for (unsigned half = 0; half < HEAD_DIM / 64; ++half) {
            tensor_load(to + half * (TILE * 128), k, (int)(half * 64), (int)(row % page), (int)(row / page),
                        arrivals + stage);
            tensor_load(to + TILE_BYTES + half * (TILE * 128), v, (int)(half * 64), (int)(row % page),
                        (int)(row / page), arrivals + stage);
        }
    };
    if (lane_id() == 0)
        for (unsigned t = 0; t < STAGES; ++t)
            load(t, t);
    Heads mine;
    mine.begin(q + ((offset)work.sequence * heads + work.first) * HEAD_DIM, work.rows);
    unsigned stage = 0, phase = 0;
    for (unsigned t = 0; t < turns.count; ++t) {
        char *const tile = ring + stage * STAGE_BYTES;
        const unsigned key = turns.key(t);
        barrier_wait(arrivals + stage, phase);
        if (key + TILE > work.end) { // this is the last tile
            for (unsigned i = (work.end - key) * PIECES + lane_id(); i < TILE * PIECES; i += WARP)
                *(uint4 *)(tile + TILE_BYTES + Boxes::piece(i / PIECES, i % PIECES)) = make_uint4(0, 0, 0, 0);
            __syncwarp();
        }
        mine.take(tile, key, work.end);
        fence_async(); // orders these reads before the copy that overwrites them
        __syncwarp(); // all lanes have read the stage
        if (lane_id() == 0)
            load(stage, t + STAGES);
        stage = stage + 1 == STAGES ? 0 : stage + 1;
        phase ^= stage == 0;
    }
    __syncwarp();
    mine.end(*(Part<ROWS_MOST> *)ring, work.rows);
    finish<ROWS_MOST>(room, RING_BYTES, work, o, heads, {sums, states, arrived});
}
#endif
