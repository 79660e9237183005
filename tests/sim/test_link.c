/* Tests linking: ptx_link() and the driver's cuLink* make one module of several texts. */
#include <cuda.h>

#include "vm_check.h"
#include "cu_graph.h"

#define HEAD ".version 8.0\n.target sm_75\n.address_size 64\n"
#define PARTS_MOST 8

static const char part_a[] = HEAD
    ".extern .func (.param .b32 r) twice(.param .b32 x);\n"
    ".extern .global .align 4 .b8 table[16];\n"
    ".extern .const .align 4 .u32 bias;\n"
    ".visible .global .align 4 .u32 count;\n"
    ".global .align 4 .u32 own = 5;\n"
    ".visible .entry use(.param .u64 to)\n"
    "{ .reg .b64 %a, %t, %o; .reg .b32 %i, %v, %w, %k; .param .b32 x; .param .b32 y;\n"
    "  mov.u32 %i, %tid.x; ld.param.u64 %a, [to]; mul.wide.u32 %o, %i, 4; add.s64 %a, %a, %o;\n"
    "  st.param.b32 [x], %i; call (y), twice, (x); ld.param.b32 %v, [y];\n"
    "  and.b32 %k, %i, 3; mul.wide.u32 %o, %k, 4; mov.u64 %t, table; add.s64 %t, %t, %o;\n"
    "  ld.global.u32 %w, [%t]; add.u32 %v, %v, %w;\n"
    "  ld.const.u32 %w, [bias]; add.u32 %v, %v, %w; ld.global.u32 %w, [own]; add.u32 %v, %v, %w;\n"
    "  st.global.u32 [%a], %v; red.global.add.u32 [count], 1; ret; }\n";
static const char part_b[] = HEAD
    ".extern .global .align 4 .u32 count;\n"
    ".visible .global .align 4 .u32 table[4] = {10, 20, 30, 40};\n"
    ".visible .global .align 8 .u64 where = generic(count);\n"
    ".global .align 4 .u32 own = 1000;\n"
    ".visible .func (.param .b32 r) twice(.param .b32 x)\n"
    "{ .reg .b32 %x; ld.param.b32 %x, [x]; shl.b32 %x, %x, 1; st.param.b32 [r], %x; ret; }\n"
    ".visible .entry counted(.param .u64 to)\n"
    "{ .reg .b64 %a, %p; .reg .b32 %v; ld.param.u64 %a, [to]; ld.global.u64 %p, [where]; ld.u32 %v, [%p];\n"
    "  st.global.u32 [%a], %v; ld.global.u32 %v, [own]; st.global.u32 [%a+4], %v; ret; }\n";
static const char part_c[] = HEAD ".visible .const .align 4 .u32 bias = 100;\n";
/* This part defines a symbol that exists already, so it would clash if the linker used it. */
static const char part_d[] = HEAD
    ".visible .global .align 4 .u32 spare;\n"
    ".visible .func (.param .b32 r) twice(.param .b32 x) { .reg .b32 %x; mov.b32 %x, 1; st.param.b32 [r], %x; ret; }\n";

static bool no_builtin(const char *name) { return strcmp(name, "vprintf") == 0; }

static ptx_result link_parts(const char *const *texts, const char *const *names, const bool *lazy, bool *used,
                             const kiln_allocator *mem, ptx_module **out, kiln__text *log)
{
    ptx_input inputs[PARTS_MOST] = {0};
    uint32_t count = 0;
    ptx_result result = PTX_OK;
    for (; texts[count] && result == PTX_OK; count += result == PTX_OK) {
        result = ptx_parse(mem, texts[count], strlen(texts[count]), &inputs[count].module, log);
        inputs[count].name = names[count];
        inputs[count].lazy = lazy && lazy[count];
    }
    if (result == PTX_OK)
        result = ptx_link(mem, inputs, count, no_builtin, out, log);
    else
        for (uint32_t k = 0; k < count; k++)
            ptx_free(mem, inputs[k].module);
    for (uint32_t k = 0; used && k < count; k++)
        used[k] = inputs[k].used;
    return result;
}
static const char *const a_to_d[] = {"a", "b", "c", "d"};

