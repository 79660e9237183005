// memory.cu - y = x + 1 for N elements of 32 bits, by many good and bad ways to access memory.
//
// One addition per element costs almost nothing, so the accesses determine the time. The kernels differ in four
// properties of the accesses: the bytes in flight, the addresses that the lanes of a warp access (the patterns), the
// layout of the data (a matrix or structures), and the kind of memory. Overflow wraps around: 2^32 - 1 becomes 0.
//
// Some kernels compute y[i] from another element than x[i]. Their results can be checked, because x counts upwards:
// x[k] = x[0] + k. A thread that needs element i and has read element k computes x[k] - k + i. This result is wrong if
// the thread has not really read element k. The result does not tell which k a thread chose. The command `kiln study
// access` shows it. If x does not count upwards, these kernels do not compute x + 1: offset, permuted, strided,
// broadcast, scattered, aos_same, soa_same. They serve studies of memory accesses.
//
// N may be any number up to 2^32 - 1, including 0. Offsets have 64 bits. The tuning parameters are macros. The engine
// defines these macros from the spec. The defaults below only let an editor or a compiler parse this file alone. A
// kernel is compiled if its own macro MEMORY_<NAME> is set, or if MEMORY_ONE is not set. A sweep compiles this file
// once per configuration.

#include "common.cuh"

#ifndef BLOCK
#define BLOCK 256 // number of threads of a block
#endif
#ifndef FLIGHT
// number of loads in flight per thread; one_word, row_a_thread, column_a_thread, aos and soa do not use it
#define FLIGHT 4
#endif
#ifndef WORD
#define WORD 4 // wide, streamed, resident: number of elements of a vector: 1, 2 or 4
#endif
#ifndef HINT
#define HINT 1 // streamed, resident: the accesses with the hint "used once": 1: stores, 2: loads, 3: both
#endif
#ifndef LOAD
#define LOAD ca // patterns and structures: tells whether loads are cached in the L1 (ca) or only in the L2 (cg)
#endif
#ifndef OFFSET
#define OFFSET 1 // memory_offset: distance in elements between the read and the written element
#endif
#ifndef STRIDE
#define STRIDE 32 // memory_strided: distance in elements between the reads of neighbouring lanes
#endif
#ifndef WIDTH
#define WIDTH 1024 // row_a_thread, column_a_thread: number of columns of the matrix
#endif
#ifndef FIELDS
#define FIELDS 4 // aos, soa, aos_same, soa_same: number of elements of a structure
#endif
#ifndef SPREAD
#define SPREAD 1 // lookups: the lanes of a warp look up 0: one place, 1: neighbouring places, 2: scattered places
#endif

constexpr unsigned TABLE = 64;   // lookups: entries of the table
constexpr unsigned LOOKUPS = 16; // lookups: number of lookups for each element

// The policies of loads. The macro LOAD names one of them.
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

// Computes the successor of element `wanted` from x[read], if x counts upwards. This is a macro, because a function
// would be compiled to other instructions.
#define NEXT(x, read, wanted) (LOAD::load((x) + (read)) - (unsigned)(read) + (unsigned)(wanted) + 1)

#if defined(MEMORY_ONE_WORD) || !defined(MEMORY_ONE)
// Each thread increments one element. The request of a warp has four sectors, and all bytes of these sectors are used.
// But the 64 warps of a multiprocessor have only 8 KiB in flight. By Little's law a device needs more bytes in flight
// to stay busy during the latency of a read.
extern "C" __global__ void memory_one_word(const unsigned *__restrict__ x, unsigned *__restrict__ y, offset N)
{
    offset i = grid_thread<BLOCK>();
    if (i < N)
        y[i] = x[i] + 1;
}
#endif

#if defined(MEMORY_IN_FLIGHT) || !defined(MEMORY_ONE)
// A thread processes FLIGHT elements. Two successive elements of a thread are a block apart (striped), so each request
// stays coalesced. All loads are in flight before the first result is used.
//
// Compared with one_word, the requests and sectors are the same. But FLIGHT times as many bytes are in flight at the
// same occupancy, and FLIGHT times fewer blocks have to start.
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
// A word is here a vector of WORD elements.
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

