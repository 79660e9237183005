/* Cooperative groups, libcu++, device-side new, random numbers: CUDA's own headers run on the simulator. */
#include <complex.h>

#include "run.h"

static vm_bench b;

static void open_groups(void) { b = run_file("groups.cu"); }
static void close_module(void) { vm_bench_end(&b); }

static vm_fault_kind run_grid(bool cooperative, void *p)
{
    vm_launch launch = {.module = b.module,
                        .kernel = vm_module_kernel(b.module, "grid_rounds"),
                        .grid = {7, 2, 1},
                        .block = {24, 2, 1},
                        .params = p,
                        .cooperative = cooperative};
    return vm_run(b.device, &launch, &b.counters, &b.fault);
}
static void test_grid(void)
{
    enum { THREADS = 7 * 2 * 48, ROUNDS = 5 };
    struct {
        uint64_t a, b;
        int rounds;
    } p = {.rounds = ROUNDS};
    static int wa[THREADS], wb[THREADS];
    int *da, *db;
    p.a = vm_bench_zeros(&b, sizeof wa, &da);
    p.b = vm_bench_zeros(&b, sizeof wb, &db);
    for (int i = 0; i < THREADS; i++)
        wa[i] = da[i] = i * 3;
    for (int r = 0; r < ROUNDS; r++) {
        for (int i = 0; i < THREADS; i++)
            wb[i] = wa[(i + 37) % THREADS] + 1;
        for (int i = 0; i < THREADS; i++)
            wa[i] = wb[(i + 11) % THREADS] + 1;
    }
    CHECK(run_grid(true, &p) == VM_OK);
    CHECK(memcmp(wa, da, sizeof wa) == 0);
    CHECK(run_grid(false, &p) == VM_FAULT_TRAP); /* the launch is not cooperative, and the header's code traps */
}

/* Tiles of 8 lanes of cooperative groups: sum, scan, labels and ranks, compared with a loop on the host. */
static void test_tiles(void)
{
    struct {
        uint64_t in, sums, scans, labels;
    } p;
    int *in, *sums, *scans, wrong = 0;
    unsigned *labels;
    p.in = vm_bench_zeros(&b, 64 * 4, &in);
    p.sums = vm_bench_zeros(&b, 64 * 4, &sums);
    p.scans = vm_bench_zeros(&b, 64 * 4, &scans);
    p.labels = vm_bench_zeros(&b, 64 * 4, &labels);
    for (int i = 0; i < 64; i++)
        in[i] = (i * 29) % 17;
    vm_bench_run(&b, "tiles", 1, 64, &p);
    for (int i = 0; i < 64; i++) {
        int sum = 0, scan = 0;
        unsigned size = 0, rank = 0;
        for (int k = i & ~7; k < (i & ~7) + 8; k++) {
            sum += in[k];
            scan += k < i ? in[k] : 0;
        }
        for (int k = i & ~31; k < (i & ~31) + 32; k++) {
            size += (in[k] & 3) == (in[i] & 3);
            rank += k < i && (in[k] & 3) == (in[i] & 3);
        }
        wrong += sums[i] != sum || scans[i] != scan || labels[i] != size * 100 + rank;
    }
    CHECK(wrong == 0);
}

static void test_lock(void)
{
    struct {
        uint64_t state, guarded;
    } p;
    int *state;
    long long *guarded;
    p.state = vm_bench_zeros(&b, 4, &state);
    p.guarded = vm_bench_zeros(&b, 8, &guarded);
    vm_bench_run(&b, "lock", 4, 40, &p);
    CHECK(*guarded == 4 * (40 + 40 * 39 / 2) && *state == 0);
}

static void test_atomics(void)
{
    struct {
        uint64_t sum, most, bits;
    } p;
    double *sum;
    float *most;
    uint64_t *bits;
    p.sum = vm_bench_zeros(&b, 8, &sum);
    p.most = vm_bench_zeros(&b, 4, &most);
    p.bits = vm_bench_zeros(&b, 8, &bits);
    vm_bench_run(&b, "atomics", 3, 96, &p);
    CHECK(*sum == 3 * 0.5 * (96 * 95 / 2));
    CHECK(*most == 100); /* 37 t mod 101 takes most values from 0 to 100 for t < 96; t = 30 gives 100 */
    // each value from 0 to 31 occurs six times, and each value from 32 to 63 three times
    CHECK(*bits == 0xffffffff00000000u);
}

