// scan.cu - all sums of the first elements of N numbers, floats or integers, inclusive or exclusive, eight ways.
//
// y[i] = x[0] + ... + x[i], or up to x[i - 1] with EXCLUSIVE. Each kernel is a step from the one before; its comment
// says what changed and which counters should show it. N is any number of elements, 0 included, and may pass 2^32:
// indexes are 64 bits wide where a whole array is meant and 32 within a block's tile. x and y may be one array.
// Addresses need not be aligned to more than an element; words of 16 bytes are used where they are.
//
// Integers are added modulo 2^32, so their answer is one. Floats are added in an order that depends on the kernel and
// its knobs, but (save for scan_decoupled_lookback) not on time, so that the same launch gives the same bits. What
// follows an infinity or a NaN is what IEEE 754 makes of it; what stands before one is untouched. A partial sum past
// the largest finite number is an infinity, so where elements of both signs are that large the answer depends on the
// order. Denormals are kept. A sum of nothing but zeros is a zero of either sign.
//
// The knobs are macros. A spec sets them; the defaults serve an editor and a compiler that is given none. A kernel is
// compiled where its own macro SCAN_<NAME> is set, or where SCAN_ONE is not.

#ifndef EXCLUSIVE
#define EXCLUSIVE 0
#endif
#ifndef INTEGERS
#define INTEGERS 0 // 0: floats, 1: integers of 32 bits
#endif
#ifndef BLOCK
#define BLOCK 256 // threads of a block, whole warps
#endif
#ifndef PACKED
#define PACKED 1 // brent_kung: 1: the n-th thread has the n-th pair; 0: the thread whose item it is
#endif
#ifndef ITEMS
#define ITEMS 8 // three_phase: consecutive items of a thread; a power of two, at most 32
#endif
#ifndef PAD
#define PAD 1 // three_phase: words left free after each 32
#endif
#ifndef QUADS
#define QUADS 4 // quads of items that a thread holds
#endif
#ifndef STAGES
#define STAGES 3 // waves: tiles on their way to a block
#endif
#ifndef PER_SM
#define PER_SM 1 // blocks that an SM must have room for
#endif

#define WARP 32u
#define WARPS (BLOCK / WARP)
#define ALL_LANES 0xffffffffu
#define QUAD_WARP 128u       // items of a warp's quad
#define TILE (QUADS * 4 * BLOCK)
#define SUMS_BLOCK 1024      // scan_sums: threads
#define SUMS_QUADS 4         // scan_sums: quads of a thread

typedef unsigned long long offset;
#if INTEGERS
typedef unsigned value; // wraps around as unsigned numbers do
typedef uint4 quad;
#else
typedef float value;
typedef float4 quad;
#endif

// ---- sections in shared memory ----

// One item of a section whose inclusive scan is in s[].
__device__ __forceinline__ void give(value *y, offset first, unsigned i, offset N, const value *s)
{
    if (first + i < N)
        y[first + i] = !EXCLUSIVE ? s[i] : i ? s[i - 1] : 0;
}

#if defined(SCAN_KOGGE_STONE) || !defined(SCAN_ONE)
// An item a thread in shared memory; in step k each adds the one 2^k before it (Kogge and Stone, 1973).
//
// log2 BLOCK steps of BLOCK additions, N log N of them in all. Reading and writing the same array takes two barriers a
// step.
extern "C" __global__ void scan_kogge_stone(const value *x, value *y, value *__restrict__ sums, offset N)
{
    __shared__ value s[BLOCK];
    const offset first = (offset)blockIdx.x * BLOCK;
    const unsigned t = threadIdx.x;
    s[t] = first + t < N ? x[first + t] : 0;
    for (unsigned stride = 1; stride < BLOCK; stride *= 2) {
        __syncthreads();
        value before = t >= stride ? s[t - stride] : 0;
        __syncthreads();
        if (t >= stride)
            s[t] += before;
    }
    __syncthreads();
    give(y, first, t, N, s);
    if (t == BLOCK - 1)
        sums[blockIdx.x] = s[t];
}
#endif

