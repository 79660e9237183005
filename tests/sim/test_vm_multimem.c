/* Tests multimem on the memory of several devices. Every form of the instruction that ptxas 13.0 accepts is compared
 * with a computation of the host, which decodes and rounds by tables of all numbers of a format. The suite runs with
 * teams of one and three devices. The results were not compared with hardware. */
#include <math.h>

#include "check_bench.h"

#define HEAD ".version 9.0\n.target sm_100a\n.address_size 64\n"
enum { ELEMENTS = 77, ROW = 16, PART = 80 * ROW, GROUP = 16, SPELLINGS = 224, MEMBERS = 3, BYTES = 1 << 20 };

static uint64_t seed = 88;
static uint64_t draw(void)
{
    seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
    return seed * 0x2545f4914f6cdd1d >> 16;
}

/* ---- formats ---- */

typedef enum number { UNSIGNED, SIGNED, F32, F64, F16, BF16, E4M3, E5M2 } number;
typedef struct type {
    const char *name, *reg; /* `reg` is the prefix of registers of this type */
    unsigned bytes, parts;
    number number;
} type;
static const type types[] = {
    {"u32", "r", 4, 1, UNSIGNED}, {"u64", "d", 8, 1, UNSIGNED}, {"s32", "r", 4, 1, SIGNED},
    {"s64", "d", 8, 1, SIGNED},   {"b32", "r", 4, 1, UNSIGNED}, {"b64", "d", 8, 1, UNSIGNED},
    {"f32", "r", 4, 1, F32},      {"f64", "d", 8, 1, F64},      {"f16", "h", 2, 1, F16},
    {"f16x2", "r", 4, 2, F16},    {"bf16", "h", 2, 1, BF16},    {"bf16x2", "r", 4, 2, BF16},
    {"e4m3", "b", 1, 1, E4M3},    {"e4m3x2", "h", 2, 2, E4M3},  {"e4m3x4", "r", 4, 4, E4M3},
    {"e5m2", "b", 1, 1, E5M2},    {"e5m2x2", "h", 2, 2, E5M2},  {"e5m2x4", "r", 4, 4, E5M2},
};

/* Returns the absolute value of the number with the bits `code`. Larger bits have larger values. */
static double magnitude(number n, unsigned code)
{
    const int mantissa = n == F16 ? 10 : n == BF16 ? 7 : n == E4M3 ? 3 : 2, bias = n == BF16 ? 127 : n == E4M3 ? 7 : 15;
    const int power = (int)(code >> mantissa);
    const double fraction = ldexp((double)(code & ((1u << mantissa) - 1)), -mantissa);
    return power ? ldexp(1 + fraction, power - bias) : ldexp(fraction, 1 - bias);
}

static unsigned greatest(number n) { return n == F16 ? 0x7bff : n == BF16 ? 0x7f7f : n == E4M3 ? 0x7e : 0x7b; }
static unsigned sign_bit(number n) { return n == F16 || n == BF16 ? 0x8000 : 0x80; }

static double decode(number n, unsigned bits)
{
    const unsigned code = bits & (sign_bit(n) - 1);
    const double x = code > greatest(n) ? (double)INFINITY : magnitude(n, code);
    return bits & sign_bit(n) ? -x : x;
}

/* Returns the nearest number, and the even one of two equally near numbers. Above the greatest number, halves become
 * infinite, and numbers of 8 bits become the greatest number. */
static unsigned encode(number n, double value)
{
    const double x = fabs(value);
    unsigned low = 0, high = greatest(n);
    while (low < high) { /* the largest code whose value is at most x */
        const unsigned middle = (low + high + 1) / 2;
        if (magnitude(n, middle) <= x)
            low = middle;
        else
            high = middle - 1;
    }
    const double below = x - magnitude(n, low), above = magnitude(n, low + 1) - x;
    unsigned code = low + (above < below || (above == below && low & 1));
    if (code > greatest(n) && (n == E4M3 || n == E5M2))
        code = greatest(n);
    return code | (signbit(value) ? sign_bit(n) : 0);
}

