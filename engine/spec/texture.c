/* texture.c - reads a texture object, which can be an argument of a launch. */
#include <string.h>

#include "read.h"

/* Returns the index of the word in `words`, which ends with NULL. Reports an error and returns 0 if `words` does not
 * contain the word. */
static unsigned read_word(kiln__reader *r, const kiln__spec_node *node, const char *what, const char *const *words)
{
    const char *text = kiln__read_text(r, node, what);
    kiln__text list = {.mem = r->spec->mem};
    for (unsigned i = 0; text && words[i]; i++) {
        if (strcmp(text, words[i]) == 0) {
            kiln__text_free(&list);
            return i;
        }
        kiln__text_printf(&list, "%s%s", i == 0 ? "" : words[i + 1] ? ", " : " or ", words[i]);
    }
    if (text)
        kiln__diag_add(r->diag, node->pos, "%s of a texture is %s, not '%.40s'", what, kiln__text_get(&list), text);
    kiln__text_free(&list);
    return 0;
}

static void read_shape(kiln__reader *r, kiln__spec_node *node, kiln__texture *made)
{
    kiln__spec_node *const *items;
    size_t count = kiln__read_items(r, &node, "shape", &items);
    if (node && (count == 0 || count > KILN__TEXTURE_MOST)) {
        if (node->kind != KILN__MAP)
            kiln__diag_add(r->diag, node->pos, "'shape' of a texture has 1 to %d numbers, not %zu", KILN__TEXTURE_MOST,
                           count);
        return;
    }
    for (size_t i = 0; i < count; i++)
        made->shape[made->shape_count++] = kiln__read_expr(r, items[i], "shape", KILN__ALL_INPUTS);
}

/* Reads `address`: one address mode for all dimensions, or one for each dimension. */
static void read_address(kiln__reader *r, kiln__spec_node *node, kiln__texture *made)
{
    static const char *const words[] = {
#define KILN_X(name, text) text,
        KILN__ADDRESS_MAP(KILN_X)
#undef KILN_X
            NULL};
    kiln__spec_node *const *items;
    size_t count = kiln__read_items(r, &node, "address", &items);
    if (node && (count == 0 || count > KILN__TEXTURE_MOST)) {
        if (node->kind != KILN__MAP)
            kiln__diag_add(r->diag, node->pos, "'address' of a texture needs one word, or one word for each dimension");
        return;
    }
    for (size_t i = 0; i < count; i++) {
        kiln__address mode = (kiln__address)read_word(r, items[i], "'address'", words);
        made->address[made->address_count++] = mode;
        if ((mode == KILN__ADDRESS_WRAP || mode == KILN__ADDRESS_MIRROR) && !made->normalised)
            kiln__diag_add(r->diag, items[i]->pos,
                           "'%s' needs 'normalised: true', because a device clamps other coordinates", words[mode]);
    }
}

/* Reads all keys of a texture into `arg`, and the place of each key for messages. The function also records whether the
 * spec needs CUDA arrays. */
void kiln__read_texture(kiln__reader *r, const kiln__spec_node *map, kiln__argument *arg)
{
    static const char *const reads[] = {"element", "float", NULL}, *const filters[] = {"point", "linear", NULL};
    KILN__KEYS_texture(KILN__NODE) kiln__texture *made = kiln__read_array(r, 1, sizeof *made);
    if (!made || !kiln__read_map(r, map, KILN__MAPPING_texture))
        return;
    if (!kiln__read_pointer(r, texture_, arg) || arg->kind != KILN__ARGUMENT_BUFFER) {
        kiln__diag_add(r->diag, texture_->pos, "'texture' must be a buffer, or a place in it such as x + 512");
        return;
    }
    arg->kind = KILN__ARGUMENT_TEXTURE;
    arg->text = kiln__arena_strdup(r->arena, texture_->text);
    arg->texture = made;
    if (array_)
        kiln__read_bool(r, array_, "'array'", &made->array);
    if (layered_)
        kiln__read_bool(r, layered_, "'layered'", &made->layered);
    if (normalised_)
        kiln__read_bool(r, normalised_, "'normalised'", &made->normalised);
    made->channels = channels_ ? kiln__read_expr(r, channels_, "channels", KILN__ALL_INPUTS) : NULL;
    made->pitch = pitch_ ? kiln__read_expr(r, pitch_, "pitch", KILN__ALL_INPUTS) : NULL;
    made->as_float = read_ && read_word(r, read_, "'read'", reads) == 1;
    made->linear = filter_ && read_word(r, filter_, "'filter'", filters) == 1;
    read_shape(r, shape_, made);
    read_address(r, address_, made);
    made->shape_at = shape_ ? shape_->pos : map->pos;
    made->pitch_at = pitch_ ? pitch_->pos : made->shape_at;
    made->read_at = read_ ? read_->pos : map->pos;
    made->filter_at = filter_ ? filter_->pos : map->pos;
    made->address_at = address_ ? address_->pos : map->pos;
    made->normalised_at = normalised_ ? normalised_->pos : map->pos;
    r->spec->has_arrays |= made->array;
    if (made->layered && !made->array)
        kiln__diag_add(r->diag, layered_->pos, "'layered' needs 'array: true', because only a CUDA array has layers");
}
