/* matmul.c has the references of dense matrix products:
 *
 * - `matmul_f64` computes P = A B.
 * - `gemm_f64` computes C = A B for one product or for a batch of products. B is stored by rows or by columns.
 * - `linear_f64` computes C = A B and then adds a bias, applies GELU, and adds a residual.
 * - `syrk_f64` computes C = A A', where A' is the transpose of A.
 * - `scaled_f64` computes C = A B of floats of 8 and 4 bits with scales.
 *
 * All products and sums are in double.
 *
 * The output is split into tiles, and threads take the tiles one by one. The elements of a tile are accumulated as
 * doubles until the tile is complete. K is split into stretches. For each stretch, the tile needs some rows of A and
 * some columns of B. These rows and columns are converted to doubles and packed into panels of MR rows and of NR
 * columns. So the innermost loop reads both in order, and keeps MR x NR accumulators in registers. The loop uses the
 * compilers' vector types. The source of the loop is compiled for AVX-512, for AVX2 and for the baseline. The program
 * selects a version at run time. The loop has no fused multiply-add, so all three versions give the same bits. If the
 * second operand is stored by columns, as A' is, only the packing is different.
 *
 * If the caller compares the result by kiln__array_compare_projected() (data/), a large product is not computed
 * completely. Then the reference computes only the elements where some rows cross some columns, and weighted sums of
 * the elements of all rows, with random weights. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "catalogue.h"

enum { MR = 6, NR = 8, TILE_M = 20 * MR, TILE_N = 32 * NR, STRETCH = 256 };

typedef double vector __attribute__((vector_size(NR * sizeof(double))));

/* Multiplies a panel of MR rows by a panel of NR columns, and adds the result to MR rows of `sums`, which are TILE_N
 * apart. */
static inline __attribute__((always_inline)) void panel(size_t depth, const double *a, const double *b, double *sums)
{
    vector row[MR];
    for (int i = 0; i < MR; i++)
        memcpy(&row[i], sums + i * TILE_N, sizeof row[i]);
    for (size_t k = 0; k < depth; k++) {
        vector columns;
        memcpy(&columns, b + k * NR, sizeof columns);
#pragma GCC unroll 6
        for (int i = 0; i < MR; i++)
            row[i] += a[k * MR + (size_t)i] * columns;
    }
    for (int i = 0; i < MR; i++)
        memcpy(sums + i * TILE_N, &row[i], sizeof row[i]);
}

static inline __attribute__((always_inline)) void panels(size_t depth, size_t rows, size_t columns, const double *a,
                                                         const double *b, double *sums)
{
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < columns; j++)
            panel(depth, a + i * MR * depth, b + j * NR * depth, sums + i * MR * TILE_N + j * NR);
}

typedef void panels_fn(size_t depth, size_t rows, size_t columns, const double *a, const double *b, double *sums);

static void panels_base(size_t depth, size_t rows, size_t columns, const double *a, const double *b, double *sums)
{
    panels(depth, rows, columns, a, b, sums);
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void panels_avx2(size_t depth, size_t rows, size_t columns, const double *a,
                                                        const double *b, double *sums)
{
    panels(depth, rows, columns, a, b, sums);
}

__attribute__((target("avx512f"))) static void panels_avx512(size_t depth, size_t rows, size_t columns, const double *a,
                                                             const double *b, double *sums)
{
    panels(depth, rows, columns, a, b, sums);
}
#endif

static panels_fn *choose_panels(void)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f"))
        return panels_avx512;
    if (__builtin_cpu_supports("avx2"))
        return panels_avx2;
#endif
    return panels_base;
}

/* The buffers of one thread. */
typedef struct bench {
    double a[TILE_M * STRETCH], b[TILE_N * STRETCH], sums[TILE_M * TILE_N], line[TILE_N > STRETCH ? TILE_N : STRETCH];
} bench;

