/* Tests that compiled regions of code have the same results as the interpreter. Each kernel runs on two devices, one of
 * which compiles at once. Memory, counters and faults must be the same. The suites test_vm_*, conformance and random
 * also run with the compiler. */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "jit.h"
#include "vm_check.h"

/* A block has 128 threads. x, y and z have N words each. */
#define HEAD(name)                                                                                                     \
    ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry " name                                             \
    "(.param .u64 X, .param .u64 Y, .param .u32 N, "                                                                   \
    ".param .u32 S)\n{\n"                                                                                              \
    ".reg .pred %p<9>;\n.reg .b32 %r<40>;\n.reg .f32 %f<40>;\n.reg .b64 %rd<20>;\n.shared .align 16 .b8 box[4096];\n"  \
    "ld.param.u64 %rd1, [X];\nld.param.u64 %rd2, [Y];\nld.param.u32 %r1, [N];\nld.param.u32 %r2, [S];\n"               \
    "mov.u32 %r3, %tid.x;\nmov.u32 %r4, %ctaid.x;\nmad.lo.u32 %r5, %r4, 128, %r3;\n"                                   \
    "mul.wide.u32 %rd3, %r5, 4;\nadd.u64 %rd4, %rd1, %rd3;\nadd.u64 %rd5, %rd2, %rd3;\n"

/* Reads rows, single words and random words of shared and global memory, in a loop with barriers. */
static const char tile[] = HEAD("k") "mov.u32 %r6, 0;\nmov.f32 %f1, 0f00000000;\nshl.b32 %r7, %r3, 2;\n"
                                     "mov.u32 %r8, box;\nadd.u32 %r9, %r8, %r7;\n"
                                     "LOOP:\n"
                                     "ld.global.f32 %f2, [%rd4];\nst.shared.f32 [%r9], %f2;\nbar.sync 0;\n"
                                     "ld.shared.f32 %f3, [%r8+8];\nld.shared.v4.f32 {%f4,%f5,%f6,%f7}, [%r8+16];\n"
                                     "mul.lo.u32 %r10, %r3, %r2;\nadd.u32 %r10, %r10, %r6;\nand.b32 %r10, %r10, 127;\n"
                                     "shl.b32 %r10, %r10, 2;\nadd.u32 %r10, %r10, %r8;\nld.shared.f32 %f8, [%r10];\n"
                                     "fma.rn.f32 %f1, %f2, %f3, %f1;\nfma.rn.f32 %f1, %f8, %f4, %f1;\n"
                                     "sub.f32 %f1, %f1, %f5;\nmul.f32 %f9, %f6, %f7;\nadd.f32 %f1, %f1, %f9;\n"
                                     "bar.sync 0;\nadd.u32 %r6, %r6, 1;\nsetp.lt.u32 %p1, %r6, 40;\n@%p1 bra LOOP;\n"
                                     "st.global.f32 [%rd5], %f1;\nret;\n}\n";

/* Has lanes that leave a loop at different times, predicates, atomics of both state spaces, and accesses to 1 and 2
 * bytes. */
static const char mixed[] =
    HEAD("k") "mov.u32 %r6, 0;\nmov.u32 %r7, 0;\nmov.u32 %r8, box;\nand.b32 %r9, %r3, 15;\n"
              "shl.b32 %r9, %r9, 2;\nadd.u32 %r9, %r9, %r8;\nst.shared.u32 [%r9], %r6;\n"
              "add.u32 %r10, %r2, 20;\nand.b32 %r11, %r3, 31;\nbar.sync 0;\n"
              "LOOP:\n"
              "ld.global.u8 %r12, [%rd4+1];\nld.global.s8 %r13, [%rd4+2];\n"
              "ld.global.u16 %r14, [%rd4+2];\nadd.u32 %r12, %r12, %r13;\nxor.b32 %r12, %r12, %r14;\n"
              "setp.lt.u32 %p1, %r6, 10;\n@%p1 add.u32 %r7, %r7, %r12;\n"
              "setp.eq.u32 %p2, %r11, %r6;\nsetp.ne.and.u32 %p3|%p4, %r12, 7, %p1;\n"
              "selp.b32 %r15, %r7, %r12, %p2;\n@%p4 sub.u32 %r15, %r15, %r6;\n"
              "red.shared.add.u32 [%r9], %r15;\natom.global.add.u32 %r16, [%rd5], 1;\n"
              "add.u32 %r7, %r7, %r16;\nshf.l.wrap.b32 %r7, %r7, %r15, 3;\n"
              "@!%p1 ld.global.u32 %r17, [%rd4];\n@!%p1 add.u32 %r7, %r7, %r17;\n"
              "add.u32 %r6, %r6, 1;\nadd.u32 %r18, %r11, %r10;\nsetp.lt.u32 %p5, %r6, %r18;\n"
              "@%p5 bra LOOP;\n"
              "bar.sync 0;\nld.shared.u32 %r19, [%r9];\nadd.u32 %r7, %r7, %r19;\n"
              "st.global.u32 [%rd5], %r7;\nret;\n}\n";

/* Uses every arithmetic instruction that regions have, in four parts with a loop around each. The operands are words
 * that are special cases as numbers or as bits. */
static const char begin[] =
    HEAD("k") "mov.u32 %r6, 0;\nmov.u32 %r20, 0;\nmov.u64 %rd6, 0;\nLOOP:\n"
              "add.u32 %r7, %r5, %r6;\nmul.lo.u32 %r7, %r7, %r2;\nrem.u32 %r7, %r7, %r1;\nmul.wide.u32 %rd7, %r7, 4;\n"
              "add.u64 %rd7, %rd1, %rd7;\nld.global.u32 %r8, [%rd4];\nld.global.u32 %r9, [%rd7];\n"
              "mov.b32 %f1, %r8;\nmov.b32 %f2, %r9;\nxor.b64 %rd6, %rd6, %rd7;\n";
#define FOLD32(text) text "xor.b32 %r20, %r20, %r21;\nshf.l.wrap.b32 %r20, %r20, %r20, 5;\n"
#define FOLDF(text) text "mov.b32 %r21, %f3;\nxor.b32 %r20, %r20, %r21;\nshf.r.wrap.b32 %r20, %r20, %r20, 7;\n"
#define FOLD64(text) text "xor.b64 %rd6, %rd6, %rd8;\nmad.lo.u64 %rd6, %rd6, 5, 1;\n"
#define FOLDP(text) text "selp.b32 %r21, 77, 5, %p2;\nadd.u32 %r20, %r20, %r21;\n"
static const char floats[] = FOLDF("add.f32 %f3, %f1, %f2;\n") FOLDF("sub.f32 %f3, %f1, %f2;\n")
    FOLDF("mul.f32 %f3, %f1, %f2;\n") FOLDF("fma.rn.f32 %f3, %f1, %f2, %f1;\n") FOLDF("add.ftz.f32 %f3, %f1, %f2;\n")
        FOLDF("sub.sat.f32 %f3, %f1, %f2;\n") FOLDF("mul.ftz.sat.f32 %f3, %f1, %f2;\n")
            FOLDF("mul.ftz.f32 %f3, %f1, %f2;\n") FOLDF("fma.rn.ftz.f32 %f3, %f1, %f2, %f2;\n")
                FOLDF("fma.rn.sat.f32 %f3, %f1, %f2, %f2;\n") FOLDF("div.rn.f32 %f3, %f1, %f2;\n")
                    FOLDF("rcp.rn.f32 %f3, %f1;\n") FOLDF("sqrt.rn.ftz.f32 %f3, %f1;\n")
                        FOLDF("rsqrt.approx.f32 %f3, %f1;\n") FOLDF("neg.ftz.f32 %f3, %f1;\n")
                            FOLDF("abs.f32 %f3, %f1;\n") FOLDF("min.f32 %f3, %f1, %f2;\n")
                                FOLDF("max.f32 %f3, %f1, %f2;\n") FOLDF("max.ftz.f32 %f3, %f1, %f2;\n")
                                    FOLDF("cvt.rn.f32.s32 %f3, %r8;\n") FOLDF("cvt.rn.f32.u32 %f3, %r8;\n")
                                        FOLD32("cvt.rzi.s32.f32 %r21, %f1;\n") FOLD32("cvt.rzi.u32.f32 %r21, %f1;\n");
static const char words[] = FOLD32("add.u32 %r21, %r8, %r9;\n") FOLD32("sub.u32 %r21, %r8, %r9;\n") FOLD32(
    "mul.lo.u32 %r21, %r8, %r9;\n") FOLD32("mul.hi.u32 %r21, %r8, %r9;\n") FOLD32("mul.hi.s32 %r21, %r8, %r9;\n")
    FOLD32("mad.lo.u32 %r21, %r8, %r9, %r8;\n") FOLD32("neg.s32 %r21, %r8;\n") FOLD32("abs.s32 %r21, %r8;\n")
        FOLD32("min.u32 %r21, %r8, %r9;\n") FOLD32("min.s32 %r21, %r8, %r9;\n") FOLD32("max.u32 %r21, %r8, %r9;\n")
            FOLD32("max.s32 %r21, %r8, %r9;\n") FOLD32("and.b32 %r21, %r8, %r9;\n") FOLD32("or.b32 %r21, %r8, %r9;\n")
                FOLD32("not.b32 %r21, %r8;\n") FOLD32("shl.b32 %r21, %r8, %r9;\n") FOLD32("shr.u32 %r21, %r8, %r9;\n")
                    FOLD32("shr.s32 %r21, %r8, %r9;\n") FOLD32("shr.s32 %r21, %r8, 3;\n")
                        FOLD32("shf.l.wrap.b32 %r21, %r8, %r9, %r8;\n") FOLD32("shf.r.wrap.b32 %r21, %r8, %r9, %r8;\n")
                            FOLD32("lop3.b32 %r21, %r8, %r9, %r6, 0x96;\n")
                                FOLD32("lop3.b32 %r21, %r8, %r9, %r6, 0xe4;\n") FOLD32("bfe.u32 %r21, %r8, 5, 9;\n")
                                    FOLD32("popc.b32 %r21, %r8;\n") FOLD32("bfi.b32 %r21, %r8, %r9, 3, 11;\n")
                                        FOLD32("prmt.b32 %r21, %r8, %r9, 0x7531;\n") FOLD32("div.s32 %r21, %r8, %r9;\n")
                                            FOLD32("div.u32 %r21, %r8, %r9;\n") FOLD32("rem.s32 %r21, %r8, %r9;\n")
                                                FOLD32("rem.u32 %r21, %r8, %r9;\n") FOLD32("cvt.s32.s8 %r21, %r8;\n")
                                                    FOLD32("cvt.u32.u16 %r21, %r8;\n")
                                                        FOLD32("cvt.s32.s16 %r21, %r8;\n")
                                                            FOLD32("cvt.u32.u8 %r21, %r8;\n");
static const char doubles[] = FOLD64("mul.wide.s32 %rd8, %r8, %r9;\n") FOLD64("mul.wide.u32 %rd8, %r8, %r9;\n")
    FOLD64("mad.wide.s32 %rd8, %r8, %r9, %rd6;\n") FOLD64("mad.wide.u32 %rd8, %r8, %r9, %rd6;\n")
        FOLD64("mov.b64 %rd8, {%r8, %r9};\n") FOLD64("shl.b64 %rd8, %rd6, %r9;\n") FOLD64("shr.u64 %rd8, %rd6, 3;\n")
            FOLD64("shr.s64 %rd8, %rd6, %r8;\n") FOLD64("sub.u64 %rd8, %rd6, %rd7;\n") FOLD64("neg.s64 %rd8, %rd6;\n")
                FOLD64("min.s64 %rd8, %rd6, %rd3;\n") FOLD64("max.u64 %rd8, %rd6, %rd3;\n")
                    FOLD64("cvt.s64.s32 %rd8, %r8;\n") FOLD64("cvt.u64.u32 %rd8, %r8;\n")
                        FOLD64("not.b64 %rd8, %rd6;\n") FOLD64("and.b64 %rd8, %rd6, %rd3;\n")
                            FOLD64("or.b64 %rd8, %rd6, %rd3;\n") FOLD64("mul.lo.u64 %rd8, %rd6, %rd3;\n")
                                FOLD32("cvt.u32.u64 %r21, %rd6;\n") FOLD32("mov.b64 {%r21, %r22}, %rd6;\n");
static const char predicates[] = FOLDP("setp.lt.f32 %p2, %f1, %f2;\n") FOLDP("setp.le.f32 %p2, %f1, %f2;\n")
    FOLDP("setp.ne.f32 %p2, %f1, %f2;\n") FOLDP("setp.geu.f32 %p2, %f1, %f2;\n") FOLDP("setp.num.f32 %p2, %f1, %f2;\n")
        FOLDP("setp.lt.s32 %p2, %r8, %r9;\n") FOLDP("setp.hi.u32 %p2, %r8, %r9;\n")
            FOLDP("setp.lt.s64 %p2, %rd6, %rd3;\n") FOLDP("setp.eq.or.s32 %p2, %r8, %r9, %p1;\n");
static const char finish[] =
    "add.u32 %r6, %r6, 1;\nsetp.lt.u32 %p1, %r6, 24;\n@%p1 bra LOOP;\n"
    "cvt.u32.u64 %r21, %rd6;\nxor.b32 %r20, %r20, %r21;\nshr.u64 %rd6, %rd6, 32;\ncvt.u32.u64 %r21, %rd6;\n"
    "add.u32 %r20, %r20, %r21;\nst.global.u32 [%rd5], %r20;\nret;\n}\n";

/* A loop whose address moves by S words in each iteration. After enough iterations it is beyond the end of the
 * memory. */
static const char walk[] = HEAD("k") "mov.u32 %r6, 0;\nmov.u32 %r7, 0;\nmul.wide.u32 %rd6, %r2, 4;\nLOOP:\n"
                                     "ld.global.u32 %r8, [%rd4];\nadd.u32 %r7, %r7, %r8;\nadd.u64 %rd4, %rd4, %rd6;\n"
                                     "st.global.u32 [%rd5], %r7;\nadd.u32 %r6, %r6, 1;\nsetp.lt.u32 %p1, %r6, %r1;\n"
                                     "@%p1 bra LOOP;\nret;\n}\n";

/* Executes shuffles by constants, also in segments, and votes of whole warps. */
static const char lanes[] = HEAD("k") "mov.u32 %r6, 0;\nld.global.u32 %r7, [%rd4];\nmov.u32 %r9, 0;\nLOOP:\n"
#define SHUFFLE(how) "shfl.sync." how ", -1;\nselp.b32 %r10, %r8, 9, %p2;\nmad.lo.u32 %r9, %r9, 5, %r10;\n"
    SHUFFLE("down.b32 %r8|%p2, %r7, 3, 31") SHUFFLE("up.b32 %r8|%p2, %r7, 5, 0") SHUFFLE(
        "bfly.b32 %r8|%p2, %r7, 16, 31") SHUFFLE("idx.b32 %r8|%p2, %r7, 9, 31")
        SHUFFLE("down.b32 %r8|%p2, %r7, 2, 0x1803") SHUFFLE("up.b32 %r8|%p2, %r7, 1, 0x1800") SHUFFLE(
            "idx.b32 %r8|%p2, %r7, 6, 0x180f") "setp.gt.u32 %p3, %r7, %r2;\nvote.sync.ballot.b32 %r11, %p3, -1;\nxor.b32 %r9, %r9, %r11;\n"
                                               "vote.sync.any.pred %p4, %p3, -1;\nvote.sync.all.pred %p5, !%p3, -1;\nvote.sync.uni.pred %p6, %p3, -1;\n"
                                               "@%p4 add.u32 %r9, %r9, 1;\n@%p5 add.u32 %r9, %r9, 2;\n@%p6 add.u32 %r9, %r9, 4;\nbar.warp.sync -1;\n"
                                               "add.u32 %r7, %r7, %r9;\nadd.u32 %r6, %r6, 1;\nsetp.lt.u32 %p1, %r6, 12;\n@%p1 bra LOOP;\n"
                                               "st.global.u32 [%rd5], %r9;\nret;\n}\n";

/* Executes the instructions of the kernel above with operands in registers, as compilers write them. The computed mask
 * has all lanes, except in the sixth iteration. The distance of the shuffles changes in the ninth iteration. All lanes
 * add to shared memory, and some add zeros. */
static const char registers[] = HEAD(
    "k") "mov.u32 %r6, 0;\nld.global.u32 %r7, [%rd4];\nmov.u32 %r9, 0;\nmov.u32 %r12, 31;\nmov.u32 %r13, 4;\n"
         "mov.u32 %r15, box;\nand.b32 %r16, %r3, 7;\nmad.lo.u32 %r16, %r16, 4, %r15;\nst.shared.u32 [%r16], %r9;\n"
         "setp.ge.u32 %p2, %r6, 0;\nvote.sync.ballot.b32 %r14, %p2, -1;\nmov.u32 %r17, %r14;\nLOOP:\n"
         "shfl.sync.down.b32 %r8|%p3, %r7, %r13, %r12, %r14;\nselp.b32 %r10, %r8, 9, %p3;\n"
         "mad.lo.u32 %r9, %r9, 5, %r10;\nsetp.gt.u32 %p4, %r8, %r2;\nvote.sync.ballot.b32 %r11, %p4, %r14;\n"
         "xor.b32 %r9, %r9, %r11;\nbar.warp.sync %r14;\natom.shared.add.u32 %r18, [%r16], %r11;\n"
         "red.shared.or.b32 [%r16+32], %r8;\nadd.u32 %r9, %r9, %r18;\nadd.u32 %r7, %r7, %r9;\nadd.u32 %r6, %r6, 1;\n"
         "setp.eq.u32 %p5, %r6, 6;\nshl.b32 %r19, 1, %r3;\nselp.b32 %r14, %r19, %r17, %p5;\n"
         "setp.eq.u32 %p6, %r6, 9;\n@%p6 add.u32 %r13, %r13, 1;\nsetp.lt.u32 %p1, %r6, 12;\n@%p1 bra LOOP;\n"
         "ld.shared.u32 %r20, [%r16];\nld.shared.u32 %r21, [%r16+32];\nadd.u32 %r9, %r9, %r20;\nxor.b32 %r9, %r9, %r21;\n"
         "st.global.u32 [%rd5], %r9;\nret;\n}\n";

/* Updates words of shared memory, S bytes further in each iteration. The address moves beyond either end, or becomes
 * misaligned. */
#define PUSH(address)                                                                                                  \
    HEAD("k")                                                                                                          \
    "mov.u32 %r6, 0;\nmov.u32 %r7, box;\nshl.b32 %r8, %r3, 2;\nadd.u32 %r7, %r7, %r8;\ncvt.u64.u32 %rd7, %r7;\n"       \
    "cvt.s64.s32 %rd8, %r2;\nld.shared.u32 %r9, [%r7];\nLOOP:\nred.shared.add.u32 [" address "+256], 7;\n"             \
    "red.shared.xor.b32 [" address "], %r3;\natom.shared.add.u32 %r10, [" address "+128], %r6;\n"                      \
    "xor.b32 %r9, %r9, %r10;\natom.shared.add.u32 %r10, [" address "], 3;\n"                                           \
    "add.u32 %r7, %r7, %r2;\nadd.u64 %rd7, %rd7, %rd8;\nadd.u32 %r6, %r6, 1;\nsetp.lt.u32 %p1, %r6, %r1;\n"            \
    "@%p1 bra LOOP;\nst.global.u32 [%rd5], %r9;\nret;\n}\n"
static const char push[] = PUSH("%r7"), push_wide[] = PUSH("%rd7");

/* Accesses shared memory by addresses in 64-bit registers: rows, one word, and a load that overwrites its address
 * register. */
static const char halves[] = HEAD(
    "k") "mov.u32 %r6, 0;\nmov.u32 %r9, 0;\nmov.u32 %r7, box;\ncvt.u64.u32 %rd6, %r7;\nmul.wide.u32 %rd7, %r3, 4;\n"
         "add.u64 %rd7, %rd7, %rd6;\nst.shared.u32 [%rd7], %r3;\nst.shared.u32 [%rd7+512], %r5;\n"
         "st.shared.u64 [%rd6+2048], %rd7;\nbar.sync 0;\nLOOP:\n"
         "ld.shared.u32 %r10, [%rd7];\nld.shared.u32 %r11, [%rd6+8];\nmad.lo.u32 %r9, %r10, %r11, %r9;\n"
         "ld.shared.u32 %r12, [%rd7+512];\nld.shared.u32 %r13, [%rd6+12];\nmad.lo.u32 %r9, %r12, %r13, %r9;\n"
         "add.u64 %rd8, %rd6, 2048;\nld.shared.u64 %rd8, [%rd8];\ncvt.u32.u64 %r14, %rd8;\n"
         "add.u32 %r9, %r9, %r14;\nst.shared.u32 [%rd7+512], %r9;\n"
         "add.u32 %r6, %r6, 1;\nsetp.lt.u32 %p1, %r6, 40;\n@%p1 bra LOOP;\n"
         "st.global.u32 [%rd5], %r9;\nret;\n}\n";

/* Reads words of x in a random order. */
static const char gather[] =
    HEAD("k") "mov.u32 %r6, 0;\nmov.u32 %r9, 0;\nmul.lo.u32 %r7, %r3, 5;\nand.b32 %r7, %r7, 31;\n"
              "mul.wide.u32 %rd6, %r7, 4;\nadd.u64 %rd6, %rd1, %rd6;\n"
              "LOOP:\n"
              "ld.global.u32 %r8, [%rd6];\nadd.u32 %r9, %r9, %r8;\nxor.b32 %r9, %r9, %r6;\nmul.lo.u32 %r9, %r9, 3;\n"
              "add.u32 %r6, %r6, 1;\nsetp.lt.u32 %p1, %r6, 40;\n@%p1 bra LOOP;\n"
              "st.global.u32 [%rd5], %r9;\nret;\n}\n";

/* Reads eight elements of 16 bits for each lane, at places in a random order. */
static const char eights[] =
    HEAD("k") ".reg .b16 %h<8>;\nmov.u32 %r6, 0;\nmul.lo.u32 %r7, %r3, 5;\nand.b32 %r7, %r7, 31;\n"
              "mul.wide.u32 %rd6, %r7, 16;\nadd.u64 %rd7, %rd1, %rd6;\nadd.u64 %rd8, %rd2, %rd6;\n"
              "LOOP:\n"
              "ld.global.v8.u16 {%h0,%h1,%h2,%h3,%h4,%h5,%h6,%h7}, [%rd7];\nadd.u16 %h0, %h0, %h7;\n"
              "xor.b16 %h7, %h7, %h3;\nadd.u16 %h4, %h4, %h5;\nadd.u16 %h6, %h6, %h1;\n"
              "st.global.v8.u16 [%rd8], {%h0,%h1,%h2,%h3,%h4,%h5,%h6,%h7};\n"
              "add.u32 %r6, %r6, 1;\nsetp.lt.u32 %p1, %r6, 40;\n@%p1 bra LOOP;\nret;\n}\n";

/* Reads bytes 0 and 2 of x, at the greatest and the least offset. The end of the access at the greatest offset is not a
 * signed number of 64 bits. */
#define FAR(low, high)                                                                                                 \
    HEAD("k")                                                                                                          \
    "mov.u32 %r6, 0;\nmov.u32 %r9, 0;\nmov.b64 %rd6, " high ";\nsub.u64 %rd7, %rd1, %rd6;\n"                           \
    "LOOP:\nld.global.u8 %r8, [%rd7+" high "];\n"                                                                      \
    "add.u32 %r9, %r9, %r8;\nld.global.u8 %r8, [%rd7+" low "];\nadd.u32 %r9, %r9, %r8;\nadd.u32 %r6, %r6, 1;\n"        \
    "mul.lo.u32 %r9, %r9, 3;\nsetp.lt.u32 %p1, %r6, 40;\n@%p1 bra LOOP;\nst.global.u32 [%rd5], %r9;\nret;\n}\n"
static const char far_apart[] = FAR("-9223372036854775807", "9223372036854775807");

/* The kernel reads one word in each iteration, and does not end. */
static const char endless[] = HEAD(
    "k") "mov.u32 %r6, 0;\nLOOP:\nadd.u32 %r6, %r6, 4;\nand.b32 %r7, %r6, 4095;\ncvt.u64.u32 %rd6, %r7;\n"
         "add.u64 %rd7, %rd1, %rd6;\nld.global.u32 %r8, [%rd7];\nadd.u32 %r9, %r9, %r8;\nxor.b32 %r10, %r9, %r6;\n"
         "add.u32 %r11, %r10, %r9;\nsetp.ge.u32 %p1, %r6, %r2;\n@%p1 bra LOOP;\nst.global.u32 [%rd5], %r11;\nret;\n}\n";

/* Two warps wait for each other by plain loads. */
static const char wait[] = HEAD("k") "mov.u32 %r6, 1;\nsetp.ge.u32 %p1, %r3, 32;\n@%p1 bra OTHER;\n"
                                     "FIRST:\nadd.u32 %r7, %r7, 1;\nadd.u32 %r8, %r8, 3;\nadd.u32 %r9, %r9, 5;\n"
                                     "ld.global.u32 %r10, [%rd2+8];\nsetp.eq.u32 %p2, %r10, 0;\n@%p2 bra FIRST;\n"
                                     "st.global.u32 [%rd2+16], %r6;\nret;\n"
                                     "OTHER:\nst.global.u32 [%rd2+8], %r6;\n"
                                     "SECOND:\nadd.u32 %r7, %r7, 1;\nadd.u32 %r8, %r8, 3;\nadd.u32 %r9, %r9, 5;\n"
                                     "ld.global.u32 %r10, [%rd2+16];\nsetp.eq.u32 %p2, %r10, 0;\n@%p2 bra SECOND;\n"
                                     "ret;\n}\n";

/* Has more registers than a region writes back at each exit. One exit is before an instruction that regions do not
 * have, just after another instruction has written a register. There is also a loop that has only such instructions up
 * to a barrier. */
static void make_many(kiln__text *text)
{
    kiln__text_puts(text, HEAD("k") "mov.u32 %r6, 0;\nLOOP:\nbar.sync 0;\n");
    for (unsigned k = 10; k < 30; k++)
        kiln__text_printf(text, "mad.lo.u32 %%r%u, %%r%u, 3, %%r5;\n", k, k);
    kiln__text_puts(text, "setp.lt.u32 %p3, %r10, 0x40000000;\nactivemask.b32 %r8;\nselp.b32 %r9, 3, 7, %p3;\n"
                          "xor.b32 %r9, %r9, %r8;\nadd.u32 %r31, %r31, %r9;\nadd.u32 %r6, %r6, 1;\n"
                          "setp.lt.u32 %p1, %r6, 9;\n@%p1 bra LOOP;\n");
    for (unsigned k = 10; k < 30; k++)
        kiln__text_printf(text, "mad.lo.u32 %%r31, %%r31, 5, %%r%u;\n", k);
    kiln__text_puts(text, "st.global.u32 [%rd5], %r31;\nret;\n}\n");
}

/* Writes a loop of `count` loads from random addresses, each of four registers. */
static void make_long(kiln__text *text, unsigned count)
{
    kiln__text_puts(text, HEAD("k") "mov.u32 %r6, 0;\nmul.lo.u32 %r7, %r3, 5;\nand.b32 %r7, %r7, 31;\n"
                                    "mul.wide.u32 %rd6, %r7, 16;\nadd.u64 %rd6, %rd1, %rd6;\nLOOP:\n");
    for (unsigned k = 0; k < count; k++)
        kiln__text_printf(text, "ld.global.v4.u32 {%%r%u, %%r%u, %%r%u, %%r%u}, [%%rd6+%u];\n", 10 + k % 25,
                          11 + k % 25, 12 + k % 25, 13 + k % 25, 16 * k);
    kiln__text_puts(text, "add.u32 %r6, %r6, 1;\nsetp.lt.u32 %p1, %r6, 9;\n@%p1 bra LOOP;\n");
    for (unsigned k = 11; k < 40; k++)
        kiln__text_printf(text, "xor.b32 %%r10, %%r10, %%r%u;\n", k);
    kiln__text_puts(text, "st.global.u32 [%rd5], %r10;\nret;\n}\n");
}

/* Lanes diverge, and one of their paths has a loop that they leave at different times. Each path has vectors, accesses
 * to bytes, predicates and atomics. If the step is large, the address of a lane is beyond the end. */
static const char paths[] =
    HEAD("k") "and.b32 %r6, %r3, 31;\nld.global.u32 %r7, [%rd4];\nmov.u32 %r8, 0;\nmov.u32 %r20, box;\n"
              "shl.b32 %r21, %r3, 3;\nadd.u32 %r20, %r20, %r21;\nsetp.lt.u32 %p1, %r6, 11;\n@%p1 bra ELSE;\n"
              "mul.lo.u32 %r8, %r7, 3;\nst.shared.v2.u32 [%r20], {%r7, %r8};\nld.global.u8 %r9, [%rd4+1];\n"
              "add.u32 %r8, %r8, %r9;\nld.shared.u32 %r9, [%r20+4];\nadd.u32 %r8, %r8, %r9;\nbra JOIN;\n"
              "ELSE:\nmov.u32 %r10, 0;\nand.b32 %r11, %r7, 7;\n"
              "INNER:\nadd.u32 %r8, %r8, %r10;\nxor.b32 %r8, %r8, %r7;\nsetp.ne.u32 %p4, %r10, %r6;\n"
              "@%p4 ld.global.u32 %r12, [%rd4];\nsetp.gt.u32 %p2, %r12, 77;\n@%p2 add.u32 %r8, %r8, %r12;\n"
              "@%p4 atom.global.add.u32 %r13, [%rd5], 1;\n@%p4 add.u32 %r8, %r8, %r13;\nadd.u32 %r10, %r10, 1;\n"
              "setp.le.u32 %p3, %r10, %r11;\n@%p3 bra INNER;\n"
              "mul.lo.u32 %r15, %r2, %r6;\nmul.wide.u32 %rd6, %r15, 4;\nadd.u64 %rd7, %rd1, %rd6;\n"
              "ld.global.u32 %r16, [%rd7];\nadd.u32 %r8, %r8, %r16;\n"
              "JOIN:\nst.global.u32 [%rd5], %r8;\nret;\n}\n";

/* Each lane reads four words and pairs of its own part of x, and changes words of y between reads. The step chooses
 * whether the parts begin at one place, in a row, or elsewhere. Lanes leave the loop at different times, or together if
 * the step is above 1000. */
static const char own_parts[] =
    HEAD("k") "and.b32 %r6, %r3, 7;\nsetp.gt.u32 %p2, %r2, 1000;\nselp.b32 %r6, 7, %r6, %p2;\nmov.u32 %r9, 0;\n"
              "mov.u32 %r8, 0;\nmul.lo.u32 %r7, %r5, %r2;\nand.b32 %r7, %r7, 511;\nadd.u32 %r7, %r7, %r1;\n"
              "mul.wide.u32 %rd6, %r7, 8;\nadd.u64 %rd6, %rd1, %rd6;\nmul.wide.u32 %rd7, %r5, 16;\n"
              "add.u64 %rd7, %rd2, %rd7;\nLOOP:\n"
              "ld.global.u32 %r10, [%rd6+4];\nld.global.u32 %r11, [%rd6];\nld.global.u32 %r12, [%rd6+12];\n"
              "ld.global.u32 %r13, [%rd6+8];\nld.global.v2.u32 {%r14, %r15}, [%rd6];\n"
              "mad.lo.u32 %r9, %r9, 3, %r10;\nmad.lo.u32 %r9, %r9, 3, %r11;\nmad.lo.u32 %r9, %r9, 3, %r12;\n"
              "mad.lo.u32 %r9, %r9, 3, %r13;\nmad.lo.u32 %r9, %r9, 3, %r14;\nmad.lo.u32 %r9, %r9, 3, %r15;\n"
              "ld.global.u32 %r16, [%rd7];\nld.global.u32 %r17, [%rd7+4];\nst.global.u32 [%rd7+8], %r9;\n"
              "ld.global.u32 %r18, [%rd7+8];\nld.global.u32 %r19, [%rd7+12];\nmad.lo.u32 %r9, %r16, 5, %r17;\n"
              "mad.lo.u32 %r9, %r9, 5, %r18;\nmad.lo.u32 %r9, %r9, 5, %r19;\nst.global.v2.u32 [%rd7], {%r9, %r12};\n"
              "add.u64 %rd6, %rd6, 16;\nadd.u32 %r8, %r8, 1;\nsetp.le.u32 %p1, %r8, %r6;\n@%p1 bra LOOP;\n"
              "st.global.u32 [%rd7+12], %r9;\nret;\n}\n";

/* Like own_parts in shared memory. Between reads of its part, each lane changes a word of the part. */
static const char own_shared[] =
    HEAD("k") "mul.lo.u32 %r7, %r3, %r2;\nand.b32 %r7, %r7, 127;\nshl.b32 %r7, %r7, 4;\nmov.u32 %r8, box;\n"
              "add.u32 %r7, %r7, %r8;\nst.shared.v4.u32 [%r7], {%r3, %r5, %r2, %r3};\nmov.u32 %r6, 0;\n"
              "mov.u32 %r9, 0;\nand.b32 %r14, %r3, 3;\nadd.u32 %r14, %r14, 8;\nLOOP:\nld.shared.u32 %r10, [%r7];\n"
              "ld.shared.u32 %r11, [%r7+4];\nld.shared.u32 %r12, [%r7+12];\nmad.lo.u32 %r9, %r9, 3, %r10;\n"
              "mad.lo.u32 %r9, %r9, 3, %r11;\nmad.lo.u32 %r9, %r9, 3, %r12;\nst.shared.u32 [%r7+4], %r9;\n"
              "ld.shared.u32 %r13, [%r7+4];\nmad.lo.u32 %r9, %r9, 5, %r13;\nadd.u32 %r6, %r6, 1;\n"
              "setp.lt.u32 %p1, %r6, %r14;\n@%p1 bra LOOP;\nst.global.u32 [%rd5], %r9;\nret;\n}\n";

/* Between barriers, warps run little code, some of them only in some lanes, and one warp ends before the others. The
 * loop reads a word at an address in a register. The previous block may have left a value of this register in the
 * frame. */
static const char rounds[] = HEAD(
    "k") "mov.u32 %r7, box;\nshl.b32 %r8, %r3, 2;\nadd.u32 %r7, %r7, %r8;\nmov.u32 %r6, 0;\nld.global.u32 %r9, [%rd4];\n"
         "setp.gt.u32 %p3, %r3, 95;\n@%p3 bra END;\nst.shared.u32 [%r7], %r9;\nbar.sync 0;\n"
         "LOOP:\nld.shared.u32 %r10, [%r7];\nadd.u32 %r9, %r9, %r10;\nadd.u32 %r6, %r6, 1;\nsetp.lt.u32 %p1, %r6, 3;\n"
         "@%p1 bra LOOP;\nsetp.gt.u32 %p2, %r3, 63;\n@%p2 bra FIRST;\nld.shared.u32 %r10, [%r7+64];\n"
         "add.u32 %r9, %r9, %r10;\nFIRST:\nbar.sync 0;\nst.shared.u32 [%r7], %r9;\nbar.sync 0;\n"
         "setp.gt.u32 %p4, %r3, 15;\n@%p4 bra SECOND;\nld.shared.u32 %r10, [%r7+128];\nadd.u32 %r9, %r9, %r10;\n"
         "SECOND:\nbar.sync 0;\nEND:\nst.global.u32 [%rd5], %r9;\nret;\n}\n";

/* A short kernel without a loop, in which some lanes of a warp end before the others. It reads %r9 before it writes it,
 * so %r9 must be zero in each block. */
static const char brief[] =
    HEAD("k") "setp.ge.u32 %p1, %r5, %r1;\n@%p1 bra END;\nld.global.u32 %r7, [%rd4];\nadd.u32 %r8, %r7, %r5;\n"
              "mad.lo.u32 %r8, %r8, 3, %r7;\nadd.u32 %r8, %r8, %r9;\nadd.u32 %r9, %r8, 1;\nxor.b32 %r8, %r8, %r9;\n"
              "st.global.u32 [%rd5], %r8;\nEND:\nret;\n}\n";

/* A short kernel that reads shared memory before it writes it. In block S one lane of the third warp ends early. The
 * warps before it end in a series of compiled code, and the warps after it run in ordinary turns. */
static const char series_stops[] =
    HEAD("k") "setp.eq.u32 %p1, %r4, %r2;\nsetp.eq.and.u32 %p2, %r3, 70, %p1;\n@%p2 bra END;\n"
              "mov.u32 %r6, box;\nshl.b32 %r7, %r3, 2;\nadd.u32 %r6, %r6, %r7;\nld.shared.u32 %r8, [%r6];\n"
              "ld.global.u32 %r9, [%rd4];\nadd.u32 %r8, %r8, %r9;\nadd.u32 %r8, %r8, %r10;\nadd.u32 %r10, %r8, %r5;\n"
              "st.shared.u32 [%r6], %r8;\nst.global.u32 [%rd5], %r8;\nEND:\nret;\n}\n";

/* A kernel whose loop has S iterations of four instructions. A turn of a warp has 32768. */
static const char series_loops[] =
    HEAD("k") "mov.u32 %r6, 0;\nld.global.u32 %r7, [%rd4];\nadd.u32 %r8, %r2, %r4;\n"
              "LOOP:\nmad.lo.u32 %r7, %r7, 5, %r6;\nadd.u32 %r6, %r6, 1;\nsetp.lt.u32 %p1, %r6, %r8;\n"
              "@%p1 bra LOOP;\nst.global.u32 [%rd5], %r7;\nret;\n}\n";

/* The first S lanes of a warp jump over an if-statement, and a word of x makes other lanes leave it early. The statement
 * changes registers that all lanes read later. Lanes diverge at a statement inside of it, and if S is odd
 * at another one. In lanes that do not execute it, the address of the load in the inner
 * statement would be a fault. With N the addresses of the other lanes leave x. */
static const char arms[] = HEAD(
    "k") "ld.global.u32 %r6, [%rd4];\nmov.u32 %r7, box;\nshl.b32 %r8, %r3, 2;\nadd.u32 %r7, %r7, %r8;\n"
         "st.shared.u32 [%r7], %r6;\nand.b32 %r9, %r3, 31;\nmov.u32 %r10, 5;\nmov.u64 %rd6, 0;\nmov.u32 %r13, 7;\nmov.u32 %r15, 11;\n"
         "and.b32 %r17, %r2, 1;\nsetp.eq.u32 %p5, %r17, 1;\nsetp.lt.u32 %p1, %r9, %r2;\n@%p1 bra OUT;\n"
         "ld.shared.u32 %r11, [%r7];\nsetp.gt.and.u32 %p4, %r11, 0x40000000, %p5;\n@%p4 bra FIRST;\n"
         "add.u32 %r11, %r11, 3;\nFIRST:\nmad.lo.u32 %r10, %r11, 3, %r9;\nadd.u32 %r12, %r10, %r6;\n"
         "@!%p5 add.u32 %r12, %r12, 77;\n@!%p5 st.shared.u32 [%r7], %r10;\n"
         "mov.u32 %r19, box;\nmul.lo.u32 %r18, %r3, 5;\nand.b32 %r18, %r18, 127;\nshl.b32 %r18, %r18, 2;\n"
         "add.u32 %r18, %r18, %r19;\nld.shared.u32 %r20, [%r18];\nxor.b32 %r12, %r12, %r20;\n"
         "st.shared.u32 [%r18+512], %r12;\nld.shared.u32 %r21, [%r19+8];\nadd.u32 %r12, %r12, %r21;\n"
         "mul.wide.u32 %rd6, %r1, 4;\nadd.u64 %rd6, %rd4, %rd6;\nand.b32 %r14, %r11, 3;\nsetp.eq.u32 %p2, %r14, 0;\n"
         "@%p2 bra OUT;\nst.shared.u32 [%r7], %r12;\nld.global.u32 %r13, [%rd6];\nst.global.u32 [%rd5+4096], %r10;\n"
         "setp.gt.u32 %p3, %r13, 99;\n@%p3 bra INNER;\nadd.u32 %r10, %r10, %r9;\nst.global.u32 [%rd5+8192], %r13;\n"
         "INNER:\nxor.b32 %r6, %r6, %r13;\nOUT:\n"
         "@%p1 ld.global.u32 %r15, [%rd4+4];\n@%p2 st.global.u32 [%rd5+12288], %r10;\nadd.u32 %r15, %r15, %r12;\n"
         "ld.shared.u32 %r16, [%r7];\nld.shared.u32 %r22, [%r7+512];\nadd.u32 %r16, %r16, %r22;\n"
         "mad.lo.u32 %r6, %r6, 5, %r10;\nadd.u32 %r6, %r6, %r13;\n"
         "xor.b32 %r6, %r6, %r15;\nadd.u32 %r6, %r6, %r16;\nst.global.u32 [%rd5], %r6;\nret;\n}\n";

/* Lanes of a warp end at different branches to the kernel's end. The number of these lanes depends on the block, S and
 * x. In even blocks all lanes of a warp go the same way. */
static const char ends[] =
    HEAD("k") "and.b32 %r9, %r3, 31;\nand.b32 %r10, %r4, 1;\nmul.lo.u32 %r9, %r9, %r10;\nsetp.lt.u32 %p1, %r9, %r2;\n"
              "@%p1 bra END;\nld.global.u32 %r6, [%rd4];\nmad.lo.u32 %r7, %r6, 3, %r5;\nst.global.u32 [%rd5], %r7;\n"
              "mul.lo.u32 %r8, %r6, %r10;\nand.b32 %r8, %r8, 3;\nsetp.eq.u32 %p2, %r8, 1;\n@%p2 bra QUIT;\n"
              "add.u32 %r7, %r7, 9;\nst.global.u32 [%rd5+4096], %r7;\nsetp.eq.u32 %p3, %r8, 2;\n@%p3 bra END;\n"
              "xor.b32 %r7, %r7, %r3;\nst.global.u32 [%rd5+8192], %r7;\nEND:\nret;\nQUIT:\nexit;\n}\n";

/* Adds the words of a block in a tree, S + 1 times, in series of compiled code between barriers. The blocks from N
 * on differ: their third warp waits at another barrier, and their second warp ends before the last barrier. */
static const char segments[] =
    HEAD("k") "setp.ge.u32 %p1, %r4, %r1;\nshr.u32 %r11, %r3, 5;\nsetp.eq.and.u32 %p2, %r11, 2, %p1;\n"
              "setp.eq.and.u32 %p3, %r11, 1, %p1;\nmov.u32 %r6, box;\nshl.b32 %r7, %r3, 2;\nadd.u32 %r6, %r6, %r7;\n"
              "ld.shared.u32 %r8, [%r6];\nld.global.u32 %r9, [%rd4];\nadd.u32 %r8, %r8, %r9;\nmov.u32 %r10, 0;\n"
              "AGAIN:\nst.shared.u32 [%r6], %r8;\nbar.sync 0;\n"
              "setp.gt.u32 %p4, %r3, 63;\n@%p4 bra HALF;\nld.shared.u32 %r12, [%r6+256];\nadd.u32 %r8, %r8, %r12;\n"
              "st.shared.u32 [%r6], %r8;\nHALF:\nbar.sync 1;\n"
              "setp.gt.u32 %p5, %r3, 9;\n@%p5 bra TEN;\nld.shared.u32 %r12, [%r6+40];\nadd.u32 %r8, %r8, %r12;\n"
              "st.shared.u32 [%r6], %r8;\nTEN:\nadd.u32 %r13, %r8, %r3;\n@%p2 bra OTHER;\nbar.sync 0;\nbra JOIN;\n"
              "OTHER:\nbar.sync 0;\nJOIN:\nadd.u32 %r10, %r10, 1;\nadd.u32 %r8, %r8, %r10;\n"
              "setp.le.u32 %p6, %r10, %r2;\n@%p6 bra AGAIN;\n@%p3 bra EARLY;\nxor.b32 %r8, %r8, %r13;\nbar.sync 0;\n"
              "ld.shared.u32 %r14, [%r6];\nadd.u32 %r8, %r8, %r14;\nst.global.u32 [%rd5], %r8;\nret;\n"
              "EARLY:\nst.global.u32 [%rd5], %r10;\nret;\n}\n";

/* Reads single words and pairs of words through one register, and writes them through another. If S is 1, the halves of
 * a warp use two places instead of one. If S is 2, the halves also read words and pairs at two places through a register
 * of which the compiler knows nothing before. */
static const char pairs[] = HEAD(
    "k") "mov.u32 %r6, 0;\nmov.u32 %r7, 0;\nshr.u32 %r8, %r3, 4;\nand.b32 %r8, %r8, 1;\nand.b32 %r9, %r2, 1;\n"
         "mul.wide.u32 %rd6, %r8, 16;\nmul.lo.u32 %r9, %r9, %r8;\nmul.wide.u32 %rd7, %r9, 16;\nshr.u32 %r10, %r5, 5;\n"
         "mul.wide.u32 %rd9, %r10, 32;\nadd.u64 %rd9, %rd9, %rd2;\nadd.u64 %rd9, %rd9, %rd7;\nadd.u64 %rd8, %rd1, %rd7;\n"
         "setp.lt.u32 %p2, %r2, 2;\nLOOP:\n"
         "ld.global.u32 %r11, [%rd8];\nld.global.v2.u32 {%r12, %r13}, [%rd8+8];\nmad.lo.u32 %r7, %r7, 3, %r11;\n"
         "mad.lo.u32 %r7, %r7, 3, %r12;\nmad.lo.u32 %r7, %r7, 3, %r13;\n"
         "st.global.u32 [%rd9+4096], %r7;\nst.global.v2.u32 [%rd9+4104], {%r13, %r7};\n@%p2 bra NEXT;\n"
         "add.u64 %rd10, %rd1, %rd6;\nld.global.u32 %r14, [%rd10+64];\n"
         "ld.global.v2.u32 {%r15, %r16}, [%rd10+72];\nmad.lo.u32 %r7, %r7, 3, %r14;\n"
         "mad.lo.u32 %r7, %r7, 3, %r15;\nmad.lo.u32 %r7, %r7, 3, %r16;\n"
         "NEXT:\nadd.u32 %r6, %r6, 1;\nsetp.lt.u32 %p1, %r6, 40;\n@%p1 bra LOOP;\n"
         "st.global.u32 [%rd5], %r7;\nret;\n}\n";

/* The first block runs S rounds, each from barrier to barrier. The other blocks run one round. A round changes a word of
 * each thread and runs a loop. In round N, the lanes of the first warp diverge. At the end, the first thread of each
 * block takes a ticket. */
static const char long_blocks[] = HEAD(
    "k") "mov.u32 %r6, box;\nshl.b32 %r7, %r3, 2;\nadd.u32 %r6, %r6, %r7;\nst.shared.u32 [%r6], %r3;\n"
         "mov.u32 %r10, 0;\nsetp.eq.u32 %p1, %r4, 0;\nselp.b32 %r11, %r2, 1, %p1;\nmov.u32 %r15, 0;\nbar.sync 0;\n"
         "AGAIN:\nld.shared.u32 %r8, [%r6];\nmad.lo.u32 %r8, %r8, 5, 3;\nst.shared.u32 [%r6], %r8;\n"
         "setp.eq.u32 %p2, %r10, %r1;\nsetp.lt.and.u32 %p3, %r3, 11, %p2;\n@%p3 bra ELSE;\n"
         "add.u32 %r8, %r8, 7;\nbra JOIN;\nELSE:\nxor.b32 %r8, %r8, 9;\nJOIN:\n"
         "mov.u32 %r12, 0;\nINNER:\nmad.lo.u32 %r8, %r8, 5, %r12;\nadd.u32 %r12, %r12, 1;\n"
         "setp.lt.u32 %p4, %r12, 64;\n@%p4 bra INNER;\n"
         "add.u32 %r15, %r15, %r8;\nadd.u32 %r10, %r10, 1;\nbar.sync 0;\nsetp.lt.u32 %p5, %r10, %r11;\n"
         "@%p5 bra AGAIN;\nld.shared.u32 %r9, [%r6];\nadd.u32 %r9, %r9, %r15;\nst.global.u32 [%rd5], %r9;\nbar.sync 0;\n"
         "setp.ne.u32 %p6, %r3, 0;\n@%p6 bra END;\natom.global.add.u32 %r13, [%rd2+16000], 1;\n"
         "mul.wide.u32 %rd6, %r4, 4;\nadd.u64 %rd6, %rd6, %rd2;\nst.global.u32 [%rd6+15000], %r13;\nEND:\nret;\n}\n";

/* From block N on, the warps of a block wait at different places. S has a bit for each warp that waits at the second
 * barrier, and in the next byte a bit for each warp that ends there. All lanes of a warp go the same way. */
static const char places[] = HEAD(
    "k") "setp.ge.u32 %p1, %r4, %r1;\nshr.u32 %r6, %r3, 5;\nshr.u32 %r7, %r2, %r6;\nand.b32 %r8, %r7, 1;\n"
         "setp.eq.and.u32 %p2, %r8, 1, %p1;\nshr.u32 %r7, %r7, 8;\nand.b32 %r8, %r7, 1;\n"
         "setp.eq.and.u32 %p3, %r8, 1, %p1;\nld.global.u32 %r9, [%rd4];\nmad.lo.u32 %r9, %r9, 5, %r3;\n"
         "xor.b32 %r9, %r9, %r5;\nadd.u32 %r9, %r9, 77;\nmad.lo.u32 %r9, %r9, 3, %r6;\n@%p3 bra END;\n@%p2 bra OTHER;\n"
         "add.u32 %r9, %r9, 1;\nbar.sync 0;\nmad.lo.u32 %r9, %r9, 7, 1;\nxor.b32 %r9, %r9, 5;\nbra END;\n"
         "OTHER:\nadd.u32 %r9, %r9, 2;\nbar.sync 0;\nmad.lo.u32 %r9, %r9, 9, 2;\nEND:\nst.global.u32 [%rd5], %r9;\n"
         "ret;\n}\n";

/* The first block runs S & 0xffff rounds from barrier to barrier, of about 700 operations each. The other blocks run one
 * round. Then, if the block's number is at least S >> 16, one half of each warp runs a loop of N iterations, for which the
 * other half waits. If the waiting lanes do not wait long enough, the warp runs the code behind the loop twice. */
static const char patience[] = HEAD(
    "k") "mov.u32 %r10, 0;\nsetp.eq.u32 %p1, %r4, 0;\nand.b32 %r11, %r2, 0xffff;\nselp.b32 %r11, %r11, 1, %p1;\nmov.u32 %r8, %r3;\n"
         "shr.u32 %r14, %r2, 16;\nsetp.lt.u32 %p2, %r4, %r14;\nand.b32 %r15, %r3, 16;\nsetp.eq.u32 %p3, %r15, 0;\n"
         "AGAIN:\nmov.u32 %r12, 0;\nINNER:\nmad.lo.u32 %r8, %r8, 5, %r12;\nadd.u32 %r12, %r12, 1;\n"
         "setp.lt.u32 %p4, %r12, 174;\n@%p4 bra INNER;\nadd.u32 %r10, %r10, 1;\nbar.sync 0;\n"
         "setp.lt.u32 %p5, %r10, %r11;\n@%p5 bra AGAIN;\nmov.u32 %r13, 0;\n@%p2 bra END;\n@%p3 bra JOIN;\n"
         "WORK:\nmad.lo.u32 %r8, %r8, 3, %r13;\nadd.u32 %r13, %r13, 1;\nsetp.lt.u32 %p6, %r13, %r1;\n@%p6 bra WORK;\n"
         "JOIN:\nadd.u32 %r8, %r8, %r13;\nst.global.u32 [%rd5], %r8;\nEND:\nret;\n}\n";

typedef struct side {
    vm_bench b;
    uint64_t x, y;
    uint32_t *hx, *hy;
} side;
enum { WORDS = 4096 };

/* Numbers near which results become special, and other numbers. */
static uint32_t word(uint32_t k)
{
    static const uint32_t special[] = {0,          0x80000000, 1,          0x807fffff, 0x00800000, 0x80800001,
                                       0x3f800000, 0xbf800000, 0x7f800000, 0xff800000, 0x7fc00001, 0xffa00000,
                                       0x4effffff, 0x4f000000, 0xcf000000, 0x4f7fffff, 0x4f800000, 0x7f7fffff,
                                       0xffffffff, 0x7fffffff, 0x1fffffff, 0x20000000, 0x00ffffff, 0x3f7fffff,
                                       0x40490fdb, 31,         32,         0xffff8000};
    return k % 3 ? special[k / 3 % KILN__COUNT(special)] : (k + 1) * 0x9e3779b1u;
}

static side side_new(const char *text, bool compiles, vm_limits limits)
{
    side s = {.b = vm_bench_text(text, strlen(text), limits)};
    if (compiles)
        sim_jit_open(s.b.device, 1);
    s.x = vm_bench_zeros(&s.b, WORDS * 4, &s.hx);
    s.y = vm_bench_zeros(&s.b, WORDS * 4, &s.hy);
    for (uint32_t k = 0; k < WORDS; k++)
        s.hx[k] = word(k);
    return s;
}

static vm_fault_kind side_run(side *s, uint32_t blocks, uint32_t n, uint32_t step)
{
    const struct {
        uint64_t x, y;
        uint32_t n, step;
    } params = {s->x, s->y, n, step};
    return vm_bench_try(&s->b, "k", blocks, 128, &params, 0);
}

/* Runs the kernel on both devices, several times with different steps. Returns the number of regions that were made. */
static uint64_t same(const char *text, vm_limits limits, uint32_t n, const uint32_t *steps, size_t count)
{
    side a = side_new(text, false, limits), b = side_new(text, true, limits);
    for (size_t k = 0; k < count; k++) {
        const vm_fault_kind wanted = side_run(&a, 8, n, steps[k]), got = side_run(&b, 8, n, steps[k]);
        CU_ASSERT_EQUAL(got, wanted);
        CU_ASSERT_STRING_EQUAL(b.b.fault.message, a.b.fault.message);
        CU_ASSERT_EQUAL(b.b.counters.warp_instructions, a.b.counters.warp_instructions);
        CU_ASSERT_EQUAL(b.b.counters.lane_instructions, a.b.counters.lane_instructions);
        CU_ASSERT_EQUAL(memcmp(a.hy, b.hy, WORDS * 4), 0);
    }
    const uint64_t made = sim_jit_regions(b.b.device);
    vm_bench_end(&a.b);
    vm_bench_end(&b.b);
    return made;
}

#define SAME(text, limits, n, ...)                                                                                     \
    same(text, limits, n, (const uint32_t[]){__VA_ARGS__}, sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))
