/* mri_samples: samples in k-space as inputs. mri_f64: the reference of F^H d and Q, in double and by all cores.
 *
 * exp(i 2 pi (kx x + ky y + kz z)) is a product of three factors that depend on one coordinate each. So a sample needs
 * a sine and a cosine for each column, row and slice of a group of voxels, and a pair one complex multiplication. */
#include <math.h>
#include <string.h>

#include "hosts.h"
#include "random.h"

/* ---- samples ---- */

enum { RANDOM, LINES, EDGES };

typedef struct samples {
    int kind;
    uint64_t count, line;
    int64_t extent[3];
    kiln_array *k[3], *phi, *d;
} samples;

static double unit(kiln__random *random) { return (double)(kiln__random_next(random) >> 40) * 0x1p-24; } /* [0, 1) */

/* A multiple of 2^-16 in [-half, half), which is exact in single precision up to 2^7. */
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
                if (i % s->line == 0) { /* from one place to another, both inside */
                    start[c] = coarse(random, half);
                    step[c] =
                        (float)(floor(((2 * unit(random) - 1) * half - (double)start[c]) / (double)s->line * 65536) /
                                65536);
                }
                *to = start[c] + (float)(i % s->line) * step[c];
            }
        }
}

static double make_values(const samples *s, bool q, kiln__random *random) /* the sum of the weights' squares */
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

kiln_status kiln__host_mri_samples(void *user, kiln_call *call)
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
        return kiln_call_fail(call, "trajectory is random, lines or edges; samples is 0 to 2^28, line at least 1");
    s.count = (uint64_t)count, s.line = (uint64_t)line;
    const uint64_t shape[] = {s.count, 2};
    for (int c = 0; c < 3; c++) {
        if (kiln_call_int(call, extents[c], NULL, &s.extent[c]) != KILN_OK ||
            kiln_call_export_array(call, names[c], KILN_f32, 1, shape, &s.k[c]) != KILN_OK)
            return KILN_ERROR_HOST_FUNCTION;
        if (s.extent[c] < 0 || s.extent[c] > 1 << 16)
            return kiln_call_fail(call, "nx, ny and nz are 0 to 2^16");
    }
    if (kiln_call_export_array(call, "phi", KILN_f32, 2, shape, &s.phi) != KILN_OK ||
        kiln_call_export_array(call, "d", KILN_f32, 2, shape, &s.d) != KILN_OK)
        return KILN_ERROR_HOST_FUNCTION;
    kiln__random random = {kiln__random_mix((uint64_t)seed)};
    make_places(&s, &random);
    return kiln_call_export_float(call, "rms", sqrt(make_values(&s, q != 0, &random)));
}

/* ---- the reference ---- */

/* GROUP voxels are summed up together; a table has PART samples. */
enum { LANES = 4, VECTORS = 4, GROUP = LANES * VECTORS, PART = 64, MOST_SLICES = 4 };

typedef double vector __attribute__((vector_size(LANES * sizeof(double))));

typedef struct turn {
    double re, im;
} turn;

typedef struct problem {
    const kiln_array *k[3], *phi, *d;
    kiln_array *re, *im;
    bool q;
    uint64_t count, nx, ny, nz, padded; /* nx rounded up to groups */
    uint64_t slices;                    /* that a thread does together, with the same tables */
    double **tables; /* of each thread: PART x padded cosines and sines, sums of all rows of its slices */
} problem;

static double coordinate(uint64_t i, uint64_t n) { return (double)((float)((int64_t)i - (int64_t)(n / 2)) / (float)n); }

static turn turn_of(float k, double x)
{
    double cycles = (double)k * x; /* exact */
    double angle = 2 * 3.14159265358979323846 * (cycles - rint(cycles));
    return (turn){cos(angle), sin(angle)};
}

