// barneshut.cu - N bodies of a plane that attract each other, simulated in time steps. It is an application of the tree
// of quadtree.cu.
//
// A step computes the acceleration of every body. The acceleration is the sum over all other bodies of m d / (d^2 +
// soft)^(3/2), where m is the mass of the other body and d is the vector to it. Then the step computes v += dt a and x
// += dt v. The exact sum needs N^2 pairs. Barnes and Hut (Nature 324, 1986) let a node of a quadtree represent all its
// bodies by one point at their centre of mass. For a body at distance d from this centre, the node may represent its
// bodies if its extent is at most theta d. Otherwise the walk examines the children of the node, and adds the bodies of
// a leaf one by one. The extent of a node is the longer side of the smallest box around its bodies. Therefore bodies at
// the same position count as one point, regardless of their number. If theta is below 0.7, no node represents a body
// that lies in the node.
//
// Bodies move, so each step builds the tree again:
//
// - `box`: Compute the smallest square around all bodies.
// - `points`: Compute the position of each body in this square, as a point of [0, 1) x [0, 1).
// - `tree`: Build `order` and `nodes` by quadtree.cuh. Then sort the bodies in the order of the leaves.
// - `moments`: Compute the mass, the centre and the extent of each node, from the leaves up.
// - `walk`: Compute the acceleration, the new velocity and the new position of each body.
//
// The results are `at` (the positions after all steps) and `acc` (the accelerations of the last step), in the order of
// the input. Both differ from the exact sum by the error of theta. The results of different walks differ, because some
// walks open more nodes than others. The same kernel gives the same bits in every run.
//
// The errors were measured at theta 0.5 against the sum over all pairs of 50,000 bodies. They are root mean squares
// relative to the accelerations. With uniform bodies they are 1.6 % for thread_walk and 1.4 % for list_walk. In a disk
// they are 1.1 % and 0.8 %, and in clusters 0.5 % and 0.2 %. The median errors for uniform bodies are 1.7 and 1.5 %.
//
// Limits: masses are not negative. Positions and masses are finite, with |x| below 2^60. The parameter `soft` is a
// positive normal number. N is at most 2^30 - 1. A leaf of the last level may have any number of bodies, and a body
// that visits this leaf computes a pair with each of them. Therefore the walks are slow if many bodies are closer
// together than 2^-16 of the square, but not at the same position.
//
// The tuning parameters are macros, as in quadtree.cuh. A kernel is compiled if its own macro BARNESHUT_<NAME> is set,
// or if BARNESHUT_ONE is not set.

#include "quadtree.cuh"

#ifndef CURVE
#define CURVE 1 // the order in which bodies are sorted: 0: Morton's, 1: Hilbert's
#endif
#ifndef WALK
#define WALK 128 // number of threads of a block in the walks
#endif
#ifndef BODIES
#define BODIES 2 // direct, list_walk: number of bodies that each lane computes
#endif
#ifndef RESIDENT
#define RESIDENT 512 // list_walk: number of threads that must fit on an SM
#endif

enum : u32 { LEAF_LANES = 8, STREAM = 256, LARGE = 1024, LARGE_MOST = 64 };

// A body is a float4: x, y, its mass, and in w the bits of its number.

// ---- positions ----

// Maps a float to an unsigned word with the same order.
__device__ __forceinline__ u32 ordered(float x)
{
    const u32 bits = __float_as_uint(x);
    return bits ^ ((int)bits < 0 ? 0xffffffffu : 0x80000000u);
}

__device__ __forceinline__ float unordered(u32 word)
{
    return __uint_as_float(word ^ ((int)word < 0 ? 0x80000000u : 0xffffffffu));
}

struct Least {
    typedef u32 item;
    static __device__ __forceinline__ u32 identity()
    {
        return 0xffffffffu;
    }
    static __device__ __forceinline__ u32 combine(u32 a, u32 b)
    {
        return min(a, b);
    }
};

// Copies the bodies from the input, and stores its number in each body.
extern "C" __global__ void __launch_bounds__(STREAM)
    barneshut_begin(const float4 *given, const float2 *given_velocity, float4 *bodies, float2 *velocity, u32 N)
{
    const u32 i = blockIdx.x * STREAM + threadIdx.x;
    if (i >= N)
        return;
    const float4 body = given[i];
    bodies[i] = {body.x, body.y, body.z, __uint_as_float(i)};
    velocity[i] = given_velocity[i];
}

