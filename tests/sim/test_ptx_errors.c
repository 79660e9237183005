/* Tests texts that ptx_parse() refuses, and its messages. */
#include "ptx_check.h"

#define LINE "ptxas application ptx input, line "
#define IN_K " (kernel 'k')"

/* Tests one instruction in line 10 of kernel k, and its error message. */
static void test_instructions(void)
{
    static const struct {
        const char *text, *message;
        ptx_result result;
    } cases[] = {
        {"multimem.cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r1], %r2;",
         "instruction 'multimem.cp' is not supported by the simulated device", PTX_UNSUPPORTED},
        {"mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e2m1.f32 %f1, %r1, %r2, %f2;",
         "Illegal modifiers or types for instruction 'mma': 'mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e2m1.f32'",
         PTX_INVALID},
        {"fence.acquire.sync_restrict::shared::cta.cluster;",
         "Illegal modifiers or types for instruction 'fence': 'fence.acquire.sync_restrict::shared::cta.cluster'",
         PTX_INVALID},
        {"fence.proxy.async::generic.release.sync_restrict::shared::cluster.cluster;",
         "Illegal modifiers or types for instruction 'fence.proxy': "
         "'fence.proxy.async::generic.release.sync_restrict::shared::cluster.cluster'",
         PTX_INVALID},
        {"ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8x16 {%r1, %r2}, [%r3];",
         "Illegal modifiers or types for instruction 'ldmatrix': 'ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8x16'",
         PTX_INVALID},
        {"mma.sp.sync.aligned.m16n8k64.row.col.f16.e4m3.e4m3.f16 {%r1, %r2}, {%r1, %r2, %r3, %r4}, {%r1, %r2, %r3, %r4}, "
         "{%r1, %r2}, %r3, 0;",
         "Illegal modifiers or types for instruction 'mma.sp': 'mma.sp.sync.aligned.m16n8k64.row.col.f16.e4m3.e4m3.f16'",
         PTX_INVALID},
        {"adc.u32 %r1, %r2, %r3;", "Unknown instruction 'adc'; did you mean 'add'?", PTX_INVALID},
        {"frobnicate;", "Unknown instruction 'frobnicate'", PTX_INVALID},
        {"add.u33 %r1, %r2, %r3;", "Unknown modifier '.u33' of instruction 'add'", PTX_INVALID},
        {"add.ftz.u32 %r1, %r2, %r3;", "Illegal modifiers or types for instruction 'add': 'add.ftz.u32'", PTX_INVALID},
        {"add.f32.f32 %f1, %f2, %f3;", "Illegal modifiers or types for instruction 'add': 'add.f32.f32'", PTX_INVALID},
        {"mul.u32 %r1, %r2, %r3;", "Illegal modifiers or types for instruction 'mul': 'mul.u32'", PTX_INVALID},
        {"cvt.f32.s32 %f1, %r1;", "Illegal modifiers or types for instruction 'cvt': 'cvt.f32.s32'", PTX_INVALID},
        {"setp.lt.b32 %p1, %r1, 0;", "Illegal modifiers or types for instruction 'setp': 'setp.lt.b32'", PTX_INVALID},
        {"ld.acquire.global.u32 %r1, [%rd1];",
         "Illegal modifiers or types for instruction 'ld': 'ld.acquire.global.u32'", PTX_INVALID},
        {"add.u32 %r1, %r2;", "Arguments mismatch for instruction 'add.u32': expected 3 operands, not 2", PTX_INVALID},
        {"add.u32 %r1, %r2, %f1;",
         "Arguments mismatch for instruction 'add.u32': operand 3: register '%f1' of type "
         ".f32 does not fit a .u32 operand",
         PTX_INVALID},
        {"add.u32 %r1, %r2, %rd1;",
         "Arguments mismatch for instruction 'add.u32': operand 3: register '%rd1' of type "
         ".b64 does not fit a .u32 operand",
         PTX_INVALID},
        {"add.u32 %r1, %r2, 1.5;",
         "Arguments mismatch for instruction 'add.u32': operand 3: a floating-point constant "
         "does not fit a .u32 operand",
         PTX_INVALID},
        {"add.f32 %f1, %f2, 1;",
         "Arguments mismatch for instruction 'add.f32': operand 3: an integer constant does not "
         "fit a .f32 operand",
         PTX_INVALID},
        {"add.u32 %r1, %r99, 1;", "Arguments mismatch for instruction 'add.u32': operand 2: unknown name '%r99'",
         PTX_INVALID},
        {"add.u32 3, %r1, 1;", "Arguments mismatch for instruction 'add.u32': operand 1: expected a register",
         PTX_INVALID},
        {"add.u32 %r1, !%r2, 1;", "Arguments mismatch for instruction 'add.u32': operand 2: '!' is not allowed here",
         PTX_INVALID},
        {"add.u32 %r1, %tid.x, 1;",
         "Arguments mismatch for instruction 'add.u32': operand 2: only mov and cvt can read special "
         "register '%tid.x'",
         PTX_INVALID},
        {"mov.u16 %rs1, %laneid;",
         "Arguments mismatch for instruction 'mov.u16': operand 2: special register '%laneid' does not fit a .u16 operand",
         PTX_INVALID},
        {"ld.shared.u32 %r1, [gv];",
         "Arguments mismatch for instruction 'ld.shared.u32': operand 2: variable 'gv' is "
         "in another state space",
         PTX_INVALID},
        {"ld.global.u32 %r1, [%f1];",
         "Arguments mismatch for instruction 'ld.global.u32': operand 2: register '%f1' of "
         "type .f32 cannot hold an address",
         PTX_INVALID},
        {"ld.param.u64 %rd1, [kp+12];",
         "Arguments mismatch for instruction 'ld.param.u64': operand 2: bytes 12 to 19 "
         "are outside parameter 'kp' of 16 bytes",
         PTX_INVALID},
        {"ld.global.v2.u32 %r1, [%rd1];",
         "Arguments mismatch for instruction 'ld.global.v2.u32': operand 1: expected a "
         "vector of 2 elements",
         PTX_INVALID},
        {"ld.global.u32 %rs1, [%rd1];",
         "Arguments mismatch for instruction 'ld.global.u32': operand 1: register '%rs1' "
         "of type .b16 does not fit a .u32 operand",
         PTX_INVALID},
        {"bra nowhere;", "label 'nowhere' is not defined in this function", PTX_INVALID},
        {"@%r1 bra nowhere;", "guard '%r1' is not a predicate register", PTX_INVALID},
        {"call nobody;", "'nobody' is neither a function nor a 64-bit register", PTX_INVALID},
        {"call %rd1, (%r1);", "an indirect call needs a prototype", PTX_INVALID},
        {"call f, (%r1);", "the callee has 0 parameters", PTX_INVALID},
        {"mov.u32 %r1, 99999999999999999999;", "'99999999999999999999' does not fit into 64 bits", PTX_INVALID},
        {"mov.u32 %r1, 1/0;", "division by zero in a constant", PTX_INVALID},
        {".reg .b32 %big<4000000000>;", "a number of registers 4000000000 is above the limit of 16777216", PTX_INVALID},
        {".reg .b32 %r<4>;", "registers '%r<...>' are declared twice", PTX_INVALID},
        {".shared .b8 x[1152921504606846976];", "an array is larger than 1099511627776 bytes", PTX_INVALID},
        {"x: x: ret;", "label 'x' is defined twice", PTX_INVALID},
        {"add.u32 %r1, %r2, %r3", "Parsing error near 'ret': expected ';'", PTX_INVALID},
    };
    for (size_t i = 0; i < KILN__COUNT(cases); i++) {
        char text[2048], want[512];
        snprintf(text, sizeof text, "%s%s\nret;\n}\n", PTX_KERNEL_HEAD, cases[i].text);
        snprintf(want, sizeof want, LINE "%d; error   : %s" IN_K "\n", strstr(cases[i].message, "near 'ret'") ? 11 : 10,
                 cases[i].message);
        ptx_module *module = ptx_read(text);
        CHECK(module == NULL && ptx_answer == cases[i].result);
        char *end = strchr(ptx_log, '\n');
        if (end)
            end[1] = '\0';
        CHECK_TEXT(ptx_log, want);
        ptx_free(NULL, module);
    }
}

