/* Tests the catalogue's reductions and scans on the simulated device, in cases that the specs' own sizes and fills do
 * not reach. These are maxima that are compared bit by bit on floats that show the order, sums of denormals, arrays at
 * any address, a scan in place, and one launch after another. Some loops run only with many sections, blocks or waves.
 * Skipped with a message if there is no NVRTC. */
#include <math.h>
#include <unistd.h>

#include "catalogue.h"

static kiln_engine *engine;
static kiln_spec *reduction, *scan;

typedef struct want {
    uint32_t bits;
    int64_t at;
} want;

enum { COUNT = 5003, ROOM = COUNT + 4, MANY = 3000001 };

/* The input and the output of a launch. */
static uint32_t given[MANY], got[MANY];

static kiln_plan *open_knobs(const kiln_spec *spec, const char *variant, kiln_setting *sizes, size_t count,
                             kiln_setting *params, size_t param_count)
{
    kiln_choice choice = {
        .variant = variant, .params = params, .param_count = param_count, .sizes = sizes, .size_count = count};
    kiln_plan *plan = NULL;
    kiln_error *error = NULL;
    CHECK_OK(kiln_plan_open(engine, spec, &choice, &plan, &error), error);
    return plan;
}

static kiln_plan *open_plan(const kiln_spec *spec, const char *variant, kiln_setting *sizes, size_t count)
{
    return open_knobs(spec, variant, sizes, count, NULL, 0);
}

static kiln_plan *open_reduction(const char *variant, int64_t op, int64_t integers)
{
    kiln_setting sizes[] = {{"OP", {KILN_INT, {op}}}, {"INTEGERS", {KILN_INT, {integers}}}};
    return open_plan(reduction, variant, sizes, 2);
}

static void expect(kiln_plan *plan, const char *variant, int64_t op, size_t count, const float *x, want w)
{
    kiln_setting sizes[] = {{"N", {KILN_INT, {(int64_t)count}}}, {"OP", {KILN_INT, {op}}}};
    kiln_error *error = NULL;
    uint32_t bits = 0;
    int64_t at = w.at;
    if (!plan)
        return;
    CHECK_OK(kiln_plan_resize(plan, sizes, 2, &error), error);
    CHECK_OK(kiln_plan_write(plan, "x", x, count * sizeof *x, &error), error);
    CHECK_OK(kiln_plan_launch(plan, NULL, &error), error);
    CHECK_OK(kiln_plan_read(plan, "y", &bits, sizeof bits, &error), error);
    if (op == 2)
        CHECK_OK(kiln_plan_read(plan, "at", &at, sizeof at, &error), error);
    if (bits != w.bits || at != w.at)
        fprintf(stderr, "%s, OP=%d, %zu elements: 0x%08x at %lld, want 0x%08x at %lld\n", variant, (int)op, count,
                (unsigned)bits, (long long)at, (unsigned)w.bits, (long long)w.at);
    CHECK(bits == w.bits && at == w.at);
}

/* Tests that a reduction gives the maximum() of IEEE 754-2019, and the place of the first element with this value. */
static void test_order(void)
{
    for (size_t v = 0; v < kiln_spec_variant_count(reduction); v++)
        for (int64_t op = 1; op <= 2; op++) {
            const char *variant = kiln_spec_variant_name(reduction, v);
            kiln_plan *plan = open_reduction(variant, op, 0);
            expect(plan, variant, op, 4, (float[]){-0.0f, 0.0f, -0.0f, 0.0f}, (want){0, 1});
            expect(plan, variant, op, 2, (float[]){-0.0f, -1}, (want){0x80000000, 0});
            expect(plan, variant, op, 3, (float[]){-2, -1e-45f, -1.1754942e-38f}, (want){0x80000001, 1});
            expect(plan, variant, op, 3, (float[]){-1e-45f, 1e-45f, 0}, (want){1, 1});
            expect(plan, variant, op, 2, (float[]){-INFINITY, -INFINITY}, (want){0xff800000, 0});
            expect(plan, variant, op, 3, (float[]){3.4e38f, INFINITY, INFINITY}, (want){0x7f800000, 1});
            expect(plan, variant, op, 4, (float[]){1, INFINITY, copysignf(NAN, -1), NAN}, (want){0x7fffffff, 2});
            expect(plan, variant, op, 0, (float[]){0}, (want){0xff800000, -1});
            kiln_plan_close(plan);
        }
}