// Writes the results in the order of the bodies' numbers.
extern "C" __global__ void __launch_bounds__(STREAM)
    barneshut_end(const float4 *bodies, const float2 *pulls, float2 *at, float2 *acc, u32 N)
{
    const u32 i = blockIdx.x * STREAM + threadIdx.x;
    if (i >= N)
        return;
    const float4 body = bodies[i];
    const u32 number = __float_as_uint(body.w);
    at[number] = {body.x, body.y};
    acc[number] = pulls[i];
}

#if defined BARNESHUT_TREE || !defined BARNESHUT_ONE
// Computes the box around all bodies. The four words of `box` are all ones at first. Later they are the ordered forms
// of the least x, y, -x and -y.
extern "C" __global__ void __launch_bounds__(STREAM) barneshut_box(const float4 *bodies, u32 *box, u32 N)
{
    __shared__ u32 warps[STREAM / WARP][4];
    u32 least[4] = {0xffffffffu, 0xffffffffu, 0xffffffffu, 0xffffffffu};
    for (u32 i = blockIdx.x * STREAM + threadIdx.x; i < N; i += gridDim.x * STREAM) {
        const float2 p = *(const float2 *)(bodies + i);
        least[0] = min(least[0], ordered(p.x));
        least[1] = min(least[1], ordered(p.y));
        least[2] = min(least[2], ordered(-p.x));
        least[3] = min(least[3], ordered(-p.y));
    }
#pragma unroll
    for (u32 k = 0; k < 4; k++) {
        least[k] = warp_reduce<Least>(least[k]);
        if (lane_id() == 0)
            warps[warp_id()][k] = least[k];
    }
    __syncthreads();
    if (threadIdx.x < 4) {
        u32 all = 0xffffffffu;
        for (u32 w = 0; w < STREAM / WARP; w++)
            all = min(all, warps[w][threadIdx.x]);
        atomicMin(&box[threadIdx.x], all);
    }
}

// Returns the position of a cell on Hilbert's curve through all cells. The curve visits all cells of a quarter before
// it leaves the quarter. So the bodies of a node are neighbours in this order too. Unlike Morton's order it makes no
// jumps, so neighbours in the order are near each other in the plane.
__device__ __forceinline__ u32 hilbert(u32 x, u32 y)
{
    u32 place = 0;
#pragma unroll
    for (u32 bit = DEPTH; bit-- > 0;) {
        const u32 right = x >> bit & 1, upper = y >> bit & 1;
        place = place << 2 | (3 * right ^ upper);
        if (!upper) { // the curve in this quarter is rotated
            if (right) {
                x = ~x;
                y = ~y;
            }
            const u32 swapped = x;
            x = y;
            y = swapped;
        }
    }
    return place;
}

// Returns every second bit of x, from the lowest one on.
__device__ __forceinline__ u32 gather_bits(u32 x)
{
    x &= 0x55555555u;
    x = (x | x >> 1) & 0x33333333u;
    x = (x | x >> 2) & 0x0f0f0f0fu;
    x = (x | x >> 4) & 0x00ff00ffu;
    return (x | x >> 8) & 0x0000ffffu;
}

// Makes the point of each body for the tree. The tree sorts points by their Morton code. Therefore the function makes a
// point whose Morton code is the position on Hilbert's curve. The tree of such points has the same cells in the order
// of this curve.
extern "C" __global__ void __launch_bounds__(STREAM)
    barneshut_points(const float4 *bodies, const u32 *box, float2 *points, u32 N)
{
    const u32 i = blockIdx.x * STREAM + threadIdx.x;
    if (i >= N)
        return;
    const float2 p = *(const float2 *)(bodies + i);
    const float left = unordered(box[0]), low = unordered(box[1]);
    const float side = fmaxf(-unordered(box[2]) - left, -unordered(box[3]) - low);
    const float scale = side > 0x1p-100f ? 1 / side : 0;
    float2 point = {(p.x - left) * scale, (p.y - low) * scale};
    if (CURVE) {
        const u32 place = hilbert(coordinate(point.x), coordinate(point.y));
        const float cell = 1.0f / (1u << DEPTH);
        point = {(gather_bits(place) + 0.5f) * cell, (gather_bits(place >> 1) + 0.5f) * cell};
    }
    points[i] = point;
}

