/* Tests NVRTC in this process: its results for requests, and its messages for invalid requests. Needs an NVRTC, but no
 * GPU. */
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "compile_internal.h"
#include "sources.h"

static kiln__nvrtc *nvrtc;

static kiln_status compile(const kiln__compile_request *request, kiln__unit *unit, kiln_error **error)
{
    uint64_t ns = 0;
    kiln_status status = kiln__compile_here(NULL, nvrtc, request, NULL, 0, unit, &ns, error);
    if (status == KILN_OK)
        CHECK(ns > 0);
    return status;
}

static const char *symbol_of(const kiln__unit *unit, const char *name)
{
    for (const char *at = unit->lowered; at && at < unit->lowered + unit->lowered_length;) {
        const char *symbol = at + strlen(at) + 1;
        if (strcmp(at, name) == 0)
            return symbol;
        at = symbol + strlen(symbol) + 1;
    }
    return NULL;
}

static void test_open(void)
{
    CHECK(kiln__nvrtc_version(nvrtc) >= 11000);
    CHECK(access(kiln__nvrtc_path(nvrtc), R_OK) == 0);
    CHECK(strstr(kiln__nvrtc_identity(nvrtc), "nvrtc ") == kiln__nvrtc_identity(nvrtc));
    int archs[64] = {0};
    size_t count = kiln__nvrtc_archs(nvrtc, archs, 64);
    CHECK(count > 0 && count <= 64);
    for (size_t i = 1; i < count && i < 64; i++)
        CHECK(archs[i - 1] < archs[i]);

    kiln__nvrtc *other = NULL;
    kiln_error *error = NULL;
    CHECK(kiln__nvrtc_open_file(NULL, "/nonexistent/libnvrtc.so", NULL, &other, &error) == KILN_ERROR_NO_COMPILER);
    CHECK(strstr(kiln_error_message(error), "/nonexistent/libnvrtc.so") != NULL);
    CHECK(strstr(kiln_error_message(error), "KILN_NVRTC") != NULL);
    kiln_error_free(error);
    error = NULL;
    CHECK_OK(kiln__nvrtc_open_file(NULL, kiln__nvrtc_path(nvrtc), kiln__nvrtc_include(nvrtc), &other, &error), error);
    if (other)
        CHECK_TEXT(kiln__nvrtc_identity(other), kiln__nvrtc_identity(nvrtc));
    kiln__nvrtc_close(other);
}

static void make_file(const char *folder, const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    CHECK(file && fputs("no library\n", file) >= 0 && fclose(file) == 0);
}

/* Tests that a library is found by the names of its files, and loaded at the first compile. */
static void test_later(void)
{
    kiln__nvrtc *found = NULL;
    kiln_error *error = NULL;
    char *kept = getenv("KILN_NVRTC") ? strdup(getenv("KILN_NVRTC")) : NULL;
    setenv("KILN_NVRTC", kiln__nvrtc_path(nvrtc), 1);
    CHECK_OK(kiln__nvrtc_find(NULL, &found, &error), error);
    CHECK(found && kiln__nvrtc_version(found) == kiln__nvrtc_version(nvrtc));
    CHECK_TEXT(kiln__nvrtc_identity(found), kiln__nvrtc_identity(nvrtc));
    CHECK_TEXT(kiln__nvrtc_path(found), kiln__nvrtc_path(nvrtc));
    kiln__compile_request request = {.name = "small.cu", .source = source_small, .arch = 90};
    kiln__unit unit = {0};
    CHECK_OK(kiln__compile_here(NULL, found, &request, NULL, 0, &unit, NULL, &error), error);
    kiln__unit_free(&unit);
    kiln__nvrtc_close(found);

    char folder[] = "/tmp/kiln-XXXXXX", path[4096];
    CHECK(mkdtemp(folder) != NULL);
    snprintf(path, sizeof path, "%s/libnvrtc.so.13", folder);
    setenv("KILN_NVRTC", path, 1);
    make_file(folder, "libnvrtc.so.13");
    /* no file of builtins tells the version, so the library is loaded at once */
    CHECK(kiln__nvrtc_find(NULL, &found, &error) == KILN_ERROR_NO_COMPILER);
    kiln_error_free(error);
    error = NULL;
    make_file(folder, "libnvrtc-builtins.so.13.2");
    CHECK_OK(kiln__nvrtc_find(NULL, &found, &error), error);
    CHECK(found && kiln__nvrtc_version(found) == 13020);
    /* the function asks the library for architecture 100 */
    CHECK(kiln__nvrtc_has_arch(found, 90) && !kiln__nvrtc_has_arch(found, 100));
    CHECK(kiln__compile_here(NULL, found, &request, NULL, 0, &unit, NULL, &error) == KILN_ERROR_NO_COMPILER);
    CHECK(strstr(kiln_error_message(error), path) && strstr(kiln_error_message(error), "KILN_NVRTC"));
    kiln_error_free(error);
    error = NULL;
    kiln__nvrtc_close(found);
    /* with two versions installed, only the library knows its version */
    make_file(folder, "libnvrtc-builtins.so.13.3");
    CHECK(kiln__nvrtc_find(NULL, &found, &error) == KILN_ERROR_NO_COMPILER);
    kiln_error_free(error);
    const char *made[] = {"libnvrtc.so.13", "libnvrtc-builtins.so.13.2", "libnvrtc-builtins.so.13.3"};
    for (size_t i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, made[i]);
        unlink(path);
    }
    rmdir(folder);
    if (kept)
        setenv("KILN_NVRTC", kept, 1);
    else
        unsetenv("KILN_NVRTC");
    free(kept);
}

