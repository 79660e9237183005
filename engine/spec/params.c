/* params.c - params, sizes and options: the parts of a spec that can vary. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "read.h"

/* Reports a text that looks like several values in a notation that Kiln does not have: 1-4, 1..4, "1, 2, 4", 1 2 4,
 * range(1, 5). As an expression, such a text would mean something else. For example, 1-4 is -3. */
static bool is_other_notation(kiln__reader *r, const kiln__spec_node *node)
{
    const char *text = node->text;
    size_t first = strspn(text, "0123456789"), gap = strspn(text + first, " ");
    const char *rest = text + first + gap;
    size_t sign = strncmp(rest, "..", 2) == 0 ? 2 + (rest[2] == '.') : strchr("-:,", *rest) && *rest ? 1 : 0;
    const char *behind = rest + sign + strspn(rest + sign, " ");
    size_t last = strspn(behind, "0123456789");
    bool list = first && last && (sign || gap) && !behind[last + strspn(behind + last, " ,0123456789")];
    bool range = strncmp(text, "range(", 6) == 0;
    if (!list && !range)
        return false;
    if (list && sign && *rest != ',')
        kiln__diag_add(r->diag, node->pos, "'%s' is not a range: write {from: %.*s, to: %.*s}, or a list: [%.*s, %.*s]",
                       text, (int)first, text, (int)last, behind, (int)first, text, (int)last, behind);
    else if (list)
        kiln__diag_add(r->diag, node->pos, "several values need brackets: write [%.*s, %.*s, ...]", (int)first, text,
                       (int)last, behind);
    else
        kiln__diag_add(r->diag, node->pos,
                       "'%s' is a Python expression: write {from: FIRST, to: LAST}; LAST belongs to the range", text);
    return true;
}

/* Reads a value of a param or a size. A quoted scalar or a plain word is a text. Any other plain scalar is an
 * expression without names. */
bool kiln__read_value(kiln__reader *r, const kiln__spec_node *node, const char *what, kiln_value *value)
{
    if (node->kind != KILN__SCALAR || (node->length == 0 && !node->quoted)) {
        kiln__diag_add(r->diag, node->pos, "%s must be a number, true, false or a name, not %s", what,
                       kiln__spec_node_describe(node));
        return false;
    }
    if (!node->quoted && is_other_notation(r, node)) /* a quoted text is a name and no expression */
        return false;
    value->kind = KILN_TEXT;
    if (node->quoted || kiln__name_valid(node->text)) {
        if (!node->quoted && (strcmp(node->text, "True") == 0 || strcmp(node->text, "False") == 0))
            kiln__diag_add(r->diag, node->pos, "write true or false in small letters");
        value->as.text = kiln__arena_strdup(r->arena, node->text);
        return value->as.text != NULL;
    }
    kiln__expr *expr = NULL;
    /* the expression language has functions of these names, but a param's values float and int are types of the
     * source */
    if (strcmp(node->text, "float") == 0 || strcmp(node->text, "int") == 0) {
        value->as.text = kiln__arena_strdup(r->arena, node->text);
        return value->as.text != NULL;
    }
    expr = kiln__expr_parse(r->arena, node->text, node->length, node->pos, 0, r->diag);
    if (!expr)
        return false;
    if (kiln__expr_name_count(expr) > 0) {
        kiln__diag_add(r->diag, kiln__expr_name_pos(expr, 0),
                       "%s must be a constant; '%s' has no value here "
                       "(a text of more than one word is quoted)",
                       what, kiln__expr_name(expr, 0));
        return false;
    }
    return kiln__expr_eval(expr, NULL, value, r->diag);
}

/* Gives all values one kind: if some values are floats, the integers become floats. Reports any other mixture of
 * kinds. */
bool kiln__unify(kiln__reader *r, kiln__pos pos, const char *what, kiln_value *values, size_t count)
{
    bool floats = false;
    for (size_t i = 0; i < count; i++)
        floats = floats || values[i].kind == KILN_FLOAT;
    for (size_t i = 0; i < count; i++) {
        if (floats && values[i].kind == KILN_INT)
            values[i] = (kiln_value){.kind = KILN_FLOAT, .as.f = (double)values[i].as.i};
        if (values[i].kind != values[0].kind) {
            kiln__diag_add(r->diag, pos,
                           "the values of %s have different kinds: all must be numbers, all booleans, or all names",
                           what);
            return false;
        }
    }
    return true;
}

