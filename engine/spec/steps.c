#include <string.h>

#include "read.h"

static kiln__expr *one(kiln__reader *r, kiln__pos pos)
{
    return kiln__expr_constant(r->arena, (kiln_value){.kind = KILN_INT, .as.i = 1}, pos);
}

static kiln__expr *optional(kiln__reader *r, const kiln__spec_node *map, const char *key)
{
    const kiln__spec_node *node = kiln__spec_node_get(map, key);
    return node ? kiln__read_expr(r, node, key, KILN__ALL_INPUTS) : NULL;
}

static kiln__expr *needed(kiln__reader *r, const kiln__spec_node *map, const char *what, const char *key)
{
    return kiln__read_need(r, map, what, key) ? optional(r, map, key) : NULL;
}

/* [x, y, z], shorter ones filled up with 1. */
static void read_extent(kiln__reader *r, const kiln__spec_node *map, const char *key, kiln__expr *extent[3])
{
    kiln__spec_node *node = kiln__spec_node_get(map, key);
    kiln__spec_node *const *items;
    size_t count = kiln__read_items(r, &node, key, &items);
    if (!node)
        return;
    if (count == 0 || count > 3) {
        if (node->kind == KILN__LIST)
            kiln__diag_add(r->diag, node->pos, "'%s' has one to three extents, not %zu", key, count);
        return;
    }
    for (size_t i = 0; i < 3; i++)
        extent[i] = i < count ? kiln__read_expr(r, items[i], key, KILN__ALL_INPUTS) : one(r, node->pos);
}

static void read_launch(kiln__reader *r, const kiln__spec_node *map, kiln__step *step)
{
    static const char *const keys[] = {"kernel", "grid", "block", "cluster", "shared", "cooperative", "args", NULL};
    step->kind = KILN__STEP_LAUNCH;
    if (!kiln__read_map(r, map, "a launch", keys))
        return;
    if (kiln__read_need(r, map, "a launch", "kernel"))
        step->as.launch.kernel = kiln__read_template(r, kiln__spec_node_get(map, "kernel"), "'kernel'");
    if (kiln__read_need(r, map, "a launch", "grid"))
        read_extent(r, map, "grid", step->as.launch.grid);
    if (kiln__read_need(r, map, "a launch", "block"))
        read_extent(r, map, "block", step->as.launch.block);
    read_extent(r, map, "cluster", step->as.launch.cluster);
    step->as.launch.shared = optional(r, map, "shared");
    const kiln__spec_node *cooperative = kiln__spec_node_get(map, "cooperative");
    if (cooperative)
        kiln__read_bool(r, cooperative, "'cooperative'", &step->as.launch.cooperative);
    kiln__spec_node *args = kiln__spec_node_get(map, "args");
    kiln__spec_node *const *items;
    if (!kiln__read_need(r, map, "a launch", "args"))
        return;
    size_t count = kiln__read_items(r, &args, "'args'", &items);
    step->as.launch.args = kiln__read_array(r, count, sizeof *step->as.launch.args);
    if (!step->as.launch.args)
        return;
    step->as.launch.arg_count = count;
    for (size_t i = 0; i < count; i++)
        step->as.launch.args[i] = kiln__read_arg(r, items[i], "an argument");
}

static const char *needed_buffer(kiln__reader *r, const kiln__spec_node *map, const char *what, const char *key)
{
    return kiln__read_need(r, map, what, key) ? kiln__read_buffer_name(r, kiln__spec_node_get(map, key), key) : NULL;
}

static void read_fill_step(kiln__reader *r, const kiln__spec_node *map, kiln__step *step)
{
    static const char *const keys[] = {"buffer", "value", NULL};
    step->kind = KILN__STEP_FILL;
    if (!kiln__read_map(r, map, "a fill", keys))
        return;
    step->as.fill.buffer = needed_buffer(r, map, "a fill", "buffer");
    step->as.fill.value = needed(r, map, "a fill", "value");
}

static void read_copy(kiln__reader *r, const kiln__spec_node *map, kiln__step *step)
{
    static const char *const keys[] = {"from", "to", "count", "from_offset", "to_offset", NULL};
    step->kind = KILN__STEP_COPY;
    if (!kiln__read_map(r, map, "a copy", keys))
        return;
    step->as.copy.from = needed_buffer(r, map, "a copy", "from");
    step->as.copy.to = needed_buffer(r, map, "a copy", "to");
    step->as.copy.count = optional(r, map, "count");
    step->as.copy.from_offset = optional(r, map, "from_offset");
    step->as.copy.to_offset = optional(r, map, "to_offset");
}

