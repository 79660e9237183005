/* join.c - adds sim/programs to the driver: functions that programs find by name, and functions that the driver
 * calls. */
#include "cu_graph.h"

static const sim_entry program_entries[] = {
#define SIM_X(name, since) {#name, since, (void (*)(void))sim_##name},
    SIM_PROGRAMS_API_MAP(SIM_X)
#undef SIM_X
#define SIM_X(name, since, function) {#name, since, (void (*)(void))function},
        SIM_PROGRAMS_ALIAS_MAP(SIM_X)
#undef SIM_X
#define SIM_X(symbol, name, since, function) {name, since, (void (*)(void))function},
            SIM_PROGRAMS_FORM_MAP(SIM_X)
#undef SIM_X
};

const sim_programs_table sim_all_programs = {.entries = program_entries,
                                             .entry_count = KILN__COUNT(program_entries),
#define SIM_X(result, name, arguments) .name = sim_##name,
                                             SIM_PROGRAMS_CALLS(SIM_X)
#undef SIM_X
};

void kiln__sim_add_programs(void) { sim_programs_set(&sim_all_programs); }