#define ONE_THREAD ((vm_limits){.threads = 1})

/* Without fused multiply-adds LLVM would call the C library's function, so such code is interpreted. */
static bool has_fma(void)
{
    const char *isa = getenv("KILN_SIM_ISA");
    return __builtin_cpu_supports("fma") && !(isa && strcmp(isa, "base") == 0);
}

static void memory(void)
{
    const uint64_t made = SAME(tile, ONE_THREAD, 0, 1, 1, 33, 0, 5);
    CU_ASSERT(made >= 3 || !has_fma()); /* one region for the loop's head, and one after each barrier */
}

/* A region depends on the kind of each address, and not on the last address that was in the same temporary register. */
static void wide(void)
{
    CU_ASSERT_EQUAL(SAME(halves, ONE_THREAD, 0, 1, 1, 1, 1, 1, 1, 1, 1),
                    2); /* one region for the loop, and one for the kernel from its head */
}

static void vectors(void) { CU_ASSERT(SAME(eights, ONE_THREAD, 0, 0, 0) >= 1); }

/* Regions leave out accesses at such offsets, so that sums of offsets in the compiler do not overflow. */
static void offsets(void) { (void)SAME(far_apart, ONE_THREAD, 0, 0, 0); }

static void control(void)
{
    CU_ASSERT(SAME(mixed, ONE_THREAD, 0, 0, 0, 3, 1) >= 1);
    CU_ASSERT(SAME(wait, ONE_THREAD, 0, 0) >= 1);
    CU_ASSERT(SAME(lanes, ONE_THREAD, 0, 0, UINT32_MAX, 0x80000000) >= 1);
    CU_ASSERT(SAME(registers, ONE_THREAD, 0, 0, UINT32_MAX, 0x80000000) >= 1);
}

