/* Tests how a CUDA source is split into words, and the guesses from the words. Golden runs test whole drafts:
 * tests/cli/cases/init*.cmd. */
#include <unistd.h>

#include "check.h"
#include "compile_internal.h"
#include "draft.h"
#include "engine.h"

static const char source[] = "/* __global__ void no1(int x) {} */\n"
                             "const char *text = \"__global__ void no2(int x) {\"; // __global__ void no3() {}\n"
                             "const char *raw = R\"x(__global__ void no4() {)x\";\n"
                             "#ifndef BLOCK\n"
                             "#define BLOCK 128\n"
                             "#endif\n"
                             "#define FIXED 4\n"
                             "#define TWICE(x) \\\n"
                             "    (2 * (x))\n"
                             "__global__ void declared(int n);\n"
                             "namespace outer { namespace { int a; } namespace inner::most {\n"
                             "template <typename T, int N = 8, bool F = (1 > 0)>\n"
                             "static __global__ void __launch_bounds__(BLOCK) first(const T *x, T *y, int n)\n"
                             "{ if (n) { y[0] = x[0]; } }\n"
                             "} }\n"
                             "extern \"C\" { __global__ __launch_bounds__(256, 2) void second(void) {} }\n"
                             "template <class U> struct other { U u; };\n"
                             "__global__ void third(float (&x)[4], unsigned char *p, size_t count) { FIXED; }\n";

/* Tests the kernels that are found in a source: names, namespaces, templates, launch bounds and parameters. */
static void test_kernels(void)
{
    kiln__arena arena = {0};
    kiln__scan scan;
    CHECK(kiln__scan_source(&arena, source, sizeof source - 1, sizeof source - 1, &scan, NULL) == KILN_OK);
    CHECK(scan.kernel_count == 3);
    if (scan.kernel_count == 3) {
        const kiln__kernel *k = scan.kernels;
        CHECK_TEXT(k[0].name, "outer::inner::most::first");
        CHECK_TEXT(k[0].plain, "first");
        CHECK(k[0].line == 13 && k[0].template_count == 3);
        CHECK_TEXT(k[0].templates[0].name, "T");
        CHECK(k[0].templates[0].type && !k[0].templates[1].type && k[0].templates[1].initial != 0);
        CHECK_TEXT(k[0].templates[2].name, "F");
        CHECK(kiln__word_is(&scan, k[0].bounds, "BLOCK"));
        CHECK_TEXT(k[1].name, "second");
        CHECK(k[1].template_count == 0 && kiln__word_is(&scan, k[1].bounds, "256"));
        CHECK_TEXT(k[2].name, "third");
        CHECK(k[2].template_count == 0);
    }
    CHECK(scan.macro_count == 3);
    const kiln__macro *block = kiln__macro_find(&scan, "BLOCK"), *fixed = kiln__macro_find(&scan, "FIXED");
    const kiln__macro *twice = kiln__macro_find(&scan, "TWICE");
    CHECK(block && block->guarded && !block->function && block->to == block->from + 1);
    CHECK(fixed && !fixed->guarded && kiln__word_is(&scan, fixed->from, "4"));
    CHECK(twice && twice->function && twice->to == twice->from + 10);
    kiln__arena_free(&arena);
}

/* Tests a template whose parameter is a function. The name of the parameter follows the '*'. */
static void test_functions(void)
{
    static const char text[] = "template <typename T, float (*F)(const float &), int N> __global__ void k(T *x) {}\n";
    kiln__arena arena = {0};
    kiln__scan scan;
    CHECK(kiln__scan_source(&arena, text, sizeof text - 1, sizeof text - 1, &scan, NULL) == KILN_OK);
    CHECK(scan.kernel_count == 1 && scan.kernels[0].template_count == 3);
    if (scan.kernel_count == 1 && scan.kernels[0].template_count == 3) {
        CHECK_TEXT(scan.kernels[0].templates[1].name, "F");
        CHECK_TEXT(scan.kernels[0].templates[2].name, "N");
    }
    kiln__arena_free(&arena);
}

static void check_type(const char *mangled, bool fits, const char *type, int lanes, bool constant)
{
    kiln__draft_argument argument = {0};
    CHECK(kiln__probe_type(mangled, strlen(mangled), &argument) == fits);
    CHECK_TEXT(argument.type, type);
    CHECK(argument.lanes == lanes && argument.constant == constant);
}

static void test_types(void)
{
    check_type("f", true, "f32", 1, false);
    check_type("PKf", true, "f32", 1, true);
    check_type("PVj", true, "u32", 1, false);
    check_type("P6float4", true, "f32", 4, false);
    check_type("PK6__half", true, "f16", 1, true);
    check_type("6float4", false, "f32", 4, false); /* by value */
    check_type("1P", false, "u8", 1, false);       /* a struct */
    check_type("P1P", true, "u8", 1, false);       /* a pointer to a struct becomes a buffer of bytes */
    check_type("PPf", true, "f32", 1, false);
    check_type("PKPKf", true, "f32", 1, true);
    check_type("PPPf", false, "u8", 1, false);
    check_type("PK13__nv_bfloat16", true, "bf16", 1, true);
    check_type("P14__nv_bfloat162", true, "bf16", 2, false);
    check_type("P13__nv_fp8_e4m3", true, "f8e4m3", 1, false);
    check_type("P13__nv_fp8_e5m2", true, "f8e5m2", 1, false);
    check_type("P13__nv_fp8_e8m0", true, "ue8m0", 1, false);
    check_type("PK13__nv_fp6_e3m2", true, "f6e3m2", 1, true);
    check_type("P13__nv_fp4_e2m1", true, "f4e2m1", 1, false);
    check_type("P15__nv_fp4x2_e2m1", true, "u8", 1, false); /* a byte has two numbers */
    check_type("P7ushort4", true, "u16", 4, false);
    check_type("P9longlong2", true, "i64", 2, false);
    check_type("6__half", false, "f16", 1, false); /* a structure with one field */
    check_type("", false, "u8", 1, false);
}

