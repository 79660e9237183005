/* Tests wgmma, the products of a warpgroup. The test stores operands in shared memory like copies by tensor maps, which
 * swizzle the 16-byte pieces of lines. It builds fragments by the formulas of the PTX manual. The numbers are small
 * integers, so that products are exact in any order. Tests of the known rounding follow. */
#include <inttypes.h>
#include <math.h>

#include "vm_check.h"

/* LOW is the address at which shared memory begins on this device. */
enum { ROWS = 64, COLUMNS = 256, DEPTH = 64, SHARED = 40960, LOW = 0x400, A_AT = 0, B_AT = 8192, THREADS = 128 };

typedef enum kind { F16, BF16, TF32, E4M3, E5M2, S8, U8, B1 } kind;
static const char *const names[] = {"f16", "bf16", "tf32", "e4m3", "e5m2", "s8", "u8", "b1"};
static const int bits_of[] = {16, 16, 32, 8, 8, 8, 8, 1};

typedef enum swizzle { NONE, LINE128, LINE64, LINE32 } swizzle; /* in the order of their numbers in a descriptor */
typedef struct side {
    swizzle mode;
    bool across;  /* true if neighbouring elements along M or N are consecutive in memory */
    int skip;     /* the number of 32-byte pieces of the line before the matrix */
    bool swapped; /* if `across` is set: the first of the two distances between atoms is the larger one */
} side;

typedef struct product {
    kind a, b;
    const char *d;
    int n;
    bool registers;
    side sa, sb;
    int scale_a, scale_b; /* 0 if the instruction has no such scale */
    bool no_c, sparse, saturate;
    int selector;
} product;

static uint32_t seed = 7;
static uint32_t draw(void)
{
    seed = seed * 1664525 + 1013904223;
    return seed >> 8;
}

/* Encodes a number from -8 to 8 in a format with this many bits for exponent and fraction. */
static uint32_t encode(int x, int exponent, int fraction)
{
    if (x == 0)
        return 0;
    uint32_t size = (uint32_t)(x < 0 ? -x : x), top = 0;
    while (size >> (top + 1))
        top++;
    return (uint32_t)(x < 0) << (exponent + fraction) | (top + (1u << (exponent - 1)) - 1) << fraction |
           (uint32_t)((uint64_t)size << fraction >> top & ((1u << fraction) - 1));
}

static uint32_t element(kind type, int x)
{
    switch (type) {
    case F16: return encode(x, 5, 10);
    case BF16: return encode(x, 8, 7);
    case TF32: return encode(x, 8, 23) | 0x155; /* the tensor core ignores the low bits */
    case E4M3: return encode(x, 4, 3);
    case E5M2: return encode(x, 5, 2);
    default: return (uint32_t)x & 0xff;
    }
}

static int A[ROWS][DEPTH], B[DEPTH][COLUMNS], C[ROWS][COLUMNS];
static uint32_t A_bits[ROWS][8], B_bits[COLUMNS][8]; /* b1 */
static int stored[ROWS][DEPTH / 2];                  /* the stored values of a sparse A, and their columns */
static int column[ROWS][DEPTH / 2];
static unsigned char image[SHARED];
static uint32_t regs[THREADS][4 + 1 + COLUMNS / 2]; /* the registers of A, the metadata, and the registers of D */

static int depth_of(const product *p) { return p->a == B1 ? 256 : 256 / bits_of[p->a] * (p->sparse ? 2 : 1); }

/* Returns the place of byte `at` of row `row` if elements along K are consecutive. */
static int place_along(const side *s, int row, int at, int row_bytes)
{
    int piece = at / 16 + 2 * s->skip;
    switch (s->mode) {
    case LINE128: return row * 128 + (piece ^ (row & 7)) * 16 + at % 16;
    case LINE64: return row * 64 + (piece ^ (row / 2 & 3)) * 16 + at % 16;
    case LINE32: return row * 32 + (piece ^ (row / 4 & 1)) * 16 + at % 16;
    default: return row / 8 * (row_bytes * 8) + at / 16 * 128 + row % 8 * 16 + at % 16;
    }
}

static const int widths[4] = {8, 64, 32, 16}; /* the number of rows in an atom whose rows are consecutive */

/* Returns the place of a half if rows are consecutive. An atom has `width` rows and 8 values of k. A line has one value
 * of k. */
