/* Tests printf of kernels. The bytes choose calls from a grammar of valid and hostile formats
 * (tests/sim/print_grammar.h). Each call prints the same text as the host's snprintf(), or the format unchanged. */
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