// Sorts the bodies into the order of the tree. `velocity` is null if the velocities stay in the order of the bodies'
// numbers.
extern "C" __global__ void __launch_bounds__(STREAM)
    barneshut_gather(const u32 *order, const float4 *bodies, const float2 *velocity, float4 *sorted,
                     float2 *sorted_velocity, u32 N)
{
    const u32 i = blockIdx.x * STREAM + threadIdx.x;
    if (i >= N)
        return;
    const u32 from = order[i];
    sorted[i] = bodies[from];
    if (velocity)
        sorted_velocity[i] = velocity[from];
}

// ---- moments ----

// Writes the parent of each group of four children. The children of one node are 1 + 4 k to 4 + 4 k.
extern "C" __global__ void __launch_bounds__(STREAM)
    barneshut_parents(const uint4 *nodes, const u32 *levels, u32 *parents)
{
    const u32 count = levels[DEPTH + 1];
    for (u32 i = blockIdx.x * STREAM + threadIdx.x; i < count; i += gridDim.x * STREAM) {
        const u32 child = nodes[i].z;
        if (child != NO_CHILDREN)
            parents[child / 4] = i;
    }
}

// Sums over the bodies of a node. Positions are relative to an origin, which is one of the node's bodies, or the centre
// of one of its children. Therefore bodies at the same position have exactly this position as their centre.
struct Sum {
    float mass, x, y; // the sum of the masses, and the moments of the masses about the origin
    float left, low, right, top;
    __device__ __forceinline__ Sum()
        : mass(0), x(0), y(0), left(0x1p126f), low(0x1p126f), right(-0x1p126f), top(-0x1p126f)
    {
    }
    __device__ __forceinline__ void add(float m, float dx, float dy)
    {
        mass += m;
        x += m * dx;
        y += m * dy;
    }
    __device__ __forceinline__ void add_body(float4 body, float2 origin)
    {
        add(body.z, body.x - origin.x, body.y - origin.y);
        cover({body.x, body.y, body.x, body.y});
    }
    __device__ __forceinline__ void join(const Sum &other)
    {
        mass += other.mass;
        x += other.x;
        y += other.y;
        cover({other.left, other.low, other.right, other.top});
    }
    __device__ __forceinline__ void cover(float4 box)
    {
        left = fminf(left, box.x);
        low = fminf(low, box.y);
        right = fmaxf(right, box.z);
        top = fmaxf(top, box.w);
    }
    // Returns the node in the form for the walks: its centre, its mass, and the square of the distance from which on it
    // counts as a point.
    __device__ __forceinline__ float4 moment(float2 origin, float inverse_theta2) const
    {
        const float scale = mass > 0 ? 1 / mass : 0, extent = fmaxf(fmaxf(right - left, top - low), 0);
        return {origin.x + x * scale, origin.y + y * scale, mass, extent * extent * inverse_theta2};
    }
};

// Adds the sums of `lanes` neighbouring lanes. All lanes of a warp must call the function together.
template <u32 lanes> __device__ __forceinline__ void join_lanes(Sum &sum)
{
#pragma unroll
    for (u32 distance = lanes / 2; distance > 0; distance /= 2) {
        Sum other;
        other.mass = __shfl_xor_sync(ALL_LANES, sum.mass, distance);
        other.x = __shfl_xor_sync(ALL_LANES, sum.x, distance);
        other.y = __shfl_xor_sync(ALL_LANES, sum.y, distance);
        other.left = __shfl_xor_sync(ALL_LANES, sum.left, distance);
        other.low = __shfl_xor_sync(ALL_LANES, sum.low, distance);
        other.right = __shfl_xor_sync(ALL_LANES, sum.right, distance);
        other.top = __shfl_xor_sync(ALL_LANES, sum.top, distance);
        sum.join(other);
    }
}