/* The steps that follow a product: bias, GELU and residual, in this order. */
typedef struct epilogue {
    const kiln_array *bias; /* an array of N elements, or NULL */
    bool gelu;
    const kiln_array *residual; /* a matrix of M x N elements, or NULL */
} epilogue;

typedef struct product {
    const kiln_array *a, *b;
    bool by_columns; /* b is stored by columns, so it is a matrix of n x k */
    bool in_batch;   /* the product belongs to a batch, and is computed completely */
    kiln_array *p;
    uint64_t m, n, k, tiles_n;
    panels_fn *panels;
    const epilogue *after; /* steps after the product, or NULL */
    bench *benches;        /* an array with one element for each thread */
} product;

/* Packs `rows` rows of a matrix with x->k columns into panels: the rows from `row` on, and `depth` columns from `from`
 * on. A panel has `width` rows. In a panel, the elements with the same k are neighbours. Rows after the last of these
 * rows are filled with zeros. */
static void pack_rows(const product *x, const kiln_array *matrix, bench *w, uint64_t row, size_t rows, uint64_t from,
                      size_t depth, size_t width, double *panels)
{
    for (size_t i = 0; i < (rows + width - 1) / width * width; i++) {
        double *to = panels + i / width * width * depth + i % width;
        if (i < rows)
            kiln__to_doubles(matrix->type, matrix->data, (row + i) * x->k + from, depth, w->line);
        else
            memset(w->line, 0, depth * sizeof *w->line);
        for (size_t k = 0; k < depth; k++)
            to[k * width] = w->line[k];
    }
}

/* Packs `columns` columns of B from `column` on into panels of NR columns. B is stored by rows. */
static void pack_b(const product *x, bench *w, uint64_t column, size_t columns, uint64_t from, size_t depth)
{
    size_t padded = (columns + NR - 1) / NR * NR;
    for (size_t k = 0; k < depth; k++) {
        kiln__to_doubles(x->b->type, x->b->data, (from + k) * x->n + column, columns, w->line);
        memset(w->line + columns, 0, (padded - columns) * sizeof *w->line);
        for (size_t j = 0; j < padded; j += NR)
            memcpy(w->b + j * depth + k * NR, w->line + j, NR * sizeof *w->line);
    }
}

/* Returns GELU(x) in the form with tanh, which neural networks use. */
static double gelu(double x)
{
    return 0.5 * x * (1 + tanh(sqrt(2 / 3.14159265358979323846) * (x + 0.044715 * x * x * x)));
}

/* Applies the steps after the product to a part of a row of sums. */
static void finish_line(const product *x, uint64_t row, uint64_t column, size_t columns, double *line)
{
    double more[TILE_N];
    const epilogue *after = x->after;
    if (after->bias) {
        kiln__to_doubles(after->bias->type, after->bias->data, column, columns, more);
        for (size_t j = 0; j < columns; j++)
            line[j] += more[j];
    }
    for (size_t j = 0; after->gelu && j < columns; j++)
        line[j] = gelu(line[j]);
    if (after->residual) {
        kiln__to_doubles(after->residual->type, after->residual->data, row * x->n + column, columns, more);
        for (size_t j = 0; j < columns; j++)
            line[j] += more[j];
    }
}

static void tile(void *user, size_t index, size_t worker)
{
    const product *x = user;
    bench *w = &x->benches[worker];
    uint64_t row = index / x->tiles_n * TILE_M, column = index % x->tiles_n * TILE_N;
    size_t rows = x->m - row < TILE_M ? (size_t)(x->m - row) : TILE_M;
    size_t columns = x->n - column < TILE_N ? (size_t)(x->n - column) : TILE_N;
    memset(w->sums, 0, sizeof w->sums);
    for (uint64_t from = 0; from < x->k; from += STRETCH) {
        size_t depth = x->k - from < STRETCH ? (size_t)(x->k - from) : STRETCH;
        pack_rows(x, x->a, w, row, rows, from, depth, MR, w->a);
        if (x->by_columns)
            pack_rows(x, x->b, w, column, columns, from, depth, NR, w->b);
        else
            pack_b(x, w, column, columns, from, depth);
        x->panels(depth, (rows + MR - 1) / MR, (columns + NR - 1) / NR, w->a, w->b, w->sums);
    }
    for (size_t i = 0; i < rows; i++) {
        if (x->after)
            finish_line(x, row + i, column, columns, w->sums + i * TILE_N);
        kiln__from_doubles(x->p->type, x->p->data, (row + i) * x->n + column, columns, w->sums + i * TILE_N);
    }
}