static int place_across(const side *s, int row, int k, int atoms_along, int atoms_across)
{
    int width = widths[s->mode], atom = width * 16, in = row % width, piece = in / 8;
    int number = s->swapped ? row / width * atoms_along + k / 8 : k / 8 * atoms_across + row / width;
    switch (s->mode) {
    case LINE128: piece ^= k & 7; break;
    case LINE64: piece ^= k % 8 / 2 & 3; break;
    case LINE32: piece ^= k % 8 / 4 & 1; break;
    default: break;
    }
    return number * atom + k % 8 * width * 2 + piece * 16 + in % 8 * 2;
}

static uint64_t descriptor(const side *s, int at, int row_bytes, int rows)
{
    static const int strides[4] = {0, 1024, 512, 256};
    uint64_t lead = 1, stride = (uint64_t)strides[s->mode] >> 4;
    if (!s->across && s->mode == NONE)
        lead = 128 >> 4, stride = (uint64_t)(row_bytes * 8) >> 4;
    if (s->across) {
        int atom = widths[s->mode] * 16, along = row_bytes / 16,
            across = (rows + widths[s->mode] - 1) / widths[s->mode];
        uint64_t to_k = (uint64_t)(s->swapped ? atom : atom * across) >> 4;
        uint64_t to_rows = (uint64_t)(s->swapped ? atom * along : atom) >> 4;
        lead = s->mode == NONE ? to_k : to_rows;
        stride = s->mode == NONE ? to_rows : to_k;
    }
    return (uint64_t)((LOW + at + 32 * s->skip) >> 4) | lead << 16 | stride << 32 | (uint64_t)s->mode << 62;
}

/* Writes an element of `bits` bits into the operand at `start`. */
static void put(const side *s, int start, int rows, int row_bytes, int row, int k, int bits, uint32_t value)
{
    int along = row_bytes / 16, across = (rows + widths[s->mode] - 1) / widths[s->mode];
    int at = s->across ? place_across(s, row, k, along, across) : place_along(s, row, k * bits / 8, row_bytes);
    memcpy(image + start + at, &value, (size_t)bits / 8);
}

static void make_sparse(const product *p)
{
    static const uint32_t pairs[6] = {4, 8, 12, 9, 13, 14}; /* 0 1, 0 2, 0 3, 1 2, 1 3, 2 3 */
    int k = depth_of(p), group = p->a == TF32 ? 2 : 4, groups = k / group;
    for (int t = 0; t < THREADS; t++)
        regs[t][4] = 0;
    for (int i = 0; i < ROWS; i++)
        for (int g = 0; g < groups; g++) {
            uint32_t which = group == 2 ? (draw() & 1 ? 14 : 4) : pairs[draw() % 6];
            for (int e = 0; e < group / 2; e++) {
                int from = group == 2 ? (int)(which >> 3) : (int)(which >> 2 * e & 3);
                column[i][g * group / 2 + e] = g * group + from;
                stored[i][g * group / 2 + e] = A[i][g * group + from];
            }
            /* For 16 bits or more, a lane's word has four groups of row r and four groups of row r + 8, in two lanes.
             * For 8 bits, it has eight groups of one row, and the two rows are in neighbouring lanes. */
            int row = i % 16, wide = bits_of[p->a] >= 16;
            int lane = row % 8 * 4 + (wide ? 2 * p->selector + g / 4 : g / 8 * 2 + row / 8);
            regs[i / 16 * 32 + lane][4] |= which << (wide ? row / 8 * 16 + g % 4 * 4 : g % 8 * 4);
        }
}

