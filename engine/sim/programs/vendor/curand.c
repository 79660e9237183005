/* curand.c - libcurand for the simulated device: the host API of cuRAND for the generators XORWOW, MRG32k3a and
 * Philox4x32-10, with the same numbers as NVIDIA's cuRAND.
 *
 * cuRAND generates with many threads at once. Thread t has the subsequence t of the generator, and the threads take
 * turns. In one turn a thread gives one number (XORWOW and MRG32k3a), a pair of normal numbers, or four numbers
 * (Philox). After the last thread, the turns begin again with the first thread. A later call begins at the thread where
 * the last call ended. This order was observed with cuRAND 10.4 on an H200, and NVIDIA's guide describes it under
 * "Order". Integers and uniform numbers are equal bit for bit. Normal and log-normal numbers differ in the last digits,
 * because the host's logarithm and sine differ. Poisson numbers have the same distribution as cuRAND's, but different
 * values.
 *
 * The generators: XORWOW of G. Marsaglia, "Xorshift RNGs" (2003); MRG32k3a of P. L'Ecuyer, "Good parameters and
 * implementations for combined multiple recursive random number generators" (1999); Philox of J. Salmon and others,
 * "Parallel random numbers: as easy as 1, 2, 3" (2011). Normal numbers come from the method of Box and Muller.
 *
 * Several threads may use the same generator. Each call has the lock of the generator while it uses the state. */
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "vendor.h"

#define LIBRARY "libcurand"

enum { /* curandStatus_t */
       RAND_DONE = 0,
       RAND_NOT_INITIALIZED = 101,
       RAND_ALLOCATION_FAILED = 102,
       RAND_TYPE_ERROR = 103,
       RAND_OUT_OF_RANGE = 104,
       RAND_LENGTH_NOT_MULTIPLE = 105,
       RAND_LAUNCH_FAILURE = 201,
       RAND_INITIALIZATION_FAILED = 203
};
enum { DEFAULT_GENERATOR = 100, XORWOW = 101, MRG32K3A = 121, PHILOX = 161 };                    /* curandRngType_t */
enum { ORDER_BEST = 100, ORDER_DEFAULT = 101, ORDER_SEEDED, ORDER_LEGACY, ORDER_DYNAMIC = 104 }; /* curandOrdering_t */
enum { VERSION = 10400 }; /* cuRAND 10.4, with which the numbers were compared */

enum { WORDS = 6, LEGACY_THREADS = 4096, MRG_THREADS = 81920, PHILOX_THREADS = 65536 };

typedef struct generator {
    int kind, order;
    bool host; /* the numbers go to host memory */
    void *context;
    _Atomic(void *) stream;
    pthread_mutex_t lock; /* protects the members below, and `order` */
    uint64_t seed, offset;
    /* The state of each thread, or NULL until the first number is generated. XORWOW: the Weyl counter and five words.
     * MRG32k3a: three words of each recurrence. Philox: the position in the thread's sequence at which its turn began
     * (two words). */
    uint32_t (*states)[WORDS];
    uint32_t threads;
    uint32_t next; /* the thread whose turn it is */
    uint32_t part; /* for Philox, how many of the four numbers of its turn this thread has already given */
} generator;

/* ---- XORWOW: a linear map of 160 bits, and a Weyl counter ---- */

enum { BITS = 160, LINEAR = 5, WEYL = 362437 };

typedef struct bits {
    uint32_t word[LINEAR];
} bits;

static bits step_bits(bits v)
{
    const uint32_t t = v.word[0] ^ v.word[0] >> 2, last = v.word[4];
    memmove(v.word, v.word + 1, (LINEAR - 1) * sizeof v.word[0]);
    v.word[4] = last ^ last << 4 ^ t ^ t << 1;
    return v;
}

/* Applies a linear map to `v`. The map is a list that has the image of each single bit. */
static bits apply_map(const bits map[BITS], bits v)
{
    bits sum = {{0}};
    for (unsigned b = 0; b < BITS; b++)
        for (unsigned k = 0; (v.word[b / 32] >> b % 32 & 1) && k < LINEAR; k++)
            sum.word[k] ^= map[b].word[k];
    return sum;
}

