/* Products of tcgen05.mma: random tiles of every kind, type, layout and size against a host oracle.
 *
 * The oracle does not use the simulator's code. It places elements in shared memory by the canonical layouts of the PTX ISA
 * as sums of strides, with the swizzle as an operation on address bits. Sums of small whole numbers are exact in any
 * order. For other numbers the oracle uses the arithmetic of the page "Tensor memory": the products of one instruction
 * are cut to 25 bits below the largest one. Nothing here was compared with hardware. */
#include <math.h>

#include "tcgen.h"

enum { IMAGE = 160 * 1024, DYNAMIC = IMAGE, TILE_K = 32 /* bytes along K */ };

typedef enum type { F16, BF16, TF32, E4M3, E5M2, E2M3, E3M2, E2M1, U8, S8 } type;
static const struct {
    const char *kind;
    uint8_t code, bytes, exponent, mantissa; /* code: in the instruction descriptor; bytes: of an element in memory */
    bool narrow;
} types[] = {{"f16", 0, 2, 5, 10, false},   {"f16", 1, 2, 8, 7, false},    {"tf32", 2, 4, 8, 10, false},
             {"f8f6f4", 0, 1, 4, 3, false}, {"f8f6f4", 1, 1, 5, 2, false}, {"f8f6f4", 3, 1, 2, 3, true},
             {"f8f6f4", 4, 1, 3, 2, true},  {"f8f6f4", 5, 1, 2, 1, true},  {"i8", 0, 1, 0, 0, false},
             {"i8", 1, 1, 0, 0, false}};
typedef enum sums { SUM_F16, SUM_F32, SUM_S32 } sums;
typedef enum swizzle { NONE = 0, LINE128_BASE32 = 1, LINE128 = 2, LINE64 = 4, LINE32 = 6 } swizzle;

typedef struct matrix {
    type type;
    swizzle swizzle;
    bool across, negative;
    unsigned rows;     /* the rows of M or N in one block */
    unsigned at, skip; /* where the matrix begins in the image; the bytes of a line that come before it */
    unsigned lbo, sbo;
} matrix;

typedef struct product {
    matrix a, b;
    sums d;
    unsigned m, n;
    bool add, a_tensor, saturate, exact;
    unsigned scale; /* 0: the instruction has no scale */
    bool masked;
    unsigned pair; /* blocks: 1 or 2 */
    unsigned lane, column, a_column;
    uint32_t masks[8];
} product;

static uint32_t seed = 11;
static uint32_t draw(uint32_t below) { return tcgen_seed(&seed) % below; }

/* ---- numbers ---- */

/* Returns the value of bits of a type. */
static double value_of(type t, uint32_t bits)
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

/* Returns the bits of a whole number from -16 to 16, whose mantissa has the type's bits. */
static uint32_t encode(type t, int x)
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

/* Returns random bits of a finite number. `exact`: of a number with which sums of products are exact. */
static uint32_t draw_bits(type t, bool exact)
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
    /* from 2^-6 to 2^7, now and then a subnormal number or 0 */
    const unsigned bias = (1u << (e - 1)) - 1, power = draw(32) ? bias - 6 + draw(14) : 0;
    const uint32_t own = (bits >> 14 & 1) << (m + e) | power << m | (bits & ((1u << m) - 1));
    const uint32_t finite = t == E4M3 && (own & 127) == 127 ? own ^ 1 : own;
    return t == TF32 ? finite << 13 : finite;
}

static float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, 4);
    return value;
}

static uint32_t bits_of_float(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, 4);
    return bits;
}

/* ---- shared memory ---- */

