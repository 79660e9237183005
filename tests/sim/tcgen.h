/* tcgen.h - makes the PTX of kernels with tensor memory, for the suites test_vm_tcgen*.c. */
#ifndef KILN_TESTS_TCGEN_H
#define KILN_TESTS_TCGEN_H

#include "vm_check.h"

enum { LANES = 128, COLUMNS = 512, CELLS = LANES * COLUMNS, WARPGROUP = 128 };

/* The beginning of a module. `s` is dynamic shared memory, which begins at shared address 0x800. */
#define TCGEN_HEAD                                                                                                     \
    ".version 9.0\n.target sm_100a\n.address_size 64\n"                                                                \
    ".extern .shared .align 1024 .b8 s[];\n.shared .align 8 .b64 bar;\n.shared .align 4 .b32 base;\n"
enum { SHARED_AT = 0x800 };

/* Begins a kernel. %d0 is the parameter a, %r0 the thread, %r1 the warp, and %r2 the address of the warp's lanes in
 * tensor memory. */
#define TCGEN_KERNEL(name)                                                                                             \
    ".visible .entry " name "(.param .u64 a)\n{\n"                                                                     \
    ".reg .b16 %h<4>; .reg .b32 %r<40>; .reg .b32 %v<130>; .reg .b64 %d<12>; .reg .pred %p<6>;\n"                      \
    "ld.param.u64 %d0, [a]; mov.u32 %r0, %tid.x; shr.u32 %r1, %r0, 5; and.b32 %r2, %r1, 3; shl.b32 %r2, %r2, 21;\n"

/* The first warp allocates `columns`, and all threads get the address in %r3. */
#define TCGEN_ALLOC(columns)                                                                                           \
    "setp.ne.u32 %p0, %r1, 0; @%p0 bra allocated;\n"                                                                   \
    "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [base], " #columns ";\n"                                  \
    "allocated: bar.sync 0; ld.shared.u32 %r3, [base];\n"
#define TCGEN_FREE(columns)                                                                                            \
    "bar.sync 0; setp.ne.u32 %p0, %r1, 0; @%p0 bra freed;\n"                                                           \
    "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r3, " #columns ";\nfreed:\n"

/* Writes a vector of `count` registers: %v0, %v1, ... */
static inline void tcgen_vector(kiln__text *text, unsigned count)
{
    for (unsigned k = 0; k < count; k++)
        kiln__text_printf(text, "%s%%v%u", k ? ", " : "{", k);
    kiln__text_puts(text, "}");
}

/* Copies all of tensor memory from or to global memory, which is 512 columns of 32 bits for each lane. %d1 is the
 * global address. Changes %r10, %r11 and %d2, and defines the label. */
static inline void tcgen_all(kiln__text *text, const char *label, bool store)
{
    kiln__text_printf(text,
                      "mul.wide.u32 %%d2, %%r0, 2048; add.u64 %%d2, %%d1, %%d2; mov.u32 %%r10, 0;\n"
                      "%s: add.u32 %%r11, %%r2, %%r10;\n",
                      label);
    if (!store) {
        kiln__text_puts(text, "tcgen05.ld.sync.aligned.32x32b.x32.b32 ");
        tcgen_vector(text, 32);
        kiln__text_puts(text, ", [%r11]; tcgen05.wait::ld.sync.aligned;\n");
    }
    for (unsigned k = 0; k < 32; k++)
        if (store)
            kiln__text_printf(text, "ld.global.u32 %%v%u, [%%d2+%u];\n", k, 4 * k);
        else
            kiln__text_printf(text, "st.global.u32 [%%d2+%u], %%v%u;\n", 4 * k, k);
    if (store) {
        kiln__text_puts(text, "tcgen05.st.sync.aligned.32x32b.x32.b32 [%r11], ");
        tcgen_vector(text, 32);
        kiln__text_puts(text, "; tcgen05.wait::st.sync.aligned;\n");
    }
    kiln__text_printf(text,
                      "add.u32 %%r10, %%r10, 32; add.u64 %%d2, %%d2, 128; setp.lt.u32 %%p1, %%r10, 512; "
                      "@%%p1 bra %s;\n",
                      label);
}

static inline uint32_t tcgen_seed(uint32_t *seed)
{
    *seed = *seed * 1664525 + 1013904223;
    return *seed >> 8;
}

#endif
