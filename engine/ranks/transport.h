/* transport.h - point-to-point messages between the processes of one job, as a plug-in provides them: libkiln-mpi.so
 * (mpi/plugin.c), or a test's own. It knows nothing about the contents of messages.
 *
 * One thread at a time calls a transport, not always the same thread. Messages between two ranks arrive complete,
 * once and in order, or not at all. */
#ifndef KILN_RANKS_TRANSPORT_H
#define KILN_RANKS_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>

#define KILN__TRANSPORT_VERSION 1u
#define KILN__TRANSPORT_SYMBOL "kiln_transport_open"

/* The functions of a plug-in, and this process's rank and the size of the job as MPI reports them. */
typedef struct kiln__transport {
    unsigned version; /* KILN__TRANSPORT_VERSION, set by the plug-in */
    int rank, size;
    char library[96]; /* such as "Open MPI 4.1.4", for messages to the user */
    void *self;
    /* Copies the bytes and does not wait for the receiver. Returns false if they cannot be sent. */
    bool (*send)(void *self, int to, const void *bytes, size_t length);
    /* Finds the next message, and waits at most `seconds` for it. Returns false if no message came. */
    bool (*probe)(void *self, double seconds, int *from, size_t *length);
    /* Receives the message that `probe` found. */
    bool (*receive)(void *self, void *bytes);
    /* Called last, by the thread that opened the transport. `together`: all ranks close, so the call may wait for
     * them. Otherwise some ranks have already ended, and the call must not wait for them. */
    void (*close)(void *self, bool together);
} kiln__transport;

/* The function that a plug-in exports. On failure it returns false and writes the reason to why[]. */
typedef bool (*kiln__transport_open_fn)(kiln__transport *transport, char *why, size_t room);

#endif