// Increments FLIGHT words of each thread. The first word of this thread is number `first`. Two successive words of a
// thread are a block apart. There are `words` words in the whole array.
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

// Returns the number of whole words. It is 0 if x or y is not aligned to the size of a word.
__device__ __forceinline__ offset whole_words(const unsigned *x, const unsigned *y, offset N)
{
    return is_aligned<sizeof(Word)>(x, y) ? N / WORD : 0;
}

// Increments the elements outside whole words one by one. These are the last few elements, or all elements if an
// address is not aligned. All threads of the grid take part.
__device__ __forceinline__ void increment_rest(const unsigned *x, unsigned *y, offset done, offset N)
{
    for (offset i = done + grid_thread<BLOCK>(); i < N; i += grid_threads<BLOCK>())
        y[i] = x[i] + 1;
}
#endif

#if defined(MEMORY_WIDE) || !defined(MEMORY_ONE)
// Each access reads or writes a word of 8 or 16 bytes.
//
// Compared with in_flight, the request of a warp has 8 or 16 sectors instead of 4. So a half or a quarter of the
// instructions and requests transfer the same bytes.
extern "C" __global__ void memory_wide(const unsigned *__restrict__ x, unsigned *__restrict__ y, offset N)
{
    offset words = whole_words(x, y, N);
    increment<0>(x, y, tile_begin(BLOCK * FLIGHT) + threadIdx.x, words);
    increment_rest(x, y, words * WORD, N);
}
#endif

#if defined(MEMORY_STREAMED) || !defined(MEMORY_ONE)
// Accesses have the hint that the data is used only once (ld.cs, st.cs). The L2 evicts such lines first, and writes go
// to memory in longer runs. No counter of requests or sectors changes.
extern "C" __global__ void memory_streamed(const unsigned *__restrict__ x, unsigned *__restrict__ y, offset N)
{
    offset words = whole_words(x, y, N);
    increment<HINT>(x, y, tile_begin(BLOCK * FLIGHT) + threadIdx.x, words);
    increment_rest(x, y, words * WORD, N);
}
#endif

#if defined(MEMORY_RESIDENT) || !defined(MEMORY_ONE)
// A grid-stride loop. If registers allow it, the grid has no more blocks than the device runs at a time.
//
// Compared with streamed, no blocks start or end during the launch, and indexes are computed once. But a thread waits
// for its loads before it begins the next ones, while a new block would already load.
extern "C" __global__ void memory_resident(const unsigned *__restrict__ x, unsigned *__restrict__ y, offset N)
{
    offset words = whole_words(x, y, N);
    for (offset piece = tile_begin(BLOCK * FLIGHT); piece < words; piece += grid_threads<BLOCK * FLIGHT>())
        increment<HINT>(x, y, piece + threadIdx.x, words);
    increment_rest(x, y, words * WORD, N);
}
#endif

// The common loop of the kernels below. The loop sets y[i] = make(i) for the first `count` i, with FLIGHT elements per
// thread as in in_flight. A thread computes all its results before it writes the first of them. So the kernels have the
// same bytes in flight, and differences in speed have other causes.
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

// ---- patterns: the addresses that the lanes of a warp read; all kernels write neighbouring elements ----

#if defined(MEMORY_ALIGNED) || !defined(MEMORY_ONE)
// Lane k reads element k of a cache line. A request has 4 sectors, and all 128 bytes are used.
extern "C" __global__ void memory_aligned(const unsigned *__restrict__ x, unsigned *__restrict__ y, offset N)
{
    for_each(y, N, [&](offset i) { return NEXT(x, i, i); });
}
#endif