/* Computes the whole product. The caller must have checked the shapes and set the sizes in x. */
static kiln_status multiply(product *x, kiln_call *call)
{
    const kiln_array *all[] = {x->a, x->b, x->p};
    for (size_t i = 0; i < KILN__COUNT(all); i++)
        if (kiln__type_part(all[i]->type) != all[i]->type)
            return kiln_call_fail(call, "the matrices must not be complex");
    if (x->m == 0 || x->n == 0)
        return KILN_OK;
    x->tiles_n = (x->n + TILE_N - 1) / TILE_N;
    uint64_t tiles = (x->m + TILE_M - 1) / TILE_M * x->tiles_n;
    size_t threads = kiln__cpu_count() < tiles ? kiln__cpu_count() : (size_t)tiles;
    x->panels = choose_panels();
    x->benches = kiln__calloc(kiln_call_allocator(call), threads, sizeof *x->benches);
    if (!x->benches)
        return kiln_call_fail(call, "out of host memory");
    kiln__parallel(threads, (size_t)tiles, tile, x);
    kiln__free(kiln_call_allocator(call), x->benches);
    return KILN_OK;
}

/* ---- large products: only a sample is computed ---- */

#define PROJECTED_LEAST 0x1p34             /* number of multiplications from which on only a sample of C is computed */
#define COLUMN_DOUBLES ((uint64_t)1 << 25) /* room, in doubles, for the packed columns of B that the sample needs */
enum { LINES = 64 };                       /* number of rows and of columns at whose crossings C is computed */

typedef struct projecting {
    product *x;
    const double *weights;
    double *ahead; /* the product of B and the weights: k rows with `blocks` sums each */
    size_t blocks, line_count, column_count;
    uint64_t rows[LINES], columns[LINES];
    double *packed; /* the columns of B that the sample needs, as doubles */
    double *lines;  /* a row of A as doubles, for each thread */
} projecting;

/* Returns the weight of a column. The weight is a number of 1/2 to 1 with either sign. A column always has the same
 * weight. */
static double weight_of(uint64_t column)
{
    uint64_t z = column + UINT64_C(0x9E3779B97F4A7C15) * (column + 1); /* splitmix64 */
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    z ^= z >> 31;
    const double size = 0.5 + (double)(z >> 12) * 0x1p-53;
    return z & 1 ? size : -size;
}

/* Multiplies one row of B by the weights, if B is stored by rows. */
static void weigh_row(void *user, size_t k, size_t worker)
{
    (void)worker;
    const projecting *p = user;
    double line[KILN__PROJECTED];
    for (size_t b = 0; b < p->blocks; b++) {
        const uint64_t first = (uint64_t)b * KILN__PROJECTED;
        const size_t count = p->x->n - first < KILN__PROJECTED ? (size_t)(p->x->n - first) : KILN__PROJECTED;
        double sum = 0;
        kiln__to_doubles(p->x->b->type, p->x->b->data, k * p->x->n + first, count, line);
        for (size_t j = 0; j < count; j++)
            sum += line[j] * p->weights[first + j];
        p->ahead[k * p->blocks + b] = sum;
    }
}

