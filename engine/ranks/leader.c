/* leader.c - the leader's side of the relay. Programs on other ranks look like child processes with a socket, and every
 * rank holds a lease.
 *
 * The kiln__member of a rank is in one of these states:
 * - unknown: The rank has not sent HELLO yet. HELLO -> known. Silence for GATHER_LEASES leases -> gone.
 * - known: Programs run on the rank. Silence for a lease, an invalid message, or BYE before the end -> gone.
 * - gone: The leader has given up the rank permanently. The rank's channels have ended for their users. The leader
 *   drops a later message of the rank and answers with QUIT.
 * - moved: Another rank leads this rank. The leader ignores its messages.
 * - leads: The rank is in the state `moved`, and is itself a leader. Only rank 0 listens to it, for heartbeats and for
 *   its ANSWER -> answered. Silence for a lease -> answered, without an answer.
 * - bye: The rank has ended. At the end, the thread waits until each rank is in the state `bye` or `gone`.
 *
 * A channel goes through these states: open -> ended (ENDED, or its rank is gone) -> dropped by end_program(). The
 * number of a channel is never used again. So a message that arrives after the end of its channel is never taken for
 * the message of another program.
 *
 * Only the thread of carry_messages() uses the transport. All other threads post letters under the lock, and wake this
 * thread. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "ranks_internal.h"

#define BEATS 8 /* the number of heartbeats in the time of a lease */
/* The number of leases within which the first message of a rank must arrive. A rank opens a device before it sends its
 * first message. */
#define GATHER_LEASES 4
#define GOODBYE_SECONDS 5 /* the longest wait for BYE at the end in seconds; the wait is at most a lease */

/* ---- sending messages: only the thread of the leader calls the transport ---- */

static void wake_thread(const kiln_ranks *ranks)
{
    uint64_t one = 1;
    if (ranks->wake >= 0 && write(ranks->wake, &one, sizeof one) != sizeof one)
        return; /* if the eventfd is full, it is readable, so the thread wakes */
}

/* Queues a letter for the thread of the leader, and wakes the thread. The caller holds the lock of `ranks`. */
static bool post_letter(kiln_ranks *ranks, int to, kiln__text *text)
{
    if (text->failed || !kiln__grow(ranks->mem, &ranks->letters, &ranks->letter_room, ranks->letter_count + 1,
                                    sizeof *ranks->letters)) {
        kiln__text_free(text);
        return false;
    }
    ranks->letters[ranks->letter_count++] = (kiln__letter){to, *text};
    wake_thread(ranks);
    return true;
}

static bool send_letters(kiln_ranks *ranks)
{
    size_t count = ranks->letter_count;
    for (size_t i = 0; i < count; i++)
        kiln__ranks_send(ranks, ranks->letters[i].to, &ranks->letters[i].text);
    ranks->letter_count = 0;
    return count > 0;
}

/* ---- channels to programs ---- */

/* Closes a channel. The user of the channel sees the end of the socket. */
static void close_channel(kiln__channel *channel)
{
    if (channel->fd >= 0)
        close(channel->fd);
    channel->fd = -1;
    channel->ended = true;
}

/* Passes bytes from the program to the user of its channel. */
static bool pass_to_user(kiln__channel *channel)
{
    bool any = false;
    while (channel->fd >= 0 && channel->put < channel->out.length) {
        ssize_t put = send(channel->fd, channel->out.data + channel->put, channel->out.length - channel->put,
                           MSG_NOSIGNAL | MSG_DONTWAIT);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            break; /* the socket is full, or the user has closed it and will call end_program() */
        channel->put += (size_t)put;
        any = true;
    }
    if (channel->put == channel->out.length) {
        channel->put = channel->out.length = 0;
        if (channel->ended)
            close_channel(channel);
    }
    return any;
}

/* Passes bytes from the user of a channel to the program. */
static bool pass_to_program(kiln_ranks *ranks, kiln__channel *channel)
{
    if (channel->fd < 0 || channel->ended)
        return false;
    ssize_t got = recv(channel->fd, ranks->buffer, KILN__RELAY_CHUNK, MSG_DONTWAIT);
    if (got <= 0)
        return false;
    kiln__text text = {.mem = ranks->mem};
    kiln__relay_write_data(&text, channel->id, ranks->buffer, (size_t)got);
    if (!kiln__ranks_send(ranks, channel->rank, &text))
        close_channel(channel); /* ends the channel, because a gap in the bytes would be worse than the end */
    return true;
}