static void square_map(bits map[BITS])
{
    bits squared[BITS];
    for (unsigned b = 0; b < BITS; b++)
        squared[b] = apply_map(map, map[b]);
    memcpy(map, squared, sizeof squared);
}

static void make_step_map(bits map[BITS])
{
    for (unsigned b = 0; b < BITS; b++) {
        bits one = {{0}};
        one.word[b / 32] = UINT32_C(1) << b % 32;
        map[b] = step_bits(one);
    }
}

/* Thread t begins 2^67 * t numbers after thread 0. All threads begin with the same Weyl counter, because 2^32 divides
 * 2^67. All threads skip `rounds` numbers. */
static void seed_xorwow(generator *g, uint64_t rounds)
{
    enum { DISTANCE = 67 };
    const uint32_t s0 = (uint32_t)g->seed ^ 0xaad26b49, s1 = (uint32_t)(g->seed >> 32) ^ 0xf7dcefdd;
    const uint32_t t0 = 1099087573 * s0, t1 = 2591861531 * s1;
    bits map[BITS], v = {{123456789 + t0, 362436069 ^ t0, 521288629 + t1, 88675123 ^ t1, 5783321 + t0}};
    const uint32_t weyl = 6615241 + t1 + t0 + WEYL * (uint32_t)rounds;
    make_step_map(map);
    for (uint64_t left = rounds; left; left >>= 1, square_map(map))
        v = left & 1 ? apply_map(map, v) : v;
    make_step_map(map);
    for (int k = 0; k < DISTANCE; k++)
        square_map(map);
    for (uint32_t t = 0; t < g->threads; t++, v = apply_map(map, v)) {
        g->states[t][0] = weyl;
        memcpy(g->states[t] + 1, v.word, sizeof v.word);
    }
}

static uint32_t next_xorwow(uint32_t state[WORDS])
{
    bits v;
    memcpy(v.word, state + 1, sizeof v.word);
    v = step_bits(v);
    memcpy(state + 1, v.word, sizeof v.word);
    state[0] += WEYL;
    return v.word[4] + state[0];
}

/* ---- MRG32k3a: two recurrences modulo two primes ---- */

static const uint64_t modulus[2] = {4294967087, 4294944443};
static const uint64_t one_step[2][3][3] = {{{0, 1, 0}, {0, 0, 1}, {4294967087 - 810728, 1403580, 0}},
                                           {{0, 1, 0}, {0, 0, 1}, {4294944443 - 1370589, 0, 527612}}};

static void multiply(uint64_t a[3][3], uint64_t b[3][3], uint64_t c[3][3], uint64_t m)
{
    uint64_t product[3][3] = {{0}};
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            for (int k = 0; k < 3; k++)
                product[i][j] = (product[i][j] + b[i][k] * c[k][j] % m) % m;
    memcpy(a, product, sizeof product);
}

/* Computes the map of `steps` << `shift` steps. */
static void make_map(uint64_t map[3][3], int which, uint64_t steps, int shift)
{
    uint64_t power[3][3];
    memcpy(power, one_step[which], sizeof power);
    memset(map, 0, 9 * sizeof(uint64_t));
    for (int k = 0; k < 3; k++)
        map[k][k] = 1;
    for (int k = 0; k < shift; k++)
        multiply(power, power, power, modulus[which]);
    for (; steps; steps >>= 1, multiply(power, power, power, modulus[which]))
        if (steps & 1)
            multiply(map, map, power, modulus[which]);
}

static void apply_mrg(uint32_t state[3], uint64_t map[3][3], uint64_t m)
{
    uint64_t sum[3] = {0};
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++)
            sum[i] = (sum[i] + map[i][k] * state[k] % m) % m;
    for (int i = 0; i < 3; i++)
        state[i] = (uint32_t)sum[i];
}