/* ---- spellings ---- */

typedef struct spelling {
    const type *type;
    unsigned count;
    /* `what` is 'l' for a load, 's' for a store, or 'r' for a reduction. `op` is one of + < > & | ^, or 0 */
    char what, op;
    char sum; /* 'F' for .acc::f32, 'H' for .acc::f16, or 0 */
} spelling;
static spelling spellings[SPELLINGS];
static unsigned spelled;

static void add_spelling(char what, char op, char sum, unsigned count, const type *t)
{
    if (spelled < SPELLINGS)
        spellings[spelled] = (spelling){.type = t, .count = count, .what = what, .op = op, .sum = sum};
    spelled++;
}

/* Adds all forms that ptxas 13.0 accepts for one type and one number of elements. */
static void add_type(unsigned count, const type *t)
{
    const bool bits = t->name[0] == 'b' && t->name[1] != 'f', whole = t->number <= SIGNED;
    const bool half = t->number == F16 || t->number == BF16, byte = t->number >= E4M3;
    const unsigned bytes = count * t->bytes;
    if ((bytes != 4 && bytes != 8 && bytes != 16) || (count > 1 && (whole || t->number == F64)))
        return;
    add_spelling('s', 0, 0, count, t);
    for (const char *op = bits ? "&|^" : half || byte || whole ? "+<>" : "+"; *op; op++) {
        if (*op == '+' && t->number == SIGNED && t->bytes == 8)
            continue;
        add_spelling('l', *op, 0, count, t);
        if (*op == '+' && (half || byte))
            add_spelling('l', *op, half ? 'F' : 'H', count, t);
        if (!byte && !(half && count == 1 && *op != '+'))
            add_spelling('r', *op, 0, count, t);
    }
}

static const char *op_name(char op)
{
    return op == '+' ? "add" : op == '<' ? "min" : op == '>' ? "max" : op == '&' ? "and" : op == '|' ? "or" : "xor";
}

static void put_list(kiln__text *text, const spelling *s)
{
    for (unsigned k = 0; k < s->count; k++)
        kiln__text_printf(text, "%s%%%s%u", k ? ", " : s->count > 1 ? "{" : "", s->type->reg, 10 + k);
    kiln__text_puts(text, s->count > 1 ? "}" : "");
}

/* Writes the instruction for part `at` of the memory. A lane accesses the team's memory at %d6, and the kernel's own
 * data at %d7. */
static void put_spelling(kiln__text *text, const spelling *s, unsigned at)
{
    static const char *const orders[] = {
        "", ".global", ".relaxed.sys", ".relaxed.gpu.global", ".STRONG.sys.global", ".STRONG.cta"};
    const char *order = orders[at % KILN__COUNT(orders)];
    char middle[64];
    snprintf(middle, sizeof middle, "%s%s%s%s%s.%s", s->op ? "." : "", s->op ? op_name(s->op) : "",
             s->sum == 'F'   ? ".acc::f32"
             : s->sum == 'H' ? ".acc::f16"
                             : "",
             s->count > 1 ? ".v" : "",
             s->count == 2   ? "2"
             : s->count == 4 ? "4"
             : s->count == 8 ? "8"
                             : "",
             s->type->name);
    for (unsigned k = 0; s->what != 'l' && k < s->count; k++)
        kiln__text_printf(text, "ld.global.b%u %%%s%u, [%%d7+%u];\n", 8 * s->type->bytes, s->type->reg, 10 + k,
                          at * PART + k * s->type->bytes);
    kiln__text_puts(text, s->what == 'l' ? "multimem.ld_reduce" : s->what == 's' ? "multimem.st" : "multimem.red");
    const char *strong = strstr(order, "STRONG");
    if (strong)
        kiln__text_printf(text, ".%s%s", s->what == 'l' ? "acquire" : "release", strong + 6);
    else
        kiln__text_puts(text, order);
    kiln__text_printf(text, "%s ", middle);
    if (s->what == 'l') {
        put_list(text, s);
        kiln__text_printf(text, ", [%%d6+%u];\n", at * PART);
    } else {
        kiln__text_printf(text, "[%%d6+%u], ", at * PART);
        put_list(text, s);
        kiln__text_puts(text, ";\n");
    }
    for (unsigned k = 0; s->what == 'l' && k < s->count; k++)
        kiln__text_printf(text, "st.global.b%u [%%d7+%u], %%%s%u;\n", 8 * s->type->bytes,
                          at * PART + k * s->type->bytes, s->type->reg, 10 + k);
}

