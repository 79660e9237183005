/* names.c - the namespace of a spec, and the check that every expression uses only names that are known where the
 * expression stands.
 */
#include <string.h>

#include "read.h"

static const char *const device_names[] = {
#define KILN_X(name) "device." #name,
    KILN__DEVICE_NAMES(KILN_X)
#undef KILN_X
};

static const char *kind_text(kiln__name_kind kind)
{
    static const char *const texts[] = {"a size",   "a param",       "a let",   "an input",
                                        "a buffer", "a loop's name", "a metric"};
    return texts[kind];
}

kiln__name *kiln__find_name(const kiln__reader *r, const char *text)
{
    for (size_t i = r->name_count; i-- > 0;)
        if (strcmp(r->names[i].text, text) == 0)
            return &r->names[i];
    return NULL;
}

const char *kiln__nearest_name(const kiln__reader *r, const char *text, unsigned kinds)
{
    const char *names[4 * KILN__MOST];
    size_t count = 0;
    for (size_t i = 0; i < r->name_count && count < KILN__COUNT(names); i++)
        if (kinds & (1u << r->names[i].kind))
            names[count++] = r->names[i].text;
    return kiln__nearest(text, names, count);
}

/* Returns a list of the known names of these kinds, for a message: "; the names here are N, BLOCK". Returns "" if no
 * names of these kinds are known, or more than MOST. */
static const char *list_names(const kiln__reader *r, unsigned kinds)
{
    enum { MOST = 12 };
    kiln__text list = {.mem = r->diag->mem};
    size_t count = 0;
    for (size_t i = 0; i < r->name_count; i++)
        if (kinds & (1u << r->names[i].kind) && r->names[i].kind != KILN__NAME_METRIC)
            kiln__text_printf(&list, "%s%s", count++ ? ", " : "; the names here are ", r->names[i].text);
    const char *made = count > 0 && count <= MOST ? kiln__arena_strdup(r->arena, kiln__text_get(&list)) : "";
    kiln__text_free(&list);
    return made ? made : "";
}

/* Adds a name to the namespace and returns it. Reports an error and returns NULL if the name is not valid, is longer
 * than 63 characters, or is already in use. An input also gets the next number. These numbers order the inputs by the
 * time when they are made. */
static kiln__name *add_name(kiln__reader *r, const char *text, kiln__pos pos, kiln__name_kind kind)
{
    if (!kiln__name_valid(text)) {
        kiln__diag_add(r->diag, pos,
                       kiln__name_reserved(text) ? "'%s' is a word of the expression language and cannot be a name"
                       : text[strspn(text, "0123456789")] == '\0' && *text
                           ? "'%s' is not a valid name; if it is a part of a number, leave out the commas: 5000"
                           : "'%s' is not a valid name: use letters, digits and '_', with no digit at the start",
                       text);
        return NULL;
    }
    if (strlen(text) > 63) {
        kiln__diag_add(r->diag, pos, "the name '%.20s...' has more than 63 characters", text);
        return NULL;
    }
    const kiln__name *taken = kiln__find_name(r, text);
    if (taken) {
        kiln__diag_add(r->diag, pos, "'%s' is already %s (line %u)", text, kind_text(taken->kind), taken->pos.line);
        return NULL;
    }
    if (!kiln__grow(r->diag->mem, &r->names, &r->name_capacity, r->name_count + 1, sizeof *r->names)) {
        r->arena->failed = true;
        return NULL;
    }
    kiln__name *name = &r->names[r->name_count++];
    *name = (kiln__name){.text = text, .kind = kind, .pos = pos};
    if (kind == KILN__NAME_INPUT)
        name->inputs = ++r->input_count;
    return name;
}

void kiln__declare(kiln__reader *r, const kiln__spec_node *key, kiln__name_kind kind, const kiln__param *param)
{
    kiln__name *name = add_name(r, key->text, key->pos, kind);
    if (name)
        name->param = param;
}