/* Fills the matrices of a product with small integers, in shared memory, registers and metadata. */
static void fill(const product *p)
{
    int k = depth_of(p), kept = p->sparse ? k / 2 : k, bits = bits_of[p->a], row_bytes = 32;
    memset(image, 0xff, sizeof image);
    memset(regs, 0, sizeof regs);
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < p->n; j++)
            C[i][j] = (int)(draw() % 64) - 32;
    if (p->a == B1) {
        for (int w = 0; w < 8; w++) {
            for (int i = 0; i < ROWS; i++) {
                A_bits[i][w] = draw() * 0x9e3779b1u;
                put(&p->sa, A_AT, ROWS, 32, i, w, 32, A_bits[i][w]);
            }
            for (int j = 0; j < p->n; j++) {
                B_bits[j][w] = draw() * 0x85ebca6bu;
                put(&p->sb, B_AT, p->n, 32, j, w, 32, B_bits[j][w]);
            }
        }
        return;
    }
    for (int i = 0; i < ROWS; i++)
        for (int l = 0; l < k; l++)
            A[i][l] = p->a == U8 ? (int)(draw() & 255) : (int)(draw() & 15) - 8;
    if (p->sparse)
        make_sparse(p);
    for (int i = 0; i < ROWS; i++)
        for (int l = 0; l < kept; l++)
            put(&p->sa, A_AT, ROWS, row_bytes, i, l, bits, element(p->a, p->sparse ? stored[i][l] : A[i][l]));
    for (int l = 0; l < k; l++)
        for (int j = 0; j < p->n; j++) {
            B[l][j] = p->b == U8 ? (int)(draw() & 255) : (int)(draw() & 15) - 8;
            put(&p->sb, B_AT, p->n, p->sparse ? 64 : 32, j, l, bits_of[p->b], element(p->b, B[l][j]));
        }
}

/* "row = groupID for a0 and a2, + 8 for a1 and a3; column by the thread in its group of four", 4 bytes each */
static void fill_registers(const product *p)
{
    int bits = bits_of[p->a], each = bits == 1 ? 1 : 32 / bits;
    for (int t = 0; t < THREADS; t++)
        for (int r = 0; r < 4; r++) {
            int row = t / 32 * 16 + t % 32 / 4 + r % 2 * 8, first = (t % 4 + r / 2 * 4) * each;
            regs[t][r] = bits == 1 ? A_bits[row][first] : 0;
            for (int e = 0; e < each && bits > 1; e++)
                regs[t][r] |= element(p->a, p->sparse ? stored[row][first + e] : A[row][first + e])
                              << (bits == 32 ? 0 : bits * e);
        }
}

static uint32_t sum_bits(const product *p, int x)
{
    return p->d[0] == 's' ? (uint32_t)x : p->d[1] == '1' ? encode(x, 5, 10) : encode(x, 8, 23);
}

/* D's register r of a thread: "row = groupID, + 8 for odd pairs; column = 8 * tile + 2 * thread in group" */
static void place_d(int t, int r, bool halves, int *row, int *first)
{
    int pair = halves ? r : r / 2;
    *row = t / 32 * 16 + t % 32 / 4 + pair % 2 * 8;
    *first = pair / 2 * 8 + t % 4 * 2 + (halves ? 0 : r % 2);
}

static int expected(const product *p, int i, int j)
{
    int sign = (p->scale_a < 0 ? -1 : 1) * (p->scale_b < 0 ? -1 : 1);
    int64_t sum = 0;
    if (p->a == B1)
        for (int w = 0; w < 8; w++)
            sum += __builtin_popcount(A_bits[i][w] & B_bits[j][w]);
    else if (p->sparse)
        for (int l = 0; l < depth_of(p) / 2; l++)
            sum += stored[i][l] * B[column[i][l]][j];
    else
        for (int l = 0; l < depth_of(p); l++)
            sum += A[i][l] * B[l][j];
    return (int)(sign * sum + (p->no_c ? 0 : C[i][j]));
}

static void add_list(kiln__text *text, const char *prefix, int count)
{
    for (int k = 0; k < count; k++)
        kiln__text_printf(text, "%s%s%d", k ? ", " : "{", prefix, k);
    kiln__text_printf(text, "}");
}

#define HEAD ".version 8.8\n.target sm_90a\n.address_size 64\n"
/* Runs one instruction. `image` is the content of shared memory, and `regs` are the registers of a thread. Returns
 * the sums. */