static int by_value(const void *a, const void *b)
{
    const kiln_value *x = *(const kiln_value *const *)a, *y = *(const kiln_value *const *)b;
    if (x->kind == KILN_TEXT)
        return strcmp(x->as.text, y->as.text);
    if (x->kind == KILN_FLOAT)
        return x->as.f < y->as.f ? -1 : x->as.f > y->as.f;
    return x->as.i < y->as.i ? -1 : x->as.i > y->as.i;
}

/* Reports values that are equal. The caller guarantees that all values have the same kind. */
bool kiln__check_different(kiln__reader *r, kiln__pos pos, const char *name, const kiln_value *values, size_t count)
{
    size_t rising = 1;
    while (rising < count &&
           by_value(&(const kiln_value *){&values[rising - 1]}, &(const kiln_value *){&values[rising]}) < 0)
        rising++;
    if (rising >= count) /* the values rise, as in most ranges, so no two are equal */
        return true;
    const kiln_value **sorted = kiln__arena_alloc(r->scratch, count * sizeof *sorted);
    if (!sorted)
        return false;
    for (size_t i = 0; i < count; i++)
        sorted[i] = &values[i];
    qsort(sorted, count, sizeof *sorted, by_value);
    for (size_t i = 1; i < count; i++)
        if (by_value(&sorted[i - 1], &sorted[i]) == 0) {
            kiln__text shown = {.mem = r->diag->mem};
            kiln__value_print(&shown, *sorted[i]);
            kiln__diag_add(r->diag, pos, "param '%s' has the value %s twice: leave one out", name,
                           kiln__text_get(&shown));
            kiln__text_free(&shown);
            return false;
        }
    return true;
}

static bool room_for(kiln__reader *r, kiln__pos pos, size_t count)
{
    if (count <= KILN__MOST_VALUES - r->value_count) {
        r->value_count += count;
        return true;
    }
    kiln__diag_add(r->diag, pos, "too many values: the params of a spec may have %d together", KILN__MOST_VALUES);
    return false;
}

static void read_list(kiln__reader *r, kiln__spec_node *const *node, kiln__param *param)
{
    kiln__spec_node *const *items;
    size_t count = kiln__read_items(r, node, "the values of a param", &items);
    if (count == 0) {
        if ((*node)->kind == KILN__LIST)
            kiln__diag_add(r->diag, (*node)->pos, "param '%s' has no values: write [1, 2, 4]", param->name);
        return;
    }
    kiln_value *values = kiln__read_array(r, count, sizeof *values);
    if (!values || !room_for(r, (*node)->pos, count))
        return;
    const bool alone = (*node)->kind == KILN__SCALAR && (*node)->quoted; /* "1, 2, 4" in place of a list */
    if (alone && strspn((*node)->text, "0123456789") && strchr((*node)->text, ',') && is_other_notation(r, *node))
        return;
    for (size_t i = 0; i < count; i++)
        if (!kiln__read_value(r, items[i], "a value", &values[i]))
            return;
    if (!kiln__unify(r, (*node)->pos, "a param", values, count))
        return;
    param->values = values;
    param->count = count;
    kiln__check_different(r, (*node)->pos, param->name, values, count);
}

/* ---- ranges ---- */

static bool read_number(kiln__reader *r, const kiln__spec_node *node, kiln__key key, kiln_value *value)
{
    const char *name = kiln__keys[key].info.name;
    if (!kiln__read_value(r, node, name, value))
        return false;
    if (value->kind == KILN_INT || value->kind == KILN_FLOAT)
        return true;
    kiln__diag_add(r->diag, node->pos, "'%s' must be a number", name);
    return false;
}

