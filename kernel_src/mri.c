/* mri.c has mri_samples, which makes samples in k-space as inputs, and mri_f64, the reference of F^H d and Q. The
 * reference computes in double and uses all cores.
 *
 * The exponential of i 2 pi (kx x + ky y + kz z) is a product of three factors, each of which depends on one
 * coordinate. So for each sample, every column, row and slice of a group of voxels needs one sine and one cosine. A
 * pair of a sample and a voxel then needs one complex multiplication. */
#include <math.h>
#include <string.h>

#include "catalogue.h"
#include "random.h"
#include "rows.h"
#include "vector.h"

/* ---- samples ---- */

enum { RANDOM, LINES, EDGES };

typedef struct samples {
    int kind;
    uint64_t count, line;
    int64_t extent[3];
    kiln_array *k[3], *phi, *d;
} samples;

static double unit(kiln__random *random) { return (double)(kiln__random_next(random) >> 40) * 0x1p-24; } /* in [0, 1) */

/* Returns a random multiple of 2^-16 in [-half, half). If half is at most 2^7, single precision represents it
 * exactly. */
static float coarse(kiln__random *random, double half)
{
    return (float)(floor((2 * unit(random) - 1) * half * 65536) / 65536);
}

static void make_places(const samples *s, kiln__random *random)
{
    float start[3] = {0}, step[3] = {0};
    for (uint64_t i = 0; i < s->count; i++)
        for (int c = 0; c < 3; c++) {
            double half = (double)s->extent[c] / 2;
            float *to = (float *)s->k[c]->data + i;
            if (s->kind == RANDOM) {
                *to = (float)((2 * unit(random) - 1) * half);
            } else if (s->kind == EDGES) {
                *to = (float)(kiln__random_next(random) >> 63 ? half : -half);
            } else {
                /* a line of samples goes from one random place towards another, and both are inside the box */
                if (i % s->line == 0) {
                    start[c] = coarse(random, half);
                    step[c] =
                        (float)(floor(((2 * unit(random) - 1) * half - (double)start[c]) / (double)s->line * 65536) /
                                65536);
                }
                *to = start[c] + (float)(i % s->line) * step[c];
            }
        }
}

/* returns the sum of the squares of the weights */
static double make_values(const samples *s, bool q, kiln__random *random)
{
    float *phi = s->phi->data, *d = s->d->data;
    double sum = 0;
    for (uint64_t i = 0; i < s->count; i++, phi += 2, d += 2) {
        for (int c = 0; c < 2; c++) {
            phi[c] = (float)(2 * unit(random) - 1);
            d[c] = (float)(2 * unit(random) - 1);
        }
        double p = (double)phi[0] * (double)phi[0] + (double)phi[1] * (double)phi[1];
        sum += q ? p * p : p * ((double)d[0] * (double)d[0] + (double)d[1] * (double)d[1]);
    }
    return sum;
}

/* Makes samples in k-space: the coordinates along a trajectory, and the values. The function also exports `rms`, the
 * root of the sum of the squares of the weights. The sum at a voxel has about this size, so specs compute their
 * tolerance from `rms`. */
static kiln_status mri_samples(void *user, kiln_call *call)
{
    (void)user;
    static const char *const kinds[] = {[RANDOM] = "random", [LINES] = "lines", [EDGES] = "edges"};
    static const char *const names[] = {"kx", "ky", "kz"}, *const extents[] = {"nx", "ny", "nz"};
    samples s = {0};
    int64_t count, line, q, seed;
    const char *trajectory;
    if (kiln_call_int(call, "samples", NULL, &count) != KILN_OK ||
        kiln_call_int(call, "line", NULL, &line) != KILN_OK || kiln_call_int(call, "q", NULL, &q) != KILN_OK ||
        kiln_call_int(call, "seed", NULL, &seed) != KILN_OK ||
        kiln_call_text(call, "trajectory", NULL, &trajectory) != KILN_OK)
        return KILN_ERROR_HOST_FUNCTION;
    while (s.kind < (int)KILN__COUNT(kinds) && strcmp(kinds[s.kind], trajectory) != 0)
        s.kind++;
    if (s.kind == (int)KILN__COUNT(kinds) || count < 0 || count > 1 << 28 || line < 1)
        return kiln_call_fail(call, "trajectory must be random, lines or edges; samples must be 0 to 2^28, and line "
                                    "at least 1");
    s.count = (uint64_t)count, s.line = (uint64_t)line;
    const uint64_t shape[] = {s.count, 2};
    for (int c = 0; c < 3; c++) {
        if (kiln_call_int(call, extents[c], NULL, &s.extent[c]) != KILN_OK ||
            kiln_call_export_array(call, names[c], KILN_f32, 1, shape, &s.k[c]) != KILN_OK)
            return KILN_ERROR_HOST_FUNCTION;
        if (s.extent[c] < 0 || s.extent[c] > 1 << 16)
            return kiln_call_fail(call, "nx, ny and nz must be 0 to 2^16");
    }
    if (kiln_call_export_array(call, "phi", KILN_f32, 2, shape, &s.phi) != KILN_OK ||
        kiln_call_export_array(call, "d", KILN_f32, 2, shape, &s.d) != KILN_OK)
        return KILN_ERROR_HOST_FUNCTION;
    kiln__random random = {kiln__random_mix((uint64_t)seed)};
    make_places(&s, &random);
    return kiln_call_export_float(call, "rms", sqrt(make_values(&s, q != 0, &random)));
}

