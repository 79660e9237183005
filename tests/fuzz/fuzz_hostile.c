/* Makes the kernels of tests/hostile. The bytes choose the instruction, its form, and the operands. A kernel ends with
 * success or a fault, and the memory that it must not change stays the same. */
#include <stdlib.h>

#include "hostile.h"

const char *__asan_default_options(void);
const char *__asan_default_options(void) { return "quarantine_size_mb=8:malloc_context_size=6"; }

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { SETS = 8 };
    static hostile_counts counts;
    hostile_source source = {.state = size, .data = data, .left = size};
    const hostile_wish wish = {.op = PTX_OP_COUNT,
                               .function = UINT32_MAX,
                               .form = -1,
                               .engine = size % 4 == 3 ? HOSTILE_CHECKS : HOSTILE_INTERPRETER,
                               .often = 1,
                               .sets = SETS};
    if (!hostile_run(&source, &wish, &counts))
        abort();
    return 0;
}
