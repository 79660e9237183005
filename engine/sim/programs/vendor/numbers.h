/* numbers.h - numbers of the types of cudaDataType as doubles, and back; complex numbers. */
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
       C_16F = 6,
       R_32I = 10,
       R_16BF = 14,
       C_16BF = 15,
       R_8F_E4M3 = 28,
       R_8F_E5M2 = 29
};

/* Returns the bytes of a number, or 0 if the type is complex or unknown. */
size_t vendor_type_size(int type);
/* Returns true for the types that vendor_write() can write: all types that vendor_type_size() knows, except fp8. */
bool vendor_type_is_written(int type);
/* Returns the number `index` of an array. `at` must be aligned for the type. */
double vendor_read(const void *at, int64_t index, int type);
/* Writes a number, rounded to the nearest value of the type, and a tie to the even value. 32-bit integers wrap, and
 * 8-bit integers saturate. The caller must have checked the type with vendor_type_is_written(). */
void vendor_write(void *at, int64_t index, int type, double value);

/* ---- complex numbers; a number of a real type has no imaginary part ---- */

typedef struct vendor_number {
    double re, im;
} vendor_number;

/* Returns the real type of a complex type's parts, or -1 if the type is not complex. */
int vendor_part_type(int type);
/* Returns the bytes of a real or complex number, or 0 if the type is unknown. */
size_t vendor_number_size(int type);
vendor_number vendor_read_number(const void *at, int64_t index, int type);
void vendor_write_number(void *at, int64_t index, int type, vendor_number value);
vendor_number vendor_divide(vendor_number a, vendor_number b);

static inline vendor_number vendor_add(vendor_number a, vendor_number b)
{
    return (vendor_number){a.re + b.re, a.im + b.im};
}

static inline vendor_number vendor_subtract(vendor_number a, vendor_number b)
{
    return (vendor_number){a.re - b.re, a.im - b.im};
}

/* A product of real numbers has no imaginary part, even if one of them is infinite. The complex formula would compute 0
 * times infinity, which is NaN. */
static inline vendor_number vendor_multiply(vendor_number a, vendor_number b)
{
    return a.im == 0 && b.im == 0 ? (vendor_number){a.re * b.re, 0}
                                  : (vendor_number){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

static inline vendor_number vendor_conjugate(vendor_number a) { return (vendor_number){a.re, -a.im}; }

#endif
