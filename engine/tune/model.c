/* model.c - opens an engine on a simulated device whose model estimates the times of a GPU. */
#include <stdio.h>
#include <string.h>

#include "model_internal.h"

/* Returns the engine's folders as one text, separated by ':'. kiln_options expects this form. Returns NULL if memory
 * runs out. */
static const char *list_folders(const kiln_engine *engine, kiln__arena *arena)
{
    const char *list = "";
    for (size_t i = 0; list && i < engine->search_count; i++)
        list = kiln__arena_printf(arena, "%s%s%s", list, i ? ":" : "", engine->search_path[i]);
    return list;
}

/* Opens an engine on a simulated device with the options of `engine`. If `as_on_gpu` is set, the new engine compiles
 * the code that the GPU will get. So its compiles fill the cache for the search. Fails if the device has no model of
 * times. After a failure *model may be set, and the caller closes it. */
kiln_status kiln__estimates_open(kiln_engine *engine, const char *device, kiln__arena *arena, kiln_engine **model,
                                 kiln_error **error)
{
    char nearest[32];
    snprintf(nearest, sizeof nearest, "sim:sm_%d%d", engine->info.cc_major, engine->info.cc_minor);
    const kiln_options options = {.size = sizeof options,
                                  .device = strcmp(device, "sim") == 0 ? nearest : device,
                                  .cache_dir = engine->cache_dir,
                                  .search_path = list_folders(engine, arena),
                                  .worker = engine->worker,
                                  .jobs = engine->jobs,
                                  .flags = engine->flags,
                                  .compile_timeout = engine->compile_timeout,
                                  .memory_limit = engine->memory_limit,
                                  .allocator = engine->mem,
                                  .log = engine->log.fn,
                                  .log_user = engine->log.user,
                                  .stop = engine->stop};
    if (!options.search_path)
        return kiln__fail_memory(error);
    kiln_status status = kiln_engine_open(&options, model, error);
    if (status == KILN_OK) {
        (*model)->as_on_gpu = true;
        status = kiln__engine_device(*model, error);
    }
    if (status == KILN_OK && !(*model)->driver.simulator->has_model())
        status = kiln__fail(engine->mem, error, KILN_ERROR_UNSUPPORTED, "%s does not estimate times",
                            (*model)->info.id);
    return status;
}
