// dcs.cu - direct Coulomb summation: the electrostatic potential of many atoms at every point of a lattice.
//
// The lattice has nx x ny x nz points. Neighbouring points along x are neighbours in memory. Along each axis, point i
// is at i * spacing, rounded to single precision. An atom is a float4: its position and its charge. The potential at a
// point is the sum of charge / distance over all atoms, without a cutoff. A pair of an atom and a point needs a
// reciprocal square root and few other operations. Therefore the special-function units are the bound. From sm_70 on
// they do 16 operations per clock and multiprocessor. The kernels dcs_newton and dcs_shared_root exceed this bound.
//
// The result is a sum in single precision for each point. The atoms are added in their order. All kernels except
// dcs_scatter_atomic give the same bits in every run. If an atom is exactly at a point, the potential at this point is
// an infinity with the sign of the charge. The potential is NaN if the charge is 0, or if two infinities of different
// sign are added. A distance below about 1e-19 counts as 0, because its square is not a normal number. From about 1e19
// on, the square of a distance is infinite, so the distance counts as infinite. If a coordinate of an atom is NaN, all
// results are NaN.
//
// The tuning parameters are macros. The engine defines these macros from the spec. The defaults below only let an
// editor or a compiler parse this file alone. A kernel is compiled if its own macro DCS_<NAME> is set, or if DCS_ONE is
// not set.

#include "common.cuh"

#ifndef BLOCK
#define BLOCK 128 // dcs_scatter_atomic, dcs_newton: number of threads of a block
#endif
#ifndef BLOCK_X
#define BLOCK_X 32 // number of threads of a block along x (BLOCK_X) and along y (BLOCK_Y)
#endif
#ifndef BLOCK_Y
#define BLOCK_Y 4
#endif
#ifndef CHUNK
#define CHUNK 4096 // number of atoms in constant memory, which has room for 4096
#endif
#ifndef POINTS
#define POINTS 8 // number of points along x that each thread has
#endif
#ifndef UNROLL
#define UNROLL 4 // dcs_unrolled, dcs_newton: number of atoms that are added per iteration of the loop
#endif
#ifndef POINTS_Y
#define POINTS_Y 2 // dcs_newton: number of points along y that each thread has; along x it has POINTS
#endif
#ifndef NEWTON
#define NEWTON 2 // dcs_newton: number of a thread's POINTS * POINTS_Y points that use Newton's iteration
#endif
#ifndef STAGE
#define STAGE 512 // dcs_newton, dcs_shared_root: number of atoms that are in shared memory at a time
#endif
#ifndef ROWS
#define ROWS 2 // dcs_shared_root: number of groups of three points along y that each thread has; along x it has POINTS
#endif
#ifndef OWN
#define OWN 0 // dcs_shared_root: number of the POINTS columns along x whose points have separate roots
#endif
#ifndef SPLITS
#define SPLITS 1 // dcs_shared_root: number of parts into which the atoms are divided; separate blocks process the parts
#endif
#ifndef PER_SM
#define PER_SM 4 // dcs_shared_root: minimum number of blocks whose registers must fit on a multiprocessor
#endif

__device__ __forceinline__ float coordinate(int i, float spacing)
{
    return __fmul_rn((float)i, spacing);
}

// Returns 1 / sqrt(x) by one instruction of the special-function unit, with a relative error below 2^-22.9. The
// function rsqrtf() is this instruction, two multiplications and a comparison, which scale denormal numbers. Here a
// denormal number counts as 0 and gives an infinity.
__device__ __forceinline__ float inverse_root(float x)
{
    float root;
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(root) : "f"(x));
    return root;
}

__device__ __forceinline__ float potential(float4 atom, float x, float y, float z)
{
    float dx = x - atom.x, dy = y - atom.y, dz = z - atom.z;
    return atom.w * inverse_root(dx * dx + (dy * dy + dz * dz));
}

__device__ __forceinline__ offset place(int x, int y, int z, int nx, int ny)
{
    return ((offset)z * ny + y) * nx + x;
}