/* Thread t begins 2^76 * t numbers after thread 0. All threads skip `rounds` numbers. */
static void seed_mrg(generator *g, uint64_t rounds)
{
    enum { DISTANCE = 76, BASE = 12345 };
    const uint64_t x = (uint32_t)g->seed ^ 0x55555555u, y = (uint32_t)(g->seed >> 32) ^ 0xaaaaaaaau;
    const uint64_t factor[WORDS] = {x, y, x, y, x, y};
    for (int which = 0; which < 2; which++) {
        uint64_t map[3][3];
        for (int k = 3 * which; k < 3 * which + 3; k++)
            g->states[0][k] = (uint32_t)(g->seed ? factor[k] * BASE % modulus[which] : BASE);
        make_map(map, which, rounds, 0);
        apply_mrg(g->states[0] + 3 * which, map, modulus[which]);
        make_map(map, which, 1, DISTANCE);
        for (uint32_t t = 1; t < g->threads; t++) {
            memcpy(g->states[t] + 3 * which, g->states[t - 1] + 3 * which, 3 * sizeof(uint32_t));
            apply_mrg(g->states[t] + 3 * which, map, modulus[which]);
        }
    }
}

/* Returns the next number, which is from 1 to the first modulus. */
static double next_mrg(uint32_t state[WORDS])
{
    const uint64_t m1 = modulus[0], m2 = modulus[1];
    const uint64_t p1 = (1403580 * (uint64_t)state[1] % m1 + (m1 - 810728) * state[0] % m1) % m1;
    const uint64_t p2 = (527612 * (uint64_t)state[5] % m2 + (m2 - 1370589) * state[3] % m2) % m2;
    memmove(state, state + 1, 2 * sizeof state[0]);
    memmove(state + 3, state + 4, 2 * sizeof state[0]);
    state[2] = (uint32_t)p1;
    state[5] = (uint32_t)p2;
    return (double)(p1 > p2 ? p1 - p2 : p1 + m1 - p2);
}

/* ---- Philox4x32-10: an encrypted counter ---- */

static uint32_t next_philox(const generator *g, uint32_t thread, uint32_t state[WORDS])
{
    uint64_t taken;
    memcpy(&taken, state, sizeof taken);
    uint32_t c[4] = {(uint32_t)(taken / 4), (uint32_t)(taken / 4 >> 32), thread, 0};
    uint32_t k0 = (uint32_t)g->seed, k1 = (uint32_t)(g->seed >> 32);
    for (int round = 0; round < 10; round++, k0 += 0x9e3779b9, k1 += 0xbb67ae85) {
        const uint64_t p0 = UINT64_C(0xd2511f53) * c[0], p1 = UINT64_C(0xcd9e8d57) * c[2];
        const uint32_t n[4] = {(uint32_t)(p1 >> 32) ^ c[1] ^ k0, (uint32_t)p1, (uint32_t)(p0 >> 32) ^ c[3] ^ k1,
                               (uint32_t)p0};
        memcpy(c, n, sizeof c);
    }
    const uint32_t number = c[taken % 4];
    taken++;
    memcpy(state, &taken, sizeof taken);
    return number;
}

/* ---- the threads of a generator ---- */

static uint32_t count_threads(const generator *g)
{
    if (g->kind == PHILOX)
        return PHILOX_THREADS;
    return g->kind == MRG32K3A && g->order != ORDER_LEGACY ? MRG_THREADS : LEGACY_THREADS;
}

static uint32_t numbers_in_turn(const generator *g) { return g->kind == PHILOX ? 4 : 1; }

/* Makes the states of all threads, and skips `offset` numbers. Returns false if memory runs out. */
static bool make_states(generator *g)
{
    if (g->states)
        return true;
    g->threads = count_threads(g);
    g->states = calloc(g->threads, sizeof *g->states);
    if (!g->states)
        return false;
    const uint32_t turn = numbers_in_turn(g);
    const uint64_t turns = g->offset / turn, rounds = turns / g->threads;
    g->next = (uint32_t)(turns % g->threads);
    g->part = (uint32_t)(g->offset % turn);
    if (g->kind == XORWOW)
        seed_xorwow(g, rounds);
    else if (g->kind == MRG32K3A)
        seed_mrg(g, rounds);
    for (uint32_t t = 0; t < g->threads; t++) {
        const uint64_t taken = (rounds + (t < g->next)) * turn;
        if (g->kind == PHILOX)
            memcpy(g->states[t], &taken, sizeof taken);
        else if (t < g->next && g->kind == XORWOW)
            next_xorwow(g->states[t]);
        else if (t < g->next)
            next_mrg(g->states[t]);
    }
    return true;
}

