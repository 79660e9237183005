#include <string.h>

#include "read.h"

void *kiln__read_array(kiln__reader *r, size_t count, size_t size)
{
    return kiln__arena_alloc(r->arena, (count ? count : 1) * size); /* the nodes of the file bound the count */
}

/* Checks that `node` is a mapping and that all its keys are in `keys`, which ends with NULL. For an unknown key the
 * message has the nearest known key, or else the list of all keys. Returns false only if `node` is not a mapping. */
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
        const char *near = kiln__nearest(key, keys, count);
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
    return kiln__read_need(r, map, kiln__mapping_names[row->mapping], row->info.name);
}

bool kiln__read_need(kiln__reader *r, const kiln__spec_node *map, const char *what, const char *key)
{
    if (kiln__spec_node_get(map, key))
        return true;
    kiln__diag_add(r->diag, map->pos, "%s misses the key '%s'", what, key);
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
        kiln__diag_add(r->diag, node->pos, "%s has %zu entries; %d are the most", what, node->count, KILN__MOST);
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
        kiln__diag_add(r->diag, node->pos, "%s must be true or false", what);
        return false;
    }
    *value = yes;
    return true;
}
