/* read.c - reads nodes of the tree; all readers share these functions. */
#include <string.h>

#include "read.h"

void *kiln__read_array(kiln__reader *r, size_t count, size_t size)
{
    return kiln__arena_alloc(r->arena, (count ? count : 1) * size); /* the number of nodes in the file limits `count` */
}

/* Returns the known key of `keys` that users are likely to mean by the unknown key `key`, for example because another
 * program uses that name. Returns NULL if `keys` has no such key. */
static const char *other_name(const char *key, const char *const *keys)
{
    static const char *const others[][2] = {{"src", "source"},
                                            {"file", "source"},
                                            {"arrays", "buffers"},
                                            {"data", "buffers"},
                                            {"tensors", "buffers"},
                                            {"verification", "verify"},
                                            {"check", "verify"},
                                            {"answer", "verify"},
                                            {"parameters", "params"},
                                            {"tune_params", "params"},
                                            {"tunables", "params"},
                                            {"constraints", "where"},
                                            {"restrictions", "where"},
                                            {"headers", "include"},
                                            {"flags", "options"},
                                            {"name", "kernel"},
                                            {"kernel_name", "kernel"},
                                            {"function", "kernel"},
                                            {"arguments", "args"},
                                            {"threads", "block"},
                                            {"smem", "shared"},
                                            {"dynamic_shared", "shared"},
                                            {"shared_memory", "shared"},
                                            {"dtype", "type"},
                                            {"dims", "shape"},
                                            {"size", "shape"},
                                            {"length", "shape"},
                                            {"init", "fill"},
                                            {"value", "fill"},
                                            {"content", "fill"},
                                            {"min", "from"},
                                            {"start", "from"},
                                            {"max", "to"},
                                            {"stop", "to"},
                                            {"end", "to"},
                                            {"reference", "against"},
                                            {"tolerance", "rtol"},
                                            {"tol", "rtol"},
                                            {"python", "command"},
                                            {"script", "command"},
                                            {"cmd", "command"},
                                            {"npy", "file"},
                                            {"kernel", "variant"}};
    for (size_t i = 0; i < KILN__COUNT(others); i++)
        for (size_t k = 0; keys[k] && strcmp(key, others[i][0]) == 0; k++)
            if (strcmp(keys[k], others[i][1]) == 0)
                return keys[k];
    return NULL;
}

static bool is_nothing(const kiln__spec_node *node)
{
    return node->kind == KILN__SCALAR && node->length == 0 && !node->quoted;
}

/* Reports an entry of a mapping that is a key without a value, as in {1, 2} or {block: X, 1}: the values of a list
 * without its brackets. Reports several such entries in a row only once. */
static void report_alone(kiln__reader *r, const kiln__spec_node *map, size_t at, const char *what)
{
    const char *key = map->keys[at]->text, *first = key, *second = "";
    const bool follows = at > 0 && map->items[at - 1]->kind == KILN__SCALAR;
    if (follows && is_nothing(map->items[at - 1]))
        return;
    if (follows) {
        first = map->items[at - 1]->text;
        second = key;
    } else if (at + 1 < map->count) {
        second = map->keys[at + 1]->text;
    }
    kiln__diag_add(
        r->diag, map->keys[at]->pos,
        "'%s' has no value in %s, where 'key: value' is expected: write the values of a list in brackets, [%s%s%s]",
        key, what, first, *second ? ", " : "", second);
}

/* Checks that `node` is a mapping and that all its keys are in `keys`, which ends with NULL. For an unknown key the
 * message has the nearest known key, or the list of all keys. Returns false only if `node` is not a mapping. */
bool kiln__read_map_of(kiln__reader *r, const kiln__spec_node *node, const char *what, const char *const *keys)
{
    size_t count = 0;
    if (node->kind != KILN__MAP) {
        kiln__diag_add(r->diag, node->pos, "%s must be a mapping ('key: value'), not %s", what,
                       kiln__spec_node_describe(node));
        return false;
    }
    while (keys[count])
        count++;
    for (size_t i = 0; i < node->count; i++) {
        const char *key = node->keys[i]->text;
        size_t k = 0;
        while (k < count && strcmp(keys[k], key) != 0)
            k++;
        if (k < count)
            continue;
        if (is_nothing(node->items[i]) && !other_name(key, keys) && !kiln__nearest(key, keys, count)) {
            report_alone(r, node, i, what);
            continue;
        }
        const char *near = other_name(key, keys);
        near = near ? near : kiln__nearest(key, keys, count);
        if (near) {
            kiln__diag_add(r->diag, node->keys[i]->pos, "unknown key '%s' in %s; did you mean '%s'?", key, what, near);
            continue;
        }
        kiln__text list = {.mem = r->diag->mem};
        for (k = 0; k < count; k++)
            kiln__text_printf(&list, "%s%s", k ? ", " : "", keys[k]);
        kiln__diag_add(r->diag, node->keys[i]->pos, "unknown key '%s' in %s; it takes %s", key, what,
                       kiln__text_get(&list));
        kiln__text_free(&list);
    }
    return true;
}