/* Calls every function that needs no compiler, for kernel number `number` of `text`. */
static void guess(kiln__arena *arena, const char *text, size_t number, kiln__scan *scan, kiln__draft *draft)
{
    memset(draft, 0, sizeof *draft);
    if (kiln__scan_source(arena, text, strlen(text), strlen(text), scan, NULL) != KILN_OK ||
        number >= scan->kernel_count)
        return;
    *draft = (kiln__draft){.mem = arena->mem,
                           .arena = arena,
                           .path = "x.cu",
                           .shown = "x.cu",
                           .name = "x",
                           .source = "x.cu",
                           .scan = scan,
                           .kernel = &scan->kernels[number]};
    kiln__guess_macros(draft);
    kiln__host_find(draft);
    kiln__host_choose(draft, 0, NULL);
    kiln__guess_templates(draft);
    if (kiln__guess_arguments(draft, NULL) != KILN_OK)
        return;
    kiln__guess_symbols(draft);
    kiln__guess_sizes(draft);
    if (!kiln__host_apply(draft))
        kiln__guess_launch(draft);
    kiln__guess_shapes(draft);
}

/* Tests the guessed launch of a kernel with this body and these parameters, as "grid | block", with a '!' for each axis
 * of the grid that is not certain. */
static void check_launch(const char *before, const char *parameters, const char *body, const char *want)
{
    char text[2048], got[512] = "";
    kiln__arena arena = {0};
    kiln__scan scan;
    kiln__draft draft;
    snprintf(text, sizeof text, "%s\n__global__ void k(%s) { %s }\n", before, parameters, body);
    guess(&arena, text, 0, &scan, &draft);
    for (int block = 0; block < 2; block++)
        for (int axis = 0; axis < 3 && draft.axes[axis].used; axis++)
            snprintf(got + strlen(got), sizeof got - strlen(got), "%s%s",
                     axis    ? ", "
                     : block ? " | "
                             : "",
                     block ? draft.axes[axis].block : draft.axes[axis].grid);
    for (int axis = 0; axis < 3; axis++)
        if (draft.axes[axis].doubt)
            snprintf(got + strlen(got), sizeof got - strlen(got), " !");
    CHECK_TEXT(got, want);
    kiln__arena_free(&arena);
}

/* Tests the launch that host code has, as "grid | block | shared | template arguments | arguments | constraints". */
static void check_host(const char *text, const char *want)
{
    char got[1024] = "";
    kiln__arena arena = {0};
    kiln__scan scan;
    kiln__draft draft = {
        .arena = &arena, .path = "x.cu", .shown = "x.cu", .name = "x", .source = "x.cu", .scan = &scan};
    CHECK(kiln__scan_source(&arena, text, strlen(text), strlen(text), &scan, NULL) == KILN_OK && scan.kernel_count > 0);
    draft.kernel = &scan.kernels[0];
    kiln__guess_macros(&draft);
    kiln__host_find(&draft);
    if (kiln__host_choose(&draft, 0, NULL) != KILN_OK) {
        CHECK_TEXT("asked", want);
        kiln__arena_free(&arena);
        return;
    }
    kiln__guess_templates(&draft);
    CHECK(kiln__guess_arguments(&draft, NULL) == KILN_OK);
    kiln__guess_sizes(&draft);
    bool read = kiln__host_apply(&draft);
    for (int block = 0; block < 2 && read; block++)
        for (int axis = 0; axis < 3 && draft.axes[axis].used; axis++)
            snprintf(got + strlen(got), sizeof got - strlen(got), "%s%s",
                     axis    ? ", "
                     : block ? " | "
                             : "",
                     block ? draft.axes[axis].block : draft.axes[axis].grid);
    snprintf(got + strlen(got), sizeof got - strlen(got), " | %s |", draft.shared ? draft.shared : "");
    for (size_t i = 0; i < draft.kernel->template_count; i++) {
        const kiln__tunable *tunable = kiln__tunable_find(&draft, draft.kernel->templates[i].name);
        snprintf(got + strlen(got), sizeof got - strlen(got), " %s",
                 draft.host.values[i]             ? draft.host.values[i]
                 : tunable                        ? tunable->chosen
                 : kiln__template_tree(&draft, i) ? kiln__tree_text(&draft, kiln__template_tree(&draft, i))
                                                  : "?");
    }
    snprintf(got + strlen(got), sizeof got - strlen(got), " |");
    for (size_t i = 0; i < draft.argument_count; i++)
        snprintf(got + strlen(got), sizeof got - strlen(got), " %s",
                 draft.arguments[i].given ? draft.arguments[i].given : draft.arguments[i].name);
    snprintf(got + strlen(got), sizeof got - strlen(got), " |");
    for (size_t i = 0; i < draft.where_count; i++)
        snprintf(got + strlen(got), sizeof got - strlen(got), " %s", draft.wheres[i]);
    CHECK_TEXT(read ? got : "not read", want);
    kiln__arena_free(&arena);
}

#define SAXPY                                                                                                          \
    "__global__ void k(int n, float a, const float *x, float *y) { int i = blockIdx.x * blockDim.x + threadIdx.x; }\n"

#define SUM "template <int T, bool F> __global__ void k(float *x, int n) { x[blockIdx.x * T + threadIdx.x] = 0; }\n"

