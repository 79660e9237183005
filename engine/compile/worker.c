/* What the program kiln-worker does: one request after another until the socket closes. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "compile/internal.h"

static bool receive_all(int fd, void *data, size_t length)
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

static bool send_all(int fd, const kiln__text *message)
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

/* Answers the request in `body`. False: it makes no sense, or the answer cannot be sent. */
static bool answer(int fd, kiln__nvrtc *nvrtc, const char *body, size_t length)
{
    kiln__arena arena = {0};
    kiln__text message = {0};
    kiln__compile_request request;
    kiln__unit unit = {0};
    kiln_error *error = NULL;
    uint64_t ns = 0;
    kiln_status status;
    bool good = kiln__message_read_request(body, length, &arena, &request);
    if (good) {
        status = kiln__compile_here(NULL, nvrtc, &request, NULL, 0, &unit, &ns, &error);
        kiln__message_result(&message, status, ns, &unit, kiln_error_message(error));
        good = send_all(fd, &message);
    }
    kiln__unit_free(&unit);
    kiln_error_free(error);
    kiln__text_free(&message);
    kiln__arena_free(&arena);
    return good;
}

int kiln__worker_run(int fd, const char *path, const char *include)
{
    kiln__nvrtc *nvrtc = NULL;
    kiln_error *error = NULL;
    kiln_status status = kiln__nvrtc_open_file(NULL, path, include, &nvrtc, &error);
    kiln__text hello = {0};
    kiln__message_hello(&hello, status, status == KILN_OK ? kiln__nvrtc_identity(nvrtc) : kiln_error_message(error));
    bool good = send_all(fd, &hello) && status == KILN_OK;
    kiln__text_free(&hello);
    kiln_error_free(error);
    kiln__message_header header;
    while (good && receive_all(fd, &header, sizeof header)) { /* the end of the connection is the normal end */
        good = header.magic == KILN__MESSAGE_MAGIC && header.kind == KILN__MESSAGE_REQUEST &&
               header.length <= KILN__MESSAGE_MAX;
        char *body = good ? kiln__alloc(NULL, (size_t)header.length) : NULL;
        good = body && receive_all(fd, body, (size_t)header.length) &&
               answer(fd, nvrtc, body, (size_t)header.length);
        kiln__free(NULL, body);
    }
    kiln__nvrtc_close(nvrtc);
    return good ? 0 : 1;
}
