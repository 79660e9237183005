// stencil.cu - computes an explicit step of the heat equation on a grid of NX x NY x NZ points in seven ways, in single
// precision.
//
//     out = centre / 4 + (left + right + up + down + below + above) / 8
//
// Points outside the grid count as zero. In memory, neighbours along x are neighbours, and neighbours along z are a
// plane apart. The two factors are powers of two. So only the six additions round, and products that are denormal. All
// kernels add in the same order, so their results have the same bits.
//
// Seven threads read each point, but memory needs to deliver it only once. So the least traffic is 8 bytes per point:
// one read and one write. The kernels differ in the memory that serves the other six reads: the L2, the L1, shared
// memory or registers.
//
// All sizes below 2^31 are legal, including 0. No size has to be a multiple of a tile. Offsets have 64 bits. Blocks are
// numbered in one dimension, first along x. So blocks that run at the same time are neighbours.
//
// The tuning parameters are macros. The engine defines these macros from the spec. The defaults below only let an
// editor or a compiler parse this file alone. A kernel is compiled if its own macro STENCIL_<NAME> is set, or if
// STENCIL_ONE is not set.

#include "common.cuh"

#ifndef BLOCK_X
#define BLOCK_X 32 // number of threads of a block along x
#endif
#ifndef BLOCK_Y
#define BLOCK_Y 8 // number of threads of a block along y
#endif
#ifndef BLOCK_Z
#define BLOCK_Z 1 // naive: number of threads of a block along z
#endif
#ifndef ROWS
// register_tiled, coarsened, staged, temporal: number of neighbouring points along y that each thread computes
#define ROWS 2
#endif
#ifndef CHUNK
#define CHUNK 32 // number of planes along z that each thread computes
#endif
#ifndef VECTOR
// number of neighbouring points along x that each thread computes: 1, 2 or 4 in coarsened, 2 or 4 in temporal, 4 in
// staged
#define VECTOR 4
#endif
#ifndef STAGES
#define STAGES 4 // staged: number of planes in shared memory, at least 3
#endif
#ifndef PREFETCH
// coarsened, temporal: number of planes beyond the plane that is being read for which a prefetch to the L2 is in flight
#define PREFETCH 2
#endif
#ifndef UNROLL
#define UNROLL 1 // unroll factor of the loop along z
#endif

// The first point of a block's tile. Tiles are numbered first along x, then along y, and then along z.
struct Tile {
    unsigned x, y, z;
};

__device__ __forceinline__ Tile tile_of_block(unsigned nx, unsigned ny, unsigned width, unsigned height, unsigned depth)
{
    unsigned across = ceil_div(nx, width), down = ceil_div(ny, height);
    unsigned plane = blockIdx.x / across;
    return {blockIdx.x % across * width, plane % down * height, plane / down * depth};
}

__device__ __forceinline__ float combine(float centre, float left, float right, float up, float down, float below,
                                         float above)
{
    return 0.25f * centre + 0.125f * (((left + right) + (up + down)) + (below + above));
}

#if defined(STENCIL_NAIVE) || !defined(STENCIL_ONE)
// Each thread computes one point with seven loads.
//
// The points to the left and to the right share the sectors of the centre. The L1 serves the points up and down if the
// block has enough rows. The points below and above are a plane away. They come from the L2 if it has room for three
// planes of all running blocks.
extern "C" __global__ void stencil_naive(const float *__restrict__ in, float *__restrict__ out, unsigned nx, unsigned ny,
                                         unsigned nz)
{
    Tile tile = tile_of_block(nx, ny, BLOCK_X, BLOCK_Y, BLOCK_Z);
    unsigned x = tile.x + threadIdx.x, y = tile.y + threadIdx.y, z = tile.z + threadIdx.z;
    if (x >= nx || y >= ny || z >= nz)
        return;
    offset plane = (offset)nx * ny, i = z * plane + (offset)y * nx + x;
    out[i] = combine(in[i], x > 0 ? in[i - 1] : 0.0f, x + 1 < nx ? in[i + 1] : 0.0f, y > 0 ? in[i - nx] : 0.0f,
                     y + 1 < ny ? in[i + nx] : 0.0f, z > 0 ? in[i - plane] : 0.0f, z + 1 < nz ? in[i + plane] : 0.0f);
}
#endif

