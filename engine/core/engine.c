/* engine.c - opens and closes an engine, and keeps its host functions. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core_internal.h"

enum { DEFAULT_TIMEOUT = 120 };

const char *kiln_version(void) { return KILN_VERSION; }

static const char *read_environment(const char *name)
{
    const char *text = getenv(name);
    return text && *text ? text : NULL;
}

/* Finds the device name, the folders and the worker program from the options and the environment. Registers the
 * built-in host functions. The arena holds all texts. Returns false if memory runs out. */
static bool set_up(kiln_engine *engine, const kiln_options *options)
{
    kiln__arena *arena = &engine->arena;
    const char *device = options->device ? options->device : options->context ? NULL : read_environment("KILN_DEVICE");
    engine->device_name = engine->device_given = device ? kiln__arena_strdup(arena, device) : NULL;
    if (!(engine->flags & KILN_NO_CACHE)) {
        engine->cache_dir = kiln__cache_folder_find(arena, options->cache_dir);
        if (!engine->cache_dir && !arena->failed)
            kiln__logf(&engine->log, KILN_LOG_WARNING,
                       "the cache is off: there is no home folder for it; set "
                       "KILN_CACHE_DIR");
        if (engine->cache_dir)
            engine->references_dir = kiln__arena_printf(arena, "%s/" KILN__REFERENCES_FOLDER, engine->cache_dir);
    }
    if (!(engine->flags & KILN_NO_WORKERS))
        engine->worker = kiln__worker_find(arena, options->worker);
    if (!kiln__search_path_make(engine, options->search_path))
        return false;
    engine->size_set = options->size_set ? kiln__arena_strdup(arena, options->size_set) : NULL;
    engine->host_capacity = kiln__builtin_host_count + 64; /* room for the host functions of the catalogue */
    engine->hosts = kiln__arena_alloc(arena, engine->host_capacity * sizeof *engine->hosts);
    if (!engine->hosts)
        return false;
    memcpy(engine->hosts, kiln__builtin_hosts, kiln__builtin_host_count * sizeof *engine->hosts);
    engine->host_count = kiln__builtin_host_count;
    return !arena->failed;
}

/* Checks and copies the options. The function opens the device only for a context of the caller, whose device must be
 * known at once. kiln_engine_close() needs both mutexes, so if creating them fails, the function frees the engine
 * itself. */
kiln_status kiln_engine_open(const kiln_options *given, kiln_engine **engine, kiln_error **error)
{
    kiln_options options;
    kiln_status status = KILN_OK;
    KILN__NEEDS(NULL, error, engine);
    KILN__TAKE(NULL, error, "options", given, &options);
    if (options.allocator)
        KILN__NEEDS(NULL, error, options.allocator->resize);
    KILN__NEEDS_NUMBER(options.allocator, error, options.compile_timeout);
    KILN__NEEDS_FLAGS(options.allocator, error, options.flags,
                      KILN_NO_CACHE | KILN_READ_ANYWHERE | KILN_NO_WORKERS | KILN_ALLOW_COMMANDS | KILN_SANDBOX |
                          KILN_SANDBOX_REQUIRED);
    kiln_engine *made = kiln__calloc(options.allocator, 1, sizeof *made);
    if (!made)
        return kiln__fail_memory(error);
    if (options.allocator) {
        made->mem_copy = *options.allocator;
        made->mem = &made->mem_copy;
    }
    made->arena.mem = made->mem;
    made->log = (kiln__log){options.log, options.log_user};
    made->flags = options.flags;
    made->jobs = options.jobs ? options.jobs : options.ranks ? kiln__job_cores(options.ranks) : kiln__cpu_count();
    made->stop = options.stop;
    made->limit = options.limit;
    made->limit_user = options.limit_user;
    made->ranks = options.ranks && kiln_ranks_rank(options.ranks) == 0 ? options.ranks : NULL;
    made->compile_timeout = options.compile_timeout > 0 ? options.compile_timeout : DEFAULT_TIMEOUT;
    made->memory_limit = options.memory_limit;
    made->references_most = KILN__REFERENCES_MOST;
    made->exclusive = -1;
    if (pthread_mutex_init(&made->lock, NULL) != 0) {
        kiln__free(options.allocator, made);
        return kiln__fail_memory(error);
    }
    if (pthread_mutex_init(&made->measuring, NULL) != 0) {
        pthread_mutex_destroy(&made->lock);
        kiln__free(options.allocator, made);
        return kiln__fail_memory(error);
    }
    if (!set_up(made, &options))
        status = kiln__fail_memory(error);
    else if (made->device_name)
        status = kiln__device_name_check(made, error);
    if (status == KILN_OK && options.context) {
        made->context = options.context;
        status = kiln__engine_device(made, error);
    }
    if (status == KILN_OK)
        status = kiln__capture_environment(made, error);
    if (status != KILN_OK) {
        kiln_engine_close(made);
        return status;
    }
    *engine = made;
    return KILN_OK;
}