#if defined DCS_SCATTER_ATOMIC || !defined DCS_ONE
// A thread processes one atom and one slice of the lattice, and adds to every point of the slice. All lanes of a warp
// add to the same point at the same time. So their additions are serialised, and the order of the additions differs
// from run to run. Atomics treat denormal numbers as 0.
extern "C" __global__ void __launch_bounds__(BLOCK)
    dcs_scatter_atomic(const float4 *atoms, unsigned count, float *energy, int nx, int ny, float spacing)
{
    unsigned a = blockIdx.x * BLOCK + threadIdx.x;
    int z = blockIdx.y;
    if (a >= count)
        return;
    float4 atom = atoms[a];
    for (int y = 0; y < ny; y++)
        for (int x = 0; x < nx; x++)
            atomicAdd(&energy[place(x, y, z, nx, ny)],
                      potential(atom, coordinate(x, spacing), coordinate(y, spacing), coordinate(z, spacing)));
}
#endif

#if defined DCS_GATHER || !defined DCS_ONE
// Each thread computes one point. The thread reads all atoms and writes its point once. Threads share no results, so
// the kernel needs no atomics.
extern "C" __global__ void __launch_bounds__(BLOCK_X * BLOCK_Y)
    dcs_gather(const float4 *atoms, unsigned count, float *energy, int nx, int ny, float spacing)
{
    int x = blockIdx.x * BLOCK_X + threadIdx.x, y = blockIdx.y * BLOCK_Y + threadIdx.y, z = blockIdx.z;
    if (x >= nx || y >= ny)
        return;
    float sum = 0, px = coordinate(x, spacing), py = coordinate(y, spacing), pz = coordinate(z, spacing);
    for (unsigned a = 0; a < count; a++)
        sum += potential(atoms[a], px, py, pz);
    energy[place(x, y, z, nx, ny)] = sum;
}
#endif

// ---- atoms in constant memory, one chunk per launch ----

// All lanes of a warp read the same atom. Constant memory suits this access: the atom is an operand of an instruction,
// and needs no load. Each launch adds to the results of the launches before it.
__constant__ float4 dcs_chunk[CHUNK];

#if defined DCS_GATHER_CONSTANT || !defined DCS_ONE
extern "C" __global__ void __launch_bounds__(BLOCK_X * BLOCK_Y)
    dcs_gather_constant(unsigned count, float *energy, int nx, int ny, float spacing)
{
    int x = blockIdx.x * BLOCK_X + threadIdx.x, y = blockIdx.y * BLOCK_Y + threadIdx.y, z = blockIdx.z;
    if (x >= nx || y >= ny)
        return;
    float sum = 0, px = coordinate(x, spacing), py = coordinate(y, spacing), pz = coordinate(z, spacing);
    for (unsigned a = 0; a < count; a++)
        sum += potential(dcs_chunk[a], px, py, pz);
    energy[place(x, y, z, nx, ny)] += sum;
}
#endif

// The points of a thread. They begin at x, are `stride` apart, and lie in row y of slice z.
struct Run {
    int x, stride, y, z;
};

__device__ __forceinline__ Run neighbours()
{
    return {(int)(blockIdx.x * BLOCK_X + threadIdx.x) * POINTS, 1, (int)(blockIdx.y * BLOCK_Y + threadIdx.y),
            (int)blockIdx.z};
}

__device__ __forceinline__ Run block_apart()
{
    return {(int)(blockIdx.x * BLOCK_X * POINTS + threadIdx.x), BLOCK_X, (int)(blockIdx.y * BLOCK_Y + threadIdx.y),
            (int)blockIdx.z};
}

// Computes the sums at the points of a run. The contribution of y and z to the square of the distance is computed once
// for all its points.
template <unsigned unroll>
__device__ __forceinline__ void sum_up(float sums[POINTS], unsigned count, const Run &run, float spacing)
{
    float x[POINTS], y = coordinate(run.y, spacing), z = coordinate(run.z, spacing);
#pragma unroll
    for (int k = 0; k < POINTS; k++)
        x[k] = coordinate(run.x + k * run.stride, spacing);
#pragma unroll unroll
    for (unsigned a = 0; a < count; a++) {
        float4 atom = dcs_chunk[a];
        float dy = y - atom.y, dz = z - atom.z, rest = dy * dy + dz * dz;
#pragma unroll
        for (int k = 0; k < POINTS; k++) {
            float dx = x[k] - atom.x;
            sums[k] += atom.w * inverse_root(dx * dx + rest);
        }
    }
}

