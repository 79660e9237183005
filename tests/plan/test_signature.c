#include "check.h"
#include "plan_internal.h"

static const char ptx[] =
    "// .entry comment(\n"
    ".version 9.0 .target sm_80 .address_size 64\n"
    "/* .entry k(.param .u8 x) */\n"
    ".file 1 \"/tmp/.entry k(.cu\"\n"
    "\t// .globl\tk\n\n"
    ".visible .entry k(\n"
    "\t.param .u64 k_param_0,\n"
    "\t.param .u64 .ptr .global .align 1 k_param_1,\n"
    "\t.param .u32 k_param_2,\n"
    "\t.param .f32 k_param_3,\n"
    "\t.param .f64 k_param_4,\n"
    "\t.param .u8 k_param_5,\n"
    "\t.param .align 8 .b8 k_param_6[16],\n"
    "\t.param .s16 k_param_7,\n"
    "\t.param .u64 k_param_8\n"
    ")\n.maxntid 128, 1, 1\n"
    "{\n"
    "\t.reg .b64 \t%rd<9>;\n"
    "\tld.param.u64 \t%rd1, [k_param_0];\n"
    "\tld.param.u64 \t%rd3, [k_param_8];\n"
    "\tcvta.to.global.u64 \t%rd2, %rd1;\n"
    "\t{ .reg .b32 x; }\n"
    "\tret;\n"
    "}\n"
    ".visible .entry none()\n{\nret;\n}\n"
    ".visible .entry bare\n{\nld.param.u64 %rd1, [k_param_8]; cvta.to.global.u64 %rd2, %rd1; ret;\n}\n"
    ".entry open(.param .u32 a\n";

static void read_it(const char *symbol, kiln_status want, kiln__signature *signature, kiln__arena *arena)
{
    kiln_error *error = NULL;
    kiln_status status = kiln__signature_read(arena, ptx, sizeof ptx - 1, symbol, signature, &error);
    if (status != want)
        fprintf(stderr, "%s: %s\n", symbol, kiln_error_message(error));
    CU_ASSERT_EQUAL(status, want);
    kiln_error_free(error);
}

static void test_read(void)
{
    kiln__arena arena = {0};
    kiln__signature s;
    static const struct {
        char kind;
        unsigned bytes;
        bool array, pointer;
    } want[] = {
        {'u', 8, 0, 1}, {'u', 8, 0, 1},  {'u', 4, 0, 0}, {'f', 4, 0, 0}, {'f', 8, 0, 0},
        {'u', 1, 0, 0}, {'b', 16, 1, 0}, {'s', 2, 0, 0}, {'u', 8, 0, 0},
    };
    read_it("k", KILN_OK, &s, &arena);
    CHECK(s.count == 9);
    for (size_t i = 0; i < 9 && i < s.count; i++) {
        CHECK(s.params[i].kind == want[i].kind && s.params[i].bytes == want[i].bytes);
        CHECK(s.params[i].array == want[i].array && s.params[i].pointer == want[i].pointer);
        CHECK(s.params[i].align == (i == 6 ? 8 : 0)); /* this is not the alignment of the type behind a pointer */
    }
    read_it("none", KILN_OK, &s, &arena);
    CHECK(s.count == 0);
    read_it("bare", KILN_OK, &s, &arena);
    CHECK(s.count == 0);
    read_it("open", KILN_ERROR_INTERNAL, &s, &arena);
    read_it("comment", KILN_ERROR_NOT_FOUND, &s, &arena);
    kiln__arena_free(&arena);
}

/* Cuts the text at every place, and replaces every byte. The result is a signature or an error, and never a read
 * outside. */
static void test_damaged(void)
{
    static const char bytes[] = "[](){},.%;\"/*\n0\0";
    for (size_t cut = 0; cut < sizeof ptx; cut++) {
        char *copy = malloc(cut + 1);
        memcpy(copy, ptx, cut);
        kiln__arena arena = {0};
        kiln__signature s;
        kiln_error *error = NULL;
        kiln_status status = kiln__signature_read(&arena, copy, cut, "k", &s, &error);
        CHECK(status == KILN_OK || error);
        kiln_error_free(error);
        error = NULL;
        if (cut > 0)
            copy[cut - 1] = bytes[cut % sizeof bytes];
        status = kiln__signature_read(&arena, copy, cut, "none", &s, &error);
        CHECK(status == KILN_OK || error);
        kiln_error_free(error);
        kiln__arena_free(&arena);
        free(copy);
    }
}

