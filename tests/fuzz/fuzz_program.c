/* Reads any bytes as the file of a program, from which `kiln sim run` takes facts. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "program.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    program p;
    program_read(&p, data, size);
    if ((p.kind == PROGRAM_DAMAGED || p.kind == PROGRAM_FOREIGN) != (p.wrong != NULL) ||
        memchr(p.runtime, 0, sizeof p.runtime) == NULL)
        abort();
    return 0;
}
