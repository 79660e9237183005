/* launch.c - finds out which launcher started this process, the number of its task, and the number of all tasks. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "chars.h"
#include "ranks.h"

/* The environment variables that each launcher sets. The first launcher whose rank is set counts. In a Slurm job mpirun
 * leaves Slurm's variables in place, and these describe the one task that mpirun is. */
static const struct {
    const char *launcher, *rank, *size, *local, *local_size;
} launchers[] = {
    {"Open MPI's mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
     "OMPI_COMM_WORLD_LOCAL_SIZE"},
    {"MPICH's mpiexec", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"},
    {"Slurm's srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", "SLURM_NTASKS_PER_NODE"},
    {"a PMIx launcher", "PMIX_RANK", "PMIX_SIZE", "PMIX_LOCAL_RANK", "PMIX_LOCAL_SIZE"},
};

/* Reads a number from an environment variable. Returns -1 if the variable is not set or is not a number. */
static int read_number(const char *name)
{
    const char *text = getenv(name);
    char *end;
    long value = text && kiln__is_digit(*text) ? strtol(text, &end, 10) : -1;
    return value >= 0 && value < INT_MAX && !*end ? (int)value : -1;
}

/* Returns the first number that a variable of any launcher gives. If `field` is 0, this is the number of this task on
 * its machine. If `field` is 1, it is the number of tasks on this machine. Returns -1 if no such variable is set. The
 * function tries the variables of all launchers. `srun --mpi=pmi2` sets PMI_RANK, but for the tasks of a machine it
 * sets only Slurm's own variables. */
static int read_any_number(size_t field)
{
    int found = -1;
    for (size_t i = 0; i < KILN__COUNT(launchers) && found < 0; i++)
        found = read_number(field ? launchers[i].local_size : launchers[i].local);
    return found;
}

void kiln__launch_find(kiln__launch *launch)
{
    *launch = (kiln__launch){0};
    for (size_t i = 0; i < KILN__COUNT(launchers); i++) {
        int rank = read_number(launchers[i].rank), size = read_number(launchers[i].size);
        /* in the script of a batch job Slurm sets the rank 0 but no size, because the script is not a job step */
        bool batch = strcmp(launchers[i].rank, "SLURM_PROCID") == 0 && size < 0;
        if (rank < 0 || batch)
            continue;
        int local = read_any_number(0), local_size = read_any_number(1);
        *launch = (kiln__launch){.launcher = size == 1 ? NULL : launchers[i].launcher,
                                 .rank = rank,
                                 .size = size > 0 ? size : 0,
                                 .local = local > 0 ? local : 0,
                                 .local_size = local_size > 0 ? local_size : 0};
        return;
    }
}
