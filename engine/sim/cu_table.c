/* The functions by name. The library that exports the real cu* names will be made from the same list. */
#include <string.h>

#include "sim/cu_internal.h"

void *kiln__sim_symbol(const char *name)
{
    static const struct { const char *name; void (*function)(void); } symbols[] = {
#define SIM_X(name) {#name, (void (*)(void))sim_##name},
        SIM_API_MAP(SIM_X)
#undef SIM_X
    };
    for (size_t i = 0; i < KILN__COUNT(symbols); i++)
        if (strcmp(symbols[i].name, name) == 0) {
            void *symbol;
            _Static_assert(sizeof symbol == sizeof symbols[i].function, "POSIX: both kinds of pointer are alike");
            memcpy(&symbol, &symbols[i].function, sizeof symbol);
            return symbol;
        }
    return NULL;
}