static vm_bench bench_of(ptx_module *module)
{
    vm_bench b = {0};
    vm_limits limits = {
        .memory = 16 << 20, .shared_per_block = 64 << 10, .step_budget = 1 << 20, .sm_count = 1, .cc = 90};
    kiln__text log = {0};
    b.device = vm_device_new(NULL, &limits);
    CU_ASSERT_EQUAL_FATAL(decode_module_load(b.device, module, &b.module, &log), PTX_OK);
    kiln__text_free(&log);
    return b;
}

static void three_parts(void)
{
    static const char *const orders[][5] = {
        {part_a, part_b, part_c, NULL}, {part_c, part_b, part_a, NULL}, {part_b, part_a, part_c, NULL}};
    for (size_t n = 0; n < KILN__COUNT(orders); n++) {
        kiln__text log = {0};
        ptx_module *module = NULL;
        CU_ASSERT_EQUAL_FATAL(link_parts(orders[n], a_to_d, NULL, NULL, NULL, &module, &log), PTX_OK);
        CU_ASSERT_EQUAL(module->function_count, 3);
        CU_ASSERT_EQUAL(log.length, 0);
        vm_bench b = bench_of(module);
        int *o;
        uint64_t to = vm_bench_zeros(&b, 256, &o);
        vm_bench_run(&b, "use", 1, 48, &to);
        for (int k = 0; k < 48; k++)
            CU_ASSERT_EQUAL(o[k], 2 * k + 10 * (k % 4 + 1) + 100 + 5);
        vm_bench_run(&b, "counted", 1, 1, &to);
        CU_ASSERT_EQUAL(o[0], 48);
        CU_ASSERT_EQUAL(o[1], 1000);
        vm_bench_end(&b);
        kiln__text_free(&log);
    }
}

/* Links these two texts, and compares the lines of the log. */
static void complains(const char *first, const char *second, const char *want)
{
    kiln__text log = {0};
    ptx_module *module = NULL;
    const char *const texts[] = {first, second, NULL};
    CU_ASSERT_EQUAL(link_parts(texts, a_to_d, NULL, NULL, NULL, &module, &log), PTX_INVALID);
    CU_ASSERT_PTR_NULL(module);
    CHECK_TEXT(kiln__text_get(&log), want);
    kiln__text_free(&log);
}

#define E "nvlink error   : "
static void complaints(void)
{
    complains(part_a, part_c, E "Undefined reference to 'twice' in 'a'\n" E "Undefined reference to 'table' in 'a'\n");
    complains(part_b, part_d, E "Multiple definition of 'twice' in 'b', first defined in 'a'\n");
    complains(HEAD ".extern .global .align 4 .b8 x[16];\n", HEAD ".visible .global .align 4 .b8 x[20];\n",
              E "Size doesn't match for 'x' in 'b', first specified in 'a'\n");
    complains(HEAD ".visible .global .align 4 .b8 x[16];\n", HEAD ".extern .const .align 4 .b8 x[16];\n",
              E "Memory space doesn't match for 'x' in 'b', first defined in 'a'\n");
    complains(HEAD ".visible .func (.param .b32 r) f(.param .b32 a) { ret; }\n",
              HEAD ".extern .func f(.param .b32 a);\n",
              E "Prototype doesn't match for 'f' in 'b', first defined in 'a'\n");
    complains(HEAD ".visible .func f() { ret; }\n", HEAD ".visible .entry f() { ret; }\n",
              E "Prototype doesn't match for 'f' in 'b', first defined in 'a'\n");
    complains(HEAD ".visible .func f() { ret; }\n", HEAD ".visible .global .u32 f;\n",
              E "'f' is a function in 'a' and a variable in 'b'\n");
    complains(HEAD ".visible .entry k() { ret; }\n", HEAD ".visible .entry k() { ret; }\n",
              E "Multiple definition of 'k' in 'b', first defined in 'a'\n");
    complains(HEAD ".extern .func f();\n.visible .entry k() { call f; ret; }\n",
              HEAD ".extern .func f();\n.visible .entry l() { call f; call f; ret; }\n",
              E "Undefined reference to 'f' in 'a'\n");
    complains(HEAD ".extern .global .u32 x;\n.visible .global .u64 p = x;\n", HEAD,
              E "Undefined reference to 'x' in 'a'\n");
}

