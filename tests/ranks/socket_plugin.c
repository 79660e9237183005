/* socket_plugin.c - a transport of messages between ranks for tests, without an MPI. Each rank has a datagram socket in
 * the folder $KILN_TEST_RANKS. If a rank is killed, the other ranks go on. job.py starts the ranks. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "transport.h"

enum { PIECE = 1 << 15, MOST_RANKS = 64, LAST_PAUSE_MS = 10, LAST_TRIES = 30000 };

typedef struct letter {
    /* a piece that is not sent yet, because the receiver's queue is full or the receiver does not listen yet */
    struct letter *next;
    int to;
    // the length of the piece; its first byte is 1 in the last piece of a message, and the bytes of the message follow
    size_t length;
    char bytes[PIECE + 1];
} letter;

typedef struct message { /* the pieces that came from a rank */
    char *bytes;
    size_t length;
} message;

typedef struct net {
    int fd, rank;
    const char *folder;
    letter *first;
    message in[MOST_RANKS];
    int found;
} net;

static struct sockaddr_un address_of(const char *folder, int rank)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%.90s/%d", folder, rank);
    return address;
}

/* Delivers the messages in order for each receiver. It drops messages for a receiver that has ended. */
static void settle(net *n)
{
    unsigned long full = 0; /* the receivers whose queue is full, by the low bits of their ranks */
    for (letter **link = &n->first; *link;) {
        letter *at = *link;
        struct sockaddr_un address = address_of(n->folder, at->to);
        unsigned long bit = 1ul << (at->to % 64);
        ssize_t put = full & bit ? -1
                                 : sendto(n->fd, at->bytes, at->length, MSG_DONTWAIT | MSG_NOSIGNAL,
                                          (const struct sockaddr *)&address, sizeof address);
        if (full & bit || (put < 0 && (errno == EAGAIN || errno == ENOBUFS || errno == ENOENT))) {
            full |= bit;
            link = &at->next;
            continue;
        }
        *link = at->next;
        free(at);
    }
}

static bool send_one(void *self, int to, const void *bytes, size_t length)
{
    net *n = self;
    letter **last = &n->first;
    while (*last)
        last = &(*last)->next;
    for (size_t at = 0; at < length; at += PIECE, last = &(*last)->next) {
        letter *made = malloc(sizeof *made);
        if (!made)
            abort(); /* otherwise only a part of a message would arrive */
        const size_t left = length - at, part = left < PIECE ? left : PIECE;
        made->next = NULL;
        made->to = to;
        made->length = part + 1;
        made->bytes[0] = left <= PIECE;
        memcpy(made->bytes + 1, (const char *)bytes + at, part);
        *last = made;
    }
    settle(n);
    return true;
}

/* Waits up to `seconds` for a complete message of any rank. Pieces of messages are joined per rank. */
static bool probe_one(void *self, double seconds, int *from, size_t *length)
{
    net *n = self;
    struct pollfd ready = {.fd = n->fd, .events = POLLIN};
    settle(n);
    while (n->found < 0 && poll(&ready, 1, (int)(seconds * 1000)) > 0) {
        struct sockaddr_un sender = {0};
        socklen_t size = sizeof sender;
        char piece[PIECE + 1];
        ssize_t got = recvfrom(n->fd, piece, sizeof piece, MSG_DONTWAIT, (struct sockaddr *)&sender, &size);
        const char *name = strrchr(sender.sun_path, '/');
        int rank = name ? atoi(name + 1) : MOST_RANKS;
        if (got < 2 || rank >= MOST_RANKS)
            return false;
        message *in = &n->in[rank];
        char *more = realloc(in->bytes, in->length + (size_t)got);
        if (!more)
            abort();
        in->bytes = more;
        memcpy(more + in->length, piece + 1, (size_t)got - 1);
        in->length += (size_t)got - 1;
        if (piece[0])
            n->found = rank;
    }
    if (n->found < 0)
        return false;
    *from = n->found;
    *length = n->in[n->found].length;
    return true;
}

static bool receive_one(void *self, void *bytes)
{
    net *n = self;
    message *in = &n->in[n->found];
    memcpy(bytes, in->bytes, in->length);
    in->length = 0;
    n->found = -1;
    return true;
}

/* Sends the last messages of a rank to its leader. The leader may start later on a busy machine and not listen yet.
 * The leader itself does not wait, because a rank may be stopped. A process that has ended refuses messages. */
static void send_the_rest(net *n)
{
    settle(n);
    for (int i = 0; i < LAST_TRIES && n->first && n->rank != 0; i++) {
        poll(NULL, 0, LAST_PAUSE_MS);
        settle(n);
    }
}

static void close_all(void *self, bool together)
{
    net *n = self;
    (void)together;
    send_the_rest(n);
    for (letter *at = n->first, *next; at; at = next) {
        next = at->next;
        free(at);
    }
    for (size_t i = 0; i < MOST_RANKS; i++)
        free(n->in[i].bytes);
    close(n->fd);
    free(n);
}

bool kiln_transport_open(kiln__transport *transport, char *why, size_t room);

__attribute__((visibility("default"))) bool kiln_transport_open(kiln__transport *transport, char *why, size_t room)
{
    const char *folder = getenv("KILN_TEST_RANKS"), *rank = getenv("PMI_RANK"), *size = getenv("PMI_SIZE");
    const char *wrong = getenv("KILN_TEST_WORLD"); /* a wrong size that the plug-in reports */
    net *n = folder && rank && size ? calloc(1, sizeof *n) : NULL;
    struct sockaddr_un address = n ? address_of(folder, atoi(rank)) : (struct sockaddr_un){0};
    if (!n || (n->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) < 0 ||
        bind(n->fd, (const struct sockaddr *)&address, sizeof address) != 0) {
        snprintf(why, room, "no socket: %s", strerror(errno));
        return false;
    }
    n->folder = folder;
    n->rank = atoi(rank);
    n->found = -1;
    *transport = (kiln__transport){.version = KILN__TRANSPORT_VERSION,
                                   .rank = atoi(rank),
                                   .size = atoi(wrong ? wrong : size),
                                   .library = "a test's sockets",
                                   .self = n,
                                   .send = send_one,
                                   .probe = probe_one,
                                   .receive = receive_one,
                                   .close = close_all};
    return true;
}
