/* Reads any bytes as messages between a worker and its host, and as NVRTC's log. The messages must be read or refused,
 * and never be read beyond their end. The first byte picks the kind of message. */
#include <stdlib.h>
#include <string.h>

#include "compile_internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define WANT(condition)                                                                                                \
    do {                                                                                                               \
        if (!(condition))                                                                                              \
            abort();                                                                                                   \
    } while (0)

static void read_request(const char *body, size_t length)
{
    kiln__arena arena = {0};
    kiln__compile_request request;
    if (kiln__message_read_request(body, length, &arena, &request)) {
        kiln__text again = {0};
        // a message that can be read must give the same bytes when it is written again
        kiln__message_request(&again, &request);
        const size_t skip = sizeof(kiln__message_header);
        WANT(!again.failed && again.length == length + skip && memcmp(again.data + skip, body, length) == 0);
        kiln__text_free(&again);
    }
    kiln__arena_free(&arena);
}

static void read_result(const char *body, size_t length)
{
    kiln_status status;
    uint64_t ns;
    kiln__unit parts, unit = {0};
    const char *why = NULL;
    bool passing, pch;
    if (kiln__message_read_result(body, length, &status, &ns, &parts, &why, &passing, &pch)) {
        WANT(strlen(why) < length);
        if (kiln__unit_make(NULL, &parts, &unit, NULL) == KILN_OK)
            WANT(unit.ptx_length == parts.ptx_length && unit.log_length == parts.log_length);
        kiln__unit_free(&unit);
    }
}

static void read_hello(const char *body, size_t length)
{
    kiln_status status;
    kiln__hello hello;
    if (kiln__message_read_hello(body, length, &status, &hello))
        WANT(strlen(hello.identity) + strlen(hello.how) < length);
}

/* The bytes up to a zero are the log, and the rest is the PTX. */
static void read_log(const char *body, size_t length)
{
    kiln__text shown = {0};
    char *both = calloc(1, length + 2);
    if (!both)
        return;
    memcpy(both, body, length);
    const char *ptx = both + strlen(both) + 1;
    kiln__compile_log_format(&shown, both, strlen(both) < length ? ptx : NULL);
    for (size_t i = 0; i < shown.length; i++) /* the log goes to a terminal */
        WANT((unsigned char)shown.data[i] >= 0x20 || shown.data[i] == '\n');
    int64_t stores = -1, loads = -1;
    if (kiln__compile_log_spills(both, "kernel", &stores, &loads))
        WANT(stores >= 0 && loads >= 0);
    kiln__text_free(&shown);
    free(both);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const readers[])(const char *, size_t) = {read_request, read_result, read_hello, read_log};
    if (size == 0)
        return 0;
    // the block is exactly as large as the message, so a sanitizer sees a read past it
    char *body = malloc(size > 1 ? size - 1 : 1);
    if (!body)
        return 0;
    memcpy(body, data + 1, size - 1);
    readers[*data % 4](body, size - 1);
    free(body);
    return 0;
}
