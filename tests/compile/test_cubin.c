/* Compares the contents of cubins with ptxas' statistics in the log of the same compile. Compares occupancies with
 * known values. */
#include <unistd.h>

#include "check.h"
#include "compile.h"
#include "sources.h"

static kiln__nvrtc *nvrtc;

static const char source[] =
    "__constant__ float table[1000];\n"
    "extern \"C\" __global__ void __launch_bounds__(256, 2) constants(float *x, int n) { x[threadIdx.x] = table[n]; }\n"
    "template <typename T> __global__ void typed(T *x) { x[threadIdx.x] = 1; }\n"
    "extern \"C\" __global__ void shared(float *x, int n)\n"
    "{\n"
    "    extern __shared__ float dynamic[];\n"
    "    __shared__ float s[100];\n"
    "    float v[200];\n"
    "    for (int i = 0; i < 200; i++)\n"
    "        v[i] = x[i * n];\n"
    "    for (int i = 0; i < n; i++)\n"
    "        v[i * 7 % 200] += v[i % 200];\n"
    "    s[threadIdx.x] = v[n % 200];\n"
    "    __syncthreads();\n"
    "    dynamic[threadIdx.x] = s[99 - threadIdx.x];\n"
    "    x[threadIdx.x] = dynamic[0];\n"
    "}\n"
    "extern \"C\" __global__ void __launch_bounds__(128, 8) spills(float *x, int n)\n"
    "{\n"
    "    float v[128];\n"
    "#pragma unroll\n"
    "    for (int i = 0; i < 128; i++)\n"
    "        v[i] = x[i * n + threadIdx.x];\n"
    "    __syncthreads();\n"
    "#pragma unroll\n"
    "    for (int i = 0; i < 128; i++)\n"
    "        x[i * n + 127 - threadIdx.x] = v[127 - i] * v[i];\n"
    "}\n";

/* Returns a figure of ptxas' statistics: the number before `unit` in the text after "Function properties for
 * SYMBOL". */
static long said(const char *log, const char *symbol, const char *unit)
{
    char head[300];
    snprintf(head, sizeof head, "Function properties for %s\n", symbol);
    const char *start = strstr(log, head);
    const char *end = start ? strstr(start, "Compile time") : NULL;
    const char *at = start ? strstr(start, unit) : NULL;
    if (!at || !end || at > end)
        return 0;
    while (at > start && (at[-1] == ' ' || (at[-1] >= '0' && at[-1] <= '9')))
        at--;
    return atol(at);
}

/* Compiles a source for an architecture, and compares the facts in the cubin with the statistics in ptxas' log. */
static void check_arch(int arch)
{
    const char *names[] = {"constants", "typed<double>", "shared", "spills"};
    kiln__compile_request request = {
        .name = "c.cu", .source = source, .arch = arch, .cubin = true, .names = names, .name_count = 4};
    kiln__unit unit;
    kiln_error *error = NULL;
    kiln_status status = kiln__compile_here(NULL, nvrtc, &request, NULL, 0, &unit, NULL, &error);
    CHECK_OK(status, error);
    if (status != KILN_OK)
        return;
    kiln__cubin_kernel *kernels = NULL;
    size_t count = 0;
    status = kiln__cubin_kernels(NULL, unit.cubin, unit.cubin_length, &kernels, &count, &error);
    CHECK_OK(status, error);
    CHECK(count == 4);
    for (size_t i = 0; i < count; i++) {
        const kiln__cubin_kernel *kernel = &kernels[i];
        long registers = said(unit.log, kernel->symbol, " registers"),
             shared = said(unit.log, kernel->symbol, " bytes smem");
        long stack = said(unit.log, kernel->symbol, " bytes stack frame");
        if (kernel->registers != registers || (long)kernel->static_shared != shared ||
            (long)kernel->local_bytes != stack)
            fprintf(stderr, "sm_%d %s: registers %d %ld, shared %lu %ld, local %lu %ld\n", arch, kernel->symbol,
                    kernel->registers, registers, (unsigned long)kernel->static_shared, shared,
                    (unsigned long)kernel->local_bytes, stack);
        CHECK(registers > 0 && kernel->registers == registers);
        CHECK((long)kernel->static_shared == shared);
        CHECK((long)kernel->local_bytes == stack);
        CHECK(kernel->user_constant_bytes == 4000);
        CHECK(kernel->constant_bytes >= 8 && kernel->constant_bytes < 4096);
        bool is_shared = strcmp(kernel->symbol, "shared") == 0, spills = strcmp(kernel->symbol, "spills") == 0;
        CHECK(kernel->static_shared == (is_shared ? 400u : 0u));
        CHECK(kernel->barriers == (is_shared || spills));
        CHECK(kernel->max_threads == (spills ? 128 : strcmp(kernel->symbol, "constants") == 0 ? 256 : 0));
        int64_t stores = -1, loads = -1;
        CHECK(kiln__compile_log_spills(unit.log, kernel->symbol, &stores, &loads));
        CHECK(spills ? stores > 0 && loads > 0 : stores == 0 && loads == 0);
    }
    kiln__free(NULL, kernels);
    kiln__unit_free(&unit);
}

