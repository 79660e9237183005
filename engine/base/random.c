/* random.c - random numbers that are the same everywhere. */
#include "random.h"

__extension__ typedef unsigned __int128 wide;

uint64_t kiln__random_below(kiln__random *random, uint64_t bound) /* Lemire, TOMACS 2019: almost never divides */
{
    wide product = (wide)kiln__random_next(random) * bound;
    if ((uint64_t)product < bound) {
        uint64_t least = -bound % bound; /* 2^64 mod bound: below it, some numbers would be more likely than others */
        while ((uint64_t)product < least)
            product = (wide)kiln__random_next(random) * bound;
    }
    return (uint64_t)(product >> 64);
}

double kiln__random_unit(kiln__random *random) { return (double)(kiln__random_next(random) >> 11) * 0x1p-53; }
