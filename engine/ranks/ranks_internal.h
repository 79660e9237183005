/* ranks_internal.h - the messages of the relay, and the state of the leader and of the other ranks. */
#ifndef KILN_RANKS_INTERNAL_H
#define KILN_RANKS_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "ranks.h"
#include "transport.h"

/* ---- messages between leader and rank (relay.c), in the form of base/wire.h ---- */

enum {
    KILN__RELAY_HELLO = 32, /* from a rank: its description */
    KILN__RELAY_START,      /* from the leader: start a program, which gets the number of its channel */
    KILN__RELAY_DATA,       /* from either side: bytes for a channel */
    KILN__RELAY_END,        /* from the leader: end the program; later messages of its channel are dropped */
    KILN__RELAY_ENDED,      /* from a rank: the program ended on its own */
    KILN__RELAY_BEAT,       /* from either side: a heartbeat */
    KILN__RELAY_QUIT,       /* from the leader: the job is over */
    KILN__RELAY_BYE,        /* from a rank: the rank ends; this is the answer to QUIT */
    /* from a new leader: it leads the ranks that get the message, and its own number comes first. From the old leader:
     * the rank that gets the message now leads the ranks in it */
    KILN__RELAY_GROUP,
    KILN__RELAY_ANSWER /* from another leader to rank 0: the answer of its sweep, which may be empty */
};
/* The limits of a message: the bytes of one DATA message, the arguments of a program, and the ranks of a group. */
enum { KILN__RELAY_CHUNK = 1 << 18, KILN__RELAY_ARGUMENTS = 32, KILN__RELAY_GROUP_MOST = 1 << 16 };

typedef struct kiln__relayed { /* a message that was parsed; its texts and bytes point into the message */
    uint32_t kind;
    uint64_t channel;
    const char *bytes; /* for DATA and ANSWER */
    size_t length;
    int how;                                          /* for ENDED: the status from waitpid(); -1 if it is unknown */
    const char *version;                              /* for HELLO */
    const char *arguments[KILN__RELAY_ARGUMENTS + 1]; /* for START; the last argument is followed by NULL */
    const char *group;                                /* for GROUP: numbers of 64 bits that may be unaligned */
    size_t group_count;
} kiln__relayed;
/* writes a message that has no further fields */
void kiln__relay_write(kiln__text *out, uint32_t kind, uint64_t channel);
void kiln__relay_write_hello(kiln__text *out, const kiln__rank_info *info);
void kiln__relay_write_start(kiln__text *out, uint64_t channel, const char *const *arguments);
void kiln__relay_write_data(kiln__text *out, uint64_t channel, const void *bytes, size_t length);
void kiln__relay_write_ended(kiln__text *out, uint64_t channel, int how);
void kiln__relay_write_answer(kiln__text *out, const char *answer);
void kiln__relay_write_group(kiln__text *out, const uint64_t *ranks, size_t count);
/* returns -1 if the message has no rank at this index */
int kiln__relay_group_rank(const kiln__relayed *message, size_t index);
/* Parses a message, which is untrusted. Returns false if the message is malformed. For a HELLO message, also fills in
 * `info`. */
bool kiln__relay_read(const char *bytes, size_t length, kiln__relayed *message, kiln__rank_info *info);

/* ---- used by the leader and by the other ranks ---- */

/* The connection to a program on a rank. The leader and the rank each have a channel for the program. */
typedef struct kiln__channel {
    uint64_t id;
    int rank;
    int fd;            /* the relay's end of the leader's socket; -1 if this end is closed. A rank does not use `fd` */
    kiln__child child; /* the process of the program; only a rank uses it */
    kiln__text out;    /* the bytes that wait for the socket, from the offset `put` on */
    size_t put;
    bool ended;
    int how;
} kiln__channel;

