/* Reads any bytes as a CUDA source: its words, and the guesses about each kernel without a compiler. */
#include "draft.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    kiln__arena arena = {0};
    kiln__scan scan;
    kiln__text out = {0};
    if (kiln__scan_source(&arena, (const char *)data, size, size, &scan, NULL) == KILN_OK) {
        for (size_t i = 0; i < scan.kernel_count && i < 4; i++) {
            kiln__draft *draft = kiln__arena_alloc(&arena, sizeof *draft);
            if (!draft)
                break;
            *draft = (kiln__draft){.arena = &arena,
                                   .path = "fuzz.cu",
                                   .shown = "fuzz.cu",
                                   .name = "fuzz",
                                   .source = "fuzz.cu",
                                   .scan = &scan,
                                   .kernel = &scan.kernels[i]};
            kiln__guess_macros(draft);
            kiln__host_find(draft);
            kiln__host_choose(draft, 0, NULL);
            kiln__guess_templates(draft);
            if (kiln__guess_arguments(draft, NULL) != KILN_OK)
                continue;
            for (size_t k = 0; k < draft->argument_count; k++)
                /* Only the compiler can tell the roles of these arguments, so the target sets one. */
                if (draft->arguments[k].odd && draft->arguments[k].role != KILN__ROLE_BUFFER) {
                    draft->arguments[k].role = KILN__ROLE_STRUCT;
                    draft->arguments[k].type = NULL;
                    draft->arguments[k].bytes = size % 64 + 1;
                }
            kiln__guess_structs(draft);
            kiln__guess_symbols(draft);
            kiln__guess_sizes(draft);
            if (!kiln__host_apply(draft))
                kiln__guess_launch(draft);
            kiln__fit_block(draft);
            kiln__guess_shapes(draft);
            kiln__draft_write(draft, &out);
        }
    }
    kiln__draft_argument argument = {0};
    kiln__probe_type((const char *)data, size < 16 ? size : 16, &argument);
    kiln__text_free(&out);
    kiln__arena_free(&arena);
    return 0;
}