__device__ __forceinline__ void coarsened(unsigned count, float *energy, int nx, int ny, float spacing, const Run &run)
{
    if (run.y >= ny)
        return;
    float sums[POINTS] = {};
    sum_up<1>(sums, count, run, spacing);
#pragma unroll
    for (int k = 0; k < POINTS; k++)
        if (run.x + k * run.stride < nx)
            energy[place(run.x + k * run.stride, run.y, run.z, nx, ny)] += sums[k];
}

#if defined DCS_COARSENED || !defined DCS_ONE
// Each thread has POINTS neighbouring points along x. It reads each atom once for all these points, and the points
// share half of the arithmetic. But the lanes of a warp access elements of the lattice that are POINTS apart.
extern "C" __global__ void __launch_bounds__(BLOCK_X * BLOCK_Y)
    dcs_coarsened(unsigned count, float *energy, int nx, int ny, float spacing)
{
    coarsened(count, energy, nx, ny, spacing, neighbours());
}
#endif

#if defined DCS_COARSENED_COALESCED || !defined DCS_ONE
// The points of a thread are BLOCK_X apart, so the lanes of a warp access neighbouring points.
extern "C" __global__ void __launch_bounds__(BLOCK_X * BLOCK_Y)
    dcs_coarsened_coalesced(unsigned count, float *energy, int nx, int ny, float spacing)
{
    coarsened(count, energy, nx, ny, spacing, block_apart());
}
#endif

// ---- a lattice that is padded to whole blocks: nx and ny are the padded sizes ----

#if defined DCS_PADDED || !defined DCS_ONE
// No thread tests whether its points are inside the lattice, and rows begin at multiples of a sector. The kernel
// dcs_crop copies the points of the lattice to the result.
extern "C" __global__ void __launch_bounds__(BLOCK_X * BLOCK_Y)
    dcs_padded(unsigned count, float *energy, int nx, int ny, float spacing)
{
    Run run = block_apart();
    float sums[POINTS] = {}, *to = energy + place(run.x, run.y, run.z, nx, ny);
    sum_up<1>(sums, count, run, spacing);
#pragma unroll
    for (int k = 0; k < POINTS; k++)
        to[k * BLOCK_X] += sums[k];
}
#endif

template <unsigned unroll>
__device__ __forceinline__ void read_first(unsigned count, float *energy, int nx, int ny, float spacing)
{
    Run run = block_apart();
    float sums[POINTS] = {}, before[POINTS], *to = energy + place(run.x, run.y, run.z, nx, ny);
#pragma unroll
    for (int k = 0; k < POINTS; k++)
        before[k] = to[k * BLOCK_X];
    sum_up<unroll>(sums, count, run, spacing);
#pragma unroll
    for (int k = 0; k < POINTS; k++)
        to[k * BLOCK_X] = before[k] + sums[k];
}

#if defined DCS_PREFETCH || !defined DCS_ONE
// Reads the results of the previous launch before the atoms instead of after them. These results arrive while the atoms
// are added. Meanwhile they take POINTS registers.
extern "C" __global__ void __launch_bounds__(BLOCK_X * BLOCK_Y)
    dcs_prefetch(unsigned count, float *energy, int nx, int ny, float spacing)
{
    read_first<1>(count, energy, nx, ny, spacing);
}
#endif

#if defined DCS_UNROLLED || !defined DCS_ONE
// Each iteration of the loop adds UNROLL atoms. So there are fewer branches and fewer additions to the counter, and
// more special functions are in flight.
extern "C" __global__ void __launch_bounds__(BLOCK_X * BLOCK_Y)
    dcs_unrolled(unsigned count, float *energy, int nx, int ny, float spacing)
{
    read_first<UNROLL>(count, energy, nx, ny, spacing);
}
#endif

