/* agent.c - what a rank does that does not lead: it starts programs for the leader and carries their messages. It does
 * nothing else, so that it answers while a program computes, hangs or crashes. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "ranks_internal.h"

#define BEATS 8
#define PATIENCE 10 /* leases that the leader may be silent: someone may have stopped it for a while */

typedef struct agent {
    kiln_ranks *ranks;
    const char *program;
    const kiln__rank_info *info;
    uint64_t heard;
    bool over;
    kiln_status status;
    kiln_error **error;
} agent;

static void tell(agent *a, kiln__text *text)
{
    if (!kiln__ranks_send(a->ranks, a->ranks->lead, text))
        a->over = true;
}

static void greet(agent *a)
{
    kiln__text text = {.mem = a->ranks->mem};
    kiln__relay_write_hello(&text, a->info);
    tell(a, &text);
}

static void drop_all(kiln_ranks *ranks)
{
    while (ranks->channel_count > 0)
        kiln__ranks_drop_channel(ranks, ranks->channels[0]);
}

/* Another leader than before: one that says so itself, or this rank. */
static void regroup(agent *a, int from, const kiln__relayed *message)
{
    kiln_ranks *ranks = a->ranks;
    int lead = kiln__relay_group_rank(message, 0);
    if (lead == ranks->transport.rank && from == ranks->lead) {
        drop_all(ranks);
        ranks->lead = lead;
        a->over = true;
        a->status = kiln__leader_take_over(ranks, message, a->error);
    } else if (lead == from && lead != ranks->lead) {
        drop_all(ranks);
        ranks->lead = lead;
        greet(a);
    }
}

/* The program is ours, and its parent this process; the rest is as the leader says. */
static void start(agent *a, const kiln__relayed *message)
{
    const char *arguments[KILN__RELAY_ARGUMENTS + 1] = {a->program};
    char self[32];
    snprintf(self, sizeof self, "%ld", (long)getpid());
    for (size_t i = 1; message->arguments[i]; i++)
        arguments[i] = strcmp(message->arguments[i - 1], "--parent") == 0 ? self : message->arguments[i];
    kiln__channel *channel = kiln__ranks_add_channel(a->ranks);
    int failed = channel ? kiln__child_start(&channel->child, arguments) : ENOMEM;
    if (!failed) {
        channel->id = message->channel;
        return;
    }
    kiln__logf(&a->ranks->log, KILN_LOG_WARNING, "rank %d cannot start %s: %s", a->ranks->transport.rank, a->program,
               kiln__error_text(failed));
    if (channel)
        kiln__ranks_drop_channel(a->ranks, channel);
    kiln__text text = {.mem = a->ranks->mem};
    kiln__relay_write_ended(&text, message->channel, -1);
    tell(a, &text);
}

static void ended(agent *a, kiln__channel *channel)
{
    kiln__text text = {.mem = a->ranks->mem};
    kiln__relay_write_ended(&text, channel->id, kiln__child_end_closed(&channel->child));
    kiln__ranks_drop_channel(a->ranks, channel);
    tell(a, &text);
}

/* To the program. */
static bool pass_in(kiln__channel *channel)
{
    size_t before = channel->put;
    if (channel->out.length == 0)
        return false;
    if (kiln__child_send_some(&channel->child, &channel->out, &channel->put) !=
        KILN__IO_LATE) /* its end is seen below */
        channel->put = channel->out.length = 0;
    return channel->put != before;
}