// Computes a node from its four children, and continues with its parent as long as all four children are complete. The
// warp that completes the last of the four children continues. `four` is the number of the group of four children, and
// `done` is the number of these children that the warp has completed. `arrived` counts the complete children. It is 0
// before and after the launch. One lane of a warp calls the function.
__device__ __forceinline__ void climb(u32 four, u32 done, const u32 *parents, float4 *moments, float4 *boxes, u32 *arrived,
                                      float inverse_theta2)
{
    for (;;) {
        __threadfence(); // makes this warp's writes visible before they are counted
        if (atomicAdd(&arrived[four], done) + done != 4)
            return;
        __threadfence(); // makes the other warps' writes visible after they were counted
        arrived[four] = 0;
        const u32 i = parents[four];
        Sum all;
        float2 origin = {};
#pragma unroll
        for (u32 q = 0; q < 4; q++) {
            const float4 child = moments[1 + 4 * four + q];
            if (all.mass == 0)
                origin = {child.x, child.y};
            all.add(child.z, child.x - origin.x, child.y - origin.y);
            all.cover(boxes[1 + 4 * four + q]);
        }
        moments[i] = all.moment(origin, inverse_theta2);
        boxes[i] = {all.left, all.low, all.right, all.top};
        if (i == 0)
            return;
        four = (i - 1) / 4;
        done = 1;
    }
}

// A warp processes the four children of a node, with eight lanes for each child. The lanes sum the bodies of the
// children that are leaves. The root of the tree has no siblings, so it is processed alone. Leaves of more than LARGE
// bodies occur only on the last level. Such leaves go to a list, and the whole block sums them at the end. If the list
// is full, the eight lanes sum the leaf themselves.
extern "C" __global__ void __launch_bounds__(STREAM)
    barneshut_moments(const float4 *sorted, const uint4 *nodes, const u32 *levels, const u32 *parents, float4 *moments,
                      float4 *boxes, u32 *arrived, float inverse_theta2)
{
    __shared__ u32 large[LARGE_MOST], large_count;
    __shared__ Sum parts[STREAM / WARP];
    const u32 count = levels[DEPTH + 1], lane = lane_id() % LEAF_LANES;
    if (threadIdx.x == 0)
        large_count = 0;
    __syncthreads();
    for (u32 four = (blockIdx.x * STREAM + threadIdx.x) / WARP; 4 * four < count + 3; four += gridDim.x * (STREAM / WARP)) {
        const u32 i = 4 * four + lane_id() / LEAF_LANES - 3; // in the first group of four only the root exists
        const uint4 node = i < count ? nodes[i] : make_uint4(0, 0, 1, 0);
        bool leaf = node.z == NO_CHILDREN;
        u32 place = LARGE_MOST;
        if (leaf && node.y > LARGE && lane == 0) {
            place = atomicAdd(&large_count, 1);
            if (place < LARGE_MOST)
                large[place] = i;
        }
        place = __shfl_sync(ALL_LANES, place, lane_id() - lane);
        leaf = leaf && place >= LARGE_MOST;
        Sum sum;
        float2 origin = {};
        if (leaf && node.y > 0) {
            origin = *(const float2 *)(sorted + node.x);
#pragma unroll 2
            for (u32 k = lane; k < node.y; k += LEAF_LANES)
                sum.add_body(sorted[node.x + k], origin);
        }
        __syncwarp();
        join_lanes<LEAF_LANES>(sum);
        if (leaf && lane == 0) {
            moments[i] = sum.moment(origin, inverse_theta2);
            boxes[i] = {sum.left, sum.low, sum.right, sum.top};
        }
        const u32 leaves = __popc(__ballot_sync(ALL_LANES, leaf)) / LEAF_LANES;
        if (four > 0 && leaves > 0 && lane_id() == 0)
            climb(four - 1, leaves, parents, moments, boxes, arrived, inverse_theta2);
        __syncwarp();
    }
    __syncthreads();
    for (u32 l = 0; l < min(large_count, (u32)LARGE_MOST); l++) {
        const u32 i = large[l];
        const uint4 node = nodes[i];
        const float2 origin = *(const float2 *)(sorted + node.x);
        Sum sum;
#pragma unroll 4
        for (u32 k = threadIdx.x; k < node.y; k += STREAM)
            sum.add_body(sorted[node.x + k], origin);
        join_lanes<WARP>(sum);
        if (lane_id() == 0)
            parts[warp_id()] = sum;
        __syncthreads();
        if (threadIdx.x == 0) {
            for (u32 w = 1; w < STREAM / WARP; w++)
                sum.join(parts[w]);
            moments[i] = sum.moment(origin, inverse_theta2);
            boxes[i] = {sum.left, sum.low, sum.right, sum.top};
            if (i > 0)
                climb((i - 1) / 4, 1, parents, moments, boxes, arrived, inverse_theta2);
        }
        __syncthreads();
    }
}
#endif

