/* edit.c - writes the text of a spec again with some changes. */
#include <string.h>
#include <yaml.h>

#include "edit.h"
#include "tree.h"

struct kiln__edit {
    const kiln_allocator *mem;
    const kiln_spec *spec;
    kiln__arena arena;
    kiln__spec_node *root;
};

/* ---- nodes ---- */

/* Copies a node without aliases: if several aliases refer to a node, each of them gets its own copy. Therefore a change
 * of one copy leaves the other copies unchanged. The reader limits the depth and the number of nodes, so the recursion
 * and the copies are limited too. */
static kiln__spec_node *copy_node(kiln__arena *arena, const kiln__spec_node *from)
{
    kiln__spec_node *made = kiln__arena_alloc(arena, sizeof *made);
    if (!made)
        return NULL;
    *made = *from;
    made->anchored = false;
    if (from->kind == KILN__SCALAR)
        return made;
    made->items = kiln__arena_alloc(arena, (from->count + 1) * sizeof *made->items);
    made->keys = from->kind == KILN__MAP ? kiln__arena_alloc(arena, (from->count + 1) * sizeof *made->keys) : NULL;
    for (size_t i = 0; i < from->count && !arena->failed; i++) {
        made->items[i] = copy_node(arena, from->items[i]);
        if (made->keys)
            made->keys[i] = copy_node(arena, from->keys[i]);
    }
    return arena->failed ? NULL : made;
}

static kiln__spec_node *make(kiln__edit *e, kiln__spec_node_kind kind)
{
    kiln__spec_node *made = kiln__arena_alloc(&e->arena, sizeof *made);
    if (made)
        made->kind = kind;
    return made;
}

static kiln__spec_node *make_scalar(kiln__edit *e, const char *text, bool quoted)
{
    kiln__spec_node *made = make(e, KILN__SCALAR);
    if (!made)
        return NULL;
    made->text = kiln__arena_strdup(&e->arena, text);
    made->length = strlen(text);
    made->quoted = quoted;
    return made->text ? made : NULL;
}

static kiln__spec_node *value_node(kiln__edit *e, kiln_value value)
{
    kiln__text text = {.mem = e->mem};
    kiln__value_print(&text, value);
    if (text.failed)
        e->arena.failed = true;
    kiln__spec_node *made = make_scalar(e, kiln__text_get(&text), value.kind == KILN_TEXT);
    kiln__text_free(&text);
    return made;
}

/* Every function below accepts NULL nodes, because a failed allocation leaves NULL. */
static void append(kiln__edit *e, kiln__spec_node *node, kiln__spec_node *key, kiln__spec_node *item)
{
    if (!node || !item || (node->kind == KILN__MAP && !key))
        return;
    kiln__spec_node **items = kiln__arena_alloc(&e->arena, (node->count + 1) * sizeof *items);
    kiln__spec_node **keys = key ? kiln__arena_alloc(&e->arena, (node->count + 1) * sizeof *keys) : NULL;
    if (!items || (key && !keys))
        return;
    for (size_t i = 0; i < node->count; i++) {
        items[i] = node->items[i];
        if (keys)
            keys[i] = node->keys[i];
    }
    items[node->count] = item;
    if (keys)
        keys[node->count] = key;
    node->items = items;
    node->keys = keys;
    node->count++;
}

static void set_item(kiln__edit *e, kiln__spec_node *map, const char *key, kiln__spec_node *item)
{
    for (size_t i = 0; map && item && map->kind == KILN__MAP && i < map->count; i++)
        if (strcmp(map->keys[i]->text, key) == 0) {
            map->items[i] = item;
            return;
        }
    append(e, map, make_scalar(e, key, false), item);
}

static void drop(kiln__spec_node *map, const char *key)
{
    size_t kept = 0;
    for (size_t i = 0; map && map->kind == KILN__MAP && i < map->count; i++) {
        if (strcmp(map->keys[i]->text, key) == 0)
            continue;
        map->keys[kept] = map->keys[i];
        map->items[kept++] = map->items[i];
    }
    if (map && map->kind == KILN__MAP)
        map->count = kept;
}

/* Returns the mapping under `key`, and makes it if it is missing. */
static kiln__spec_node *map_in(kiln__edit *e, kiln__spec_node *map, const char *key)
{
    kiln__spec_node *found = kiln__spec_node_get(map, key);
    if (found && found->kind == KILN__MAP)
        return found;
    found = make(e, KILN__MAP);
    set_item(e, map, key, found);
    return found;
}