typedef struct kiln__member { /* the state of a rank, as the leader knows it */
    kiln_ranks *ranks;
    int rank;
    bool known, gone, bye;
    bool moved;     /* another rank leads this rank, so it gets no messages and its messages are ignored */
    bool leads;     /* this rank leads another group; the next two members have a meaning only for such a rank */
    bool answered;  /* the sweep of this rank has ended, or the rank was given up */
    char *answer;   /* the answer of this rank's sweep; NULL if the rank gave no answer */
    uint64_t heard; /* the time of the last message from this rank, on the clock of kiln__now_ns() */
    kiln__rank_info info;
    kiln__place place;
} kiln__member;

typedef struct kiln__letter { /* a message that waits until the thread of the leader sends it */
    int to;
    kiln__text text;
} kiln__letter;

/* One process of a job, which is the leader or another rank. */
struct kiln_ranks {
    kiln_allocator mem_copy;
    const kiln_allocator *mem;
    kiln__log log;
    kiln__launch launch;
    void *library;
    kiln__transport transport;
    double lease;    /* seconds */
    int lead;        /* the number of the rank that leads this rank; if this rank itself leads, its own number */
    uint64_t beaten; /* the time of the last heartbeat that was sent */
    kiln__channel **channels;
    size_t channel_count, channel_room;
    char *buffer;  /* memory of KILN__RELAY_CHUNK bytes */
    bool deserted; /* on a rank that does not lead: the leader has been silent for too long */
    bool said_bye; /* on a rank: this rank has sent BYE */

    /* on a leader: */
    bool has_thread, closing;
    pthread_mutex_t lock; /* guards all members of the struct once the thread runs */
    pthread_cond_t news;  /* signals that a rank has sent HELLO or BYE, or was given up */
    pthread_t thread;
    int wake; /* an eventfd that wakes the thread */
    kiln__member *members;
    kiln__letter *letters; /* the letters that have not been sent yet */
    size_t letter_count, letter_room;
    bool told; /* on a leader other than rank 0: this leader has sent its answer */
    /* last_id: the number of the newest channel; late: the number of messages that came after the end of their channel,
     * or after their rank was given up */
    uint64_t last_id, late;
};

/* Sends a message and frees it. Returns false if memory ran out or if the plug-in cannot send the message. */
bool kiln__ranks_send(kiln_ranks *ranks, int to, kiln__text *text);
/* Takes the next message that has arrived. The caller frees *bytes by kiln__free(). Returns false if no message has
 * arrived. */
bool kiln__ranks_receive(kiln_ranks *ranks, int *from, char **bytes, size_t *length);
kiln__channel *kiln__ranks_channel(const kiln_ranks *ranks, uint64_t id); /* returns NULL if the channel has ended */
kiln__channel *kiln__ranks_add_channel(kiln_ranks *ranks);                /* returns NULL if memory has run out */
void kiln__ranks_drop_channel(kiln_ranks *ranks, kiln__channel *channel);
/* Returns how many nanoseconds to sleep. The pause is short after work, and then grows by exponential back-off up to 1
 * ms. */
uint64_t kiln__ranks_pause(uint64_t *pause, bool worked);

/* ---- functions of a rank that does not lead (agent.c) ---- */

/* Sends BYE to the leader, but only once. */
void kiln__ranks_part(kiln_ranks *ranks);

/* ---- functions of the leader (leader.c) ---- */

/* Creates the state of the leader on an open transport. If `thread` is false, as in tests, only kiln__leader_step()
 * makes progress.
 */
kiln_status kiln__leader_open(kiln_ranks *ranks, bool thread, kiln_error **error);
/* Creates the state of the leader, with a thread, on a rank that becomes a leader. The new leader leads the ranks that
 * `group` names. */
kiln_status kiln__leader_take_over(kiln_ranks *ranks, const kiln__relayed *group, kiln_error **error);
/* Does all the work that is possible at the time `now` without waiting. Returns true if there was work to do. */
bool kiln__leader_step(kiln_ranks *ranks, uint64_t now);
void kiln__leader_close(kiln_ranks *ranks);

#endif
