/* kernel.c - a kernel that executes one instruction with the sets of a table, one after the other. Before each set
 * it writes the number of the set to memory. So the host knows the set that caused a fault, and launches the kernel
 * again from the next set on. */
#include <string.h>

#include "hostile.h"

unsigned hostile_add_operand(hostile_kernel *kernel, char kind, unsigned bytes)
{
    const unsigned n = kernel->operand_count < HOSTILE_OPERANDS ? kernel->operand_count : HOSTILE_OPERANDS - 1;
    kernel->operands[n] = (hostile_operand){kind, (uint8_t)bytes};
    kernel->operand_count++; /* the kernel has too many operands, so the caller drops it */
    return n;
}

enum { HEADER = 1, FORMAT_WORDS = 64, FRAME_WORDS = 32, OPERAND_WORDS = 3 };

size_t hostile_set_words(const hostile_kernel *kernel)
{
    return HEADER + HOSTILE_MAP_WORDS + (kernel->frame ? FORMAT_WORDS + FRAME_WORDS : 0) +
           OPERAND_WORDS * HOSTILE_OPERANDS;
}

/* Writes the computation of the operands. Each operand is base + lane * stride, and one lane gets another value. The
 * operand then goes into a register of its size. A value of 1 stands for an address that only the kernel knows. In a
 * cluster, every second set has shared addresses in the window of the block itself. */
static void write_operands(const hostile_kernel *kernel, kiln__text *out)
{
    const size_t first = (HEADER + HOSTILE_MAP_WORDS) * 8, frame = kernel->frame ? (FORMAT_WORDS + FRAME_WORDS) * 8 : 0;
    for (unsigned k = 0; k < kernel->operand_count; k++) {
        const size_t at = first + frame + (size_t)k * OPERAND_WORDS * 8;
        const hostile_operand *o = &kernel->operands[k];
        kiln__text_printf(out,
                          "ld.global.u64 %%d%u, [%%set+%zu];\nld.global.u64 %%u1, [%%set+%zu];\n"
                          "ld.global.u64 %%u2, [%%set+%zu];\nmad.lo.u64 %%d%u, %%lane64, %%u1, %%d%u;\n"
                          "@%%odd mov.b64 %%d%u, %%u2;\n",
                          k, at, at + 8, at + 16, k, k, k);
        if (strchr("faijuM", o->kind) || (kernel->heap && strchr("gG", o->kind))) {
            kiln__text_printf(out, "setp.eq.u64 %%own, %%d%u, 1;\n@%%own ", k);
            if (o->kind == 'f')
                kiln__text_printf(out, "add.u64 %%d%u, %%set, %d;\n", k, (HEADER + HOSTILE_MAP_WORDS) * 8);
            else if (o->kind == 'a' || o->kind == 'i')
                kiln__text_printf(out, "add.u64 %%d%u, %%set, %d;\n", k,
                                  (HEADER + HOSTILE_MAP_WORDS + FORMAT_WORDS) * 8);
            else if (o->kind == 'j')
                kiln__text_printf(out, "mov.u64 %%d%u, child;\n", k);
            else
                kiln__text_printf(out, "mov.u64 %%d%u, %%buffer;\n", k);
        }
        if (kernel->cluster > 1 && strchr("sbSB", o->kind))
            kiln__text_printf(out, "add.u64 %%d%u, %%d%u, %%u7;\n", k, k);
        if (o->bytes == 0)
            kiln__text_printf(out, "and.b64 %%u1, %%d%u, 1;\nsetp.ne.u64 %%p%u, %%u1, 0;\n", k, k);
        else if (o->bytes <= 2)
            kiln__text_printf(out, "cvt.u16.u64 %%h%u, %%d%u;\n", k, k);
        else if (o->bytes <= 4)
            kiln__text_printf(out, "cvt.u32.u64 %%w%u, %%d%u;\n", k, k);
        if (o->bytes == 1)
            kiln__text_printf(out, "cvt.u8.u64 %%b%u, %%d%u;\n", k, k);
        if (o->bytes > 8)
            kiln__text_printf(out, "mov.b128 %%q%u, {%%d%u, %%u2};\n", k, k);
    }
}

