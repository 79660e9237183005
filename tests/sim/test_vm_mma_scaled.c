/* Tests mma with elements of 8, 6 and 4 bits, and with block scales. Compares random tiles of every kind and type with
 * an oracle, which computes the results on the host.
 *
 * The oracle does not use the simulator's code. It finds elements by the formulas of the PTX ISA ("Matrix Fragments for
 * mma"), and sums whole numbers of 64 bits. Each number is a whole number times a power of two. The page "What
 * instructions compute" explains the arithmetic: no term keeps bits below 2^-25, or 2^-35, of the largest power of two.
 * A group of packed elements has the power of its scales, even if its sum is 0. The results were not compared with
 * hardware. */
#include <math.h>

#include "vm_check.h"

enum { LANES = 32, TILES = 16, WORDS = 16, ROWS = 16, COLUMNS = 8, DEEPEST = 128 };
/* the places of operands in the words of a lane */
enum { WORD_A = 0, WORD_B = 4, WORD_C = 8, WORD_SCALE_A = 12, WORD_SCALE_B, WORD_METADATA, WORD_SELECTORS };

typedef enum type { E4M3, E5M2, E2M3, E3M2, E2M1, TYPES } type;
static const struct {
    const char *name;
    uint8_t exponent, mantissa;
} types[TYPES] = {{"e4m3", 4, 3}, {"e5m2", 5, 2}, {"e2m3", 2, 3}, {"e3m2", 3, 2}, {"e2m1", 2, 1}};

typedef enum kind { F8F6F4, MXF8F6F4, MXF4, NVF4_2X, NVF4_4X, NVF4_UE8M0, KINDS } kind;
static const struct {
    const char *name, *scale;
    uint8_t blocks;
    bool packed, ue4m3;
} kinds[KINDS] = {{"kind::f8f6f4", "", 0, false, false},
                  {"kind::mxf8f6f4.block_scale", ".ue8m0", 1, false, false},
                  {"kind::mxf4.block_scale", ".ue8m0", 2, true, false},
                  {"kind::mxf4nvf4.block_scale.scale_vec::2X", ".ue8m0", 2, true, false},
                  {"kind::mxf4nvf4.block_scale.scale_vec::4X", ".ue4m3", 4, true, true},
                  {"kind::mxf4nvf4.block_scale.scale_vec::4X", ".ue8m0", 4, true, false}};

typedef struct product {
    kind kind;
    type a, b;
    bool sparse, half;
} product;

/* The matrices of one product as bit patterns of elements, and its scales. */
typedef struct tile {
    uint32_t a[ROWS][DEEPEST], b[DEEPEST][COLUMNS], c[ROWS][COLUMNS], scale_a[ROWS][4], scale_b[4][COLUMNS];
    bool stored[ROWS][DEEPEST]; /* true if A stores the element, and false for the zeros of a sparse matrix */
} tile;

static uint64_t seed = 7;
static uint32_t draw(uint32_t below)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((seed >> 33) * below >> 31);
}

static unsigned depth_of(const product *x) { return (kinds[x->kind].packed ? 64u : 32u) * (x->sparse ? 2 : 1); }

/* ---- numbers ---- */

/* A number with the value part * 2^power. If the number is infinite, `part` is its sign. */
typedef struct number {
    int64_t part;
    int power;    /* the power of two of the last bit of `part` */
    int exponent; /* the power of two of the number; for subnormal numbers, the least power of the format */
    bool infinite, nan;
} number;

/* Decodes a number with the sign above `exponent` and `mantissa` bits. */
static number decode(uint32_t code, unsigned exponent, unsigned mantissa, bool has_infinity, bool has_nan)
{
    const int bias = (1 << (exponent - 1)) - 1, power = (int)(code >> mantissa & ((1u << exponent) - 1));
    const int64_t fraction = code & ((1u << mantissa) - 1), sign = code >> (exponent + mantissa) & 1 ? -1 : 1;
    const bool top = power == (1 << exponent) - 1;
    if (has_infinity && top)
        return (number){.infinite = fraction == 0, .nan = fraction != 0, .part = sign};
    if (has_nan && top && fraction == (1 << mantissa) - 1)
        return (number){.nan = true};
    const int own = power ? power - bias : 1 - bias;
    return (number){.part = sign * (fraction + (power ? (int64_t)1 << mantissa : 0)),
                    .power = own - (int)mantissa,
                    .exponent = own};
}