/* Ends the lease of a rank permanently. Closes the rank's channels, and wakes waiting threads. */
static void give_up(kiln_ranks *ranks, kiln__member *member, const char *why)
{
    member->gone = true;
    for (size_t i = 0; i < ranks->channel_count; i++)
        if (ranks->channels[i]->rank == member->rank)
            close_channel(ranks->channels[i]);
    if (!ranks->closing)
        kiln__logf(&ranks->log, KILN_LOG_WARNING,
                   "%s %s: the sweep continues without this process, and other "
                   "processes do its work",
                   member->place.name, why);
    pthread_cond_broadcast(&ranks->news);
}

/* ---- messages from ranks ---- */

static void accept_hello(kiln_ranks *ranks, kiln__member *member, const kiln__relayed *message,
                         const kiln__rank_info *info)
{
    if (member->known)
        return;
    if (strcmp(message->version, KILN_VERSION) != 0) {
        give_up(ranks, member, "belongs to another version of Kiln");
        return;
    }
    member->info = *info;
    member->known = true;
    snprintf(member->place.name, sizeof member->place.name, "rank %d (%.*s, %s)", member->rank,
             (int)strcspn(info->host, ","), info->host, info->device.id);
    pthread_cond_broadcast(&ranks->news);
}

/* Handles a message of a rank that leads another group. The message is a heartbeat or the answer of the rank. */
static void handle_leader_message(kiln_ranks *ranks, kiln__member *member, const char *bytes, size_t length,
                                  uint64_t now)
{
    kiln__relayed message;
    kiln__rank_info info;
    if (!kiln__relay_read(bytes, length, &message, &info))
        return;
    member->heard = now;
    if (message.kind != KILN__RELAY_ANSWER || member->answered)
        return;
    member->answer = message.length ? kiln__calloc(ranks->mem, message.length + 1, 1) : NULL;
    if (member->answer)
        memcpy(member->answer, message.bytes, message.length);
    member->answered = true;
    pthread_cond_broadcast(&ranks->news);
}

/* Handles one message of a rank. The comment at the head of this file has the states of a rank that the function
 * changes. */
static void handle_message(kiln_ranks *ranks, int from, const char *bytes, size_t length, uint64_t now)
{
    kiln__relayed message;
    kiln__rank_info info;
    kiln__member *member = from > 0 && from < ranks->transport.size ? &ranks->members[from] : NULL;
    if (!member)
        return;
    if (member->leads)
        handle_leader_message(ranks, member, bytes, length, now);
    if (member->moved)
        return;
    bool good = kiln__relay_read(bytes, length, &message, &info);
    if (member->gone && !(good && message.kind == KILN__RELAY_BYE)) {
        /* The leader gave the rank up before its message came. The message QUIT tells the rank to end. */
        kiln__text quit = {.mem = ranks->mem};
        kiln__relay_write(&quit, KILN__RELAY_QUIT, 0);
        post_letter(ranks, from, &quit);
        ranks->late++;
        return;
    }
    if (!good) {
        give_up(ranks, member, "sent an invalid message");
        return;
    }
    member->heard = now;
    if (message.kind == KILN__RELAY_HELLO)
        accept_hello(ranks, member, &message, &info);
    if (message.kind == KILN__RELAY_BYE) {
        member->bye = true;
        if (!ranks->closing && !member->gone)
            give_up(ranks, member, "has ended");
        pthread_cond_broadcast(&ranks->news);
    }
    if (message.kind != KILN__RELAY_DATA && message.kind != KILN__RELAY_ENDED)
        return;
    kiln__channel *channel = kiln__ranks_channel(ranks, message.channel);
    if (!channel || channel->rank != from || channel->ended) {
        ranks->late++;
        return;
    }
    if (message.kind == KILN__RELAY_ENDED) {
        channel->how = message.how;
        channel->ended = true;
    } else {
        kiln__text_add(&channel->out, message.bytes, message.length);
        if (channel->out.failed) {
            close_channel(channel);
            return;
        }
    }
    pass_to_user(channel);
}