/* Computes the sums of one block of columns, if B is stored by columns. */
static void weigh_columns(void *user, size_t b, size_t worker)
{
    (void)worker;
    const projecting *p = user;
    double line[STRETCH];
    const uint64_t first = (uint64_t)b * KILN__PROJECTED;
    const size_t count = p->x->n - first < KILN__PROJECTED ? (size_t)(p->x->n - first) : KILN__PROJECTED;
    for (uint64_t from = 0; from < p->x->k; from += STRETCH) {
        const size_t depth = p->x->k - from < STRETCH ? (size_t)(p->x->k - from) : STRETCH;
        for (size_t j = 0; j < count; j++) {
            kiln__to_doubles(p->x->b->type, p->x->b->data, (first + j) * p->x->k + from, depth, line);
            for (size_t k = 0; k < depth; k++)
                p->ahead[(from + k) * p->blocks + b] = (j ? p->ahead[(from + k) * p->blocks + b] : 0) +
                                                       line[k] * p->weights[first + j];
        }
    }
}

static void pack_column(void *user, size_t c, size_t worker)
{
    (void)worker;
    const projecting *p = user;
    const product *x = p->x;
    double *to = p->packed + c * x->k;
    if (x->by_columns)
        kiln__to_doubles(x->b->type, x->b->data, p->columns[c] * x->k, (size_t)x->k, to);
    for (uint64_t k = 0; !x->by_columns && k < x->k; k++)
        kiln__to_doubles(x->b->type, x->b->data, k * x->n + p->columns[c], 1, to + k);
}

/* Computes the sampled elements of one row of C. */
static void compute_places(void *user, size_t r, size_t worker)
{
    const projecting *p = user;
    const product *x = p->x;
    double *line = p->lines + worker * x->k;
    kiln__to_doubles(x->a->type, x->a->data, p->rows[r] * x->k, (size_t)x->k, line);
    for (size_t c = 0; c < p->column_count; c++) {
        double sum = 0;
        for (uint64_t k = 0; k < x->k; k++)
            sum += line[k] * p->packed[c * x->k + k];
        kiln__from_doubles(x->p->type, x->p->data, p->rows[r] * x->n + p->columns[c], 1, &sum);
    }
}

/* Chooses `count` of `all` lines: the first line, the last line, and a random line from each of the other equal
 * parts. */
static void choose_lines(uint64_t *lines, size_t count, uint64_t all, uint64_t seed)
{
    for (size_t i = 0; i < count; i++) {
        const uint64_t low = all * i / count, high = all * (i + 1) / count;
        const double at = fabs(weight_of(seed + i)) * 2 - 1; /* a number in [0, 1] */
        lines[i] = i == 0 ? 0 : i + 1 == count ? all - 1 : low + (uint64_t)(at * (double)(high - low));
        lines[i] = lines[i] < high ? lines[i] : high - 1;
    }
}

static double largest(const kiln_array *array, uint64_t count)
{
    double most = 0, part[STRETCH];
    for (uint64_t from = 0; from < count; from += STRETCH) {
        const size_t here = count - from < STRETCH ? (size_t)(count - from) : STRETCH;
        kiln__to_doubles(array->type, array->data, from, here, part);
        for (size_t i = 0; i < here; i++)
            most = fabs(part[i]) > most || isnan(part[i]) ? fabs(part[i]) : most;
    }
    return most;
}

/* Computes the sampled elements of C. The columns of B are packed once, because a column of B is not contiguous if B is
 * stored by rows. */
static kiln_status compute_sample(projecting *p, kiln_call *call)
{
    const product *x = p->x;
    const size_t threads = kiln__cpu_count() < LINES ? kiln__cpu_count() : LINES;
    const uint64_t room = COLUMN_DOUBLES / x->k;
    p->line_count = x->m < LINES ? (size_t)x->m : LINES;
    p->column_count = x->n < LINES ? (size_t)x->n : LINES;
    if (room < p->column_count)
        p->column_count = room ? (size_t)room : 1;
    choose_lines(p->rows, p->line_count, x->m, 1);
    choose_lines(p->columns, p->column_count, x->n, 1 + LINES);
    p->packed = kiln__calloc(kiln_call_allocator(call), p->column_count, (size_t)x->k * sizeof(double));
    p->lines = kiln__calloc(kiln_call_allocator(call), threads, (size_t)x->k * sizeof(double));
    if (p->packed && p->lines) {
        kiln__array_poison(x->p);
        kiln__parallel(threads, p->column_count, pack_column, p);
        kiln__parallel(threads, p->line_count, compute_places, p);
    }
    const bool done = p->packed && p->lines;
    kiln__free(kiln_call_allocator(call), p->packed);
    kiln__free(kiln_call_allocator(call), p->lines);
    return done ? KILN_OK : kiln_call_fail(call, "out of host memory");
}