#if defined(STENCIL_PENCIL) || !defined(STENCIL_ONE)
// A thread goes through CHUNK planes along z. It keeps the three points of its column in registers.
//
// Compared with naive, a point needs five loads instead of seven. Each plane goes from the L2 to an SM once instead of
// three times.
extern "C" __global__ void stencil_pencil(const float *__restrict__ in, float *__restrict__ out, unsigned nx,
                                          unsigned ny, unsigned nz)
{
    Tile tile = tile_of_block(nx, ny, BLOCK_X, BLOCK_Y, CHUNK);
    unsigned x = tile.x + threadIdx.x, y = tile.y + threadIdx.y, end = min(tile.z + CHUNK, nz);
    if (x >= nx || y >= ny)
        return;
    offset plane = (offset)nx * ny, i = tile.z * plane + (offset)y * nx + x;
    float below = tile.z > 0 ? in[i - plane] : 0.0f, centre = in[i];
#pragma unroll UNROLL
    for (unsigned z = tile.z; z < end; ++z, i += plane) {
        float above = z + 1 < nz ? in[i + plane] : 0.0f;
        out[i] = combine(centre, x > 0 ? in[i - 1] : 0.0f, x + 1 < nx ? in[i + 1] : 0.0f, y > 0 ? in[i - nx] : 0.0f,
                         y + 1 < ny ? in[i + nx] : 0.0f, below, above);
        below = centre;
        centre = above;
    }
}
#endif

#if defined(STENCIL_REGISTER_TILED) || !defined(STENCIL_ONE)
// In each plane, a thread computes ROWS neighbouring points along y.
//
// Compared with pencil, the points up and down are in registers too, except for those beside the first and the last row
// of the thread. So a point needs 3 + 2 / ROWS loads. A thread has ROWS loads of the next plane in flight at once.
extern "C" __global__ void stencil_register_tiled(const float *__restrict__ in, float *__restrict__ out, unsigned nx,
                                                  unsigned ny, unsigned nz)
{
    Tile tile = tile_of_block(nx, ny, BLOCK_X, BLOCK_Y * ROWS, CHUNK);
    unsigned x = tile.x + threadIdx.x, y = tile.y + threadIdx.y * ROWS, end = min(tile.z + CHUNK, nz);
    if (x >= nx || y >= ny)
        return;
    offset plane = (offset)nx * ny, i = tile.z * plane + (offset)y * nx + x;
    float below[ROWS], centre[ROWS], above[ROWS];
#pragma unroll
    for (unsigned r = 0; r < ROWS; ++r) {
        below[r] = y + r < ny && tile.z > 0 ? in[i + (offset)r * nx - plane] : 0.0f;
        centre[r] = y + r < ny ? in[i + (offset)r * nx] : 0.0f;
    }
#pragma unroll UNROLL
    for (unsigned z = tile.z; z < end; ++z, i += plane) {
#pragma unroll
        for (unsigned r = 0; r < ROWS; ++r)
            above[r] = y + r < ny && z + 1 < nz ? in[i + plane + (offset)r * nx] : 0.0f;
        float up = y > 0 ? in[i - nx] : 0.0f, last = y + ROWS < ny ? in[i + (offset)ROWS * nx] : 0.0f;
#pragma unroll
        for (unsigned r = 0; r < ROWS; ++r) {
            if (y + r < ny) {
                offset here = i + (offset)r * nx;
                out[here] = combine(centre[r], x > 0 ? in[here - 1] : 0.0f, x + 1 < nx ? in[here + 1] : 0.0f, up,
                                    r + 1 < ROWS ? centre[r + 1] : last, below[r], above[r]);
            }
            up = centre[r];
        }
#pragma unroll
        for (unsigned r = 0; r < ROWS; ++r) {
            below[r] = centre[r];
            centre[r] = above[r];
        }
    }
}
#endif

