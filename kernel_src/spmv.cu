// spmv.cu - y = A x for a sparse matrix A, in the common formats of sparse matrices.
//
// For each entry of A, a product reads 4 bytes of value, in most formats 4 bytes of column number, and the element of x
// at that column. So the bound is memory bandwidth. The kernels differ in three points: whether the lanes of a warp
// read neighbours, whether these lanes finish at the same time, and which data is stored beside the values.
//
// The result of a row is the sum of its products, in an order that depends on the kernel and its tuning parameters. The
// same launch gives the same bits, except for kernels that add with atomics: spmv_coo_atomic, spmv_coo_segmented, and
// the variants that use spmv_coo_segmented for some entries. A row without entries gives 0. Infinities and NaN follow
// IEEE 754. Some formats pad rows with zeros (ELL, sliced ELL, DIA, BCSR). Their kernels also multiply a 0 by elements
// of x that the row does not need. If such an element is an infinity or NaN, the result of the row is NaN. Offsets and
// column numbers have 32 bits.
//
// The tuning parameters are macros. The engine defines these macros from the spec. The defaults below only let an
// editor or a compiler parse this file alone. A kernel is compiled if its own macro SPMV_<NAME> is set, or if SPMV_ONE
// is not set.

#include "common.cuh"

#ifndef BLOCK
#define BLOCK 128 // number of threads of a block
#endif
#ifndef VECTOR
#define VECTOR 8 // number of lanes that share a row, or a row of dense blocks: a power of two up to 32
#endif
#ifndef UNROLL
#define UNROLL 2 // number of entries of a row that each lane has in flight
#endif
#ifndef ITEMS
#define ITEMS 8 // csr_merge: number of steps of the merge path per thread; coo_segmented: number of entries per lane
#endif
#ifndef HEIGHT
#define HEIGHT 32 // sell: number of rows of a slice
#endif
#ifndef BLOCK_ROWS
#define BLOCK_ROWS 3 // bcsr: number of rows of a dense block
#endif
#ifndef BLOCK_COLUMNS
#define BLOCK_COLUMNS 3 // bcsr: number of columns of a dense block
#endif
#ifndef WIDTH
#define WIDTH 24576 // bins: number of columns of a panel, which is a range of columns
#endif
#ifndef LINES
#define LINES 2048 // bins: number of lines of a group; a line is a row of A or a piece of a row
#endif
#ifndef WARPS
#define WARPS 8 // bins: number of warps that share a group
#endif
#ifndef AHEAD
#define AHEAD 4 // bins: number of chunks of 128 products that each warp has in flight
#endif
#ifndef STREAMING
#define STREAMING 1 // 1: loads of the matrix have the hint "used once" (ld.cs), so that x stays in the caches
#endif

typedef unsigned u32;

__device__ __forceinline__ float product(const u32 *index, const float *values, const float *x, offset at)
{
    return load<STREAMING>(values + at) * __ldg(x + load<STREAMING>(index + at));
}

// Returns the sum of `mine` over the `lanes` neighbouring lanes that share a row. All these lanes get the sum.
template <unsigned lanes> __device__ __forceinline__ float row_sum(float mine)
{
#pragma unroll
    for (unsigned distance = lanes / 2; distance > 0; distance /= 2)
        mine += __shfl_xor_sync(ALL_LANES, mine, distance);
    return mine;
}

// Returns the sum of the products of the entries first, first + step, ... before `end`. UNROLL of these entries are in
// flight.
template <unsigned step>
__device__ __forceinline__ float strided_sum(const u32 *index, const float *values, const float *x, u32 first, u32 end)
{
    float sums[UNROLL] = {};
    u32 at = first;
    for (; at + (UNROLL - 1) * step < end && at + (UNROLL - 1) * step >= at; at += UNROLL * step) {
#pragma unroll
        for (unsigned k = 0; k < UNROLL; k++)
            sums[k] += product(index, values, x, at + k * step);
    }
    for (; at < end; at += step)
        sums[0] += product(index, values, x, at);
#pragma unroll
    for (unsigned k = 1; k < UNROLL; k++)
        sums[0] += sums[k];
    return sums[0];
}