static void forget_states(generator *g)
{
    free(g->states);
    g->states = NULL;
    g->next = g->part = 0;
}

/* ---- distributions. Each of these functions draws from the thread whose turn it is ---- */

#define TO_DOUBLE 0x1p-53

static uint32_t draw(generator *g)
{
    uint32_t *state = g->states[g->next];
    if (g->kind == PHILOX)
        return next_philox(g, g->next, state);
    if (g->kind == XORWOW)
        return next_xorwow(state);
    /* NVIDIA's factor, which widens the range of MRG32k3a to 32 bits. The largest number would become 2^32, and a GPU's
     * conversion saturates it to 2^32 - 1. */
    const double wide = next_mrg(state) * 1.000000048662;
    return wide >= 0x1p32 ? UINT32_MAX : (uint32_t)wide;
}

#define MRG_NORM 2.3283065498378288e-10 /* 1 / (modulus + 1), as NVIDIA rounds it */

static float draw_float(generator *g)
{
    if (g->kind == MRG32K3A)
        return (float)(next_mrg(g->states[g->next]) * MRG_NORM);
    return (float)draw(g) * 2.3283064e-10f + 2.3283064e-10f / 2.0f;
}

static double draw_double(generator *g)
{
    if (g->kind == MRG32K3A)
        return next_mrg(g->states[g->next]) * MRG_NORM;
    const uint64_t low = draw(g), high = draw(g);
    return (double)(low ^ high << 21) * TO_DOUBLE + TO_DOUBLE / 2;
}

enum { MEAN_MOST = 400000 }; /* largest mean for which Poisson numbers are supported */

typedef struct work {
    generator *g;
    const char *name;
    void *out;
    size_t count, size; /* `size` is the number of bytes of one number */
    bool normal;        /* the numbers come in pairs */
    int what;
    double mean, deviation;
} work;
enum { INTEGERS, UNIFORM, UNIFORM_DOUBLE, NORMAL, NORMAL_DOUBLE, LOG_NORMAL, LOG_NORMAL_DOUBLE, POISSON };

static void draw_pair(generator *g, const work *w, double pair[2])
{
    const double pi = 3.14159265358979323846;
    if (w->what == NORMAL || w->what == LOG_NORMAL) {
        const float u = draw_float(g);
        const float v = g->kind == MRG32K3A
                            ? draw_float(g) * 6.2831855f
                            : (float)draw(g) * (2.3283064e-10f * 6.2831855f) + 2.3283064e-10f * 6.2831855f / 2;
        const float s = sqrtf(-2.0f * logf(u));
        pair[0] = s * sinf(v);
        pair[1] = s * cosf(v);
    } else {
        const double u = draw_double(g), v = draw_double(g) * 2, s = sqrt(-2.0 * log(u));
        pair[0] = s * sin(v * pi);
        pair[1] = s * cos(v * pi);
    }
    for (int k = 0; k < 2; k++) {
        pair[k] = w->mean + w->deviation * pair[k];
        if (w->what == LOG_NORMAL || w->what == LOG_NORMAL_DOUBLE)
            pair[k] = exp(pair[k]);
    }
}

/* Draws a Poisson number as cuRAND does: by inversion for a small mean, and as a sum of Poisson numbers with small
 * means for a larger one. For a very large mean the result is a rounded normal number. */
static uint32_t draw_poisson(generator *g, double mean)
{
    enum { SMALL = 500, LARGE = 4000 };
    if (mean > LARGE) {
        double pair[2];
        draw_pair(g, &(work){.what = NORMAL_DOUBLE, .mean = mean, .deviation = sqrt(mean)}, pair);
        return pair[0] > 0 ? (uint32_t)(pair[0] + 0.5) : 0;
    }
    uint32_t sum = 0;
    double left = mean;
    while (left > 0) {
        const double part = left < SMALL ? left : SMALL;
        left -= SMALL;
        double u = draw_double(g), chance = exp(-part);
        for (uint32_t n = 0; u > chance && chance > 0; sum++) {
            u -= chance;
            chance *= part / ++n;
        }
    }
    return sum;
}