/* ---- leases and heartbeats ---- */

/* Ends the leases that have run out, and sends heartbeats. */
static void check_leases(kiln_ranks *ranks, uint64_t now)
{
    uint64_t lease = (uint64_t)(ranks->lease * 1e9);
    for (int i = 1; i < ranks->transport.size; i++) {
        kiln__member *member = &ranks->members[i];
        if (!member->heard)
            member->heard = now;
        uint64_t silent = now - member->heard, most = member->known ? lease : GATHER_LEASES * lease;
        char why[64];
        kiln__format(why, sizeof why, "has sent no message for %.3g s", (double)most * 1e-9);
        if (!member->gone && silent > most)
            give_up(ranks, member, why);
        if (member->leads && !member->answered && silent > most) {
            kiln__logf(&ranks->log, KILN_LOG_WARNING, "%s %s: the results of its sweep are not shown",
                       member->place.name, why);
            member->answered = true;
            pthread_cond_broadcast(&ranks->news);
        }
    }
    if (now - ranks->beaten < lease / BEATS)
        return;
    ranks->beaten = now;
    for (int i = 0; i < ranks->transport.size; i++) {
        kiln__text beat = {.mem = ranks->mem};
        kiln__relay_write(&beat, KILN__RELAY_BEAT, 0);
        if (i == 0 ? ranks->transport.rank > 0 && !ranks->told
                   /* a leader other than rank 0 sends heartbeats to rank 0 until it has sent its answer */
                   : !ranks->members[i].gone)
            kiln__ranks_send(ranks, i, &beat);
        kiln__text_free(&beat);
    }
}

bool kiln__leader_step(kiln_ranks *ranks, uint64_t now)
{
    pthread_mutex_lock(&ranks->lock);
    bool any = false;
    int from;
    char *bytes;
    size_t length;
    while (kiln__ranks_receive(ranks, &from, &bytes, &length)) {
        handle_message(ranks, from, bytes, length, now);
        kiln__free(ranks->mem, bytes);
        any = true;
    }
    any = send_letters(ranks) || any; /* the message START must leave before the bytes for the program that it starts */
    for (size_t i = 0; i < ranks->channel_count; i++) {
        any = pass_to_user(ranks->channels[i]) || any;
        any = pass_to_program(ranks, ranks->channels[i]) || any;
    }
    check_leases(ranks, now);
    pthread_mutex_unlock(&ranks->lock);
    return any;
}

/* ---- the thread of the leader ---- */

/* Sleeps until a socket is readable, somebody wakes the thread, or `ns` nanoseconds have passed. The transport has no
 * descriptor for which the thread could wait. Only the thread changes the list of the channels that it polls. */
static void sleep_until_news(kiln_ranks *ranks, struct pollfd **fds, size_t *room, uint64_t ns)
{
    pthread_mutex_lock(&ranks->lock);
    size_t count = 1, need = ranks->channel_count + 1;
    struct pollfd alone = {.fd = ranks->wake, .events = POLLIN}, *list = &alone;
    if (kiln__grow(ranks->mem, fds, room, need, sizeof **fds)) {
        list = *fds;
        list[0] = alone;
        for (size_t i = 0; i < ranks->channel_count; i++)
            if (ranks->channels[i]->fd >= 0 && !ranks->channels[i]->ended)
                list[count++] = (struct pollfd){.fd = ranks->channels[i]->fd, .events = POLLIN};
    }
    pthread_mutex_unlock(&ranks->lock);
    struct timespec time = {.tv_nsec = (long)ns};
    uint64_t rung;
    ppoll(list, count, &time, NULL);
    if (read(ranks->wake, &rung, sizeof rung) != sizeof rung)
        rung = 0;
}

static bool is_over(kiln_ranks *ranks)
{
    pthread_mutex_lock(&ranks->lock);
    bool over = ranks->closing && ranks->letter_count == 0;
    for (int i = 1; over && i < ranks->transport.size; i++)
        over = ranks->members[i].bye || ranks->members[i].gone;
    pthread_mutex_unlock(&ranks->lock);
    return over;
}

