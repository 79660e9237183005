/* Tests outputs that the device compares with their reference. The device must count the same numbers as the host, for
 * values of every kind. */
#include <math.h>
#include <unistd.h>

#include "check.h"
#include "count_internal.h"
#include "layout_internal.h"
#include "plan_internal.h"
#include "shared_internal.h"

static const char source[] = "extern \"C\" __global__ void twice(const float *x, float *y)\n"
                             "{\n"
                             "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                             "    y[i] = 2 * x[i] * (1 + 1e-6f * MORE) + (i == WRONG);\n"
                             "    if (i == CHANGED)\n"
                             "        ((float *)x)[i] = 5;\n"
                             "}\n";
static const char text[] =
    "kiln: 1\nname: count\nsource: count.cu\nsizes: {default: {N: 1024}}\n"
    "buffers:\n"
    "  x: {type: f32, shape: [N], fill: {uniform: [1, 2], seed: 1}}\n"
    "  y: {type: f32, shape: [N], out: true}\n"
    "verify: {y: {against: {variant: right}, rtol: 1e-4}}\n"
    "variants:\n"
    "  right: {params: {MORE: [0], WRONG: [-1], CHANGED: [-1]}, launch: &l {kernel: twice, grid: [8], block: [128], args: [x, y]}}\n"
    "  other: {params: {MORE: [10, 1000], WRONG: [-1, 700], CHANGED: [-1, 3]}, launch: *l}\n";

typedef struct fixture {
    char folder[64];
    kiln_engine *engine;
    kiln_spec *spec;
    kiln__shared *shared;
} fixture;