/* Tests each form of a launch: constants, dim3, macros, templates, names that only the host has. */
static void test_host(void)
{
    check_host(SAXPY "int main() { const int N = 1 << 20; int threads = 256, blocks = (N + threads - 1) / threads; "
                     "k<<<blocks, threads>>>(N, 2.5f, x, y); }",
               "ceil_div(n, THREADS) | THREADS |  | | n 2.5 x y |");
    check_host(SAXPY
               "void run(int count) { k<<<(count + 255) / 256, 256, 4 * 256, stream>>>(count, -1e-3f, nullptr, y); }",
               "ceil_div(n, THREADS) | THREADS | 4 * THREADS | | n -1e-3 null y |");
    check_host(
        SAXPY "void run(int n) { dim3 block(128), grid; grid.x = div_up(n, block.x); k<<<grid, block>>>(n, 1, x, y); }",
        "ceil_div(n, THREADS) | THREADS |  | | n 1 x y |");
    check_host(
        "#define CEIL_DIV(a, b) (((a) + (b)-1) / (b))\n"
        "template <const int BM, const int BN, typename T> __global__ void k(int M, int N, T *C) {}\n"
        "void run(int M, int N, half *C) { const uint BM = 64; constexpr int TILE_N = 32;\n"
        "static_assert(BM % 16 == 0, \"BM\"); dim3 grid(CEIL_DIV(N, TILE_N), CEIL_DIV(M, BM)); dim3 block((BM * TILE_N) / 8);\n"
        "k<BM, TILE_N, half><<<grid, block>>>(M, N, C); }",
        "ceil_div(N, BN_VALUE), ceil_div(M, BM_VALUE) | BM_VALUE * BN_VALUE // 8, 1 |  | 64 32 half | M N C | "
        "BM_VALUE % 16 == 0");
    check_host("template <int THREADS> __global__ void k(const float *x, float *y, int rows, int K) {}\n"
               "#define LAUNCH(K) \\\n    k<(K) / 4><<<grid, block>>>(x, y, N, (K));\n"
               "#define DISPATCH(N, K) \\\n    dim3 block((K) / 4); \\\n    dim3 grid((N));\n",
               "rows | K // 4 |  | K // 4 | x y rows K |");
    check_host("__global__ void scale_f32_kernel(float *x, int n) { x[blockIdx.x] = 0; }\n"
               "#define BIND(tag, pack) \\\n    void scale_##tag(T x) { dim3 grid((n + 256 - 1) / pack / 256); \\\n"
               "    scale_##tag##_kernel<<<grid, 256>>>(x, n); }\nBIND(f16, 2)\nBIND(f32, 1)\n",
               "ceil_div(n, 256) | 256 |  | | x n |");
    check_host("template <int V, typename T> __global__ void k(const T *x, int d) {}\n"
               "void run(int batch, int d) { cudaLaunchConfig_t config; dim3 nblks(batch), nthrs(32, 4);\n"
               "config.gridDim = nblks; config.blockDim = nthrs; config.dynamicSmemBytes = 4 * 4;\n"
               "auto kernel = k<8, float>; cudaLaunchKernelEx(&config, kernel, x, d); }",
               "batch, 1 | 32, 4 | 4 * 4 | 8 float | x d |");
    check_host(
        SAXPY
        "void run(int n) { int blocks = n / 64; blocks = n % 64 == 0 ? blocks : blocks + 1; k<<<blocks, 64>>>(n, 1, x, "
        "y); }",
        "n // THREADS if n % THREADS == 0 else n // THREADS + 1 | THREADS |  | | n 1 x y |");
    check_host(SAXPY "void run(int n) { k<<<(n + 255) / 256, 256, 4096>>>(n, 1, x, y); }",
               "ceil_div(n, 256) | 256 | 4096 | | n 1 x y |");
    check_host(SAXPY "void run(std::vector<int> v) { k<<<v[3], 64>>>(n, 1, x, y); }", "not read");
    check_host(SAXPY, "not read");
    check_host(SAXPY "void run(const dim3 grid, dim3 &block, int n) { k<<<grid, block>>>(n, 1, x, y); }", "not read");
    check_host(
        "__global__ void k(float *x, int d) {}\n"
        "void run(int rows, int d) { const unsigned block = std::min<unsigned>(1024, d / 4); k<<<rows, block>>>(x, d); }",
        "rows | min(1024, d // 4) |  | | x d |");
    /* the launch is the statement of an if that tests a variable */
    check_host(
        "template <int T> __global__ void k(float *x, int n) {}\n"
        "void run(int n, int part) { int blocks = n / part; if (n < 0) return; else if (part == 512) { k<4><<<blocks, "
        "32>>>(x, n); } }",
        "n // 512 | 32 |  | 4 | x n |");
    check_host(SUM "void run(int n, int t) { if (t == 16) k<16, true><<<n / t, t>>>(x, n); else k<32, true><<<n / t, "
                   "t>>>(x, n); }",
               "n // t | t |  | 16, 32 true | x n |");
    check_host("template <int T, int S> __global__ void k(half *x, int n) {}\n"
               "void run(int n) { k<64, 2><<<n / 64, 64, 64 * sizeof(half)>>>(x, n); }",
               "n // T_VALUE | T_VALUE | T_VALUE * 2 | 64 2 | x n |");
    check_host(
        "enum class kind : int { plain = 0, fancy };\ntemplate <kind K> __global__ void k(float *x, int n) {}\n"
        "template <kind K> void go(int n) { k<K><<<n / 64, 32>>>(x, n); }\nvoid run(int n) { go<plain>(n); go<fancy>(n); }",
        "n // 64 | 32 |  | plain, fancy | x n |");
    check_host(SAXPY "#if 0\nvoid old(int n) { k<<<n, 32>>>(n, 1, x, y); }\n#ifdef A\n#else\n#endif\n#elif 1\n"
                     "void run(int n) { k<<<n / 64, 64>>>(n, .5f, x, y); }\n#else\n#endif\n",
               "n // THREADS | THREADS |  | | n 0.5 x y |");
    check_host(SAXPY "#if 1\nvoid run(int n) { k<<<n / 64, 64>>>(n, 1.f / 3, x, y); }\n#else\n#endif\n#if 0\nk<<<",
               "n // THREADS | THREADS |  | | n 1.0 / 3 x y |");
}

/* Names of the host in the block become params of threads. A number that the kernel knows stays a number. */
static void test_host_threads(void)
{
    check_host(
        "#define WARP 32\n__global__ void k(float *x, int n) { __shared__ float s[WARP]; x[blockIdx.x * blockDim.x] = 0; }\n"
        "void run(int n) { k<<<(n + WARP - 1) / WARP, WARP>>>(x, n); }",
        "ceil_div(n, 32) | 32 |  | | x n |");
    check_host(
        "__global__ void k(float *x, int n) { for (int i = threadIdx.x; i < n; i += blockDim.x) x[blockIdx.x * n + i] = 0; }\n"
        "void run(int rows, int n) { k<<<rows, 128>>>(x, n); }",
        "rows | THREADS |  | | x n |");
    check_host("__global__ void k(float *x, int n) { x[blockIdx.x * blockDim.x + threadIdx.x] = 0; }\n"
               "void run() { k<<<4, 128>>>(x, 512); }",
               "4 | 128 |  | | x n |");
    check_host("template <int T, int V> __global__ void k(float *x, int n) {}\n"
               "void run(int n) { k<128, 4><<<(n + 511) / (128 * 4), 128, 4 * 128>>>(x, n); }",
               "(n + 511) // (T_VALUE * V_VALUE) | T_VALUE | V_VALUE * T_VALUE | 128 4 | x n |");
}