/* Exports the weights, the weighted sums of the rows of C, and a bound of the error of these sums. The error of a sum
 * of K products of doubles is at most K 2^-52 times the sum of the magnitudes of these products. If an element is
 * infinite or NaN, the sums have no meaning. Then the function sets *done to false, and the caller computes C by
 * multiply(). */
static kiln_status project(product *x, kiln_call *call, bool *done)
{
    projecting p = {.x = x, .blocks = (size_t)((x->n + KILN__PROJECTED - 1) / KILN__PROJECTED)};
    kiln_array ahead, *weights = NULL, *sums = NULL;
    const uint64_t ahead_shape[] = {x->k, p.blocks}, sums_shape[] = {x->m, p.blocks};
    *done = false;
    kiln_error *why = NULL;
    kiln_status status = kiln__array_make(kiln_call_allocator(call), KILN_f64, 2, ahead_shape, &ahead, &why);
    if (status != KILN_OK)
        return kiln__call_pass(call, status, why);
    status = kiln_call_export_array(call, "verify.weights", KILN_f64, 1, &x->n, &weights);
    if (status == KILN_OK)
        status = kiln_call_export_array(call, "verify.sums", KILN_f64, 2, sums_shape, &sums);
    if (status == KILN_OK) {
        for (uint64_t j = 0; j < x->n; j++)
            ((double *)weights->data)[j] = weight_of(j);
        p.weights = weights->data;
        p.ahead = ahead.data;
        kiln__parallel(0, x->by_columns ? p.blocks : (size_t)x->k, x->by_columns ? weigh_columns : weigh_row, &p);
        product small = {.a = x->a, .b = &ahead, .p = sums, .m = x->m, .n = p.blocks, .k = x->k};
        status = multiply(&small, call);
    }
    const double sizes = status == KILN_OK ? largest(x->a, x->m * x->k) * largest(&ahead, x->k * p.blocks) : 0;
    kiln__array_free(kiln_call_allocator(call), &ahead);
    if (status != KILN_OK || !isfinite(sizes))
        return status;
    *done = true;
    const double depth = (double)x->k;
    status = kiln_call_export_float(call, "verify.slack", depth * sizes * (depth + KILN__PROJECTED) * 0x1p-52);
    return status == KILN_OK ? compute_sample(&p, call) : status;
}

/* Computes the whole product. If the caller compares by a sample and by sums of rows, computes these instead. */
static kiln_status multiply_as_compared(product *x, kiln_call *call)
{
    const int64_t whole = 0;
    int64_t projected;
    bool done = false;
    KILN__TRY(kiln_call_int(call, "verify.projected", &whole, &projected));
    /* Sums of rows cannot check a product with further steps: GELU of a sum is not the sum of GELUs. */
    if (projected && !x->in_batch && !x->after && (double)x->m * (double)x->n * (double)x->k >= PROJECTED_LEAST &&
        kiln__type_is_float(x->p->type) && kiln__type_part(x->p->type) == x->p->type)
        KILN__TRY(project(x, call, &done));
    return done ? KILN_OK : multiply(x, call);
}