void kiln__declare_text(kiln__reader *r, const char *text, kiln__pos pos, kiln__name_kind kind)
{
    add_name(r, text, pos, kind);
}

/* ---- names in expressions ---- */

enum {
    VALUES = 1u << KILN__NAME_SIZE | 1u << KILN__NAME_PARAM | 1u << KILN__NAME_LET | 1u << KILN__NAME_LOOP |
             1u << KILN__NAME_METRIC
};

/* Returns true if the text is a value of some param, which the author probably meant. */
static bool is_param_value(const kiln__reader *r, const char *text)
{
    for (size_t i = 0; i < r->name_count; i++)
        for (size_t v = 0; r->names[i].param && v < r->names[i].param->count; v++) {
            const kiln_value *value = &r->names[i].param->values[v];
            if (value->kind != KILN_TEXT)
                break;
            if (strcmp(value->as.text, text) == 0)
                return true;
        }
    return false;
}

/* Checks a name with a dot: a device property ("device.sm_count") or an export of an input ("A.rows"). `dot` is the
 * first dot of the name. `inputs` is the number of inputs that exist when the value is needed. Reports an unknown name
 * and suggests a known name. Also reports an input that does not exist yet when the value is needed. */
static void check_dotted(kiln__reader *r, const char *text, const char *dot, kiln__pos pos, size_t inputs)
{
    char root[64];
    size_t length = (size_t)(dot - text);
    if (length == 6 && memcmp(text, "device", 6) == 0) {
        for (size_t i = 0; i < KILN__COUNT(device_names); i++)
            if (strcmp(device_names[i], text) == 0)
                return;
        const char *near = kiln__nearest(text, device_names, KILN__COUNT(device_names));
        kiln__diag_add(r->diag, pos, near ? "a device has no '%s'; did you mean '%s'?" : "a device has no '%s'",
                       dot + 1, near);
        return;
    }
    if (length >= sizeof root) {
        kiln__diag_add(r->diag, pos, "unknown name '%.60s...'", text);
        return;
    }
    memcpy(root, text, length);
    root[length] = '\0';
    const kiln__name *input = kiln__find_name(r, root);
    if (!input || input->kind != KILN__NAME_INPUT) {
        const char *near = kiln__nearest_name(r, root, 1u << KILN__NAME_INPUT);
        kiln__diag_add(r->diag, pos,
                       near ? "'%s' does not exist, because there is no input '%s'; did you mean '%s'?"
                            : "'%s' does not exist, because there is no input '%s'",
                       text, root, near);
    } else if (input->inputs > inputs && !r->for_input) {
        kiln__diag_add(r->diag, pos,
                       "'%s' is the export of an input, but its value is needed before kiln makes the inputs", text);
    } else if (input->inputs > inputs) {
        kiln__diag_add(r->diag, pos, "the input '%s' is made later than this one", root);
    }
}

static void check_name(kiln__reader *r, const char *text, kiln__pos pos, size_t inputs)
{
    const char *dot = strchr(text, '.');
    if (dot) {
        check_dotted(r, text, dot, pos, inputs);
        return;
    }
    const kiln__name *name = kiln__find_name(r, text);
    if (!name) {
        const char *near = kiln__nearest_name(r, text, VALUES);
        if (is_param_value(r, text))
            kiln__diag_add(r->diag, pos, "unknown name '%s'; if it is a text, write it in quotes: '%s'", text, text);
        else if (near)
            kiln__diag_add(r->diag, pos, "unknown name '%s'; did you mean '%s'?", text, near);
        else
            kiln__diag_add(r->diag, pos, "unknown name '%s'%s", text, list_names(r, VALUES));
    } else if (name->kind == KILN__NAME_BUFFER) {
        kiln__diag_add(
            r->diag, pos,
            "'%s' is a buffer and has no value, so an expression cannot use it; only a whole argument can be a buffer",
            text);
    } else if (name->kind == KILN__NAME_INPUT) {
        kiln__diag_add(r->diag, pos, "'%s' is an input; write its exports as '%s.NAME'", text, text);
    } else if (name->kind == KILN__NAME_LET && name->inputs > inputs) {
        kiln__diag_add(r->diag, pos,
                       !r->for_input
                           ? "'%s' is the export of an input, but its value is needed before kiln makes the inputs"
                           : "'%s' uses an input that is made later than this one",
                       text);
    }
}

