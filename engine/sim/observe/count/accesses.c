/* accesses.c - lists the memory accesses of an instruction, lane by lane. */
#include "vm_access.h"
#include "vm_block.h"
#include "vm_count.h"
#include "vm_hooks.h"
#include "vm_matrix.h"
#include "vm_memory.h"
#include "vm_trace.h"

/* Adds a lane to that access of out[0 .. count - 1] which has this space, kind and size. If there is no such access,
 * adds a new access. Returns the new number of accesses. Lanes of a cp.async that read different numbers of bytes
 * belong to different accesses. */
static unsigned add_lane(vm_access *out, unsigned count, unsigned space, unsigned kind, uint32_t lane, uint32_t bytes,
                         uint64_t address)
{
    unsigned at = 0;
    while (at < count && (out[at].space != space || out[at].kind != kind || out[at].bytes != bytes))
        at++;
    if (at == count) {
        if (count == VM_ACCESSES)
            return count;
        out[at].space = (uint8_t)space;
        out[at].kind = (uint8_t)kind;
        out[at].lanes = 0;
        out[at].bytes = bytes;
        count++;
    }
    out[at].lanes |= 1u << lane;
    out[at].address[lane] = address;
    return count;
}

/* Returns the memory space of an address that a lane of the block uses. Converts *address to the form of
 * vm_access.address. */
static unsigned split_address(const vm_block *own, unsigned space, uint64_t *address)
{
    if (space == PTX_SPACE_SHARED)
        *address = vm_window_offset(own, *address);
    if (space != PTX_SPACE_GENERIC || *address >= VM_GLOBAL_BASE)
        return space == PTX_SPACE_GENERIC ? PTX_SPACE_GLOBAL : space;
    if (*address - VM_SHARED_BASE < VM_CLUSTER_WINDOW) {
        *address = vm_window_offset(own, *address);
        return PTX_SPACE_SHARED;
    }
    if (*address >= VM_LOCAL_BASE && *address < VM_CONST_BASE) {
        *address -= VM_LOCAL_BASE;
        return PTX_SPACE_LOCAL;
    }
    return PTX_SPACE_GLOBAL;
}

void count_read_addresses(const vm_warp *w, const vm_code *i, vm_access *a)
{
    const bool shared = i->space == PTX_SPACE_SHARED;
    const uint64_t offset = i->imm - (shared ? w->block->window : 0);
    if (i->flags & VM_ADDR32) {
        const vm_u32 *r = vm_r32(w, i->a);
        for (uint32_t l = 0; l < VM_LANES; l++)
            a->address[l] = (uint32_t)(r[l] + (uint32_t)offset);
        return;
    }
    const vm_u64 *r = vm_r64(w, i->a);
    const uint64_t keep = shared ? UINT32_MAX : UINT64_MAX;
    for (uint32_t l = 0; l < VM_LANES; l++)
        a->address[l] = (r[l] + offset) & keep;
}

/* Lists a load, a store or an atomic. The address of the access is in slot a, and the offset is imm. */
static unsigned list_plain(const vm_warp *w, const vm_code *i, const ptx_insn *in, uint32_t m, unsigned kind,
                           vm_access *out)
{
    uint32_t bytes = (uint32_t)i->size * i->count;
    if (i->space != PTX_SPACE_GENERIC) {
        out->space = (uint8_t)(in->space == PTX_SPACE_CONST ? PTX_SPACE_CONST : i->space);
        out->kind = (uint8_t)kind;
        out->lanes = m;
        out->bytes = bytes;
        count_read_addresses(w, i, out);
        return 1;
    }
    unsigned count = 0;
    VM_EACH(lane, m) {
        uint64_t address = vm_lane_address(w, i, i->a, lane);
        unsigned space = split_address(w->block, i->space, &address);
        count = add_lane(out, count, space, kind, lane, bytes, address);
    }
    return count;
}

