// cutoff.cu - the electrostatic potential of atoms within a radius, smoothed at the edge, at every point of a lattice.
//
// The lattice has nx x ny x nz points, x fastest; point i lies at i * spacing (rounded to single precision) in each
// direction. An atom is a float4: its place and its charge. At a distance r below the radius it adds
// charge (1 - r^2 / radius^2)^2 / r. So a point needs few of the atoms, and to look at few others is all the art: atoms
// lie in bins, and a region of neighbouring points looks at the bins near it.
//
// What the answer is: sums in single precision. A point on which an atom lies has an infinite potential of the charge's
// sign: NaN where the charge is 0, or where two infinities of different sign meet; nearer than about 1e-19 counts as on
// it. An atom with a charge that is not finite is in no bin: it goes to the overflow list, so that it reaches the points
// within its radius alone. An atom whose place is not finite, or from which no point is near, is left out. Atoms outside
// of the lattice go to the bin nearest to them. Where kernels make the bins, atoms lie in a bin as they come, and the
// last bits of sums differ from run to run; where the host makes them they do not. A radius of 0 gives 0.
//
// The tuning parameters are macros. A spec sets them; the defaults are for an editor or a compiler that is given none.
// A kernel is compiled where its own macro CUTOFF_<NAME> is set, or where CUTOFF_ONE is not.

#include "common.cuh"

#ifndef BLOCK
#define BLOCK 256 // threads of a block, where that is free
#endif
#ifndef BIN
#define BIN 8 // lattice points along the side of a bin
#endif
#ifndef CAPACITY
#define CAPACITY 64 // constant bins: atoms that a bin has room for
#endif
#ifndef TEST_FIRST
#define TEST_FIRST 1 // whether a bin is looked at before it is asked for a place by an atomic
#endif
#ifndef DUMMIES
#define DUMMIES 0 // constant bins: whether unused places hold atoms that add nothing; if not, counts are read
#endif
#ifndef STAGED
#define STAGED 1 // constant bins: bins in shared memory at a time
#endif
#ifndef CHUNK
#define CHUNK 128 // dynamic bins: atoms in shared memory at a time
#endif
#ifndef POINTS_Y
#define POINTS_Y 1 // points of a thread along y, along z
#endif
#ifndef POINTS_Z
#define POINTS_Z 4
#endif

typedef unsigned u32;

enum : u32 { DROPPED = 0xffffffff, LISTED = 0xfffffffe }; // in place of a bin

// ---- atoms and points ----

__device__ __forceinline__ float coordinate(int i, float spacing)
{
    return __fmul_rn((float)i, spacing);
}

// One instruction of the special-function unit, within 2^-22.9 of the value; a number that is not normal counts as 0.
__device__ __forceinline__ float inverse_root(float x)
{
    float root;
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(root) : "f"(x));
    return root;
}

// Beyond the radius the smoothing factor is cut off at 0: no branch is needed. `per_square` is 1 / radius^2.
__device__ __forceinline__ float potential(float charge, float r2, float per_square)
{
    float s = __saturatef(fmaf(r2, -per_square, 1));
    return charge * (s * s) * inverse_root(r2);
}

// An atom that adds 0 at every point.
__device__ __forceinline__ float4 dummy_atom()
{
    return make_float4(1e18f, 1e18f, 1e18f, 0);
}

__device__ __forceinline__ offset place(int x, int y, int z, int nx, int ny)
{
    return ((offset)z * ny + y) * nx + x;
}

// The points of a thread: at one x, POINTS_Y along y and POINTS_Z along z. What x and y contribute to the square of the
// distance is made once for all points that share them.
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
    return points > 0 && at > -radius && at < (points - 1) * spacing + radius; // not where `at` is NaN
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

// A place in a bin: CAPACITY or more where it is full. All atoms of a crowded bin go through one address, one after the
// other; a look at the count before spares those that come too late.
__device__ __forceinline__ u32 place_in_bin(u32 *counts, u32 bin)
{
    if (TEST_FIRST && *(volatile u32 *)(counts + bin) >= CAPACITY)
        return CAPACITY;
    return atomicAdd(counts + bin, 1);
}

#if defined CUTOFF_BIN || !defined CUTOFF_ONE
// One launch: a thread an atom takes a place in its bin and stores the atom there, or in the overflow list.
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
// The same in two: first the counts and each atom's place.
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
// Fills what bins have left with dummies: then nobody has to read counts, and all loops are equally long.
extern "C" __global__ void __launch_bounds__(BLOCK) cutoff_dummies(float4 *bins, const u32 *counts, offset slots)
{
    offset i = grid_thread<BLOCK>();
    if (i < slots && i % CAPACITY >= counts[i / CAPACITY])
        bins[i] = dummy_atom();
}
#endif

#if defined CUTOFF_OVERFLOW || !defined CUTOFF_ONE
// How many points of an axis to look at, from `first` on: one more on each side than rounding would need.
__device__ __forceinline__ int points_near(float at, int points, float spacing, float radius, int &first)
{
    first = (int)fmaxf(ceilf((at - radius) / spacing) - 1, 0);
    return (int)fminf(floorf((at + radius) / spacing) + 2, (float)points) - first;
}

// A block an atom of the list adds to all points within its radius, by atomics, which take denormal numbers for 0. The
// test is exact: charges that are not finite stay within their radius.
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

// ---- constant bins: a region of points is as large as a bin ----

enum : u32 {
    THREADS_Y = BIN / POINTS_Y,
    THREADS_Z = BIN / POINTS_Z,
    THREADS = BIN * THREADS_Y * THREADS_Z // of a block: the points of a region
};

// What a thread of a block in three dimensions counts as.
__device__ __forceinline__ u32 thread_of_block()
{
    return (threadIdx.z * THREADS_Y + threadIdx.y) * BIN + threadIdx.x;
}

// Which bins are near a region, by their distance in bins; all regions have the same. A byte for each axis, 128 added. Of
// dynamic bins: rows of such bins along x, whose last is in the fourth byte.
__constant__ u32 cutoff_near[16000];

__device__ __forceinline__ int unpack(u32 packed, u32 axis)
{
    return (int)(packed >> 8 * axis & 255) - 128;
}

#if defined CUTOFF_CONSTANT || defined CUTOFF_WALKING || !defined CUTOFF_ONE
// The block brings STAGED bins at a time to shared memory, and each thread goes through all of their atoms.
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
// A block a region.
extern "C" __global__ void __launch_bounds__(THREADS)
    cutoff_constant(const float4 *bins, const u32 *counts, u32 offset_count, float *energy, int nx, int ny, int nz,
                    float spacing, float radius)
{
    int3 region = make_int3(blockIdx.x, blockIdx.y, blockIdx.z);
    sum_region(region, bins, counts, offset_count, energy, nx, ny, nz, spacing, radius);
}
#endif

#if defined CUTOFF_WALKING || !defined CUTOFF_ONE
// As many blocks as the multiprocessors hold, each of which walks from region to region.
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

// ---- dynamic bins: atoms sorted by bin, as many in each as there are ----

#if defined CUTOFF_SORT || !defined CUTOFF_ONE
enum : u32 { ITEMS = 8 }; // bins of a thread

// Adds up the counts of a block's bins.
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

// starts[b]: the atoms in bins before b. Blocks are few, so each adds up the sums of those before it.
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
        if (first + i <= bins) // one more than there are bins: the end of the last
            starts[first + i] = start;
        start += own[i];
    }
}

// The atoms to their bins.
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
// The atoms of a row of bins lie together (a pencil): a block brings CHUNK of them at a time to shared memory.
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
