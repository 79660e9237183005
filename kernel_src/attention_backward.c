/* attention_backward.c - an input and the reference of the backward pass of attention. The input attention_saved makes
 * random Q, K, V and dO. From them it computes the results of the forward pass that the backward pass needs. These are
 * O, and lse, which is the logarithm of the sum of the exponentials of each query. The input also exports the sum of O
 * x dO of each query (o_dot_dout). Two numbers tell how concentrated P is. The number row_norm is the largest Euclidean
 * norm of a row of P, which belongs to a query. The number column_norm is the largest norm of a column of P, which
 * belongs to a key. The rounding errors of the gradients are proportional to these two numbers.
 *
 * The input computes all queries, because every gradient of a key depends on all of them. It computes the forward pass
 * in single precision, by vector instructions. The errors of this forward pass are ten thousand times smaller than the
 * errors of bfloat16.
 *
 * For a large work, the forward pass of all heads would take longer than two seconds. To save this time, the heads of
 * keys of a large work repeat with a period (`distinct`). Head h then has the same numbers as head h - distinct, in
 * memory of its own. The period is odd and at least 3. Therefore a kernel that confuses neighbouring heads does not
 * give the right result.
 *
 * The reference attention_backward_f64 computes dQ, dK and dV of each head in double. If the reference computes all
 * rows, it uses nothing from the forward pass. If it computes a sample of the rows, it uses lse and o_dot_dout of all
 * queries.
 *
 * With CAUSAL, query i sees the keys up to number i + KEYS - QUERIES. A task of a worker is one head of keys and
 * values, with all query heads that share it. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "catalogue.h"
#include "rows.h"

enum {
    MOST_PRODUCTS_LOG = 32,
    DEPTH_MOST = 256,
    TOGETHER = 4,
    LANES = 16,
    WIDTH = 2 * LANES,
    FLUSH = 16,
    FORWARD_LOG = 37,
    LEAST_DISTINCT = 3
};

typedef float vector __attribute__((vector_size(LANES * sizeof(float))));
typedef int32_t words __attribute__((vector_size(LANES * sizeof(int32_t))));

/* The state of the forward pass of TOGETHER queries, which one loop processes at once. The keys are in panels of WIDTH
 * keys, and each panel is in order of the depth: panels[key / WIDTH][d][key % WIDTH]. Scores and columns are padded to
 * whole panels. */
typedef struct four {
    const float *rows, *panels, *values;
    float *scores, *columns;       /* `columns` holds the sum of p^2 of each key */
    uint64_t seen[TOGETHER], most; /* the number of keys that each query sees, and the largest of these numbers */
    uint64_t pitch;                /* number of elements of a row of scores */
    size_t depth;
    double lse[TOGETHER], squares[TOGETHER];
    float out[TOGETHER * DEPTH_MOST];
} four;

typedef struct problem {
    const kiln_array *q, *k, *v, *dout;
    kiln_array *o, *saved_lse, *saved_delta; /* outputs of the forward pass */
    const kiln_array *lse, *delta;           /* inputs of the backward pass */
    kiln_array *dq, *dk, *dv;
    bool causal;
    uint64_t queries, keys, every; /* the reference computes one row in `every` */
    size_t depth, group;           /* `group` is the number of query heads that share a head of keys */
    double *room;                  /* memory of each worker, room_each elements */
    size_t room_each;
    size_t distinct; /* number of heads of keys that have numbers of their own */
    double *norms;   /* for each task, the squares of row_norm and column_norm */
    void (*forward)(four *f);
} problem;

/* Returns how many keys a query sees. */
static uint64_t keys_seen(const problem *p, uint64_t query)
{
    uint64_t hidden = p->causal ? p->queries - 1 - query : 0;
    return hidden < p->keys ? p->keys - hidden : 0;
}

/* Replaces x, which is at most 0, by e^x. The function computes e^x as 2^n 2^f with an integer n and f in [-1/2, 1/2],
 * and uses a polynomial for 2^f. The relative error is below 4e-7. If x is below -87, the result is 0. */
static inline __attribute__((always_inline)) void exponential(vector *x)
{
    const float whole = 12582912; /* 1.5 2^23: numbers of this size have no fraction bits */
    words small = (words)(*x < -87.0f);
    vector power = *x * 1.44269504f, shifted = power + whole, n = shifted - whole, f = power - n;
    vector y = 0.000154653f * f + 0.00133952f;
    y = y * f + 0.00961804f;
    y = y * f + 0.05550341f;
    y = y * f + 0.24022651f;
    y = y * f + 0.69314718f;
    y = y * f + 1.0f;
    words bits = (words)y + (((words)shifted) << 23);
    *x = (vector)(bits & ~small);
}

