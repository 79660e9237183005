/* attention.c - the references of attention. The reference attention_f64 computes softmax(Q K^T / sqrt D) V of each
 * head in double. The reference attention_scaled_f64 does the same for arrays that have a scale for each head, for
 * example arrays of 8-bit floats. With scales, each element of a head stands for the element times the scale of its
 * head.
 *
 * With CAUSAL, query i sees the keys up to number i + KEYS - QUERIES. A query that sees no key gets zeros. A task of a
 * worker is one head of keys and values. The task converts this head once for all query heads that share it. */
#include <math.h>
#include <string.h>

#include "catalogue.h"
#include "rows.h"
#include "vector.h"

enum { MOST_PRODUCTS_LOG = 31, DEPTH_MOST = 256 };

typedef struct problem {
    const kiln_array *q, *k, *v;
    const kiln_array *q_scale, *k_scale, *v_scale; /* NULL if all scales are 1 */
    kiln_array *o;
    bool causal;
    uint64_t queries, keys, every; /* the reference computes one query in `every` */
    size_t depth, group;           /* `group` is the number of query heads that share a head of keys */
    /* memory of each worker, for the keys and values of a head and the scores of a query */
    double *room;
    size_t room_each;
} problem;

static double dot(const double *a, const double *b, size_t count)
{
    kiln__vector sum = {0}, x, y;
    for (size_t i = 0; i < count; i += KILN__LANES) {
        memcpy(&x, a + i, sizeof x);
        memcpy(&y, b + i, sizeof y);
        sum += x * y;
    }
    return sum[0] + sum[1] + (sum[2] + sum[3]);
}

static void add_times(double *to, const double *from, double factor, size_t count)
{
    kiln__vector x, y;
    for (size_t i = 0; i < count; i += KILN__LANES) {
        memcpy(&x, to + i, sizeof x);
        memcpy(&y, from + i, sizeof y);
        x += factor * y;
        memcpy(to + i, &x, sizeof x);
    }
}

static double scale_of(const kiln_array *scales, uint64_t head)
{
    double scale = 1;
    if (scales)
        kiln__to_doubles(scales->type, scales->data, head, 1, &scale);
    return scale;
}

static void one_query(const problem *p, const double *keys, const double *values, double *scores, uint64_t row,
                      uint64_t seen)
{
    double query[DEPTH_MOST], out[DEPTH_MOST] = {0}, most = -INFINITY, sum = 0;
    double scale = scale_of(p->q_scale, row / p->queries) / sqrt((double)p->depth);
    kiln__to_doubles(p->q->type, p->q->data, row * p->depth, p->depth, query);
    for (uint64_t j = 0; j < seen; j++) {
        scores[j] = dot(query, keys + j * p->depth, p->depth) * scale;
        most = scores[j] > most ? scores[j] : most;
    }
    for (uint64_t j = 0; j < seen; j++) {
        double weight = exp(scores[j] - most);
        sum += weight;
        add_times(out, values + j * p->depth, weight, p->depth);
    }
    for (size_t i = 0; i < p->depth && seen > 0; i++)
        out[i] /= sum;
    kiln__from_doubles(p->o->type, p->o->data, row * p->depth, p->depth, out);
}

static void one_head(void *user, size_t index, size_t worker)
{
    const problem *p = user;
    double *keys = p->room + worker * p->room_each, *values = keys + p->keys * p->depth;
    size_t of_head = (size_t)p->keys * p->depth;
    kiln__to_doubles(p->k->type, p->k->data, (uint64_t)index * of_head, of_head, keys);
    kiln__to_doubles(p->v->type, p->v->data, (uint64_t)index * of_head, of_head, values);
    double k_scale = scale_of(p->k_scale, index), v_scale = scale_of(p->v_scale, index);
    for (size_t i = 0; i < of_head && p->k_scale; i++)
        keys[i] *= k_scale, values[i] *= v_scale;
    uint64_t first = (uint64_t)index * p->group * p->queries;
    for (uint64_t row = first; row < first + p->group * p->queries; row++) {
        uint64_t query = row % p->queries, hidden = p->causal ? p->queries - 1 - query : 0;
        if (kiln__row_chosen(row, p->every))
            one_query(p, keys, values, values + of_head, row, hidden < p->keys ? p->keys - hidden : 0);
    }
}