/* Puts the maximum at the first, the middle and the last place. The last warp, block and word are only partly full. */
static void test_places(void)
{
    static float x[3001];
    for (size_t v = 0; v < kiln_spec_variant_count(reduction); v++) {
        const char *variant = kiln_spec_variant_name(reduction, v);
        kiln_plan *plan = open_reduction(variant, 2, 0);
        for (size_t at = 0; at < 3001; at += 1500) {
            for (size_t i = 0; i < 3001; i++)
                x[i] = i == at || i == 3000 ? 5 : -5;
            expect(plan, variant, 2, 3001, x, (want){0x40a00000, (int64_t)at});
        }
        kiln_plan_close(plan);
    }
}

/* COUNT times 714 of the least denormals is still a denormal, so each sum is exact in every bit. */
static void test_denormals(void)
{
    const uint32_t bits = 714;
    kiln_setting size = {"N", {KILN_INT, {COUNT}}};
    float x[COUNT];
    for (size_t i = 0; i < COUNT; i++)
        memcpy(&x[i], &bits, sizeof bits);
    CHECK(x[0] == 1e-42f);
    for (size_t v = 0; v < kiln_spec_variant_count(reduction); v++) {
        const char *variant = kiln_spec_variant_name(reduction, v);
        bool flushes = strcmp(variant, "one_pass_atomics") == 0; /* float atomics flush denormals to zero */
        kiln_plan *plan = open_reduction(variant, 0, 0);
        expect(plan, variant, 0, 5, x, (want){flushes ? 0 : 5 * bits, 0});
        expect(plan, variant, 0, COUNT, x, (want){flushes ? 0 : COUNT * bits, 0});
        kiln_plan_close(plan);
    }
    for (size_t v = 0; v < kiln_spec_variant_count(scan); v++) {
        const char *variant = kiln_spec_variant_name(scan, v);
        kiln_plan *plan = open_plan(scan, variant, &size, 1);
        kiln_error *error = NULL;
        unsigned wrong = 0;
        if (!plan)
            continue;
        CHECK_OK(kiln_plan_write(plan, "x", x, sizeof x, &error), error);
        CHECK_OK(kiln_plan_launch(plan, NULL, &error), error);
        CHECK_OK(kiln_plan_read(plan, "y", got, sizeof x, &error), error);
        for (uint32_t i = 0; i < COUNT; i++)
            wrong += got[i] != (i + 1) * bits;
        if (wrong)
            fprintf(stderr, "%s: %u wrong, the first 0x%08x\n", variant, wrong, (unsigned)got[0]);
        CHECK(wrong == 0);
        kiln_plan_close(plan);
    }
}

/* Memory on the device. This kernel belongs to plans that are not launched. */
static struct {
    kiln_plan *plan;
    CUdeviceptr x, y;
    int32_t host[ROOM];
} memory;

static void open_memory(void)
{
    kiln_setting sizes[] = {{"N", {KILN_INT, {ROOM}}}, {"INTEGERS", {KILN_INT, {1}}}};
    kiln_error *error = NULL;
    memory.plan = open_plan(scan, "kogge_stone", sizes, 2);
    CHECK_OK(kiln_plan_buffer(memory.plan, "x", &memory.x, &error), error);
    CHECK_OK(kiln_plan_buffer(memory.plan, "y", &memory.y, &error), error);
    for (uint32_t i = 0; i < ROOM; i++)
        memory.host[i] = (int32_t)((i * 2654435761u) & 0x7fffffff) - 1000;
}

