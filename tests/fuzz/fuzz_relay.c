/* Gives any bytes as messages of the ranks to the leader of a sweep. They arrive in any order, mixed with programs that
 * the leader starts and ends, and with time that passes. The leader reads no message beyond its end. A byte reaches the
 * user of a program only if the program's rank sent it for this program. The bytes are a list of steps. */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "ranks_internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define WANT(condition)                                                                                                \
    do {                                                                                                               \
        if (!(condition))                                                                                              \
            abort();                                                                                                   \
    } while (0)

enum { RANKS = 4, PROGRAMS = 6, MOST_STEPS = 400 };

typedef struct input {
    const uint8_t *at;
    size_t left;
} input;

typedef struct job {
    kiln_ranks *ranks;
    char *message; /* a message that waits for the leader, or NULL */
    size_t length;
    int from;
    uint64_t now;
    kiln__child programs[PROGRAMS];
} job;

static unsigned take(input *in)
{
    unsigned byte = in->left ? *in->at : 0;
    in->at += in->left > 0;
    in->left -= in->left > 0;
    return byte;
}

/* ---- the transport ---- */

static bool send_one(void *self, int to, const void *bytes, size_t length)
{
    kiln__relayed message;
    kiln__rank_info info;
    (void)self;
    WANT(to > 0 && to < RANKS && kiln__relay_read(bytes, length, &message, &info));
    WANT(message.kind != KILN__RELAY_HELLO && message.kind != KILN__RELAY_BYE && message.kind != KILN__RELAY_ENDED);
    return true;
}

static bool probe_one(void *self, double seconds, int *from, size_t *length)
{
    const job *j = self;
    (void)seconds;
    *from = j->from;
    *length = j->length;
    return j->message != NULL;
}

static bool receive_one(void *self, void *bytes)
{
    job *j = self;
    if (j->length > 0)
        memcpy(bytes, j->message, j->length);
    j->message = NULL;
    return true;
}

static void close_all(void *self, bool together)
{
    (void)self;
    (void)together;
}

/* ---- steps ---- */

/* Returns the channel and the rank to which a byte belongs, as one number. */
static int tag(uint64_t channel, int rank) { return (uint8_t)(channel * RANKS + (uint64_t)rank); }

/* The leader gets these bytes of a rank. If they are data for a program, they get the number of the program first. */
static void deliver(job *j, int rank, char *bytes, size_t length)
{
    kiln__relayed message;
    kiln__rank_info info;
    if (kiln__relay_read(bytes, length, &message, &info) && message.kind == KILN__RELAY_DATA && message.length > 0)
        memset(bytes + (message.bytes - bytes), tag(message.channel, rank), message.length);
    j->from = rank;
    j->length = length;
    j->message = bytes;
    kiln__leader_step(j->ranks, j->now);
    WANT(!j->message);
}

/* Sends a message that is well-formed, or one in which a byte or the end was changed. */
static void say(job *j, input *in)
{
    kiln__text text = {0};
    char bytes[256] = "";
    int rank = (int)(take(in) % RANKS);
    unsigned kind = KILN__RELAY_HELLO + take(in) % 10, channel = take(in) % (PROGRAMS * 2);
    if (kind == KILN__RELAY_HELLO) {
        kiln__rank_info info;
        memset(&info, (int)take(in), sizeof info);
        kiln__relay_write_hello(&text, &info);
    } else if (kind == KILN__RELAY_DATA) {
        kiln__relay_write_data(&text, channel, bytes, take(in));
    } else if (kind == KILN__RELAY_ENDED) {
        kiln__relay_write_ended(&text, channel, (int)take(in) - 1);
    } else if (kind == KILN__RELAY_GROUP) {
        uint64_t group[2] = {take(in), take(in)};
        kiln__relay_write_group(&text, group, 2);
    } else {
        kiln__relay_write(&text, kind, channel);
    }
    WANT(!text.failed);
    size_t length = text.length;
    if (take(in) % 4 == 3) {
        size_t place = (take(in) << 8 | take(in)) % length;
        text.data[place] = (char)take(in);
        if (take(in) % 2)
            length = place;
    }
    deliver(j, rank, text.data, length);
    kiln__text_free(&text);
}

static void say_raw(job *j, input *in)
{
    char bytes[256];
    int rank = (int)(take(in) % RANKS);
    size_t length = take(in);
    length = length < in->left ? length : in->left;
    memcpy(bytes, in->at, length);
    in->at += length;
    in->left -= length;
    deliver(j, rank, bytes, length);
}

static void start(job *j, input *in)
{
    static const char *const arguments[] = {"kiln-worker", "--parent", "7", NULL};
    kiln__child *program = &j->programs[take(in) % PROGRAMS];
    if (program->socket >= 0)
        return;
    *program = (kiln__child){
        .socket = -1, .pidfd = -1, .wake = -1, .place = kiln__ranks_place(j->ranks, 1 + (int)(take(in) % (RANKS - 1)))};
    if (kiln__child_start(program, arguments) != 0)
        WANT(program->socket < 0);
}

static void hear(const kiln__child *program)
{
    char bytes[512];
    ssize_t got;
    while (program->socket >= 0 && (got = recv(program->socket, bytes, sizeof bytes, MSG_DONTWAIT)) > 0)
        for (ssize_t i = 0; i < got; i++)
            WANT((uint8_t)bytes[i] == tag((uint64_t)program->pid, ((const kiln__member *)program->place->self)->rank));
}

static void use(job *j, input *in)
{
    kiln__child *program = &j->programs[take(in) % PROGRAMS];
    unsigned what = take(in);
    if (program->socket < 0)
        return;
    hear(program);
    if (what % 2 == 0)
        kiln__child_end_closed(program);
    else
        send(program->socket, "question", 8, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* Reads the steps from the bytes: messages of ranks, starts and ends of programs, and time that passes. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    input in = {data, size};
    job j = {.now = 1};
    kiln_error *error = NULL;
    j.ranks = calloc(1, sizeof *j.ranks);
    if (!j.ranks)
        return 0;
    *j.ranks = (kiln_ranks){.lease = 10,
                            .wake = -1,
                            .buffer = malloc(KILN__RELAY_CHUNK),
                            .transport = {.version = KILN__TRANSPORT_VERSION,
                                          .size = RANKS,
                                          .self = &j,
                                          .send = send_one,
                                          .probe = probe_one,
                                          .receive = receive_one,
                                          .close = close_all}};
    for (size_t i = 0; i < PROGRAMS; i++)
        j.programs[i].socket = -1;
    WANT(kiln__leader_open(j.ranks, false, &error) == KILN_OK);
    for (int step = 0; step < MOST_STEPS && in.left > 0; step++) {
        unsigned what = take(&in) % 8;
        if (what < 3)
            say(&j, &in);
        else if (what == 3)
            say_raw(&j, &in);
        else if (what == 4)
            start(&j, &in);
        else if (what == 5)
            use(&j, &in);
        else
            j.now += (uint64_t)take(&in) << (what == 6 ? 20 : 27);
        kiln__leader_step(j.ranks, j.now);
        for (size_t i = 0; i < PROGRAMS; i++)
            hear(&j.programs[i]);
    }
    for (size_t i = 0; i < PROGRAMS; i++)
        if (j.programs[i].socket >= 0)
            kiln__child_end(&j.programs[i]);
    WANT(j.ranks->channel_count == 0);
    kiln_ranks_close(j.ranks);
    return 0;
}