/* Tests a text at module level, and its first error message. */
static void test_modules(void)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"", LINE "1; error   : Missing .version or .target directive at start of file\n"},
        {"\0hello", LINE "1; error   : Missing .version or .target directive at start of file\n"},
        {".target sm_x\n", LINE "1; error   : 'sm_x' is not a target\n"},
        {"add.u32;\n", LINE "1; error   : Parsing error near 'add': expected a directive\n"},
        {PTX_HEAD ".global .align 3 .b8 x;\n", LINE "4; error   : alignment 3 is not a power of two\n"},
        {PTX_HEAD ".global .b8 x[2] = {1, 2, 3};\n", LINE "4; error   : more values than the array has elements\n"},
        {PTX_HEAD ".global .b8 x[2][2] = {{1}, {2}, {3}};\n",
         LINE "4; error   : more values than the array has elements\n"},
        {PTX_HEAD ".global .b8 x[1000000000] = {1};\n",
         LINE "4; error   : initialised variable 'x' of 1000000000 bytes is too large\n"},
        {PTX_HEAD ".global .b8 x[8][100000000] = {{1}, {2}};\n", LINE "4; error   : the initialiser is too large\n"},
        {PTX_HEAD ".global .b32 x[][0] = {1};\n",
         LINE "4; error   : an array whose first size is open has a size of 0\n"},
        {PTX_HEAD ".extern .shared .b32 x[][4][0];\n",
         LINE "4; error   : an array whose first size is open has a size of 0\n"},
        {PTX_HEAD ".global .u64 x = y;\n",
         LINE "4; error   : 'y' in an initialiser is neither a variable nor a function\n"},
        {PTX_HEAD ".shared .b32 x = 4;\n",
         LINE "4; error   : 'x': only .global and .const variables are initialised\n"},
        {PTX_HEAD ".global .b32 x;\n.const .b32 x;\n", LINE "5; error   : 'x' is declared twice\n"},
        {PTX_HEAD ".func f() { ret; }\n.entry f() { ret; }\n",
         LINE "5; error   : 'f' is declared both as .entry and as .func\n"},
        {PTX_HEAD ".entry f() { ret; }\n.entry f() { ret; }\n",
         LINE "5; error   : defined twice; the first time in line 4 (kernel 'f')\n"},
        {PTX_HEAD ".func f(.param .b32 a);\n.func f(.param .b64 a) { ret; }\n",
         LINE "5; error   : the parameters differ from the earlier declaration in line 4 (function 'f')\n"},
        {PTX_HEAD ".entry f(.param .b8 x[40000]) { ret; }\n",
         LINE "4; error   : the parameters take 40000 bytes, above the limit of 32764 (kernel 'f')\n"},
        {PTX_HEAD ".entry f() {\nret;\n",
         LINE "6; error   : the text ends within a body: '}' is missing (kernel 'f')\n"},
        {PTX_HEAD ".entry f() .maxfoo 3 { ret; }\n",
         LINE "4; error   : Parsing error near '.maxfoo': unknown directive of a function (kernel 'f')\n"},
        {PTX_HEAD ".func f(.reg .b32 x) { ret; }\n",
         LINE "4; error   : parameters in .reg space are not supported by the simulated device (function 'f')\n"},
        {PTX_HEAD ".entry f() { .reg .v2 .f32 v<4>; ret; }\n",
         LINE "4; error   : ranges of vector registers are not supported by the simulated device (kernel 'f')\n"},
        {PTX_HEAD ".entry f() { .reg .v2 .f32 v; mov.f32 v.z, 0f00000000; ret; }\n", LINE
         "4; error   : Arguments mismatch for instruction 'mov.f32': operand 1: unknown name 'v.z' (kernel 'f')\n"},
        {PTX_HEAD ".global .texref t;\n",
         LINE "4; error   : type '.texref' is not supported by the simulated device\n"},
    };
    for (size_t i = 0; i < KILN__COUNT(cases); i++) {
        ptx_module *module = ptx_read(cases[i].text);
        CHECK(module == NULL);
        char *end = strchr(ptx_log, '\n');
        if (end)
            end[1] = '\0';
        CHECK_TEXT(ptx_log, cases[i].message);
        ptx_free(NULL, module);
    }
}