/* Returns the mapping that holds the keys of a variant. */
static kiln__spec_node *section(kiln__edit *e, const char *variant)
{
    kiln__spec_node *variants = variant ? kiln__spec_node_get(e->root, "variants") : NULL;
    kiln__spec_node *found = variants ? kiln__spec_node_get(variants, variant) : NULL;
    return found ? found : e->root;
}

/* ---- edits ---- */

void kiln__edit_sizes(kiln__edit *e, const char *set_name, kiln__settings sizes)
{
    kiln__spec_node *list = make(e, e->spec->from_t1 ? KILN__LIST : KILN__MAP), *sets = make(e, KILN__MAP);
    if (sizes.count == 0)
        return;
    for (size_t i = 0; i < sizes.count; i++)
        append(e, list, e->spec->from_t1 ? NULL : make_scalar(e, sizes.items[i].name, false),
               value_node(e, sizes.items[i].value));
    if (e->spec->from_t1) {
        set_item(e, kiln__spec_node_get(e->root, "KernelSpecification"), "ProblemSize", list);
        return;
    }
    append(e, sets, make_scalar(e, set_name, false), list);
    set_item(e, e->root, "sizes", sets);
}

static void t1_param(kiln__edit *e, const char *name, kiln_value value, bool only)
{
    kiln__spec_node *params = kiln__spec_node_get(kiln__spec_node_get(e->root, "ConfigurationSpace"),
                                                  "TuningParameters");
    for (size_t i = 0; params && params->kind == KILN__LIST && i < params->count; i++) {
        const kiln__spec_node *given = kiln__spec_node_get(params->items[i], "Name");
        if (!given || given->kind != KILN__SCALAR || strcmp(given->text, name) != 0)
            continue;
        kiln__spec_node *values = make(e, KILN__LIST);
        append(e, values, NULL, value_node(e, value));
        if (only)
            set_item(e, params->items[i], "Values", values);
        set_item(e, params->items[i], "Default", value_node(e, value));
    }
}

void kiln__edit_param(kiln__edit *e, const char *variant, const char *name, kiln_value value, bool only)
{
    if (e->spec->from_t1) {
        t1_param(e, name, value, only);
        return;
    }
    kiln__spec_node *params = kiln__spec_node_get(section(e, variant), "params");
    kiln__spec_node *param = kiln__spec_node_get(params, name);
    if (!param) {
        params = kiln__spec_node_get(e->root, "params");
        param = kiln__spec_node_get(params, name);
    }
    if (!param || (param->kind == KILN__SCALAR && !only))
        return; /* a param with a single value needs no other default */
    if (param->kind != KILN__MAP) {
        kiln__spec_node *map = make(e, KILN__MAP);
        set_item(e, map, "values", param);
        set_item(e, params, name, map);
        param = map;
    }
    if (only) {
        static const char *const range[] = {"from", "to", "step", "times"};
        kiln__spec_node *values = make(e, KILN__LIST);
        append(e, values, NULL, value_node(e, value));
        for (size_t i = 0; i < KILN__COUNT(range); i++)
            drop(param, range[i]);
        set_item(e, param, "values", values);
    }
    set_item(e, param, "default", value_node(e, value));
}

void kiln__edit_source(kiln__edit *e, const char *variant, const char *source)
{
    if (e->spec->from_t1)
        set_item(e, kiln__spec_node_get(e->root, "KernelSpecification"), "KernelFile", make_scalar(e, source, true));
    else
        set_item(e, section(e, variant), "source", make_scalar(e, source, true));
}

void kiln__edit_no_include(kiln__edit *e)
{
    kiln__spec_node *variants = kiln__spec_node_get(e->root, "variants");
    drop(e->root, "include");
    for (size_t i = 0; variants && variants->kind == KILN__MAP && i < variants->count; i++)
        drop(variants->items[i], "include");
}

void kiln__edit_buffer_file(kiln__edit *e, const char *variant, const char *buffer, const char *file)
{
    if (e->spec->from_t1) {
        set_item(e, map_in(e, map_in(e, e->root, "Kiln"), "Files"), buffer, make_scalar(e, file, true));
        return;
    }
    kiln__spec_node *map = kiln__spec_node_get(kiln__spec_node_get(section(e, variant), "buffers"), buffer);
    drop(map, "fill");
    drop(map, "from");
    set_item(e, map, "file", make_scalar(e, file, true));
}

