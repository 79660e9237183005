/* tensor.c - executes copies by tensor maps. Each copy is complete when it is issued. README.md, "Tensor maps",
 * explains these copies. */
#include <inttypes.h>
#include <string.h>

#include "vm_access.h"
#include "vm_block.h"
#include "vm_fault.h"
#include "vm_tensor.h"

enum {
    PIECE = VM_BOX_PIECE,
    BOX_MOST = 256,
    PIXELS_MOST = 1024,
    STEP_MOST = 8,
    ALIGNED = 128,
    MAP_ALIGNED = 64,
    LISTED = 4 /* number of rows of gather4 and scatter4 */
};

typedef struct element {
    uint8_t bytes, type; /* ptx_type, for reductions */
    uint64_t nan;        /* the bits of the NaN that fills elements outside of the tensor */
    /* A unit is one element, or several elements of 4 or 6 bits. A unit has `bytes` bytes in global memory and `room`
     * bytes in shared memory. */
    uint8_t packed, room;
} element;
static const element elements[VM_TENSOR_TYPES] = {
    {1, PTX_U8, 0, 1, 1},           {2, PTX_U16, 0, 1, 2},          {4, PTX_U32, 0, 1, 4},
    {4, PTX_S32, 0, 1, 4},          {8, PTX_U64, 0, 1, 8},          {8, PTX_S64, 0, 1, 8},
    {2, PTX_F16, 0x7fff, 1, 2},     {4, PTX_F32, 0x7fffffff, 1, 4}, {8, PTX_F64, INT64_MAX, 1, 8},
    {2, PTX_BF16, 0x7fff, 1, 2},    {4, PTX_F32, 0x7fffffff, 1, 4}, {4, PTX_F32, 0x7fffffff, 1, 4},
    {4, PTX_F32, 0x7fffffff, 1, 4}, {1, PTX_U8, 0, 2, 1}, /* elements of 4 bits without gaps */
    {8, PTX_U8, 0, 16, 16},                               /* elements of 4 bits with gaps */
    {12, PTX_U8, 0, 16, 16}};                             /* elements of 6 bits with gaps */

static bool raise_fault(vm_warp *w, const vm_code *i, uint32_t lane, uint64_t address, const char *what)
{
    vm_fault_raise(w, i, lane, VM_FAULT_INSTRUCTION, address, 0, "copy of a tensor: %s", what);
    return false;
}

static bool read_map(vm_warp *w, const vm_code *i, uint32_t lane, uint64_t address, vm_tensor_map *map)
{
    if (address % MAP_ALIGNED)
        return raise_fault(w, i, lane, address, "the tensor map's address is not a multiple of 64");
    const unsigned char *from = vm_reach_span(w, i, lane, PTX_SPACE_GENERIC, address, VM_TENSOR_BYTES, MAP_ALIGNED,
                                              VM_REACH_READ);
    if (!from)
        return false;
    memcpy(map, from, sizeof *map);
    if (map->mark != VM_TENSOR_MAP || map->type >= VM_TENSOR_TYPES || map->swizzle > VM_SWIZZLE_ATOM32 ||
        map->rank == 0 || map->rank > VM_TENSOR_RANK)
        return raise_fault(w, i, lane, address, "there is no tensor map at the address");
    for (unsigned k = 0; k < map->rank; k++)
        if (map->step[k] == 0 || map->step[k] > STEP_MOST || map->box[k] == 0 || map->box[k] > BOX_MOST)
            return raise_fault(w, i, lane, address, "the tensor map has no valid box");
    return true;
}

/* Computes which part of the current row is inside the tensor. */
static void find_inside_part(vm_box *box)
{
    const vm_tensor_map *map = &box->map;
    int64_t low = -box->at[0], high = ((int64_t)map->last[0] + 1) / box->packed - box->at[0];
    low = low < 0 ? 0 : low;
    high = high > box->inner ? box->inner : high;
    for (unsigned k = 1; k < map->rank; k++)
        if (box->at[k] + box->offset[k] < 0 || box->at[k] + box->offset[k] > map->last[k])
            high = low;
    box->from = high > low ? (uint32_t)low : 0;
    box->count = high > low ? (uint32_t)(high - low) : 0;
    box->address = map->address + (uint64_t)(box->at[0] + low) * box->bytes;
    for (unsigned k = 1; k < map->rank; k++)
        box->address += (uint64_t)(box->at[k] + box->offset[k]) * map->stride[k - 1];
}

