/* wire.c - writes and reads the fields of messages, and uses a blocking socket. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "wire.h"

enum { MOST_ITEMS = 65536 }; /* largest number of elements of a list in a message */

/* ---- writing ---- */

void kiln__wire_number(kiln__text *out, uint64_t number) { kiln__text_add(out, (const char *)&number, sizeof number); }

void kiln__wire_real(kiln__text *out, double number) { kiln__text_add(out, (const char *)&number, sizeof number); }

void kiln__wire_bytes(kiln__text *out, const void *bytes, size_t length)
{
    kiln__wire_number(out, length);
    kiln__text_add(out, bytes ? bytes : "", length);
}

void kiln__wire_string(kiln__text *out, const char *text) { kiln__wire_bytes(out, text, strlen(text) + 1); }

void kiln__wire_begin(kiln__text *out, uint32_t kind)
{
    kiln__message_header header = {.magic = KILN__MESSAGE_MAGIC, .kind = kind};
    kiln__text_add(out, (const char *)&header, sizeof header);
}

void kiln__wire_end(kiln__text *out)
{
    if (out->failed)
        return;
    uint64_t length = out->length - sizeof(kiln__message_header);
    memcpy(out->data + offsetof(kiln__message_header, length), &length, sizeof length);
}

/* ---- reading ---- */

uint64_t kiln__wire_read_number(kiln__wire *in)
{
    uint64_t number = 0;
    if (in->failed || in->left < sizeof number) {
        in->failed = true;
        return 0;
    }
    memcpy(&number, in->at, sizeof number);
    in->at += sizeof number;
    in->left -= sizeof number;
    return number;
}

double kiln__wire_read_real(kiln__wire *in)
{
    uint64_t bits = kiln__wire_read_number(in);
    double number;
    memcpy(&number, &bits, sizeof number);
    return number;
}

const char *kiln__wire_read_bytes(kiln__wire *in, size_t *length)
{
    uint64_t size = kiln__wire_read_number(in);
    if (in->failed || size > in->left) {
        in->failed = true;
        *length = 0;
        return "";
    }
    const char *bytes = in->at;
    in->at += size;
    in->left -= (size_t)size;
    *length = (size_t)size;
    return bytes;
}

const char *kiln__wire_read_string(kiln__wire *in)
{
    size_t length;
    const char *text = kiln__wire_read_bytes(in, &length);
    if (!in->failed && length > 0 && memchr(text, '\0', length) == text + length - 1)
        return text;
    in->failed = true;
    return "";
}

size_t kiln__wire_read_count(kiln__wire *in)
{
    uint64_t count = kiln__wire_read_number(in);
    if (count > MOST_ITEMS || count > in->left / sizeof(uint64_t))
        in->failed = true;
    return in->failed ? 0 : (size_t)count;
}

kiln_status kiln__wire_read_status(kiln__wire *in)
{
    uint64_t status = kiln__wire_read_number(in);
    if (status > KILN_ERROR_INTERNAL)
        in->failed = true;
    return in->failed ? KILN_ERROR_INTERNAL : (kiln_status)status;
}

/* ---- a blocking socket ---- */

bool kiln__socket_receive(int fd, void *data, size_t length)
{
    char *bytes = data;
    while (length > 0) {
        ssize_t got = recv(fd, bytes, length, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        bytes += got;
        length -= (size_t)got;
    }
    return true;
}

bool kiln__socket_send(int fd, const kiln__text *message)
{
    const char *bytes = message->data;
    for (size_t left = message->length; left > 0;) {
        ssize_t put = send(fd, bytes, left, MSG_NOSIGNAL);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return false;
        bytes += put;
        left -= (size_t)put;
    }
    return !message->failed && message->length > 0;
}

bool kiln__socket_message(int fd, kiln__message_header *header, char **body)
{
    *body = NULL;
    if (!kiln__socket_receive(fd, header, sizeof *header) || header->magic != KILN__MESSAGE_MAGIC ||
        header->length > KILN__MESSAGE_MAX)
        return false;
    char *made = kiln__alloc(NULL, (size_t)header->length);
    if (!made || !kiln__socket_receive(fd, made, (size_t)header->length)) {
        kiln__free(NULL, made);
        return false;
    }
    *body = made;
    return true;
}
