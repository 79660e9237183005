/* Compares the profile of a program in the driver's file with the estimate that a spec gets for the same launch. */
#include <jansson.h>

#include "cu_check.h"

static char folder[] = "/tmp/kiln-program-XXXXXX", file[64], trace[64];

static json_t *row_at(const char *path, size_t index)
{
    json_t *array = json_load_file(path, 0, NULL), *row = json_incref(json_array_get(array, index));
    json_decref(array);
    return row;
}

static double real_at(const json_t *row, const char *key) { return json_number_value(json_object_get(row, key)); }

/* Returns the estimate that `kiln tune` makes of one launch: from a few traced blocks if `sampled` is set, or from all
 * blocks. */
static double estimate_of(CUfunction function, unsigned blocks, void **arguments, bool sampled)
{
    uint64_t launches = 0;
    CHECK(kiln__sim_estimate_begin(sampled));
    OK(call_cuLaunchKernel(function, blocks, 1, 1, 256, 1, 1, 0, NULL, arguments, NULL));
    const double seconds = kiln__sim_estimate_end(&launches);
    CHECK(launches == 1 && seconds > 0);
    return seconds;
}

/* Loads a device profile of specs/devices, and chooses it for the simulated device. */
static void use_profile(const char *name)
{
    kiln__text log = {0};
    char *text = NULL, path[1024];
    size_t length = 0;
    kiln_error *error = NULL;
    snprintf(path, sizeof path, "%s/specs/devices/%s.profile", KILN_SOURCE_DIR, name);
    CHECK_OK(kiln__file_read(NULL, path, 0, &text, &length, &error), error);
    CHECK(kiln__sim_profile_add(name, text, length, &log) == KILN__SIM_ADDED);
    kiln__free(NULL, text);
    CHECK(kiln__sim_profile(name));
}

static void test_equal(void)
{
    enum { N = 1 << 20 };
    use_profile("h200");
    open_device();
    CUmodule module = load(saxpy);
    CUfunction function = kernel(module, "saxpy");
    CUdeviceptr x, y;
    float a = 2;
    unsigned n = N;
    OK(call_cuMemAlloc(&x, N * sizeof a));
    OK(call_cuMemAlloc(&y, N * sizeof a));
    OK(call_cuMemsetD32(x, 0, N));
    OK(call_cuMemsetD32(y, 0, N));
    void *arguments[] = {&x, &y, &a, &n};
    const double whole = estimate_of(function, N / 256, arguments, false),
                 sampled = estimate_of(function, N / 256, arguments, true);
    json_t *row = row_at(file, 2); /* row 0 is the head, row 1 the fills, and row 2 the kernel */
    CHECK(row != NULL);
    CHECK_TEXT(json_string_value(json_object_get(row, "symbol")), "saxpy");
    CHECK(real_at(row, "least_seconds") <= sampled && real_at(row, "most_seconds") >= whole);
    CHECK(real_at(row, "seconds") > (whole + sampled) * (1 - 1e-12) &&
          real_at(row, "seconds") < (whole + sampled) * (1 + 1e-12));
    CHECK(whole > sampled * (1 - 1e-12) && whole < sampled * (1 + 1e-12));
    /* The time is the launch, and eight megabytes that are read at 0.9 of 4800 GB/s. Written data stays in the L2. Less
     * than 1.75 microseconds are added for the latency, which grows with the load of the memory, and for the last
     * round, which is not full. */
    const double least = 3.2e-6 + 8.0 * N / 4.32e12;
    CHECK(whole > least && whole < least + 1.75e-6);
    CHECK_TEXT(json_string_value(json_object_get(row, "bound")),
               "block starts"); /* 1.2 clocks for each of 4096 blocks */
    json_decref(row);
    row = row_at(file, 1);
    CHECK_TEXT(json_string_value(json_object_get(row, "name")), "fill");
    const double fill = 3.2e-6 + 4.0 * N / (4800e9 * 0.9);
    CHECK(real_at(row, "seconds") > 2 * fill * (1 - 1e-12) && real_at(row, "seconds") < 2 * fill * (1 + 1e-12));
    json_decref(row);
    row = row_at(trace, 2); /* event 0 is the process, event 1 the track, and event 2 the first fill */
    CHECK_TEXT(json_string_value(json_object_get(row, "cat")), "copy");
    json_decref(row);
    close_device();
}