static void *carry_messages(void *user)
{
    kiln_ranks *ranks = user;
    struct pollfd *fds = NULL;
    size_t room = 0;
    uint64_t pause = 0, until = 0;
    for (;;) {
        uint64_t now = kiln__now_ns();
        bool worked = kiln__leader_step(ranks, now);
        if (is_over(ranks))
            break;
        pthread_mutex_lock(&ranks->lock);
        if (ranks->closing && !until)
            until = now + (uint64_t)((ranks->lease < GOODBYE_SECONDS ? ranks->lease : GOODBYE_SECONDS) * 1e9);
        pthread_mutex_unlock(&ranks->lock);
        if (until && now > until)
            break;
        sleep_until_news(ranks, &fds, &room, kiln__ranks_pause(&pause, worked));
    }
    kiln__free(ranks->mem, fds);
    return NULL;
}

/* ---- places: where programs run ---- */

/* Does the work of kiln__place.start: starts a program on a rank. The pid of the child is the number of its channel. */
static int start_program(void *self, kiln__child *child, const char *const *arguments)
{
    kiln__member *member = self;
    kiln_ranks *ranks = member->ranks;
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
        return errno;
    kiln__text text = {.mem = ranks->mem};
    pthread_mutex_lock(&ranks->lock);
    int failed = member->gone ? EHOSTDOWN : 0;
    kiln__channel *channel = failed ? NULL : kiln__ranks_add_channel(ranks);
    if (!failed && !channel)
        failed = ENOMEM;
    if (channel) {
        channel->id = ++ranks->last_id;
        channel->rank = member->rank;
        channel->fd = pair[1];
        kiln__relay_write_start(&text, channel->id, arguments);
        if (!post_letter(ranks, member->rank, &text)) {
            channel->fd = -1;
            kiln__ranks_drop_channel(ranks, channel);
            failed = ENOMEM;
        } else {
            child->pid = (pid_t)channel->id;
            child->socket = pair[0];
            child->pidfd = -1;
        }
    }
    pthread_mutex_unlock(&ranks->lock);
    if (failed) {
        close(pair[0]);
        close(pair[1]);
    }
    return failed;
}

static int end_program(void *self, kiln__child *child)
{
    kiln__member *member = self;
    kiln_ranks *ranks = member->ranks;
    close(child->socket);
    child->socket = -1;
    int how = -1;
    pthread_mutex_lock(&ranks->lock);
    kiln__channel *channel = kiln__ranks_channel(ranks, (uint64_t)child->pid);
    if (channel) {
        how = channel->how;
        if (!channel->ended && !member->gone) {
            kiln__text text = {.mem = ranks->mem};
            kiln__relay_write(&text, KILN__RELAY_END, channel->id);
            post_letter(ranks, member->rank, &text);
        }
        kiln__ranks_drop_channel(ranks, channel);
    }
    pthread_mutex_unlock(&ranks->lock);
    return how;
}

static bool is_gone(void *self)
{
    const kiln__member *member = self;
    pthread_mutex_lock(&member->ranks->lock);
    bool is = member->gone;
    pthread_mutex_unlock(&member->ranks->lock);
    return is;
}

/* ---- opening and closing a job ---- */

static kiln_status start_thread(kiln_ranks *ranks, kiln_error **error)
{
    ranks->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    /* the new thread blocks all signals, because signals of the host program belong to its own threads */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = ranks->wake < 0 ? errno : kiln__thread_start(&ranks->thread, carry_messages, ranks);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    ranks->has_thread = !failed;
    return failed ? kiln__fail(ranks->mem, error, KILN_ERROR_IO, "cannot start a thread: %s", kiln__error_text(failed))
                  : KILN_OK;
}

/* Marks a rank as led by another rank, so that this leader does not wait for the rank. */
static void mark_moved(kiln__member *member) { member->gone = member->bye = member->moved = true; }

