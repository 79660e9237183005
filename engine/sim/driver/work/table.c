/* table.c - finds functions of the driver by name. The library that exports these functions
 * (programs/library/libcuda.c) is made from the same lists. */
#include <string.h>

#include "cu_objects.h"

static const sim_entry entries[] = {
#define SIM_X(name, since) {#name, since, (void (*)(void))sim_##name},
    SIM_API_MAP(SIM_X)
#undef SIM_X
#define SIM_X(symbol, name, since, function) {name, since, (void (*)(void))function},
        SIM_FORM_MAP(SIM_X)
#undef SIM_X
};

/* Returns the newest form of the function `name`, such as its _v2 form, that a program of CUDA `version` may get, or
 * NULL. Sets *exists to true if the function `name` has a form for any version. There are two lists of functions. All
 * forms of a name are in the same list. */
static const sim_entry *find_entry(const char *name, int version, bool *exists)
{
    const sim_entry *best = NULL;
    const sim_entry *const lists[] = {entries, sim_programs()->entries};
    const size_t counts[] = {KILN__COUNT(entries), sim_programs()->entry_count};
    *exists = false;
    for (size_t k = 0; k < KILN__COUNT(lists); k++)
        for (size_t i = 0; i < counts[k]; i++) {
            if (strcmp(lists[k][i].name, name) != 0)
                continue;
            *exists = true;
            if (lists[k][i].since <= version && (!best || lists[k][i].since > best->since))
                best = &lists[k][i];
        }
    return best;
}

static void *get_pointer(const sim_entry *found)
{
    void *symbol;
    _Static_assert(sizeof symbol == sizeof found->function, "POSIX: both kinds of pointer are alike");
    memcpy(&symbol, &found->function, sizeof symbol);
    return symbol;
}

/* Returns the form of a function to which cuda.h maps the name by a macro. This form is the first form of the name in
 * its list. Returns NULL if no function has this name. */
void *kiln__sim_symbol(const char *name)
{
    for (size_t i = 0; i < KILN__COUNT(entries); i++)
        if (strcmp(entries[i].name, name) == 0)
            return get_pointer(&entries[i]);
    const sim_programs_table *programs = sim_programs();
    for (size_t i = 0; i < programs->entry_count; i++)
        if (strcmp(programs->entries[i].name, name) == 0)
            return get_pointer(&programs->entries[i]);
    return NULL;
}

CUresult sim_cuGetProcAddress(const char *name, void **function, int version, cuuint64_t flags,
                              CUdriverProcAddressQueryResult *status)
{
    const cuuint64_t streams = CU_GET_PROC_ADDRESS_LEGACY_STREAM | CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
    if (!name || !function || version < 0 || (flags & ~streams) || flags == streams)
        return CUDA_ERROR_INVALID_VALUE;
    bool exists;
    const sim_entry *found = find_entry(name, version, &exists);
    *function = found ? get_pointer(found) : NULL;
    if (status)
        *status = found    ? CU_GET_PROC_ADDRESS_SUCCESS
                  : exists ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                           : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    return found || status ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

CUresult sim_cuGetProcAddress_v1(const char *name, void **function, int version, cuuint64_t flags)
{
    return sim_cuGetProcAddress(name, function, version, flags, NULL);
}

/* An export table has undocumented functions. The simulator has no such tables. NVIDIA's runtime library asks for
 * them. */
CUresult sim_cuGetExportTable(const void **table, const CUuuid *id)
{
#ifdef SIM_NVIDIA
    SIM_NVIDIA(__builtin_return_address(0));
#endif
    if (!table || !id)
        return CUDA_ERROR_INVALID_VALUE;
    *table = NULL;
    return CUDA_ERROR_NOT_FOUND;
}

const kiln__simulator kiln__sim_simulator = {
#define KILN_X(result, name, arguments) .name = kiln__sim_##name,
    KILN__SIMULATOR_MAP(KILN_X)
#undef KILN_X
};