// ---- attraction ----

// Adds the acceleration towards a point with x, y and a mass to `pull`. The special-function unit computes roots at a
// quarter of the other units' rate or faster.
__device__ __forceinline__ void attract(float2 &pull, float2 at, float4 point, float soft)
{
    const float dx = point.x - at.x, dy = point.y - at.y, square = fmaf(dx, dx, fmaf(dy, dy, soft));
    float inverse;
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(square));
    const float weight = point.z * inverse * (inverse * inverse);
    pull.x = fmaf(weight, dx, pull.x);
    pull.y = fmaf(weight, dy, pull.y);
}

// Moves body k by one time step. The body's new position goes to `next`.
__device__ __forceinline__ void advance(u32 k, float4 body, float2 pull, float2 *velocity, float4 *next, float2 *pulls,
                                        float dt)
{
    float2 v = velocity[k];
    v = {fmaf(dt, pull.x, v.x), fmaf(dt, pull.y, v.y)};
    velocity[k] = v;
    next[k] = {fmaf(dt, v.x, body.x), fmaf(dt, v.y, body.y), body.z, body.w};
    pulls[k] = pull;
}

#if defined BARNESHUT_DIRECT || !defined BARNESHUT_ONE
// The kernel computes all pairs, so its only error is rounding. A block reads tiles of bodies to shared memory, where
// all lanes of a warp read the same body at once. A lane has BODIES bodies in registers. The contributions of each tile
// are summed separately. Therefore the error grows with the root of N / WALK + WALK instead of the root of N.
extern "C" __global__ void __launch_bounds__(WALK)
    barneshut_direct(const float4 *bodies, float4 *next, float2 *velocity, float2 *pulls, u32 N, float soft, float dt)
{
    __shared__ float4 tile[WALK];
    float4 mine[BODIES];
    float2 pull[BODIES] = {};
    const u32 first = blockIdx.x * WALK * BODIES + threadIdx.x;
#pragma unroll
    for (u32 b = 0; b < BODIES; b++)
        mine[b] = bodies[min(first + b * WALK, N - 1)];
    for (u32 begin = 0; begin < N; begin += WALK) {
        const u32 i = begin + threadIdx.x;
        __syncthreads();
        tile[threadIdx.x] = i < N ? bodies[i] : float4{};
        __syncthreads();
        float2 part[BODIES] = {};
#pragma unroll 8
        for (u32 j = 0; j < WALK; j++) {
            const float4 body = tile[j];
#pragma unroll
            for (u32 b = 0; b < BODIES; b++)
                attract(part[b], {mine[b].x, mine[b].y}, body, soft);
        }
#pragma unroll
        for (u32 b = 0; b < BODIES; b++)
            pull[b] = {pull[b].x + part[b].x, pull[b].y + part[b].y};
    }
#pragma unroll
    for (u32 b = 0; b < BODIES; b++)
        if (first + b * WALK < N)
            advance(first + b * WALK, mine[b], pull[b], velocity, next, pulls, dt);
}
#endif

#if defined BARNESHUT_THREAD_WALK || !defined BARNESHUT_ONE
// One thread computes one body. The thread visits the nodes depth first. For each depth it stores which of the four
// children it has reached.
//
// If bodies are in the order of their numbers, neighbouring lanes have distant bodies and take different paths. Each
// node is then read by one lane, and lanes that add pairs wait for lanes that open nodes. If bodies are in the order of
// the tree, neighbouring lanes take nearly the same path and read the same nodes at the same time.
extern "C" __global__ void __launch_bounds__(WALK)
    barneshut_thread_walk(const float4 *bodies, const float4 *sorted, const uint4 *nodes, const float4 *moments,
                          float4 *next, float2 *velocity, float2 *pulls, u32 N, float soft, float dt)
{
    const u32 k = blockIdx.x * WALK + threadIdx.x;
    if (k >= N)
        return;
    const float4 body = bodies[k];
    const float2 at = {body.x, body.y};
    float2 pull = {};
    u32 way[DEPTH], depth = 0, i = 0;
    for (;;) {
        const float4 moment = moments[i];
        const float dx = moment.x - at.x, dy = moment.y - at.y;
        if (fmaf(dx, dx, dy * dy) >= moment.w) {
            attract(pull, at, moment, soft);
        } else {
            const uint4 node = nodes[i];
            if (node.z != NO_CHILDREN) {
                way[depth++] = i;
                i = node.z;
                continue;
            }
            for (u32 j = 0; j < node.y; j++)
                attract(pull, at, sorted[node.x + j], soft);
        }
        while (i % 4 == 0 && depth > 0) // this is the last child of a node, or the root
            i = way[--depth];
        if (i % 4 == 0)
            break;
        i++;
    }
    advance(k, body, pull, velocity, next, pulls, dt);
}
#endif

