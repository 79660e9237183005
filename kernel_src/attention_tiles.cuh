// attention_tiles.cuh - the common part of attention.cu and attention_fp8.cu. It determines which tile a block takes,
// and has the ring of tiles that one warp fills for warp groups.
//
// The file that includes this one has the macros CAUSAL, HEADS_FIRST, STAGES and PERSISTENT (attention.cu describes
// them).

#ifndef ATTENTION_TILES_CUH
#define ATTENTION_TILES_CUH

#include "async.cuh"
#include "tensor.cuh"

#ifndef ENDS_LAST
#define ENDS_LAST 0 // if n > 0, short tiles come last; with CAUSAL this holds only for the last n heads
#endif

enum : unsigned { WARP_GROUP = 128 }; // threads of a warp group

struct Sizes {
    unsigned heads, kv_heads, queries, keys; // `heads` and `kv_heads` count the heads of all batches
};

// Returns how many keys a query sees. A result of 0 or less means that the query sees no key.
__device__ __forceinline__ int keys_seen(unsigned query, Sizes n)
{
    return min(CAUSAL ? (int)(query + 1 + n.keys - n.queries) : (int)n.keys, (int)n.keys);
}

// The work of a block: tile `number` of all tiles of all heads. With CAUSAL, the tiles of a head are numbered from its
// last tile down, because the last tile sees the most keys.
//
// With ENDS_LAST, the tiles with the least work are taken last, so that blocks end at about the same time. With CAUSAL,
// the last ENDS_LAST heads are processed together: first the longest tile of each head, then the next tile of each
// head. Without CAUSAL, the last tile of a head may have fewer queries than the others. The last tiles of all heads
// come after all other tiles.
struct Place {
    // head and kv_head count over all batches; first is the number of the tile's first query
    unsigned head, kv_head, first;
    __device__ __forceinline__ Place(Sizes n, unsigned tile, unsigned number)
    {
        const unsigned all_tiles = ceil_div(n.queries, tile), tiles = ENDS_LAST && !CAUSAL ? n.queries / tile : all_tiles;
        const unsigned heads = !ENDS_LAST || !CAUSAL ? n.heads : n.heads > ENDS_LAST ? n.heads - ENDS_LAST : 0;
        unsigned index;
        if (ENDS_LAST && number >= heads * tiles) {
            const unsigned rest = number - heads * tiles, count = CAUSAL ? n.heads - heads : n.heads;
            index = CAUSAL ? rest / count : tiles;
            head = CAUSAL ? heads + rest % count : rest;
        } else if (HEADS_FIRST) {
            const unsigned together = HEADS_FIRST > 1 && HEADS_FIRST < heads ? HEADS_FIRST : heads;
            const unsigned begin = number / (together * tiles) * together, left = heads - begin;
            const unsigned count = left < together ? left : together; // the last group of heads may be smaller
            index = (number - begin * tiles) / count;
            head = begin + (number - begin * tiles) % count;
        } else {
            index = number % tiles;
            head = number / tiles;
        }
        // this is correct over all batches, because both counts are over all batches
        kv_head = head / (n.heads / n.kv_heads);
        first = (CAUSAL ? all_tiles - 1 - index : index) * tile;
    }
};

// The tiles of queries that a block takes: one tile, or with PERSISTENT one tile of each row of tiles. A row of tiles
// has as many tiles as there are blocks. Every second row runs backwards, because the causal tiles within a row are
// sorted by their work.
struct Turns {
    // the number of this tile, the first tile of its row, the number of all tiles, and the number of tiles that this
    // block took before
    unsigned number, begin, count, taken;

    __device__ __forceinline__ Turns(unsigned tiles) : number(blockIdx.x), begin(0), count(tiles), taken(0)
    {
    }
    __device__ __forceinline__ bool more() const
    {
        return number < count;
    }
    __device__ __forceinline__ void next()
    {
        ++taken;
        begin += gridDim.x;
        number = !PERSISTENT ? count : begin + (taken % 2 ? gridDim.x - 1 - blockIdx.x : blockIdx.x);
    }
};

// Arrives at barrier `number` without waiting. Other threads wait at this barrier by group_sync().
__device__ __forceinline__ void group_arrive(unsigned number, unsigned threads)
{
    asm volatile("bar.arrive %0, %1;" ::"r"(number), "r"(threads) : "memory");
}

// A ring of STAGES tiles. A tile has `bytes` bytes, and its rows have `swizzle` bytes. The ring counts the uses of its
// stages. The stage of a use is use % STAGES.
template <unsigned bytes, unsigned swizzle> struct Ring {
    char *tiles;
    barrier *full, *empty;
    unsigned first;            // the lower half of the descriptor of the first tile
    // stage and phase of the next use; `at` is the lower half of the descriptor of its tile, which is computed before
    // it is needed
    unsigned stage, phase, at;

    __device__ __forceinline__ char *tile() const
    {
        return tiles + stage * bytes;
    }
    __device__ __forceinline__ offset descriptor() const
    {
        return matrix_descriptor<swizzle>(0, 0, 8 * swizzle) | at;
    }
    __device__ __forceinline__ void next()
    {
        stage = stage + 1 == STAGES ? 0 : stage + 1;
        phase ^= stage == 0;
        at = stage == 0 ? first : at + bytes / 16;
    }
    // waits until the stage is full; if `other` is true, it waits for the other phase
    __device__ __forceinline__ void wait_full(bool other = false)
    {
        barrier_wait(full + stage, phase ^ (unsigned)other);
    }
    __device__ __forceinline__ bool is_full() const
    {
        return barrier_passed(full + stage, phase);
    }
    __device__ __forceinline__ void wait_empty()
    {
        barrier_wait(empty + stage, phase ^ 1);
    }
    __device__ __forceinline__ void leave() // tells the producer that this warp group has read the tile
    {
        if (threadIdx.x % WARP_GROUP == 0)
            barrier_arrive(empty + stage);
        next();
    }
};

#endif
