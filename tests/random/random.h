/* random.h - random kernels: the same PTX for the same seed, everywhere. */
#ifndef RANDOM_KERNELS_H
#define RANDOM_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    RANDOM_INPUTS = 1024, /* 32-bit words that every kernel reads */
    RANDOM_CELLS = 64,    /* 32-bit words that all threads update with operations whose order does not matter */
    RANDOM_WORDS = 40,    /* 64-bit words of output for each thread */
    RANDOM_THREADS_MOST = 3 * 128
};

typedef struct random_kernel {
    char *text; /* PTX with one entry `k(in, out, cells)`, which has three global pointers; the caller frees the text */
    unsigned grid, block[3];
    unsigned statements; /* number of statements at the top level of the kernel's body */
} random_kernel;

/* Makes the kernel of a seed. Leaves out all top-level statements of its body after the first `most` ones, which helps
 * to make a failing kernel smaller. If memory runs out, exits with a message, because only test programs call it. */
void random_kernel_make(uint64_t seed, unsigned most, random_kernel *kernel);

/* xorshift64*, S. Vigna, "An experimental exploration of Marsaglia's xorshift generators, scrambled" (2016). */
uint64_t random_next(uint64_t *state);
#endif