static void test_units(void)
{
    const char *names[] = {"add", "scale<float, 3>", "plain"};
    kiln__compile_request request = {
        .name = "small.cu", .source = source_small, .arch = 90, .names = names, .name_count = 3};
    kiln__unit unit;
    kiln_error *error = NULL;
    kiln_status status = compile(&request, &unit, &error);
    CHECK_OK(status, error);
    if (status != KILN_OK)
        return;
    CHECK(unit.cubin == NULL && unit.cubin_length == 0);
    CHECK(strlen(unit.ptx) == unit.ptx_length);
    CHECK(strstr(unit.ptx, ".target sm_90") != NULL);
    CHECK(strstr(unit.ptx, ".entry add(") != NULL);
    CHECK_TEXT(symbol_of(&unit, "add"), "add");
    CHECK_TEXT(symbol_of(&unit, "scale<float, 3>"), "_Z5scaleIfLi3EEvPT_");
    CHECK_TEXT(symbol_of(&unit, "plain"), "_Z5plainPi");
    char *ptx = strdup(unit.ptx);
    kiln__unit_free(&unit);

    request.cubin = true;
    CHECK_OK(compile(&request, &unit, &error), error);
    CHECK_TEXT(unit.ptx, ptx); /* a request for machine code does not change the PTX */
    CHECK(unit.cubin_length > 64 && memcmp(unit.cubin, "\177ELF", 4) == 0);
    int64_t stores = -1, loads = -1;
    CHECK(unit.log && kiln__compile_log_spills(unit.log, "add", &stores, &loads));
    CHECK(stores == 0 && loads == 0);
    CHECK(!unit.log || !kiln__compile_log_spills(unit.log, "ad", &stores, &loads));
    kiln__unit_free(&unit);
    free(ptx);

    request.cubin = false;
    request.types = true;
    CHECK_OK(compile(&request, &unit, &error), error);
    CHECK_TEXT(symbol_of(&unit, "scale<float, 3>"), "_Z5scaleIfLi3EEvPT_");
    /* a request for the types alone makes no code */
    CHECK(kiln__nvrtc_version(nvrtc) < 13000 || unit.ptx_length == 0);
    kiln__unit_free(&unit);
}

static const char source_minimal[] =
    "// the next surface of a text, included: cuda's <<<\n#define JOIN(a, b) a##b\n/* tex2D\n#include <x> */\n"
    "extern \"C\" __global__ void k(int *vertex) { *vertex = 41 + JOIN(__CU, DACC_RTC_MINIMAL__); }\n";

/* A line of the inline assembler that has the directive .file several times before one path, and a path after a path. */
static void test_file_lines(void)
{
    char folder[PATH_MAX], source[3 * PATH_MAX];
    CHECK(getcwd(folder, sizeof folder) != NULL);
    snprintf(
        source, sizeof source,
        "extern \"C\" __global__ void k(int *x)\n{\n"
        "    asm volatile(\"\\t.file\\t\\t.file\\t1 \\\"%s/h.cu\\\"\\t.file\\t2 \\\"%s/h.cu\\\"\\n\");\n    *x = 1;\n}\n",
        folder, folder);
    kiln__compile_request request = {.name = "h.cu", .arch = 80, .source = source};
    kiln__unit unit;
    kiln_error *error = NULL;
    CHECK_OK(compile(&request, &unit, &error), error);
    CHECK(unit.ptx && strstr(unit.ptx, "\t.file\t\t.file\t1 \"h.cu\"\t.file\t2 \"h.cu\"\n") != NULL);
    CHECK(unit.ptx && strstr(unit.ptx, folder) == NULL && strstr(unit.ptx, "ret;") != NULL);
    kiln__unit_free(&unit);
}

