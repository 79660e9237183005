/* Compares decode_cache and decode_f64 with the formula, and with attention_f64 for one query. */
#include <math.h>

#include "data/arrays.h"
#include "hosts.h"

enum { DEPTH = 8, GROUP = 3, KV_HEADS = 2, HEADS = GROUP * KV_HEADS };

static kiln_status run(const char *name, kiln_call *call, kiln_error **error)
{
    return kiln__call(call, builtin(name), (kiln__pos){0}, error);
}

static kiln__call_arg number(const char *name, int64_t value)
{
    return (kiln__call_arg){.name = name, .kind = KILN__CALL_VALUE, .value = {.kind = KILN_INT, .as.i = value}};
}

/* ---- the cache ---- */

typedef struct cache {
    kiln_array lengths, table;
    int64_t total;
} cache;

static kiln_array copy_of(const kiln_call *call, const char *name)
{
    kiln_array copy = {0};
    kiln_error *error = NULL;
    const kiln__export *export = kiln__export_find(call->exports, name);
    CU_ASSERT_PTR_NOT_NULL_FATAL(export);
    const kiln_array *from = &export->array;
    CHECK_OK(kiln__array_make(NULL, from->type, from->dims, from->shape, &copy, &error), error);
    const uint64_t count = from->shape[0] * (from->dims == 2 ? from->shape[1] : 1);
    memcpy(copy.data, from->data, (size_t)count * sizeof(int32_t));
    return copy;
}

static kiln_status make_cache(int64_t sequences, int64_t keys, int64_t page, int64_t kind, cache *made,
                              const kiln_allocator *mem, kiln_error **error)
{
    kiln__call_arg args[] = {number("sequences", sequences), number("keys", keys), number("page", page),
                             number("lengths", kind), number("seed", 1)};
    kiln_call call = {.mem = mem, .arg_count = KILN__COUNT(args), .args = args};
    kiln_status status = run("decode_cache", &call, error);
    if (status == KILN_OK && made) {
        made->lengths = copy_of(&call, "lengths");
        made->table = copy_of(&call, "table");
        made->total = kiln__export_find(call.exports, "total")->value.as.i;
    }
    kiln__call_free(&call);
    return status;
}

static void free_cache(cache *c)
{
    kiln__array_free(NULL, &c->lengths);
    kiln__array_free(NULL, &c->table);
}

/* Each page belongs to one sequence, and the sum of lengths is the total. */
static void check_cache(int64_t sequences, int64_t keys, int64_t page, int64_t kind)
{
    cache c = {0};
    kiln_error *error = NULL;
    CHECK_OK(make_cache(sequences, keys, page, kind, &c, NULL, &error), error);
    const uint64_t pages = c.table.shape[0] * c.table.shape[1];
    CHECK(pages == (uint64_t)sequences * (page == 0 ? 1 : (uint64_t)((keys + page - 1) / page)));
    uint64_t seen = 0;
    int64_t total = 0;
    for (uint64_t i = 0; i < pages; i++)
        seen |= UINT64_C(1) << ((int32_t *)c.table.data)[i];
    CHECK(pages < 64 && seen == (UINT64_C(1) << pages) - 1);
    for (uint64_t s = 0; s < (uint64_t)sequences; s++) {
        const int32_t length = ((int32_t *)c.lengths.data)[s];
        CHECK(length >= 0 && length <= keys);
        CHECK(kind != 0 || length == keys);
        CHECK(kind != 2 || length == keys / 2);
        total += length;
    }
    if (kind == 1 && sequences >= 3)
        CHECK(memcmp(c.lengths.data, ((int32_t[]){(int32_t)keys, 0, keys > 0}), 3 * sizeof(int32_t)) == 0);
    CHECK(total == c.total);
    free_cache(&c);
}

static void test_cache(void)
{
    check_cache(5, 40, 16, 1);
    check_cache(4, 33, 0, 2);
    check_cache(3, 0, 16, 1);
    check_cache(0, 10, 4, 0);
    check_cache(12, 9, 2, 0);
}

/* ---- the reference ---- */

typedef struct problem {
    kiln_array q, k, v, o;
    cache cache;
    uint64_t page;
} problem;

static kiln_array make_filled(int dims, const uint64_t *shape, uint64_t seed)
{
    kiln_array array = {0};
    kiln_error *error = NULL;
    CHECK_OK(kiln__array_make(NULL, KILN_f64, dims, shape, &array, &error), error);
    fill(&array, (kiln__fill_values){.kind = KILN__FILL_UNIFORM, .a = -1, .b = 1, .seed = seed});
    return array;
}

static problem make_problem(uint64_t sequences, uint64_t keys, uint64_t page, int64_t kind)
{
    problem p = {.page = page ? page : keys};
    kiln_error *error = NULL;
    CHECK_OK(make_cache((int64_t)sequences, (int64_t)keys, (int64_t)page, kind, &p.cache, NULL, &error), error);
    const uint64_t queries[] = {sequences, HEADS, DEPTH};
    const uint64_t pages[] = {sequences * p.cache.table.shape[1], KV_HEADS, p.page, DEPTH};
    p.q = make_filled(3, queries, 1), p.o = make_filled(3, queries, 4);
    p.k = make_filled(4, pages, 2), p.v = make_filled(4, pages, 3);
    return p;
}

static void free_problem(problem *p)
{
    kiln_array *const all[] = {&p->q, &p->k, &p->v, &p->o};
    for (size_t i = 0; i < KILN__COUNT(all); i++)
        kiln__array_free(NULL, all[i]);
    free_cache(&p->cache);
}

