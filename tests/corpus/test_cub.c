/* Compares CUB's block and warp primitives on the simulator with a few lines of C. */
#include "run.h"

enum { N = 128, I = 5, TILE = N * I, BLOCKS = 3, ALL = TILE * BLOCKS };

static vm_bench b;

static void open_module(void) { b = run_file("cub.cu"); }
static void close_module(void) { vm_bench_end(&b); }

static int by_int(const void *x, const void *y)
{
    int a = *(const int *)x, c = *(const int *)y;
    return (a > c) - (a < c);
}
static int by_float(const void *x, const void *y)
{
    float a = *(const float *)x, c = *(const float *)y;
    return (a > c) - (a < c);
}
static int down_double(const void *x, const void *y)
{
    double a = *(const double *)x, c = *(const double *)y;
    return (a < c) - (a > c);
}
static int down_u64(const void *x, const void *y)
{
    uint64_t a = *(const uint64_t *)x, c = *(const uint64_t *)y;
    return (a < c) - (a > c);
}

/* Fills `data` with values of its kind, and sorts it in both directions. */
static void sorts(const char *kernel, size_t size, int (*order)(const void *, const void *))
{
    static uint64_t want[ALL];
    uint64_t seed = size, address;
    unsigned char *data;
    address = vm_bench_zeros(&b, ALL * size, &data);
    for (size_t i = 0; i < ALL; i++) {
        uint64_t r = run_random(&seed);
        union {
            uint64_t r;
            float f;
            double d;
        } value = {.r = r};
        if (order == by_float)
            value.f = (float)(int32_t)r * 0.37f;
        else if (order == down_double)
            value.d = (double)(int64_t)r * 1e-7;
        memcpy(data + i * size, &value, size);
    }
    memcpy(want, data, ALL * size);
    for (size_t k = 0; k < BLOCKS; k++)
        qsort((char *)want + k * TILE * size, TILE, size, order);
    vm_bench_run(&b, kernel, BLOCKS, N, &address);
    CHECK(memcmp(want, data, ALL * size) == 0);
    vm_free(b.device, address);
}
static void test_radix_sort(void)
{
    sorts("radix_int", 4, by_int);
    sorts("radix_float", 4, by_float);
    sorts("radix_double", 8, down_double);
    sorts("radix_u64", 8, down_u64);
}

/* Tests a stable sort: each key keeps its values in their order. */
static void stable(const char *kernel)
{
    struct {
        uint64_t keys, values;
    } p;
    unsigned char *keys, before[ALL];
    int *values, wrong = 0;
    uint64_t seed = 7;
    p.keys = vm_bench_zeros(&b, ALL, &keys);
    p.values = vm_bench_zeros(&b, ALL * 4, &values);
    for (int i = 0; i < ALL; i++) {
        keys[i] = before[i] = (unsigned char)(run_random(&seed) % 23);
        values[i] = i;
    }
    vm_bench_run(&b, kernel, BLOCKS, N, &p);
    for (int i = 0; i < ALL; i++) {
        wrong += values[i] / TILE != i / TILE || before[values[i]] != keys[i];
        if (i % TILE)
            wrong += keys[i - 1] > keys[i] || (keys[i - 1] == keys[i] && values[i - 1] >= values[i]);
    }
    CHECK(wrong == 0);
    vm_free(b.device, p.keys);
    vm_free(b.device, p.values);
}
static void test_stable_pairs(void)
{
    stable("radix_pairs");
    stable("merge_pairs");
}

static void test_warp_sort(void)
{
    static int want[ALL];
    int *data;
    uint64_t seed = 3, address = vm_bench_zeros(&b, sizeof want, &data);
    for (int i = 0; i < ALL; i++)
        want[i] = data[i] = (int)run_random(&seed);
    for (int i = 0; i < ALL; i += 32 * I)
        qsort(want + i, 32 * I, sizeof *want, by_int);
    vm_bench_run(&b, "warp_sort", BLOCKS, N, &address);
    CHECK(memcmp(want, data, sizeof want) == 0);
    vm_free(b.device, address);
}