static void test_headers(void)
{
    kiln__include headers[] = {{.name = "sub/a.h", .text = "#include \"b.h\"\n#define A (B + 1)\n"},
                               {.name = "b.h", .text = "#define B 41\n"}};
    kiln__compile_request request = {.name = "h.cu",
                                     .arch = 80,
                                     .includes = headers,
                                     .include_count = 2,
                                     .source = "#include \"sub/a.h\"\nextern \"C\" __global__ void k(int *x)"
                                               " { *x = A; }\n"};
    kiln__unit unit;
    kiln_error *error = NULL;
    static const char *const lines[] = {"-lineinfo"};
    request.options = lines;
    request.option_count = 1;
    CHECK_OK(compile(&request, &unit, &error), error);
    CHECK(unit.ptx && strstr(unit.ptx, "42") != NULL);
    CHECK(unit.ptx && strstr(unit.ptx, "\"h.cu\"") != NULL); /* the current folder is not in the lines .file */
    kiln__unit_free(&unit);
    if (*kiln__nvrtc_include(nvrtc)) { /* CUDA's own headers use names that -minimal leaves out */
        request = (kiln__compile_request){.name = "fp16.cu", .arch = 80, .source = source_fp16};
        CHECK_OK(compile(&request, &unit, &error), error);
        kiln__unit_free(&unit);
        static const char *const toolkit[] = {
            /* some of these headers include headers beside them */
            "cooperative_groups.h", "cooperative_groups/reduce.h", "mma.h", "cuda_bf16.h", "cuda_fp8.h", "cuda/atomic"};
        for (size_t i = 0; i < KILN__COUNT(toolkit); i++) {
            char source[128];
            snprintf(source, sizeof source, "#include <%s>\nextern \"C\" __global__ void k(int *x) { *x = 1; }\n",
                     toolkit[i]);
            request = (kiln__compile_request){.name = "toolkit.cu", .arch = 90, .source = source};
            CHECK_OK(compile(&request, &unit, &error), error);
            kiln__unit_free(&unit);
        }
    }
    /* in the next source only comments and strings have words that could need what -minimal omits */
    request = (kiln__compile_request){.name = "m.cu", .arch = 80, .source = source_minimal};
    if (kiln__nvrtc_version(nvrtc) >= 13000) {
        CHECK_OK(compile(&request, &unit, &error), error);
        CHECK(unit.ptx && strstr(unit.ptx, "42") != NULL);
        kiln__unit_free(&unit);
    }
    /* a texture and a type of the run-time API: these sources are compiled without -minimal */
    request = (kiln__compile_request){.name = "t.cu", .arch = 80, .source = source_texture};
    CHECK_OK(compile(&request, &unit, &error), error);
    kiln__unit_free(&unit);
}

static void check_message(const kiln__compile_request *request, kiln_status wanted, const char *const *parts)
{
    kiln__unit unit = {0};
    kiln_error *error = NULL;
    kiln_status status = compile(request, &unit, &error);
    CHECK(status == wanted);
    for (; *parts; parts++) {
        bool there = strstr(kiln_error_message(error), *parts) != NULL;
        if (!there)
            fprintf(stderr, "not in the message: %s\n%s\n", *parts, kiln_error_message(error));
        CHECK(there);
    }
    CHECK(unit.block == NULL);
    kiln__unit_free(&unit);
    kiln_error_free(error);
}

/* The messages of failed compiles have the reason and the source line, for errors of the front end, of ptxas and of the
 * target. */
static void test_errors(void)
{
    kiln__compile_request request = {.name = "bad.cu",
                                     .arch = 90,
                                     .cubin = true,
                                     .source = "#define N 3\n#line 1 \"matmul.cu\"\n\nextern \"C\" __global__ void "
                                               "k(float *x) { x[0] = nothing; }\n"};
    check_message(&request, KILN_ERROR_COMPILE,
                  (const char *[]){"bad.cu does not compile for sm_90:\n",
                                   "matmul.cu(2): error: identifier \"nothing\"", "x[0] = nothing;", NULL});
    request.source = "extern \"C\" __global__ void k(float *x) { asm volatile(\"foo.bar;\"); x[0] = 1; }\n";
    check_message(&request, KILN_ERROR_COMPILE, (const char *[]){"ptx input, line ", "    ", "foo.bar;", NULL});
    request.source = "extern \"C\" __global__ void k(float *x) { __shared__ float s[20000]; s[threadIdx.x] = x[1];"
                     "__syncthreads(); x[0] = s[threadIdx.x ^ 1]; }\n";
    check_message(&request, KILN_ERROR_COMPILE, (const char *[]){"too much shared data", NULL});
    request.source = source_small;
    request.arch = 12;
    check_message(&request, KILN_ERROR_UNSUPPORTED, (const char *[]){"architecture 12", "90", NULL});
    request.arch = 90;
    request.names = (const char *[]){"nowhere"};
    request.name_count = 1;
    check_message(&request, KILN_ERROR_COMPILE, (const char *[]){"identifier \"nowhere\" is undefined", NULL});
    request.names = (const char *[]){"add\nint x;"};
    check_message(&request, KILN_ERROR_SPEC, (const char *[]){"cannot be the name of a kernel", NULL});
    request.name_count = 0;
    request.options = (const char *[]){"--no-such-option"};
    request.option_count = 1;
    check_message(&request, KILN_ERROR_COMPILE, (const char *[]){"--no-such-option", NULL});
    kiln__include secret = {.name = "x.h", .text = "__device__ int i = j;\n"};
    request = (kiln__compile_request){
        .name = "h.cu", .arch = 90, .includes = &secret, .include_count = 1, .source = "#include \"x.h\"\n"};
    check_message(&request, KILN_ERROR_COMPILE, (const char *[]){"x.h(1): error", "int i = j;", NULL});
    request = (kiln__compile_request){.name = "-x.cu", .arch = 90, .source = "__device__ int i = j;\n"};
    check_message(&request, KILN_ERROR_COMPILE, (const char *[]){"-x.cu(1): error", "int i = j;", NULL});
}

