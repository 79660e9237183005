/* arguments.c - reads the arguments of a launch: numbers, buffers and places in them, structures, lists of pointers. */
#include <string.h>

#include "read.h"

/* ---- structures ----
 *
 * The layout of a structure in C and CUDA: the offset of a field is a multiple of its alignment, and the size of a
 * structure is a multiple of its largest alignment. */

static bool place_member(uint64_t *at, uint64_t *align, uint64_t own, uint64_t bytes, uint64_t *offset)
{
    enum { MOST = 1 << 15 }; /* a launch has at most 32764 bytes of parameters */
    *align = own > *align ? own : *align;
    *offset = (*at + own - 1) / own * own;
    *at = *offset + bytes;
    return bytes <= MOST && *at <= MOST;
}

/* Reads a field such as [i32, N], [f32, 0, 1, 2] or [float4, 0, 0, 0, 1]: a type and at least one number. *align gets
 * the alignment of the type. */
static void read_values(kiln__reader *r, const kiln__spec_node *node, kiln__field *field, uint64_t *align)
{
    const kiln__spec_node *type = node->count ? node->items[0] : NULL;
    size_t lanes = 1;
    if (!type || type->kind != KILN__SCALAR ||
        !(kiln__type_named(type->text, &field->type) || kiln__vector_named(type->text, &field->type, &lanes))) {
        kiln__diag_add(r->diag, type ? type->pos : node->pos,
                       "a field is [TYPE, NUMBER, ...]; types are%s, and CUDA's vectors such as float4",
                       kiln__type_list);
        return;
    }
    size_t parts = kiln__type_part(field->type) == field->type ? 1 : 2, width = kiln__types[field->type].bytes;
    *align = lanes == 3 ? width : lanes * width < 16 ? lanes * width : 16; /* vector_types.h */
    if (lanes > 1 && (node->count < 2 || (node->count - 1) % lanes)) {
        kiln__diag_add(r->diag, node->pos, "a field of type %s needs %zu numbers", type->text, lanes);
        return;
    }
    if (node->count < 2 || (node->count - 1) % parts) {
        kiln__diag_add(r->diag, node->pos, "a field of type %s needs %s", type->text,
                       parts == 2 ? "a real and an imaginary part" : "a number");
        return;
    }
    field->values = kiln__read_array(r, node->count - 1, sizeof *field->values);
    for (size_t i = 1; field->values && i < node->count; i++)
        field->values[field->value_count++] = kiln__read_expr(r, node->items[i], "a number of a field",
                                                              KILN__ALL_INPUTS);
}

static void read_field(kiln__reader *r, const kiln__spec_node *key, kiln__spec_node *node, kiln__field *field,
                       uint64_t *align)
{
    field->name = kiln__arena_strdup(r->arena, key->text);
    field->pos = key->pos;
    if (node->kind == KILN__LIST) {
        read_values(r, node, field, align);
        return;
    }
    kiln__argument inner = {0};
    kiln__read_argument(r, node, &inner);
    if (inner.kind == KILN__ARGUMENT_VALUE && node->kind == KILN__SCALAR)
        kiln__diag_add(r->diag, node->pos, "a number in a structure needs its type: %s: [i32, %s]", key->text,
                       node->text);
    field->argument = kiln__read_array(r, 1, sizeof inner);
    if (field->argument)
        *field->argument = inner;
}