static void write_head(const hostile_kernel *kernel, const char *declarations, kiln__text *out)
{
    kiln__text_printf(out,
                      ".version 8.8\n.target sm_%da\n.address_size 64\n"
                      ".global .align 128 .b8 g_var[256];\n.const .align 128 .b8 c_var[1024];\n%s"
                      ".visible .entry child(.param .u64 to) {\nret;\n}\n"
                      ".visible .entry k(.param .u64 sets, .param .u32 from, .param .u32 end, .param .u64 done, "
                      ".param .u64 results, .param .u64 maps, .param .align 8 .b8 more[%d])\n",
                      kernel->cc, declarations, HOSTILE_PARAMS);
    if (kernel->threads == 128)
        kiln__text_puts(out, ".maxntid 128\n");
    kiln__text_printf(
        out,
        "{\n.shared .align 1024 .b8 s_var[%d];\n.local .align 16 .b8 l_var[256];\n"
        ".reg .b64 %%d<%d>, %%Rd<10>, %%Td<144>, %%u<8>, %%set, %%done, %%results, %%maps, %%lane64, %%sp, "
        "%%buffer;\n"
        ".reg .b8 %%b<%d>, %%Rb<10>, %%Tb<144>;\n"
        ".reg .b32 %%w<%d>, %%Rw<10>, %%Tw<144>, %%v<8>, %%index, %%end, %%lane, %%mask;\n"
        ".reg .b16 %%h<%d>, %%Rh<10>, %%Th<144>;\n.reg .b128 %%q<%d>, %%Tq<144>;\n"
        ".reg .pred %%p<%d>, %%Rp<10>, %%Tp<10>, %%go, %%odd, %%one, %%own, %%stop;\n",
        HOSTILE_SHARED, HOSTILE_OPERANDS, HOSTILE_OPERANDS, HOSTILE_OPERANDS, HOSTILE_OPERANDS, HOSTILE_OPERANDS,
        HOSTILE_OPERANDS);
}

/* A block has 512 columns of tensor memory, and each warp gets 256 of them. */
#define ALLOCATE "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [s_var+64], 256;\n"
/* Returns the barrier at which the two blocks of a pair meet, because they use each other's tensor memory. Both blocks
 * must have allocated it before the first use, and must keep it until the last use. */
static const char *meet(const hostile_kernel *kernel)
{
    return kernel->pair && kernel->cluster > 1 ? "barrier.cluster.arrive;\nbarrier.cluster.wait;\n" : "";
}

/* Writes the loop up to the operands. It stores the number of the set, initialises mbarriers, and copies the set's
 * tensor map to its place. */