static inline __attribute__((always_inline)) void store(float *to, const vector *x) { memcpy(to, x, sizeof *x); }

static inline __attribute__((always_inline)) void load(vector *x, const float *from) { memcpy(x, from, sizeof *x); }

/* Adds the lanes of *x to *sum, and clears them. */
static inline __attribute__((always_inline)) void flush(vector *x, double *sum)
{
    float lanes[LANES];
    store(lanes, x);
    for (int l = 0; l < LANES; l++)
        *sum += (double)lanes[l];
    *x = (vector){0};
}

/* Computes the scaled scores of all keys that one of the queries sees. */
static inline __attribute__((always_inline)) void multiply_keys(four *f)
{
    const float scale = (float)(1 / sqrt((double)f->depth));
    for (uint64_t j = 0; j < f->most; j += WIDTH) {
        const float *panel = f->panels + j * f->depth;
        vector sums[TOGETHER][2] = {{{0}}};
        for (size_t d = 0; d < f->depth; d++) {
            vector left, right;
            load(&left, panel + d * WIDTH);
            load(&right, panel + d * WIDTH + LANES);
            for (size_t r = 0; r < TOGETHER; r++) {
                sums[r][0] += f->rows[r * f->depth + d] * left;
                sums[r][1] += f->rows[r * f->depth + d] * right;
            }
        }
        for (size_t r = 0; r < TOGETHER; r++)
            for (size_t half = 0; half < 2; half++) {
                sums[r][half] *= scale;
                store(f->scores + r * f->pitch + j + half * LANES, &sums[r][half]);
            }
    }
}

/* Returns the largest score of a row that ends with a whole panel. */
static inline __attribute__((always_inline)) float largest(const float *scores, uint64_t end)
{
    vector most, x;
    float lanes[LANES], result = -INFINITY;
    load(&most, scores);
    for (uint64_t j = LANES; j < end; j += LANES) {
        load(&x, scores + j);
        const words above = (words)(x > most);
        most = (vector)(((words)x & above) | ((words)most & ~above));
    }
    store(lanes, &most);
    for (int l = 0; l < LANES; l++)
        result = lanes[l] > result ? lanes[l] : result;
    return result;
}

/* Turns the scores of query r into P, and adds p^2 to the sums of the columns. Sums of up to FLUSH terms are in single
 * precision. */
static inline __attribute__((always_inline)) void normalise(four *f, size_t r)
{
    float *scores = f->scores + r * f->pitch;
    const uint64_t end = (f->most + WIDTH - 1) / WIDTH * WIDTH;
    double sum = 0;
    vector x, column, terms = {0};
    if (f->seen[r] == 0) {
        memset(scores, 0, (size_t)end * sizeof *scores);
        return;
    }
    for (uint64_t j = f->seen[r]; j < end; j++)
        scores[j] = -INFINITY;
    const float most = largest(scores, end);
    for (uint64_t j = 0; j < end; j += LANES) {
        load(&x, scores + j);
        x -= most;
        exponential(&x);
        store(scores + j, &x);
        terms += x;
        if (j / LANES % FLUSH == FLUSH - 1)
            flush(&terms, &sum);
    }
    flush(&terms, &sum);
    f->lse[r] = (double)most + log(sum);
    const float inverse = (float)(1 / sum);
    for (uint64_t j = 0; j < end; j += LANES) {
        load(&x, scores + j);
        load(&column, f->columns + j);
        x *= inverse;
        store(scores + j, &x);
        x *= x;
        column += x;
        store(f->columns + j, &column);
        terms += x;
        if (j / LANES % FLUSH == FLUSH - 1)
            flush(&terms, &f->squares[r]);
    }
    flush(&terms, &f->squares[r]);
}

/* Sets the outputs of the queries to the sums of the values, weighted by P. The function processes LANES elements of
 * the depth at a time. */