/* Compiles a file as nvcc takes it: host-only code is left out, and code that a kernel may call is kept. */
static void test_host_code(void)
{
    static const char source[] =
        "#include \"help.h\"\n"
        "static std::vector<float> make(int n) { return std::vector<float>(n); }\n"
        "struct timer { cudaEvent_t a; timer() { cudaEventCreate(&a); } float stop() const; };\n"
        "float timer::stop() const { return gone(\"}\"); }\n"
        "template <typename T> T twice(T x) { return 2 * x; }\n"
        "constexpr int ceil_div(int a, int b) { return (a + b - 1) / b; }\n"
        "namespace app { std::vector<int> list = {1, 2}; extern \"C\" {\n"
        "__global__ void k(float *x) { x[threadIdx.x] = twice(ceil_div(4, 3)); }\n"
        "} }\n"
        "int main(int argc, char **argv)\n"
        "{\n"
        "#ifdef WAIT\n"
        "    for (;;) {}\n"
        "#endif\n"
        "    app::k<<<1, 2>>>(make(3).data());\n"
        "    return report(app::list[0]); // }\n"
        "}\n";
    kiln__include help = {.name = "help.h", .text = "inline void report(int i) { std::cout << i; }\n"};
    const char *const option = "-default-device";
    kiln__compile_request request = {.name = "host.cu",
                                     .arch = 90,
                                     .source = source,
                                     .includes = &help,
                                     .include_count = 1,
                                     .names = (const char *[]){"app::k"},
                                     .name_count = 1};
    for (request.option_count = 0; request.option_count < 2; request.option_count++) {
        kiln__unit unit = {0};
        kiln_error *error = NULL;
        request.options = &option;
        CHECK_OK(compile(&request, &unit, &error), error);
        CHECK(unit.ptx && strstr(unit.ptx, ".entry k("));
        kiln__unit_free(&unit);
    }
    /* The `__constant__` variable lacks a macro. The variable belongs to the kernel, so it is not left out as code of
     * the host. */
    request.option_count = request.name_count = request.include_count = 0;
    request.source = "constexpr int PER = BLOCK * 2;\nint main() { constexpr int n = get(); return n; }\n"
                     "__global__ void k(int *x) { *x = PER; }\n";
    check_message(&request, KILN_ERROR_COMPILE,
                  (const char *[]){"identifier \"BLOCK\" is undefined",
                                   "left out, because it does not compile for the "
                                   "device: host.cu:2;",
                                   NULL});
    /* The message is about the device's code, and lists the declarations that were left out. */
    request.source = "#define W 3\n#line 1 \"dir/main.cu\"\nint f() { return getpid(); }\nint g() { return f(); }\n"
                     "__global__ void k(int *x) { *x = f(); }\n";
    check_message(&request, KILN_ERROR_COMPILE,
                  (const char *[]){"dir/main.cu(3): error: identifier \"f\" is undefined",
                                   "dir/main.cu:1, dir/main.cu:2", "needs __device__", NULL});
}

static __typeof__(nvrtcCompileProgram) *real_compile;
static int compiles;

static nvrtcResult count_compile(nvrtcProgram program, int count, const char *const *options)
{
    compiles++;
    return real_compile(program, count, options);
}

/* The next configuration of a source loses all declarations of the host before its first compile. A configuration that needs one
 * of them compiles too. Without the specialisation of `pick`, or without the overload of `take`, a kernel would store 1. Another source with the same declaration
 * keeps it: without `act(float)` the last kernel would copy its number. */
static void test_remembered_host_code(void)
{
#define OWN "#line 1 \"often.cu\"\n"
#define CHAIN OWN CHAIN_TEXT
#define CHAIN_TEXT                                                                                                     \
    "int one() { return gone(); }\nint two() { return one(); }\nint three() { return two(); }\n"                       \
    "__global__ void k(int *x) { *x = ANY; }\n"
#define HELP                                                                                                           \
    OWN "T help(T x) { return x; }\nint two() { return missing(); }\n__global__ void k(int *x) { *x = CALL; }\n"
#define PICK                                                                                                            \
    OWN "template <typename T> struct pick { enum { n = 1 }; };\ntemplate <> struct pick<float> { enum { n = N }; };\n" \
        "int main() { return missing(); }\n__global__ void k(int *x) { *x = pick<float>::n; }\n"
#define TAKE                                                                                                           \
    OWN "template <typename T> int take(T) { return 1; }\nN take(float) { return 77; }\n"                              \
        "int main() { return missing(); }\n__global__ void k(int *x) { *x = take(1.0f); }\n"
#define ACT "float act(float x) { return x * x; }\nint main() { return missing(); }\n"
    static const struct {
        const char *source, *has; /* `has` is a text that the PTX must contain */
    } cases_of[] = {
        {"#define ANY 1\n" CHAIN, ""},
        {"#define ANY 2\n" CHAIN, ""},
        {"#define T gone\n#define CALL 1\n" HELP, ""},
        {"#define T int\n#define CALL help(1)\n" HELP, ""},
        {"#define N gone\n" PICK, ""},
        {"#define N 77\n" PICK, "77;"},
        {"#define N gone\n" TAKE, ""},
        {"#define N int\n" TAKE, "77;"},
        {"struct probe {};\n#define ANY 3\n#line 1 \"folder/often.cu\"\n" CHAIN_TEXT, ""},
        {OWN "#define float gone\n" ACT "#undef float\n__global__ void k(int *x) { *x = 1; }\n", ""},
        {OWN "template <typename T> T act(T x) { return x; }\n" ACT "__global__ void k(float *x) { *x = act(*x); }\n",
         "mul.f32"},
    };
    enum { CASES = sizeof cases_of / sizeof *cases_of };
    int needed[CASES] = {0};
    kiln_error *unloaded = NULL;
    CHECK_OK(kiln__nvrtc_load(nvrtc, &unloaded), unloaded);
    real_compile = nvrtc->nvrtcCompileProgram;
    nvrtc->nvrtcCompileProgram = count_compile;
    for (size_t i = 0; i < CASES; i++) {
        kiln__compile_request request = {.name = "often.cu", .arch = 90, .source = cases_of[i].source};
        kiln__unit unit = {0};
        kiln_error *error = NULL;
        compiles = 0;
        CHECK_OK(compile(&request, &unit, &error), error);
        needed[i] = compiles;
        CHECK(unit.ptx && strstr(unit.ptx, cases_of[i].has) != NULL);
        kiln__unit_free(&unit);
    }
    nvrtc->nvrtcCompileProgram = real_compile;
    CHECK(needed[0] >= 4 && needed[1] == 1); /* each of the three functions has an error only without the earlier one */
    CHECK(needed[3] > 1);
    CHECK(needed[8] == 1); /* the name of the source and the text before it do not count */
#undef OWN
#undef CHAIN
#undef CHAIN_TEXT
#undef HELP
#undef PICK
#undef TAKE
#undef ACT
}