/* Makes a kiln__member for each rank. The leader itself and rank 0 take no part. */
kiln_status kiln__leader_open(kiln_ranks *ranks, bool thread, kiln_error **error)
{
    int size = ranks->transport.size;
    pthread_condattr_t attributes;
    if (pthread_mutex_init(&ranks->lock, NULL) != 0)
        return kiln__fail_memory(error);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    bool good = pthread_cond_init(&ranks->news, &attributes) == 0;
    pthread_condattr_destroy(&attributes);
    ranks->members = good ? kiln__calloc(ranks->mem, (size_t)size, sizeof *ranks->members) : NULL;
    if (!ranks->members) {
        pthread_mutex_destroy(&ranks->lock);
        if (good)
            pthread_cond_destroy(&ranks->news);
        return kiln__fail_memory(error);
    }
    for (int i = 0; i < size; i++) {
        kiln__member *member = &ranks->members[i];
        *member = (kiln__member){
            .ranks = ranks, .rank = i, .place = {.start = start_program, .end = end_program, .gone = is_gone}};
        member->place.self = member;
        snprintf(member->place.name, sizeof member->place.name, "rank %d", i);
    }
    mark_moved(&ranks->members[0]); /* member 0 is this rank, or it is rank 0, which leads another group */
    mark_moved(&ranks->members[ranks->transport.rank]);
    return thread ? start_thread(ranks, error) : KILN_OK;
}

static bool is_in_group(const kiln__relayed *group, int rank)
{
    for (size_t i = 0; i < group->group_count; i++)
        if (kiln__relay_group_rank(group, i) == rank)
            return true;
    return false;
}

kiln_status kiln__leader_take_over(kiln_ranks *ranks, const kiln__relayed *group, kiln_error **error)
{
    const uint64_t self = (uint64_t)ranks->transport.rank;
    kiln_status status = kiln__leader_open(ranks, false, error);
    for (int i = 1; i < ranks->transport.size && status == KILN_OK; i++) {
        kiln__text text = {.mem = ranks->mem};
        if (!is_in_group(group, i))
            mark_moved(&ranks->members[i]);
        if (ranks->members[i].moved)
            continue;
        kiln__relay_write_group(&text, &self, 1);
        if (!post_letter(ranks, i, &text))
            status = kiln__fail_memory(error);
    }
    return status == KILN_OK ? start_thread(ranks, error) : status;
}

void kiln__ranks_send_away(kiln_ranks *ranks, const uint64_t *group, size_t count)
{
    kiln__text text = {.mem = ranks->mem};
    pthread_mutex_lock(&ranks->lock);
    kiln__relay_write_group(&text, group, count);
    if (post_letter(ranks, (int)group[0], &text))
        for (size_t i = 0; i < count; i++)
            mark_moved(&ranks->members[group[i]]);
    ranks->members[group[0]].leads = ranks->members[group[0]].moved;
    ranks->members[group[0]].heard = 0; /* the lease of the other group's leader begins now */
    pthread_mutex_unlock(&ranks->lock);
}

/* Waits for news from ranks, or for `ns` nanoseconds. The caller holds the lock of `ranks`. */
static void wait_for_news(kiln_ranks *ranks, long ns)
{
    struct timespec next;
    clock_gettime(CLOCK_MONOTONIC, &next);
    next.tv_nsec += ns;
    next.tv_sec += next.tv_nsec / 1000000000;
    next.tv_nsec %= 1000000000;
    pthread_cond_timedwait(&ranks->news, &ranks->lock, &next);
}

/* Sends the answer of this leader to rank 0. The caller holds the lock of `ranks`. */
static void send_answer(kiln_ranks *ranks, const char *answer)
{
    kiln__text text = {.mem = ranks->mem};
    kiln__relay_write_answer(&text, answer);
    ranks->told = post_letter(ranks, 0, &text);
}

/* Waits on rank 0 for the answers of all other leaders. After *stop has become nonzero, the function waits at most one
 * more lease. The caller holds the lock of `ranks`. */
static void await_answers(kiln_ranks *ranks, const volatile int *stop)
{
    uint64_t until = 0;
    for (int i = 1; i < ranks->transport.size && ranks->has_thread; i++)
        while (ranks->members[i].leads && !ranks->members[i].answered && (!until || kiln__now_ns() < until)) {
            wait_for_news(ranks, 100000000);
            if (!until && stop && *stop)
                until = kiln__now_ns() + (uint64_t)(ranks->lease * 1e9);
        }
}

