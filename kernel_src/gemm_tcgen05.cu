// gemm_tcgen05.cu - the product of gemm.cu on tensor cores of compute capability 10.0. The accumulators are in tensor
// memory.
//
// No kernel of this file was ever run on hardware, because no such device was available. All of them were tested only
// on the simulated device. Their params are not tuned, because their times were never measured.
//
// Read gemm_wgmma_specialised in gemm.cu first. These kernels have the same ring of tiles and the same order of tiles.
// But the roles of the warps are different. The accumulators are not in registers, so one thread can issue all matrix
// instructions, and no warp group is needed for them. A block has six warps with three roles:
//
// - Warp 0 is the producer. One of its threads begins the copies of tiles to the ring.
// - Warp 1 is the issuer. One of its threads issues all matrix instructions of the block. The warp also allocates
//   tensor memory.
// - Warps 2 to 5 are the writers. They read the accumulators from tensor memory, apply the epilogue, and write C.
//
// Four kinds of barriers connect the roles:
//
// - On full[stage] the producer tells the issuer that the bytes of the tiles have arrived.
// - On empty[stage] the issuer tells the producer that the instructions that read the stage are complete.
// - On done[set] the issuer tells the writers that the instructions of a tile of C are complete.
// - On taken[set] the writers tell the issuer that they have read the accumulators. The next tile may overwrite them.
//
// M, N and K need not be multiples of a tile. Tensor maps read zeros outside A and B, and do not write outside C. The
// length of a row of A, B and C is a multiple of 16 bytes, and M, N and K are not 0. The specs state this as a
// constraint.
//
// An element of C is accumulated in order of k, in blocks of 32 bytes along K, as in gemm.cu. Each kernel gives the
// same bits in every run. On other devices the kernels are empty, so that the whole file compiles for any device.

#include "gemm_tcgen05.cuh"

#ifndef PAIRS
// tcgen05_pair: number of pairs of blocks in a cluster; the tiles of these pairs are beside each other in C
#define PAIRS 1
#endif

#if FUSED
// Applies the epilogue to 32 columns of a row of C.
template <bool paired>
__device__ __forceinline__ void finish_row(const epilogue &after, float (&sums)[32], unsigned row, unsigned column)
{
    const result *residual = after.row_of_residual(row);
#pragma unroll
    for (unsigned j = 0; j < 32; j += 2)
        epilogue::apply(sums[j], sums[j + 1], after.bias_of<paired>(column + j),
                        after.residual_of<paired>(residual, column + j));
}
#define EPILOGUE_ARGUMENTS , bias, residual
#define FINISH                                                                                                         \
    [&](float(&sums)[32], unsigned row, unsigned column) {                                                             \
        const epilogue after(bias, residual, M, N);                                                                    \
        if (after.pairs)                                                                                               \
            finish_row<true>(after, sums, row, column);                                                                \
        else                                                                                                           \
            finish_row<false>(after, sums, row, column);                                                               \
    }
#else
#define EPILOGUE_ARGUMENTS
#define FINISH [](float(&)[32], unsigned, unsigned) {}
#endif

// ---- each tile is made by one block ----

#if defined(GEMM_TCGEN05) || defined(GEMM_TCGEN05_DYNAMIC) || !defined(GEMM_ONE)
typedef room_of<stage> room;

// Issues the matrix instructions of the next `steps` steps of the ring. These add to the accumulators at `tensor`.
// `count` is the number of steps before these steps. A step has TILE_K / STEP instructions for each 128 rows, and each
// instruction has 32 bytes along K. After each step a commit frees the stage of the step when its instructions are
// complete. The issuer does not wait for this. Instructions that add to the same accumulators run in order, and the
// next step can be issued while they run.
__device__ __forceinline__ void issue_tile(const room &room, unsigned tensor, unsigned steps, unsigned &count)
{
    constexpr unsigned shape = tcgen05_shape<element>(sums_place::rows, TILE_N, !COLUMNS);
    for (unsigned step = 0; step < steps; ++step, ++count) {
        barrier_wait(room.full(count), room::parity(count));
        tcgen05_fence_after();
        const unsigned at = shared_address(room.at(count));
        const offset a = tcgen05_descriptor<128>(at, 16, 1024);
        const offset b = tcgen05_descriptor<128>(at + stage::a_bytes, COLUMNS ? 16 : stage::b_box, 1024);
#pragma unroll
        for (unsigned k = 0; k < TILE_K / STEP; ++k) {
            const unsigned box = k / stage::box_steps, in_box = k % stage::box_steps * 32;
            const offset b_k = descriptor_after(b, COLUMNS ? box * stage::b_box + in_box : k * STEP * 128);
#pragma unroll
            for (unsigned i = 0; i < sums_place::down; ++i)
                tcgen05_multiply(element(), tensor + i * TILE_N,
                                 descriptor_after(a, box * stage::a_box + i * sums_place::rows * 128 + in_box), b_k, shape,
                                 step > 0 || k > 0);
        }
        tcgen05_commit(room.empty(count));
    }
}