/* Precompiled headers that NVRTC refuses cost one compile. Later compiles, without the code of the host, do not try the
 * headers again. */
static void test_host_code_with_headers(void)
{
    kiln__compile_request request = {.name = "late.cu",
                                     .arch = 90,
                                     .pch = "/nowhere/none.pch",
                                     .source = "int one() { return gone(); }\nint two() { return one(); }\n"
                                               "__global__ void k(int *x) { *x = 1; }\n"};
    kiln__unit unit = {0};
    kiln_error *error = NULL;
    CHECK_OK(kiln__nvrtc_load(nvrtc, &error), error);
    real_compile = nvrtc->nvrtcCompileProgram;
    nvrtc->nvrtcCompileProgram = count_compile;
    compiles = 0;
    CHECK_OK(compile(&request, &unit, &error), error);
    CHECK(compiles == (nvrtc->pch_status ? 6 : 5));
    kiln__unit_free(&unit);
    nvrtc->nvrtcCompileProgram = real_compile;
}

/* Compiles a file of which a spec needs one kernel. Instances of other kernels and members that are marked __host__ are
 * left out, and names that nvcc or PyTorch's headers bring in are there. */
static void test_not_needed(void)
{
    static const char source[] = "struct pair { __extension__ union { struct { int a, b; } c; long long d; };\n"
                                 "    __host__ int get(int cc) const { return std::stoi(cc); }\n"
                                 "    constexpr __host__ int size() const { return cc(); }\n"
                                 "    __device__ int get() const { return c.a; } };\n"
                                 "template <class T> __global__ void sum(T *x)\n"
                                 "{\n"
                                 "    typename std::conditional<sizeof(T) == 4, int, long long>::type y = 1;\n"
                                 "    pair p = {};\n"
                                 "    if (std::is_same<T, float>::value) { cudaGridDependencySynchronize(); y++; }\n"
                                 "    *x = y + p.get();\n"
                                 "    cudaTriggerProgrammaticLaunchCompletion();\n"
                                 "}\n"
                                 "#define INSTANCE(T) \\\n    template __global__ void sum<T>(T *x);\n"
                                 "INSTANCE(double)\n"
                                 "template __global__ void sum<char>(char *x);\n";
    kiln__compile_request request = {
        .name = "one.cu", .arch = 90, .source = source, .names = (const char *[]){"sum<float>"}, .name_count = 1};
    kiln__unit unit = {0};
    kiln_error *error = NULL;
    CHECK_OK(compile(&request, &unit, &error), error);
    CHECK(unit.ptx && strstr(unit.ptx, ".entry _Z3sumIfEvPT_(") && strstr(unit.ptx, "griddepcontrol.wait"));
    CHECK(unit.ptx && !strstr(unit.ptx, "_Z3sumId") && !strstr(unit.ptx, "_Z3sumIc"));
    kiln__unit_free(&unit);
}

static void test_stopping(void)
{
    atomic_bool cancel = true;
    kiln__compile_request request = {.name = "slow.cu", .arch = 90, .cubin = true, .source = source_slow};
    kiln__unit unit = {0};
    kiln_error *error = NULL;
    kiln_status status = kiln__compile_here(NULL, nvrtc, &request, &cancel, 0, &unit, NULL, &error);
    CHECK(status == KILN_ERROR_INTERRUPTED || kiln__nvrtc_version(nvrtc) < 12080);
    kiln__unit_free(&unit);
    kiln_error_free(error);
    error = NULL;
    status = kiln__compile_here(NULL, nvrtc, &request, NULL, 0.05, &unit, NULL, &error);
    CHECK(status == KILN_ERROR_TIMEOUT || kiln__nvrtc_version(nvrtc) < 12080);
    kiln__unit_free(&unit);
    kiln_error_free(error);
}

