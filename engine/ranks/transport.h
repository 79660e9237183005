/* transport.h - point-to-point messages between the processes of one job, as a plug-in offers them: libkiln-mpi.so
 * (mpi/plugin.c), or a test's own. It knows nothing of what the messages say.
 *
 * One thread at a time calls a transport, not always the same one. Messages between two ranks arrive whole, once and in
 * order, or not at all. */
#ifndef KILN_RANKS_TRANSPORT_H
#define KILN_RANKS_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>

#define KILN__TRANSPORT_VERSION 1u
#define KILN__TRANSPORT_SYMBOL "kiln_transport_open"

typedef struct kiln__transport {
    unsigned version; /* KILN__TRANSPORT_VERSION, set by the plug-in */
    int rank, size;
    char library[96]; /* "Open MPI 4.1.4": for messages to the user */
    void *self;
    /* Copies the bytes and does not wait for the receiver. False: it cannot be sent. */
    bool (*send)(void *self, int to, const void *bytes, size_t length);
    /* The next message's sender and length; waits for one for `seconds` at most. False: there is none. */
    bool (*probe)(void *self, double seconds, int *from, size_t *length);
    /* Takes the message that was found last. */
    bool (*receive)(void *self, void *bytes);
    /* Called last, by the thread that opened it. `together`: all ranks do, so it may wait for them; else some are gone, and
     * it must not. */
    void (*close)(void *self, bool together);
} kiln__transport;

/* What the plug-in exports. False: why[] says what is wrong. */
typedef bool (*kiln__transport_open_fn)(kiln__transport *transport, char *why, size_t room);

#endif
