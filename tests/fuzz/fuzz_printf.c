/* The printf of kernels: calls of a grammar of valid and hostile formats, chosen by the bytes (tests/sim/print_grammar.h).
 * Each prints what the host's snprintf() prints, or the format as it is written. */
#include "print_grammar.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static grammar g;
    if (size > 4096)
        return 0;
    grammar_make(&g, data, size);
    const bool same = grammar_check(&g);
    kiln__text_free(&g.want);
    if (!same)
        abort();
    return 0;
}