/* Tests paths with more starting points than regions for whole warps may have. */
static void diverged(void)
{
    CU_ASSERT(SAME(paths, ONE_THREAD, 0, 1, 3, 400, 0, 1, 1) >= 4);
    CU_ASSERT(SAME(paths, ONE_THREAD, 0, 1, 1 << 20) >= 4); /* the fault occurs on a path of only some lanes */
    vm_limits limits = {.threads = 1, .step_budget = 2000};
    CU_ASSERT(SAME(paths, limits, 0, 1, 1) >= 1);
}

/* Tests blocks whose warps end in the region of the whole kernel. */
static void short_kernels(void)
{
    CU_ASSERT(SAME(brief, ONE_THREAD, 8 * 128, 1, 1, 1) >= 1);
    CU_ASSERT(SAME(brief, ONE_THREAD, 5 * 128 + 77, 1, 1, 1) >= 1);
    vm_limits limits = {.threads = 1, .step_budget = 300};
    CU_ASSERT(SAME(brief, limits, 8 * 128, 1, 1, 1) >= 1);
}

/* Returns how many of `left` steps a launch takes. The caller sets the grid, the block and the kind of the launch. */
static uint64_t count_steps_of(side *s, vm_launch launch, uint32_t n, uint32_t step, uint64_t left)
{
    const struct {
        uint64_t x, y;
        uint32_t n, step;
    } params = {s->x, s->y, n, step};
    const uint64_t all = left;
    launch.module = s->b.module;
    launch.kernel = vm_module_kernel(s->b.module, "k");
    launch.params = &params;
    launch.steps_left = &left;
    CU_ASSERT_EQUAL(vm_run(s->b.device, &launch, &s->b.counters, &s->b.fault), VM_OK);
    return all - left;
}
#define STEPS ((uint64_t)1 << 32)
static uint64_t count_steps(side *s, uint32_t n, uint32_t step)
{
    return count_steps_of(s, (vm_launch){.grid = {8, 1, 1}, .block = {128, 1, 1}}, n, step, STEPS);
}

