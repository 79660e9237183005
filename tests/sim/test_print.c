/* Tests printf of kernels: formats from a grammar, compared with the host's snprintf(), and attacks by a hostile
 * kernel. */
#include <locale.h>
#include <unistd.h>

#include "print_grammar.h"
#include "vm_check.h"

#define ENDLESS ((uint64_t)1 << 40)

/* The memory of a thread that prints: a format, its arguments and a string. */
typedef struct memory {
    const char *format;
    uint64_t words[40]; /* the arguments */
    const char *string; /* the string at GRAMMAR_STRINGS; it has no end if `string_length` is given */
    size_t string_length;
    bool is_endless; /* the format is at ENDLESS, where its bytes repeat for ever */
} memory;

static bool read_memory(void *user, uint64_t address, uint32_t bytes, void *to)
{
    const memory *m = user;
    const size_t string = m->string_length ? m->string_length : m->string ? strlen(m->string) + 1 : 0;
    if (m->is_endless && address >= ENDLESS) {
        memset(to, m->format[(address - ENDLESS) % strlen(m->format)], 1);
        return true;
    }
    if (address >= GRAMMAR_FORMAT && address - GRAMMAR_FORMAT + bytes <= strlen(m->format) + 1)
        memcpy(to, m->format + (address - GRAMMAR_FORMAT), bytes);
    else if (address >= GRAMMAR_ARGUMENTS && address - GRAMMAR_ARGUMENTS + bytes <= sizeof m->words)
        memcpy(to, (const char *)m->words + (address - GRAMMAR_ARGUMENTS), bytes);
    else if (address >= GRAMMAR_STRINGS && address - GRAMMAR_STRINGS + bytes <= string)
        memcpy(to, m->string + (address - GRAMMAR_STRINGS), bytes);
    else
        return false;
    return true;
}

static int print(memory *m, kiln__text *out)
{
    int answer;
    CU_ASSERT_TRUE(
        vm_print_format(read_memory, m, m->is_endless ? ENDLESS : GRAMMAR_FORMAT, GRAMMAR_ARGUMENTS, out, &answer));
    return answer;
}

static void formats_of_the_grammar(void)
{
    static grammar g;
    unsigned char bytes[600];
    uint64_t state = 1, failed = 0;
    size_t faults = 0, most = 0;
    for (int n = 0; n < 4000 && failed < 3; n++) {
        for (size_t k = 0; k < sizeof bytes; k++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            bytes[k] = (unsigned char)(state >> 56);
        }
        grammar_make(&g, bytes, sizeof bytes);
        failed += !grammar_check(&g);
        faults += g.faults;
        most = (size_t)g.taken > most ? (size_t)g.taken : most;
        kiln__text_free(&g.want);
    }
    CU_ASSERT_EQUAL(failed, 0);
    /* the random formats must include enough faults, and the largest number of arguments */
    CU_ASSERT(faults > 100 && most == VM_PRINT_ARGUMENTS_MOST);
}