#if defined(STENCIL_SHARED_REGISTER) || !defined(STENCIL_ONE)
// The current plane of the tile is in shared memory, with a rim of one point. The planes below and above are in
// registers.
//
// Compared with pencil, a point needs one load from global memory, apart from the loads of the rim. The points to the
// left, right, up and down come from shared memory, with one wavefront each. A plane needs one barrier, because there
// are two buffers: one is filled while the other is read.
extern "C" __global__ void stencil_shared_register(const float *__restrict__ in, float *__restrict__ out, unsigned nx,
                                                   unsigned ny, unsigned nz)
{
    __shared__ float planes[2][BLOCK_Y + 2][BLOCK_X + 2];
    Tile tile = tile_of_block(nx, ny, BLOCK_X, BLOCK_Y, CHUNK);
    unsigned tx = threadIdx.x, ty = threadIdx.y, x = tile.x + tx, y = tile.y + ty, end = min(tile.z + CHUNK, nz);
    bool inside = x < nx && y < ny;
    offset plane = (offset)nx * ny, i = tile.z * plane + (offset)y * nx + x;
    float below = inside && tile.z > 0 ? in[i - plane] : 0.0f, centre = inside ? in[i] : 0.0f;
    for (unsigned z = tile.z; z < end; ++z, i += plane) {
        float above = inside && z + 1 < nz ? in[i + plane] : 0.0f;
        float(*now)[BLOCK_X + 2] = planes[z & 1];
        now[ty + 1][tx + 1] = centre;
        if (tx == 0)
            now[ty + 1][0] = y < ny && x > 0 ? in[i - 1] : 0.0f;
        if (tx == BLOCK_X - 1)
            now[ty + 1][BLOCK_X + 1] = y < ny && x + 1 < nx ? in[i + 1] : 0.0f;
        if (ty == 0)
            now[0][tx + 1] = x < nx && y > 0 ? in[i - nx] : 0.0f;
        if (ty == BLOCK_Y - 1)
            now[BLOCK_Y + 1][tx + 1] = x < nx && y + 1 < ny ? in[i + nx] : 0.0f;
        __syncthreads(); // the other buffer was last read before the barrier of the previous plane
        if (inside)
            out[i] = combine(centre, now[ty + 1][tx], now[ty + 1][tx + 2], now[ty][tx + 1], now[ty + 2][tx + 1], below,
                             above);
        below = centre;
        centre = above;
    }
}
#endif

#if defined(STENCIL_COARSENED) || defined(STENCIL_STAGED) || defined(STENCIL_TEMPORAL) || !defined(STENCIL_ONE)
typedef vec<float, VECTOR> Word;

// VECTOR neighbouring points along x. If rows are aligned to VECTOR points, one access transfers all points of a
// vector.
struct Vector {
    float at[VECTOR];
};

// The points of a plane that a thread needs: its ROWS rows, the row before them and the row after them.
struct Plane {
    Vector row[ROWS], before, after;
};

// The place in the input from which a thread reads. It reads VECTOR columns from x on, and the rows from y - 1 to y +
// ROWS.
struct Reader {
    const float *from; // address of column x and row y in the next plane to be read
    offset stride;     // distance between planes
    unsigned nx, ny, nz;
    int x, y, z;       // z is the number of the next plane to be read
    bool aligned;
};

