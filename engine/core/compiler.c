/* compiler.c - opens NVRTC, the compiler and the cache of an engine, each at its first use. */
#include <pthread.h>

#include "core_internal.h"

kiln_status kiln__engine_nvrtc_locked(kiln_engine *engine, kiln_error **error)
{
    if (engine->nvrtc)
        return KILN_OK;
    return kiln__nvrtc_find(engine->mem, &engine->nvrtc, error);
}

kiln_status kiln__engine_nvrtc(kiln_engine *engine, kiln_error **error)
{
    pthread_mutex_lock(&engine->lock);
    kiln_status status = kiln__engine_nvrtc_locked(engine, error);
    pthread_mutex_unlock(&engine->lock);
    return status;
}

/* Lists the machines of the other ranks. The list is in the engine's arena. */
static const kiln__compile_place *list_places(kiln_engine *engine, size_t *count)
{
    kiln__compile_place *places = kiln__arena_alloc(&engine->arena,
                                                    (size_t)kiln_ranks_count(engine->ranks) * sizeof *places);
    *count = 0;
    for (int i = 1; places && i < kiln_ranks_count(engine->ranks); i++) {
        const kiln__rank_info *info = kiln__ranks_info(engine->ranks, i);
        if (info)
            places[(*count)++] = (kiln__compile_place){kiln__ranks_place(engine->ranks, i), info->jobs};
    }
    return places;
}

/* Opens the cache if it is not open, and returns it. Returns NULL if the cache is switched off, or if memory runs out.
 * The caller holds the engine's lock. */
static kiln__cache *open_cache(kiln_engine *engine)
{
    if (!engine->cache_open && engine->cache_dir) {
        if (kiln__cache_open(engine->mem, engine->cache_dir, &engine->log, &engine->cache, NULL) != KILN_OK)
            engine->cache = NULL;
        engine->cache_open = engine->cache != NULL; /* if memory ran out, the next call tries again */
    }
    return engine->cache;
}

static kiln_status open_compiler(kiln_engine *engine, kiln_error **error)
{
    if (engine->compiler)
        return KILN_OK;
    kiln_status status = kiln__engine_nvrtc_locked(engine, error);
    if (status != KILN_OK)
        return status;
    if (!engine->worker && !(engine->flags & KILN_NO_WORKERS))
        kiln__logf(&engine->log, KILN_LOG_WARNING,
                   "kiln-worker was not found, so kernels compile one at a time in "
                   "this process, without a time limit; set KILN_WORKER to its path");
    kiln__arena arena = {.mem = engine->mem};
    const kiln__cache *cache = open_cache(engine);
    kiln__compiler_options options = {.worker = engine->worker,
                                      .pch = cache && kiln__cache_is_writable(cache)
                                                 ? kiln__arena_printf(&arena, "%s/" KILN__PCH_FOLDER, engine->cache_dir)
                                                 /* the engine creates nothing in a cache folder that it refused */
                                                 : NULL,
                                      .nvrtc = kiln__nvrtc_path(engine->nvrtc),
                                      .jobs = engine->jobs,
                                      .timeout = engine->compile_timeout,
                                      .log = &engine->log};
    options.places = list_places(engine, &options.place_count);
    status = arena.failed ? kiln__fail_memory(error)
                          : kiln__compiler_open(engine->mem, &options, engine->nvrtc, &engine->compiler, error);
    kiln__arena_free(&arena);
    return status;
}

kiln_status kiln__engine_compiler(kiln_engine *engine, kiln_error **error)
{
    if (engine->ranks)
        kiln__ranks_gather(engine->ranks);
    pthread_mutex_lock(&engine->lock);
    kiln_status status = open_compiler(engine, error);
    pthread_mutex_unlock(&engine->lock);
    return status;
}

kiln__cache *kiln__engine_cache(kiln_engine *engine)
{
    pthread_mutex_lock(&engine->lock);
    kiln__cache *cache = open_cache(engine);
    pthread_mutex_unlock(&engine->lock);
    return cache;
}

/* Opens the cache of references if it is not open, and returns it. Returns NULL if references are not kept. If Kiln
 * cannot write the cache for code, it keeps no references either. In this case the log already has the reason. The
 * caller holds the engine's lock. */
static kiln__cache *open_references(kiln_engine *engine)
{
    if (engine->references_open || !engine->references_dir)
        return engine->references;
    const kiln__cache *code = open_cache(engine);
    if (engine->cache_dir && (!code || !kiln__cache_is_writable(code)))
        return NULL;
    if (kiln__cache_open(engine->mem, engine->references_dir, NULL, &engine->references, NULL) != KILN_OK)
        return engine->references = NULL; /* if memory ran out, the next call tries again */
    engine->references_open = true;
    kiln__cache_write_fast(engine->references);
    return engine->references;
}

kiln__cache *kiln__engine_references(kiln_engine *engine)
{
    pthread_mutex_lock(&engine->lock);
    kiln__cache *references = open_references(engine);
    pthread_mutex_unlock(&engine->lock);
    return references;
}

void kiln__engine_use_references(kiln_engine *engine, const char *folder)
{
    if (*folder)
        engine->references_dir = folder;
}