static void test_figures(void)
{
    static const int wanted[] = {75, 80, 90, 100, 120}; /* one architecture for each format of cubins */
    int archs[64], checked = 0;
    size_t count = kiln__nvrtc_archs(nvrtc, archs, 64);
    for (size_t i = 0; i < count && i < 64; i++)
        for (size_t w = 0; w < sizeof wanted / sizeof *wanted; w++)
            if (archs[i] == wanted[w]) {
                check_arch(archs[i]);
                checked++;
            }
    CHECK(checked > 0);
}

/* Tests truncated and changed cubins: each gives an error or some figures, and no read outside. */
static void test_foreign(void)
{
    kiln__compile_request request = {.name = "c.cu", .source = source, .arch = 90, .cubin = true};
    kiln__unit unit;
    kiln_error *error = NULL;
    kiln_status status = kiln__compile_here(NULL, nvrtc, &request, NULL, 0, &unit, NULL, &error);
    CHECK_OK(status, error);
    if (status != KILN_OK)
        return;
    uint64_t random = 42;
    size_t refused = 0;
    for (int round = 0; round < 3000; round++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        size_t length = round < 200 ? (size_t)(random >> 33) % unit.cubin_length : unit.cubin_length;
        char *bytes = malloc(length ? length : 1);
        memcpy(bytes, unit.cubin, length);
        for (int i = 0; round >= 200 && i < 8; i++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            size_t at = (size_t)(random >> 33) % length;
            if (i % 2) /* half of the changes are in the file's header and in the section headers at the end */
                at = i % 4 == 1 ? at % 64 : length - 1 - at % (length < 2600 ? length : 2600);
            bytes[at] = (char)(random >> 24);
        }
        kiln__cubin_kernel *kernels = NULL;
        size_t count = 0;
        if (kiln__cubin_kernels(NULL, bytes, length, &kernels, &count, NULL) != KILN_OK)
            refused++;
        kiln__free(NULL, kernels);
        free(bytes);
    }
    CHECK(refused > 0);
    CHECK(kiln__cubin_kernels(NULL, "not an ELF file", 15, NULL, NULL, &error) == KILN_ERROR_IO);
    CHECK_TEXT(kiln_error_message(error), "not a cubin");
    kiln_error_free(error);
    for (long n = 0;; n++) {
        check_oom oom = {.countdown = n};
        kiln_allocator mem = {check_oom_resize, &oom};
        kiln__cubin_kernel *kernels = NULL;
        size_t count = 0;
        error = NULL;
        status = kiln__cubin_kernels(&mem, unit.cubin, unit.cubin_length, &kernels, &count, &error);
        CHECK(status == (oom.failed ? KILN_ERROR_MEMORY : KILN_OK));
        kiln__free(&mem, kernels);
        kiln_error_free(error);
        CHECK(oom.live == 0);
        if (!oom.failed)
            break;
    }
    kiln__unit_free(&unit);
}

