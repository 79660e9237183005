/* ranks.h - the processes of one job that a launcher started (mpirun, srun), and programs on their machines.
 *
 * Rank 0 leads. The other ranks offer their machines: the leader starts a program there and talks to it through a
 * socket, as to a program on its own machine (kiln__place of base/wire.h). A relay carries the bytes. So leader and
 * programs exchange the same messages as on one machine. */
#ifndef KILN_RANKS_H
#define KILN_RANKS_H

#include "base.h"
#include "wire.h"

/* ---- how this process was started (launch.c) ---- */

/* How this process was started. */
typedef struct kiln__launch {
    const char *launcher;  /* such as "Slurm's srun"; NULL if no launcher started this process, or if it is the only
                            * task */
    int rank, size;        /* size is 0 if the launcher does not set it */
    int local, local_size; /* number of this task among the tasks of its machine, and their count; local_size is 0 if
                            * they are unknown */
} kiln__launch;
void kiln__launch_find(kiln__launch *launch);

const kiln__launch *kiln__ranks_launch(const kiln_ranks *ranks);

/* ---- opening ---- */

/* Joins the job. `plugin` is the path of the plug-in. NULL means that no plug-in exists; the message of the error says
 * how to get one. If this process is alone in the job, returns KILN_OK and leaves *ranks unchanged. */
kiln_status kiln__ranks_start(const kiln_ranks_options *options, const kiln__launch *launch, const char *plugin,
                              kiln_ranks **ranks, kiln_error **error);

/* ---- the leader's side ---- */

typedef struct kiln__rank_info { /* a rank's description of itself */
    kiln_device_info device;
    char name[1024];          /* name of the device in the form for programs on that rank */
    char uuid[64], host[256]; /* `host` is the text of kiln__host_describe() */
    unsigned jobs;            /* number of compiles at a time */
} kiln__rank_info;

/* Waits until every rank has sent its description or is given up. Later calls return at once. */
void kiln__ranks_gather(kiln_ranks *ranks);
/* kiln__ranks_info() returns the description of a rank, kiln__ranks_place() the place for programs on it. `rank` is a
 * number from 1 to kiln_ranks_count() - 1. The description is NULL for a leader and for a rank that has sent no
 * description. The place lives as long as `ranks`, also when the rank has ended. */
const kiln__rank_info *kiln__ranks_info(kiln_ranks *ranks, int rank);
const kiln__place *kiln__ranks_place(kiln_ranks *ranks, int rank);
/* Dismisses these ranks: from now on the first of them leads them in a job of their own. */
void kiln__ranks_send_away(kiln_ranks *ranks, const uint64_t *group, size_t count);

/* ---- a rank's side (agent.c) ---- */

/* Starts `program` when the leader asks for it, and carries messages. The function returns when the leader ends the
 * job, or when the leader makes this rank a leader. If this rank is now a leader, kiln_ranks_rank() is 0 afterwards. */
kiln_status kiln__ranks_work(kiln_ranks *ranks, const kiln__rank_info *info, const char *program, kiln_error **error);

#endif