__device__ __forceinline__ Vector read_vector(const Reader &reader, int row)
{
    const float *from = reader.from + (long long)row * reader.nx;
    bool inside = (unsigned)(reader.y + row) < reader.ny && (unsigned)reader.z < reader.nz;
    Vector v;
    if (reader.aligned) {
        inside = inside && (unsigned)reader.x < reader.nx;
#if VECTOR == 4
        float4 quad = inside ? *(const float4 *)from : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        v.at[0] = quad.x, v.at[1] = quad.y, v.at[2] = quad.z, v.at[3] = quad.w;
#elif VECTOR == 2
        float2 pair = inside ? *(const float2 *)from : make_float2(0.0f, 0.0f);
        v.at[0] = pair.x, v.at[1] = pair.y;
#else
        v.at[0] = inside ? *from : 0.0f;
#endif
        return v;
    }
#pragma unroll
    for (int i = 0; i < VECTOR; ++i)
        v.at[i] = inside && (unsigned)(reader.x + i) < reader.nx ? from[i] : 0.0f;
    return v;
}

// Reads the next plane and advances to the plane after it. Points outside the grid count as zero.
__device__ __forceinline__ void read_plane(Reader &reader, Plane &plane)
{
#pragma unroll
    for (int r = 0; r < ROWS; ++r)
        plane.row[r] = read_vector(reader, r);
    plane.before = read_vector(reader, -1);
    plane.after = read_vector(reader, ROWS);
    reader.from += reader.stride;
    ++reader.z;
}

// Begins to prefetch a thread's rows of a plane to the L2. The plane is `ahead` planes after the next plane to be read.
// If it does not come before `end`, the function does nothing. If the prefetch has ended when the plane is read, the
// loads wait only for the L2. A prefetch in flight needs no registers.
__device__ __forceinline__ void prefetch_plane(const Reader &reader, unsigned ahead, unsigned end)
{
    if ((unsigned)reader.z + ahead >= end || (unsigned)reader.x >= reader.nx)
        return;
#pragma unroll
    for (int r = 0; r < ROWS; ++r)
        if ((unsigned)(reader.y + r) < reader.ny)
            prefetch_l2(reader.from + ahead * reader.stride + (offset)r * reader.nx);
}

__device__ __forceinline__ void write_vector(float *to, const Vector &v, unsigned x, unsigned nx, bool aligned)
{
    if (aligned) {
        if (x >= nx)
            return;
        *(Word *)to = pack<VECTOR>(v.at);
        return;
    }
#pragma unroll
    for (unsigned i = 0; i < VECTOR; ++i)
        if (x + i < nx)
            to[i] = v.at[i];
}

__device__ __forceinline__ bool rows_aligned(const float *in, const float *out, unsigned nx)
{
    return nx % VECTOR == 0 && is_aligned<4 * VECTOR>(in, out);
}

// Computes one vector of points of the next time step. `left` and `right` are the points beside the vector `centre`.
__device__ __forceinline__ Vector step(const Vector &centre, float left, float right, const Vector &up,
                                       const Vector &down, const Vector &below, const Vector &above)
{
    Vector v;
#pragma unroll
    for (int i = 0; i < VECTOR; ++i)
        v.at[i] = combine(centre.at[i], i > 0 ? centre.at[i > 0 ? i - 1 : 0] : left,
                          i + 1 < VECTOR ? centre.at[i + 1 < VECTOR ? i + 1 : 0] : right, up.at[i], down.at[i],
                          below.at[i], above.at[i]);
    return v;
}
#endif