/* Returns the number of values of a range. Reports an error and returns 0 if the range is not valid. */
static size_t count_range(kiln__reader *r, const kiln__spec_node *by, kiln_value from, kiln_value to, kiln_value step,
                          bool times)
{
    bool ints = from.kind == KILN_INT;
    bool backwards = ints ? from.as.i > to.as.i : from.as.f > to.as.f;
    double a = ints ? (double)from.as.i : from.as.f, b = ints ? (double)to.as.i : to.as.f;
    double s = ints ? (double)step.as.i : step.as.f;
    if (times ? !(s > 1 && a > 0) : s == 0) {
        kiln__diag_add(r->diag, by->pos,
                       times ? "'times' must be above 1, and 'from' above 0" : "'step' must not be 0");
        return 0;
    }
    if (s > 0 ? backwards : !backwards && a < b) {
        kiln__diag_add(
            r->diag, by->pos,
            "this range is empty: its steps go away from 'to'; write {from: %g, to: %g}, or give a 'step' %s 0",
            s > 0 ? b : a, s > 0 ? a : b, s > 0 ? "below" : "above");
        return 0;
    }
    /* If the values are floats, add a small tolerance to the quotient, because 0.1 to 0.5 by 0.1 has five values in
     * spite of rounding. */
    double count = floor((times ? log(b / a) / log(s) : (b - a) / s) + 1e-9) + 1;
    if (ints && !times) {
        uint64_t low = (uint64_t)(s > 0 ? from : to).as.i, high = (uint64_t)(s > 0 ? to : from).as.i;
        uint64_t whole = (high - low) / (s > 0 ? (uint64_t)step.as.i : -(uint64_t)step.as.i);
        count = (double)whole + 1;
    }
    if (count <= KILN__MOST_VALUES)
        return (size_t)count;
    kiln__diag_add(r->diag, by->pos, "too many values: the params of a spec may have %d together", KILN__MOST_VALUES);
    return 0;
}

typedef struct range_nodes {
    const kiln__spec_node *map, *from, *to, *step, *times;
} range_nodes;

/* Reads a range: `from`, `to`, and either `step` or `times`. The values `from` and `to` both belong to the range. The
 * default of `step` is 1. All values of the range get one kind, as in a list. */
static void read_range(kiln__reader *r, const range_nodes *range, kiln__param *param)
{
    bool times = range->times != NULL;
    const kiln__spec_node *by = times ? range->times : range->step;
    kiln_value bounds[3] = {{.kind = KILN_INT}, {.kind = KILN_INT}, {.kind = KILN_INT, .as.i = 1}};
    if (times && range->step) {
        kiln__diag_add(r->diag, by->pos, "a range has 'step' or 'times', not both");
        return;
    }
    bool here = kiln__read_need(r, range->map, "a range", "from");
    if (!kiln__read_need(r, range->map, "a range", "to") || !here || !range->from || !range->to)
        return;
    if (!read_number(r, range->from, KILN__KEY_param_from, &bounds[0]) ||
        !read_number(r, range->to, KILN__KEY_param_to, &bounds[1]) ||
        (by && !read_number(r, by, times ? KILN__KEY_param_times : KILN__KEY_param_step, &bounds[2])) ||
        !kiln__unify(r, range->map->pos, "a range", bounds, 3))
        return;
    size_t count = count_range(r, by ? by : range->map, bounds[0], bounds[1], bounds[2], times);
    if (count == 0 || !room_for(r, range->map->pos, count))
        return;
    kiln_value *values = kiln__read_array(r, count, sizeof *values), v = bounds[0];
    size_t used = 0;
    while (values && used < count) {
        values[used++] = v;
        if (v.kind == KILN_FLOAT) {
            double n = (double)used, s = bounds[2].as.f;
            v.as.f = times ? bounds[0].as.f * pow(s, n) : bounds[0].as.f + n * s;
        } else if (times ? __builtin_mul_overflow(v.as.i, bounds[2].as.i, &v.as.i)
                         : __builtin_add_overflow(v.as.i, bounds[2].as.i, &v.as.i)) {
            break;
        } else if (times || bounds[2].as.i > 0 ? v.as.i > bounds[1].as.i : v.as.i < bounds[1].as.i) {
            break; /* `count` was computed with floats, so a range of integers checks its last value again */
        }
    }
    param->values = values;
    param->count = values ? used : 0;
}

/* ---- one param ---- */

kiln__template **kiln__read_options(kiln__reader *r, kiln__spec_node *const *node, size_t *count)
{
    kiln__spec_node *const *items;
    *count = kiln__read_items(r, node, "'options'", &items);
    kiln__template **options = *count ? kiln__read_array(r, *count, sizeof *options) : NULL;
    for (size_t i = 0; options && i < *count; i++)
        options[i] = kiln__read_template(r, items[i], "an option");
    if (!options)
        *count = 0;
    return options;
}

