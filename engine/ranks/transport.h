/* transport.h - the interface of a plug-in, which sends messages between the processes of one job. The plug-in is
 * libkiln-mpi.so (mpi/plugin.c), or a test has its own. A transport knows nothing about the contents of messages.
 *
 * One thread at a time calls a transport, but not always the same thread. A message from one rank to another arrives
 * complete, once and in order, or it does not arrive. */
#ifndef KILN_RANKS_TRANSPORT_H
#define KILN_RANKS_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>

#define KILN__TRANSPORT_VERSION 1u
#define KILN__TRANSPORT_SYMBOL "kiln_transport_open"

/* The functions of a plug-in, the rank of this process, and the size of the job as MPI reports them. */
typedef struct kiln__transport {
    unsigned version; /* the plug-in sets this to KILN__TRANSPORT_VERSION */
    int rank, size;
    char library[96]; /* a name such as "Open MPI 4.1.4", for messages to the user */
    void *self;
    /* Copies the bytes and does not wait for the receiver. Returns false if the bytes cannot be sent. */
    bool (*send)(void *self, int to, const void *bytes, size_t length);
    /* Looks for the next message, and waits at most `seconds` for it. Returns false if no message came. */
    bool (*probe)(void *self, double seconds, int *from, size_t *length);
    /* Receives the message that `probe` has found. */
    bool (*receive)(void *self, void *bytes);
    /* The last call of a transport, by the thread that opened it. If `together` is true, all ranks close, so the call
     * may wait for them. If `together` is false, some ranks have already ended, and the call must not wait for them. */
    void (*close)(void *self, bool together);
} kiln__transport;

/* The function that a plug-in exports. On failure, the function returns false and writes the reason to why[]. */
typedef bool (*kiln__transport_open_fn)(kiln__transport *transport, char *why, size_t room);

#endif
