// gemm_tcgen05.cuh - the common part of gemm_tcgen05.cu and gemm_scaled.cu. It has the roles of warps, the parts of
// shared memory, and the warps that write accumulators from tensor memory to C. gemm_tcgen05.cu describes the roles and
// the barriers.

#ifndef GEMM_TCGEN05_CUH
#define GEMM_TCGEN05_CUH

#include "gemm.cuh"
#include "tcgen05.cuh"

#ifndef SETS
// number of sets of accumulators in tensor memory; with 2 sets, a tile is written while the next tile is multiplied
#define SETS 2
#endif

struct role {
    enum : unsigned { producer = 0, issuer = 1, writer = 2, writers = 4, warps = writer + writers };
};

// The place of a tile's accumulators in tensor memory. A matrix instruction has 128 rows. A tile of 256 rows needs two
// instructions that share a tile of B. Their accumulators are beside each other.
struct sums_place {
    enum : unsigned { rows = 128, down = TILE_M / rows, columns = down * TILE_N };
};

// The parts of dynamic shared memory are a ring of stages, space for results, barriers, and the address of the tensor
// memory. The ring begins at a multiple of 1024, because swizzles permute address bits.
template <class Stage> struct room_of {
    enum : unsigned { part = 32 * 128, results = STAGED ? role::writers * 2 * part : 0 }; // numbers of bytes
    unsigned char *stages;

    __device__ __forceinline__ room_of(unsigned char *shared)
        : stages(shared + (1024 - shared_address(shared) % 1024) % 1024)
    {
    }
    __device__ __forceinline__ unsigned char *at(unsigned step) const
    {
        return stages + step % STAGES * Stage::bytes;
    }
    // Returns the two buffers of a writer's warp.
    __device__ __forceinline__ unsigned char *result_parts(unsigned writer) const
    {
        return stages + STAGES * Stage::bytes + 2 * writer * part;
    }
    __device__ __forceinline__ barrier *full(unsigned step) const
    {
        return (barrier *)(stages + STAGES * Stage::bytes + results) + step % STAGES;
    }
    __device__ __forceinline__ barrier *empty(unsigned step) const
    {
        return full(step) + STAGES;
    }
    __device__ __forceinline__ barrier *done(unsigned tile) const
    {
        return full(0) + 2 * STAGES + tile % SETS;
    }
    __device__ __forceinline__ barrier *taken(unsigned tile) const
    {
        return done(tile) + SETS;
    }
    __device__ __forceinline__ unsigned *tensor_address() const
    {
        return (unsigned *)(full(0) + 2 * STAGES + 2 * SETS);
    }
    // These functions return the parity of the phase in which a step uses its stage, or in which a tile uses its set of
    // accumulators.
    static __device__ __forceinline__ unsigned parity(unsigned step)
    {
        return step / STAGES & 1;
    }
    static __device__ __forceinline__ unsigned parity_of_set(unsigned tile)
    {
        return tile / SETS & 1;
    }
    // One thread initialises the barriers. `readers` commits arrive on each `empty` barrier, and `writers` warps arrive
    // on each `taken` barrier.
    __device__ __forceinline__ void make(unsigned readers, unsigned writers) const
    {
        for (unsigned i = 0; i < STAGES; ++i) {
            barrier_init(full(i), 1);
            barrier_init(empty(i), readers);
        }
        for (unsigned i = 0; i < SETS; ++i) {
            barrier_init(done(i), 1);
            barrier_init(taken(i), writers);
        }
        barriers_made();
    }
};

// ---- the writers ----

// Packs results into 16 bytes.
__device__ __forceinline__ uint4 pack_line(const float *sums)
{
    if (sizeof(result) == 4)
        return {__float_as_uint(sums[0]), __float_as_uint(sums[1]), __float_as_uint(sums[2]), __float_as_uint(sums[3])};
    typedef choose<RESULT, f16, f16, bf16> half_result;
    return {pack_pair(half_result(), sums[0], sums[1]), pack_pair(half_result(), sums[2], sums[3]),
            pack_pair(half_result(), sums[4], sums[5]), pack_pair(half_result(), sums[6], sums[7])};
}