/* A declaration that is not used needs no definition. Built-in functions of the device need no definition either. */
static void nothing_missing(void)
{
    static const char *const texts[] = {
        HEAD ".extern .func f();\n.extern .global .u32 x;\n.extern .shared .align 4 .b8 s[];\n"
             ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n"
             ".visible .entry k() { .reg .b32 %s; .param .b64 a; .param .b64 b; .param .b32 r;\n"
             "  mov.u32 %s, s; st.param.b64 [a], 0; st.param.b64 [b], 0; call (r), vprintf, (a, b); ret; }\n",
        HEAD ".extern .func f();\n.extern .shared .align 4 .b8 s[];\n"
             ".visible .entry l() { .reg .b32 %s; mov.u32 %s, s; ret; }\n",
        NULL};
    kiln__text log = {0};
    ptx_module *module = NULL;
    CU_ASSERT_EQUAL_FATAL(link_parts(texts, a_to_d, NULL, NULL, NULL, &module, &log), PTX_OK);
    CHECK_TEXT(kiln__text_get(&log), "");
    vm_bench b = bench_of(module);
    vm_bench_end(&b);
    kiln__text_free(&log);
}

static uint64_t size_of(const vm_bench *b, const char *name, int *value)
{
    uint64_t address = 0, bytes = 0;
    CU_ASSERT(vm_module_global(b->module, name, &address, &bytes));
    *value = *(const int *)vm_pointer(b->device, address, 4);
    return bytes;
}

/* Links weak and common symbols of several parts: the strong definition, or the largest one, stays. */
static void weak_and_common(void)
{
    static const char *const texts[] = {
        HEAD ".weak .global .u32 w = 1;\n.weak .global .u32 v = 1;\n.common .global .align 4 .b8 c[8];\n"
             ".common .global .align 4 .b32 d;\n"
             ".weak .func (.param .b32 r) f() { .reg .b32 %x; mov.b32 %x, 1; st.param.b32 [r], %x; ret; }\n"
             ".weak .entry same() { .shared .align 4 .b8 box[64]; .reg .b32 %x; mov.u32 %x, box; ret; }\n",
        HEAD ".weak .global .u32 w = 2;\n.visible .global .u32 v = 2;\n.common .global .align 64 .b8 c[40];\n"
             ".visible .global .align 4 .b32 d = 9;\n"
             ".visible .func (.param .b32 r) f() { .reg .b32 %x; mov.b32 %x, 2; st.param.b32 [r], %x; ret; }\n"
             ".weak .entry same() { .shared .align 4 .b8 box[64]; .reg .b32 %x; mov.u32 %x, box; ret; }\n",
        HEAD ".weak .global .u32 w = 3;\n.weak .global .u32 v = 3;\n.common .global .align 4 .b8 c[4];\n"
             ".extern .func (.param .b32 r) f();\n"
             ".visible .entry k(.param .u64 to) { .reg .b64 %a; .reg .b32 %v; .param .b32 r; ld.param.u64 %a, [to];\n"
             "  call (r), f; ld.param.b32 %v, [r]; st.global.u32 [%a], %v; ld.global.u32 %v, [v];\n"
             "  st.global.u32 [%a+4], %v; ret; }\n",
        NULL};
    kiln__text log = {0};
    ptx_module *module = NULL;
    CU_ASSERT_EQUAL_FATAL(link_parts(texts, a_to_d, NULL, NULL, NULL, &module, &log), PTX_OK);
    CU_ASSERT_EQUAL(module->function_count, 3);
    for (uint32_t s = 0; s < module->symbol_count; s++)
        CU_ASSERT(strcmp(module->symbols[s].name, "c") != 0 || module->symbols[s].align == 64);
    vm_bench b = bench_of(module);
    int value, *o;
    CU_ASSERT(size_of(&b, "w", &value) == 4 && value == 1);
    CU_ASSERT(size_of(&b, "v", &value) == 4 && value == 2);
    CU_ASSERT(size_of(&b, "c", &value) == 40 && value == 0);
    CU_ASSERT(size_of(&b, "d", &value) == 4 && value == 9);
    uint64_t to = vm_bench_zeros(&b, 64, &o);
    vm_bench_run(&b, "k", 1, 1, &to);
    CU_ASSERT(o[0] == 2 && o[1] == 2);
    vm_bench_run(&b, "same", 1, 1, NULL);
    vm_bench_end(&b);
    kiln__text_free(&log);
}