static number element(type t, uint32_t code)
{
    return decode(code & ((2u << (types[t].exponent + types[t].mantissa)) - 1), types[t].exponent, types[t].mantissa,
                  t == E5M2, t == E4M3);
}

static number scale(bool ue4m3, uint32_t code)
{
    if (ue4m3 && (code & 127) == 0)
        return (number){.power = -129, .exponent = -126};
    if (ue4m3)
        return decode(code & 127, 4, 3, false, true);
    return code == 255 ? (number){.nan = true}
                       : (number){.part = 1, .power = (int)code - 127, .exponent = (int)code - 127};
}

/* Returns the part in units of 2^unit. Lower bits are dropped. */
static int64_t aligned(int64_t part, int power, int unit)
{
    const int64_t size = part < 0 ? -part : part;
    const int shift = power - unit;
    const int64_t cut = shift >= 0 ? size << shift : shift > -63 ? size >> -shift : 0;
    return part < 0 ? -cut : cut;
}

/* Rounds sum * 2^unit towards zero to a single, or to the nearest half, and returns its bits. */
static uint32_t rounded(int64_t sum, int unit, bool half)
{
    const uint64_t size = (uint64_t)(sum < 0 ? -sum : sum);
    const int mantissa = half ? 10 : 23, least = half ? -14 : -126, most = half ? 15 : 127;
    if (size == 0)
        return 0; /* a sum of 0 has no sign */
    const uint32_t sign = sum < 0 ? (half ? 0x8000u : 0x80000000u) : 0;
    int top = 63 - __builtin_clzll(size) + unit;
    top = top < least ? least : top;
    const int drop = top - mantissa - unit; /* the number of bits below the last bit of the result */
    uint64_t kept = drop <= 0 ? size << -drop : drop < 64 ? size >> drop : 0;
    if (half && drop > 0) {
        const uint64_t rest = drop < 64 ? size & ((UINT64_C(1) << drop) - 1) : size, middle = UINT64_C(1) << (drop - 1);
        kept += rest > middle || (rest == middle && kept & 1);
    }
    if (top > most || (top == most && kept >> (mantissa + 1)))
        return sign | (half ? 0x7c00u : 0x7f800000u);
    /* a carry of the fraction becomes a carry of the exponent */
    return sign | (uint32_t)(((uint64_t)(top - least) << mantissa) + kept);
}

/* ---- the oracle ---- */

static number start_of(const tile *t, bool half, unsigned row, unsigned column)
{
    return half ? decode(t->c[row][column], 5, 10, true, false) : decode(t->c[row][column], 8, 23, true, false);
}

typedef struct terms {
    int64_t part[DEEPEST + 1];
    int power[DEEPEST + 1], exponent[DEEPEST + 1];
    unsigned count;
    bool nan, up, down; /* some terms are NaN or infinite */
} terms;

static void add_term(terms *all, int64_t part, int power, int exponent)
{
    all->part[all->count] = part;
    all->power[all->count] = power;
    all->exponent[all->count++] = exponent;
}

static void add_special(terms *all, const number *a, const number *b)
{
    const bool zero = (!a->infinite && a->part == 0) || (!b->infinite && b->part == 0);
    if (a->nan || b->nan || zero)
        all->nan = true;
    else if ((a->part < 0) != (b->part < 0))
        all->down = true;
    else
        all->up = true;
}

static uint32_t sum_of(const terms *all, bool half, int bits)
{
    const uint32_t nan = half ? 0x7fffu : 0x7fffffffu, infinite = half ? 0x7c00u : 0x7f800000u;
    if (all->nan || (all->up && all->down))
        return nan;
    if (all->up || all->down)
        return infinite | (all->down ? (half ? 0x8000u : 0x80000000u) : 0);
    int top = -126;
    for (unsigned k = 0; k < all->count; k++)
        top = all->exponent[k] > top ? all->exponent[k] : top;
    int64_t sum = 0;
    for (unsigned k = 0; k < all->count; k++)
        sum += aligned(all->part[k], all->power[k], top - bits);
    return rounded(sum, top - bits, half);
}

