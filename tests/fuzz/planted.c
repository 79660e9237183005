/* planted.c - a fuzz target with an error behind four bytes, of the kind that KILN_FUZZ_PLANT names (planted.sh). Only a
 * fuzzer that sees which code an input reaches finds the bytes one after the other. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile double large = 1e300;
static volatile int most = 0x7fffffff;
static volatile unsigned char *volatile kept;

static void fail(const char *kind, size_t size)
{
    if (strcmp(kind, "address") == 0) {
        kept = calloc(size, 1);
        if (kept)
            kept[size] = 1;
    } else if (strcmp(kind, "leak") == 0) {
        kept = malloc(size + 100);
        kept = NULL;
    } else if (strcmp(kind, "overflow") == 0) {
        most = most + 1;
    } else if (strcmp(kind, "cast") == 0) {
        most = (int)large;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *kind = getenv("KILN_FUZZ_PLANT");
    if (kind && size > 3 && data[0] == 'k')
        if (data[1] == 'i')
            if (data[2] == 'l')
                if (data[3] == 'n')
                    fail(kind, size);
    return 0;
}
