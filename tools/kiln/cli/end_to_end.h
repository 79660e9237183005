/* end_to_end.h - the costs of a variant's inputs on the host, and the number of repetitions from which on they pay
 * off. */
#ifndef KILN_CLI_END_TO_END_H
#define KILN_CLI_END_TO_END_H

#include "cli.h"

typedef struct whole_cost {
    const char *variant;
    const char *functions; /* like input_functions of a result */
    double inputs, copy;   /* seconds, once for all repetitions */
    double repetition;     /* seconds of one repetition */
} whole_cost;

whole_cost whole_cost_of(const char *variant, const kiln_result *result);
double whole_cost_sum(const whole_cost *cost, uint64_t repetitions);
/* Returns the cost with which all other costs are compared. Its inputs take the least time. If several costs have this
 * time, it has the shortest repetition. */
const whole_cost *whole_cost_plain(const whole_cost *costs, size_t count);
/* Returns the least number of repetitions for which `cost` takes less time than `plain`, or 0 if there is no such
 * number. */
uint64_t whole_cost_pays(const whole_cost *cost, const whole_cost *plain);
const char *whole_cost_pays_text(const whole_cost *cost, const whole_cost *plain); /* "from 4,210 on" */

const char *whole_cost_functions(const char *functions);    /* "sparse_matrix 1.2 s, sparse_sell 31 ms" */
bool whole_cost_any(const whole_cost *costs, size_t count); /* true if the host makes inputs for some variant */
/* Prints a table with the best of each variant. If `timed` is true, repetitions have a time of the device, so the sum
 * is meaningful. */
void whole_cost_text(const whole_cost *costs, size_t count, bool timed);
json_t *whole_cost_json(const whole_cost *costs, size_t count, bool timed);

#endif