/* Returns an element of D. The elements of the product have one byte each, and a row has at most one scale. */
static uint32_t expect_wide(const product *x, const tile *t, unsigned row, unsigned column)
{
    terms all = {0};
    number c = start_of(t, x->half, row, column), one = {.part = 1}, sa = one, sb = one;
    if (kinds[x->kind].blocks) {
        sa = scale(false, t->scale_a[row][0]);
        sb = scale(false, t->scale_b[0][column]);
        all.nan = sa.nan || sb.nan;
    }
    if (c.nan || c.infinite)
        add_special(&all, &c, &one);
    else if (c.part)
        add_term(&all, c.part, c.power, c.exponent);
    for (unsigned k = 0; k < depth_of(x); k++) {
        const number a = element(x->a, t->a[row][k]), b = element(x->b, t->b[k][column]);
        if (!t->stored[row][k])
            continue;
        if (a.nan || b.nan || a.infinite || b.infinite)
            add_special(&all, &a, &b);
        else if (a.part * b.part != 0)
            add_term(&all, a.part * b.part, a.power + b.power + sa.power + sb.power,
                     a.exponent + b.exponent + sa.exponent + sb.exponent);
    }
    return sum_of(&all, x->half, 25);
}

/* Returns an element of D. The elements of the product have four bits, and groups of 16 stored elements are summed
 * exactly. */
static uint32_t expect_packed(const product *x, const tile *t, unsigned row, unsigned column)
{
    const unsigned depth = depth_of(x), each = x->sparse ? 32 : 16, wide = depth / kinds[x->kind].blocks;
    terms all = {0};
    const number c = start_of(t, false, row, column), one = {.part = 1};
    if (c.nan || c.infinite)
        add_special(&all, &c, &one);
    else
        add_term(&all, c.part, c.power, c.exponent);
    for (unsigned from = 0; from < depth; from += each) {
        const number sa = scale(kinds[x->kind].ue4m3, t->scale_a[row][from / wide]),
                     sb = scale(kinds[x->kind].ue4m3, t->scale_b[from / wide][column]);
        int64_t quarters = 0;
        for (unsigned k = from; k < from + each; k++) {
            const number a = element(E2M1, t->a[row][k]), b = element(E2M1, t->b[k][column]);
            if (t->stored[row][k])
                quarters += a.part * b.part * (INT64_C(1) << (a.power + b.power + 2));
        }
        all.nan |= sa.nan || sb.nan;
        if (!sa.nan && !sb.nan)
            add_term(&all, quarters * sa.part * sb.part, sa.power + sb.power - 2, sa.exponent + sb.exponent);
    }
    return sum_of(&all, false, 35);
}

/* ---- random tiles ---- */

static uint32_t draw_element(type t, unsigned mood)
{
    const unsigned width = 1u + types[t].exponent + types[t].mantissa;
    for (;;) {
        uint32_t code = draw(1u << width);
        const number x = element(t, code);
        if (mood == 1 && draw(2))
            code = 0;
        else if ((x.nan || x.infinite) && (mood != 2 || draw(8)))
            continue;
        return code;
    }
}

static uint32_t draw_scale(bool ue4m3, unsigned mood)
{
    if (mood == 2 && draw(64) == 0)
        return ue4m3 ? 127 : 255;
    if (mood == 3)
        return draw(ue4m3 ? 127 : 255);
    return ue4m3 ? 40 + draw(40) + (draw(8) ? 0 : 128) : 120 + draw(14);
}

static uint32_t draw_start(bool half, unsigned mood)
{
    const uint32_t bits = draw(1u << 16) << 16 | draw(1u << 16);
    if (mood == 1 && draw(3) == 0)
        return 0;
    if (mood == 2 || mood == 3)
        return half ? bits & 0xffff : bits; /* also infinite numbers, NaN and subnormal numbers */
    if (half)
        return (bits & 0x83ff) | (8 + draw(16)) << 10;
    return (bits & 0x807fffffu) | (110 + draw(36)) << 23;
}