static void read_struct(kiln__reader *r, const kiln__spec_node *map, kiln__argument *arg)
{
    size_t count = kiln__read_entries(r, map, "'struct'");
    uint64_t at = 0;
    arg->kind = KILN__ARGUMENT_STRUCT;
    arg->align = 1;
    if (map->kind == KILN__MAP && count == 0)
        kiln__diag_add(r->diag, map->pos, "'struct' has no fields");
    arg->fields = count ? kiln__read_array(r, count, sizeof *arg->fields) : NULL;
    for (size_t i = 0; arg->fields && i < count; i++) {
        kiln__field *field = &arg->fields[arg->count++];
        uint64_t own = 1;
        read_field(r, map->keys[i], map->items[i], field, &own);
        const kiln__argument *inner = field->argument;
        size_t width = kiln__types[field->type].bytes;
        uint64_t parts = kiln__type_part(field->type) == field->type ? 1 : 2;
        uint64_t bytes = inner ? inner->size : width * field->value_count / parts;
        if (inner)
            own = inner->align ? inner->align : 1;
        if (!place_member(&at, &arg->align, own, bytes, &field->offset)) {
            kiln__diag_add(r->diag, field->pos, "a structure by value has at most 32764 bytes");
            return;
        }
    }
    arg->size = (at + arg->align - 1) / arg->align * arg->align;
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* Reads pairs of hexadecimal digits. Spaces between the digits have no meaning. */
static void read_bytes(kiln__reader *r, const kiln__spec_node *node, kiln__argument *arg)
{
    const char *text = kiln__read_text(r, node, "'bytes'");
    unsigned char *bytes = text ? kiln__arena_alloc(r->arena, strlen(text) / 2 + 1) : NULL;
    arg->kind = KILN__ARGUMENT_BYTES;
    arg->align = 1;
    arg->size = 0;
    arg->bytes = bytes;
    for (const char *c = text; bytes && *c;) {
        if (*c == ' ' || *c == '\n') {
            c++;
            continue;
        }
        int high = hex_digit(c[0]), low = high < 0 ? -1 : hex_digit(c[1]);
        if (low < 0) {
            kiln__diag_add(r->diag, node->pos, "'bytes' are pairs of hexadecimal digits, such as \"00 3f 80 00\"");
            return;
        }
        bytes[arg->size++] = (unsigned char)(high * 16 + low);
        c += 2;
    }
    if (arg->size > 1 << 15)
        kiln__diag_add(r->diag, node->pos, "a structure by value has at most 32764 bytes");
}

static void read_pointers(kiln__reader *r, kiln__spec_node *node, kiln__argument *arg)
{
    kiln__spec_node *const *items;
    size_t count = kiln__read_items(r, &node, "'pointers'", &items);
    arg->kind = KILN__ARGUMENT_POINTERS;
    arg->size = arg->align = sizeof(uint64_t);
    arg->items = count ? kiln__read_array(r, count, sizeof *arg->items) : NULL;
    if (node->kind == KILN__LIST && count == 0)
        kiln__diag_add(r->diag, node->pos, "'pointers' is empty");
    for (size_t i = 0; arg->items && i < count; i++) {
        kiln__argument *item = &arg->items[arg->count++];
        item->pos = items[i]->pos;
        item->text = items[i]->kind == KILN__SCALAR ? kiln__arena_strdup(r->arena, items[i]->text) : "";
        if (!kiln__read_pointer(r, items[i], item))
            kiln__diag_add(r->diag, items[i]->pos, "'pointers' are buffers, places in them such as x + 4, and null");
    }
}

#define ONE_OF_ALL "struct, bytes, pointers, tensor_map and texture"

/* Reads one argument of a launch into `arg`. A scalar in the spec is a pointer or a number. A mapping has exactly one
 * of the keys `tensor_map`, `texture`, `struct`, `bytes` and `pointers`, and one function reads each of these keys.
 * Adds errors to r->diag. */
void kiln__read_argument(kiln__reader *r, kiln__spec_node *map, kiln__argument *arg)
{
    arg->pos = map->pos;
    arg->size = arg->align = sizeof(uint64_t);
    arg->text = map->kind == KILN__SCALAR ? kiln__arena_strdup(r->arena, map->text) : "{...}";
    if (kiln__read_pointer(r, map, arg))
        return;
    if (map->kind != KILN__MAP) {
        arg->expr = kiln__read_arg(r, map, "an argument");
        return;
    }
    if (kiln__spec_node_key(map, "tensor_map")) {
        kiln__read_tensor_map(r, map, arg);
        return;
    }
    if (kiln__spec_node_key(map, "texture")) {
        kiln__read_texture(r, map, arg);
        return;
    }
    if (map->count && !kiln__spec_node_key(map, "struct") && !kiln__spec_node_key(map, "bytes") &&
        !kiln__spec_node_key(map, "pointers")) {
        kiln__diag_add(r->diag, map->keys[0]->pos, "unknown key '%s' in an argument, which is one of " ONE_OF_ALL,
                       map->keys[0]->text);
        return;
    }
    KILN__KEYS_argument(KILN__NODE) if (!kiln__read_map(r, map, KILN__MAPPING_argument)) return;
    if (map->count != 1) {
        kiln__diag_add(r->diag, map->pos, "an argument is one of " ONE_OF_ALL);
        return;
    }
    if (struct_)
        read_struct(r, struct_, arg);
    else if (bytes_)
        read_bytes(r, bytes_, arg);
    else if (pointers_)
        read_pointers(r, pointers_, arg);
}