#if defined(STENCIL_COARSENED) || !defined(STENCIL_ONE)
// A thread computes VECTOR x ROWS points in each plane. It gets the points to the left and right from neighbouring
// lanes. PREFETCH planes are on their way from memory to the L2.
//
// Compared with register_tiled, VECTOR points need 1 + 2 / ROWS loads of 4 VECTOR bytes. One or two shuffles replace
// the loads of the points to the left and right. There are few instructions per byte and many bytes in flight, so
// memory is the bound. On an H200 the prefetch makes the kernel 7 % faster if ROWS is 1. If ROWS is 2, threads have
// more loads in flight and gain almost nothing. A thread could also hold the plane after the next in registers. This is
// slower than both, because fewer warps remain to hide the latency of the L2.
extern "C" __global__ void __launch_bounds__(BLOCK_X *BLOCK_Y)
    stencil_coarsened(const float *__restrict__ in, float *__restrict__ out, unsigned nx, unsigned ny, unsigned nz)
{
    Tile tile = tile_of_block(nx, ny, BLOCK_X * VECTOR, BLOCK_Y * ROWS, CHUNK);
    unsigned x = tile.x + threadIdx.x * VECTOR, y = tile.y + threadIdx.y * ROWS, end = min(tile.z + CHUNK, nz);
    unsigned lane = lane_id();
    Reader reader = {in + (tile.z * ((offset)nx * ny) + (offset)y * nx + x) - (offset)nx * ny,
                     (offset)nx * ny, nx, ny, nz, (int)x, (int)y, (int)tile.z - 1, rows_aligned(in, out, nx)};
    float *to = out + (tile.z * reader.stride + (offset)y * nx + x);
    // Lane 0 reads the points to the left of the warp, and lane 31 reads the points to the right of it.
    bool edge = lane == 0 ? x > 0 && x <= nx : lane == 31 && x + VECTOR < nx;
    const float *beside = to - out + in + (lane == 0 ? -1 : VECTOR);

    const unsigned needed = min(end + 1, nz); // planes from this number on are not needed

    Plane below, centre, above; // planes z - 1, z, z + 1
#pragma unroll
    for (unsigned k = 1; k < PREFETCH; ++k)
        prefetch_plane(reader, 2 + k, needed); // the first planes, which the loop does not prefetch
    read_plane(reader, below);
    read_plane(reader, centre);
#pragma unroll UNROLL
    for (unsigned z = tile.z; z < end; ++z) {
        if (PREFETCH > 0)
            prefetch_plane(reader, PREFETCH, needed);
        read_plane(reader, above);
        float at_edge[ROWS];
#pragma unroll
        for (unsigned r = 0; r < ROWS; ++r)
            at_edge[r] = edge && y + r < ny ? beside[(offset)r * nx] : 0.0f;
#pragma unroll
        for (unsigned r = 0; r < ROWS; ++r) {
            const Vector &c = centre.row[r];
            float left = shuffle_up(c.at[VECTOR - 1], 1), right = shuffle_down(c.at[0], 1);
            Vector v = step(c, lane == 0 ? at_edge[r] : left, lane == 31 ? at_edge[r] : right,
                            r > 0 ? centre.row[r > 0 ? r - 1 : 0] : centre.before,
                            r + 1 < ROWS ? centre.row[r + 1 < ROWS ? r + 1 : 0] : centre.after, below.row[r],
                            above.row[r]);
            if (y + r < ny)
                write_vector(to + (offset)r * nx, v, x, nx, reader.aligned);
        }
        below = centre;
        centre = above;
        to += reader.stride;
        beside += reader.stride;
    }
}
#endif

#if defined(STENCIL_STAGED) || !defined(STENCIL_ONE)
// The block's tile of a plane and its rim are copied asynchronously from global to shared memory. While one plane is
// processed, STAGES - 2 planes are being copied.
//
// Compared with coarsened, copies in flight need shared memory instead of registers. So tiles can have BLOCK_Y * ROWS
// rows. Only the two rows of the rim are read twice, and each point goes from the L2 to an SM little more than once. On
// an H200 this does not pay: two time steps at 512^3 take 609 us instead of 543 us.
//
// A warp has 32 lanes along x with four points each. The points below and above are in registers, and the points up and
// down are too if the same thread computes them. A plane needs one barrier.
static_assert(VECTOR == 4, "four points a lane");
// floats of a row of the tile in shared memory: 128 points, one more point on either side, and padding for reads of 16
// bytes
#define STAGED_WIDTH 136
#define STAGED_ROWS (BLOCK_Y * ROWS + 2)
static_assert(2 * (STAGED_ROWS - 2) <= 32 * BLOCK_Y, "a thread copies one point of the rim at most");
static_assert(STAGES >= 3, "the current plane, the one above, and one on its way");