/* Draws the matrices, and packs them into the registers of a warp. */
static void draw_tile(const product *x, tile *t, uint32_t (*words)[WORDS])
{
    const unsigned depth = depth_of(x), mood = draw(4), blocks = kinds[x->kind].blocks;
    const bool packed = kinds[x->kind].packed;
    /* `chunk` is the group size of a sparse row */
    const unsigned bits = packed ? 4 : 8, per = 32 / bits, chunk = packed ? 8 : 4;
    memset(t, 0, sizeof *t);
    memset(words, 0, LANES * sizeof *words);
    for (unsigned k = 0; k < depth; k++) {
        for (unsigned row = 0; row < ROWS; row++)
            t->a[row][k] = draw_element(x->a, mood), t->stored[row][k] = !x->sparse;
        for (unsigned column = 0; column < COLUMNS; column++)
            t->b[k][column] = draw_element(x->b, mood);
    }
    for (unsigned row = 0; row < ROWS; row++)
        for (unsigned column = 0; column < COLUMNS; column++)
            t->c[row][column] = draw_start(x->half, mood);
    const unsigned thread_a = draw(2), thread_b = draw(4), byte_a = blocks ? draw(4 / blocks) * blocks : 0,
                   byte_b = blocks ? draw(4 / blocks) * blocks : 0;
    for (unsigned lane = 0; lane < LANES; lane++) {
        for (unsigned w = WORD_SCALE_A; w <= WORD_SCALE_B; w++) /* fills the bytes that no selector chooses */
            words[lane][w] = draw(1u << 16) << 16 | draw(1u << 16);
        words[lane][WORD_SELECTORS] = byte_a | thread_a << 8 | byte_b << 16 | thread_b << 24;
    }
    for (unsigned k = 0; k < blocks; k++) {
        for (unsigned row = 0; row < ROWS; row++) {
            uint32_t *word = &words[row % 8 * 4 + thread_a * 2 + row / 8][WORD_SCALE_A];
            t->scale_a[row][k] = draw_scale(kinds[x->kind].ue4m3, mood);
            *word = (*word & ~(255u << 8 * (byte_a + k))) | t->scale_a[row][k] << 8 * (byte_a + k);
        }
        for (unsigned column = 0; column < COLUMNS; column++) {
            uint32_t *word = &words[column * 4 + thread_b][WORD_SCALE_B];
            t->scale_b[k][column] = draw_scale(kinds[x->kind].ue4m3, mood);
            *word = (*word & ~(255u << 8 * (byte_b + k))) | t->scale_b[k][column] << 8 * (byte_b + k);
        }
    }
    /* half of the elements of each chunk are stored, and elements of four bits are stored in pairs */
    unsigned stored[ROWS][DEEPEST];
    for (unsigned row = 0; row < ROWS; row++)
        for (unsigned from = 0; from < depth; from += chunk) {
            static const unsigned pairs[][2] = {{0, 1}, {0, 2}, {1, 2}, {0, 3}, {1, 3}, {2, 3}};
            const unsigned *pair = pairs[draw(6)], each = chunk / 4, g = from / chunk;
            const unsigned lane = row % 8 * 4 + g / 8 * 2 + row / 8;
            if (!x->sparse)
                continue;
            words[lane][WORD_METADATA] |= (pair[0] | pair[1] << 2) << g % 8 * 4;
            for (unsigned e = 0; e < chunk / 2; e++) {
                const unsigned k = from + pair[e / each] * each + e % each;
                stored[row][from / 2 + e] = k;
                t->stored[row][k] = true;
            }
        }
    const unsigned shift_a = !packed && x->a == E2M1 ? 2 : 0, shift_b = !packed && x->b == E2M1 ? 2 : 0;
    for (unsigned lane = 0; lane < LANES; lane++) {
        const unsigned group = lane / 4, thread = lane % 4;
        for (unsigned i = 0; i < 4 * per; i++) { /* i is the index of a_i and b_i in the PTX ISA */
            const unsigned row = group + (i / per & 1 ? 8 : 0);
            const unsigned column = thread * per + i % per + (i >= 2 * per ? 4 * per : 0);
            const unsigned k = x->sparse ? stored[row][column] : column;
            words[lane][WORD_A + i / per] |= t->a[row][k] << shift_a << i % per * bits;
            if (i < per * (x->sparse ? 4 : 2))
                words[lane][WORD_B + i / per] |= t->b[thread * per + i % per + i / per * 4 * per][group]
                                                 << shift_b << i % per * bits;
        }
        for (unsigned i = 0; i < 4; i++) { /* c_i */
            const uint32_t c = t->c[group + (i >= 2 ? 8 : 0)][thread * 2 + (i & 1)];
            words[lane][WORD_C + (x->half ? i / 2 : i)] |= x->half ? c << 16 * (i & 1) : c;
        }
    }
}