/* Writes kernels k0, k1 and so on, each with GROUP forms of the instruction. The first ELEMENTS threads take part. */
static void put_kernels(kiln__text *text)
{
    kiln__text_puts(text, HEAD);
    for (unsigned first = 0; first < SPELLINGS; first += GROUP) {
        kiln__text_printf(
            text,
            ".visible .entry k%u(.param .u64 team, .param .u64 data)\n{\n"
            ".reg .b8 %%b<20>; .reg .b16 %%h<20>; .reg .b32 %%r<20>; .reg .b64 %%d<20>; .reg .pred %%p<2>;\n"
            "ld.param.u64 %%d1, [team]; ld.param.u64 %%d2, [data]; mov.u32 %%r1, %%tid.x;\n"
            "mov.u32 %%r2, %%ctaid.x; mad.lo.u32 %%r1, %%r2, 32, %%r1; setp.ge.u32 %%p1, %%r1, %u;\n"
            "@%%p1 ret;\nmul.wide.u32 %%d3, %%r1, %u; add.u64 %%d6, %%d1, %%d3; add.u64 %%d7, %%d2, %%d3;\n",
            first / GROUP, ELEMENTS, ROW);
        for (unsigned at = first; at < first + GROUP; at++)
            put_spelling(text, &spellings[at], at);
        kiln__text_puts(text, "ret;\n}\n");
    }
}

/* ---- the reference ---- */

static uint64_t get(const unsigned char *at, unsigned bytes)
{
    uint64_t value = 0;
    memcpy(&value, at, bytes);
    return value;
}

static uint64_t combine_whole(const type *t, char op, uint64_t a, uint64_t b)
{
    const uint64_t mask = t->bytes == 8 ? UINT64_MAX : UINT32_MAX;
    const bool less = t->number == UNSIGNED ? a < b
                      : t->bytes == 8       ? (int64_t)a < (int64_t)b
                                            : (int32_t)(uint32_t)a < (int32_t)(uint32_t)b;
    switch (op) {
    case '+': return (a + b) & mask;
    case '&': return a & b;
    case '|': return a | b;
    case '^': return a ^ b;
    case '<': return less ? a : b;
    default: return less ? b : a;
    }
}

/* Combines two decoded numbers. -0 is less than +0. */
static double combine_real(char op, double a, double b)
{
    const bool less = a < b || (a == b && signbit(a) && !signbit(b));
    return op == '+' ? a + b : (op == '<') == less ? a : b;
}

