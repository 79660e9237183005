// cutoff.cu - computes the electrostatic potential of atoms at every point of a lattice. Only atoms within a radius
// contribute, and the potential is smoothed at the edge.
//
// The lattice has nx x ny x nz points. Neighbouring points along x are neighbours in memory. Along each axis, point i
// is at i * spacing, rounded to single precision. An atom is a float4: its position and its charge. At a distance r
// below the radius it adds charge (1 - r^2 / radius^2)^2 / r. Therefore only few atoms contribute to a point. The
// kernels differ in how many other atoms they examine. The atoms are sorted into bins, and a region of neighbouring
// points examines the bins near it.
//
// The result is a sum in single precision for each point. If an atom is exactly at a point, the potential at this point
// is an infinity with the charge's sign. The potential is NaN if the charge is 0, or if two infinities of different
// sign are added. A distance below about 1e-19 counts as 0. If the charge of an atom is not finite, the atom goes to
// the overflow list instead of a bin. So it affects only the points within its radius. An atom is left out if its
// position is not finite, or if no point is within its radius. Atoms outside the lattice go to the nearest bin. If
// kernels make the bins, the order of the atoms in a bin depends on timing. So the last bits of the sums differ from
// run to run. If the host makes the bins, the bits are the same in every run. If the radius is 0, all results are 0.
//
// The tuning parameters are macros. The engine defines these macros from the spec. The defaults below only let an
// editor or a compiler parse this file alone. A kernel is compiled if its own macro CUTOFF_<NAME> is set, or if
// CUTOFF_ONE is not set.

#include "common.cuh"

#ifndef BLOCK
#define BLOCK 256 // number of threads of a block, in kernels whose layout does not determine this number
#endif
#ifndef BIN
#define BIN 8 // number of lattice points along an edge of a bin
#endif
#ifndef CAPACITY
#define CAPACITY 64 // constant bins: number of atoms that fit into a bin
#endif
#ifndef TEST_FIRST
#define TEST_FIRST 1 // 1: a thread reads a bin's count before its atomic addition
#endif
#ifndef DUMMIES
#define DUMMIES 0 // constant bins: 1: unused places hold atoms that add nothing; 0: the kernels read the counts
#endif
#ifndef STAGED
#define STAGED 1 // constant bins: number of bins that are in shared memory at a time
#endif
#ifndef CHUNK
#define CHUNK 128 // dynamic bins: number of atoms that are in shared memory at a time
#endif
#ifndef POINTS_Y
#define POINTS_Y 1 // number of points that each thread has along y (POINTS_Y) and along z (POINTS_Z)
#endif
#ifndef POINTS_Z
#define POINTS_Z 4
#endif
#ifndef GROUP
#define GROUP 8 // cutoff_lists: number of lanes that share a list: 8, 16 or 32
#endif
#ifndef RING
#define RING 64 // cutoff_lists: number of atoms that fit into a list: a power of two, at least 64
#endif
#ifndef UNROLL
#define UNROLL 4 // cutoff_lists: number of atoms of a list that are processed per iteration
#endif
#ifndef PER_SM
#define PER_SM 1 // cutoff_lists: minimum number of blocks whose registers must fit on a multiprocessor
#endif

typedef unsigned u32;

enum : u32 { DROPPED = 0xffffffff, LISTED = 0xfffffffe }; // these values stand in place of the number of a bin

// ---- atoms and points ----

__device__ __forceinline__ float coordinate(int i, float spacing)
{
    return __fmul_rn((float)i, spacing);
}

// Returns 1 / sqrt(x) with a relative error below 2^-22.9, by the special-function unit. A denormal x counts as 0.
__device__ __forceinline__ float inverse_root(float x)
{
    float root;
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(root) : "f"(x));
    return root;
}

