/* Compares tcgen05.cp in all shapes and formats, tcgen05.shift, and tcgen05.ld.red with computations of the host. For
 * cp, the host computes which row of the source each lane of tensor memory gets. The simulator computes which lanes get
 * each row. */
#include "tcgen_matrix.h"

/* ---- cp ---- */

typedef struct shape {
    const char *name;
    unsigned rows, bytes;
} shape;
static const shape shapes[] = {{"128x256b", 128, 32},
                               {"4x256b", 4, 32},
                               {"128x128b", 128, 16},
                               {"64x128b.warpx2::02_13", 64, 16},
                               {"64x128b.warpx2::01_23", 64, 16},
                               {"32x128b.warpx4", 32, 16}};

/* Returns the source row that a lane gets, or -1 if it gets none. `base` is the lane of the address. */
static int row_of_lane(unsigned s, unsigned lane, unsigned base)
{
    switch (s) {
    case 1: return lane >= base && (lane - base) % 32 == 0 ? (int)((lane - base) / 32) : -1;
    case 3: return (int)(lane & 63);
    case 4: return (int)((lane & 31) | (lane >> 6 << 5));
    case 5: return (int)(lane & 31);
    default: return (int)lane;
    }
}

static void fill_cells(trial *t, unsigned pair)
{
    for (unsigned n = 0; n < CELLS * pair; n++)
        t->want[n] = t->fill[n] = tcgen_seed(&seed) ^ tcgen_seed(&seed) << 16;
}

/* Tests copies with one shape. `bits` is the size of an element in shared memory, or 8 if elements are not unpacked. */
static void check_copy(unsigned s, unsigned bits, unsigned pair)
{
    matrix x = {.type = bits == 4 ? E2M1 : bits == 6 ? E3M2 : U8, .k = shapes[s].bytes, .rows = shapes[s].rows};
    lay_out(&x, 1024 * draw(4));
    if (x.across) { /* the rows of a copy go along K */
        x.across = false;
        x.swizzle = NONE;
        x.sbo = 128 + 16 * draw(4);
        x.lbo = 17 * 256;
        x.skip = 0;
    }
    const unsigned base = s == 1 ? draw(32) : 0, column = draw(COLUMNS - 8 + 1);
    kiln__text text = {0};
    write_begin(&text, pair);
    kiln__text_printf(&text, "tcgen05.cp.cta_group::%u.%s%s [%%r21], %%d5;\n", pair, shapes[s].name,
                      bits == 4   ? ".b8x16.b4x16_p64"
                      : bits == 6 ? ".b8x16.b6x16_p32"
                                  : "");
    write_end(&text, pair);
    const parameter list = {.a = descriptor_of(&x), .d = base << 16 | column};
    trial t = trial_open(&text, &list, pair, false);
    fill_cells(&t, pair);
    static uint8_t source[2][128][32];
    for (unsigned block = 0; block < pair; block++)
        for (unsigned row = 0; row < x.rows; row++)
            for (unsigned k = 0; k < x.k; k++) {
                const uint32_t value = tcgen_seed(&seed) & ((1u << bits) - 1);
                source[block][row][k] = (uint8_t)(bits == 4 ? value << 2 : value);
                put_element(t.image + (size_t)block * IMAGE, &x, row, k, value);
            }
    for (unsigned block = 0; block < pair; block++)
        for (unsigned lane = 0; lane < LANES; lane++) {
            const int row = row_of_lane(s, lane, base);
            if (row >= 0 && row < (int)x.rows)
                memcpy(t.want + block * CELLS + lane * COLUMNS + column, source[block][row], x.k);
        }
    vm_fault_kind fault;
    unsigned first;
    const unsigned wrong = trial_run(&t, pair, &fault, &first);
    if (fault != VM_OK || wrong)
        fprintf(
            stderr,
            "cp %s, %u bits, pair %u, swizzle %d, lane %u: %s %u cells differ, first lane %u column %u: %x, not %x\n",
            shapes[s].name, bits, pair, (int)x.swizzle, base, fault ? t.bench.fault.message : "", wrong,
            first / COLUMNS, first % COLUMNS, t.shown[first], t.want[first]);
    CHECK(fault == VM_OK && !wrong);
    trial_close(&t);
    kiln__text_free(&text);
}

/* With compiled code each shape is tested with one size of elements, alternately with one block and with two, because
 * LLVM takes 0.2 s for a kernel. */
static void test_copies(void)
{
    static const unsigned bits[] = {8, 6, 4};
    const bool compiled = getenv("KILN_SIM_JIT") != NULL;
    for (unsigned s = 0; s < KILN__COUNT(shapes); s++)
        for (unsigned k = 0; k < (compiled ? 1 : KILN__COUNT(bits)); k++)
            for (unsigned pair = 1; pair <= 2; pair++)
                if (!compiled || pair == 1 + s % 2)
                    check_copy(s, bits[k], pair);
}

/* ---- shift ---- */

