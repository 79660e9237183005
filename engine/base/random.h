/* random.h - random numbers that are the same on every machine. */
#ifndef KILN_RANDOM_H
#define KILN_RANDOM_H

#include <stdint.h>

typedef struct kiln__random {
    uint64_t state;
} kiln__random;
/* Performs the last step of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014). The function is inline, because generators
 * call it for each number. */
static inline uint64_t kiln__random_mix(uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}
static inline uint64_t kiln__random_next(kiln__random *random)
{
    return kiln__random_mix(random->state += 0x9e3779b97f4a7c15u);
}
uint64_t kiln__random_below(kiln__random *random, uint64_t bound); /* bound >= 1 */
double kiln__random_unit(kiln__random *random);                    /* [0, 1) */
#endif
