/* random.c - makes random numbers that are the same on every machine. */
#include "random.h"

__extension__ typedef unsigned __int128 wide;

/* the method of Lemire (TOMACS 2019), which almost never divides */
uint64_t kiln__random_below(kiln__random *random, uint64_t bound)
{
    wide product = (wide)kiln__random_next(random) * bound;
    if ((uint64_t)product < bound) {
        /* 2^64 mod bound; values below this number are rejected, because otherwise some results would be more likely
         * than others */
        uint64_t least = -bound % bound;
        while ((uint64_t)product < least)
            product = (wide)kiln__random_next(random) * bound;
    }
    return (uint64_t)(product >> 64);
}

double kiln__random_unit(kiln__random *random) { return (double)(kiln__random_next(random) >> 11) * 0x1p-53; }
