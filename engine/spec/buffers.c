/* buffers.c - reads buffers: their types, shapes and fills. */
#include <string.h>

#include "read.h"

/* Returns the name of a type without a module or a pointer's sign, which users write with it: np.float32,
 * torch.float32, "float *". Returns NULL if the text has neither a module nor a pointer's sign, or if memory runs
 * out. */
static const char *bare_type(kiln__reader *r, const char *text)
{
    const char *dot = strrchr(text, '.'), *from = dot ? dot + 1 : text;
    size_t length = strcspn(from, "*& ");
    if (!dot && !from[length])
        return NULL;
    return kiln__arena_strndup(r->arena, from, length);
}

/* Reads the type of a buffer: one of Kiln's types, or an expression such as a param whose values are types. If the text
 * is the name of a type in CUDA or another library, the message suggests Kiln's name. */
static void read_type(kiln__reader *r, const kiln__spec_node *node, kiln__buffer *buffer)
{
    if (node->kind != KILN__SCALAR) {
        kiln__diag_add(r->diag, node->pos, "'type' must be a type such as f32, not %s", kiln__spec_node_describe(node));
        return;
    }
    const char *names[KILN_TYPE_COUNT];
    for (size_t i = 0; i < KILN_TYPE_COUNT; i++) {
        names[i] = kiln__types[i].name;
        if (strcmp(names[i], node->text) == 0) {
            buffer->type = (kiln_type)i;
            buffer->type_known = true;
            return;
        }
    }
    const kiln__name *name = kiln__find_name(r, node->text);
    const char *bare = name ? NULL : bare_type(r, node->text);
    if (bare) {
        const char *meant = kiln__type_advice(bare);
        kiln_type named;
        meant = meant ? meant : kiln__type_named(bare, &named) ? names[named] : NULL;
        if (meant) {
            kiln__diag_add(r->diag, node->pos, "unknown type '%s': a buffer has the type of one element, written '%s'",
                           node->text, meant);
            return;
        }
    }
    if (!name && kiln__name_valid(node->text)) {
        const char *near = kiln__type_advice(node->text);
        near = near ? near : kiln__nearest(node->text, names, KILN_TYPE_COUNT);
        kiln__diag_add(r->diag, node->pos,
                       near ? "unknown type '%s'; did you mean '%s'?" : "unknown type '%s'; types are%s", node->text,
                       near ? near : kiln__type_list);
        return;
    }
    kiln_type type;
    if (!name && kiln__type_named(node->text, &type)) { /* float and int are also names of functions */
        kiln__diag_add(r->diag, node->pos, "unknown type '%s'; did you mean '%s'?", node->text, names[type]);
        return;
    }
    buffer->type_expr = kiln__read_expr(r, node, "'type'", 0);
    buffer->type_known = true;
    for (size_t i = 0; name && name->param && i < name->param->count; i++) {
        const kiln_value *value = &name->param->values[i];
        if (value->kind == KILN_TEXT && kiln__type_named(value->as.text, &type)) {
            if (i == name->param->initial)
                buffer->type = type;
            continue;
        }
        kiln__diag_add(r->diag, node->pos, "the values of '%s' are not all types", name->text);
        return;
    }
}

static void read_shape(kiln__reader *r, kiln__spec_node *const *node, kiln__buffer *buffer)
{
    kiln__spec_node *const *items;
    size_t count = kiln__read_items(r, node, "'shape'", &items);
    if (count > KILN_MAX_DIMS) {
        kiln__diag_add(r->diag, (*node)->pos, "a shape has %zu dimensions; at most %d are allowed", count,
                       KILN_MAX_DIMS);
        return;
    }
    buffer->dims = (int)count;
    kiln__text text = {.mem = r->diag->mem};
    kiln__text_puts(&text, "[");
    for (size_t i = 0; i < count; i++) {
        buffer->shape[i] = kiln__read_expr(r, items[i], "an extent", KILN__ALL_INPUTS);
        kiln__text_printf(&text, "%s%s", i ? ", " : "", buffer->shape[i] ? kiln__expr_text(buffer->shape[i]) : "?");
    }
    kiln__text_puts(&text, "]");
    buffer->shape_text = kiln__arena_strdup(r->arena, kiln__text_get(&text));
    if (text.failed)
        r->arena->failed = true;
    kiln__text_free(&text);
}

