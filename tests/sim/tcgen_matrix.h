/* tcgen_matrix.h - makes numbers of the types of tcgen05, and matrices in shared memory, for the suites
 * test_vm_tcgen_*.c. It does not use the simulator's code. It places elements by the canonical layouts of the PTX ISA,
 * as sums of strides. The swizzle is an operation on address bits. */
#ifndef KILN_TESTS_TCGEN_MATRIX_H
#define KILN_TESTS_TCGEN_MATRIX_H

#include <math.h>

#include "tcgen.h"

typedef enum type { F16, BF16, TF32, E4M3, E5M2, E2M3, E3M2, E2M1, U8, S8 } type;
static const struct {
    /* `code` is the type's number in the instruction descriptor; `bytes` is the size of an element in memory */
    uint8_t code, bytes, exponent, mantissa;
    bool narrow;
} types[] = {{0, 2, 5, 10, false}, {1, 2, 8, 7, false}, {2, 4, 8, 10, false}, {0, 1, 4, 3, false}, {1, 1, 5, 2, false},
             {3, 1, 2, 3, true},   {4, 1, 3, 2, true},  {5, 1, 2, 1, true},   {0, 1, 0, 0, false}, {1, 1, 0, 0, false}};
typedef enum swizzle { NONE = 0, LINE128_BASE32 = 1, LINE128 = 2, LINE64 = 4, LINE32 = 6 } swizzle;

typedef struct matrix {
    type type;
    swizzle swizzle;
    bool across, negative;
    bool packed;   /* two elements of 4 bits share a byte */
    unsigned k;    /* elements along K */
    unsigned rows; /* the rows of M or N in one block */
    /* `at` is the start of the matrix in the image; `skip` counts the bytes of a line before the matrix */
    unsigned at, skip;
    unsigned lbo, sbo;
} matrix;

static uint32_t seed = 11;
static inline uint32_t draw(uint32_t below) { return tcgen_seed(&seed) % below; }

/* ---- numbers ---- */

/* Returns the number that these bits represent in a type. */
static inline double value_of(type t, uint32_t bits)
{
    if (t == U8 || t == S8)
        return t == U8 ? (double)(bits & 255) : (double)(int8_t)(uint8_t)bits;
    bits = t == TF32 ? bits >> 13 : bits;
    const unsigned e = types[t].exponent, m = types[t].mantissa, power = bits >> m & ((1u << e) - 1);
    const double fraction = (double)(bits & ((1u << m) - 1));
    const int bias = (1 << (e - 1)) - 1;
    const double size = power ? ldexp(1 + ldexp(fraction, -(int)m), (int)power - bias)
                              : ldexp(fraction, 1 - bias - (int)m);
    return bits >> (m + e) & 1 ? -size : size;
}

/* Returns the bits of a whole number from -16 to 16 that the type can represent. */
static inline uint32_t encode(type t, int x)
{
    const unsigned e = types[t].exponent, m = types[t].mantissa, size = (unsigned)abs(x);
    unsigned top = 0;
    while (size >> (top + 1))
        top++;
    const uint32_t power = top + (1u << (e - 1)) - 1,
                   fraction = (uint32_t)((uint64_t)size << m >> top) & ((1u << m) - 1);
    const uint32_t bits = (uint32_t)(x < 0) << (m + e) | (size ? power << m | fraction : 0);
    return t == TF32 ? bits << 13 : bits;
}

/* Returns the bits of a random finite number. If `exact` is true, sums of products of such numbers have no rounding
 * errors. */
static inline uint32_t draw_bits(type t, bool exact)
{
    static const int whole[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16};
    const uint32_t bits = tcgen_seed(&seed) ^ tcgen_seed(&seed) << 13;
    if (t == U8 || t == S8)
        return bits & 255;
    const unsigned e = types[t].exponent, m = types[t].mantissa;
    if (types[t].narrow)
        return bits & ((1u << (1 + e + m)) - 1);
    if (exact)
        return encode(t, whole[draw(t == E5M2 ? 5 : KILN__COUNT(whole))] * (draw(2) ? 1 : -1));
    /* a number from 2^-6 to 2^7, or sometimes a subnormal number or 0 */
    const unsigned bias = (1u << (e - 1)) - 1, power = draw(32) ? bias - 6 + draw(14) : 0;
    const uint32_t own = (bits >> 14 & 1) << (m + e) | power << m | (bits & ((1u << m) - 1));
    const uint32_t finite = t == E4M3 && (own & 127) == 127 ? own ^ 1 : own;
    return t == TF32 ? finite << 13 : finite;
}