/* Runs a launch on both devices. Results, counts and steps must be the same. Returns the steps. */
static uint64_t compare_launch(side *a, side *b, vm_launch launch, uint32_t n, uint32_t step, uint64_t left)
{
    memset(a->hy, 0, WORDS * 4);
    memset(b->hy, 0, WORDS * 4);
    const uint64_t steps = count_steps_of(a, launch, n, step, left);
    CU_ASSERT_EQUAL(count_steps_of(b, launch, n, step, left), steps);
    CU_ASSERT_EQUAL(b->b.counters.warp_instructions, a->b.counters.warp_instructions);
    CU_ASSERT_EQUAL(b->b.counters.lane_instructions, a->b.counters.lane_instructions);
    CU_ASSERT_EQUAL(memcmp(a->hy, b->hy, WORDS * 4), 0);
    return steps;
}

/* Blocks whose warps run in a series have the results, counts and steps of the interpreter. */
static void series(void)
{
    const uint32_t lengths[] = {3000, 3000, 3000, 9000, 2500, 20};
    const vm_limits four = {.threads = 4};
    CU_ASSERT(SAME(series_stops, ONE_THREAD, 0, 8, 8, 8, 3, 0, 7, 8, 5, 1) >= 1);
    CU_ASSERT(SAME(series_stops, four, 0, 8, 8, 8, 3, 0, 7, 8, 5, 1) >= 1);
    CU_ASSERT(SAME(series_loops, ONE_THREAD, 0, 3000, 3000, 3000, 9000, 2500, 20) >= 1);
    CU_ASSERT(SAME(brief, four, 8 * 128, 1, 1, 1, 1) >= 1);
    side a = side_new(series_stops, false, ONE_THREAD), b = side_new(series_stops, true, ONE_THREAD);
    for (uint32_t k = 0; k < 12; k++)
        CU_ASSERT_EQUAL(count_steps(&b, 0, k), count_steps(&a, 0, k));
    vm_bench_end(&a.b);
    vm_bench_end(&b.b);
    a = side_new(series_loops, false, ONE_THREAD), b = side_new(series_loops, true, ONE_THREAD);
    for (size_t k = 0; k < KILN__COUNT(lengths); k++)
        CU_ASSERT_EQUAL(count_steps(&b, 0, lengths[k]), count_steps(&a, 0, lengths[k]));
    vm_bench_end(&a.b);
    vm_bench_end(&b.b);
}

