/* Modules, libraries, functions. */
#include "cu_check.h"

#define NEWER ".version 8.8\n.target sm_100\n.address_size 64\n.visible .entry k()"

/* ---- modules ---- */

static CUresult try_load(const char *image, char *log, size_t size)
{
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)(uintptr_t)size};
    CUmodule module = NULL;
    CUresult result = call_cuModuleLoadDataEx(&module, image, 2, options, values);
    CHECK((size_t)(uintptr_t)values[1] == strlen(log));
    CHECK(result == CUDA_SUCCESS || module == NULL);
    return result;
}

/* Tests images that load and images that fail: the errors, and the messages in the log of the caller. */
static void test_images(void)
{
    open_device();
    char log[1024] = "", small[8] = "";
    CUmodule module;
    FAILS(INVALID_PTX, try_load(HEAD ".visible .entry k() { frobnicate.b32 %r1; ret; }\n", log, sizeof log));
    CHECK(strstr(log, "frobnicate") && strstr(log, "line 4"));
    FAILS(INVALID_PTX, try_load(HEAD ".visible .entry k() { frobnicate.b32 %r1; ret; }\n", small, sizeof small));
    CHECK(strlen(small) == 7);
    FAILS(NO_BINARY_FOR_GPU, try_load("\x7f"
                                      "ELF\x02\x01",
                                      log, sizeof log));
    CHECK(strstr(log, "PTX only") != NULL);
    FAILS(NO_BINARY_FOR_GPU, try_load("\x50\xed\x55\xba\1\0\x10\0\0\0\0\0\0\0\0\0", log, sizeof log));
    FAILS(INVALID_IMAGE, try_load("", log, sizeof log));
    FAILS(INVALID_IMAGE, try_load("hello", log, sizeof log));
    OK(try_load(NEWER "{ ret; }\n", log, sizeof log));
    FAILS(INVALID_PTX, try_load(NEWER "{\n.reg .b64 %r<3>;\nadd.f32x2 %r1, %r2, %r2;\nret; }\n", log, sizeof log));
    CHECK(strstr(log, "line 6; error   : 'add.f32x2' needs .target sm_100 or higher; the device has sm_90"));
    FAILS(INVALID_PTX, try_load(HEAD ".visible .entry k() { .reg .f32 %r<2>; redux.sync.min.f32 %r1, %r1, -1; }\n", log,
                                sizeof log));
    CHECK(strstr(log, "line 4; error   : 'redux.sync.min.f32' needs .target sm_100f; the device has sm_90"));
    setenv("KILN_SIM_TARGET", "strict", 1);
    FAILS(INVALID_PTX, try_load(NEWER "{ ret; }\n", log, sizeof log));
    CHECK(strstr(log, "sm_100") && strstr(log, "sm_90"));
    unsetenv("KILN_SIM_TARGET");
    OK(try_load(".version 8.0\n.target sm_90a\n.address_size 64\n", log, sizeof log));
    FAILS(INVALID_PTX, try_load(".version 8.8\n.target sm_86a\n.address_size 64\n", log, sizeof log));
    CHECK(strstr(log, "sm_86a runs on that architecture alone"));
    FAILS(UNSUPPORTED_PTX_VERSION, try_load(".version 10.0\n.target sm_80\n.address_size 64\n", log, sizeof log));
    FAILS(INVALID_VALUE, call_cuModuleLoadDataEx(&module, NULL, 0, NULL, NULL));
    FAILS(INVALID_VALUE, call_cuModuleLoadDataEx(NULL, saxpy, 0, NULL, NULL));
    FAILS(INVALID_VALUE, call_cuModuleLoadDataEx(&module, saxpy, 1, NULL, NULL));
    CUjit_option unknown[] = {(CUjit_option)1000};
    void *values[] = {NULL};
    FAILS(INVALID_VALUE, call_cuModuleLoadDataEx(&module, saxpy, 1, unknown, values));
    CUjit_option advice[] = {CU_JIT_OPTIMIZATION_LEVEL, CU_JIT_WALL_TIME};
    void *more[] = {(void *)(uintptr_t)4, NULL};
    OK(call_cuModuleLoadDataEx(&module, saxpy, 2, advice, more));
    float milliseconds;
    memcpy(&milliseconds, &more[1], sizeof milliseconds);
    CHECK(milliseconds > 0);
    OK(call_cuModuleUnload(module));
    FAILS(INVALID_HANDLE, call_cuModuleUnload(module));
    close_device();
}