// The state of a warp that writes tiles. The warp can access 32 lanes of tensor memory, so it has 32 rows of each
// instruction's results. A thread has one row, and reads 32 columns of it at a time. So no value has to move to another
// thread. But the values of neighbouring threads are a row of C apart. Therefore with STAGED, the warp writes 32 rows
// of 128 bytes to shared memory, and a tensor map copies complete lines to C. The pieces of a row are permuted, so that
// the threads use different banks.
struct tile_writer {
    enum : unsigned {
        line = 16 / sizeof(result),                             // number of elements in 16 bytes
        // number of columns that go through shared memory together
        columns = STAGED ? 128 / (unsigned)sizeof(result) : 32,
        parts = TILE_N / columns,
        part = 32 * 128 // bytes of a part
    };
    unsigned char *buffers; // two buffers, which are used by turns
    const tensor_map &map_c;
    result *C;
    unsigned M, N;
    unsigned quarter;  // the quarter of the lanes of tensor memory that this warp can access
    unsigned turn = 0; // number of parts that have gone through shared memory

    __device__ __forceinline__ tile_writer(unsigned char *buffers_, const tensor_map &map_c_, result *C_,
                                           unsigned M_, unsigned N_)
        : buffers(buffers_), map_c(map_c_), C(C_), M(M_), N(N_), quarter(warp_id() % 4)
    {
    }

    // Writes the tile at (row, column). Its accumulators begin at `tensor`. Calls `release` when all these accumulators
    // have been read.
    template <class Finish, class Release>
    __device__ __forceinline__ void write(unsigned tensor, unsigned row, unsigned column, unsigned down, Finish finish,
                                          Release release)
    {
        const unsigned lane = lane_id();
        tensor += 32 * quarter << 16;
        row += 32 * quarter;
#pragma unroll 1
        for (unsigned n = 0; n < down * parts; ++n) {
            const unsigned first_row = row + n / parts * sums_place::rows, first = column + n % parts * columns;
            unsigned char *buffer = buffers + turn % 2 * part;
            if (STAGED) {
                if (lane == 0)
                    tensor_store_wait<1>(); // the copy that used this buffer has read it
                __syncwarp();
            }
#pragma unroll
            for (unsigned c = 0; c < columns; c += 32) {
                float sums[32];
                tensor_load(sums, tensor + n / parts * TILE_N + n % parts * columns + c);
                tensor_load_wait(sums);
                if (n + 1 == down * parts && c + 32 == columns)
                    release();
                finish(sums, first_row + lane, first + c);
                if (STAGED)
                    put(buffer, lane * 128 + c * (unsigned)sizeof(result), sums);
                else
                    store_row(first_row + lane, first + c, sums);
            }
            if (STAGED) {
                fence_async();
                __syncwarp();
                if (lane == 0) {
                    tensor_store(map_c, (int)first, (int)first_row, buffer);
                    tensor_store_commit();
                }
                ++turn;
            }
        }
    }

    // Waits until the copies have read shared memory. This must happen before the block ends.
    __device__ __forceinline__ void end() const
    {
        if (STAGED && lane_id() == 0)
            tensor_store_wait<0>();
    }

  private:
    static __device__ __forceinline__ void put(unsigned char *buffer, unsigned place, const float (&sums)[32])
    {
#pragma unroll
        for (unsigned j = 0; j < 32; j += line)
            *(uint4 *)(buffer + swizzled<128>(place + j * (unsigned)sizeof(result))) = pack_line(sums + j);
    }

    // Each thread writes its part of a row, in pieces of 16 bytes.
    __device__ __forceinline__ void store_row(unsigned row, unsigned column, const float (&sums)[32]) const
    {
#pragma unroll
        for (unsigned j = 0; j < 32; j += line)
            if (row < M && column + j < N)
                *(uint4 *)(C + (offset)row * N + column + j) = pack_line(sums + j);
    }
};

#endif