static void write_begin(const hostile_kernel *kernel, kiln__text *out)
{
    kiln__text_printf(
        out,
        "ld.param.u64 %%set, [sets];\nld.param.u32 %%index, [from];\nld.param.u32 %%end, [end];\n"
        "ld.param.u64 %%done, [done];\nld.param.u64 %%results, [results];\nld.param.u64 %%maps, [maps];\n"
        "mov.u32 %%lane, %%laneid;\ncvt.u64.u32 %%lane64, %%lane;\nmov.b64 %%buffer, 0;\n"
        "mad.wide.u32 %%set, %%index, %zu, %%set;\nst.local.u32 [l_var], %%lane;\n"
        "mov.u32 %%v0, %%tid.x;\nsetp.eq.u32 %%one, %%v0, 0;\n%s%s"
        "LOOP:\nsetp.ge.u32 %%stop, %%index, %%end;\n@%%stop bra DONE;\n@%%one st.global.u32 [%%done], %%index;\n"
        "ld.global.u64 %%u0, [%%set];\ncvt.u32.u64 %%mask, %%u0;\nshr.u64 %%u1, %%u0, 32;\ncvt.u32.u64 %%v1, %%u1;\n"
        "shr.u32 %%v2, %%mask, %%lane;\nand.b32 %%v2, %%v2, 1;\nsetp.ne.u32 %%go, %%v2, 0;\n"
        "setp.eq.u32 %%odd, %%v1, %%lane;\n",
        hostile_set_words(kernel) * 8,
        strpbrk(kernel->kind->addresses, "T") || strpbrk(kernel->kind->values, "T") ? ALLOCATE : "", meet(kernel));
    if (kernel->cluster > 1) /* the rank of the block, in the upper bits of its shared addresses */
        kiln__text_puts(out, "mov.u32 %v4, %cluster_ctarank;\nand.b32 %v5, %index, 1;\nmul.lo.u32 %v4, %v4, %v5;\n"
                             "shl.b32 %v4, %v4, 24;\ncvt.u64.u32 %u7, %v4;\n");
    for (unsigned k = 0; k < HOSTILE_BARS; k++)
        kiln__text_printf(out, "@%%one mbarrier.init.shared.b64 [s_var+%u], %u;\n", k * 8, k < 2 ? 0xfffffu : 1u);
    if (kernel->rank || strchr(kernel->kind->addresses, 'm'))
        kiln__text_puts(out, "shl.b64 %u1, %lane64, 3;\nadd.u64 %u2, %set, %u1;\nadd.u64 %u3, %maps, %u1;\n"
                             "setp.lt.u32 %own, %lane, 16;\n@%own ld.global.u64 %u4, [%u2+8];\n"
                             "@%own st.global.u64 [%u3], %u4;\n@%own st.global.u64 [%u3+3968], %u4;\n"
                             "bar.warp.sync -1;\n");
    if (kernel->heap)
        kiln__text_puts(out, "{\n.param .b64 n;\n.param .b64 r;\nmov.b64 %u1, 48;\nst.param.b64 [n], %u1;\n"
                             "call (r), malloc, (n);\nld.param.b64 %buffer, [r];\n}\n");
    if (kernel->buffer)
        kiln__text_puts(out,
                        "{\n.param .b64 f;\n.param .align 4 .b8 x[12];\n.param .align 4 .b8 y[12];\n.param .b32 n;\n"
                        ".param .b64 r;\nmov.u64 %u1, child;\nst.param.b64 [f], %u1;\nmov.b32 %v1, 1;\n"
                        "mov.b32 %v2, 0;\nst.param.b32 [x], %v1;\nst.param.b32 [x+4], %v1;\n"
                        "st.param.b32 [x+8], %v1;\nst.param.b32 [y], %v1;\nst.param.b32 [y+4], %v1;\n"
                        "st.param.b32 [y+8], %v1;\nst.param.b32 [n], %v2;\n"
                        "call (r), __cudaCDP2GetParameterBufferV2, (f, x, y, n);\nld.param.b64 %buffer, [r];\n}\n");
}

static void write_end(const hostile_kernel *kernel, unsigned results, kiln__text *out)
{
    kiln__text_printf(out,
                      "and.b32 %%v3, %%index, %d;\nmul.lo.u32 %%v3, %%v3, %d;\nmad.lo.u32 %%v3, %%lane, %d, %%v3;\n"
                      "cvt.u64.u32 %%u2, %%v3;\nadd.u64 %%u2, %%results, %%u2;\n",
                      HOSTILE_RING - 1, HOSTILE_RESULTS * 2 * 8 * VM_LANES, HOSTILE_RESULTS * 2 * 8);
    for (unsigned k = 0; k < results; k++)
        kiln__text_printf(
            out, "cvt.u64.u32 %%u1, %%Rw%u;\nst.global.u64 [%%u2+%u], %%u1;\nst.global.u64 [%%u2+%u], %%Rd%u;\n", k,
            k * 16, k * 16 + 8, k);
    kiln__text_printf(out, "add.u32 %%index, %%index, 1;\nadd.u64 %%set, %%set, %zu;\nbra LOOP;\nDONE:\n%sret;\n}\n",
                      hostile_set_words(kernel) * 8, meet(kernel));
}