// If the distance is larger than the radius, the smoothing factor becomes 0. This costs nothing, because the
// instruction that computes the factor clamps it to [0, 1]. Therefore no branch is needed. `per_square` is 1 /
// radius^2.
__device__ __forceinline__ float potential(float charge, float r2, float per_square)
{
    float s;
    asm("fma.rn.sat.f32 %0, %1, %2, %3;" : "=f"(s) : "f"(r2), "f"(-per_square), "f"(1.0f));
    return charge * (s * s) * inverse_root(r2);
}

// Returns an atom that adds 0 at every point.
__device__ __forceinline__ float4 dummy_atom()
{
    return make_float4(1e18f, 1e18f, 1e18f, 0);
}

__device__ __forceinline__ offset place(int x, int y, int z, int nx, int ny)
{
    return ((offset)z * ny + y) * nx + x;
}

// The points of a thread. They have one x, POINTS_Y coordinates along y and POINTS_Z along z. The contribution of x and
// y to the square of the distance is computed once for all points that share them.
struct Points {
    float x, y[POINTS_Y], z[POINTS_Z], sums[POINTS_Y][POINTS_Z];

    __device__ __forceinline__ Points(int px, int py, int pz, float spacing)
    {
        x = coordinate(px, spacing);
#pragma unroll
        for (int j = 0; j < POINTS_Y; j++) {
            y[j] = coordinate(py + j, spacing);
#pragma unroll
            for (int k = 0; k < POINTS_Z; k++) {
                z[k] = coordinate(pz + k, spacing);
                sums[j][k] = 0;
            }
        }
    }

    __device__ __forceinline__ void add(float4 atom, float per_square)
    {
        float dx = atom.x - x, along_x = dx * dx;
#pragma unroll
        for (int j = 0; j < POINTS_Y; j++) {
            float dy = atom.y - y[j], across = fmaf(dy, dy, along_x);
#pragma unroll
            for (int k = 0; k < POINTS_Z; k++) {
                float dz = atom.z - z[k];
                sums[j][k] += potential(atom.w, fmaf(dz, dz, across), per_square);
            }
        }
    }

    __device__ __forceinline__ void store(float *energy, int px, int py, int pz, int nx, int ny, int nz) const
    {
#pragma unroll
        for (int j = 0; j < POINTS_Y; j++)
#pragma unroll
            for (int k = 0; k < POINTS_Z; k++)
                if (px < nx && py + j < ny && pz + k < nz)
                    energy[place(px, py + j, pz + k, nx, ny)] = sums[j][k];
    }
};

// ---- bins ----

__device__ __forceinline__ int bins_of(int points)
{
    return ceil_div(points, BIN);
}

__device__ __forceinline__ bool is_near(float at, int points, float spacing, float radius)
{
    return points > 0 && at > -radius && at < (points - 1) * spacing + radius; // false if `at` is NaN
}

__device__ __forceinline__ u32 bin_along(float at, int points, float spacing)
{
    return min(max((int)floorf(at / (BIN * spacing)), 0), bins_of(points) - 1);
}

__device__ __forceinline__ u32 bin_of(float4 atom, int nx, int ny, int nz, float spacing, float radius)
{
    if (!is_near(atom.x, nx, spacing, radius) || !is_near(atom.y, ny, spacing, radius) ||
        !is_near(atom.z, nz, spacing, radius))
        return DROPPED;
    if (!isfinite(atom.w))
        return LISTED;
    u32 z = bin_along(atom.z, nz, spacing), y = bin_along(atom.y, ny, spacing), x = bin_along(atom.x, nx, spacing);
    return (z * bins_of(ny) + y) * bins_of(nx) + x;
}

__device__ __forceinline__ void list_atom(float4 atom, float4 *overflow, u32 *taken)
{
    overflow[atomicAdd(taken, 1)] = atom;
}

// Returns a place in a bin. If the bin is full, the place is CAPACITY or more. If many atoms belong to one bin, their
// atomics use one address and run one after another. Reading the count first saves the atomic addition for atoms that
// do not fit.
__device__ __forceinline__ u32 place_in_bin(u32 *counts, u32 bin)
{
    if (TEST_FIRST && *(volatile u32 *)(counts + bin) >= CAPACITY)
        return CAPACITY;
    return atomicAdd(counts + bin, 1);
}