static inline float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, 4);
    return value;
}

static inline uint32_t bits_of_float(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, 4);
    return bits;
}

/* ---- shared memory ---- */

/* Returns the offset in the image of byte `byte` of the element at (`row`, `k`). */
static inline unsigned place_of(const matrix *x, unsigned row, unsigned k, unsigned byte)
{
    const unsigned bytes = types[x->type].bytes, t = 16 / bytes; /* t is the number of elements in 16 bytes */
    const unsigned wide = x->swizzle == NONE ? 1 : x->swizzle == LINE32 ? 2 : x->swizzle == LINE64 ? 4 : 8;
    const unsigned deep = x->swizzle == LINE128_BASE32 ? 4 : 8;
    unsigned at = x->at + x->skip;
    if (!x->across) { /* a tile has 8 rows of 16 bytes; the leading distance leads to the next line of tiles */
        at += row % 8 * wide * 16 + row / 8 * x->sbo + k % t * bytes + k / t % wide * 16 + k / t / wide * x->lbo;
    } else if (wide == 1) { /* a tile has 16 bytes of rows for each of 8 values of k */
        at += row % t * bytes + row / t * x->sbo + k % 8 * 16 + k / 8 * x->lbo;
    } else { /* a tile has lines of rows, and as many values of k as a block has lines */
        at += row % t * bytes + row / t % wide * 16 + row / t / wide * x->lbo + k % deep * wide * 16 +
              k / deep * x->sbo;
    }
    at += byte;
    switch (x->swizzle) { /* exclusive-or of address bits */
    case LINE128_BASE32: return at ^ (at >> 7 & 3) << 5;
    case LINE128: return at ^ (at >> 7 & 7) << 4;
    case LINE64: return at ^ (at >> 7 & 3) << 4;
    case LINE32: return at ^ (at >> 7 & 1) << 4;
    default: return at;
    }
}

static inline void put_element(unsigned char *image, const matrix *x, unsigned row, unsigned k, uint32_t bits)
{
    if (x->packed) { /* two elements in a byte */
        unsigned char *to = &image[place_of(x, row, k / 2, 0)];
        *to = (unsigned char)(k % 2 ? (*to & 0x0f) | bits << 4 : (*to & 0xf0) | bits);
        return;
    }
    if (types[x->type].narrow) { /* each 16 bytes begin with 16 packed elements */
        const unsigned width = 1u + types[x->type].exponent + types[x->type].mantissa;
        for (unsigned n = 0; n < width; n++) {
            const unsigned bit = k % 16 * width + n, at = place_of(x, row, k / 16 * 16, bit / 8);
            image[at] = (unsigned char)((image[at] & ~(1u << bit % 8)) | (bits >> n & 1) << bit % 8);
        }
        return;
    }
    for (unsigned n = 0; n < types[x->type].bytes; n++)
        image[place_of(x, row, k, n)] = (unsigned char)(bits >> 8 * n);
}

static inline uint64_t descriptor_of(const matrix *x)
{
    return (uint64_t)((SHARED_AT + x->at + x->skip) >> 4 & 0x3fff) | (uint64_t)(x->lbo >> 4 & 0x3fff) << 16 |
           (uint64_t)(x->sbo >> 4 & 0x3fff) << 32 | (uint64_t)1 << 46 | (uint64_t)x->swizzle << 61;
}

/* Chooses a layout, and the distances between its parts: as close as possible, or with a gap. */
static inline void lay_out(matrix *x, unsigned at)
{
    static const swizzle all[] = {NONE, LINE128, LINE64, LINE32, LINE128_BASE32};
    x->across = !types[x->type].narrow && draw(2) && x->k <= 64;
    x->swizzle = all[draw(x->across ? 5 : 4)];
    const unsigned wide = x->swizzle == NONE ? 1 : x->swizzle == LINE32 ? 2 : x->swizzle == LINE64 ? 4 : 8;
    const unsigned gap = draw(2) * 16 * (1 + draw(3)), line = x->packed ? x->k / 2 : x->k * types[x->type].bytes;
    x->at = at;
    x->skip = 0;
    if (!x->across) {
        x->skip = wide * 16 > line ? 16 * draw((wide * 16 - line) / 16 + 1) : 0;
        x->sbo = 128 * wide + (wide == 1 ? gap : gap ? 1024 : 0); /* a swizzled block begins at a multiple of 1024 */
        x->lbo = (x->rows + 7) / 8 * x->sbo + (wide == 1 ? gap : 0);
    } else if (wide == 1) {
        x->lbo = 128 + gap;
        x->sbo = (x->k + 7) / 8 * x->lbo;
    } else {
        const unsigned deep = x->swizzle == LINE128_BASE32 ? 4 : 8;
        x->sbo = deep * wide * 16;
        x->lbo = (x->k + deep - 1) / deep * x->sbo;
    }
}