static inline __attribute__((always_inline)) void add_values(four *f)
{
    for (size_t d = 0; d < f->depth; d += LANES) {
        vector sums[TOGETHER] = {{0}};
        for (uint64_t j = 0; j < f->most; j++) {
            vector value;
            load(&value, f->values + j * f->depth + d);
            for (size_t r = 0; r < TOGETHER; r++)
                sums[r] += f->scores[r * f->pitch + j] * value;
        }
        for (size_t r = 0; r < TOGETHER; r++)
            store(f->out + r * f->depth + d, &sums[r]);
    }
}

static inline __attribute__((always_inline)) void forward_four(four *f)
{
    multiply_keys(f);
    for (size_t r = 0; r < TOGETHER; r++)
        normalise(f, r);
    add_values(f);
}

static void forward_base(four *f) { forward_four(f); }

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void forward_avx2(four *f) { forward_four(f); }

__attribute__((target("avx512f"))) static void forward_avx512(four *f) { forward_four(f); }
#endif

/* Chooses the version of the code for this processor. No version uses a fused multiply-add, so all versions give the
 * same bits. */
static void (*choose_forward(void))(four *f)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f"))
        return forward_avx512;
    if (__builtin_cpu_supports("avx2"))
        return forward_avx2;
#endif
    return forward_base;
}

/* Reads `count` rows, beginning with row `first`, as floats. */
static void read_rows(const problem *p, const kiln_array *from, uint64_t first, uint64_t count, float *to)
{
    double row[DEPTH_MOST];
    for (uint64_t i = 0; i < count; i++) {
        kiln__to_doubles(from->type, from->data, (first + i) * p->depth, p->depth, row);
        for (size_t d = 0; d < p->depth; d++)
            to[i * p->depth + d] = (float)row[d];
    }
}

/* Returns the number of elements of a row of scores: the keys, padded to whole panels. */
static size_t padded_keys(const problem *p) { return (size_t)((p->keys + WIDTH - 1) / WIDTH * WIDTH); }

/* Puts the keys of a head into panels. The last panel is padded with keys of zeros. */
static void make_panels(const problem *p, const float *keys, float *panels)
{
    memset(panels, 0, padded_keys(p) * p->depth * sizeof *panels);
    for (uint64_t j = 0; j < p->keys; j++)
        for (size_t d = 0; d < p->depth; d++)
            panels[j / WIDTH * WIDTH * p->depth + d * WIDTH + j % WIDTH] = keys[j * p->depth + d];
}

/* Computes the forward pass of all queries of one head of keys, TOGETHER queries at a time. */
static void forward_head(void *user, size_t index, size_t worker)
{
    const problem *p = user;
    const size_t padded = padded_keys(p);
    float *panels = (float *)(p->room + worker * p->room_each), *values = panels + padded * p->depth;
    float *scores = values + padded * p->depth, *columns = scores + TOGETHER * padded;
    double *norms = p->norms + 2 * index;
    four f = {
        .panels = panels, .values = values, .scores = scores, .columns = columns, .pitch = padded, .depth = p->depth};
    read_rows(p, p->k, (uint64_t)index * p->keys, p->keys, values);
    make_panels(p, values, panels);
    read_rows(p, p->v, (uint64_t)index * p->keys, p->keys, values);
    memset(columns, 0, padded * sizeof *columns);
    uint64_t first = (uint64_t)index * p->group * p->queries, end = first + p->group * p->queries;
    for (uint64_t row = first; row < end; row += TOGETHER) {
        float rows[TOGETHER * DEPTH_MOST] = {0}, lse[TOGETHER], delta[TOGETHER];
        uint64_t count = end - row < TOGETHER ? end - row : TOGETHER;
        f.rows = rows, f.most = 0;
        read_rows(p, p->q, row, count, rows);
        for (uint64_t r = 0; r < TOGETHER; r++) {
            f.seen[r] = r < count ? keys_seen(p, (row + r) % p->queries) : 0;
            f.most = f.seen[r] > f.most ? f.seen[r] : f.most;
            f.lse[r] = f.squares[r] = 0;
        }
        p->forward(&f);
        read_rows(p, p->dout, row, count, rows);
        for (uint64_t r = 0; r < count; r++) {
            double out[DEPTH_MOST], sum = 0;
            for (size_t d = 0; d < p->depth; d++) {
                out[d] = (double)f.out[r * p->depth + d];
                sum += out[d] * (double)rows[r * p->depth + d];
            }
            kiln__from_doubles(p->o->type, p->o->data, (row + r) * p->depth, p->depth, out);
            lse[r] = (float)f.lse[r], delta[r] = (float)sum;
            norms[0] = f.squares[r] > norms[0] ? f.squares[r] : norms[0];
        }
        memcpy((float *)p->saved_lse->data + row, lse, (size_t)count * sizeof *lse);
        memcpy((float *)p->saved_delta->data + row, delta, (size_t)count * sizeof *delta);
    }
    for (uint64_t j = 0; j < p->keys; j++)
        norms[1] = (double)columns[j] > norms[1] ? (double)columns[j] : norms[1];
}

