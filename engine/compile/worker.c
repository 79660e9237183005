/* worker.c - the main loop of kiln-worker: one request after another until the socket closes. */
#include "compile_internal.h"

/* Answers the request in `body`. False: the request is invalid, or the answer cannot be sent. */
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
        kiln__message_result(&message, status, ns, &unit, kiln_error_message(error), kiln__error_is_passing(error));
        good = kiln__socket_send(fd, &message);
    }
    kiln__unit_free(&unit);
    kiln_error_free(error);
    kiln__text_free(&message);
    kiln__arena_free(&arena);
    return good;
}

static bool confine(const kiln__nvrtc *nvrtc, char *how, size_t room)
{
    /* The libraries are loaded already; they stay readable for versions that open them again. */
    const char *readable[] = {nvrtc->include, nvrtc->cccl, nvrtc->path, KILN__SANITIZED ? "/proc/self" : NULL};
    return kiln__confine(readable, KILN__COUNT(readable), how, room);
}

int kiln__worker_run(int fd, const char *path, const char *include, bool confined)
{
    kiln__nvrtc *nvrtc = NULL;
    kiln_error *error = NULL;
    kiln_status status = kiln__nvrtc_open_file(NULL, path, include, &nvrtc, &error);
    kiln__text hello = {0};
    char how[256] = "not requested";
    kiln__hello mine = {.identity = kiln_error_message(error), .how = how};
    if (status == KILN_OK) {
        mine.identity = kiln__nvrtc_identity(nvrtc);
        mine.confined = confined && confine(nvrtc, how, sizeof how);
    }
    kiln__message_hello(&hello, status, &mine);
    bool good = kiln__socket_send(fd, &hello) && status == KILN_OK;
    kiln__text_free(&hello);
    kiln_error_free(error);
    kiln__message_header header;
    char *body = NULL;
    while (good && kiln__socket_message(fd, &header, &body)) { /* ends normally when the connection closes */
        good = header.kind == KILN__MESSAGE_REQUEST && answer(fd, nvrtc, body, (size_t)header.length);
        kiln__free(NULL, body);
    }
    kiln__nvrtc_close(nvrtc);
    return good ? 0 : 1;
}