static void write_kernel(kiln__text *text, const product *p)
{
    bool halves = p->d[0] == 'f' && p->d[1] == '1', scaled = p->a < S8, turned = p->a <= BF16;
    int count = p->n / (halves ? 4 : 2), words = (int)(sizeof regs[0] / 4);
    kiln__text_printf(text,
                      HEAD ".visible .entry k (.param .u64 image, .param .u64 regs) {\n"
                           ".shared .align 1024 .b8 sh[%d];\n.reg .b32 %%r<20>, %%m, %%a<4>; .reg .%s %%c<128>;\n"
                           ".reg .b64 %%d<8>; .reg .pred %%p, %%q;\n"
                           "ld.param.u64 %%d0, [image]; ld.param.u64 %%d1, [regs]; mov.u32 %%r0, %%tid.x;\n"
                           "mad.wide.u32 %%d1, %%r0, %d, %%d1; shl.b32 %%r1, %%r0, 2; mov.u32 %%r5, sh;\n"
                           "L: cvt.u64.u32 %%d2, %%r1; add.u64 %%d2, %%d2, %%d0; ld.global.b32 %%r2, [%%d2];\n"
                           "add.u32 %%r6, %%r5, %%r1; st.shared.b32 [%%r6], %%r2; add.u32 %%r1, %%r1, 512;\n"
                           "setp.lt.u32 %%p, %%r1, %d; @%%p bra L;\n"
                           "fence.proxy.async; bar.sync 0;\n",
                      SHARED, p->d[0] == 's' || halves ? "b32" : "f32", words * 4, SHARED);
    for (int k = 0; k < 5; k++)
        kiln__text_printf(text, "ld.global.b32 %%%s, [%%d1+%d];\n",
                          (const char *const[]){"a0", "a1", "a2", "a3", "m"}[k], k * 4);
    for (int k = 0; k < count; k++)
        kiln__text_printf(text, "ld.global.b32 %%c%d, [%%d1+%d];\n", k, 20 + k * 4);
    kiln__text_printf(text, "mov.b64 %%d3, %" PRIu64 "; mov.b64 %%d4, %" PRIu64 ";\nsetp.%s.u32 %%p, %%r0, 999;\n",
                      descriptor(&p->sa, A_AT, 32, ROWS), descriptor(&p->sb, B_AT, p->sparse ? 64 : 32, p->n),
                      p->no_c ? "gt" : "lt");
    kiln__text_printf(text, "wgmma.fence.sync.aligned;\nwgmma.mma_async.%ssync.aligned.m64n%dk%d.%s%s.%s.%s%s ",
                      p->sparse ? "sp." : "", p->n, depth_of(p), p->d, p->saturate ? ".satfinite" : "", names[p->a],
                      names[p->b], p->a == B1 ? ".and.popc" : "");
    add_list(text, "%c", count);
    kiln__text_printf(text, ", ");
    if (p->registers)
        add_list(text, "%a", 4);
    else
        kiln__text_printf(text, "%%d3");
    kiln__text_printf(text, ", %%d4");
    if (p->sparse)
        kiln__text_printf(text, ", %%m, %d", p->selector);
    kiln__text_printf(text, ", %%p");
    if (scaled)
        kiln__text_printf(text, ", %d, %d", p->scale_a < 0 ? -1 : 1, p->scale_b < 0 ? -1 : 1);
    if (turned && !p->registers)
        kiln__text_printf(text, ", %d", p->sa.across);
    if (turned)
        kiln__text_printf(text, ", %d", p->sb.across);
    kiln__text_printf(text, ";\nwgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n");
    for (int k = 0; k < count; k++)
        kiln__text_printf(text, "st.global.b32 [%%d1+%d], %%c%d;\n", 20 + k * 4, k);
    kiln__text_printf(text, "ret;\n}\n");
}

static void run_kernel(const char *text, size_t length)
{
    vm_bench b = vm_bench_text(text, length, (vm_limits){.threads = 1});
    void *host[2];
    uint64_t parameters[2] = {vm_bench_zeros(&b, sizeof image, &host[0]), vm_bench_zeros(&b, sizeof regs, &host[1])};
    memcpy(host[0], image, sizeof image);
    memcpy(host[1], regs, sizeof regs);
    vm_bench_run(&b, "k", 1, THREADS, parameters);
    memcpy(regs, host[1], sizeof regs);
    vm_bench_end(&b);
}

