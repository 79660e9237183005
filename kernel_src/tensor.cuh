// tensor.cuh - functions for tensor cores: types of elements, loads and stores of fragments in shared memory (ldmatrix,
// stmatrix), and matrix instructions. A warp multiplies by mma.sync from sm_80 on. A warp group multiplies by wgmma,
// which only sm_90a has.
//
// All matrix instructions here have accumulators in single precision. mma.sync and wgmma spread the accumulators of a
// tile over the lanes in the same way. In a square of 8 x 8, an accumulator is in lane 4 row + column / 2. In a tile of
// 16 rows and 8 columns, the accumulators d[0] and d[1] of a lane are in row lane / 4, and d[2] and d[3] are in row
// lane / 4 + 8. Both pairs are in the columns 2 (lane % 4) and 2 (lane % 4) + 1.
//
// One instruction multiplies 32 bytes of both operands along K: 16 elements of 16 bits, 32 elements of 8 bits, or 8
// elements of 32 bits.

#ifndef TENSOR_CUH
#define TENSOR_CUH

#include "common.cuh"

// The types of elements in memory.
struct f16 {
    unsigned short bits;
};
struct bf16 {
    unsigned short bits;
};
struct f8e4m3 {
    unsigned char bits;
};
struct tf32 {
    float value; // the tensor core reads the sign, the exponent and the first 10 fraction bits of `value`
};

// ---- results ----

// Converts two floats to the type of the result, rounded to nearest even. The lower half of the returned word has the
// first number.
__device__ __forceinline__ unsigned pack_pair(f16, float first, float second)
{
    unsigned pair;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(second), "f"(first));
    return pair;
}

__device__ __forceinline__ unsigned pack_pair(bf16, float first, float second)
{
    unsigned pair;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(second), "f"(first));
    return pair;
}

__device__ __forceinline__ void store_pair(float *to, float first, float second)
{
    *(float2 *)to = {first, second};
}

template <class T> __device__ __forceinline__ void store_pair(T *to, float first, float second)
{
    *(unsigned *)to = pack_pair(T(), first, second);
}

__device__ __forceinline__ void store_one(float *to, float value)
{
    *to = value;
}

template <class T> __device__ __forceinline__ void store_one(T *to, float value)
{
    to->bits = (unsigned short)pack_pair(T(), value, value);
}

// Loads one element, or two neighbouring elements, as floats.
__device__ __forceinline__ float load_one(const float *from)
{
    return *from;
}

__device__ __forceinline__ float load_one(const f16 *from)
{
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(from->bits));
    return value;
}

__device__ __forceinline__ float load_one(const bf16 *from)
{
    return __uint_as_float((unsigned)from->bits << 16);
}

__device__ __forceinline__ float2 load_pair(const float *from)
{
    return *(const float2 *)from;
}

template <class T> __device__ __forceinline__ float2 load_pair(const T *from)
{
    const unsigned pair = *(const unsigned *)from;
    const T first = {(unsigned short)pair}, second = {(unsigned short)(pair >> 16)};
    return {load_one(&first), load_one(&second)};
}

// Writes two neighbouring elements of a row to an M x N matrix. Elements outside the matrix are not written. `paired`
// means that no row ends between the two elements, and that pairs are aligned.
template <class T>
__device__ __forceinline__ void store_inside(T *matrix, unsigned row, unsigned col, unsigned M, unsigned N, bool paired,
                                             float first, float second)
{
    T *to = matrix + (offset)row * N + col;
    if (row >= M || col >= N)
        return;
    if (paired) {
        store_pair(to, first, second);
    } else {
        store_one(to, first);
        if (col + 1 < N)
            store_one(to + 1, second);
    }
}

// ---- fragments: the parts of a tile that a lane has in registers ----

