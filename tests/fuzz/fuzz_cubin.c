/* Reads any bytes as a cubin. The facts about its kernels must be complete, and the occupancy must follow from them. */
#include <stdlib.h>
#include <string.h>

#include "compile.h"

#define WANT(condition)                                                                                                \
    do {                                                                                                               \
        if (!(condition))                                                                                              \
            abort();                                                                                                   \
    } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { MOST = 1 << 18 };
    static const int arch[] = {75, 80, 90, 120};
    kiln__cubin_kernel *kernels = NULL;
    kiln_error *error = NULL;
    size_t count = 0;
    if (size > MOST)
        return 0;
    kiln_status status = kiln__cubin_kernels(NULL, data, size, &kernels, &count, &error);
    WANT((status == KILN_OK) == (error == NULL));
    WANT(status == KILN_OK || (!kernels && count == 0 && *kiln_error_message(error)));
    for (size_t i = 0; i < count; i++) {
        kiln__occupancy occupancy = {0};
        WANT(memchr(kernels[i].symbol, '\0', sizeof kernels[i].symbol) != NULL);
        if (i < 4 && kiln__occupancy_of(NULL, arch[i], &kernels[i], 128, 0, &occupancy, NULL) == KILN_OK)
            WANT(occupancy.blocks_per_sm >= 0 && occupancy.occupancy >= 0 && occupancy.occupancy <= 1 &&
                 occupancy.limited_by);
    }
    kiln__free(NULL, kernels);
    kiln_error_free(error);
    return 0;
}