static bool is_right(const kiln__reader *r, const char *text, size_t inputs)
{
    const kiln__name *name = kiln__find_name(r, text);
    return name && (VALUES >> name->kind & 1u) && (name->kind != KILN__NAME_LET || name->inputs <= inputs);
}

void kiln__check_expr(kiln__reader *r, const kiln__expr *expr, size_t inputs)
{
    size_t count = kiln__expr_name_count(expr);
    for (size_t i = 0; i < count; i++)
        /* kiln__expr_name_pos() reads the whole text of the spec, so it is called only for wrong names */
        if (!is_right(r, kiln__expr_name(expr, i), inputs))
            check_name(r, kiln__expr_name(expr, i), kiln__expr_name_pos(expr, i), inputs);
    kiln_value value;
    if (count == 0)
        kiln__expr_eval(expr, NULL, &value, r->diag); /* report at once a constant that cannot be computed */
}

static kiln__expr *parse(kiln__reader *r, const kiln__spec_node *node, const char *what)
{
    if (node->kind != KILN__SCALAR || node->length == 0) {
        const char *at = kiln__spec_node_text(node);
        kiln__diag_add(r->diag, node->pos,
                       at && *at == '&'
                           ? "%s must be an expression: '&' begins an anchor in YAML, so write only the name"
                           : "%s must be an expression, not %s",
                       what, kiln__spec_node_describe(node));
        return NULL;
    }
    return kiln__expr_parse(r->arena, node->text, node->length, node->pos, 0, r->diag);
}

kiln__expr *kiln__read_expr(kiln__reader *r, const kiln__spec_node *node, const char *what, size_t inputs)
{
    kiln__expr *expr = parse(r, node, what);
    if (expr)
        kiln__check_expr(r, expr, inputs);
    return expr;
}

/* Returns the name if the expression consists of a single name; otherwise NULL. */
static const char *lone_name(const kiln__expr *expr)
{
    return kiln__expr_name_count(expr) == 1 && strcmp(kiln__expr_name(expr, 0), kiln__expr_text(expr)) == 0
               ? kiln__expr_name(expr, 0)
               : NULL;
}

kiln__expr *kiln__read_arg(kiln__reader *r, const kiln__spec_node *node, const char *what)
{
    kiln__expr *expr = parse(r, node, what);
    const char *alone = expr ? lone_name(expr) : NULL;
    if (!expr)
        return NULL;
    if (alone && !kiln__find_name(r, alone) && !strchr(alone, '.')) {
        const char *near = kiln__nearest_name(r, alone, VALUES | 1u << KILN__NAME_BUFFER);
        kiln__diag_add(r->diag, node->pos,
                       near ? "there is no buffer, size, param or let '%s'; did you mean '%s'?"
                            : "there is no buffer, size, param or let '%s'%s",
                       alone, near ? near : list_names(r, VALUES | 1u << KILN__NAME_BUFFER));
        return NULL;
    }
    kiln__check_expr(r, expr, KILN__ALL_INPUTS);
    return expr;
}

kiln__template *kiln__read_template(kiln__reader *r, const kiln__spec_node *node, const char *what)
{
    if (node->kind != KILN__SCALAR || node->length == 0) {
        kiln__diag_add(r->diag, node->pos, "%s must be a text, not %s", what, kiln__spec_node_describe(node));
        return NULL;
    }
    kiln__template *made = kiln__template_parse(r->arena, node->text, node->length, node->pos, r->diag);
    for (size_t i = 0; made && i < kiln__template_expr_count(made); i++)
        kiln__check_expr(r, kiln__template_expr(made, i), 0);
    return made;
}