/* Tests how Kiln formats the compiler's log: control characters, empty lines, the statistics of ptxas, and a limit on
 * the length. */
static void test_log(void)
{
    kiln__text text = {0};
    kiln__compile_log_format(&text,
                             "\n\na.cu(1): error: x\n  \x1b[31mred\n\n\nptxas info    : Used 3 registers\n"
                             "ptxas         .     0 bytes stack frame\nptxas fatal   : no\n",
                             NULL);
    CHECK_TEXT(kiln__text_get(&text), "a.cu(1): error: x\n   [31mred\n\nptxas fatal   : no\n");
    kiln__text_free(&text);
    kiln__compile_log_format(&text, "ptxas app ptx input, line 2; error\nptx input, line 99; error\n", "one\ntwo\n");
    CHECK_TEXT(kiln__text_get(&text), "ptxas app ptx input, line 2; error\n    two\nptx input, line 99; error\n");
    kiln__text_free(&text);
    kiln__compile_log_format(&text,
                             "__nv_name_map(2): error: identifier \"k\" is undefined\n  #pragma x k\n    ^\n\n"
                             "__nv_name_map(2): error: Error in parsing name expression for\n  #pragma\n\n"
                             "2 errors detected.\n__nv_name_map(3): error: last",
                             NULL);
    CHECK_TEXT(kiln__text_get(&text), "error in the name of a kernel: identifier \"k\" is undefined\n\n"
                                      "2 errors detected.\nerror in the name of a kernel: last\n");
    kiln__text_free(&text);
    static const char warned[] = "a.h(1): warning #1444-D: class \"double4\" is old\n  double4 x;\n  ^\n\n"
                                 "Remark: The warnings can be suppressed\n\na.cu(2): error: bad\n  bad\n  ^\n\n"
                                 "Warning #1444-D: class \"double4\" is old\n\n1 error detected.\n";
    kiln__compile_log_format(&text, warned, NULL);
    CHECK_TEXT(kiln__text_get(&text), "a.cu(2): error: bad\n  bad\n  ^\n\n1 error detected.\n");
    kiln__text_free(&text);
    kiln__compile_log_format(&text, "a.h(1): warning #1-D: odd\n  x\n", NULL); /* no error tells the reason */
    CHECK_TEXT(kiln__text_get(&text), "a.h(1): warning #1-D: odd\n  x\n");
    kiln__text_free(&text);
    kiln__text many = {0};
    for (int i = 0; i < 300; i++)
        kiln__text_printf(&many, "line %d\n", i);
    kiln__compile_log_format(&text, many.data, NULL);
    CHECK(strstr(text.data, "line 199\n(100 more lines)\n") != NULL);
    kiln__text_free(&text);
    kiln__text_free(&many);
    int64_t stores = 0, loads = 0;
    const char *log =
        "ptxas info    : Function properties for kk\nptxas         .     8 bytes stack frame, 1 bytes spill"
        " stores, 2 bytes spill loads\nptxas info    : Function properties for k\nptxas         .     8 bytes"
        " stack frame, 16 bytes spill stores, 24 bytes spill loads\n";
    CHECK(kiln__compile_log_spills(log, "k", &stores, &loads) && stores == 16 && loads == 24);
    CHECK(!kiln__compile_log_spills("Function properties for k", "k", &stores, &loads));
    CHECK(!kiln__compile_log_spills("Function properties for k\nsomething\n 8 bytes stack frame, 1 bytes", "k", &stores,
                                    &loads));
}

static void test_oom(void)
{
    const char *names[] = {"add"};
    for (long n = 0;; n++) {
        check_oom oom = {.countdown = n};
        kiln_allocator mem = {check_oom_resize, &oom};
        kiln__nvrtc *made = NULL;
        kiln_error *error = NULL;
        kiln__unit unit = {0};
        kiln__compile_request request = {
            .name = "small.cu", .source = source_small, .arch = 80, .cubin = true, .names = names, .name_count = 1};
        kiln_status status = kiln__nvrtc_open_file(&mem, kiln__nvrtc_path(nvrtc), NULL, &made, &error);
        if (status == KILN_OK)
            status = kiln__compile_here(&mem, made, &request, NULL, 0, &unit, NULL, &error);
        CHECK(status == KILN_OK || status == KILN_ERROR_MEMORY);
        kiln__unit_free(&unit);
        kiln__nvrtc_close(made);
        kiln_error_free(error);
        CHECK(oom.live == 0);
        if (!oom.failed)
            break;
        CHECK(status == KILN_ERROR_MEMORY);
    }
}

/* Computes the digest of CUDA's headers. The digest covers the headers that the named header reaches, and does not
 * depend on the place of the folder. It shows a change even if the time of modification is the same. */
static void digest_of(kiln__nvrtc *here, const char *name, char digest[33])
{
    kiln_error *error = NULL;
    CHECK_OK(kiln__nvrtc_headers(here, &name, 1, true, digest, &error), error);
}

static void put_header(const char *folder, const char *name, const char *text)
{
    char path[160];
    kiln_error *error = NULL;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    CHECK_OK(kiln__file_write(NULL, path, text, strlen(text), &error), error);
}