#if defined CUTOFF_BIN || !defined CUTOFF_ONE
// Binning in one launch. Each thread takes a place for its atom in a bin, or in the overflow list, and stores the atom
// there.
extern "C" __global__ void __launch_bounds__(BLOCK)
    cutoff_bin(const float4 *atoms, u32 count, float4 *bins, u32 *counts, float4 *overflow, u32 *taken, int nx, int ny,
               int nz, float spacing, float radius)
{
    u32 a = blockIdx.x * BLOCK + threadIdx.x;
    if (a >= count)
        return;
    float4 atom = atoms[a];
    u32 bin = bin_of(atom, nx, ny, nz, spacing, radius);
    if (bin == DROPPED)
        return;
    u32 slot = bin == LISTED ? CAPACITY : place_in_bin(counts, bin);
    if (slot < CAPACITY)
        bins[(offset)bin * CAPACITY + slot] = atom;
    else
        list_atom(atom, overflow, taken);
}
#endif

#if defined CUTOFF_COUNT || !defined CUTOFF_ONE
// Binning in two launches. The first launch computes the counts and the place of each atom.
extern "C" __global__ void __launch_bounds__(BLOCK)
    cutoff_count(const float4 *atoms, u32 count, u32 *counts, u32 *slots, int nx, int ny, int nz, float spacing,
                 float radius)
{
    u32 a = blockIdx.x * BLOCK + threadIdx.x;
    if (a >= count)
        return;
    u32 bin = bin_of(atoms[a], nx, ny, nz, spacing, radius);
    slots[a] = bin >= LISTED ? bin : atomicAdd(counts + bin, 1);
}
#endif

#if defined CUTOFF_PLACE || !defined CUTOFF_ONE
extern "C" __global__ void __launch_bounds__(BLOCK)
    cutoff_place(const float4 *atoms, u32 count, const u32 *slots, float4 *bins, float4 *overflow, u32 *taken, int nx,
                 int ny, int nz, float spacing, float radius)
{
    u32 a = blockIdx.x * BLOCK + threadIdx.x, slot = a < count ? slots[a] : DROPPED;
    if (slot == DROPPED)
        return;
    float4 atom = atoms[a];
    if (slot < CAPACITY)
        bins[(offset)bin_of(atom, nx, ny, nz, spacing, radius) * CAPACITY + slot] = atom;
    else
        list_atom(atom, overflow, taken);
}
#endif

#if defined CUTOFF_DUMMIES || !defined CUTOFF_ONE
// Fills the unused places of bins with dummy atoms. With dummy atoms, no kernel has to read counts, and all loops have
// the same length.
extern "C" __global__ void __launch_bounds__(BLOCK) cutoff_dummies(float4 *bins, const u32 *counts, offset slots)
{
    offset i = grid_thread<BLOCK>();
    if (i < slots && i % CAPACITY >= counts[i / CAPACITY])
        bins[i] = dummy_atom();
}
#endif

#if defined CUTOFF_OVERFLOW || !defined CUTOFF_ONE
// Returns how many points of an axis to examine, from point `first` on. This includes one more point on each side than
// rounding requires.
__device__ __forceinline__ int points_near(float at, int points, float spacing, float radius, int &first)
{
    first = (int)fmaxf(ceilf((at - radius) / spacing) - 1, 0);
    return (int)fminf(floorf((at + radius) / spacing) + 2, (float)points) - first;
}