#if defined(MEMORY_OFFSET) || !defined(MEMORY_ONE)
// Each thread reads the element that lies OFFSET elements after its own element. The last OFFSET elements are
// exceptions: their threads read the elements themselves. Unless OFFSET is a multiple of 8, a warp's 128 bytes lie in 5
// sectors, and 80 % of the bytes of a request are used. A neighbouring warp needs the rest of the fifth sector and
// finds it in a cache, so memory itself transfers no more bytes than before.
extern "C" __global__ void memory_offset(const unsigned *__restrict__ x, unsigned *__restrict__ y, offset N)
{
    for_each(y, N, [&](offset i) {
        offset k = i + OFFSET < N ? i + OFFSET : i;
        return NEXT(x, k, i);
    });
}
#endif

#if defined(MEMORY_PERMUTED) || !defined(MEMORY_ONE)
// The lanes of a warp read the 32 elements of the warp in reverse order. The order of the lanes within a sector does
// not matter, so a request has 4 sectors, as in memory_aligned. (The first CUDA devices made one transaction per such
// lane.)
extern "C" __global__ void memory_permuted(const unsigned *__restrict__ x, unsigned *__restrict__ y, offset N)
{
    for_each(y, N, [&](offset i) {
        offset k = (i ^ 31) < N ? i ^ 31 : i;
        return NEXT(x, k, i);
    });
}
#endif

#if defined(MEMORY_STRIDED) || !defined(MEMORY_ONE)
// Neighbouring lanes read elements that are STRIDE elements apart. Row blockIdx.y of the grid reads the elements that
// begin at blockIdx.y, so each element is read once. A request has min(4 STRIDE, 32) sectors, and 32 elements of these
// sectors are used. From a stride of 8 on, this is 12.5 % of the bytes. Blocks that run much later read the other
// elements of a sector.
extern "C" __global__ void memory_strided(const unsigned *__restrict__ x, unsigned *__restrict__ y, offset N)
{
    offset column = blockIdx.y, longer = N % STRIDE; // the number of columns that have one more element
    offset rows = N / STRIDE + (column < longer), first = column * (N / STRIDE) + (column < longer ? column : longer);
    for_each(y + first, rows, [&](offset row) { return NEXT(x, row * STRIDE + column, first + row); });
}
#endif

#if defined(MEMORY_BROADCAST) || !defined(MEMORY_ONE)
// All lanes of a warp read the same element. A request has 1 sector, and 4 bytes of it serve 32 lanes. Only 1 / 32 of x
// is read.
extern "C" __global__ void memory_broadcast(const unsigned *__restrict__ x, unsigned *__restrict__ y, offset N)
{
    for_each(y, N, [&](offset i) { return NEXT(x, i / 32, i); });
}
#endif

#if defined(MEMORY_SCATTERED) || !defined(MEMORY_ONE)
// Returns 32 bits that all depend on every bit of i (the finaliser of MurmurHash3, which is in the public domain).
__device__ __forceinline__ unsigned mixed(unsigned i)
{
    i = (i ^ i >> 16) * 0x85ebca6bu;
    i = (i ^ i >> 13) * 0xc2b2ae35u;
    return i ^ i >> 16;
}

// Each lane reads a scattered element. A request has about 32 sectors, and one element of each sector is used. If x is
// much larger than the L2, the L2 has almost none of these sectors. A table lookup is never slower than this pattern.
extern "C" __global__ void memory_scattered(const unsigned *__restrict__ x, unsigned *__restrict__ y, offset N)
{
    for_each(y, N, [&](offset i) {
        offset k = mixed((unsigned)i) * N >> 32; // k is below N
        return NEXT(x, k, i);
    });
}
#endif

// ---- a matrix: rows of WIDTH elements; the last row may be shorter ----