/* Runs one product of a warpgroup and compares it with sums that the host computes. */
static void multiply(const product *p)
{
    bool halves = p->d[0] == 'f' && p->d[1] == '1';
    int count = p->n / (halves ? 4 : 2), wrong = 0, row, first;
    fill(p);
    fill_registers(p);
    for (int t = 0; t < THREADS; t++)
        for (int r = 0; r < count; r++) {
            place_d(t, r, halves, &row, &first);
            regs[t][5 + r] = sum_bits(p, C[row][first]) | (halves ? sum_bits(p, C[row][first + 1]) << 16 : 0);
        }
    kiln__text text = {0};
    write_kernel(&text, p);
    run_kernel(kiln__text_get(&text), text.length);
    kiln__text_free(&text);
    for (int t = 0; t < THREADS; t++)
        for (int r = 0; r < count; r++) {
            place_d(t, r, halves, &row, &first);
            uint32_t want = sum_bits(p, expected(p, row, first)) |
                            (halves ? sum_bits(p, expected(p, row, first + 1)) << 16 : 0);
            wrong += regs[t][5 + r] != want;
        }
    if (wrong)
        fprintf(stderr, "n %d %s.%s.%s %s mode %d %d across %d %d sparse %d: %d wrong\n", p->n, p->d, names[p->a],
                names[p->b], p->registers ? "registers" : "shared", (int)p->sa.mode, (int)p->sb.mode, p->sa.across,
                p->sb.across, p->sparse, wrong);
    CHECK(wrong == 0);
}

static void shapes(void)
{
    for (int n = 8; n <= COLUMNS; n += 8)
        multiply(&(product){.a = F16, .b = F16, .d = "f32", .n = n, .sa = {LINE128}, .sb = {LINE128}});
    for (int n = 8; n <= COLUMNS; n += n < 32 ? 8 : 16)
        multiply(&(product){.a = S8, .b = S8, .d = "s32", .n = n, .sa = {LINE128}, .sb = {LINE128}});
}

static void types(void)
{
    static const struct {
        kind a, b;
        const char *d;
    } all[] = {{F16, F16, "f32"},   {F16, F16, "f16"},   {BF16, BF16, "f32"}, {TF32, TF32, "f32"}, {E4M3, E4M3, "f32"},
               {E4M3, E5M2, "f32"}, {E5M2, E4M3, "f16"}, {E5M2, E5M2, "f16"}, {S8, S8, "s32"},     {S8, U8, "s32"},
               {U8, S8, "s32"},     {U8, U8, "s32"},     {B1, B1, "s32"}};
    for (size_t k = 0; k < KILN__COUNT(all); k++)
        for (int mode = 0; mode < 4; mode++)
            for (int registers = 0; registers < 2; registers++)
                for (int no_c = 0; no_c < 2; no_c++)
                    multiply(&(product){.a = all[k].a,
                                        .b = all[k].b,
                                        .d = all[k].d,
                                        .n = 48,
                                        .registers = registers,
                                        .no_c = no_c,
                                        .sa = {(swizzle)mode},
                                        .sb = {(swizzle)(3 - mode)}});
}

/* 16-bit operands that are consecutive along M and N, and steps along K within a line. */
static void layouts(void)
{
    for (int layout = 0; layout < 64; layout++)
        multiply(&(product){.a = layout & 32 ? BF16 : F16,
                            .b = layout & 32 ? BF16 : F16,
                            .d = "f32",
                            .n = 96,
                            .sa = {(swizzle)(layout & 3), .across = layout & 4, .swapped = layout & 8},
                            .sb = {(swizzle)((layout + layout / 4) & 3), .across = !(layout & 4) || layout & 16,
                                   .swapped = layout & 16}});
    for (int skip = 1; skip < 4; skip++) {
        multiply(&(product){.a = F16, .b = F16, .d = "f32", .n = 64, .sa = {LINE128, .skip = skip}, .sb = {LINE128}});
        multiply(&(product){.a = E4M3,
                            .b = E4M3,
                            .d = "f32",
                            .n = 128,
                            .sa = {LINE64, .skip = skip & 1},
                            .sb = {LINE128, .skip = 4 - skip}});
    }
    multiply(&(product){
        .a = F16, .b = F16, .d = "f16", .n = 256, .registers = true, .sb = {LINE128, .across = true, .swapped = true}});
}

static void scales(void)
{
    for (int k = 0; k < 4; k++)
        for (kind type = F16; type < S8; type++)
            for (int registers = 0; registers < 2; registers++)
                multiply(&(product){.a = type,
                                    .b = type,
                                    .d = "f32",
                                    .n = 16,
                                    .registers = registers,
                                    .sa = {LINE64},
                                    .sb = {LINE32},
                                    .scale_a = k & 1 ? -1 : 1,
                                    .scale_b = k & 2 ? -1 : 1});
}