// Each block processes one atom of the overflow list. The block adds the potential to all points within the radius by
// atomics, which treat denormal numbers as 0. The test of the distance is exact, so an infinite charge affects only
// points within the radius.
extern "C" __global__ void __launch_bounds__(BLOCK)
    cutoff_overflow(const float4 *overflow, const u32 *taken, float *energy, int nx, int ny, int nz, float spacing,
                    float radius)
{
    float square = radius * radius, per_square = 1 / square;
    u32 count = *taken;
    for (u32 a = blockIdx.x; a < count; a += gridDim.x) {
        float4 atom = overflow[a];
        int x0, y0, z0, wx = points_near(atom.x, nx, spacing, radius, x0),
                        wy = points_near(atom.y, ny, spacing, radius, y0),
                        wz = points_near(atom.z, nz, spacing, radius, z0);
        for (offset i = threadIdx.x; i < (offset)wx * wy * wz; i += BLOCK) {
            int x = x0 + (int)(i % wx), y = y0 + (int)(i / wx % wy), z = z0 + (int)(i / wx / wy);
            float dx = atom.x - coordinate(x, spacing), dy = atom.y - coordinate(y, spacing),
                  dz = atom.z - coordinate(z, spacing), r2 = fmaf(dz, dz, fmaf(dy, dy, dx * dx));
            if (r2 < square)
                atomicAdd(&energy[place(x, y, z, nx, ny)], potential(atom.w, r2, per_square));
        }
    }
}
#endif

// ---- constant bins: a region, the points that share bins, has the size of a bin ----

enum : u32 {
    THREADS_Y = BIN / POINTS_Y,
    THREADS_Z = BIN / POINTS_Z,
    THREADS = BIN * THREADS_Y * THREADS_Z // threads of a block, which have all points of a region
};

// Returns the number of a thread in a three-dimensional block.
__device__ __forceinline__ u32 thread_of_block()
{
    return (threadIdx.z * THREADS_Y + threadIdx.y) * BIN + threadIdx.x;
}

// The bins near a region, as distances in bins. The distances are the same for all regions. An entry has one byte per
// axis, which is the distance plus 128. For dynamic bins an entry is a row of bins along x, and the fourth byte has the
// last bin of the row.
__constant__ u32 cutoff_near[16000];

__device__ __forceinline__ int unpack(u32 packed, u32 axis)
{
    return (int)(packed >> 8 * axis & 255) - 128;
}

#if defined CUTOFF_CONSTANT || defined CUTOFF_WALKING || !defined CUTOFF_ONE
// The block copies STAGED bins at a time to shared memory. Each thread processes all atoms of these bins.
__device__ __forceinline__ void sum_region(int3 region, const float4 *bins, const u32 *counts, u32 offset_count,
                                           float *energy, int nx, int ny, int nz, float spacing, float radius)
{
    __shared__ float4 staged[STAGED][CAPACITY];
    __shared__ u32 staged_counts[STAGED];
    float per_square = 1 / (radius * radius);
    int x = region.x * BIN + threadIdx.x, y = region.y * BIN + threadIdx.y * POINTS_Y,
        z = region.z * BIN + threadIdx.z * POINTS_Z;
    Points points(x, y, z, spacing);
    for (u32 first = 0; first < offset_count; first += STAGED) {
        for (u32 i = thread_of_block(); i < STAGED * CAPACITY; i += THREADS) {
            u32 of = i / CAPACITY, slot = i % CAPACITY, o = first + of;
            int bx = 0, by = 0, bz = 0;
            if (o < offset_count) {
                u32 packed = cutoff_near[o];
                bx = region.x + unpack(packed, 0), by = region.y + unpack(packed, 1), bz = region.z + unpack(packed, 2);
            }
            bool inside = o < offset_count && (u32)bx < bins_of(nx) && (u32)by < bins_of(ny) && (u32)bz < bins_of(nz);
            u32 bin = inside ? (bz * bins_of(ny) + by) * bins_of(nx) + bx : 0;
            u32 have = !inside ? 0 : DUMMIES ? CAPACITY : min(counts[bin], CAPACITY);
            if (slot < have)
                staged[of][slot] = bins[(offset)bin * CAPACITY + slot];
            if (slot == 0)
                staged_counts[of] = have;
        }
        __syncthreads();
        for (u32 of = 0; of < STAGED; of++) {
            u32 have = staged_counts[of];
            if (DUMMIES && have > 0) {
#pragma unroll 4
                for (u32 slot = 0; slot < CAPACITY; slot++)
                    points.add(staged[of][slot], per_square);
            } else {
                for (u32 slot = 0; slot < have; slot++)
                    points.add(staged[of][slot], per_square);
            }
        }
        __syncthreads();
    }
    points.store(energy, x, y, z, nx, ny, nz);
}
#endif