#if defined(MEMORY_ROW_A_THREAD) || !defined(MEMORY_ONE)
// Each thread processes one row, as CPU cores would divide the work. Neighbouring threads access elements at a distance
// of WIDTH, so each request has 32 sectors for reading and for writing. The thread needs the rest of each sector in its
// next steps, and finds it if the L1 still has the sector.
extern "C" __global__ void memory_row_a_thread(const unsigned *__restrict__ x, unsigned *__restrict__ y, offset N)
{
    offset begin = grid_thread<BLOCK>() * WIDTH, end = begin + WIDTH < N ? begin + WIDTH : N;
    for (offset i = begin; i < end; ++i)
        y[i] = x[i] + 1;
}
#endif

#if defined(MEMORY_COLUMN_A_THREAD) || !defined(MEMORY_ONE)
// Each thread processes one column of 64 rows. Neighbouring threads access neighbouring elements, so a request has 4
// sectors. The work is the same as in row_a_thread. On a CPU, the order of row_a_thread would be better. Blocks are
// numbered along the columns of 64 rows first, in one dimension, because a grid is at most 65,535 high.
extern "C" __global__ void memory_column_a_thread(const unsigned *__restrict__ x, unsigned *__restrict__ y, offset N)
{
    constexpr unsigned ACROSS = ceil_div(WIDTH, BLOCK); // number of blocks that cover 64 rows
    unsigned rows = blockIdx.x / ACROSS, column = blockIdx.x % ACROSS * BLOCK + threadIdx.x;
    if (column >= WIDTH)
        return;
    offset begin = rows * 64ull * WIDTH + column, end = begin + 64 * WIDTH < N ? begin + 64 * WIDTH : N;
    for (offset i = begin; i < end; i += WIDTH)
        y[i] = x[i] + 1;
}
#endif

// ---- structures of FIELDS elements; single threads process the elements after the last whole structure ----

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