/* Reduces `count` elements. */
static uint64_t reduce(const spelling *s, const uint64_t *values, unsigned count)
{
    const type *t = s->type;
    uint64_t r = values[0];
    for (unsigned k = 1; k < count && t->number <= SIGNED; k++)
        r = combine_whole(t, s->op, r, values[k]);
    for (unsigned k = 1; k < count && t->number == F32; k++) {
        float x, y;
        memcpy(&x, &r, 4), memcpy(&y, &values[k], 4);
        x += y;
        memcpy(&r, &x, 4);
    }
    for (unsigned k = 1; k < count && t->number == F64; k++) {
        double x, y;
        memcpy(&x, &r, 8), memcpy(&y, &values[k], 8);
        x += y;
        memcpy(&r, &x, 8);
    }
    if (t->number <= F64 || count == 1)
        return r;
    const unsigned bits = 8 * t->bytes / t->parts;
    r = 0;
    for (unsigned p = 0; p < t->parts; p++) {
        double sum = decode(t->number, (unsigned)(values[0] >> p * bits & ((1u << bits) - 1)));
        for (unsigned k = 1; k < count; k++) {
            sum = combine_real(s->op, sum, decode(t->number, (unsigned)(values[k] >> p * bits & ((1u << bits) - 1))));
            sum = s->sum == 'F'   ? (double)(float)sum
                  : s->sum == 'H' ? decode(F16, encode(F16, sum))
                                  : decode(t->number, encode(t->number, sum));
        }
        r |= (uint64_t)encode(t->number, sum) << p * bits;
    }
    return r;
}

/* Returns a random element. Its numbers are finite. Sums of three numbers are exact in double precision, or are rounded
 * as floats. */
static uint64_t draw_element(const type *t)
{
    if (t->number <= SIGNED)
        return draw() << 32 ^ draw();
    if (t->number == F32 || t->number == F64) {
        const double x = ldexp((double)(int64_t)(draw() & 0xffffffffff) - 0x1p39, (int)(draw() % 40) - 50);
        const float y = (float)x;
        uint64_t r = 0;
        memcpy(&r, t->number == F32 ? (const void *)&y : &x, t->bytes);
        return r;
    }
    uint64_t r = 0;
    const unsigned bits = 8 * t->bytes / t->parts;
    for (unsigned p = 0; p < t->parts; p++) {
        unsigned code = (unsigned)draw() % (greatest(t->number) / (t->number == E4M3 || t->number == E5M2 ? 1 : 2));
        if (t->number == BF16)
            code = 110u << 7 | (unsigned)(draw() % (20u << 7));
        r |= (uint64_t)(code | (draw() & 1 ? sign_bit(t->number) : 0)) << p * bits;
    }
    return r;
}

/* ---- teams ---- */

typedef struct bound {
    vm_team team;
    vm_replica replicas[MEMBERS];
    unsigned char *memory[MEMBERS];
    uint64_t address;
} bound;

/* Makes a team of `count` devices for this device. Each member has BYTES of memory at the beginning of the multicast
 * object. */
static void open_team(vm_device *device, bound *b, uint32_t count)
{
    *b = (bound){.team = {.count = count, .number = {7, 8, 9}, .replicas = b->replicas, .replica_count = count}};
    for (uint32_t k = 0; k < count; k++) {
        b->memory[k] = calloc(1, BYTES);
        CU_ASSERT_PTR_NOT_NULL_FATAL(b->memory[k]);
        b->replicas[k] = (vm_replica){.member = count - 1 - k, .bytes = BYTES, .host = b->memory[k]};
    }
    b->address = vm_reserve(device, BYTES, 1 << 16);
    CHECK(vm_adopt_team(device, b->address, &b->team, 0, BYTES, false));
}

static void close_team(vm_device *device, bound *b)
{
    CHECK(vm_free(device, b->address));
    for (uint32_t k = 0; k < b->team.count; k++)
        free(b->memory[k]);
}

/* Returns the memory of a member of the team. Members are in the reverse order of the bindings. */
static unsigned char *memory_of(const bound *b, uint32_t member) { return b->memory[b->team.count - 1 - member]; }

/* Fills the memory of the team and the kernels' data with elements. */
static void fill(bound *b, unsigned char *data)
{
    for (unsigned at = 0; at < SPELLINGS; at++)
        for (unsigned n = 0; n < 80 * spellings[at].count; n++) {
            const type *t = spellings[at].type;
            const unsigned place = at * PART + n / spellings[at].count * ROW + n % spellings[at].count * t->bytes;
            for (uint32_t k = 0; k <= b->team.count; k++) {
                const uint64_t value = draw_element(t);
                memcpy((k < b->team.count ? b->memory[k] : data) + place, &value, t->bytes);
            }
        }
}