#define TILE                                                                                                           \
    "#ifndef BM\n#define BM 64\n#endif\n__global__ void k(float *x, int n) { int i = blockIdx.x * BM; i += blockDim.x; }\n"

/* Tests several launches of one kernel: equal launches, launches with different template arguments, launches that #if
 * distinguishes, and others, for which the draft asks the user. */
static void test_launches(void)
{
    check_host(SAXPY
               "void a(int n) { k<<<n / 64, 64>>>(n, 1, x, y); }\nvoid b(int m) { k<<<m / 32, 32>>>(m, 1, x, y); }",
               "asked");
    check_host(SAXPY "void a(int n) { k<<<n / 64, 64>>>(n, 1, x, y); k<<<n / 64, 64>>>(n, 1, y, x); }",
               "n // THREADS | THREADS |  | | n 1 x y |");
    /* a kernel of the same file has its own launch */
    check_host(
        SAXPY
        "__global__ void other(int n) {}\nvoid a(int n) { other<<<n / 32, 32>>>(n); k<<<n / 64, 64>>>(n, 1, x, y); }",
        "n // THREADS | THREADS |  | | n 1 x y |");
    /* values of the template's parameters, and the combinations that are launched */
    check_host(SUM
               "void a(int n) { if (n) k<64, true><<<n / 64, 64>>>(x, n); else k<128, true><<<n / 128, 128>>>(x, n); }",
               "n // T_VALUE | T_VALUE |  | 64, 128 true | x n |");
    check_host(
        SUM "void a(int n, int threads) { switch (threads) { case 128: k<128, true><<<n / threads, threads>>>(x, n); "
            "break; case 64: k<64, false><<<n / threads, threads>>>(x, n); break; } }",
        "n // T_VALUE | T_VALUE |  | 64, 128 true, false | x n | (T_VALUE == 128 and F_VALUE == true) or (T_VALUE == "
        "64 and F_VALUE == false)");
    /* the launch in a function with template arguments, which another one may call */
    check_host(SUM "template <int M> void go(int n) { k<M, true><<<n / M, M>>>(x, n); }\n"
                   "void a(int n) { constexpr int M = 32; go<M>(n); go<256>(n); }",
               "n // T_VALUE | T_VALUE |  | 32, 256 true | x n |");
    check_host(
        SUM "template <int M, bool G = false> void go(int n) { k<M, G><<<n / M, M>>>(x, n); }\n"
            "template <int L> struct call { void run(int n) { go<2 * L>(n); } };\nvoid a(int n) { call<16>().run(n); }",
        "n // T_VALUE | T_VALUE |  | 32 false | x n |");
    /* the condition of an #if depends on params, on the source, or on unknown values */
    check_host(TILE
               "void a(int n) {\n#if BM == 64\nk<<<n / BM, 32>>>(x, n);\n#else\nk<<<n / BM, 96>>>(x, n);\n#endif\n}",
               "n // BM | 96 if BM != 64 else 32 |  | | x n |");
    check_host(TILE
               "void a(int n) {\n#if BM >= 128\nint t = 128;\n#elif BM == 64\nint t = 96;\n#else\nint t = 32;\n#endif\n"
               "k<<<n / BM, t>>>(x, n); }",
               "n // BM | 32 if BM != 64 and BM < 128 else (96 if BM == 64 and BM < 128 else 128) |  | | x n |");
    check_host(TILE "void a(int n) {\n#ifdef BM\ndim3 b(BM);\n#else\ndim3 b(32);\n#endif\n#if defined(LATER) && !BM\n"
                    "k<<<n, 1>>>(x, n);\n#endif\n k<<<n / BM, b>>>(x, n); }",
               "n // BM | BM |  | | x n |");
    check_host(TILE
               "#if BM > 64\n#define T 128\n#else\n#define T 64\n#endif\n"
               "void a(int n) {\n#if BM == 32\ndim3 b(T, 2);\n#else\ndim3 b(T);\n#endif\nk<<<n / BM, b>>>(x, n); }",
               "n // BM, 1 | 64 if BM <= 64 else 128, 1 if BM != 32 else 2 |  | | x n |");
    check_host(TILE "void a(int n) {\n#if CUDART_VERSION > 1\nint t = 32;\n#endif\nk<<<n / BM, t>>>(x, n); }",
               "n // BM | THREADS |  | | x n |");
    /* the host takes the number of threads from an unknown place */
    check_host(
        "__global__ void k(float *x, int n) { x[blockIdx.x * blockDim.x + threadIdx.x] = n; }\n"
        "void a(float *x, int n, int block_size) { k<<<(n + block_size - 1) / block_size, block_size>>>(x, n); }",
        "ceil_div(n, THREADS) | THREADS |  | | x n |");
    check_host("__global__ void k(float *x, int n) { auto block = cg::this_thread_block(); }\n"
               "void a(float *x, int n, int block_size) { k<<<n / block_size, block_size>>>(x, n); }",
               "n // THREADS | THREADS |  | | x n |");
}

/* A variable that the host fills becomes a buffer. A variable with a value, or a variable that no kernel reads, is left
 * alone. */
static void test_symbols(void)
{
    static const char text[] =
        "#define R 3\n__constant__ float mask[(2 * R + 1) * R], unread[4];\n__constant__ float2 v[8];\n"
        "__constant__ int fixed[2] = {1, 2};\n__device__ float table[16];\n__device__ int counter;\n"
        "__global__ void k(float *y) { y[0] = mask[1] + v[0].x + fixed[0] + table[2] + counter; }\n"
        "void run() { cudaMemcpyToSymbol(table, host, 64); }\n";
    kiln__arena arena = {0};
    kiln__scan scan;
    kiln__draft draft = {.arena = &arena, .path = "x.cu", .shown = "x.cu", .scan = &scan};
    CHECK(kiln__scan_source(&arena, text, sizeof text - 1, sizeof text - 1, &scan, NULL) == KILN_OK);
    draft.kernel = &scan.kernels[0];
    CHECK(kiln__guess_arguments(&draft, NULL) == KILN_OK);
    kiln__guess_symbols(&draft);
    char got[256] = "";
    for (size_t i = 0; i < draft.argument_count; i++)
        if (draft.arguments[i].symbol)
            snprintf(got + strlen(got), sizeof got - strlen(got), "%s %s x %d [%s]; ", draft.arguments[i].symbol,
                     draft.arguments[i].type, draft.arguments[i].lanes, draft.arguments[i].shape);
    CHECK_TEXT(got, "mask f32 x 1 [(2 * 3 + 1) * 3]; v f32 x 2 [2 * 8]; table f32 x 1 [16]; ");
    kiln__arena_free(&arena);
}