// ---- CSR ----

// Each thread processes one row. The lanes of a warp read entries that are a row apart, and a warp takes as long as its
// longest row.
#if defined SPMV_CSR_THREAD || !defined SPMV_ONE
extern "C" __global__ void __launch_bounds__(BLOCK)
    spmv_csr_thread(const u32 *offsets, const u32 *index, const float *values, const float *x, float *y, u32 rows)
{
    u32 row = blockIdx.x * BLOCK + threadIdx.x;
    if (row < rows)
        y[row] = strided_sum<1>(index, values, x, offsets[row], offsets[row + 1]);
}
#endif

// VECTOR lanes process one row and read neighbouring entries. This is good if most rows have at least about VECTOR
// entries, because lanes after the end of a shorter row are idle.
#if defined SPMV_CSR_WARP || !defined SPMV_ONE
extern "C" __global__ void __launch_bounds__(BLOCK)
    spmv_csr_warp(const u32 *offsets, const u32 *index, const float *values, const float *x, float *y, u32 rows)
{
    u32 row = blockIdx.x * (BLOCK / VECTOR) + threadIdx.x / VECTOR, lane = threadIdx.x % VECTOR;
    float sum = 0;
    if (row < rows)
        sum = strided_sum<VECTOR>(index, values, x, offsets[row] + lane, offsets[row + 1]);
    sum = row_sum<VECTOR>(sum);
    if (row < rows && lane == 0)
        y[row] = sum;
}
#endif

// A merge path (Merrill, Garland: "Merge-based parallel sparse matrix-vector multiplication", SC 2016). The ends of the
// rows and the numbers of the entries are two sorted lists. Each step along the merge of these lists either adds an
// entry or finishes a row. All threads take ITEMS steps. So the work is even for any matrix, even with empty rows or
// with all entries in one row. If a row continues in the next block's part of the path, spmv_merge_fixup completes the
// row.