static void libraries(void)
{
    /* Only b needs c, and c comes before b. d defines no missing symbol. */
    static const char second[] = HEAD
        ".extern .const .align 4 .u32 bias;\n.visible .func (.param .b32 r) twice(.param .b32 x)\n"
        "{ .reg .b32 %x; ld.const.b32 %x, [bias]; st.param.b32 [r], %x; ret; }\n";
    static const char first[] = HEAD
        ".extern .func (.param .b32 r) twice(.param .b32 x);\n.visible .entry k(.param .u64 to)\n"
        "{ .reg .b64 %a; .reg .b32 %v; .param .b32 x; .param .b32 y; ld.param.u64 %a, [to]; st.param.b32 [x], 1;\n"
        "  call (y), twice, (x); ld.param.b32 %v, [y]; st.global.u32 [%a], %v; ret; }\n";
    static const char *const texts[] = {part_c, first, second, part_d, NULL};
    static const bool lazy[] = {true, false, true, true};
    bool used[4];
    kiln__text log = {0};
    ptx_module *module = NULL;
    CU_ASSERT_EQUAL_FATAL(link_parts(texts, a_to_d, lazy, used, NULL, &module, &log), PTX_OK);
    CU_ASSERT(used[0] && used[1] && used[2] && !used[3]);
    vm_bench b = bench_of(module);
    int *o;
    uint64_t to = vm_bench_zeros(&b, 64, &o);
    vm_bench_run(&b, "k", 1, 1, &to);
    CU_ASSERT_EQUAL(o[0], 100);
    vm_bench_end(&b);
    kiln__text_free(&log);
}

/* A library has very many modules, and each module needs the one before it. A search of all modules for each of them
 * would take hours. The test writes the modules itself, because parsing 300,000 texts would take minutes. */
static void long_library(void)
{
    enum { MODULES = 300000, NAME = 12 };
    ptx_input *inputs = calloc(MODULES, sizeof *inputs);
    ptx_symbol *symbols = calloc((size_t)MODULES * 2, sizeof *symbols);
    char(*names)[NAME] = calloc(MODULES, sizeof *names);
    CU_ASSERT_FATAL(inputs && symbols && names);
    for (uint32_t m = 0; m < MODULES; m++) {
        ptx_symbol *own = &symbols[2 * (size_t)m];
        snprintf(names[m], NAME, "v%u", m);
        own[0] = (ptx_symbol){.name = names[m], .space = PTX_SPACE_GLOBAL, .linkage = PTX_VISIBLE, .bytes = 4};
        own[1] = (ptx_symbol){.name = names[m ? m - 1 : 0], .space = PTX_SPACE_GLOBAL, .linkage = PTX_EXTERN};
        own[0].function = own[1].function = UINT32_MAX;
        inputs[m] = (ptx_input){.module = calloc(1, sizeof(ptx_module)), .name = "member", .lazy = m + 1 < MODULES};
        CU_ASSERT_PTR_NOT_NULL_FATAL(inputs[m].module);
        inputs[m].module->symbols = own;
        inputs[m].module->symbol_count = m ? 2 : 1;
    }
    kiln__text log = {0};
    ptx_module *module = NULL;
    CU_ASSERT_EQUAL(ptx_link(NULL, inputs, MODULES, no_builtin, &module, &log), PTX_OK);
    CU_ASSERT_PTR_NOT_NULL_FATAL(module);
    CU_ASSERT(inputs[0].used && inputs[MODULES / 2].used);
    CU_ASSERT_EQUAL(module->symbol_count, MODULES);
    ptx_free(NULL, module);
    kiln__text_free(&log);
    free(names);
    free(symbols);
    free(inputs);
}