static void check_shift(unsigned lane, unsigned pair)
{
    kiln__text text = {0};
    write_begin(&text, pair);
    kiln__text_printf(&text, "tcgen05.shift.cta_group::%u.down [%%r21];\n", pair);
    write_end(&text, pair);
    const parameter list = {.d = lane << 16 | 5};
    trial t = trial_open(&text, &list, pair, false);
    fill_cells(&t, pair);
    /* lane l of 31 lanes gets the old value of lane l + 1 */
    for (unsigned n = 0; n < CELLS * pair; n++) {
        const unsigned own = n % CELLS / COLUMNS, column = n % COLUMNS;
        if (own >= lane && own % 32 != 31 && column >= 5 && column < 13)
            t.want[n] = t.fill[n + COLUMNS];
    }
    vm_fault_kind fault;
    unsigned first;
    const unsigned wrong = trial_run(&t, pair, &fault, &first);
    CHECK(fault == VM_OK && !wrong);
    trial_close(&t);
    kiln__text_free(&text);
}

static void test_shifts(void)
{
    check_shift(0, 1);
    check_shift(0, 2);
    check_shift(64, 1);
}

/* ---- ld.red ---- */

typedef struct reduction {
    const char *suffix;
    bool max, absolute, keeps_nan;
    char letter; /* the letter of the type: f, u or s */
} reduction;
static const reduction reductions[] = {
    {"min.u32", false, false, false, 'u'},       {"max.u32", true, false, false, 'u'},
    {"min.s32", false, false, false, 's'},       {"max.s32", true, false, false, 's'},
    {"min.f32", false, false, false, 'f'},       {"max.f32", true, false, false, 'f'},
    {"min.abs.f32", false, true, false, 'f'},    {"max.abs.f32", true, true, false, 'f'},
    {"min.NaN.f32", false, false, true, 'f'},    {"max.NaN.f32", true, false, true, 'f'},
    {"min.abs.NaN.f32", false, true, true, 'f'}, {"max.abs.NaN.f32", true, true, true, 'f'},
};

