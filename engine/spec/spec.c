/* spec.c - the public functions that describe a loaded spec, and look-up functions for other folders of the engine. */
#include <string.h>

#include "spec.h"

const kiln__variant *kiln__spec_variant(const kiln_spec *spec, const char *name)
{
    int index = kiln_spec_variant_find(spec, name);
    return index < 0 ? NULL : &spec->variants[index];
}

const kiln__param *kiln__variant_param(const kiln__variant *variant, const char *name)
{
    for (size_t i = 0; i < variant->param_count; i++)
        if (strcmp(variant->params[i].name, name) == 0)
            return &variant->params[i];
    return NULL;
}

const kiln__named_expr *kiln__variant_let(const kiln__variant *variant, const char *name)
{
    for (size_t i = 0; i < variant->let_count; i++)
        if (strcmp(variant->lets[i].name, name) == 0)
            return &variant->lets[i];
    return NULL;
}

void kiln__tolerance_of(const kiln__verify *verify, const kiln__variant *variant, const kiln__expr **rtol,
                        const kiln__expr **atol)
{
    *rtol = verify->rtol;
    *atol = verify->atol;
    for (size_t i = 0; i < variant->tolerance_count; i++)
        if (strcmp(variant->tolerances[i].buffer, verify->buffer) == 0) {
            *rtol = variant->tolerances[i].rtol;
            *atol = variant->tolerances[i].atol;
        }
}

const kiln__buffer *kiln__variant_buffer(const kiln__variant *variant, const char *name)
{
    for (size_t i = 0; i < variant->buffer_count; i++)
        if (strcmp(variant->buffers[i].name, name) == 0)
            return &variant->buffers[i];
    return NULL;
}

/* Describes the shape and the type of a buffer that takes them from its data. */
static void describe_buffer(kiln__arena *arena, const kiln__variant *variant, const kiln__buffer *b,
                            kiln_buffer_info *info)
{
    *info = (kiln_buffer_info){.name = b->name,
                               .type = b->type,
                               .shape = b->shape_text,
                               .output = b->out,
                               .type_text = b->type_expr ? kiln__expr_text(b->type_expr) : NULL};
    if (!b->type_known && !b->type_expr)
        info->type_text = kiln__arena_printf(arena, "from %s", b->fill.text);
    if (b->dims >= 0)
        return;
    info->shape = "as in the file";
    size_t root = b->fill.kind == KILN__FILL_FROM ? strcspn(b->fill.text, ".") : 0;
    for (size_t i = 0; root && i < variant->input_count; i++)
        if (strlen(variant->inputs[i].name) == root && memcmp(variant->inputs[i].name, b->fill.text, root) == 0)
            info->shape = kiln__arena_printf(arena, "made by %s", variant->inputs[i].function);
}

bool kiln__spec_describe(kiln_spec *spec)
{
    kiln__arena *arena = &spec->arena;
    for (size_t v = 0; v < spec->variant_count; v++) {
        kiln__variant *variant = &spec->variants[v];
        kiln_param_info *infos = kiln__arena_alloc(arena, (variant->param_count + 1) * sizeof *infos);
        for (size_t i = 0; infos && i < variant->param_count; i++) {
            const kiln__param *p = &variant->params[i];
            infos[i] =
                (kiln_param_info){.name = p->name, .count = p->count, .values = p->values, .initial = p->initial};
        }
        variant->param_infos = infos;
    }
    kiln_size_set *sets = kiln__arena_alloc(arena, (spec->size_set_count + 1) * sizeof *sets);
    for (size_t i = 0; sets && i < spec->size_set_count; i++) {
        const kiln__sizes *s = &spec->size_sets[i];
        sets[i] = (kiln_size_set){.name = s->name, .count = s->settings.count, .settings = s->settings.items};
    }
    spec->size_set_infos = sets;
    kiln_buffer_info *buffers = kiln__arena_alloc(arena, (spec->buffer_count + 1) * sizeof *buffers);
    for (size_t i = 0; buffers && i < spec->buffer_count; i++)
        describe_buffer(arena, &spec->variants[0], &spec->variants[0].buffers[i], &buffers[i]);
    spec->buffer_infos = buffers;
    return !arena->failed;
}

void kiln_spec_free(kiln_spec *spec)
{
    if (!spec)
        return;
    kiln_allocator mem = spec->mem_copy; /* a copy, because the last call frees the block that holds mem_copy */
    const kiln_allocator *with = spec->mem ? &mem : NULL;
    spec->arena.mem = with;
    kiln__arena_free(&spec->arena);
    kiln__free(with, spec);
}

