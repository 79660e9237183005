/* tensor_map.c - reads a tensor map, which can be an argument of a launch. */
#include <string.h>

#include "read.h"

/* Reads a list of at most `most` expressions. Returns the number of expressions, or 0 if the key is missing. */
static size_t read_list(kiln__reader *r, kiln__spec_node *node, kiln__key key, size_t most, kiln__expr **out)
{
    const char *name = kiln__keys[key].info.name;
    kiln__spec_node *const *items;
    size_t count = kiln__read_items(r, &node, name, &items);
    if (node && (count == 0 || count > most)) {
        if (node->kind != KILN__MAP)
            kiln__diag_add(r->diag, node->pos, "'%s' of a tensor map has 1 to %zu numbers, not %zu", name, most, count);
        return 0;
    }
    for (size_t i = 0; i < count; i++)
        out[i] = kiln__read_expr(r, items[i], name, KILN__ALL_INPUTS);
    return count;
}

static kiln__expr *read_one(kiln__reader *r, const kiln__spec_node *node, kiln__key key)
{
    return node ? kiln__read_expr(r, node, kiln__keys[key].info.name, KILN__ALL_INPUTS) : NULL;
}

/* Returns the place of the key in the file, or the place of the whole mapping if the key is missing. */
static kiln__pos place_of(const kiln__spec_node *map, const kiln__spec_node *node)
{
    return node ? node->pos : map->pos;
}

static void read_fill(kiln__reader *r, const kiln__spec_node *node, kiln__tensor *made)
{
    const char *text = node ? kiln__read_text(r, node, "'fill'") : NULL;
    if (!text)
        return;
    made->nan = strcmp(text, "nan") == 0;
    if (!made->nan && strcmp(text, "zero") != 0)
        kiln__diag_add(r->diag, node->pos, "'fill' of a tensor map is zero or nan, not '%.40s'", text);
}

static void read_places(const kiln__spec_node *map, kiln__tensor *made)
{
    KILN__KEYS_tensor_map(KILN__NODE) made->at[KILN__AT_TYPE] = place_of(map, type_);
    (void)tensor_map_;
    (void)flip_;
    (void)fill_;
    made->at[KILN__AT_SHAPE] = place_of(map, shape_);
    made->at[KILN__AT_STRIDES] = place_of(map, strides_ ? strides_ : shape_);
    made->at[KILN__AT_BOX] = place_of(map, box_);
    made->at[KILN__AT_STEPS] = place_of(map, steps_);
    made->at[KILN__AT_INTERLEAVE] = place_of(map, interleave_);
    made->at[KILN__AT_SWIZZLE] = place_of(map, atom_ ? atom_ : swizzle_);
    made->at[KILN__AT_PROMOTION] = place_of(map, l2_promotion_);
    made->at[KILN__AT_FILL] = place_of(map, fill_);
    made->at[KILN__AT_LOWER] = place_of(map, lower_);
    made->at[KILN__AT_UPPER] = place_of(map, upper_);
    made->at[KILN__AT_CHANNELS] = place_of(map, channels_);
    made->at[KILN__AT_PIXELS] = place_of(map, pixels_);
}

/* Checks that the map is either tiled with a box, or im2col with the other four keys. */
static void check_kind(kiln__reader *r, const kiln__spec_node *map, const kiln__tensor *made)
{
    const bool corners = made->lower_count || made->upper_count || made->channels || made->pixels;
    if (made->box_count && corners)
        kiln__diag_add(r->diag, map->pos,
                       "a tensor map needs either 'box', or 'lower', 'upper', 'channels' and 'pixels', not both");
    else if (!made->box_count && !corners)
        kiln__diag_add(r->diag, map->pos,
                       "a tensor map needs the key 'box': the extents of the box that one copy transfers");
    else if (corners && (!made->lower_count || !made->upper_count || !made->channels || !made->pixels))
        kiln__diag_add(r->diag, map->pos, "a tensor map for im2col needs 'lower', 'upper', 'channels' and 'pixels'");
}

/* Reads all keys of a tensor map into `arg`, and the place of each key for messages. check_kind() then checks that the
 * keys fit together. Kiln checks the limits of their values when it makes a plan, because params may change the
 * values. */
void kiln__read_tensor_map(kiln__reader *r, const kiln__spec_node *map, kiln__argument *arg)
{
    KILN__KEYS_tensor_map(KILN__NODE) kiln__tensor *made = kiln__read_array(r, 1, sizeof *made);
    if (!made || !kiln__read_map(r, map, KILN__MAPPING_tensor_map))
        return;
    if (!kiln__read_pointer(r, tensor_map_, arg) || arg->kind != KILN__ARGUMENT_BUFFER) {
        kiln__diag_add(r->diag, tensor_map_->pos, "'tensor_map' must be a buffer, or a place in it such as x + 4");
        return;
    }
    arg->kind = KILN__ARGUMENT_TENSOR_MAP;
    arg->text = kiln__arena_strdup(r->arena, tensor_map_->text);
    arg->size = KILN__TENSOR_SIZE;
    arg->align = KILN__TENSOR_ALIGN;
    arg->tensor = made;
    made->type = type_ ? kiln__read_text(r, type_, "'type'") : NULL;
    made->shape_count = read_list(r, shape_, KILN__KEY_tensor_map_shape, KILN__TENSOR_MOST, made->shape);
    made->stride_count = read_list(r, strides_, KILN__KEY_tensor_map_strides, KILN__TENSOR_MOST - 1, made->strides);
    made->box_count = read_list(r, box_, KILN__KEY_tensor_map_box, KILN__TENSOR_MOST, made->box);
    made->step_count = read_list(r, steps_, KILN__KEY_tensor_map_steps, KILN__TENSOR_MOST, made->steps);
    made->lower_count = read_list(r, lower_, KILN__KEY_tensor_map_lower, KILN__TENSOR_MOST - 2, made->lower);
    made->upper_count = read_list(r, upper_, KILN__KEY_tensor_map_upper, KILN__TENSOR_MOST - 2, made->upper);
    made->channels = read_one(r, channels_, KILN__KEY_tensor_map_channels);
    made->pixels = read_one(r, pixels_, KILN__KEY_tensor_map_pixels);
    made->swizzle = read_one(r, swizzle_, KILN__KEY_tensor_map_swizzle);
    made->atom = read_one(r, atom_, KILN__KEY_tensor_map_atom);
    made->interleave = read_one(r, interleave_, KILN__KEY_tensor_map_interleave);
    made->promotion = read_one(r, l2_promotion_, KILN__KEY_tensor_map_l2_promotion);
    if (flip_)
        kiln__read_bool(r, flip_, "'flip'", &made->flip);
    read_fill(r, fill_, made);
    read_places(map, made);
    check_kind(r, map, made);
}
