/* arrays.h - helpers that the suites of host arrays share. */
#ifndef TEST_ARRAYS_H
#define TEST_ARRAYS_H

#include "check.h"
#include "data.h"

static inline kiln_array make(kiln_type type, int dims, uint64_t a, uint64_t b)
{
    kiln_array array = {0};
    kiln_error *error = NULL;
    const uint64_t shape[2] = {a, b};
    CHECK_OK(kiln__array_make(NULL, type, dims, shape, &array, &error), error);
    return array;
}

static inline void fill(kiln_array *array, kiln__fill_values values)
{
    kiln_error *error = NULL;
    CHECK_OK(kiln__array_fill(array, &values, NULL, &error), error);
}

static inline void fill_fails(kiln_type type, kiln__fill_values values, const char *message)
{
    kiln_array array = make(type, 1, 10, 0);
    kiln_error *error = NULL;
    CHECK(kiln__array_fill(&array, &values, NULL, &error) == KILN_ERROR_ARGUMENT);
    CHECK_TEXT(kiln_error_message(error), message);
    kiln_error_free(error);
    kiln__array_free(NULL, &array);
}

#endif