static void test_staged(void)
{
    enum { TILES = 9, ALL = TILES * 64 };
    struct {
        uint64_t in, out;
        int tiles;
    } p = {.tiles = TILES};
    int *in, *out, wrong = 0;
    p.in = vm_bench_zeros(&b, ALL * 4, &in);
    p.out = vm_bench_zeros(&b, ALL * 4, &out);
    for (int i = 0; i < ALL; i++)
        in[i] = i * 7;
    vm_bench_run(&b, "staged", 1, 64, &p);
    for (int i = 0; i < ALL; i++)
        wrong += out[i] != ((i & ~63) + 63 - (i & 63)) * 7 + i / 64;
    CHECK(wrong == 0);
}

static void test_arrivals(void)
{
    enum { ROUNDS = 20, ALL = ROUNDS * 32 };
    struct {
        uint64_t in, out;
        int rounds;
    } p = {.rounds = ROUNDS};
    int *in, *out, wrong = 0;
    p.in = vm_bench_zeros(&b, ALL * 4, &in);
    p.out = vm_bench_zeros(&b, ALL * 4, &out);
    for (int i = 0; i < ALL; i++)
        in[i] = i * 5 - 3;
    vm_bench_run(&b, "arrivals", 1, 64, &p);
    for (int i = 0; i < ALL; i++)
        wrong += out[i] != ((i & ~31) + 31 - (i & 31)) * 5 - 3;
    CHECK(wrong == 0);
}

static void test_lists(void)
{
    int *out, wrong = 0;
    uint64_t address = vm_bench_zeros(&b, 64 * 4, &out);
    vm_bench_run(&b, "lists", 1, 64, &address);
    for (int i = 0, sum = 0; i < 64; i++) {
        sum += i * i;
        wrong += out[i] != sum;
    }
    CHECK(wrong == 0);
}

static void test_shapes(void)
{
    double *out;
    int wrong = 0;
    uint64_t address = vm_bench_zeros(&b, 64 * 8, &out);
    vm_bench_run(&b, "shapes", 1, 64, &address);
    for (int i = 0; i < 64; i++)
        wrong += out[i] != (i % 3 ? 1.0 : 3.0) * i * i;
    CHECK(wrong == 0);
}

static void test_complex(void)
{
    enum { COUNT = 64 };
    struct {
        uint64_t in, out;
    } p;
    double *in, *out, worst = 0;
    uint64_t seed = 1;
    p.in = vm_bench_zeros(&b, COUNT * 16, &in);
    p.out = vm_bench_zeros(&b, COUNT * 16, &out);
    for (int i = 0; i < 2 * COUNT; i++)
        in[i] = (double)(int64_t)run_random(&seed) * 0x1p-62;
    vm_bench_run(&b, "complexes", 1, COUNT, &p);
    for (int i = 0; i < COUNT; i++) {
        double complex z = in[2 * i] + in[2 * i + 1] * _Complex_I, w = cexp(z) / (z * z + 1.0);
        double off = cabs(out[2 * i] + out[2 * i + 1] * _Complex_I - w) / cabs(w);
        worst = fmax(worst, off);
    }
    CHECK(worst < 1e-13);
}

/* ---- random numbers ---- */

