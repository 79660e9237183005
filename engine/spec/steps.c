/* steps.c - reads the steps of a variant: launches, loops, copies and the other kinds. */
#include <string.h>

#include "read.h"

static kiln__expr *make_one(kiln__reader *r, kiln__pos pos)
{
    return kiln__expr_constant(r->arena, (kiln_value){.kind = KILN_INT, .as.i = 1}, pos);
}

static kiln__expr *read_optional(kiln__reader *r, const kiln__spec_node *node, kiln__key key)
{
    return node ? kiln__read_expr(r, node, kiln__keys[key].info.name, KILN__ALL_INPUTS) : NULL;
}

static kiln__expr *read_needed(kiln__reader *r, const kiln__spec_node *map, const kiln__spec_node *node, kiln__key key)
{
    return kiln__read_key(r, map, key) ? read_optional(r, node, key) : NULL;
}

/* Reads one to three extents [x, y, z]. Each extent that the list does not have is 1. If the key is missing, the
 * extents stay NULL. */
static void read_extent(kiln__reader *r, kiln__spec_node *node, kiln__key key, kiln__expr *extent[3])
{
    const char *name = kiln__keys[key].info.name;
    kiln__spec_node *const *items;
    size_t count = kiln__read_items(r, &node, name, &items);
    if (!node)
        return;
    if (count == 0 || count > 3) {
        if (node->kind == KILN__LIST)
            kiln__diag_add(r->diag, node->pos, "'%s' takes one to three extents, not %zu", name, count);
        return;
    }
    for (size_t i = 0; i < 3; i++)
        extent[i] = i < count ? kiln__read_expr(r, items[i], name, KILN__ALL_INPUTS) : make_one(r, node->pos);
}

const char *const kiln__schedulings[] = {
#define KILN_X(name, text) text,
    KILN__SCHEDULING_MAP(KILN_X)
#undef KILN_X
};

static void read_scheduling(kiln__reader *r, const kiln__spec_node *node, kiln__scheduling *scheduling)
{
    const char *text = kiln__read_text(r, node, "'cluster_scheduling'");
    enum { COUNT = KILN__SCHEDULING_BALANCE + 1 };
    for (int i = 0; text && i < COUNT; i++)
        if (strcmp(kiln__schedulings[i], text) == 0) {
            *scheduling = (kiln__scheduling)i;
            return;
        }
    if (text)
        kiln__diag_add(r->diag, node->pos, "'cluster_scheduling' is default, spread or balance, not '%.40s'", text);
}

/* Reads a launch: the kernel, the extents of grid, block and cluster, the attributes and the arguments. If an optional
 * key is missing, its field stays NULL, which means the default. */
static void read_launch(kiln__reader *r, const kiln__spec_node *map, kiln__step *step)
{
    KILN__KEYS_launch(KILN__NODE) step->kind = KILN__STEP_LAUNCH;
    if (!kiln__read_map(r, map, KILN__MAPPING_launch))
        return;
    if (kiln__read_key(r, map, KILN__KEY_launch_kernel))
        step->as.launch.kernel = kiln__read_template(r, kernel_, "'kernel'");
    if (kiln__read_key(r, map, KILN__KEY_launch_grid))
        read_extent(r, grid_, KILN__KEY_launch_grid, step->as.launch.grid);
    if (kiln__read_key(r, map, KILN__KEY_launch_block))
        read_extent(r, block_, KILN__KEY_launch_block, step->as.launch.block);
    read_extent(r, cluster_, KILN__KEY_launch_cluster, step->as.launch.cluster);
    step->as.launch.shared = read_optional(r, shared_, KILN__KEY_launch_shared);
    if (cooperative_)
        kiln__read_bool(r, cooperative_, "'cooperative'", &step->as.launch.cooperative);
    if (overlap_)
        kiln__read_bool(r, overlap_, "'overlap'", &step->as.launch.overlap);
    step->as.launch.priority = read_optional(r, priority_, KILN__KEY_launch_priority);
    step->as.launch.carveout = read_optional(r, carveout_, KILN__KEY_launch_carveout);
    if (cluster_scheduling_)
        read_scheduling(r, cluster_scheduling_, &step->as.launch.scheduling);
    kiln__spec_node *const *items;
    if (!kiln__read_key(r, map, KILN__KEY_launch_args))
        return;
    size_t count = kiln__read_items(r, &args_, "'args'", &items);
    step->as.launch.args = kiln__read_array(r, count, sizeof *step->as.launch.args);
    if (!step->as.launch.args)
        return;
    step->as.launch.arg_count = count;
    for (size_t i = 0; i < count; i++)
        kiln__read_argument(r, items[i], &step->as.launch.args[i]);
}

static const char *needed_buffer(kiln__reader *r, const kiln__spec_node *map, const kiln__spec_node *node,
                                 kiln__key key)
{
    return kiln__read_key(r, map, key) ? kiln__read_buffer_name(r, node, kiln__keys[key].info.name) : NULL;
}