/* Line numbers refer to the file of each part. A body that two names share must be changed only once. */
static void lines_and_aliases(void)
{
    static const char *const texts[] = {
        HEAD ".file 1 \"one.cu\"\n.extern .func f();\n.visible .entry k() { .loc 1 7 0\n call f; ret; }\n",
        HEAD ".file 1 \"two.cu\"\n.global .u32 pad;\n.visible .func f();\n.visible .func g() { .reg .b64 %a;\n"
             " .loc 1 9 0\n"
             "  mov.u64 %a, pad; st.global.u32 [%a+4096], 1; ret; }\n.alias f, g;\n",
        NULL};
    kiln__text log = {0};
    ptx_module *module = NULL;
    CU_ASSERT_EQUAL_FATAL(link_parts(texts, a_to_d, NULL, NULL, NULL, &module, &log), PTX_OK);
    vm_bench b = bench_of(module);
    CU_ASSERT_EQUAL(vm_bench_try(&b, "k", 1, 1, NULL, 0), VM_FAULT_ADDRESS);
    CU_ASSERT_STRING_EQUAL(b.fault.file, "two.cu");
    CU_ASSERT_EQUAL(b.fault.file_line, 9);
    CU_ASSERT_PTR_NOT_NULL(strstr(b.fault.message, "'pad'"));
    vm_bench_end(&b);
    kiln__text_free(&log);
}

/* A weak function is replaced by another one. Its body, parameters and variables must stay for its alias. */
static void alias_of_the_replaced(void)
{
    static const char *const texts[] = {
        HEAD ".weak .func (.param .b32 r) f(.param .b32 x) { ret; }\n"
             ".weak .func (.param .b32 r) g(.param .b32 x) { .reg .b32 %x, %a; .local .align 4 .b8 own[8];\n"
             "  ld.param.b32 %x, [x]; mov.u32 %a, own; st.local.u32 [%a+4], %x; ld.local.u32 %x, [%a+4];\n"
             "  st.param.b32 [r], %x; ret; }\n"
             ".visible .func (.param .b32 r) a(.param .b32 x);\n.alias a, f;\n"
             ".visible .func (.param .b32 r) b(.param .b32 x);\n.alias b, g;\n"
             ".visible .func (.param .b32 r) c(.param .b32 x);\n.alias c, b;\n"
             ".visible .entry k(.param .u64 to) { .reg .b64 %a; .reg .b32 %v; .param .b32 x; .param .b32 r;\n"
             "  ld.param.u64 %a, [to]; st.param.b32 [x], 7; call (r), a, (x);\n"
             "  call (r), b, (x); ld.param.b32 %v, [r]; st.global.u32 [%a], %v;\n"
             "  call (r), c, (x); ld.param.b32 %v, [r]; st.global.u32 [%a+4], %v;\n"
             "  call (r), g, (x); ld.param.b32 %v, [r]; st.global.u32 [%a+8], %v; ret; }\n",
        HEAD ".visible .func (.param .b32 r) f(.param .b32 x) { st.param.b32 [r], 1; ret; }\n"
             ".visible .func (.param .b32 r) g(.param .b32 x) { st.param.b32 [r], 2; ret; }\n",
        NULL};
    const char *const back[] = {texts[1], texts[0], NULL};
    for (int n = 0; n < 2; n++) {
        kiln__text log = {0};
        ptx_module *module = NULL;
        CU_ASSERT_EQUAL_FATAL(link_parts(n == 0 ? texts : back, a_to_d, NULL, NULL, NULL, &module, &log), PTX_OK);
        CHECK_TEXT(kiln__text_get(&log), "");
        vm_bench b = bench_of(module);
        int *o;
        uint64_t to = vm_bench_zeros(&b, 64, &o);
        vm_bench_run(&b, "k", 1, 1, &to);
        CU_ASSERT(o[0] == 7 && o[1] == 7 && o[2] == 2);
        vm_bench_end(&b);
        kiln__text_free(&log);
    }
}