static void put(const work *w, size_t at, double number)
{
    char *to = (char *)w->out + at * w->size;
    const float narrow = (float)number;
    memcpy(to, w->size == sizeof(float) ? (const void *)&narrow : (const void *)&number, w->size);
}

/* Moves the thread whose turn it is by `words` words along its Philox sequence. Returns the position before the
 * move. */
static uint64_t move_philox(generator *g, uint64_t words)
{
    uint64_t taken, moved;
    memcpy(&taken, g->states[g->next], sizeof taken);
    moved = taken + words;
    memcpy(g->states[g->next], &moved, sizeof moved);
    return taken;
}

static bool is_double(const work *w) { return w->size == sizeof(double); }

/* Writes the number with the index `at`. If this number is the first number of a pair, also writes the second number.
 * Returns how many numbers were written.
 *
 * The four numbers of a thread's turn have fixed places: number p of a turn is made from word p since the beginning of
 * the turn; a double is made from the words 2p and 2p + 1. So a call that begins within a turn makes the same number as
 * a call that makes the whole turn, whatever kind of numbers the calls before it made. A turn of doubles takes eight
 * words. */
static uint32_t write_philox(const work *w, size_t at)
{
    generator *g = w->g;
    const uint32_t words = is_double(w) ? 2 : 1, second = w->normal ? g->part % 2 : 0;
    const uint64_t begin = move_philox(g, (g->part - second) * words);
    double pair[2];
    uint32_t written = 1;
    if (w->normal) {
        draw_pair(g, w, pair);
        put(w, at, pair[second]);
        if (!second && at + 1 < w->count) {
            put(w, at + 1, pair[1]);
            written = 2;
        }
    } else if (w->what == INTEGERS) {
        const uint32_t number = draw(g);
        memcpy((char *)w->out + at * w->size, &number, sizeof number);
    } else
        put(w, at, w->what == UNIFORM ? draw_float(g) : draw_double(g));
    const uint64_t end = begin + (g->part + written == numbers_in_turn(g) ? words * numbers_in_turn(g) : 0);
    memcpy(g->states[g->next], &end, sizeof end);
    return written;
}

static uint32_t write_pair(const work *w, size_t at)
{
    double pair[2];
    draw_pair(w->g, w, pair);
    put(w, at, pair[0]);
    put(w, at + 1, pair[1]);
    return 2;
}

/* Draws once, and writes the numbers of this draw to the indices from `at` on. Returns the count of these numbers. */
static uint32_t write_next(const work *w, size_t at)
{
    generator *g = w->g;
    uint32_t number;
    if (g->kind == PHILOX && w->what != POISSON)
        return write_philox(w, at);
    switch (w->what) {
    case UNIFORM: put(w, at, draw_float(g)); return 1;
    case UNIFORM_DOUBLE: put(w, at, draw_double(g)); return 1;
    case INTEGERS:
    case POISSON:
        number = w->what == POISSON ? draw_poisson(g, w->mean) : draw(g);
        memcpy((char *)w->out + at * w->size, &number, sizeof number);
        return 1;
    default: return write_pair(w, at); /* the program must request an even count of normal numbers */
    }
}

/* Writes all numbers of a call. The caller has the lock of the generator. */
static bool write_numbers(work *w)
{
    generator *g = w->g;
    if (w->count && !make_states(g))
        return false;
    const uint32_t turn = w->normal && g->kind != PHILOX ? 2 : numbers_in_turn(g);
    if (g->kind == PHILOX && w->what == POISSON && w->count)
        /* skip the numbers of earlier calls, because a Poisson number takes any number of words */
        move_philox(g, g->part);
    for (size_t at = 0; at < w->count;) {
        const uint32_t given = write_next(w, at);
        at += given;
        g->part += given;
        if (g->part >= turn) {
            g->part = 0;
            g->next = (g->next + 1) % g->threads;
        }
    }
    return true;
}

static bool generate(const void *what)
{
    work w = *(const work *)what;
    size_t bytes;
    if (__builtin_mul_overflow(w.count, w.size, &bytes) || (uintptr_t)w.out % w.size)
        return false;
    if (!w.g->host && w.count)
        w.out = vendor_reach(w.out, bytes, true, w.name);
    if (w.count && !w.out)
        return false;
    pthread_mutex_lock(&w.g->lock);
    const bool done = write_numbers(&w);
    pthread_mutex_unlock(&w.g->lock);
    return done;
}