#if defined DCS_PADDED || defined DCS_PREFETCH || defined DCS_UNROLLED || !defined DCS_ONE
extern "C" __global__ void __launch_bounds__(BLOCK_X * BLOCK_Y)
    dcs_crop(const float *padded, float *energy, int padded_nx, int padded_ny, int nx, int ny)
{
    int x = blockIdx.x * BLOCK_X + threadIdx.x, y = blockIdx.y * BLOCK_Y + threadIdx.y, z = blockIdx.z;
    if (x < nx && y < ny)
        energy[place(x, y, z, nx, ny)] = padded[place(x, y, z, padded_nx, padded_ny)];
}
#endif

// ---- some of the roots without the special-function unit ----

#if defined DCS_NEWTON || !defined DCS_ONE

enum : unsigned { TILE_POINTS = POINTS * POINTS_Y };

// This constant is added to every square of a distance, so that no square is 0, for which Newton's iteration would give
// NaN. The constant matters only if a point is within 1e-15 of an atom. The kernel dcs_on_point corrects these points.
#define TINY 0x1p-126f

// Returns the reciprocal square root without the special-function unit. A shift of the number's bits halves the
// exponent, and then two steps of Newton's iteration follow. A step in the form y (3 - x y^2) scales the result by a
// factor. The factors are applied once at the end (NEWTON_FACTOR). Therefore the root needs only 6 instructions of the
// fp32 pipes and 2 of the integer pipe. The first two constants are from L. Moroz and others, "Fast calculation of
// inverse square root with the use of magic constant", 2018. The third constant was found by search. Over all normal
// numbers the relative error is below 4.3e-7. The relative error of the special-function unit is below 1.3e-7.
#define NEWTON_FACTOR 0.174416467f

__device__ __forceinline__ float newton_root(float x)
{
    float y = __uint_as_float(0x5f1ffff9u - (__float_as_uint(x) >> 1));
    y *= __fmaf_rn(-x, y * y, 2.38926005f);
    return y * __fmaf_rn(-x, y * y, 6.05400848f);
}

// Returns whether point k of a thread's tile uses Newton's iteration. These NEWTON points are spread evenly among the
// others, so that both kinds of pipe always have work.
__host__ __device__ constexpr bool takes_newton(unsigned k)
{
    return (k + 1) * NEWTON / TILE_POINTS != k * NEWTON / TILE_POINTS;
}

// Gives an atom at infinite distance the charge 0, because Newton's iteration would make NaN of an infinite square.
__device__ __forceinline__ float4 usable(float4 atom)
{
    float reach = fabsf(atom.x) + fabsf(atom.y) + fabsf(atom.z);
    return reach < 0x1p62f ? atom : make_float4(0, 0, 0, atom.w * __fdividef(0, reach));
}