static turn times(turn a, turn b) { return (turn){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }

/* Weights are rounded as the kernels round them up to a few last bits, which are within the tolerance. */
static turn weight_of(const problem *p, uint64_t s)
{
    const float *phi = (const float *)p->phi->data + 2 * s, *d = (const float *)p->d->data + 2 * s;
    double pr = (double)phi[0], pi = (double)phi[1], dr = (double)d[0], di = (double)d[1];
    return p->q ? (turn){pr * pr + pi * pi, 0} : (turn){pr * dr + pi * di, pr * di - pi * dr};
}

static inline __attribute__((always_inline)) void add_part(size_t count, size_t padded, const turn *at_row,
                                                           const double *cosines, const double *sines, double *re,
                                                           double *im)
{
    for (size_t x = 0; x < padded; x += GROUP) {
        vector sum_re[VECTORS], sum_im[VECTORS];
        memcpy(sum_re, re + x, sizeof sum_re);
        memcpy(sum_im, im + x, sizeof sum_im);
        for (size_t s = 0; s < count; s++)
            for (int v = 0; v < VECTORS; v++) {
                vector c, i;
                memcpy(&c, cosines + s * padded + x + (size_t)v * LANES, sizeof c);
                memcpy(&i, sines + s * padded + x + (size_t)v * LANES, sizeof i);
                sum_re[v] += at_row[s].re * c - at_row[s].im * i;
                sum_im[v] += at_row[s].re * i + at_row[s].im * c;
            }
        memcpy(re + x, sum_re, sizeof sum_re);
        memcpy(im + x, sum_im, sizeof sum_im);
    }
}

typedef void part_fn(size_t count, size_t padded, const turn *at_row, const double *cosines, const double *sines,
                     double *re, double *im);

static void part_base(size_t count, size_t padded, const turn *at_row, const double *cosines, const double *sines,
                      double *re, double *im)
{
    add_part(count, padded, at_row, cosines, sines, re, im);
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void part_avx2(size_t count, size_t padded, const turn *at_row,
                                                      const double *cosines, const double *sines, double *re,
                                                      double *im)
{
    add_part(count, padded, at_row, cosines, sines, re, im);
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

/* A sample that is not finite: the factors' product would make NaN of an infinity. */
static void add_special(const problem *p, uint64_t s, turn w, uint64_t y, uint64_t z, double *re, double *im)
{
    for (uint64_t x = 0; x < p->nx; x++) {
        const double at[3] = {coordinate(x, p->nx), coordinate(y, p->ny), coordinate(z, p->nz)};
        turn all = {1, 0};
        for (int c = 0; c < 3; c++)
            all = times(all, turn_of(((const float *)p->k[c]->data)[s], at[c]));
        re[x] += w.re * all.re - (p->q ? 0 : w.im * all.im);
        im[x] += w.re * all.im + (p->q ? 0 : w.im * all.re);
    }
}

static turn turn_at(const problem *p, int c, uint64_t s, uint64_t i, uint64_t n)
{
    return turn_of(((const float *)p->k[c]->data)[s], coordinate(i, n));
}

/* Adds the samples first .. first + count - 1 to the rows y of the slices from z on. `room` is a thread's. */
static void add_to_rows(const problem *p, uint64_t first, size_t count, uint64_t z, size_t slices, double *room)
{
    part_fn *part = choose_part();
    size_t row = (size_t)p->padded, rows = (size_t)p->ny * row;
    double *cosines = room, *sines = cosines + PART * row, *re = sines + PART * row, *im = re + p->slices * rows;
    turn at_slice[MOST_SLICES][PART], of_row[PART], at_row[PART];
    bool finite[PART], special = false;
    for (size_t s = 0; s < count; s++) {
        turn w = weight_of(p, first + s);
        finite[s] = is_finite(p, first + s, w);
        special |= !finite[s];
        for (size_t i = 0; i < slices; i++)
            at_slice[i][s] = finite[s] ? times(w, turn_at(p, 2, first + s, z + i, p->nz)) : (turn){0, 0};
        for (size_t x = 0; x < row; x++) {
            turn t = finite[s] && x < p->nx ? turn_at(p, 0, first + s, x, p->nx) : (turn){0, 0};
            cosines[s * row + x] = t.re;
            sines[s * row + x] = t.im;
        }
    }
    for (uint64_t y = 0; y < p->ny; y++) {
        for (size_t s = 0; s < count; s++)
            of_row[s] = finite[s] ? turn_at(p, 1, first + s, y, p->ny) : (turn){0, 0};
        for (size_t i = 0; i < slices; i++) {
            double *to_re = re + i * rows + y * row, *to_im = im + i * rows + y * row;
            for (size_t s = 0; s < count; s++)
                at_row[s] = times(at_slice[i][s], of_row[s]);
            part(count, row, at_row, cosines, sines, to_re, to_im);
            for (size_t s = 0; s < count && special; s++)
                if (!finite[s])
                    add_special(p, first + s, weight_of(p, first + s), y, z + i, to_re, to_im);
        }
    }
}

static void reference_slices(void *user, size_t index, size_t worker)
{
    const problem *p = user;
    uint64_t z = index * p->slices;
    size_t slices = (size_t)(p->nz - z < p->slices ? p->nz - z : p->slices), row = (size_t)p->padded;
    double *room = p->tables[worker], *re = room + 2 * PART * row, *im = re + p->slices * p->ny * row;
    memset(re, 0, 2 * p->slices * p->ny * row * sizeof *re);
    for (uint64_t first = 0; first < p->count; first += PART)
        add_to_rows(p, first, p->count - first < PART ? (size_t)(p->count - first) : PART, z, slices, room);
    for (uint64_t y = 0; y < slices * p->ny; y++)
        for (uint64_t x = 0; x < p->nx; x++) {
            ((float *)p->re->data)[(z * p->ny + y) * p->nx + x] = (float)re[y * row + x];
            ((float *)p->im->data)[(z * p->ny + y) * p->nx + x] = (float)im[y * row + x];
        }
}

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
        return kiln_call_fail(call, "kx, ky and kz are lines of S, phi and d are S x 2, re and im NZ x NY x NX of f32");
    p->nz = p->re->shape[0], p->ny = p->re->shape[1], p->nx = p->re->shape[2];
    p->padded = (p->nx + GROUP - 1) / GROUP * GROUP;
    return KILN_OK;
}

kiln_status kiln__host_mri(void *user, kiln_call *call)
{
    (void)user;
    problem p = {0};
    if (take(call, &p) != KILN_OK)
        return KILN_ERROR_HOST_FUNCTION;
    size_t threads = kiln__cpu_count();
    p.slices = p.nz >= 32 && p.ny * p.padded <= 1 << 18 ? MOST_SLICES : 1;
    size_t parts = (size_t)((p.nz + p.slices - 1) / p.slices);
    size_t words = (size_t)(2 * (PART + p.slices * p.ny) * p.padded);
    threads = threads < parts ? threads : parts;
    double *room = kiln__calloc(call->mem, threads * words + 1, sizeof *room);
    p.tables = kiln__calloc(call->mem, threads + 1, sizeof *p.tables);
    bool made = room && p.tables;
    for (size_t t = 0; t < threads && made; t++)
        p.tables[t] = room + t * words;
    if (made)
        kiln__parallel(threads, parts, reference_slices, &p);
    kiln__free(call->mem, room);
    kiln__free(call->mem, p.tables);
    return made ? KILN_OK : kiln__fail_memory(&call->failure);
}