void kiln__edit_input(kiln__edit *e, const char *variant, const char *input, const char *function, kiln__settings args)
{
    kiln__spec_node *map = make(e, KILN__MAP);
    set_item(e, map, "host", make_scalar(e, function, false));
    for (size_t i = 0; i < args.count; i++)
        set_item(e, map, args.items[i].name, value_node(e, args.items[i].value));
    set_item(e, kiln__spec_node_get(section(e, variant), "inputs"), input, map);
}

void kiln__edit_input_text(kiln__edit *e, const char *variant, const char *input, const char *arg, const char *text)
{
    set_item(e, kiln__spec_node_get(kiln__spec_node_get(section(e, variant), "inputs"), input), arg,
             make_scalar(e, text, true));
}

static void set_tolerance(kiln__edit *e, kiln__spec_node *map, const char *rtol, const char *atol)
{
    if (rtol)
        set_item(e, map, "rtol", make_scalar(e, rtol, true));
    if (atol)
        set_item(e, map, "atol", make_scalar(e, atol, true));
}

void kiln__edit_tolerance(kiln__edit *e, const char *variant, const char *buffer, const char *rtol, const char *atol)
{
    kiln__spec_node *map = make(e, KILN__MAP);
    set_tolerance(e, map, rtol, atol);
    set_item(e, kiln__spec_node_get(section(e, variant), "tolerance"), buffer, map);
}

void kiln__edit_verify(kiln__edit *e, const char *buffer, const char *file, bool exact, const char *rtol,
                       const char *atol)
{
    kiln__spec_node *map = make(e, KILN__MAP), *against = make(e, KILN__MAP);
    set_item(e, against, "file", make_scalar(e, file, true));
    set_item(e, map, "against", against);
    if (exact)
        set_item(e, map, "exact", make_scalar(e, "true", false));
    else
        set_tolerance(e, map, rtol, atol);
    kiln__spec_node *top = e->spec->from_t1 ? map_in(e, e->root, "Kiln") : e->root;
    set_item(e, map_in(e, top, e->spec->from_t1 ? "Verify" : "verify"), buffer, map);
}

void kiln__edit_variant_first(kiln__edit *e, const char *variant)
{
    kiln__spec_node *map = kiln__spec_node_get(e->root, "variants");
    size_t at = 0;
    while (map && at < map->count && strcmp(map->keys[at]->text, variant) != 0)
        at++;
    if (!map || at == map->count)
        return;
    kiln__spec_node *key = map->keys[at], *item = map->items[at];
    for (; at > 0; at--) {
        map->keys[at] = map->keys[at - 1];
        map->items[at] = map->items[at - 1];
    }
    map->keys[0] = key;
    map->items[0] = item;
}

void kiln__edit_variant_remove(kiln__edit *e, const char *variant)
{
    drop(kiln__spec_node_get(e->root, "variants"), variant);
}

/* ---- writing ---- */

static int add_bytes(void *user, unsigned char *bytes, size_t count)
{
    kiln__text *out = user;
    kiln__text_add(out, (const char *)bytes, count);
    return !out->failed;
}

/* Returns true if a plain text means the same inside and outside of [] and {}. Inside of [] and {} a comma or a bracket
 * would end the text. */
static bool fits_flow(const kiln__spec_node *node)
{
    if (node->kind != KILN__SCALAR || node->length == 0 || node->length > 60)
        return false;
    return node->quoted || (strspn(node->text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                               "_.+-*/()<>= ") == node->length &&
                            !strchr(".<>= ", node->text[0]) && strncmp(node->text, "- ", 2) != 0);
}

static bool is_flow(const kiln__spec_node *node)
{
    for (size_t i = 0; i < node->count; i++)
        if (!fits_flow(node->items[i]) || (node->keys && !fits_flow(node->keys[i])))
            return false;
    return true;
}

/* Writes a node and its children as YAML events. A text that was quoted, or that has several lines, gets double
 * quotes. Returns false if memory runs out. The recursion is bounded by the depth of the tree. */
