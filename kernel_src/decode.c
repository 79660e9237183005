/* decode.c - the input decode_cache and the reference decode_f64 of attention with one query for each sequence. The
 * keys and values of the sequences are in a cache of pages. */
#include <math.h>
#include <string.h>

#include "catalogue.h"
#include "random.h"
#include "rows.h"

enum { MOST_PRODUCTS_LOG = 31, DEPTH_MOST = 256 };

/* ---- The input ---- */

enum { FULL, RAGGED, HALF, LENGTHS };

/* Returns the number of keys of a sequence. With ragged lengths, the first three sequences have all keys, no key and
 * one key. Each of the other sequences has a random number of keys. */
static uint64_t length_of(int64_t kind, uint64_t sequence, uint64_t keys, kiln__random *random)
{
    const uint64_t first[] = {keys, 0, keys > 0};
    if (kind == HALF)
        return keys / 2;
    if (kind == FULL)
        return keys;
    return sequence < KILN__COUNT(first) ? first[sequence] : kiln__random_below(random, keys + 1);
}

/* Arguments
 *   sequences  the number of sequences
 *   keys       the largest number of keys of a sequence
 *   page       the number of keys of a page; 0: a page has a whole sequence
 *   lengths    0: all sequences have `keys` keys, 1: ragged, 2: all have half of `keys`
 *   seed
 * Exports
 *   lengths    i32: the number of keys of each sequence
 *   table      i32: the numbers of each sequence's pages, a random permutation unless `page` is 0
 *   total      the sum of the lengths */
static kiln_status decode_cache(void *user, kiln_call *call)
{
    (void)user;
    int64_t sequences, keys, page, kind, seed, total = 0;
    kiln_array *lengths, *table;
    if (kiln_call_int(call, "sequences", NULL, &sequences) != KILN_OK ||
        kiln_call_int(call, "keys", NULL, &keys) != KILN_OK || kiln_call_int(call, "page", NULL, &page) != KILN_OK ||
        kiln_call_int(call, "lengths", NULL, &kind) != KILN_OK || kiln_call_int(call, "seed", NULL, &seed) != KILN_OK)
        return KILN_ERROR_HOST_FUNCTION;
    if (sequences < 0 || keys < 0 || keys > INT32_MAX || page < 0 || kind < 0 || kind >= LENGTHS)
        return kiln_call_fail(call,
                              "sequences, keys and page must not be negative, keys must be below 2^31, and lengths 0 "
                              "to 2");
    const uint64_t pages = page == 0 ? 1 : ((uint64_t)keys + (uint64_t)page - 1) / (uint64_t)page;
    const uint64_t shape[] = {(uint64_t)sequences, pages};
    if (pages > 0 && shape[0] > INT32_MAX / pages)
        return kiln_call_fail(call, "the cache would have 2^31 pages or more");
    if (kiln_call_export_array(call, "lengths", KILN_i32, 1, shape, &lengths) != KILN_OK ||
        kiln_call_export_array(call, "table", KILN_i32, 2, shape, &table) != KILN_OK)
        return KILN_ERROR_HOST_FUNCTION;
    kiln__random random = {kiln__random_mix((uint64_t)seed)};
    for (uint64_t s = 0; s < shape[0]; s++) {
        const uint64_t length = length_of(kind, s, (uint64_t)keys, &random);
        ((int32_t *)lengths->data)[s] = (int32_t)length;
        total += (int64_t)length;
    }
    int32_t *entries = table->data;
    for (uint64_t i = 0; i < shape[0] * pages; i++) { /* Fisher-Yates shuffle, from the front */
        const uint64_t other = page == 0 ? i : kiln__random_below(&random, i + 1);
        entries[i] = entries[other];
        entries[other] = (int32_t)i;
    }
    return kiln_call_export_int(call, "total", total);
}

/* ---- The reference ---- */

typedef struct problem {
    const kiln_array *q, *k, *v, *lengths, *table;
    kiln_array *o;
    uint64_t every; /* the reference computes one query in `every` */
    double *room;   /* memory of each worker, for the scores of a query */
    size_t room_each;
} problem;

/* Writes row `key` of the sequence's keys or values as doubles. */
static void read_row(const problem *p, const kiln_array *from, uint64_t sequence, uint64_t head, uint64_t key,
                     double *to)
{
    const uint64_t page = from->shape[2], pages = p->table->shape[1];
    const int32_t number = ((const int32_t *)p->table->data)[sequence * pages + key / page];
    const uint64_t row = ((uint64_t)number * from->shape[1] + head) * page + key % page;
    kiln__to_doubles(from->type, from->data, row * from->shape[3], (size_t)from->shape[3], to);
}

/* Computes the query of one head of one sequence. The function first computes all scores, then their maximum and sum,
 * and then the mean of the values. It has a separate loop for each of these steps, while the kernels have one loop for
 * all of them. */