/* Moves to the next row of a box of im2col along W. The pixels of a group follow each other along W, and then along W
 * in the next image, at the same H and D. The halo of a group continues along W after the last pixel of the group. */
static void move_along_w(vm_box *box)
{
    const vm_tensor_map *map = &box->map;
    const unsigned image = map->rank - 1u;
    const uint64_t within = box->row % (box->group + box->halo);
    if (within < box->group) {
        box->main[0] += map->step[1];
        if (box->main[0] > (int64_t)map->last[1] + map->upper[0]) {
            box->main[0] = map->lower[0];
            box->main[1] += map->step[image];
        }
    }
    box->at[1] = box->main[0];
    if (within >= box->group)
        box->at[1] += (int64_t)(within - box->group + 1) * map->step[1];
    box->at[image] = box->main[1];
}

bool ops_box_next(vm_box *box)
{
    const vm_tensor_map *map = &box->map;
    if (++box->row >= box->rows)
        return false;
    if (box->listed)
        box->at[1] = box->first[1 + box->row];
    if (box->group)
        move_along_w(box);
    if (box->listed || box->group) {
        find_inside_part(box);
        return true;
    }
    for (unsigned k = 1; k < map->rank; k++) {
        box->at[k] += map->step[k];
        if (map->im2col) { /* a box of im2col continues with the pixels of the next image */
            if (k + 1 == map->rank || box->at[k] <= (int64_t)map->last[k] + map->upper[k - 1])
                break;
            box->at[k] = map->lower[k - 1];
        } else {
            if (box->at[k] < box->first[k] + map->box[k])
                break;
            box->at[k] = box->first[k];
        }
    }
    find_inside_part(box);
    return true;
}

/* Sets the rows of a box of im2col along W. Returns false after raising a fault. */
static bool open_along_w(vm_warp *w, const vm_code *i, uint32_t lane, vm_box *box)
{
    enum { GROUP = 32, WHOLE = 128, HALO_W = 512, HALO_W128 = 32, OFFSET = 32 };
    const vm_tensor *x = i->extra;
    const bool fixed = x->im2col == VM_IM2COL_W128;
    const uint32_t halo = vm_r32(w, x->offset[0])[lane] & 0xffff, offset = vm_r32(w, x->offset[1])[lane] & 0xffff;
    if (halo >= (fixed ? HALO_W128 : HALO_W) || offset >= OFFSET)
        return raise_fault(w, i, lane, 0, "a halo or an offset that im2col along W does not have");
    if (!fixed && box->map.pixels == 0)
        return raise_fault(w, i, lane, 0, "the tensor map has no valid box");
    box->group = fixed ? GROUP : box->map.pixels;
    box->halo = halo;
    box->rows = fixed ? WHOLE / GROUP * (GROUP + halo) : box->map.pixels + halo;
    box->offset[1] = offset; /* moves the box and its first pixel */
    box->main[0] = box->at[1];
    box->main[1] = box->at[box->map.rank - 1];
    return true;
}

/* Converts the inner coordinate of a box of packed elements to units. Raises a fault and returns false if the box does
 * not begin and end at a unit, or if the element type has no such copy. */
static bool is_whole_row(vm_warp *w, const vm_code *i, uint32_t lane, vm_box *box)
{
    enum { SPREAD = 16, ROW = 128 };
    const vm_tensor *x = i->extra;
    const vm_tensor_map *map = &box->map;
    const uint32_t elements_of_row = x->im2col ? map->channels : map->box[0];
    if (box->packed == 1)
        return true;
    if (box->packed == SPREAD && !x->bar.space)
        return raise_fault(w, i, lane, box->shared, "packed elements with gaps are copied from global memory only");
    const int64_t whole = box->packed == SPREAD ? ROW : box->packed;
    if (elements_of_row % whole || box->at[0] % whole || ((int64_t)map->last[0] + 1) % whole)
        return raise_fault(w, i, lane, box->shared, "a row of packed elements begins or ends within a unit");
    box->at[0] = box->first[0] = box->at[0] / box->packed;
    return true;
}

