/* Any text as a source from which the compiler removes declarations of the host, with any log of NVRTC behind the first byte
 * 1. The text keeps its length, its lines and its other bytes, and a second pass with the declarations that the first pass has
 * removed removes them too. */
#include <stdlib.h>
#include <string.h>

#include "compile_internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define WANT(condition)                                                                                                \
    do {                                                                                                               \
        if (!(condition))                                                                                              \
            abort();                                                                                                   \
    } while (0)

/* Returns a copy in a block of its own size. So a sanitizer finds a read after its end. */
static char *copy(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    if (!text)
        abort();
    if (size)
        memcpy(text, data, size);
    text[size] = '\0';
    return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *mark = size ? memchr(data, 1, size) : NULL;
    const size_t length = mark ? (size_t)(mark - data) : size;
    char *text = copy(data, length), *again = copy(data, length),
         *log = mark ? copy(mark + 1, size - length - 1) : copy((const uint8_t *)"a.cu(1): error: x\n", 18);
    kiln__host_list removed = {0};
    kiln__text places = {0}, more = {0};
    const size_t lines = strlen(text), count = kiln__host_remove(NULL, text, "a.cu", log, NULL, &removed, &places);
    WANT(strlen(text) == lines && removed.count <= count);
    for (size_t k = 0; k < lines; k++)
        WANT(text[k] == again[k] || (text[k] == ' ' && again[k] != '\n'));
    kiln__host_remove(NULL, again, "a.cu", "", &removed, NULL, &more);
    for (size_t k = 0; k < lines; k++) /* a declaration with the same text as a removed one goes too */
        WANT(again[k] == text[k] || again[k] == ' ');
    kiln__host_list_drop(NULL, &removed, text);
    kiln__host_drop_instances(NULL, text);
    WANT(strlen(text) == lines);
    kiln__free(NULL, removed.items);
    kiln__text_free(&places);
    kiln__text_free(&more);
    free(text);
    free(again);
    free(log);
    return 0;
}