#if defined(SCAN_KOGGE_STONE_DOUBLE_BUFFER) || !defined(SCAN_ONE)
// Two arrays that change places: what is read is never what is written.
//
// Against kogge_stone: one barrier a step for twice the shared memory.
extern "C" __global__ void scan_kogge_stone_double_buffer(const value *x, value *y, value *__restrict__ sums, offset N)
{
    __shared__ value buffers[2][BLOCK];
    const offset first = (offset)blockIdx.x * BLOCK;
    const unsigned t = threadIdx.x;
    value *from = buffers[0], *to = buffers[1];
    from[t] = first + t < N ? x[first + t] : 0;
    for (unsigned stride = 1; stride < BLOCK; stride *= 2) {
        __syncthreads();
        to[t] = t >= stride ? from[t - stride] + from[t] : from[t];
        value *was = from;
        from = to;
        to = was;
    }
    __syncthreads();
    give(y, first, t, N, from);
    if (t == BLOCK - 1)
        sums[blockIdx.x] = from[t];
}
#endif

#if defined(SCAN_BRENT_KUNG) || !defined(SCAN_ONE)
// Two items a thread: sums up a tree, then back down it (Brent and Kung, 1982).
//
// Against kogge_stone: some 2 N additions in place of N log N, in twice as many steps. Where each item stays its own
// thread's (PACKED = 0) every warp is at work for a few lanes in every step; where the n-th pair is the n-th thread's,
// whole warps rest. It costs the same in shared memory: the words of a step lie strides apart, and what the one pays in
// requests the other pays in bank conflicts. BLOCK = 256, N = 65536: 49,536 loads without a conflict, or 12,160 with up
// to 16 lanes at a bank; 49,536 wavefronts in both.
extern "C" __global__ void scan_brent_kung(const value *x, value *y, value *__restrict__ sums, offset N)
{
    enum { SECTION = 2 * BLOCK };
    __shared__ value s[SECTION];
    const offset first = (offset)blockIdx.x * SECTION;
    const unsigned t = threadIdx.x;
#pragma unroll
    for (unsigned i = t; i < SECTION; i += BLOCK)
        s[i] = first + i < N ? x[first + i] : 0;
    for (unsigned stride = 1; stride < SECTION; stride *= 2) { // up: s[i] becomes the sum of the 2 strides before it
        __syncthreads();
#if PACKED
        unsigned i = (t + 1) * 2 * stride - 1;
        if (i < SECTION)
            s[i] += s[i - stride];
#else
        for (unsigned i = t; i < SECTION; i += BLOCK)
            if ((i + 1) % (2 * stride) == 0)
                s[i] += s[i - stride];
#endif
    }
    for (unsigned stride = SECTION / 4; stride > 0; stride /= 2) { // down: half a subtree takes in what is before it
        __syncthreads();
#if PACKED
        unsigned i = (t + 1) * 2 * stride - 1;
        if (i + stride < SECTION)
            s[i + stride] += s[i];
#else
        for (unsigned i = t; i + stride < SECTION; i += BLOCK)
            if ((i + 1) % (2 * stride) == 0)
                s[i + stride] += s[i];
#endif
    }
    __syncthreads();
#pragma unroll
    for (unsigned i = t; i < SECTION; i += BLOCK)
        give(y, first, i, N, s);
    if (t == 0)
        sums[blockIdx.x] = s[SECTION - 1];
}
#endif

// ---- warps and blocks ----

__device__ __forceinline__ value scan_warp(value mine) // inclusive
{
#pragma unroll
    for (unsigned distance = 1; distance < WARP; distance *= 2) {
        value before = __shfl_up_sync(ALL_LANES, mine, distance);
        if (threadIdx.x % WARP >= distance)
            mine += before;
    }
    return mine;
}

__device__ __forceinline__ value add_warp(value mine) // the same in all lanes
{
#pragma unroll
    for (unsigned distance = WARP / 2; distance > 0; distance /= 2)
        mine += __shfl_xor_sync(ALL_LANES, mine, distance);
    return mine;
}

// The sum of the warps before this thread's, and of all of them. warps[] holds a sum a warp, behind a barrier.
template <unsigned count> __device__ __forceinline__ value before_warp(const value *warps, value *all)
{
    const unsigned lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    value scanned = scan_warp(lane < count ? warps[lane] : 0);
    *all = __shfl_sync(ALL_LANES, scanned, count - 1);
    value before = __shfl_sync(ALL_LANES, scanned, warp ? warp - 1 : 0);
    return warp ? before : 0;
}

