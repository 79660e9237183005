// memory.cu - y = x + 1 over N words of 32 bits, by all the ways there are to reach memory well and badly.
//
// An addition a word is nothing, so the time is that of the accesses: how many bytes are on their way (elements in
// flight, width of a word), which addresses the lanes of a warp ask for (the patterns), how data is laid out (rows and
// columns, arrays of structures), and which memory answers (the spaces). Overflow wraps around: 2^32 - 1 becomes 0.
//
// What reads other elements than it writes is checked all the same, because x counts upwards: x[k] = x[0] + k. A thread
// that wants element i and has read element k makes it out of that one, x[k] - k + i, and is wrong if it got another.
// The answer does not say which k a thread chose; `kiln study access` does. On any other x these kernels (offset,
// permuted, strided, broadcast, scattered, aos_same, soa_same) give something else than x + 1: they are for studying.
//
// Sizes up to 2^32 - 1 are legal, 0 and 1 included; offsets are 64 bits wide. The tuning parameters are macros. A spec
// sets them; the defaults are for an editor. A kernel is compiled where its own macro MEMORY_<NAME> is set, or where
// MEMORY_ONE is not: a sweep compiles this file once a configuration.

#include "common.cuh"

#ifndef BLOCK
#define BLOCK 256 // threads of a block
#endif
#ifndef FLIGHT
#define FLIGHT 4 // words in flight per thread; in all but one_word, the matrix and aos, soa
#endif
#ifndef WORD
#define WORD 4 // elements of a word: 1, 2 or 4
#endif
#ifndef HINT
#define HINT 1 // streamed: 1: stores are marked as used once, 2: loads are, 3: both
#endif
#ifndef LOAD
#define LOAD ca // patterns: the policy of loads: cached in the L1 (ca) or only in the L2 (cg)
#endif
#ifndef OFFSET
#define OFFSET 1 // offset: in elements
#endif
#ifndef STRIDE
#define STRIDE 32 // strided: in elements
#endif
#ifndef WIDTH
#define WIDTH 1024 // row_a_thread, column_a_thread: columns of the matrix
#endif
#ifndef FIELDS
#define FIELDS 4 // aos, soa: words of a structure
#endif
#ifndef SPREAD
#define SPREAD 1 // spaces: the lanes of a warp look up 0: one place, 1: neighbours, 2: any
#endif

constexpr unsigned TABLE = 64;   // spaces: words of the table
constexpr unsigned LOOKUPS = 16; // spaces: of a thread

// Policies of loads, of which LOAD names one.
struct ca {
    static __device__ __forceinline__ unsigned load(const unsigned *from)
    {
        return __ldca(from);
    }
};
struct cg {
    static __device__ __forceinline__ unsigned load(const unsigned *from)
    {
        return __ldcg(from);
    }
};

// What comes after element `wanted`, computed from x[read], where x counts upwards. (A macro: as a function it is
// compiled to other instructions.)
#define NEXT(x, read, wanted) (LOAD::load((x) + (read)) - (unsigned)(read) + (unsigned)(wanted) + 1)

#if defined(MEMORY_ONE_WORD) || !defined(MEMORY_ONE)
// One element per thread. Each warp's request is four sectors, all of them used; but a multiprocessor's 64 warps have
// only 8 KiB on their way, and by Little's law the device needs more than that to be busy for the time a read takes.
extern "C" __global__ void memory_one_word(const unsigned *__restrict__ x, unsigned *__restrict__ y, offset N)
{
    offset i = grid_thread<BLOCK>();
    if (i < N)
        y[i] = x[i] + 1;
}
#endif

#if defined(MEMORY_IN_FLIGHT) || !defined(MEMORY_ONE)
// FLIGHT elements per thread, a block apart (striped), so that each request is as coalesced as before; all loads are in
// flight before the first is used.
//
// Against one_word: the same requests and sectors, FLIGHT times the bytes on their way at the same occupancy, and a
// FLIGHT-th of the blocks to start.
extern "C" __global__ void memory_in_flight(const unsigned *__restrict__ x, unsigned *__restrict__ y, offset N)
{
    offset first = tile_begin(BLOCK * FLIGHT) + threadIdx.x;
    unsigned mine[FLIGHT];
#pragma unroll
    for (unsigned k = 0; k < FLIGHT; ++k)
        mine[k] = first + k * BLOCK < N ? x[first + k * BLOCK] : 0;
#pragma unroll
    for (unsigned k = 0; k < FLIGHT; ++k)
        if (first + k * BLOCK < N)
            y[first + k * BLOCK] = mine[k] + 1;
}
#endif