// Each thread has a tile of POINTS x POINTS_Y points, which are 32 apart along x and neighbours along y. The squares
// along x and along y are computed once per tile. So a pair of an atom and a point takes an addition, the root, and a
// multiply-add. The special-function unit accepts a warp's root every 8 clocks. In these 8 clocks, 8 instructions can
// be issued. A pair whose root comes from the unit needs 4 of them. A pair whose root comes from Newton's iteration
// takes 10 instructions. So about a quarter of a tile's points can use Newton's iteration while the unit works for the
// others.
extern "C" __global__ void __launch_bounds__(BLOCK)
    dcs_newton(const float4 *atoms, unsigned count, float *energy, int nx, int ny, float spacing)
{
    __shared__ float4 stage[STAGE];
    int x = blockIdx.x * WARP * POINTS + lane_id(), y = (blockIdx.y * (BLOCK / WARP) + warp_id()) * POINTS_Y;
    int z = blockIdx.z;
    float px[POINTS], py[POINTS_Y], pz = coordinate(z, spacing), sums[POINTS_Y][POINTS] = {};
#pragma unroll
    for (int i = 0; i < POINTS; i++)
        px[i] = coordinate(x + i * WARP, spacing);
#pragma unroll
    for (int j = 0; j < POINTS_Y; j++)
        py[j] = coordinate(y + j, spacing);
    for (unsigned first = 0; first < count; first += STAGE) {
        unsigned here = min((unsigned)STAGE, count - first), whole = ceil_div(here, (unsigned)UNROLL) * UNROLL;
        __syncthreads();
        for (unsigned a = threadIdx.x; a < whole; a += BLOCK)
            stage[a] = a < here ? usable(atoms[first + a]) : make_float4(0, 0, 0, 0);
        __syncthreads();
        for (unsigned turn = 0; turn < whole; turn += UNROLL) {
#pragma unroll
            for (unsigned u = 0; u < UNROLL; u++) {
                float4 atom = stage[turn + u];
                float dz = pz - atom.z, rest = __fmaf_rn(dz, dz, TINY), dx2[POINTS];
#pragma unroll
                for (int i = 0; i < POINTS; i++)
                    dx2[i] = (px[i] - atom.x) * (px[i] - atom.x);
#pragma unroll
                for (int j = 0; j < POINTS_Y; j++) {
                    float dy = py[j] - atom.y, dyz2 = __fmaf_rn(dy, dy, rest);
#pragma unroll
                    for (int i = 0; i < POINTS; i++) {
                        float square = __fadd_rn(dx2[i], dyz2);
                        bool newton = takes_newton(j * POINTS + i);
                        sums[j][i] += atom.w * (newton ? newton_root(square) : inverse_root(square));
                    }
                }
            }
        }
    }
#pragma unroll
    for (int j = 0; j < POINTS_Y; j++)
#pragma unroll
        for (int i = 0; i < POINTS; i++) {
            float factor = takes_newton(j * POINTS + i) ? NEWTON_FACTOR : 1;
            if (x + i * WARP < nx && y + j < ny)
                energy[place(x + i * WARP, y + j, z, nx, ny)] = factor * sums[j][i];
        }
}

// Each thread processes one atom. If an atom is at a point or very near to it, the square that dcs_newton used was too
// large by TINY. This kernel adds the difference to the result of the point. If the distance is 0, the result becomes
// an infinity.
extern "C" __global__ void __launch_bounds__(BLOCK)
    dcs_on_point(const float4 *atoms, unsigned count, float *energy, int nx, int ny, int nz, float spacing)
{
    unsigned a = blockIdx.x * BLOCK + threadIdx.x;
    if (a >= count)
        return;
    float4 atom = atoms[a];
    float x = rintf(atom.x / spacing), y = rintf(atom.y / spacing), z = rintf(atom.z / spacing);
    if (!(x >= 0 && x < nx && y >= 0 && y < ny && z >= 0 && z < nz))
        return;
    float dx = coordinate((int)x, spacing) - atom.x, dy = coordinate((int)y, spacing) - atom.y,
          dz = coordinate((int)z, spacing) - atom.z, square = dx * dx + (dy * dy + dz * dz);
    if (square < 0x1p-100f)
        atomicAdd(&energy[place((int)x, (int)y, (int)z, nx, ny)],
                  atom.w * (inverse_root(square) - inverse_root(square + TINY)));
}
#endif

// ---- three points share one root ----

#if defined DCS_SHARED_ROOT || !defined DCS_ONE

// Let h be the distance between neighbouring points among three points of a column. Let d be the distance along y from
// an atom to the middle point. Let D be the square of the whole distance from the atom to the middle point, plus h^2.
// Then the squares of the three distances are D - h^2 and D +- 2 h d. All three roots follow from y = 1 / sqrt(D)
// alone:
//     1 / sqrt(D - h^2)        = y (1 - h^2 y^2)^(-1/2),
//     1 / sqrt(D +- 2 h d)     = y (1 +- e)^(-1/2),  e = 2 h d y^2,
// The roots are computed by short series. These need small |e| and (h y)^2, that is, distant atoms. The even part and
// the odd part of the second series are summed separately. So the two outer points cost little more than one point.
// Therefore 14 instructions compute three pairs of an atom and a point, and only one of these instructions uses the
// special-function unit. The coefficients of the series are minimax for |e| <= FAR and h y <= FAR / 2. Errors are below
// 2e-7, about as large as the error of the root itself.
#define FAR (1.0f / 12)
#define EVEN_2 0.374994881f
#define EVEN_4 0.275697539f
#define ODD_1 0.499998508f
#define ODD_3 0.314217870f
#define MIDDLE 0.50054f