#if defined(SCAN_THREE_PHASE) || !defined(SCAN_ONE)
// ITEMS consecutive items a thread, in three phases: each scans its own, the sums are scanned, each adds what is
// before.
//
// Against brent_kung: N additions in the first phase, N in the third, and the steps with barriers only for the sums.
// The section goes through shared memory in both directions, so that global memory is read by neighbours and each
// thread has its run of items all the same (corner turning). Runs are ITEMS words apart, in few banks; a word left free
// after each 32 (PAD = 1) spreads them over all.
extern "C" __global__ void __launch_bounds__(BLOCK)
    scan_three_phase(const value *x, value *y, value *__restrict__ sums, offset N)
{
    enum { SECTION = ITEMS * BLOCK };
#define PLACE(i) ((i) + (i) / 32 * PAD)
    __shared__ value s[PLACE(SECTION)], warps[WARPS];
    const offset first = (offset)blockIdx.x * SECTION;
    const unsigned t = threadIdx.x, mine = t * ITEMS;
#pragma unroll
    for (unsigned i = t; i < SECTION; i += BLOCK)
        s[PLACE(i)] = first + i < N ? x[first + i] : 0;
    __syncthreads();
    value run[ITEMS], sum = 0;
#pragma unroll
    for (unsigned i = 0; i < ITEMS; ++i) {
        value item = s[PLACE(mine + i)];
        run[i] = EXCLUSIVE ? sum : sum + item;
        sum += item;
    }
    value scanned = scan_warp(sum), all;
    if (t % WARP == WARP - 1)
        warps[t / WARP] = scanned;
    value lane_before = __shfl_up_sync(ALL_LANES, scanned, 1);
    __syncthreads();
    value before = before_warp<WARPS>(warps, &all) + (t % WARP ? lane_before : 0);
#pragma unroll
    for (unsigned i = 0; i < ITEMS; ++i)
        s[PLACE(mine + i)] = before + run[i];
    __syncthreads();
#pragma unroll
    for (unsigned i = t; i < SECTION; i += BLOCK)
        if (first + i < N)
            y[first + i] = s[PLACE(i)];
    if (t == 0)
        sums[blockIdx.x] = all;
#undef PLACE
}
#endif

// ---- tiles in registers ---- A warp has `quads` times 128 consecutive items, a lane the four at 4 lane of each 128:
// reads and writes are words of 16 bytes side by side, and nothing goes through shared memory. What comes before a quad
// is found by shuffles.

__device__ __forceinline__ bool is_aligned(const void *a, const void *b)
{
    return ((offset)a | (offset)b) % sizeof(quad) == 0;
}

// Where this lane's quad number k lies in the tile.
template <unsigned quads> __device__ __forceinline__ unsigned place(unsigned k)
{
    return (threadIdx.x / WARP * quads + k) * QUAD_WARP + threadIdx.x % WARP * 4;
}

template <unsigned quads>
__device__ __forceinline__ void load_tile(quad (&q)[quads], const value *x, offset first, offset N, bool aligned)
{
    if (aligned && first + quads * 4 * blockDim.x <= N) {
#pragma unroll
        for (unsigned k = 0; k < quads; ++k)
            q[k] = *(const quad *)(x + first + place<quads>(k));
        return;
    }
#pragma unroll
    for (unsigned k = 0; k < quads; ++k) {
        const offset i = first + place<quads>(k);
        q[k].x = i < N ? x[i] : 0;
        q[k].y = i + 1 < N ? x[i + 1] : 0;
        q[k].z = i + 2 < N ? x[i + 2] : 0;
        q[k].w = i + 3 < N ? x[i + 3] : 0;
    }
}

// lead[k]: the sum of the warp's items before this lane's quad k. Returns that of all of the warp's.
template <unsigned quads> __device__ __forceinline__ value lead_tile(const quad (&q)[quads], value (&lead)[quads])
{
    value running = 0;
#pragma unroll
    for (unsigned k = 0; k < quads; ++k) {
        value scanned = scan_warp((q[k].x + q[k].y) + (q[k].z + q[k].w));
        value before = __shfl_up_sync(ALL_LANES, scanned, 1);
        lead[k] = running + (threadIdx.x % WARP ? before : 0);
        running += __shfl_sync(ALL_LANES, scanned, WARP - 1);
    }
    return running;
}