#if defined(MEMORY_WIDE) || defined(MEMORY_STREAMED) || defined(MEMORY_RESIDENT) || !defined(MEMORY_ONE)
// Words of WORD elements.
typedef vec<unsigned, WORD> Word;

__device__ __forceinline__ unsigned plus_one(unsigned w)
{
    return w + 1;
}

__device__ __forceinline__ uint2 plus_one(uint2 w)
{
    return {w.x + 1, w.y + 1};
}

__device__ __forceinline__ uint4 plus_one(uint4 w)
{
    return {w.x + 1, w.y + 1, w.z + 1, w.w + 1};
}

// FLIGHT words per thread, from word `first` on, a block apart, of `words` in all.
template <unsigned hint>
__device__ __forceinline__ void increment(const unsigned *x, unsigned *y, offset first, offset words)
{
    const Word *from = (const Word *)x;
    Word *to = (Word *)y, mine[FLIGHT];
#pragma unroll
    for (unsigned k = 0; k < FLIGHT; ++k)
        mine[k] = first + k * BLOCK < words ? load<(hint & 2) != 0>(from + first + k * BLOCK) : Word{};
#pragma unroll
    for (unsigned k = 0; k < FLIGHT; ++k)
        if (first + k * BLOCK < words)
            store<(hint & 1) != 0>(to + first + k * BLOCK, plus_one(mine[k]));
}

// How many whole words there are; none where x or y does not begin at a multiple of a word.
__device__ __forceinline__ offset whole_words(const unsigned *x, const unsigned *y, offset N)
{
    return is_aligned<sizeof(Word)>(x, y) ? N / WORD : 0;
}

// The elements that are in no whole word, one by one: the last few, or all where addresses are not aligned. All threads
// of the grid take part.
__device__ __forceinline__ void increment_rest(const unsigned *x, unsigned *y, offset done, offset N)
{
    for (offset i = done + grid_thread<BLOCK>(); i < N; i += grid_threads<BLOCK>())
        y[i] = x[i] + 1;
}
#endif

#if defined(MEMORY_WIDE) || !defined(MEMORY_ONE)
// Words of 8 or 16 bytes.
//
// Against in_flight: a request of a warp is 8 or 16 sectors in place of 4, so the same bytes cost a half or a quarter
// of the instructions and requests.
extern "C" __global__ void memory_wide(const unsigned *__restrict__ x, unsigned *__restrict__ y, offset N)
{
    offset words = whole_words(x, y, N);
    increment<0>(x, y, tile_begin(BLOCK * FLIGHT) + threadIdx.x, words);
    increment_rest(x, y, words * WORD, N);
}
#endif

#if defined(MEMORY_STREAMED) || !defined(MEMORY_ONE)
// The same, with loads and stores that say that nobody will come back for the data (ld.cs, st.cs): the L2 gives their
// lines up first, and writes go on to memory in longer runs. No counter of requests or sectors changes.
extern "C" __global__ void memory_streamed(const unsigned *__restrict__ x, unsigned *__restrict__ y, offset N)
{
    offset words = whole_words(x, y, N);
    increment<HINT>(x, y, tile_begin(BLOCK * FLIGHT) + threadIdx.x, words);
    increment_rest(x, y, words * WORD, N);
}
#endif

#if defined(MEMORY_RESIDENT) || !defined(MEMORY_ONE)
// A grid-stride loop: no more blocks than the device holds at a time, if registers allow.
//
// Against streamed: no blocks start or end on the way, and indexes are computed once. In exchange a thread waits for
// its loads before it asks for the next, where a new block would already be asking.
extern "C" __global__ void memory_resident(const unsigned *__restrict__ x, unsigned *__restrict__ y, offset N)
{
    offset words = whole_words(x, y, N);
    for (offset piece = tile_begin(BLOCK * FLIGHT); piece < words; piece += grid_threads<BLOCK * FLIGHT>())
        increment<HINT>(x, y, piece + threadIdx.x, words);
    increment_rest(x, y, words * WORD, N);
}
#endif

// What the kernels below have in common: y[i] = make(i) for the first `count` i, FLIGHT of them a thread as in
// in_flight, all made before the first is written. So it is not for lack of bytes in flight if one is slower than
// another.
template <class Make> __device__ __forceinline__ void for_each(unsigned *y, offset count, Make make)
{
    offset first = tile_begin(BLOCK * FLIGHT) + threadIdx.x;
    unsigned mine[FLIGHT];
#pragma unroll
    for (unsigned k = 0; k < FLIGHT; ++k)
        mine[k] = first + k * BLOCK < count ? make(first + k * BLOCK) : 0;
#pragma unroll
    for (unsigned k = 0; k < FLIGHT; ++k)
        if (first + k * BLOCK < count)
            y[first + k * BLOCK] = mine[k];
}

