/* samples.c - opens the user's store of samples. */
#include "core_internal.h"
#include "store.h"

kiln_status kiln_store_open(kiln_engine *engine, const char *path, unsigned flags, kiln_store **store,
                            kiln_error **error)
{
    KILN__NEEDS(NULL, error, engine);
    KILN__NEEDS(engine->mem, error, store);
    KILN__NEEDS_FLAGS(engine->mem, error, flags, KILN_STORE_READ);
    kiln__arena arena = {.mem = engine->mem};
    path = kiln__store_path_find(&arena, path);
    kiln_status status;
    if (path)
        status = kiln__store_open_for(engine->mem, &engine->log, path, flags, KILN__STORE_WAIT_MS, engine->stop, store,
                                      error);
    else if (arena.failed)
        status = kiln__fail_memory(error);
    else
        status = kiln__fail(engine->mem, error, KILN_ERROR_IO,
                            "there is no home folder for the store; set KILN_STORE "
                            "to a file");
    kiln__arena_free(&arena);
    return status;
}