// The scan of a quad of which `sum` comes before.
__device__ __forceinline__ quad scan_quad(quad q, value sum)
{
    quad out;
    out.x = EXCLUSIVE ? sum : sum + q.x;
    sum += q.x;
    out.y = EXCLUSIVE ? sum : sum + q.y;
    sum += q.y;
    out.z = EXCLUSIVE ? sum : sum + q.z;
    sum += q.z;
    out.w = EXCLUSIVE ? sum : sum + q.w;
    return out;
}

template <unsigned quads>
__device__ __forceinline__ void store_tile(value *y, const quad (&q)[quads], const value (&lead)[quads], value before,
                                           offset first, offset N, bool aligned)
{
    const bool whole = aligned && first + quads * 4 * blockDim.x <= N;
#pragma unroll
    for (unsigned k = 0; k < quads; ++k) {
        const offset i = first + place<quads>(k);
        quad out = scan_quad(q[k], before + lead[k]);
        if (whole) {
            *(quad *)(y + i) = out;
            continue;
        }
        if (i < N)
            y[i] = out.x;
        if (i + 1 < N)
            y[i + 1] = out.y;
        if (i + 2 < N)
            y[i + 2] = out.z;
        if (i + 3 < N)
            y[i + 3] = out.w;
    }
}

#if defined(SCAN_SUMS) || !defined(SCAN_ONE)
// The sums of sections become what comes before each: one block, a tile after the other.
extern "C" __global__ void __launch_bounds__(SUMS_BLOCK) scan_sums(value *sums, offset count)
{
    __shared__ value warps[2][SUMS_BLOCK / WARP];
    value carry = 0;
    unsigned turn = 0;
    for (offset first = 0; first < count; first += SUMS_QUADS * 4 * SUMS_BLOCK, turn ^= 1) {
        quad q[SUMS_QUADS];
        value lead[SUMS_QUADS], all;
        load_tile(q, sums, first, count, is_aligned(sums, sums));
        value total = lead_tile(q, lead);
        if (threadIdx.x % WARP == 0)
            warps[turn][threadIdx.x / WARP] = total;
        __syncthreads(); // one a tile: the next one's sums are put elsewhere
        value sum = carry + before_warp<SUMS_BLOCK / WARP>(warps[turn], &all);
        carry += all;
#pragma unroll
        for (unsigned k = 0; k < SUMS_QUADS; ++k) {
            const offset i = first + place<SUMS_QUADS>(k);
            value before = sum + lead[k];
            if (i < count)
                sums[i] = before;
            if (i + 1 < count)
                sums[i + 1] = before += q[k].x;
            if (i + 2 < count)
                sums[i + 2] = before += q[k].y;
            if (i + 3 < count)
                sums[i + 3] = before += q[k].z;
        }
    }
}
#endif

#if defined(SCAN_ADD) || !defined(SCAN_ONE)
// Each element of a section of y gets what comes before the section.
extern "C" __global__ void scan_add(value *__restrict__ y, const value *__restrict__ sums, unsigned section, offset N)
{
    const offset first = (offset)blockIdx.x * section;
    const value before = sums[blockIdx.x];
    for (unsigned i = threadIdx.x; i < section && first + i < N; i += blockDim.x)
        y[first + i] += before;
}
#endif