static double dot(const double *a, const double *b, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += a[i] * b[i];
    return sum;
}

static void add_times(double *to, const double *from, double factor, size_t count)
{
    for (size_t i = 0; i < count; i++)
        to[i] += factor * from[i];
}

/* Sets lse and delta of one query. Delta is the mean of dP, weighted by P. If only a sample of the rows is computed,
 * lse and delta come from the forward pass. The array `room` has one element for each key. */
static void statistics(const problem *p, uint64_t row, const double *query, const double *output, const double *keys,
                       const double *values, double *room, double *two)
{
    const uint64_t seen = keys_seen(p, row % p->queries);
    double most = -INFINITY, sum = 0, mean = 0;
    if (p->every > 1) {
        two[0] = (double)((const float *)p->lse->data)[row];
        two[1] = (double)((const float *)p->delta->data)[row];
        return;
    }
    for (uint64_t j = 0; j < seen; j++) {
        room[j] = dot(query, keys + j * p->depth, p->depth) / sqrt((double)p->depth);
        most = room[j] > most ? room[j] : most;
    }
    for (uint64_t j = 0; j < seen; j++) {
        const double weight = exp(room[j] - most);
        sum += weight;
        mean += weight * dot(output, values + j * p->depth, p->depth);
    }
    two[0] = seen > 0 ? most + log(sum) : 0;
    two[1] = seen > 0 ? mean / sum : 0;
}

/* Returns dS of a pair of a query and a key whose dot products are s and dp, and sets *probability to P. The array
 * `two` holds lse and delta of the query. */
static double weight_of(const problem *p, const double *two, double s, double dp, double *probability)
{
    *probability = exp(s / sqrt((double)p->depth) - two[0]);
    return *probability * (dp - two[1]);
}

/* Computes dQ of the chosen queries of one head of keys, and dK and dV of its chosen keys. */
static void backward_head(void *user, size_t index, size_t worker)
{
    const problem *p = user;
    size_t of_keys = (size_t)p->keys * p->depth, of_queries = (size_t)p->queries * p->group * p->depth,
           depth = p->depth;
    double *keys = p->room + worker * p->room_each, *values = keys + of_keys, *queries = values + of_keys;
    double *outputs = queries + of_queries, *both = outputs + of_queries, scale = 1 / sqrt((double)depth), probability;
    kiln__to_doubles(p->k->type, p->k->data, (uint64_t)index * of_keys, of_keys, keys);
    kiln__to_doubles(p->v->type, p->v->data, (uint64_t)index * of_keys, of_keys, values);
    kiln__to_doubles(p->q->type, p->q->data, (uint64_t)index * of_queries, of_queries, queries);
    kiln__to_doubles(p->dout->type, p->dout->data, (uint64_t)index * of_queries, of_queries, outputs);
    uint64_t first = (uint64_t)index * p->group * p->queries, count = p->group * p->queries;
    for (uint64_t i = 0; i < count; i++)
        statistics(p, first + i, queries + i * depth, outputs + i * depth, keys, values, both + 2 * count,
                   both + 2 * i);
    for (uint64_t i = 0; i < count; i++) {
        double sums[DEPTH_MOST] = {0};
        const double *query = queries + i * depth, *output = outputs + i * depth;
        if (!kiln__row_chosen(first + i, p->every))
            continue;
        for (uint64_t j = 0; j < keys_seen(p, i % p->queries); j++) {
            double s = dot(query, keys + j * depth, depth), dp = dot(output, values + j * depth, depth);
            add_times(sums, keys + j * depth, scale * weight_of(p, both + 2 * i, s, dp, &probability), depth);
        }
        kiln__from_doubles(p->dq->type, p->dq->data, (first + i) * depth, depth, sums);
    }
    for (uint64_t j = 0; j < p->keys; j++) {
        double of_key[DEPTH_MOST] = {0}, of_value[DEPTH_MOST] = {0};
        const double *key = keys + j * depth, *value = values + j * depth;
        uint64_t row = (uint64_t)index * p->keys + j;
        if (!kiln__row_chosen(row, p->every))
            continue;
        for (uint64_t i = 0; i < count; i++) {
            if (j >= keys_seen(p, i % p->queries))
                continue;
            double s = dot(key, queries + i * depth, depth), dp = dot(value, outputs + i * depth, depth);
            add_times(of_key, queries + i * depth, scale * weight_of(p, both + 2 * i, s, dp, &probability), depth);
            add_times(of_value, outputs + i * depth, probability, depth);
        }
        kiln__from_doubles(p->dk->type, p->dk->data, row * depth, depth, of_key);
        kiln__from_doubles(p->dv->type, p->dv->data, row * depth, depth, of_value);
    }
}