static void out_of_memory(void)
{
    static const char *const texts[] = {part_a, part_b, part_c, part_d, NULL};
    static const bool lazy[] = {false, false, false, true};
    bool done = false;
    for (long n = 0; !done && n < 2000; n++) {
        check_oom oom = {.countdown = n};
        kiln_allocator mem = {check_oom_resize, &oom};
        kiln__text log = {0};
        ptx_module *module = NULL;
        ptx_result result = link_parts(texts, a_to_d, lazy, NULL, &mem, &module, &log);
        CU_ASSERT_EQUAL(result, oom.failed ? PTX_MEMORY : PTX_OK);
        done = !oom.failed;
        ptx_free(&mem, module);
        CU_ASSERT_EQUAL(oom.live, 0);
        kiln__text_free(&log);
    }
    CU_ASSERT(done);
}

/* ---- the driver's functions ---- */

#define OK(call) CHECK((call) == CUDA_SUCCESS)
static CUdevice device;
static CUcontext primary;
static CUlinkState state;
static char error_log[2048];

static void open_link(void)
{
    static CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    static void *values[2];
    values[0] = error_log;
    values[1] = (void *)(uintptr_t)sizeof error_log;
    memset(error_log, 0, sizeof error_log);
    OK(sim_cuInit(0));
    OK(sim_cuDeviceGet(&device, 0));
    OK(sim_cuDevicePrimaryCtxRetain(&primary, device));
    OK(sim_cuCtxSetCurrent(primary));
    OK(sim_cuLinkCreate(2, options, values, &state));
}
static void close_link(void)
{
    OK(sim_cuLinkDestroy(state));
    CHECK(sim_cuLinkDestroy(state) == CUDA_ERROR_INVALID_HANDLE);
    OK(sim_cuCtxSetCurrent(NULL));
    OK(sim_cuDevicePrimaryCtxRelease(device));
}
static CUresult add(CUjitInputType type, const char *text, const char *name)
{
    return sim_cuLinkAddData(state, type, (void *)(uintptr_t)text, strlen(text) + 1, name, 0, NULL, NULL);
}

static void through_the_driver(void)
{
    open_link();
    void *image = NULL;
    size_t size = 0;
    OK(add(CU_JIT_INPUT_PTX, part_a, "a.ptx"));
    OK(add(CU_JIT_INPUT_PTX, part_b, NULL));
    OK(sim_cuLinkAddFile(state, CU_JIT_INPUT_FATBINARY, KILN_TEST_DATA "/fatbin/zstd.fatbin", 0, NULL, NULL));
    OK(sim_cuLinkComplete(state, &image, &size));
    CHECK(size > 0 && error_log[0] == '\0');
    CHECK(add(CU_JIT_INPUT_PTX, part_c, "c") == CUDA_ERROR_INVALID_VALUE);
    CHECK(sim_cuLinkComplete(state, &image, &size) == CUDA_ERROR_INVALID_VALUE);
    CUmodule module = NULL;
    CUfunction use = NULL;
    CUdeviceptr to = 0;
    OK(sim_cuModuleLoadData(&module, image));
    close_link();
    /* the end of the context has freed the function */
    CHECK(sim_cuModuleGetFunction(&use, module, "use") == CUDA_ERROR_INVALID_CONTEXT);
    open_link();
    OK(add(CU_JIT_INPUT_PTX, part_a, "a.ptx"));
    OK(add(CU_JIT_INPUT_PTX, part_b, NULL));
    OK(add(CU_JIT_INPUT_PTX, part_c, NULL));
    OK(sim_cuLinkComplete(state, &image, NULL));
    OK(sim_cuModuleLoadData(&module, image));
    OK(sim_cuModuleGetFunction(&use, module, "use"));
    OK(sim_cuMemAlloc(&to, 128));
    void *arguments[] = {&to};
    OK(sim_cuLaunchKernel(use, 1, 1, 1, 32, 1, 1, 0, NULL, arguments, NULL));
    int o[32];
    OK(sim_cuMemcpyDtoH(o, to, sizeof o));
    CHECK(o[31] == 62 + 40 + 105);
    OK(sim_cuMemFree(to));
    CUlibrary library = NULL;
    OK(sim_cuLibraryLoadData(&library, image, NULL, NULL, 0, NULL, NULL, 0));
    OK(sim_cuLibraryUnload(library));
    close_link();
}