// All lanes of a warp read one structure, whose number is the warp's number. Each lane writes one element of y. The
// kernel writes as many elements of y as before. But for every 32 elements of y it reads only FIELDS elements of x.
__device__ __forceinline__ void same_structure(const unsigned *x, unsigned *y, offset N, bool array_of_structures)
{
    offset records = N / FIELDS;
    for_each(y, N, [&](offset i) {
        offset record = i / 32;
        if (record >= records)
            return LOAD::load(x + i) + 1;
        // `first` is the value of x[0] that field 0 implies. `others` adds the differences between the other fields'
        // values of x[0] and `first`.
        unsigned first = 0, others = 0;
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
// Accesses an array of structures. Each thread has one structure. With one request the lanes of a warp read one field
// of 32 structures, at distances of FIELDS elements. The lanes write in the same way. A request has min(4 FIELDS, 32)
// sectors. The next FIELDS - 1 requests use the rest of each sector, so the L1 serves the repeated reads, and the L2
// has to combine the writes.
extern "C" __global__ void memory_aos(const unsigned *__restrict__ x, unsigned *__restrict__ y, offset N)
{
    structures(x, y, N, true);
}
#endif

#if defined(MEMORY_SOA) || !defined(MEMORY_ONE)
// Accesses a structure of arrays. The lanes of a warp read 32 neighbouring elements of one field, with 4 sectors per
// request. Memory serves FIELDS streams of addresses instead of one.
extern "C" __global__ void memory_soa(const unsigned *__restrict__ x, unsigned *__restrict__ y, offset N)
{
    structures(x, y, N, false);
}
#endif

#if defined(MEMORY_AOS_SAME) || !defined(MEMORY_ONE)
// All lanes of a warp read the same structure. The fields of the structure are neighbours. They lie in one sector if
// there are at most 8 of them. The FIELDS requests have 1 sector each, and all read this sector. Here the array of
// structures is the better layout.
extern "C" __global__ void memory_aos_same(const unsigned *__restrict__ x, unsigned *__restrict__ y, offset N)
{
    same_structure(x, y, N, true);
}
#endif

#if defined(MEMORY_SOA_SAME) || !defined(MEMORY_ONE)
// Does the same as memory_aos_same, for a structure of arrays. A request still needs 1 sector, but a structure needs
// FIELDS different sectors. The next 7 warps use the rest of each sector.
extern "C" __global__ void memory_soa_same(const unsigned *__restrict__ x, unsigned *__restrict__ y, offset N)
{
    same_structure(x, y, N, false);
}
#endif

// ---- lookups: LOOKUPS lookups per element in a table of TABLE entries; entry k has the value k ----

#if defined(MEMORY_GLOBAL) || defined(MEMORY_READ_ONLY) || defined(MEMORY_CONSTANT) || defined(MEMORY_SHARED) ||       \
    defined(MEMORY_LOCAL) || !defined(MEMORY_ONE)
// The right result of look(k) is k. The differences of all lookups are added to the result, so a wrong lookup makes the
// result wrong.
template <class Look> __device__ __forceinline__ void looked_up(const unsigned *x, unsigned *y, offset N, Look look)
{
    for_each(y, N, [&](offset i) {
        unsigned sum = x[i] + 1;
#pragma unroll
        for (unsigned l = 0; l < LOOKUPS; ++l) {
            unsigned k = (unsigned)(i / 32) + l; // one place for all lanes of a warp
            if (SPREAD == 1)
                k = (unsigned)i + l; // neighbouring places
            if (SPREAD == 2)
                k = ((unsigned)i * LOOKUPS + l) * 0x9e3779b9u >> 16; // scattered places
            sum += look(k % TABLE) - k % TABLE;
        }
        return sum;
    });
}
#endif

#if defined(MEMORY_GLOBAL) || !defined(MEMORY_ONE)
// The table is in global memory. The compiler must assume that the kernel writes the table, because x, y and the table
// may overlap. Each lookup is a request through the L1, with one wavefront for each cache line that the lanes touch.
extern "C" __global__ void memory_global(const unsigned *x, unsigned *y, const unsigned *table, offset N)
{
    looked_up(x, y, N, [&](unsigned k) { return table[k]; });
}
#endif

#if defined(MEMORY_READ_ONLY) || !defined(MEMORY_ONE)
// Reads global memory that nothing writes while the kernel runs (const __restrict__, ld.global.nc). On early GPUs, such
// reads had a separate cache, the texture path. Today they use the same L1 as other reads, and the compiler is free to
// move the loads.
extern "C" __global__ void memory_read_only(const unsigned *__restrict__ x, unsigned *__restrict__ y,
                                            const unsigned *__restrict__ table, offset N)
{
    looked_up(x, y, N, [&](unsigned k) { return __ldg(table + k); });
}
#endif

#if defined(MEMORY_CONSTANT) || !defined(MEMORY_ONE)
// The table is in constant memory, whose cache serves one address per cycle. If all lanes of a warp need the same
// address, the access is as fast as a register. If the lanes need 32 addresses, the cache serves 32 requests.
__constant__ unsigned memory_table[TABLE];

extern "C" __global__ void memory_constant(const unsigned *__restrict__ x, unsigned *__restrict__ y, offset N)
{
    looked_up(x, y, N, [&](unsigned k) { return memory_table[k]; });
}
#endif

#if defined(MEMORY_SHARED) || !defined(MEMORY_ONE)
// The table is in shared memory, which has 32 banks. An access to one place or to neighbouring places takes one
// wavefront. An access to scattered places takes at most two, because each bank has two entries of the table. Each
// block first copies the table and waits at a barrier.
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
// Each thread has its own copy of the table in an array. Registers have no indexes, so an array that is indexed by a
// variable is in local memory. Local memory is global memory in which word k of all lanes is contiguous. If all lanes
// of a warp need the same k, a request reads 4 sectors. If they need 32 different k, it reads 32 sectors. Every thread
// must first write its copy of the table.
extern "C" __global__ void memory_local(const unsigned *__restrict__ x, unsigned *__restrict__ y,
                                        const unsigned *__restrict__ table, offset N)
{
    unsigned mine[TABLE];
    for (unsigned k = 0; k < TABLE; ++k)
        mine[k] = table[k];
    looked_up(x, y, N, [&](unsigned k) { return mine[k]; });
}
#endif