/* Computes the expected memory of each member, and of the kernels' data, after all forms of the instruction have
 * run. */
static void expect(const bound *b, unsigned char *const *want)
{
    for (unsigned at = 0; at < SPELLINGS; at++)
        for (unsigned n = 0; n < ELEMENTS * spellings[at].count; n++) {
            const spelling *s = &spellings[at];
            const unsigned bytes = s->type->bytes, place = at * PART + n / s->count * ROW + n % s->count * bytes;
            uint64_t values[MEMBERS];
            for (uint32_t k = 0; k < b->team.count; k++)
                values[k] = get(want[k] + place, bytes);
            uint64_t result = s->what == 'l' ? reduce(s, values, b->team.count) : 0;
            if (s->what == 'l')
                memcpy(want[b->team.count] + place, &result, bytes);
            for (uint32_t k = 0; k < b->team.count && s->what != 'l'; k++) {
                const uint64_t own = get(want[b->team.count] + place, bytes);
                result = s->what == 's' ? own : reduce(s, (uint64_t[]){values[k], own}, 2);
                memcpy(want[k] + place, &result, bytes);
            }
        }
}

static void report_difference(const unsigned char *got, const unsigned char *want, uint32_t member)
{
    for (unsigned k = 0; k < SPELLINGS * PART; k++)
        if (got[k] != want[k]) {
            const spelling *s = &spellings[k / PART];
            fprintf(stderr, "%c %c %c %u %s, memory %u, byte %u\n", s->what, s->op, s->sum, s->count, s->type->name,
                    member, k % PART);
            return;
        }
}

/* Runs every form of the instruction for a team of `count` devices. */
static void run_spellings(vm_bench *b, uint32_t count)
{
    bound team;
    unsigned char *data, *want[MEMBERS + 1];
    open_team(b->device, &team, count);
    const uint64_t address = vm_bench_zeros(b, BYTES, &data);
    fill(&team, data);
    for (uint32_t k = 0; k <= count; k++) {
        want[k] = malloc(BYTES);
        CU_ASSERT_PTR_NOT_NULL_FATAL(want[k]);
        memcpy(want[k], k < count ? memory_of(&team, k) : data, BYTES);
    }
    expect(&team, want);
    for (unsigned k = 0; k < SPELLINGS / GROUP; k++) {
        char name[8];
        snprintf(name, sizeof name, "k%u", k);
        vm_bench_run(b, name, 3, 32, (const uint64_t[]){team.address, address});
    }
    for (uint32_t k = 0; k <= count; k++) {
        const unsigned char *got = k < count ? memory_of(&team, k) : data;
        CU_ASSERT_TRUE(memcmp(got, want[k], BYTES) == 0);
        report_difference(got, want[k], k);
        free(want[k]);
    }
    close_team(b->device, &team);
    vm_free(b->device, address);
}

static void test_spellings(void)
{
    static const unsigned counts[] = {1, 2, 4, 8};
    kiln__text text = {0};
    spelled = 0;
    for (size_t c = 0; c < KILN__COUNT(counts); c++)
        for (size_t t = 0; t < KILN__COUNT(types); t++)
            add_type(counts[c], &types[t]);
    CU_ASSERT_EQUAL_FATAL(spelled, SPELLINGS);
    put_kernels(&text);
    vm_bench b = vm_bench_text(kiln__text_get(&text), strlen(kiln__text_get(&text)), (vm_limits){.cc = 100});
    run_spellings(&b, 1);
    run_spellings(&b, MEMBERS);
    vm_bench_end(&b);
    kiln__text_free(&text);
}

/* ---- atomicity, faults ---- */