/* Launches a kernel `count` times on both devices, with the numbers n and steps[] in turn. Results, counts and steps must
 * be the same. */
static void repeat(const char *text, unsigned count, uint32_t n, const uint32_t *steps, unsigned step_count)
{
    side a = side_new(text, false, ONE_THREAD), b = side_new(text, true, ONE_THREAD);
    for (unsigned k = 0; k < count; k++) {
        const uint32_t block = n == UINT32_MAX ? k % 11 : n, step = steps[k % step_count];
        CU_ASSERT_EQUAL(count_steps(&b, block, step), count_steps(&a, block, step));
        CU_ASSERT_EQUAL(b.b.counters.warp_instructions, a.b.counters.warp_instructions);
        CU_ASSERT_EQUAL(b.b.counters.lane_instructions, a.b.counters.lane_instructions);
        CU_ASSERT_EQUAL(memcmp(a.hy, b.hy, WORDS * 4), 0);
    }
    CU_ASSERT(sim_jit_regions(b.b.device) >= 1);
    vm_bench_end(&a.b);
    vm_bench_end(&b.b);
}

/* A pattern of single words is not given to pairs of words that use the same register as their address. */
static void patterns_of_pairs(void)
{
    uint32_t steps[48] = {0};
    for (uint32_t step = 1; step <= 2; step++) {
        for (size_t k = 4; k < KILN__COUNT(steps); k++)
            steps[k] = step;
        repeat(pairs, KILN__COUNT(steps), 0, steps, KILN__COUNT(steps));
    }
}