/* ---- the reference ---- */

/* A turn is a complex number exp(i angle). The turn of a sample at a voxel is the product of three turns, one for each
 * coordinate. The function make_tables() computes these turns once.
 *
 * On each axis, the turns at the coordinates i and -i are conjugate. So a table has only one of these two turns, and
 * the voxels of a row are summed in pairs. Let a + ib be the turn of the row times the weight of the sample, and let c
 * + is be the turn of the column. Then the voxel at x gets ac - bs (real) and bc + as (imaginary), and the voxel at -x
 * gets ac + bs and bc - as. So each pair of voxels needs four sums: of ac, bs, bc and as. All these sums together are a
 * product of matrices. ROWS rows at a time are in registers, and PART samples at a time are in the caches. */
enum { ROWS = 3, PART = 64, TASK_ROWS = 32 * ROWS, SUMS = 4 };
/* largest size of the tables in bytes; if there are more samples, they are split into stretches */
enum { TABLE_BYTES = 400 << 20 };

typedef struct turn {
    double re, im;
} turn;

typedef struct problem problem;
typedef void part_fn(size_t padded, const double *rows, const double *columns, double *sums);

struct problem {
    const kiln_array *k[3], *phi, *d;
    kiln_array *re, *im;
    bool q;
    uint64_t count, n[3];
    size_t half[3], padded; /* half[c] is n[c] / 2 + 1; padded is half[0] rounded up to whole vectors */
    uint64_t *rows;         /* numbers of the image rows that are computed */
    size_t row_count;
    uint64_t first; /* first sample of the stretch of samples whose tables are computed */
    /* number of samples in the stretch; largest number of samples in a stretch, a multiple of PART */
    size_t stretch, room;
    double *columns; /* for each sample: `padded` cosines, and then `padded` sines */
    /* Element 1 is for y, element 2 is for z, and element 0 is not used. For each coordinate from 0 to half - 1, the
     * array has `room` cosines and then `room` sines. The coordinate -i uses the entry of coordinate i. */
    double *turns[3];
    turn *weights;   /* the weight is 0 if a sample is not finite, because add_all_special() adds such samples */
    double *workers; /* for each worker: SUMS x padded sums for each of TASK_ROWS rows, and the factors of ROWS rows */
    double *sums;    /* the sums of all voxels over the earlier stretches; NULL if there is only one stretch */
    part_fn *add_part;
};

static double coordinate(uint64_t i, uint64_t n) { return (double)((float)((int64_t)i - (int64_t)(n / 2)) / (float)n); }

static turn turn_of(float k, double x)
{
    double cycles = (double)k * x; /* the product of two floats is exact in double */
    double angle = 2 * 3.14159265358979323846 * (cycles - rint(cycles));
    return (turn){cos(angle), sin(angle)};
}