/* Tests vectors of 16 bytes where x begins at any element of a vector, and sums that wrap around at 2^32 many times. */
static void test_places_of_sums(void)
{
    kiln_error *error = NULL;
    open_memory();
    for (size_t v = 0; v < kiln_spec_variant_count(reduction); v++) {
        const char *variant = kiln_spec_variant_name(reduction, v);
        kiln_plan *plan = open_reduction(variant, 0, 1);
        for (uint32_t offset = 0; plan && offset < 4; offset++)
            for (uint32_t count = COUNT; count > 0; count = count == COUNT ? 2 : count - 1) {
                kiln_setting size = {"N", {KILN_INT, {count}}};
                uint32_t sum = 0, y = 0;
                for (uint32_t i = 0; i < count; i++)
                    sum += (uint32_t)memory.host[offset + i];
                CHECK_OK(kiln_plan_write(memory.plan, "x", memory.host, sizeof memory.host, &error), error);
                CHECK_OK(kiln_plan_resize(plan, &size, 1, &error), error);
                CHECK_OK(kiln_plan_bind(plan, "x", memory.x + 4 * offset, 4 * count, &error), error);
                CHECK_OK(kiln_plan_launch(plan, NULL, &error), error);
                CHECK_OK(kiln_plan_read(plan, "y", &y, sizeof y, &error), error);
                if (y != sum)
                    fprintf(stderr, "%s: %u elements from %u on\n", variant, count, offset);
                CHECK(y == sum);
            }
        kiln_plan_close(plan);
    }
    kiln_plan_close(memory.plan);
}

static void expect_scan(kiln_plan *plan, const char *variant, CUdeviceptr x, CUdeviceptr y, bool in_place)
{
    kiln_error *error = NULL;
    uint32_t from = (uint32_t)(x - memory.x) / 4, to = (uint32_t)(y - (in_place ? memory.x : memory.y)) / 4, sum = 0;
    unsigned wrong = 0;
    CHECK_OK(kiln_plan_write(memory.plan, "x", memory.host, sizeof memory.host, &error), error);
    CHECK_OK(kiln_plan_write(memory.plan, "y", memory.host, sizeof memory.host, &error), error);
    CHECK_OK(kiln_plan_bind(plan, "x", x, 4 * COUNT, &error), error);
    CHECK_OK(kiln_plan_bind(plan, "y", y, 4 * COUNT, &error), error);
    CHECK_OK(kiln_plan_launch(plan, NULL, &error), error);
    CHECK_OK(kiln_plan_read(memory.plan, in_place ? "x" : "y", got, sizeof memory.host, &error), error);
    for (uint32_t i = 0; i < ROOM; i++)
        if (i - to < COUNT)
            wrong += got[i] != (sum += (uint32_t)memory.host[from + i - to]);
        else
            wrong += got[i] != (uint32_t)memory.host[i]; /* elements that the kernel must not touch */
    if (wrong)
        fprintf(stderr, "%s, x from %u, y from %u%s: %u wrong\n", variant, from, to, in_place ? ", in place" : "",
                wrong);
    CHECK(wrong == 0);
}

static void test_places_of_scans(void)
{
    open_memory();
    for (size_t v = 0; v < kiln_spec_variant_count(scan); v++) {
        const char *variant = kiln_spec_variant_name(scan, v);
        kiln_setting sizes[] = {{"N", {KILN_INT, {COUNT}}}, {"INTEGERS", {KILN_INT, {1}}}};
        kiln_plan *plan = open_plan(scan, variant, sizes, 2);
        if (!plan)
            continue;
        expect_scan(plan, variant, memory.x, memory.y, false);
        expect_scan(plan, variant, memory.x + 4, memory.y, false);
        expect_scan(plan, variant, memory.x, memory.y + 12, false);
        expect_scan(plan, variant, memory.x, memory.x, true);
        expect_scan(plan, variant, memory.x + 8, memory.x + 8, true);
        kiln_plan_close(plan);
    }
    kiln_plan_close(memory.plan);
}