void kiln_engine_close(kiln_engine *engine)
{
    if (!engine)
        return;
    if (engine->finish_left)
        engine->finish_left(engine);
    if (engine->compiler)
        kiln__compiler_close(engine->compiler);
    if (engine->nvrtc)
        kiln__nvrtc_close(engine->nvrtc);
    if (engine->cache)
        kiln__cache_close(engine->cache);
    if (engine->references)
        kiln__cache_close(engine->references);
    if (engine->device_open) {
        bool stuck = atomic_load(&engine->stuck);
        if (engine->owns_context && engine->context && !stuck)
            engine->driver.cuDevicePrimaryCtxRelease_(engine->device);
        kiln__nvml_close(engine->nvml);
        if (!stuck) /* after a kernel that does not end, the driver's library stays loaded until the process ends */
            kiln__driver_close(&engine->driver);
    }
    if (engine->exclusive >= 0)
        close(engine->exclusive);
    pthread_mutex_destroy(&engine->measuring);
    pthread_mutex_destroy(&engine->lock);
    kiln__free(engine->mem, engine->capture_what);
    kiln__free(engine->mem, engine->capture_folder);
    kiln__arena_free(&engine->arena);
    kiln_allocator mem = engine->mem_copy; /* a copy, because the engine contains the allocator that frees the engine */
    kiln__free(engine->mem ? &mem : NULL, engine);
}

/* ---- host functions ---- */

kiln_status kiln_register_host(kiln_engine *engine, const char *name, unsigned uses, kiln_host_fn function, void *user,
                               kiln_error **error)
{
    KILN__NEEDS(NULL, error, engine);
    KILN__NEEDS(engine->mem, error, name);
    KILN__NEEDS(engine->mem, error, function);
    if (!kiln__name_valid(name))
        return kiln__fail(engine->mem, error, KILN_ERROR_ARGUMENT,
                          "kiln_register_host: '%s' is not a valid name: it needs a "
                          "letter or '_', then letters, digits and '_', and must not be a reserved word of expressions",
                          name);
    const unsigned all = KILN_HOST_REFERENCE | KILN_HOST_INPUT | KILN_HOST_STEP;
    if ((uses & all) == 0 || (uses & ~(all | KILN_HOST_SHIPPED)))
        return kiln__fail(engine->mem, error, KILN_ERROR_ARGUMENT,
                          "kiln_register_host: the uses of '%s' are 0x%x; give KILN_HOST_REFERENCE, KILN_HOST_INPUT or "
                          "KILN_HOST_STEP, and KILN_HOST_SHIPPED only beside one of them",
                          name, uses);
    kiln_status status = KILN_OK;
    pthread_mutex_lock(&engine->lock);
    for (size_t i = 0; i < engine->host_count && status == KILN_OK; i++)
        if (strcmp(engine->hosts[i].name, name) == 0)
            status = kiln__fail(engine->mem, error, KILN_ERROR_ARGUMENT,
                                "kiln_register_host: a host function '%s' is registered already", name);
    if (status == KILN_OK && engine->host_count == engine->host_capacity) {
        /* The old array stays in the arena, because other threads may be reading its entries. */
        kiln__host *grown = kiln__arena_alloc(&engine->arena, engine->host_capacity * 2 * sizeof *grown);
        if (grown) {
            memcpy(grown, engine->hosts, engine->host_count * sizeof *grown);
            engine->hosts = grown;
            engine->host_capacity *= 2;
        } else {
            status = kiln__fail_memory(error);
        }
    }
    const char *copy = status == KILN_OK ? kiln__arena_strdup(&engine->arena, name) : NULL;
    if (status == KILN_OK && !copy)
        status = kiln__fail_memory(error);
    if (status == KILN_OK)
        engine->hosts[engine->host_count++] = (kiln__host){copy, uses, function, user, NULL};
    pthread_mutex_unlock(&engine->lock);
    return status;
}