static void test_modules(void)
{
    open_device();
    CUmodule module = load(saxpy);
    CUfunction function = kernel(module, "saxpy"), again = kernel(module, "saxpy"), none = NULL;
    CHECK(function == again);
    FAILS(NOT_FOUND, call_cuModuleGetFunction(&none, module, "nothing"));
    FAILS(INVALID_VALUE, call_cuModuleGetFunction(&none, module, ""));
    FAILS(INVALID_HANDLE, call_cuModuleGetFunction(&none, (CUmodule)(uintptr_t)0x77, "saxpy"));
    CUdeviceptr pointer = 0;
    size_t bytes = 0;
    OK(call_cuModuleGetGlobal(&pointer, &bytes, module, "answer"));
    unsigned answer = 0;
    CHECK(bytes == 4);
    OK(call_cuMemcpyDtoH(&answer, pointer, 4));
    CHECK(answer == 42);
    OK(call_cuModuleGetGlobal(&pointer, &bytes, module, "table"));
    CHECK(bytes == 16);
    unsigned table[4] = {1, 2, 3, 4}, back[4] = {0};
    OK(call_cuMemcpyHtoD(pointer, table, sizeof table));
    OK(call_cuMemcpyDtoH(back, pointer, sizeof back));
    CHECK(memcmp(table, back, sizeof back) == 0);
    FAILS(INVALID_VALUE, call_cuMemcpyHtoD(pointer + 8, table, sizeof table));
    FAILS(INVALID_VALUE, call_cuMemFree(pointer)); /* the module's */
    FAILS(NOT_FOUND, call_cuModuleGetGlobal(&pointer, &bytes, module, "question"));

    int value = 0;
    OK(call_cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function));
    CHECK(value == 1024);
    OK(call_cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, kernel(module, "bounded")));
    CHECK(value == 64);
    OK(call_cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, function));
    CHECK(value > 0 && value < 256);
    OK(call_cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_PTX_VERSION, function));
    CHECK(value == 80);
    OK(call_cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function));
    CHECK(value == 0);
    OK(call_cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, function));
    CHECK(value == 49152);
    FAILS(INVALID_VALUE, call_cuFuncGetAttribute(&value, (CUfunction_attribute)999, function));
    FAILS(INVALID_HANDLE, call_cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, NULL));
    size_t offset = 0, size = 0;
    static const size_t offsets[] = {0, 8, 16, 20}, sizes[] = {8, 8, 4, 4};
    for (size_t i = 0; i < 4; i++) {
        OK(call_cuFuncGetParamInfo(function, i, &offset, &size));
        CHECK(offset == offsets[i] && size == sizes[i]);
    }
    FAILS(INVALID_VALUE, call_cuFuncGetParamInfo(function, 4, &offset, &size));
    OK(call_cuModuleUnload(module));
    FAILS(INVALID_HANDLE, call_cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, function));
    FAILS(INVALID_HANDLE, launch(function, 1, 1, 0, NULL));
    close_device();
}

