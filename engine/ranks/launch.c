/* launch.c - which launcher started this process, and as one of how many. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "ranks.h"

/* Which variables a launcher sets. The first that has a rank counts: mpirun of a Slurm job leaves Slurm's own in place,
 * and they are then of the one task that mpirun runs as. */
static const struct {
    const char *launcher, *rank, *size, *local, *local_size;
} launchers[] = {
    {"Open MPI's mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
     "OMPI_COMM_WORLD_LOCAL_SIZE"},
    {"MPICH's mpiexec", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"},
    {"Slurm's srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", "SLURM_NTASKS_PER_NODE"},
    {"a PMIx launcher", "PMIX_RANK", "PMIX_SIZE", "PMIX_LOCAL_RANK", "PMIX_LOCAL_SIZE"},
};

/* -1: not set, or no number. */
static int number(const char *name)
{
    const char *text = getenv(name);
    char *end;
    long value = text && *text >= '0' && *text <= '9' ? strtol(text, &end, 10) : -1;
    return value >= 0 && value < INT_MAX && !*end ? (int)value : -1;
}

/* The first of these variables that is set; -1: none. srun --mpi=pmi2 sets PMI_RANK, and nothing of the machine but its own. */
static int any_number(size_t field)
{
    int found = -1;
    for (size_t i = 0; i < KILN__COUNT(launchers) && found < 0; i++)
        found = number(field ? launchers[i].local_size : launchers[i].local);
    return found;
}

void kiln__launch_find(kiln__launch *launch)
{
    *launch = (kiln__launch){0};
    for (size_t i = 0; i < KILN__COUNT(launchers); i++) {
        int rank = number(launchers[i].rank), size = number(launchers[i].size);
        bool batch = strcmp(launchers[i].rank, "SLURM_PROCID") == 0 && size < 0; /* its script is task 0 of no step */
        if (rank < 0 || batch)
            continue;
        int local = any_number(0), local_size = any_number(1);
        *launch = (kiln__launch){.launcher = size == 1 ? NULL : launchers[i].launcher,
                                 .rank = rank,
                                 .size = size > 0 ? size : 0,
                                 .local = local > 0 ? local : 0,
                                 .local_size = local_size > 0 ? local_size : 0};
        return;
    }
}