static void test_launch(void)
{
    check_launch("", "float *x, int n", "int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] = 1;",
                 "ceil_div(n, THREADS) | THREADS");
    check_launch("#ifndef BLOCK\n#define BLOCK 64\n#endif\n#ifndef ITEMS\n#define ITEMS 2\n#endif", "float *x, int n",
                 "int i = (BLOCK * blockIdx.x + threadIdx.x) * ITEMS; if (i >= n) return;",
                 "ceil_div(n, BLOCK * ITEMS) | BLOCK");
    check_launch("const int PER = 4 * 64;", "float *x, int n", "int i = blockIdx.x * PER + threadIdx.x; x[i] = n;",
                 "ceil_div(n, 4 * 64) | 64 !");
    check_launch("#ifndef TILE\n#define TILE 16\n#endif", "float *c, int M, int N, int K",
                 "int bx = blockIdx.x, by = blockIdx.y; int row = by * TILE + threadIdx.y; "
                 "int col = bx * TILE + threadIdx.x; if (row < M && col < N) c[row * N + col] = K;",
                 "ceil_div(N, TILE), ceil_div(M, TILE) | TILE, TILE");
    check_launch("constexpr int DIM = 32, ROWS = 8;", "float *o",
                 "int x = blockIdx.x * DIM + threadIdx.x, y = blockIdx.y * DIM + threadIdx.y; "
                 "for (int j = 0; j < DIM; j += ROWS) o[(threadIdx.y + j) * 8 + x + y] = 0;",
                 "ceil_div(WIDTH, 32), ceil_div(HEIGHT, 32) | 32, 8 ! !");
    check_launch(
        "#ifndef DIM_X\n#define DIM_X 16\n#endif\n#ifndef DIM_Y\n#define DIM_Y 8\n#endif\n#ifndef BLK_M\n"
        "#define BLK_M 64\n#endif",
        "float *c, int M, int N",
        "int idx = threadIdx.x, idy = threadIdx.y; int t = DIM_X * idy + idx; int row = blockIdx.x * BLK_M + idx; "
        "int col = blockIdx.y * BLK_M + idy; if (row < M && col < N) c[t] = 0;",
        "ceil_div(M, BLK_M), ceil_div(N, BLK_M) | DIM_X, DIM_Y");
    check_launch("#ifndef BLK_M\n#define BLK_M 64\n#endif\n#ifndef BLK_N\n#define BLK_N 32\n#endif",
                 "float *c, int M, int N",
                 "c[blockIdx.x * BLK_M + blockIdx.y * BLK_N + threadIdx.x + threadIdx.y] = M + N;",
                 "ceil_div(M, BLK_M), ceil_div(N, BLK_N) | BLK_M, BLK_N ! !");
    check_launch("", "float *x, int rows", "x[blockIdx.x] = rows + threadIdx.x;", "rows | 256 !");
    check_launch("", "float *x, int rows, int n", "int y = blockIdx.x; if (y < rows) x[y * n + threadIdx.x] = 0;",
                 "rows | 256");
    check_launch("", "float *x, int cols",
                 "x += (long)blockIdx.x * cols; for (int c = threadIdx.x; c < cols; c += blockDim.x) x[c] = 0;",
                 "ROWS | THREADS");
    check_launch("", "float *x, int cols, int rows",
                 "int r = blockIdx.x; for (int c = threadIdx.x; c < cols; c += 256) x[cols * r + c] = 0;",
                 "rows | 256");
    check_launch("", "float *x", "x[threadIdx.x] = 0;", "1 | 256");
    check_launch("", "float *x", "x[0] = 0;", "1 | 1");
    /* A comparison shows the grid: a size, or a product of sizes. */
    check_launch("", "float *x, int w, int h",
                 "int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= w * h) return; x[i] = 1;",
                 "ceil_div(w * h, THREADS) | THREADS");
    check_launch("", "float *x, int rows", "int row = blockIdx.x; if (row < rows) x[row] = threadIdx.x;", "rows | 256");
    check_launch("", "float *x, int n", "int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n / 4) x[i] = 1;",
                 "ceil_div(n, THREADS) | THREADS !");
    /* Tests cases that the guess cannot handle: a use in a function or in a header, a factor, and a number that counts
     * two things. */
    check_launch("__device__ int at() { return blockIdx.x * 64; }", "float *x, int n", "x[at() + threadIdx.x] = n;",
                 "1 | 256 !");
    check_launch("#include \"at.h\"", "float *x, int n", "x[at() + threadIdx.x] = n;", "1 | 256 !");
    check_launch("", "float *x, int n, int tiles", "int i = blockIdx.x * share() + threadIdx.x; if (i < n) x[i] = 1;",
                 "n | 256 !");
    check_launch("", "float *x, int n, int tiles", "int i = blockIdx.x / tiles; if (i < n) x[i] = threadIdx.x;",
                 "n | 256 !");
    /* The value of __launch_bounds__ becomes the number of threads. */
    check_launch(
        "#ifndef WAYS\n#define WAYS 8\n#endif\n#ifndef WIDE\n#define WIDE 64\n#endif\n"
        "__global__ void __launch_bounds__(WIDE) first(float *x, int n) { int i = blockIdx.x * WAYS + threadIdx.x; "
        "if (i < n) x[i] = 1; }",
        "", "", "ceil_div(n, WAYS) | WIDE");
    check_launch(
        "enum { MANY = 96 };\n__global__ void __launch_bounds__(MANY) first(float *x, int n) { x[lane()] = n; }", "",
        "", "1 | 96");
    /* A param of this name would be a macro in the source, so the draft must not use it. */
    check_launch("const int THREADS = 1;", "float *x, int n",
                 "int i = blockIdx.x * blockDim.x + threadIdx.x; x[i] = n;", "ceil_div(n, THREADS_) | THREADS_ !");
}