#define PLAIN(name, body)                                                                                              \
    ".visible .entry " name "(.param .u64 at)\n{ .reg .b32 %r<4>; .reg .b64 %d<2>;\n"                                  \
    "ld.param.u64 %d1, [at]; mov.u32 %r1, 1;\n" body " ret; }\n"

static void test_faults(void)
{
    static const char text[] = HEAD PLAIN("count", "multimem.red.add.u32 [%d1], %r1;")
        PLAIN("load", "ld.global.u32 %r2, [%d1]; st.global.u32 [%d1], %r2;") PLAIN("store", "st.u32 [%d1], %r1;")
            PLAIN("wide", "multimem.st.v2.f32 [%d1], {%r1, %r1};")
                PLAIN("team", "multimem.ld_reduce.add.u32 %r2, [%d1];");
    static const struct {
        const char *kernel, *says;
        uint64_t offset;
        vm_fault_kind kind;
    } table[] = {
        {"load", "which only multimem can access", 0, VM_FAULT_ADDRESS},
        {"store", "which only multimem can access", 64, VM_FAULT_ADDRESS},
        {"wide", "misaligned multimem write of 8 bytes", 4, VM_FAULT_MISALIGNED},
        {"wide", "which is not in the memory of a multicast object", BYTES, VM_FAULT_ADDRESS},
        {"team", "which is not in the memory of a multicast object", BYTES - 2, VM_FAULT_ADDRESS},
        {"team", "where device 8 of the team has bound no memory, at offset 512 of the multicast object", 512,
         VM_FAULT_ADDRESS},
    };
    vm_bench b = vm_bench_text(text, strlen(text), (vm_limits){.cc = 100});
    bound team;
    open_team(b.device, &team, MEMBERS);
    vm_bench_run(&b, "count", 9, 77, &(uint64_t){team.address + 4});
    for (uint32_t k = 0; k < MEMBERS; k++)
        CU_ASSERT_EQUAL(get(team.memory[k] + 4, 4), 9 * 77);
    team.replicas[1].bytes = 512; /* of device 8 */
    for (size_t k = 0; k < KILN__COUNT(table); k++) {
        CU_ASSERT_EQUAL(vm_bench_try(&b, table[k].kernel, 1, 1, &(uint64_t){team.address + table[k].offset}, 0),
                        table[k].kind);
        if (!strstr(b.fault.message, table[k].says))
            fprintf(stderr, "%s: %s\n", table[k].kernel, b.fault.message);
        CHECK(strstr(b.fault.message, table[k].says) != NULL);
    }
    CHECK(vm_pointer(b.device, team.address, 4) == NULL && vm_pointer_read(b.device, team.address, 4) == NULL);
    close_team(b.device, &team);
    open_team(b.device, &team, 1);
    CHECK(vm_free(b.device, team.address));
    CHECK(vm_adopt_team(b.device, team.address, &team.team, 0, BYTES, true));
    CU_ASSERT_EQUAL(vm_bench_try(&b, "team", 1, 1, &(uint64_t){team.address}, 0), VM_OK);
    CU_ASSERT_EQUAL(vm_bench_try(&b, "count", 1, 1, &(uint64_t){team.address}, 0), VM_FAULT_ADDRESS);
    CHECK(strstr(b.fault.message, "read-only") != NULL);
    CU_ASSERT_EQUAL(vm_bench_try(&b, "team", 1, 1, &(uint64_t){vm_alloc(b.device, 64)}, 0), VM_FAULT_ADDRESS);
    close_team(b.device, &team);
    vm_bench_end(&b);
}

/* ---- checks ---- */

/* Two warps access one word. Thread 0 executes `first`, and thread 32 executes `second`. %d1 is the address of the
 * team, and %d2 the address of this device's own memory. Returns the number of findings of a kind. */