static void make_headers(char *folder)
{
    char path[160];
    CHECK(mkdtemp(folder) != NULL);
    snprintf(path, sizeof path, "%s/cccl", folder);
    CHECK(mkdir(path, 0700) == 0);
    put_header(folder, "a.h", "#include \"b.h\"\n#include <stdio.h>\n");
    put_header(folder, "b.h", "#if 0\n# include <far.h>\n#endif\n#include \"a.h\"\n");
    put_header(folder, "cccl/far.h", "int far;\n");
    put_header(folder, "other.h", "int other;\n");
    put_header(folder, "macro.h", "#define M <other.h>\n#include M\n");
}

static void test_digest(void)
{
    char folders[2][40] = {"/tmp/kiln-headers-XXXXXX", "/tmp/kiln-headers-XXXXXX"}, was[33], now[33], path[160];
    kiln__nvrtc *here[2] = {NULL, NULL};
    for (int i = 0; i < 2; i++) {
        make_headers(folders[i]);
        CHECK(kiln__nvrtc_open_file(NULL, kiln__nvrtc_path(nvrtc), folders[i], &here[i], NULL) == KILN_OK);
        CHECK(!strstr(kiln__nvrtc_identity(here[i]), folders[i]));
    }
    digest_of(here[0], "a.h", was);
    digest_of(here[1], "a.h", now);
    CHECK(strlen(was) == 32);
    CHECK_TEXT(now, was);
    digest_of(here[0], "none.h", now);
    CHECK_TEXT(now, "");
    put_header(folders[0], "other.h", "int another;\n"); /* a.h does not include this header */
    digest_of(here[0], "a.h", now);
    CHECK_TEXT(now, was);
    /* Tests a change in a header that is three includes away, with the same length and the same time. */
    struct stat before;
    snprintf(path, sizeof path, "%s/cccl/far.h", folders[0]);
    CHECK(stat(path, &before) == 0);
    put_header(folders[0], "cccl/far.h", "int FAR;\n");
    struct timespec times[2] = {before.st_atim, before.st_mtim};
    CHECK(utimensat(AT_FDCWD, path, times, 0) == 0);
    digest_of(here[0], "a.h", now);
    CHECK(strlen(now) == 32 && strcmp(now, was) != 0);
    put_header(folders[0], "cccl/far.h", "int far;\n");
    digest_of(here[0], "a.h", now);
    CHECK_TEXT(now, was);
    digest_of(here[0], "macro.h", was); /* the headers behind a macro are unknown: every file of the folder counts */
    put_header(folders[0], "other.h", "int other_one;\n");
    digest_of(here[0], "macro.h", now);
    CHECK(strlen(was) == 32 && strlen(now) == 32 && strcmp(now, was) != 0);
    put_header(folders[0], "none.h", "");
    digest_of(here[0], "none.h", now);
    CHECK(strlen(now) == 32);
    for (int i = 0; i < 2; i++) {
        kiln__nvrtc_close(here[i]);
        snprintf(path, sizeof path, "rm -r '%s'", folders[i]);
        CHECK(system(path) == 0);
    }
}

/* Checks the first headers that a source includes, and the words in its directives. */
static void check_prelude(kiln__nvrtc *here, const char *text, const char *want)
{
    kiln__arena arena = {0};
    kiln__include items[] = {{.name = "mine.h", .text = "#pragma once\n#include <b.h>\n", .path = "/mine.h"},
                             {.name = "code.h", .text = "#include <b.h>\nint i;\n", .path = "/code.h"},
                             {.name = "stdint.h", .text = "#if __has_include(<far.h>)\n#include <far.h>\n#endif\n"}};
    const kiln__includes includes = {.source = text, .items = items, .count = 3};
    const char *const *names = NULL;
    size_t count = 0;
    kiln_error *error = NULL;
    kiln__text got = {0};
    CHECK_OK(kiln__prelude_find(here, &arena, &includes, &names, &count, &error), error);
    for (size_t i = 0; i < count; i++)
        kiln__text_printf(&got, "%s%s", i ? " " : "", names[i]);
    CHECK_TEXT(kiln__text_get(&got), want);
    kiln__text_free(&got);
    kiln__arena_free(&arena);
}

/* Tests that headers which each include the next one a hundred times are each read once. */
static void check_repeated(kiln__nvrtc *here)
{
    enum { LEVELS = 7, TIMES = 100 };
    kiln__arena arena = {0};
    kiln__include items[LEVELS];
    kiln_error *error = NULL;
    for (int i = 0; i < LEVELS; i++) {
        kiln__text text = {0};
        for (int k = 0; k < TIMES; k++)
            kiln__text_printf(&text, i + 1 < LEVELS ? "#include \"h%d.h\"\n" : "#include <a.h>\n", i + 1);
        items[i] = (kiln__include){.name = kiln__arena_printf(&arena, "h%d.h", i),
                                   .path = "/h.h",
                                   .text = kiln__arena_strdup(&arena, kiln__text_get(&text))};
        kiln__text_free(&text);
    }
    const kiln__includes includes = {.source = "#include \"h0.h\"\n#include <b.h>\n", .items = items, .count = LEVELS};
    const char *const *names = NULL;
    size_t count = 0;
    CHECK_OK(kiln__prelude_find(here, &arena, &includes, &names, &count, &error), error);
    CU_ASSERT_EQUAL_FATAL(count, 2);
    CHECK_TEXT(names[0], "a.h");
    CHECK_TEXT(names[1], "b.h");
    kiln__arena_free(&arena);
}