/* ---- fills ---- */

static int64_t name_seed(const char *name) { return kiln__hash_short(name, strlen(name)) & 0x7fffffff; }

/* Reports a fill that is a word such as `zeros`, the name of a .npy file, or a Python expression, and returns true in
 * this case. Does not report a word that is a name of the spec. */
static bool is_word(kiln__reader *r, const kiln__spec_node *node)
{
    static const char *const words[][2] = {{"iota", "{iota: [0, 1]}"},
                                           {"arange", "{iota: [0, 1]}"},
                                           {"uniform", "{uniform: [-1, 1]}"},
                                           {"random", "{uniform: [-1, 1]}"},
                                           {"rand", "{uniform: [0, 1]}"},
                                           {"normal", "{normal: [0, 1]}"},
                                           {"randn", "{normal: [0, 1]}"},
                                           {"zipf", "{zipf: [1000, 1]}"},
                                           {"zeros", "0"},
                                           {"zero", "0"},
                                           {"ones", "1"}};
    const char *dot = strrchr(node->text, '.');
    if (dot && strcmp(dot, ".npy") == 0) {
        kiln__diag_add(r->diag, node->pos, "'fill' cannot name a file: write 'file: %s' in place of 'fill'",
                       node->text);
        return true;
    }
    if (strncmp(node->text, "np.", 3) == 0 || strncmp(node->text, "numpy.", 6) == 0 ||
        strncmp(node->text, "torch.", 6) == 0) {
        kiln__diag_add(
            r->diag, node->pos,
            "'%s' is a Python expression, and 'fill' cannot evaluate it: write 'fill: {uniform: [0, 1]}', {normal: "
            "[0, 1]}, {iota: [0, 1]} or a number",
            node->text);
        return true;
    }
    for (size_t i = 0; i < KILN__COUNT(words); i++)
        if (strcmp(node->text, words[i][0]) == 0 && !kiln__find_name(r, node->text)) {
            kiln__diag_add(r->diag, node->pos, "'%s' without values does not define a content: write 'fill: %s'",
                           node->text, words[i][1]);
            return true;
        }
    return false;
}

/* Reports an error if both bounds of `uniform` are constants and the first is larger than the second. */
static void check_bounds(kiln__reader *r, kiln__pos pos, const kiln__fill *fill)
{
    kiln_value a, b;
    if (fill->kind != KILN__FILL_UNIFORM || !fill->a || !fill->b || !kiln__expr_is_constant(fill->a, &a) ||
        !kiln__expr_is_constant(fill->b, &b))
        return;
    double low = a.kind == KILN_FLOAT ? a.as.f : (double)a.as.i, high = b.kind == KILN_FLOAT ? b.as.f : (double)b.as.i;
    if (low > high)
        kiln__diag_add(r->diag, pos, "'uniform' takes [low, high], and here the first number is larger: write [%g, %g]",
                       high, low);
}