static void sparse(void)
{
    static const struct {
        kind type;
        const char *d;
    } all[] = {{F16, "f32"}, {F16, "f16"}, {BF16, "f32"}, {TF32, "f32"}, {E4M3, "f32"}, {E5M2, "f16"}, {S8, "s32"}};
    for (size_t k = 0; k < KILN__COUNT(all); k++)
        for (int selector = 0; selector < (bits_of[all[k].type] >= 16 ? 2 : 1); selector++)
            for (int registers = 0; registers < 2; registers++)
                for (int mode = 0; mode < 3; mode++)
                    multiply(&(product){.a = all[k].type,
                                        .b = all[k].type,
                                        .d = all[k].d,
                                        .n = 40 - (all[k].type == S8) * 8,
                                        .registers = registers,
                                        .sparse = true,
                                        .selector = selector,
                                        .sa = {(swizzle)(mode + 1)},
                                        .sb = {(swizzle)mode}});
}

/* Returns D's first element, for the given row 0 of A and column 0 of B. All other elements are zero. */
static float sum_of(kind type, const uint32_t *a, const uint32_t *b, int count, float c)
{
    const product p = {.a = type, .b = type, .d = "f32", .n = 8, .sa = {LINE32}, .sb = {LINE32}};
    memset(image, 0, sizeof image);
    memset(regs, 0, sizeof regs);
    for (int k = 0; k < count; k++) {
        put(&p.sa, A_AT, ROWS, 32, 0, k, bits_of[type], a[k]);
        put(&p.sb, B_AT, p.n, 32, 0, k, bits_of[type], b[k]);
    }
    memcpy(&regs[0][5], &c, 4);
    kiln__text text = {0};
    write_kernel(&text, &p);
    run_kernel(kiln__text_get(&text), text.length);
    kiln__text_free(&text);
    memcpy(&c, &regs[0][5], 4);
    return c;
}

static void rounding(void)
{
    enum { ONE = 0x3c00, M12 = 0x0c00, M13 = 0x0800 /* 2^-12, 2^-13 of f16 */ };
    /* as in mma, terms keep 25 bits below the greatest term, and the sum is cut to single precision */
    CHECK(sum_of(F16, (uint32_t[]){ONE, M12}, (uint32_t[]){ONE, M12}, 2, 0) == 1.0f);
    CHECK(sum_of(F16, (uint32_t[]){ONE, M12, M12, M12}, (uint32_t[]){ONE, M12, M12, M12}, 4, 0) == 1.0f + 0x1p-23f);
    CHECK(sum_of(F16, (uint32_t[]){ONE, M12}, (uint32_t[]){ONE, M13}, 2, -1) == 0x1p-25f);
    CHECK(sum_of(F16, (uint32_t[]){ONE, M13}, (uint32_t[]){ONE, M13}, 2, -1) == 0);
    /* with elements of 8 bits, terms and results have 13 bits; 2^-6 * 2^-7 is the last bit, and 2^-7 * 2^-7 is lost */
    enum { ONE8 = 0x38, M6 = 0x08, M7 = 0x04 /* of e4m3 */ };
    CHECK(sum_of(E4M3, (uint32_t[]){ONE8, M6}, (uint32_t[]){ONE8, M7}, 2, 0) == 1.0f + 0x1p-13f);
    CHECK(sum_of(E4M3, (uint32_t[]){ONE8, M7}, (uint32_t[]){ONE8, M7}, 2, 0) == 1.0f);
    CHECK(sum_of(E4M3, (uint32_t[]){ONE8, M7, M7}, (uint32_t[]){ONE8, M7, M7}, 3, 0) == 1.0f);
    CHECK(sum_of(E4M3, (uint32_t[]){ONE8}, (uint32_t[]){ONE8}, 1, 0x1p-14f) == 1.0f);
    CHECK(sum_of(E4M3, (uint32_t[]){0}, (uint32_t[]){ONE8}, 1, 1.0f + 0x1p-20f) == 1.0f);
    CHECK(isnan(sum_of(E4M3, (uint32_t[]){0x7f}, (uint32_t[]){ONE8}, 1, 1)) && regs[0][5] == 0x7fffffff);
    CHECK(sum_of(E5M2, (uint32_t[]){0x7c}, (uint32_t[]){0x3c}, 1, 1) == INFINITY && regs[4][5] == 0);
}