/* Tests a launch on `count` integers that no other launch has used. */
static void expect_next(kiln_plan *plan, bool is_scan, const char *variant, uint32_t count)
{
    static uint32_t turn;
    kiln_error *error = NULL;
    uint32_t sum = 0, wrong = 0;
    for (uint32_t i = 0; i < count; i++)
        given[i] = i * 2654435761u + 977 * turn;
    turn++;
    CHECK_OK(kiln_plan_write(plan, "x", given, count * sizeof *given, &error), error);
    CHECK_OK(kiln_plan_launch(plan, NULL, &error), error);
    CHECK_OK(kiln_plan_read(plan, "y", got, (is_scan ? count : 1) * sizeof *got, &error), error);
    for (uint32_t i = 0; i < count; i++) {
        sum += given[i];
        wrong += is_scan && got[i] != sum;
    }
    wrong += !is_scan && got[0] != sum;
    if (wrong)
        fprintf(stderr, "%s, %u elements: %u wrong\n", variant, (unsigned)count, (unsigned)wrong);
    CHECK(wrong == 0);
}

/* The plan keeps zeros in a buffer when it is resized to a size at which the buffer is as long. A fill would be made
 * anew. */
static void keep(kiln_plan *plan, const char *buffer)
{
    static const char zeros[64];
    kiln_error *error = NULL;
    uint64_t bytes = 0;
    CHECK_OK(kiln_plan_buffer_bytes(plan, buffer, &bytes, &error), error);
    CHECK(bytes <= sizeof zeros);
    CHECK_OK(kiln_plan_write(plan, buffer, zeros, (size_t)bytes, &error), error);
}

/* Opens the simulated device with three multiprocessors. So about ten thousand elements make many waves of blocks. A
 * kernel that waits for ever fails after some seconds. */
static kiln_engine *open_small(char *path)
{
    kiln_options options = {.size = sizeof options, .flags = KILN_NO_CACHE | KILN_NO_WORKERS};
    kiln_engine *small = NULL;
    kiln_error *error = NULL;
    char line[512], device[64];
    int file = mkstemps(path, 8);
    FILE *from = fopen(KILN_SOURCE_DIR "/specs/devices/h200.profile", "r"), *to = file < 0 ? NULL : fdopen(file, "w");
    while (from && to && fgets(line, sizeof line, from))
        if (strncmp(line, "gpc_sms:", 8) != 0)
            fputs(strncmp(line, "sm_count:", 9) == 0 ? "sm_count: 3\n" : line, to);
    if (from)
        fclose(from);
    CHECK(to && fclose(to) == 0);
    snprintf(device, sizeof device, "sim:%s", path);
    options.device = device;
    setenv("KILN_SIM_STEPS", "100000000", 1);
    CHECK_OK(kiln_engine_open(&options, &small, &error), error);
    CHECK_OK(kiln_catalogue_register(small, &error), error);
    return small;
}

/* Tests the state that a launch leaves for the next launch. The launches have more than two waves, and their arrays
 * become shorter and longer. A faulty look-back could take a note of an earlier launch for a new note. If blocks run in
 * the order of their tickets, this fault may stay hidden. So the test reads the count of launches too. */