// Begins to copy plane z of the tile at x0, y0 and its rim to shared memory, by copies of WIDTH points. A warp copies a
// row of the tile in complete cache lines. The points beside the rows are copied one by one, because copies of four
// points would read two sectors at each end. The four corners of the rim are not needed.
template <int WIDTH>
__device__ __forceinline__ void stage(float *to, const float *in, int x0, int y0, int z, int nx, int ny, int nz)
{
    const int lane = threadIdx.x, thread = threadIdx.y * 32 + lane;
    const bool plane_inside = (unsigned)z < (unsigned)nz;
    const float *from = in + ((long long)z * ny + y0 - 1) * nx + x0; // row 0 of the tile in shared memory is in the rim
#pragma unroll
    for (int row = threadIdx.y; row < STAGED_ROWS; row += BLOCK_Y) {
        bool row_inside = plane_inside && (unsigned)(y0 - 1 + row) < (unsigned)ny;
#pragma unroll
        for (int x = lane * WIDTH; x < 128; x += 32 * WIDTH) {
            bool inside = row_inside && (unsigned)(x0 + x) < (unsigned)nx;
            copy_async<4 * WIDTH>(to + row * STAGED_WIDTH + 4 + x, inside ? from + (long long)row * nx + x : in, inside);
        }
    }
    if (thread < 2 * (STAGED_ROWS - 2)) {
        int row = 1 + thread / 2, x = thread % 2 ? 128 : -1;
        bool inside = plane_inside && (unsigned)(y0 - 1 + row) < (unsigned)ny && (unsigned)(x0 + x) < (unsigned)nx;
        copy_async<4>(to + row * STAGED_WIDTH + 4 + x, inside ? from + (long long)row * nx + x : in, inside);
    }
}

