/* wgmma.c - the operands of wgmma in shared memory: the descriptors of matrices, and the layouts that they describe.
 * README.md, "Warpgroups", has the formulas. */
#include "vm_access.h"
#include "vm_block.h"
#include "vm_fault.h"
#include "vm_matrix.h"

enum { PIECE = 16, SHARED_MASK = 0x3ffff };

static uint32_t field(uint64_t descriptor, unsigned bit) { return (uint32_t)(descriptor >> bit & 0x3fff) << 4; }

/* Returns the shared address of 16 bytes of a matrix. If `across` is false, elements are consecutive along K. The 16
 * bytes are then piece number `part` of the row (or column) `at`. If `across` is true, the 16 bytes are element `part`
 * of the eight rows from row 8 * `at` on. */
uint32_t ops_wgmma_address(uint64_t descriptor, bool across, unsigned at, unsigned part)
{
    /* number of 16-byte pieces in a swizzled line: without a swizzle, and with swizzles of 128, 64 and 32 bytes */
    static const uint8_t pieces[4] = {1, 8, 4, 2};
    uint32_t wide = pieces[descriptor >> 62], leading = field(descriptor, 16), stride = field(descriptor, 32);
    uint32_t offset;
    if (!across)
        offset = at % 8 * PIECE * wide + at / 8 * stride + part % wide * PIECE + part / wide * leading;
    else if (wide == 1)
        offset = at * stride + part % 8 * PIECE + part / 8 * leading;
    else
        offset = at % wide * PIECE + at / wide * leading + part % 8 * PIECE * wide + part / 8 * stride;
    uint32_t address = field(descriptor, 0) + offset, base = descriptor >> 49 & 7;
    return (address ^ (((address >> 7) - base) & (wide - 1)) << 4) & SHARED_MASK;
}

bool ops_wgmma_fetch(vm_warp *w, const vm_code *i, uint64_t descriptor, bool across, unsigned first, unsigned count,
                     unsigned bytes, unsigned char (*out)[VM_WGMMA_BYTES])
{
    unsigned lines = across ? count / 8 : count, parts = across ? bytes / 2 : bytes / PIECE;
    for (unsigned line = 0; line < lines; line++)
        for (unsigned part = 0; part < parts; part++) {
            uint32_t address = ops_wgmma_address(descriptor, across, across ? first / 8 + line : first + line, part);
            const unsigned char *from = vm_reach(w, i, 0, PTX_SPACE_SHARED, vm_window_address(w->block, address), PIECE,
                                                 false);
            if (!from)
                return false;
            if (!across)
                memcpy(out[line] + part * PIECE, from, PIECE);
            for (unsigned k = 0; across && k < 8; k++)
                memcpy(out[line * 8 + k] + part * 2, from + k * 2, 2);
        }
    return true;
}

bool ops_wgmma_descriptor(vm_warp *w, const vm_code *i, uint32_t slot, uint64_t *descriptor)
{
    *descriptor = vm_r64(w, slot)[0];
    for (uint32_t k = 0; k < 4 * VM_LANES; k++)
        if (vm_r64(&w->block->warps[(w->index & ~3u) + k / VM_LANES], slot)[k % VM_LANES] != *descriptor) {
            vm_fault_raise(w, i, k % VM_LANES, VM_FAULT_INSTRUCTION, 0, 0,
                           "the threads of a warpgroup have different descriptors of a matrix");
            return false;
        }
    return true;
}
