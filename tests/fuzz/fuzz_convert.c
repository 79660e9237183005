/* Reads any bytes as a recorded space. If the space can be read, writing it and converting it to the other format and
 * back must not change it. Otherwise the error has a message. */
#include <string.h>

#include "document.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Returns true if the text has a name that a conversion treats as its own. */
static bool is_turned(const char *text) { return strstr(text, "\"t4\"") || strstr(text, "\"kernel_tuner\""); }

/* A recorded space that can be read is the same after it was printed and read, and after it was converted to the other
 * format and back. Every failure has a message. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    kiln__document first = {0}, again = {0}, turned = {0}, back = {0};
    kiln_error *error = NULL;
    kiln__text text = {0};
    if (kiln__document_read(NULL, "fuzz.json", data, size, &first, &error) != KILN_OK) {
        if (!*kiln_error_message(error))
            __builtin_trap();
        kiln_error_free(error);
        return 0;
    }
    kiln_format other = first.format == KILN_FORMAT_T4 ? KILN_FORMAT_KERNEL_TUNER : KILN_FORMAT_T4;
    if (kiln__document_print(&first, &text, NULL) != KILN_OK ||
        kiln__document_read(NULL, "again.json", text.data, text.length, &again, NULL) != KILN_OK ||
        !json_equal(first.root, again.root))
        __builtin_trap();
    if (kiln__document_convert(NULL, "fuzz.json", &first, other, &turned, &error) != KILN_OK) {
        if (!*kiln_error_message(error))
            __builtin_trap();
    } else if (!is_turned(text.data)) {
        if (kiln__document_convert(NULL, "turned.json", &turned, first.format, &back, NULL) != KILN_OK ||
            !json_equal(first.root, back.root))
            __builtin_trap();
    }
    kiln_error_free(error);
    kiln__text_free(&text);
    kiln__document_free(&first);
    kiln__document_free(&again);
    kiln__document_free(&turned);
    kiln__document_free(&back);
    return 0;
}