#if defined(SCAN_HIERARCHICAL) || !defined(SCAN_ONE)
// Sums first, then scans: the first kernel only adds up its tile, the third scans it with what comes before known.
//
// Against three_phase and the others, whose first kernel scans and whose third reads and writes y once more: three
// passes over memory in place of four. Warps scan by shuffles, words are 16 bytes, and no item goes through shared
// memory.
extern "C" __global__ void __launch_bounds__(BLOCK)
    scan_tile_sums(const value *__restrict__ x, value *__restrict__ sums, offset N)
{
    __shared__ value warps[WARPS];
    quad q[QUADS];
    value mine = 0, all;
    load_tile(q, x, (offset)blockIdx.x * TILE, N, is_aligned(x, x));
#pragma unroll
    for (unsigned k = 0; k < QUADS; ++k)
        mine += (q[k].x + q[k].y) + (q[k].z + q[k].w);
    mine = add_warp(mine);
    if (threadIdx.x % WARP == 0)
        warps[threadIdx.x / WARP] = mine;
    __syncthreads();
    before_warp<WARPS>(warps, &all);
    if (threadIdx.x == 0)
        sums[blockIdx.x] = all;
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    scan_tiles(const value *x, value *y, const value *__restrict__ sums, offset N)
{
    __shared__ value warps[WARPS];
    const offset first = (offset)blockIdx.x * TILE;
    const bool aligned = is_aligned(x, y);
    quad q[QUADS];
    value lead[QUADS], all;
    load_tile(q, x, first, N, aligned);
    value total = lead_tile(q, lead);
    if (threadIdx.x % WARP == 0)
        warps[threadIdx.x / WARP] = total;
    __syncthreads();
    value before = sums[blockIdx.x] + before_warp<WARPS>(warps, &all);
    store_tile(y, q, lead, before, first, N, aligned);
}
#endif

// ---- one pass: blocks that wait for blocks ----

#if defined(SCAN_STREAM) || !defined(SCAN_ONE)
// One kernel: each block waits for the one before it, adds its own sum, and hands on.
//
// Against hierarchical: two passes over memory, one launch (and one that sets the flags to 0). A block must not wait
// for one that has no SM yet, and nobody says in which order blocks start; so each takes its number when it runs. The
// sum must be seen before the flag that says it is there: a fence between them, on both sides. With them the flag
// orders the sum, which may then be stored plainly; and only of a plain store does `kiln check` notice that the
// writer's fence is missing. All N / TILE handovers come one after the other, each a way to the L2 and back, and that
// chain is what it takes.
extern "C" __global__ void __launch_bounds__(BLOCK)
    scan_stream(const value *x, value *y, value *sums, volatile unsigned *flags, offset N)
{
    __shared__ value warps[WARPS], handed;
    __shared__ unsigned number;
    if (threadIdx.x == 0)
        number = atomicAdd((unsigned *)flags, 1); // flags[n] is tile n - 1's; flags[0] counts the blocks that run
    __syncthreads();
    const unsigned tile = number;
    const offset first = (offset)tile * TILE;
    const bool aligned = is_aligned(x, y);
    quad q[QUADS];
    value lead[QUADS], all;
    load_tile(q, x, first, N, aligned);
    value total = lead_tile(q, lead);
    if (threadIdx.x % WARP == 0)
        warps[threadIdx.x / WARP] = total;
    __syncthreads();
    value before = before_warp<WARPS>(warps, &all);
    if (threadIdx.x == 0) {
        value sum = 0;
        if (tile) {
            while (flags[tile] == 0) {
            }
            __threadfence();
            sum = *(const volatile value *)(sums + tile - 1);
        }
        sums[tile] = sum + all;
        __threadfence();
        flags[tile + 1] = 1;
        handed = sum;
    }
    __syncthreads();
    store_tile(y, q, lead, before + handed, first, N, aligned);
}
#endif

#if defined(SCAN_DECOUPLED_LOOKBACK) || defined(SCAN_WAVES) || !defined(SCAN_ONE)
// A note that a block leaves for others: a tag that says which it is and a value, in one word that is written at once,
// so that no fence is needed between them. Tags are counted up from launch to launch, so nothing has to be wiped out
// between launches. They come round after 2^31 launches of scan_decoupled_lookback and 2^32 waves of scan_waves, and by
// then a note has been written over: by the next launch of as many tiles, two waves later.
__device__ __forceinline__ void leave(unsigned long long *note, unsigned tag, value sum)
{
#if INTEGERS
    unsigned bits = sum;
#else
    unsigned bits = __float_as_uint(sum);
#endif
    *(volatile unsigned long long *)note = (unsigned long long)tag << 32 | bits;
}

__device__ __forceinline__ unsigned read_note(const unsigned long long *note, value *sum)
{
    unsigned long long word = *(const volatile unsigned long long *)note;
#if INTEGERS
    *sum = (unsigned)word;
#else
    *sum = __uint_as_float((unsigned)word);
#endif
    return (unsigned)(word >> 32);
}
#endif

#if defined(SCAN_DECOUPLED_LOOKBACK) || !defined(SCAN_ONE)
// What is known of the launches before: read by all blocks, changed by the last one that leaves.
struct turnstile {
    unsigned launches, tickets, left;
};

// The sum of all tiles before `tile`, for one warp: 32 notes at a time, from the near to the far, until one is met that
// says all that is before it, too.
__device__ __forceinline__ value look_back(const unsigned long long *notes, offset tile, unsigned tag)
{
    const unsigned lane = threadIdx.x % WARP;
    value before = 0;
    for (offset end = tile; end > 0; end -= WARP) {
        value sum = 0;
        unsigned state = tag + 1; // before the first tile: nothing, and all of it
        if (lane < end)
            do {
                state = read_note(notes + (end - 1 - lane), &sum);
            } while (state != tag && state != tag + 1);
        unsigned closed = __ballot_sync(ALL_LANES, state == tag + 1);
        unsigned nearest = closed ? __ffs(closed) - 1 : WARP - 1;
        before = add_warp(lane <= nearest ? sum : 0) + before;
        if (closed)
            break;
    }
    return before;
}

// Each block says its own sum as soon as it has it, and looks back over those of others until it finds one that has
// come to a whole (Merrill and Garland, "Single-pass parallel prefix scan with decoupled look-back", 2016).
//
// Against stream: nobody waits for a chain; a block adds up as many sums as it takes. How far it looks is chance, and
// so is the order of additions.
extern "C" __global__ void __launch_bounds__(BLOCK)
    scan_decoupled_lookback(const value *x, value *y, unsigned long long *notes, turnstile *turn, offset N)
{
    __shared__ value warps[WARPS], looked;
    __shared__ unsigned launch, ticket;
    const unsigned t = threadIdx.x;
    const bool aligned = is_aligned(x, y);
    if (t == 0) {
        launch = *(volatile unsigned *)&turn->launches;
        ticket = atomicAdd(&turn->tickets, 1);
    }
    __syncthreads();
    const unsigned tag = 2 * launch + 2, tile = ticket; // tag: the tile's sum; tag + 1: the sum up to its end
    const offset first = (offset)tile * TILE;
    quad q[QUADS];
    value lead[QUADS], all;
    load_tile(q, x, first, N, aligned);
    value total = lead_tile(q, lead);
    if (t % WARP == 0)
        warps[t / WARP] = total;
    __syncthreads();
    value before = before_warp<WARPS>(warps, &all);
    if (t < WARP) {
        if (t == 0)
            leave(notes + tile, tile ? tag : tag + 1, all);
        value sum = look_back(notes, tile, tag);
        if (t == 0 && tile)
            leave(notes + tile, tag + 1, sum + all);
        if (t == 0)
            looked = sum;
    }
    __syncthreads();
    store_tile(y, q, lead, looked + before, first, N, aligned);
    if (t == 0 && atomicInc(&turn->left, gridDim.x - 1) == gridDim.x - 1) {
        atomicExch(&turn->tickets, 0);
        atomicAdd(&turn->launches, 1);
    }
}
#endif

#if defined(SCAN_WAVES) || !defined(SCAN_ONE)
// What is known of the launches before.
struct board {
    unsigned waves, left;
};

// Tiles on their way lie in shared memory, each thread's quads at places of its own that no other thread looks at.
__device__ __forceinline__ void request_tile(quad *slot, const value *x, offset first, offset N, bool aligned)
{
    slot += threadIdx.x;
    if (aligned && first + TILE <= N) {
#pragma unroll
        for (unsigned k = 0; k < QUADS; ++k) {
            const value *from = x + first + place<QUADS>(k);
#if __CUDA_ARCH__ >= 800
            unsigned to = (unsigned)__cvta_generic_to_shared(slot + k * BLOCK);
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(__cvta_generic_to_global(from))
                         : "memory");
#else
            slot[k * BLOCK] = *(const quad *)from;
#endif
        }
    } else if (first < N) {
        quad q[QUADS];
        load_tile(q, x, first, N, false);
#pragma unroll
        for (unsigned k = 0; k < QUADS; ++k)
            slot[k * BLOCK] = q[k];
    }
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" ::: "memory"); // also of nothing: groups are counted
#endif
}

