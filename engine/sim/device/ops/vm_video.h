/* vm_video.h - the decoder's data about a video instruction. */
#ifndef KILN_SIM_VM_VIDEO_H
#define KILN_SIM_VM_VIDEO_H

#include "vm_ops.h"

enum {
    VM_VIDEO_ADD,
    VM_VIDEO_SUB,
    VM_VIDEO_ABSDIFF,
    VM_VIDEO_MIN,
    VM_VIDEO_MAX,
    VM_VIDEO_AVERAGE,
    VM_VIDEO_SET,
    VM_VIDEO_SHL,
    VM_VIDEO_SHR,
    VM_VIDEO_MAD
};

typedef struct vm_video {
    uint8_t op, lanes; /* lanes: 1 for a scalar instruction, 2 for elements of 16 bits, 4 for elements of 8 bits */
    /* compare: the comparison of vset, a ptx_mod. second: the ptx_mod of the operation that combines the result with c;
     * 0 if there is no such operation */
    uint8_t compare, second;
    uint8_t scale; /* for vmad: the number of bits by which the result is shifted right */
    bool a_signed, b_signed, d_signed, sat, wrap, plus_one;
    bool a_negate, b_negate, c_negate;
    uint32_t a_select, b_select, d_select; /* the selected parts of the operand (from ptx_operand.count) */
} vm_video;

void ops_video(vm_warp *w, const vm_code *i, uint32_t m);
#endif