#if defined CUTOFF_CONSTANT || !defined CUTOFF_ONE
// One block computes one region.
extern "C" __global__ void __launch_bounds__(THREADS)
    cutoff_constant(const float4 *bins, const u32 *counts, u32 offset_count, float *energy, int nx, int ny, int nz,
                    float spacing, float radius)
{
    int3 region = make_int3(blockIdx.x, blockIdx.y, blockIdx.z);
    sum_region(region, bins, counts, offset_count, energy, nx, ny, nz, spacing, radius);
}
#endif

#if defined CUTOFF_WALKING || !defined CUTOFF_ONE
// The grid has as many blocks as the multiprocessors can run at a time. Each block processes one region after another.
extern "C" __global__ void __launch_bounds__(THREADS)
    cutoff_walking(const float4 *bins, const u32 *counts, u32 offset_count, float *energy, int nx, int ny, int nz,
                   float spacing, float radius)
{
    u32 regions = bins_of(nx) * bins_of(ny) * bins_of(nz);
    for (u32 r = blockIdx.x; r < regions; r += gridDim.x) {
        int3 region = make_int3(r % bins_of(nx), r / bins_of(nx) % bins_of(ny), r / bins_of(nx) / bins_of(ny));
        sum_region(region, bins, counts, offset_count, energy, nx, ny, nz, spacing, radius);
    }
}
#endif

// ---- dynamic bins: atoms are sorted by bin, and a bin has any number of atoms ----

#if defined CUTOFF_SORT || !defined CUTOFF_ONE
enum : u32 { ITEMS = 8 }; // number of bins that each thread processes

// Computes the sum of the counts of a block's bins.
extern "C" __global__ void __launch_bounds__(BLOCK) cutoff_sums(const u32 *counts, u32 *sums, u32 bins)
{
    __shared__ u32 warps[BLOCK / WARP];
    u32 first = blockIdx.x * BLOCK * ITEMS, sum = 0;
    for (u32 i = threadIdx.x; i < BLOCK * ITEMS; i += BLOCK)
        sum += first + i < bins ? counts[first + i] : 0;
    sum = warp_reduce<Plus<u32>>(sum);
    if (lane_id() == 0)
        warps[warp_id()] = sum;
    __syncthreads();
    if (threadIdx.x != 0)
        return;
    for (u32 w = 1; w < BLOCK / WARP; w++)
        sum += warps[w];
    sums[blockIdx.x] = sum;
}

// The element starts[b] becomes the number of atoms in the bins before bin b. There are few blocks, so each block sums
// the counts of all blocks before it.
extern "C" __global__ void __launch_bounds__(BLOCK)
    cutoff_starts(const u32 *counts, const u32 *sums, u32 *starts, u32 bins)
{
    __shared__ u32 warps[BLOCK / WARP], before_warps[BLOCK / WARP];
    u32 first = (blockIdx.x * BLOCK + threadIdx.x) * ITEMS, own[ITEMS], sum = 0, before = 0;
    for (u32 b = threadIdx.x; b < blockIdx.x; b += BLOCK)
        before += sums[b];
    before = warp_all_reduce<Plus<u32>>(before);
#pragma unroll
    for (u32 i = 0; i < ITEMS; i++) {
        own[i] = first + i < bins ? counts[first + i] : 0;
        sum += own[i];
    }
    u32 scanned = warp_scan<Plus<u32>>(sum);
    if (lane_id() == WARP - 1) {
        warps[warp_id()] = scanned;
        before_warps[warp_id()] = before;
    }
    __syncthreads();
    u32 start = scanned - sum;
    for (u32 w = 0; w < BLOCK / WARP; w++)
        start += before_warps[w] + (w < warp_id() ? warps[w] : 0);
#pragma unroll
    for (u32 i = 0; i < ITEMS; i++) {
        if (first + i <= bins) // the last entry, after the number of bins, is the end of the last bin
            starts[first + i] = start;
        start += own[i];
    }
}