static void read_default(kiln__reader *r, const kiln__spec_node *node, kiln__param *param)
{
    kiln_value wanted;
    if (param->count == 0 || !kiln__read_value(r, node, "'default'", &wanted))
        return;
    for (size_t i = 0; i < param->count; i++)
        if (kiln__value_equal(param->values[i], wanted)) {
            param->initial = i;
            return;
        }
    kiln__text list = {.mem = r->diag->mem};
    for (size_t i = 0; i < param->count && i < 8; i++) {
        kiln__text_puts(&list, i ? ", " : "");
        kiln__value_print(&list, param->values[i]);
    }
    kiln__diag_add(r->diag, node->pos, "the default of '%s' is not one of its values: %s%s", param->name,
                   kiln__text_get(&list), param->count > 8 ? " and more" : "");
    kiln__text_free(&list);
}

static void read_param(kiln__reader *r, kiln__spec_node *const *node, kiln__param *param)
{
    const kiln__spec_node *map = *node;
    KILN__KEYS_param(KILN__NODE) param->macro = true;
    (void)options_; /* read_section() in parse.c reads these options later, when all params are declared */
    if (map->kind != KILN__MAP) {
        read_list(r, node, param);
        return;
    }
    if (!kiln__read_map(r, map, KILN__MAPPING_param))
        return;
    const char *of_range = from_ ? "from" : to_ ? "to" : step_ ? "step" : times_ ? "times" : NULL;
    if (values_ && of_range)
        kiln__diag_add(r->diag, kiln__spec_node_key(map, of_range)->pos, "a param has 'values' or a range, not both");
    else if (values_ && values_->kind == KILN__MAP)
        kiln__diag_add(r->diag, values_->pos, "'values' must be a list; write a range in place of 'values'");
    else if (values_)
        read_list(r, &values_, param);
    else if (of_range)
        read_range(r, &(range_nodes){map, from_, to_, step_, times_}, param);
    else
        kiln__diag_add(r->diag, map->pos, "param '%s' has neither 'values' nor a range ('from', 'to')", param->name);
    if (default_)
        read_default(r, default_, param);
    if (macro_)
        kiln__read_bool(r, macro_, "'macro'", &param->macro);
}

kiln__param *kiln__read_params(kiln__reader *r, const kiln__spec_node *node, size_t *count)
{
    *count = kiln__read_entries(r, node, "'params'");
    kiln__param *params = *count ? kiln__read_array(r, *count, sizeof *params) : NULL;
    if (!params) {
        *count = 0;
        return NULL;
    }
    for (size_t i = 0; i < *count; i++) {
        params[i].name = kiln__arena_strdup(r->arena, node->keys[i]->text);
        params[i].pos = node->keys[i]->pos;
        if (!params[i].name)
            return NULL;
        read_param(r, &node->items[i], &params[i]);
        kiln__declare(r, node->keys[i], KILN__NAME_PARAM, &params[i]);
    }
    return params;
}

/* ---- sizes ---- */

static bool same_names(kiln__reader *r, const kiln__sizes *first, const kiln__spec_node *map)
{
    bool same = true;
    for (size_t i = 0; i < map->count; i++)
        if (!kiln__settings_find(first->settings, map->keys[i]->text)) {
            kiln__diag_add(r->diag, map->keys[i]->pos,
                           "the first size set, '%s', has no '%s'; all size sets must have the same names", first->name,
                           map->keys[i]->text);
            same = false;
        }
    for (size_t k = 0; k < first->settings.count; k++)
        if (!kiln__spec_node_get(map, first->settings.items[k].name)) {
            kiln__diag_add(r->diag, map->pos, "this size set has no '%s'", first->settings.items[k].name);
            same = false;
        }
    return same;
}

static void read_size(kiln__reader *r, const kiln__spec_node *node, kiln_value *value)
{
    *value = (kiln_value){.kind = KILN_INT};
    if (kiln__read_value(r, node, "a size", value) && value->kind == KILN_BOOL)
        kiln__diag_add(r->diag, node->pos, "a size must be a number, or a text that names an input's data");
    else if (value->kind == KILN_TEXT && node->quoted && *node->text &&
             node->text[strspn(node->text, "0123456789")] == '\0')
        kiln__diag_add(r->diag, node->pos, "%s in quotes is a text: write it without the quotes", node->text);
}

/* Returns false if the value is a text that represents a number. */
static bool is_text(kiln_value value)
{
    size_t length;
    int dim;
    return value.kind == KILN_TEXT && !(value.as.text && kiln__is_extent(value.as.text, &length, &dim));
}