/* ---- the kernel ---- */

enum { IMAGE = 160 * 1024, DYNAMIC = IMAGE };

/* The structure to which the parameter of a kernel points. */
typedef struct parameter {
    /* addresses of each block's tensor memory before and after, and of its shared memory */
    uint64_t fill, shown, image;
    uint64_t a, b, zero_mask;
    uint32_t description, d, a_tensor, enable, masks[8], metadata, scales[2], unused;
} parameter;

/* Writes the part of a kernel before the tested instruction, which fills tensor memory and shared memory of each block.
 * Only thread 0 of block 0 executes the tested instruction. These registers have members of the parameter:
 *   %d5 a, %d6 b, %d7 zero_mask, %p4 enable
 *   %r20 description, %r21 d, %r22 a_tensor, %r31 metadata, %r32 and %r33 scales
 *   %r24 to %r27 and %r4 to %r7 masks */
static inline void write_begin(kiln__text *text, unsigned pair)
{
    const char *group = pair == 2 ? "cta_group::2" : "cta_group::1";
    kiln__text_puts(text, TCGEN_HEAD TCGEN_KERNEL("k"));
    kiln__text_printf(
        text,
        "mov.u16 %%h0, 3; mov.u32 %%r30, %%cluster_ctarank; setp.ne.u32 %%p0, %%r1, 0; @%%p0 bra allocated;\n"
        "tcgen05.alloc.%s.sync.aligned.shared::cta.b32 [base], 512;\n"
        "tcgen05.relinquish_alloc_permit.%s.sync.aligned;\n"
        "allocated: bar.sync 0; ld.shared.u32 %%r3, [base];\n",
        group, group);
    /* each block has its own part of the images */
    kiln__text_printf(text, "mul.wide.u32 %%d9, %%r30, %d; mul.wide.u32 %%d10, %%r30, %d; mov.b64 %%d11, %%d0;\n",
                      CELLS * 4, IMAGE);
    kiln__text_puts(text, "ld.global.u64 %d1, [%d11]; add.u64 %d1, %d1, %d9;\n");
    tcgen_all(text, "fill", true);
    kiln__text_printf(
        text,
        "ld.global.u64 %%d3, [%%d11+16]; add.u64 %%d3, %%d3, %%d10; shl.b32 %%r12, %%r0, 4; mov.u32 %%r13, s;\n"
        "add.u32 %%r13, %%r13, %%r12; cvt.u64.u32 %%d4, %%r12; add.u64 %%d3, %%d3, %%d4;\n"
        "copy: ld.global.v4.u32 {%%r14, %%r15, %%r16, %%r17}, [%%d3];\n"
        "st.shared.v4.u32 [%%r13], {%%r14, %%r15, %%r16, %%r17};\n"
        "add.u64 %%d3, %%d3, 2048; add.u32 %%r13, %%r13, 2048; add.u32 %%r12, %%r12, 2048;\n"
        "setp.lt.u32 %%p1, %%r12, %d; @%%p1 bra copy;\n",
        IMAGE);
    kiln__text_puts(text, "setp.ne.u32 %p2, %r0, 0; @%p2 bra begun; mbarrier.init.shared.b64 [bar], 1;\nbegun:\n"
                          "fence.proxy.async; fence.mbarrier_init.release.cluster; tcgen05.fence::before_thread_sync;\n"
                          "barrier.cluster.arrive; barrier.cluster.wait; tcgen05.fence::after_thread_sync;\n"
                          "setp.ne.u32 %p3, %r30, 0; or.pred %p3, %p2, %p3; @%p3 bra issued;\n"
                          "ld.global.u64 %d5, [%d11+24]; ld.global.u64 %d6, [%d11+32];\n"
                          "ld.global.v4.u32 {%r20, %r21, %r22, %r23}, [%d11+48]; setp.ne.u32 %p4, %r23, 0;\n"
                          "ld.global.v4.u32 {%r24, %r25, %r26, %r27}, [%d11+64];\n"
                          "ld.global.v4.u32 {%r4, %r5, %r6, %r7}, [%d11+80]; ld.global.u64 %d7, [%d11+40];\n"
                          "ld.global.v4.u32 {%r31, %r32, %r33, %r34}, [%d11+96];\n");
}

