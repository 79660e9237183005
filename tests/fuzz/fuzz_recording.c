/* Reads any bytes as a recorded space. The result is a space whose rows can all be found and searched, or an error with
 * a message. */
#include <math.h>

#include "score.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Parses the bytes as a recorded space. A recording that parses must be consistent, and an error must have a message. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct kiln_recording *r = NULL;
    kiln_error *error = NULL;
    if (kiln__recording_parse(NULL, "fuzz.json", data, size, &r, &error) != KILN_OK) {
        if (!*kiln_error_message(error))
            __builtin_trap();
        kiln_error_free(error);
        return 0;
    }
    size_t failed = 0;
    for (size_t n = 0; n < r->row_count; n++) {
        if (kiln__recording_find_row(r, r->coords + n * r->points.width) != &r->rows[n])
            __builtin_trap();
        for (size_t i = 0; i < r->param_count; i++)
            if (r->rows[n].positions[i] >= r->params[i].count)
                __builtin_trap();
        failed += r->rows[n].failure != NULL;
        if ((r->rows[n].failure != NULL) != (r->rows[n].seconds == HUGE_VAL) ||
            !(kiln__recording_row_cost(&r->rows[n]) >= 0))
            __builtin_trap();
    }
    if (r->row_count == 0 || failed != r->failed)
        __builtin_trap();
    kiln__replay *replay = NULL;
    const kiln__recording_row *row;
    double clock;
    if (kiln__replay_open(r, kiln__strategy_find(NULL), size, &replay, NULL) != KILN_OK)
        __builtin_trap();
    for (size_t n = 0; n < 40; n++)
        if (kiln__replay_next(replay, &row, &clock, NULL) != KILN_OK || (row == NULL) != (n >= r->row_count))
            __builtin_trap();
    kiln__replay_free(replay);
    kiln_recording_free(r);
    return 0;
}