static bool take(kiln_call *call, problem *p)
{
    int64_t causal;
    if (kiln_call_array(call, "q", &p->q) != KILN_OK || kiln_call_array(call, "k", &p->k) != KILN_OK ||
        kiln_call_array(call, "v", &p->v) != KILN_OK || kiln_call_output(call, "o", &p->o) != KILN_OK ||
        kiln_call_int(call, "CAUSAL", NULL, &causal) != KILN_OK)
        return false;
    p->causal = causal != 0;
    const kiln_array *const of_queries[] = {p->q, p->o}, *const of_keys[] = {p->k, p->v};
    bool right = true;
    for (int i = 0; i < 2; i++) {
        right = right && of_queries[i]->dims == 4 && of_keys[i]->dims == 4;
        right = right && memcmp(of_queries[i]->shape, p->q->shape, 4 * sizeof(uint64_t)) == 0;
        right = right && memcmp(of_keys[i]->shape, p->k->shape, 4 * sizeof(uint64_t)) == 0;
    }
    right = right && p->q->shape[0] == p->k->shape[0] && p->q->shape[3] == p->k->shape[3] && p->k->shape[1] > 0 &&
            p->q->shape[1] % p->k->shape[1] == 0 && p->q->shape[3] % KILN__LANES == 0 && p->q->shape[3] <= DEPTH_MOST;
    if (!right)
        kiln_call_fail(call,
                       "q and o must be B x H x M x D, and k and v B x G x N x D; H must be a multiple of G, and D a "
                       "multiple of 4 and at most 256");
    return right;
}

/* Takes the scales of the array `of`, one for each head. Returns false if the call has failed. */
static bool take_scale(kiln_call *call, const char *name, const kiln_array *of, const kiln_array **scale)
{
    if (kiln_call_array(call, name, scale) != KILN_OK)
        return false;
    bool right = (*scale)->dims == 2 && memcmp((*scale)->shape, of->shape, 2 * sizeof(uint64_t)) == 0;
    if (!right)
        kiln_call_fail(call, "%s must have a number for each batch and head", name);
    return right;
}

static kiln_status attend(kiln_call *call, problem p)
{
    p.queries = p.q->shape[2], p.keys = p.k->shape[2];
    p.depth = (size_t)p.q->shape[3], p.group = (size_t)(p.q->shape[1] / p.k->shape[1]);
    size_t heads = (size_t)(p.k->shape[0] * p.k->shape[1]), threads = kiln__cpu_count();
    threads = threads < heads ? threads : heads;
    double products = (double)heads * (double)p.group * (double)p.queries * (double)p.keys * 2 * (double)p.depth;
    if (!kiln__rows_every(call, products, ldexp(1, MOST_PRODUCTS_LOG), &p.every))
        return KILN_ERROR_HOST_FUNCTION;
    if (heads == 0)
        return KILN_OK;
    p.room_each = (size_t)p.keys * (2 * p.depth + 1) + 1;
    p.room = kiln__calloc(kiln_call_allocator(call), threads * p.room_each, sizeof *p.room);
    if (!p.room)
        return kiln__call_no_memory(call);
    kiln__parallel(threads, heads, one_head, &p);
    kiln__free(kiln_call_allocator(call), p.room);
    return KILN_OK;
}

static kiln_status attention_f64(void *user, kiln_call *call)
{
    (void)user;
    problem p = {0};
    return take(call, &p) ? attend(call, p) : KILN_ERROR_HOST_FUNCTION;
}

static kiln_status attention_scaled_f64(void *user, kiln_call *call)
{
    (void)user;
    problem p = {0};
    if (!take(call, &p) || !take_scale(call, "q_scale", p.q, &p.q_scale) ||
        !take_scale(call, "k_scale", p.k, &p.k_scale) || !take_scale(call, "v_scale", p.v, &p.v_scale))
        return KILN_ERROR_HOST_FUNCTION;
    return attend(call, p);
}

KILN__FAMILY(attention, KILN__HOST("attention_f64", KILN_HOST_REFERENCE, attention_f64, "q, k, v, CAUSAL", "o"),
             KILN__HOST("attention_scaled_f64", KILN_HOST_REFERENCE, attention_scaled_f64,
                        "q, k, v, q_scale, k_scale, v_scale, CAUSAL", "o"))
