/* end_to_end.h - the host's costs of a variant's inputs, and the number of repetitions from which on they pay off. */
#ifndef KILN_CLI_END_TO_END_H
#define KILN_CLI_END_TO_END_H

#include "cli.h"

typedef struct whole_cost {
    const char *variant;
    const char *functions; /* the host functions with their times, in the form of input_functions of a kiln_result */
    double inputs, copy;   /* seconds for computing and for copying the inputs, paid once for all repetitions */
    double repetition;     /* seconds of one repetition */
} whole_cost;

whole_cost whole_cost_of(const char *variant, const kiln_result *result);
double whole_cost_sum(const whole_cost *cost, uint64_t repetitions);
/* Returns the cost with which all other costs are compared. The inputs of this variant take the least time. If several
 * variants have this time, the function returns the variant with the shortest repetition. */
const whole_cost *whole_cost_plain(const whole_cost *costs, size_t count);
/* Returns the least number of repetitions for which `cost` takes less time than `plain`, or 0 if there is no such
 * number. */
uint64_t whole_cost_pays(const whole_cost *cost, const whole_cost *plain);
const char *whole_cost_pays_text(const whole_cost *cost, const whole_cost *plain); /* "from 4,210 on" */

/* the functions and their times for people: "sparse_matrix 1.2 s, sparse_sell 31 ms" */
const char *whole_cost_functions(const char *functions);
bool whole_cost_any(const whole_cost *costs, size_t count); /* true if the host makes inputs for some variant */
/* Prints a table with the costs of the best configuration of each variant. If `timed` is true, the times of repetitions
 * are times of the device, so a sum with the host's times is meaningful. */
void whole_cost_text(const whole_cost *costs, size_t count, bool timed);
json_t *whole_cost_json(const whole_cost *costs, size_t count, bool timed);

#endif
