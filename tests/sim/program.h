/* program.h - shared by the test programs for the driver API, which know nothing of Kiln. */
#ifndef TEST_SIM_PROGRAM_H
#define TEST_SIM_PROGRAM_H

#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>

/* Ends the program if the call fails. */
#define TRY(call)                                                                                                      \
    do {                                                                                                               \
        CUresult result_ = (call);                                                                                     \
        const char *name_ = "?";                                                                                       \
        if (result_ != CUDA_SUCCESS) {                                                                                 \
            cuGetErrorName(result_, &name_);                                                                           \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, name_);                                      \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

/* Counts a failed condition, prints its line, and continues. */
static int wrong;
static inline void check_line(int line, int right, const char *what)
{
    if (!right) {
        printf("line %d: %s\n", line, what);
        wrong++;
    }
}
#define CHECK(condition) check_line(__LINE__, (condition), #condition)
#define OK(call) CHECK((call) == CUDA_SUCCESS)
#define IS(call, error) CHECK((call) == (error))

#endif