// Returns how many ends of rows are among the first `diagonal` steps of the path. The element ends[r] is the end of row
// r.
__device__ __forceinline__ u32 merge_search(u32 diagonal, const u32 *ends, u32 rows, u32 entries)
{
    u32 low = diagonal > entries ? diagonal - entries : 0, high = min(diagonal, rows);
    while (low < high) {
        u32 middle = low + (high - low) / 2;
        if (ends[middle] <= diagonal - middle - 1)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

#if defined SPMV_CSR_MERGE || !defined SPMV_ONE
// carry_rows[b] is the row that block b did not finish. carry_sums[b] is the block's sum for this row.
extern "C" __global__ void __launch_bounds__(BLOCK)
    spmv_csr_merge(const u32 *offsets, const u32 *index, const float *values, const float *x, float *y, u32 rows,
                   u32 entries, u32 *carry_rows, float *carry_sums)
{
    constexpr u32 TILE = BLOCK * ITEMS;
    __shared__ float products[TILE + 1];
    __shared__ u32 ends[TILE + 1];
    __shared__ u32 corner[2];
    __shared__ u32 warp_rows[BLOCK / WARP];
    __shared__ float warp_sums[BLOCK / WARP];
    const u32 *row_ends = offsets + 1;
    u32 total = rows + entries, begin = min(blockIdx.x * TILE, total), stop = min(begin + TILE, total);
    if (threadIdx.x < 2)
        corner[threadIdx.x] = merge_search(threadIdx.x ? stop : begin, row_ends, rows, entries);
    __syncthreads();
    u32 row_begin = corner[0], row_stop = corner[1], entry_begin = begin - row_begin, entry_stop = stop - row_stop;
    u32 tile_rows = row_stop - row_begin, tile_entries = entry_stop - entry_begin;
    // Also reads the end of the row that the next block continues, because this end stops the loop below.
    for (u32 i = threadIdx.x; i <= tile_rows; i += BLOCK)
        ends[i] = row_begin + i < rows ? row_ends[row_begin + i] - entry_begin : 0xffffffffu;
#pragma unroll
    for (u32 k = 0; k < ITEMS; k++) {
        u32 i = k * BLOCK + threadIdx.x;
        if (i < tile_entries)
            products[i] = product(index, values, x, (offset)entry_begin + i);
    }
    __syncthreads();
    u32 diagonal = min(threadIdx.x * ITEMS, tile_rows + tile_entries);
    u32 row = merge_search(diagonal, ends, tile_rows, tile_entries), entry = diagonal - row, first = row;
    float sum = 0, first_sum = 0;
    bool finished = false; // whether this thread has finished a row
#pragma unroll
    for (u32 k = 0; k < ITEMS; k++) {
        if (diagonal + k < tile_rows + tile_entries) {
            if (row < tile_rows && entry >= ends[row]) {
                if (finished)
                    y[row_begin + row] = sum;
                else
                    first_sum = sum;
                finished = true;
                sum = 0;
                row++;
            } else {
                sum += products[entry++];
            }
        }
    }
    // Now the sums of the rows that threads did not finish. A segmented scan adds them, which restarts with each row.
    float carry = sum;
    u32 carry_row = row;
#pragma unroll
    for (unsigned distance = 1; distance < WARP; distance *= 2) {
        float before = __shfl_up_sync(ALL_LANES, carry, distance);
        u32 before_row = __shfl_up_sync(ALL_LANES, carry_row, distance);
        if (lane_id() >= distance && before_row == carry_row)
            carry += before;
    }
    if (lane_id() == WARP - 1) {
        warp_rows[warp_id()] = carry_row;
        warp_sums[warp_id()] = carry;
    }
    __syncthreads();
    float left = __shfl_up_sync(ALL_LANES, carry, 1), from_warps = 0;
    u32 left_row = __shfl_up_sync(ALL_LANES, carry_row, 1);
    // Adds the sums that the earlier warps have for the first row of this warp. The sum of the nearest warp is added
    // last.
    u32 warp_first = __shfl_sync(ALL_LANES, first, 0);
    for (unsigned w = 0; w < warp_id(); w++)
        if (warp_rows[w] == warp_first)
            from_warps += warp_sums[w];
    if (finished) {
        float prefix = first == warp_first ? from_warps : 0;
        if (lane_id() > 0 && left_row == first)
            prefix += left;
        y[row_begin + first] = prefix + first_sum;
    }
    if (threadIdx.x == BLOCK - 1) {
        carry_rows[blockIdx.x] = row_begin + carry_row;
        carry_sums[blockIdx.x] = carry + (carry_row == warp_first ? from_warps : 0);
    }
}

// Each thread processes the carry of one block of the previous launch. Several blocks may have left the same row
// unfinished. The thread of the first of these blocks adds their sums, in the order of the blocks. So the bits are the
// same in every run.
extern "C" __global__ void __launch_bounds__(256)
    spmv_merge_fixup(const u32 *carry_rows, const float *carry_sums, float *y, u32 blocks, u32 rows)
{
    u32 b = blockIdx.x * 256 + threadIdx.x;
    if (b >= blocks || carry_rows[b] >= rows || (b > 0 && carry_rows[b - 1] == carry_rows[b]))
        return;
    u32 row = carry_rows[b];
    float sum = carry_sums[b];
    for (u32 next = b + 1; next < blocks && carry_rows[next] == row; next++)
        sum += carry_sums[next];
    y[row] += sum;
}
#endif

// ---- COO: each entry is stored with its row and column ----

#if defined SPMV_COO_ATOMIC || !defined SPMV_ONE
// Each thread processes one entry. All entries of a row are added to one element of y by atomics.
extern "C" __global__ void __launch_bounds__(BLOCK)
    spmv_coo_atomic(const u32 *row_of, const u32 *index, const float *values, const float *x, float *y, u32 entries)
{
    u32 i = blockIdx.x * BLOCK + threadIdx.x;
    if (i < entries)
        atomicAdd(y + load<STREAMING>(row_of + i), product(index, values, x, i));
}
#endif

#if defined SPMV_COO_SEGMENTED || !defined SPMV_ONE
// A warp adds the entries of a row in registers. It takes ITEMS steps of 32 entries. A run is a sequence of entries of
// the same row. The warp adds to memory once for each run that ends in its entries. Entries may have any order, but
// long runs make the kernel faster.
extern "C" __global__ void __launch_bounds__(BLOCK)
    spmv_coo_segmented(const u32 *row_of, const u32 *index, const float *values, const float *x, float *y, u32 entries)
{
    const u32 none = 0xffffffffu;
    offset begin = ((offset)blockIdx.x * (BLOCK / WARP) + warp_id()) * (WARP * ITEMS);
    float products[ITEMS];
    u32 rows[ITEMS];
#pragma unroll
    for (unsigned k = 0; k < ITEMS; k++) { // all loads come first, so that they are in flight together
        offset at = begin + k * WARP + lane_id();
        rows[k] = at < entries ? load<STREAMING>(row_of + at) : none;
        products[k] = at < entries ? product(index, values, x, at) : 0;
    }
    float open = 0;      // each lane's part of the sum of the row that has not ended yet
    u32 open_row = none; // the row that has not ended yet, the same in all lanes
#pragma unroll
    for (unsigned k = 0; k < ITEMS; k++) {
        u32 row = rows[k], last = __shfl_sync(ALL_LANES, row, WARP - 1);
        bool same = __all_sync(ALL_LANES, row == last);
        float sum = products[k];
        if (same && last == open_row) { // all entries of this step are in the middle of a long row
            open += sum;
            continue;
        }
        open = warp_all_reduce<Plus<float>>(open);
        if (lane_id() == 0 && open_row == row)
            sum += open;
        else if (lane_id() == 0 && open_row != none)
            atomicAdd(y + open_row, open);
        open_row = last;
        if (same) {
            open = sum;
            continue;
        }
#pragma unroll
        for (unsigned distance = 1; distance < WARP; distance *= 2) {
            float before = __shfl_up_sync(ALL_LANES, sum, distance);
            u32 before_row = __shfl_up_sync(ALL_LANES, row, distance);
            if (lane_id() >= distance && before_row == row)
                sum += before;
        }
        u32 next_row = __shfl_down_sync(ALL_LANES, row, 1);
        if (lane_id() < WARP - 1 && row != next_row && row != none)
            atomicAdd(y + row, sum);
        open = lane_id() == WARP - 1 ? sum : 0;
    }
    open = warp_all_reduce<Plus<float>>(open);
    if (lane_id() == 0 && open_row != none)
        atomicAdd(y + open_row, open);
}
#endif

#if defined SPMV_POPULAR || !defined SPMV_ONE
// The columns of A are numbered by how many entries they have. So the elements of x that most entries need are
// neighbours, and stay in the L1 of each multiprocessor. This kernel brings x into the order of these numbers. Then
// spmv_coo_segmented multiplies.
extern "C" __global__ void __launch_bounds__(BLOCK) spmv_renumber(const u32 *order, const float *x, float *renumbered, u32 columns)
{
    u32 i = blockIdx.x * BLOCK + threadIdx.x;
    if (i < columns)
        renumbered[i] = x[order[i]];
}
#endif

// ---- ELL and related formats: the j-th entries of many rows are neighbours; each thread processes one row ----

// Returns the sum of the products of `width` entries that are `step` places apart.
__device__ __forceinline__ float column_sum(const u32 *index, const float *values, const float *x, offset first,
                                            u32 step, u32 width)
{
    float sums[UNROLL] = {};
    u32 j = 0;
    for (; j + UNROLL <= width; j += UNROLL) {
#pragma unroll
        for (unsigned k = 0; k < UNROLL; k++)
            sums[k] += product(index, values, x, first + (offset)(j + k) * step);
    }
    for (; j < width; j++)
        sums[0] += product(index, values, x, first + (offset)j * step);
#pragma unroll
    for (unsigned k = 1; k < UNROLL; k++)
        sums[0] += sums[k];
    return sums[0];
}

#if defined SPMV_ELL || !defined SPMV_ONE
// All rows are padded to the length of the longest row.
extern "C" __global__ void __launch_bounds__(BLOCK)
    spmv_ell(const u32 *index, const float *values, const float *x, float *y, u32 rows, u32 width)
{
    u32 row = blockIdx.x * BLOCK + threadIdx.x;
    if (row < rows)
        y[row] = column_sum(index, values, x, row, rows, width);
}
#endif

// In the format JDS, the rows are sorted by length with the longest row first. The element order[i] is the number of
// the i-th row. Neighbouring threads have rows of similar length, so few lanes wait.
#if defined SPMV_JDS_CSR || !defined SPMV_ONE
// The entries of each row are contiguous, so the lanes of a warp read places that are a row apart.
extern "C" __global__ void __launch_bounds__(BLOCK)
    spmv_jds_csr(const u32 *order, const u32 *offsets, const u32 *index, const float *values, const float *x, float *y,
                 u32 rows)
{
    u32 i = blockIdx.x * BLOCK + threadIdx.x;
    if (i < rows)
        y[order[i]] = strided_sum<1>(index, values, x, offsets[i], offsets[i + 1]);
}
#endif

#if defined SPMV_JDS_TRANSPOSED || !defined SPMV_ONE
// The j-th entries of all rows that have one are contiguous, from starts[j] on. So there is no padding, and the lanes
// of a warp read neighbours.
extern "C" __global__ void __launch_bounds__(BLOCK)
    spmv_jds_transposed(const u32 *order, const u32 *starts, const u32 *index, const float *values, const float *x,
                        float *y, u32 rows, u32 largest)
{
    u32 i = blockIdx.x * BLOCK + threadIdx.x;
    if (i >= rows)
        return;
    float sum = 0;
    u32 start = starts[0];
#pragma unroll UNROLL
    for (u32 j = 0; j < largest; j++) {
        u32 next = starts[j + 1];
        if (i >= next - start)
            break;
        sum += product(index, values, x, (offset)start + i);
        start = next;
    }
    y[order[i]] = sum;
}
#endif

#if defined SPMV_SELL || !defined SPMV_ONE
// The rows are cut into slices of HEIGHT rows. Each slice is a separate ELL matrix with the length of its longest row.
// Rows are sorted by length within windows of several slices, so the rows of a slice have similar lengths. Therefore
// there is little padding, and x is read in nearly the original order.
extern "C" __global__ void __launch_bounds__(BLOCK)
    spmv_sell(const u32 *order, const u32 *starts, const u32 *index, const float *values, const float *x, float *y,
              u32 rows)
{
    u32 i = blockIdx.x * BLOCK + threadIdx.x;
    if (i >= rows)
        return;
    u32 slice = i / HEIGHT, start = starts[slice], width = (starts[slice + 1] - start) / HEIGHT;
    y[order[i]] = column_sum(index, values, x, (offset)start + i % HEIGHT, HEIGHT, width);
}
#endif

// ---- DIA: whole diagonals, without column numbers ----

#if defined SPMV_DIA || !defined SPMV_ONE
extern "C" __global__ void __launch_bounds__(BLOCK)
    spmv_dia(const int *diagonal, const float *values, const float *x, float *y, u32 rows, u32 columns, u32 diagonals)
{
    u32 row = blockIdx.x * BLOCK + threadIdx.x;
    if (row >= rows)
        return;
    float sum = 0;
#pragma unroll UNROLL
    for (u32 d = 0; d < diagonals; d++) {
        u32 column = row + (u32)diagonal[d]; // if the column is below 0, it wraps around to a number above all columns
        if (column < columns)
            sum += load<STREAMING>(values + (offset)d * rows + row) * __ldg(x + column);
    }
    y[row] = sum;
}
#endif

// ---- BCSR: dense blocks of BLOCK_ROWS x BLOCK_COLUMNS; a whole block has one column number ----

#if defined SPMV_BCSR || !defined SPMV_ONE
// VECTOR lanes compute one row of y. Each of these lanes takes every VECTOR-th block of the row of blocks.
extern "C" __global__ void __launch_bounds__(BLOCK)
    spmv_bcsr(const u32 *offsets, const u32 *index, const float *values, const float *x, float *y, u32 rows, u32 columns)
{
    u32 row = blockIdx.x * (BLOCK / VECTOR) + threadIdx.x / VECTOR, lane = threadIdx.x % VECTOR;
    float sum = 0;
    if (row < rows) {
        u32 end = offsets[row / BLOCK_ROWS + 1];
        for (u32 b = offsets[row / BLOCK_ROWS] + lane; b < end; b += VECTOR) {
            const float *dense = values + ((offset)b * BLOCK_ROWS + row % BLOCK_ROWS) * BLOCK_COLUMNS;
            u32 column = load<STREAMING>(index + b) * BLOCK_COLUMNS;
#pragma unroll
            for (u32 k = 0; k < BLOCK_COLUMNS; k++)
                if (column + k < columns) // the last block may extend beyond the matrix
                    sum += load<STREAMING>(dense + k) * __ldg(x + column + k);
        }
    }
    sum = row_sum<VECTOR>(sum);
    if (row < rows && lane == 0)
        y[row] = sum;
}
#endif

// ---- CSR with 16-bit columns ----

#if defined SPMV_DELTA || !defined SPMV_ONE
// Does the same as spmv_csr_warp, but a column is stored as its distance from the diagonal. So an entry has 6 bytes
// instead of 8. The kernel spmv_coo_segmented processes the entries that are too far from the diagonal.
extern "C" __global__ void __launch_bounds__(BLOCK)
    spmv_delta(const u32 *offsets, const short *distance, const float *values, const float *x, float *y, u32 rows)
{
    u32 row = blockIdx.x * (BLOCK / VECTOR) + threadIdx.x / VECTOR, lane = threadIdx.x % VECTOR;
    float sum = 0;
    if (row < rows) {
        u32 end = offsets[row + 1];
        const float *here = x + row;
#pragma unroll UNROLL
        for (u32 at = offsets[row] + lane; at < end; at += VECTOR)
            sum += load<STREAMING>(values + at) * __ldg(here + load<STREAMING>(distance + at));
    }
    sum = row_sum<VECTOR>(sum);
    if (row < rows && lane == 0)
        y[row] = sum;
}
#endif

// ---- bins: the entries are scattered over the matrix, but accesses to memory are contiguous ----

// If the columns of a row have no pattern, each entry reads 32 bytes of x and uses 4 of them. These reads saturate the
// path from the L2. Here the entries are in bins (kernel_src/sparse/binned.c; Beamer, Asanovic, Patterson, "Reducing
// Pagerank communication via propagation blocking", IPDPS 2017). A panel is a range of WIDTH columns. The first kernel
// holds the panel's part of x in shared memory, multiplies, and writes each product to the place where the second
// kernel reads it. The second kernel holds the sums of a group of rows in shared memory. All accesses of both kernels
// to memory are contiguous. They transfer 16.5 bytes per entry.

#if defined SPMV_BINS || !defined SPMV_ONE
// Half of an octet, which is 8 entries with neighbouring places.
struct Four {
    float4 value;
    uint2 columns; // four column numbers of 16 bits
    u32 octet;
};

// Returns the last panel that begins at or before an octet. The element starts[p] is the first octet of panel p.
__device__ __forceinline__ u32 panel_of(const u32 *starts, u32 panels, u32 octet)
{
    u32 low = 0, high = panels;
    while (high - low > 1) {
        u32 middle = low + (high - low) / 2;
        if (starts[middle] <= octet)
            low = middle;
        else
            high = middle;
    }
    return low;
}

// Each block multiplies the same number of octets, and these may belong to several panels. While a thread multiplies
// entries, it loads the next ones.
extern "C" __global__ void __launch_bounds__(BLOCK)
    spmv_bins_multiply(const u32 *panel_starts, const unsigned short *columns, const float *values, const u32 *to,
                       const float *x, float *products, u32 panels, u32 width, u32 octets, u32 all_columns)
{
    extern __shared__ float4 panel_quads[]; // the panel's WIDTH elements of x
    float *panel = (float *)panel_quads;
    u32 share = ceil_div(ceil_div(octets, gridDim.x), 16u) * 16;
    offset first = (offset)blockIdx.x * share;
    u32 begin = (u32)min(first, (offset)octets), end = (u32)min(first + share, (offset)octets);
    Four now[UNROLL], next[UNROLL];
    auto fetch = [&](offset quad, offset last) {
#pragma unroll
        for (unsigned k = 0; k < UNROLL; k++) {
            offset at = quad + k * BLOCK;
            if (at < last) {
                next[k].value = load<STREAMING>((const float4 *)values + at);
                next[k].columns = load<STREAMING>((const uint2 *)columns + at);
                next[k].octet = load<STREAMING>(to + at / 2);
            }
        }
    };
    for (u32 p = panel_of(panel_starts, panels, begin); begin < end; p++) {
        u32 stop = min(end, panel_starts[p + 1]), base = p * width, here = min(width, all_columns - base);
        if (stop <= begin)
            continue;
        offset quad = 2 * (offset)begin + threadIdx.x, last = 2 * (offset)stop;
        fetch(quad, last);
        __syncthreads(); // all threads have finished reading the previous panel
        u32 whole = width % 4 == 0 ? here / 4 * 4 : 0; // so panels begin at multiples of 16 bytes
        for (u32 i = threadIdx.x; i < whole / 4; i += BLOCK)
            panel_quads[i] = load_quad(x + base + 4 * i);
        for (u32 i = whole + threadIdx.x; i < here; i += BLOCK)
            panel[i] = x[base + i];
        __syncthreads();
        for (; quad < last; quad += BLOCK * UNROLL) {
#pragma unroll
            for (unsigned k = 0; k < UNROLL; k++)
                now[k] = next[k];
            fetch(quad + BLOCK * UNROLL, last);
#pragma unroll
            for (unsigned k = 0; k < UNROLL; k++) {
                offset at = quad + k * BLOCK;
                if (at < last) {
                    now[k].value.x *= panel[now[k].columns.x & 0xffff];
                    now[k].value.y *= panel[now[k].columns.x >> 16];
                    now[k].value.z *= panel[now[k].columns.y & 0xffff];
                    now[k].value.w *= panel[now[k].columns.y >> 16];
                    ((float4 *)products)[2 * (offset)now[k].octet + at % 2] = now[k].value;
                }
            }
        }
        begin = stop;
    }
}

// Each lane adds a product to the sum of its line. A slot is the number of the line in the group, and bit 15 of the
// slot is set if an earlier lane has the same line. Lanes whose bit 15 is not set have different lines, so they add at
// the same time.
__device__ __forceinline__ void add_apart(float *sums, u32 slot, float product, bool anyone_twice)
{
    const u32 nobody = 0x7fff;
    bool twice = slot >> 15;
    slot &= nobody;
    if (slot != nobody && !twice)
        sums[slot] += product;
    __syncwarp();
    if (!anyone_twice)
        return;
    // the other lanes add one after the other
    for (u32 left = __ballot_sync(ALL_LANES, twice); left != 0; left &= left - 1) {
        if (lane_id() == __ffs(left) - 1)
            sums[slot] += product;
        __syncwarp();
    }
}

// Each block processes one group. Each warp of the block has its own sums. It takes every WARPS-th chunk, from the last
// chunk to the first, because the products that were written last are still in the L2.
extern "C" __global__ void __launch_bounds__(WARPS *WARP)
    spmv_bins_add(const u32 *group_starts, const u32 *group_lines, const unsigned short *slots, const float *products,
                  float *y, float *partial, u32 rows)
{
    extern __shared__ float all_sums[]; // LINES sums for each of the WARPS warps
    u32 group = blockIdx.x, begin = group_starts[group], chunks = group_starts[group + 1] - begin;
    float4 product[AHEAD], next_product[AHEAD];
    uint2 slot[AHEAD], next_slot[AHEAD];
    auto fetch = [&](u32 turn) {
#pragma unroll
        for (unsigned k = 0; k < AHEAD; k++) {
            if (turn + k * WARPS < chunks) {
                offset quad = (offset)(begin + chunks - 1 - turn - k * WARPS) * WARP + lane_id();
                next_product[k] = load<STREAMING>((const float4 *)products + quad);
                next_slot[k] = load<STREAMING>((const uint2 *)slots + quad);
            }
        }
    };
    fetch(warp_id());
    float *sums = all_sums + warp_id() * LINES;
    for (u32 i = lane_id(); i < LINES; i += WARP)
        sums[i] = 0;
    __syncwarp();
    for (u32 turn = warp_id(); turn < chunks; turn += WARPS * AHEAD) {
#pragma unroll
        for (unsigned k = 0; k < AHEAD; k++) {
            product[k] = next_product[k];
            slot[k] = next_slot[k];
        }
        fetch(turn + WARPS * AHEAD);
#pragma unroll
        for (unsigned k = 0; k < AHEAD; k++) {
            if (turn + k * WARPS < chunks) {
                bool twice = __any_sync(ALL_LANES, ((slot[k].x | slot[k].y) & 0x80008000) != 0);
                add_apart(sums, slot[k].x & 0xffff, product[k].x, twice);
                add_apart(sums, slot[k].x >> 16, product[k].y, twice);
                add_apart(sums, slot[k].y & 0xffff, product[k].z, twice);
                add_apart(sums, slot[k].y >> 16, product[k].w, twice);
            }
        }
    }
    __syncthreads();
    u32 first = group_lines[group], count = group_lines[group + 1] - first;
    for (u32 i = threadIdx.x; i < count; i += WARPS * WARP) {
        float sum = 0;
#pragma unroll
        for (unsigned w = 0; w < WARPS; w++)
            sum += all_sums[w * LINES + i];
        u32 line = first + i;
        if (line < rows)
            y[line] = sum;
        else
            partial[line - rows] = sum;
    }
}

// Each warp adds the pieces of one row that was cut into several lines. If a row has many pieces, the whole block adds
// them.
extern "C" __global__ void __launch_bounds__(256)
    spmv_bins_join(const u32 *cut_rows, const u32 *cut_starts, const float *partial, float *y, u32 cut)
{
    const u32 warps = 256 / WARP, many = 128;
    __shared__ float shares[warps];
    u32 first = blockIdx.x * warps, i = first + warp_id();
    if (i < cut && cut_starts[i + 1] - cut_starts[i] <= many) {
        float sum = 0;
        for (u32 piece = cut_starts[i] + lane_id(); piece < cut_starts[i + 1]; piece += WARP)
            sum += partial[piece];
        sum = row_sum<WARP>(sum);
        if (lane_id() == 0)
            y[cut_rows[i]] = sum;
    }
    for (i = first; i < min(first + warps, cut); i++) {
        u32 begin = cut_starts[i], end = cut_starts[i + 1];
        if (end - begin <= many)
            continue;
        float sum = 0;
#pragma unroll 4
        for (u32 piece = begin + threadIdx.x; piece < end; piece += 256)
            sum += partial[piece];
        sum = row_sum<WARP>(sum);
        if (lane_id() == 0)
            shares[warp_id()] = sum;
        __syncthreads();
        sum = 0;
        for (u32 w = 0; w < warps; w++)
            sum += shares[w];
        if (threadIdx.x == 0)
            y[cut_rows[i]] = sum;
        __syncthreads();
    }
}
#endif
