/* Reads any text as a .pqr or .xyz file. The result is atoms with finite numbers, which are the same at each read, or
 * an error with a reason. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "atoms.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define WANT(condition)                                                                                                \
    do {                                                                                                               \
        if (!(condition))                                                                                              \
            abort();                                                                                                   \
    } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1); /* exactly as large as the text and its end */
    if (!text)
        return 0;
    if (size)
        memcpy(text, data, size);
    text[size] = '\0';
    kiln__atoms atoms, again;
    kiln_error *error = NULL;
    kiln_status status = kiln__atoms_parse(NULL, "input", text, size, &atoms, &error);
    WANT((status == KILN_OK) == (error == NULL));
    if (status == KILN_OK) {
        for (size_t i = 0; i < atoms.count; i++)
            for (int k = 0; k < 4; k++)
                WANT(isfinite(atoms.items[i][k]));
        WANT(kiln__atoms_parse(NULL, "input", text, size, &again, NULL) == KILN_OK && again.count == atoms.count);
        WANT(atoms.count == 0 || memcmp(again.items, atoms.items, atoms.count * sizeof *atoms.items) == 0);
        kiln__atoms_free(NULL, &again);
    } else {
        WANT(!atoms.items && strncmp(kiln_error_message(error), "input", 5) == 0);
    }
    kiln__atoms_free(NULL, &atoms);
    kiln_error_free(error);
    free(text);
    return 0;
}