bool hostile_kernel_make(hostile_source *s, ptx_op op, unsigned form, unsigned function, hostile_kernel *kernel)
{
    kiln__text code = {0}, declarations = {0};
    unsigned results = HOSTILE_RESULTS;
    *kernel = (hostile_kernel){
        .op = op, .form = form, .function = function, .cc = 90, .threads = 32, .kind = hostile_case_of(op)};
    if (!kernel->kind)
        return false;
    const unsigned flags = kernel->kind->flags;
    static const unsigned sizes[] = {1, 7, 31, 33, 64};
    kernel->threads = flags & HOSTILE_WARPGROUP ? 128 : hostile_chance(s, 80) ? 32 : sizes[hostile_below(s, 5)];
    kernel->blocks = hostile_chance(s, 90) ? 1 : 2 + hostile_below(s, 3);
    kernel->cluster = hostile_chance(s, flags & HOSTILE_CLUSTER ? 70 : 10) ? 1 + hostile_below(s, 3) : 1;
    bool good = true;
    if (flags & HOSTILE_SPECIAL)
        hostile_write_call(s, kernel, &code, &declarations);
    else
        good = hostile_write_form(s, kernel, &code, &results);
    kernel->pair = (op == PTX_OP_TCGEN05_MMA || op == PTX_OP_TCGEN05_CP || op == PTX_OP_TCGEN05_SHIFT) &&
                   strstr(kiln__text_get(&code), ".cta_group::2");
    if (kernel->pair && hostile_chance(s, 80))
        kernel->cluster = 2;
    const bool twice = !(flags & (HOSTILE_SPECIAL | HOSTILE_WHOLE)) && strpbrk(kernel->kind->addresses, "gG.") &&
                       hostile_chance(s, 15);
    if (twice) {
        kernel->heap = true;
        kiln__text_puts(&declarations, ".extern .func (.param .b64 r) malloc (.param .b64 n);\n"
                                       ".extern .func free (.param .b64 p);\n");
    }
    write_head(kernel, kiln__text_get(&declarations), &kernel->text);
    write_begin(kernel, &kernel->text);
    write_operands(kernel, &kernel->text);
    const bool guarded = !(flags & (HOSTILE_WHOLE | HOSTILE_SPECIAL));
    kiln__text_printf(&kernel->text, "// the instruction\n%s%s%s", guarded ? "@%go " : "", kiln__text_get(&code),
                      flags & HOSTILE_SPECIAL ? "" : ";\n");
    if (twice) /* allocates the same memory again, after it was freed */
        kiln__text_printf(&kernel->text,
                          "{\n.param .b64 p;\nst.param.b64 [p], %%buffer;\ncall free, (p);\n}\n@%%go %s;\n",
                          kiln__text_get(&code));
    if (op == PTX_OP_TENSORMAP_REPLACE) /* uses the map that the instruction has changed */
        kiln__text_printf(
            &kernel->text, "@%%go cp.async.bulk.tensor.2d.%s;\n",
            hostile_chance(s, 50)
                ? "shared::cluster.global.mbarrier::complete_tx::bytes [s_var+1024], [%maps, {%v2, %v2}], [s_var]"
                : "global.shared::cta.bulk_group [%maps, {%v2, %v2}], [s_var+1024]");
    if (op == PTX_OP_BARRIER_CLUSTER_ARRIVE)
        kiln__text_puts(&kernel->text, "barrier.cluster.wait;\n");
    write_end(kernel, results, &kernel->text);
    good = good && !kernel->text.failed && !code.failed && kernel->operand_count <= HOSTILE_OPERANDS;
    kiln__text_free(&code);
    kiln__text_free(&declarations);
    if (!good)
        kiln__text_free(&kernel->text);
    return good;
}