/* Compares occupancies with values of NVIDIA's occupancy calculator. */
static void test_occupancy(void)
{
    static const struct {
        int arch, registers, shared, threads, dynamic, blocks;
        double occupancy;
        const char *limit;
    } rows[] = {
        {90, 32, 0, 256, 0, 8, 1.0, "registers"},
        {90, 24, 0, 256, 0, 8, 1.0, "threads"},
        {90, 128, 16384, 256, 0, 2, 0.25, "registers"},
        {90, 32, 0, 32, 0, 32, 0.5, "blocks"},
        {90, 32, 0, 128, 100 * 1024, 2, 0.125, "shared memory"},
        {90, 32, 0, 128, 228 * 1024, 0, 0, "shared memory"},
        {75, 64, 0, 256, 0, 4, 1.0, "registers"},
        {75, 32, 33 * 1024, 256, 0, 1, 0.25, "shared memory"},
        {80, 255, 0, 128, 0, 2, 0.125, "registers"},
        {86, 40, 0, 256, 0, 6, 1.0, "registers"},
        {89, 32, 0, 512, 0, 3, 1.0, "threads"},
        {120, 32, 0, 32, 0, 24, 0.5, "blocks"},
        {70, 32, 0, 1024, 0, 2, 1.0, "registers"},
        {100, 16, 0, 1024, 0, 2, 1.0, "threads"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        kiln__cubin_kernel kernel = {.registers = rows[i].registers, .static_shared = (uint64_t)rows[i].shared};
        kiln__occupancy got = {0};
        kiln_error *error = NULL;
        CHECK_OK(kiln__occupancy_of(NULL, rows[i].arch, &kernel, (unsigned)rows[i].threads, (uint64_t)rows[i].dynamic,
                                    &got, &error),
                 error);
        if (got.blocks_per_sm != rows[i].blocks)
            fprintf(stderr, "row %zu: %d blocks by %s\n", i, got.blocks_per_sm, got.limited_by);
        CHECK(got.blocks_per_sm == rows[i].blocks);
        CHECK(got.occupancy == rows[i].occupancy);
        CHECK_TEXT(got.limited_by, rows[i].limit);
    }
    kiln__cubin_kernel kernel = {.registers = 32};
    kiln__occupancy got = {0};
    CHECK(kiln__occupancy_of(NULL, 42, &kernel, 32, 0, &got, NULL) == KILN_ERROR_UNSUPPORTED);
    CHECK(kiln__occupancy_of(NULL, 90, &kernel, 0, 0, &got, NULL) == KILN_ERROR_ARGUMENT);
    CHECK(kiln__occupancy_of(NULL, 90, &kernel, 2048, 0, &got, NULL) == KILN_ERROR_ARGUMENT);
    CHECK(kiln__occupancy_of(NULL, 90, &kernel, 32, UINT64_MAX, &got, NULL) == KILN_OK && got.blocks_per_sm == 0);
    kernel.registers = 1 << 29; /* this number times a warp exceeds an int */
    CHECK(kiln__occupancy_of(NULL, 90, &kernel, 32, 0, &got, NULL) == KILN_OK && got.blocks_per_sm == 0);
    CHECK_TEXT(got.limited_by, "registers");
}

/* This source uses the accumulator before the wait, so ptxas must serialise. */
static const char wgmma[] =
    "extern \"C\" __global__ void serial(float *o, unsigned long long a)\n"
    "{\n"
    "    float d[4] = {};\n"
    "    asm volatile(\"wgmma.fence.sync.aligned;\");\n"
    "    for (int i = 0; i < 2; i++) {\n"
    "        asm volatile(\"wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 \"\n"
    "                     \"{%0, %1, %2, %3}, %4, %4, 1, 1, 1, 0, 0;\"\n"
    "                     : \"+f\"(d[0]), \"+f\"(d[1]), \"+f\"(d[2]), \"+f\"(d[3]) : \"l\"(a));\n"
    "        d[0] += 1;\n"
    "    }\n"
    "    asm volatile(\"wgmma.commit_group.sync.aligned;\");\n"
    "    asm volatile(\"wgmma.wait_group.sync.aligned 0;\");\n"
    "    o[threadIdx.x] = d[0] + d[1] + d[2] + d[3];\n"
    "}\n";

static void test_findings(void)
{
    static const char log[] = "ptxas info    : (C7508) no\nptxas info    : (C7509) Potential: one in 'k'\r\n"
                              "x (C751) (C75100) (C7521) (C7520)two\n(C7510";
    kiln__arena arena = {0};
    const char *at = log, *name = "serial", *found;
    CHECK_TEXT(kiln__compile_log_finding(&arena, &at), "C7509: Potential: one in 'k'");
    CHECK_TEXT(kiln__compile_log_finding(&arena, &at), "C7520: two");
    CHECK(!kiln__compile_log_finding(&arena, &at));
    kiln__compile_request request = {
        .name = "w.cu", .source = wgmma, .arch = 90, .kind = 'a', .cubin = true, .names = &name, .name_count = 1};
    kiln__unit unit;
    kiln_error *error = NULL;
    CHECK_OK(kiln__compile_here(NULL, nvrtc, &request, NULL, 0, &unit, NULL, &error), error);
    at = unit.log;
    do /* the waits of ptxas come before it (C7517) */
        found = kiln__compile_log_finding(&arena, &at);
    while (found && !strstr(found, "serialized"));
    CHECK(found && strstr(found, "wgmma.mma_async instructions are serialized") && strstr(found, "'serial'"));
    kiln__unit_free(&unit);
    request.kind = '\0'; /* only sm_90a has this instruction */
    CHECK(kiln__compile_here(NULL, nvrtc, &request, NULL, 0, &unit, NULL, &error) == KILN_ERROR_COMPILE);
    CHECK(strstr(kiln_error_message(error), "sm_90") && strstr(kiln_error_message(error), "wgmma"));
    kiln_error_free(error);
    kiln__arena_free(&arena);
}

static const check_case cases[] = {{"figures", test_figures, CHECK_LONG},
                                   {"untrusted input", test_foreign},
                                   {"occupancy", test_occupancy},
                                   {"findings", test_findings}};

int main(int count, char **arguments)
{
    kiln_error *error = NULL;
    if (kiln__nvrtc_open(NULL, &nvrtc, &error) != KILN_OK) {
        printf("SKIP nvrtc: %s\n", kiln_error_message(error));
        kiln_error_free(error);
        return 77;
    }
    int failed = check_main(count, arguments, "cubin", cases, sizeof cases / sizeof *cases);
    kiln__nvrtc_close(nvrtc);
    return failed;
}