/* On a leader other than rank 0, sends its answer and waits until the answer has left. On rank 0, waits for all answers
 * and passes each answer to the callback. */
kiln_status kiln_ranks_collect(kiln_ranks *ranks, const char *answer, const volatile int *stop,
                               kiln_ranks_answer_fn each, void *user, kiln_error **error)
{
    KILN__NEEDS(NULL, error, ranks);
    KILN__NEEDS_TEXT(ranks->mem, error, answer);
    KILN__NEEDS(ranks->mem, error, each);
    if (!ranks->members || ranks->lead != ranks->transport.rank)
        return kiln__fail(ranks->mem, error, KILN_ERROR_ARGUMENT, "kiln_ranks_collect: rank %d leads no sweep",
                          ranks->transport.rank);
    pthread_mutex_lock(&ranks->lock);
    if (ranks->transport.rank > 0)
        send_answer(ranks, answer);
    else
        await_answers(ranks, stop);
    while (ranks->transport.rank > 0 && ranks->has_thread && ranks->letter_count > 0)
        /* waits until the letter has left, because the process may end right after this call */
        wait_for_news(ranks, 1000000);
    const bool lost = ranks->transport.rank > 0 && !ranks->told;
    pthread_mutex_unlock(&ranks->lock);
    if (lost)
        return kiln__fail_memory(error);
    if (ranks->transport.rank == 0)
        each(user, 0, NULL, answer);
    for (int i = 1; i < ranks->transport.size; i++) {
        pthread_mutex_lock(&ranks->lock);
        const kiln__member *member = &ranks->members[i];
        const bool leads = member->leads; /* the answer of a leader is final, so it can be read without the lock */
        const char *said = member->answered ? member->answer : NULL;
        pthread_mutex_unlock(&ranks->lock);
        if (leads)
            each(user, i, member->info.device.name, said);
    }
    return KILN_OK;
}

void kiln__leader_close(kiln_ranks *ranks)
{
    pthread_mutex_lock(&ranks->lock);
    if (ranks->transport.rank > 0 && !ranks->told)
        send_answer(ranks, ""); /* sends an empty answer, so that rank 0 does not wait */
    ranks->closing = true;
    for (int i = 1; i < ranks->transport.size; i++) {
        kiln__text quit = {.mem = ranks->mem};
        kiln__relay_write(&quit, KILN__RELAY_QUIT, 0);
        if (ranks->members[i].moved)
            kiln__text_free(&quit);
        else
            post_letter(ranks, i, &quit);
    }
    pthread_mutex_unlock(&ranks->lock);
    if (ranks->has_thread)
        pthread_join(ranks->thread, NULL);
    pthread_mutex_destroy(&ranks->lock);
    pthread_cond_destroy(&ranks->news);
    for (size_t i = 0; i < ranks->letter_count; i++)
        kiln__text_free(&ranks->letters[i].text);
    ranks->letter_count = 0;
}

void kiln__ranks_gather(kiln_ranks *ranks)
{
    if (!ranks->members)
        return;
    pthread_mutex_lock(&ranks->lock);
    for (int i = 1; i < ranks->transport.size && ranks->has_thread; i++)
        while (!ranks->members[i].known && !ranks->members[i].gone)
            pthread_cond_wait(&ranks->news, &ranks->lock);
    pthread_mutex_unlock(&ranks->lock);
}

const kiln__rank_info *kiln__ranks_info(kiln_ranks *ranks, int rank)
{
    if (!ranks || !ranks->members || rank < 1 || rank >= ranks->transport.size)
        return NULL;
    pthread_mutex_lock(&ranks->lock);
    bool known = ranks->members[rank].known && !ranks->members[rank].moved;
    pthread_mutex_unlock(&ranks->lock);
    /* the description of a rank never changes once it is known, so it can be read without the lock */
    return known ? &ranks->members[rank].info : NULL;
}

const kiln__place *kiln__ranks_place(kiln_ranks *ranks, int rank) { return &ranks->members[rank].place; }