/* Checks the shapes of the arrays in x, and computes the product. `p` is the name of the output in error messages. */
static kiln_status multiply_two(product *x, const char *p, kiln_call *call)
{
    if (x->a->dims != 2 || x->b->dims != 2 || x->p->dims != 2)
        return kiln_call_fail(call, "A, B and %s must have two dimensions, not %d, %d and %d", p, x->a->dims,
                              x->b->dims, x->p->dims);
    x->m = x->a->shape[0];
    x->k = x->a->shape[1];
    x->n = x->b->shape[x->by_columns ? 0 : 1];
    if (x->b->shape[x->by_columns ? 1 : 0] != x->k || x->p->shape[0] != x->m || x->p->shape[1] != x->n)
        return kiln_call_fail(call,
                              "the shapes of %s = A B do not fit: A is %" PRIu64 " x %" PRIu64 ", B%s is %" PRIu64
                              " x %" PRIu64 ", %s is %" PRIu64 " x %" PRIu64,
                              p, x->m, x->k, x->by_columns ? " by columns" : "", x->b->shape[0], x->b->shape[1], p,
                              x->p->shape[0], x->p->shape[1]);
    return multiply_as_compared(x, call);
}

static kiln_status matmul_f64(void *user, kiln_call *call)
{
    (void)user;
    product x = {0};
    if (kiln_call_array(call, "A", &x.a) != KILN_OK || kiln_call_array(call, "B", &x.b) != KILN_OK ||
        kiln_call_output(call, "P", &x.p) != KILN_OK)
        return KILN_ERROR_HOST_FUNCTION;
    return multiply_two(&x, "P", call);
}

/* Returns matrix `index` of the `count` matrices in `all`, which are stored one after the other. The returned array
 * refers to the elements of `all`. */
static kiln_array one_of(const kiln_array *all, uint64_t count, uint64_t index)
{
    kiln_array one = *all;
    one.shape[0] /= count;
    one.data = (char *)all->data + index * one.shape[0] * one.shape[1] * kiln__type_bytes(all->type);
    return one;
}

/* The reference of C = A B for a batch of BATCH products. Their matrices are stored one after the other. If COLUMNS is
 * not 0, B is stored by columns. */
static kiln_status gemm_f64(void *user, kiln_call *call)
{
    (void)user;
    const kiln_array *a, *b;
    kiln_array *c;
    const int64_t by_rows = 0, single = 1;
    int64_t columns, batch;
    if (kiln_call_array(call, "A", &a) != KILN_OK || kiln_call_array(call, "B", &b) != KILN_OK ||
        kiln_call_int(call, "COLUMNS", &by_rows, &columns) != KILN_OK ||
        kiln_call_int(call, "BATCH", &single, &batch) != KILN_OK || kiln_call_output(call, "C", &c) != KILN_OK)
        return KILN_ERROR_HOST_FUNCTION;
    product x = {.a = a, .b = b, .p = c, .by_columns = columns != 0};
    if (batch == 1 || a->dims != 2 || b->dims != 2 || c->dims != 2)
        return multiply_two(&x, "C", call);
    const uint64_t count = (uint64_t)batch;
    if (batch < 0 || (batch == 0 && c->shape[0] > 0) ||
        (batch > 0 && (a->shape[0] % count || b->shape[0] % count || c->shape[0] % count)))
        return kiln_call_fail(call, "A, B and C must have rows for BATCH = %" PRId64 " matrices of one shape", batch);
    for (uint64_t i = 0; i < count; i++) {
        kiln_array one_a = one_of(a, count, i), one_b = one_of(b, count, i), one_c = one_of(c, count, i);
        x = (product){.a = &one_a, .b = &one_b, .p = &one_c, .by_columns = columns != 0};
        x.in_batch = true;
        const kiln_status status = multiply_two(&x, "C", call);
        if (status != KILN_OK)
            return status;
    }
    return KILN_OK;
}