/* From the program. False: nothing, or it has ended and the channel is gone. */
static bool pass_out(agent *a, kiln__channel *channel)
{
    ssize_t got = recv(channel->child.socket, a->ranks->buffer, KILN__RELAY_CHUNK, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (got <= 0) {
        ended(a, channel);
        return false;
    }
    kiln__text text = {.mem = a->ranks->mem};
    kiln__relay_write_data(&text, channel->id, a->ranks->buffer, (size_t)got);
    tell(a, &text);
    return true;
}

static void hear(agent *a, int from, const char *bytes, size_t length, uint64_t now)
{
    kiln__relayed message;
    kiln__rank_info none;
    if (!kiln__relay_read(bytes, length, &message, &none))
        return;
    if (message.kind == KILN__RELAY_GROUP)
        regroup(a, from, &message);
    if (from != a->ranks->lead || message.kind == KILN__RELAY_GROUP)
        return;
    a->heard = now;
    kiln__channel *channel = kiln__ranks_channel(a->ranks, message.channel);
    if (message.kind == KILN__RELAY_QUIT) {
        a->over = true;
    } else if (message.kind == KILN__RELAY_START && !channel) {
        start(a, &message);
    } else if (message.kind == KILN__RELAY_END && channel) {
        kiln__ranks_drop_channel(a->ranks, channel);
    } else if (message.kind == KILN__RELAY_DATA && channel) {
        kiln__text_add(&channel->out, message.bytes, message.length);
        if (channel->out.failed)
            ended(a, channel);
    }
}

static bool step(agent *a, uint64_t now)
{
    kiln_ranks *ranks = a->ranks;
    bool any = false;
    int from;
    char *bytes;
    size_t length;
    while (!a->over && kiln__ranks_receive(ranks, &from, &bytes, &length)) {
        hear(a, from, bytes, length, now);
        kiln__free(ranks->mem, bytes);
        any = true;
    }
    for (size_t i = ranks->channel_count;
         i-- > 0 && !a->over;) { /* backwards: one that ends gives its place to the last */
        any = pass_in(ranks->channels[i]) || any;
        any = pass_out(a, ranks->channels[i]) || any;
    }
    if (now - ranks->beaten >= (uint64_t)(ranks->lease * 1e9 / BEATS) && !a->over) {
        kiln__text beat = {.mem = ranks->mem};
        kiln__relay_write(&beat, KILN__RELAY_BEAT, 0);
        tell(a, &beat);
        ranks->beaten = now;
    }
    return any;
}

static void rest(kiln_ranks *ranks, struct pollfd **fds, size_t *room, uint64_t ns)
{
    size_t count = 0;
    if (kiln__grow(ranks->mem, fds, room, ranks->channel_count + 1, sizeof **fds))
        for (size_t i = 0; i < ranks->channel_count; i++)
            (*fds)[count++] = (struct pollfd){.fd = ranks->channels[i]->child.socket, .events = POLLIN};
    struct timespec time = {.tv_nsec = (long)ns};
    ppoll(*fds, count, &time, NULL);
}

kiln_status kiln__ranks_work(kiln_ranks *ranks, const kiln__rank_info *info, const char *program, kiln_error **error)
{
    agent a = {.ranks = ranks, .program = program, .info = info, .heard = kiln__now_ns(), .error = error};
    struct pollfd *fds = NULL;
    size_t room = 0;
    uint64_t pause = 0, patience = (uint64_t)(PATIENCE * ranks->lease * 1e9);
    greet(&a);
    while (!a.over && a.status == KILN_OK) {
        uint64_t now = kiln__now_ns();
        bool worked = step(&a, now);
        if (now > a.heard + patience)
            a.status = kiln__fail(ranks->mem, error, KILN_ERROR_IO,
                                  "rank %d has heard nothing of rank %d for %g s, and ends", ranks->transport.rank,
                                  ranks->lead, PATIENCE * ranks->lease);
        else if (!a.over)
            rest(ranks, &fds, &room, kiln__ranks_pause(&pause, worked));
    }
    ranks->deserted = a.status != KILN_OK;
    if (ranks->lead != ranks->transport.rank) { /* else the channels are a leader's by now */
        drop_all(ranks);
        kiln__ranks_part(ranks);
    }
    kiln__free(ranks->mem, fds);
    return a.status;
}

void kiln__ranks_part(kiln_ranks *ranks)
{
    kiln__text text = {.mem = ranks->mem};
    kiln__relay_write(&text, KILN__RELAY_BYE, 0);
    if (!ranks->parted)
        kiln__ranks_send(ranks, ranks->lead, &text);
    kiln__text_free(&text);
    ranks->parted = true;
}