/* Gives each worker its memory, and runs one task for each head of keys. */
static kiln_status for_each_head(kiln_call *call, problem *p, size_t heads, size_t room_each,
                                 void (*task)(void *user, size_t index, size_t worker))
{
    size_t threads = kiln__cpu_count();
    threads = threads < heads ? threads : heads;
    if (heads == 0)
        return KILN_OK;
    p->room_each = room_each + 1;
    p->room = kiln__calloc(kiln_call_allocator(call), threads * p->room_each, sizeof *p->room);
    if (!p->room)
        return kiln__call_no_memory(call);
    kiln__parallel(threads, heads, task, p);
    kiln__free(kiln_call_allocator(call), p->room);
    return KILN_OK;
}

/* Exports an array [batch, heads, rows, depth] of bf16. The function fills the first `heads` heads, counted over all
 * batches, with uniform random numbers from -bound to bound. */
static kiln_status export_random(kiln_call *call, const char *name, const uint64_t *shape, uint64_t heads, double bound,
                                 uint64_t seed, kiln_array **array)
{
    kiln_error *why = NULL;
    const kiln__fill_values fill = {.kind = KILN__FILL_UNIFORM, .a = -bound, .b = bound, .seed = seed};
    kiln_status status = kiln_call_export_array(call, name, KILN_bf16, 4, shape, array);
    if (status != KILN_OK)
        return status;
    kiln_array part = **array;
    part.shape[0] = 1, part.shape[1] = heads;
    return kiln__call_pass(call, kiln__array_fill(&part, &fill, kiln_call_allocator(call), &why), why);
}

/* Returns how many heads of keys get numbers of their own. The result is `heads` if the forward pass of all heads takes
 * at most 2^FORWARD_LOG multiplications. */
static uint64_t distinct_heads(const problem *p, uint64_t heads)
{
    double each = 2 * (double)p->group * (double)p->queries * (double)p->keys * (double)p->depth;
    if (each * (double)heads <= ldexp(1, FORWARD_LOG))
        return heads;
    uint64_t distinct = (uint64_t)(ldexp(1, FORWARD_LOG) / each);
    distinct = distinct < LEAST_DISTINCT ? LEAST_DISTINCT : distinct % 2 ? distinct : distinct - 1;
    return distinct < heads ? distinct : heads;
}

static void copy_rows(const kiln_array *array, size_t head, size_t from, size_t bytes)
{
    memcpy((char *)array->data + head * bytes, (const char *)array->data + from * bytes, bytes);
}

/* Copies all arrays of one head of keys, and of the query heads that share it, from an earlier head with the same
 * inputs. */
static void repeat_head(void *user, size_t index, size_t worker)
{
    (void)worker;
    const problem *p = user;
    const size_t head = index + p->distinct, from = head % p->distinct;
    const size_t rows = p->group * (size_t)p->queries, row_bytes = p->depth * sizeof(uint16_t);
    const kiln_array *const of_queries[] = {p->q, p->dout, p->o}, *const of_keys[] = {p->k, p->v};
    for (size_t i = 0; i < KILN__COUNT(of_queries); i++)
        copy_rows(of_queries[i], head, from, rows * row_bytes);
    for (size_t i = 0; i < KILN__COUNT(of_keys); i++)
        copy_rows(of_keys[i], head, from, (size_t)p->keys * row_bytes);
    copy_rows(p->saved_lse, head, from, rows * sizeof(float));
    copy_rows(p->saved_delta, head, from, rows * sizeof(float));
}