static void read_fill(kiln__reader *r, const kiln__spec_node *map, kiln__step *step)
{
    KILN__KEYS_fill_step(KILN__NODE) step->kind = KILN__STEP_FILL;
    if (!kiln__read_map(r, map, KILN__MAPPING_fill_step))
        return;
    step->as.fill.buffer = needed_buffer(r, map, buffer_, KILN__KEY_fill_step_buffer);
    step->as.fill.value = read_needed(r, map, value_, KILN__KEY_fill_step_value);
}

static void read_copy(kiln__reader *r, const kiln__spec_node *map, kiln__step *step)
{
    KILN__KEYS_copy(KILN__NODE) step->kind = KILN__STEP_COPY;
    if (!kiln__read_map(r, map, KILN__MAPPING_copy))
        return;
    step->as.copy.from = needed_buffer(r, map, from_, KILN__KEY_copy_from);
    step->as.copy.to = needed_buffer(r, map, to_, KILN__KEY_copy_to);
    step->as.copy.count = read_optional(r, count_, KILN__KEY_copy_count);
    step->as.copy.from_offset = read_optional(r, from_offset_, KILN__KEY_copy_from_offset);
    step->as.copy.to_offset = read_optional(r, to_offset_, KILN__KEY_copy_to_offset);
}

static void read_symbol(kiln__reader *r, const kiln__spec_node *map, kiln__step *step)
{
    KILN__KEYS_symbol(KILN__NODE) step->kind = KILN__STEP_SYMBOL;
    if (!kiln__read_map(r, map, KILN__MAPPING_symbol))
        return;
    if (kiln__read_key(r, map, KILN__KEY_symbol_name))
        step->as.symbol.symbol = kiln__read_text(r, name_, "'name'");
    step->as.symbol.from = needed_buffer(r, map, from_, KILN__KEY_symbol_from);
    step->as.symbol.count = read_optional(r, count_, KILN__KEY_symbol_count);
    step->as.symbol.offset = read_optional(r, offset_, KILN__KEY_symbol_offset);
}

static void read_swap(kiln__reader *r, const kiln__spec_node *node, kiln__step *step)
{
    step->kind = KILN__STEP_SWAP;
    if (node->kind != KILN__LIST || node->count != 2) {
        kiln__diag_add(r->diag, node->pos, "'swap' takes two buffers: [a, b]");
        return;
    }
    step->as.swap.a = kiln__read_buffer_name(r, node->items[0], "a buffer to swap");
    step->as.swap.b = kiln__read_buffer_name(r, node->items[1], "a buffer to swap");
    if (step->as.swap.a && step->as.swap.b && strcmp(step->as.swap.a, step->as.swap.b) == 0)
        kiln__diag_add(r->diag, node->pos, "'%s' is swapped with itself", step->as.swap.a);
}

static void read_host(kiln__reader *r, const kiln__spec_node *map, kiln__step *step)
{
    KILN__KEYS_host_step(KILN__NODE) step->kind = KILN__STEP_HOST;
    if (!kiln__read_map(r, map, KILN__MAPPING_host_step))
        return;
    if (kiln__read_key(r, map, KILN__KEY_host_step_call))
        step->as.host.function = kiln__read_host(r, call_, "'call'", KILN_HOST_STEP);
    step->as.host.args = kiln__read_host_args(r, args_, NULL, KILN__ALL_INPUTS, true, &step->as.host.arg_count);
}

static kiln__step *read_inner(kiln__reader *r, const kiln__spec_node *map, kiln__spec_node *node, kiln__key key,
                              size_t *count)
{
    return kiln__read_key(r, map, key) ? kiln__read_steps(r, node, "'steps'", count) : NULL;
}

static void read_repeat(kiln__reader *r, const kiln__spec_node *map, kiln__step *step)
{
    KILN__KEYS_repeat(KILN__NODE) step->kind = KILN__STEP_REPEAT;
    if (!kiln__read_map(r, map, KILN__MAPPING_repeat))
        return;
    step->as.repeat.times = read_needed(r, map, times_, KILN__KEY_repeat_times);
    size_t names = r->name_count;
    if (index_ && (step->as.repeat.index = kiln__read_text(r, index_, "'index'")))
        kiln__declare_text(r, step->as.repeat.index, index_->pos, KILN__NAME_LOOP);
    step->as.repeat.steps = read_inner(r, map, steps_, KILN__KEY_repeat_steps, &step->as.repeat.step_count);
    r->name_count = names;
}