static void test_launches(void)
{
    static const struct {
        const char *variant;
        int64_t stages;
        const char *kept[2];
    } runs[] = {{"stream", 0, {NULL}}, {"decoupled_lookback", 0, {"turn"}}, {"waves", 1, {"notes", "shown"}},
                {"waves", 2, {NULL}},  {"waves", 3, {"notes", "shown"}},    {"waves", 4, {NULL}}};
    static const uint32_t counts[] = {50001, 30001, 5, 0, 62001};
    char path[] = "/tmp/kiln-sums-XXXXXX.profile";
    kiln_error *error = NULL;
    scan = NULL;
    engine = open_small(path);
    unlink(path);
    if (!engine)
        return;
    CHECK_OK(kiln_spec_load(engine, KILN_SOURCE_DIR "/specs/scan.yaml", &scan, &error), error);
    for (size_t r = 0; scan && r < sizeof runs / sizeof *runs; r++) {
        kiln_setting sizes[] = {{"N", {KILN_INT, {counts[0]}}}, {"INTEGERS", {KILN_INT, {1}}}};
        kiln_setting params[] = {
            {"BLOCK", {KILN_INT, {512}}}, {"QUADS", {KILN_INT, {2}}}, {"STAGES", {KILN_INT, {runs[r].stages}}}};
        kiln_plan *plan = open_knobs(scan, runs[r].variant, sizes, 2, params, runs[r].stages ? 3 : 2);
        uint32_t launches = 0, turn[3];
        for (size_t k = 0; plan && k < 2 && runs[r].kept[k]; k++)
            keep(plan, runs[r].kept[k]);
        for (size_t k = 0; plan && k < sizeof counts / sizeof *counts; k++) {
            sizes[0].value.as.i = counts[k];
            CHECK_OK(kiln_plan_resize(plan, sizes, 1, &error), error);
            for (int again = 0; again < 2; again++, launches += counts[k] != 0)
                expect_next(plan, true, runs[r].variant, counts[k]);
        }
        if (plan && strcmp(runs[r].variant, "decoupled_lookback") == 0) {
            CHECK_OK(kiln_plan_read(plan, "turn", turn, sizeof turn, &error), error);
            CHECK(turn[0] == launches && turn[1] == 0 && turn[2] == 0);
        }
        kiln_plan_close(plan);
    }
    kiln_spec_free(scan);
    kiln_engine_close(engine);
}

/* Tests a last block that joins more partial results than it has threads. After each launch the count of blocks is
 * 0. */
static void test_many(void)
{
    kiln_setting sizes[] = {{"N", {KILN_INT, {MANY}}}, {"INTEGERS", {KILN_INT, {1}}}};
    kiln_setting blocks[] = {{"BLOCK", {KILN_INT, {256}}}, {"PER_SM", {KILN_INT, {8}}}};
    kiln_setting stretches[] = {{"BLOCK", {KILN_INT, {1024}}},
                                {"PER_SM", {KILN_INT, {1}}},
                                {"IN_FLIGHT", {KILN_INT, {2}}},
                                {"CHUNKS", {KILN_INT, {1}}}};
    kiln_plan *plan = open_knobs(reduction, "one_pass", sizes, 2, blocks, 2);
    for (int again = 0; plan && again < 2; again++)
        expect_next(plan, false, "one_pass", MANY);
    kiln_plan_close(plan);
    plan = open_knobs(reduction, "vectorised", sizes, 2, stretches, 4);
    for (int again = 0; plan && again < 2; again++)
        expect_next(plan, false, "vectorised", MANY);
    kiln_plan_close(plan);
}

/* Opens a plan whose spec launches only one kernel of a variant. In the variant itself, other kernels run before this
 * kernel. Only arrays that are too long for this test would give it as much work there. */
static kiln_plan *open_text(const char *text, kiln_spec **spec)
{
    kiln_error *error = NULL;
    *spec = NULL;
    CHECK_OK(kiln_spec_parse(engine, text, strlen(text), KILN_SOURCE_DIR "/specs/text.yaml", spec, &error), error);
    return *spec ? open_plan(*spec, NULL, NULL, 0) : NULL;
}

