/* plugin.c - libkiln-mpi.so, which sends messages between the processes of a job by MPI. Kiln opens this plug-in at run
 * time, so neither the library nor the command needs an MPI. The plug-in works only with the MPI with which it was
 * built. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "transport.h"

#define TAG 1
#define SHORTEST 20e-6 /* seconds between two probes, because MPI has no function that sleeps until a message arrives */
#define LONGEST 1e-3

typedef struct parcel { /* the bytes of a message that MPI has not completely sent yet */
    struct parcel *next;
    MPI_Request request;
    char bytes[];
} parcel;

typedef struct messages {
    MPI_Comm all;
    parcel *sending;
    MPI_Message found;
    int length;
} messages;

static void sleep_for(double seconds)
{
    struct timespec time = {.tv_nsec = (long)(seconds * 1e9)};
    nanosleep(&time, NULL);
}

/* Frees the parcels that MPI has sent. This call also lets MPI make progress. */
static void free_sent(messages *m)
{
    for (parcel **link = &m->sending; *link;) {
        int sent = 0;
        parcel *at = *link;
        if (MPI_Test(&at->request, &sent, MPI_STATUS_IGNORE) == MPI_SUCCESS && !sent) {
            link = &at->next;
            continue;
        }
        *link = at->next;
        free(at);
    }
}

static bool send_one(void *self, int to, const void *bytes, size_t length)
{
    messages *m = self;
    parcel *made = length < INT32_MAX ? malloc(sizeof *made + length) : NULL;
    if (!made)
        return false;
    memcpy(made->bytes, bytes, length);
    if (MPI_Isend(made->bytes, (int)length, MPI_BYTE, to, TAG, m->all, &made->request) != MPI_SUCCESS) {
        free(made);
        return false;
    }
    parcel **last = &m->sending; /* puts the new message last, because MPI usually completes the oldest message first */
    while (*last)
        last = &(*last)->next;
    made->next = NULL;
    *last = made;
    free_sent(m);
    return true;
}

static bool probe_one(void *self, double seconds, int *from, size_t *length)
{
    messages *m = self;
    double until = seconds > 0 ? MPI_Wtime() + seconds : 0, pause = SHORTEST;
    for (;;) {
        int found = 0;
        MPI_Status status;
        free_sent(m);
        if (MPI_Improbe(MPI_ANY_SOURCE, TAG, m->all, &found, &m->found, &status) != MPI_SUCCESS)
            return false;
        if (found) {
            MPI_Get_count(&status, MPI_BYTE, &m->length);
            *from = status.MPI_SOURCE;
            *length = (size_t)m->length;
            return true;
        }
        if (seconds <= 0 || MPI_Wtime() >= until)
            return false;
        sleep_for(pause);
        pause = pause * 2 < LONGEST ? pause * 2 : LONGEST;
    }
}

static bool receive_one(void *self, void *bytes)
{
    messages *m = self;
    return MPI_Mrecv(bytes, m->length, MPI_BYTE, &m->found, MPI_STATUS_IGNORE) == MPI_SUCCESS;
}

static void close_all(void *self, bool together)
{
    messages *m = self;
    for (double until = MPI_Wtime() + 2; m->sending && MPI_Wtime() < until; sleep_for(SHORTEST))
        free_sent(m);
    if (together) {
        MPI_Comm_free(&m->all);
        MPI_Finalize();
        /* if some ranks have ended, MPI_Finalize() is not called, because it would wait for them. The launcher sees
         * that this process ends, and then ends the other processes */
    }
    if (!m->sending)
        free(m);
}

bool kiln_transport_open(kiln__transport *transport, char *why, size_t room);

/* Initialises MPI and fills in the transport. Refuses a process that already uses MPI, and an MPI that cannot be used
 * from a second thread. */
__attribute__((visibility("default"))) bool kiln_transport_open(kiln__transport *transport, char *why, size_t room)
{
    int before = 0, level = 0, length = 0;
    char library[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    MPI_Initialized(&before);
    if (before) {
        snprintf(why, room, "this process uses MPI already");
        return false;
    }
#ifdef OPEN_MPI /* Open MPI would end the process in this case */
    const char *tasks = getenv("SLURM_STEP_NUM_TASKS");
    if (tasks && atoi(tasks) > 1 && !getenv("PMIX_RANK") && !getenv("OMPI_COMM_WORLD_RANK")) {
        snprintf(
            why, room,
            "under Slurm, Open MPI needs `srun --mpi=pmix`; `srun --mpi=list` shows the available types; without pmix "
            "use mpirun");
        return false;
    }
#endif
    messages *m = calloc(1, sizeof *m);
    if (!m || MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &level) != MPI_SUCCESS) {
        snprintf(why, room, m ? "MPI_Init_thread fails" : "out of memory");
        free(m);
        return false;
    }
    if (level < MPI_THREAD_SERIALIZED || MPI_Comm_dup(MPI_COMM_WORLD, &m->all) != MPI_SUCCESS) {
        snprintf(why, room, "this MPI cannot be used from a second thread (MPI_THREAD_SERIALIZED)");
        MPI_Finalize();
        free(m);
        return false;
    }
    MPI_Comm_set_errhandler(m->all, MPI_ERRORS_RETURN);
    *transport = (kiln__transport){.version = KILN__TRANSPORT_VERSION,
                                   .self = m,
                                   .send = send_one,
                                   .probe = probe_one,
                                   .receive = receive_one,
                                   .close = close_all};
    MPI_Comm_rank(m->all, &transport->rank);
    MPI_Comm_size(m->all, &transport->size);
    /* the text is such as "Open MPI v4.1.4, package: ..." */
    if (MPI_Get_library_version(library, &length) == MPI_SUCCESS)
        snprintf(transport->library, sizeof transport->library, "%.*s", (int)strcspn(library, ",\n"), library);
    for (char *tab; (tab = strchr(transport->library, '\t'));) /* the text is such as "MPICH Version:\t4.0.2" */
        *tab = ' ';
    return true;
}
