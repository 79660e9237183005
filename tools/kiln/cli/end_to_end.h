/* end_to_end.h - what the host does before the first repetition, and after how many repetitions that pays. */
#ifndef KILN_CLI_END_TO_END_H
#define KILN_CLI_END_TO_END_H

#include "cli.h"

typedef struct whole_cost {
    const char *variant;
    const char *functions; /* as input_functions of a result */
    double inputs, copy;   /* seconds, once */
    double repetition;     /* seconds of one */
} whole_cost;

whole_cost whole_cost_of(const char *variant, const kiln_result *result);
double whole_cost_sum(const whole_cost *cost, uint64_t repetitions);
/* Of the costs whose inputs take least, the one with the shortest repetition: what the others are compared with. */
const whole_cost *whole_cost_plain(const whole_cost *costs, size_t count);
/* The least number of repetitions with which `cost` is below `plain`; 0: there is none. */
uint64_t whole_cost_pays(const whole_cost *cost, const whole_cost *plain);
const char *whole_cost_pays_text(const whole_cost *cost, const whole_cost *plain); /* "from 4,210 on" */

const char *whole_cost_functions(const char *functions);    /* "sparse_matrix 1.2 s, sparse_sell 31 ms" */
bool whole_cost_any(const whole_cost *costs, size_t count); /* whether the host makes inputs for any */
/* A table of the best of each variant. `timed`: repetitions have a time of the device, so sums mean something. */
void whole_cost_text(const whole_cost *costs, size_t count, bool timed);
json_t *whole_cost_json(const whole_cost *costs, size_t count, bool timed);

#endif