/* Compares all errors of a text, in their order. An unsupported part must not hide an invalid one. */
static void test_many(void)
{
    CHECK(
        ptx_read(PTX_KERNEL("ex2.f32 %f1, %f2;\nmov.u32 %r1, 1;\nbra gone;\nmultimem.cp {%f1, %f2}, %r1;\n{ nonsense; "
                            "}\n") ".entry l() {\nfoo;\n}\n.bogus x;\n") == NULL);
    CHECK(ptx_answer == PTX_INVALID);
    CHECK_TEXT(ptx_log, LINE "10; error   : Illegal modifiers or types for instruction 'ex2': 'ex2.f32'" IN_K "\n" LINE
                             "13; error   : instruction 'multimem.cp' is not supported by the simulated device" IN_K
                             "\n" LINE "14; error   : Unknown instruction 'nonsense'" IN_K "\n" LINE
                             "12; error   : label 'gone' is not defined in this function" IN_K "\n" LINE
                             "19; error   : Unknown instruction 'foo'; did you mean 'fma'? (kernel 'l')\n" LINE
                             "21; error   : Parsing error near '.bogus': unknown directive\n"
                             "ptxas fatal   : Ptx assembly aborted due to errors\n");
    /* the text has too many errors, so the parser stops */
    char *text = malloc(200000);
    size_t length = (size_t)sprintf(text, "%s.entry k() {\n", PTX_HEAD);
    for (int i = 0; i < 10000; i++)
        length += (size_t)sprintf(text + length, "foo.u32;\n");
    CHECK(ptx_read(text) == NULL);
    unsigned lines = 0;
    for (const char *at = ptx_log; (at = strchr(at, '\n')); at++)
        lines++;
    CHECK(lines == 52);
    free(text);
}

