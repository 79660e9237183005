/* ranks_internal.h - the messages of the relay, and the state of leader and ranks. */
#ifndef KILN_RANKS_INTERNAL_H
#define KILN_RANKS_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "ranks.h"
#include "transport.h"

/* ---- messages between leader and rank (relay.c), in the form of base/wire.h ---- */

enum {
    KILN__RELAY_HELLO = 32, /* rank: its description */
    KILN__RELAY_START,      /* leader: start a program, which gets the number of its channel */
    KILN__RELAY_DATA,       /* either side: bytes of a channel */
    KILN__RELAY_END,        /* leader: end the program; later messages of this channel are dropped */
    KILN__RELAY_ENDED,      /* rank: the program ended on its own */
    KILN__RELAY_BEAT,       /* either side: a heartbeat */
    KILN__RELAY_QUIT,       /* leader: the job is over */
    KILN__RELAY_BYE,        /* rank: the rank ends; the answer to QUIT */
    /* a new leader tells its ranks that it leads them (its own number comes first), or the old leader tells a rank
     * which ranks that rank leads from now on */
    KILN__RELAY_GROUP,
    KILN__RELAY_ANSWER /* sent by another leader to rank 0: the answer of its sweep; may be empty */
};
/* These are limits: bytes of one DATA message, arguments of a program, ranks of a group. */
enum { KILN__RELAY_CHUNK = 1 << 18, KILN__RELAY_ARGUMENTS = 32, KILN__RELAY_GROUP_MOST = 1 << 16 };

typedef struct kiln__relayed { /* a parsed message; texts and bytes point into it */
    uint32_t kind;
    uint64_t channel;
    const char *bytes; /* used by DATA and ANSWER */
    size_t length;
    int how;                                          /* for ENDED: the status of waitpid(); -1 if it is unknown */
    const char *version;                              /* used by HELLO */
    const char *arguments[KILN__RELAY_ARGUMENTS + 1]; /* for START; NULL after the last */
    const char *group;                                /* for GROUP: numbers of 64 bits, perhaps unaligned */
    size_t group_count;
} kiln__relayed;
void kiln__relay_write(kiln__text *out, uint32_t kind, uint64_t channel); /* writes a message without further fields */
void kiln__relay_write_hello(kiln__text *out, const kiln__rank_info *info);
void kiln__relay_write_start(kiln__text *out, uint64_t channel, const char *const *arguments);
void kiln__relay_write_data(kiln__text *out, uint64_t channel, const void *bytes, size_t length);
void kiln__relay_write_ended(kiln__text *out, uint64_t channel, int how);
void kiln__relay_write_answer(kiln__text *out, const char *answer);
void kiln__relay_write_group(kiln__text *out, const uint64_t *ranks, size_t count);
int kiln__relay_group_rank(const kiln__relayed *message, size_t index); /* -1 means no rank */
/* Parses an untrusted message. Returns false if the message is malformed. A HELLO message fills `info`. */
bool kiln__relay_read(const char *bytes, size_t length, kiln__relayed *message, kiln__rank_info *info);

/* ---- both sides ---- */

/* The connection to a program on a rank. The leader and the rank each have a channel for the program. */
typedef struct kiln__channel {
    uint64_t id;
    int rank;
    int fd;            /* the relay's end of the leader's socket; -1 if it is closed. A rank does not use `fd` */
    kiln__child child; /* the program; only a rank uses it */
    kiln__text out;    /* bytes that wait for the socket, from `put` on */
    size_t put;
    bool ended;
    int how;
} kiln__channel;

typedef struct kiln__member { /* the leader's view of a rank */
    kiln_ranks *ranks;
    int rank;
    bool known, gone, bye;
    bool moved;     /* another rank leads this rank, which gets no messages and whose messages are ignored */
    bool leads;     /* this rank leads another group; the next two fields only have a meaning for such a rank: */
    bool answered;  /* the rank's sweep has ended, or the rank was given up */
    char *answer;   /* NULL if the rank gave no answer */
    uint64_t heard; /* time of the rank's last message, on the clock of kiln__now_ns() */
    kiln__rank_info info;
    kiln__place place;
} kiln__member;

typedef struct kiln__letter { /* a message that waits until the thread sends it */
    int to;
    kiln__text text;
} kiln__letter;

/* One process of a job, as leader or as rank. */
struct kiln_ranks {
    kiln_allocator mem_copy;
    const kiln_allocator *mem;
    kiln__log log;
    kiln__launch launch;
    void *library;
    kiln__transport transport;
    double lease;    /* seconds */
    int lead;        /* number of the rank that leads this rank; if this rank leads, its own number */
    uint64_t beaten; /* time of the last heartbeat */
    kiln__channel **channels;
    size_t channel_count, channel_room;
    char *buffer;  /* KILN__RELAY_CHUNK bytes */
    bool deserted; /* on a rank: the leader is silent */
    bool said_bye; /* on a rank: BYE was sent */

    /* on a leader: */
    bool has_thread, closing;
    pthread_mutex_t lock; /* guards everything once the thread runs */
    pthread_cond_t news;  /* a rank sent HELLO or BYE, or was given up */
    pthread_t thread;
    int wake; /* an eventfd */
    kiln__member *members;
    kiln__letter *letters; /* letters that were not sent yet */
    size_t letter_count, letter_room;
    bool told; /* on a leader other than rank 0: the leader has sent its answer */
    /* last_id: number of the newest channel. late: how many messages came after their channel had ended, or after their
     * rank had been given up */
    uint64_t last_id, late;
};

/* Sends a message and frees it. Returns false if memory ran out or the plug-in cannot send it. */
bool kiln__ranks_send(kiln_ranks *ranks, int to, kiln__text *text);
/* Takes the next message. The caller frees *bytes by kiln__free(). Returns false if no message has arrived. */
bool kiln__ranks_receive(kiln_ranks *ranks, int *from, char **bytes, size_t *length);
kiln__channel *kiln__ranks_channel(const kiln_ranks *ranks, uint64_t id); /* NULL means that the channel has ended */
kiln__channel *kiln__ranks_add_channel(kiln_ranks *ranks);                /* NULL means that memory has run out */
void kiln__ranks_drop_channel(kiln_ranks *ranks, kiln__channel *channel);
/* Returns how long to sleep in ns: short after work, then exponential back-off up to 1 ms. */
uint64_t kiln__ranks_pause(uint64_t *pause, bool worked);

/* ---- a rank (agent.c) ---- */

/* Sends BYE to the leader, once. */
void kiln__ranks_part(kiln_ranks *ranks);

/* ---- the leader (leader.c) ---- */

/* Creates the leader's state on an open transport. Without a thread, for tests, kiln__leader_step() is its only clock.
 */
kiln_status kiln__leader_open(kiln_ranks *ranks, bool thread, kiln_error **error);
/* Creates the leader's state, with a thread, on a rank that becomes a leader. It then leads the ranks that `group`
 * names. */
kiln_status kiln__leader_take_over(kiln_ranks *ranks, const kiln__relayed *group, kiln_error **error);
/* Does everything that is possible at the time `now` without waiting. Returns true if there was something to do. */
bool kiln__leader_step(kiln_ranks *ranks, uint64_t now);
void kiln__leader_close(kiln_ranks *ranks);

#endif