/* Checks sizes such as `A.shape[0]`: A must be a buffer of the spec with a file. */
void kiln__check_sizes(kiln__reader *r, const kiln__spec_node *node, const kiln__buffer *buffers, size_t count)
{
    for (size_t s = 0; node && node->kind == KILN__MAP && s < node->count; s++) {
        const kiln__spec_node *set = node->items[s];
        for (size_t i = 0; set->kind == KILN__MAP && i < set->count; i++) {
            const kiln__spec_node *value = set->items[i];
            size_t length, b = 0;
            int dim;
            if (value->kind != KILN__SCALAR || !kiln__is_extent(value->text, &length, &dim))
                continue;
            while (b < count &&
                   (strlen(buffers[b].name) != length || memcmp(buffers[b].name, value->text, length) != 0))
                b++;
            if (b == count || buffers[b].fill.kind != KILN__FILL_FILE)
                kiln__diag_add(r->diag, value->pos, "'%s' needs a buffer '%.*s' of the spec with a 'file'", value->text,
                               (int)length, value->text);
        }
    }
}

/* Reads one size set. The first set (`first` is NULL) declares the names of the sizes. Later sets must have the same
 * names, and are stored in the order of the first set. */
static void read_size_set(kiln__reader *r, const kiln__spec_node *key, const kiln__spec_node *map, kiln__sizes *set,
                          const kiln__sizes *first)
{
    if (map->kind == KILN__SCALAR) {
        const char *equals = strchr(map->text, '=');
        kiln__diag_add(r->diag, map->pos, "'sizes' holds sets of sizes by name: write %s: {%.*s: %s}",
                       equals ? key->text : "default", (int)(equals ? equals - map->text : (long)strlen(key->text)),
                       equals ? map->text : key->text, equals ? equals + 1 : map->text);
        if (!kiln__find_name(r, key->text))
            /* Declare the name in spite of the error, so that no further errors follow from it. */
            kiln__declare(r, key, KILN__NAME_SIZE, NULL);
        return;
    }
    if (kiln__read_entries(r, map, "a size set such as {N: 1024}") == 0 && map->kind != KILN__MAP)
        return;
    kiln_setting *settings = kiln__read_array(r, map->count, sizeof *settings);
    if (!settings || (first && !same_names(r, first, map)))
        return;
    set->settings = (kiln__settings){map->count, settings};
    for (size_t i = 0; i < map->count; i++) {
        if (first) { /* store the sizes in the order of the first set */
            const kiln__spec_node *item = kiln__spec_node_get(map, first->settings.items[i].name);
            bool text = is_text(first->settings.items[i].value);
            settings[i].name = first->settings.items[i].name;
            read_size(r, item, &settings[i].value);
            if (item && text != is_text(settings[i].value))
                kiln__diag_add(r->diag, item->pos, "'%s' is a %s in the first size set, '%s'", settings[i].name,
                               text ? "text" : "number", first->name);
            continue;
        }
        settings[i].name = kiln__arena_strdup(r->arena, map->keys[i]->text);
        if (!settings[i].name)
            settings[i].name = "";
        kiln__declare(r, map->keys[i], KILN__NAME_SIZE, NULL);
        read_size(r, map->items[i], &settings[i].value);
    }
}

void kiln__read_sizes(kiln__reader *r, const kiln__spec_node *node)
{
    kiln_spec *spec = r->spec;
    size_t count = kiln__read_entries(r, node, "'sizes'");
    if (node && node->kind == KILN__MAP && count == 0 && node->count == 0)
        kiln__diag_add(r->diag, node->pos, "'sizes' has no size set, such as default: {N: 1024}");
    spec->size_sets = kiln__read_array(r, count, sizeof *spec->size_sets);
    if (!spec->size_sets)
        return;
    spec->size_set_count = count;
    for (size_t i = 0; node && i < count; i++) {
        spec->size_sets[i].name = kiln__arena_strdup(r->arena, node->keys[i]->text);
        spec->size_sets[i].pos = node->keys[i]->pos;
        if (spec->size_sets[i].name)
            read_size_set(r, node->keys[i], node->items[i], &spec->size_sets[i], i ? &spec->size_sets[0] : NULL);
    }
    if (count == 0) { /* a spec without sizes has one empty set */
        spec->size_sets[0].name = "default";
        spec->size_set_count = 1;
    }
}
