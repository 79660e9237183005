/* edges.c - counters for libFuzzer. They say which blocks of gcc's code an input reaches.
 *
 * With -fsanitize-coverage=trace-pc gcc calls the function __sanitizer_cov_trace_pc in each block. The function of this name in
 * libFuzzer ends the process. So the linker gives the calls to this file, with its option --wrap. libFuzzer reads an array of
 * counters after each input. A place in the code gets its counter when it is reached for the first time, which keeps the array
 * short. */
#include <stdint.h>
#include <stdlib.h>

/* no target reaches more places than this; further places would share the last counter */
enum { COUNTERS = 1 << 14 };
enum { CALL = 4, PLACES = 1 << 22 }; /* a call has five bytes, so two places are never in the same four */

static uint8_t counters[COUNTERS];
static struct {
    uintptr_t address, flags;
} places[COUNTERS]; /* the place of each counter in the code, which libFuzzer prints */
static uint32_t counter_of[PLACES], counters_used;

extern const char __executable_start; /* from the linker */
void __sanitizer_cov_8bit_counters_init(uint8_t *begin, uint8_t *end);
void __sanitizer_cov_pcs_init(const uintptr_t *begin, const uintptr_t *end);
void __wrap___sanitizer_cov_trace_pc(void);

__attribute__((constructor)) static void give_counters(void)
{
    __sanitizer_cov_8bit_counters_init(counters, counters + COUNTERS);
    __sanitizer_cov_pcs_init(&places[0].address, &places[COUNTERS].address);
}

void __wrap___sanitizer_cov_trace_pc(void)
{
    const uintptr_t address = (uintptr_t)__builtin_return_address(0);
    const uintptr_t place = (address - (uintptr_t)&__executable_start) / CALL;
    if (place >= PLACES)
        abort();
    uint32_t counter = counter_of[place];
    if (!counter) {
        counter = __atomic_add_fetch(&counters_used, 1, __ATOMIC_RELAXED);
        if (counter >= COUNTERS)
            counter = COUNTERS - 1;
        counter_of[place] = counter;
        places[counter].address = address;
    }
    counters[counter]++;
}