/* Returns a number whose order is the order of the type's values. -0 comes before +0. */
static uint32_t key_of(char letter, uint32_t bits)
{
    if (letter == 'u')
        return bits;
    if (letter == 's')
        return bits ^ 0x80000000u;
    return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

static uint32_t reduce(const reduction *r, const uint32_t *values, unsigned count)
{
    bool any = false, nan = false;
    uint32_t best = 0;
    for (unsigned k = 0; k < count; k++) {
        const uint32_t value = values[k] & (r->absolute ? 0x7fffffffu : 0xffffffffu);
        if (r->letter == 'f' && isnan(float_of(value))) {
            nan = true;
            continue;
        }
        const bool better = key_of(r->letter, value) < key_of(r->letter, best);
        if (!any || (value != best && better != r->max))
            best = value;
        any = true;
    }
    return !any || (nan && r->keeps_nan) ? 0x7fffffffu : best;
}

static uint32_t draw_value(char letter)
{
    static const uint32_t odd[] = {0, 0x80000000u, 0x7f800000u, 0xff800000u, 0x7fc00001u, 0xffffffffu};
    if (letter == 'f' && draw(12) == 0)
        return odd[draw(KILN__COUNT(odd))];
    return letter == 'f' ? bits_of_float((float)((int)draw(2001) - 1000)) : tcgen_seed(&seed) << 8 ^ tcgen_seed(&seed);
}

/* A warpgroup loads `count` registers with a reduction, and stores the results. */
static void check_reduction(const reduction *r, unsigned count, bool split)
{
    kiln__text text = {0};
    kiln__text_puts(&text, TCGEN_HEAD TCGEN_KERNEL("k") TCGEN_ALLOC(512) "ld.global.u64 %d1, [%d0];\n");
    tcgen_all(&text, "fill", true);
    kiln__text_printf(&text, "tcgen05.ld.red.sync.aligned.%s.x%u.%s ", split ? "16x32bx2" : "32x32b", count, r->suffix);
    tcgen_vector(&text, count);
    kiln__text_printf(
        &text,
        ", %%r20, [%%r2+3]%s; tcgen05.wait::ld.sync.aligned; ld.global.u64 %%d1, [%%d0+8];\n"
        "mul.wide.u32 %%d2, %%r0, 8; add.u64 %%d2, %%d1, %%d2; st.global.v2.u32 [%%d2], {%%r20, %%v%u};\n",
        split ? ", 200" : "", count - 1);
    kiln__text_puts(&text, TCGEN_FREE(512) "ret;\n}\n");
    parameter list = {0};
    trial t = trial_open(&text, &list, 1, true);
    for (unsigned n = 0; n < CELLS; n++)
        t.fill[n] = draw_value(r->letter);
    vm_bench_run(&t.bench, "k", 1, WARPGROUP, &t.address);
    unsigned wrong = 0;
    for (unsigned thread = 0; thread < WARPGROUP; thread++) {
        const unsigned lane = split ? thread / 32 * 32 + thread % 16 : thread;
        const uint32_t *from = t.fill + lane * COLUMNS + 3 + (split && thread % 32 >= 16 ? 200 : 0);
        wrong += t.shown[2 * thread] != reduce(r, from, count) || t.shown[2 * thread + 1] != from[count - 1];
    }
    if (wrong)
        fprintf(stderr, "ld.red.x%u.%s%s: %u threads are wrong\n", count, r->suffix, split ? " split" : "", wrong);
    CHECK(!wrong);
    trial_close(&t);
    kiln__text_free(&text);
}

/* With compiled code vectors have only 2 registers, and only every second reduction is split, because LLVM takes most
 * of a second for the longest vectors. */
static void test_reductions(void)
{
    const bool compiled = getenv("KILN_SIM_JIT") != NULL;
    for (size_t k = 0; k < KILN__COUNT(reductions); k++)
        for (unsigned count = 2; count <= (compiled ? 2 : 128); count *= 8)
            for (unsigned split = 0; split < 2; split++)
                if (!compiled || split == (k / 2 + k) % 2)
                    check_reduction(&reductions[k], count, split);
}

/* ---- faults ---- */

typedef struct fault {
    const char *instruction, *what;
    uint32_t d;
    uint64_t a;
    vm_fault_kind kind;
} fault;

static void test_faults(void)
{
    const uint64_t a = (uint64_t)SHARED_AT >> 4 | (uint64_t)8 << 16 | (uint64_t)16 << 32 | (uint64_t)1 << 46;
    const fault table[] = {
        {"cp.cta_group::1.128x256b [%r21], %d5;", NULL, 504, a, VM_OK},
        {"cp.cta_group::1.128x256b [%r21], %d5;", "tensor memory has 512 columns", 505, a, VM_FAULT_ADDRESS},
        {"cp.cta_group::1.32x128b.warpx4 [%r21], %d5;", "tensor memory has 512 columns", 509, a, VM_FAULT_ADDRESS},
        {"cp.cta_group::1.128x128b [%r21], %d5;", "has 128 lanes", 0x10000, a, VM_FAULT_ADDRESS},
        {"cp.cta_group::1.4x256b [%r21], %d5;", NULL, 0x1f0000, a, VM_OK},
        {"cp.cta_group::1.4x256b [%r21], %d5;", "has 128 lanes", 0x200000, a, VM_FAULT_ADDRESS},
        {"cp.cta_group::1.4x256b [%r21], %d5;", "has 128 lanes", 0xffff0000, a, VM_FAULT_ADDRESS},
        {"cp.cta_group::1.128x256b [%r21], %d5;", "bits 46 to 48 are not 1", 0, 0, VM_FAULT_INSTRUCTION},
        {"cp.cta_group::1.128x256b [%r21], %d5;", "invalid read", 0, a | 0x3fff, VM_FAULT_ADDRESS},
        {"cp.cta_group::2.128x256b [%r21], %d5;", "no other block of its pair", 0, a, VM_FAULT_INSTRUCTION},
        {"shift.cta_group::1.down [%r21];", NULL, 504, a, VM_OK},
        {"shift.cta_group::1.down [%r21];", "tensor memory has 512 columns", 505, a, VM_FAULT_ADDRESS},
        {"shift.cta_group::1.down [%r21];", "must begin at lane 0, 32, 64 or 96", 0x10000, a, VM_FAULT_ADDRESS},
        {"shift.cta_group::1.down [%r21];", "must begin at lane 0, 32, 64 or 96", 0x800000, a, VM_FAULT_ADDRESS},
        {"shift.cta_group::2.down [%r21];", "no other block of its pair", 0, a, VM_FAULT_INSTRUCTION},
    };
    for (size_t k = 0; k < KILN__COUNT(table); k += vm_bench_step()) {
        const fault *f = &table[k];
        kiln__text text = {0};
        write_begin(&text, 1);
        kiln__text_printf(&text, "tcgen05.%s\n", f->instruction);
        write_end(&text, 1);
        const parameter list = {.a = f->a, .d = f->d};
        trial t = trial_open(&text, &list, 1, false);
        vm_fault_kind outcome;
        unsigned first;
        trial_run(&t, 1, &outcome, &first);
        if (outcome != f->kind || (f->what && !strstr(t.bench.fault.message, f->what)))
            fprintf(stderr, "%zu: %s: %s\n", k, f->what ? f->what : "", t.bench.fault.message);
        CHECK(outcome == f->kind && (!f->what || strstr(t.bench.fault.message, f->what)));
        trial_close(&t);
        kiln__text_free(&text);
    }
}

static const check_case cases[] = {
    {"copies", test_copies},
    {"shifts", test_shifts},
    {"loads with a reduction", test_reductions},
    {"faults", test_faults},
};
KILN_SUITE("sim.vm_tcgen_copy", cases)
