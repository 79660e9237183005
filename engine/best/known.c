/* known.c - the best known configurations of many problems. Collects them from a store, reads them from a text file,
 * and writes them to a text file. */
#include <math.h>
#include <string.h>

#include "best.h"

/* ---- collecting from a store ---- */

/* The state of collect_sample(). */
typedef struct collecting {
    kiln__known_list *list;
    bool failed;
} collecting;

/* Adds one sample of a store to the list of known configurations. A failure that would happen again gets an infinite
 * time, so that it hides the earlier samples of its configuration. */
static int collect_sample(void *user, const kiln_record *r)
{
    collecting *c = user;
    const kiln_result *result = r->result;
    bool failed = r->status != KILN_OK;
    /* Skips samples that tell nothing about the configuration. A failure that would not happen again (a time limit, a
     * lack of memory) was not caused by the configuration. A run with the checks of the simulated device has no usable
     * time. */
    if ((failed && !r->reusable) || strstr(r->run, " check"))
        return 0;
    kiln__known known = {
        .spec = r->spec,
        .variant = r->variant,
        .device = r->device,
        .cc = r->cc,
        .sizes = KILN__SIZES(r),
        .params = KILN__PARAMS(r),
        .features = {r->feature_count, r->features},
        .how = result->measured    ? KILN__MEASURED
               : result->estimated ? KILN__ESTIMATED
                                   : KILN__SIMULATED,
        .seconds = failed ? HUGE_VAL : kiln__result_seconds(result),
        .verified = result->verified,
        .made = r->made,
        .taken = kiln__store_record_taken(r),
        .inputs_seconds = result->inputs_seconds,
        .copy_seconds = result->copy_seconds,
        .input_functions = result->input_functions.text,
        .code = r->source_key,
    };
    c->failed = !kiln__known_add(c->list, &known);
    return c->failed;
}

kiln_status kiln__known_collect(kiln_store *store, const kiln_store_filter *filter, kiln__known_list *list,
                                kiln_error **error)
{
    collecting c = {.list = list};
    kiln_status status = kiln_store_list(store, filter, collect_sample, &c, error);
    return status == KILN_OK && c.failed ? kiln__fail_memory(error) : status;
}

/* ---- the object kiln_knowledge ---- */

static kiln_knowledge *new_knowledge(const kiln_engine *engine)
{
    kiln_knowledge *made = kiln__calloc(engine->mem, 1, sizeof *made);
    if (made && engine->mem) {
        made->mem_copy = *engine->mem;
        made->mem = &made->mem_copy;
    }
    if (made)
        made->list.arena.mem = made->mem;
    return made;
}

void kiln_knowledge_free(kiln_knowledge *knowledge)
{
    if (!knowledge)
        return;
    kiln_allocator copy = knowledge->mem_copy;
    const kiln_allocator *mem = knowledge->mem ? &copy : NULL;
    kiln__known_free(&knowledge->list);
    kiln__free(mem, knowledge);
}

/* On KILN_OK, removes duplicates and sets *knowledge. On an error, frees `made`. Returns `status`. */
static kiln_status finish_knowledge(kiln_knowledge *made, kiln_status status, kiln_knowledge **knowledge)
{
    if (status != KILN_OK) {
        kiln_knowledge_free(made);
        return status;
    }
    kiln__known_deduplicate(&made->list);
    *knowledge = made;
    return KILN_OK;
}

kiln_status kiln_knowledge_collect(kiln_engine *engine, kiln_store *store, const kiln_store_filter *given,
                                   kiln_knowledge **knowledge, kiln_error **error)
{
    kiln_store_filter filter;
    KILN__NEEDS(NULL, error, engine);
    KILN__NEEDS(engine->mem, error, store);
    KILN__TRY(kiln__take_filter(engine->mem, error, __func__, given, &filter));
    KILN__NEEDS(engine->mem, error, knowledge);
    kiln_knowledge *made = new_knowledge(engine);
    if (!made)
        return kiln__fail_memory(error);
    return finish_knowledge(made, kiln__known_collect(store, &filter, &made->list, error), knowledge);
}

kiln_status kiln_knowledge_parse(kiln_engine *engine, const char *text, size_t length, const char *name,
                                 kiln_knowledge **knowledge, kiln_error **error)
{
    KILN__NEEDS(NULL, error, engine);
    if (length)
        KILN__NEEDS(engine->mem, error, text);
    KILN__NEEDS_TEXT(engine->mem, error, name);
    KILN__NEEDS(engine->mem, error, knowledge);
    kiln_knowledge *made = new_knowledge(engine);
    if (!made)
        return kiln__fail_memory(error);
    return finish_knowledge(made, kiln__known_read(made->mem, name, text ? text : "", length, &made->list, error),
                            knowledge);
}

kiln_status kiln_knowledge_load(kiln_engine *engine, const char *path, kiln_knowledge **knowledge, kiln_error **error)
{
    static const size_t limit = (size_t)64 << 20;
    char *text = NULL;
    size_t length = 0;
    KILN__NEEDS(NULL, error, engine);
    KILN__NEEDS_TEXT(engine->mem, error, path);
    KILN__NEEDS(engine->mem, error, knowledge);
    kiln_status status = kiln__file_read(engine->mem, path, limit, &text, &length, error);
    if (status == KILN_OK)
        status = kiln_knowledge_parse(engine, text, length, path, knowledge, error);
    kiln__free(engine->mem, text);
    return status;
}

size_t kiln_knowledge_count(const kiln_knowledge *knowledge) { return knowledge ? knowledge->list.count : 0; }

kiln_status kiln_knowledge_save(const kiln_knowledge *knowledge, const char *path, uint64_t *written,
                                kiln_error **error)
{
    KILN__NEEDS(NULL, error, knowledge);
    KILN__NEEDS_TEXT(knowledge->mem, error, path);
    const kiln_allocator *mem = knowledge->mem;
    size_t count = knowledge->list.count;
    kiln__known_list best = {.arena.mem = mem, .count = count};
    best.items = kiln__calloc(mem, count + 1, sizeof *best.items); /* the new list shares the texts with the old list */
    if (!best.items)
        return kiln__fail_memory(error);
    if (count)
        memcpy(best.items, knowledge->list.items, count * sizeof *best.items);
    kiln__known_keep_best(&best);
    kiln__text text = {.mem = mem};
    kiln_status status = kiln__known_print(mem, &best, &text, error);
    if (status == KILN_OK)
        status = kiln__file_write(mem, path, text.data, text.length, error);
    if (status == KILN_OK && written)
        *written = best.count;
    kiln__text_free(&text);
    kiln__free(mem, best.items);
    return status;
}
