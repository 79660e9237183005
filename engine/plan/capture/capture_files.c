/* capture_files.c - names the files in the folder of a capture, and writes arrays to them. */
#include <string.h>

#include "calls_internal.h"
#include "capture.h"
#include "capture_internal.h"
#include "plan_internal.h"

const char *kiln__capture_path(kiln__capture *c, const char *file)
{
    return kiln__arena_printf(&c->arena, "%s/%s", c->work, file);
}

kiln_status kiln__capture_array(kiln__capture *c, const char *file, const kiln_array *array, kiln_error **error)
{
    const char *path = file ? kiln__capture_path(c, file) : NULL;
    return path ? kiln__npy_write(c->plan->mem, path, array, error) : kiln__fail_memory(error);
}

const char *kiln__capture_export_file(kiln__capture *c, size_t input, const kiln__export *export)
{
    const char *of = c->plan->variant->inputs[input].name;
    if (strspn(export->name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-") ==
            strlen(export->name) &&
        strlen(export->name) < 100)
        return kiln__arena_printf(&c->arena, "%s.%s.npy", of, export->name);
    unsigned number = 0;
    for (const kiln__export *at = c->plan->inputs[input].entry->values; at && at != export; at = at->next)
        number++;
    return kiln__arena_printf(&c->arena, "%s.export-%u.npy", of, number);
}

bool kiln__capture_taken(const kiln__capture *c, const kiln__export *export)
{
    for (size_t i = 0; i < c->taken_count; i++)
        if (c->taken[i] == export)
            return true;
    return false;
}