static void read_symbol(kiln__reader *r, const kiln__spec_node *map, kiln__step *step)
{
    static const char *const keys[] = {"name", "from", "count", "offset", NULL};
    step->kind = KILN__STEP_SYMBOL;
    if (!kiln__read_map(r, map, "a symbol", keys))
        return;
    if (kiln__read_need(r, map, "a symbol", "name"))
        step->as.symbol.symbol = kiln__read_text(r, kiln__spec_node_get(map, "name"), "'name'");
    step->as.symbol.from = needed_buffer(r, map, "a symbol", "from");
    step->as.symbol.count = optional(r, map, "count");
    step->as.symbol.offset = optional(r, map, "offset");
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
    static const char *const keys[] = {"call", "args", NULL};
    step->kind = KILN__STEP_HOST;
    if (!kiln__read_map(r, map, "a host step", keys))
        return;
    if (kiln__read_need(r, map, "a host step", "call"))
        step->as.host.function = kiln__read_host(r, kiln__spec_node_get(map, "call"), "'call'", KILN_HOST_STEP);
    step->as.host.args = kiln__read_host_args(r, kiln__spec_node_get(map, "args"), NULL, KILN__ALL_INPUTS, true,
                                              &step->as.host.arg_count);
}

static kiln__step *read_inner(kiln__reader *r, const kiln__spec_node *map, const char *what, size_t *count)
{
    return kiln__read_need(r, map, what, "steps")
               ? kiln__read_steps(r, kiln__spec_node_get(map, "steps"), "'steps'", count)
               : NULL;
}

static void read_repeat(kiln__reader *r, const kiln__spec_node *map, kiln__step *step)
{
    static const char *const keys[] = {"times", "index", "steps", NULL};
    step->kind = KILN__STEP_REPEAT;
    if (!kiln__read_map(r, map, "a repeat", keys))
        return;
    step->as.repeat.times = needed(r, map, "a repeat", "times");
    size_t names = r->name_count;
    const kiln__spec_node *index = kiln__spec_node_get(map, "index");
    if (index && (step->as.repeat.index = kiln__read_text(r, index, "'index'")))
        kiln__declare_text(r, step->as.repeat.index, index->pos, KILN__NAME_LOOP);
    step->as.repeat.steps = read_inner(r, map, "a repeat", &step->as.repeat.step_count);
    r->name_count = names;
}

/* NAME: buffer[element], or NAME: buffer for its first element. */
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
        kiln__diag_add(r->diag, node->pos, "what is read is one element of a buffer, such as size[0]");
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

static void read_while(kiln__reader *r, const kiln__spec_node *map, kiln__step *step)
{
    static const char *const keys[] = {"read", "cond", "at_most", "steps", NULL};
    step->kind = KILN__STEP_WHILE;
    if (!kiln__read_map(r, map, "a while", keys))
        return;
    const kiln__spec_node *reads = kiln__spec_node_get(map, "read");
    size_t names = r->name_count;
    step->as.loop.at_most = needed(r, map, "a while", "at_most");
    if (kiln__read_need(r, map, "a while", "read")) {
        size_t count = kiln__read_entries(r, reads, "'read'");
        step->as.loop.reads = kiln__read_array(r, count, sizeof *step->as.loop.reads);
        if (!step->as.loop.reads)
            return;
        if (reads->kind == KILN__MAP && reads->count == 0)
            kiln__diag_add(r->diag, reads->pos, "'read' names nothing; without it the condition would never change");
        for (size_t i = 0; i < count; i++) {
            kiln__read *read = &step->as.loop.reads[step->as.loop.read_count++];
            read->name = kiln__arena_strdup(r->arena, reads->keys[i]->text);
            read->pos = reads->keys[i]->pos;
            read_read(r, reads->items[i], read);
        }
        for (size_t i = 0; i < count; i++)
            if (step->as.loop.reads[i].name)
                kiln__declare_text(r, step->as.loop.reads[i].name, step->as.loop.reads[i].pos, KILN__NAME_LOOP);
    }
    step->as.loop.cond = needed(r, map, "a while", "cond");
    step->as.loop.steps = read_inner(r, map, "a while", &step->as.loop.step_count);
    r->name_count = names;
}

static const struct {
    const char *key;
    void (*read)(kiln__reader *, const kiln__spec_node *, kiln__step *);
} kinds[] = {{"launch", read_launch}, {"fill", read_fill_step}, {"copy", read_copy},     {"symbol", read_symbol},
             {"swap", read_swap},     {"host", read_host},      {"repeat", read_repeat}, {"while", read_while}};

static void read_step(kiln__reader *r, const kiln__spec_node *node, kiln__step *step)
{
    static const char *const keys[] = {"launch", "fill", "copy", "symbol", "swap", "host", "repeat", "while", NULL};
    step->pos = node->pos;
    if (!kiln__read_map(r, node, "a step", keys))
        return;
    if (node->count != 1) {
        kiln__diag_add(r->diag, node->pos, "a step has one key, such as 'launch', and this has %zu", node->count);
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

/* `launch:` in the place of `steps:`, for the most common kind of variant. */
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