extern "C" __global__ void __launch_bounds__(32 * BLOCK_Y)
    stencil_staged(const float *__restrict__ in, float *__restrict__ out, unsigned nx, unsigned ny, unsigned nz)
{
    extern __shared__ float4 ring[]; // STAGES planes of STAGED_ROWS x STAGED_WIDTH floats
    const Tile tile = tile_of_block(nx, ny, 128, BLOCK_Y * ROWS, CHUNK);
    const int lane = threadIdx.x, x0 = (int)tile.x, y0 = (int)tile.y, z0 = (int)tile.z;
    const int x = x0 + lane * 4, y = y0 + threadIdx.y * ROWS, end = (int)min(tile.z + CHUNK, nz);
    const bool aligned = rows_aligned(in, out, nx);
    auto slot = [&](int z) { return (float *)ring + (z - z0 + 1) % STAGES * (STAGED_WIDTH * STAGED_ROWS); };
    auto begin = [&](int z) { // commits a group for each plane, including the planes after `end`, which are not needed
        if (z <= end && aligned)
            stage<4>(slot(z), in, x0, y0, z, nx, ny, nz);
        else if (z <= end)
            stage<1>(slot(z), in, x0, y0, z, nx, ny, nz);
        copy_async_commit();
    };
    // offset of the thread's first point in a slot of the ring
    const int width = STAGED_WIDTH, mine = (threadIdx.y * ROWS + 1) * width + 4 + lane * 4;
    auto read = [](const float *from) {
        Vector v;
        unpack(v.at, load_quad(from));
        return v;
    };

#pragma unroll
    for (int i = 0; i < STAGES; ++i)
        begin(z0 - 1 + i);
    copy_async_wait<STAGES - 2>();
    __syncthreads(); // planes z0 - 1 and z0 have arrived
    Vector below[ROWS], centre[ROWS], above[ROWS];
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        below[r] = read(slot(z0 - 1) + mine + r * width);
        centre[r] = read(slot(z0) + mine + r * width);
    }
    float *to = out + ((offset)z0 * nx * ny + (offset)y * nx + x);
    for (int z = z0; z < end; ++z) {
        copy_async_wait<STAGES - 3>();
        __syncthreads(); // plane z + 1 has arrived, and all threads have read plane z - 1, so its slot is free
        begin(z - 1 + STAGES);
        const float *now = slot(z) + mine, *next = slot(z + 1) + mine;
        Vector before = read(now - width), after = read(now + ROWS * width);
#pragma unroll
        for (int r = 0; r < ROWS; ++r)
            above[r] = read(next + r * width);
#pragma unroll
        for (int r = 0; r < ROWS; ++r) {
            const Vector &c = centre[r];
            float left = shuffle_up(c.at[VECTOR - 1], 1), right = shuffle_down(c.at[0], 1);
            if (lane == 0)
                left = now[r * width - 1];
            if (lane == 31)
                right = now[r * width + 4];
            Vector v = step(c, left, right, r > 0 ? centre[r > 0 ? r - 1 : 0] : before,
                            r + 1 < ROWS ? centre[r + 1 < ROWS ? r + 1 : 0] : after, below[r], above[r]);
            if ((unsigned)(y + r) < ny)
                write_vector(to + (long long)r * nx, v, (unsigned)x, nx, aligned);
        }
#pragma unroll
        for (int r = 0; r < ROWS; ++r) {
            below[r] = centre[r];
            centre[r] = above[r];
        }
        to += (offset)nx * ny;
    }
}
#endif