static void test_libraries(void)
{
    open_device();
    CUlibrary library = NULL, owner = NULL;
    CUmodule module = NULL, of = NULL;
    CUkernel found = NULL, all[8] = {NULL};
    CUfunction function = NULL, every[8] = {NULL};
    CUdeviceptr pointer = 0;
    size_t bytes = 0;
    unsigned count = 0;
    int value = 0;
    const char *name = "";
    char path[] = "/tmp/kiln-test-cu-XXXXXX";
    OK(call_cuLibraryLoadData(&library, saxpy, NULL, NULL, 0, NULL, NULL, 0));
    FAILS(INVALID_VALUE, call_cuLibraryLoadData(&library, NULL, NULL, NULL, 0, NULL, NULL, 0));
    OK(call_cuLibraryGetKernelCount(&count, library));
    CHECK(count == 3);
    OK(call_cuLibraryEnumerateKernels(all, 8, library));
    CHECK(all[0] && all[2] && !all[3]);
    OK(call_cuLibraryGetKernel(&found, library, "bounded"));
    FAILS(NOT_FOUND, call_cuLibraryGetKernel(&found, library, "unbounded"));
    OK(call_cuKernelGetName(&name, found));
    CHECK_TEXT(name, "bounded");
    OK(call_cuKernelGetLibrary(&owner, found));
    CHECK(owner == library);
    OK(call_cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, found, device));
    CHECK(value == 64);
    OK(call_cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 1000, found, device));
    OK(call_cuKernelGetFunction(&function, found));
    OK(call_cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, function));
    CHECK(value == 1000);
    OK(launch(function, 1, 64, 0, NULL));
    OK(launch((CUfunction)(uintptr_t)found, 1, 64, 0, NULL)); /* cuLaunchKernel also accepts the handle of a kernel */
    OK(call_cuLibraryGetGlobal(&pointer, &bytes, library, "answer"));
    CHECK(bytes == 4);
    FAILS(NOT_FOUND, call_cuLibraryGetManaged(&pointer, &bytes, library, "answer"));
    OK(call_cuLibraryGetModule(&module, library));
    OK(call_cuFuncGetModule(&of, function));
    CHECK(of == module);
    FAILS(NOT_PERMITTED, call_cuModuleUnload(module));
    OK(call_cuLibraryUnload(library));
    FAILS(INVALID_HANDLE, call_cuLibraryUnload(library));
    FAILS(INVALID_HANDLE, call_cuKernelGetName(&name, found));

    int file = mkstemp(path);
    CHECK(file >= 0 && write(file, saxpy, sizeof saxpy - 1) == (ssize_t)(sizeof saxpy - 1));
    close(file);
    OK(call_cuModuleLoad(&module, path));
    OK(call_cuLibraryLoadFromFile(&library, path, NULL, NULL, 0, NULL, NULL, 0));
    unlink(path);
    FAILS(FILE_NOT_FOUND, call_cuModuleLoad(&of, path));
    OK(call_cuModuleGetFunctionCount(&count, module));
    CHECK(count == 3);
    OK(call_cuModuleEnumerateFunctions(every, 2, module));
    CHECK(every[0] && every[1] && !every[2]);
    OK(call_cuFuncGetName(&name, every[0]));
    CHECK_TEXT(name, "saxpy");
    FAILS(INVALID_HANDLE, call_cuKernelGetLibrary(&owner, (CUkernel)(uintptr_t)every[0]));
    CUfunctionLoadingState state;
    OK(call_cuFuncIsLoaded(&state, every[0]));
    CHECK(state == CU_FUNCTION_LOADING_STATE_LOADED);
    OK(call_cuFuncSetCacheConfig(every[0], CU_FUNC_CACHE_PREFER_SHARED));
    close_device();
}

/* Initial values are constant expressions of 64 bits. An expression is signed if both sides are signed; a shift is
 * signed if its left side is. */