kiln_status kiln_describe_host(kiln_engine *engine, const char *name, const char *takes, kiln_error **error)
{
    KILN__NEEDS(NULL, error, engine);
    KILN__NEEDS(engine->mem, error, name);
    KILN__NEEDS(engine->mem, error, takes);
    bool found = false;
    pthread_mutex_lock(&engine->lock);
    const char *copy = kiln__arena_strdup(&engine->arena, takes);
    for (size_t i = 0; copy && i < engine->host_count; i++)
        if (strcmp(engine->hosts[i].name, name) == 0) {
            engine->hosts[i].takes = copy;
            found = true;
        }
    pthread_mutex_unlock(&engine->lock);
    if (!copy)
        return kiln__fail_memory(error);
    return found ? KILN_OK
                 : kiln__fail(engine->mem, error, KILN_ERROR_NOT_FOUND,
                              "kiln_describe_host: no host function '%s' is registered", name);
}

const kiln__host *kiln__engine_host(kiln_engine *engine, const char *name, unsigned use)
{
    const kiln__host *found = NULL;
    pthread_mutex_lock(&engine->lock);
    for (size_t i = 0; i < engine->host_count && !found; i++)
        if (strcmp(engine->hosts[i].name, name) == 0 && (engine->hosts[i].uses & use))
            found = &engine->hosts[i];
    pthread_mutex_unlock(&engine->lock);
    return found;
}

static bool host_known(void *user, const char *name, unsigned uses)
{
    return kiln__engine_host(user, name, uses) != NULL;
}

static size_t host_names(void *user, const char **names, size_t room)
{
    kiln_engine *engine = user;
    pthread_mutex_lock(&engine->lock);
    size_t count = engine->host_count < room ? engine->host_count : room;
    for (size_t i = 0; i < count; i++)
        names[i] = engine->hosts[i].name;
    pthread_mutex_unlock(&engine->lock);
    return count;
}

static const char *host_takes(void *user, const char *name)
{
    const kiln__host *host = kiln__engine_host(user, name, KILN_HOST_REFERENCE);
    return host ? host->takes : NULL;
}

const char *kiln__engine_own_host(kiln_engine *engine)
{
    const char *found = NULL;
    pthread_mutex_lock(&engine->lock);
    for (size_t i = 0; i < engine->host_count && !found; i++)
        if (!(engine->hosts[i].uses & KILN_HOST_SHIPPED))
            found = engine->hosts[i].name;
    pthread_mutex_unlock(&engine->lock);
    return found;
}

bool kiln__engine_host_is_shipped(kiln_engine *engine, const char *name)
{
    const kiln__host *host = kiln__engine_host(engine, name, ~KILN_HOST_SHIPPED);
    return host && (host->uses & KILN_HOST_SHIPPED);
}

kiln__host_lookup kiln__engine_hosts(kiln_engine *engine)
{
    return (kiln__host_lookup){.known = host_known, .names = host_names, .takes = host_takes, .user = engine};
}