/* Reads the tensor map and computes the box. Every use checks the map again, because a kernel can write any bytes to
 * the map's address. A tiled box has one row for each position in the dimensions after the first. The number of rows is
 * the product of box[k] / step[k], rounded up, over these dimensions. A box of im2col has one row for each pixel. In
 * shared memory, a swizzled row takes as many bytes as the swizzle is wide, even if the row is shorter. For packed
 * elements, the function counts units. */
bool ops_box_open(vm_warp *w, const vm_code *i, uint32_t lane, vm_box *box)
{
    const vm_tensor *x = i->extra;
    uint64_t at = vm_r64(w, x->map)[lane];
    *box = (vm_box){.shared = vm_side_address(w, &x->shared, lane)};
    if (!read_map(w, i, lane, at, &box->map))
        return false;
    const vm_tensor_map *map = &box->map;
    if (map->rank != x->rank || map->im2col != x->im2col)
        return raise_fault(w, i, lane, at,
                           "the tensor map has other dimensions, or another mode, than the instruction");
    const element *const own = &elements[map->type];
    box->bytes = own->bytes;
    box->packed = own->packed;
    box->room = own->room;
    box->inner = (x->im2col ? map->channels : map->box[0]) / box->packed;
    box->rows = 1;
    for (unsigned k = 0; k < (x->rows ? VM_TENSOR_RANK : map->rank); k++) {
        box->at[k] = box->first[k] = (int32_t)vm_r32(w, x->at[k])[lane];
        if (k && !x->im2col && k < map->rank)
            box->rows *= (map->box[k] + map->step[k] - 1u) / map->step[k];
        if (k && k + 1 < map->rank && x->im2col == VM_IM2COL && x->bar.space)
            box->offset[k] = (uint16_t)vm_r32(w, x->offset[k - 1])[lane];
    }
    if (x->rows && map->box[1] != 1)
        return raise_fault(w, i, lane, at, "gather4 and scatter4 need a box with one row");
    if (x->rows)
        box->rows = LISTED, box->listed = true;
    if (x->im2col)
        box->rows = map->pixels;
    if (x->im2col >= VM_IM2COL_W && !open_along_w(w, i, lane, box))
        return false;
    if (!is_whole_row(w, i, lane, box))
        return false;
    const uint32_t bytes = box->inner * box->room, wide = map->swizzle < VM_SWIZZLE_128 ? map->swizzle : VM_SWIZZLE_128;
    box->pitch = map->swizzle ? (uint32_t)PIECE << wide : bytes;
    if (bytes == 0 || bytes % PIECE || bytes > BOX_MOST * 8 || bytes > box->pitch || box->rows == 0 ||
        (x->im2col && map->pixels > PIXELS_MOST))
        return raise_fault(w, i, lane, at, "the tensor map has no valid box");
    if (box->rows * box->pitch > VM_SHARED_WINDOW)
        return raise_fault(w, i, lane, at, "the box is larger than shared memory");
    if (box->shared % ALIGNED) {
        vm_fault_raise(w, i, lane, VM_FAULT_MISALIGNED, box->shared, ALIGNED,
                       "copy of a tensor at shared address 0x%" PRIx64 ", not a multiple of 128", box->shared);
        return false;
    }
    find_inside_part(box);
    return true;
}

/* Returns the host's pointer to the elements of the row in global memory. On failure, records a fault and returns
 * NULL. */
static unsigned char *reach_row(vm_warp *w, const vm_code *i, uint32_t lane, const vm_box *box, bool write)
{
    const uint32_t align = box->packed == 1 ? box->bytes : 1;
    return vm_reach_span(w, i, lane, PTX_SPACE_GLOBAL, box->address, (uint64_t)box->count * box->bytes, align,
                         write ? VM_REACH_BOTH : VM_REACH_READ);
}

/* Returns true if PTX has this reduction for elements of this type. */
static bool reduces(unsigned op, unsigned type)
{
    switch (op) {
    case PTX_MOD_ADD:
        return type == PTX_U32 || type == PTX_S32 || type == PTX_U64 || type == PTX_F32 || type == PTX_F64 ||
               type == PTX_F16 || type == PTX_BF16;
    case PTX_MOD_MIN:
    case PTX_MOD_MAX:
        return type == PTX_U32 || type == PTX_S32 || type == PTX_U64 || type == PTX_S64 || type == PTX_F16 ||
               type == PTX_BF16;
    case PTX_MOD_INC:
    case PTX_MOD_DEC: return type == PTX_U32;
    default: return type == PTX_U32 || type == PTX_S32 || type == PTX_U64 || type == PTX_S64;
    }
}