static void one_query(void *user, size_t index, size_t worker)
{
    const problem *p = user;
    const uint64_t heads = p->q->shape[1], sequence = index / heads;
    const uint64_t head = index % heads / (heads / p->k->shape[1]);
    const size_t depth = (size_t)p->q->shape[2];
    const uint64_t length = (uint64_t)((const int32_t *)p->lengths->data)[sequence];
    double query[DEPTH_MOST], row[DEPTH_MOST], out[DEPTH_MOST] = {0}, most = -INFINITY, sum = 0;
    double *scores = p->room + worker * p->room_each;
    if (!kiln__row_chosen(index, p->every))
        return;
    kiln__to_doubles(p->q->type, p->q->data, index * depth, depth, query);
    for (uint64_t j = 0; j < length; j++) {
        read_row(p, p->k, sequence, head, j, row);
        scores[j] = 0;
        for (size_t i = 0; i < depth; i++)
            scores[j] += query[i] * row[i];
        scores[j] /= sqrt((double)depth);
        most = scores[j] > most ? scores[j] : most;
    }
    for (uint64_t j = 0; j < length; j++)
        sum += scores[j] = exp(scores[j] - most);
    for (uint64_t j = 0; j < length; j++) {
        read_row(p, p->v, sequence, head, j, row);
        for (size_t i = 0; i < depth; i++)
            out[i] += scores[j] / sum * row[i];
    }
    kiln__from_doubles(p->o->type, p->o->data, index * depth, depth, out);
}

/* Reads the arguments. Returns false if the call has failed. It fails if a shape does not fit, if a length exceeds the
 * space in the sequence's pages, or if an entry of the table is not the number of a page. The table may hold any
 * numbers, and the reference must not read outside k and v. */
static bool take(kiln_call *call, problem *p)
{
    if (kiln_call_array(call, "q", &p->q) != KILN_OK || kiln_call_array(call, "k", &p->k) != KILN_OK ||
        kiln_call_array(call, "v", &p->v) != KILN_OK || kiln_call_array(call, "lengths", &p->lengths) != KILN_OK ||
        kiln_call_array(call, "table", &p->table) != KILN_OK || kiln_call_output(call, "o", &p->o) != KILN_OK)
        return false;
    const uint64_t *q = p->q->shape, *k = p->k->shape, *table = p->table->shape;
    bool right = p->q->dims == 3 && p->o->dims == 3 && p->k->dims == 4 && p->v->dims == 4 && p->lengths->dims == 1 &&
                 p->table->dims == 2 && p->lengths->type == KILN_i32 && p->table->type == KILN_i32;
    right = right && memcmp(q, p->o->shape, 3 * sizeof *q) == 0 && memcmp(k, p->v->shape, 4 * sizeof *k) == 0;
    right = right && k[3] == q[2] && q[2] <= DEPTH_MOST && k[1] > 0 && q[1] % k[1] == 0 &&
            k[0] == table[0] * table[1] && p->lengths->shape[0] == q[0] && table[0] == q[0];
    if (!right) {
        kiln_call_fail(call,
                       "q and o must be B x H x D, and k and v pages x G x page x D; lengths must be B and "
                       "table B x P of i32; there must be B P pages, H must be a multiple of G, and D at most 256");
        return false;
    }
    const unsigned long long room = table[1] * k[2]; /* the largest number of keys of a sequence */
    for (uint64_t s = 0; s < q[0]; s++) {
        const int32_t length = ((const int32_t *)p->lengths->data)[s];
        if (length < 0 || (unsigned long long)length > room) {
            kiln_call_fail(call, "sequence %llu has %d keys, and its pages have room for %llu", (unsigned long long)s,
                           (int)length, room);
            return false;
        }
    }
    for (uint64_t i = 0; i < k[0]; i++) {
        const int32_t number = ((const int32_t *)p->table->data)[i];
        if (number < 0 || (uint64_t)number >= k[0]) {
            kiln_call_fail(call, "entry %llu of table is %d, and there are %llu pages", (unsigned long long)i,
                           (int)number, (unsigned long long)k[0]);
            return false;
        }
    }
    return true;
}

/* The reference decode_f64 computes softmax(Q K^T / sqrt D) V of one query for each head and sequence, in double. For a
 * sequence without keys, the result is zeros. */
static kiln_status decode_f64(void *user, kiln_call *call)
{
    (void)user;
    problem p = {0};
    if (!take(call, &p))
        return KILN_ERROR_HOST_FUNCTION;
    const size_t queries = (size_t)(p.q->shape[0] * p.q->shape[1]);
    size_t threads = kiln__cpu_count();
    threads = threads < queries ? threads : queries;
    double products = 0;
    p.room_each = 1;
    for (uint64_t s = 0; s < p.q->shape[0]; s++) {
        const size_t length = (size_t)((const int32_t *)p.lengths->data)[s];
        products += (double)length * (double)p.q->shape[1] * 2 * (double)p.q->shape[2];
        p.room_each = length > p.room_each ? length : p.room_each;
    }
    if (!kiln__rows_every(call, products, ldexp(1, MOST_PRODUCTS_LOG), &p.every))
        return KILN_ERROR_HOST_FUNCTION;
    if (queries == 0)
        return KILN_OK;
    p.room = kiln__calloc(kiln_call_allocator(call), threads * p.room_each, sizeof *p.room);
    if (!p.room)
        return kiln__call_no_memory(call);
    kiln__parallel(threads, queries, one_query, &p);
    kiln__free(kiln_call_allocator(call), p.room);
    return KILN_OK;
}

KILN__FAMILY(decode,
             KILN__HOST("decode_cache", KILN_HOST_INPUT, decode_cache, "sequences, keys, page, lengths, seed",
                        "lengths, table, total"),
             KILN__HOST("decode_f64", KILN_HOST_REFERENCE, decode_f64, "q, k, v, lengths, table", "o"))
