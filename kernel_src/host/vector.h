/* vector.h - computes with four doubles at once, by the vector types of the compilers. References that sum charge /
 * distance use this. */
#ifndef KILN_REFERENCE_VECTOR_H
#define KILN_REFERENCE_VECTOR_H

#include <stdint.h>

enum { KILN__LANES = 4 };

typedef double kiln__vector __attribute__((vector_size(KILN__LANES * sizeof(double))));
typedef uint64_t kiln__words __attribute__((vector_size(KILN__LANES * sizeof(uint64_t))));

/* Replaces *x by 1 / sqrt(*x), with a relative error below 1e-10. The first estimate halves the exponent. Three Newton
 * steps follow. A square root and a division would take three times as long. A number below the normal numbers of
 * single precision counts as 0, and its result is infinite. A number above the numbers of single precision counts as
 * infinite, and its result is 0. */
static inline __attribute__((always_inline)) void kiln__inverse_root(kiln__vector *x)
{
    const uint64_t infinity = UINT64_C(0x7ff) << 52;
    kiln__words near = (kiln__words)(*x < 0x1p-126), far = (kiln__words)(*x >= 0x1p128);
    kiln__words bits = 0x5fe6eb50c7b537a9 - ((kiln__words)*x >> 1);
    kiln__vector y = (kiln__vector)bits, half = 0.5 * *x;
    y *= 1.5 - half * y * y;
    y *= 1.5 - half * y * y;
    y *= 1.5 - half * y * y;
    *x = (kiln__vector)((((kiln__words)y & ~near) | (infinity & near)) & ~far);
}
#endif
