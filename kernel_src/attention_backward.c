/* attention_saved: an input. It makes random Q, K, V and dO, and the results of the forward pass that the backward pass
 * needs: O, and for each query the logarithm of the sum of its exponentials (lse). `exact` has lse and delta, the sum of
 * dO x O, in double. row_norm and column_norm tell how concentrated P is: the largest root of the sum of p^2 of a query,
 * and of a key. Rounding errors of the gradients are in proportion to them.
 *
 * attention_backward_f64: the reference of attention_backward: dQ, dK and dV of each head, in double.
 *
 * With CAUSAL, query i sees the keys up to i + KEYS - QUERIES. A task is one head of keys and values, with all query heads
 * that share it. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "catalogue.h"
#include "rows.h"

enum { MOST_PRODUCTS_LOG = 32, DEPTH_MOST = 256, TOGETHER = 4, LANES = 8 };

typedef double vector __attribute__((vector_size(LANES * sizeof(double))));

typedef struct problem {
    const kiln_array *q, *k, *v, *dout;
    kiln_array *o, *lse, *exact; /* outputs of the forward pass; the backward pass reads `exact` */
    kiln_array *dq, *dk, *dv;
    bool causal;
    uint64_t queries, keys, every; /* one row in `every` is computed */
    size_t depth, group;           /* query heads that share a head of keys */
    double *room;                  /* for each worker, room_each elements */
    size_t room_each;
    double *norms; /* for each task: row_norm and column_norm, squared */
    void (*scores)(const double *rows, const double *others, uint64_t count, size_t depth, double *out);
    void (*means)(const double *weights, const double *others, uint64_t count, size_t depth, double *out);
} problem;

/* Returns how many keys a query sees. */
static uint64_t keys_seen(const problem *p, uint64_t query)
{
    uint64_t hidden = p->causal ? p->queries - 1 - query : 0;
    return hidden < p->keys ? p->keys - hidden : 0;
}

/* Multiplies TOGETHER rows by `count` other rows: out[r * count + j] is the product of row r and other row j. */
static inline __attribute__((always_inline)) void multiply_rows(const double *rows, const double *others,
                                                                uint64_t count, size_t depth, double *out)
{
    for (uint64_t j = 0; j < count; j++) {
        vector sums[TOGETHER] = {{0}}, x, y;
        for (size_t d = 0; d < depth; d += LANES) {
            memcpy(&y, others + j * depth + d, sizeof y);
            for (size_t r = 0; r < TOGETHER; r++) {
                memcpy(&x, rows + r * depth + d, sizeof x);
                sums[r] += x * y;
            }
        }
        for (size_t r = 0; r < TOGETHER; r++) {
            double sum = 0;
            for (int l = 0; l < LANES; l++)
                sum += sums[r][l];
            out[r * count + j] = sum;
        }
    }
}

/* Sums `count` other rows with the weights of TOGETHER rows: out[r] is the sum of weights[r * count + j] times row j. */
static inline __attribute__((always_inline)) void add_rows(const double *weights, const double *others, uint64_t count,
                                                           size_t depth, double *out)
{
    for (size_t d = 0; d < depth; d += LANES) {
        vector sums[TOGETHER] = {{0}}, y;
        for (uint64_t j = 0; j < count; j++) {
            memcpy(&y, others + j * depth + d, sizeof y);
            for (size_t r = 0; r < TOGETHER; r++)
                sums[r] += weights[r * count + j] * y;
        }
        for (size_t r = 0; r < TOGETHER; r++)
            memcpy(out + r * depth + d, &sums[r], sizeof sums[r]);
    }
}

static void scores_base(const double *rows, const double *others, uint64_t count, size_t depth, double *out)
{
    multiply_rows(rows, others, count, depth, out);
}