/* Tests the guess for a name that the compiler misses: "VALUES | DEFAULT" for a param, "size" for a size. */
static void check_values(const char *text, const char *name, const char *want)
{
    kiln__arena arena = {0};
    kiln__scan scan;
    kiln__draft draft;
    guess(&arena, text, 0, &scan, &draft);
    kiln__guess_tunable(&draft, name);
    const kiln__tunable *tunable = kiln__tunable_find(&draft, name);
    char got[256] = "none";
    if (tunable)
        snprintf(got, sizeof got, "%s | %s", tunable->size ? "size" : tunable->values,
                 tunable->size ? "" : tunable->chosen);
    CHECK_TEXT(got, want);
    kiln__arena_free(&arena);
}

#define KERNEL(body) "__global__ void k(float *x, int n) { " body " }\n"

static void test_values(void)
{
    /* If #if compares a macro with values, the source has code for these values. 0 and 1 mean off and on. */
    check_values(
        "#if V == 1\ntypedef float vec;\n#elif V == 4 || V == 2\ntypedef float4 vec;\n#endif\n" KERNEL("vec y;"), "V",
        "1, 2, 4 | 1");
    check_values("#if FAST == 1\n#endif\n" KERNEL(""), "FAST", "0, 1 | 0");
    check_values("#if VECTOR_SIZE == 8\n#endif\n" KERNEL(""), "VECTOR_SIZE", "8 | 8");
    check_values(
        "#ifndef METHOD\n#define METHOD 0\n#endif\n#if METHOD == 0\n#elif METHOD == 1\n#elif METHOD == 2\n#endif\n" KERNEL(
            ""),
        "METHOD", "0, 1, 2 | 0");
    /* A macro in arithmetic counts neither as a type nor as a switch. */
    check_values(KERNEL("n / (REAL * n); x[0] = n * REAL(2); REAL y;"), "REAL", "float | float");
    check_values(KERNEL("int a = n / STEP_DONE; for (int i = (STEP_DONE * a); i < n; i++) x[i] = 0;"), "STEP_DONE",
                 "2 | 2");
    check_values("#if WORK_GROUP_X > 32\n#endif\n" KERNEL("__shared__ float s[WORK_GROUP_X];"), "WORK_GROUP_X",
                 "64, 128, 256, 512 | 256");
    check_values(KERNEL("__shared__ float s[LOCAL_SIZE];"), "LOCAL_SIZE", "64, 128, 256, 512 | 256");
    check_values(KERNEL("for (int i = 0; i < ROW_COUNT; i++) x[i] = 0;"), "ROW_COUNT", "size | ");
    check_values(KERNEL("for (int i = 0; i < WORK_PER_ITEM; i++) x[i] = 0;"), "WORK_PER_ITEM", "1, 2, 4 | 1");
}

static void test_written(void)
{
    kiln__arena arena = {0};
    kiln__scan scan;
    kiln__draft draft;
    kiln__text out = {0};
    guess(&arena, KERNEL("extern unsigned int __shared__ s[]; s[threadIdx.x] = n; auto all = cg::this_grid();"), 0,
          &scan, &draft);
    kiln__draft_write(&draft, &out);
    CHECK(strstr(kiln__text_get(&out), "\n  shared: 8 * 256 ") &&
          strstr(kiln__text_get(&out), "\n  cooperative: true "));
    kiln__text_free(&out);
    kiln__arena_free(&arena);
}

/* Tests sizes: numbers that are small in every program, and a grid that is too large for the simulated device. */
static void test_sizes(void)
{
    kiln__arena arena = {0};
    kiln__scan scan;
    kiln__draft draft;
    char got[128] = "";
    guess(&arena,
          "__global__ void k(float *x, int n, int num_heads, int border_width) { x[blockIdx.x] = n / border_width; }\n"
          "void run(int batch) { k<<<dim3(n / 64, batch * num_heads), 64>>>(x, n, num_heads, border_width); }\n",
          0, &scan, &draft);
    for (size_t i = 0; i < draft.size_count; i++)
        snprintf(got + strlen(got), sizeof got - strlen(got), "%s %lld; ", draft.sizes[i].name,
                 (long long)draft.sizes[i].tiny);
    CHECK_TEXT(got, "n 64; num_heads 128; border_width 2; batch 11; ");
    kiln__arena_free(&arena);
}

/* Tests that a name is no param if the source declares it with a type of a template. */
static void test_declared(void)
{
    kiln__arena arena = {0};
    kiln__scan scan;
    kiln__draft draft;
    guess(&arena,
          "struct s { std::map<const int *, float> table; };\ntypedef struct { int q; } packed;\n" KERNEL(
              "x[0] = n > LIMIT; x[1] = n > 2;"),
          0, &scan, &draft);
    kiln__guess_tunable(&draft, "table");
    kiln__guess_tunable(&draft, "packed");
    kiln__guess_tunable(&draft, "LIMIT");
    CHECK(!kiln__tunable_find(&draft, "table") && !kiln__tunable_find(&draft, "packed") &&
          kiln__tunable_find(&draft, "LIMIT"));
    kiln__arena_free(&arena);
}

/* Tests 4,000 levels of #if inside #if. The branches around both places must be examined once, not once for each
 * level. */
static void test_nested(void)
{
    enum { LEVELS = 4000 };
    kiln__arena arena = {0};
    kiln__scan scan;
    kiln__draft draft;
    kiln__text text = {0};
    kiln__text_puts(&text, KERNEL("") "void f(int n) {");
    for (int i = 0; i < LEVELS; i++)
        kiln__text_puts(&text, "\n#if 1\n");
    kiln__text_puts(&text, "int m = n; k<<<m / 64, 64>>>(x, n);");
    for (int i = 0; i < LEVELS; i++)
        kiln__text_puts(&text, "\n#endif\n");
    kiln__text_puts(&text, "}");
    guess(&arena, kiln__text_get(&text), 0, &scan, &draft);
    CHECK(draft.kernel && draft.compared < 1000 * LEVELS);
    kiln__text_free(&text);
    kiln__arena_free(&arena);
}