/* ---- kernels ---- */

/* Writes the instruction. */
static void put_product(kiln__text *text, const product *x, const char *selectors)
{
    const char *sums = x->half ? "f16" : "f32";
    kiln__text_printf(text, "mma.%ssync.aligned.m16n8k%u.row.col.%s.%s.%s.%s.%s%s ",
                      x->sparse ? "sp::ordered_metadata." : "", depth_of(x), kinds[x->kind].name, sums,
                      types[x->a].name, types[x->b].name, sums, kinds[x->kind].scale);
    kiln__text_puts(text, x->half ? "{%r8,%r9}, {%r0,%r1,%r2,%r3}, " : "{%r8,%r9,%r10,%r11}, {%r0,%r1,%r2,%r3}, ");
    kiln__text_puts(text, x->sparse ? "{%r4,%r5,%r6,%r7}, " : "{%r4,%r5}, ");
    kiln__text_puts(text, x->half ? "{%r8,%r9}" : "{%r8,%r9,%r10,%r11}");
    if (x->sparse)
        kiln__text_puts(text, ", %r14, 0");
    kiln__text_printf(text, "%s;\n", kinds[x->kind].blocks ? selectors : "");
}

#define HEAD ".version 9.1\n.target sm_120a\n.address_size 64\n"
#define SELECTED ", %r12, {%h0,%h1}, %r13, {%h2,%h3}"

/* Writes a kernel in which each warp computes the product of its words, and writes D to the place of C. */
static void put_kernel(kiln__text *text, const product *x, const char *name)
{
    kiln__text_printf(
        text,
        ".visible .entry %s(.param .u64 words)\n{\n.reg .b16 %%h<4>; .reg .b32 %%r<20>; .reg .b64 %%d<4>;\n"
        "ld.param.u64 %%d0, [words]; mov.u32 %%r16, %%tid.x; mov.u32 %%r17, %%ctaid.x;\n"
        "mad.lo.u32 %%r16, %%r17, 32, %%r16; mul.wide.u32 %%d1, %%r16, 64; add.u64 %%d0, %%d0, %%d1;\n",
        name);
    for (unsigned k = 0; k < 15; k++)
        kiln__text_printf(text, "ld.global.u32 %%r%u, [%%d0+%u];\n", k, 4 * k);
    kiln__text_puts(text, "ld.global.u8 %h0, [%d0+60]; ld.global.u8 %h1, [%d0+61]; ld.global.u8 %h2, [%d0+62];\n"
                          "ld.global.u8 %h3, [%d0+63];\n");
    put_product(text, x, SELECTED);
    for (unsigned k = 8; k < 12; k++)
        kiln__text_printf(text, "st.global.u32 [%%d0+%u], %%r%u;\n", 4 * k, k);
    kiln__text_puts(text, "ret;\n}\n");
}

/* Calls `visit` with each product. */
static void each_product(void (*visit)(void *user, const product *x), void *user)
{
    for (unsigned k = 0; k < KINDS; k++)
        for (unsigned sparse = 0; sparse < 2; sparse++)
            for (unsigned half = 0; half < (k == F8F6F4 ? 2 : 1); half++)
                for (unsigned a = kinds[k].packed ? E2M1 : 0; a < TYPES; a++)
                    for (unsigned b = kinds[k].packed ? E2M1 : 0; b < TYPES; b++)
                        visit(user, &(product){(kind)k, (type)a, (type)b, sparse, half});
}

typedef struct trial {
    kiln__text text;
    vm_bench bench;
    unsigned kernels, rounds;
    uint64_t address, tiles;
    uint32_t (*words)[WORDS];
    uint32_t wrong;
} trial;