bool kiln__read_map(kiln__reader *r, const kiln__spec_node *node, kiln__mapping mapping)
{
    const char *names[KILN__KEY_COUNT + 1] = {NULL};
    size_t count = 0;
    for (size_t i = 0; i < KILN__KEY_COUNT; i++)
        if (kiln__keys[i].mapping == mapping)
            names[count++] = kiln__keys[i].info.name;
    return kiln__read_map_of(r, node, kiln__mapping_names[mapping], names);
}

bool kiln__read_key(kiln__reader *r, const kiln__spec_node *map, kiln__key key)
{
    const kiln__key_row *row = &kiln__keys[key];
    const char *about = row->info.about;
    const size_t length = strcspn(about, ".");
    if (kiln__spec_node_get(map, row->info.name))
        return true;
    kiln__diag_add(r->diag, map->pos, "%s lacks the key '%s': %c%.*s", kiln__mapping_names[row->mapping],
                   row->info.name, about[0] >= 'A' && about[0] <= 'Z' ? about[0] + 'a' - 'A' : about[0],
                   (int)(length ? length - 1 : 0), length ? about + 1 : about);
    return false;
}

bool kiln__read_need(kiln__reader *r, const kiln__spec_node *map, const char *what, const char *key)
{
    if (kiln__spec_node_get(map, key))
        return true;
    kiln__diag_add(r->diag, map->pos, "%s lacks the key '%s'", what, key);
    return false;
}

size_t kiln__read_entries(kiln__reader *r, const kiln__spec_node *node, const char *what)
{
    if (!node)
        return 0;
    if (node->kind != KILN__MAP) {
        kiln__diag_add(r->diag, node->pos, "%s must be a mapping ('name: value'), not %s", what,
                       kiln__spec_node_describe(node));
        return 0;
    }
    if (node->count > KILN__MOST) {
        kiln__diag_add(r->diag, node->pos, "%s has %zu entries; at most %d are allowed", what, node->count, KILN__MOST);
        return 0;
    }
    return node->count;
}

size_t kiln__read_items(kiln__reader *r, kiln__spec_node *const *node, const char *what, kiln__spec_node *const **items)
{
    *items = NULL;
    if (!*node)
        return 0;
    if ((*node)->kind == KILN__MAP) {
        kiln__diag_add(r->diag, (*node)->pos, "%s must be a list, not a mapping", what);
        return 0;
    }
    if ((*node)->kind == KILN__SCALAR) {
        *items = node;
        return 1;
    }
    *items = (*node)->items;
    return (*node)->count;
}

const char *kiln__read_text(kiln__reader *r, const kiln__spec_node *node, const char *what)
{
    if (node->kind == KILN__SCALAR && node->length > 0)
        return kiln__arena_strdup(r->arena, node->text);
    kiln__diag_add(r->diag, node->pos, "%s must be a text, not %s", what, kiln__spec_node_describe(node));
    return NULL;
}

bool kiln__read_bool(kiln__reader *r, const kiln__spec_node *node, const char *what, bool *value)
{
    bool yes = node->kind == KILN__SCALAR && !node->quoted && strcmp(node->text, "true") == 0;
    bool no = node->kind == KILN__SCALAR && !node->quoted && strcmp(node->text, "false") == 0;
    if (!yes && !no) {
        static const char *const yes_words[] = {"yes", "on", "1", "True", "TRUE", "Yes", "y"};
        bool means = node->kind == KILN__SCALAR;
        size_t i = 0;
        while (means && i < KILN__COUNT(yes_words) && strcmp(node->text, yes_words[i]) != 0)
            i++;
        kiln__diag_add(r->diag, node->pos,
                       means && i < KILN__COUNT(yes_words) ? "%s must be true or false: write true"
                                                           : "%s must be true or false",
                       what);
        return false;
    }
    *value = yes;
    return true;
}