// Makes all tiles of this block, in the three roles. `order` tells which tiles these are. Each role has its own copy of
// it.
template <class Order>
__device__ __forceinline__ void multiply_tiles(const room &room, const tensor_map &map_a, const tensor_map &map_b,
                                               const tensor_map &map_c, result *C, unsigned M, unsigned N, unsigned K,
                                               unsigned walk, Order order EPILOGUE_PARAMS)
{
    constexpr unsigned allocated = tensor_columns(SETS * sums_place::columns);
    const unsigned warp = warp_id(), steps = ceil_div(K, TILE_K);
    const unsigned tiles_m = ceil_div(M, TILE_M), tiles_n = ceil_div(N, TILE_N);
    if (warp == role::issuer)
        tensor_allocate<allocated>(room.tensor_address());
    if (threadIdx.x == 0) {
        order.make();
        room.make(1, role::writers);
    }
    tcgen05_fence_before();
    __syncthreads();
    tcgen05_fence_after();
    const unsigned tensor = *room.tensor_address();
    unsigned count = 0, made = 0; // number of steps of this block so far; number of its tiles so far
    if (warp == role::producer) {
        if (is_elected()) {
            tensor_prefetch(map_a);
            tensor_prefetch(map_b);
            for (; order.more(); order.next()) {
                order.ask();
                const tile_place at = find_tile(order.tile, tiles_m, tiles_n, walk);
#if FUSED & 4
                ask_for_residual(residual, at.row * TILE_M, at.column * TILE_N, M, N);
#endif
                for (unsigned step = 0; step < steps; ++step, ++count) {
                    barrier_wait(room.empty(count), room::parity(count) ^ 1);
                    stage::load(room.at(count), map_a, map_b, at.row * TILE_M, at.column * TILE_N, step * TILE_K,
                                room.full(count));
                }
            }
        }
    } else if (warp == role::issuer) {
        if (is_elected())
            for (; order.more(); order.next(), ++made) {
                barrier_wait(room.taken(made), room::parity_of_set(made) ^ 1);
                tcgen05_fence_after();
                issue_tile(room, tensor + made % SETS * sums_place::columns, steps, count);
                tcgen05_commit(room.done(made));
            }
    } else {
        tile_writer writer(room.result_parts(warp % 4), map_c, C, M, N);
        for (; order.more(); order.next(), ++made) {
            const tile_place at = find_tile(order.tile, tiles_m, tiles_n, walk);
            barrier_wait(room.done(made), room::parity_of_set(made));
            tcgen05_fence_after();
            writer.write(tensor + made % SETS * sums_place::columns, at.row * TILE_M, at.column * TILE_N,
                         sums_place::down, FINISH, [&] {
                             tcgen05_fence_before();
                             __syncwarp();
                             if (lane_id() == 0)
                                 barrier_arrive(room.taken(made));
                         });
        }
        writer.end();
    }
    __syncwarp();
    tcgen05_fence_before();
    __syncthreads(); // all accumulators have been read
    if (warp == role::issuer) {
        tcgen05_fence_after();
        tensor_free<allocated>(tensor);
    }
}
#endif

#if defined(GEMM_TCGEN05) || !defined(GEMM_ONE)
// In this order, a block computes the tiles blockIdx.x, blockIdx.x + gridDim.x, and so on.
struct fixed_order {
    unsigned tile, tiles;
    __device__ __forceinline__ void make() const
    {
    }
    __device__ __forceinline__ void ask() const
    {
    }
    __device__ __forceinline__ bool more() const
    {
        return tile < tiles;
    }
    __device__ __forceinline__ void next()
    {
        tile += gridDim.x;
    }
};