static void means_base(const double *weights, const double *others, uint64_t count, size_t depth, double *out)
{
    add_rows(weights, others, count, depth, out);
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void scores_avx2(const double *rows, const double *others, uint64_t count,
                                                        size_t depth, double *out)
{
    multiply_rows(rows, others, count, depth, out);
}

__attribute__((target("avx512f"))) static void scores_avx512(const double *rows, const double *others, uint64_t count,
                                                             size_t depth, double *out)
{
    multiply_rows(rows, others, count, depth, out);
}

__attribute__((target("avx2"))) static void means_avx2(const double *weights, const double *others, uint64_t count,
                                                       size_t depth, double *out)
{
    add_rows(weights, others, count, depth, out);
}

__attribute__((target("avx512f"))) static void means_avx512(const double *weights, const double *others, uint64_t count,
                                                            size_t depth, double *out)
{
    add_rows(weights, others, count, depth, out);
}
#endif

/* Chooses the code for the processor. All versions give the same bits: none has a fused multiply-add. */
static void choose_code(problem *p)
{
    p->scores = scores_base, p->means = means_base;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2"))
        p->scores = scores_avx2, p->means = means_avx2;
    if (__builtin_cpu_supports("avx512f"))
        p->scores = scores_avx512, p->means = means_avx512;
#endif
}

/* Finishes one query of the forward pass: turns its scores into P, and writes lse. `columns` gets p^2 of each key. */
static double normalise(const problem *p, double *scores, uint64_t row, uint64_t seen, double *columns, double *norm)
{
    double most = -INFINITY, sum = 0, squares = 0;
    double scale = 1 / sqrt((double)p->depth);
    for (uint64_t j = 0; j < seen; j++) {
        scores[j] *= scale;
        most = scores[j] > most ? scores[j] : most;
    }
    for (uint64_t j = 0; j < seen; j++)
        sum += scores[j] = exp(scores[j] - most);
    double lse = seen > 0 ? most + log(sum) : 0;
    for (uint64_t j = 0; j < seen; j++) {
        scores[j] /= sum;
        squares += scores[j] * scores[j];
        columns[j] += scores[j] * scores[j];
    }
    *norm = squares > *norm ? squares : *norm;
    kiln__from_doubles(p->lse->type, p->lse->data, row, 1, &lse);
    return lse;
}

/* Computes the forward pass of all queries of one head of keys, TOGETHER queries at a time. */
static void forward_head(void *user, size_t index, size_t worker)
{
    const problem *p = user;
    double *keys = p->room + worker * p->room_each, *values = keys + p->keys * p->depth;
    double *scores = values + p->keys * p->depth, *columns = scores + TOGETHER * p->keys;
    double *norms = p->norms + 2 * index;
    size_t of_head = (size_t)p->keys * p->depth;
    kiln__to_doubles(p->k->type, p->k->data, (uint64_t)index * of_head, of_head, keys);
    kiln__to_doubles(p->v->type, p->v->data, (uint64_t)index * of_head, of_head, values);
    memset(columns, 0, (size_t)p->keys * sizeof *columns);
    uint64_t first = (uint64_t)index * p->group * p->queries, end = first + p->group * p->queries;
    for (uint64_t row = first; row < end; row += TOGETHER) {
        double rows[TOGETHER * DEPTH_MOST] = {0}, out[TOGETHER * DEPTH_MOST];
        uint64_t count = end - row < TOGETHER ? end - row : TOGETHER;
        kiln__to_doubles(p->q->type, p->q->data, row * p->depth, (size_t)count * p->depth, rows);
        uint64_t seen[TOGETHER] = {0}, most = 0;
        for (uint64_t r = 0; r < count; r++) {
            seen[r] = keys_seen(p, (row + r) % p->queries);
            most = seen[r] > most ? seen[r] : most;
        }
        p->scores(rows, keys, most, p->depth, scores);
        double exact[2 * TOGETHER] = {0};
        for (uint64_t r = 0; r < count; r++) {
            exact[2 * r] = normalise(p, scores + r * most, row + r, seen[r], columns, &norms[0]);
            memset(scores + r * most + seen[r], 0, (size_t)(most - seen[r]) * sizeof *scores);
        }
        p->means(scores, values, most, p->depth, out);
        kiln__from_doubles(p->o->type, p->o->data, row * p->depth, (size_t)count * p->depth, out);
        kiln__to_doubles(p->dout->type, p->dout->data, row * p->depth, (size_t)count * p->depth, rows);
        for (size_t i = 0; i < count * p->depth; i++)
            exact[2 * (i / p->depth) + 1] += rows[i] * out[i];
        memcpy((double *)p->exact->data + 2 * row, exact, 2 * (size_t)count * sizeof *exact);
    }
    for (uint64_t j = 0; j < p->keys; j++)
        norms[1] = columns[j] > norms[1] ? columns[j] : norms[1];
}

/* Adds the part of one pair to the gradients of one side. s and dp are the pair's products. */
static double weight_of(const problem *p, uint64_t row, double s, double dp, double *probability)
{
    const double *exact = (const double *)p->exact->data + 2 * row;
    *probability = exp(s / sqrt((double)p->depth) - exact[0]);
    return *probability * (dp - exact[1]);
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

/* Computes dQ of the chosen queries of one head of keys, and dK and dV of its chosen keys. */
static void backward_head(void *user, size_t index, size_t worker)
{
    const problem *p = user;
    size_t of_keys = (size_t)p->keys * p->depth, of_queries = (size_t)p->queries * p->group * p->depth,
           depth = p->depth;
    double *keys = p->room + worker * p->room_each, *values = keys + of_keys, *queries = values + of_keys;
    double *outputs = queries + of_queries, scale = 1 / sqrt((double)depth), probability;
    kiln__to_doubles(p->k->type, p->k->data, (uint64_t)index * of_keys, of_keys, keys);
    kiln__to_doubles(p->v->type, p->v->data, (uint64_t)index * of_keys, of_keys, values);
    kiln__to_doubles(p->q->type, p->q->data, (uint64_t)index * of_queries, of_queries, queries);
    kiln__to_doubles(p->dout->type, p->dout->data, (uint64_t)index * of_queries, of_queries, outputs);
    uint64_t first = (uint64_t)index * p->group * p->queries, count = p->group * p->queries;
    for (uint64_t i = 0; i < count; i++) {
        double sums[DEPTH_MOST] = {0};
        const double *query = queries + i * depth, *output = outputs + i * depth;
        if (!kiln__row_chosen(first + i, p->every))
            continue;
        for (uint64_t j = 0; j < keys_seen(p, i % p->queries); j++) {
            double s = dot(query, keys + j * depth, depth), dp = dot(output, values + j * depth, depth);
            add_times(sums, keys + j * depth, scale * weight_of(p, first + i, s, dp, &probability), depth);
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
            add_times(of_key, queries + i * depth, scale * weight_of(p, first + i, s, dp, &probability), depth);
            add_times(of_value, outputs + i * depth, probability, depth);
        }
        kiln__from_doubles(p->dk->type, p->dk->data, row * depth, depth, of_key);
        kiln__from_doubles(p->dv->type, p->dv->data, row * depth, depth, of_value);
    }
}

/* Gives each worker its room, and runs one task for each head of keys. */
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

/* Exports an array [batch, heads, rows, depth] of bf16, and fills it with uniform numbers from -bound to bound. */
static kiln_status export_random(kiln_call *call, const char *name, const uint64_t *shape, double bound, uint64_t seed,
                                 kiln_array **array)
{
    kiln_error *why = NULL;
    const kiln__fill_values fill = {.kind = KILN__FILL_UNIFORM, .a = -bound, .b = bound, .seed = seed};
    kiln_status status = kiln_call_export_array(call, name, KILN_bf16, 4, shape, array);
    if (status == KILN_OK)
        status = kiln__call_pass(call, kiln__array_fill(*array, &fill, kiln_call_allocator(call), &why), why);
    return status;
}

/* Exports the random inputs and the arrays of the forward pass, and computes the forward pass. */
static kiln_status make_saved(kiln_call *call, problem *p, const int64_t *sizes, double spread, int64_t seed)
{
    uint64_t of_queries[5], of_keys[4];
    for (int i = 0; i < 4; i++) {
        of_queries[i] = (uint64_t)sizes[i == 0 ? 0 : i == 1 ? 1 : i == 2 ? 3 : 5];
        of_keys[i] = (uint64_t)sizes[i == 0 ? 0 : i == 1 ? 2 : i == 2 ? 4 : 5];
    }
    kiln_array *q, *k, *v, *dout;
    uint64_t first = 4 * (uint64_t)seed;
    kiln_status status = export_random(call, "q", of_queries, spread, first, &q);
    if (status == KILN_OK)
        status = export_random(call, "k", of_keys, spread, first + 1, &k);
    if (status == KILN_OK)
        status = export_random(call, "v", of_keys, 1, first + 2, &v);
    if (status == KILN_OK)
        status = export_random(call, "dout", of_queries, 1, first + 3, &dout);
    if (status == KILN_OK)
        status = kiln_call_export_array(call, "o", KILN_bf16, 4, of_queries, &p->o);
    if (status == KILN_OK)
        status = kiln_call_export_array(call, "lse", KILN_f32, 3, of_queries, &p->lse);
    of_queries[3] = 2;
    if (status == KILN_OK)
        status = kiln_call_export_array(call, "exact", KILN_f64, 4, of_queries, &p->exact);
    if (status != KILN_OK)
        return status;
    p->q = q, p->k = k, p->v = v, p->dout = dout;
    p->queries = of_queries[2], p->keys = of_keys[2];
    p->depth = (size_t)of_keys[3], p->group = (size_t)(of_queries[1] / of_keys[1]);
    choose_code(p);
    size_t heads = (size_t)(of_keys[0] * of_keys[1]);
    p->norms = kiln__calloc(kiln_call_allocator(call), 2 * heads + 1, sizeof *p->norms);
    if (!p->norms)
        return kiln__call_no_memory(call);
    status = for_each_head(call, p, heads, (size_t)p->keys * (2 * p->depth + TOGETHER + 1), forward_head);
    double most[2] = {0};
    for (size_t i = 0; i < 2 * heads; i++)
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
    int64_t sizes[KILN__COUNT(names)], seed;
    double spread;
    for (size_t i = 0; i < KILN__COUNT(names); i++) {
        if (kiln_call_int(call, names[i], NULL, &sizes[i]) != KILN_OK)
            return KILN_ERROR_HOST_FUNCTION;
        if (sizes[i] < 0)
            return kiln_call_fail(call, "%s is %" PRId64 ", but it must not be negative", names[i], sizes[i]);
    }
    if (kiln_call_float(call, "spread", &(double){1}, &spread) != KILN_OK ||
        kiln_call_int(call, "seed", &(int64_t){0}, &seed) != KILN_OK)
        return KILN_ERROR_HOST_FUNCTION;
    if (sizes[2] == 0 || sizes[1] % sizes[2] != 0 || sizes[5] % LANES != 0 || sizes[5] > DEPTH_MOST)
        return kiln_call_fail(call, "heads must be a multiple of kv_heads, and depth a multiple of %d and at most %d",
                              LANES, DEPTH_MOST);
    problem p = {.causal = sizes[6] != 0};
    return make_saved(call, &p, sizes, spread, seed);
}

/* Reads the arguments of the reference. Returns false if the call has failed. */
static bool take(kiln_call *call, problem *p, const kiln_array **exact)
{
    int64_t causal;
    if (kiln_call_array(call, "q", &p->q) != KILN_OK || kiln_call_array(call, "k", &p->k) != KILN_OK ||
        kiln_call_array(call, "v", &p->v) != KILN_OK || kiln_call_array(call, "dout", &p->dout) != KILN_OK ||
        kiln_call_array(call, "exact", exact) != KILN_OK || kiln_call_output(call, "dq", &p->dq) != KILN_OK ||
        kiln_call_output(call, "dk", &p->dk) != KILN_OK || kiln_call_output(call, "dv", &p->dv) != KILN_OK ||
        kiln_call_int(call, "CAUSAL", NULL, &causal) != KILN_OK)
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
    right = right && (*exact)->type == KILN_f64 && (*exact)->dims == 4 && (*exact)->shape[3] == 2 &&
            memcmp((*exact)->shape, p->q->shape, 3 * sizeof(uint64_t)) == 0;
    if (!right)
        kiln_call_fail(call,
                       "q, dout and dq must be B x H x M x D, k, v, dk and dv B x G x N x D, and exact B x H x M x 2 "
                       "of f64; H must be a multiple of G, and D at most 256");
    return right;
}

static kiln_status attention_backward_f64(void *user, kiln_call *call)
{
    (void)user;
    problem p = {0};
    const kiln_array *exact;
    if (!take(call, &p, &exact))
        return KILN_ERROR_HOST_FUNCTION;
    kiln_array copy = *exact; /* only the forward pass writes to it */
    p.exact = &copy;
    p.queries = p.q->shape[2], p.keys = p.k->shape[2];
    p.depth = (size_t)p.q->shape[3], p.group = (size_t)(p.q->shape[1] / p.k->shape[1]);
    size_t heads = (size_t)(p.k->shape[0] * p.k->shape[1]);
    double products = (double)heads * (double)p.group * (double)p.queries * (double)p.keys * 7 * (double)p.depth;
    if (!kiln__rows_every(call, products, ldexp(1, MOST_PRODUCTS_LOG), &p.every))
        return KILN_ERROR_HOST_FUNCTION;
    size_t room = 2 * p.depth * (size_t)(p.keys + p.queries * p.group);
    return for_each_head(call, &p, heads, room, backward_head);
}

KILN__FAMILY(attention_backward,
             KILN__HOST("attention_backward_f64", KILN_HOST_REFERENCE, attention_backward_f64,
                        "q, k, v, dout, exact, CAUSAL", "dq, dk, dv"),
             KILN__HOST("attention_saved", KILN_HOST_INPUT, attention_saved,
                        "batch, heads, kv_heads, queries, keys, depth, causal, [spread], [seed]",
                        "q, k, v, dout, o, lse, exact, row_norm, column_norm"))