// Copies the atoms to their bins.
extern "C" __global__ void __launch_bounds__(BLOCK)
    cutoff_sort(const float4 *atoms, u32 count, const u32 *slots, const u32 *starts, float4 *sorted, float4 *overflow,
                u32 *taken, int nx, int ny, int nz, float spacing, float radius)
{
    u32 a = blockIdx.x * BLOCK + threadIdx.x, slot = a < count ? slots[a] : DROPPED;
    if (slot == DROPPED)
        return;
    float4 atom = atoms[a];
    if (slot != LISTED)
        sorted[starts[bin_of(atom, nx, ny, nz, spacing, radius)] + slot] = atom;
    else
        list_atom(atom, overflow, taken);
}
#endif

#if defined CUTOFF_DYNAMIC || !defined CUTOFF_ONE
// The atoms of a row of bins along x (a pencil) are contiguous. A block copies CHUNK of these atoms at a time to shared
// memory.
extern "C" __global__ void __launch_bounds__(THREADS)
    cutoff_dynamic(const float4 *sorted, const u32 *starts, u32 row_count, float *energy, int nx, int ny, int nz,
                   float spacing, float radius)
{
    __shared__ float4 staged[CHUNK];
    float per_square = 1 / (radius * radius);
    int x = blockIdx.x * BIN + threadIdx.x, y = blockIdx.y * BIN + threadIdx.y * POINTS_Y,
        z = blockIdx.z * BIN + threadIdx.z * POINTS_Z;
    Points points(x, y, z, spacing);
    for (u32 r = 0; r < row_count; r++) {
        u32 packed = cutoff_near[r];
        int by = blockIdx.y + unpack(packed, 1), bz = blockIdx.z + unpack(packed, 2);
        if ((u32)by >= bins_of(ny) || (u32)bz >= bins_of(nz))
            continue;
        const u32 *row = starts + (bz * bins_of(ny) + by) * bins_of(nx);
        int from = max((int)blockIdx.x + unpack(packed, 0), 0),
            to = min((int)blockIdx.x + unpack(packed, 3) + 1, bins_of(nx));
        if (from >= to)
            continue;
        u32 begin = row[from], end = row[to];
        for (; begin < end; begin += CHUNK) {
            u32 have = min(end - begin, CHUNK);
            for (u32 i = thread_of_block(); i < have; i += THREADS)
                staged[i] = sorted[begin + i];
            __syncthreads();
#pragma unroll 4
            for (u32 i = 0; i < have; i++)
                points.add(staged[i], per_square);
            __syncthreads();
        }
    }
    points.store(energy, x, y, z, nx, ny, nz);
}
#endif

// ---- lists: each group of lanes examines only the atoms within the radius of the box of its points ----

#if defined CUTOFF_LISTS || !defined CUTOFF_ONE
// In the kernels above, a region of the size of a bin examines all atoms of the bins near it, and most of these atoms
// are too far away. Smaller regions would examine fewer atoms in vain. But smaller regions would need small bins and
// blocks of few threads, and each atom would be read more often. Here the points of a group of lanes are a small box,
// and bins may be larger than the box. A warp reads the atoms of the bins near it, 32 at a time, one per lane. The lane
// compares its atom with the box of each group of the warp. If the box is within the radius of the atom, the lane puts
// the atom on the list of this group. This takes few operations. Then each group processes its own list, which is a
// ring buffer in shared memory. All groups of a warp advance together.
enum : int {
    GROUP_X = GROUP == 32 ? 8 : 4, // number of lanes of a group along x, and along y
    GROUP_Y = GROUP / GROUP_X,
    BOX_X = GROUP_X, // points of a box along x
    BOX_Y = GROUP_Y * POINTS_Y,
    BOX_Z = POINTS_Z,
    GROUPS = WARP / GROUP,
    ALONG_X = GROUPS > 1 ? 2 : 1, // number of groups of a warp along x
    ALONG_Y = GROUPS / ALONG_X
};