static void store_row(const vm_box *box, unsigned op, unsigned char *to, const unsigned char *row)
{
    const unsigned type = elements[box->map.type].type;
    const vm_code one = {.size = (uint8_t)box->bytes, .flags = type == PTX_F32 ? VM_SIGNED : 0};
    row += (size_t)box->from * box->bytes;
    if (!op)
        memcpy(to, row, (size_t)box->count * box->bytes);
    for (uint32_t k = 0; op && k < box->count; k++) {
        uint64_t value = 0;
        memcpy(&value, row + (size_t)k * box->bytes, box->bytes);
        ops_atomic_update(&one, to + (size_t)k * box->bytes, type, op, value, 0);
    }
}

/* Fills `row` with the bytes that the row has in shared memory. `global` has the part of the row that is inside the
 * tensor. If no part is inside, `global` is NULL. The gaps between packed elements are zero. */
static void load_row(const vm_box *box, unsigned char *row, const unsigned char *global)
{
    const uint64_t fill = box->map.fill ? elements[box->map.type].nan : 0;
    if (box->packed > 1)
        memset(row, 0, (size_t)box->inner * box->room);
    for (uint32_t k = 0; box->packed == 1 && k < box->inner; k++)
        memcpy(row + (size_t)k * box->bytes, &fill, box->bytes);
    if (global && box->room == box->bytes)
        memcpy(row + (size_t)box->from * box->bytes, global, (size_t)box->count * box->bytes);
    for (uint32_t k = 0; global && box->room != box->bytes && k < box->count; k++)
        memcpy(row + (size_t)(box->from + k) * box->room, global + (size_t)k * box->bytes, box->bytes);
}

/* Copies the box row by row between shared memory and the tensor. For elements outside of the tensor, a load writes
 * zeros or NaNs, and a store skips these elements. Each row passes through `row`, because the swizzle scatters its
 * pieces of 16 bytes. Returns false after a fault. The rows before the fault stay copied. */
static bool copy(vm_warp *w, const vm_code *i, uint32_t lane, vm_box *box)
{
    const vm_tensor *x = i->extra;
    const bool load = x->bar.space != 0;
    unsigned char *shared = vm_reach_span(w, i, lane, PTX_SPACE_SHARED, box->shared, box->rows * box->pitch, ALIGNED,
                                          load ? VM_REACH_WRITE : VM_REACH_READ);
    if (!shared)
        return false;
    do {
        unsigned char row[BOX_MOST * 8], *global = NULL;
        const uint32_t pieces = vm_box_pieces(box);
        if (box->count && !(global = reach_row(w, i, lane, box, !load)))
            return false;
        if (load) {
            load_row(box, row, global);
            for (uint32_t k = 0; k < pieces; k++)
                memcpy(shared + (vm_box_piece(box, k) - box->shared), row + (size_t)k * PIECE, PIECE);
        } else if (global) {
            for (uint32_t k = 0; k < pieces; k++)
                memcpy(row + (size_t)k * PIECE, shared + (vm_box_piece(box, k) - box->shared), PIECE);
            store_row(box, x->op, global, row);
        }
    } while (ops_box_next(box));
    return true;
}

uint64_t ops_tensor_bar(const vm_tensor *x, uint64_t bar, uint32_t ranks, uint64_t to)
{
    return x->pair ? vm_rank_address(bar, (vm_rank_of(to) & ~1u) | (vm_rank_of(bar) & 1)) : vm_target(bar, ranks);
}