/* Series may use up the turn of a block, in which case the block's order among other blocks does not change. Lanes may
 * also diverge in the last round of such a turn. */
static void turns_of_series(void)
{
    enum { ROUND = 4 * 270, TURN = 1 << 20, NEVER = UINT32_MAX, ROUNDS = TURN / ROUND };
    side a = side_new(long_blocks, false, ONE_THREAD), b = side_new(long_blocks, true, ONE_THREAD);
    for (unsigned k = 0; k < 24; k++) {
        const bool alone = k > 3;
        const vm_launch launch = {.grid = {alone ? 1 : 2, 1, 1}, .block = {128, 1, 1}, .cooperative = alone};
        compare_launch(&a, &b, launch, alone ? ROUNDS + 3 * k - 48 : NEVER, 2 * ROUNDS, STEPS);
    }
    CU_ASSERT(sim_jit_regions(b.b.device) >= 1);
    vm_bench_end(&a.b);
    vm_bench_end(&b.b);
}

/* Waiting lanes wait as long as in the interpreter: after a warp has run many turns as a whole, and after another block
 * has run in series. SPARE is the number of unused steps of the budget that series need. */
static void patience_of_warps(void)
{
    enum { SPARE = 1 << 21, REST = 10000, ROUNDS = 1401 };
    const vm_launch four_warps = {.grid = {1, 1, 1}, .block = {128, 1, 1}},
                    one_warp = {.grid = {2, 1, 1}, .block = {32, 1, 1}};
    side a = side_new(patience, false, ONE_THREAD), b = side_new(patience, true, ONE_THREAD);
    for (unsigned k = 0; k < 6; k++)
        compare_launch(&a, &b, four_warps, 10, 40 + k, STEPS);
    for (uint32_t k = 0; k < 4; k++) /* the warps have then run a little more than PATIENCE */
        compare_launch(&a, &b, four_warps, 15000, 2848 + k, STEPS);
    vm_bench_end(&a.b);
    vm_bench_end(&b.b);
    a = side_new(patience, false, ONE_THREAD), b = side_new(patience, true, ONE_THREAD);
    for (unsigned k = 0; k < 6; k++) /* the compiler sees the whole kernel before its loop is hot */
        compare_launch(&a, &b, (vm_launch){.grid = {30, 1, 1}, .block = {32, 1, 1}}, 10, 30 << 16 | 1, STEPS);
    const uint64_t first = compare_launch(&a, &b, (vm_launch){.grid = {1, 1, 1}, .block = {32, 1, 1}}, 10,
                                          1 << 16 | ROUNDS, STEPS);
    compare_launch(&a, &b, one_warp, 300000, 1 << 16 | ROUNDS, first + SPARE - REST);
    vm_bench_end(&a.b);
    vm_bench_end(&b.b);
}