#if defined BARNESHUT_WARP_WALK || !defined BARNESHUT_ONE
// A warp takes one path through the tree for 32 neighbouring bodies. It opens a node if one of these bodies needs that.
// No lane waits for another, and all lanes read the same address. But each body also computes pairs with nodes that
// only its neighbours need. Lane d stores the position of the walk at depth d.
extern "C" __global__ void __launch_bounds__(WALK)
    barneshut_warp_walk(const float4 *sorted, const uint4 *nodes, const float4 *moments, float4 *next, float2 *velocity,
                        float2 *pulls, u32 N, float soft, float dt)
{
    const u32 first = blockIdx.x * WALK + warp_id() * WARP, k = first + lane_id();
    if (first >= N)
        return;
    const float4 body = sorted[min(k, N - 1)];
    const float2 at = {body.x, body.y};
    float2 pull = {};
    u32 way = 0, depth = 0, i = 0;
    for (;;) {
        const float4 moment = moments[i];
        const float dx = moment.x - at.x, dy = moment.y - at.y;
        if (__all_sync(ALL_LANES, fmaf(dx, dx, dy * dy) >= moment.w)) {
            attract(pull, at, moment, soft);
        } else {
            const uint4 node = nodes[i];
            if (node.z != NO_CHILDREN) {
                way = lane_id() == depth ? i : way;
                depth++;
                i = node.z;
                continue;
            }
#pragma unroll 4
            for (u32 j = 0; j < node.y; j++)
                attract(pull, at, sorted[node.x + j], soft);
        }
        while (i % 4 == 0 && depth > 0)
            i = __shfl_sync(ALL_LANES, way, --depth);
        if (i % 4 == 0)
            break;
        i++;
    }
    if (k < N)
        advance(k, body, pull, velocity, next, pulls, dt);
}
#endif

#if defined BARNESHUT_LIST_WALK || !defined BARNESHUT_ONE
// The lanes of a warp examine 32 nodes at once. The points with which pairs have to be computed go to a list in shared
// memory. Whenever the list has 32 points, each lane computes the pairs of these points and its own bodies. So a single
// lane decides about a node, and the whole warp only computes pairs.
//
// The walk compares a node with the box around the bodies of the warp, which are 32 BODIES neighbours. The distance of
// the node from a body is at least its distance from the box. Therefore no body gets a node as a point that the body
// itself would open. For an opened node, the number of its first child goes to a stack. The warp takes eight numbers at
// a time and examines the 32 children. The stack has at most 32 nodes of each depth, because children are pushed only
// after all deeper nodes were taken.
enum : u32 { TAKEN = WARP / 4, STACK = WARP * DEPTH, LIST = 2 * WARP, WALK_WARPS = WALK / WARP };

struct WalkShared {
    float4 list[WALK_WARPS][LIST]; // a ring buffer of points that were found and not used yet
    u32 stack[WALK_WARPS][STACK];
};

struct ListWalk {
    float4 *list;
    // number of points that were found; number of points that were used, which is a multiple of 32 until the end
    u32 found, done;
    float soft;
    float2 at[BODIES], pull[BODIES];

    __device__ __forceinline__ void add(const float4 *points)
    {
#pragma unroll 8
        for (u32 j = 0; j < WARP; j++) {
            const float4 point = points[j];
#pragma unroll
            for (u32 b = 0; b < BODIES; b++)
                attract(pull[b], at[b], point, soft);
        }
    }