static void texts(void)
{
    static const struct {
        const char *format;
        uint64_t words[4];
        const char *want;
        int taken;
    } cases[] = {
        {"%d %d", {42 | (uint64_t)7 << 32}, "42 7", 2},
        {"%*d|", {8 | (uint64_t)7 << 32}, "       7|", 2},
        {"%*d|", {0xfffffff8u | (uint64_t)7 << 32}, "7       |", 2}, /* -8: the flag '-' */
        {"%.*d|", {3 | (uint64_t)7 << 32}, "007|", 2},
        {"%.*d|", {0xffffffffu | (uint64_t)7 << 32}, "7|", 2},
        {"100%%|%5%|", {0}, "100%|%|", 0},
        {"%n%hhn%lln%-5n", {1, 2, 3, 4}, "%n%hhn%lln%-5n", 0},
        {"%p %p", {0, 0xabc}, "(nil) 0xabc", 2},
        {"%a %A", {0x3ff0000000000000, 0xbff8000000000000}, "0x1p+0 -0X1.8P+0", 2},
        {"%lc|%5c|%-3c|", {'x' | (uint64_t)'y' << 32, 'z'}, "x|    y|z  |", 3},
        {"%s %.3s %s", {GRAMMAR_STRINGS, GRAMMAR_STRINGS, 0}, "device dev (null)", 3},
        {"%ls", {GRAMMAR_STRINGS}, "device", 1},
        {"%y%", {1}, "%y%", 0},
        {"%m %S %C %1$d %'d", {1}, "%m %S %C %1$d %'d", 0},
        {"%hhd %hd %hhu %hu",
         {0x17f | (uint64_t)0x18000 << 32, 0x1ff | (uint64_t)0x1ffff << 32},
         "127 -32768 255 65535",
         4},
        {"%zu %lld %jx", {UINT64_MAX, UINT64_MAX, 0xfedcba9876543210}, "18446744073709551615 -1 fedcba9876543210", 3},
        {"%f %e %g %G",
         {0x7ff0000000000000, 0xfff0000000000000, 0x3f50624dd2f1a9fc, 0x7ff8000000000000},
         "inf -inf 0.001 NAN",
         4},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        memory m = {.format = cases[k].format, .string = "device"};
        kiln__text out = {0};
        memcpy(m.words, cases[k].words, sizeof cases[k].words);
        CU_ASSERT_EQUAL(print(&m, &out), cases[k].taken);
        CHECK_TEXT(kiln__text_get(&out), cases[k].want);
        kiln__text_free(&out);
    }
    /* Tests that a NULL format gives -1, and that a format, an argument or a string that cannot be read is a fault. */
    memory m = {.format = "%c", .words = {0}};
    kiln__text out = {0};
    int answer = 0;
    CU_ASSERT_TRUE(vm_print_format(read_memory, &m, 0, GRAMMAR_ARGUMENTS, &out, &answer));
    CU_ASSERT_EQUAL(answer, -1);
    CU_ASSERT_FALSE(vm_print_format(read_memory, &m, GRAMMAR_NOWHERE, GRAMMAR_ARGUMENTS, &out, &answer));
    CU_ASSERT_FALSE(vm_print_format(read_memory, &m, GRAMMAR_FORMAT, GRAMMAR_NOWHERE, &out, &answer));
    m = (memory){.format = "so %s", .words = {GRAMMAR_STRINGS}, .string = "far", .string_length = 3};
    CU_ASSERT_FALSE(vm_print_format(read_memory, &m, GRAMMAR_FORMAT, GRAMMAR_ARGUMENTS, &out, &answer));
    CHECK_TEXT(kiln__text_get(&out), "so far");
    kiln__text_free(&out);
    m.format = "%c"; /* the conversion also prints a NUL character */
    m.words[0] = 0;
    CU_ASSERT_EQUAL(print(&m, &out), 1);
    CU_ASSERT_EQUAL(out.length, 1);
    kiln__text_free(&out);
}

/* Huge widths and precisions, and strings and formats without end, print a limited text. A note follows the place where
 * the text was cut. */
static void outputs_are_bounded(void)
{
    static const char *const wide[] = {
        "%2147483647d", "%99999999999999999999d", "%.2147483647d", "%.2147483647f", "%*d", "%-*d",
        "%.*f",         "%02147483647d"};
    for (size_t k = 0; k < sizeof wide / sizeof *wide; k++) {
        memory m = {.format = wide[k], .words = {0x7fffffff}};
        kiln__text out = {0};
        print(&m, &out);
        CU_ASSERT(out.length >= VM_PRINT_FIELD_MOST && out.length <= VM_PRINT_FIELD_MOST + 2);
        kiln__text_free(&out);
    }
    char *string = malloc(1 << 20);
    CU_ASSERT_PTR_NOT_NULL_FATAL(string);
    memset(string, 's', 1 << 20);
    memory cases[] = {
        {.format = "%s", .words = {GRAMMAR_STRINGS}, .string = string, .string_length = 1 << 20},
        {.format = "%s%s", .words = {GRAMMAR_STRINGS, GRAMMAR_STRINGS}, .string = string, .string_length = 1 << 20},
        {.format = "x", .is_endless = true},
        {.format = "%", .is_endless = true},
        {.format = "%-", .is_endless = true},
        {.format = "%4096%%n", .is_endless = true},
        {.format = "%9999d%d", .is_endless = true},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        kiln__text out = {0};
        print(&cases[k], &out);
        CU_ASSERT(out.length > VM_PRINT_OUTPUT_MOST && out.length < VM_PRINT_OUTPUT_MOST + 2 * VM_PRINT_FIELD_MOST);
        CHECK(strstr(kiln__text_get(&out),
                     "\n[the rest of this printf is left out: it prints at most 65536 bytes]\n") != NULL);
        kiln__text_free(&out);
    }
    free(string);
}

/* The decimal separator is a point, whatever locale the process has. */
static void locale_has_no_say(void)
{
    char folder[] = "/tmp/kiln-locale-XXXXXX", command[200], text[16];
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    snprintf(command, sizeof command, "localedef -i de_DE -f UTF-8 %s/de_DE.UTF-8 >/dev/null 2>&1", folder);
    const bool is_made = system(command) == 0;
    setenv("LOCPATH", folder, 1);
    if (!is_made || !setlocale(LC_NUMERIC, "de_DE.UTF-8")) {
        printf("SKIP tool: there is no localedef, or no de_DE for it, to make a locale with a comma\n");
    } else {
        snprintf(text, sizeof text, "%.1f", 0.5);
        CHECK_TEXT(text, "0,5"); /* the host uses the locale with a comma */
        memory m = {.format = "%.2f %g %.1e %a %#.0f",
                    .words = {0x3fe0000000000000, 0x3fe0000000000000, 0x3fe0000000000000, 0x3ff8000000000000,
                              0x3ff0000000000000}};
        kiln__text out = {0};
        print(&m, &out);
        CHECK_TEXT(kiln__text_get(&out), "0.50 0.5 5.0e-01 0x1.8p+0 1.");
        kiln__text_free(&out);
        setlocale(LC_NUMERIC, "C");
    }
    unsetenv("LOCPATH");
    snprintf(command, sizeof command, "rm -rf %s", folder);
    CU_ASSERT_EQUAL(system(command), 0);
}

