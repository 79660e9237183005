// attention_tiles.cuh - the common part of attention.cu and attention_fp8.cu: which tile a block takes, and the ring of
// tiles that one warp fills for warp groups.
//
// The file that includes this one has the macros CAUSAL, HEADS_FIRST, STAGES and PERSISTENT (attention.cu describes
// them).

#ifndef ATTENTION_TILES_CUH
#define ATTENTION_TILES_CUH

#include "async.cuh"
#include "tensor.cuh"

#ifndef ENDS_LAST
#define ENDS_LAST 0 // n > 0: short tiles come last. With CAUSAL this holds for the last n heads
#endif

enum : unsigned { WARP_GROUP = 128 }; // threads

struct Sizes {
    unsigned heads, kv_heads, queries, keys; // heads: over all batches
};

// Returns how many keys a query sees. A result of 0 or less means that the query sees no key.
__device__ __forceinline__ int keys_seen(unsigned query, Sizes n)
{
    return min(CAUSAL ? (int)(query + 1 + n.keys - n.queries) : (int)n.keys, (int)n.keys);
}

// The work of a block: tile `number`, counted over all heads. With CAUSAL, tiles are numbered from the last tile down,
// because the last tile sees the most keys.
//
// With ENDS_LAST, blocks end at about the same time, because the tiles with the least work are taken last. With CAUSAL,
// the last ENDS_LAST heads are processed together: first the longest tile of each head, then the next tile of each
// head. Without CAUSAL, the last tile of a head may have fewer queries than the others. The last tiles of all heads
// come after all other tiles.
struct Place {
    unsigned head, kv_head, first; // the head, counted over all batches, and the number of the tile's first query
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
        kv_head = head / (n.heads / n.kv_heads); // correct over batches too, because both counts are over all batches
        first = (CAUSAL ? all_tiles - 1 - index : index) * tile;
    }
};

// The tiles of queries that a block takes: one tile, or with PERSISTENT one tile of each row of tiles. A row has as
// many tiles as there are blocks. Every second row runs backwards, because the causal tiles within a row are sorted by
// their work.
struct Turns {
    // this tile, the first tile of its row, the number of all tiles, and the number of tiles that this block has taken
    // before
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

// A ring of STAGES tiles of `bytes` bytes, whose rows have `swizzle` bytes. The ring counts the uses of its stages;
// stage = use % STAGES.
template <unsigned bytes, unsigned swizzle> struct Ring {
    char *tiles;
    barrier *full, *empty;
    unsigned first;            // the lower half of the descriptor of the first tile
    // the stage and the phase of the next use; `at` is the lower half of the descriptor of its tile, computed before it
    // is needed
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
    // waits until the stage is full; `other` inverts the phase
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
    __device__ __forceinline__ void leave() // tells that a group has read the tile
    {
        if (threadIdx.x % WARP_GROUP == 0)
            barrier_arrive(empty + stage);
        next();
    }
};

#endif