const char *kiln__read_path(kiln__reader *r, const kiln__spec_node *node, const char *what, kiln__template **path)
{
    const char *text = kiln__read_text(r, node, what);
    *path = NULL;
    if (!text || !strpbrk(text, "{}"))
        return text;
    *path = kiln__template_parse(r->arena, node->text, node->length, node->pos, r->diag);
    for (size_t i = 0; *path && i < kiln__template_expr_count(*path); i++) {
        const kiln__expr *expr = kiln__template_expr(*path, i);
        kiln__check_expr(r, expr, 0);
        for (size_t k = 0; k < kiln__expr_name_count(expr); k++) {
            const kiln__name *name = kiln__find_name(r, kiln__expr_name(expr, k));
            if (name && name->kind != KILN__NAME_SIZE)
                kiln__diag_add(r->diag, node->pos,
                               "in the name of a file, braces may contain only sizes, and '%s' is not a size",
                               kiln__expr_name(expr, k));
        }
    }
    return text;
}

const char *kiln__read_buffer_name(kiln__reader *r, const kiln__spec_node *node, const char *what)
{
    const char *text = kiln__read_text(r, node, what);
    if (!text)
        return NULL;
    const kiln__name *name = kiln__find_name(r, text);
    if (name && name->kind == KILN__NAME_BUFFER)
        return text;
    const char *near = kiln__nearest_name(r, text, 1u << KILN__NAME_BUFFER);
    kiln__diag_add(r->diag, node->pos, near ? "there is no buffer '%s'; did you mean '%s'?" : "there is no buffer '%s'",
                   text, near);
    return NULL;
}

/* ---- host functions ---- */

/* Reads one argument of a host function. The argument is an expression if all its names are known at this place.
 * Otherwise the argument is a text such as a path or a word. Reports a single word that is almost a known name, because
 * it is probably misspelt. */
static void read_host_arg(kiln__reader *r, const kiln__spec_node *node, size_t inputs, bool buffers, kiln__arg *arg)
{
    if (node->kind != KILN__SCALAR || node->length == 0) {
        kiln__diag_add(r->diag, node->pos, "an argument must be a value or a name, not %s",
                       kiln__spec_node_describe(node));
        return;
    }
    kiln__diag quiet = {.mem = r->diag->mem};
    kiln__expr *expr = node->quoted ? NULL : kiln__expr_parse(r->arena, node->text, node->length, node->pos, 0, &quiet);
    kiln__text_free(&quiet.text);
    const char *alone = expr ? lone_name(expr) : NULL;
    bool known = expr != NULL;
    for (size_t i = 0; known && i < kiln__expr_name_count(expr); i++) {
        const char *name = kiln__expr_name(expr, i), *dot = strchr(name, '.');
        char *root = dot ? kiln__arena_strndup(r->scratch, name, (size_t)(dot - name)) : NULL;
        if (dot && !root)
            return;
        known = dot ? strcmp(root, "device") == 0 || kiln__find_name(r, root) : kiln__find_name(r, name) != NULL;
    }
    if (!known) {
        const char *near = alone && !strchr(alone, '.')
                               ? kiln__nearest_name(r, alone, VALUES | 1u << KILN__NAME_INPUT | 1u << KILN__NAME_BUFFER)
                               : NULL;
        if (near && strlen(alone) > 1)
            kiln__diag_add(r->diag, node->pos, "unknown name '%s'; did you mean '%s'? (a text may be quoted)", alone,
                           near);
        arg->text = kiln__arena_strdup(r->arena, node->text);
        return;
    }
    arg->expr = expr;
    const kiln__name *name = alone ? kiln__find_name(r, alone) : NULL;
    if (name && name->kind == KILN__NAME_BUFFER) {
        if (!buffers)
            kiln__diag_add(r->diag, node->pos, "'%s' is a buffer, but kiln makes inputs before buffers", alone);
    } else if (name && name->kind == KILN__NAME_INPUT) {
        if (name->inputs > inputs)
            kiln__diag_add(r->diag, node->pos, "the input '%s' is made later than this one", alone);
    } else {
        kiln__check_expr(r, expr, inputs);
    }
}