static kiln_status decode(problem *p, const kiln_allocator *mem, kiln_error **error)
{
    kiln__call_arg args[] = {
        {.name = "q", .kind = KILN__CALL_ARRAY, .array = &p->q},
        {.name = "k", .kind = KILN__CALL_ARRAY, .array = &p->k},
        {.name = "v", .kind = KILN__CALL_ARRAY, .array = &p->v},
        {.name = "lengths", .kind = KILN__CALL_ARRAY, .array = &p->cache.lengths},
        {.name = "table", .kind = KILN__CALL_ARRAY, .array = &p->cache.table},
        {.name = "o", .kind = KILN__CALL_ARRAY, .array = &p->o, .writable = true},
    };
    kiln_call call = {.mem = mem, .arg_count = KILN__COUNT(args), .args = args};
    kiln_status status = run("decode_f64", &call, error);
    kiln__call_free(&call);
    return status;
}

static const double *row_of(const problem *p, const kiln_array *of, uint64_t sequence, uint64_t head, uint64_t key)
{
    const uint64_t pages = p->cache.table.shape[1];
    const uint64_t page = (uint64_t)((int32_t *)p->cache.table.data)[sequence * pages + key / p->page];
    return (double *)of->data + ((page * KV_HEADS + head) * p->page + key % p->page) * DEPTH;
}

/* Compares with the formula. The exponentials need no maximum, because all scores are small. */
static void check_problem(uint64_t sequences, uint64_t keys, uint64_t page, int64_t kind)
{
    problem p = make_problem(sequences, keys, page, kind);
    kiln_error *error = NULL;
    CHECK_OK(decode(&p, NULL, &error), error);
    for (uint64_t i = 0; i < sequences * HEADS * DEPTH; i++) {
        const uint64_t sequence = i / (HEADS * DEPTH), head = i / DEPTH % HEADS / GROUP;
        const double *q = (double *)p.q.data + i / DEPTH * DEPTH;
        double sum = 0, weights = 0;
        for (int32_t j = 0; j < ((int32_t *)p.cache.lengths.data)[sequence]; j++) {
            const double *k = row_of(&p, &p.k, sequence, head, (uint64_t)j);
            double score = 0;
            for (int d = 0; d < DEPTH; d++)
                score += q[d] * k[d];
            weights += exp(score / sqrt(DEPTH));
            sum += exp(score / sqrt(DEPTH)) * row_of(&p, &p.v, sequence, head, (uint64_t)j)[i % DEPTH];
        }
        CHECK(fabs(((double *)p.o.data)[i] - (weights > 0 ? sum / weights : 0)) <= 1e-14);
    }
    free_problem(&p);
}

static void test_problems(void)
{
    check_problem(2, 5, 0, 0);
    check_problem(4, 37, 16, 1); /* a sequence without keys */
    check_problem(3, 20, 4, 2);
    check_problem(2, 0, 0, 0);
    check_problem(0, 7, 0, 0);
}

/* ---- failures ---- */

static void check_failure(problem *p, const char *message)
{
    kiln_error *error = NULL;
    CHECK(decode(p, NULL, &error) == KILN_ERROR_HOST_FUNCTION);
    CHECK_TEXT(kiln_error_message(error), message);
    kiln_error_free(error);
}

static void test_errors(void)
{
    kiln_error *error = NULL;
    CHECK(make_cache(1, 10, 0, 3, NULL, NULL, &error) == KILN_ERROR_HOST_FUNCTION);
    CHECK_TEXT(kiln_error_message(error),
               "host function 'decode_cache': sequences, keys and page must not be negative, keys "
               "must be below 2^31, and lengths 0 to 2");
    kiln_error_free(error), error = NULL;
    CHECK(make_cache(1 << 20, 1 << 20, 1, 0, NULL, NULL, &error) == KILN_ERROR_HOST_FUNCTION);
    CHECK_TEXT(kiln_error_message(error), "host function 'decode_cache': the cache would have 2^31 pages or more");
    kiln_error_free(error);
    problem p = make_problem(2, 20, 16, 0);
    ((int32_t *)p.cache.lengths.data)[1] = 33;
    check_failure(&p, "host function 'decode_f64': sequence 1 has 33 keys, and its pages have room for 32");
    ((int32_t *)p.cache.lengths.data)[1] = 20;
    ((int32_t *)p.cache.table.data)[3] = 4;
    check_failure(&p, "host function 'decode_f64': entry 3 of table is 4, and there are 4 pages");
    p.v.shape[2] = 3;
    check_failure(&p,
                  "host function 'decode_f64': q and o must be B x H x D, and k and v pages x G x page x D; lengths "
                  "must be B and table B x P of i32; there must be B P pages, H must be a multiple of G, and D at most "
                  "256");
    free_problem(&p);
}

static void test_memory(void)
{
    problem p = make_problem(2, 20, 16, 0);
    for (int i = 0; i < 3; i++) { /* lengths, the table, scores */
        check_oom oom = {.countdown = i == 1};
        kiln_allocator mem = {check_oom_resize, &oom};
        kiln_error *error = NULL;
        CHECK((i < 2 ? make_cache(2, 20, 16, 0, NULL, &mem, &error) : decode(&p, &mem, &error)) != KILN_OK);
        CHECK(oom.failed);
        kiln_error_free(error);
        CHECK(oom.live == 0);
    }
    free_problem(&p);
}

static const check_case cases[] = {
    {"cache", test_cache},
    {"problems", test_problems},
    {"errors", test_errors},
    {"memory", test_memory},
};
KILN_SUITE("decode", cases)