// Waits until all tiles asked for are there but the last STAGES - 1, and takes one.
__device__ __forceinline__ void take_tile(quad (&q)[QUADS], const quad *slot)
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 1) : "memory");
#endif
#pragma unroll
    for (unsigned k = 0; k < QUADS; ++k)
        q[k] = slot[k * BLOCK + threadIdx.x];
}

// PER_SM blocks an SM, all of them there at once, a tile each, wave after wave; every block reads the sums of all tiles
// of its wave and adds up those before its own, and all of them for the next wave.
//
// Against decoupled_lookback: no tickets, no chain, and additions in an order that does not depend on time. Blocks
// stay, so STAGES tiles are always under way to shared memory; and a block says the sum of its next tile before it
// finishes the present one, so that the others' are there when it looks for them. In return all blocks must be there at
// once, which is what a cooperative launch promises.
extern "C" __global__ void __launch_bounds__(BLOCK, PER_SM)
    scan_waves(const value *x, value *y, unsigned long long *notes, board *shown, offset N)
{
    extern __shared__ quad slots[];
    __shared__ value warps[2][WARPS], befores[2][WARPS], alls[2][WARPS];
    const unsigned t = threadIdx.x, lane = t % WARP, warp = t / WARP;
    const offset step = (offset)gridDim.x * TILE, tiles = (N + TILE - 1) / TILE;
    const offset mine = (tiles - blockIdx.x + gridDim.x - 1) / gridDim.x; // tiles of this block
    const bool aligned = is_aligned(x, y);
    const unsigned waves_before = *(volatile unsigned *)&shown->waves;
    offset first = (offset)blockIdx.x * TILE, wanted = first;
#pragma unroll
    for (unsigned i = 0; i < STAGES; ++i, wanted += step)
        request_tile(slots + i * QUADS * BLOCK, x, wanted, N, aligned);
    quad q[QUADS], next[QUADS];
    value lead[QUADS], next_lead[QUADS], in_block = 0, carry = 0;
    unsigned tag = waves_before, slot = 0;
    for (offset wave = 0; wave <= mine; ++wave) { // takes its tile of this wave, and finishes that of the one before
        const unsigned turn = wave & 1;
        if (wave < mine) {
            take_tile(next, slots + slot * QUADS * BLOCK);
            value total = lead_tile(next, next_lead);
            if (lane == 0)
                warps[turn][warp] = total;
        }
        if (wave > 0) {
            const unsigned long long *told = notes + tag % 2 * gridDim.x;
            const offset begin = (wave - 1) * gridDim.x;
            const unsigned count = tiles - begin < gridDim.x ? (unsigned)(tiles - begin) : gridDim.x;
            value before = 0, all = 0;
            for (unsigned i = t; i < count; i += BLOCK) {
                value sum;
                while (read_note(told + i, &sum) != tag) {
                }
                all += sum;
                before += i < blockIdx.x ? sum : 0;
            }
            before = add_warp(before);
            all = add_warp(all);
            if (lane == 0) {
                befores[turn][warp] = before;
                alls[turn][warp] = all;
            }
        }
        __syncthreads();
        ++tag;
        value next_in_block = 0;
        if (wave < mine) {
            // This is written over a note of two waves ago. Everybody has read that: I have read the notes of one wave
            // ago, and who wrote those had read it.
            value all;
            next_in_block = before_warp<WARPS>(warps[turn], &all);
            if (t == 0)
                leave(notes + tag % 2 * gridDim.x + blockIdx.x, tag, all);
            request_tile(slots + slot * QUADS * BLOCK, x, wanted, N, aligned);
            wanted += step;
            slot = slot + 1 < STAGES ? slot + 1 : 0;
        }
        if (wave > 0) {
            value before = carry + add_warp(lane < WARPS ? befores[turn][lane] : 0);
            carry += add_warp(lane < WARPS ? alls[turn][lane] : 0);
            store_tile(y, q, lead, before + in_block, first, N, aligned);
            first += step;
        }
        in_block = next_in_block;
#pragma unroll
        for (unsigned k = 0; k < QUADS; ++k) {
            q[k] = next[k];
            lead[k] = next_lead[k];
        }
    }
    if (t == 0 && atomicInc(&shown->left, gridDim.x - 1) == gridDim.x - 1)
        atomicExch(&shown->waves, waves_before + (unsigned)((tiles + gridDim.x - 1) / gridDim.x));
}
#endif