#if defined(STENCIL_TEMPORAL) || !defined(STENCIL_ONE)
// Computes two time steps in one pass, or one step if `steps` is 1. The points after the first step never leave the SM.
//
// Compared with coarsened, a step has half the traffic, and there is twice as much arithmetic per byte. A block makes
// the first step on a larger tile: its own tile and a rim around it. The neighbouring blocks also compute the points of
// this rim. The rim is a row above, a row below, and a lane on either side of each warp. The outermost points of these
// two lanes are wrong, and no thread uses them. If another warp needs a row of the first step, the row goes through
// shared memory. There are two buffers and one barrier per plane. All other points are in registers: three planes of
// the input and three planes of the first step.
//
// A warp has 32 lanes along x, and 30 of these lanes write results. A block has BLOCK_Y warps along y.
#if VECTOR < 2
#error "a lane of the rim holds two points: one that comes out wrong, and one that its neighbour needs"
#endif
extern "C" __global__ void __launch_bounds__(32 * BLOCK_Y)
    stencil_temporal(const float *__restrict__ in, float *__restrict__ out, unsigned nx, unsigned ny, unsigned nz,
                     unsigned steps)
{
    __shared__ float firsts[2][BLOCK_Y + 2][VECTOR][32], lasts[2][BLOCK_Y + 2][VECTOR][32];
    Tile tile = tile_of_block(nx, ny, 30 * VECTOR, BLOCK_Y * ROWS - 2, CHUNK);
    const int lane = threadIdx.x, warp = threadIdx.y;
    const int x = (int)tile.x + (lane - 1) * VECTOR, y = (int)tile.y + warp * ROWS - 1, z0 = (int)tile.z;
    const int end = (int)min(tile.z + CHUNK, nz);
    const bool writes = lane > 0 && lane < 31 && (unsigned)x < nx;
    const long long stride = (long long)nx * ny;
    Reader reader = {in + ((z0 - 2) * stride + (long long)y * nx + x), (offset)stride, nx, ny, nz, x, y, z0 - 2,
                     rows_aligned(in, out, nx)};
    float *to = out + (z0 * stride + (long long)y * nx + x);

    const unsigned needed = min((unsigned)end + 2, nz); // planes from this number on are not needed

    // The variables below, centre and above are the planes z - 1, z and z + 1 of the first step. The variables last,
    // next and ahead are the planes z, z + 1 and z + 2 of the input. Plane z + 2 is being read.
    Vector below[ROWS], centre[ROWS], above[ROWS];
    Plane last, next, ahead;
#pragma unroll
    for (unsigned k = 1; k < PREFETCH; ++k)
        prefetch_plane(reader, 2 + k, needed); // the first planes, which the loop does not prefetch
    read_plane(reader, last);
    read_plane(reader, next);
#pragma unroll
    for (int r = 0; r < ROWS; ++r)
        below[r] = centre[r] = Vector{};

    // The iteration for z makes plane z + 1 of the first step from the input. Then it makes plane z of the second step
    // from the first step. The first two iterations only fill the registers, and write nothing.
#pragma unroll UNROLL
    for (int z = z0 - 2; z < end; ++z) {
        if (PREFETCH > 0)
            prefetch_plane(reader, PREFETCH, needed);
        read_plane(reader, ahead);
        bool plane_inside = (unsigned)(z + 1) < nz;
#pragma unroll
        for (int r = 0; r < ROWS; ++r) {
            const Vector &c = next.row[r];
            float left = shuffle_up(c.at[VECTOR - 1], 1), right = shuffle_down(c.at[0], 1);
            above[r] = step(c, left, right, r > 0 ? next.row[r > 0 ? r - 1 : 0] : next.before,
                            r + 1 < ROWS ? next.row[r + 1 < ROWS ? r + 1 : 0] : next.after, last.row[r], ahead.row[r]);
            // points outside the grid count as zero in the first step too
            bool inside = plane_inside && (unsigned)(y + r) < ny;
#pragma unroll
            for (int i = 0; i < VECTOR; ++i)
                above[r].at[i] = inside && (unsigned)(x + i) < nx ? above[r].at[i] : 0.0f;
        }
        if (z >= z0) {
            Vector up, down;
            if (steps > 1) {
#pragma unroll
                for (int i = 0; i < VECTOR; ++i) {
                    firsts[z & 1][warp][i][lane] = centre[0].at[i];
                    lasts[z & 1][warp + 1][i][lane] = centre[ROWS - 1].at[i];
                }
                __syncthreads(); // the other buffer was last read before the barrier of the previous plane
#pragma unroll
                for (int i = 0; i < VECTOR; ++i) {
                    up.at[i] = warp > 0 ? lasts[z & 1][warp][i][lane] : 0.0f;
                    down.at[i] = warp + 1 < BLOCK_Y ? firsts[z & 1][warp + 1][i][lane] : 0.0f;
                }
            }
#pragma unroll
            for (int r = 0; r < ROWS; ++r) {
                Vector v = centre[r];
                if (steps > 1) {
                    float left = shuffle_up(v.at[VECTOR - 1], 1), right = shuffle_down(v.at[0], 1);
                    v = step(v, left, right, r > 0 ? centre[r > 0 ? r - 1 : 0] : up,
                             r + 1 < ROWS ? centre[r + 1 < ROWS ? r + 1 : 0] : down, below[r], above[r]);
                }
                bool rim = (warp == 0 && r == 0) || (warp == BLOCK_Y - 1 && r == ROWS - 1);
                if (writes && !rim && (unsigned)(y + r) < ny)
                    write_vector(to + (long long)r * nx, v, (unsigned)x, nx, reader.aligned);
            }
            to += stride;
        }
#pragma unroll
        for (int r = 0; r < ROWS; ++r) {
            below[r] = centre[r];
            centre[r] = above[r];
        }
        last = next;
        next = ahead;
    }
}
#endif
