/* Tests the catalogue's histograms on the simulated device. Keys begin and end anywhere within a word of 16 bytes, and
 * some keys have no bin. Skipped with a message if there is no NVRTC. */
#include "catalogue.h"

enum { KEYS = 120, BINS = 100 };

static kiln_engine *engine;
static kiln_spec *spec;

static kiln_plan *open_plan(const char *variant, int64_t bits)
{
    kiln_setting sizes[] = {{"N", {KILN_INT, {KEYS}}}, {"KEY_BITS", {KILN_INT, {bits}}}, {"BINS", {KILN_INT, {BINS}}}};
    kiln_choice choice = {.variant = variant, .sizes = sizes, .size_count = 3};
    kiln_plan *plan = NULL;
    kiln_error *error = NULL;
    CHECK_OK(kiln_plan_open(engine, spec, &choice, &plan, &error), error);
    return plan;
}

/* Counts `count` keys that begin at key `first` of the memory, which has keys on both sides too. */
static void expect(kiln_plan *plan, CUdeviceptr memory, size_t key_bytes, const uint32_t *keys, size_t first,
                   size_t count)
{
    kiln_setting size = {"N", {KILN_INT, {(int64_t)count}}};
    kiln_error *error = NULL;
    uint32_t want[BINS] = {0}, got[BINS];
    for (size_t i = first; i < first + count; i++)
        if (keys[i] < BINS)
            want[keys[i]]++;
    CHECK_OK(kiln_plan_resize(plan, &size, 1, &error), error);
    CHECK_OK(kiln_plan_bind(plan, "keys", memory + first * key_bytes, count * key_bytes, &error), error);
    for (int run = 0; run < 2; run++) { /* the second run begins from zeros too */
        CHECK_OK(kiln_plan_launch(plan, NULL, &error), error);
        CHECK_OK(kiln_plan_read(plan, "counts", got, sizeof got, &error), error);
        if (memcmp(got, want, sizeof want) != 0)
            fprintf(stderr, "%zu keys of %zu bytes from the %zu-th\n", count, key_bytes, first);
        CHECK(memcmp(got, want, sizeof want) == 0);
    }
}

static void test_variant(const char *variant, bool wide)
{
    static const uint32_t outside[] = {BINS, 255, 256, 0x80000001, UINT32_MAX, 0x01010101};
    uint32_t keys[KEYS];
    uint8_t bytes[KEYS];
    for (uint32_t i = 0; i < KEYS; i++) {
        keys[i] = i % 7 == 3 ? outside[i % 6] : i % 5 == 0 ? BINS - 1 : i * i % BINS;
        bytes[i] = (uint8_t)keys[i];
        keys[i] = wide ? keys[i] : bytes[i];
    }
    size_t key_bytes = wide ? sizeof *keys : sizeof *bytes, places = 16 / key_bytes;
    kiln_plan *owner = open_plan(variant, wide ? 32 : 8), *plan = open_plan(variant, wide ? 32 : 8);
    CUdeviceptr memory = 0;
    kiln_error *error = NULL;
    if (owner && plan) {
        CHECK_OK(kiln_plan_write(owner, "keys", wide ? (void *)keys : bytes, KEYS * key_bytes, &error), error);
        CHECK_OK(kiln_plan_buffer(owner, "keys", &memory, &error), error);
        for (size_t first = 0; first < places; first++) {
            const size_t counts[] = {1, places - 1, places, places + 1, 2 * places + 2, KEYS - first};
            for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
                expect(plan, memory, key_bytes, keys, first, counts[i]);
        }
    }
    kiln_plan_close(plan);
    kiln_plan_close(owner);
}

static void test_places(void)
{
    for (size_t v = 0; v < kiln_spec_variant_count(spec); v++) {
        test_variant(kiln_spec_variant_name(spec, v), false);
        test_variant(kiln_spec_variant_name(spec, v), true);
    }
}

static const check_case cases[] = {{"places", test_places}};

int main(int count, char **arguments)
{
    const catalogue_spec specs[] = {{"histogram", &spec}};
    return catalogue_main(count, arguments, "histogram", cases, KILN__COUNT(cases), &engine, specs, KILN__COUNT(specs));
}