/* Lets every allocation fail once, for kernel 0 of `text`. */
static void check_memory(const char *text)
{
    for (long k = 0; k < 1000; k++) {
        check_oom oom = {.countdown = k};
        kiln_allocator mem = {check_oom_resize, &oom};
        kiln__arena arena = {.mem = &mem};
        kiln__scan scan;
        kiln__draft draft;
        kiln__text out = {.mem = &mem};
        guess(&arena, text, 0, &scan, &draft);
        if (draft.size_count && !arena.failed)
            kiln__draft_write(&draft, &out);
        bool whole = out.length > 0 && !out.failed && !arena.failed;
        CHECK(whole || oom.failed);
        kiln__text_free(&out);
        kiln__arena_free(&arena);
        CHECK(oom.live == 0);
        if (!oom.failed)
            return;
    }
    CU_FAIL("never ran through");
}

/* Tests a source that is `begin`, half a megabyte of `repeated`, and `end`. The test's time limit (tests/CMakeLists.txt)
 * fails if the draft takes quadratic or exponential time. With sanitizers 32 KB are enough, because the release build
 * tests the time. */
static void guess_large(const char *begin, const char *repeated, const char *end)
{
    const size_t most = CHECK_SANITIZER[0] ? 1 << 15 : 1 << 19;
    kiln__arena arena = {0};
    kiln__scan scan;
    kiln__draft draft;
    kiln__text text = {0}, out = {0};
    kiln__text_puts(&text, begin);
    while (text.length < most && *repeated && !text.failed)
        kiln__text_puts(&text, repeated);
    kiln__text_puts(&text, end);
    guess(&arena, kiln__text_get(&text), 0, &scan, &draft);
    if (draft.kernel && draft.axes[0].used) {
        kiln__fit_block(&draft);
        kiln__draft_write(&draft, &out);
        CHECK(out.length > 0);
    }
    kiln__text_free(&text);
    kiln__text_free(&out);
    kiln__arena_free(&arena);
}

#define INDEXED(body)                                                                                                  \
    "__global__ void k(float *x, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x, j = threadIdx.y; " body "}\n"

/* Tests hostile sources: brackets that never close, endless names, sizes that overflow. */
static void test_large(void)
{
    guess_large("", "__global__ f(", "");
    guess_large("", "__global__ ", "");
    guess_large(INDEXED(""), "template <", "");
    guess_large(INDEXED(""), "(", "");
    guess_large(INDEXED("") "void f(int n) {", "k<<<", "}");
    guess_large(INDEXED("") "void f(int n) {", "k<<<(n + 255) / 256, 256>>>(x, n);", "}");
    guess_large(INDEXED("") "void f(int n) { k<<<a, a>>>(", "x,", "n); }");
    guess_large(INDEXED("") "void f(int n) {", "a = ", "; k<<<a, a>>>(a, a); }");
    guess_large(INDEXED("") "void f(int n) {", "\n#if A\nm = m;\n#else\nm = n;\n#endif\n", "k<<<m, m>>>(x, n); }");
    guess_large(INDEXED("") "void f(int n) {", "\n#if A == 1\n", "k<<<A, A>>>(x, n); }");
    guess_large(INDEXED("") "#define A B\n", "\n#if A == 1\n#define A 1\n#endif\n",
                "void f(int n) { k<<<A, A>>>(x, n); }");
    guess_large(
        "template <int M> __global__ void k(float *x, int n) { int j = threadIdx.x; }\ntemplate <int M> void f() { k<M><<<M, "
        "M>>>(x, n); f<M>(); }\nvoid g() {",
        "f<1>();", "}");
    guess_large(INDEXED("") "void f(int n) { dim3 g;", "g.x = n;", "k<<<g, 256>>>(x, n); }");
    guess_large("__global__ void k(float *x, int n) { int j = threadIdx.y; ", "x*", "}");
    guess_large("__global__ void k(float *x, int n) { int i = blockIdx.x; if (i ", "< n", "); }");
    guess_large("__global__ void k(float *x, int n) { int i = blockIdx.x; if (i < n", " * n", "); }");
    guess_large("__global__ void k(float *x, int n) { int i = blockIdx.x; ", "threadIdx.x + q;", "}");
    guess_large("__global__ void k(float *x, int n) { int b = blockIdx.x * z", " * z", "; z = 1; }");
    guess_large("__global__ void k(float *x, int n) { int i = blockIdx.x; ", "i += q;",
                "} void f(int n) { k<<<n / 256, 256>>>(x, n); }");
    guess_large(INDEXED(""), "__device__ int a;", "");
    guess_large(INDEXED(""), "#if n0\n#endif\n", "int n0;");
    kiln__text macros = {0}; /* each macro uses the previous macro 64 times */
    kiln__text_puts(&macros, "#define M0\n#define A(x) x");
    for (int k = 0; k < 64; k++)
        kiln__text_puts(&macros, " + x");
    for (int i = 1; i < 4; i++) {
        kiln__text_printf(&macros, "\n#define M%d 1", i);
        for (int k = 0; k < 4096; k++)
            kiln__text_printf(&macros, " * M%d", i - 1);
    }
    kiln__text_puts(&macros, "\n" INDEXED("j = blockIdx.x * M3;"));
    guess_large(kiln__text_get(&macros), "", "");
    guess_large(kiln__text_get(&macros), "", "void f(int n) { k<<<A(A(A(A(A(n))))), 256>>>(x, n); }");
    kiln__text_free(&macros);
#define LARGE(name) "#ifndef " name "\n#define " name " 999999999999\n#endif\n"
    guess_large(LARGE("N") LARGE("M") LARGE("K") INDEXED("if (i < N * M * K) x[i] = 1; "), "", "");
    guess_large(INDEXED("") "void f(int n) { dim3 b(n, 9223372036854775807, 9223372036854775807); k<<<b, b>>>(x, n); }",
                "", "");
    guess_large(INDEXED("") "void f(int n) { k<<<n / 9223372036854775807, 9223372036854775807>>>(x, n); }", "", "");
    char many[KILN__MOST_TUNABLES * 32] = ""; /* the list is full, so the number of threads does not fit */
    for (int i = 0; i < KILN__MOST_TUNABLES; i++)
        snprintf(many + strlen(many), sizeof many - strlen(many), "#if M%d\n#endif\n", i);
    guess_large(many, "", "__global__ void k(float *x, int n) { x[blockDim.x * blockIdx.x + threadIdx.x] = n; }");
}

#define TILE_IF "#ifndef BM\n#define BM 8\n#endif\n#if BM > 4\n#define T 8\n#else\n#define T 4\n#endif\n"