/* Computes Philox4x32-10 (J. K. Salmon and others, "Parallel random numbers: as easy as 1, 2, 3", 2011). */
static void philox_reference(const uint32_t start[4], uint64_t seed, uint32_t out[4])
{
    uint32_t c[4], k[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    memcpy(c, start, sizeof c);
    for (int round = 0; round < 10; round++) {
        uint64_t p = (uint64_t)0xD2511F53 * c[0], q = (uint64_t)0xCD9E8D57 * c[2];
        uint32_t n[4] = {(uint32_t)(q >> 32) ^ c[1] ^ k[0], (uint32_t)q, (uint32_t)(p >> 32) ^ c[3] ^ k[1],
                         (uint32_t)p};
        memcpy(c, n, sizeof c);
        k[0] += 0x9E3779B9u;
        k[1] += 0xBB67AE85u;
    }
    memcpy(out, c, sizeof c);
}

static void test_philox(void)
{
    enum { T = 64 };
    struct {
        uint64_t seed, offset, bits, flat, bell;
    } p = {.seed = 0x123456789abcdef0u, .offset = 4 * 77};
    uint32_t *bits;
    float *flat, *bell;
    int wrong = 0;
    double worst = 0;
    p.bits = vm_bench_zeros(&b, T * 8 * 4, &bits);
    p.flat = vm_bench_zeros(&b, T * 4 * 4, &flat);
    p.bell = vm_bench_zeros(&b, T * 4 * 4, &bell);
    vm_bench_run(&b, "philox", 1, T, &p);
    for (uint32_t t = 0; t < T; t++) {
        uint32_t want[8];
        philox_reference((uint32_t[]){77, 0, t, 0}, p.seed, want);
        philox_reference((uint32_t[]){78, 0, t, 0}, p.seed, want + 4);
        wrong += memcmp(want, bits + t * 8, sizeof want) != 0;
        for (int i = 0; i < 4; i++) {
            wrong += flat[t * 4 + (unsigned)i] != (float)want[i] * 0x1p-32f + 0x1p-33f;
            /* G. E. P. Box and M. E. Muller (1958) */
            double u = want[i & 2] * 0x1p-32 + 0x1p-33, v = (want[(i & 2) + 1] * 0x1p-32 + 0x1p-33) * 2 * M_PI;
            double n = sqrt(-2 * log(u)) * (i & 1 ? cos(v) : sin(v));
            worst = fmax(worst, fabs(n - (double)bell[t * 4 + (unsigned)i]));
        }
    }
    CHECK(wrong == 0);
    CHECK(worst < 2e-5);
}

static void test_skip(void)
{
    static const char *const kernels[] = {"skip_xorwow", "skip_mrg"};
    for (int k = 0; k < 2; k++) {
        uint32_t *bits;
        int wrong = 0;
        uint64_t address = vm_bench_zeros(&b, 64 * 4, &bits);
        vm_bench_run(&b, kernels[k], 1, 32, &address);
        for (int i = 0; i < 32; i++)
            wrong += bits[2 * i] != bits[2 * i + 1] || (i > 0 && bits[2 * i] == bits[2 * i - 2]);
        CHECK(wrong == 0);
    }
}

/* Compares xorwow with the algorithm of G. Marsaglia, "Xorshift RNGs" (2003). */
static void test_xorwow(void)
{
    struct {
        uint64_t start, bits;
    } p;
    uint32_t *start, *bits, v[5], d = 6615241;
    int wrong = 0;
    p.start = vm_bench_zeros(&b, 6 * 4, &start);
    p.bits = vm_bench_zeros(&b, 100 * 4, &bits);
    start[0] = d;
    for (uint32_t i = 0; i < 5; i++)
        start[i + 1] = v[i] = 123456789u * (i + 1);
    vm_bench_run(&b, "xorwow", 1, 1, &p);
    for (int i = 0; i < 100; i++) {
        uint32_t t = v[0] ^ v[0] >> 2;
        memmove(v, v + 1, 4 * sizeof *v);
        v[4] = v[4] ^ v[4] << 4 ^ t ^ t << 1;
        wrong += bits[i] != v[4] + (d += 362437);
    }
    CHECK(wrong == 0);
}

/* Compares the Sobol sequence with a formula. The first dimension is the sequence of J. G. van der Corput, in the order
 * of Gray codes. */
static void test_sobol(void)
{
    struct {
        uint64_t directions, bits;
    } p;
    uint32_t *directions, *bits;
    int wrong = 0;
    p.directions = vm_bench_zeros(&b, 32 * 4, &directions);
    p.bits = vm_bench_zeros(&b, 400 * 4, &bits);
    for (int i = 0; i < 32; i++)
        directions[i] = 1u << (31 - i);
    vm_bench_run(&b, "sobol", 1, 4, &p);
    for (uint32_t i = 0; i < 400; i++) {
        uint32_t gray = i ^ i >> 1, want = 0;
        for (int k = 0; k < 32; k++)
            want |= (gray >> k & 1) << (31 - k);
        wrong += bits[i] != want;
    }
    CHECK(wrong == 0);
}

static void test_curand(void)
{
    if (!run_has("curand_kernel.h", "cuRAND's generators"))
        return;
    b = run_file("curand.cu");
    test_philox();
    test_skip();
    test_xorwow();
    test_sobol();
    close_module();
}

static const check_case cases[] = {
    {"the module", open_groups},        {"grid", test_grid},       {"tiles", test_tiles},       {"lock", test_lock},
    {"atomics", test_atomics},          {"staged", test_staged},   {"arrivals", test_arrivals}, {"lists", test_lists},
    {"virtual functions", test_shapes}, {"complex", test_complex}, {"unload", close_module},    {"curand", test_curand},
};
RUN_SUITE("corpus.groups", cases)