// ---- patterns: which addresses the lanes of a warp read; all write side by side ----

#if defined(MEMORY_ALIGNED) || !defined(MEMORY_ONE)
// Lane k reads element k of a line: 128 bytes, 4 sectors a request, all used.
extern "C" __global__ void memory_aligned(const unsigned *__restrict__ x, unsigned *__restrict__ y, offset N)
{
    for_each(y, N, [&](offset i) { return NEXT(x, i, i); });
}
#endif

#if defined(MEMORY_OFFSET) || !defined(MEMORY_ONE)
// OFFSET elements further on (but for the last, which read their own). Unless OFFSET is a multiple of 8, a warp's 128
// bytes lie in 5 sectors: 80 % of what a request moves is used. The neighbour wants the rest of that sector, and finds
// it in a cache: memory itself sees no more bytes than before.
extern "C" __global__ void memory_offset(const unsigned *__restrict__ x, unsigned *__restrict__ y, offset N)
{
    for_each(y, N, [&](offset i) {
        offset k = i + OFFSET < N ? i + OFFSET : i;
        return NEXT(x, k, i);
    });
}
#endif

#if defined(MEMORY_PERMUTED) || !defined(MEMORY_ONE)
// The lanes of a warp read its elements backwards. Which lane asks for which address within a sector does not matter: 4
// sectors a request, as if in order. (The first devices made a transaction of each such lane.)
extern "C" __global__ void memory_permuted(const unsigned *__restrict__ x, unsigned *__restrict__ y, offset N)
{
    for_each(y, N, [&](offset i) {
        offset k = (i ^ 31) < N ? i ^ 31 : i;
        return NEXT(x, k, i);
    });
}
#endif

#if defined(MEMORY_STRIDED) || !defined(MEMORY_ONE)
// Neighbours read elements STRIDE apart, and the grid's row number blockIdx.y those that begin there, so that all are
// read once. A request is min(4 STRIDE, 32) sectors, of which 32 elements are used: 12.5 % from a stride of 8 on. The
// other elements of a sector are wanted by blocks that run much later.
extern "C" __global__ void memory_strided(const unsigned *__restrict__ x, unsigned *__restrict__ y, offset N)
{
    offset column = blockIdx.y, longer = N % STRIDE; // so many columns have one element more
    offset rows = N / STRIDE + (column < longer), first = column * (N / STRIDE) + (column < longer ? column : longer);
    for_each(y + first, rows, [&](offset row) { return NEXT(x, row * STRIDE + column, first + row); });
}
#endif

#if defined(MEMORY_BROADCAST) || !defined(MEMORY_ONE)
// All lanes of a warp read one element: 1 sector a request, 4 bytes of it used by 32 lanes. 1 / 32 of x is read at all.
extern "C" __global__ void memory_broadcast(const unsigned *__restrict__ x, unsigned *__restrict__ y, offset N)
{
    for_each(y, N, [&](offset i) { return NEXT(x, i / 32, i); });
}
#endif

#if defined(MEMORY_SCATTERED) || !defined(MEMORY_ONE)
// 32 bits in which every bit of i counts (the finaliser of MurmurHash3, which is in the public domain).
__device__ __forceinline__ unsigned mixed(unsigned i)
{
    i = (i ^ i >> 16) * 0x85ebca6bu;
    i = (i ^ i >> 13) * 0xc2b2ae35u;
    return i ^ i >> 16;
}

// Each lane reads anywhere: 32 sectors a request, one element of each used. Where x is much larger than the L2, hardly
// one is found there, and this is what a table lookup costs at worst.
extern "C" __global__ void memory_scattered(const unsigned *__restrict__ x, unsigned *__restrict__ y, offset N)
{
    for_each(y, N, [&](offset i) {
        offset k = mixed((unsigned)i) * N >> 32; // below N
        return NEXT(x, k, i);
    });
}
#endif

// ---- a matrix: rows of WIDTH elements, the last one may be shorter ----

#if defined(MEMORY_ROW_A_THREAD) || !defined(MEMORY_ONE)
// A thread a row, as one would divide the work among cores: neighbours work WIDTH elements apart, and each request is
// 32 sectors for reading and for writing. What else lies in a sector comes next, if it is still in the L1 by then.
extern "C" __global__ void memory_row_a_thread(const unsigned *__restrict__ x, unsigned *__restrict__ y, offset N)
{
    offset begin = grid_thread<BLOCK>() * WIDTH, end = begin + WIDTH < N ? begin + WIDTH : N;
    for (offset i = begin; i < end; ++i)
        y[i] = x[i] + 1;
}
#endif