kiln__arg *kiln__read_host_args(kiln__reader *r, const kiln__spec_node *map, const char *skip, size_t inputs,
                                bool buffers, size_t *count)
{
    *count = 0;
    if (!map || !kiln__read_entries(r, map, "'args'"))
        return NULL;
    kiln__arg *args = kiln__read_array(r, map->count, sizeof *args);
    for (size_t i = 0; args && i < map->count; i++) {
        if (skip && strcmp(map->keys[i]->text, skip) == 0)
            continue;
        kiln__arg *arg = &args[(*count)++];
        arg->name = kiln__arena_strdup(r->arena, map->keys[i]->text);
        arg->pos = map->keys[i]->pos;
        read_host_arg(r, map->items[i], inputs, buffers, arg);
    }
    return args;
}

const char *kiln__read_host(kiln__reader *r, const kiln__spec_node *node, const char *what, unsigned use)
{
    const char *name = kiln__read_text(r, node, what);
    if (!name || !r->hosts || r->hosts->known(r->hosts->user, name, use))
        return name;
    const char *names[KILN__MOST], *near = NULL;
    if (r->hosts->known(r->hosts->user, name, KILN_HOST_REFERENCE | KILN_HOST_INPUT | KILN_HOST_STEP)) {
        kiln__diag_add(r->diag, node->pos, "the host function '%s' is not registered for %s", name, what);
        return name;
    }
    size_t count = r->hosts->names ? r->hosts->names(r->hosts->user, names, KILN__COUNT(names)) : 0;
    near = kiln__nearest(name, names, count < KILN__COUNT(names) ? count : KILN__COUNT(names));
    kiln__diag_add(r->diag, node->pos,
                   near ? "there is no host function '%s'; did you mean '%s'?"
                        : "there is no host function '%s'; 'kiln help hosts' lists them, and kiln_catalogue_register() "
                          "registers them for a program",
                   name, near);
    return name;
}

static kiln__name *root_of(kiln__reader *r, const char *text)
{
    char root[64];
    size_t length = strcspn(text, ".");
    if (length >= sizeof root)
        return NULL;
    memcpy(root, text, length);
    root[length] = '\0';
    return kiln__find_name(r, root);
}

/* Returns true if the value may differ between configurations of the same sizes, or between devices. */
bool kiln__varies(kiln__reader *r, const kiln__expr *expr)
{
    for (size_t i = 0; expr && i < kiln__expr_name_count(expr); i++) {
        const char *text = kiln__expr_name(expr, i);
        const kiln__name *name = root_of(r, text);
        if (strncmp(text, "device.", 7) == 0 || (name && (name->kind == KILN__NAME_PARAM || name->varies)))
            return true;
    }
    return false;
}

kiln__named_expr *kiln__read_named(kiln__reader *r, const kiln__spec_node *map, const char *what, size_t inputs,
                                   size_t *count)
{
    *count = kiln__read_entries(r, map, what);
    kiln__named_expr *named = *count ? kiln__read_array(r, *count, sizeof *named) : NULL;
    if (!named)
        *count = 0;
    for (size_t i = 0; i < *count; i++) {
        named[i].name = kiln__arena_strdup(r->arena, map->keys[i]->text);
        named[i].pos = map->keys[i]->pos;
        if (!named[i].name)
            named[i].name = "";
        named[i].expr = kiln__read_expr(r, map->items[i], named[i].name, inputs);
    }
    return named;
}