// If the grid has as many blocks as there are tiles, each block computes one tile. If the grid has as many blocks as
// the device has multiprocessors, a block computes many tiles. Then the ring fills for the next tile while a tile is
// multiplied. With two sets of accumulators, the writers write one tile while the next tile is multiplied.
extern "C" __global__ void __launch_bounds__(32 * role::warps, 1)
    gemm_tcgen05(const __grid_constant__ tensor_map map_a, const __grid_constant__ tensor_map map_b,
                 const __grid_constant__ tensor_map map_c, result *C, unsigned M, unsigned N, unsigned K,
                 unsigned walk EPILOGUE_PARAMS)
{
#if HAS_TCGEN05
    extern __shared__ __align__(16) unsigned char shared[];
    multiply_tiles(room(shared), map_a, map_b, map_c, C, M, N, K, walk,
                   fixed_order{blockIdx.x, ceil_div(M, TILE_M) * ceil_div(N, TILE_N)} EPILOGUE_ARGUMENTS);
#endif
}
#endif

#if defined(GEMM_TCGEN05_DYNAMIC) || !defined(GEMM_ONE)
// The answers to requests for a tile. They are in shared memory. Request number r uses place r % 2. Barrier `full`
// counts the bytes of an answer. The producer, the issuer and each writers' warp arrive on `empty` when they have read
// the answer.
struct answers {
    uint4 answer[2];
    barrier full[2], empty[2];
};

// The launch has a block for each tile. But a block also takes over tiles of blocks that have not started: it cancels
// such a block, and computes its tile. The producer asks for the next tile when it begins a tile. Therefore the answer
// arrives while the tile is computed.
struct dynamic_order {
    answers &all;
    unsigned tile;
    bool exists = true;
    unsigned turn = 0; // number of requests so far

    __device__ __forceinline__ dynamic_order(answers &all_) : all(all_), tile(blockIdx.x)
    {
    }
    __device__ __forceinline__ void make() const
    {
        for (unsigned i = 0; i < 2; ++i) {
            barrier_init(all.full + i, 1);
            barrier_init(all.empty + i, 2 + role::writers);
        }
    }
    __device__ __forceinline__ bool more() const
    {
        return exists;
    }
    // The producer asks for the tile after this one. If an answer has no tile, the producer must not ask again.
    __device__ __forceinline__ void ask() const
    {
        const unsigned place = turn % 2;
        barrier_wait(all.empty + place, turn / 2 & 1 ^ 1);
        barrier_expect(all.full + place, sizeof(uint4));
        launch_cancel(all.answer + place, all.full + place);
    }
    // Waits for the answer to the last request. All lanes of a writer's warp call the function, and one lane arrives
    // for them.
    __device__ __forceinline__ void next()
    {
        const unsigned place = turn % 2;
        barrier_wait(all.full + place, turn / 2 & 1);
        exists = launch_cancelled(all.answer[place], tile);
        fence_async(); // the next answer is written by the async proxy
        if (warp_id() >= role::writer)
            __syncwarp();
        if (warp_id() < role::writer || lane_id() == 0)
            barrier_arrive(all.empty + place);
        ++turn;
    }
};

// Does the same as gemm_tcgen05, but a block takes its next tile when it becomes free (clusterlaunchcontrol). In
// gemm_tcgen05, all blocks take equal numbers of tiles. Here a multiprocessor that other work slows down takes fewer
// tiles. The number of blocks does not depend on the device, and a kernel of higher priority can start between two
// tiles. Each tile costs one request.
extern "C" __global__ void __launch_bounds__(32 * role::warps, 1)
    gemm_tcgen05_dynamic(const __grid_constant__ tensor_map map_a, const __grid_constant__ tensor_map map_b,
                         const __grid_constant__ tensor_map map_c, result *C, unsigned M, unsigned N, unsigned K,
                         unsigned walk EPILOGUE_PARAMS)
{
#if HAS_TCGEN05
    extern __shared__ __align__(16) unsigned char shared[];
    __shared__ answers all;
    multiply_tiles(room(shared), map_a, map_b, map_c, C, M, N, K, walk, dynamic_order(all) EPILOGUE_ARGUMENTS);
#endif
}
#endif

