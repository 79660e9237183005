/* ranks.c - joins a job: loads the plug-in, and compares the launcher with the plug-in. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ranks_internal.h"

/* The default lease, in seconds. */
enum { DEFAULT_LEASE = 30 };

/* ---- loading the plug-in ---- */

static kiln_status load_plugin(kiln_ranks *ranks, const char *plugin, kiln_error **error)
{
    char why[512] = "";
    kiln__transport_open_fn open = NULL;
    /* Loads its symbols globally, because Open MPI's own plug-ins look for its symbols among all loaded libraries. */
    ranks->library = dlopen(plugin, RTLD_NOW | RTLD_GLOBAL);
    if (ranks->library)
        *(void **)&open = dlsym(ranks->library, KILN__TRANSPORT_SYMBOL);
    if (!open) {
        const char *what = dlerror();
        return kiln__fail(ranks->mem, error, KILN_ERROR_NOT_FOUND, "cannot load %s: %s", plugin,
                          what ? what : "it is not a plug-in of Kiln");
    }
    if (!open(&ranks->transport, why, sizeof why)) {
        ranks->transport = (kiln__transport){0};
        return kiln__fail(ranks->mem, error, KILN_ERROR_UNSUPPORTED, "%s: %s", plugin, why);
    }
    if (ranks->transport.version != KILN__TRANSPORT_VERSION)
        return kiln__fail(ranks->mem, error, KILN_ERROR_UNSUPPORTED, "%s belongs to another version of Kiln", plugin);
    return KILN_OK;
}

/* Refuses a launcher that belongs to another MPI. With such a launcher each process would be alone in a world of size
 * one, and would do all the work. */
static kiln_status check_size(const kiln_ranks *ranks, kiln_error **error)
{
    const kiln__launch *launch = &ranks->launch;
    const kiln__transport *t = &ranks->transport;
    if (!launch->launcher || launch->size == t->size || (launch->size == 0 && t->size > 1))
        return KILN_OK;
    char tasks[32] = "several tasks";
    if (launch->size)
        snprintf(tasks, sizeof tasks, "%d tasks", launch->size);
    return kiln__fail(
        ranks->mem, error, KILN_ERROR_UNSUPPORTED,
        "%s started %s, but %s sees %d: the launcher belongs to another MPI. Start the job with the mpirun of %s; "
        "under Slurm choose another `srun --mpi=TYPE` (pmi2 for MPICH, pmix for Open MPI; `srun --mpi=list` lists the "
        "types); or build libkiln-mpi.so with the launcher's MPI",
        launch->launcher, tasks, t->library, t->size, t->library);
}

static kiln_status join_job(kiln_ranks *ranks, const char *plugin, kiln_error **error)
{
    if (!plugin && ranks->launch.size)
        return kiln__fail(
            ranks->mem, error, KILN_ERROR_NOT_FOUND,
            "%s started %d tasks, but libkiln-mpi.so, through which they share the work, was not found: build Kiln on "
            "a machine with MPI (mpicc), or set KILN_MPI to the path of libkiln-mpi.so",
            ranks->launch.launcher, ranks->launch.size);
    if (!plugin)
        return kiln__fail(
            ranks->mem, error, KILN_ERROR_NOT_FOUND,
            "libkiln-mpi.so was not found: build Kiln on a machine with MPI (mpicc), or set KILN_MPI to the path of "
            "libkiln-mpi.so");
    kiln_status status = load_plugin(ranks, plugin, error);
    if (status == KILN_OK)
        status = check_size(ranks, error);
    if (status != KILN_OK)
        return status;
    ranks->buffer = kiln__alloc(ranks->mem, KILN__RELAY_CHUNK);
    if (!ranks->buffer)
        return kiln__fail_memory(error);
    return ranks->transport.rank == 0 && ranks->transport.size > 1 ? kiln__leader_open(ranks, true, error) : KILN_OK;
}

kiln_status kiln__ranks_start(const kiln_ranks_options *options, const kiln__launch *launch, const char *plugin,
                              kiln_ranks **ranks, kiln_error **error)
{
    kiln_ranks *made = kiln__calloc(options->allocator, 1, sizeof *made);
    if (!made)
        return kiln__fail_memory(error);
    if (options->allocator) {
        made->mem_copy = *options->allocator;
        made->mem = &made->mem_copy;
    }
    made->log = (kiln__log){options->log, options->log_user};
    made->lease = options->lease > 0 ? options->lease : DEFAULT_LEASE;
    made->launch = *launch;
    made->wake = -1;
    kiln_status status = join_job(made, plugin, error);
    if (status == KILN_OK && made->transport.size > 1) {
        *ranks = made;
        return KILN_OK;
    }
    kiln_ranks_close(made);
    return status;
}

int kiln_ranks_rank(const kiln_ranks *ranks)
{
    return ranks && ranks->lead != ranks->transport.rank ? ranks->transport.rank : 0;
}

int kiln_ranks_count(const kiln_ranks *ranks) { return ranks ? ranks->transport.size : 0; }

int kiln_ranks_local(const kiln_ranks *ranks) { return ranks ? ranks->launch.local : 0; }

const kiln__launch *kiln__ranks_launch(const kiln_ranks *ranks) { return &ranks->launch; }

/* Ends the job in this order: the leader's thread, the channels, BYE, the transport, the memory. */
void kiln_ranks_close(kiln_ranks *ranks)
{
    if (!ranks)
        return;
    bool together = !ranks->deserted;
    if (ranks->members) {
        kiln__leader_close(ranks);
        for (int i = 1; i < ranks->transport.size; i++)
            together = together && ranks->members[i].bye;
    }
    while (ranks->channel_count > 0)
        kiln__ranks_drop_channel(ranks, ranks->channels[0]);
    if (ranks->transport.self && ranks->transport.rank != ranks->lead)
        /* sends BYE even if the work could not begin, so that no process waits for this rank */
        kiln__ranks_part(ranks);
    if (ranks->transport.self)
        ranks->transport.close(ranks->transport.self, together);
    /* The plug-in stays loaded, because an MPI has threads and handlers that outlive MPI_Finalize(). */
    if (ranks->wake >= 0)
        close(ranks->wake);
    for (int i = 0; ranks->members && i < ranks->transport.size; i++)
        kiln__free(ranks->mem, ranks->members[i].answer);
    kiln__free(ranks->mem, ranks->members);
    kiln__free(ranks->mem, ranks->channels);
    kiln__free(ranks->mem, ranks->letters);
    kiln__free(ranks->mem, ranks->buffer);
    kiln_allocator mem = ranks->mem_copy; /* a copy of the allocator, because `ranks` contains the allocator */
    kiln__free(ranks->mem ? &mem : NULL, ranks);
}