static void setup(fixture *f)
{
    char path[128];
    kiln_error *error = NULL;
    memset(f, 0, sizeof *f);
    strcpy(f->folder, "/tmp/kiln-count-XXXXXX");
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(f->folder));
    snprintf(path, sizeof path, "%s/count.cu", f->folder);
    FILE *file = fopen(path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CHECK(fputs(source, file) >= 0 && fclose(file) == 0);
    snprintf(path, sizeof path, "%s/count.yaml", f->folder);
    const kiln_options options = {
        .size = sizeof options, .device = "sim", .cache_dir = f->folder, .flags = KILN_NO_WORKERS};
    CHECK_OK(kiln_engine_open(&options, &f->engine, &error), error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(f->engine);
    CHECK_OK(kiln_spec_parse(f->engine, text, strlen(text), path, &f->spec, &error), error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(f->spec);
    CHECK_OK(kiln__shared_open(f->engine, f->spec, &f->shared, &error), error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(f->shared);
    f->shared->count_least = 1; /* otherwise a simulated device would leave so few elements to the host */
}

static void teardown(fixture *f)
{
    char command[128];
    kiln__shared_free(f->shared);
    kiln_spec_free(f->spec);
    kiln_engine_close(f->engine);
    snprintf(command, sizeof command, "rm -rf '%s'", f->folder);
    CHECK(system(command) == 0);
}

/* Opens a plan of the variant `other`. */
static kiln_plan *open_plan(fixture *f, int64_t more, int wrong, int changed)
{
    kiln_plan *plan = NULL;
    kiln_error *error = NULL;
    const kiln_setting params[] = {{"MORE", {KILN_INT, {.i = more}}},
                                   {"WRONG", {KILN_INT, {.i = wrong}}},
                                   {"CHANGED", {KILN_INT, {.i = changed}}}};
    const kiln_choice choice = {.variant = "other", .params = params, .param_count = KILN__COUNT(params)};
    CHECK_OK(kiln_plan_open(f->engine, f->spec, &choice, &plan, &error), error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(plan);
    kiln__plan_share(plan, f->shared);
    return plan;
}

/* ---- the numbers ---- */

static uint64_t state = 88172645463325252u;

static uint64_t random_bits(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static uint64_t element_of(const void *data, size_t size, uint64_t i)
{
    uint64_t bits = 0;
    memcpy(&bits, (const char *)data + i * size, size);
    return bits;
}

static void set_element(void *data, size_t size, uint64_t i, uint64_t bits)
{
    memcpy((char *)data + i * size, &bits, size);
}

/* Returns a word with any bits, and often a special one: zeros, infinities, NaNs, denormals, the poison, and values
 * some ulps away from the reference. */
static uint64_t value_near(uint64_t want, const kiln_array *array)
{
    const kiln__type_row *row = &kiln__types[array->type];
    const size_t width = 8 * row->bytes;
    const uint64_t sign = UINT64_C(1) << (width - 1);
    const uint64_t infinite = row->exponent ? ((UINT64_C(1) << row->exponent) - 1) << row->mantissa : 0;
    switch (random_bits() % 12) {
    case 0: return random_bits();
    case 1: return 0;
    case 2: return sign;
    case 3: return infinite;
    case 4: return infinite | sign;
    case 5: return infinite | 1;
    case 6: return infinite | sign | (infinite ? (UINT64_C(1) << (row->mantissa - 1)) : 3);
    case 7: return random_bits() % 5;
    case 8: return infinite - 1;
    case 9: return want ^ sign;
    default: return want + random_bits() % 64 - 32;
    }
}

/* Compares on the device and on the host. Returns true if all numbers are the same. */
static bool agree(kiln_plan *plan, const kiln_array *got, const kiln_array *want, bool exact, bool sampled, double rtol,
                  double atol)
{
    const kiln__driver *driver = &plan->engine->driver;
    kiln__plan_buffer b = {.type = got->type, .elements = got->shape[0]};
    kiln__difference host, device;
    static kiln__counted counted;
    kiln_error *error = NULL;
    bool done = false;
    b.bytes = b.elements * kiln__type_bytes(b.type);
    CHECK(driver->cuMemAlloc_(&b.pointer, b.bytes) == CUDA_SUCCESS);
    CHECK(driver->cuMemcpyHtoD_(b.pointer, got->data, b.bytes) == CUDA_SUCCESS);
    const kiln__counting of = {
        .buffer = "y", .key = "test", .want = want, .exact = exact, .sampled = sampled, .rtol = rtol, .atol = atol};
    CHECK_OK(kiln__count_on_device(plan, &b, &of, &counted, &done, &error), error);
    CHECK(done);
    kiln__shared_drop(plan->shared, "device ");
    CHECK(driver->cuMemFree_(b.pointer) == CUDA_SUCCESS);
    if (sampled)
        kiln__array_compare_sample("y", got, want, exact, rtol, atol, &host);
    else
        kiln__array_compare("y", got, want, exact, rtol, atol, &host);
    if (counted.left == b.elements) /* the host counts all of these elements as wrong */
        return host.wrong == b.elements;
    kiln__array_counted("y", b.elements, &counted, &device);
    /* if an element was not written and the reference lacks it too, the host counts an infinite error */
    const bool unwritten = sampled && host.unwritten && isinf(host.worst_error);
    return counted.wrong == host.wrong && (unwritten || memcmp(&device.worst_error, &host.worst_error, 8) == 0) &&
           (unwritten || (memcmp(&device.median_error, &host.median_error, 8) == 0 &&
                          memcmp(&device.p999_error, &host.p999_error, 8) == 0));
}

static void numbers_are_those_of_the_host(void)
{
    static const kiln_type types[] = {KILN_f32, KILN_f64, KILN_f16, KILN_bf16, KILN_i8,  KILN_u8, KILN_bool,
                                      KILN_i16, KILN_u16, KILN_i32, KILN_u32,  KILN_i64, KILN_u64};
    enum { COUNT = 1500, ROUNDS = 24 };
    static uint64_t a[COUNT], b[COUNT];
    fixture f;
    setup(&f);
    kiln_plan *plan = open_plan(&f, 10, -1, -1);
    CUcontext previous;
    kiln_error *error = NULL;
    CHECK_OK(kiln__engine_enter(f.engine, &previous, &error), error);
    unsigned wrong = 0;
    for (size_t t = 0; t < KILN__COUNT(types); t++)
        for (int round = 0; round < ROUNDS; round++) {
            const kiln_type type = types[t];
            const size_t size = kiln__type_bytes(type);
            kiln_array got = {.type = type, .dims = 1, .shape = {COUNT}, .data = a},
                       want = {.type = type, .dims = 1, .shape = {COUNT}, .data = b}, poison = got;
            const bool exact = round % 4 == 0, sampled = round % 3 == 0;
            kiln__array_poison(&poison);
            const uint64_t pattern = element_of(a, size, 0);
            for (uint64_t i = 0; i < COUNT; i++) {
                uint64_t bits = round % 2 ? random_bits() : value_near(0, &want);
                if (type == KILN_bool)
                    bits %= 2;
                if (sampled && random_bits() % 2)
                    bits = pattern;
                set_element(b, size, i, bits);
                const bool same = random_bits() % 8 < (round % 5 == 0 ? 8u : 3u);
                bits = same ? bits : value_near(bits, &got);
                if (sampled && random_bits() % 64 == 0)
                    bits = pattern;
                set_element(a, size, i, type == KILN_bool && !sampled ? bits % 2 : bits);
            }
            /* tolerances from 2^-60 on, which sometimes equal the distance of two elements */
            double rtol = exact ? 0 : ldexp((double)(random_bits() % 1000), -(int)(random_bits() % 60)), atol = 0,
                   pair[2];
            if (!exact && round % 3 == 1)
                atol = ldexp((double)(random_bits() % 1000), -(int)(random_bits() % 70));
            kiln__to_doubles(type, a, 7, 1, &pair[0]);
            kiln__to_doubles(type, b, 7, 1, &pair[1]);
            if (!exact && round % 7 == 2 && isfinite(pair[0] - pair[1])) {
                rtol = 0;
                atol = fabs(pair[0] - pair[1]);
            }
            if (round % 6 == 5 &&
                kiln__types[type].exponent) { /* all errors are finite, so the largest error is compared too */
                for (uint64_t i = 0; i < COUNT; i++) {
                    const double value = ldexp((double)(int64_t)random_bits(), -60);
                    kiln__from_doubles(type, b, i, 1, &value);
                    set_element(a, size, i, element_of(b, size, i) + random_bits() % 16);
                }
                rtol = ldexp((double)(random_bits() % 1000 + 1), -kiln__types[type].mantissa - 9);
                atol = ldexp((double)(random_bits() % 1000 + 1), -kiln__types[type].mantissa - 7);
            }
            if (!agree(plan, &got, &want, exact, sampled, rtol, atol)) {
                wrong++;
                printf("\n  %s, round %d: rtol %a, atol %a%s%s\n", kiln__type_name(type), round, rtol, atol,
                       exact ? ", exact" : "", sampled ? ", sampled" : "");
            }
        }
    CU_ASSERT_EQUAL(wrong, 0);
    /* the array has more elements than the launch has threads, and the last element differs */
    enum { MANY = 300001 };
    static uint8_t x[MANY], y[MANY];
    kiln_array got = {.type = KILN_u8, .dims = 1, .shape = {MANY}, .data = x}, want = got;
    want.data = y;
    CHECK(agree(plan, &got, &want, false, false, 0, 1));
    x[MANY - 1] = 2;
    CHECK(agree(plan, &got, &want, false, false, 0, 1));
    kiln__engine_leave(f.engine, previous);
    kiln_plan_close(plan);
    teardown(&f);
}

/* The kernel does not know these types, so the host compares them. */
static void other_types_are_left(void)
{
    static const kiln_type types[] = {KILN_f8e4m3, KILN_f8e5m2, KILN_complex64, KILN_complex128,
                                      KILN_f4e2m1, KILN_f6e2m3, KILN_f6e3m2,    KILN_ue8m0};
    fixture f;
    setup(&f);
    kiln_plan *plan = open_plan(&f, 10, -1, -1);
    static kiln__counted counted;
    double data[2] = {0};
    for (size_t t = 0; t < KILN__COUNT(types); t++) {
        bool done = true;
        kiln_error *error = NULL;
        const kiln_array want = {.type = types[t], .dims = 1, .shape = {1}, .data = data};
        const kiln__plan_buffer b = {.type = types[t], .elements = 1, .bytes = kiln__type_bytes(types[t])};
        const kiln__counting of = {.buffer = "y", .key = "test", .want = &want};
        CHECK_OK(kiln__count_on_device(plan, &b, &of, &counted, &done, &error), error);
        CHECK(!done);
    }
    kiln_plan_close(plan);
    teardown(&f);
}

/* ---- samples ---- */

static void run_is(fixture *f, int64_t more, int wrong, int changed, kiln_status want, const char *message)
{
    kiln_error *error = NULL;
    const kiln_result *result = NULL;
    const kiln_run_options options = {.size = sizeof options, .flags = KILN_RUN_NO_MEASURE};
    kiln_plan *plan = open_plan(f, more, wrong, changed);
    const kiln_status status = kiln_plan_run(plan, &options, &result, &error);
    CU_ASSERT_EQUAL(status, want);
    if (!strstr(kiln_error_message(error), message))
        printf("\n  got: %s\n  want: %s\n", kiln_error_message(error), message);
    CHECK(strstr(kiln_error_message(error), message) != NULL);
    if (status == KILN_OK) { /* the error of 1e-5 times the value is a tenth of the tolerance, up to rounding */
        CHECK(result->verified && result->worst_error > 0.09 && result->worst_error < 0.11);
        CHECK(result->median_error > 0.09 && result->p999_error < 0.11);
    }
    kiln_error_free(error);
    kiln_plan_close(plan);
}

/* Returns the sweep's copy of the reference on the device, or 0. */
static CUdeviceptr copy_of_reference(const fixture *f)
{
    for (const kiln__plan_entry *entry = f->shared->entries; entry; entry = entry->next)
        if (strncmp(entry->key, "device reference y ", 19) == 0)
            return entry->device;
    return 0;
}

static void spoil(const fixture *f, CUdeviceptr at)
{
    CUcontext previous = NULL;
    CHECK(at && kiln__engine_enter(f->engine, &previous, NULL) == KILN_OK);
    CHECK(f->engine->driver.cuMemsetD32Async_(at, 0, 4, NULL) == CUDA_SUCCESS);
    kiln__engine_leave(f->engine, previous);
}

static void samples_are_compared_on_the_device(void)
{
    fixture f;
    setup(&f);
    run_is(&f, 10, -1, -1, KILN_OK, "");
    CHECK(copy_of_reference(&f) != 0);
    run_is(&f, 10, 700, -1, KILN_ERROR_WRONG_ANSWER, "y[700]: got ");
    CHECK(copy_of_reference(&f) == 0); /* the kernel may have changed the copy */
    run_is(&f, 10, -1, -1, KILN_OK, "");
    run_is(&f, 1000, -1, -1, KILN_ERROR_WRONG_ANSWER, "1024 of 1024 wrong; against variant right");
    run_is(&f, 10, -1, 3, KILN_ERROR_WRONG_ANSWER, "x is an input, and the kernel changed it: x[3] was");
    run_is(&f, 10, -1, -1, KILN_OK, "");
    /* A copy that a kernel has overwritten makes no right answer wrong: the host decides. */
    spoil(&f, copy_of_reference(&f));
    run_is(&f, 10, -1, -1, KILN_OK, "");
    teardown(&f);
}

static const check_case cases[] = {
    {"numbers are those of the host", numbers_are_those_of_the_host},
    {"other types are left", other_types_are_left},
    {"samples are compared on the device", samples_are_compared_on_the_device},
};
KILN_SUITE("plan.count", cases)