bool kiln__is_extent(const char *text, size_t *length, int *dim)
{
    static const char middle[] = ".shape[";
    const char *dot = strstr(text, middle), *digit = dot ? dot + sizeof middle - 1 : NULL;
    if (!dot || dot == text || *digit < '0' || *digit >= '0' + KILN_MAX_DIMS || strcmp(digit + 1, "]") != 0)
        return false;
    *length = (size_t)(dot - text);
    *dim = *digit - '0';
    return true;
}

const char *kiln_spec_name(const kiln_spec *spec) { return spec ? spec->name : NULL; }

const char *kiln_spec_title(const kiln_spec *spec) { return spec ? spec->title : NULL; }

const char *kiln_spec_about(const kiln_spec *spec) { return spec ? spec->about : NULL; }

const char *kiln_spec_path(const kiln_spec *spec) { return spec ? spec->path : NULL; }

size_t kiln_spec_variant_count(const kiln_spec *spec) { return spec ? spec->variant_count : 0; }

const char *kiln_spec_variant_name(const kiln_spec *spec, size_t variant)
{
    return spec && variant < spec->variant_count ? spec->variants[variant].name : NULL;
}

const char *kiln_spec_variant_about(const kiln_spec *spec, size_t variant)
{
    return spec && variant < spec->variant_count ? spec->variants[variant].about : NULL;
}

int kiln_spec_variant_contender(const kiln_spec *spec, size_t variant)
{
    return spec && variant < spec->variant_count && spec->variants[variant].contender;
}

size_t kiln_spec_variant_first(const kiln_spec *spec)
{
    for (size_t i = 0; spec && i < spec->variant_count; i++)
        if (spec->variants[i].contender)
            return i;
    return 0;
}

int kiln_spec_variant_find(const kiln_spec *spec, const char *name)
{
    for (size_t i = 0; spec && name && i < spec->variant_count; i++)
        if (strcmp(spec->variants[i].name, name) == 0)
            return (int)i;
    return -1;
}

size_t kiln_spec_param_count(const kiln_spec *spec, size_t variant)
{
    return spec && variant < spec->variant_count ? spec->variants[variant].param_count : 0;
}

const kiln_param_info *kiln_spec_param(const kiln_spec *spec, size_t variant, size_t param)
{
    return param < kiln_spec_param_count(spec, variant) ? &spec->variants[variant].param_infos[param] : NULL;
}

size_t kiln_spec_constraint_count(const kiln_spec *spec, size_t variant)
{
    return spec && variant < spec->variant_count ? spec->variants[variant].where_count : 0;
}

const char *kiln_spec_constraint(const kiln_spec *spec, size_t variant, size_t constraint)
{
    return constraint < kiln_spec_constraint_count(spec, variant)
               ? kiln__expr_text(spec->variants[variant].where[constraint])
               : NULL;
}

size_t kiln_spec_target_count(const kiln_spec *spec, size_t variant)
{
    return spec && variant < spec->variant_count ? spec->variants[variant].device.target_count : 0;
}

const char *kiln_spec_target(const kiln_spec *spec, size_t variant, size_t target)
{
    return target < kiln_spec_target_count(spec, variant) ? spec->variants[variant].device.target_texts[target] : NULL;
}

size_t kiln_spec_need_count(const kiln_spec *spec, size_t variant)
{
    return spec && variant < spec->variant_count ? spec->variants[variant].device.need_count : 0;
}

const char *kiln_spec_need(const kiln_spec *spec, size_t variant, size_t need)
{
    return need < kiln_spec_need_count(spec, variant) ? kiln__expr_text(spec->variants[variant].device.needs[need])
                                                      : NULL;
}

size_t kiln_spec_size_set_count(const kiln_spec *spec) { return spec ? spec->size_set_count : 0; }

const kiln_size_set *kiln_spec_size_set(const kiln_spec *spec, size_t set)
{
    return set < kiln_spec_size_set_count(spec) ? &spec->size_set_infos[set] : NULL;
}

size_t kiln_spec_buffer_count(const kiln_spec *spec) { return spec ? spec->buffer_count : 0; }

const kiln_buffer_info *kiln_spec_buffer(const kiln_spec *spec, size_t buffer)
{
    return buffer < kiln_spec_buffer_count(spec) ? &spec->buffer_infos[buffer] : NULL;
}