static void saturation(void)
{
    const product p = {.a = U8, .b = U8, .d = "s32", .n = 8, .sa = {LINE32}, .sb = {LINE32}, .saturate = true};
    fill(&p);
    for (int t = 0; t < THREADS; t++)
        for (int r = 0; r < 4; r++)
            regs[t][5 + r] = 0x7fffffff - 1000;
    kiln__text text = {0};
    write_kernel(&text, &p);
    run_kernel(kiln__text_get(&text), text.length);
    kiln__text_free(&text);
    for (int t = 0; t < THREADS; t++)
        for (int r = 0; r < 4; r++)
            CHECK(regs[t][5 + r] == 0x7fffffff);
}

/* ---- uses that are refused ---- */

#define BODY_START                                                                                                     \
    HEAD ".visible .entry k () {\n.shared .align 1024 .b8 sh[4096];\n.reg .f32 %f<4>; .reg .b32 %r<8>;"                \
         ".reg .b64 %d<4>; .reg .pred %p;\nmov.u32 %r0, %tid.x; mov.u32 %r7, sh; mov.b64 %d0, 0x1000010040;\n"
#define BODY(...) BODY_START __VA_ARGS__ "\nret;\n}\n"
#define PRODUCT(d) "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0,%f1,%f2,%f3}, " d ", " d ", 1, 1, 1, 0, 0;\n"

static vm_fault_kind try_kernel(const char *text, uint32_t threads, char message[200])
{
    vm_bench b = vm_bench_text(text, strlen(text), (vm_limits){.threads = 1});
    vm_fault_kind result = vm_bench_try(&b, "k", 1, threads, NULL, 0);
    snprintf(message, 200, "%.199s", b.fault.message);
    vm_bench_end(&b);
    return result;
}

static void faults(void)
{
    char why[200];
    CHECK(try_kernel(BODY(PRODUCT("%d0")), 256, why) == VM_OK);
    CHECK(try_kernel(BODY(PRODUCT("%d0")), 64, why) == VM_FAULT_INSTRUCTION && strstr(why, "four whole warps"));
    CHECK(try_kernel(BODY(PRODUCT("%d0")), 160, why) == VM_FAULT_INSTRUCTION && strstr(why, "160 threads"));
    CHECK(try_kernel(BODY("cvt.u64.u32 %d1, %r0; add.u64 %d0, %d0, %d1;" PRODUCT("%d0")), 128, why) ==
              VM_FAULT_INSTRUCTION &&
          strstr(why, "different descriptors"));
    CHECK(try_kernel(BODY("or.b64 %d0, %d0, 0xfff;" PRODUCT("%d0")), 128, why) == VM_FAULT_ADDRESS);
    /* One warp executes another wgmma instruction, or none. */
    CHECK(try_kernel(BODY("setp.lt.u32 %p, %r0, 32; @%p bra A;" PRODUCT("%d0") "bra B;\nA: " PRODUCT("%d0") "B:"), 128,
                     why) == VM_FAULT_INSTRUCTION &&
          strstr(why, "different wgmma"));
    CHECK(try_kernel(BODY("setp.lt.u32 %p, %r0, 32; @%p exit;" PRODUCT("%d0")), 128, why) == VM_FAULT_DEADLOCK &&
          strstr(why, "at a wgmma"));
    /* Lanes of a warp that arrive one after the other execute the instruction together. */
    CHECK(try_kernel(
              BODY("and.b32 %r1, %r0, 1; setp.eq.u32 %p, %r1, 0; @%p bra A;\nbra.uni B;\nA: bra.uni B;\nB:" PRODUCT(
                  "%d0")),
              128, why) == VM_OK);
}

static void refuse(const char *line, const char *why)
{
    char text[1024];
    kiln__text log = {0};
    ptx_module *ptx = NULL;
    vm_module *module = NULL;
    const vm_limits limits = {.threads = 1, .cc = 90, .memory = 1 << 20, .shared_per_block = 4096};
    vm_device *device = vm_device_new(NULL, &limits);
    snprintf(text, sizeof text, "%s%s\nret;\n}\n", BODY_START, line);
    ptx_result result = ptx_parse(NULL, text, strlen(text), &ptx, &log);
    if (result == PTX_OK)
        result = decode_module_load(device, ptx, &module, &log);
    if (result != PTX_INVALID || !strstr(kiln__text_get(&log), why))
        fprintf(stderr, "%s\n%s", line, kiln__text_get(&log));
    CHECK(result == PTX_INVALID && strstr(kiln__text_get(&log), why));
    if (result == PTX_OK)
        vm_module_unload(device, module);
    kiln__text_free(&log);
    vm_device_free(device);
}