static void test_memory(void)
{
    check_memory(source);
    check_memory(
        "#define DIV(a, b) (((a) + (b)-1) / (b))\n__constant__ float mask[2 * 3];\nusing T = half;\n"
        "template <int B> __global__ void k(const T *x, T *y, int n, float a) { y[threadIdx.x + blockDim.x] = mask[0]; }\n"
        "void run(int n, int rows) { static_assert(64 % 2 == 0, \"\"); const int S = 64; dim3 block(S, 2), grid(DIV(n, S), rows);\n"
        "k<S><<<grid, block, 4 * S>>>(x, y, n, 1e-5f); }\n");
    check_memory(SUM TILE_IF "template <int M> void go(int n) { k<M, true><<<n / T, T>>>(x, n); }\n"
                             "void a(int n) { go<32>(n); go<64>(n); }");
    check_memory(SAXPY
                 "void a(int n) { k<<<n / 64, 64>>>(n, 1, x, y); }\nvoid b(int m) { k<<<m / 32, 32>>>(m, 1, x, y); }");
}

static __typeof__(nvrtcCompileProgram) *real_compile;
static int compiles;

static nvrtcResult count_compile(nvrtcProgram program, int count, const char *const *options)
{
    compiles++;
    return real_compile(program, count, options);
}

static int keep_text(void *user, const char *text, size_t length)
{
    kiln__text_add(user, text, length);
    return 0;
}

/* Tests a kernel without sizes: the host passes a parameter of a template. The shapes of the arrays are numbers then. */
static void test_no_sizes(void)
{
    static const char text[] = "template <int N> __global__ void k(float *y, int n)\n{\n"
                               "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i < n) y[i] = 1;\n}\n"
                               "template <int M> void run(float *y) { k<M><<<1, 32>>>(y, M); }\n"
                               "void both(float *y) { run<0>(y); run<1>(y); }\n";
    char folder[] = "/tmp/kiln-draft-XXXXXX", path[64];
    kiln__text out = {0};
    kiln_engine *engine = NULL;
    kiln_error *error = NULL;
    const kiln_options options = {
        .size = sizeof options, .flags = KILN_NO_CACHE | KILN_NO_WORKERS, .device = "sim:h200"};
    CHECK(mkdtemp(folder) != NULL);
    snprintf(path, sizeof path, "%s/k.cu", folder);
    CHECK_OK(kiln__file_write(NULL, path, text, strlen(text), &error), error);
    CHECK_OK(kiln_engine_open(&options, &engine, &error), error);
    CHECK_OK(kiln_draft(engine, path, NULL, keep_text, &out, &error), error);
    CHECK(out.length > 0 && strstr(out.data, "y: {type: f32, shape: [") && !strstr(out.data, "null"));
    kiln_engine_close(engine);
    kiln__text_free(&out);
    unlink(path);
    rmdir(folder);
}

/* The compiles that find the code of the host are needed once for a draft: the compile for the types of the parameters
 * and the trial run know the code that the first compile lost. */
static void test_compiles(void)
{
    static const char text[] =
        "int one() { return gone(); }\nint two() { return one(); }\nint three() { return two(); }\n"
        "__global__ void k(float *x) { x[blockIdx.x * 128 + threadIdx.x] = 1; }\n"
        "void run(float *x) { k<<<8, 128>>>(x); }\n";
    char folder[] = "/tmp/kiln-draft-XXXXXX", path[64];
    kiln__text out = {0};
    kiln_engine *engine = NULL;
    kiln_error *error = NULL;
    const kiln_options options = {
        .size = sizeof options, .flags = KILN_NO_CACHE | KILN_NO_WORKERS, .device = "sim:h200"};
    CHECK(mkdtemp(folder) != NULL);
    snprintf(path, sizeof path, "%s/k.cu", folder);
    FILE *file = fopen(path, "w");
    CHECK(file && fputs(text, file) >= 0 && fclose(file) == 0);
    CHECK_OK(kiln_engine_open(&options, &engine, &error), error);
    CHECK_OK(kiln__engine_nvrtc(engine, &error), error);
    CHECK_OK(kiln__nvrtc_load(engine->nvrtc, &error), error);
    real_compile = engine->nvrtc->nvrtcCompileProgram;
    engine->nvrtc->nvrtcCompileProgram = count_compile;
    CHECK_OK(kiln_draft(engine, path, NULL, keep_text, &out, &error), error);
    CHECK(out.length > 0 && strstr(out.data, "x: {type: f32"));
    CHECK(compiles <= 12); /* without the cache, each trial run compiles again */
    kiln_engine_close(engine);
    kiln__text_free(&out);
    unlink(path);
    rmdir(folder);
}

/* A size that becomes half as large may equal a fixed size, grow, and then equal another fixed size. */
static void test_smaller(void)
{
    kiln__arena arena = {0};
    kiln__draft draft = {.arena = &arena};
    const kiln__size sizes[] = {{.name = "a", .tiny = 64},
                                {.name = "b", .tiny = 48, .fixed = 48},
                                {.name = "c", .tiny = 32, .fixed = 32},
                                {.name = "d", .tiny = 256}};
    static const int64_t want[] = {64, 48, 32, 128};
    for (size_t i = 0; i < KILN__COUNT(sizes); i++)
        draft.sizes[draft.size_count++] = sizes[i];
    CHECK(kiln__shrink_sizes(&draft));
    for (size_t i = 0; i < KILN__COUNT(want); i++)
        CHECK(draft.sizes[i].tiny == want[i]);
    kiln__arena_free(&arena);
}

static const check_case tests[] = {{"kernels and macros", test_kernels},
                                   {"functions as parameters of a template", test_functions},
                                   {"types of parameters", test_types},
                                   {"grid and block", test_launch},
                                   {"smaller sizes", test_smaller},
                                   {"the launch of the host", test_host},
                                   {"threads of the host's launch", test_host_threads},
                                   {"several launches", test_launches},
                                   {"variables that the host fills", test_symbols},
                                   {"values of params", test_values},
                                   {"shared memory and grids that synchronise", test_written},
                                   {"sizes", test_sizes},
                                   {"names that the source declares", test_declared},
                                   {"nested #if", test_nested},
                                   {"large sources", test_large},
                                   {"no sizes", test_no_sizes},
                                   {"compiles of a draft", test_compiles},
                                   {"out of memory", test_memory}};
KILN_SUITE("draft", tests)
