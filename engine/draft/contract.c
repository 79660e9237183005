/* contract.c - the key `judge` of the drafted spec: the sizes that another kernel for this spec must handle
 * (engine/judge/README.md).
 *
 * A trial run decides whether the kernel needs whole tiles. This run makes one size larger by one than in the set
 * `tiny`. If this run fails, or leaves a part of an output unwritten, the size must be a multiple of a power of two.
 * Without a trial run every size must be such a multiple, so that `kiln judge` never blames a right kernel. */
#include <string.h>

#include "draft.h"
#include "kiln_sim.h"

bool kiln__size_varies(const kiln__size *size) { return !size->fixed && size->tiny > 2 && size->whole >= size->tiny; }

/* Returns the largest power of two, at most 512, that divides both values of the size. */
static int64_t find_tile(const kiln__size *size)
{
    int64_t tile = 1;
    while (tile < 512 && size->tiny % (2 * tile) == 0 && size->whole % (2 * tile) == 0)
        tile *= 2;
    return tile;
}

/* The texts are equal to the results of kiln_check_text(), which is in a library that draft/ does not use. */
int kiln__keep_finding(void *user, const kiln_check_finding *finding)
{
    static const char *const texts[] = {
#define KILN_X(name, text) text,
        KILN_CHECK_MAP(KILN_X)
#undef KILN_X
    };
    const char **why = user;
    if (!finding->note && !*why && (unsigned)finding->kind < KILN_CHECK_KINDS)
        *why = texts[finding->kind];
    return 0;
}

kiln_status kiln__run_size(kiln_engine *engine, const kiln_spec *spec, const kiln__size *size, double seconds,
                           kiln_plan **plan, const char **finding, kiln_error **error)
{
    const kiln_setting odd = {size->name, {.kind = KILN_INT, .as.i = size->tiny + 1}};
    const kiln_choice choice = {.size_set = "tiny", .sizes = &odd, .size_count = 1};
    const kiln_run_options options = {.size = sizeof options,
                                      .flags = KILN_RUN_NO_MEASURE | KILN_RUN_CHECK,
                                      .sample_timeout = seconds,
                                      .check = kiln__keep_finding,
                                      .check_user = finding};
    const kiln_result *result = NULL;
    *finding = NULL;
    kiln_status status = kiln_plan_open(engine, spec, &choice, plan, error);
    return status == KILN_OK ? kiln_plan_run(*plan, &options, &result, error) : status;
}

void kiln__draft_write_contract(const kiln__draft *draft, kiln__text *out)
{
    bool first = true;
    for (size_t i = 0; i < draft->size_count; i++) {
        const kiln__size *size = &draft->sizes[i];
        const int64_t tile = size->any ? 1 : find_tile(size);
        if (!kiln__size_varies(size))
            continue;
        if (first)
            kiln__text_puts(
                out, "# The sizes that another kernel for this spec must handle under `kiln judge` (check: give the "
                     "sizes of your program).\n"
                     "# An input may have a range of values too: x: {from: -10, to: 10}.\n"
                     "judge:\n");
        first = false;
        kiln__text_printf(out, "  %s: {from: %lld, to: %lld", size->name, (long long)tile, (long long)size->whole);
        kiln__text_printf(out, tile > 1 ? ", multiple: %lld}" : "}", (long long)tile);
        if (size->why)
            kiln__text_printf(out, " # %s = %lld fails: %s", size->name, (long long)size->tiny + 1, size->why);
        kiln__text_puts(out, "\n");
    }
    kiln__text_puts(out, first ? "" : "\n");
}