// Loads four squares. A square has 8 rows of 16 bytes. Lane i gives the address of row i % 8 of square i / 8. The
// address is a multiple of 16 bytes. Each lane gets 4 bytes of each square: to[s] has bytes 4 (lane % 4) to 4 (lane %
// 4) + 3 of row lane / 4 of square s. If the addresses of a square's rows differ in bits 4 to 6, all rows are in
// different banks.
__device__ __forceinline__ void load_fragments(unsigned (&to)[4], unsigned address)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(address)
                 : "memory");
}

// Does the same as load_fragments(), but transposes each square of 8 x 8 elements of 16 bits. Rows of the square in
// memory become columns.
__device__ __forceinline__ void load_fragments_turned(unsigned (&to)[4], unsigned address)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(address)
                 : "memory");
}

// Stores four squares as load_fragments() loads them, from sm_90 on.
__device__ __forceinline__ void store_fragments(unsigned address, unsigned a, unsigned b, unsigned c, unsigned d)
{
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(a), "r"(b),
                 "r"(c), "r"(d)
                 : "memory");
}

// Does the same as store_fragments(), but transposes each square. Columns of the square become rows in shared memory.
__device__ __forceinline__ void store_fragments_turned(unsigned address, unsigned a, unsigned b, unsigned c, unsigned d)
{
    asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(a), "r"(b),
                 "r"(c), "r"(d)
                 : "memory");
}

// ---- mma.sync: matrix instructions of a warp ----