static bool emit(yaml_emitter_t *emitter, const kiln__spec_node *node)
{
    yaml_event_t event;
    bool flow = node->kind != KILN__SCALAR && is_flow(node);
    bool quoted = node->quoted || (node->text && strchr(node->text, '\n'));
    switch (node->kind) {
    case KILN__SCALAR:
        return yaml_scalar_event_initialize(&event, NULL, NULL, (const yaml_char_t *)node->text, (int)node->length,
                                            !quoted, quoted,
                                            quoted ? YAML_DOUBLE_QUOTED_SCALAR_STYLE : YAML_PLAIN_SCALAR_STYLE) &&
               yaml_emitter_emit(emitter, &event);
    case KILN__LIST:
        if (!yaml_sequence_start_event_initialize(&event, NULL, NULL, 1,
                                                  flow ? YAML_FLOW_SEQUENCE_STYLE : YAML_BLOCK_SEQUENCE_STYLE) ||
            !yaml_emitter_emit(emitter, &event))
            return false;
        for (size_t i = 0; i < node->count; i++)
            if (!emit(emitter, node->items[i]))
                return false;
        return yaml_sequence_end_event_initialize(&event) && yaml_emitter_emit(emitter, &event);
    case KILN__MAP: break;
    }
    if (!yaml_mapping_start_event_initialize(&event, NULL, NULL, 1,
                                             flow ? YAML_FLOW_MAPPING_STYLE : YAML_BLOCK_MAPPING_STYLE) ||
        !yaml_emitter_emit(emitter, &event))
        return false;
    for (size_t i = 0; i < node->count; i++)
        if (!emit(emitter, node->keys[i]) || !emit(emitter, node->items[i]))
            return false;
    return yaml_mapping_end_event_initialize(&event) && yaml_emitter_emit(emitter, &event);
}

static bool emit_document(yaml_emitter_t *emitter, const kiln__spec_node *root)
{
    yaml_event_t event;
    return yaml_stream_start_event_initialize(&event, YAML_UTF8_ENCODING) && yaml_emitter_emit(emitter, &event) &&
           yaml_document_start_event_initialize(&event, NULL, NULL, NULL, 1) && yaml_emitter_emit(emitter, &event) &&
           emit(emitter, root) && yaml_document_end_event_initialize(&event, 1) && yaml_emitter_emit(emitter, &event) &&
           yaml_stream_end_event_initialize(&event) && yaml_emitter_emit(emitter, &event);
}

static void add_comment(kiln__text *out, const char *comment)
{
    while (*comment) {
        size_t length = strcspn(comment, "\n");
        kiln__text_puts(out, "# ");
        for (size_t i = 0; i < length; i++)
            kiln__text_printf(out, "%c", (unsigned char)comment[i] < 0x20 || comment[i] == 0x7f ? ' ' : comment[i]);
        kiln__text_puts(out, "\n");
        comment += length + (comment[length] == '\n');
    }
}

kiln_status kiln__edit_write(const kiln__edit *e, const char *comment, kiln__text *out, kiln_error **error)
{
    yaml_emitter_t emitter;
    if (e->arena.failed || !yaml_emitter_initialize(&emitter))
        return kiln__fail_memory(error);
    if (comment)
        add_comment(out, comment);
    yaml_emitter_set_output(&emitter, add_bytes, out);
    yaml_emitter_set_unicode(&emitter, 1);
    yaml_emitter_set_width(&emitter, 110);
    bool written = emit_document(&emitter, e->root);
    yaml_emitter_delete(&emitter);
    return written && !out->failed ? KILN_OK : kiln__fail_memory(error); /* a tree of nodes can cause no other error */
}

kiln_status kiln__edit_open(const kiln_allocator *mem, const kiln_spec *spec, kiln__edit **edit, kiln_error **error)
{
    kiln__edit *made = kiln__calloc(mem, 1, sizeof *made);
    kiln__arena scratch = {.mem = mem};
    kiln__diag diag = {.mem = mem};
    if (!made)
        return kiln__fail_memory(error);
    made->mem = mem;
    made->spec = spec;
    made->arena.mem = mem;
    /* the tree of the spec as it was loaded */
    kiln__spec_node *root = kiln__tree_parse(&scratch, &spec->file, &diag);
    made->root = root ? copy_node(&made->arena, root) : NULL;
    bool fine = made->root && !made->arena.failed;
    /* The texts of the nodes live in the scratch arena. */
    kiln__arena_join(&made->arena, &scratch);
    kiln__text_free(&diag.text);
    if (fine) {
        *edit = made;
        return KILN_OK;
    }
    kiln__edit_free(made);
    return kiln__fail_memory(error);
}

void kiln__edit_free(kiln__edit *edit)
{
    if (!edit)
        return;
    kiln__arena_free(&edit->arena);
    kiln__free(edit->mem, edit);
}
