/* Reads any bytes as a .npy file. The result is an array whose bytes can all be read, or an error with a message. */
#include <string.h>

#include "data.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    kiln_array array;
    kiln_error *error = NULL;
    if (kiln__npy_parse(NULL, "fuzz.npy", data, size, 1 << 20, &array, &error) == KILN_OK) {
        uint64_t bytes = 0;
        if (!kiln__array_bytes(array.type, array.dims, array.shape, &bytes) || bytes > 1 << 20)
            __builtin_trap();
        kiln__hash(array.data, (size_t)bytes);
        kiln__difference difference;
        kiln__array_compare("fuzz", &array, &array, true, 0, 0, &difference);
        if (difference.wrong)
            __builtin_trap();
        kiln__array_free(NULL, &array);
    } else if (!*kiln_error_message(error)) {
        __builtin_trap();
    }
    kiln_error_free(error);
    return 0;
}