/* Exports the random inputs and the arrays of the forward pass, and computes the forward pass. The parameter `distinct`
 * is the number of heads of keys with numbers of their own. If it is 0, the function chooses. */
static kiln_status make_saved(kiln_call *call, problem *p, const int64_t *sizes, double spread, int64_t seed,
                              int64_t distinct)
{
    uint64_t of_queries[5], of_keys[4];
    for (int i = 0; i < 4; i++) {
        of_queries[i] = (uint64_t)sizes[i == 0 ? 0 : i == 1 ? 1 : i == 2 ? 3 : 5];
        of_keys[i] = (uint64_t)sizes[i == 0 ? 0 : i == 1 ? 2 : i == 2 ? 4 : 5];
    }
    p->queries = of_queries[2], p->keys = of_keys[2];
    p->depth = (size_t)of_keys[3], p->group = (size_t)(of_queries[1] / of_keys[1]);
    p->forward = choose_forward();
    const uint64_t heads = of_keys[0] * of_keys[1];
    p->distinct = (size_t)(distinct > 0 && (uint64_t)distinct < heads ? (uint64_t)distinct : distinct_heads(p, heads));
    const uint64_t with_queries = p->distinct * p->group;
    kiln_array *q, *k, *v, *dout;
    uint64_t first = 4 * (uint64_t)seed;
    kiln_status status = export_random(call, "q", of_queries, with_queries, spread, first, &q);
    if (status == KILN_OK)
        status = export_random(call, "k", of_keys, p->distinct, spread, first + 1, &k);
    if (status == KILN_OK)
        status = export_random(call, "v", of_keys, p->distinct, 1, first + 2, &v);
    if (status == KILN_OK)
        status = export_random(call, "dout", of_queries, with_queries, 1, first + 3, &dout);
    if (status == KILN_OK)
        status = kiln_call_export_array(call, "o", KILN_bf16, 4, of_queries, &p->o);
    if (status == KILN_OK)
        status = kiln_call_export_array(call, "lse", KILN_f32, 3, of_queries, &p->saved_lse);
    if (status == KILN_OK)
        status = kiln_call_export_array(call, "o_dot_dout", KILN_f32, 3, of_queries, &p->saved_delta);
    if (status != KILN_OK)
        return status;
    p->q = q, p->k = k, p->v = v, p->dout = dout;
    p->norms = kiln__calloc(kiln_call_allocator(call), 2 * p->distinct + 1, sizeof *p->norms);
    if (!p->norms)
        return kiln__call_no_memory(call);
    size_t floats = padded_keys(p) * (2 * p->depth + TOGETHER + 1);
    status = for_each_head(call, p, p->distinct, floats / 2 + 1, forward_head);
    if (status == KILN_OK && heads > p->distinct)
        kiln__parallel(0, (size_t)heads - p->distinct, repeat_head, p);
    double most[2] = {0};
    for (size_t i = 0; i < 2 * p->distinct; i++)
        most[i % 2] = p->norms[i] > most[i % 2] ? p->norms[i] : most[i % 2];
    kiln__free(kiln_call_allocator(call), p->norms);
    if (status == KILN_OK)
        status = kiln_call_export_float(call, "row_norm", sqrt(most[0]));
    if (status == KILN_OK)
        status = kiln_call_export_float(call, "column_norm", sqrt(most[1]));
    return status;
}

static kiln_status attention_saved(void *user, kiln_call *call)
{
    (void)user;
    static const char *const names[] = {"batch", "heads", "kv_heads", "queries", "keys", "depth", "causal"};
    int64_t sizes[KILN__COUNT(names)], seed, distinct;
    double spread;
    for (size_t i = 0; i < KILN__COUNT(names); i++) {
        if (kiln_call_int(call, names[i], NULL, &sizes[i]) != KILN_OK)
            return KILN_ERROR_HOST_FUNCTION;
        if (sizes[i] < 0)
            return kiln_call_fail(call, "%s is %" PRId64 ", but it must not be negative", names[i], sizes[i]);
    }
    if (kiln_call_float(call, "spread", &(double){1}, &spread) != KILN_OK ||
        kiln_call_int(call, "seed", &(int64_t){0}, &seed) != KILN_OK ||
        kiln_call_int(call, "distinct", &(int64_t){0}, &distinct) != KILN_OK)
        return KILN_ERROR_HOST_FUNCTION;
    if (sizes[2] == 0 || sizes[1] % sizes[2] != 0 || sizes[5] % LANES != 0 || sizes[5] > DEPTH_MOST)
        return kiln_call_fail(call, "heads must be a multiple of kv_heads, and depth a multiple of %d and at most %d",
                              LANES, DEPTH_MOST);
    problem p = {.causal = sizes[6] != 0};
    return make_saved(call, &p, sizes, spread, seed, distinct);
}