// ---- each tile is made by a pair of blocks ----

#if defined(GEMM_TCGEN05_PAIR) || !defined(GEMM_ONE)
// The part of a stage of the pair that belongs to one block. It has 128 rows of A and half of the tile's columns of B.
// The boxes are as in `stage`.
struct half_stage {
    enum : unsigned {
        box = 128 / SIZE, // number of elements in a row of a box
        columns = TILE_N / 2,
        a_rows = sums_place::rows / PAIRS, // number of rows of A that a block loads for all pairs of the cluster
        a_bytes = sums_place::rows * TILE_K * SIZE,
        b_bytes = columns * TILE_K * SIZE,
        bytes = a_bytes + b_bytes,
        a_box = 128 * sums_place::rows, // bytes of a box
        b_box = 128 * (COLUMNS ? columns : TILE_K),
        box_steps = 128 / 32
    };

    // Begins to copy the block's part of a stage. `row` and `column` are the first row of A and the first column of B
    // of this block. Block `half` of pair `pair` loads the pair-th part of its rows of A for all blocks that need these
    // rows.
    static __device__ __forceinline__ void load(unsigned char *to, const tensor_map &map_a, const tensor_map &map_b,
                                                unsigned row, unsigned column, unsigned k, unsigned full, unsigned pair,
                                                unsigned half)
    {
        const unsigned share = pair * a_rows;
#pragma unroll
        for (unsigned i = 0; i < TILE_K / box; ++i) {
            unsigned char *const a = to + i * a_box + share * 128;
            if (PAIRS == 1)
                tensor_load_pair(a, map_a, (int)(k + i * box), (int)row, full);
            else
                tensor_multicast_pair(a, map_a, (int)(k + i * box), (int)(row + share), full, 5u << half);
        }
#pragma unroll
        for (unsigned i = 0; i < b_bytes / b_box; ++i)
            tensor_load_pair(to + a_bytes + i * b_box, map_b, (int)(COLUMNS ? k + i * box : column + i * box),
                             (int)(COLUMNS ? column : k), full);
    }
};