static void add_kernel(void *user, const product *x)
{
    trial *t = user;
    char name[16];
    snprintf(name, sizeof name, "k%u", t->kernels++);
    put_kernel(&t->text, x, name);
}

static void check_tile(trial *t, const product *x, const tile *want, uint32_t (*words)[WORDS])
{
    for (unsigned lane = 0; lane < LANES; lane++)
        for (unsigned i = 0; i < 4; i++) {
            const unsigned row = lane / 4 + (i >= 2 ? 8 : 0), column = lane % 4 * 2 + (i & 1);
            const uint32_t have = x->half ? words[lane][WORD_C + i / 2] >> 16 * (i & 1) & 0xffff
                                          : words[lane][WORD_C + i];
            const uint32_t right = (kinds[x->kind].packed ? expect_packed : expect_wide)(x, want, row, column);
            if (have != right && t->wrong++ < 10)
                fprintf(stderr, "%s%s %s %s, row %u, column %u: 0x%08x instead of 0x%08x\n", x->sparse ? "sparse " : "",
                        kinds[x->kind].name, types[x->a].name, types[x->b].name, row, column, have, right);
        }
}

static void run_product(void *user, const product *x)
{
    trial *t = user;
    static tile tiles[TILES];
    char name[16];
    snprintf(name, sizeof name, "k%u", t->kernels++);
    for (unsigned round = 0; round < t->rounds; round++) {
        for (unsigned n = 0; n < TILES; n++)
            draw_tile(x, &tiles[n], t->words + n * LANES);
        vm_bench_run(&t->bench, name, TILES, LANES, &t->address);
        for (unsigned n = 0; n < TILES; n++)
            check_tile(t, x, &tiles[n], t->words + n * LANES);
        t->tiles += TILES;
    }
}

/* KILN_MMA_ROUNDS sets the number of rounds. A round has 16 tiles of each of the 158 products. */
static void test_tiles(void)
{
    const char *rounds = getenv("KILN_MMA_ROUNDS");
    trial t = {.rounds = rounds ? (unsigned)strtoul(rounds, NULL, 10) : 1};
    seed += t.rounds - 1;
    kiln__text_puts(&t.text, HEAD);
    each_product(add_kernel, &t);
    t.bench = vm_bench_text(kiln__text_get(&t.text), strlen(kiln__text_get(&t.text)),
                            (vm_limits){.cc = 120, .shared_per_block = 99 << 10, .step_budget = UINT64_C(1) << 40});
    t.address = vm_bench_zeros(&t.bench, (uint64_t)TILES * LANES * sizeof *t.words, &t.words);
    t.kernels = 0;
    each_product(run_product, &t);
    CU_ASSERT_EQUAL(t.wrong, 0);
    printf("%llu tiles\n", (unsigned long long)t.tiles);
    vm_bench_end(&t.bench);
    kiln__text_free(&t.text);
}

/* ---- selectors ---- */

static ptx_result parse(const char *instruction, kiln__text *log)
{
    kiln__text text = {0};
    vm_limits limits = {.cc = 120, .memory = 1 << 20, .shared_per_block = 99 << 10, .sm_count = 1};
    vm_device *device = vm_device_new(NULL, &limits);
    vm_module *module = NULL;
    ptx_module *ptx = NULL;
    kiln__text_printf(&text, HEAD ".visible .entry k()\n{\n.reg .b16 %%h<4>; .reg .b32 %%r<20>;\n%sret;\n}\n",
                      instruction);
    ptx_result result = ptx_parse_for(120, NULL, kiln__text_get(&text), strlen(kiln__text_get(&text)), &ptx, log);
    if (result == PTX_OK)
        result = decode_module_load(device, ptx, &module, log);
    if (result == PTX_OK)
        vm_module_unload(device, module);
    vm_device_free(device);
    kiln__text_free(&text);
    return result;
}