/* Returns the offset in the image of byte `byte` of the element in row `row`, `k`. */
static unsigned place_of(const matrix *x, unsigned row, unsigned k, unsigned byte)
{
    const unsigned bytes = types[x->type].bytes, t = 16 / bytes; /* t: elements of 16 bytes */
    const unsigned wide = x->swizzle == NONE ? 1 : x->swizzle == LINE32 ? 2 : x->swizzle == LINE64 ? 4 : 8;
    const unsigned deep = x->swizzle == LINE128_BASE32 ? 4 : 8;
    unsigned at = x->at + x->skip;
    if (!x->across) { /* a tile has rows by 8 and elements by 16 bytes */
        at += row % 8 * wide * 16 + row / 8 * x->sbo + k % t * bytes + k / t * (wide == 1 ? x->lbo : 16);
    } else if (wide == 1) { /* a tile has rows by 16 bytes and k by 8 */
        at += row % t * bytes + row / t * x->sbo + k % 8 * 16 + k / 8 * x->lbo;
    } else { /* a tile has rows by lines and k by the lines of a block */
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

static void put_element(unsigned char *image, const matrix *x, unsigned row, unsigned k, uint32_t bits)
{
    if (types[x->type].narrow) { /* sixteen elements are packed at the start of each 16 bytes */
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

static uint64_t descriptor_of(const matrix *x)
{
    return (uint64_t)((SHARED_AT + x->at + x->skip) >> 4 & 0x3fff) | (uint64_t)(x->lbo >> 4 & 0x3fff) << 16 |
           (uint64_t)(x->sbo >> 4 & 0x3fff) << 32 | (uint64_t)1 << 46 | (uint64_t)x->swizzle << 61;
}

/* Chooses a layout, and the distances between its parts: as close as possible, or with a gap. */
static void lay_out(matrix *x, unsigned at)
{
    static const swizzle all[] = {NONE, LINE128, LINE64, LINE32, LINE128_BASE32};
    x->across = !types[x->type].narrow && draw(2);
    x->swizzle = all[draw(x->across ? 5 : 4)];
    const unsigned wide = x->swizzle == NONE ? 1 : x->swizzle == LINE32 ? 2 : x->swizzle == LINE64 ? 4 : 8;
    const unsigned bytes = types[x->type].bytes, t = 16 / bytes, k = TILE_K / bytes, gap = draw(2) * 16 * (1 + draw(3));
    x->at = at;
    x->skip = 0;
    if (!x->across) {
        x->skip = wide > 2 ? 32 * draw(wide / 2) : 0;
        x->sbo = 128 * wide + (wide == 1 ? gap : gap * 64); /* a swizzled block begins at a multiple of 1024 */
        x->lbo = wide == 1 ? (x->rows + 7) / 8 * x->sbo + gap : 16;
    } else if (wide == 1) {
        x->lbo = 128 + gap;
        x->sbo = (k + 7) / 8 * x->lbo;
    } else {
        const unsigned deep = x->swizzle == LINE128_BASE32 ? 4 : 8;
        x->sbo = deep * wide * 16;
        x->lbo = (k + deep - 1) / deep * x->sbo;
        (void)t;
    }
}

/* ---- the kernel ---- */

/* The parameter of the kernel. */
typedef struct parameter {
    uint64_t fill, shown, image; /* tensor memory before and after, and shared memory, of each block */
    uint64_t a, b, unused;
    uint32_t description, d, a_tensor, enable, masks[8];
} parameter;

static void write_kernel(kiln__text *text, const product *p)
{
    const char *group = p->pair == 2 ? "cta_group::2" : "cta_group::1";
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
                          "ld.global.v4.u32 {%r4, %r5, %r6, %r7}, [%d11+80];\n");
    kiln__text_printf(text, "tcgen05.mma.%s.kind::%s [%%r21], %s, %%d6, %%r20", group, types[p->a.type].kind,
                      p->a_tensor ? "[%r22]" : "%d5");
    if (p->masked)
        kiln__text_puts(text,
                        p->pair == 2 ? ", {%r24, %r25, %r26, %r27, %r4, %r5, %r6, %r7}" : ", {%r24, %r25, %r26, %r27}");
    kiln__text_puts(text, ", %p4");
    if (p->scale)
        kiln__text_printf(text, ", %u", p->scale);
    kiln__text_printf(text, ";\ntcgen05.commit.%s.mbarrier::arrive::one.shared::cluster%s.b64 [bar]%s;\nissued:\n",
                      group, p->pair == 2 ? ".multicast::cluster" : "", p->pair == 2 ? ", %h0" : "");
    kiln__text_puts(text, "wait: mbarrier.try_wait.parity.shared.b64 %p5, [bar], 0; @!%p5 bra wait;\n"
                          "tcgen05.fence::after_thread_sync; ld.global.u64 %d1, [%d11+8]; add.u64 %d1, %d1, %d9;\n");
    tcgen_all(text, "show", false);
    kiln__text_printf(text,
                      "tcgen05.fence::before_thread_sync; bar.sync 0; setp.ne.u32 %%p0, %%r1, 0; @%%p0 bra freed;\n"
                      "tcgen05.dealloc.%s.sync.aligned.b32 %%r3, 512;\nfreed: ret;\n}\n",
                      group);
}

/* ---- the oracle ---- */

/* Returns the cell of element (row, j) of D: the block in *block, the lane and the column. */
static unsigned cell_of(const product *p, unsigned row, unsigned j, unsigned *block)
{
    const unsigned each = p->m / p->pair;
    *block = row / each;
    row %= each;
    unsigned lane = row, column = j;
    if (each == 64 && p->pair == 1)
        lane = row % 16 + row / 16 * 32;
    if (each == 64 && p->pair == 2 && j >= p->n / 2)
        lane = row + 64, column = j - p->n / 2;
    return (lane + p->lane) * COLUMNS + p->column + column;
}

/* The elements of a matrix, TILE_K for each row: their values, and the powers of two that they count as. */
typedef struct numbers {
    double value[256 * TILE_K];
    int power[256 * TILE_K];
} numbers;

/* Adds products to a sum as README.md says: the sum and all products are cut towards zero, at 25 bits below the power of
 * two of the largest. The result is cut to single precision; the caller rounds it to a half. */
static double add_products(const product *p, double start, const double *x, const int *px, const double *y,
                           const int *py, unsigned k)
{
    const int least = p->d == SUM_F16 ? -14 : -126;
    int top = start == 0 ? -1000 : ilogb(start) < least ? least : ilogb(start);
    for (unsigned n = 0; n < k; n++)
        top = top > px[n] + py[n] ? top : px[n] + py[n];
    top = top < -126 ? -126 : top;
    const double scale = ldexp(1, 25 - top);
    double total = trunc(start * scale);
    for (unsigned n = 0; n < k; n++)
        total += trunc(x[n] * y[n] * scale);
    total = ldexp(total, top - 25);
    if (p->d == SUM_F16 || total == 0)
        return total;
    const int unit = ilogb(total) - 23 < -149 ? -149 : ilogb(total) - 23;
    return ldexp(trunc(ldexp(total, -unit)), unit);
}

/* Rounds to the nearest half; ties go to even. */
static uint32_t round_half(double x)
{
    if (x == 0)
        return 0; /* sums of products are never -0 here, because they begin with +0 */
    const uint32_t sign = x < 0 ? 0x8000 : 0;
    const int power = ilogb(x) < -14 ? -14 : ilogb(x);
    double units = rint(ldexp(fabs(x), 10 - power));
    uint32_t bits = (uint32_t)((power + 14) << 10) + (uint32_t)units;
    return sign | (bits > 0x7c00 ? 0x7c00 : bits);
}

/* Returns the power of two of a factor. A subnormal number has the power of its format's smallest normal number. */
static int power_of(type t, double x)
{
    const int least = t == TF32 || t == BF16 ? -126 : 2 - (1 << (types[t].exponent - 1));
    return x == 0 ? -1000 : ilogb(x) < least ? least : ilogb(x);
}

static void prepare(numbers *to, const matrix *x, const uint32_t *bits, unsigned rows, unsigned k)
{
    for (unsigned n = 0; n < rows * k; n++) {
        to->value[n] = value_of(x->type, bits[n]) * (x->negative ? -1 : 1);
        to->power[n] = x->type == U8 || x->type == S8 ? 0 : power_of(x->type, to->value[n]);
    }
}

/* Returns an element of D: `before` is the element, x and y are the numbers of a row and a column. */
static uint32_t oracle(const product *p, uint32_t before, const double *x, const int *px, const double *y,
                       const int *py, unsigned k)
{
    double start = !p->add ? 0 : p->d == SUM_F16 ? value_of(F16, before & 0xffff) : (double)float_of(before);
    double total = p->d == SUM_S32 ? (p->add ? (int32_t)before : 0) : (start = ldexp(start, -(int)p->scale));
    for (unsigned n = 0; n < k; n++)
        total += x[n] * y[n]; /* whole numbers, so the sum is exact */
    if (p->d == SUM_S32 && p->saturate)
        total = total > INT32_MAX ? INT32_MAX : total < INT32_MIN ? INT32_MIN : total;
    if (p->d == SUM_S32)
        return (uint32_t)(int64_t)total;
    if (!p->exact)
        total = add_products(p, start, x, px, y, py, k);
    return p->d == SUM_F16 ? round_half(total) : bits_of_float((float)total);
}

/* ---- a trial ---- */

static product draw_product(type a, type b, sums d, unsigned pair)
{
    product p = {.a.type = a, .b.type = b, .d = d, .pair = pair};
    const bool ints = d == SUM_S32;
    p.m = (draw(2) ? 128 : 64) * pair;
    const unsigned step = pair == 2 ? (ints ? 32 : 16) : p.m == 64 ? 8 : 16;
    do
        p.n = step * (1 + draw(draw(4) ? 64 / step : 256 / step));
    while (ints && p.n > 24 && p.n % 16);
    p.a.rows = p.m / pair;
    p.b.rows = p.n / pair;
    lay_out(&p.a, 0);
    lay_out(&p.b, 64 * 1024);
    p.a_tensor = !types[a].narrow && draw(3) == 0;
    p.a.across = p.a.across && !p.a_tensor;
    p.a.negative = !ints && draw(4) == 0;
    p.b.negative = !ints && draw(4) == 0;
    p.add = draw(3) != 0;
    p.saturate = ints && draw(2);
    p.scale = (a == F16 || a == BF16 || a == TF32) && draw(3) == 0 ? 1 + draw(15) : 0;
    p.exact = !p.scale && draw(2);
    p.masked = draw(3) == 0;
    for (unsigned k = 0; k < 8; k++)
        p.masks[k] = tcgen_seed(&seed) << 8 ^ tcgen_seed(&seed);
    p.lane = p.m == 64 && pair == 1 ? 16 * draw(2) : 0;
    p.column = draw(COLUMNS - p.n - 8 + 1);
    p.a_column = p.column >= 8 ? draw(p.column - 7) : p.column + p.n;
    return p;
}

static uint32_t describe(const product *p)
{
    return (uint32_t)p->saturate << 3 | (uint32_t)p->d << 4 | (uint32_t)types[p->a.type].code << 7 |
           (uint32_t)types[p->b.type].code << 10 | (uint32_t)p->a.negative << 13 | (uint32_t)p->b.negative << 14 |
           (uint32_t)p->a.across << 15 | (uint32_t)p->b.across << 16 | p->n / 8 << 17 | p->m / 16 << 24;
}

typedef struct trial {
    vm_bench bench;
    uint32_t *fill, *shown, *want;
    unsigned char *image;
    parameter *list;
    uint64_t address;
} trial;

/* Fills tensor memory and both matrices. a and b get their elements, k for each row. */
static void fill_trial(trial *t, const product *p, uint32_t *a, uint32_t *b, unsigned k)
{
    for (unsigned n = 0; n < CELLS * p->pair; n++) {
        const uint32_t bits = p->d == SUM_S32 ? tcgen_seed(&seed) << 8 ^ tcgen_seed(&seed)
                              : p->d == SUM_F16
                                  ? draw_bits(F16, p->exact)
                                  : bits_of_float((float)((int)draw(2001) - 1000) / (p->exact ? 1.0f : 64.0f));
        t->fill[n] = bits;
    }
    for (unsigned row = 0; row < p->m; row++)
        for (unsigned n = 0; n < k; n++) {
            const unsigned each = p->m / p->pair, block = row / each, own = row % each;
            const uint32_t bits = a[row * k + n] = draw_bits(p->a.type, p->exact);
            if (!p->a_tensor) {
                put_element(t->image + block * IMAGE, &p->a, own, n, bits);
                continue;
            }
            const unsigned lane = each == 64 && p->pair == 1 ? own % 16 + own / 16 * 32 + p->lane : own;
            unsigned char *cells = (unsigned char *)(t->fill + block * CELLS + lane * COLUMNS + p->a_column);
            memcpy(cells + n * types[p->a.type].bytes, &bits, types[p->a.type].bytes);
        }
    for (unsigned j = 0; j < p->n; j++)
        for (unsigned n = 0; n < k; n++) {
            const unsigned each = p->n / p->pair;
            const uint32_t bits = b[j * k + n] = draw_bits(p->b.type, p->exact);
            put_element(t->image + j / each * IMAGE, &p->b, j % each, n, bits);
        }
}

static void run_product(const product *p, uint64_t *tiles)
{
    enum { MOST = 256 * TILE_K };
    const unsigned k = TILE_K / types[p->a.type].bytes;
    static uint32_t a[MOST], b[MOST];
    static numbers x, y;
    kiln__text text = {0};
    write_kernel(&text, p);
    trial t = {.bench = vm_bench_text(kiln__text_get(&text), text.length, (vm_limits){.cc = 100})};
    parameter list = {.description = describe(p),
                      .d = p->lane << 16 | p->column,
                      .a_tensor = p->lane << 16 | p->a_column,
                      .enable = p->add,
                      .a = descriptor_of(&p->a),
                      .b = descriptor_of(&p->b)};
    memcpy(list.masks, p->masks, sizeof list.masks);
    list.fill = vm_bench_zeros(&t.bench, CELLS * 4 * p->pair, &t.fill);
    list.shown = vm_bench_zeros(&t.bench, CELLS * 4 * p->pair, &t.shown);
    list.image = vm_bench_zeros(&t.bench, IMAGE * p->pair, &t.image);
    t.address = vm_bench_zeros(&t.bench, sizeof list, &t.list);
    *t.list = list;
    fill_trial(&t, p, a, b, k);
    t.want = kiln__calloc(NULL, CELLS * p->pair, 4);
    CU_ASSERT_PTR_NOT_NULL_FATAL(t.want);
    memcpy(t.want, t.fill, CELLS * 4 * p->pair);
    prepare(&x, &p->a, a, p->m, k);
    prepare(&y, &p->b, b, p->n, k);
    for (unsigned row = 0; row < p->m; row++)
        for (unsigned j = 0; j < p->n; j++) {
            unsigned block;
            const unsigned cell = cell_of(p, row, j, &block), lane = cell / COLUMNS;
            if (p->masked && p->masks[block * 4 + lane / 32] >> lane % 32 & 1)
                continue;
            t.want[block * CELLS + cell] = oracle(p, t.fill[block * CELLS + cell], x.value + row * k, x.power + row * k,
                                                  y.value + j * k, y.power + j * k, k);
        }
    vm_launch launch = {.module = t.bench.module,
                        .kernel = vm_module_kernel(t.bench.module, "k"),
                        .grid = {p->pair, 1, 1},
                        .cluster = {p->pair, 1, 1},
                        .block = {WARPGROUP, 1, 1},
                        .params = &t.address,
                        .dynamic_shared = DYNAMIC};
    const vm_fault_kind kind = vm_run(t.bench.device, &launch, &t.bench.counters, &t.bench.fault);
    unsigned wrong = 0, first = 0;
    for (unsigned n = 0; n < CELLS * p->pair; n++)
        if (t.want[n] != t.shown[n] && wrong++ == 0)
            first = n;
    if (kind != VM_OK || wrong)
        fprintf(
            stderr,
            "kind %s, types %d %d, sums %d, %ux%u, pair %u: A swizzle %d %s%s, B swizzle %d %s, add %d, scale %u, masked %d, "
            "exact %d: %s%u cells differ, first lane %u column %u: %x, not %x\n",
            types[p->a.type].kind, (int)p->a.type, (int)p->b.type, (int)p->d, p->m, p->n, p->pair, (int)p->a.swizzle,
            p->a.across ? "across" : "along", p->a_tensor ? " in tensor memory" : "", (int)p->b.swizzle,
            p->b.across ? "across" : "along", p->add, p->scale, p->masked, p->exact, kind ? t.bench.fault.message : "",
            wrong, first / COLUMNS, first % COLUMNS, t.shown[first], t.want[first]);
    CHECK(kind == VM_OK && !wrong);
    *tiles += (uint64_t)p->m * p->n / 64;
    kiln__free(NULL, t.want);
    kiln__text_free(&text);
    vm_bench_end(&t.bench);
}

/* Returns how often each pair of types is tried. The variable KILN_TCGEN_ROUNDS asks for a longer trial. */
static unsigned count_rounds(void)
{
    const char *wanted = getenv("KILN_TCGEN_ROUNDS");
    return wanted ? (unsigned)strtoul(wanted, NULL, 10) : 2;
}

/* All pairs of types of each kind. */
static void try_all(unsigned pair)
{
    uint64_t tiles = 0;
    for (unsigned round = 0; round < count_rounds(); round++)
        for (type a = F16; a <= S8; a++)
            for (type b = F16; b <= S8; b++) {
                const bool halves = a <= BF16, small = a >= E4M3 && a <= E2M1, ints = a >= U8;
                const bool fits = halves || a == TF32 ? a == b : small ? b >= E4M3 && b <= E2M1 : b >= U8;
                if (!fits)
                    continue;
                const sums d = ints ? SUM_S32 : (a == F16 || small) && draw(2) ? SUM_F16 : SUM_F32;
                const product p = draw_product(a, b, d, pair);
                run_product(&p, &tiles);
            }
    if (getenv("KILN_TCGEN_ROUNDS"))
        printf("%llu tiles of 8 x 8\n", (unsigned long long)tiles);
}

static void test_products(void) { try_all(1); }
static void test_pairs(void) { try_all(2); }

/* ---- special numbers ---- */

/* An infinity or a NaN in one element must reach all sums of its row, and no other sum. */
static void test_special(void)
{
    product p = {
        .a = {.type = F16, .rows = 64}, .b = {.type = F16, .rows = 16}, .d = SUM_F32, .m = 64, .n = 16, .pair = 1};
    kiln__text text = {0};
    write_kernel(&text, &p);
    vm_bench b = vm_bench_text(kiln__text_get(&text), text.length, (vm_limits){.cc = 100});
    uint32_t *fill, *shown;
    unsigned char *image;
    parameter *list;
    p.a.sbo = p.b.sbo = 128, p.a.lbo = 1024, p.b.lbo = 256, p.b.at = 4096;
    parameter values = {.description = describe(&p), .a = descriptor_of(&p.a), .b = descriptor_of(&p.b)};
    values.fill = vm_bench_zeros(&b, CELLS * 4, &fill);
    values.shown = vm_bench_zeros(&b, CELLS * 4, &shown);
    values.image = vm_bench_zeros(&b, IMAGE, &image);
    const uint64_t address = vm_bench_zeros(&b, sizeof values, &list);
    *list = values;
    for (unsigned row = 0; row < 64; row++)
        for (unsigned k = 0; k < 16; k++) {
            put_element(image, &p.a, row, k, row == 3 && k == 5 ? 0x7c00 : row == 20 && k == 1 ? 0x7e01 : 0x3c00);
            if (row < 16)
                put_element(image, &p.b, row, k, row == 7 ? 0xbc00 : 0x3c00);
        }
    CHECK(vm_bench_try(&b, "k", 1, WARPGROUP, &address, DYNAMIC) == VM_OK);
    for (unsigned row = 0; row < 64; row++)
        for (unsigned j = 0; j < 16; j++) {
            unsigned block;
            const uint32_t got = shown[cell_of(&p, row, j, &block)];
            const float total = j == 7 ? -16.0f : 16.0f;
            CHECK(got == (row == 3    ? (j == 7 ? 0xff800000u : 0x7f800000u)
                          : row == 20 ? 0x7fffffffu
                                      : bits_of_float(total)));
        }
    kiln__text_free(&text);
    vm_bench_end(&b);
}

/* ---- faults ---- */

typedef struct fault {
    const char *what;
    uint32_t description, d;
    uint64_t b;
    vm_fault_kind kind;
    const char *kind_name, *group;
    bool a_tensor;
} fault;

static void test_faults(void)
{
    /* M 64, N 16, f16 with sums of f32, no swizzle */
    const uint32_t good = 1u << 4 | 2u << 17 | 4u << 24;
    const uint64_t b = (uint64_t)SHARED_AT >> 4 | (uint64_t)8 << 16 | (uint64_t)16 << 32 | (uint64_t)1 << 46;
    const fault table[] = {
        {NULL, good, 0, b, VM_OK, "f16", NULL, false},
        {NULL, good, 0x100000, b, VM_OK, "f16", NULL, false},
        {NULL, good, 0, b, VM_OK, "f16", NULL, true},
        {"types or flags do not fit", good | 4, 0, b, VM_FAULT_INSTRUCTION, "f16", NULL, false},
        {"types or flags do not fit", good | 1u << 7, 0, b, VM_FAULT_INSTRUCTION, "f16", NULL, false},
        {"types or flags do not fit", good | 2u << 7, 0, b, VM_FAULT_INSTRUCTION, "f16", NULL, false},
        {"types or flags do not fit", good | 3u << 4, 0, b, VM_FAULT_INSTRUCTION, "f16", NULL, false},
        {"types or flags do not fit", good | 8, 0, b, VM_FAULT_INSTRUCTION, "f16", NULL, false},
        {"types or flags do not fit", good | 1u << 30, 0, b, VM_FAULT_INSTRUCTION, "f16", NULL, false},
        {"types or flags do not fit", good, 0, b, VM_FAULT_INSTRUCTION, "tf32", NULL, false},
        {"types or flags do not fit", good, 0, b, VM_FAULT_INSTRUCTION, "i8", NULL, false},
        {"types or flags do not fit", good | 2u << 7, 0, b, VM_FAULT_INSTRUCTION, "f8f6f4", NULL, false},
        {"M 0 and N 16", good & 0xffffff, 0, b, VM_FAULT_INSTRUCTION, "f16", NULL, false},
        {"M 256 and N 16", good ^ 20u << 24, 0, b, VM_FAULT_INSTRUCTION, "f16", NULL, false},
        {"M 64 and N 0", good ^ 2u << 17, 0, b, VM_FAULT_INSTRUCTION, "f16", NULL, false},
        {"M 64 and N 504", good | 63u << 17, 0, b, VM_FAULT_INSTRUCTION, "f16", NULL, false},
        {"M 128 and N 8", 1u << 4 | 1u << 17 | 8u << 24, 0, b, VM_FAULT_INSTRUCTION, "f16", NULL, false},
        {"M 64 and N 40", 2u << 4 | 5u << 17 | 4u << 24, 0, b, VM_FAULT_INSTRUCTION, "i8", NULL, false},
        {"4 or 6 bits is transposed", good | 5u << 10 | 1u << 16, 0, b, VM_FAULT_INSTRUCTION, "f8f6f4", NULL, false},
        {"4 or 6 bits is transposed, or in tensor memory", good | 5u << 7, 0, b, VM_FAULT_INSTRUCTION, "f8f6f4", NULL,
         true},
        {"column 64: the block has not allocated", good, 50, b, VM_FAULT_ADDRESS, "f16", NULL, false},
        {"tensor memory has 512 columns", good, 0xffff, b, VM_FAULT_ADDRESS, "f16", NULL, false},
        {"cannot begin at lane 8", good, 0x80000, b, VM_FAULT_ADDRESS, "f16", NULL, false},
        {"cannot begin at lane 16", good ^ 12u << 24, 0x100000, b, VM_FAULT_ADDRESS, "f16", NULL, false},
        {"bits 46 to 48 are not 1", good, 0, b ^ (uint64_t)1 << 46, VM_FAULT_INSTRUCTION, "f16", NULL, false},
        {"bits 53 to 60 are not 0", good, 0, b | (uint64_t)1 << 55, VM_FAULT_INSTRUCTION, "f16", NULL, false},
        {"absolute leading dimension", good, 0, b | (uint64_t)1 << 52, VM_FAULT_INSTRUCTION, "f16", NULL, false},
        {"no such swizzle", good, 0, b | (uint64_t)3 << 61, VM_FAULT_INSTRUCTION, "f16", NULL, false},
        {"for transposed matrices", good, 0, b | (uint64_t)1 << 61, VM_FAULT_INSTRUCTION, "f16", NULL, false},
        {"invalid read", good, 0, b | 0x3fff, VM_FAULT_ADDRESS, "f16", NULL, false},
        {"invalid read", good, 0, b | (uint64_t)0x2000 << 32, VM_FAULT_ADDRESS, "f16", NULL, false},
        {"a cluster without a second block", good ^ 12u << 24, 0, b, VM_FAULT_INSTRUCTION, "f16", "cta_group::2",
         false},
    };
    for (size_t k = 0; k < KILN__COUNT(table); k++) {
        const fault *f = &table[k];
        kiln__text text = {0};
        kiln__text_puts(&text, TCGEN_HEAD TCGEN_KERNEL("k") TCGEN_ALLOC(64));
        kiln__text_printf(&text,
                          "setp.ne.u32 %%p2, %%r0, 0; @%%p2 bra done; mov.b64 %%d5, %llu; mov.b64 %%d6, %llu;\n"
                          "mov.u32 %%r20, %u; mov.u32 %%r21, %u; mov.u32 %%r22, 32; setp.eq.u32 %%p4, %%r0, 0;\n"
                          "tcgen05.mma.%s.kind::%s [%%r21], %s, %%d6, %%r20, %%p4;\ndone:\n",
                          (unsigned long long)b, (unsigned long long)f->b, f->description, f->d,
                          f->group ? f->group : "cta_group::1", f->kind_name, f->a_tensor ? "[%r22]" : "%d5");
        kiln__text_puts(&text, TCGEN_FREE(64) "ret;\n}\n");
        vm_bench bench = vm_bench_text(kiln__text_get(&text), text.length, (vm_limits){.cc = 100});
        uint32_t *out;
        const uint64_t address = vm_bench_zeros(&bench, 256, &out);
        const vm_fault_kind kind = vm_bench_try(&bench, "k", 1, WARPGROUP, &address, 8192);
        if (kind != f->kind || (f->what && !strstr(bench.fault.message, f->what)))
            fprintf(stderr, "%zu: %s: %s\n", k, f->what ? f->what : "", bench.fault.message);
        CHECK(kind == f->kind && (!f->what || strstr(bench.fault.message, f->what)));
        kiln__text_free(&text);
        vm_bench_end(&bench);
    }
}

static const check_case cases[] = {
    {"products", test_products},
    {"products of two blocks", test_pairs},
    {"infinities and NaNs", test_special},
    {"faults", test_faults},
};
KILN_SUITE("sim.vm_tcgen_mma", cases)