static size_t count_findings(const char *first, const char *second, kiln_check_kind kind)
{
    char text[2048];
    bound team;
    snprintf(text, sizeof text,
             HEAD ".visible .entry two(.param .u64 team, .param .u64 own)\n{\n"
                  ".reg .pred %%p<3>;\n.reg .b32 %%r<8>;\n.reg .b64 %%d<4>;\n"
                  "ld.param.u64 %%d1, [team];\nld.param.u64 %%d2, [own];\nmov.u32 %%r1, %%tid.x;\nmov.u32 %%r2, 1;\n"
                  "setp.eq.u32 %%p1, %%r1, 0;\nsetp.eq.u32 %%p2, %%r1, 32;\n@%%p1 %s\n@%%p2 %s\nret;\n}\n",
             first, second);
    char *barrier = strchr(text, '/'); /* "/" stands for a barrier of the block */
    const size_t rest = barrier ? strlen(barrier + 1) : 0;
    if (barrier) {
        memmove(barrier + 11, barrier + 1, rest + 1);
        memcpy(barrier, "bar.sync 0;", 11);
    }
    check_bench b = check_bench_new(text, strlen(text));
    open_team(b.device, &team, 2);
    const uint64_t own = vm_alloc(b.device, BYTES);
    team.replicas[0].alias = own;
    team.replicas[0].host = vm_pointer(b.device, own, BYTES);
    b.params.in = team.address; /* the first two parameters */
    b.params.out = own;
    CU_ASSERT_EQUAL(check_bench_run(&b, "two", 1, 64, 0), VM_OK);
    size_t found = 0;
    for (size_t k = 0; k < check_count_findings(b.check); k++)
        found += check_get_finding(b.check, k)->kind == kind && !check_get_finding(b.check, k)->note;
    close_team(b.device, &team);
    check_bench_end(&b);
    return found;
}

/* A multimem instruction accesses one location of each device. The checks see the locations that this device can also
 * access by an ordinary address. */
static void test_checks(void)
{
    static const char load[] = "ld.global.u32 %r3, [%d2];", store[] = "multimem.st.u32 [%d1], %r2;",
                      red[] = "multimem.red.add.u32 [%d1], %r2;", reduce_[] = "multimem.ld_reduce.add.u32 %r3, [%d1];";
    CU_ASSERT_EQUAL(count_findings(store, load, KILN_CHECK_RACE), 1);
    CU_ASSERT_EQUAL(count_findings("multimem.st.u32 [%d1], %r2; /", load, KILN_CHECK_RACE), 0);
    CU_ASSERT_EQUAL(count_findings(store, store, KILN_CHECK_RACE), 1);
    CU_ASSERT_EQUAL(count_findings(reduce_, "st.global.u32 [%d2], %r2;", KILN_CHECK_RACE), 1);
    CU_ASSERT_EQUAL(count_findings(reduce_, reduce_, KILN_CHECK_RACE), 0);
    CU_ASSERT_EQUAL(count_findings(red, red, KILN_CHECK_RACE), 0);
    CU_ASSERT_EQUAL(count_findings(red, load, KILN_CHECK_RACE), 1);
    CU_ASSERT_EQUAL(count_findings(store, "st.global.u32 [%d2+4], %r2;", KILN_CHECK_RACE), 0);
    CU_ASSERT_EQUAL(count_findings("multimem.st.u32 [%d1+1048576], %r2;",
                                   "multimem.ld_reduce.add.u32 %r3, [%d1+1048576];", KILN_CHECK_BOUNDS),
                    2);
    CU_ASSERT_EQUAL(count_findings(store, "ld.global.u32 %r3, [%d1+8];", KILN_CHECK_BOUNDS), 1);
}

int main(int count, char **arguments)
{
    static const check_case cases[] = {
        {"every spelling", test_spellings}, {"faults", test_faults}, {"checks", test_checks}};
    return check_main(count, arguments, "multimem", cases, KILN__COUNT(cases));
}