// Two blocks of a cluster compute a tile of 256 rows. Compared with gemm_tcgen05, one instruction has 256 rows and
// TILE_N columns. But each block loads only 128 rows of A and half of the columns of B, because the instruction reads
// the shared memory of both blocks. Therefore a stage is smaller by a third if TILE_N is 256. So the ring has more
// stages, and the kernel reads less from the L2.
//
// The block of even rank leads the pair. Only the issuer of this block works, and only its barriers `full` and `taken`
// are used:
//
// - The barrier `full` counts the bytes of both blocks. The leader's producer expects all of these bytes.
// - The barrier `taken` counts the writers of both blocks.
// - The commit of a step arrives on `empty` in all blocks of the cluster, because each of them loads tiles.
// - The commit of a tile arrives on `done` in both blocks of the pair.
//
// With PAIRS = 2 a cluster has two pairs with the same rows of C and neighbouring columns. Then each block loads half
// of its rows of A for both pairs (multicast). A stage is free when the instructions of both pairs have read it.
extern "C" __global__ void __launch_bounds__(32 * role::warps, 1)
    gemm_tcgen05_pair(const __grid_constant__ tensor_map map_a, const __grid_constant__ tensor_map map_b,
                      const __grid_constant__ tensor_map map_c, result *C, unsigned M, unsigned N, unsigned K,
                      unsigned walk EPILOGUE_PARAMS)
{
#if HAS_TCGEN05
    extern __shared__ __align__(16) unsigned char shared[];
    constexpr unsigned allocated = tensor_columns(SETS * TILE_N), rows = 2 * sums_place::rows, blocks = 2 * PAIRS;
    const room_of<half_stage> room(shared);
    const unsigned warp = warp_id(), steps = ceil_div(K, TILE_K), clusters = gridDim.x / blocks;
    const unsigned pair = cluster_rank() / 2, half = cluster_rank() % 2, leader = 2 * pair;
    const unsigned tiles_m = ceil_div(M, rows), tiles_n = ceil_div(N, TILE_N * PAIRS), tiles = tiles_m * tiles_n;
    if (warp == role::issuer)
        tensor_allocate<allocated, 2>(room.tensor_address());
    if (threadIdx.x == 0)
        room.make(PAIRS, 2 * role::writers);
    tcgen05_fence_before();
    cluster_sync(); // all blocks have initialised their barriers
    tcgen05_fence_after();
    const unsigned tensor = *room.tensor_address();
    unsigned count = 0, made = 0; // number of steps of this cluster so far; number of its tiles so far
    if (warp == role::producer) {
        if (is_elected()) {
            tensor_prefetch(map_a);
            tensor_prefetch(map_b);
            for (unsigned tile = blockIdx.x / blocks; tile < tiles; tile += clusters) {
                const tile_place at = find_tile(tile, tiles_m, tiles_n, walk);
                const unsigned row = at.row * rows + half * sums_place::rows, column = (at.column * PAIRS + pair) * TILE_N;
#if FUSED & 4
                ask_for_residual(residual, row, column, M, N);
#endif
                for (unsigned step = 0; step < steps; ++step, ++count) {
                    barrier_wait(room.empty(count), room.parity(count) ^ 1);
                    if (half == 0)
                        barrier_expect(room.full(count), 2 * half_stage::bytes);
                    half_stage::load(room.at(count), map_a, map_b, row, column + half * half_stage::columns, step * TILE_K,
                                     barrier_of(room.full(count), leader), pair, half);
                }
            }
            // The commits of other blocks arrive here. The block must not end before the last of them.
            for (unsigned i = 0; i < STAGES; ++i, ++count)
                barrier_wait(room.empty(count), room.parity(count) ^ 1);
        }
    } else if (warp == role::issuer) {
        constexpr unsigned shape = tcgen05_shape<element>(rows, TILE_N, !COLUMNS);
        if (half == 0 && is_elected())
            for (unsigned tile = blockIdx.x / blocks; tile < tiles; tile += clusters, ++made) {
                barrier_wait(room.taken(made), room.parity_of_set(made) ^ 1);
                tcgen05_fence_after();
                for (unsigned step = 0; step < steps; ++step, ++count) {
                    barrier_wait(room.full(count), room.parity(count));
                    tcgen05_fence_after();
                    const unsigned at = shared_address(room.at(count));
                    const offset a = tcgen05_descriptor<128>(at, 16, 1024);
                    const offset b = tcgen05_descriptor<128>(at + half_stage::a_bytes, COLUMNS ? 16 : half_stage::b_box, 1024);
#pragma unroll
                    for (unsigned k = 0; k < TILE_K / STEP; ++k) {
                        const unsigned box = k / half_stage::box_steps, in_box = k % half_stage::box_steps * 32;
                        tcgen05_multiply<2>(
                            element(), tensor + made % SETS * TILE_N, descriptor_after(a, box * half_stage::a_box + in_box),
                            descriptor_after(b, COLUMNS ? box * half_stage::b_box + in_box : k * STEP * 128), shape,
                            step > 0 || k > 0);
                    }
                    tcgen05_commit(room.empty(count), (1u << blocks) - 1);
                }
                tcgen05_commit(room.done(made), 3u << leader);
            }
    } else {
        tile_writer writer(room.result_parts(warp % 4), map_c, C, M, N);
        for (unsigned tile = blockIdx.x / blocks; tile < tiles; tile += clusters, ++made) {
            const tile_place at = find_tile(tile, tiles_m, tiles_n, walk);
            barrier_wait(room.done(made), room.parity_of_set(made));
            tcgen05_fence_after();
            writer.write(tensor + made % SETS * TILE_N, at.row * rows + half * sums_place::rows,
                         (at.column * PAIRS + pair) * TILE_N, 1, FINISH, [&] {
                             tcgen05_fence_before();
                             __syncwarp();
                             if (lane_id() == 0)
                                 barrier_arrive(room.taken(made), leader);
                         });
        }
        writer.end();
    }
    __syncwarp();
    tcgen05_fence_before();
    // all blocks have read their accumulators, and no block will arrive on another block's barriers again
    cluster_sync();
    if (warp == role::issuer) {
        tcgen05_fence_after();
        tensor_free<allocated, 2>(tensor);
    }
#endif
}
#endif