/* Tests that the depth of every nested construct is limited. */
static void test_depth(void)
{
    static const struct {
        const char *before, *open;
    } cases[] = {
        {PTX_HEAD ".entry k() ", "{"},
        {PTX_HEAD ".global .b32 x = ", "("},
        {PTX_HEAD ".global .b32 x = ", "-"},
        {PTX_HEAD ".global .b32 x[3] = ", "{"},
        {PTX_HEAD ".global .b32 x", "[1]"},
        {PTX_HEAD ".global .b32 x = ", "1?2:"},
        {PTX_HEAD ".global .b32 x = ", "(.s64)"},
    };
    enum { COUNT = 100000 };
    for (size_t i = 0; i < KILN__COUNT(cases); i++) {
        char *text = malloc(256 + COUNT * strlen(cases[i].open)), *at = text;
        at += sprintf(at, "%s", cases[i].before);
        for (int k = 0; k < COUNT; k++)
            at += sprintf(at, "%s", cases[i].open);
        CHECK(ptx_read(text) == NULL && ptx_answer == PTX_INVALID);
        free(text);
    }
}

/* Parses every prefix of a text, and the text with any one byte changed. Each call must return. */
static void test_damage(void)
{
    static const char text[] = PTX_KERNEL(
        "@!%p1 bra L; mov.b64 {%r1, _}, %rd1; t: .branchtargets L; brx.idx %r1, t; L: /* c */ // d\n"
        "p: .callprototype (.param .b32 _) _ (.param .align 8 .b8 _[16]);\n"
        "{ .param .align 8 .b8 a[16]; .param .b32 q; call (q), %rd1, (a), p; }\n"
        "add.f32 %f1, %f2, 0f3F800000; shfl.sync.up.b32 %r1|%p1, %r2, 1, 0, -1;\n"
        ".loc 1 10 3, function_name $s, inlined_at 1 9 3\n") ".global .u64 t[2] = {gv, generic(gv)+8};\n.file 1 \"k.cu\"\n.section .debug_str { $s: .b8 102, 0 }\n";
    static const char bytes[] = "\0\n\"{}()[]<>;:.,@%0_$";
    char damaged[sizeof text];
    for (size_t i = 0; i < sizeof text; i++) {
        ptx_module *module;
        kiln__text log = {0};
        ptx_result result = ptx_parse(NULL, text, i, &module, &log);
        CHECK((result == PTX_OK) == (module != NULL));
        ptx_free(NULL, module);
        memcpy(damaged, text, sizeof text);
        damaged[i] = bytes[i * 7 % (sizeof bytes - 1)];
        result = ptx_parse(NULL, damaged, sizeof damaged - 1, &module, &log);
        CHECK((result == PTX_OK) == (module != NULL));
        ptx_free(NULL, module);
        kiln__text_free(&log);
    }
}

/* Instructions of later devices must be refused with their name and line, whatever operands they have. */
static void test_later(void)
{
    static const char *const lines[] = {
        "multimem.cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r1], %r2;",
        "multimem.cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%rd1], [%r1], %r2;",
    };
    for (size_t k = 0; k < KILN__COUNT(lines); k++) {
        char text[2048], want[200];
        snprintf(text, sizeof text, "%s%s%s", PTX_KERNEL_HEAD, lines[k], "\nret;\n}\n");
        snprintf(want, sizeof want, LINE "10; error   : instruction '%.*s", (int)strcspn(lines[k], "."), lines[k]);
        ptx_module *module = ptx_read(text);
        if (ptx_answer != PTX_UNSUPPORTED)
            fprintf(stderr, "%s\n%s", lines[k], ptx_log);
        CHECK(module == NULL && ptx_answer == PTX_UNSUPPORTED);
        CHECK(strncmp(ptx_log, want, strlen(want)) == 0 && strstr(ptx_log, "is not supported by the simulated device"));
    }
}