#if defined(MEMORY_COLUMN_A_THREAD) || !defined(MEMORY_ONE)
// A thread a column of 64 rows: neighbours work side by side all the way, 4 sectors a request. The same work as
// row_a_thread, and the loop looks worse to a CPU's eye. Blocks are numbered along 64 rows first, and in one dimension,
// because a grid is at most 65,535 high.
extern "C" __global__ void memory_column_a_thread(const unsigned *__restrict__ x, unsigned *__restrict__ y, offset N)
{
    constexpr unsigned ACROSS = ceil_div(WIDTH, BLOCK); // blocks for 64 rows
    unsigned rows = blockIdx.x / ACROSS, column = blockIdx.x % ACROSS * BLOCK + threadIdx.x;
    if (column >= WIDTH)
        return;
    offset begin = rows * 64ull * WIDTH + column, end = begin + 64 * WIDTH < N ? begin + 64 * WIDTH : N;
    for (offset i = begin; i < end; i += WIDTH)
        y[i] = x[i] + 1;
}
#endif

// ---- structures of FIELDS words; the elements that fill no structure are left to single threads ----

#if defined(MEMORY_AOS) || defined(MEMORY_SOA) || defined(MEMORY_AOS_SAME) || defined(MEMORY_SOA_SAME) ||              \
    !defined(MEMORY_ONE)
__device__ __forceinline__ offset field(offset record, unsigned f, offset records, bool array_of_structures)
{
    return array_of_structures ? record * FIELDS + f : f * records + record;
}

__device__ __forceinline__ void structures(const unsigned *x, unsigned *y, offset N, bool array_of_structures)
{
    offset records = N / FIELDS, record = grid_thread<BLOCK>();
    if (record < records) {
        unsigned mine[FIELDS];
#pragma unroll
        for (unsigned f = 0; f < FIELDS; ++f)
            mine[f] = LOAD::load(x + field(record, f, records, array_of_structures));
#pragma unroll
        for (unsigned f = 0; f < FIELDS; ++f)
            y[field(record, f, records, array_of_structures)] = mine[f] + 1;
    } else if (record - records < N % FIELDS) {
        offset i = records * FIELDS + (record - records);
        y[i] = LOAD::load(x + i) + 1;
    }
}

// Every warp looks at one structure, whose number is the warp's, and each of its lanes makes one element. y's are as
// many as before; of x, FIELDS words are read for each 32 of them.
__device__ __forceinline__ void same_structure(const unsigned *x, unsigned *y, offset N, bool array_of_structures)
{
    offset records = N / FIELDS;
    for_each(y, N, [&](offset i) {
        offset record = i / 32;
        if (record >= records)
            return LOAD::load(x + i) + 1;
        unsigned first = 0, others = 0; // x[0] by way of field 0; by how much the other fields say otherwise
#pragma unroll
        for (unsigned f = 0; f < FIELDS; ++f) {
            offset k = field(record, f, records, array_of_structures);
            unsigned base = LOAD::load(x + k) - (unsigned)k;
            first = f == 0 ? base : first;
            others += base - first;
        }
        return first + others + (unsigned)i + 1;
    });
}
#endif

#if defined(MEMORY_AOS) || !defined(MEMORY_ONE)
// An array of structures, a thread a structure: the lanes of a warp read one field of 32 structures, FIELDS elements
// apart, and write so. min(4 FIELDS, 32) sectors a request; the rest of each sector is asked for by the next FIELDS - 1
// requests, so the L1 makes good for the reads, and the L2 has to for the writes.
extern "C" __global__ void memory_aos(const unsigned *__restrict__ x, unsigned *__restrict__ y, offset N)
{
    structures(x, y, N, true);
}
#endif

#if defined(MEMORY_SOA) || !defined(MEMORY_ONE)
// A structure of arrays: the lanes of a warp read 32 neighbours of one field, 4 sectors a request. FIELDS streams run
// through memory in place of one.
extern "C" __global__ void memory_soa(const unsigned *__restrict__ x, unsigned *__restrict__ y, offset N)
{
    structures(x, y, N, false);
}
#endif

#if defined(MEMORY_AOS_SAME) || !defined(MEMORY_ONE)
// All lanes of a warp read the same structure: its fields lie side by side, in one sector if they are 8 at most, and
// FIELDS requests of 1 sector each hit it. Here the array of structures is the better layout.
extern "C" __global__ void memory_aos_same(const unsigned *__restrict__ x, unsigned *__restrict__ y, offset N)
{
    same_structure(x, y, N, true);
}
#endif