enum : unsigned { SHARED = POINTS - OWN, TILE_ROWS = 3 * ROWS };

// The positions of a thread's rows along y, and the intended distance of neighbouring points of a group.
struct Tile {
    float x[POINTS], y[TILE_ROWS], z, spacing;

    // Returns whether the series is exact enough for an atom in all groups of rows, regardless of the atom's place
    // along x. Both passes must get the same result, so the compiler must not contract operations here.
    __device__ __forceinline__ bool is_far(float4 atom) const
    {
        float dz = atom.z - z, dz2 = __fmul_rn(dz, dz);
        bool far = true;
#pragma unroll
        for (int g = 0; g < ROWS; g++) {
            float dy = y[3 * g + 1] - atom.y, least = __fmaf_rn(dy, dy, dz2);
            far = far && least < 1e30f && fabsf(__fmul_rn(2 / FAR * spacing, dy)) < least &&
                  __fmul_rn(4 / (FAR * FAR) * spacing, spacing) < least;
        }
        return far;
    }
};

// Adds an atom that is far from the warp's rows. The atoms are in shared memory.
__device__ __forceinline__ void add_far(const Tile &tile, float4 atom, float sums[TILE_ROWS][POINTS])
{
    float h2 = tile.spacing * tile.spacing, dz = tile.z - atom.z, rest = dz * dz, base[ROWS], slope[ROWS];
    float own[TILE_ROWS];
#pragma unroll
    for (int g = 0; g < ROWS; g++) {
        float dy = tile.y[3 * g + 1] - atom.y;
        base[g] = __fmaf_rn(dy, dy, rest + h2);
        slope[g] = 2 * tile.spacing * dy;
    }
    if (OWN > 0) {
#pragma unroll
        for (int j = 0; j < TILE_ROWS; j++)
            own[j] = __fmaf_rn(tile.y[j] - atom.y, tile.y[j] - atom.y, rest);
    }
#pragma unroll
    for (int i = 0; i < POINTS; i++) {
        float dx2 = (tile.x[i] - atom.x) * (tile.x[i] - atom.x);
        if (i >= SHARED) {
#pragma unroll
            for (int j = 0; j < TILE_ROWS; j++)
                sums[j][i] += atom.w * inverse_root(__fadd_rn(dx2, own[j]));
            continue;
        }
#pragma unroll
        for (int g = 0; g < ROWS; g++) {
            float root = inverse_root(__fadd_rn(dx2, base[g])), q = root * root, charge = atom.w * root;
            float e = slope[g] * q, u = e * e;
            sums[3 * g + 1][i] = __fmaf_rn(charge, __fmaf_rn(q, MIDDLE * h2, 1), sums[3 * g + 1][i]);
            sums[3 * g][i] = __fmaf_rn(charge, __fmaf_rn(u, __fmaf_rn(u, EVEN_4, EVEN_2), 1), sums[3 * g][i]);
            sums[3 * g + 2][i] = __fmaf_rn(charge * e, __fmaf_rn(u, ODD_3, ODD_1), sums[3 * g + 2][i]);
        }
    }
}

// Computes the outer points from the even and odd sums. The distance of these points from the middle point is not
// exactly `spacing`, because coordinates are rounded. The odd sum is the slope, which corrects this.
__device__ __forceinline__ void make_points(const Tile &tile, float sums[TILE_ROWS][POINTS])
{
#pragma unroll
    for (int g = 0; g < ROWS; g++) {
        float below = (tile.y[3 * g + 1] - tile.y[3 * g]) / tile.spacing,
              above = (tile.y[3 * g + 2] - tile.y[3 * g + 1]) / tile.spacing;
#pragma unroll
        for (int i = 0; i < SHARED; i++) {
            float even = sums[3 * g][i], odd = sums[3 * g + 2][i];
            sums[3 * g][i] = __fmaf_rn(below, odd, even);
            sums[3 * g + 2][i] = __fmaf_rn(-above, odd, even);
        }
    }
}