static void refused_by_the_driver(void)
{
    open_link();
    void *image = NULL;
    CHECK(sim_cuLinkComplete(state, &image, NULL) == CUDA_ERROR_INVALID_IMAGE);
    CHECK(add(CU_JIT_INPUT_PTX, HEAD ".visible .entry k() { frobnicate; }\n", "bad.ptx") == CUDA_ERROR_INVALID_PTX);
    CHECK(strstr(error_log, "frobnicate") && strstr(error_log, "in 'bad.ptx'"));
    CHECK(add(CU_JIT_INPUT_NVVM, part_c, "x") == CUDA_ERROR_NOT_SUPPORTED);
    CHECK(add(CU_JIT_INPUT_FATBINARY, part_c, "x") == CUDA_ERROR_INVALID_IMAGE);
    CHECK(add(CU_JIT_INPUT_PTX, "!<arch>\n", "x") == CUDA_ERROR_INVALID_PTX);
    CHECK(add((CUjitInputType)77, part_c, "x") == CUDA_ERROR_INVALID_VALUE);
    CHECK(sim_cuLinkAddData(state, CU_JIT_INPUT_PTX, NULL, 5, "x", 0, NULL, NULL) == CUDA_ERROR_INVALID_VALUE);
    CHECK(sim_cuLinkAddData(state, CU_JIT_INPUT_PTX, (void *)(uintptr_t)part_c, 0, "x", 0, NULL, NULL) ==
          CUDA_ERROR_INVALID_VALUE);
    CHECK(sim_cuLinkAddFile(state, CU_JIT_INPUT_PTX, "/no/such/file", 0, NULL, NULL) == CUDA_ERROR_FILE_NOT_FOUND);
    CHECK(sim_cuLinkAddData((CUlinkState)primary, CU_JIT_INPUT_PTX, (void *)(uintptr_t)part_c, sizeof part_c, "x", 0,
                            NULL, NULL) == CUDA_ERROR_INVALID_HANDLE);
    CHECK(sim_cuLinkCreate(0, NULL, NULL, NULL) == CUDA_ERROR_INVALID_VALUE);
    OK(add(CU_JIT_INPUT_PTX, part_a, "a.ptx")); /* nothing of the refused input is left */
    CHECK(sim_cuLinkComplete(state, &image, NULL) == CUDA_ERROR_INVALID_PTX);
    CHECK(strstr(error_log, "Undefined reference to 'table' in 'a.ptx'") != NULL);
    CHECK(sim_cuLinkComplete(state, &image, NULL) == CUDA_ERROR_INVALID_VALUE);
    close_link();
}

/* A module that launches kernels loads without linking. A module that waits for these kernels does not load for compute
 * capability 9.0. */
static void device_runtime(void)
{
    static const char text[] = HEAD ".extern .func (.param .b32 r) cudaDeviceSynchronize();\n"
                                    ".visible .entry k() { .param .b32 r; call (r), cudaDeviceSynchronize; ret; }\n";
    open_link();
    char *child = NULL;
    size_t length = 0, pending = 0;
    CUmodule module = NULL;
    CUfunction tree = NULL;
    CUdeviceptr to = 0;
    kiln_error *error = NULL;
    CHECK(sim_cuModuleLoadData(&module, text) == CUDA_ERROR_UNSUPPORTED_DEVSIDE_SYNC);
    CHECK_OK(kiln__file_read(NULL, KILN_TEST_PTX "/vm/child.ptx", 0, &child, &length, &error), error);
    OK(sim_cuModuleLoadData(&module, child));
    OK(sim_cuModuleGetFunction(&tree, module, "pending"));
    OK(sim_cuMemAlloc(&to, 64));
    OK(sim_cuCtxSetLimit(CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT, 7));
    OK(sim_cuCtxGetLimit(&pending, CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT));
    CHECK(pending == 7);
    CHECK(sim_cuCtxGetLimit(&pending, CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH) == CUDA_ERROR_UNSUPPORTED_LIMIT);
    int times = 100, o[3] = {0};
    void *arguments[] = {&to, &times};
    OK(sim_cuMemsetD8(to, 0, 64));
    OK(sim_cuLaunchKernel(tree, 1, 1, 1, 1, 1, 1, 0, NULL, arguments, NULL));
    OK(sim_cuMemcpyDtoH(o, to, sizeof o));
    CHECK(o[0] == 7 && o[1] == 69 && o[2] == 7);
    OK(sim_cuModuleGetFunction(&tree, module, "asks"));
    CUdeviceptr limit = to + 48;
    void *two[] = {&to, &limit};
    int asked[12];
    OK(sim_cuLaunchKernel(tree, 1, 1, 1, 1, 1, 1, 0, NULL, two, NULL));
    OK(sim_cuMemcpyDtoH(asked, to, sizeof asked));
    int sms = 0, blocks = 0;
    CUfunction other = NULL;
    OK(sim_cuDeviceGetAttribute(&sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device));
    OK(sim_cuModuleGetFunction(&other, module, "add"));
    OK(sim_cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, other, 256, 0));
    CHECK(asked[1] == sms && asked[11] == blocks && blocks > 0);
    kiln__free(NULL, child);
    close_link();
}