#if defined(MEMORY_SOA_SAME) || !defined(MEMORY_ONE)
// The same of a structure of arrays: still 1 sector a request, but FIELDS different ones a structure, of which the next
// 7 warps use what this one does not.
extern "C" __global__ void memory_soa_same(const unsigned *__restrict__ x, unsigned *__restrict__ y, offset N)
{
    same_structure(x, y, N, false);
}
#endif

// ---- spaces: LOOKUPS in a table of TABLE words for each element; the table counts upwards from 0 ----

#if defined(MEMORY_GLOBAL) || defined(MEMORY_READ_ONLY) || defined(MEMORY_CONSTANT) || defined(MEMORY_SHARED) ||       \
    defined(MEMORY_LOCAL) || !defined(MEMORY_ONE)
// What look(k) gives for k is k. The sum over all lookups of how much it gives otherwise goes into the answer.
template <class Look> __device__ __forceinline__ void looked_up(const unsigned *x, unsigned *y, offset N, Look look)
{
    for_each(y, N, [&](offset i) {
        unsigned sum = x[i] + 1;
#pragma unroll
        for (unsigned l = 0; l < LOOKUPS; ++l) {
            unsigned k = (unsigned)(i / 32) + l; // one place for the whole warp
            if (SPREAD == 1)
                k = (unsigned)i + l; // neighbours
            if (SPREAD == 2)
                k = ((unsigned)i * LOOKUPS + l) * 0x9e3779b9u >> 16; // any
            sum += look(k % TABLE) - k % TABLE;
        }
        return sum;
    });
}
#endif

#if defined(MEMORY_GLOBAL) || !defined(MEMORY_ONE)
// Global memory that somebody might write, for all that the compiler knows: x, y and the table may overlap. Through the
// L1, a request a lookup, one wavefront for each of its lines that the lanes touch.
extern "C" __global__ void memory_global(const unsigned *x, unsigned *y, const unsigned *table, offset N)
{
    looked_up(x, y, N, [&](unsigned k) { return table[k]; });
}
#endif

#if defined(MEMORY_READ_ONLY) || !defined(MEMORY_ONE)
// Global memory that nobody writes while the kernel runs (const __restrict__, ld.global.nc): once a cache of its own,
// the texture path; today the same L1, and the compiler is free to move the loads.
extern "C" __global__ void memory_read_only(const unsigned *__restrict__ x, unsigned *__restrict__ y,
                                            const unsigned *__restrict__ table, offset N)
{
    looked_up(x, y, N, [&](unsigned k) { return __ldg(table + k); });
}
#endif

#if defined(MEMORY_CONSTANT) || !defined(MEMORY_ONE)
// Constant memory: its cache serves one address a cycle. A warp that wants one place is served as from a register; one
// that wants 32 places is served 32 times.
__constant__ unsigned memory_table[TABLE];

extern "C" __global__ void memory_constant(const unsigned *__restrict__ x, unsigned *__restrict__ y, offset N)
{
    looked_up(x, y, N, [&](unsigned k) { return memory_table[k]; });
}
#endif

#if defined(MEMORY_SHARED) || !defined(MEMORY_ONE)
// Shared memory: 32 banks, so one place and neighbours take one wavefront, and any places at most as many as a bank has
// words of the table: two. Each block first copies the table and waits at a barrier.
extern "C" __global__ void memory_shared(const unsigned *__restrict__ x, unsigned *__restrict__ y,
                                         const unsigned *__restrict__ table, offset N)
{
    __shared__ unsigned mine[TABLE];
    for (unsigned k = threadIdx.x; k < TABLE; k += BLOCK)
        mine[k] = table[k];
    __syncthreads();
    looked_up(x, y, N, [&](unsigned k) { return mine[k]; });
}
#endif

#if defined(MEMORY_LOCAL) || !defined(MEMORY_ONE)
// An array of each thread's own. Registers have no indexes, so what is indexed by a variable lies in local memory:
// global memory in disguise, where word k of all lanes lies side by side. A warp that wants one k gets 4 sectors, one
// that wants 32 different k 32; and every thread must first write its copy.
extern "C" __global__ void memory_local(const unsigned *__restrict__ x, unsigned *__restrict__ y,
                                        const unsigned *__restrict__ table, offset N)
{
    unsigned mine[TABLE];
    for (unsigned k = 0; k < TABLE; ++k)
        mine[k] = table[k];
    looked_up(x, y, N, [&](unsigned k) { return mine[k]; });
}
#endif