/* A series ends before the turn of a warp ends at another place than the turns of the earlier warps. The first launches
 * let the compiler see all places. */
static void places_of_series(void)
{
    const uint32_t steps[] = {0, 0, 0, 4, 0x400, 0x408, 8, 2, 0x800, 0x200, 1, 0x100};
    repeat(places, 180, 0, steps, KILN__COUNT(steps));
    repeat(places, 180, UINT32_MAX, steps, KILN__COUNT(steps));
}

/* Warps whose lanes diverge at if-statements have the results, counts, steps and faults of the interpreter. The first
 * launches let the compiler see the divergence. */
static void if_statements(void)
{
    const uint32_t firsts[] = {4, 4, 4, 3, 0, 31, 32, 16, 1, 6};
    repeat(arms, 60, 0, firsts, KILN__COUNT(firsts));
    repeat(ends, 60, 0, firsts, KILN__COUNT(firsts));
    CU_ASSERT(SAME(arms, ONE_THREAD, 0, 3, 3, 3, 0, 32, 5) >= 1);
    CU_ASSERT(SAME(arms, ONE_THREAD, 4096 - 600, 3, 3, 3) >= 1);
    vm_limits limits = {.threads = 1, .step_budget = 700};
    CU_ASSERT(SAME(arms, limits, 0, 3, 3) >= 1);
}

/* Blocks whose warps run in series between barriers have the results, counts and steps of the interpreter. */
static void segments_of_series(void)
{
    const uint32_t rounds_of[] = {0, 1, 5, 2}, many[] = {300, 2000, 5000};
    const vm_limits four = {.threads = 4};
    repeat(segments, 110, UINT32_MAX, rounds_of, KILN__COUNT(rounds_of));
    repeat(segments, 90, 0, rounds_of, 2); /* the compiler sees that warps wait at different barriers */
    repeat(segments, 9, 100, many, KILN__COUNT(many));
    repeat(segments, 6, 5, many, KILN__COUNT(many));
    CU_ASSERT(SAME(segments, four, 100, 1, 1, 1, 3, 0) >= 1);
    vm_limits limits = {.threads = 1, .step_budget = 9000};
    CU_ASSERT(SAME(segments, limits, 100, 1, 1, 20) >= 1);
}

/* Each lane loads several words of its own part, in the whole warp and in the divergent parts of a warp. With N more
 * words, some lanes read beyond x. */
static void each_part(void)
{
    CU_ASSERT(SAME(own_parts, ONE_THREAD, 0, 0, 1, 3, 1001, 1024, 1026, 2, 5, 0, 1) >= 2);
    CU_ASSERT(SAME(own_parts, ONE_THREAD, 1530, 3, 1, 1025) >= 1);
    CU_ASSERT(SAME(own_shared, ONE_THREAD, 0, 5, 5, 3, 1) >= 1);
}

/* Tests warps whose turn to run ends at a barrier. */
static void barriers(void)
{
    CU_ASSERT(SAME(rounds, ONE_THREAD, 0, 0, 0, 0, 0) >= 2);
    vm_limits limits = {.threads = 1, .step_budget = 700};
    CU_ASSERT(SAME(rounds, limits, 0, 0, 0) >= 1);
}

static void many(void)
{
    kiln__text text = {0};
    make_many(&text);
    CU_ASSERT(SAME(kiln__text_get(&text), ONE_THREAD, 0, 0, 0) >= 2);
    kiln__text_free(&text);
}

