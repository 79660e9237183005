/* Reads any bytes as messages between a sweep and its runner, in both directions. The bytes come from a socket:
 * messages with their headers. The first byte of the input gives the number of bytes that arrive at a time. A complete
 * message is read as each kind of message, as the sweep and as the runner would read it. Each result must lie in the
 * message. If it can be written, it must give the same message. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "protocol_internal.h"

static size_t sum; /* the sum makes the compiler keep the reads */

static void touch(const void *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++)
        sum += ((const unsigned char *)bytes)[i];
}

static void touch_text(const char *text) { touch(text, strlen(text) + 1); }

static void touch_settings(kiln__settings settings)
{
    for (size_t i = 0; i < settings.count; i++) {
        touch_text(settings.items[i].name);
        if (settings.items[i].value.kind == KILN_TEXT)
            touch_text(settings.items[i].value.as.text);
    }
}

/* Requires that the message which was written again has the same bytes as the first. Frees the written message. */
static void must_be(kiln__text *written, const char *body, size_t length)
{
    const size_t head = sizeof(kiln__message_header);
    if (!written->failed && (written->length != head + length || memcmp(written->data + head, body, length) != 0)) {
        fprintf(stderr, "a message does not survive being written again\n");
        abort();
    }
    kiln__text_free(written);
}

/* ---- messages to a runner ---- */

static void as_runner(const char *body, size_t length)
{
    kiln__arena arena = {0};
    kiln__text again = {0};
    kiln__runner_setup setup;
    kiln__runner_request request;
    if (kiln__runner_read_open(body, length, &arena, &setup)) {
        touch_text(setup.version);
        touch_text(setup.device);
        touch_text(setup.search_path);
        touch_text(setup.references);
        touch_text(setup.name);
        touch_text(setup.smaller);
        touch(setup.text, setup.text_length);
        touch_settings(KILN__SIZES(&setup.choice));
        for (size_t i = 0; i < setup.run.input_count; i++) {
            touch_text(setup.run.inputs[i].buffer);
            touch_text(setup.run.inputs[i].path);
        }
        if (setup.choice.size_set) { /* a missing text is sent as an empty text */
            kiln__runner_write_open(&again, &setup);
            must_be(&again, body, length);
        }
    }
    if (kiln__runner_read_run(body, length, &arena, &request)) {
        touch_text(request.variant);
        touch_settings(request.params);
        touch(request.unit.ptx, request.unit.ptx_length);
        touch(request.unit.cubin, request.unit.cubin_length);
        touch(request.unit.lowered, request.unit.lowered_length);
        touch(request.small.ptx, request.small.ptx_length);
        touch(request.small.cubin, request.small.cubin_length);
        touch(request.small.lowered, request.small.lowered_length);
        again = (kiln__text){0};
        kiln__runner_write_run(&again, &request);
        must_be(&again, body, length);
    }
    kiln__arena_free(&arena);
}

/* ---- messages to a sweep ---- */

static void as_sweep(const char *body, size_t length)
{
    const char *why;
    kiln__runner_greeting greeting;
    kiln_check_finding finding;
    kiln__runner_answer answer;
    kiln__text again = {0};
    if (kiln__runner_read_ready(body, length, &greeting)) {
        touch_text(greeting.how);
        kiln__runner_write_ready(&again, &greeting);
        must_be(&again, body, length);
    }
    if (kiln__runner_read_finding(body, length, &finding)) {
        touch_text(finding.message);
        touch_text(finding.role);
        touch_text(finding.other.inlined);
        if (finding.at.what && finding.other.what) { /* a missing text is sent as an empty text */
            again = (kiln__text){0};
            kiln__runner_write_finding(&again, &finding);
            must_be(&again, body, length);
        }
    }
    kiln__kept_reference kept;
    if (kiln__runner_read_keep(body, length, &kept)) {
        kiln__export *exports = NULL;
        bool whole = false;
        touch_text(kept.spec);
        touch(kept.key, kept.key_length);
        if (kiln__exports_unpack(NULL, kept.list, kept.list_length, kept.data, kept.data_length, &exports, &whole) ==
            KILN_OK)
            for (const kiln__export *one = exports; one; one = one->next)
                touch_text(one->name);
        kiln__exports_free(NULL, exports);
        again = (kiln__text){0};
        kiln__runner_write_keep(&again, &kept);
        must_be(&again, body, length);
    }
    if (kiln__runner_read_waiting(body, length, &why)) {
        again = (kiln__text){0};
        kiln__runner_write_waiting(&again, why);
        must_be(&again, body, length);
    }
    if (kiln__runner_read_result(body, length, &answer)) {
        touch_text(answer.why);
        touch_text(answer.features);
        touch(answer.times, answer.time_count * sizeof(double));
        again = (kiln__text){0};
        kiln__runner_write_result(&again, &answer);
        must_be(&again, body, length);
    }
}

/* ---- the socket ---- */

/* Refuses large allocations, as if memory ran out. A header may ask for a gigabyte, which is allowed, but takes the
 * sanitizer half a second. */
static void *resize(void *user, void *pointer, size_t size)
{
    (void)user;
    if (size == 0) {
        free(pointer);
        return NULL;
    }
    return size > 1 << 20 ? NULL : realloc(pointer, size);
}

static const kiln_allocator little = {resize, NULL};

/* Reads all messages that have arrived, as the runner and as the sweep. Returns false if Kiln would close the
 * connection after these messages. */
static bool read_all(const kiln__child *child, kiln__incoming *in)
{
    kiln__io io;
    while ((io = kiln__child_receive_some(child, &little, in)) == KILN__IO_DONE) {
        as_runner(in->body, (size_t)in->header.length);
        as_sweep(in->body, (size_t)in->header.length);
        free(in->body);
        *in = (kiln__incoming){0};
    }
    return io == KILN__IO_LATE;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int pair[2];
    if (size < 2 || size > 65536 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
        return 0;
    size_t step = (size_t)data[0] * 16 + 1;
    kiln__child child = {.socket = pair[0], .pidfd = -1, .wake = -1}; /* there is no process, so none is ended */
    kiln__incoming in = {0};
    for (size_t at = 1; at < size; at += step) {
        size_t length = size - at < step ? size - at : step;
        if (send(pair[1], data + at, length, MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)length || !read_all(&child, &in))
            break;
    }
    free(in.body);
    close(pair[0]);
    close(pair[1]);
    /* Reads bodies without a header, so that a wrong length does not hide the fields. */
    char *exact = malloc(size - 1);
    if (!exact)
        return 0;
    memcpy(exact, data + 1, size - 1);
    as_runner(exact, size - 1);
    as_sweep(exact, size - 1);
    free(exact);
    return 0;
}