static unsigned list_copy(const vm_warp *w, const vm_code *i, uint32_t m, vm_access *out)
{
    const int64_t *offset = i->extra;
    uint32_t ignore = i->count ? *vm_pred(w, i->c) ^ (i->count == 2 ? VM_ALL : 0) : 0;
    unsigned count = 1;
    out[0] = (vm_access){.space = PTX_SPACE_SHARED, .kind = VM_WRITE | VM_ASYNC, .lanes = m, .bytes = i->size};
    VM_EACH(lane, m) {
        uint64_t to = i->flags & VM_REG64 ? vm_r64(w, i->d)[lane] : vm_r32(w, i->d)[lane];
        out[0].address[lane] = vm_window_offset(w->block, to + (uint64_t)*offset);
        uint32_t bytes = i->b ? vm_r32(w, i->b)[lane] : i->size;
        /* if a lane has a source size of 0, or ignores its source, it reads nothing */
        if (!(ignore >> lane & 1) && bytes)
            count = 1 + add_lane(out + 1, count - 1, PTX_SPACE_GLOBAL, VM_READS | VM_ASYNC, lane,
                                 bytes < i->size ? bytes : i->size, vm_lane_address(w, i, i->a, lane));
    }
    return count;
}

/* Returns true if all lanes of the warp have arrived, except lanes that have exited. An operation on matrices runs only
 * when all lanes have arrived, so observers see it only then. */
static bool is_whole(const vm_warp *w, uint32_t m) { return (m | w->dead) == VM_ALL; }

/* Lists the rows of matrices that ldmatrix or stmatrix accesses. The first lanes of the warp hold the addresses of the
 * rows. */
static unsigned list_matrix_rows(const vm_warp *w, const vm_code *i, uint32_t m, unsigned kind, vm_access *out)
{
    const ptx_insn *in = &w->frame->function->ptx->insns[i->insn];
    unsigned rows = (ptx_has(in, PTX_MOD_M16N16) ? 16u : 8u) * i->count, count = 0;
    for (uint32_t lane = 0; is_whole(w, m) && lane < rows && lane < VM_LANES; lane++) {
        uint64_t address = vm_lane_address(w, i, i->a, lane);
        unsigned space = split_address(w->block, i->space, &address);
        count = add_lane(out, count, space, kind, lane, 16, address);
    }
    return count;
}

/* Lists the accesses of wmma.load and wmma.store. There is one access for each register of the fragment, or one for
 * each element if the elements of a register are not contiguous. */
static unsigned list_fragment(const vm_warp *w, const vm_code *i, uint32_t m, unsigned kind, vm_access *out)
{
    enum { SPACES = 3 }; /* number of spaces that a generic address may be in */
    if (!is_whole(w, m))
        return 0;
    const vm_tile t = ops_tile_of(w, i, (uint32_t)__builtin_ctz(m));
    unsigned count = 0;
    for (unsigned r = 0; r < t.scaled.d.used; r++) {
        bool together = t.per == 1 || ops_tile_address(&t, r, 1, 0) == ops_tile_address(&t, r, 0, 0) + t.bytes;
        unsigned parts = together ? 1 : t.per, bytes = together ? t.bytes * t.per : t.bytes;
        for (unsigned s = 0; s < parts && count + SPACES <= VM_ACCESSES; s++) {
            unsigned here = 0; /* number of accesses of this register or element: one for each memory space */
            VM_EACH(lane, m) {
                uint64_t address = ops_tile_address(&t, r, s, lane);
                unsigned space = split_address(w->block, i->space, &address);
                here = add_lane(out + count, here, space, kind, lane, bytes, address);
            }
            count += here;
        }
    }
    return count;
}

/* Lists the accesses of a multimem instruction. The n-th access has the n-th location of each lane. The list has only
 * locations that this device can also access by an ordinary address, and it has this address. If a lane's address is
 * not in the memory of a multicast object, the list has this address unchanged. */