/* Inline assembly may write any comment, and any quoted text. A quoted text may have several lines. The parameters in
 * such a text are not the parameters of the kernel, even if the line looks like a directive. An array of arrays does not divide by a size of 0. */
static void test_comment(void)
{
    static const char text[] = ".visible .entry first()\n{\n"
                               "\t/*\n.visible .entry k(.param .u64 a, .param .b8 b[0][1])\n*/\n"
                               "\t.file 1 \".visible .entry k(.param .u8 a)\"\n"
                               "\t.pragma \"a\n.visible .entry k(.param .u16 a)\n\";\n"
                               "\t.pragma \"a\\\"; .pragma \" .visible .entry k(.param .u32 a) \";\n"
                               "\tret;\n}\n"
                               ".visible.entry k(.param .u64 a, .param .b8 b[3000])\n{\nret;\n}\n"
                               ".visible .entry twice(.param .b8 b[0][1])\n{\nret;\n}\n";
    kiln__arena arena = {0};
    kiln__signature s;
    kiln_error *error = NULL;
    CHECK_OK(kiln__signature_read(&arena, text, sizeof text - 1, "k", &s, &error), error);
    CHECK(s.count == 2 && s.params[1].bytes == 3000 && s.params[1].array);
    CHECK(kiln__signature_read(&arena, text, sizeof text - 1, "twice", &s, &error) == KILN_ERROR_INTERNAL);
    kiln_error_free(error);
    kiln__arena_free(&arena);
}

/* In this comment the directive begins again and again. The comment must be read only once. */
static void test_long_line(void)
{
    enum { TIMES = 400000 };
    kiln__text text = {0};
    kiln__arena arena = {0};
    kiln__signature s;
    kiln_error *error = NULL;
    kiln__text_puts(&text, "// ");
    for (unsigned k = 0; k < TIMES; k++)
        kiln__text_puts(&text, ".entry k ");
    kiln__text_puts(&text, "\n.visible .entry k(.param .u32 a)\n{\nret;\n}\n");
    CHECK_OK(kiln__signature_read(&arena, text.data, text.length, "k", &s, &error), error);
    CHECK(s.count == 1 && s.params[0].bytes == 4);
    kiln__arena_free(&arena);
    kiln__text_free(&text);
}

static void test_memory(void)
{
    for (long k = 0; k < 50; k++) {
        check_oom oom = {.countdown = k};
        kiln_allocator mem = {check_oom_resize, &oom};
        kiln__arena arena = {.mem = &mem};
        kiln__signature s;
        kiln_error *error = NULL;
        kiln_status status = kiln__signature_read(&arena, ptx, sizeof ptx - 1, "k", &s, &error);
        CHECK((status == KILN_ERROR_MEMORY) == oom.failed);
        kiln_error_free(error);
        kiln__arena_free(&arena);
        CHECK(oom.live == 0);
        if (!oom.failed)
            return;
    }
    CU_FAIL("never ran through");
}

static void store(char kind, unsigned bytes, kiln_value value, const char *why, uint64_t want)
{
    kiln__param_type type = {.kind = kind, .bytes = bytes};
    uint64_t slot = 99;
    const char *got = kiln__param_store(&type, value, &slot);
    if (why) {
        CHECK_TEXT(got, why);
    } else {
        CHECK(!got);
        CHECK(slot == want || bytes < 8);
        CHECK(memcmp(&slot, &want, bytes) == 0);
    }
}