/* Four kernels that differ only in the columns of tensor memory that they allocate. Their blocks wait for results of
 * divisions, and only other blocks of the SM hide this latency. An SM has 512 columns, so it holds 8, 4 and 1 blocks of
 * the first three kernels. The PTX of the fourth kernel does not show its columns, so the estimate knows no limit. */
static void test_columns(void)
{
    static const struct {
        const char *alloc;
        int columns;
    } kernels[] = {{"mov.u32 %r2, 64;", 64},
                   {"mov.u32 %r2, 128;", 128},
                   {"mov.u32 %r2, 512;", 512},
                   {"mov.u32 %r2, 64; add.u32 %r2, %r2, 0;", -1}};
    double seconds[KILN__COUNT(kernels)];
    use_profile("b200");
    open_device();
    for (size_t k = 0; k < KILN__COUNT(kernels); k++) {
        kiln__text text = {0};
        kiln__text_printf(
            &text,
            ".version 8.7\n.target sm_100a\n.address_size 64\n.visible .entry k(.param .u64 y)\n{\n"
            ".reg .b32 %%r<4>; .reg .f32 %%f<4>; .reg .b64 %%d<2>; .reg .pred %%p<2>; .shared .align 4 .b32 base;\n"
            "ld.param.u64 %%d1, [y]; %s mov.u32 %%r1, base;\n"
            "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%%r1], %%r2;\n"
            "ld.shared.u32 %%r3, [base]; mov.u32 %%r1, 0; cvt.rn.f32.u32 %%f1, %%r3;\n"
            "AGAIN: div.rn.f32 %%f1, %%f1, 0f40000000; add.u32 %%r1, %%r1, 1; setp.lt.u32 %%p1, %%r1, 64;\n"
            "@%%p1 bra AGAIN;\nst.global.f32 [%%d1], %%f1;\n"
            "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %%r3, %%r2;\nret;\n}\n",
            kernels[k].alloc);
        const char *ptx = kiln__text_get(&text);
        CHECK(kiln__sim_tensor_columns(ptx, strlen(ptx), "k") == kernels[k].columns);
        CUfunction function = kernel(load(ptx), "k");
        CUdeviceptr y;
        uint64_t launches = 0;
        OK(call_cuMemAlloc(&y, 4));
        CHECK(kiln__sim_estimate_begin(true));
        OK(call_cuLaunchKernel(function, 4736, 1, 1, 32, 1, 1, 0, NULL, (void *[]){&y}, NULL));
        seconds[k] = kiln__sim_estimate_end(&launches);
        kiln__text_free(&text);
    }
    CHECK(seconds[0] > 0 && seconds[1] > 1.5 * seconds[0] && seconds[2] > 3 * seconds[1] && seconds[3] < seconds[0]);
    CHECK(kiln__sim_tensor_columns("nonsense", 8, "k") == -1);
    /* the kernel is scanned once for each allocation */
    for (unsigned allocations = 64; allocations <= 65; allocations++) {
        kiln__text text = {0};
        kiln__text_puts(&text, ".version 8.7\n.target sm_100a\n.address_size 64\n.visible .entry k()\n{\n"
                               ".reg .b32 %r<3>; .shared .align 4 .b32 base; mov.u32 %r1, base; mov.u32 %r2, 0;\n");
        for (unsigned k = 0; k < allocations; k++)
            kiln__text_puts(&text, "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r1], %r2;\n");
        kiln__text_puts(&text, "ret;\n}\n");
        CHECK(kiln__sim_tensor_columns(kiln__text_get(&text), text.length, "k") == (allocations == 64 ? 0 : -1));
        kiln__text_free(&text);
    }
    close_device();
}