/* The initialiser skips 2^61 - 1 elements of 8 bytes: each empty pair of braces skips up to 2^40. In 64 bits the offset of the
 * last element overflows to -8. */
static void test_huge_array(void)
{
    enum { ROWS = (1 << 21) - 2, DIGIT = 255, LEVELS = 5 };
    kiln__text text = {0};
    kiln__text_puts(&text, PTX_HEAD ".global .b64 x[][256][256][256][256][256][1] = {{{{{{{1}}}}}},\n");
    for (unsigned k = 0; k < ROWS; k++)
        kiln__text_puts(&text, "{},");
    for (unsigned level = 0; level < LEVELS; level++) {
        kiln__text_puts(&text, "{");
        for (unsigned k = 0; k < DIGIT; k++)
            kiln__text_puts(&text, "{},");
    }
    kiln__text_puts(&text, "{5}}}}}}};\n");
    CHECK(!text.failed && !ptx_read(kiln__text_get(&text)) && ptx_answer == PTX_INVALID);
    CHECK(strstr(ptx_log, "more values than an array can have") != NULL);
    kiln__text_free(&text);
}

/* ---- texts that refer to the same thing many times ---- */

static void add_many(kiln__text *text, unsigned count, const char *format)
{
    for (unsigned k = 0; k < count; k++)
        kiln__text_printf(text, format, k, k, k);
}

static bool refuses(kiln__text *text, const char *message)
{
    const bool refused = !text->failed && !ptx_read(kiln__text_get(text)) && ptx_answer == PTX_INVALID &&
                         strstr(ptx_log, message);
    kiln__text_free(text);
    return refused;
}

/* Each branch to a list of targets takes a copy of the list, and each alias takes a copy of its function's
 * instructions. Texts with too many of these copies must be refused. */
static void test_repeats(void)
{
    enum { COUNT = 2000 };
    kiln__text text = {0};
    kiln__text_puts(&text, PTX_HEAD ".func f() {\n.reg .b32 %r; L: .branchtargets A");
    add_many(&text, COUNT, ", A");
    kiln__text_puts(&text, ";\nA:\n");
    add_many(&text, COUNT, "brx.idx %%r, L;\n");
    kiln__text_puts(&text, "ret; }\n");
    CHECK(refuses(&text, "the branches to lists of targets have too many targets (function 'f')"));
    kiln__text_puts(&text, PTX_HEAD ".func f() {\n");
    add_many(&text, COUNT, "ret;\n");
    kiln__text_puts(&text, "}\n");
    add_many(&text, COUNT, ".func a%u; .alias a%u, f;\n");
    CHECK(refuses(&text, "the aliases repeat too many instructions"));
}

/* An allocator that has a limited amount of memory. */
typedef struct small_memory {
    size_t used, most;
} small_memory;

static void *resize_small(void *user, void *pointer, size_t size)
{
    enum { HEAD_BYTES = 16 };
    small_memory *memory = user;
    char *base = pointer ? (char *)pointer - HEAD_BYTES : NULL;
    size_t old = 0;
    if (base)
        memcpy(&old, base, sizeof old);
    if (size > memory->most - (memory->used - old))
        return NULL;
    memory->used = memory->used - old + size;
    if (size == 0) {
        free(base);
        return NULL;
    }
    base = realloc(base, size + HEAD_BYTES);
    CU_ASSERT_PTR_NOT_NULL_FATAL(base);
    memcpy(base, &size, sizeof size);
    return base + HEAD_BYTES;
}

/* All lists of targets for calls of one function share the sizes of its parameters. 10,000 copies of 10,000 sizes would
 * take 800 MB. */
static void test_call_targets(void)
{
    enum { COUNT = 10000, MOST = 100 << 20 };
    small_memory memory = {.most = MOST};
    const kiln_allocator mem = {resize_small, &memory};
    kiln__text text = {0}, log = {0};
    kiln__text_puts(&text, PTX_HEAD ".func f(.param .b8 first");
    add_many(&text, COUNT, ", .param .b8 p%u");
    kiln__text_puts(&text, ");\n.func g() {\n");
    add_many(&text, COUNT, "L%u: .calltargets f;\n");
    kiln__text_puts(&text, "ret; }\n");
    ptx_module *module = NULL;
    CHECK(!text.failed && ptx_parse(&mem, text.data, text.length, &module, &log) == PTX_OK);
    CHECK(module && module->functions[1].prototype_count == COUNT);
    CHECK(module && module->functions[1].prototypes[COUNT - 1].arg_count == COUNT + 1 &&
          module->functions[1].prototypes[COUNT - 1].arg_bytes[COUNT] == 1);
    ptx_free(&mem, module);
    CHECK(memory.used == 0);
    kiln__text_free(&text);
    kiln__text_free(&log);
}