/* Stores values as kernel arguments of each type. A value that does not fit is refused. */
static void test_store(void)
{
#define INT(x)                                                                                                         \
    (kiln_value)                                                                                                       \
    {                                                                                                                  \
        KILN_INT, { .i = x }                                                                                           \
    }
#define FLOAT(x)                                                                                                       \
    (kiln_value)                                                                                                       \
    {                                                                                                                  \
        KILN_FLOAT, { .f = x }                                                                                         \
    }
    store('u', 4, INT(-1), NULL, 0xFFFFFFFF);
    store('u', 4, INT(4294967295), NULL, 0xFFFFFFFF);
    store('u', 4, INT(4294967296), "the value does not fit", 0);
    store('u', 4, INT(-2147483648), NULL, 0x80000000);
    store('u', 4, INT(-2147483649), "the value does not fit", 0);
    store('u', 1, INT(255), NULL, 255);
    store('u', 1, INT(256), "the value does not fit", 0);
    store('s', 2, INT(-32768), NULL, 0x8000);
    store('s', 2, INT(65536), "the value does not fit", 0);
    store('u', 8, INT(-1), NULL, UINT64_MAX);
    store('u', 1, (kiln_value){KILN_BOOL, {.i = 1}}, NULL, 1);
    store('u', 4, FLOAT(1.0), "this parameter is an integer, but the value is a float; write int(...)", 0);
    store('f', 4, FLOAT(1.5), NULL, 0x3FC00000);
    store('f', 4, INT(2), NULL, 0x40000000);
    store('f', 8, INT(2), NULL, 0x4000000000000000);
    store('f', 4, FLOAT(1e39), "the value is beyond the range of a float", 0);
    store('f', 4, FLOAT(1.0 / 0.0), NULL, 0x7F800000);
    store('f', 2, FLOAT(1), "16-bit floats cannot be passed by value; pass a buffer", 0);
    store('u', 4, (kiln_value){KILN_TEXT, {.text = "x"}}, "a text cannot be passed to a kernel", 0);
    store('b', 16, INT(1), "integers of more than 64 bits cannot be passed", 0);
    uint64_t slot;
    CHECK_TEXT(kiln__param_store(&(kiln__param_type){.kind = 'u', .bytes = 8, .pointer = true}, INT(0), &slot),
               "this parameter is a pointer: name a buffer");
    CHECK_TEXT(kiln__param_store(&(kiln__param_type){.kind = 'b', .bytes = 8, .array = true}, INT(0), &slot),
               "this parameter is a structure: write {struct: ...} or {bytes: ...}");
}

/* ---- statistics ---- */

/* Returns the coverage of [x(l), x(n+1-l)] by direct summation. */
static double coverage(unsigned n, unsigned l)
{
    double outside = 0, term = 1;
    for (unsigned i = 0; i < n; i++)
        term /= 2;
    for (unsigned k = 0; k < l; k++) {
        outside += term;
        term *= (double)(n - k) / (k + 1);
    }
    return 1 - 2 * outside;
}

static void test_ranks(void)
{
    unsigned low, high;
    /* Tables of the sign test give 6: 1-6, 7: 1-7, 9: 2-8, 10: 2-9, 20: 6-15, 50: 18-33, 100: 40-61. */
    static const unsigned known[][3] = {{1, 1, 1},  {5, 1, 5},   {6, 1, 6},    {7, 1, 7},    {9, 2, 8},
                                        {10, 2, 9}, {20, 6, 15}, {50, 18, 33}, {100, 40, 61}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        kiln__median_ranks(known[i][0], &low, &high);
        CHECK(low == known[i][1] && high == known[i][2]);
    }
    for (unsigned n = 6; n <= 1000; n += 7) {
        kiln__median_ranks(n, &low, &high);
        CHECK(coverage(n, low) >= 0.95 && coverage(n, low + 1) < 0.95);
    }
    unsigned before, after, top;
    kiln__median_ranks(1000, &before, &top);
    kiln__median_ranks(1001, &after, &top);
    CHECK(after == before || after == before + 1); /* the two formulas meet */
    kiln__median_ranks(0, &low, &high);
    CHECK(low == 0 && high == 0);
}

static void test_median(void)
{
    double samples[] = {5, 1, 4, 2, 3, 9, 8, 7, 6}, median, low, high;
    kiln__median(samples, 9, &median, &low, &high);
    CHECK(median == 5 && low == 2 && high == 8);
    double two[] = {2, 1};
    kiln__median(two, 2, &median, &low, &high);
    CHECK(median == 1.5 && low == 1 && high == 2);
    kiln__median(two, 0, &median, &low, &high);
    CHECK(median == 0);
}

static const check_case cases[] = {
    {"read", test_read},       {"damaged", test_damaged}, {"memory", test_memory}, {"long line", test_long_line},
    {"comment", test_comment}, {"store", test_store},     {"ranks", test_ranks},   {"median", test_median},
};
KILN_SUITE("signature", cases)