static unsigned list_team(const vm_warp *w, const vm_code *i, uint32_t m, unsigned kind, vm_access *out)
{
    vm_device *device = w->runner->run->device;
    const uint32_t bytes = (uint32_t)i->size * i->count;
    unsigned count = 0;
    VM_EACH(lane, m) {
        const uint64_t address = vm_lane_address(w, i, i->a, lane);
        const vm_allocation *part = vm_team_at(device, address, bytes);
        const uint64_t offset = part ? part->team_offset + (address - part->base) : 0;
        unsigned listed = 0;
        for (uint32_t k = 0; k < (part ? part->team->count : 1); k++) {
            const vm_replica *one = part ? vm_replica_of(part->team, k, offset, bytes) : NULL;
            const uint64_t at = one && one->alias ? one->alias + (offset - one->offset) : part ? 0 : address;
            if (!at || (part && !vm_allocation_of(device, at)))
                continue;
            if (listed == count)
                out[count++] = (vm_access){.space = PTX_SPACE_GLOBAL, .kind = (uint8_t)kind, .bytes = bytes};
            out[listed].lanes |= 1u << lane;
            out[listed++].address[lane] = at;
        }
    }
    return count;
}

/* Returns true if the instruction accesses a parameter that is not in memory. A parameter is in local memory only if
 * the kernel takes its address. */
static bool is_param(const vm_code *i, const ptx_insn *in)
{
    return in->space == PTX_SPACE_PARAM && i->space != PTX_SPACE_LOCAL;
}

static unsigned get_order(const ptx_insn *in)
{
    bool ordered = ptx_has(in, PTX_MOD_VOLATILE) || ptx_has(in, PTX_MOD_RELAXED) || ptx_has(in, PTX_MOD_ACQUIRE) ||
                   ptx_has(in, PTX_MOD_RELEASE) || ptx_has(in, PTX_MOD_MMIO);
    return ordered ? VM_ORDERED : 0;
}

/* The values in the column `access` of effects.def. */
enum {
    ACCESS_NONE,
    ACCESS_HIDDEN,
    ACCESS_LOAD,
    ACCESS_STORE,
    ACCESS_ATOMIC,
    ACCESS_TEAM_LOAD,
    ACCESS_TEAM_STORE,
    ACCESS_TEAM_ATOMIC,
    ACCESS_COPY,
    ACCESS_ROWS_LOAD,
    ACCESS_ROWS_STORE,
    ACCESS_FRAGMENT_LOAD,
    ACCESS_FRAGMENT_STORE
};
static const unsigned char access_of_effect[] = {
#define EFFECT(name, flow, engine, access, check, act, result) ACCESS_##access,
#include "effects.def"
};

unsigned count_accesses(const vm_warp *w, const vm_code *i, uint32_t m, vm_access out[VM_ACCESSES])
{
    const ptx_function *f = w->frame->function->ptx;
    /* an operation that the decoder added, or the end of the function: neither has an access */
    if (m == 0 || i->guard & 2 || i->insn >= f->insn_count)
        return 0;
    const ptx_insn *in = &f->insns[i->insn];
    switch (access_of_effect[ptx_effect_of(in)]) {
    case ACCESS_LOAD: return is_param(i, in) ? 0 : list_plain(w, i, in, m, VM_READS | get_order(in), out);
    case ACCESS_STORE: return is_param(i, in) ? 0 : list_plain(w, i, in, m, VM_WRITE | get_order(in), out);
    case ACCESS_ATOMIC: return list_plain(w, i, in, m, VM_READS | VM_WRITE | VM_ATOMIC | VM_ORDERED, out);
    case ACCESS_TEAM_LOAD: return list_team(w, i, m, VM_READS | get_order(in), out);
    case ACCESS_TEAM_STORE: return list_team(w, i, m, VM_WRITE | get_order(in), out);
    case ACCESS_TEAM_ATOMIC: return list_team(w, i, m, VM_READS | VM_WRITE | VM_ATOMIC | VM_ORDERED, out);
    case ACCESS_COPY: return list_copy(w, i, m, out);
    case ACCESS_ROWS_LOAD: return list_matrix_rows(w, i, m, VM_READS, out);
    case ACCESS_ROWS_STORE: return list_matrix_rows(w, i, m, VM_WRITE, out);
    case ACCESS_FRAGMENT_LOAD: return list_fragment(w, i, m, VM_READS, out);
    case ACCESS_FRAGMENT_STORE: return list_fragment(w, i, m, VM_WRITE, out);
    default: return 0; /* the instruction makes no access, or an access that observers do not see (COUNTERS.md) */
    }
}