static int start(generator *g, const char *name, void *out, size_t count, size_t size, int what, double mean,
                 double deviation)
{
    if (!g)
        return RAND_NOT_INITIALIZED;
    const bool normal = what == NORMAL || what == NORMAL_DOUBLE || what == LOG_NORMAL || what == LOG_NORMAL_DOUBLE;
    if (normal && count % 2)
        return RAND_LENGTH_NOT_MULTIPLE;
    if (!(deviation >= 0) || !isfinite(mean) || !isfinite(deviation) ||
        (what == POISSON && !(mean > 0 && mean <= MEAN_MOST)))
        return RAND_OUT_OF_RANGE;
    const work w = {.g = g,
                    .name = name,
                    .out = out,
                    .count = count,
                    .size = size,
                    .normal = normal,
                    .what = what,
                    .mean = mean,
                    .deviation = deviation};
    if (g->host)
        return generate(&w) ? RAND_DONE : RAND_ALLOCATION_FAILED;
    bool done = true;
    void *stream = g->stream;
    if (!vendor_enter(g->context))
        return RAND_LAUNCH_FAILURE;
    if (vendor_is_capturing(stream)) { /* refuse the call, because the graph could outlive the generator */
        vendor_tell_missing(LIBRARY, "generating numbers in a graph");
        return RAND_LAUNCH_FAILURE;
    }
    return vendor_enqueue(stream, name, generate, &w, sizeof w, &done) && done ? RAND_DONE : RAND_LAUNCH_FAILURE;
}

