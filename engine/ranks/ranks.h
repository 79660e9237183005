/* ranks.h - the processes of one job that a launcher started (mpirun, srun), and the programs on their machines.
 *
 * Rank 0 leads the job. The other ranks offer their machines. The leader starts a program there and talks to it through
 * a socket, as to a program on its own machine (kiln__place of base/wire.h). A relay carries the bytes between the
 * socket and the program. So the leader and the programs exchange the same messages as on one machine. */
#ifndef KILN_RANKS_H
#define KILN_RANKS_H

#include "base.h"
#include "wire.h"

/* ---- how a launcher started this process (launch.c) ---- */

/* The variables of the launcher that started this process. */
typedef struct kiln__launch {
    /* the name of the launcher, such as "Slurm's srun"; NULL if no launcher started this process, or if it is the only
     * task */
    const char *launcher;
    int rank, size; /* size is 0 if the launcher does not set it */
    /* the number of this task among the tasks of its machine, and the number of these tasks; local_size is 0 if they
     * are unknown */
    int local, local_size;
} kiln__launch;
void kiln__launch_find(kiln__launch *launch);

const kiln__launch *kiln__ranks_launch(const kiln_ranks *ranks);

/* ---- joining and leaving a job ---- */

/* Joins the job. `plugin` is the path of the plug-in. If `plugin` is NULL, there is no plug-in, and the message of the
 * error says how to get one. If this process is alone in the job, the function returns KILN_OK and leaves *ranks
 * unchanged. */
kiln_status kiln__ranks_start(const kiln_ranks_options *options, const kiln__launch *launch, const char *plugin,
                              kiln_ranks **ranks, kiln_error **error);

/* ---- functions for the leader ---- */

typedef struct kiln__rank_info { /* the description of a rank, which the rank itself sends */
    kiln_device_info device;
    char name[1024];          /* the name of its device, in the form for programs on that rank */
    char uuid[64], host[256]; /* `host` is the text that kiln__host_describe() writes */
    unsigned jobs;            /* the number of compiles that the rank can run at the same time */
} kiln__rank_info;

/* Waits until every rank has sent its description or has been given up. Later calls return at once. */
void kiln__ranks_gather(kiln_ranks *ranks);
/* The function kiln__ranks_info() returns the description of a rank, and kiln__ranks_place() returns the place where
 * programs run on it. `rank` is a number from 1 to kiln_ranks_count() - 1. The description is NULL for a rank that
 * leads and for a rank that has sent no description. The place lives as long as `ranks`, even if the rank has ended. */
const kiln__rank_info *kiln__ranks_info(kiln_ranks *ranks, int rank);
const kiln__place *kiln__ranks_place(kiln_ranks *ranks, int rank);
/* Dismisses some ranks. From now on, the first of them leads all of them in a job of their own. */
void kiln__ranks_send_away(kiln_ranks *ranks, const uint64_t *group, size_t count);

/* ---- functions for the other ranks (agent.c) ---- */

/* Starts `program` each time the leader asks for it, and passes bytes between the programs and the leader. The function
 * returns when the leader ends the job, or when the leader makes this rank a leader. If this rank has become a leader,
 * kiln_ranks_rank() returns 0 afterwards. */
kiln_status kiln__ranks_work(kiln_ranks *ranks, const kiln__rank_info *info, const char *program, kiln_error **error);

#endif