/* Tests that a kernel is not compiled if its text for LLVM is longer than a million characters. */
static void length(void)
{
    for (unsigned count = 10; count <= 490; count += 480) {
        kiln__text text = {0};
        make_long(&text, count);
        const uint64_t made = SAME(kiln__text_get(&text), ONE_THREAD, 0, 0, 0);
        CU_ASSERT_EQUAL(made > 0, count == 10);
        kiln__text_free(&text);
    }
}

/* Tests the message of a launch that is ended in a loop. It names the address that the loop reads, although the loop
 * does not need this address again. */
static void messages(void)
{
    for (uint32_t k = 0; k < 12; k++) { /* the address is read at each place in the loop */
        const vm_limits limits = {.threads = 1, .step_budget = 5000 + k};
        CU_ASSERT(SAME(endless, limits, 0, 0, 1) >= 1);
    }
}

/* Launches that do not end can be stopped, and end at their deadline, while they are in regions. */
typedef struct stopping {
    const vm_device *device;
    volatile int stop; /* a signal handler would set this variable */
} stopping;
/* Waits until a region was made, but at most a minute. */
VM_RACY static void *stop_compiled(void *of)
{
    stopping *s = of;
    for (unsigned k = 0; k < 60000 && !sim_jit_regions(s->device); k++)
        usleep(1000);
    usleep(2000);
    s->stop = 1;
    return NULL;
}
static void stopped(void)
{
    side s = side_new(endless, true, (vm_limits){.threads = 2, .step_budget = (uint64_t)1 << 50});
    const struct {
        uint64_t x, y;
        uint32_t n, step;
    } params = {s.x, s.y, 0, 0};
    stopping soon = {.device = s.b.device};
    vm_launch launch = {.module = s.b.module,
                        .kernel = vm_module_kernel(s.b.module, "k"),
                        .grid = {4, 1, 1},
                        .block = {128, 1, 1},
                        .params = &params,
                        .stop = &soon.stop};
    pthread_t thread;
    CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, stop_compiled, &soon), 0);
    CU_ASSERT_EQUAL(vm_run(s.b.device, &launch, &s.b.counters, &s.b.fault), VM_FAULT_STOPPED);
    pthread_join(thread, NULL);
    CU_ASSERT(sim_jit_regions(s.b.device) >= 1);
    launch.stop = NULL;
    launch.deadline = kiln__now_ns() + 20000000;
    CU_ASSERT_EQUAL(vm_run(s.b.device, &launch, &s.b.counters, &s.b.fault), VM_FAULT_TIME);
    vm_bench_end(&s.b);
}

static void arithmetic(void)
{
    static const char *const parts[] = {floats, words, doubles, predicates};
    for (size_t k = 0; k < KILN__COUNT(parts); k++) {
        kiln__text text = {0};
        kiln__text_printf(&text, "%s%s%s", begin, parts[k], finish);
        const uint64_t made = SAME(kiln__text_get(&text), ONE_THREAD, WORDS, 1, 7, 31, 1021);
        CU_ASSERT(made >= 1 || (parts[k] == floats && !has_fma()));
        kiln__text_free(&text);
    }
}

/* The addresses of the lanes change from rows to one word, or to other places. So regions are compiled again, or are
 * not used any more. */
static void patterns(void) { CU_ASSERT(SAME(walk, ONE_THREAD, 300, 1, 1, 2, 0, 3, 1) >= 1); }

static void faults(void)
{
    CU_ASSERT(SAME(walk, ONE_THREAD, 1 << 20, 4, 4) >= 1); /* addresses beyond the end of x */
    /* The budget of steps must end both launches at the same instruction. */
    vm_limits limits = {.threads = 1, .step_budget = 200000};
    CU_ASSERT(SAME(walk, limits, 1 << 20, 0, 0) >= 1);
}

/* The basic blocks of this kernel are in reverse order, so each pass of the analysis of registers reaches one more
 * block. Without a limit on passes the analysis would take many minutes, in which the launch cannot be stopped. */
static void reverse(void)
{
    enum { REGISTERS = 6000, BLOCKS = 20000 };
    kiln__text text = {0};
    kiln__text_printf(&text,
                      ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 x, .param .u64 y, "
                      ".param .u32 n, .param .u32 step) {\n.reg .b32 %%r<%u>, %%t; .reg .pred %%p; .reg .b64 %%d;\n"
                      "ld.param.u64 %%d, [y];\n",
                      REGISTERS);
    for (unsigned k = 0; k < REGISTERS; k++)
        kiln__text_printf(&text, "mov.u32 %%r%u, %u;\n", k, k);
    kiln__text_printf(&text,
                      "mov.u32 %%t, 0; L: add.u32 %%t, %%t, 1; add.u32 %%r1, %%r1, %%t; xor.b32 %%r2, %%r1, %%t;\n"
                      "add.u32 %%r2, %%r2, 1; setp.lt.u32 %%p, %%t, 2000; @%%p bra L; bra B0; E: ret;\n");
    for (unsigned k = BLOCKS; k-- > 0;)
        kiln__text_printf(&text, "B%u: add.u32 %%r%u, %%r%u, %%r%u; st.global.u32 [%%d], %%r%u; bra %c%.*u;\n", k,
                          k % REGISTERS, k % REGISTERS, (REGISTERS - 1) - k % REGISTERS, k % REGISTERS,
                          k + 1 == BLOCKS ? 'E' : 'B', k + 1 == BLOCKS ? 0 : 1, k + 1 == BLOCKS ? 0 : k + 1);
    kiln__text_puts(&text, "}\n");
    CU_ASSERT(SAME(kiln__text_get(&text), ONE_THREAD, 0, 0) >= 1);
    kiln__text_free(&text);
}

static void updates(void)
{
    static const char *const texts[] = {push, push_wide};
    for (size_t k = 0; k < KILN__COUNT(texts); k++) {
        CU_ASSERT(SAME(texts[k], ONE_THREAD, 200, 0, 4) >= 1);
        CU_ASSERT(SAME(texts[k], ONE_THREAD, 1, 0, 0) >= 1); /* the instructions are the last ones of a basic block */
        CU_ASSERT(SAME(texts[k], ONE_THREAD, 200, 0, 64) >= 1);
        CU_ASSERT(SAME(texts[k], ONE_THREAD, 200, 0, (uint32_t)-16) >= 1);
        CU_ASSERT(SAME(texts[k], ONE_THREAD, 200, 0, 2) >= 1);
        CU_ASSERT(SAME(texts[k], ONE_THREAD, 200, 0, 0x40000000) >= 1);
    }
}

/* Launches a compiled kernel with a null pointer, before any allocation was used. */
static void null(void)
{
    side a = side_new(gather, false, ONE_THREAD), b = side_new(gather, true, ONE_THREAD);
    CU_ASSERT_EQUAL(side_run(&a, 1, 0, 0), VM_OK);
    CU_ASSERT_EQUAL(side_run(&b, 1, 0, 0), VM_OK);
    CU_ASSERT(sim_jit_regions(b.b.device) >= 1);
    CU_ASSERT_EQUAL(memcmp(a.hy, b.hy, WORDS * 4), 0);
    a.x = b.x = 0;
    CU_ASSERT_NOT_EQUAL(side_run(&a, 1, 0, 0), VM_OK);
    CU_ASSERT_EQUAL(side_run(&b, 1, 0, 0), a.b.fault.kind);
    CU_ASSERT_STRING_EQUAL(b.b.fault.message, a.b.fault.message);
    vm_bench_end(&a.b);
    vm_bench_end(&b.b);
}

/* Several host threads reach a region while one thread compiles it. */
static void threads(void)
{
    side a = side_new(tile, false, ONE_THREAD), b = side_new(tile, true, (vm_limits){.threads = 4});
    for (uint32_t k = 0; k < 3; k++) {
        CU_ASSERT_EQUAL(side_run(&a, 32, WORDS, 1 + k), VM_OK);
        CU_ASSERT_EQUAL(side_run(&b, 32, WORDS, 1 + k), VM_OK);
        CU_ASSERT_EQUAL(memcmp(a.hy, b.hy, WORDS * 4), 0);
        CU_ASSERT_EQUAL(b.b.counters.lane_instructions, a.b.counters.lane_instructions);
    }
    vm_bench_end(&a.b);
    vm_bench_end(&b.b);
}

static bool have_llvm(void)
{
    vm_device *device = vm_device_new(NULL, &(vm_limits){.memory = 1 << 20});
    if (device)
        sim_jit_open(device, 1);
    const bool have = device && sim_jit_usable(device);
    vm_device_free(device);
    return have;
}

static const check_case cases[] = {{"memory and barriers", memory},
                                   {"shared memory by registers of 64 bits", wide},
                                   {"vectors of eight elements", vectors},
                                   {"offsets of 64 bits", offsets},
                                   {"guards, divergence, atomics", control},
                                   {"paths of diverged warps", diverged},
                                   {"blocks that end in one region", short_kernels},
                                   {"series of warps", series},
                                   {"series between barriers", segments_of_series},
                                   {"places at which turns in series end", places_of_series},
                                   {"turns that series use up", turns_of_series},
                                   {"lanes that wait long", patience_of_warps},
                                   {"patterns of pairs", patterns_of_pairs},
                                   {"if-statements of some lanes", if_statements},
                                   {"several words of each lane", each_part},
                                   {"short turns between barriers", barriers},
                                   {"blocks in reverse order", reverse, CHECK_ONE_THREAD},
                                   {"registers of which many change", many},
                                   {"loops that are too long to compile", length},
                                   {"messages of launches that do not end", messages},
                                   {"launches that are stopped", stopped},
                                   {"arithmetic", arithmetic},
                                   {"addresses that change their pattern", patterns},
                                   {"faults and the step budget", faults},
                                   {"updates of shared memory", updates},
                                   {"a null pointer", null},
                                   {"several host threads", threads}};

int main(int count, char **arguments)
{
    if (!have_llvm()) {
        printf("SKIP llvm: no libLLVM that can be used\n");
        return 77;
    }
    return check_main(count, arguments, "jit", cases, sizeof cases / sizeof *cases);
}