    // Lanes that have a point put it into the list. If the list has 32 points or more, the lanes use 32 of them.
    __device__ __forceinline__ void put(bool has, float4 point)
    {
        const u32 votes = __ballot_sync(ALL_LANES, has);
        if (has)
            list[(found + __popc(votes & lanes_before())) % LIST] = point;
        found += __popc(votes);
        __syncwarp();
        if (found - done >= WARP) {
            add(list + done % LIST);
            done += WARP;
            __syncwarp(); // all lanes have read these 32 places before they are written again
        }
    }

    __device__ __forceinline__ void put_leaf(const float4 *sorted, u32 first, u32 count)
    {
        for (u32 j = lane_id(); j - lane_id() < count; j += WARP)
            put(j < count, j < count ? sorted[first + j] : float4{});
    }
};

extern "C" __global__ void __launch_bounds__(WALK, RESIDENT / WALK)
    barneshut_list_walk(const float4 *sorted, const uint4 *nodes, const float4 *moments, float4 *next, float2 *velocity,
                        float2 *pulls, u32 N, float soft, float dt)
{
    __shared__ WalkShared shared;
    const u32 first = (blockIdx.x * WALK + warp_id() * WARP) * BODIES, lane = lane_id();
    if (first >= N)
        return;
    u32 *stack = shared.stack[warp_id()], size = 0;
    ListWalk walk;
    walk.list = shared.list[warp_id()];
    walk.found = walk.done = 0;
    walk.soft = soft;
    u32 least[4] = {0xffffffffu, 0xffffffffu, 0xffffffffu, 0xffffffffu};
#pragma unroll
    for (u32 b = 0; b < BODIES; b++) {
        walk.at[b] = *(const float2 *)(sorted + min(first + b * WARP + lane, N - 1));
        walk.pull[b] = {};
        least[0] = min(least[0], ordered(walk.at[b].x));
        least[1] = min(least[1], ordered(walk.at[b].y));
        least[2] = min(least[2], ordered(-walk.at[b].x));
        least[3] = min(least[3], ordered(-walk.at[b].y));
    }
#pragma unroll
    for (u32 k = 0; k < 4; k++)
        least[k] = warp_all_reduce<Least>(least[k]);
    const float left = unordered(least[0]), low = unordered(least[1]);
    const float right = -unordered(least[2]), top = -unordered(least[3]);

    const uint4 root = nodes[0];
    if (root.z == NO_CHILDREN) {
        walk.put_leaf(sorted, root.x, root.y);
    } else {
        stack[0] = root.z; // all lanes write the same value
        size = 1;
    }
    __syncwarp();
    while (size > 0) {
        const u32 taken = min(size, (u32)TAKEN);
        const bool here = lane / 4 < taken;
        const u32 i = here ? stack[size - 1 - lane / 4] + lane % 4 : 0;
        const float4 moment = here ? moments[i] : float4{};
        const float dx = fmaxf(fmaxf(left - moment.x, moment.x - right), 0);
        const float dy = fmaxf(fmaxf(low - moment.y, moment.y - top), 0);
        // the condition also holds for lanes without a node, because their moment is 0
        const bool far = fmaf(dx, dx, dy * dy) >= moment.w;
        const uint4 node = far ? uint4{} : nodes[i];
        size -= taken;
        walk.put(far && moment.z > 0, moment);
        const bool opened = !far && node.z != NO_CHILDREN;
        const u32 votes = __ballot_sync(ALL_LANES, opened); // all lanes have read the stack
        if (opened)
            stack[size + __popc(votes & lanes_before())] = node.z;
        size += __popc(votes);
        for (u32 leaves = __ballot_sync(ALL_LANES, !far && !opened); leaves; leaves &= leaves - 1) {
            const u32 leaf = __ffs(leaves) - 1;
            walk.put_leaf(sorted, __shfl_sync(ALL_LANES, node.x, leaf), __shfl_sync(ALL_LANES, node.y, leaf));
        }
        __syncwarp();
    }
    const u32 rest = walk.found - walk.done;
    for (u32 j = 0; j < rest; j++) {
        const float4 point = walk.list[(walk.done + j) % LIST];
#pragma unroll
        for (u32 b = 0; b < BODIES; b++)
            attract(walk.pull[b], walk.at[b], point, soft);
    }
#pragma unroll
    for (u32 b = 0; b < BODIES; b++) {
        const u32 k = first + b * WARP + lane;
        if (k < N)
            advance(k, sorted[k], walk.pull[b], velocity, next, pulls, dt);
    }
}
#endif