/* The parser must refuse constant selectors that select no scales, like ptxas. */
static void test_constant_selectors(void)
{
    static const struct {
        kind kind;
        const char *selectors, *why; /* why: a part of the message, or NULL if the selectors are right */
    } cases[] = {
        {MXF8F6F4, ", %r12, {3,1}, %r13, {3,3}", NULL},
        {MXF8F6F4, ", %r12, {4,1}, %r13, {3,3}", "byte selector of the scales of A"},
        {MXF8F6F4, ", %r12, {3,2}, %r13, {3,3}", "thread selector of the scales of A must be 0 or 1"},
        {MXF8F6F4, ", %r12, {3,1}, %r13, {3,4}", "thread selector of the scales of B must be from 0 to 3"},
        {MXF8F6F4, ", 5, {0,0}, 6, {0,0}", "expected a register"},
        {MXF8F6F4, ", %r12, {%r1,0}, %r13, {0,0}", "does not fit"},
        {MXF8F6F4, ", %r12, 0, %r13, 0", "expected {byte, thread} after the scales of A"},
        {MXF8F6F4, ", %r12, {0,0}, %r13, {0,0,0}", "expected {byte, thread} after the scales of B"},
        {MXF8F6F4, ", %r12, {0,0}", "operands"},
        {MXF4, ", %r12, {2,1}, %r13, {2,3}", NULL},
        {MXF4, ", %r12, {1,1}, %r13, {2,3}", "byte selector of the scales of A"},
        {NVF4_4X, ", %r12, {0,1}, %r13, {0,3}", NULL},
        {NVF4_4X, ", %r12, {0,1}, %r13, {2,3}", "byte selector of the scales of B"},
    };
    for (unsigned k = 0; k < KILN__COUNT(cases); k++) {
        kiln__text text = {0}, log = {0};
        put_product(&text, &(product){cases[k].kind, E2M1, E2M1, false, false}, cases[k].selectors);
        const ptx_result result = parse(kiln__text_get(&text), &log);
        const char *message = kiln__text_get(&log);
        CU_ASSERT_EQUAL(result == PTX_OK, cases[k].why == NULL);
        if (cases[k].why && !strstr(message, cases[k].why))
            CU_FAIL("another message");
        if ((result == PTX_OK) != (cases[k].why == NULL) || (cases[k].why && !strstr(message, cases[k].why)))
            fprintf(stderr, "case %u: %s\n", k, message);
        kiln__text_free(&log);
        kiln__text_free(&text);
    }
}

/* Selectors in registers that select no scales, or that differ between lanes, end the launch. */
static void test_register_selectors(void)
{
    static const struct {
        uint32_t first, others; /* the selectors of lane 0 and of the other lanes */
        const char *why;
    } cases[] = {{0x03010103, 0x03010103, NULL},
                 {0x03010104, 0x03010104, "the byte-id-a selector of scales is 4, which selects none"},
                 {0x03010201, 0x03010201, "the thread-id-a selector of scales is 2, which selects none"},
                 {0x04010101, 0x04010101, "the thread-id-b selector of scales is 4, which selects none"},
                 {0x00010001, 0x00000001, "the lanes have different byte-id-b selectors of scales"}};
    kiln__text text = {0};
    kiln__text_puts(&text, HEAD);
    put_kernel(&text, &(product){MXF8F6F4, E4M3, E4M3, false, false}, "k");
    for (unsigned k = 0; k < KILN__COUNT(cases); k++) {
        vm_bench b = vm_bench_text(kiln__text_get(&text), strlen(kiln__text_get(&text)),
                                   (vm_limits){.cc = 120, .shared_per_block = 99 << 10});
        uint32_t(*words)[WORDS];
        uint64_t address = vm_bench_zeros(&b, LANES * sizeof *words, &words);
        for (unsigned lane = 0; lane < LANES; lane++)
            words[lane][WORD_SELECTORS] = lane ? cases[k].others : cases[k].first;
        const vm_fault_kind fault = vm_bench_try(&b, "k", 1, LANES, &address, 0);
        CU_ASSERT_EQUAL(fault, cases[k].why ? VM_FAULT_INSTRUCTION : VM_OK);
        if (cases[k].why && !strstr(b.fault.message, cases[k].why)) {
            fprintf(stderr, "case %u: %s\n", k, b.fault.message);
            CU_FAIL("another message");
        }
        vm_bench_end(&b);
    }
    kiln__text_free(&text);
}

static const check_case cases[] = {
    {"random tiles", test_tiles},
    {"constant selectors", test_constant_selectors},
    {"selectors in registers", test_register_selectors},
};
KILN_SUITE("sim.vm_mma_scaled", cases)
