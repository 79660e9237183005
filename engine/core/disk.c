/* disk.c - the public functions of the disk cache. */
#include <string.h>

#include "core_internal.h"

const char *kiln_cache_dir(kiln_engine *engine) { return engine ? engine->cache_dir : NULL; }

/* Opens both caches. *references becomes NULL if references are not kept. */
static kiln_status open_caches(kiln_engine *engine, kiln__cache **code, kiln__cache **references, kiln_error **error)
{
    if (!engine->cache_dir)
        return kiln__fail(engine->mem, error, KILN_ERROR_ARGUMENT, "the cache is switched off");
    *code = kiln__engine_cache(engine);
    *references = kiln__engine_references(engine);
    return *code ? KILN_OK : kiln__fail_memory(error);
}

/* The caller's function, as the state of a listing. `ended` becomes true when the caller's function wants no more
 * entries. */
typedef struct listing {
    kiln_cache_fn each;
    void *user;
    bool ended;
} listing;

static int pass_entry(void *user, const kiln_cache_entry *entry)
{
    listing *l = user;
    l->ended = l->each(l->user, entry) != 0;
    return l->ended;
}

/* Lists the entries of the cache for code, then the entries of the cache of references. */
static kiln_status list(kiln_engine *engine, bool verify, kiln_cache_fn each, void *user, kiln_error **error)
{
    kiln__cache *code = NULL, *references = NULL;
    listing l = {.each = each, .user = user};
    kiln_status status = open_caches(engine, &code, &references, error);
    if (status == KILN_OK)
        status = kiln__cache_list(code, verify, pass_entry, &l, error);
    if (status == KILN_OK && !l.ended && references)
        status = kiln__cache_list(references, verify, pass_entry, &l, error);
    return status;
}

kiln_status kiln_cache_list(kiln_engine *engine, kiln_cache_fn each, void *user, kiln_error **error)
{
    KILN__NEEDS(NULL, error, engine);
    KILN__NEEDS(engine->mem, error, each);
    return list(engine, false, each, user, error);
}

kiln_status kiln_cache_verify(kiln_engine *engine, kiln_cache_fn each, void *user, kiln_error **error)
{
    KILN__NEEDS(NULL, error, engine);
    KILN__NEEDS(engine->mem, error, each);
    return list(engine, true, each, user, error);
}

/* Counts the entries whose id begins with a text. */
typedef struct counting {
    const char *id;
    size_t matches;
} counting;

static int count_entry(void *user, const kiln_cache_entry *entry)
{
    counting *c = user;
    c->matches += strncmp(entry->id, c->id, strlen(c->id)) == 0;
    return 0;
}

/* Shows the entry whose id begins with `id`. Exactly one entry of the two caches must have such an id. */
kiln_status kiln_cache_show(kiln_engine *engine, const char *id, kiln_cache_show_fn show, void *user,
                            kiln_error **error)
{
    kiln__cache *code = NULL, *references = NULL;
    counting of_code = {.id = id}, of_references = {.id = id};
    KILN__NEEDS(NULL, error, engine);
    KILN__NEEDS_TEXT(engine->mem, error, id);
    KILN__NEEDS(engine->mem, error, show);
    KILN__TRY(open_caches(engine, &code, &references, error));
    KILN__TRY(kiln__cache_list(code, false, count_entry, &of_code, error));
    if (references)
        KILN__TRY(kiln__cache_list(references, false, count_entry, &of_references, error));
    const size_t matches = of_code.matches + of_references.matches;
    if (of_code.matches && of_references.matches)
        return kiln__fail(engine->mem, error, KILN_ERROR_ARGUMENT,
                          "%s: the ids of %zu entries begin with these digits; give more digits", id, matches);
    return kiln__cache_show(of_references.matches ? references : code, id, show, user, error);
}

/* Divides max_bytes: compiled code gets its bytes first, then references, then precompiled headers. *removed and
 * *kept_bytes count code and references, but not precompiled headers. */
kiln_status kiln_cache_gc(kiln_engine *engine, uint64_t max_bytes, uint64_t *removed, uint64_t *kept_bytes,
                          kiln_error **error)
{
    kiln__cache *caches[2] = {NULL, NULL};
    uint64_t gone = 0, kept = 0;
    KILN__NEEDS(NULL, error, engine);
    kiln_status status = open_caches(engine, &caches[0], &caches[1], error);
    for (size_t i = 0; i < KILN__COUNT(caches) && caches[i] && status == KILN_OK; i++) {
        uint64_t one_gone = 0, one_kept = 0;
        status = kiln__cache_gc(caches[i], max_bytes > kept ? max_bytes - kept : 0, &one_gone, &one_kept, error);
        gone += one_gone;
        kept += one_kept;
    }
    if (status != KILN_OK)
        return status;
    kiln__arena arena = {.mem = engine->mem};
    const char *headers = kiln__arena_printf(&arena, "%s/" KILN__PCH_FOLDER, engine->cache_dir);
    if (headers)
        kiln__pch_collect(headers, max_bytes > kept ? max_bytes - kept : 0);
    kiln__arena_free(&arena);
    if (!headers)
        return kiln__fail_memory(error);
    if (removed)
        *removed = gone;
    if (kept_bytes)
        *kept_bytes = kept;
    return KILN_OK;
}

kiln_status kiln_cache_clear(kiln_engine *engine, uint64_t *removed, kiln_error **error)
{
    KILN__NEEDS(NULL, error, engine);
    return kiln_cache_gc(engine, 0, removed, NULL, error);
}
