/* agent.c - the work of a rank that does not lead. It starts programs for the leader, and passes bytes between them and
 * the leader. The rank does nothing else, so it answers while a program computes, hangs or crashes. It works in one
 * thread only.
 *
 * While kiln__ranks_work() runs, the rank serves its leader. The header ranks_internal.h lists the messages. A message
 * QUIT ends the work. If the leader sends a GROUP that names this rank first, this rank becomes a leader. If another
 * rank sends a GROUP, this rank serves that rank from then on. If the leader is silent for PATIENCE leases, this rank
 * is deserted, and the work ends with an error. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "ranks_internal.h"

/* The number of heartbeats in the time of a lease. */
#define BEATS 8
/* the number of leases for which the leader may be silent, because a user may have stopped it for a while */
#define PATIENCE 10

/* The state of kiln__ranks_work(). */
typedef struct agent {
    kiln_ranks *ranks;
    const char *program;
    const kiln__rank_info *info;
    uint64_t heard;
    bool over;
    kiln_status status;
    kiln_error **error;
} agent;

static void send_to_leader(agent *a, kiln__text *text)
{
    if (!kiln__ranks_send(a->ranks, a->ranks->lead, text))
        a->over = true;
}

static void send_hello(agent *a)
{
    kiln__text text = {.mem = a->ranks->mem};
    kiln__relay_write_hello(&text, a->info);
    send_to_leader(a, &text);
}

static void drop_channels(kiln_ranks *ranks)
{
    while (ranks->channel_count > 0)
        kiln__ranks_drop_channel(ranks, ranks->channels[0]);
}

/* Changes the leader of this rank. Either another rank says that it leads, or this rank becomes a leader. */
static void change_leader(agent *a, int from, const kiln__relayed *message)
{
    kiln_ranks *ranks = a->ranks;
    int lead = kiln__relay_group_rank(message, 0);
    if (lead == ranks->transport.rank && from == ranks->lead) {
        drop_channels(ranks);
        ranks->lead = lead;
        a->over = true;
        a->status = kiln__leader_take_over(ranks, message, a->error);
    } else if (lead == from && lead != ranks->lead) {
        drop_channels(ranks);
        ranks->lead = lead;
        send_hello(a);
    }
}

/* Starts a program. This rank sets the path and --parent. All other arguments come from the leader. */
static void start_program(agent *a, const kiln__relayed *message)
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
    send_to_leader(a, &text);
}

static void report_end(agent *a, kiln__channel *channel)
{
    kiln__text text = {.mem = a->ranks->mem};
    kiln__relay_write_ended(&text, channel->id, kiln__child_end_closed(&channel->child));
    kiln__ranks_drop_channel(a->ranks, channel);
    send_to_leader(a, &text);
}

/* Passes bytes from the leader to the program. */
static bool pass_to_program(kiln__channel *channel)
{
    size_t before = channel->put;
    if (channel->out.length == 0)
        return false;
    if (kiln__child_send_some(&channel->child, &channel->out, &channel->put) !=
        KILN__IO_LATE) /* pass_to_leader() notices the end of the program */
        channel->put = channel->out.length = 0;
    return channel->put != before;
}

/* Passes bytes from the program to the leader. Returns false if there are no bytes, or if the program has ended and the
 * channel was closed. */
static bool pass_to_leader(agent *a, kiln__channel *channel)
{
    ssize_t got = recv(channel->child.socket, a->ranks->buffer, KILN__RELAY_CHUNK, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (got <= 0) {
        report_end(a, channel);
        return false;
    }
    kiln__text text = {.mem = a->ranks->mem};
    kiln__relay_write_data(&text, channel->id, a->ranks->buffer, (size_t)got);
    send_to_leader(a, &text);
    return true;
}

static void handle_message(agent *a, int from, const char *bytes, size_t length, uint64_t now)
{
    kiln__relayed message;
    kiln__rank_info none;
    if (!kiln__relay_read(bytes, length, &message, &none))
        return;
    if (message.kind == KILN__RELAY_GROUP)
        change_leader(a, from, &message);
    if (from != a->ranks->lead || message.kind == KILN__RELAY_GROUP)
        return;
    a->heard = now;
    kiln__channel *channel = kiln__ranks_channel(a->ranks, message.channel);
    if (message.kind == KILN__RELAY_QUIT) {
        a->over = true;
    } else if (message.kind == KILN__RELAY_START && !channel) {
        start_program(a, &message);
    } else if (message.kind == KILN__RELAY_END && channel) {
        kiln__ranks_drop_channel(a->ranks, channel);
    } else if (message.kind == KILN__RELAY_DATA && channel) {
        kiln__text_add(&channel->out, message.bytes, message.length);
        if (channel->out.failed)
            report_end(a, channel);
    }
}

static bool run_step(agent *a, uint64_t now)
{
    kiln_ranks *ranks = a->ranks;
    bool any = false;
    int from;
    char *bytes;
    size_t length;
    while (!a->over && kiln__ranks_receive(ranks, &from, &bytes, &length)) {
        handle_message(a, from, bytes, length, now);
        kiln__free(ranks->mem, bytes);
        any = true;
    }
    for (size_t i = ranks->channel_count;
         /* the loop runs backwards, because the last channel takes the place of a channel that ends */
         i-- > 0 && !a->over;) {
        any = pass_to_program(ranks->channels[i]) || any;
        any = pass_to_leader(a, ranks->channels[i]) || any;
    }
    if (now - ranks->beaten >= (uint64_t)(ranks->lease * 1e9 / BEATS) && !a->over) {
        kiln__text beat = {.mem = ranks->mem};
        kiln__relay_write(&beat, KILN__RELAY_BEAT, 0);
        send_to_leader(a, &beat);
        ranks->beaten = now;
    }
    return any;
}

static void sleep_until_news(kiln_ranks *ranks, struct pollfd **fds, size_t *room, uint64_t ns)
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
    send_hello(&a);
    while (!a.over && a.status == KILN_OK) {
        uint64_t now = kiln__now_ns();
        bool worked = run_step(&a, now);
        if (now > a.heard + patience)
            a.status = kiln__fail(ranks->mem, error, KILN_ERROR_IO,
                                  "rank %d has received no message from rank %d for %g s, so it ends",
                                  ranks->transport.rank, ranks->lead, PATIENCE * ranks->lease);
        else if (!a.over)
            sleep_until_news(ranks, &fds, &room, kiln__ranks_pause(&pause, worked));
    }
    ranks->deserted = a.status != KILN_OK;
    if (ranks->lead != ranks->transport.rank) { /* if this rank has become a leader, the channels are kept */
        drop_channels(ranks);
        kiln__ranks_part(ranks);
    }
    kiln__free(ranks->mem, fds);
    return a.status;
}

void kiln__ranks_part(kiln_ranks *ranks)
{
    kiln__text text = {.mem = ranks->mem};
    kiln__relay_write(&text, KILN__RELAY_BYE, 0);
    if (!ranks->said_bye)
        kiln__ranks_send(ranks, ranks->lead, &text);
    kiln__text_free(&text);
    ranks->said_bye = true;
}
