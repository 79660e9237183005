/* relay.c - writes and reads the messages between the leader and a rank. The reading functions treat the bytes as
 * untrusted. */
#include <limits.h>
#include <string.h>

#include "ranks_internal.h"

static void begin_message(kiln__text *out, uint32_t kind, uint64_t channel)
{
    kiln__wire_begin(out, kind);
    kiln__wire_number(out, channel);
}

void kiln__relay_write(kiln__text *out, uint32_t kind, uint64_t channel)
{
    begin_message(out, kind, channel);
    kiln__wire_end(out);
}

void kiln__relay_write_hello(kiln__text *out, const kiln__rank_info *info)
{
    begin_message(out, KILN__RELAY_HELLO, 0);
    kiln__wire_string(out, KILN_VERSION);
    /* both sides come from the same build, because their versions are compared */
    kiln__wire_bytes(out, info, sizeof *info);
    kiln__wire_end(out);
}

void kiln__relay_write_start(kiln__text *out, uint64_t channel, const char *const *arguments)
{
    size_t count = 0;
    while (arguments[count])
        count++;
    begin_message(out, KILN__RELAY_START, channel);
    kiln__wire_number(out, count);
    for (size_t i = 0; i < count; i++)
        kiln__wire_string(out, arguments[i]);
    kiln__wire_end(out);
}

void kiln__relay_write_data(kiln__text *out, uint64_t channel, const void *bytes, size_t length)
{
    begin_message(out, KILN__RELAY_DATA, channel);
    kiln__wire_bytes(out, bytes, length);
    kiln__wire_end(out);
}

void kiln__relay_write_answer(kiln__text *out, const char *answer)
{
    begin_message(out, KILN__RELAY_ANSWER, 0);
    kiln__wire_bytes(out, answer, strlen(answer));
    kiln__wire_end(out);
}

void kiln__relay_write_ended(kiln__text *out, uint64_t channel, int how)
{
    begin_message(out, KILN__RELAY_ENDED, channel);
    kiln__wire_number(out, (uint64_t)(int64_t)how);
    kiln__wire_end(out);
}

void kiln__relay_write_group(kiln__text *out, const uint64_t *ranks, size_t count)
{
    begin_message(out, KILN__RELAY_GROUP, 0);
    kiln__wire_bytes(out, ranks, count * sizeof *ranks);
    kiln__wire_end(out);
}

int kiln__relay_group_rank(const kiln__relayed *message, size_t index)
{
    uint64_t rank;
    if (index >= message->group_count)
        return -1;
    memcpy(&rank, message->group + index * sizeof rank, sizeof rank);
    return rank <= INT_MAX ? (int)rank : -1;
}

static void read_hello(kiln__wire *in, kiln__relayed *message, kiln__rank_info *info)
{
    size_t length = 0;
    message->version = kiln__wire_read_string(in);
    const char *bytes = kiln__wire_read_bytes(in, &length);
    if (in->failed || strcmp(message->version, KILN_VERSION) != 0)
        return;
    if (length != sizeof *info) {
        in->failed = true;
        return;
    }
    memcpy(info, bytes, sizeof *info);
    info->device.name[sizeof info->device.name - 1] = info->device.id[sizeof info->device.id - 1] = '\0';
    info->name[sizeof info->name - 1] = '\0';
    info->uuid[sizeof info->uuid - 1] = info->host[sizeof info->host - 1] = '\0';
    if (info->jobs > 4096)
        info->jobs = 4096;
}

static void read_arguments(kiln__wire *in, kiln__relayed *message)
{
    size_t count = kiln__wire_read_count(in);
    if (count == 0 || count > KILN__RELAY_ARGUMENTS)
        in->failed = true;
    for (size_t i = 0; i < count && !in->failed; i++)
        message->arguments[i] = kiln__wire_read_string(in);
}

/* Checks the header of a message and the fields of its kind. A HELLO message of another version counts as well formed,
 * and its other fields are not read. */
bool kiln__relay_read(const char *bytes, size_t length, kiln__relayed *message, kiln__rank_info *info)
{
    kiln__message_header header;
    *message = (kiln__relayed){0};
    if (length < sizeof header)
        return false;
    memcpy(&header, bytes, sizeof header);
    if (header.magic != KILN__MESSAGE_MAGIC || header.length != length - sizeof header)
        return false;
    kiln__wire in = {.at = bytes + sizeof header, .left = length - sizeof header};
    message->kind = header.kind;
    message->channel = kiln__wire_read_number(&in);
    if (header.kind == KILN__RELAY_HELLO) {
        read_hello(&in, message, info);
        if (!in.failed && strcmp(message->version, KILN_VERSION) != 0)
            return true; /* the message comes from another build, whose other fields are unknown */
    } else if (header.kind == KILN__RELAY_START) {
        read_arguments(&in, message);
    } else if (header.kind == KILN__RELAY_DATA || header.kind == KILN__RELAY_ANSWER) {
        message->bytes = kiln__wire_read_bytes(&in, &message->length);
    } else if (header.kind == KILN__RELAY_ENDED) {
        int64_t how = (int64_t)kiln__wire_read_number(&in);
        message->how = how >= 0 && how <= INT_MAX ? (int)how : -1;
    } else if (header.kind == KILN__RELAY_GROUP) {
        size_t all = 0;
        message->group = kiln__wire_read_bytes(&in, &all);
        message->group_count = all / sizeof(uint64_t);
        in.failed |= all == 0 || all % sizeof(uint64_t) != 0 || message->group_count > KILN__RELAY_GROUP_MOST;
    } else if (header.kind < KILN__RELAY_HELLO || header.kind > KILN__RELAY_BYE) {
        return false;
    }
    return !in.failed && in.left == 0;
}
