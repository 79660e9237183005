/* numbers.h - numbers of the types of cudaDataType as doubles, and back. */
#ifndef KILN_SIM_VENDOR_NUMBERS_H
#define KILN_SIM_VENDOR_NUMBERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { /* cudaDataType */
       R_32F = 0,
       R_64F = 1,
       R_16F = 2,
       R_8I = 3,
       C_32F = 4,
       C_64F = 5,
       R_32I = 10,
       R_16BF = 14,
       R_8F_E4M3 = 28,
       R_8F_E5M2 = 29
};

/* The bytes of a number; 0: the type is complex or unknown. */
size_t vendor_type_size(int type);
/* Returns true for the types that vendor_write() can write: all that have a size, except the types of 8 bits with a fraction. */
bool vendor_type_is_written(int type);
/* `at` is aligned for the type. */
double vendor_read(const void *at, int64_t index, int type);
/* Rounds to the nearest number, and from a tie to the even one. 32-bit integers wrap, and 8-bit integers saturate. The caller
 * has checked the type by vendor_type_is_written(). */
void vendor_write(void *at, int64_t index, int type, double value);

#endif