/* The reference of C = GELU(A B + bias) + residual. BIAS, GELU and RESIDUAL are each 1 if the product has this step. */
static kiln_status linear_f64(void *user, kiln_call *call)
{
    (void)user;
    const kiln_array *a, *b, *bias, *residual;
    kiln_array *c;
    const int64_t by_rows = 0;
    int64_t columns, has_bias, has_gelu, has_residual;
    if (kiln_call_array(call, "A", &a) != KILN_OK || kiln_call_array(call, "B", &b) != KILN_OK ||
        kiln_call_array(call, "bias", &bias) != KILN_OK || kiln_call_array(call, "residual", &residual) != KILN_OK ||
        kiln_call_int(call, "COLUMNS", &by_rows, &columns) != KILN_OK ||
        kiln_call_int(call, "BIAS", NULL, &has_bias) != KILN_OK ||
        kiln_call_int(call, "GELU", NULL, &has_gelu) != KILN_OK ||
        kiln_call_int(call, "RESIDUAL", NULL, &has_residual) != KILN_OK || kiln_call_output(call, "C", &c) != KILN_OK)
        return KILN_ERROR_HOST_FUNCTION;
    const epilogue after = {has_bias ? bias : NULL, has_gelu != 0, has_residual ? residual : NULL};
    if (c->dims != 2 || (has_bias && (bias->dims != 1 || bias->shape[0] != c->shape[1])) ||
        (has_residual &&
         (residual->dims != 2 || residual->shape[0] != c->shape[0] || residual->shape[1] != c->shape[1])))
        return kiln_call_fail(call, "C and residual are M x N, bias has N elements");
    product x = {.a = a, .b = b, .p = c, .by_columns = columns != 0, .after = &after};
    return multiply_two(&x, "C", call);
}

/* ---- floats of 8 and 4 bits with scales ---- */

/* A format of scaled_f64. In each row, `block` neighbouring elements along K share a scale. */
typedef struct scaled_format {
    const char *name;
    uint32_t block;
    /* elements have 4 bits (e2m1), and the first one is in the lower half of a byte; otherwise they are f8e4m3 */
    bool packed;
    bool e4m3; /* a scale is a float of 8 bits without a sign (ue4m3); otherwise it is a power of two (ue8m0) */
} scaled_format;

static const scaled_format scaled_formats[] = {
    {"mxf8", 32, false, false}, {"mxf4", 32, true, false}, {"nvf4", 16, true, true}};

/* Multiplies the elements of a matrix of `rows` rows by their scales, and writes the products as floats. Floats hold
 * these products exactly. */
static void apply_scales(const scaled_format *f, const kiln_array *elements, const kiln_array *scales, uint64_t rows,
                         uint64_t k, float *to)
{
    static const float e2m1[] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
    const unsigned char *from = elements->data, *of = scales->data;
    for (uint64_t i = 0; i < rows * k; i++) {
        const unsigned code = f->packed ? (unsigned)from[i / 2] >> i % 2 * 4 & 15 : from[i];
        const unsigned scale = of[i / k * (k / f->block) + i % k / f->block];
        const double element = f->packed ? (double)(code & 8 ? -e2m1[code & 7] : e2m1[code & 7])
                                         : kiln__narrow_to_double(KILN_f8e4m3, (uint16_t)code);
        to[i] = (float)(f->e4m3 ? element * kiln__narrow_to_double(KILN_f8e4m3, (uint16_t)(scale & 127))
                                : ldexp(element, (int)scale - 127));
    }
}

/* The reference of C = A B for elements with scales. A is stored by rows, and B by columns. In both matrices, blocks of
 * neighbours along K have a scale. */
