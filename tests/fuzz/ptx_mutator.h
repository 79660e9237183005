/* ptx_mutator.h - mutations of PTX text for libFuzzer, of which most still parse. */
#ifndef KILN_FUZZ_PTX_MUTATOR_H
#define KILN_FUZZ_PTX_MUTATOR_H

#include <stddef.h>
#include <stdint.h>

/* Mutates a text. LLVMFuzzerCustomMutator() has the same arguments and the same result. */
size_t ptx_mutate(uint8_t *data, size_t size, size_t most, unsigned seed);

#endif
