/* Tests the time to load a large module. It has 5 MB of PTX, which NVRTC makes from CUB's radix sort, cuRAND and
 * double-precision functions. The test prints the figures in processor time. An algorithm that is quadratic in the text
 * would take minutes, so the bound is 20 s. */
#include <malloc.h>
#include <time.h>

#include "run.h"

static const char *const sources[] = {
    "#include <cub/block/block_radix_sort.cuh>\n"
    "extern \"C\" __global__ void k(double *p)\n"
    "{\n"
    "    using sort = cub::BlockRadixSort<double, 128, 7>;\n"
    "    __shared__ typename sort::TempStorage room;\n"
    "    double v[7];\n"
    "    for (int i = 0; i < 7; i++) v[i] = p[threadIdx.x * 7 + i];\n"
    "    sort(room).Sort(v);\n"
    "    for (int i = 0; i < 7; i++) p[threadIdx.x * 7 + i] = v[i];\n"
    "}\n",
    "#include <curand_kernel.h>\n"
    "extern \"C\" __global__ void k(double *p)\n"
    "{\n"
    "    curandStateXORWOW_t s;\n"
    "    curand_init(1ull, threadIdx.x, 0, &s);\n"
    "    p[threadIdx.x] = curand_poisson(&s, 100.0) + curand_normal_double(&s);\n"
    "}\n",
    "extern \"C\" __global__ void k(double *p)\n"
    "{\n"
    "    double x = p[threadIdx.x];\n"
    "    p[threadIdx.x] = tgamma(x) + erfcinv(x) + pow(x, 1.5) + y1(x) + sin(x) + lgamma(x) + cbrt(x) + normcdf(x);\n"
    "}\n",
};

static void *count_resize(void *user, void *pointer, size_t size)
{
    uint64_t *held = user;
    *held -= pointer ? malloc_usable_size(pointer) : 0;
    if (size == 0) {
        free(pointer);
        return NULL;
    }
    void *made = realloc(pointer, size);
    *held += made ? malloc_usable_size(made) : pointer ? malloc_usable_size(pointer) : 0;
    return made;
}

/* Writes the module's only kernel again and again, each time with another name, until the text has `length` bytes. */
static void repeat(kiln__text *out, const char *ptx, size_t length)
{
    const char *entry = strstr(ptx, ".visible .entry k("), *rest = entry ? strchr(entry, '(') : NULL;
    const char *end = rest ? strstr(rest, "\n}\n") : NULL;
    CU_ASSERT_PTR_NOT_NULL_FATAL(end);
    kiln__text_add(out, ptx, (size_t)(entry - ptx));
    for (unsigned n = 0; out->length < length; n++) {
        kiln__text_printf(out, ".visible .entry k%u", n);
        kiln__text_add(out, rest, (size_t)(end + 3 - rest));
    }
    kiln__text_puts(out, end + 3); /* functions that it calls */
}

static uint64_t processor_ns(void)
{
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
}

/* Parses and decodes one module, and prints the time and the memory that it takes. */
static void load(const char *what, const char *text, size_t length)
{
    vm_limits limits = {.memory = 1 << 24, .shared_per_block = 227u << 10, .sm_count = 4, .cc = 90};
    uint64_t held = 0;
    kiln_allocator mem = {.user = &held, .resize = count_resize};
    kiln__text log = {0};
    ptx_module *ptx = NULL;
    vm_module *module = NULL;
    vm_device *device = vm_device_new(&mem, &limits);
    uint64_t empty = held, begun = processor_ns(), parsed, done;
    ptx_result result = ptx_parse(&mem, text, length, &ptx, &log);
    parsed = processor_ns();
    if (result == PTX_OK)
        result = decode_module_load(device, ptx, &module, &log);
    done = processor_ns();
    if (result != PTX_OK)
        fprintf(stderr, "%s", kiln__text_get(&log));
    CU_ASSERT_EQUAL_FATAL(result, PTX_OK);
    printf("%s: %.1f MB, parsed in %.0f ms, decoded in %.0f ms, %.1f bytes held a byte of PTX\n", what,
           (double)length * 1e-6, (double)(parsed - begun) * 1e-6, (double)(done - parsed) * 1e-6,
           (double)(held - empty) / (double)length);
    CHECK(held - empty < 18 * (uint64_t)length); /* an instruction has room for 8 operands */
    CHECK(done - begun < UINT64_C(20000000000));
    vm_module_unload(device, module);
    vm_device_free(device);
    CHECK(held == 0);
    kiln__text_free(&log);
}

static void test_load(void)
{
    static const char *const names[] = {"CUB's radix sort", "cuRAND", "double precision functions"};
    printf("\n");
    for (size_t i = 0; i < KILN__COUNT(sources); i++) {
        if (strstr(sources[i], "curand_kernel.h") && !run_has("curand_kernel.h", names[i]))
            continue;
        char *ptx = run_compile(names[i], sources[i]);
        kiln__text text = {0};
        repeat(&text, ptx, 5000000);
        load(names[i], kiln__text_get(&text), text.length);
        kiln__text_free(&text);
        kiln__free(NULL, ptx);
    }
}

static const check_case cases[] = {{"5 MB of PTX", test_load}};
RUN_SUITE("corpus.load", cases)