static turn times(turn a, turn b) { return (turn){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }

/* Returns the weight of a sample. The kernels round weights in other ways in the last bits. The tolerance allows
 * this. */
static turn weight_of(const problem *p, uint64_t s)
{
    const float *phi = (const float *)p->phi->data + 2 * s, *d = (const float *)p->d->data + 2 * s;
    double pr = (double)phi[0], pi = (double)phi[1], dr = (double)d[0], di = (double)d[1];
    return p->q ? (turn){pr * pr + pi * pi, 0} : (turn){pr * dr + pi * di, pr * di - pi * dr};
}

/* Adds PART samples to the sums of ROWS rows. For each of these rows, `rows` has PART numbers a and then PART numbers
 * b. */
static inline __attribute__((always_inline)) void add_products(size_t padded, const double *rows, const double *columns,
                                                               double *sums)
{
    for (size_t x = 0; x < padded; x += KILN__LANES) {
        kiln__vector sum[ROWS][SUMS];
        for (size_t r = 0; r < ROWS; r++)
            for (size_t i = 0; i < SUMS; i++)
                memcpy(&sum[r][i], sums + (r * SUMS + i) * padded + x, sizeof sum[r][i]);
        for (size_t s = 0; s < PART; s++) {
            kiln__vector c, i;
            memcpy(&c, columns + 2 * s * padded + x, sizeof c);
            memcpy(&i, columns + (2 * s + 1) * padded + x, sizeof i);
#pragma GCC unroll 3
            for (size_t r = 0; r < ROWS; r++) {
                double a = rows[2 * r * PART + s], b = rows[(2 * r + 1) * PART + s];
                sum[r][0] += a * c;
                sum[r][1] += b * i;
                sum[r][2] += b * c;
                sum[r][3] += a * i;
            }
        }
        for (size_t r = 0; r < ROWS; r++)
            for (size_t i = 0; i < SUMS; i++)
                memcpy(sums + (r * SUMS + i) * padded + x, &sum[r][i], sizeof sum[r][i]);
    }
}

static void part_base(size_t padded, const double *rows, const double *columns, double *sums)
{
    add_products(padded, rows, columns, sums);
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void part_avx2(size_t padded, const double *rows, const double *columns,
                                                      double *sums)
{
    add_products(padded, rows, columns, sums);
}
#endif

static part_fn *choose_part(void)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2"))
        return part_avx2;
#endif
    return part_base;
}

static bool is_finite(const problem *p, uint64_t s, turn w)
{
    return isfinite(w.re) && isfinite(w.im) && isfinite(((const float *)p->k[0]->data)[s]) &&
           isfinite(((const float *)p->k[1]->data)[s]) && isfinite(((const float *)p->k[2]->data)[s]);
}

/* Adds a sample that is not finite. Such a sample is added by itself, because the product of the three factors would
 * make NaN of an infinity. */
static void add_special(const problem *p, uint64_t s, turn w, uint64_t y, uint64_t z, float *re, float *im)
{
    for (uint64_t x = 0; x < p->n[0]; x++) {
        const double at[3] = {coordinate(x, p->n[0]), coordinate(y, p->n[1]), coordinate(z, p->n[2])};
        turn all = {1, 0};
        for (int c = 0; c < 3; c++)
            all = times(all, turn_of(((const float *)p->k[c]->data)[s], at[c]));
        re[x] += (float)(w.re * all.re - (p->q ? 0 : w.im * all.im));
        im[x] += (float)(w.re * all.im + (p->q ? 0 : w.im * all.re));
    }
}

/* Computes the tables and the weights of PART samples. After the last sample, the tables are filled with zeros. */
static void make_tables(void *user, size_t part, size_t worker)
{
    (void)worker;
    const problem *p = user;
    for (size_t s = part * PART; s < (part + 1) * PART; s++) {
        bool there = s < p->stretch;
        turn w = there ? weight_of(p, p->first + s) : (turn){0, 0};
        bool used = there && is_finite(p, p->first + s, w);
        p->weights[s] = used ? w : (turn){0, 0};
        for (int c = 0; c < 3; c++)
            for (size_t i = 0; i < p->half[c]; i++) {
                double at = (double)((float)i / (float)p->n[c]);
                turn t = used ? turn_of(((const float *)p->k[c]->data)[p->first + s], at) : (turn){0, 0};
                double *re = c == 0 ? p->columns + 2 * s * p->padded + i : p->turns[c] + 2 * i * p->room + s;
                re[0] = t.re;
                re[c == 0 ? p->padded : p->room] = t.im;
            }
    }
}

/* Computes a and b of a row for PART samples from sample `first` on. */
static void make_row(const problem *p, size_t first, uint64_t row, double *to)
{
    const double *factors[2];
    double sign[2];
    for (int c = 1; c < 3; c++) {
        int64_t i = (int64_t)(c == 1 ? row % p->n[1] : row / p->n[1]) - (int64_t)(p->n[c] / 2);
        factors[c - 1] = p->turns[c] + 2 * (size_t)(i < 0 ? -i : i) * p->room + first;
        sign[c - 1] = i < 0 ? -1 : 1;
    }
    for (size_t s = 0; s < PART; s++) {
        turn y = {factors[0][s], sign[0] * factors[0][p->room + s]};
        turn z = {factors[1][s], sign[1] * factors[1][p->room + s]};
        turn all = times(times(p->weights[first + s], z), y);
        to[s] = all.re;
        to[PART + s] = all.im;
    }
}

/* Writes the results of an image row. If there are several stretches, the function adds the row to the sums of the
 * earlier stretches. */
static void write_row(const problem *p, uint64_t row, const double *sums, bool last)
{
    const double *ac = sums, *bs = ac + p->padded, *bc = bs + p->padded, *as = bc + p->padded;
    for (uint64_t x = 0; x < p->n[0]; x++) {
        uint64_t v = row * p->n[0] + x, middle = p->n[0] / 2;
        bool left = x < middle;
        size_t i = (size_t)(left ? middle - x : x - middle);
        double re = left ? ac[i] + bs[i] : ac[i] - bs[i], im = left ? bc[i] - as[i] : bc[i] + as[i];
        if (p->sums) {
            re = p->sums[2 * v] += re;
            im = p->sums[2 * v + 1] += im;
        }
        if (last) {
            ((float *)p->re->data)[v] = (float)re;
            ((float *)p->im->data)[v] = (float)im;
        }
    }
}

static void reference_rows(void *user, size_t task, size_t worker)
{
    const problem *p = user;
    const uint64_t *of = p->rows + task * TASK_ROWS;
    size_t left = p->row_count - task * TASK_ROWS, rows = left < TASK_ROWS ? left : TASK_ROWS;
    double *sums = p->workers + worker * (TASK_ROWS * SUMS * p->padded + 2 * ROWS * PART);
    double *factors = sums + TASK_ROWS * SUMS * p->padded;
    memset(sums, 0, TASK_ROWS * SUMS * p->padded * sizeof *sums);
    for (size_t first = 0; first < p->stretch; first += PART)
        for (size_t row = 0; row < rows; row += ROWS) {
            /* after the last row, row 0 is computed again, and the result is not used */
            for (size_t r = 0; r < ROWS; r++)
                make_row(p, first, of[row + r < rows ? row + r : 0], factors + 2 * r * PART);
            p->add_part(p->padded, factors, p->columns + 2 * first * p->padded, sums + row * SUMS * p->padded);
        }
    bool last = p->first + p->stretch == p->count;
    for (size_t row = 0; row < rows; row++)
        write_row(p, of[row], sums + row * SUMS * p->padded, last);
}

/* Reads the arguments. Then it sets the sizes of the lattice and of the tables. It fails if the shape of an array does
 * not fit. */
static kiln_status take(kiln_call *call, problem *p)
{
    static const char *const names[] = {"kx", "ky", "kz"};
    int64_t q;
    for (int c = 0; c < 3; c++)
        if (kiln_call_array(call, names[c], &p->k[c]) != KILN_OK)
            return KILN_ERROR_HOST_FUNCTION;
    if (kiln_call_array(call, "phi", &p->phi) != KILN_OK || kiln_call_array(call, "d", &p->d) != KILN_OK ||
        kiln_call_int(call, "Q", NULL, &q) != KILN_OK || kiln_call_output(call, "re", &p->re) != KILN_OK ||
        kiln_call_output(call, "im", &p->im) != KILN_OK)
        return KILN_ERROR_HOST_FUNCTION;
    p->count = p->k[0]->dims == 1 ? p->k[0]->shape[0] : 0;
    p->q = q != 0;
    bool right = p->re->dims == 3 && p->im->dims == 3 && memcmp(p->re->shape, p->im->shape, 3 * sizeof(uint64_t)) == 0;
    for (int c = 0; c < 3; c++)
        right = right && p->k[c]->type == KILN_f32 && p->k[c]->dims == 1 && p->k[c]->shape[0] == p->count;
    const kiln_array *const pairs[] = {p->phi, p->d};
    for (int i = 0; i < 2; i++)
        right = right && pairs[i]->type == KILN_f32 && pairs[i]->dims == 2 && pairs[i]->shape[0] == p->count &&
                pairs[i]->shape[1] == 2;
    if (!right || p->re->type != KILN_f32 || p->im->type != KILN_f32)
        return kiln_call_fail(call, "kx, ky and kz must have S elements of f32, phi and d S x 2, and re and im NZ x "
                                    "NY x NX");
    for (int c = 0; c < 3; c++) {
        p->n[c] = p->re->shape[2 - c];
        p->half[c] = (size_t)(p->n[c] / 2 + 1);
    }
    p->padded = (p->half[0] + KILN__LANES - 1) / KILN__LANES * KILN__LANES;
    return KILN_OK;
}

/* Adds all samples that are not finite, after all other samples. These additions are in single precision, because the
 * result is NaN or infinite in any case. */
static void add_all_special(const problem *p)
{
    for (uint64_t s = 0; s < p->count; s++) {
        turn w = weight_of(p, s);
        if (is_finite(p, s, w))
            continue;
        for (size_t i = 0; i < p->row_count; i++)
            add_special(p, s, w, p->rows[i] % p->n[1], p->rows[i] / p->n[1],
                        (float *)p->re->data + p->rows[i] * p->n[0], (float *)p->im->data + p->rows[i] * p->n[0]);
    }
}

enum { MOST_PAIRS_LOG = 32 }; /* 2^32 pairs of a sample and a voxel take one second of one core */

static bool choose_rows(kiln_call *call, problem *p, uint64_t every)
{
    uint64_t rows = p->n[1] * p->n[2];
    p->rows = kiln__alloc(kiln_call_allocator(call), (size_t)(rows + 1) * sizeof *p->rows);
    for (uint64_t row = 0; p->rows && row < rows; row++)
        if (kiln__row_chosen(row, every))
            p->rows[p->row_count++] = row;
    return p->rows;
}

static bool make_room(kiln_call *call, problem *p, size_t threads)
{
    size_t of_sample = 2 * (p->padded + p->half[1] + p->half[2]), most = TABLE_BYTES / sizeof(double) / of_sample;
    most = most < PART ? PART : most / PART * PART;
    p->room = p->count < most ? (size_t)(p->count + PART - 1) / PART * PART : most;
    p->columns = kiln__calloc(kiln_call_allocator(call), p->room * 2 * p->padded + 1, sizeof *p->columns);
    for (int c = 1; c < 3; c++)
        p->turns[c] = kiln__calloc(kiln_call_allocator(call), p->room * 2 * p->half[c] + 1, sizeof *p->turns[c]);
    p->weights = kiln__calloc(kiln_call_allocator(call), p->room + 1, sizeof *p->weights);
    p->workers = kiln__calloc(kiln_call_allocator(call), threads * (TASK_ROWS * SUMS * p->padded + 2 * ROWS * PART),
                              sizeof *p->workers);
    bool several = p->count > p->room;
    if (several)
        p->sums = kiln__calloc(kiln_call_allocator(call), (size_t)(2 * p->n[0] * p->n[1] * p->n[2] + 1),
                               sizeof *p->sums);
    return p->columns && p->turns[1] && p->turns[2] && p->weights && p->workers && (p->sums || !several);
}

static void free_room(kiln_call *call, problem *p)
{
    void *const all[] = {p->columns, p->turns[1], p->turns[2], p->weights, p->workers, p->sums, p->rows};
    for (size_t i = 0; i < KILN__COUNT(all); i++)
        kiln__free(kiln_call_allocator(call), all[i]);
}

static kiln_status mri_f64(void *user, kiln_call *call)
{
    (void)user;
    problem p = {.add_part = choose_part()};
    if (take(call, &p) != KILN_OK)
        return KILN_ERROR_HOST_FUNCTION;
    uint64_t every;
    double pairs = (double)p.n[0] * (double)p.n[1] * (double)p.n[2] * (double)p.count;
    if (!kiln__rows_every(call, pairs, ldexp(1, MOST_PAIRS_LOG), &every))
        return KILN_ERROR_HOST_FUNCTION;
    size_t threads = kiln__cpu_count() + 1;
    bool made = make_room(call, &p, threads) && choose_rows(call, &p, every);
    size_t tasks = (p.row_count + TASK_ROWS - 1) / TASK_ROWS;
    if (made)
        do {
            p.stretch = p.count - p.first < p.room ? (size_t)(p.count - p.first) : p.room;
            kiln__parallel(threads - 1, (p.stretch + PART - 1) / PART, make_tables, &p);
            kiln__parallel(threads - 1, tasks, reference_rows, &p);
            p.first += p.stretch;
        } while (p.first < p.count);
    if (made)
        add_all_special(&p);
    free_room(call, &p);
    return made ? KILN_OK : kiln__call_no_memory(call);
}

KILN__FAMILY(mri, KILN__HOST("mri_f64", KILN_HOST_REFERENCE, mri_f64, "kx, ky, kz, phi, d, Q", "re, im"),
             KILN__HOST("mri_samples", KILN_HOST_INPUT, mri_samples, "samples, line, q, seed, trajectory, nx, ny, nz",
                        "kx, ky, kz, phi, d, rms"))