/* cp.async.bulk.tensor and cp.reduce.async.bulk.tensor. `extra` describes the copy. */
void ops_tensor(vm_warp *w, const vm_code *i, uint32_t m)
{
    const vm_tensor *x = i->extra;
    VM_EACH(lane, m) {
        vm_box box;
        uint64_t before, bar = x->bar.space ? vm_side_address(w, &x->bar, lane) : 0;
        uint32_t ranks;
        if (!ops_box_open(w, i, lane, &box) || !ops_multicast(w, i, lane, x->multicast, &ranks))
            return;
        if (x->pair && !x->multicast && (vm_rank_of(bar) ^ vm_rank_of(box.shared)) & ~1u) {
            raise_fault(w, i, lane, bar, "the mbarrier is not in the pair of blocks that gets the copy");
            return;
        }
        if (x->op && !reduces(x->op, elements[box.map.type].type)) {
            raise_fault(w, i, lane, box.shared, "a reduction that the elements' type does not have");
            return;
        }
        do {
            vm_box to = box;
            to.shared = vm_target(box.shared, ranks);
            if (!copy(w, i, lane, &to))
                return;
            if (x->bar.space && !ops_mbarrier_count(w, i, lane, x->bar.space, ops_tensor_bar(x, bar, ranks, to.shared),
                                                    0, 0, -(int64_t)vm_box_bytes(&box), &before))
                return;
            vm_charge(w, box.rows + vm_box_bytes(&box) / 256);
            ranks &= ranks - 1;
        } while (ranks);
    }
}

/* ---- changes to a tensor map ---- */

/* Sets a field of a tensor map. PTX numbers the element types differently from cuda.h. The map holds cuda.h's numbers
 * of the element types. Returns false if the field cannot have the value. In this case the caller does not store its
 * changed copy of the map. */
static bool replace_field(vm_tensor_map *map, unsigned field, unsigned ord, uint64_t value)
{
    /* maps the numbers of PTX to the types of cuda.h */
    static const uint8_t types[VM_TENSOR_TYPES] = {0, 1, 2, 3, 4, 5, 6, 7, 10, 8, 9, 11, 12, 13, 14, 15};
    switch (field) {
    case PTX_MOD_GLOBAL_ADDRESS: map->address = value; return value % PIECE == 0;
    case PTX_MOD_RANK: map->rank = (uint8_t)(value + 1); return value < VM_TENSOR_RANK;
    case PTX_MOD_BOX_DIM: map->box[ord] = (uint16_t)value; return value && value <= BOX_MOST;
    case PTX_MOD_GLOBAL_DIM: map->last[ord] = (uint32_t)value - 1; return value != 0;
    case PTX_MOD_GLOBAL_STRIDE: map->stride[ord] = value; return value % PIECE == 0 && value >> 40 == 0;
    case PTX_MOD_ELEMENT_STRIDE: map->step[ord] = (uint8_t)value; return value && value <= STEP_MOST;
    case PTX_MOD_ELEMTYPE: map->type = types[value % VM_TENSOR_TYPES]; return value < VM_TENSOR_TYPES;
    case PTX_MOD_SWIZZLE_MODE: map->swizzle = (uint8_t)value; return value <= VM_SWIZZLE_128;
    case PTX_MOD_FILL_MODE: map->fill = (uint8_t)value; return value <= 1;
    default: return value == 0; /* the simulator has no interleaved layouts */
    }
}

/* Executes tensormap.replace. `extra` has the address of the tensor map. `d` is the field, `c` is the dimension, and
 * `b` is the slot of the value. VM_REG64 means that the value has 64 bits. */
void ops_tensormap(vm_warp *w, const vm_code *i, uint32_t m)
{
    const vm_bulk *b = i->extra;
    VM_EACH(lane, m) {
        const uint64_t at = vm_side_address(w, &b->to, lane);
        const uint64_t value = i->flags & VM_REG64 ? vm_r64(w, i->b)[lane] : vm_r32(w, i->b)[lane];
        vm_tensor_map map;
        unsigned char *first = vm_reach_span(w, i, lane, b->to.space, at, VM_TENSOR_BYTES, PIECE, VM_REACH_BOTH);
        if (!first)
            return;
        memcpy(&map, first, sizeof map);
        if (at % MAP_ALIGNED || map.mark != VM_TENSOR_MAP || map.im2col) {
            raise_fault(w, i, lane, at, "there is no tiled tensor map to change at the address");
            return;
        }
        if (!replace_field(&map, i->d, i->c, value)) {
            raise_fault(w, i, lane, at, "tensormap.replace with a value that the field cannot have");
            return;
        }
        memcpy(first, &map, sizeof map);
    }
}
