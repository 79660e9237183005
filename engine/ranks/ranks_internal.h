/* ranks_internal.h - what leader and ranks share: the relay's messages, and the state of both sides. */
#ifndef KILN_RANKS_INTERNAL_H
#define KILN_RANKS_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "ranks.h"
#include "transport.h"

/* ---- messages between leader and rank (relay.c), as those of base/wire.h ---- */

enum {
    KILN__RELAY_HELLO = 32, /* rank: what it has */
    KILN__RELAY_START,      /* leader: a program, by the number of its channel */
    KILN__RELAY_DATA,       /* either: bytes of a channel */
    KILN__RELAY_END,        /* leader: end the program; nothing more is heard of this channel */
    KILN__RELAY_ENDED,      /* rank: the program ended by itself */
    KILN__RELAY_BEAT,       /* either: I am there */
    KILN__RELAY_QUIT,       /* leader: it is over */
    KILN__RELAY_BYE,        /* rank: the answer to that */
    KILN__RELAY_GROUP, /* the sender leads no more, or leads from now on: the ranks of another leader, who is first */
    KILN__RELAY_ANSWER /* another leader, to rank 0: what its sweep says, or nothing */
};
enum { KILN__RELAY_CHUNK = 1 << 18, KILN__RELAY_ARGUMENTS = 32, KILN__RELAY_GROUP_MOST = 1 << 16 };

typedef struct kiln__relayed { /* a message, read; texts and bytes point into it */
    uint32_t kind;
    uint64_t channel;
    const char *bytes; /* of DATA and ANSWER */
    size_t length;
    int how;                                          /* of ENDED, as waitpid() gives it; -1: not known */
    const char *version;                              /* of HELLO */
    const char *arguments[KILN__RELAY_ARGUMENTS + 1]; /* of START; NULL at the end */
    const char *group;                                /* of GROUP: numbers of 64 bits, perhaps not aligned */
    size_t group_count;
} kiln__relayed;
void kiln__relay_write(kiln__text *out, uint32_t kind, uint64_t channel); /* what has no more fields */
void kiln__relay_write_hello(kiln__text *out, const kiln__rank_info *info);
void kiln__relay_write_start(kiln__text *out, uint64_t channel, const char *const *arguments);
void kiln__relay_write_data(kiln__text *out, uint64_t channel, const void *bytes, size_t length);
void kiln__relay_write_ended(kiln__text *out, uint64_t channel, int how);
void kiln__relay_write_answer(kiln__text *out, const char *answer);
void kiln__relay_write_group(kiln__text *out, const uint64_t *ranks, size_t count);
int kiln__relay_group_rank(const kiln__relayed *message, size_t index); /* -1: no rank */
/* False: malformed. `info`: that of HELLO. */
bool kiln__relay_read(const char *bytes, size_t length, kiln__relayed *message, kiln__rank_info *info);

/* ---- both sides ---- */

typedef struct kiln__channel { /* a program on a rank */
    uint64_t id;
    int rank;
    int fd;            /* the relay's end of the leader's socket; -1: closed. Unused on a rank */
    kiln__child child; /* on a rank */
    kiln__text out;    /* bytes for that socket, from `put` on */
    size_t put;
    bool ended;
    int how;
} kiln__channel;

typedef struct kiln__member { /* a rank, as the leader knows it */
    kiln_ranks *ranks;
    int rank;
    bool known, gone, bye;
    bool moved;     /* another rank leads it: nothing is said to it, and it is not listened to */
    bool leads;     /* it leads another group. Then of it: */
    bool answered;  /* its sweep has ended, or it is given up */
    char *answer;   /* NULL: none */
    uint64_t heard; /* kiln__now_ns() of its last message */
    kiln__rank_info info;
    kiln__place place;
} kiln__member;

typedef struct kiln__letter {
    int to;
    kiln__text text;
} kiln__letter;

struct kiln_ranks {
    kiln_allocator mem_copy;
    const kiln_allocator *mem;
    kiln__log log;
    kiln__launch launch;
    void *library;
    kiln__transport transport;
    double lease;
    int lead;        /* the rank that leads this one, or this one */
    uint64_t beaten; /* when a beat was sent last */
    kiln__channel **channels;
    size_t channel_count, channel_room;
    char *buffer;          /* of KILN__RELAY_CHUNK bytes */
    bool deserted, parted; /* a rank's: the leader is silent; it has said that it ends */

    /* the leader's */
    bool has_lock, has_thread, gathered, closing;
    pthread_mutex_t lock; /* for all of it, once the thread runs */
    pthread_cond_t news;  /* a rank said hello or bye, or was given up */
    pthread_t thread;
    int wake; /* an eventfd */
    kiln__member *members;
    kiln__letter *letters; /* not sent yet */
    size_t letter_count, letter_room;
    bool told;              /* of a leader that is not rank 0: what it has to say was said */
    uint64_t last_id, late; /* late: messages of channels that had ended */
};

/* Sends what was written, and frees it. */
bool kiln__ranks_send(kiln_ranks *ranks, int to, kiln__text *text);
/* The next message in `*bytes` (for kiln__free()); false: there is none now. */
bool kiln__ranks_receive(kiln_ranks *ranks, int *from, char **bytes, size_t *length);
kiln__channel *kiln__ranks_channel(const kiln_ranks *ranks, uint64_t id); /* NULL: it has ended */
kiln__channel *kiln__ranks_add_channel(kiln_ranks *ranks);                /* NULL: no memory */
void kiln__ranks_drop_channel(kiln_ranks *ranks, kiln__channel *channel);
/* How long to sleep, in ns: short after work, longer where nothing happens. */
uint64_t kiln__ranks_pause(uint64_t *pause, bool worked);

/* ---- a rank (agent.c) ---- */

/* Tells the leader, once, that this rank ends. */
void kiln__ranks_part(kiln_ranks *ranks);

/* ---- the leader (leader.c) ---- */

/* The leader's state on a transport that is open; without a thread, for tests: kiln__leader_step() is its only clock. */
kiln_status kiln__leader_open(kiln_ranks *ranks, bool thread, kiln_error **error);
/* The same of a rank that leads from now on: of all others, those of the message. */
kiln_status kiln__leader_take_over(kiln_ranks *ranks, const kiln__relayed *group, kiln_error **error);
/* Does what can be done at the time `now` without waiting. True: there was something. */
bool kiln__leader_step(kiln_ranks *ranks, uint64_t now);
void kiln__leader_close(kiln_ranks *ranks);

#endif