/* If an allocation fails, the text is cut, and nothing else happens. */
static void memory_runs_out(void)
{
    for (long n = 0; n < 4; n++) {
        check_oom oom = {.countdown = n};
        const kiln_allocator mem = {check_oom_resize, &oom};
        memory m = {.format = "%5s %4096d %s %4000s",
                    .string = "text",
                    .words = {GRAMMAR_STRINGS, 1, GRAMMAR_STRINGS, GRAMMAR_STRINGS}};
        kiln__text out = {.mem = &mem};
        print(&m, &out);
        CU_ASSERT_EQUAL(out.failed, oom.failed != 0);
        kiln__text_free(&out);
        CU_ASSERT_EQUAL(oom.live, 0);
    }
}

static void keep(void *user, const char *text, size_t length) { kiln__text_add(user, text, length); }

/* Tests formats with very many flags and stars. A copy of these would overrun a buffer of the host. The arguments are
 * strings of "%n", which would do harm as a format. */
static void kernels(void)
{
    static const char ptx[] =
        ".version 8.0\n.target sm_90\n.address_size 64\n"
        ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n"
        ".visible .entry k(.param .u64 format, .param .u64 arguments, .param .u64 answer)\n{\n"
        ".reg .b64 %rd<4>; .reg .b32 %r<2>;\n"
        "ld.param.u64 %rd1, [format]; ld.param.u64 %rd2, [arguments]; ld.param.u64 %rd3, [answer];\n"
        "{ .param .b64 a; .param .b64 b; .param .b32 s; st.param.b64 [a], %rd1; st.param.b64 [b], %rd2;\n"
        "call (s), vprintf, (a, b); ld.param.b32 %r1, [s]; }\nst.global.u32 [%rd3], %r1;\nret;\n}\n";
    static const struct {
        const char *head;
        char repeated;
        unsigned count;
        const char *tail, *want;
        int answer;
    } cases[] = {
        {"%", '-', 300, "s", NULL, 0},  {"%", '0', 90, "s", NULL, 0},         {"%", '*', 20, "s", NULL, 0},
        {"%.", '*', 20, "d", NULL, 0},  {"%", '#', 60, "s|", "%n%n%n%n|", 1}, {"%n", 'n', 40, "%hhn", NULL, 0},
        {"%", ' ', 4000, "s", NULL, 0}, {"%-", '1', 70, "s", NULL, 0},
    };
    vm_bench b = vm_bench_text(ptx, sizeof ptx - 1, (vm_limits){0});
    char *format, *string;
    uint64_t *words;
    int *answer;
    uint64_t params[] = {vm_bench_zeros(&b, 8192, &format), vm_bench_zeros(&b, 512, &words),
                         vm_bench_zeros(&b, 4, &answer)};
    const uint64_t hostile = vm_bench_zeros(&b, 64, &string);
    strcpy(string, "%n%n%n%n");
    for (size_t k = 0; k < 64; k++)
        words[k] = hostile;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        kiln__text out = {0};
        size_t n = (size_t)sprintf(format, "%s", cases[k].head);
        memset(format + n, cases[k].repeated, cases[k].count);
        strcpy(format + n + cases[k].count, cases[k].tail);
        vm_launch launch = {.module = b.module,
                            .kernel = vm_module_kernel(b.module, "k"),
                            .grid = {1, 1, 1},
                            .block = {1, 1, 1},
                            .params = params,
                            .print = keep,
                            .user = &out};
        CU_ASSERT_EQUAL(vm_run(b.device, &launch, NULL, &b.fault), VM_OK);
        /* NULL: the format is printed unchanged */
        CHECK_TEXT(kiln__text_get(&out), cases[k].want ? cases[k].want : format);
        CU_ASSERT_EQUAL(*answer, cases[k].answer);
        kiln__text_free(&out);
    }
    vm_bench_end(&b);
}

static const check_case tests[] = {{"formats of the grammar", formats_of_the_grammar},
                                   {"texts", texts},
                                   {"outputs are bounded", outputs_are_bounded},
                                   {"the locale has no say", locale_has_no_say},
                                   {"memory runs out", memory_runs_out},
                                   {"kernels", kernels}};
KILN_SUITE("sim.print", tests)