static void test_begin(void)
{
    CHECK(mkdtemp(folder) != NULL);
    snprintf(file, sizeof file, "%s/profile.json", folder);
    snprintf(trace, sizeof trace, "%s/trace.json", folder);
    setenv("KILN_SIM_PROFILE_LAUNCHES", "some", 1);
    CUcontext context;
    OK(call_cuInit(0));
    FAILS(INVALID_VALUE, call_cuDevicePrimaryCtxRetain(&context, 0));
    setenv("KILN_SIM_PROFILE_LAUNCHES", "0", 1);
    setenv("KILN_SIM_PROFILE", file, 1);
    setenv("KILN_SIM_TRACE", trace, 1);
}

/* Loads a module with a kernel named `symbol`, and launches it. Returns the name in its row of the profile, which the
 * caller frees. */
static char *shown_name(const char *symbol)
{
    kiln__text text = {0};
    kiln__text_printf(&text, HEAD ".visible .entry %s() { ret; }\n", symbol);
    OK(launch(kernel(load(kiln__text_get(&text)), symbol), 1, 1, 0, NULL));
    kiln__text_free(&text);
    json_t *rows = json_load_file(file, 0, NULL), *row;
    char *name = NULL;
    size_t index;
    json_array_foreach(rows, index, row)
    {
        const char *of = json_string_value(json_object_get(row, "symbol"));
        if (of && strcmp(of, symbol) == 0)
            name = kiln__strdup(NULL, json_string_value(json_object_get(row, "name")));
    }
    json_decref(rows);
    return name ? name : kiln__strdup(NULL, "no row");
}

/* The demangled form of this name of 278 characters has 436 million characters, because each part refers twice to the
 * part before it. */
static void test_names(void)
{
    enum { LEVELS = 24 };
    static const char plain[] = "_Z3addI3oneS0_EvT_PT0_", digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    kiln__text endless = {0};
    kiln__text_puts(&endless, "_Z1f1A1BIS_S_E");
    for (int k = 1; k <= LEVELS; k++)
        kiln__text_printf(&endless, "S0_IS%c_S%c_E", digits[k], digits[k]);
    open_device();
    char *name = shown_name(plain);
    /* the name may be shown as it is, or demangled if there is a demangler */
    CHECK(strcmp(name, plain) == 0 || strcmp(name, "void add<one, one>(one, one*)") == 0);
    kiln__free(NULL, name);
    name = shown_name(kiln__text_get(&endless));
    CHECK(strcmp(name, kiln__text_get(&endless)) == 0);
    kiln__free(NULL, name);
    kiln__text_free(&endless);
    close_device();
}

/* If the file cannot be written any more, the program continues. */
static void test_gone(void)
{
    CHECK(unlink(file) == 0);
    open_device();
    CUdeviceptr x;
    OK(call_cuMemAlloc(&x, 64));
    OK(call_cuMemsetD32(x, 0, 16));
    OK(call_cuMemsetD32(x, 1, 16));
    CHECK(access(file, F_OK) != 0);
    close_device();
    unlink(trace);
    rmdir(folder);
}

/* The profile says how many SMs each GPC of an H200 has. */
static void test_clusters(void)
{
    static const struct {
        unsigned size;
        int fit; /* one block for each SM, as an H200's driver says */
    } known[] = {{2, 66}, {4, 30}, {8, 15}, {16, 7}};
    CHECK(kiln__sim_profile("h200"));
    open_device();
    CUfunction function = kernel(load(saxpy), "saxpy");
    OK(call_cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 200000));
    OK(call_cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1));
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        CUlaunchAttribute cluster = {.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
                                     .value.clusterDim = {known[k].size, 1, 1}};
        const CUlaunchConfig config = {.gridDimX = 16,
                                       .gridDimY = 1,
                                       .gridDimZ = 1,
                                       .blockDimX = 32,
                                       .blockDimY = 1,
                                       .blockDimZ = 1,
                                       .sharedMemBytes = 200000,
                                       .attrs = &cluster,
                                       .numAttrs = 1};
        int fit = 0;
        OK(call_cuOccupancyMaxActiveClusters(&fit, function, &config));
        CHECK(fit == known[k].fit);
    }
    close_device();
}

static const check_case cases[] = {
    {"variables", test_begin},        {"as specs are estimated", test_equal}, {"clusters that fit", test_clusters},
    {"names of kernels", test_names}, {"tensor memory", test_columns},        {"a file that is gone", test_gone}};
CU_SUITE("sim program", cases)