// The interval of an axis from point `first` to point `last`. distance() returns the distance of a position from this
// interval.
struct Interval {
    float middle, half;

    __device__ __forceinline__ Interval(int first, int count, int points, float spacing)
    {
        float low = coordinate(first, spacing), high = coordinate(min(first + count, points) - 1, spacing);
        middle = first < points ? 0.5f * (low + high) : 1e30f; // no atom is near an interval without points
        half = 0.5f * (high - low);
    }

    __device__ __forceinline__ float distance(float at) const
    {
        return fmaxf(fabsf(at - middle) - half, 0);
    }
};

// Returns the bins of an axis within `reach` of the points `first` to `last`, as the first bin and the end of the bins.
__device__ __forceinline__ int2 bins_near(int first, int last, float reach, int points, float spacing)
{
    return make_int2(bin_along(coordinate(first, spacing) - reach, points, spacing),
                     bin_along(coordinate(min(last, points - 1), spacing) + reach, points, spacing) + 1);
}

// Returns the distance of a bin from the points `first` to `last` of an axis. A bin at the end of the lattice may also
// hold atoms from outside the lattice, but these atoms are not nearer than the bin.
__device__ __forceinline__ float bin_distance(int bin, int first, int last, float spacing)
{
    return fmaxf(fmaxf(coordinate(first, spacing) - (bin + 1) * (BIN * spacing),
                       bin * (BIN * spacing) - coordinate(last, spacing)),
                 0);
}