/* The kernel tells the host that it runs, waits for the host, and asks for the limit of pending launches. */
static const char waiter[] = HEAD
    ".extern .func (.param .b32 r) cudaDeviceGetLimit (.param .b64 p, .param .b32 q);\n"
    ".visible .entry k(.param .u64 a) { .reg .b64 %d; .reg .b32 %x; .reg .pred %p;\n"
    ".param .b64 p; .param .b32 q; .param .b32 r; ld.param.u64 %d, [a]; st.volatile.global.u32 [%d], 1;\n"
    "L: ld.volatile.global.u32 %x, [%d+4]; setp.eq.u32 %p, %x, 0; @%p bra L; add.u64 %d, %d, 8;\n"
    "st.param.b64 [p], %d; st.param.b32 [q], 4; call (r), cudaDeviceGetLimit, (p, q); ret; }\n";

/* Sets the limit while the kernel runs. */
static void *set_limit(void *argument)
{
    volatile uint32_t *said = argument;
    while (!said[0])
        sched_yield();
    CHECK(sim_cuCtxSetCurrent(primary) == CUDA_SUCCESS &&
          sim_cuCtxSetLimit(CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT, 9) == CUDA_SUCCESS);
    said[1] = 1;
    return NULL;
}

/* A running kernel keeps the limits that were set at its launch. */
static void limits_of_a_launch(void)
{
    open_link();
    CUmodule module = NULL;
    CUfunction k = NULL;
    CUdeviceptr at = 0;
    void *said = NULL, *arguments[] = {&at};
    pthread_t thread;
    size_t pending = 0;
    OK(sim_cuModuleLoadData(&module, waiter));
    OK(sim_cuModuleGetFunction(&k, module, "k"));
    OK(sim_cuMemHostAlloc(&said, 16, CU_MEMHOSTALLOC_DEVICEMAP));
    memset(said, 0, 16);
    OK(sim_cuMemHostGetDevicePointer(&at, said, 0));
    OK(sim_cuCtxSetLimit(CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT, 7));
    CHECK(pthread_create(&thread, NULL, set_limit, said) == 0);
    OK(sim_cuLaunchKernel(k, 1, 1, 1, 1, 1, 1, 0, NULL, arguments, NULL));
    OK(sim_cuCtxSynchronize());
    pthread_join(thread, NULL);
    uint64_t asked;
    memcpy(&asked, (char *)said + 8, sizeof asked);
    CHECK(asked == 7);
    OK(sim_cuCtxGetLimit(&pending, CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT));
    CHECK(pending == 9);
    OK(sim_cuMemFreeHost(said));
    close_link();
}

static const check_case cases[] = {{"three parts", three_parts},
                                   {"complaints", complaints},
                                   {"nothing missing", nothing_missing},
                                   {"weak and common", weak_and_common},
                                   {"libraries", libraries},
                                   {"a long library", long_library, CHECK_ONE_THREAD},
                                   {"lines and aliases", lines_and_aliases},
                                   {"alias of the replaced", alias_of_the_replaced},
                                   {"out of memory", out_of_memory},
                                   {"through the driver", through_the_driver},
                                   {"refused by the driver", refused_by_the_driver},
                                   {"the device runtime", device_runtime},
                                   {"limits of a launch", limits_of_a_launch}};
KILN_SUITE("sim link", cases)