static void test_prelude(void)
{
    char folder[] = "/tmp/kiln-headers-XXXXXX", path[160];
    kiln__nvrtc *here = NULL;
    make_headers(folder);
    put_header(folder, "words.h",
               "int T;\n#ifdef FIRST\n#endif\n  # define X \\\n SECOND\n#include <b.h>\nint THIRD;\n");
    CHECK(kiln__nvrtc_open_file(NULL, kiln__nvrtc_path(nvrtc), folder, &here, NULL) == KILN_OK);
    check_prelude(here, "", "");
    check_prelude(
        here,
        "// text\n\n/* more\n*/ #pragma once\n#include <a.h> // why\n # include \"other.h\"\nint i;\n#include <b.h>",
        "a.h other.h");
    check_prelude(here, "#include <a.h>\n#include <a.h>\n#include <none.h>\n#include <b.h>\n", "a.h");
    check_prelude(here, "#include \"mine.h\"\n#include <a.h>\n", "b.h a.h");
    check_prelude(here, "#include \"code.h\"\n#include <a.h>\n", "b.h");
    check_prelude(here, "#include <stdint.h>\n#include <a.h>\n", "far.h a.h");
    check_prelude(here, "#define X\n#include <a.h>\n", "");
    check_prelude(here, "#ifdef X\n#include <a.h>\n#endif\n", "");
    check_prelude(here, "// odd \\\n#include <b.h>\n#include <a.h>\n", "");
    check_prelude(here, "/* open\n#include <a.h>\n", "");
    check_prelude(here, "#include <a.h> int i;\n", "a.h");
    check_repeated(here);
    const char *const names[] = {"words.h"}, *const words[] = {"T", "FIRST", "SECOND", "THIRD", "far", "h"};
    uint64_t found = 0;
    kiln_error *error = NULL;
    CHECK_OK(kiln__nvrtc_mentions(here, names, 1, words, 6, &found, &error), error);
    /* `far` and `h` are words of headers that words.h includes */
    CHECK(found == (1u << 1 | 1u << 2 | 1u << 4 | 1u << 5));
    const char *const odd[] = {"macro.h"}, *const more[] = {"T", "CUB_STDERR", "M", "_X"};
    CHECK_OK(kiln__nvrtc_mentions(here, odd, 1, more, 4, &found, &error), error);
    /* macro.h includes a file by a macro, so each macro whose name begins like one of CUDA's may change the file */
    CHECK(found == (1u << 1 | 1u << 2 | 1u << 3));
    kiln__nvrtc_close(here);
    snprintf(path, sizeof path, "rm -r '%s'", folder);
    CHECK(system(path) == 0);
}

static void test_digest_oom(void)
{
    char folder[] = "/tmp/kiln-headers-XXXXXX", path[160], digest[33];
    const char *name = "a.h";
    make_headers(folder);
    for (long n = 0;; n++) {
        check_oom oom = {.countdown = n};
        kiln_allocator mem = {check_oom_resize, &oom};
        kiln__nvrtc *here = NULL;
        kiln_status status = kiln__nvrtc_open_file(&mem, kiln__nvrtc_path(nvrtc), folder, &here, NULL);
        if (status == KILN_OK)
            status = kiln__nvrtc_headers(here, &name, 1, true, digest, NULL);
        CHECK(status == (oom.failed ? KILN_ERROR_MEMORY : KILN_OK));
        kiln__nvrtc_close(here);
        CHECK(oom.live == 0);
        if (!oom.failed)
            break;
    }
    snprintf(path, sizeof path, "rm -r '%s'", folder);
    CHECK(system(path) == 0);
}

static const check_case cases[] = {
    {"finding NVRTC", test_open},
    {"loading NVRTC later", test_later},
    {"what is made", test_units},
    {"lines of files", test_file_lines},
    {"headers", test_headers},
    {"messages", test_errors},
    {"code of the host is left out", test_host_code},
    {"code of the host is remembered", test_remembered_host_code},
    {"code of the host and precompiled headers", test_host_code_with_headers},
    {"code that no kernel needs is left out", test_not_needed},
    {"stopping a compile", test_stopping},
    {"logs", test_log},
    {"out of memory", test_oom},
    {"CUDA's headers", test_digest},
    {"what a source includes first", test_prelude},
    {"CUDA's headers, out of memory", test_digest_oom},
};

int main(int count, char **arguments)
{
    kiln_error *error = NULL;
    if (kiln__nvrtc_open(NULL, &nvrtc, &error) != KILN_OK) {
        printf("SKIP nvrtc: %s\n", kiln_error_message(error));
        kiln_error_free(error);
        return 77;
    }
    int failed = check_main(count, arguments, "compile", cases, sizeof cases / sizeof *cases);
    kiln__nvrtc_close(nvrtc);
    return failed;
}