static void sums(const char *kernel, size_t size, bool real)
{
    struct {
        uint64_t in, out, total;
    } p;
    unsigned char *in, *out, *total;
    uint64_t seed = 11, wrong = 0;
    p.in = vm_bench_zeros(&b, ALL * size, &in);
    p.out = vm_bench_zeros(&b, ALL * size, &out);
    p.total = vm_bench_zeros(&b, BLOCKS * size, &total);
    for (size_t i = 0; i < ALL; i++) { /* the doubles are whole numbers, so their sum is the same in any order */
        uint64_t r = run_random(&seed);
        double d = (double)(int32_t)r;
        memcpy(in + i * size, real ? (void *)&d : (void *)&r, size);
    }
    vm_bench_run(&b, kernel, BLOCKS, N, &p);
    for (size_t k = 0; k < BLOCKS; k++) {
        uint64_t sum = 0;
        double dsum = 0;
        for (size_t i = k * TILE; i < (k + 1) * TILE; i++) {
            uint64_t r = 0;
            double d = 0;
            wrong += memcmp(out + i * size, real ? (void *)&dsum : (void *)&sum, size) != 0;
            memcpy(real ? (void *)&d : (void *)&r, in + i * size, size);
            sum += r;
            dsum += d;
        }
        wrong += memcmp(total + k * size, real ? (void *)&dsum : (void *)&sum, size) != 0;
    }
    CHECK(wrong == 0);
    vm_free(b.device, p.in);
    vm_free(b.device, p.out);
    vm_free(b.device, p.total);
}
static void test_sums(void)
{
    sums("sums_int", 4, false);
    sums("sums_u64", 8, false);
    sums("sums_double", 8, true);
}

static void test_warp_sums(void)
{
    struct {
        uint64_t in, out;
    } p;
    int *in, *out, sums_of[2] = {0, 0};
    p.in = vm_bench_zeros(&b, 32 * 4, &in);
    p.out = vm_bench_zeros(&b, 32 * 4, &out);
    for (int i = 0; i < 26; i++) {
        in[i] = i * i - 40;
        sums_of[i / 13] += in[i];
    }
    vm_bench_run(&b, "warp_sums", 1, 32, &p);
    CHECK(out[0] == sums_of[0] && out[13] == sums_of[1]); /* the first lane of each group has the sum */
}

static void histogram(const char *kernel)
{
    struct {
        uint64_t in, bins;
    } p;
    unsigned char *in;
    unsigned *bins, want[256] = {0};
    uint64_t seed = 5;
    p.in = vm_bench_zeros(&b, ALL, &in);
    p.bins = vm_bench_zeros(&b, sizeof want, &bins);
    for (int i = 0; i < ALL; i++) {
        uint64_t r = run_random(&seed);
        in[i] = (unsigned char)(r & 1 ? r >> 8 : 9); /* half of the bytes are equal */
        want[in[i]]++;
    }
    vm_bench_run(&b, kernel, BLOCKS, N, &p);
    CHECK(memcmp(want, bins, sizeof want) == 0);
    vm_free(b.device, p.in);
    vm_free(b.device, p.bins);
}
static void test_histogram(void)
{
    histogram("histogram_atomic");
    histogram("histogram_sort");
}

static void test_heads(void)
{
    struct {
        uint64_t in, flags;
    } p;
    unsigned char *in;
    int *flags, wrong = 0;
    uint64_t seed = 2;
    p.in = vm_bench_zeros(&b, TILE, &in);
    p.flags = vm_bench_zeros(&b, TILE * 4, &flags);
    for (int i = 0; i < TILE; i++)
        in[i] = (unsigned char)(run_random(&seed) % 3);
    vm_bench_run(&b, "heads", 1, N, &p);
    for (int i = 0; i < TILE; i++)
        wrong += flags[i] != (i == 0 || in[i] != in[i - 1]);
    CHECK(wrong == 0);
}

static void test_run_lengths(void)
{
    struct {
        uint64_t items, lengths, out, total;
    } p;
    unsigned char *items, *out;
    int *lengths, *total, at = 0, wrong = 0;
    uint64_t seed = 4;
    p.items = vm_bench_zeros(&b, N, &items);
    p.lengths = vm_bench_zeros(&b, N * 4, &lengths);
    p.out = vm_bench_zeros(&b, N * 32, &out);
    p.total = vm_bench_zeros(&b, 4, &total);
    for (int i = 0; i < N; i++) {
        items[i] = (unsigned char)run_random(&seed);
        lengths[i] = 1 + (int)(run_random(&seed) % 31);
    }
    vm_bench_run(&b, "run_lengths", 1, N, &p);
    for (int i = 0; i < N; i++)
        for (int k = 0; k < lengths[i]; k++)
            wrong += out[at++] != items[i];
    CHECK(*total == at);
    CHECK(wrong == 0);
}

static const check_case cases[] = {
    {"the module", open_module},   {"radix sort", test_radix_sort}, {"stable pairs", test_stable_pairs},
    {"warp sort", test_warp_sort}, {"scan and reduce", test_sums},  {"warp reduce", test_warp_sums},
    {"histogram", test_histogram}, {"heads", test_heads},           {"run lengths", test_run_lengths},
    {"unload", close_module},
};
RUN_SUITE("corpus.cub", cases)