/* Reads an entry of `read:`, NAME: buffer[element] or NAME: buffer. The second form means element 0 of the buffer. */
static void read_read(kiln__reader *r, const kiln__spec_node *node, kiln__read *read)
{
    if (node->kind == KILN__SCALAR && kiln__name_valid(node->text)) {
        read->buffer = kiln__read_buffer_name(r, node, "what is read");
        read->element = kiln__expr_constant(r->arena, (kiln_value){.kind = KILN_INT}, node->pos);
        return;
    }
    const char *open = node->kind == KILN__SCALAR ? strchr(node->text, '[') : NULL;
    const char *close = open ? node->text + node->length - 1 : NULL;
    if (!open || open == node->text || *close != ']' || close == open + 1) {
        kiln__diag_add(r->diag, node->pos, "'read' takes one element of a buffer, such as size[0]");
        return;
    }
    kiln__spec_node name = {.kind = KILN__SCALAR, .pos = node->pos}, element = name;
    name.length = (size_t)(open - node->text);
    name.text = kiln__arena_strndup(r->scratch, node->text, name.length);
    element.pos.column += (unsigned)name.length + 1;
    element.length = node->length - name.length - 2;
    element.text = kiln__arena_strndup(r->scratch, open + 1, element.length);
    if (!name.text || !element.text)
        return;
    read->buffer = kiln__read_buffer_name(r, &name, "what is read");
    read->element = kiln__read_expr(r, &element, "the element's number", KILN__ALL_INPUTS);
}

/* Reads a `while` step: the elements that it reads before each round, the condition and the inner steps. Only the
 * condition and the inner steps know the names of `read`. */
static void read_while(kiln__reader *r, const kiln__spec_node *map, kiln__step *step)
{
    KILN__KEYS_while(KILN__NODE) step->kind = KILN__STEP_WHILE;
    if (!kiln__read_map(r, map, KILN__MAPPING_while))
        return;
    size_t names = r->name_count;
    step->as.loop.at_most = read_needed(r, map, at_most_, KILN__KEY_while_at_most);
    if (kiln__read_key(r, map, KILN__KEY_while_read)) {
        size_t count = kiln__read_entries(r, read_, "'read'");
        step->as.loop.reads = kiln__read_array(r, count, sizeof *step->as.loop.reads);
        if (!step->as.loop.reads)
            return;
        if (read_->kind == KILN__MAP && read_->count == 0)
            kiln__diag_add(r->diag, read_->pos, "'read' is empty, so the condition would never change");
        for (size_t i = 0; i < count; i++) {
            kiln__read *read = &step->as.loop.reads[step->as.loop.read_count++];
            read->name = kiln__arena_strdup(r->arena, read_->keys[i]->text);
            read->pos = read_->keys[i]->pos;
            read_read(r, read_->items[i], read);
        }
        for (size_t i = 0; i < count; i++)
            if (step->as.loop.reads[i].name)
                kiln__declare_text(r, step->as.loop.reads[i].name, step->as.loop.reads[i].pos, KILN__NAME_LOOP);
    }
    step->as.loop.cond = read_needed(r, map, cond_, KILN__KEY_while_cond);
    step->as.loop.steps = read_inner(r, map, steps_, KILN__KEY_while_steps, &step->as.loop.step_count);
    r->name_count = names;
}

/* The readers of the keys of the mapping `step`. */
static const struct {
    const char *key;
    void (*read)(kiln__reader *, const kiln__spec_node *, kiln__step *);
} kinds[] = {
#define KILN_X(mapping, name, need, form, effect, about) {#name, read_##name},
    KILN__KEYS_step(KILN_X)
#undef KILN_X
};

static void read_step(kiln__reader *r, const kiln__spec_node *node, kiln__step *step)
{
    step->pos = node->pos;
    if (!kiln__read_map(r, node, KILN__MAPPING_step))
        return;
    if (node->count != 1) {
        kiln__diag_add(r->diag, node->pos, "a step must have exactly one key, such as 'launch', but this step has %zu",
                       node->count);
        return;
    }
    for (size_t k = 0; k < KILN__COUNT(kinds); k++)
        if (strcmp(node->keys[0]->text, kinds[k].key) == 0)
            kinds[k].read(r, node->items[0], step);
}

kiln__step *kiln__read_steps(kiln__reader *r, kiln__spec_node *node, const char *what, size_t *count)
{
    *count = 0;
    if (node->kind != KILN__LIST || node->count == 0) {
        kiln__diag_add(r->diag, node->pos, "%s must be a list with at least one step, not %s", what,
                       node->kind == KILN__LIST ? "an empty one" : kiln__spec_node_describe(node));
        return NULL;
    }
    kiln__step *steps = kiln__read_array(r, node->count, sizeof *steps);
    if (!steps)
        return NULL;
    *count = node->count;
    for (size_t i = 0; i < node->count; i++)
        read_step(r, node->items[i], &steps[i]);
    return steps;
}

/* Reads `launch:`, which replaces `steps:` in the most common kind of variant. */
kiln__step *kiln__read_launch_only(kiln__reader *r, const kiln__spec_node *node, size_t *count)
{
    kiln__step *step = kiln__read_array(r, 1, sizeof *step);
    if (!step)
        return NULL;
    *count = 1;
    step->pos = node->pos;
    read_launch(r, node, step);
    return step;
}