static void refused(void)
{
#define SUMS "{%f0,%f1,%f2,%f3}, %d0, %d0, 1"
    refuse("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 " SUMS ", 1, 2, 0, 0;", "neither 1 nor -1");
    refuse("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 " SUMS ", 1, 1, 0, 2;", "neither 0 nor 1");
    refuse("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 " SUMS ", 1, 1, 0;", "expected");
    refuse("wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32 " SUMS ", 1, 1, 0, 0;", "operands");
    refuse("wgmma.mma_async.sync.aligned.m64n8k16.f32.tf32.tf32 " SUMS ", 1, 1;", "Illegal modifiers");
    refuse("wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 " SUMS ", 1, 1, 0, 0;", "8 elements");
    refuse("wgmma.mma_async.sync.aligned.m64n12k16.f32.f16.f16 " SUMS ", 1, 1, 0, 0;", "Unknown modifier");
    refuse("wgmma.mma_async.sync.aligned.m64n264k16.f32.f16.f16 " SUMS ", 1, 1, 0, 0;", "Unknown modifier");
    refuse("wgmma.mma_async.sync.aligned.m64n8k256.s32.b1.b1.xor.popc {%r0,%r1,%r2,%r3}, %d0, %d0, 1;",
           "Illegal modifiers");
    refuse("wgmma.mma_async.sync.aligned.m64n40k32.s32.s8.s8 {%r0,%r1,%r2,%r3,%r4,%r5,%r6,%r7,%r0,%r1,%r2,%r3,%r4,%r5,"
           "%r6,%r7,%r0,%r1,%r2,%r3}, %d0, %d0, 1;",
           "columns");
    refuse("wgmma.mma_async.sp.sync.aligned.m64n8k64.s32.s8.s8 {%r0,%r1,%r2,%r3}, %d0, %d0, %r4, 1, 1;", "selector");
    refuse("setmaxnreg.inc.sync.aligned.u32 100;", "multiple of 8");
    refuse("setmaxnreg.dec.sync.aligned.u32 16;", "from 24 to 256");
    refuse("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {_,%f1,%f2,%f3}, %d0, %d0, 1, 1, 1, 0, 0;",
           "not in a register");
#undef SUMS
}

/* Tests instructions that occur around wgmma in kernels: hints, fences and counts. They change nothing on the simulated
 * device. */
static void around(void)
{
    char why[200];
    CHECK(try_kernel(BODY("setmaxnreg.inc.sync.aligned.u32 240; setmaxnreg.dec.sync.aligned.u32 24;"
                          "griddepcontrol.wait; griddepcontrol.launch_dependents;"
                          "prefetch.tensormap [%d3]; prefetch.param.tensormap [%d3]; prefetch.const.tensormap [%d3];"
                          "fence.proxy.async; fence.proxy.async.shared::cta; fence.proxy.async.global;"
                          "fence.proxy.tensormap::generic.release.gpu; fence.mbarrier_init.release.cluster;"
                          "fence.proxy.tensormap::generic.acquire.gpu [%d3], 128;"
                          "createpolicy.fractional.L2::evict_last.L2::evict_unchanged.b64 %d2, 0.5;"
                          "elect.sync %r1|%p, 0xffffffff; @%p st.shared.b32 [%r7], %r1; @%p bra A;\n"
                          "bar.warp.sync 0xffffffff; A: ld.shared.L1::evict_last.L2::cache_hint.b32 %r2, [%r7], %d2;"),
                     128, why) == VM_OK);
}

static const check_case cases[] = {
    {"shapes", shapes},     {"types", types},           {"layouts", layouts}, {"scales", scales},   {"sparse", sparse},
    {"rounding", rounding}, {"saturation", saturation}, {"faults", faults},   {"refused", refused}, {"around", around},
};
KILN_SUITE("vm wgmma", cases)