__device__ __forceinline__ void add_near(const Tile &tile, float4 atom, float sums[TILE_ROWS][POINTS])
{
    float dz = tile.z - atom.z, across[TILE_ROWS];
#pragma unroll
    for (int j = 0; j < TILE_ROWS; j++)
        across[j] = __fmaf_rn(tile.y[j] - atom.y, tile.y[j] - atom.y, dz * dz);
#pragma unroll
    for (int i = 0; i < POINTS; i++) {
        float dx2 = (tile.x[i] - atom.x) * (tile.x[i] - atom.x);
#pragma unroll
        for (int j = 0; j < TILE_ROWS; j++)
            sums[j][i] += atom.w * inverse_root(__fadd_rn(dx2, across[j]));
    }
}

// Each thread has a tile of POINTS x (3 * ROWS) points, which are 32 apart along x and neighbours along y. First the
// series adds all atoms that are far from a warp's rows. Then the other atoms are added with a separate root for each
// point. Such large tiles leave few blocks. If a lattice is small, SPLITS blocks share a tile. Each of these blocks has
// a part of the atoms, and its own sums.
extern "C" __global__ void __launch_bounds__(BLOCK, PER_SM)
    dcs_shared_root(const float4 *atoms, unsigned all_atoms, float *energy, float *parts, int nx, int ny, int nz,
                    float spacing)
{
    __shared__ float4 stage[STAGE];
    unsigned part = blockIdx.x % SPLITS, each = ceil_div(all_atoms, (unsigned)SPLITS);
    unsigned begin = min(part * each, all_atoms), count = min(each, all_atoms - begin);
    int x = blockIdx.x / SPLITS * WARP * POINTS + lane_id(), y = (blockIdx.y * (BLOCK / WARP) + warp_id()) * TILE_ROWS;
    float sums[TILE_ROWS][POINTS] = {};
    float *to = SPLITS > 1 ? parts + (offset)part * nx * ny * nz : energy;
    Tile tile;
    tile.z = coordinate(blockIdx.z, spacing);
    tile.spacing = spacing;
#pragma unroll
    for (int i = 0; i < POINTS; i++)
        tile.x[i] = coordinate(x + i * WARP, spacing);
#pragma unroll
    for (int j = 0; j < TILE_ROWS; j++)
        tile.y[j] = coordinate(y + j, spacing);
#pragma unroll 1
    for (int far = 1; far >= 0; far--) {
#pragma unroll 1
        for (unsigned first = 0; first < count; first += STAGE) {
            unsigned here = min((unsigned)STAGE, count - first);
            bool finite = true;
            __syncthreads();
            for (unsigned a = threadIdx.x; a < here; a += BLOCK) {
                stage[a] = atoms[begin + first + a];
                finite = finite && fabsf(stage[a].w) < 1e30f;
            }
            finite = __syncthreads_and(finite); // a charge that is not finite cannot be added by the series
#pragma unroll 1
            for (unsigned group = 0; group < here; group += WARP) {
                unsigned a = group + lane_id();
                unsigned mask = __ballot_sync(ALL_LANES, a < here && (finite && tile.is_far(stage[a])) == far);
                const float4 *atom = stage + group;
                if (far) {
#pragma unroll 1
                    for (; mask != 0; mask >>= 1, atom++)
                        if (mask & 1)
                            add_far(tile, *atom, sums);
                } else {
#pragma unroll 1
                    for (; mask != 0; mask >>= 1, atom++)
                        if (mask & 1)
                            add_near(tile, *atom, sums);
                }
            }
        }
        if (far)
            make_points(tile, sums);
    }
#pragma unroll
    for (int j = 0; j < TILE_ROWS; j++)
#pragma unroll
        for (int i = 0; i < POINTS; i++)
            if (x + i * WARP < nx && y + j < ny)
                to[place(x + i * WARP, y + j, blockIdx.z, nx, ny)] = sums[j][i];
}

extern "C" __global__ void __launch_bounds__(BLOCK) dcs_add_parts(const float *parts, float *energy, offset points)
{
    offset p = grid_thread<BLOCK>();
    if (p >= points)
        return;
    float sum = 0;
#pragma unroll
    for (int part = 0; part < SPLITS; part++)
        sum += parts[part * points + p];
    energy[p] = sum;
}
#endif