/* Reads the arguments of the reference. Returns false if the call has failed. */
static bool take(kiln_call *call, problem *p)
{
    int64_t causal;
    if (kiln_call_array(call, "q", &p->q) != KILN_OK || kiln_call_array(call, "k", &p->k) != KILN_OK ||
        kiln_call_array(call, "v", &p->v) != KILN_OK || kiln_call_array(call, "dout", &p->dout) != KILN_OK ||
        kiln_call_array(call, "lse", &p->lse) != KILN_OK || kiln_call_array(call, "o_dot_dout", &p->delta) != KILN_OK ||
        kiln_call_output(call, "dq", &p->dq) != KILN_OK || kiln_call_output(call, "dk", &p->dk) != KILN_OK ||
        kiln_call_output(call, "dv", &p->dv) != KILN_OK || kiln_call_int(call, "CAUSAL", NULL, &causal) != KILN_OK)
        return false;
    p->causal = causal != 0;
    const kiln_array *const of_queries[] = {p->q, p->dout, p->dq}, *const of_keys[] = {p->k, p->v, p->dk, p->dv};
    bool right = p->q->dims == 4 && p->k->dims == 4;
    for (size_t i = 0; right && i < KILN__COUNT(of_queries); i++)
        right = of_queries[i]->dims == 4 && memcmp(of_queries[i]->shape, p->q->shape, 4 * sizeof(uint64_t)) == 0;
    for (size_t i = 0; right && i < KILN__COUNT(of_keys); i++)
        right = of_keys[i]->dims == 4 && memcmp(of_keys[i]->shape, p->k->shape, 4 * sizeof(uint64_t)) == 0;
    right = right && p->q->shape[0] == p->k->shape[0] && p->q->shape[3] == p->k->shape[3] && p->k->shape[1] > 0 &&
            p->q->shape[1] % p->k->shape[1] == 0 && p->q->shape[3] <= DEPTH_MOST;
    const kiln_array *const of_rows[] = {p->lse, p->delta};
    for (size_t i = 0; right && i < KILN__COUNT(of_rows); i++)
        right = of_rows[i]->type == KILN_f32 && of_rows[i]->dims == 3 &&
                memcmp(of_rows[i]->shape, p->q->shape, 3 * sizeof(uint64_t)) == 0;
    if (!right)
        kiln_call_fail(call,
                       "q, dout and dq must be B x H x M x D, k, v, dk and dv B x G x N x D, and lse and o_dot_dout "
                       "B x H x M of f32; H must be a multiple of G, and D at most 256");
    return right;
}

static kiln_status attention_backward_f64(void *user, kiln_call *call)
{
    (void)user;
    problem p = {0};
    if (!take(call, &p))
        return KILN_ERROR_HOST_FUNCTION;
    p.queries = p.q->shape[2], p.keys = p.k->shape[2];
    p.depth = (size_t)p.q->shape[3], p.group = (size_t)(p.q->shape[1] / p.k->shape[1]);
    size_t heads = (size_t)(p.k->shape[0] * p.k->shape[1]);
    double products = (double)heads * (double)p.group * (double)p.queries * (double)p.keys * 7 * (double)p.depth;
    if (!kiln__rows_every(call, products, ldexp(1, MOST_PRODUCTS_LOG), &p.every))
        return KILN_ERROR_HOST_FUNCTION;
    size_t room = 2 * (p.depth + 1) * (size_t)(p.keys + p.queries * p.group);
    return for_each_head(call, &p, heads, room, backward_head);
}

KILN__FAMILY(attention_backward,
             KILN__HOST("attention_backward_f64", KILN_HOST_REFERENCE, attention_backward_f64,
                        "q, k, v, dout, lse, o_dot_dout, CAUSAL", "dq, dk, dv"),
             KILN__HOST("attention_saved", KILN_HOST_INPUT, attention_saved,
                        "batch, heads, kv_heads, queries, keys, depth, causal, [spread], [seed], [distinct]",
                        "q, k, v, dout, o, lse, o_dot_dout, row_norm, column_norm"))
