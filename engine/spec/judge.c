/* judge.c - reads `judge:`, the assumptions of a judged kernel about sizes and inputs. */
#include <math.h>
#include <string.h>

#include "read.h"

enum { ALIGN_MOST = 256 }; /* in bytes; CUDA aligns every allocation to at least 256 bytes */

/* Reads a constant number of the spec. If `whole` is true, the number must be an integer of at most 53 bits. Returns
 * false after it has reported an error. */
static bool read_number(kiln__reader *r, const kiln__spec_node *node, const char *what, bool whole, double *number)
{
    kiln_value value = {0};
    if (!kiln__read_value(r, node, what, &value))
        return false;
    *number = value.kind == KILN_FLOAT ? value.as.f : (double)value.as.i;
    const bool fits = value.kind == KILN_INT && value.as.i >= -((int64_t)1 << 53) && value.as.i <= (int64_t)1 << 53;
    if (whole ? fits : (value.kind == KILN_INT || value.kind == KILN_FLOAT) && isfinite(*number))
        return true;
    kiln__diag_add(r->diag, node->pos, whole ? "%s must be an integer" : "%s must be a number", what);
    return false;
}

static const kiln__buffer *find_buffer(const kiln__buffer *buffers, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (buffers[i].name && strcmp(buffers[i].name, name) == 0)
            return &buffers[i];
    return NULL;
}

/* Reports the key whose value is `node`, because the size or the buffer cannot have this key. Does nothing if `node` is
 * NULL, because then the spec does not have the key. */
static void refuse(kiln__reader *r, const kiln__spec_node *node, const char *text)
{
    if (node)
        kiln__diag_add(r->diag, node->pos, "%s", text);
}

/* Reads the assumption about one size or one buffer. A size has a range of whole numbers from 0 on, and may have a
 * number of which it is a multiple. A buffer may have a range of values, an alignment and special values. */
static void read_one(kiln__reader *r, const kiln__spec_node *map, bool integers, kiln__assumption *out)
{
    KILN__KEYS_assumption(KILN__NODE) double number;
    const bool whole = out->of_size || integers;
    if (!kiln__read_map(r, map, KILN__MAPPING_assumption))
        return;
    out->has_from = from_ && read_number(r, from_, "'from'", whole, &out->from);
    out->has_to = to_ && read_number(r, to_, "'to'", whole, &out->to);
    if (multiple_ && read_number(r, multiple_, "'multiple'", true, &number)) {
        if (number >= 1)
            out->multiple = (uint64_t)number;
        else
            refuse(r, multiple_, "'multiple' must be at least 1");
    }
    if (align_ && read_number(r, align_, "'align'", true, &number)) {
        const bool power = number >= 1 && number <= ALIGN_MOST && ((uint64_t)number & ((uint64_t)number - 1)) == 0;
        if (power)
            out->align = (uint64_t)number;
        else
            refuse(r, align_, "'align' must be a power of two from 1 to 256");
    }
    if (special_)
        kiln__read_bool(r, special_, "'special'", &out->special);
    if (out->of_size) {
        refuse(r, align_, "a size has no alignment; 'align' belongs to a buffer");
        refuse(r, special_, "a size has no special values; 'special' belongs to a buffer");
    } else {
        refuse(r, multiple_, "a buffer has no 'multiple'; 'multiple' belongs to a size");
        if (integers)
            refuse(r, special_, "integers have no special values");
    }
    if (!from_ != !to_)
        kiln__diag_add(r->diag, out->pos, "'%s' has only one end of a range; give both, `from` and `to`", out->name);
    else if (out->has_from && out->has_to && out->from > out->to)
        kiln__diag_add(r->diag, out->pos, "the range of '%s' is empty: `from` is greater than `to`", out->name);
    else if (out->of_size && out->has_from && out->from < 0)
        kiln__diag_add(r->diag, out->pos, "the size '%s' cannot be negative", out->name);
}

/* Reads `streams: {to: 2}`: the number of calls of the kernel that may run at the same time. */
static void read_streams(kiln__reader *r, const kiln__spec_node *map)
{
    KILN__KEYS_assumption(KILN__NODE) double number;
    static const char only[] = "'streams' has only `to`, the number of calls that may run at the same time";
    if (!kiln__read_map(r, map, KILN__MAPPING_assumption))
        return;
    refuse(r, from_, only);
    refuse(r, multiple_, only);
    refuse(r, align_, only);
    refuse(r, special_, only);
    if (!to_)
        refuse(r, map, only);
    else if (read_number(r, to_, "'to'", true, &number) && number < 1)
        refuse(r, to_, "'to' must be at least 1");
    else if (to_ && number >= 1)
        r->spec->streams = (uint64_t)number;
}

static bool has_size(const kiln_spec *spec, const char *name)
{
    const kiln__settings *settings = &spec->size_sets[0].settings;
    for (size_t i = 0; i < settings->count; i++)
        if (strcmp(settings->items[i].name, name) == 0)
            return true;
    return false;
}

void kiln__read_judge(kiln__reader *r, const kiln__spec_node *map, const kiln__buffer *buffers, size_t buffer_count)
{
    const size_t count = kiln__read_entries(r, map, "'judge'");
    kiln_spec *spec = r->spec;
    spec->streams = 1;
    spec->assumptions = count ? kiln__read_array(r, count, sizeof *spec->assumptions) : NULL;
    for (size_t i = 0; spec->assumptions && i < count; i++) {
        kiln__assumption *out = &spec->assumptions[spec->assumption_count++];
        *out = (kiln__assumption){.name = kiln__arena_strdup(r->arena, map->keys[i]->text),
                                  .pos = map->keys[i]->pos,
                                  .multiple = 1,
                                  .align = ALIGN_MOST};
        if (!out->name)
            return;
        const kiln__buffer *buffer = find_buffer(buffers, buffer_count, out->name);
        out->of_size = !buffer && spec->size_set_count && has_size(spec, out->name);
        const bool integers = buffer && buffer->type_known && !buffer->type_expr && buffer->type < KILN_f16;
        if (!buffer && !out->of_size && strcmp(out->name, "streams") == 0) {
            spec->assumption_count--;
            read_streams(r, map->items[i]);
        } else if (!buffer && !out->of_size)
            kiln__diag_add(r->diag, out->pos, "'judge' names '%s', which is neither a size nor a buffer of the spec",
                           out->name);
        else
            read_one(r, map->items[i], integers, out);
    }
}
