/* ranks.h - the processes of one job that a launcher started (mpirun, srun), and processes on their machines.
 *
 * Rank 0 leads. The others offer their machines: the leader starts a program there and talks to it through a socket, as to
 * a process of its own (kiln__place of base/wire.h). A relay carries the bytes. So what leader and programs say to each
 * other is what they say on one machine. */
#ifndef KILN_RANKS_H
#define KILN_RANKS_H

#include "base.h"
#include "wire.h"

/* ---- how this process was started (launch.c) ---- */

typedef struct kiln__launch {
    const char *launcher;  /* "Slurm"; NULL: no launcher started it, or as the only task */
    int rank, size;        /* size 0: the launcher does not say */
    int local, local_size; /* among those of this machine; local_size 0: not known */
} kiln__launch;
void kiln__launch_find(kiln__launch *launch);

const kiln__launch *kiln__ranks_launch(const kiln_ranks *ranks);

/* ---- opening ---- */

/* `plugin`: the path of the plug-in; NULL: there is none, which is an error that says what to do. */
kiln_status kiln__ranks_start(const kiln_ranks_options *options, const kiln__launch *launch, const char *plugin,
                              kiln_ranks **ranks, kiln_error **error);

/* ---- the leader's side ---- */

typedef struct kiln__rank_info { /* what a rank says of itself */
    kiln_device_info device;
    char name[1024];          /* of the device, for a program there */
    char uuid[64], host[256]; /* host: as kiln__host_describe() */
    unsigned jobs;            /* compiles at once */
} kiln__rank_info;

/* Waits until every rank has said what it has, or is given up. Without an effect after the first time. */
void kiln__ranks_gather(kiln_ranks *ranks);
/* By number, from 1 to kiln_ranks_count() - 1. NULL: it is the leader, or has said nothing. The place stays as long as
 * `ranks`, also when the rank is gone. */
const kiln__rank_info *kiln__ranks_info(kiln_ranks *ranks, int rank);
const kiln__place *kiln__ranks_place(kiln_ranks *ranks, int rank);
/* These ranks are led by the first of them from now on, in a job of their own. */
void kiln__ranks_send_away(kiln_ranks *ranks, const uint64_t *group, size_t count);

/* ---- a rank's side (agent.c) ---- */

/* Starts `program` as the leader asks, and carries messages, until the leader says that it is over, or that this rank
 * leads from now on: kiln_ranks_rank() is 0 then. */
kiln_status kiln__ranks_work(kiln_ranks *ranks, const kiln__rank_info *info, const char *program, kiln_error **error);

#endif