#define GENERATE(name, type, what)                                                                                     \
    VENDOR_API int name(generator *g, type *out, size_t count)                                                         \
    {                                                                                                                  \
        return start(g, #name, out, count, sizeof *out, what, 0, 0);                                                   \
    }
GENERATE(curandGenerate, uint32_t, INTEGERS)
GENERATE(curandGenerateUniform, float, UNIFORM)
GENERATE(curandGenerateUniformDouble, double, UNIFORM_DOUBLE)
#define GENERATE_NORMAL(name, type, what)                                                                              \
    VENDOR_API int name(generator *g, type *out, size_t count, type mean, type deviation)                              \
    {                                                                                                                  \
        return start(g, #name, out, count, sizeof *out, what, (double)mean, (double)deviation);                        \
    }
GENERATE_NORMAL(curandGenerateNormal, float, NORMAL)
GENERATE_NORMAL(curandGenerateNormalDouble, double, NORMAL_DOUBLE)
GENERATE_NORMAL(curandGenerateLogNormal, float, LOG_NORMAL)
GENERATE_NORMAL(curandGenerateLogNormalDouble, double, LOG_NORMAL_DOUBLE)

VENDOR_API int curandGeneratePoisson(generator *g, uint32_t *out, size_t count, double mean)
{
    return start(g, "curandGeneratePoisson", out, count, sizeof *out, POISSON, mean, 0);
}

VENDOR_API int curandGeneratePoissonMethod(generator *g, uint32_t *out, size_t count, double mean, int method)
{
    (void)method;
    return start(g, "curandGeneratePoissonMethod", out, count, sizeof *out, POISSON, mean, 0);
}

/* Only generators of 64-bit numbers accept this call. The stand-in has no such generator. */
VENDOR_API int curandGenerateLongLong(generator *g, uint64_t *out, size_t count)
{
    (void)out, (void)count;
    return g ? RAND_TYPE_ERROR : RAND_NOT_INITIALIZED;
}

VENDOR_API int curandGenerateSeeds(generator *g)
{
    if (!g)
        return RAND_NOT_INITIALIZED;
    pthread_mutex_lock(&g->lock);
    const bool made = make_states(g);
    pthread_mutex_unlock(&g->lock);
    return made ? RAND_DONE : RAND_ALLOCATION_FAILED;
}

/* ---- generators ---- */

static int create(generator **made, int kind, bool host)
{
    if (!made)
        return RAND_OUT_OF_RANGE;
    *made = NULL;
    kind = kind == DEFAULT_GENERATOR ? XORWOW : kind;
    if (kind != XORWOW && kind != MRG32K3A && kind != PHILOX) {
        vendor_tell_missing(LIBRARY, "a generator other than XORWOW, MRG32K3A and PHILOX4_32_10");
        return RAND_TYPE_ERROR;
    }
    void *context = NULL;
    if (!host && (!vendor_open_device(LIBRARY) || !(context = vendor_enter(NULL))))
        return RAND_INITIALIZATION_FAILED;
    *made = calloc(1, sizeof **made);
    if (!*made)
        return RAND_ALLOCATION_FAILED;
    (*made)->kind = kind;
    (*made)->order = ORDER_DEFAULT;
    (*made)->host = host;
    (*made)->context = context;
    if (pthread_mutex_init(&(*made)->lock, NULL) == 0)
        return RAND_DONE;
    free(*made);
    *made = NULL;
    return RAND_ALLOCATION_FAILED;
}

VENDOR_API int curandCreateGenerator(generator **made, int kind) { return create(made, kind, false); }
VENDOR_API int curandCreateGeneratorHost(generator **made, int kind) { return create(made, kind, true); }

VENDOR_API int curandDestroyGenerator(generator *g)
{
    if (!g)
        return RAND_NOT_INITIALIZED;
    forget_states(g);
    pthread_mutex_destroy(&g->lock);
    free(g);
    return RAND_DONE;
}

VENDOR_API int curandSetStream(generator *g, void *stream)
{
    if (!g)
        return RAND_NOT_INITIALIZED;
    g->stream = stream;
    return RAND_DONE;
}

VENDOR_API int curandSetPseudoRandomGeneratorSeed(generator *g, unsigned long long seed)
{
    if (!g)
        return RAND_NOT_INITIALIZED;
    pthread_mutex_lock(&g->lock);
    forget_states(g);
    g->seed = seed;
    pthread_mutex_unlock(&g->lock);
    return RAND_DONE;
}

VENDOR_API int curandSetGeneratorOffset(generator *g, unsigned long long offset)
{
    if (!g)
        return RAND_NOT_INITIALIZED;
    pthread_mutex_lock(&g->lock);
    forget_states(g);
    g->offset = offset;
    pthread_mutex_unlock(&g->lock);
    return RAND_DONE;
}

/* In cuRAND, the dynamic order depends on the GPU. In the stand-in, the dynamic order equals the default order. */
VENDOR_API int curandSetGeneratorOrdering(generator *g, int order)
{
    if (!g)
        return RAND_NOT_INITIALIZED;
    if (order < ORDER_BEST || order > ORDER_DYNAMIC)
        return RAND_OUT_OF_RANGE;
    if (order == ORDER_SEEDED) {
        vendor_tell_missing(LIBRARY, "CURAND_ORDERING_PSEUDO_SEEDED");
        return RAND_OUT_OF_RANGE;
    }
    pthread_mutex_lock(&g->lock);
    forget_states(g);
    g->order = order;
    pthread_mutex_unlock(&g->lock);
    return RAND_DONE;
}

VENDOR_API int curandSetQuasiRandomGeneratorDimensions(generator *g, unsigned dimensions)
{
    (void)dimensions;
    return g ? RAND_TYPE_ERROR : RAND_NOT_INITIALIZED;
}

VENDOR_API int curandGetVersion(int *version)
{
    if (!version)
        return RAND_OUT_OF_RANGE;
    *version = VERSION;
    return RAND_DONE;
}

VENDOR_API int curandGetProperty(int what, int *value)
{
    return vendor_version_part((const int[]){10, 4, 0}, what, value) ? RAND_DONE : RAND_OUT_OF_RANGE;
}

#define ABSENT(name) VENDOR_ABSENT(LIBRARY, name, RAND_TYPE_ERROR)
ABSENT(curandCreatePoissonDistribution)
ABSENT(curandDestroyDistribution)
ABSENT(curandGetDirectionVectors32)
ABSENT(curandGetDirectionVectors64)
ABSENT(curandGetScrambleConstants32)
ABSENT(curandGetScrambleConstants64)
