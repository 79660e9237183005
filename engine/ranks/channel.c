/* channel.c - the messages and channels that the leader and the other ranks use. */
#include <string.h>
#include <unistd.h>

#include "ranks_internal.h"

/* The bounds of the pause between two looks for messages, in nanoseconds. */
#define SHORTEST_PAUSE 20000u
#define LONGEST_PAUSE 1000000u

bool kiln__ranks_send(kiln_ranks *ranks, int to, kiln__text *text)
{
    bool sent = !text->failed && ranks->transport.send(ranks->transport.self, to, text->data, text->length);
    kiln__text_free(text);
    *text = (kiln__text){.mem = ranks->mem};
    return sent;
}

bool kiln__ranks_receive(kiln_ranks *ranks, int *from, char **bytes, size_t *length)
{
    if (!ranks->transport.probe(ranks->transport.self, 0, from, length))
        return false;
    *bytes = kiln__alloc(ranks->mem, *length);
    if (!*bytes) /* the message waits until there is memory for it */
        return false;
    if (ranks->transport.receive(ranks->transport.self, *bytes))
        return true;
    kiln__free(ranks->mem, *bytes);
    return false;
}

kiln__channel *kiln__ranks_channel(const kiln_ranks *ranks, uint64_t id)
{
    for (size_t i = 0; i < ranks->channel_count; i++)
        if (ranks->channels[i]->id == id)
            return ranks->channels[i];
    return NULL;
}

kiln__channel *kiln__ranks_add_channel(kiln_ranks *ranks)
{
    kiln__channel *made = kiln__calloc(ranks->mem, 1, sizeof *made);
    if (!made || !kiln__grow(ranks->mem, &ranks->channels, &ranks->channel_room, ranks->channel_count + 1,
                             sizeof *ranks->channels)) {
        kiln__free(ranks->mem, made);
        return NULL;
    }
    *made = (kiln__channel){
        .fd = -1, .how = -1, .child = {.socket = -1, .pidfd = -1, .wake = -1}, .out = {.mem = ranks->mem}};
    ranks->channels[ranks->channel_count++] = made;
    return made;
}

void kiln__ranks_drop_channel(kiln_ranks *ranks, kiln__channel *channel)
{
    for (size_t i = 0; i < ranks->channel_count; i++)
        if (ranks->channels[i] == channel)
            ranks->channels[i] = ranks->channels[--ranks->channel_count];
    if (channel->fd >= 0)
        close(channel->fd);
    kiln__child_end(&channel->child);
    kiln__text_free(&channel->out);
    kiln__free(ranks->mem, channel);
}

uint64_t kiln__ranks_pause(uint64_t *pause, bool worked)
{
    *pause = worked || *pause == 0 ? SHORTEST_PAUSE : *pause * 2 < LONGEST_PAUSE ? *pause * 2 : LONGEST_PAUSE;
    return *pause;
}
