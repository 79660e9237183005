/* job.c - opens an engine as one process of a job: finds the MPI plug-in, and describes a rank's device and workers to
 * the leader. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core_internal.h"

/* Returns the path of the plug-in: $KILN_MPI, or the place where the plug-in was built or installed. Returns NULL if no
 * plug-in exists. */
static const char *find_plugin(kiln__arena *arena, const char *option)
{
    const char *given = option ? option : getenv("KILN_MPI");
    if (given && *given)
        return kiln__arena_strdup(arena, given);
    const char *executable = kiln__executable_folder(arena), *library = kiln__library_folder(arena);
    const struct {
        const char *base, *below;
    } places[] = {
        /* the place of the plug-in in the build tree, and in an installation */
        {executable, "../lib/kiln/libkiln-mpi.so"},
        {library, "kiln/libkiln-mpi.so"},
        {library, "../lib/kiln/libkiln-mpi.so"},
        {KILN_LIBDIR, "kiln/libkiln-mpi.so"},
    };
    for (size_t i = 0; i < KILN__COUNT(places); i++) {
        const char *path = places[i].base ? kiln__arena_printf(arena, "%s/%s", places[i].base, places[i].below) : NULL;
        if (path && kiln__file_exists(path))
            return path;
    }
    return NULL;
}

kiln_status kiln_ranks_open(const kiln_ranks_options *given, kiln_ranks **ranks, kiln_error **error)
{
    kiln_ranks_options options;
    kiln__launch launch;
    KILN__NEEDS(NULL, error, ranks);
    KILN__TAKE(NULL, error, "options", given, &options);
    KILN__NEEDS_NUMBER(NULL, error, options.lease);
    kiln__launch_find(&launch);
    if (!launch.launcher && !options.required)
        return KILN_OK;
    kiln__arena arena = {.mem = options.allocator};
    const char *plugin = find_plugin(&arena, options.plugin);
    kiln_status status = arena.failed ? kiln__fail_memory(error)
                                      : kiln__ranks_start(&options, &launch, plugin, ranks, error);
    kiln__arena_free(&arena);
    return status;
}

unsigned kiln__job_cores(const kiln_ranks *ranks)
{
    unsigned cores = kiln__cpu_count(), tasks = (unsigned)kiln__ranks_launch(ranks)->local_size;
    if (tasks < 2 || (long)cores != sysconf(_SC_NPROCESSORS_ONLN))
        return cores;
    return cores / tasks ? cores / tasks : 1;
}

kiln_status kiln_ranks_serve(kiln_ranks *ranks, kiln_engine *engine, kiln_error **error)
{
    KILN__NEEDS(NULL, error, ranks);
    KILN__NEEDS(NULL, error, engine);
    if (kiln_ranks_rank(ranks) == 0)
        return kiln__fail(engine->mem, error, KILN_ERROR_ARGUMENT,
                          "kiln_ranks_serve: rank 0 leads, and does not serve");
    if (!engine->worker)
        return kiln__fail(engine->mem, error, KILN_ERROR_NOT_FOUND,
                          "a rank needs the program kiln-worker, which was not found; set KILN_WORKER to its path");
    KILN__TRY(kiln__engine_device(engine, error));
    kiln__rank_info info;
    /* the process sends all bytes of the structure, also the bytes between its members */
    memset(&info, 0, sizeof info);
    info.device = engine->info;
    info.jobs = engine->jobs;
    snprintf(info.name, sizeof info.name, "%s", engine->device_given ? engine->device_given : engine->info.id);
    kiln__text host = {.mem = engine->mem};
    kiln__host_describe(&host);
    snprintf(info.host, sizeof info.host, "%s", kiln__text_get(&host));
    kiln__text_free(&host);
    char uuid[KILN__UUID_TEXT] = "";
    if (kiln__driver_uuid(&engine->driver, engine->device, uuid))
        snprintf(info.uuid, sizeof info.uuid, "%s", uuid);
    return kiln__ranks_work(ranks, &info, engine->worker, error);
}
