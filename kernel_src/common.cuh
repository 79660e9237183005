// common.cuh - the common part of the sources in this folder: types, indexes, vectors, shuffles, asynchronous copies.
//
// If CUB has a name for a function, this file uses the same name. No function costs more instructions than the same
// code written in a kernel: all functions are inlined, and compile-time values are template arguments. Names are in
// lower case, because the params of a spec are macros in upper case, which would replace them.

#ifndef COMMON_CUH
#define COMMON_CUH

// The type of an index into an array of any size, the type of a size, and the type of an address as a number.
typedef unsigned long long offset;

enum : unsigned { // these constants are enumerators, because some constexpr variables would need device memory
    WARP = 32,
    ALL_LANES = 0xffffffffu // the mask of a warp in which all lanes take part
};

// ---- policies ----

// The type with the number `index` in a list of types. With it, a kernel that is written once can serve several
// operators or types. A macro of the spec is the index: typedef choose<OP, Sum, Max> Op.
template <unsigned index, class First, class... Rest> struct choice {
    typedef typename choice<index - 1, Rest...>::type type;
};
template <class First, class... Rest> struct choice<0, First, Rest...> {
    typedef First type;
};
template <unsigned index, class... Types> using choose = typename choice<index, Types...>::type;

// An operator has the type of its items, its identity (the item that changes nothing), and the combination of two
// items.
template <class T> struct Plus {
    typedef T item;
    static __device__ __forceinline__ T identity()
    {
        return 0;
    }
    static __device__ __forceinline__ T combine(T a, T b)
    {
        return a + b;
    }
};

// ---- indexes ----

template <class A, class B> __host__ __device__ __forceinline__ constexpr auto ceil_div(A a, B b) -> decltype(a + b)
{
    return (a + b - 1) / b;
}

// Returns the first item of this block's tile. Tiles of `items` items follow each other without gaps.
__device__ __forceinline__ offset tile_begin(unsigned items)
{
    return (offset)blockIdx.x * items;
}

// For one-dimensional grids of blocks of `block` threads, these functions return the number of this thread and the
// number of all threads. A grid-stride loop over all elements begins at the first number and advances by the second.
template <unsigned block> __device__ __forceinline__ offset grid_thread()
{
    return (offset)blockIdx.x * block + threadIdx.x;
}

template <unsigned block> __device__ __forceinline__ offset grid_threads()
{
    return (offset)gridDim.x * block;
}

// These functions are for one-dimensional blocks. In other blocks lane_id() is right if a row of threads has a multiple
// of 32 threads, and warp_id() counts within the row.
__device__ __forceinline__ unsigned lane_id()
{
    return threadIdx.x % WARP;
}

__device__ __forceinline__ unsigned warp_id()
{
    return threadIdx.x / WARP;
}

// ---- vectors: 2 or 4 neighbours in memory, read or written by one access ----

template <class T, unsigned count> struct vector_of;
template <class T> struct vector_of<T, 1> {
    typedef T type;
};
template <> struct vector_of<float, 2> {
    typedef float2 type;
};
template <> struct vector_of<float, 4> {
    typedef float4 type;
};
template <> struct vector_of<int, 4> {
    typedef int4 type;
};
template <> struct vector_of<unsigned, 2> {
    typedef uint2 type;
};
template <> struct vector_of<unsigned, 4> {
    typedef uint4 type;
};
template <class T, unsigned count> using vec = typename vector_of<T, count>::type;

// Returns whether all these addresses are multiples of `bytes`. A vector access must be aligned to the vector's size.
template <unsigned bytes, class... Pointers> __device__ __forceinline__ bool is_aligned(Pointers... pointers)
{
    return ((... | (offset)pointers)) % bytes == 0;
}

template <class T> __device__ __forceinline__ vec<T, 4> load_quad(const T *from)
{
    return *(const vec<T, 4> *)from;
}

template <class T> __device__ __forceinline__ void store_quad(T *to, vec<T, 4> quad)
{
    *(vec<T, 4> *)to = quad;
}

// These functions convert the elements of a vector to an array in registers, and back.
__device__ __forceinline__ void unpack(float *to, float4 quad)
{
    to[0] = quad.x, to[1] = quad.y, to[2] = quad.z, to[3] = quad.w;
}

template <unsigned count> __device__ __forceinline__ vec<float, count> pack(const float *from);
template <> __device__ __forceinline__ float pack<1>(const float *from)
{
    return from[0];
}
template <> __device__ __forceinline__ float2 pack<2>(const float *from)
{
    return {from[0], from[1]};
}
template <> __device__ __forceinline__ float4 pack<4>(const float *from)
{
    return {from[0], from[1], from[2], from[3]};
}