/* Tests a join of more partial results than there are threads. */
static void test_finish(void)
{
    kiln_spec *spec;
    kiln_error *error = NULL;
    float y = 0;
    kiln_plan *plan = open_text("kiln: 1\n"
                                "name: finish\n"
                                "source: reduction.cu\n"
                                "sizes: {default: {count: 1000}}\n"
                                "define: {REDUCTION_ONE: 1, REDUCTION_JOIN: 1}\n"
                                "buffers:\n"
                                "  partials: {type: f32, shape: [count], fill: {iota: [1, 1]}}\n"
                                "  y: {type: f32, shape: [1], out: true}\n"
                                "  at: {type: i64, shape: [0]}\n"
                                "launch: {kernel: reduction_finish, grid: [1], block: [256],\n"
                                "         args: [partials, y, at, count]}\n",
                                &spec);
    if (plan) {
        CHECK_OK(kiln_plan_launch(plan, NULL, &error), error);
        CHECK_OK(kiln_plan_read(plan, "y", &y, sizeof y, &error), error);
        CHECK(y == 500500);
    }
    kiln_plan_close(plan);
    kiln_spec_free(spec);
}

/* Tests three whole tiles of sums and a partial tile. The arrays are aligned once to words of 16 bytes, and once to
 * elements. */
static void test_sums_of_sections(void)
{
    enum { SECTIONS = 50001 };
    kiln_setting size = {"N", {KILN_INT, {SECTIONS + 1}}};
    kiln_plan *room = open_plan(scan, "kogge_stone", &size, 1); /* its buffer x receives the sums */
    kiln_spec *spec;
    kiln_error *error = NULL;
    CUdeviceptr x = 0;
    kiln_plan *plan = open_text("kiln: 1\n"
                                "name: sums\n"
                                "source: scan.cu\n"
                                "sizes: {default: {count: 50001}}\n"
                                "define: {INTEGERS: 1, SCAN_ONE: 1, SCAN_SUMS: 1}\n"
                                "buffers: {sums: {type: i32, shape: [count], out: true}}\n"
                                "launch: {kernel: scan_sums, grid: [1], block: [1024], args: [sums, count]}\n",
                                &spec);
    if (room)
        CHECK_OK(kiln_plan_buffer(room, "x", &x, &error), error);
    for (unsigned element = 0; plan && room && element < 2; element++) {
        uint32_t sum = 0, wrong = 0;
        for (uint32_t i = 0; i < SECTIONS; i++)
            given[i] = i * 2654435761u;
        CHECK_OK(kiln_plan_bind(plan, "sums", x + 4 * element, SECTIONS * sizeof *given, &error), error);
        CHECK_OK(kiln_plan_write(plan, "sums", given, SECTIONS * sizeof *given, &error), error);
        CHECK_OK(kiln_plan_launch(plan, NULL, &error), error);
        CHECK_OK(kiln_plan_read(plan, "sums", got, SECTIONS * sizeof *got, &error), error);
        for (uint32_t i = 0; i < SECTIONS; sum += given[i++])
            wrong += got[i] != sum;
        if (wrong)
            fprintf(stderr, "sums of sections from %u: %u wrong\n", element, (unsigned)wrong);
        CHECK(wrong == 0);
    }
    kiln_plan_close(plan);
    kiln_plan_close(room);
    kiln_spec_free(spec);
}

static const check_case cases[] = {{"order", test_order},
                                   {"places", test_places},
                                   {"denormals", test_denormals},
                                   {"places of sums", test_places_of_sums},
                                   {"places of scans", test_places_of_scans},
                                   {"many blocks, stretches", test_many},
                                   {"finish", test_finish},
                                   {"sums of sections", test_sums_of_sections}};

/* A process has one simulated device at a time. */
static const check_case small_cases[] = {{"launches", test_launches}};

int main(int count, char **arguments)
{
    const catalogue_spec specs[] = {{"reduction", &reduction}, {"scan", &scan}};
    if (count > 1 && check_find(small_cases, KILN__COUNT(small_cases), arguments[1]))
        return check_main(count, arguments, "launches", small_cases, KILN__COUNT(small_cases));
    int result = catalogue_main(count, arguments, "sums", cases, KILN__COUNT(cases), &engine, specs,
                                KILN__COUNT(specs));
    if (result != 0)
        return result;
    if (count > 1 && strcmp(arguments[1], "-l") != 0) /* the case that was asked for has run */
        return 0;
    return check_main(count, arguments, "launches", small_cases, KILN__COUNT(small_cases));
}