extern "C" __global__ void __launch_bounds__(BLOCK, PER_SM)
    cutoff_lists(const float4 *__restrict__ sorted, const u32 *__restrict__ starts, float *energy, int nx, int ny,
                 int nz, float spacing, float radius)
{
    enum : int { WARP_X = BOX_X * ALONG_X, WARP_Y = BOX_Y * ALONG_Y };
    // one more place, so that the lists of two groups begin in different banks
    __shared__ float4 lists[BLOCK / WARP][GROUPS][RING + 1];
    float square = radius * radius, per_square = 1 / square;
    int boxes_x = ceil_div(nx, WARP_X), boxes_y = ceil_div(ny, WARP_Y), boxes_z = ceil_div(nz, BOX_Z);
    u32 box = blockIdx.x * (BLOCK / WARP) + warp_id(), lane = lane_id(), group = lane / GROUP;
    if (box >= (u32)boxes_x * boxes_y * boxes_z)
        return;
    int x0 = box % boxes_x * WARP_X, y0 = box / boxes_x % boxes_y * WARP_Y, z0 = box / boxes_x / boxes_y * BOX_Z;
    int x = x0 + group % ALONG_X * BOX_X + lane % GROUP_X,
        y = y0 + group / ALONG_X * BOX_Y + lane % GROUP / GROUP_X * POINTS_Y;
    Points points(x, y, z0, spacing);
    Interval boxes_of_x[2] = {{x0, BOX_X, nx, spacing}, {x0 + BOX_X, BOX_X, nx, spacing}},
             boxes_of_y[2] = {{y0, BOX_Y, ny, spacing}, {y0 + BOX_Y, BOX_Y, ny, spacing}},
             box_z(z0, BOX_Z, nz, spacing);

    float4(*const own)[RING + 1] = lists[warp_id()];
    const float4 *const list = own[group];
    u32 head = 0, tails[GROUPS];
#pragma unroll
    for (int g = 0; g < GROUPS; g++)
        tails[g] = 0;

    // When a list is nearly full, this function processes atoms of all lists. Their number per list is the length of
    // the shortest list, or as many as make enough room. At the end (`all`) the function processes all atoms. Shorter
    // lists are then filled up with dummy atoms.
    auto go_through_lists = [&](bool all) {
        u32 least = tails[0], most = least;
#pragma unroll
        for (int g = 1; g < GROUPS; g++) {
            least = min(least, tails[g]);
            most = max(most, tails[g]);
        }
        most -= head;
        if (!all && most <= RING - WARP)
            return;
        u32 steps = (least - head) / UNROLL * UNROLL, wanted = all ? most : most - (RING - WARP);
        if (wanted > steps) {
            steps = ceil_div(wanted, UNROLL) * UNROLL;
#pragma unroll
            for (int g = 0; g < GROUPS; g++) {
                for (u32 i = tails[g] + lane; (int)(i - head - steps) < 0; i += WARP)
                    own[g][i % RING] = dummy_atom();
                tails[g] = max(tails[g] - head, steps) + head;
            }
        }
        __syncwarp();
        for (u32 i = head, end = head + steps; i != end; i += UNROLL) {
            const float4 *next = list + i % RING;
#pragma unroll
            for (u32 k = 0; k < UNROLL; k++)
                points.add(next[k], per_square);
        }
        head += steps;
        __syncwarp();
    };

    int x1 = min(x0 + WARP_X, nx) - 1, y1 = min(y0 + WARP_Y, ny) - 1, z1 = min(z0 + BOX_Z, nz) - 1;
    int2 rows_y = bins_near(y0, y1, radius, ny, spacing), rows_z = bins_near(z0, z1, radius, nz, spacing);
    int width = rows_y.y - rows_y.x, rows = width * (rows_z.y - rows_z.x);
    for (int first = 0; first < rows; first += WARP) {
        int row = first + lane, by = rows_y.x + row % width, bz = rows_z.x + row / width;
        float dy = bin_distance(by, y0, y1, spacing), dz = bin_distance(bz, z0, z1, spacing),
              rest = square - dy * dy - dz * dz;
        u32 begin = 0, count = 0;
        if (row < rows && rest > 0) { // each lane has one row of bins, whose atoms are contiguous
            int2 bins = bins_near(x0, x1, sqrtf(rest), nx, spacing);
            const u32 *at = starts + (bz * bins_of(ny) + by) * bins_of(nx);
            begin = at[bins.x];
            count = at[bins.y] - begin;
        }
        u32 scanned = warp_scan<Plus<u32>>(count), total = __shfl_sync(ALL_LANES, scanned, WARP - 1);
        begin -= scanned - count;
        for (u32 done = 0; done < total; done += WARP) { // each lane has one atom, which may be from any row
            u32 atom_number = done + lane, of = 0;
#pragma unroll
            for (u32 step = WARP / 2; step > 0; step /= 2)
                of += __shfl_sync(ALL_LANES, scanned, of + step - 1) <= atom_number ? step : 0;
            u32 from = __shfl_sync(ALL_LANES, begin, of);
            bool there = atom_number < total;
            float4 atom = there ? sorted[from + atom_number] : dummy_atom();
            float away_z = box_z.distance(atom.z), along_z = away_z * away_z;
#pragma unroll
            for (int g = 0; g < GROUPS; g++) {
                float away_x = boxes_of_x[g % ALONG_X].distance(atom.x),
                      away_y = boxes_of_y[g / ALONG_X].distance(atom.y);
                bool near = fmaf(away_x, away_x, fmaf(away_y, away_y, along_z)) < square;
                u32 mask = __ballot_sync(ALL_LANES, near);
                if (near)
                    own[g][(tails[g] + __popc(mask & ((1u << lane) - 1))) % RING] = atom;
                tails[g] += __popc(mask);
            }
            go_through_lists(false);
        }
    }
    go_through_lists(true);
    points.store(energy, x, y, z0, nx, ny, nz);
}
#endif
