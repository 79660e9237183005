/* wire.h - the messages between the stand-in for NVRTC (library.c) and its helper (helper.c), and how they are sent.
 *
 * A message is its length in bytes (uint64_t) and that many bytes. A request begins with a byte that says its kind. */
#ifndef KILN_TESTS_NVRTC_WIRE_H
#define KILN_TESTS_NVRTC_WIRE_H

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum {
    ASK_ABOUT = 'a',   /* answer: `about` */
    ASK_ERROR = 'e',   /* an nvrtcResult as an int32_t; answer: its text */
    ASK_COMPILE = 'c', /* see compile() of helper.c; answer: an nvrtcResult as an int32_t, then PARTS texts */
};

/* The texts of a compile's answer. The symbols of the names follow, each as a text. */
enum { PTX, CUBIN, LOG, PARTS };

/* The properties of NVIDIA's library. */
typedef struct about {
    int32_t major, minor, count, archs[256];
} about;

/* Bytes that grow, or that are read from the front. `failed` is set if memory ran out, or if too few bytes were left. */
typedef struct message {
    char *data;
    size_t length, room, at;
    bool failed;
} message;

static inline void put_bytes(message *m, const void *bytes, size_t length)
{
    if (m->length + length > m->room) {
        const size_t room = 2 * m->room + length;
        char *data = realloc(m->data, room);
        if (!data) {
            m->failed = true;
            return;
        }
        m->data = data;
        m->room = room;
    }
    if (length)
        memcpy(m->data + m->length, bytes, length);
    m->length += length;
}

static inline void put_number(message *m, uint64_t number) { put_bytes(m, &number, sizeof number); }

/* A text has its length in front and a NUL behind, which the length does not count. */
static inline void put_text(message *m, const char *text, size_t length)
{
    put_number(m, length);
    put_bytes(m, text, length);
    put_bytes(m, "", 1);
}

/* Returns the place of the next `length` bytes in the message, or NULL. */
static inline const char *take_bytes(message *m, uint64_t length)
{
    if (m->failed || length > m->length - m->at) {
        m->failed = true;
        return NULL;
    }
    m->at += length;
    return m->data + m->at - length;
}

static inline uint64_t take_number(message *m)
{
    uint64_t number = 0;
    const char *from = take_bytes(m, sizeof number);
    if (from)
        memcpy(&number, from, sizeof number);
    return number;
}

/* Returns the next text, or "" after a failure. `length` may be NULL. */
static inline const char *take_text(message *m, size_t *length)
{
    const uint64_t bytes = take_number(m);
    const char *text = bytes < UINT64_MAX ? take_bytes(m, bytes + 1) : NULL;
    if (length)
        *length = text ? bytes : 0;
    return text ? text : "";
}

static inline bool send_bytes(int fd, const void *bytes, size_t length)
{
    for (const char *at = bytes; length;) {
        const ssize_t sent = send(fd, at, length, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return false;
        at += sent;
        length -= (size_t)sent;
    }
    return true;
}

static inline bool receive_bytes(int fd, void *bytes, size_t length)
{
    for (char *at = bytes; length;) {
        const ssize_t got = recv(fd, at, length, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        at += got;
        length -= (size_t)got;
    }
    return true;
}

static inline bool send_message(int fd, const message *m)
{
    const uint64_t length = m->length;
    return !m->failed && send_bytes(fd, &length, sizeof length) && send_bytes(fd, m->data, m->length);
}

/* Receives a message, which the caller frees. Returns false if the other side has ended. */
static inline bool receive_message(int fd, message *m)
{
    uint64_t length;
    *m = (message){0};
    if (!receive_bytes(fd, &length, sizeof length) || !(m->data = malloc(length + 1)))
        return false;
    m->length = m->room = length;
    if (receive_bytes(fd, m->data, length))
        return true;
    free(m->data);
    *m = (message){0};
    return false;
}

/* The abstract address of the helper of the worker process `pid`. Returns the length of the address. */
static inline socklen_t name_socket(struct sockaddr_un *at, long pid)
{
    *at = (struct sockaddr_un){.sun_family = AF_UNIX};
    const int length = snprintf(at->sun_path + 1, sizeof at->sun_path - 1, "kiln-test-nvrtc-%ld", pid);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
}

#endif
