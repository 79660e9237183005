/* random.h - random numbers that are the same everywhere. */
#ifndef KILN_RANDOM_H
#define KILN_RANDOM_H

#include <stdint.h>

typedef struct kiln__random {
    uint64_t state;
} kiln__random;
uint64_t kiln__random_next(kiln__random *random);
uint64_t kiln__random_below(kiln__random *random, uint64_t bound); /* bound >= 1 */
double kiln__random_unit(kiln__random *random);                    /* [0, 1) */
uint64_t kiln__random_mix(uint64_t x);                             /* SplitMix64's last step */
#endif