/* Writes the part of a kernel after the tested instruction, which commits, waits, and copies tensor memory out. */
static inline void write_end(kiln__text *text, unsigned pair)
{
    const char *group = pair == 2 ? "cta_group::2" : "cta_group::1";
    kiln__text_printf(text, "tcgen05.commit.%s.mbarrier::arrive::one.shared::cluster%s.b64 [bar]%s;\nissued:\n", group,
                      pair == 2 ? ".multicast::cluster" : "", pair == 2 ? ", %h0" : "");
    kiln__text_puts(text, "wait: mbarrier.try_wait.parity.shared.b64 %p5, [bar], 0; @!%p5 bra wait;\n"
                          "tcgen05.fence::after_thread_sync; ld.global.u64 %d1, [%d11+8]; add.u64 %d1, %d1, %d9;\n");
    tcgen_all(text, "show", false);
    kiln__text_printf(text,
                      "tcgen05.fence::before_thread_sync; bar.sync 0; setp.ne.u32 %%p0, %%r1, 0; @%%p0 bra freed;\n"
                      "tcgen05.dealloc.%s.sync.aligned.b32 %%r3, 512;\nfreed: ret;\n}\n",
                      group);
}

/* A trial has a device and the memory of the kernel. `want` is the tensor memory that the kernel must copy out. */
typedef struct trial {
    vm_bench bench;
    uint32_t *fill, *shown, *want;
    unsigned char *image;
    parameter *list;
    uint64_t address;
} trial;

/* Opens a trial with `pair` blocks, 1 or 2. If `newer` is true, the device is an sm_103. */
static inline trial trial_open(const kiln__text *text, const parameter *list, unsigned pair, bool newer)
{
    char *ptx = strdup(kiln__text_get(text));
    CU_ASSERT_PTR_NOT_NULL_FATAL(ptx);
    if (newer)
        strstr(ptx, "sm_100a")[5] = '3';
    trial t = {.bench = vm_bench_text(ptx, text->length, (vm_limits){.cc = newer ? 103 : 100})};
    free(ptx);
    parameter own = *list;
    own.fill = vm_bench_zeros(&t.bench, CELLS * 4 * pair, &t.fill);
    own.shown = vm_bench_zeros(&t.bench, CELLS * 4 * pair, &t.shown);
    own.image = vm_bench_zeros(&t.bench, (uint64_t)IMAGE * pair, &t.image);
    t.address = vm_bench_zeros(&t.bench, sizeof own, &t.list);
    *t.list = own;
    t.want = kiln__calloc(NULL, (size_t)CELLS * pair, 4);
    CU_ASSERT_PTR_NOT_NULL_FATAL(t.want);
    return t;
}

/* Runs the kernel. Returns the number of wrong cells, and sets *first to the first wrong cell. */
static inline unsigned trial_run(trial *t, unsigned pair, vm_fault_kind *fault, unsigned *first)
{
    vm_launch launch = {.module = t->bench.module,
                        .kernel = vm_module_kernel(t->bench.module, "k"),
                        .grid = {pair, 1, 1},
                        .cluster = {pair, 1, 1},
                        .block = {WARPGROUP, 1, 1},
                        .params = &t->address,
                        .dynamic_shared = DYNAMIC};
    unsigned wrong = 0;
    *fault = vm_run(t->bench.device, &launch, &t->bench.counters, &t->bench.fault);
    *first = 0;
    for (unsigned n = 0; n < CELLS * pair; n++)
        if (t->want[n] != t->shown[n] && wrong++ == 0)
            *first = n;
    return wrong;
}

static inline void trial_close(trial *t)
{
    kiln__free(NULL, t->want);
    vm_bench_end(&t->bench);
}

#endif