// Computes d += a b, where d is 16 x 8, a is 16 x 32 bytes, and b is 32 bytes x 8. The operands a[0] and a[1] are the
// squares of rows 0 to 7 and of rows 8 to 15 with the first 16 bytes along K. The operands a[2] and a[3] are the
// squares with the second 16 bytes. The operands b0 and b1 are the columns with the first and with the second 16 bytes.
#define MMA_OF(T, SHAPE, KIND)                                                                                         \
    __device__ __forceinline__ void multiply(T, float(&d)[4], const unsigned(&a)[4], unsigned b0, unsigned b1)         \
    {                                                                                                                  \
        asm volatile("mma.sync.aligned." SHAPE ".row.col.f32." KIND "." KIND                                           \
                     ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"                            \
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                                                  \
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));                                  \
    }
MMA_OF(f16, "m16n8k16", "f16")
MMA_OF(bf16, "m16n8k16", "bf16")
MMA_OF(f8e4m3, "m16n8k32", "e4m3") // from sm_89 on
MMA_OF(tf32, "m16n8k8", "tf32")
#undef MMA_OF

// ---- wgmma: matrix instructions of a warp group, on sm_90a ----

// The instruction computes d += a b, where d is 64 x n, a is 64 x 32 bytes, and b is 32 bytes x n. All 128 threads of
// the warp group call these functions. Warp w of the group has the rows 16 w to 16 w + 15 of d. The elements d[4 j] to
// d[4 j + 3] are the accumulators of this warp's columns 8 j to 8 j + 7. The operands are in shared memory, and
// descriptors give their layout. The operand a may also be in registers, in the layout of mma.sync. The instructions
// run asynchronously. A thread calls the functions in this order:
//
// 1. `wgmma_fence()`, before the first instruction, and after writes to registers of d or a.
// 2. `wgmma<bf16, 256>::multiply()`, once or several times, for the same or for other accumulators.
// 3. `wgmma_commit()`, and then `wgmma_wait<0>()`, before it reads d, or writes the registers of a or shared memory.
//
// If a thread reads d before the wait, or if the compiler moves d to other registers, the compiler makes a wait after
// each instruction (warnings C7509 to C7520 of ptxas).

__device__ __forceinline__ void wgmma_fence()
{
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

// Makes a group of all wgmma instructions since the last call.
__device__ __forceinline__ void wgmma_commit()
{
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

// Waits until all groups except the last `pending` groups have ended.
template <unsigned pending> __device__ __forceinline__ void wgmma_wait()
{
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(pending) : "memory");
}

// Keeps the compiler from moving accesses to accumulators across this point.
template <unsigned count> __device__ __forceinline__ void wgmma_keep(float (&d)[count])
{
#pragma unroll
    for (unsigned i = 0; i < count; ++i)
        asm volatile("" : "+f"(d[i])::"memory");
}

// Returns the descriptor of an operand in shared memory, as a number of 64 bits. Addresses and distances are in units
// of 16 bytes:
//
// - Bits 0 to 13 are the address.
// - Bits 16 to 29 are the leading distance.
// - Bits 32 to 45 are the stride.
// - Bits 49 to 51 are the base offset. It is 0 here, because swizzled boxes begin at multiples of 8 x swizzle bytes.
// - Bits 62 and 63 are the swizzle: 1 for 128 bytes, 2 for 64, 3 for 32, 0 for none. The tensor map must have the same
//   swizzle.
//
// A box of a tensor map with a swizzle consists of blocks of 8 rows of `swizzle` bytes. The meaning of the two
// distances depends on the order of the elements:
// - If elements along K are neighbours (A by rows, B by columns), the stride is the distance from 8 rows to the next 8
//   rows. In one box it is 8 x swizzle bytes. The leading distance is not used. The next 32 bytes along K begin 32
//   bytes later with any swizzle, because the swizzle acts on address bits.
// - If elements along M or N are neighbours (B by rows, for types of 16 bits only), a row of the box has the swizzle /
//   2 elements of one k. The stride is the distance from 8 rows to the next 8 rows, which is 8 x swizzle bytes. The
//   leading distance is the distance from a box to the next box along N. The next 16 rows begin 16 x swizzle bytes
//   later.
template <unsigned swizzle>
__device__ __forceinline__ offset matrix_descriptor(unsigned address, unsigned leading, unsigned stride)
{
    const offset kind = swizzle == 128 ? 1 : swizzle == 64 ? 2 : swizzle == 32 ? 3 : 0;
    return (offset)(address >> 4 & 0x3fff) | (offset)(leading >> 4) << 16 | (offset)(stride >> 4) << 32 | kind << 62;
}

// Returns the descriptor of the operand that begins `bytes` bytes after the operand of `descriptor`.
__device__ __forceinline__ offset descriptor_after(offset descriptor, unsigned bytes)
{
    return descriptor + (bytes >> 4);
}

// These macros list operands of the PTX text: the names of n / 2 registers, and the accumulators in these registers.
#define WGMMA_R16 "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15"
#define WGMMA_R32                                                                                                      \
    WGMMA_R16                                                                                                          \
    ",%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31"
#define WGMMA_R36                                                                                                      \
    WGMMA_R32                                                                                                          \
    ",%32,%33,%34,%35"
#define WGMMA_R48                                                                                                      \
    WGMMA_R32                                                                                                          \
    ",%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47"
#define WGMMA_R56                                                                                                      \
    WGMMA_R48                                                                                                          \
    ",%48,%49,%50,%51,%52,%53,%54,%55"
#define WGMMA_R64                                                                                                      \
    WGMMA_R48                                                                                                          \
    ",%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63"
#define WGMMA_R68                                                                                                      \
    WGMMA_R64                                                                                                          \
    ",%64,%65,%66,%67"
#define WGMMA_R72                                                                                                      \
    WGMMA_R64                                                                                                          \
    ",%64,%65,%66,%67,%68,%69,%70,%71"
#define WGMMA_R80                                                                                                      \
    WGMMA_R64                                                                                                          \
    ",%64,%65,%66,%67,%68,%69,%70,%71,%72,%73,%74,%75,%76,%77,%78,%79"
#define WGMMA_R96                                                                                                      \
    WGMMA_R64                                                                                                          \
    ",%64,%65,%66,%67,%68,%69,%70,%71,%72,%73,%74,%75,%76,%77,%78,%79"                                                 \
    ",%80,%81,%82,%83,%84,%85,%86,%87,%88,%89,%90,%91,%92,%93,%94,%95"
#define WGMMA_R104                                                                                                     \
    WGMMA_R96                                                                                                          \
    ",%96,%97,%98,%99,%100,%101,%102,%103"
#define WGMMA_R112                                                                                                     \
    WGMMA_R104                                                                                                         \
    ",%104,%105,%106,%107,%108,%109,%110,%111"
#define WGMMA_R128                                                                                                     \
    WGMMA_R96                                                                                                          \
    ",%96,%97,%98,%99,%100,%101,%102,%103,%104,%105,%106,%107,%108,%109,%110,%111"                                     \
    ",%112,%113,%114,%115,%116,%117,%118,%119,%120,%121,%122,%123,%124,%125,%126,%127"
#define WGMMA_D16(i)                                                                                                   \
    "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), "+f"(d[i + 6]),        \
        "+f"(d[i + 7]), "+f"(d[i + 8]), "+f"(d[i + 9]), "+f"(d[i + 10]), "+f"(d[i + 11]), "+f"(d[i + 12]),             \
        "+f"(d[i + 13]), "+f"(d[i + 14]), "+f"(d[i + 15])
#define WGMMA_D4(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define WGMMA_D32(i) WGMMA_D16(i), WGMMA_D16(i + 16)
#define WGMMA_SUMS16 WGMMA_D16(0)
#define WGMMA_SUMS32 WGMMA_D32(0)
#define WGMMA_SUMS36 WGMMA_D32(0), WGMMA_D4(32)
#define WGMMA_SUMS48 WGMMA_D32(0), WGMMA_D16(32)
#define WGMMA_SUMS56 WGMMA_SUMS48, WGMMA_D4(48), WGMMA_D4(52)
#define WGMMA_SUMS64 WGMMA_D32(0), WGMMA_D32(32)
#define WGMMA_SUMS68 WGMMA_SUMS64, WGMMA_D4(64)
#define WGMMA_SUMS72 WGMMA_SUMS68, WGMMA_D4(68)
#define WGMMA_SUMS80 WGMMA_SUMS64, WGMMA_D16(64)
#define WGMMA_SUMS96 WGMMA_SUMS64, WGMMA_D32(64)
#define WGMMA_SUMS104 WGMMA_SUMS96, WGMMA_D4(96), WGMMA_D4(100)
#define WGMMA_SUMS112 WGMMA_SUMS96, WGMMA_D16(96)
#define WGMMA_SUMS128 WGMMA_SUMS64, WGMMA_D32(64), WGMMA_D32(96)

template <class T, unsigned n> struct wgmma;

// If `add` is 0, the instruction overwrites d and does not add to it. With b_rows, B is stored by rows as
// matrix_descriptor() describes.
#define WGMMA_16_BIT(T, KIND, n, c, p0, p1, p2, p3, p4, p5, p6)                                                        \
    template <> struct wgmma<T, n> {                                                                                   \
        template <bool b_rows>                                                                                         \
        static __device__ __forceinline__ void multiply(float (&d)[c], offset a, offset b, unsigned add)               \
        {                                                                                                              \
            asm volatile("{.reg .pred add; setp.ne.b32 add, " p2 ", 0;\n"                                              \
                         "wgmma.mma_async.sync.aligned.m64n" #n "k16.f32." KIND "." KIND " {" WGMMA_R##c               \
                         "}, " p0 ", " p1 ", add, 1, 1, 0, " p3 ";}\n"                                                 \
                         : WGMMA_SUMS##c                                                                               \
                         : "l"(a), "l"(b), "r"(add), "n"((int)b_rows));                                                \
        }                                                                                                              \
        template <bool b_rows>                                                                                         \
        static __device__ __forceinline__ void multiply(float (&d)[c], const unsigned (&a)[4], offset b, unsigned add) \
        {                                                                                                              \
            asm volatile("{.reg .pred add; setp.ne.b32 add, " p5 ", 0;\n"                                              \
                         "wgmma.mma_async.sync.aligned.m64n" #n "k16.f32." KIND "." KIND " {" WGMMA_R##c               \
                         "}, {" p0 ", " p1 ", " p2 ", " p3 "}, " p4 ", add, 1, 1, " p6 ";}\n"                          \
                         : WGMMA_SUMS##c                                                                               \
                         : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add), "n"((int)b_rows));            \
        }                                                                                                              \
    };
// For types of 8 and 32 bits, B must be stored by columns.
#define WGMMA_OTHER(T, SHAPE, KIND, n, c, p0, p1, p2, p3, p4, p5)                                                          \
    template <> struct wgmma<T, n> {                                                                                   \
        template <bool b_rows>                                                                                         \
        static __device__ __forceinline__ void multiply(float (&d)[c], offset a, offset b, unsigned add)               \
        {                                                                                                              \
            static_assert(!b_rows, "wgmma reads elements of 8 and 32 bits along K");                                   \
            asm volatile("{.reg .pred add; setp.ne.b32 add, " p2 ", 0;\n"                                              \
                         "wgmma.mma_async.sync.aligned.m64n" #n SHAPE ".f32." KIND "." KIND " {" WGMMA_R##c            \
                         "}, " p0 ", " p1 ", add, 1, 1;}\n"                                                            \
                         : WGMMA_SUMS##c                                                                               \
                         : "l"(a), "l"(b), "r"(add));                                                                  \
        }                                                                                                              \
        template <bool b_rows>                                                                                         \
        static __device__ __forceinline__ void multiply(float (&d)[c], const unsigned(&a)[4], offset b, unsigned add)  \
        {                                                                                                              \
            static_assert(!b_rows, "wgmma reads elements of 8 and 32 bits along K");                                   \
            asm volatile("{.reg .pred add; setp.ne.b32 add, " p5 ", 0;\n"                                              \
                         "wgmma.mma_async.sync.aligned.m64n" #n SHAPE ".f32." KIND "." KIND " {" WGMMA_R##c            \
                         "}, {" p0 ", " p1 ", " p2 ", " p3 "}, " p4 ", add, 1, 1;}\n"                                  \
                         : WGMMA_SUMS##c                                                                               \
                         : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add));                              \
        }                                                                                                              \
    };
#define WGMMA_SIZE(n, c, p0, p1, p2, p3, p4, p5, p6)                                                                   \
    WGMMA_16_BIT(f16, "f16", n, c, p0, p1, p2, p3, p4, p5, p6)                                                         \
    WGMMA_16_BIT(bf16, "bf16", n, c, p0, p1, p2, p3, p4, p5, p6)                                                       \
    WGMMA_OTHER(f8e4m3, "k32", "e4m3", n, c, p0, p1, p2, p3, p4, p5)                                                   \
    WGMMA_OTHER(tf32, "k8", "tf32", n, c, p0, p1, p2, p3, p4, p5)
WGMMA_SIZE(32, 16, "%16", "%17", "%18", "%19", "%20", "%21", "%22")
WGMMA_SIZE(64, 32, "%32", "%33", "%34", "%35", "%36", "%37", "%38")
WGMMA_SIZE(72, 36, "%36", "%37", "%38", "%39", "%40", "%41", "%42")
WGMMA_SIZE(96, 48, "%48", "%49", "%50", "%51", "%52", "%53", "%54")
WGMMA_SIZE(112, 56, "%56", "%57", "%58", "%59", "%60", "%61", "%62")
WGMMA_SIZE(128, 64, "%64", "%65", "%66", "%67", "%68", "%69", "%70")
WGMMA_SIZE(136, 68, "%68", "%69", "%70", "%71", "%72", "%73", "%74")
WGMMA_SIZE(144, 72, "%72", "%73", "%74", "%75", "%76", "%77", "%78")
WGMMA_SIZE(160, 80, "%80", "%81", "%82", "%83", "%84", "%85", "%86")
WGMMA_SIZE(192, 96, "%96", "%97", "%98", "%99", "%100", "%101", "%102")
WGMMA_SIZE(208, 104, "%104", "%105", "%106", "%107", "%108", "%109", "%110")
WGMMA_SIZE(224, 112, "%112", "%113", "%114", "%115", "%116", "%117", "%118")
WGMMA_SIZE(256, 128, "%128", "%129", "%130", "%131", "%132", "%133", "%134")

#endif