static void test_constants(void)
{
    static const struct {
        const char *type, *text;
        uint64_t value;
    } rows[] = {
        {"u64", "7 / 2", 3},
        {"s64", "-7 / 2", (uint64_t)-3},
        {"s64", "-7 % 3", (uint64_t)-1},
        {"u64", "7 % 3", 1},
        {"u64", "0xfffffffffffffff9U / 2U", 0x7ffffffffffffffc},
        {"u64", "0xffffffffffffffffU % 10U", 5},
        {"s64", "(-9223372036854775807 - 1) / -1", 0x8000000000000000},
        {"s64", "(-9223372036854775807 - 1) % -1", 0},
        {"u64", "2 + 3 * 4", 14},
        {"u64", "(2 + 3) * 4", 20},
        {"u64", "10 - 4 - 3", 3},
        {"u64", "1 << 40", 1ull << 40},
        {"u64", "1 << 64", 0},
        {"s64", "-16 >> 2", (uint64_t)-4},
        {"s64", "-1 >> 99", (uint64_t)-1},
        {"u64", "0x8000000000000000U >> 63", 1},
        {"u64", "1U >> 64", 0},
        {"u64", "6 & 3", 2},
        {"u64", "6 | 3", 7},
        {"u64", "6 ^ 3", 5},
        {"u64", "~0", UINT64_MAX},
        {"u64", "!5", 0},
        {"u64", "!0", 1},
        {"s64", "+4", 4},
        {"u64", "3 == 3", 1},
        {"u64", "3 != 3", 0},
        {"u64", "-1 < 1", 1},
        {"u64", "-1 > 1", 0},
        {"u64", "2 <= 2", 1},
        {"u64", "2 >= 3", 0},
        {"u64", "0xffffffffffffffffU < 1U", 0},
        {"u64", "0xffffffffffffffffU > 1U", 1},
        {"u64", "1U <= 0U", 0},
        {"u64", "1U >= 0U", 1},
        {"u64", "2 && 0", 0},
        {"u64", "2 && 4", 1},
        {"u64", "0 || 0", 0},
        {"u64", "0 || 8", 1},
        {"u64", "1 ? 11 : 12", 11},
        {"u64", "3 - 3 ? 11 : 12", 12},
        {"s64", "(.s64)(5 - 6)", UINT64_MAX},
        {"u64", "(.u64)4", 4},
        {"f64", "1.5", 0x3ff8000000000000},
        {"f64", "-1.5", 0xbff8000000000000},
        {"f64", "0d4000000000000000", 0x4000000000000000},
        {"f64", "1.0 ? 2.0 : 3.0", 0x4000000000000000},
        {"f64", "0.0 ? 2.0 : 3.0", 0x4008000000000000},
    };
    static const struct {
        const char *text, *says;
    } bad[] = {{"1 / 0", "division by zero in a constant"},
               {"1 % 0", "division by zero in a constant"},
               {"1.5 + 1", "no arithmetic with floating-point numbers"},
               {"~1.5", "'~' needs an integer"},
               {"!1.5", "'!' needs an integer"},
               {"(1", ""},
               {"1 ? 2", ""},
               {"1 +", ""}};
    open_device();
    kiln__text text = {0};
    kiln__text_puts(&text, HEAD);
    for (size_t i = 0; i < KILN__COUNT(rows); i++)
        kiln__text_printf(&text, ".visible .global .%s v%zu = %s;\n", rows[i].type, i, rows[i].text);
    CUmodule module = load(kiln__text_get(&text));
    for (size_t i = 0; i < KILN__COUNT(rows); i++) {
        char name[16];
        CUdeviceptr address = 0;
        uint64_t got = 0;
        size_t bytes = 0;
        snprintf(name, sizeof name, "v%zu", i);
        OK(call_cuModuleGetGlobal(&address, &bytes, module, name));
        OK(call_cuMemcpyDtoH(&got, address, sizeof got));
        if (got != rows[i].value)
            fprintf(stderr, "%s: %llx\n", rows[i].text, (unsigned long long)got);
        CHECK(bytes == 8 && got == rows[i].value);
    }
    kiln__text_free(&text);
    for (size_t i = 0; i < KILN__COUNT(bad); i++) {
        char image[512], log[1024] = "";
        snprintf(image, sizeof image, "%s.visible .global .u64 v = %s;\n", HEAD, bad[i].text);
        FAILS(INVALID_PTX, try_load(image, log, sizeof log));
        CHECK(log[0] && strstr(log, bad[i].says) != NULL);
    }
    close_device();
}

static const check_case cases[] = {
    {"images", test_images}, {"modules", test_modules}, {"libraries", test_libraries}, {"constants", test_constants}};
CU_SUITE("sim cu module", cases)