static kiln_status scaled_f64(void *user, kiln_call *call)
{
    (void)user;
    const kiln_array *a, *b, *a_scales, *b_scales;
    kiln_array *c, made[2] = {0};
    const char *name;
    const scaled_format *format = NULL;
    if (kiln_call_array(call, "A", &a) != KILN_OK || kiln_call_array(call, "A_scales", &a_scales) != KILN_OK ||
        kiln_call_array(call, "B", &b) != KILN_OK || kiln_call_array(call, "B_scales", &b_scales) != KILN_OK ||
        kiln_call_text(call, "FORMAT", NULL, &name) != KILN_OK || kiln_call_output(call, "C", &c) != KILN_OK)
        return KILN_ERROR_HOST_FUNCTION;
    for (size_t i = 0; i < KILN__COUNT(scaled_formats); i++)
        if (strcmp(scaled_formats[i].name, name) == 0)
            format = &scaled_formats[i];
    if (!format)
        return kiln_call_fail(call, "FORMAT is mxf8, mxf4 or nvf4, not %s", name);
    const kiln_array *all[] = {a, b, a_scales, b_scales, c};
    for (size_t i = 0; i < KILN__COUNT(all); i++)
        if (all[i]->dims != 2 || (i < 4 && kiln__type_bytes(all[i]->type) != 1))
            return kiln_call_fail(call, "A, B and their scales are matrices of bytes, and C is a matrix");
    const uint64_t k = a->shape[1] * (format->packed ? 2 : 1), blocks = k / format->block;
    if (k % format->block || b->shape[1] != a->shape[1] || a_scales->shape[1] != blocks ||
        b_scales->shape[1] != blocks || a_scales->shape[0] != a->shape[0] || b_scales->shape[0] != b->shape[0])
        return kiln_call_fail(call, "the shapes of A, B and their scales do not fit %s", name);
    kiln_error *why = NULL;
    kiln_status status = KILN_OK;
    for (size_t i = 0; status == KILN_OK && i < 2; i++) {
        const uint64_t shape[] = {all[i]->shape[0], k};
        status = kiln__array_make(kiln_call_allocator(call), KILN_f32, 2, shape, &made[i], &why);
        if (status == KILN_OK)
            apply_scales(format, all[i], all[i + 2], shape[0], k, made[i].data);
        else
            status = kiln__call_pass(call, status, why);
    }
    product x = {.a = &made[0], .b = &made[1], .p = c, .by_columns = true};
    if (status == KILN_OK)
        status = multiply_two(&x, "C", call);
    kiln__array_free(kiln_call_allocator(call), &made[0]);
    kiln__array_free(kiln_call_allocator(call), &made[1]);
    return status;
}

static kiln_status syrk_f64(void *user, kiln_call *call)
{
    (void)user;
    product x = {0};
    if (kiln_call_array(call, "A", &x.a) != KILN_OK || kiln_call_output(call, "C", &x.p) != KILN_OK)
        return KILN_ERROR_HOST_FUNCTION;
    if (x.a->dims != 2 || x.p->dims != 2)
        return kiln_call_fail(call, "A and C must have two dimensions, not %d and %d", x.a->dims, x.p->dims);
    x.b = x.a;
    x.by_columns = true;
    x.m = x.n = x.a->shape[0];
    x.k = x.a->shape[1];
    if (x.p->shape[0] != x.n || x.p->shape[1] != x.n)
        return kiln_call_fail(
            call, "the shapes of C = A A' do not fit: A is %" PRIu64 " x %" PRIu64 ", C is %" PRIu64 " x %" PRIu64, x.n,
            x.k, x.p->shape[0], x.p->shape[1]);
    return multiply_as_compared(&x, call);
}

KILN__FAMILY(matmul, KILN__HOST("gemm_f64", KILN_HOST_REFERENCE, gemm_f64, "A, B, [COLUMNS], [BATCH]", "C"),
             KILN__HOST("linear_f64", KILN_HOST_REFERENCE, linear_f64,
                        "A, B, bias, residual, [COLUMNS], BIAS, GELU, RESIDUAL", "C"),
             KILN__HOST("matmul_f64", KILN_HOST_REFERENCE, matmul_f64, "A, B", "P"),
             KILN__HOST("scaled_f64", KILN_HOST_REFERENCE, scaled_f64, "A, A_scales, B, B_scales, FORMAT", "C"),
             KILN__HOST("syrk_f64", KILN_HOST_REFERENCE, syrk_f64, "A", "C"))
