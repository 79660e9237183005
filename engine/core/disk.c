/* disk.c - the public functions of the disk cache. */
#include "core_internal.h"

const char *kiln_cache_dir(kiln_engine *engine) { return engine ? engine->cache_dir : NULL; }

static kiln_status open_cache(kiln_engine *engine, kiln__cache **cache, kiln_error **error)
{
    if (!engine->cache_dir)
        return kiln__fail(engine->mem, error, KILN_ERROR_ARGUMENT, "the cache is switched off");
    *cache = kiln__engine_cache(engine);
    return *cache ? KILN_OK : kiln__fail_memory(error);
}

static kiln_status list(kiln_engine *engine, bool verify, kiln_cache_fn each, void *user, kiln_error **error)
{
    kiln__cache *cache;
    kiln_status status = open_cache(engine, &cache, error);
    if (status != KILN_OK)
        return status;
    return kiln__cache_list(cache, verify, each, user, error);
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

kiln_status kiln_cache_show(kiln_engine *engine, const char *id, kiln_cache_show_fn show, void *user,
                            kiln_error **error)
{
    kiln__cache *cache;
    KILN__NEEDS(NULL, error, engine);
    KILN__NEEDS_TEXT(engine->mem, error, id);
    KILN__NEEDS(engine->mem, error, show);
    kiln_status status = open_cache(engine, &cache, error);
    if (status != KILN_OK)
        return status;
    return kiln__cache_show(cache, id, show, user, error);
}

kiln_status kiln_cache_gc(kiln_engine *engine, uint64_t max_bytes, uint64_t *removed, uint64_t *kept_bytes,
                          kiln_error **error)
{
    kiln__cache *cache;
    uint64_t gone = 0, kept = 0;
    KILN__NEEDS(NULL, error, engine);
    kiln_status status = open_cache(engine, &cache, error);
    if (status == KILN_OK)
        status = kiln__cache_gc(cache, max_bytes, &gone, &kept, error);
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
