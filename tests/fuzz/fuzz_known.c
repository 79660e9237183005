/* Reads any bytes as a file of best-known configurations. The result is a list that stays the same when it is written
 * and read again, or an error with a message. */
#include <string.h>

#include "known.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    kiln__known_list list = {0}, again = {0};
    kiln_error *error = NULL;
    kiln__text first = {0}, second = {0};
    if (kiln__known_read(NULL, "fuzz.yaml", (const char *)data, size, &list, &error) != KILN_OK) {
        if (!*kiln_error_message(error))
            __builtin_trap();
    } else {
        kiln__known_deduplicate(&list);
        /* If the input text used aliases, its text without aliases may be too large for a file. */
        if (kiln__known_print(NULL, &list, &first, &error) == KILN_OK) {
            if (kiln__known_read(NULL, "again.yaml", first.data, first.length, &again, NULL) != KILN_OK)
                __builtin_trap();
            kiln__known_deduplicate(&again);
            if (again.count != list.count || kiln__known_print(NULL, &again, &second, NULL) != KILN_OK ||
                strcmp(first.data, second.data) != 0)
                __builtin_trap();
        }
    }
    kiln_error_free(error);
    kiln__text_free(&first);
    kiln__text_free(&second);
    kiln__known_free(&list);
    kiln__known_free(&again);
    return 0;
}