/* Reads `fill`: a single number, or a mapping with exactly one of the keys in `fills` and an optional seed. */
static void read_fill(kiln__reader *r, const kiln__spec_node *map, kiln__buffer *buffer)
{
    KILN__KEYS_fill(KILN__NODE) const struct {
        const char *key;
        kiln__spec_node *node;
        kiln__fill_kind kind;
        size_t least, most;
        const char *shape, *example;
    } fills[] = {{"value", value_, KILN__FILL_VALUE, 1, 1, "one number", "0"},
                 {"iota", iota_, KILN__FILL_IOTA, 1, 2, "[start, step]", "[0, 1]"},
                 {"uniform", uniform_, KILN__FILL_UNIFORM, 2, 2, "[low, high]", "[-1, 1]"},
                 {"normal", normal_, KILN__FILL_NORMAL, 2, 2, "[mean, deviation]", "[0, 1]"},
                 {"zipf", zipf_, KILN__FILL_ZIPF, 2, 2, "[count, exponent]", "[1000, 1]"}};
    kiln__fill *fill = &buffer->fill;
    fill->pos = map->pos;
    if (map->kind == KILN__SCALAR) {
        fill->kind = KILN__FILL_VALUE;
        if (!is_word(r, map))
            fill->a = kiln__read_expr(r, map, "'fill'", KILN__ALL_INPUTS);
        return;
    }
    const kiln__spec_node *file = map->kind == KILN__MAP ? kiln__spec_node_get(map, "file") : NULL;
    if (file) {
        kiln__diag_add(r->diag, kiln__spec_node_key(map, "file")->pos,
                       "'fill' cannot name a file: write 'file: %s' in place of 'fill'",
                       file->kind == KILN__SCALAR ? file->text : "NAME.npy");
        return;
    }
    if (!kiln__read_map(r, map, KILN__MAPPING_fill))
        return;
    size_t chosen = KILN__COUNT(fills);
    for (size_t f = 0; f < KILN__COUNT(fills); f++) {
        kiln__spec_node *const values = fills[f].node;
        kiln__spec_node *const *items;
        if (!values)
            continue;
        if (chosen < KILN__COUNT(fills)) {
            kiln__diag_add(r->diag, values->pos, "'fill' is '%s' or '%s', not both", fills[chosen].key, fills[f].key);
            return;
        }
        chosen = f;
        size_t count = kiln__read_items(r, &values, fills[f].key, &items);
        if (count < fills[f].least || count > fills[f].most) {
            kiln__diag_add(r->diag, values->pos, "'%s' takes %s: write {%s: %s}", fills[f].key, fills[f].shape,
                           fills[f].key, fills[f].example);
            continue;
        }
        fill->kind = fills[f].kind;
        fill->a = kiln__read_expr(r, items[0], "a number of 'fill'", KILN__ALL_INPUTS);
        fill->b = count > 1 ? kiln__read_expr(r, items[1], "a number of 'fill'", KILN__ALL_INPUTS)
                            : kiln__expr_constant(r->arena, (kiln_value){.kind = KILN_INT, .as.i = 1}, values->pos);
        check_bounds(r, values->pos, fill);
    }
    if (chosen == KILN__COUNT(fills) && map->count > 0) {
        return; /* kiln__read_map() has already reported the unknown keys */
    } else if (chosen == KILN__COUNT(fills)) {
        kiln__diag_add(r->diag, map->pos, "'fill' is empty: give a number, iota, uniform, normal or zipf");
    } else if (fills[chosen].kind == KILN__FILL_VALUE || fills[chosen].kind == KILN__FILL_IOTA) {
        if (seed_)
            kiln__diag_add(r->diag, seed_->pos, "'%s' is not random, so it takes no seed", fills[chosen].key);
    } else if (seed_) {
        fill->seed = kiln__read_expr(r, seed_, "'seed'", KILN__ALL_INPUTS);
        /* The seed comes from the name of the buffer, so that two buffers differ, and a new buffer does not change the
         * others. */
    } else {
        kiln_value value = {.kind = KILN_INT, .as.i = name_seed(buffer->name)};
        fill->seed = kiln__expr_constant(r->arena, value, map->pos);
    }
}