// ---- cache modifiers ----

// With `streaming`, accesses have the hint that the data is used only once (ld.cs, st.cs). The L2 evicts lines with
// this hint first.
template <bool streaming, class T> __device__ __forceinline__ T load(const T *from)
{
    return streaming ? __ldcs(from) : *from;
}

template <bool streaming, class T> __device__ __forceinline__ void store(T *to, T value)
{
    if (streaming)
        __stcs(to, value);
    else
        *to = value;
}

// Begins to prefetch the cache line of an address to the L2. Unlike a load, a prefetch in flight needs no register.
__device__ __forceinline__ void prefetch_l2(const void *at)
{
    asm volatile("prefetch.global.L2 [%0];" ::"l"(at));
}

// ---- warps: all 32 lanes must call a function together ----

// These functions return the value of the lane that is `distance` lanes before or after the calling lane. If no such
// lane exists, they return the caller's own value. An item of more than one word has its own overloads of these
// functions, which are defined beside its type.
template <class T> __device__ __forceinline__ T shuffle_up(T mine, unsigned distance)
{
    return __shfl_up_sync(ALL_LANES, mine, distance);
}

template <class T> __device__ __forceinline__ T shuffle_down(T mine, unsigned distance)
{
    return __shfl_down_sync(ALL_LANES, mine, distance);
}

// Combines the items of all lanes. Lane 0 gets the result.
template <class Op> __device__ __forceinline__ typename Op::item warp_reduce(typename Op::item mine)
{
#pragma unroll
    for (unsigned distance = WARP / 2; distance > 0; distance /= 2)
        mine = Op::combine(mine, shuffle_down(mine, distance));
    return mine;
}

// Combines the items of all lanes. All lanes get the result.
template <class Op> __device__ __forceinline__ typename Op::item warp_all_reduce(typename Op::item mine)
{
#pragma unroll
    for (unsigned distance = WARP / 2; distance > 0; distance /= 2)
        mine = Op::combine(mine, __shfl_xor_sync(ALL_LANES, mine, distance));
    return mine;
}

// Makes an inclusive scan: each lane gets the combination of the items of all lanes up to its own.
template <class Op> __device__ __forceinline__ typename Op::item warp_scan(typename Op::item mine)
{
#pragma unroll
    for (unsigned distance = 1; distance < WARP; distance *= 2) {
        typename Op::item before = shuffle_up(mine, distance);
        if (lane_id() >= distance)
            mine = Op::combine(before, mine);
    }
    return mine;
}

// ---- communication between blocks ----

// Returns whether this is the last block of the grid that calls the function. One thread of each block calls the
// function. The counter must be 0 before the launch, and is 0 again after the last block's call.
__device__ __forceinline__ bool is_last_block(unsigned *counter)
{
    return atomicInc(counter, gridDim.x - 1) == gridDim.x - 1;
}

// ---- copies from global to shared memory without registers, from sm_80 on ----

// Begins to copy 4, 8 or 16 bytes. Both addresses are multiples of this size. Before sm_80 the copy is a load and a
// store.
template <unsigned bytes> __device__ __forceinline__ void copy_async(void *to, const void *from)
{
#if __CUDA_ARCH__ >= 800
    unsigned shared = (unsigned)__cvta_generic_to_shared(to);
    offset global = __cvta_generic_to_global(from);
    if (bytes == 16) // bypasses the L1
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared), "l"(global) : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(shared), "l"(global), "n"(bytes) : "memory");
#else
    typedef choose<bytes / 8, unsigned, uint2, uint4> word;
    *(word *)to = *(const word *)from;
#endif
}

// Does the same as copy_async() above, but writes zeros if `inside` is false. `from` must always be a valid address.
// The function needs sm_80.
template <unsigned bytes> __device__ __forceinline__ void copy_async(void *to, const void *from, bool inside)
{
    unsigned shared = (unsigned)__cvta_generic_to_shared(to), read = inside ? bytes : 0;
    offset global = __cvta_generic_to_global(from);
    if (bytes == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared), "l"(global), "r"(read) : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %3, %2;" ::"r"(shared), "l"(global), "r"(read), "n"(bytes)
                     : "memory");
}

// Makes a group of all copies of this thread since the last call. The group may be empty.
__device__ __forceinline__ void copy_async_commit()
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

// Waits until all groups of this thread except the last `pending` groups have arrived.
template <unsigned pending> __device__ __forceinline__ void copy_async_wait()
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
#endif
}

#endif