/* The parser must not read the text after the last shown error. Here this text has 50,000 calls, and the parser would
 * compare each of them with 50,000 parameters. */
static void test_after_errors(void)
{
    enum { SHOWN = 50, COUNT = 50000 };
    kiln__text text = {0};
    kiln__text_puts(&text, PTX_HEAD ".func f(.param .b8 first");
    add_many(&text, COUNT, ", .param .b8 p%u");
    kiln__text_puts(&text, ");\n.func g() {\n");
    add_many(&text, SHOWN, "cvt.rn.s2f6x2.f32 %h1, %f1, %f2;\n");
    add_many(&text, COUNT, "call f;\n");
    CHECK(!text.failed && !ptx_read(kiln__text_get(&text)) && ptx_answer == PTX_UNSUPPORTED);
    CHECK(strstr(ptx_log, "too many errors, the rest is not shown") != NULL);
    kiln__text_free(&text);
}

/* ---- hashes ---- */

enum { BLOCK = 8 };

/* Appends letters that depend on the number to a hash. */
static uint32_t add_block(uint32_t hash, uint32_t number, char *block)
{
    uint64_t letters = number * UINT64_C(0x9e3779b97f4a7c15);
    for (unsigned k = 0; k < BLOCK; k++, letters >>= 8) {
        block[k] = (char)('a' + (letters & 15));
        hash = (hash ^ (unsigned char)block[k]) * 16777619u;
    }
    return hash;
}

/* 2^LEVELS names have the same FNV-1a hash. Each name has LEVELS blocks, and for each block there are two choices that
 * lead to the same hash. The positions in the source also have the same hash, an exclusive-or of three products. A
 * table with these hashes would compare each name with all other names. */
static void test_one_hash(void)
{
    enum { LEVELS = 16, TABLE = 1 << 19, PLACES = 60000 };
    static uint32_t seen[TABLE]; /* indexed by the upper bits of a hash: the number of a block + 1 */
    char pairs[LEVELS][2][BLOCK], name[LEVELS * BLOCK + 1] = "";
    uint32_t hash = 2166136261u;
    for (unsigned level = 0; level < LEVELS; level++) {
        memset(seen, 0, sizeof seen);
        uint32_t number = 0, next = 0;
        for (;; number++) {
            next = add_block(hash, number, pairs[level][1]);
            uint32_t *before = &seen[next >> 13];
            if (*before && add_block(hash, *before - 1, pairs[level][0]) == next)
                break;
            *before = number + 1;
        }
        hash = next;
    }
    kiln__text text = {0};
    kiln__text_puts(&text, PTX_HEAD);
    for (unsigned k = 0; k < 1u << LEVELS; k++) {
        for (unsigned level = 0; level < LEVELS; level++)
            memcpy(name + level * BLOCK, pairs[level][k >> level & 1], BLOCK);
        kiln__text_printf(&text, ".global .b8 %s;\n", name);
    }
    CHECK(kiln__hash_short(name, LEVELS * BLOCK) == hash);
    for (uint32_t k = 1; k <= PLACES; k++) /* the second factor is 1 / 0xC2B2AE3D */
        kiln__text_printf(&text, ".loc 0 %u %u\n", k, k * 0x85EBCA77u * 0xA89ED915u);
    ptx_module *module = ptx_good(kiln__text_get(&text));
    CHECK(module->symbol_count == 1u << LEVELS && module->loc_count == PLACES + 1);
    ptx_free(NULL, module);
    kiln__text_free(&text);
}

static const check_case cases[] = {
    {"instructions", test_instructions},
    {"later", test_later},
    {"modules", test_modules},
    {"many", test_many},
    {"depth", test_depth},
    {"huge array", test_huge_array},
    {"damage", test_damage},
    {"repeats", test_repeats},
    {"call targets", test_call_targets},
    {"after errors", test_after_errors},
    {"one hash", test_one_hash},
};
KILN_SUITE("sim.ptx_errors", cases)