static void read_from(kiln__reader *r, const kiln__spec_node *node, kiln__buffer *buffer)
{
    buffer->fill.pos = node->pos;
    buffer->fill.kind = KILN__FILL_FROM;
    buffer->fill.text = kiln__read_text(r, node, "'from'");
    const char *dot = buffer->fill.text ? strchr(buffer->fill.text, '.') : NULL;
    char *root = dot ? kiln__arena_strndup(r->scratch, buffer->fill.text, (size_t)(dot - buffer->fill.text)) : NULL;
    if (!buffer->fill.text || (dot && !root))
        return;
    if (!dot || !dot[1]) {
        kiln__diag_add(r->diag, node->pos, "'from' must name an export of an input, such as A.csr.values");
        return;
    }
    const kiln__name *input = kiln__find_name(r, root);
    if (input && input->kind == KILN__NAME_INPUT)
        return;
    const char *near = kiln__nearest_name(r, root, 1u << KILN__NAME_INPUT);
    kiln__diag_add(r->diag, node->pos, near ? "there is no input '%s'; did you mean '%s'?" : "there is no input '%s'",
                   root, near);
}

/* Reads one buffer: type, shape, content (at most one of `fill`, `from`, `file`) and `out`. The type and the shape are
 * required unless the data of a file or an export has them. `of_spec` is false for a buffer of a variant, which cannot
 * be an output. */
static void read_buffer(kiln__reader *r, const kiln__spec_node *map, bool of_spec, kiln__buffer *buffer)
{
    KILN__KEYS_buffer(KILN__NODE) if (!kiln__read_map(r, map, KILN__MAPPING_buffer)) return;
    if ((fill_ != NULL) + (from_ != NULL) + (file_ != NULL) > 1)
        kiln__diag_add(r->diag, map->pos, "a buffer's content is one of 'fill', 'from' and 'file'");
    bool comes_with_data = from_ || file_;
    buffer->dims = comes_with_data ? -1 : 0;
    if (type_)
        read_type(r, type_, buffer);
    else if (!comes_with_data)
        kiln__read_key(r, map, KILN__KEY_buffer_type);
    if (shape_)
        read_shape(r, &shape_, buffer);
    else if (!comes_with_data)
        kiln__read_key(r, map, KILN__KEY_buffer_shape);
    if (fill_)
        read_fill(r, fill_, buffer);
    if (from_)
        read_from(r, from_, buffer);
    if (file_) {
        buffer->fill = (kiln__fill){.kind = KILN__FILL_FILE, .pos = file_->pos};
        buffer->fill.text = kiln__read_path(r, file_, "'file'", &buffer->fill.path);
    }
    if (out_ && kiln__read_bool(r, out_, "'out'", &buffer->out) && buffer->out && !of_spec) {
        kiln__diag_add(r->diag, out_->pos,
                       "a buffer of a variant is scratch memory; only a buffer of the spec can be an output");
        buffer->out = false;
    }
}

/* Reads the buffers of the spec or of a variant. The caller has already declared their names. */
kiln__buffer *kiln__read_buffers(kiln__reader *r, const kiln__spec_node *node, bool of_spec, size_t *count)
{
    *count = node && node->kind == KILN__MAP && node->count <= KILN__MOST ? node->count : 0;
    kiln__buffer *buffers = *count ? kiln__read_array(r, *count, sizeof *buffers) : NULL;
    if (!buffers)
        *count = 0;
    for (size_t i = 0; i < *count; i++) {
        buffers[i].name = kiln__arena_strdup(r->arena, node->keys[i]->text);
        buffers[i].pos = node->keys[i]->pos;
        if (!buffers[i].name)
            return NULL;
        buffers[i].shape_text = "?";
        read_buffer(r, node->items[i], of_spec, &buffers[i]);
    }
    return buffers;
}

const char *kiln__buffer_role(const kiln__buffer *buffer)
{
    bool filled = buffer->fill.kind != KILN__FILL_NONE;
    return buffer->out ? filled ? "an input and output" : "an output" : filled ? "an input" : "scratch memory";
}
